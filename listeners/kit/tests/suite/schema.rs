//! Our model of the schema profile: the messages of refusals, refused schemas, examples.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use systole_kit::schema::{PayloadFinding, SchemaModel};

use crate::fields::held;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/golden")
}

/// The schemas of the golden table; some import one another.
const SCHEMAS: [&str; 12] = [
    "address", "file", "kinds", "note", "order", "parcel", "person", "search", "shape", "task", "tree",
    "wrap",
];

fn model(name: &str) -> SchemaModel {
    let read = |name: &str| {
        let path = golden().join("schemas").join(name).with_extension("xsd");
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    let all: Vec<(&str, Vec<u8>)> = SCHEMAS.iter().map(|name| (*name, read(name))).collect();
    let among: Vec<(&str, &[u8])> = all.iter().map(|(name, xsd)| (*name, xsd.as_slice())).collect();
    SchemaModel::read_among(&read(name), &among).unwrap_or_else(|unfit| panic!("{name}: {unfit:?}"))
}

fn wrong_payloads() -> Vec<(String, String)> {
    let table = std::fs::read_to_string(golden().join("payloads.txt")).expect("the table is there");
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let (schema, payload) = line.split_once(": ").expect("a row is `schema: payload`");
        (schema.to_owned(), payload.replace('⏎', "\n"))
    };
    rows.map(row).collect()
}

fn render(schema: &str, payload: &str, finding: Option<&PayloadFinding>) -> String {
    let mut text = String::new();
    writeln!(text, "{schema}: {}", payload.replace('\n', "⏎")).expect("a string takes everything");
    let Some(f) = finding else { return text + "  (no words)\n\n" };
    let place = format!("{} byte {}, {}:{}, in {}", f.path, f.offset, f.line, f.column, f.element);
    for (label, words) in [
        ("at", &place),
        ("message", &f.message),
        ("expected", &f.expected),
        ("received", &f.received),
        ("schema", &f.schema),
        ("try", &f.fix),
    ] {
        writeln!(text, "  {label:<8}  {}", words.replace('\n', "⏎")).expect("a string takes everything");
    }
    text + "\n"
}

/// Set `SYSTOLE_GOLDEN=1` to rewrite the file, and read the difference before committing it.
#[test]
fn refusals_read_as_the_golden_table_says() {
    let mut rendered = String::new();
    for (schema, payload) in wrong_payloads() {
        let finding = model(&schema).explain_payload(payload.as_bytes());
        rendered.push_str(&render(&schema, &payload, finding.as_ref()));
    }
    held("refusals.txt", &rendered);
}

/// A schema with these global declarations.
fn xsd(body: &str) -> String {
    let head = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t" targetNamespace="urn:t" elementFormDefault="qualified">"#;
    format!("{head}\n{body}</xs:schema>")
}

