//! What a form offers, and how it treats values that do not belong to it.

use super::{FormField, FormInput, FormMistake, FormValues};
use crate::SchemaModel;

const ORDER: &str = r###"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:t="urn:t"
    targetNamespace="urn:t" elementFormDefault="qualified">
  <xs:element name="order"><xs:complexType><xs:sequence>
    <xs:element name="note" type="xs:string" minOccurs="0">
      <xs:annotation><xs:documentation>Words for the shop</xs:documentation></xs:annotation></xs:element>
    <xs:element name="line" maxOccurs="3"><xs:complexType>
      <xs:sequence><xs:element name="sku" type="xs:token"/></xs:sequence>
      <xs:attribute name="count" use="required"><xs:simpleType><xs:restriction base="xs:int">
        <xs:minInclusive value="1"/><xs:maxInclusive value="99"/></xs:restriction></xs:simpleType></xs:attribute>
      </xs:complexType></xs:element>
    <xs:choice><xs:element name="card" type="xs:token"/><xs:element name="cash" type="xs:boolean"/></xs:choice>
    <xs:element name="options" minOccurs="0"><xs:complexType><xs:sequence>
      <xs:element name="gift" type="xs:boolean" minOccurs="0"/></xs:sequence></xs:complexType></xs:element>
    <xs:any namespace="##other" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="tree" type="t:tree"/>
  <xs:complexType name="tree"><xs:sequence>
    <xs:element name="leaf" type="xs:string" minOccurs="0"/>
    <xs:element name="tree" type="t:tree" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType>
</xs:schema>"###;

fn model() -> SchemaModel {
    SchemaModel::from_xsd(ORDER.as_bytes()).unwrap()
}

fn posted(pairs: &[(&str, &str)]) -> FormValues {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    FormValues::from_pairs(pairs).unwrap()
}

fn built(pairs: &[(&str, &str)]) -> Result<String, Vec<FormMistake>> {
    let payload = model().from_form("order", &posted(pairs)).unwrap();
    payload.map(|payload| String::from_utf8(payload).unwrap())
}

fn places(field: &FormField) -> &[FormField] {
    match &field.input {
        FormInput::Several { places, .. } => places,
        other => panic!("{other:?}"),
    }
}

const GOOD: [(&str, &str); 6] = [
    ("/order/note", "a <b> & \"c\"]]>"),
    ("/order/line[1]/sku", ""),
    ("/order/line[1]/@count", ""),
    ("/order/line[2]/sku", "A-1"),
    ("/order/line[2]/@count", "7"),
    ("/order/cash", "true"),
];

#[test]
fn a_blank_form_shows_every_kind_of_field() {
    let form = model().draw_form("order", &FormValues::default()).unwrap();
    let names: Vec<&str> = form.fields.iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["/order/note", "/order/line", "/order/?.2", "/order/options", "/order/.any"]);
    let [note, line, pay, options, any] = form.fields.as_slice() else { panic!("{names:?}") };
    assert_eq!(
        (note.label.as_str(), &note.input, note.is_required),
        ("Words for the shop", &FormInput::Text, false)
    );
    assert_eq!(places(line).len(), 2, "one more than needed");
    let FormInput::Group(fields) = &places(line)[0].input else { panic!("{line:?}") };
    let count = FormInput::Whole { least: Some("1".to_owned()), most: Some("99".to_owned()) };
    assert_eq!((fields[0].name.as_str(), &fields[0].input), ("/order/line[1]/@count", &count));
    assert!(fields[0].limits.contains("1 to 99"), "{}", fields[0].limits);
    assert!(matches!(&pay.input, FormInput::OneOf(both) if both.len() == 2));
    assert!(options.may_be_kept() && !options.is_required);
    assert!(matches!(places(any)[0].input, FormInput::Xml));
    assert!(form.mistakes.is_empty());
}

#[test]
fn values_become_xml_and_never_markup() {
    let xml = built(&GOOD).unwrap();
    let note = "<note>a &lt;b&gt; &amp; \"c\"]]&gt;</note>";
    assert_eq!(
        xml,
        format!(
            "<order xmlns=\"urn:t\">{note}<line count=\"7\"><sku>A-1</sku></line><cash>true</cash></order>"
        )
    );
}

#[test]
fn a_mistake_names_the_posted_field_even_behind_blank_places() {
    let mut pairs = GOOD.to_vec();
    pairs[4].1 = "700";
    let mistakes = built(&pairs).unwrap_err();
    assert_eq!(mistakes[0].name, "/order/line[2]/@count", "{mistakes:?}");
    assert!(mistakes[0].message.contains("700"), "{mistakes:?}");
    pairs[4].1 = "";
    assert_eq!(built(&pairs).unwrap_err()[0].name, "/order/line[2]/@count");
    let mistakes = built(&[("/order/?.2", "2")]).unwrap_err();
    let names: Vec<&str> = mistakes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["/order/line[1]/@count", "/order/cash"], "{mistakes:?}");
}

