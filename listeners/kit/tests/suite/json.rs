//! Payloads as JSON and JSON as payloads: the form of each construct, and the message if there is none.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use systole_kit::schema::{SchemaModel, ValueSlip};

use crate::fields::{held, told};

fn model(name: &str) -> SchemaModel {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/golden/schemas").join(name);
    let xsd = std::fs::read(path.with_extension("xsd")).expect("the schema is there");
    SchemaModel::from_xsd(&xsd).expect("it is in the profile")
}

/// A schema with these declarations, of its element `a` among others.
fn with(element: &str) -> SchemaModel {
    let xsd = format!(
        r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="urn:systole:schema:v1" xmlns="urn:t"
          targetNamespace="urn:t" elementFormDefault="qualified">{element}</xs:schema>"#
    );
    SchemaModel::from_xsd(xsd.as_bytes()).unwrap_or_else(|unfit| panic!("{unfit:?}"))
}

fn built(model: &SchemaModel, element: &str, json: &str) -> Result<String, Vec<ValueSlip>> {
    let bytes = model.from_json_text(element, json.as_bytes()).expect("the element is there")?;
    Ok(String::from_utf8(bytes).expect("it is UTF-8"))
}

/// Set `SYSTOLE_GOLDEN=1` to rewrite the file, and read the difference before committing it.
#[test]
fn payloads_of_json_and_their_refusals_read_as_the_golden_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/golden/json.txt");
    let table = std::fs::read_to_string(path).expect("the table is there");
    let mut rendered = String::new();
    for row in table.lines().filter(|line| !line.starts_with('#')) {
        let (head, json) = row.split_once(": ").expect("a row is `schema element: json`");
        let (schema, element) = head.split_once(' ').expect("a row begins with schema and element");
        writeln!(rendered, "{row}").expect("text");
        match built(&model(schema), element, json) {
            Ok(xml) => {
                writeln!(rendered, "  {xml}").expect("text");
                let back = model(schema).to_json(xml.as_bytes()).expect("it came from there");
                writeln!(rendered, "  {back}").expect("text");
            }
            Err(slips) => rendered.push_str(&told(&slips)),
        }
        rendered.push('\n');
    }
    held("json.out.txt", &rendered);
}

