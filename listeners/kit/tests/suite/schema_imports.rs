//! Several namespaces: what an import finds, what it never does, and the messages of its
//! refusals.

use systole_kit::schema::{ProfileViolation, SchemaModel};

/// A schema of this namespace with these imports and declarations.
fn schema(namespace: &str, imports: &[&str], body: &str) -> String {
    let imports: String = imports.iter().map(|ns| format!("<xs:import namespace=\"{ns}\"/>")).collect();
    format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:a=\"urn:a\" xmlns:b=\"urn:b\" xmlns:c=\"urn:c\" \
         targetNamespace=\"{namespace}\" elementFormDefault=\"qualified\">\n{imports}\n{body}</xs:schema>"
    )
}

fn among(xsd: &str, others: &[(&str, &str)]) -> Result<SchemaModel, Vec<ProfileViolation>> {
    let others: Vec<(&str, &[u8])> = others.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    SchemaModel::read_among(xsd.as_bytes(), &others)
}

fn only(refused: Result<SchemaModel, Vec<ProfileViolation>>) -> ProfileViolation {
    let mut unfit = refused.expect_err("it is refused");
    assert_eq!(unfit.len(), 1, "{unfit:?}");
    unfit.remove(0)
}

const WORD: &str = "<xs:simpleType name=\"word\"><xs:restriction base=\"xs:token\"><xs:pattern value=\"\\S+\"/></xs:restriction></xs:simpleType>";