/// A schema whose only element has this content.
fn with_content(content: &str) -> String {
    xsd(&format!(r#"<xs:element name="a"><xs:complexType>{content}</xs:complexType></xs:element>"#))
}

/// A schema whose only element has a type that restricts this base by these facets.
fn with_facets(base: &str, facets: &str) -> String {
    let simple = format!(r#"<xs:restriction base="xs:{base}">{facets}</xs:restriction>"#);
    xsd(&format!(r#"<xs:element name="a"><xs:simpleType>{simple}</xs:simpleType></xs:element>"#))
}

fn refused_constructs(xsd: &str) -> Vec<String> {
    let unfit = SchemaModel::from_xsd(xsd.as_bytes()).expect_err(xsd);
    for one in &unfit {
        assert!(one.line > 0 && one.column > 0 && !one.message.is_empty() && !one.fix.is_empty(), "{one:?}");
    }
    unfit.into_iter().map(|one| one.construct).collect()
}

const GOOD: &str = r#"<xs:element name="a" type="xs:string"/>"#;

#[test]
fn a3_what_lies_beyond_the_profile_is_refused_by_name() {
    let global = |construct: &str| xsd(&format!("{GOOD}{construct}"));
    let rows = [
        (global(r#"<xs:import namespace="urn:b"/>"#), "xs:import"),
        (global(r#"<xs:include schemaLocation="http://127.0.0.1:1/b.xsd"/>"#), "xs:include"),
        (global(r#"<xs:redefine schemaLocation="../b.xsd"/>"#), "xs:redefine"),
        (global(r#"<xs:notation name="n" public="p"/>"#), "xs:notation"),
        (global(r#"<xs:group name="g"><xs:sequence/></xs:group>"#), "xs:group"),
        (global(r#"<xs:attributeGroup name="g"/>"#), "xs:attributeGroup"),
        (global(r#"<xs:attribute name="g" type="xs:string"/>"#), "xs:attribute"),
        (global(r#"<xs:simpleType name="s"><xs:restriction base="s"/></xs:simpleType>"#), "xs:restriction"),
        (xsd(r#"<xs:element name="a" type="xs:string" abstract="true"/>"#), "abstract"),
        (xsd(r#"<xs:element name="a" type="xs:string" substitutionGroup="b"/>"#), "substitutionGroup"),
        (xsd(r#"<xs:element name="a" type="xs:string" nillable="true"/>"#), "nillable"),
        (xsd(r#"<xs:element name="a" type="xs:string" default="x"/>"#), "default"),
        (xsd(r#"<xs:element name="a" type="xs:ID"/>"#), "xs:ID"),
        (xsd(r#"<xs:element name="a" type="xs:QName"/>"#), "xs:QName"),
        (xsd(r#"<xs:element name="a" type="xs:anyType"/>"#), "xs:anyType"),
        (xsd(r#"<xs:element name="a"/>"#), "xs:element"),
        (xsd(r#"<xs:element name="a" type="missing"/>"#), "xs:element"),
        (xsd(r#"<xs:element name="a" type="xs:int"><xs:key name="k"/></xs:element>"#), "xs:key"),
        (xsd(""), "xs:schema"),
        (with_content(r#"<xs:attribute name="b" type="xs:int" fixed="1"/>"#), "fixed"),
        (with_content("<xs:anyAttribute/>"), "xs:anyAttribute"),
        (
            with_content(r#"<xs:complexContent><xs:extension base="b"/></xs:complexContent>"#),
            "xs:complexContent",
        ),
        (with_content(r#"<xs:sequence><xs:group ref="g"/></xs:sequence>"#), "xs:group"),
        (with_content(r#"<xs:sequence><xs:any processContents="strict"/></xs:sequence>"#), "xs:any"),
        (
            with_content(
                r#"<xs:sequence><xs:element name="b" type="xs:int" maxOccurs="1000000000"/></xs:sequence>"#,
            ),
            "maxOccurs",
        ),
        (
            with_content(
                r#"<xs:sequence maxOccurs="9"><xs:element name="b" type="xs:int" maxOccurs="9"/></xs:sequence>"#,
            ),
            "maxOccurs",
        ),
        (
            with_content(r###"<xs:choice><xs:any namespace="##other" processContents="lax"/></xs:choice>"###),
            "xs:complexType",
        ),
        (with_content(r#"<xs:sequence><xs:element ref="nowhere"/></xs:sequence>"#), "xs:element"),
        (
            with_content(
                r#"<xs:sequence><xs:all><xs:element name="b" type="xs:int"/></xs:all></xs:sequence>"#,
            ),
            "xs:all",
        ),
        (xsd(GOOD).replace(r#" elementFormDefault="qualified""#, ""), "xs:schema"),
        (xsd(GOOD).replace(r#" targetNamespace="urn:t""#, ""), "xs:schema"),
        (format!("<!DOCTYPE a>{}", xsd(GOOD)), "document"),
        (format!(r#"<?xml version="1.0" encoding="UTF-16"?>{}"#, xsd(GOOD)), "document"),
        (xsd(GOOD).replace("</xs:schema>", ""), "document"),
        (xsd(&"<xs:annotation>".repeat(70)), "document"),
        (xsd(&format!("{GOOD}<!--{}-->", "x".repeat(1 << 20))), "document"),
    ];
    assert_refused(&rows);
}

#[test]
fn a_facet_that_does_not_fit_or_is_dangerous_is_refused() {
    assert_refused(&[
        (with_facets("string", r#"<xs:pattern value="(a"/>"#), "xs:pattern"),
        (with_facets("string", r#"<xs:pattern value="(a{100}){100}"/>"#), "xs:pattern"),
        (with_facets("string", r#"<xs:pattern value="(a|aa)+x"/>"#), "xs:pattern"),
        (with_facets("string", r#"<xs:minInclusive value="1"/>"#), "xs:minInclusive"),
        (with_facets("long", r#"<xs:maxInclusive value="many"/>"#), "xs:maxInclusive"),
        (with_facets("boolean", r#"<xs:enumeration value="true"/>"#), "xs:enumeration"),
    ]);
}

/// The refusals of a type with these facets, each facet on a line, next to three types that have facets
/// themselves.
fn refused_of(base: &str, facets: &str) -> Vec<systole_kit::schema::ProfileViolation> {
    let text = format!(
        "<xs:simpleType name=\"small\"><xs:restriction base=\"xs:int\"><xs:minInclusive value=\"1\"/>\
         <xs:maxInclusive value=\"9\"/></xs:restriction></xs:simpleType>\
         <xs:simpleType name=\"short\"><xs:restriction base=\"xs:string\"><xs:minLength value=\"2\"/>\
         <xs:maxLength value=\"9\"/></xs:restriction></xs:simpleType>\
         <xs:simpleType name=\"sum\"><xs:restriction base=\"xs:decimal\"><xs:totalDigits value=\"3\"/>\
         <xs:fractionDigits value=\"1\"/></xs:restriction></xs:simpleType>\
         <xs:element name=\"n\"><xs:simpleType><xs:restriction base=\"{base}\">\n{}\n\
         </xs:restriction></xs:simpleType></xs:element>",
        facets.replace("/>", "/>\n")
    );
    SchemaModel::from_xsd(xsd(&text).as_bytes()).err().unwrap_or_default()
}

#[test]
fn facets_that_contradict_one_another_are_refused_in_their_line() {
    let rows = [
        (
            "xs:int",
            r#"<xs:minInclusive value="5"/><xs:maxInclusive value="1"/>"#,
            4,
            "1 leaves no value, because xs:minInclusive is 5",
        ),
        (
            "xs:int",
            r#"<xs:minInclusive value="5"/><xs:maxExclusive value="5"/>"#,
            4,
            "5 leaves no value, because xs:minInclusive is 5",
        ),
        (
            "xs:int",
            r#"<xs:minInclusive value="5"/><xs:minExclusive value="5"/>"#,
            4,
            "xs:minInclusive is beside it, and a type has only one of the two",
        ),
        (
            "xs:string",
            r#"<xs:length value="5"/><xs:maxLength value="9"/>"#,
            4,
            "xs:length is beside it, and a type has only one of the two",
        ),
        (
            "xs:decimal",
            r#"<xs:totalDigits value="2"/><xs:fractionDigits value="4"/>"#,
            4,
            "4 is more than 2, the totalDigits",
        ),
        ("xs:int", r#"<xs:totalDigits value="0"/>"#, 3, "0 digits leave no number"),
        (
            "t:small",
            r#"<xs:maxInclusive value="20"/>"#,
            3,
            "20 is more than 9, the greatest value of its base",
        ),
        ("t:small", r#"<xs:minInclusive value="0"/>"#, 3, "0 is less than 1, the smallest value of its base"),
        ("t:short", r#"<xs:maxLength value="20"/>"#, 3, "20 is more than 9, the maxLength of its base"),
        ("t:short", r#"<xs:minLength value="1"/>"#, 3, "1 is less than 2, the minLength of its base"),
        ("t:short", r#"<xs:length value="10"/>"#, 3, "10 is more than 9, the maxLength of its base"),
        ("t:sum", r#"<xs:totalDigits value="5"/>"#, 3, "5 is more than 3, the totalDigits of its base"),
        ("t:sum", r#"<xs:fractionDigits value="2"/>"#, 3, "2 is more than 1, the fractionDigits of its base"),
    ];
    for (base, facets, line, message) in rows {
        let unfit = refused_of(base, facets);
        let told: Vec<(u64, &str)> = unfit.iter().map(|one| (one.line, one.message.as_str())).collect();
        assert_eq!(told, [(line, message)], "{base} {facets}");
    }
    // All faults are reported, not only the first.
    let two = r#"<xs:minInclusive value="0"/><xs:maxInclusive value="20"/>"#;
    assert_eq!(refused_of("t:small", two).len(), 2);
    // libxml2 compiles these, so a stored schema may have them.
    for (base, facets) in [
        ("xs:int", r#"<xs:minExclusive value="5"/><xs:maxExclusive value="5"/>"#),
        ("xs:string", r#"<xs:minLength value="5"/><xs:maxLength value="1"/>"#),
        ("t:small", r#"<xs:maxExclusive value="9"/>"#),
        ("t:small", r#"<xs:minExclusive value="9"/>"#),
        ("t:short", r#"<xs:maxLength value="1"/>"#),
        ("t:short", r#"<xs:length value="5"/>"#),
    ] {
        assert_eq!(refused_of(base, facets), [], "{base} {facets}");
    }
}

#[test]
fn identity_constraints_are_refused_by_their_own_names() {
    let constraint = |name: &str| {
        format!("<xs:{name} name=\"k\"><xs:selector xpath=\"t:a\"/><xs:field xpath=\"@id\"/></xs:{name}>")
    };
    for name in ["key", "unique"] {
        let text = format!(
            "<xs:element name=\"n\"><xs:complexType><xs:sequence><xs:element name=\"a\" type=\"xs:int\"/>\
             </xs:sequence></xs:complexType>{}</xs:element>",
            constraint(name)
        );
        let unfit = SchemaModel::from_xsd(xsd(&text).as_bytes()).expect_err(name);
        let told: Vec<(&str, &str)> =
            unfit.iter().map(|one| (one.construct.as_str(), one.fix.as_str())).collect();
        assert_eq!(told, [(&*format!("xs:{name}"), "check it in the listener")]);
        let beside_a_type =
            format!("<xs:element name=\"n\" type=\"xs:int\">{}</xs:element>", constraint(name));
        assert_eq!(refused_constructs(&xsd(&beside_a_type)), [format!("xs:{name}")]);
    }
}

fn assert_refused(rows: &[(String, &str)]) {
    for (xsd, construct) in rows {
        let found = refused_constructs(xsd);
        assert!(found.iter().any(|f| f == construct), "{construct} is not among {found:?}: {xsd:.300}");
    }
}

#[test]
fn a_refusal_of_a_schema_says_where_why_and_what_instead() {
    let text = xsd(&format!("{GOOD}\n  <xs:include schemaLocation=\"b.xsd\"/>\n"));
    let unfit = SchemaModel::from_xsd(text.as_bytes()).expect_err("an include is refused");
    let [only] = unfit.as_slice() else { panic!("one refusal: {unfit:?}") };
    assert_eq!((only.line, only.column), (3, 3));
    assert_eq!(only.message, "a schema never fetches another");
    assert_eq!(only.fix, "copy the definitions into this document");
}

#[test]
fn a_model_tells_its_elements_in_order_with_their_documentation() {
    let search = model("search");
    assert_eq!(search.target_namespace(), "urn:test:search");
    assert_eq!(search.elements().collect::<Vec<_>>(), ["search", "searches"]);
    assert_eq!(search.find_documentation("search"), Some("Finds text in the source tree."));
    assert_eq!(search.find_documentation("searches"), None);
}

#[test]
fn an_example_holds_what_must_be_there_and_nothing_else() {
    let example = |schema: &str, element: &str| {
        let bytes = model(schema).build_example(element).expect("there is an example");
        String::from_utf8(bytes).expect("an example is UTF-8")
    };
    let search = r#"<search xmlns="urn:test:search"><query>text</query><mode>fast</mode></search>"#;
    assert_eq!(example("search", "search"), search);
    let note = r#"<note xmlns="urn:test:note" priority="1">text</note>"#;
    assert_eq!(example("note", "note"), note);
    assert_eq!(model("search").build_example("nowhere"), None);
}

#[test]
fn an_example_that_never_ends_is_none_and_costs_little() {
    let endless = r#"<xs:element name="a"><xs:complexType><xs:choice>
        <xs:sequence><xs:element ref="a" minOccurs="2" maxOccurs="2"/><xs:element name="b" type="xs:int"/></xs:sequence>
        <xs:sequence><xs:element name="c" type="xs:int"/><xs:element ref="a"/></xs:sequence>
      </xs:choice></xs:complexType></xs:element>"#;
    let endless = xsd(endless).replacen("<xs:schema ", "<xs:schema xmlns=\"urn:t\" ", 1);
    assert_eq!(refused_constructs(&endless), ["xs:element"]);
    // An example that would be far too large for a document is not produced either.
    let deep: String = (0..80)
        .map(|n| {
            let next = n + 1;
            format!(r#"<xs:complexType name="t{n}"><xs:sequence><xs:element name="e" type="t{next}" minOccurs="2" maxOccurs="2"/></xs:sequence></xs:complexType>"#)
        })
        .collect();
    let deep = xsd(&format!(r#"<xs:element name="a" type="t0"/>{deep}<xs:complexType name="t80"/>"#));
    let deep = deep.replacen("<xs:schema ", "<xs:schema xmlns=\"urn:t\" ", 1);
    assert_eq!(SchemaModel::from_xsd(deep.as_bytes()).expect("it is read").build_example("a"), None);
}

#[test]
fn row_14_a_value_split_by_comment_cdata_and_references_is_one_value() {
    let search = model("search");
    let with = |limit: &str| {
        format!(
            r#"<search xmlns="urn:test:search"><query>x</query><mode>fast</mode><limit>{limit}</limit></search>"#
        )
    };
    for whole in ["1<!-- -->2", "<![CDATA[1]]>2", "&#49;2", "&#x31;<!-- a --><![CDATA[2]]>"] {
        assert_eq!(search.explain_payload(with(whole).as_bytes()), None, "{whole}");
    }
    for whole in ["1<!-- -->01", "10<![CDATA[1]]>", "1&#48;1"] {
        let finding = search.explain_payload(with(whole).as_bytes()).expect("101 is too large");
        assert_eq!(finding.message, "limit: 101 is more than 100, the largest allowed");
    }
}

#[test]
fn row_25_the_last_of_many_elements_is_found_and_named() {
    let many = with_content(
        r#"<xs:sequence><xs:element name="b" type="xs:int" maxOccurs="unbounded"/></xs:sequence>"#,
    );
    let many = SchemaModel::from_xsd(many.as_bytes()).expect("it is in the profile");
    let body = "<b>1</b>".repeat(65_535);
    let right = format!(r#"<a xmlns="urn:t">{body}</a>"#);
    assert_eq!(many.explain_payload(right.as_bytes()), None);
    let wrong = format!(r#"<a xmlns="urn:t">{body}<b>x</b></a>"#);
    let finding = many.explain_payload(wrong.as_bytes()).expect("the last is wrong");
    assert_eq!(finding.path, "/a/b[65536]");
    assert!(finding.received.len() < 500 && finding.fix == "<b>1</b>", "{finding:?}");
}

#[test]
fn malformed_and_too_deep_payloads_are_left_to_the_gate() {
    let tree = model("tree");
    for bytes in ["", "<", "<a>", "<a></b>", "<!DOCTYPE a><a/>", "<?pi?><a/>", "<p:a/>", "\u{0}"] {
        assert_eq!(tree.explain_payload(bytes.as_bytes()), None, "{bytes}");
    }
    let deep = ["<a>".repeat(100_000), "</a>".repeat(100_000)].concat();
    assert_eq!(tree.explain_payload(deep.as_bytes()), None);
    assert_eq!(tree.explain_payload(b"\xff\xfe<\0a\0"), None);
}

#[test]
fn a_model_may_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    shared(&model("search"));
}

/// A schema with this root element and the declarations next to it.
fn annotated(element: &str) -> Result<SchemaModel, Vec<systole_kit::schema::ProfileViolation>> {
    let xsd = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:s=\"urn:systole:schema:v1\" \
         xmlns=\"urn:d\" targetNamespace=\"urn:d\" elementFormDefault=\"qualified\">{element}</xs:schema>"
    );
    SchemaModel::from_xsd(xsd.as_bytes())
}

#[test]
fn g4_a_root_element_is_marked_as_dangerous_and_no_other_is() {
    let model = annotated(
        "<xs:element name=\"rm\" type=\"xs:string\" s:dangerous=\"true\"/>\
         <xs:element name=\"ls\" type=\"xs:string\" s:dangerous=\"false\"/><xs:element name=\"ps\" type=\"xs:string\"/>",
    )
    .unwrap();
    assert!(model.is_dangerous("rm"));
    assert!(!model.is_dangerous("ls") && !model.is_dangerous("ps") && !model.is_dangerous("none"));
}

#[test]
fn g4_a_mark_that_would_guard_nothing_is_refused_with_its_place() {
    let part = "<xs:element name=\"do\"><xs:complexType><xs:sequence>PART</xs:sequence></xs:complexType></xs:element>";
    for (element, construct, fix) in [
        (
            "<xs:element name=\"rm\" type=\"xs:string\" s:dangerous=\"yes\"/>",
            "xs:element",
            "systole:dangerous",
        ),
        ("<xs:element name=\"rm\" type=\"xs:string\" s:dangerus=\"true\"/>", "dangerus", "dangerous"),
        (
            &part.replace("PART", "<xs:element name=\"rm\" type=\"xs:string\" s:dangerous=\"true\"/>"),
            "xs:element",
            "global element",
        ),
        (
            &format!(
                "<xs:element name=\"rm\" type=\"xs:string\" s:dangerous=\"true\"/>{}",
                part.replace("PART", "<xs:element ref=\"rm\"/>")
            ),
            "xs:element",
            "mark the element around it",
        ),
    ] {
        let unfit = annotated(element).unwrap_err();
        assert_eq!(unfit.len(), 1, "{unfit:?}");
        assert_eq!((unfit[0].construct.as_str(), unfit[0].line), (construct, 1), "{unfit:?}");
        assert!(unfit[0].fix.contains(fix), "{unfit:?}");
    }
}

#[test]
fn a_payload_is_one_line_of_prompt_text() {
    let xsd = br#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:p" elementFormDefault="qualified">
  <xs:element name="search">
    <xs:annotation><xs:documentation>Finds text.</xs:documentation></xs:annotation>
    <xs:complexType>
      <xs:sequence>
        <xs:element name="query" type="xs:string"/>
        <xs:choice><xs:element name="path" type="xs:string"/><xs:element name="tag" type="xs:boolean"/></xs:choice>
        <xs:element name="limit" type="xs:integer" minOccurs="0" maxOccurs="3"/>
      </xs:sequence>
      <xs:attribute name="fast" type="xs:boolean" use="required"/>
    </xs:complexType>
  </xs:element>
  <xs:element name="ping"><xs:complexType/></xs:element>
  <xs:element name="word" type="xs:string"/>
</xs:schema>"#;
    let model = systole_kit::schema::SchemaModel::from_xsd(xsd).unwrap();
    assert_eq!(
        model.write_prompt("search").unwrap(),
        "- <search>: Finds text. Parameters, in this order: attribute fast(true or false, required), \
         <query>(text, may be empty, required), exactly one of [<path>(text, may be empty) | <tag>(true or false)], \
         <limit>(whole number, optional, at most 3 times)"
    );
    assert_eq!(model.write_prompt("ping").as_deref(), Some("- <ping>: No description. No parameters."));
    assert_eq!(
        model.write_prompt("word").as_deref(),
        Some("- <word>: No description. Parameters: content(text, may be empty)")
    );
    assert_eq!(model.write_prompt("nothing"), None);
}

/// Set `SYSTOLE_GOLDEN=1` to rewrite the file, and read the difference before committing it.
#[test]
fn prompt_text_reads_as_the_golden_file_says() {
    let mut rendered = String::new();
    for name in SCHEMAS.into_iter().chain(["trip", "plan"]) {
        let model = model(name);
        for element in model.elements() {
            writeln!(rendered, "{}\n", model.prompt_entry(element).unwrap())
                .expect("a string takes everything");
        }
    }
    held("prompts.txt", &rendered);
}

#[test]
fn a_fix_names_a_word_of_an_enumeration_only_if_it_is_near() {
    let xsd = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:a" elementFormDefault="qualified">
      <xs:element name="install"><xs:complexType><xs:attribute name="language" use="required"><xs:simpleType>
        <xs:restriction base="xs:string"><xs:enumeration value="python"/><xs:enumeration value="node"/><xs:enumeration value="rust"/></xs:restriction>
      </xs:simpleType></xs:attribute></xs:complexType></xs:element></xs:schema>"#;
    let model = SchemaModel::from_xsd(xsd.as_bytes()).unwrap();
    for (written, near) in [
        ("pyton", Some("python")),
        ("Python", Some("python")),
        ("py", Some("python")),
        ("nodejs", Some("node")),
        ("python3", Some("python")),
        ("cobol", None),
        ("go", None),
        ("", None),
    ] {
        let payload = format!("<install xmlns=\"urn:a\" language=\"{written}\"/>");
        let found = model.explain_payload(payload.as_bytes()).unwrap();
        let names = |word: &str| found.fix.contains(&format!("language=\"{word}\""));
        let named = ["python", "node", "rust"].into_iter().find(|word| names(word));
        assert_eq!(named, near, "{written}: {}", found.fix);
        assert!(found.expected.contains("one of"), "{}", found.expected);
    }
    let payload = b"<install xmlns=\"urn:a\" lang=\"cobol\"/>";
    let found = model.explain_payload(payload).unwrap();
    assert!(!found.fix.contains("python"), "{}", found.fix);
}