#[test]
fn no_digit_of_a_number_is_lost() {
    let model = with(
        r#"<xs:element name="a"><xs:complexType><xs:all>
          <xs:element name="i" type="xs:integer" minOccurs="0"/><xs:element name="l" type="xs:long" minOccurs="0"/>
          <xs:element name="d" type="xs:decimal" minOccurs="0"/><xs:element name="f" type="xs:double" minOccurs="0"/>
        </xs:all></xs:complexType></xs:element>"#,
    );
    for (given, wanted) in [
        (r#"{"i":18446744073709551615}"#, "<i>18446744073709551615</i>"),
        (r#"{"i":"18446744073709551616"}"#, "<i>18446744073709551616</i>"),
        (r#"{"i":1e3}"#, "<i>1000</i>"),
        (r#"{"i":-1.0}"#, "<i>-1</i>"),
        (r#"{"l":9007199254740993}"#, "<l>9007199254740993</l>"),
        (r#"{"l":9007199254740993.0}"#, "<l>9007199254740993</l>"),
        (r#"{"d":0.12345678901234567890}"#, "<d>0.1234567890123456789</d>"),
        (r#"{"d":"1234567890.1234567"}"#, "<d>1234567890.1234567</d>"),
        (r#"{"d":12.50}"#, "<d>12.5</d>"),
        (r#"{"d":1.5e-3}"#, "<d>0.0015</d>"),
        (r#"{"f":1e-7}"#, "<f>1e-7</f>"),
        (r#"{"f":"-INF"}"#, "<f>-INF</f>"),
    ] {
        let xml = built(&model, "a", given).unwrap_or_else(|slips| panic!("{given}: {slips:?}"));
        assert_eq!(xml, format!("<a xmlns=\"urn:t\">{wanted}</a>"), "{given}");
    }
    for (xml, wanted) in [
        ("<i>007</i>", json!({"i": 7})),
        ("<i>123456789012345678901234</i>", json!({"i": "123456789012345678901234"})),
        ("<d>123456789012345.6</d>", json!({"d": "123456789012345.6"})),
        ("<d>1234567890123.40</d>", json!({"d": 1_234_567_890_123.4})),
        ("<f>NaN</f>", json!({"f": "NaN"})),
    ] {
        let xml = format!("<a xmlns=\"urn:t\">{xml}</a>");
        assert_eq!(model.to_json(xml.as_bytes()), Ok(wanted), "{xml}");
    }
    for given in [
        r#"{"i":"5"}"#,
        r#"{"i":18446744073709551616}"#,
        r#"{"i":1.5}"#,
        r#"{"i":1e999}"#,
        r#"{"d":1e999}"#,
        r#"{"d":1e-999}"#,
        r#"{"d":"1.5"}"#,
        r#"{"f":1e999}"#,
        r#"{"f":"inf"}"#,
        r#"{"l":1e30}"#,
    ] {
        built(&model, "a", given).expect_err(given);
    }
}

#[test]
fn hostile_json_is_refused_with_its_place() {
    let search = model("search");
    let one = |json: &[u8]| {
        let slips =
            search.from_json_text("search", json).expect("the element is there").expect_err("hostile");
        let [slip] = slips.as_slice() else { panic!("one slip: {slips:?}") };
        assert!(slip.place.is_some() && !slip.fix.is_empty() && !slip.expected.is_empty(), "{slip:?}");
        assert!(slip.received.len() < 300, "{slip:?}");
        slip.clone()
    };
    let twice = one(b"{\"query\": \"a\",\n \"mode\": \"fast\",\n \"query\": \"b\"}");
    assert_eq!((twice.place, twice.path.as_str()), (Some((3, 11)), "/search/query"));
    assert!(twice.message.contains("the key comes twice"), "{twice:?}");
    let deep = ["[".repeat(100_000), "]".repeat(100_000)].concat();
    assert!(one(deep.as_bytes()).message.contains("nested deeper than"));
    let wide = format!("{{\"query\": \"{}\"}}", "x".repeat(1 << 20));
    assert!(one(wide.as_bytes()).message.contains("bytes, the limit is 1048576"));
    assert!(one(b"\xff{}").message.contains("not UTF-8"));
    for broken in ["", "{", "{\"query\": 01}", "{\"query\": \"\\ud800\"}", "{} {}", "nul", "{'a': 1}"] {
        assert!(one(broken.as_bytes()).message.contains("cannot be read"), "{broken}");
    }
    let nul = one(b"{\"query\": \"a\\u0000\", \"mode\": \"fast\"}");
    assert!(nul.message.contains("a character that XML cannot carry"), "{nul:?}");
    let mut deep = json!(1);
    (0..500).for_each(|_| deep = json!([deep]));
    let slips = search.from_json("search", &deep).expect("the element is there").expect_err("too deep");
    assert!(slips[0].message.contains("nested deeper than") && slips[0].place.is_none(), "{slips:?}");
}

#[test]
fn many_wrong_values_are_told_up_to_a_limit_and_cost_little() {
    let list = with(
        r#"<xs:element name="a"><xs:complexType><xs:sequence>
          <xs:element name="b" type="xs:int" minOccurs="0" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>"#,
    );
    let slips =
        built(&list, "a", &format!("{{\"b\": [{}\"x\"]}}", "\"x\",".repeat(50_000))).expect_err("wrong");
    assert_eq!(slips.len(), 20);
    let right = built(&list, "a", &format!("{{\"b\": [{}1]}}", "1,".repeat(50_000))).expect("right");
    assert!(list.to_json(right.as_bytes()).is_ok());
}

#[test]
fn a_default_is_supplied_where_something_was_left_out_and_never_written() {
    let model = with(
        r#"<xs:element name="a"><xs:complexType><xs:all>
          <xs:element name="limit" type="xs:int" minOccurs="0" s:default="20"/>
          <xs:element name="mode" minOccurs="0" s:default="fast"><xs:simpleType><xs:restriction base="xs:token">
            <xs:enumeration value="fast"/><xs:enumeration value="deep"/></xs:restriction></xs:simpleType></xs:element>
        </xs:all><xs:attribute name="safe" type="xs:boolean" s:default="true"/>
        <xs:attribute name="kind" type="xs:token" default="plain"/></xs:complexType></xs:element>"#,
    );
    let whole = json!({"limit": 20, "mode": "fast", "safe": true, "kind": "plain"});
    assert_eq!(model.to_json(b"<a xmlns='urn:t'/>"), Ok(whole));
    let some = model.to_json(b"<a xmlns='urn:t' safe='0'><limit>3</limit></a>").expect("it is valid");
    assert_eq!(some, json!({"limit": 3, "mode": "fast", "safe": false, "kind": "plain"}));
    assert_eq!(built(&model, "a", "{}").expect("all may be left out"), "<a xmlns=\"urn:t\"></a>");
    let drawn = model.json_schema("a").expect("the element is there").schema;
    assert_eq!(drawn.pointer("/properties/limit/default"), Some(&Value::from(20)));
    assert_eq!(drawn.pointer("/properties/safe/default"), Some(&Value::from(true)));
}

#[test]
fn a_default_that_can_never_apply_is_refused() {
    let part = |part: &str| {
        format!(
            r#"<xs:element name="a"><xs:complexType><xs:sequence>{part}</xs:sequence></xs:complexType></xs:element>"#
        )
    };
    let attribute = |uses: &str| {
        format!(
            r#"<xs:element name="a"><xs:complexType><xs:attribute name="b" type="xs:int" {uses}/></xs:complexType></xs:element>"#
        )
    };
    for (element, wanted) in [
        (r#"<xs:element name="a" type="xs:int" s:default="1"/>"#.to_owned(), "a whole payload"),
        (part(r#"<xs:element name="b" type="xs:int" minOccurs="0" s:default="x"/>"#), "the default x is not"),
        (part(r#"<xs:element name="b" type="xs:int" s:default="1"/>"#), "never supplied"),
        (
            part(r#"<xs:element name="b" type="xs:int" minOccurs="0" maxOccurs="2" s:default="1"/>"#),
            "never supplied",
        ),
        (
            part(
                r#"<xs:choice><xs:element name="b" type="xs:int" minOccurs="0" s:default="1"/><xs:element name="c" type="xs:int"/></xs:choice>"#,
            ),
            "never supplied",
        ),
        (
            part(r#"<xs:element name="b" minOccurs="0" s:default="1"><xs:complexType/></xs:element>"#),
            "not one value",
        ),
        (attribute(r#"use="required" s:default="1""#), "required attribute"),
        (attribute(r#"s:default="x""#), "the default x is not"),
    ] {
        let xsd = format!(
            r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="urn:systole:schema:v1" targetNamespace="urn:t"
              elementFormDefault="qualified">{element}</xs:schema>"#
        );
        let unfit = SchemaModel::from_xsd(xsd.as_bytes()).expect_err(wanted);
        assert!(
            unfit.iter().any(|one| one.message.contains(wanted) && !one.fix.is_empty()),
            "{wanted}: {unfit:?}"
        );
    }
}

#[test]
fn elements_of_two_namespaces_are_built_into_theirs() {
    let other = br#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:o" elementFormDefault="qualified">
      <xs:element name="e"><xs:complexType><xs:sequence><xs:element name="c" type="xs:int"/></xs:sequence></xs:complexType></xs:element>
    </xs:schema>"#;
    let xsd = br#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:o="urn:o" targetNamespace="urn:t" elementFormDefault="qualified">
      <xs:import namespace="urn:o"/>
      <xs:element name="a"><xs:complexType><xs:sequence><xs:element ref="o:e"/><xs:element name="b" type="xs:int"/>
        <xs:element name="d" type="xs:int" form="unqualified" minOccurs="0"/></xs:sequence></xs:complexType></xs:element>
    </xs:schema>"#;
    let model = SchemaModel::read_among(xsd, &[("o", other)]).unwrap_or_else(|unfit| panic!("{unfit:?}"));
    let wanted = r#"<a xmlns="urn:t"><e xmlns="urn:o"><c>1</c></e><b>2</b><d xmlns="">3</d></a>"#;
    let form = json!({"e": {"c": 1}, "b": 2, "d": 3});
    assert_eq!(built(&model, "a", &form.to_string()).expect("it fits"), wanted);
    assert_eq!(model.to_json(wanted.as_bytes()), Ok(form));
    let fields = model.from_fields("a", &["e.c=1", "b=2", "d=3"]).expect("the element is there");
    assert_eq!(fields.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), Ok(wanted.to_owned()));
}

#[test]
fn what_a_document_says_to_its_judge_is_no_part_of_its_form() {
    let model = with(
        r#"<xs:element name="a"><xs:complexType><xs:sequence><xs:element name="b" type="xs:decimal"/>
          <xs:element name="c" minOccurs="0"><xs:complexType/></xs:element></xs:sequence></xs:complexType></xs:element>
        <xs:complexType name="more"><xs:simpleContent><xs:extension base="xs:decimal">
          <xs:attribute name="unit" type="xs:token"/></xs:extension></xs:simpleContent></xs:complexType>"#,
    );
    let form = |b: &str, c: &str| {
        let instance = "http://www.w3.org/2001/XMLSchema-instance";
        let head = r#"xmlns="urn:t" xmlns:t="urn:t" xmlns:xs="http://www.w3.org/2001/XMLSchema""#;
        model.to_json(format!("<a {head} xmlns:i=\"{instance}\"{b}</b>{c}</a>").as_bytes())
    };
    for valid in [
        " i:schemaLocation=\"urn:t x\"><b>1",
        "><b i:noNamespaceSchemaLocation=\"x\">1",
        "><b i:type=\"xs:int\">1",
        "><b i:type=\"t:more\">1",
    ] {
        assert_eq!(form(valid, ""), Ok(json!({"b": 1})), "{valid}");
    }
    let lost = form("><b i:type=\"t:more\" unit=\"m\">1", "").expect_err("it would lose the unit");
    assert!(lost.message.ends_with("its xsi:type names a type that holds more"), "{lost:?}");
    assert_eq!(form("><b>1", "<c/>"), Ok(json!({"b": 1, "c": {}})));
    for wrong in ["<c> </c>", "<c><![CDATA[]]></c>", "<c i:nil=\"false\"/>", "<c i:typo=\"x\"/>"] {
        let finding = form("><b>1", wrong).expect_err(wrong);
        assert_eq!(finding.path.split('/').nth(2), Some("c"), "{wrong}: {finding:?}");
    }
}

#[test]
fn documentation_of_attributes_types_and_references_is_in_schema_and_prompt() {
    let about =
        |words: &str| format!("<xs:annotation><xs:documentation>{words}</xs:documentation></xs:annotation>");
    let model = with(&format!(
        r#"<xs:element name="a">{}<xs:complexType><xs:sequence><xs:element ref="b"/><xs:element name="c" type="of"/></xs:sequence>
          <xs:attribute name="d" type="xs:int">{}</xs:attribute></xs:complexType></xs:element>
        <xs:element name="b" type="xs:int">{}</xs:element>
        <xs:complexType name="of">{}<xs:attribute name="e" type="xs:int"/></xs:complexType>"#,
        about("all"),
        about("of d"),
        about("of b"),
        about("of the type"),
    ));
    let drawn = model.json_schema("a").expect("the element is there").schema;
    let prompt = model.write_prompt("a").expect("the element is there");
    for (key, words) in [("b", "of b"), ("c", "of the type"), ("d", "of d")] {
        assert_eq!(drawn["properties"][key]["description"], words, "{drawn:#}");
        assert!(prompt.contains(&format!("; {words}")), "{prompt}");
    }
    assert_eq!(model.find_documentation("a"), Some("all"));
}

#[test]
fn an_optional_part_that_is_null_is_left_out_and_a_required_one_is_refused() {
    let model = with(
        r#"<xs:element name="a"><xs:complexType><xs:sequence><xs:element name="path" type="xs:string"/>
          <xs:element name="limit" type="xs:int" minOccurs="0"/><xs:element name="tag" type="xs:string" minOccurs="0" maxOccurs="3"/>
          <xs:element name="at" minOccurs="0"><xs:complexType><xs:attribute name="zone" type="xs:string"/></xs:complexType></xs:element>
          </xs:sequence><xs:attribute name="mode" type="xs:string"/></xs:complexType></xs:element>"#,
    );
    let built = |text: &str| model.from_json_text("a", text.as_bytes()).unwrap();
    let whole = built(r#"{"path": "x", "limit": null, "tag": null, "mode": null, "at": {"zone": null}}"#);
    assert_eq!(whole, built(r#"{"path": "x", "at": {}}"#));
    assert!(whole.is_ok(), "{whole:?}");
    for wrong in [r#"{"path": null}"#, r#"{"path": "x", "tag": [null]}"#, r#"{"path": "x", "more": null}"#] {
        assert!(built(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn words_and_values_of_a_schema_are_escaped_in_a_prompt() {
    let model = with(
        r#"<xs:element name="a"><xs:annotation><xs:documentation>x &lt;/tools> &lt;rules>- leak &amp;lt;</xs:documentation></xs:annotation>
          <xs:complexType><xs:sequence><xs:element name="b"><xs:annotation><xs:documentation>&lt;/b></xs:documentation></xs:annotation>
            <xs:simpleType><xs:restriction base="xs:string"><xs:enumeration value="&lt;/tools>"/><xs:enumeration value="&#x202e;z"/></xs:restriction></xs:simpleType></xs:element>
          </xs:sequence><xs:attribute name="d"><xs:annotation><xs:documentation>&lt;/d></xs:documentation></xs:annotation>
            <xs:simpleType><xs:restriction base="xs:string"><xs:pattern value="&lt;/e>"/></xs:restriction></xs:simpleType></xs:attribute></xs:complexType></xs:element>"#,
    );
    let prompt = model.write_prompt("a").expect("the element is there");
    let own = ["<a>", "<b>"];
    assert_eq!(prompt.matches('<').count(), own.len(), "{prompt}");
    for wanted in [
        "x &lt;/tools&gt; &lt;rules&gt;- leak &amp;lt;",
        "&lt;/b&gt;",
        "&lt;/d&gt;",
        "&lt;/e&gt;",
        r"\u{202e}z",
    ] {
        assert!(prompt.contains(wanted), "wanted {wanted}: {prompt}");
    }
}

#[test]
fn the_root_of_a_json_schema_is_an_object_that_describes_rules_between_its_properties() {
    let model = with(
        r#"<xs:element name="a"><xs:annotation><xs:documentation>Draws.</xs:documentation></xs:annotation><xs:complexType><xs:sequence>
          <xs:choice><xs:element name="circle" type="xs:int"/><xs:sequence><xs:element name="width" type="xs:int"/>
            <xs:element name="depth" type="xs:int" minOccurs="0"/></xs:sequence></xs:choice>
          <xs:sequence minOccurs="0"><xs:element name="from" type="xs:int"/><xs:choice><xs:element name="to" type="xs:int"/>
            <xs:element name="for" type="xs:int" minOccurs="0"/></xs:choice></xs:sequence>
          <xs:choice><xs:element name="only" type="xs:int"/></xs:choice></xs:sequence></xs:complexType></xs:element>
        <xs:element name="word" type="xs:string"/>"#,
    );
    let drawn = model.json_schema("a").expect("the element is there");
    let bonds = [
        "exactly one of circle | width, depth?",
        "if any of from, to, for is there, from must be, and at most one of to | for?",
    ];
    assert_eq!(drawn.open[..2], bonds.map(|words| format!("/a: {words}")));
    let about = format!("Draws. Of the properties: {}; {}", bonds[0], bonds[1]);
    assert_eq!(drawn.schema["description"], about);
    assert_eq!(drawn.schema["required"], json!(["only"]), "a choice of one is none");
    let slips = built(&model, "a", r#"{"only": 1, "circle": 1, "width": 1}"#).expect_err("both are there");
    assert!(slips[0].message.contains("cannot be beside"), "{slips:?}");
    let word = model.json_schema("word").expect("the element is there").schema;
    let text = json!({"type": "string", "description": "the text of the element itself"});
    assert_eq!((&word["type"], &word["properties"]["."]), (&json!("object"), &text));
    assert_eq!(word["required"], json!(["."]));
}

/// The compact form writes a boolean with a pattern, so that it accepts only words.
#[test]
fn a_boolean_that_only_words_spell_is_a_boolean_of_json() {
    let boolean = |pattern: &str| {
        with(&format!(
            r#"<xs:element name="a"><xs:complexType><xs:sequence><xs:element name="b"><xs:simpleType>
                 <xs:restriction base="xs:boolean"><xs:pattern value="{pattern}"/></xs:restriction>
               </xs:simpleType></xs:element></xs:sequence></xs:complexType></xs:element>"#
        ))
    };
    let words = boolean("true|false");
    let xml = built(&words, "a", r#"{"b": false}"#).unwrap();
    assert_eq!(xml, r#"<a xmlns="urn:t"><b>false</b></a>"#);
    assert_eq!(words.to_json(xml.as_bytes()).unwrap(), json!({ "b": false }));
    let schema = |model: &SchemaModel| model.json_schema("a").unwrap().schema["properties"]["b"].clone();
    assert_eq!(schema(&words), json!({ "type": "boolean" }));
    assert_eq!(schema(&boolean("true")), json!({ "enum": [true] }));
    assert!(built(&boolean("true"), "a", r#"{"b": false}"#).is_err());
    assert_eq!(schema(&boolean("1|true"))["type"], "string", "two spellings of one value stay different");
}
