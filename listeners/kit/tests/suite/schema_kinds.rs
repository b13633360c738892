//! Lists and unions: which of them the profile accepts and refuses, and that bombs made of them cost little.

use std::fmt::Write as _;

use systole_kit::schema::{ProfileViolation, SchemaModel};

/// A schema with these simple types, whose only element has the type `t`.
fn read(types: &str) -> Result<SchemaModel, Vec<ProfileViolation>> {
    let xsd = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"urn:k\" targetNamespace=\"urn:k\" \
         elementFormDefault=\"qualified\">\n{types}<xs:element name=\"a\" type=\"t\"/></xs:schema>"
    );
    SchemaModel::from_xsd(xsd.as_bytes())
}

fn simple(name: &str, inside: &str) -> String {
    format!("<xs:simpleType name=\"{name}\">{inside}</xs:simpleType>")
}

/// A restriction of a list or union by these facets.
fn restricted(variety: &str, facets: &str) -> String {
    simple("t", &format!("<xs:restriction><xs:simpleType>{variety}</xs:simpleType>{facets}</xs:restriction>"))
}

const INTS: &str = "<xs:list itemType=\"xs:int\"/>";
const EITHER: &str = "<xs:union memberTypes=\"xs:int xs:date\"/>";

#[test]
fn what_xsd_forbids_of_lists_and_unions_is_refused_by_name() {
    let ints = simple("ints", INTS);
    let rows = [
        ([&*ints, &*simple("t", "<xs:list itemType=\"ints\"/>")].concat(), "xs:list", "cannot be a list"),
        (
            [&*ints, &*simple("t", "<xs:list><xs:simpleType><xs:union memberTypes=\"xs:int ints\"/></xs:simpleType></xs:list>")].concat(),
            "xs:list",
            "cannot be a list",
        ),
        (simple("t", "<xs:list/>"), "xs:list", "one type of item"),
        (simple("t", "<xs:union/>"), "xs:union", "no member"),
        (simple("t", "<xs:union memberTypes=\"xs:int missing\"/>"), "xs:union", "not defined"),
        (simple("t", "<xs:union memberTypes=\"xs:int xs:ID\"/>"), "xs:ID", "not in the profile"),
        (simple("t", "<xs:union memberTypes=\"t\"/>"), "xs:union", "part of itself"),
        (simple("t", "<xs:list itemType=\"t\"/>"), "xs:list", "part of itself"),
        (restricted(INTS, "<xs:minInclusive value=\"1\"/>"), "xs:minInclusive", "does not apply to a list"),
        (restricted(INTS, "<xs:whiteSpace value=\"preserve\"/>"), "xs:whiteSpace", "less strict"),
        (restricted(INTS, "<xs:enumeration value=\"1 x\"/>"), "xs:enumeration", "is not a value of a list"),
        (restricted(EITHER, "<xs:length value=\"1\"/>"), "xs:length", "does not apply to a union"),
        (restricted(EITHER, "<xs:enumeration value=\"x\"/>"), "xs:enumeration", "is not a value of a union"),
        (
            [
                &*simple("few", &format!("<xs:restriction><xs:simpleType>{EITHER}</xs:simpleType><xs:pattern value=\"1\"/></xs:restriction>")),
                &*simple("t", "<xs:union memberTypes=\"few xs:boolean\"/>"),
            ]
            .concat(),
            "xs:union",
            "facets of its own",
        ),
    ];
    for (types, construct, words) in rows {
        let unfit = read(&types).expect_err(&types);
        let is_it = |one: &ProfileViolation| {
            one.construct == construct && one.message.contains(words) && !one.fix.is_empty()
        };
        assert!(unfit.iter().any(is_it), "{construct}, {words}: {unfit:?}");
    }
}

#[test]
fn a_union_of_unions_is_one_union_of_all_their_members() {
    let model = read(
        &[simple("inner", EITHER), simple("t", "<xs:union memberTypes=\"inner xs:boolean\"/>")].concat(),
    );
    let model = model.unwrap();
    for (value, is_valid) in [("7", true), ("2026-01-31", true), ("true", true), ("maybe", false)] {
        let found = model.explain_payload(format!("<a xmlns=\"urn:k\">{value}</a>").as_bytes());
        assert_eq!(found.is_none(), is_valid, "{value}: {found:?}");
    }
}

