//! The annotations that change the JSON form of a part: both directions, the JSON Schema, fields, and refusals of marks
//! without effect.

use serde_json::{Value, json};
use systole_kit::schema::SchemaModel;

/// A schema whose payload `t` has this content, with one named type `Node`.
fn schema(inside: &str) -> String {
    format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"urn:t\" xmlns:systole=\"urn:systole:schema:v1\" \
         targetNamespace=\"urn:t\" elementFormDefault=\"qualified\"><xs:element name=\"t\"><xs:complexType><xs:all>\
         {inside}</xs:all></xs:complexType></xs:element>\
         <xs:complexType name=\"Node\"><xs:choice><xs:element name=\"text\" type=\"xs:string\"/>\
         <xs:element name=\"list\"><xs:complexType><xs:sequence>\
         <xs:element name=\"item\" type=\"Node\" systole:json-form=\"choice\" minOccurs=\"0\" maxOccurs=\"unbounded\"/>\
         </xs:sequence></xs:complexType></xs:element></xs:choice></xs:complexType></xs:schema>"
    )
}

const KEY: &str = "<xs:attribute name=\"key\" type=\"xs:string\" use=\"required\"/>";

fn map(inside: &str) -> String {
    format!(
        "<xs:element name=\"p\" systole:json-form=\"map\"><xs:complexType><xs:sequence>{inside}</xs:sequence>\
         </xs:complexType></xs:element>"
    )
}

fn text_map() -> String {
    map(&format!(
        "<xs:element name=\"entry\" minOccurs=\"0\" maxOccurs=\"unbounded\"><xs:complexType><xs:simpleContent>\
         <xs:extension base=\"xs:int\">{KEY}</xs:extension></xs:simpleContent></xs:complexType></xs:element>"
    ))
}

#[test]
fn a8_a_mark_changes_both_directions_and_the_json_schema() {
    let node = "<xs:element name=\"p\" type=\"Node\" systole:json-form=\"choice\"/>";
    let rows = [
        (
            "<xs:element name=\"p\" type=\"xs:int\" systole:json=\"max count\"/>".to_owned(),
            "<p>1</p>",
            json!({"max count": 1}),
            json!({"max count": "1"}),
        ),
        (
            "<xs:element name=\"p\" type=\"xs:int\" minOccurs=\"0\" systole:json-null=\"true\"/>".to_owned(),
            "",
            json!({"p": null}),
            json!({}),
        ),
        (
            text_map(),
            "<p><entry key=\"a b\">1</entry></p>",
            json!({"p": {"a b": 1}}),
            json!({"p": {"a": "1"}}),
        ),
        (
            node.to_owned(),
            "<p><list><item><text>a</text></item><item><list/></item></list></p>",
            json!({"p": ["a", []]}),
            json!({"p": [1]}),
        ),
        (
            "<xs:element name=\"p\" type=\"xs:string\" systole:json-form=\"text\"/>".to_owned(),
            "<p>{\"a\":[1,null]}</p>",
            json!({"p": {"a": [1, null]}}),
            json!({}),
        ),
        (
            "<xs:element name=\"p\" systole:json-form=\"null\"><xs:complexType/></xs:element>".to_owned(),
            "<p/>",
            json!({"p": null}),
            json!({"p": 0}),
        ),
    ];
    for (inside, content, value, wrong) in rows {
        let xsd = schema(&inside);
        let model = SchemaModel::from_xsd(xsd.as_bytes()).unwrap_or_else(|unfit| panic!("{unfit:#?}"));
        let payload = format!("<t xmlns=\"urn:t\">{content}</t>");
        assert_eq!(model.to_json(payload.as_bytes()), Ok(value.clone()), "{inside}");
        let built = model.from_json("t", &value).unwrap().unwrap_or_else(|slips| panic!("{slips:#?}"));
        assert_eq!(model.to_json(&built), Ok(value.clone()), "{inside}");
        let drawn = model.json_schema("t").unwrap().schema;
        assert_eq!(drawn["type"], "object");
        assert!(admits(&drawn, &value), "{drawn:#}");
        // What the JSON Schema refuses is refused, but for a missing key whose meaning is `null`.
        assert!(!admits(&drawn, &wrong), "{drawn:#}");
        let is_lenient = inside.contains("json-null");
        assert_eq!(model.from_json("t", &wrong).unwrap().is_err(), !is_lenient, "{inside}");
    }
}

