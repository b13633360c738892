//! Values that a schema marks as sensitive: where they are in a payload, and that the log keeps them as parts.

use systole_core::types::body_parts::BodyHole;
use systole_core::types::ports::{LogReader as _, Position};
use systole_core::types::record::Record;
use systole_kit::schema::SchemaModel;
use systole_log::sqlite;

use crate::audit_stage::stop;
use crate::log_page::{page, program, python};
use crate::organism::{ask, echo, outcome, say, start};

const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="urn:t"
  xmlns:systole="urn:systole:schema:v1" targetNamespace="urn:t" elementFormDefault="qualified">
  <xs:element name="pay"><xs:complexType>
    <xs:sequence>
      <xs:element name="name" type="xs:string" systole:sensitive="true"/>
      <xs:element name="note" type="xs:string" minOccurs="0" maxOccurs="unbounded"/>
      <xs:element ref="key" minOccurs="0"/>
    </xs:sequence>
    <xs:attribute name="iban" type="xs:string" systole:sensitive="true"/>
    <xs:attribute name="sum" type="xs:string"/>
  </xs:complexType></xs:element>
  <xs:element name="key" type="xs:string" systole:sensitive="true"/>
  <xs:element name="plain" type="xs:string"/>
</xs:schema>"#;

fn values(payload: &str) -> Vec<&str> {
    let model = SchemaModel::from_xsd(XSD.as_bytes()).unwrap();
    model.find_sensitive(payload.as_bytes()).into_iter().map(|range| &payload[range]).collect()
}

#[test]
fn sensitive_values_are_found_between_tags_and_quotes() {
    let pay = "<p:pay sum=\"5\" iban = 'DE&amp;02' xmlns:p=\"urn:t\"><p:name >Ann &lt; Lee</p:name ><p:note>iban</p:note>\
               <p:key><![CDATA[a</b]]></p:key></p:pay>";
    assert_eq!(values(pay), ["DE&amp;02", "Ann &lt; Lee", "<![CDATA[a</b]]>"]);
    assert_eq!(values("<pay xmlns='urn:t'><name/></pay>"), [""; 0], "what is empty is no value");
    assert_eq!(values("<key xmlns='urn:t'>k</key>"), ["k"]);
    assert_eq!(values("<plain xmlns='urn:t'>k</plain>"), [""; 0]);
    let wrong = XSD.replace("systole:sensitive=\"true\"/>", "systole:sensitive=\"yes\"/>");
    assert!(SchemaModel::from_xsd(wrong.as_bytes()).is_err());
}

#[tokio::test]
async fn c13_a_sensitive_value_is_a_part_of_its_record_and_the_log_verifies() {
    let folder = echo();
    let path = folder.path().join("echo.xsd");
    let marked = "name=\"text\" xmlns:systole=\"urn:systole:schema:v1\" systole:sensitive=\"true\"";
    let schema = std::fs::read_to_string(&path).unwrap().replace("name=\"text\"", marked);
    std::fs::write(&path, schema).unwrap();
    let organism = start(folder.path()).await;
    let receipt = ask(&organism, "k1", &say("DE02"), None).await.unwrap();
    outcome(&organism, &receipt).await;
    stop(organism).await;
    let path = folder.path().join("hello.db");
    let records = sqlite::open_reading(&path).unwrap().read_after(Position(0), 100).unwrap();
    let values = |record: &Record| -> Vec<String> {
        let text = |hole: BodyHole| String::from_utf8(record.body[hole.to_range()].to_vec()).unwrap();
        record.parts.holes().map(text).collect()
    };
    let said = records.iter().filter(|(_, record)| record.header.thread == receipt.thread);
    let said: Vec<Vec<String>> = said.map(|(_, record)| values(record)).collect();
    assert_eq!(said, [["DE02"], ["DE02"]], "the request and its answer");
    assert!(sqlite::verify_all(&path).is_ok());
    let ran = python(
        folder.path(),
        &["-c", "import sys; open('verify.py', 'w').write(sys.argv[1])", program(&page())],
    );
    assert!(ran.status.success());
    let ran = python(folder.path(), &["verify.py", "hello.db"]);
    assert!(ran.status.success(), "the program of the page agrees: {ran:?}");
}
