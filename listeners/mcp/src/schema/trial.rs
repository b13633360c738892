//! Whether the schema profile takes what was made from a JSON Schema.
//!
//! A simple type, a value or a whole document comes in; the reason for a refusal goes out. What is refused here never
//! reaches an organism: the profile is narrower than XSD, and its reader says why.

use systole_kit::schema::SchemaModel;
use systole_kit::writer::XmlWriter;

use super::shape::SimpleShape;
use super::write;
use super::write_values;

/// Why the profile refuses a simple type, or a default of it.
pub(super) fn find_refusal(simple: &SimpleShape, default: Option<&str>) -> Option<String> {
    let mut writer = XmlWriter::new();
    let start = write::open_schema(&mut writer, "urn:trial");
    start.content(|inside| {
        inside.open("xs:element").attr("name", "trial").content(|inside| {
            inside.open("xs:complexType").content(|inside| {
                inside.open("xs:all").content(|inside| {
                    let start = inside.open("xs:element").attr("name", "value").attr("minOccurs", "0");
                    let start = start.attr_if("systole:default", default);
                    start.content(|inside| write_values::write_simple_type(inside, simple));
                });
            });
        });
        write_values::write_named_bases(inside, &["bool", "integer", "number"]);
    });
    find_document_refusal(&writer.finish())
}

/// Why the profile refuses a document: the first construct, in words.
pub(super) fn find_document_refusal(xsd: &[u8]) -> Option<String> {
    let unfit = SchemaModel::from_xsd(xsd).err()?;
    let words = unfit.first().map(|first| format!("{}: {}", first.construct, first.message));
    Some(words.unwrap_or_else(|| "the schema profile refuses it".to_owned()))
}