/// Whether a JSON Schema of these tests admits a value: a validator for the few keywords that occur.
fn admits(schema: &Value, value: &Value) -> bool {
    fn at(root: &Value, schema: &Value, value: &Value) -> bool {
        if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
            return at(root, root.pointer(pointer.trim_start_matches('#')).unwrap(), value);
        }
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let is_kind = schema.get("type").is_none_or(|wanted| wanted == kind);
        let any = schema.get("anyOf").and_then(Value::as_array);
        let is_any = any.is_none_or(|branches| branches.iter().any(|branch| at(root, branch, value)));
        let items = value.as_array().into_iter().flatten();
        let are_items = items.into_iter().all(|item| schema.get("items").is_none_or(|of| at(root, of, item)));
        let fields = value.as_object().into_iter().flatten();
        let are_fields = fields.into_iter().all(|(key, field)| {
            let of = schema.get("properties").and_then(|known| known.get(key));
            match of.or(schema.get("additionalProperties")) {
                Some(Value::Bool(allowed)) => *allowed,
                Some(of) => at(root, of, field),
                None => true,
            }
        });
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let has_all = required.into_iter().all(|key| value.get(key.as_str().unwrap()).is_some());
        is_kind && is_any && are_items && are_fields && (has_all || !value.is_object())
    }
    at(schema, schema, value)
}

#[test]
fn a8_fields_take_the_name_of_the_element_and_the_key() {
    let inside = "<xs:element name=\"max\" type=\"xs:int\" systole:json=\"maxCount\"/>";
    let model = SchemaModel::from_xsd(schema(inside).as_bytes()).unwrap();
    for field in ["max=1", "maxCount=1"] {
        let built = model.from_fields("t", &[field]).unwrap().unwrap();
        assert_eq!(String::from_utf8(built).unwrap(), "<t xmlns=\"urn:t\"><max>1</max></t>");
    }
}

#[test]
fn a8_a_mark_without_effect_is_refused() {
    let rows = [
        ("<xs:element name=\"p\" type=\"xs:int\" systole:json-null=\"true\"/>".to_owned(), "never missing"),
        ("<xs:element name=\"p\" type=\"xs:int\" minOccurs=\"0\" systole:json-null=\"yes\"/>".to_owned(), "is `yes`"),
        ("<xs:element name=\"p\" type=\"xs:int\" systole:json-form=\"list\"/>".to_owned(), "is `list`"),
        ("<xs:element name=\"p\" type=\"xs:int\" systole:json-form=\"map\"/>".to_owned(), "no map"),
        ("<xs:element name=\"p\" type=\"xs:int\" systole:json-form=\"choice\"/>".to_owned(), "not one xs:choice"),
        ("<xs:element name=\"p\" type=\"Node\" systole:json-form=\"text\"/>".to_owned(), "no text"),
        ("<xs:element name=\"p\" type=\"xs:int\" systole:json-form=\"null\"/>".to_owned(), "with content"),
        (
            "<xs:element name=\"p\" type=\"xs:int\" systole:json=\"q\"/><xs:element name=\"q\" type=\"xs:int\"/>".to_owned(),
            "the same key",
        ),
        ("<xs:element name=\"p\" type=\"xs:int\" systole:jsn=\"q\"/>".to_owned(), "no such annotation"),
    ];
    for (inside, words) in rows {
        let unfit = SchemaModel::from_xsd(schema(&inside).as_bytes()).expect_err(&inside);
        assert!(unfit.iter().any(|one| one.message.contains(words)), "{inside}: {unfit:#?}");
    }
    let whole = schema("<xs:element name=\"p\" type=\"xs:int\"/>")
        .replace("<xs:element name=\"t\">", "<xs:element name=\"t\" systole:json=\"x\">");
    assert!(SchemaModel::from_xsd(whole.as_bytes()).is_err());
}

#[test]
fn a8_a_search_for_a_branch_has_a_bound() {
    // Each list may be of two kinds that differ only at the bottom, so a careless search takes 2^25 steps.
    let xsd = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns=\"urn:t\" \
        xmlns:systole=\"urn:systole:schema:v1\" targetNamespace=\"urn:t\" elementFormDefault=\"qualified\">\
        <xs:element name=\"t\"><xs:complexType><xs:all>\
        <xs:element name=\"p\" type=\"Node\" systole:json-form=\"choice\"/></xs:all></xs:complexType></xs:element>\
        <xs:complexType name=\"Node\"><xs:choice><xs:element name=\"a\" type=\"List\"/>\
        <xs:element name=\"b\" type=\"List\"/><xs:element name=\"end\" type=\"xs:int\"/></xs:choice></xs:complexType>\
        <xs:complexType name=\"List\"><xs:sequence>\
        <xs:element name=\"item\" type=\"Node\" systole:json-form=\"choice\" minOccurs=\"0\" maxOccurs=\"unbounded\"/>\
        </xs:sequence></xs:complexType></xs:schema>";
    let model = SchemaModel::from_xsd(xsd.as_bytes()).unwrap();
    let nested = |bottom: Value| (0..25).fold(bottom, |inner, _| json!([inner]));
    let slips = model.from_json("t", &json!({"p": nested(json!("no number"))})).unwrap().unwrap_err();
    assert!(slips.iter().any(|slip| slip.message.contains("fits none of a, b, end")), "{slips:?}");
    let value = json!({"p": nested(json!(1))});
    let built = model.from_json("t", &value).unwrap().unwrap();
    assert_eq!(model.to_json(&built), Ok(value));
}