#[test]
fn types_elements_and_bases_of_imported_namespaces_are_found() {
    let a = schema(
        "urn:a",
        &["urn:b"],
        "<xs:element name=\"root\"><xs:complexType><xs:sequence><xs:element name=\"w\" type=\"b:word\"/>\
         <xs:element ref=\"b:part\"/><xs:element name=\"s\"><xs:simpleType><xs:restriction base=\"b:word\">\
         <xs:maxLength value=\"3\"/></xs:restriction></xs:simpleType></xs:element></xs:sequence></xs:complexType></xs:element>",
    );
    let b = schema(
        "urn:b",
        &["urn:c"],
        &format!(
            "{WORD}<xs:element name=\"part\" type=\"c:kind\"/><xs:element name=\"twin\" type=\"xs:int\"/>"
        ),
    );
    let c = schema(
        "urn:c",
        &[],
        "<xs:simpleType name=\"kind\"><xs:union memberTypes=\"xs:int xs:date\"/></xs:simpleType>",
    );
    let d = schema("urn:d", &[], "<xs:element name=\"d\" type=\"xs:int\"/>");
    let model = among(&a, &[("d.xsd", &d), ("c.xsd", &c), ("a.xsd", &a), ("b.xsd", &b)]).unwrap();
    assert_eq!(model.imports().collect::<Vec<_>>(), ["urn:b"]);
    assert_eq!(model.drawn_in(), [3, 1], "a chain is followed, in its order, and nothing else is drawn in");
    assert_eq!(model.elements().collect::<Vec<_>>(), ["root"]);
    assert!(
        model.has_element("urn:b", "part")
            && !model.has_element("urn:a", "part")
            && !model.has_element("urn:d", "d")
    );
    let example = String::from_utf8(model.build_example("root").unwrap()).unwrap();
    assert_eq!(example, r#"<root xmlns="urn:a"><w>a</w><part xmlns="urn:b">1</part><s>a</s></root>"#);
    assert_eq!(model.explain_payload(example.as_bytes()), None);
    let wrong = example.replace("<w>a", "<w>two words");
    assert!(model.explain_payload(wrong.as_bytes()).unwrap().message.contains("does not match the pattern"));
    assert!(
        model.write_prompt("root").unwrap().contains("<part xmlns=\"urn:b\">("),
        "{:?}",
        model.write_prompt("root")
    );
}

#[test]
fn two_schemas_may_import_one_another() {
    let a = schema("urn:a", &["urn:b"], &format!("{WORD}<xs:element name=\"a\" type=\"b:nest\"/>"));
    let b = schema(
        "urn:b",
        &["urn:a"],
        "<xs:complexType name=\"nest\"><xs:sequence><xs:element name=\"w\" type=\"a:word\"/>\
         <xs:element ref=\"a:a\" minOccurs=\"0\"/></xs:sequence></xs:complexType><xs:element name=\"b\" type=\"nest\"/>",
    )
    .replace("<xs:schema ", "<xs:schema xmlns=\"urn:b\" ");
    let both = [("a.xsd", a.as_str()), ("b.xsd", b.as_str())];
    let model = among(&a, &both).unwrap();
    assert_eq!(model.drawn_in(), [1]);
    let deep = r#"<a xmlns="urn:a"><w xmlns="urn:b">x</w><a><w xmlns="urn:b">y y</w></a></a>"#;
    let found = model.explain_payload(deep.as_bytes()).expect("the inner one is wrong");
    assert_eq!((found.path.as_str(), found.fix.as_str()), ("/a/a/w", "<w xmlns=\"urn:b\">y-y</w>"));
    assert_eq!(among(&b, &both).unwrap().drawn_in(), [0]);
}

#[test]
fn an_import_that_leads_nowhere_names_the_nearest_namespace() {
    let element = "<xs:element name=\"a\" type=\"xs:int\"/>";
    let a = schema("urn:a", &["urn:shop:adress"], element);
    let b = schema("urn:shop:address", &[], element);
    let c = schema("urn:c", &[], element);
    let told = only(among(&a, &[("c.xsd", &c), ("b.xsd", &b)]));
    assert_eq!((told.document.as_deref(), told.line, told.column), (None, 2, 1));
    assert_eq!((told.construct.as_str(), told.fix.as_str()), ("xs:import", "namespace=\"urn:shop:address\""));
    assert_eq!(told.message, "no schema named beside it has the namespace urn:shop:adress");
    let told = only(among(&a, &[("c.xsd", &c)]));
    assert_eq!(told.fix, "name the schema of that namespace too; known are urn:c");
    assert_eq!(only(among(&a, &[])).fix, "name the schema of that namespace too");
}

#[test]
fn an_import_that_could_mean_two_schemas_names_both() {
    let element = "<xs:element name=\"a\" type=\"xs:int\"/>";
    let a = schema("urn:a", &["urn:b"], element);
    let (b, other) = (schema("urn:b", &[], element), schema("urn:b", &[], WORD));
    let told = only(among(&a, &[("b.xsd", &b), ("old/b.xsd", &other)]));
    assert_eq!(told.message, "the namespace urn:b is of several schemas: b.xsd, old/b.xsd");
    assert!(told.fix.contains("another targetNamespace"), "{told:?}");
    // The same bytes under two names are one schema.
    assert!(among(&a, &[("b.xsd", &b), ("copy.xsd", &b)]).is_ok());
}

#[test]
fn row_09_namespaces_that_look_alike_are_different_ones() {
    let a = schema("urn:a", &["http://x.org/b"], "<xs:element name=\"a\" type=\"xs:int\"/>");
    for other in [
        "http://X.org/b",
        "http://x.org/b/",
        "http://x.org/%62",
        "http://x.org/\u{431}",
        "http://x.org/b\u{200b}",
    ] {
        let other = schema(other, &[], "<xs:element name=\"b\" type=\"xs:int\"/>");
        assert_eq!(only(among(&a, &[("b.xsd", &other)])).construct, "xs:import");
    }
}

#[test]
fn a_name_of_a_namespace_that_is_not_imported_is_refused() {
    let b = schema("urn:b", &["urn:c"], &format!("{WORD}<xs:element name=\"b\" type=\"xs:int\"/>"));
    let c = schema("urn:c", &[], "<xs:element name=\"c\" type=\"xs:int\"/>");
    let others = [("b.xsd", b.as_str()), ("c.xsd", c.as_str())];
    let with = |imports: &[&str], body: &str| only(among(&schema("urn:a", imports, body), &others));
    let told = with(&[], "<xs:element name=\"a\" type=\"b:word\"/>");
    assert_eq!(told.message, "b:word is of the namespace urn:b, which is not imported");
    assert_eq!(told.fix, "add <xs:import namespace=\"urn:b\"/> at the top");
    let content = "<xs:element name=\"a\"><xs:complexType><xs:sequence><xs:element ref=\"c:c\"/></xs:sequence></xs:complexType></xs:element>";
    let told = with(&["urn:b"], content);
    assert!(told.message.contains("urn:c, which is not imported"), "an import does not hand on: {told:?}");
    let told = with(&["urn:b"], "<xs:element name=\"a\" type=\"b:wort\"/>");
    assert_eq!(told.message, "the type b:wort is not defined in urn:b");
    assert_eq!(told.fix, "define it, or did you mean word");
    let told = with(&["urn:c"], &content.replace("c:c", "c:d"));
    assert_eq!(told.message, "the element c:d is not declared in urn:c");
    let told = with(&[], "<xs:element name=\"a\" type=\"word\"/>");
    assert_eq!(
        (told.message.as_str(), told.fix.as_str()),
        ("word has no namespace", "a prefix bound to urn:a")
    );
}

#[test]
fn an_import_with_a_location_or_in_the_wrong_place_is_refused() {
    let element = "<xs:element name=\"a\" type=\"xs:int\"/>";
    let b = schema("urn:b", &[], element);
    let imports = [
        ("<xs:import namespace=\"urn:b\" schemaLocation=\"b.xsd\"/>", "a location is never fetched"),
        (
            "<xs:import namespace=\"urn:b\" schemaLocation=\"http://127.0.0.1:1/b.xsd\"/>",
            "a location is never fetched",
        ),
        ("<xs:import/>", "it names no namespace"),
        ("<xs:import namespace=\"urn:a\"/>", "a schema does not import its own namespace"),
        (
            "<xs:import namespace=\"https://xml-pipeline.org/ns/core/v1\"/>",
            "the namespace https://xml-pipeline.org/ns/core/v1 belongs to Systole and is not imported",
        ),
        (
            "<xs:import namespace=\"https://xml-pipeline.org/ns/talk/v1\"/>",
            "the namespace https://xml-pipeline.org/ns/talk/v1 belongs to Systole and is not imported",
        ),
        (
            "<xs:import namespace=\"http://www.w3.org/XML/1998/namespace\"/>",
            "attributes of the namespace xml are not supported",
        ),
    ];
    for (import, words) in imports {
        let told = only(among(&schema("urn:a", &[], &[import, element].concat()), &[("b.xsd", &b)]));
        assert_eq!((told.construct.as_str(), told.message.as_str()), ("xs:import", words));
    }
    let late = schema("urn:a", &[], &format!("{element}<xs:import namespace=\"urn:b\"/>"));
    assert_eq!(only(among(&late, &[("b.xsd", &b)])).fix, "move it to the top");
}

#[test]
fn what_is_wrong_in_an_imported_schema_is_reported_with_its_name() {
    let a = schema("urn:a", &["urn:b"], "<xs:element name=\"a\" type=\"b:t\"/>");
    let b = schema(
        "urn:b",
        &[],
        "<xs:simpleType name=\"t\"><xs:restriction base=\"xs:nothing\"/></xs:simpleType>",
    );
    let unfit = among(&a, &[("lib/b.xsd", &b)]).expect_err("b is unfit");
    assert!(unfit.iter().all(|one| one.document.as_deref() == Some("lib/b.xsd")), "{unfit:?}");
    assert_eq!(unfit[0].construct, "xs:nothing");
    assert_eq!(only(among(&b, &[])).document, None);
}

#[test]
fn one_name_of_two_namespaces_in_one_content_is_refused() {
    let b = schema("urn:b", &[], "<xs:element name=\"part\" type=\"xs:int\"/>");
    let a = schema(
        "urn:a",
        &["urn:b"],
        "<xs:element name=\"a\"><xs:complexType><xs:sequence><xs:element ref=\"b:part\"/>\
         <xs:element name=\"part\" type=\"xs:int\"/></xs:sequence></xs:complexType></xs:element>",
    );
    assert_eq!(only(among(&a, &[("b.xsd", &b)])).message, "part is declared twice, in two namespaces");
}

#[test]
fn a_wildcard_never_competes_with_elements_of_an_imported_namespace() {
    let b = schema("urn:b", &[], "<xs:element name=\"part\" type=\"xs:int\"/>");
    let with = |times: &str| {
        let content = format!(
            "<xs:element name=\"a\"><xs:complexType><xs:sequence><xs:element ref=\"b:part\" {times}/>\
             <xs:any namespace=\"##other\" processContents=\"lax\" minOccurs=\"0\"/></xs:sequence></xs:complexType></xs:element>"
        );
        among(&schema("urn:a", &["urn:b"], &content), &[("b.xsd", &b)])
    };
    assert!(with("").is_ok());
    assert!(only(with("minOccurs=\"0\"")).message.starts_with("xs:any would take elements"));
}

#[test]
fn elements_without_a_namespace_are_told_apart_from_those_with_one() {
    let a = schema(
        "urn:a",
        &[],
        "<xs:element name=\"a\"><xs:complexType><xs:sequence><xs:element name=\"in\" type=\"xs:int\" form=\"qualified\"/>\
         <xs:element name=\"out\" type=\"xs:int\"/></xs:sequence></xs:complexType></xs:element>",
    )
    .replace("\"qualified\">\n", "\"unqualified\">\n");
    let model = among(&a, &[]).unwrap();
    let example = String::from_utf8(model.build_example("a").unwrap()).unwrap();
    assert_eq!(example, r#"<a xmlns="urn:a"><in>1</in><out xmlns="">1</out></a>"#);
    assert_eq!(model.explain_payload(example.as_bytes()), None);
    let found =
        model.explain_payload(example.replace(" xmlns=\"\"", "").as_bytes()).expect("out is none of urn:a");
    assert_eq!(found.message, "out: its namespace is urn:a, expected none");
    assert_eq!(found.fix, "<out xmlns=\"\">1</out>");
}