#[test]
fn a_value_without_a_field_is_reported_not_dropped() {
    for (name, value) in [
        ("/order/price", "1"),
        ("/order/line[201]/sku", "beyond the places"),
        ("/order/line[01]/sku", "x"),
        ("/order/?.2", "9"),
        ("/order/options/+", "perhaps"),
        ("/tree/leaf", "x"),
    ] {
        let mut pairs = GOOD.to_vec();
        pairs.push((name, value));
        let mistakes = built(&pairs).unwrap_err();
        assert!(mistakes[0].message.contains(value), "{name}: {mistakes:?}");
    }
}

#[test]
fn a_chosen_alternative_and_a_part_without_values_are_sent() {
    let mut pairs = GOOD.to_vec();
    pairs.extend([("/order/?.2", "1"), ("/order/card", "Visa"), ("/order/options/+", "yes")]);
    pairs.push(("/order/.any[1]", "<x xmlns='urn:x'/>"));
    let xml = built(&pairs).unwrap();
    assert!(xml.ends_with("<card>Visa</card><options></options><x xmlns=\"urn:x\"/></order>"), "{xml}");
    let model = model();
    let values = model.form_values(xml.as_bytes()).unwrap();
    assert_eq!(model.from_form("order", &values), Some(Ok(xml.into_bytes())));
}

#[test]
fn one_more_place_is_offered_until_the_schema_allows_no_more() {
    let shown = |values: &FormValues| {
        let form = model().draw_form("order", values).unwrap();
        let line = form.fields.iter().find(|field| field.name == "/order/line").unwrap();
        let FormInput::Several { places, may_add } = &line.input else { panic!("{line:?}") };
        (places.len(), *may_add)
    };
    assert_eq!(shown(&posted(&GOOD)), (2, true));
    assert_eq!(shown(&posted(&GOOD).with_more("/order/line")), (3, false));
}

#[test]
fn a_tree_inside_itself_ends_as_xml_and_comes_back() {
    let model = model();
    let form = model.draw_form("tree", &FormValues::default()).unwrap();
    assert!(format!("{form:?}").contains("/tree/tree[1]/tree[1]/tree[1]/.xml"), "{form:?}");
    for depth in [1, 5, 12, 13, 40] {
        let xml = ["<tree><leaf>l</leaf>".repeat(depth), "</tree>".repeat(depth)].concat();
        let xml = xml.replacen("<tree>", "<tree xmlns=\"urn:t\">", 1);
        let values = model.form_values(xml.as_bytes()).unwrap();
        let back = model.from_form("tree", &values).unwrap().unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), xml);
    }
}

#[test]
fn hostile_values_end_in_a_mistake() {
    let many = |count: usize, name: &dyn Fn(usize) -> String| {
        FormValues::from_pairs((0..count).map(|at| (name(at), "x".to_owned())))
    };
    assert!(many(4_001, &|at| format!("/order/{at}")).is_err());
    assert!(many(2, &|_| "/order/note".to_owned()).is_err());
    assert!(many(1, &|_| format!("/order{}", "/x".repeat(2_000))).is_err());
    assert!(many(1, &|_| format!("/order{}", "[1]".repeat(60))).is_err());
    let deep =
        many(1, &|_| format!("{}/leaf", "/tree[1]".repeat(20).replacen("/tree[1]", "/tree", 1))).unwrap();
    assert!(model().from_form("tree", &deep).unwrap().is_ok());
    let names = |at: usize| format!("/tree{}/leaf", format!("/tree[{}]", at % 200 + 1).repeat(at / 200 + 1));
    let wide = many(4_000, &names).unwrap();
    assert!(model().from_form("tree", &wide).unwrap().is_err());
    let xml = posted(&[("/tree/tree[1]/tree[1]/.xml", "<!DOCTYPE x><tree xmlns='urn:t'/>")]);
    assert!(model().from_form("tree", &xml).unwrap().is_err());
    let xml = posted(&[("/tree/tree[1]/tree[1]/.xml", "<order xmlns='urn:t'/>")]);
    let mistakes = model().from_form("tree", &xml).unwrap().unwrap_err();
    assert_eq!(mistakes[0].name, "/tree/tree[1]/tree[1]/.xml", "{mistakes:?}");
}

#[test]
fn a_value_that_a_browser_would_change_is_changed_as_xml() {
    let payload = "<tree xmlns=\"urn:t\"><leaf>a&#13;b</leaf></tree>";
    let mistake = model().form_values(payload.as_bytes()).unwrap_err();
    assert!(format!("{mistake:?}").contains("carriage return"), "{mistake:?}");
}