#[test]
fn row_24_unions_that_double_and_types_that_lead_in_circles_cost_little() {
    // Read naively, each of these is a tower of two to the power of thirty.
    let mut doubling = simple("t0", EITHER);
    let mut circles = String::new();
    for n in 1..=30 {
        write!(
            doubling,
            "{}",
            simple(&format!("t{n}"), &format!("<xs:union memberTypes=\"t{0} t{0}\"/>", n - 1))
        )
        .unwrap();
        write!(
            circles,
            "{}",
            simple(&format!("c{n}"), &format!("<xs:union memberTypes=\"c{0} c{0}\"/>", (n + 1) % 31))
        )
        .unwrap();
    }
    circles += &simple("c0", "<xs:union memberTypes=\"c1 c1\"/>");
    let unfit = read(&[&*doubling, &*simple("t", "<xs:union memberTypes=\"t30\"/>")].concat()).unwrap_err();
    assert!(unfit[0].message.contains("the union has 128 members, at most 64"), "{unfit:?}");
    let unfit = read(&[&*circles, &*simple("t", "<xs:union memberTypes=\"c0\"/>")].concat()).unwrap_err();
    assert!(unfit[0].message.contains("part of itself"), "{unfit:?}");
}

#[test]
fn row_25_a_long_list_is_read_in_one_go() {
    let auto = "<xs:simpleType><xs:restriction base=\"xs:token\"><xs:enumeration value=\"auto\"/></xs:restriction></xs:simpleType>";
    let size = simple("size", &format!("<xs:union memberTypes=\"xs:int\">{auto}</xs:union>"));
    let model = read(&[&*size, &*simple("t", "<xs:list itemType=\"size\"/>")].concat()).unwrap();
    let items = "auto 7 ".repeat(65_000);
    assert_eq!(model.explain_payload(format!("<a xmlns=\"urn:k\">{items}</a>").as_bytes()), None);
    let found = model.explain_payload(format!("<a xmlns=\"urn:k\">{items}x</a>").as_bytes()).unwrap();
    assert!(
        found.message.starts_with("a: item 130001: x does not match what is allowed"),
        "{}",
        found.message
    );
    assert!(found.fix.len() < 200 && found.received.len() < 500, "{found:?}");
}

#[test]
fn a_list_and_a_union_are_described_in_a_line() {
    let types = restricted("<xs:list itemType=\"xs:NCName\"/>", "<xs:maxLength value=\"9\"/>");
    assert_eq!(
        read(&types).unwrap().write_prompt("a").unwrap(),
        "- <a>: No description. Parameters: content(at most 9 items parted by blanks, each [name that starts with a letter, without blanks])"
    );
    let types = simple("t", EITHER);
    assert_eq!(
        read(&types).unwrap().write_prompt("a").unwrap(),
        "- <a>: No description. Parameters: content(whole number -2147483648 to 2147483647 or date such as 2026-01-31)"
    );
    assert_eq!(read(&types).unwrap().build_example("a").unwrap(), br#"<a xmlns="urn:k">1</a>"#);
}

/// A schema with these declarations.
fn whole(body: &str) -> Result<SchemaModel, Vec<ProfileViolation>> {
    let head = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"urn:k\" targetNamespace=\"urn:k\" elementFormDefault=\"qualified\">";
    SchemaModel::from_xsd(format!("{head}{body}</xs:schema>").as_bytes())
}

#[test]
fn row_24_a_type_that_must_contain_itself_is_refused() {
    let node = |times: &str, compositor: &str| {
        format!(
            "<xs:element name=\"a\" type=\"node\"/><xs:complexType name=\"node\"><xs:{compositor}><xs:element name=\"v\" type=\"xs:int\"/>\
             <xs:element name=\"next\" type=\"node\" {times}/></xs:{compositor}></xs:complexType>"
        )
    };
    for (times, compositor, ends) in [
        ("", "sequence", false),
        ("", "all", false),
        ("minOccurs=\"2\" maxOccurs=\"2\"", "sequence", false),
        ("minOccurs=\"0\"", "sequence", true),
        ("", "choice", true),
    ] {
        let read = whole(&node(times, compositor));
        assert_eq!(read.is_ok(), ends, "{times} {compositor}: {read:?}");
    }
    // Around two corners, and reported once, at the first of them.
    let ring = "<xs:element name=\"a\"><xs:complexType><xs:sequence><xs:element name=\"b\" type=\"b\"/></xs:sequence></xs:complexType></xs:element>\
        <xs:complexType name=\"b\"><xs:sequence><xs:element ref=\"a\"/></xs:sequence></xs:complexType>";
    let unfit = whole(ring).unwrap_err();
    assert_eq!(unfit.len(), 1, "{unfit:?}");
    assert!(unfit[0].construct == "xs:element" && unfit[0].fix.contains("minOccurs=\"0\""), "{unfit:?}");
}

#[test]
fn row_24_many_long_patterns_are_refused_before_they_fill_the_memory() {
    let one = |n: usize| {
        format!(
            "<xs:simpleType name=\"t{n}\"><xs:restriction base=\"xs:string\"><xs:pattern value=\"[a-z]{{1,1900}}\"/></xs:restriction></xs:simpleType>"
        )
    };
    let some: String = (0..40).map(one).collect();
    assert!(whole(&some).is_ok());
    let many: String = (0..5000).map(one).collect();
    let unfit = whole(&many).unwrap_err();
    assert!(unfit[0].message.contains("more than 200000 steps"), "{:?}", unfit[0]);
}
