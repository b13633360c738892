//! The target of a path into a payload: kinds of value, how often parts occur, and impossible values.

use systole_kit::schema::{PayloadPart, PayloadPartKind, SchemaModel};

const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:x" xmlns="urn:x" elementFormDefault="qualified">
  <xs:element name="order">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="total" type="xs:decimal"/>
        <xs:choice minOccurs="0">
          <xs:element name="paid" type="xs:boolean"/>
          <xs:element name="due" type="xs:date"/>
        </xs:choice>
        <xs:element name="line" minOccurs="1" maxOccurs="20">
          <xs:complexType>
            <xs:simpleContent>
              <xs:extension base="xs:string"><xs:attribute name="count" type="xs:positiveInteger" use="required"/></xs:extension>
            </xs:simpleContent>
          </xs:complexType>
        </xs:element>
        <xs:element name="note" type="xs:string" minOccurs="0" maxOccurs="unbounded"/>
        <xs:element name="score" minOccurs="0">
          <xs:simpleType><xs:restriction base="xs:int"><xs:minInclusive value="0"/><xs:maxExclusive value="10"/></xs:restriction></xs:simpleType>
        </xs:element>
        <xs:element name="step" minOccurs="0">
          <xs:simpleType><xs:restriction base="xs:int"><xs:enumeration value="1"/><xs:enumeration value="5"/></xs:restriction></xs:simpleType>
        </xs:element>
        <xs:element name="kind" minOccurs="0">
          <xs:simpleType><xs:restriction base="xs:string"><xs:enumeration value="a"/><xs:enumeration value="b"/></xs:restriction></xs:simpleType>
        </xs:element>
      </xs:sequence>
      <xs:attribute name="id" type="xs:token" use="required"/>
      <xs:attribute name="total" type="xs:string"/>
    </xs:complexType>
  </xs:element>
  <xs:element name="words" type="xs:string"/>
</xs:schema>"#;

fn order(model: &SchemaModel) -> PayloadPart<'_> {
    model.find_part("order").unwrap()
}

#[test]
fn parts_come_in_the_order_of_the_schema_with_how_often_they_come() {
    let model = SchemaModel::from_xsd(XSD.as_bytes()).unwrap();
    let order = order(&model);
    let parts: Vec<_> = order
        .parts()
        .iter()
        .map(|part| (part.name(), part.is_attribute(), part.least(), part.most()))
        .collect();
    assert_eq!(
        parts,
        [
            ("id", true, 1, Some(1)),
            ("total", true, 0, Some(1)),
            ("total", false, 1, Some(1)),
            ("paid", false, 0, Some(1)),
            ("due", false, 0, Some(1)),
            ("line", false, 1, Some(20)),
            ("note", false, 0, None),
            ("score", false, 0, Some(1)),
            ("step", false, 0, Some(1)),
            ("kind", false, 0, Some(1)),
        ]
    );
    assert!(!order.find_part("total").unwrap().is_attribute(), "an element comes first");
    assert!(order.find_part("note").unwrap().is_list() && !order.find_part("total").unwrap().is_list());
    assert!(model.find_part("nothing").is_none() && order.find_part("nothing").is_none());
    assert!(model.find_part("words").unwrap().parts().is_empty());
}

#[test]
fn a_part_has_a_kind_and_values_that_cannot_be() {
    let model = SchemaModel::from_xsd(XSD.as_bytes()).unwrap();
    let part = |name: &str| order(&model).find_part(name).unwrap();
    let kind = |name: &str| part(name).kind();
    assert_eq!(order(&model).kind(), PayloadPartKind::Parts);
    assert_eq!(
        [kind("total"), kind("paid"), kind("due")],
        [PayloadPartKind::Number, PayloadPartKind::Flag, PayloadPartKind::Text]
    );
    assert_eq!([kind("line"), kind("id")], [PayloadPartKind::Text, PayloadPartKind::Text]);
    assert_eq!(part("line").find_part("count").unwrap().kind(), PayloadPartKind::Number);
    assert_eq!(model.find_part("words").unwrap().kind(), PayloadPartKind::Text);
    assert_eq!(part("kind").values(), ["a", "b"]);
    assert_eq!((part("kind").find_fault("a"), part("score").find_fault("9")), (None, None));
    assert!(part("kind").find_fault("c").is_some() && part("score").find_fault("10").is_some());
}

#[test]
fn a_range_is_beyond_a_part_where_no_value_of_it_is_in_both() {
    let model = SchemaModel::from_xsd(XSD.as_bytes()).unwrap();
    let part = |name: &str| order(&model).find_part(name).unwrap();
    let score = part("score");
    for (from, to, beyond) in [
        (Some("9"), None, false),
        (Some("10"), None, true),
        (Some("9.5"), None, false),
        (None, Some("0"), false),
        (None, Some("-1"), true),
        (None, None, false),
    ] {
        assert_eq!(score.is_beyond(from, to), beyond, "{from:?}..{to:?}");
    }
    let step = part("step");
    assert!(step.is_beyond(Some("2"), Some("4")) && !step.is_beyond(Some("2"), Some("5")));
    // The type itself has bounds.
    assert!(part("line").find_part("count").unwrap().is_beyond(None, Some("0")));
    assert!(!part("total").is_beyond(Some("100000"), None));
    assert!(score.is_less("-0.5", "0") && score.is_less("2", "10.0") && !score.is_less("2", "2.0"));
}
