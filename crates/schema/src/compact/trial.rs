//! Tries a type out: it makes the type's schema and asks the schema model. So a default or a regex is
//! judged by the same rules as payloads later.
//!
//! It has no rules of its own. A type comes in; the model's message against it goes out.

use super::base::BaseType;
use super::{DeclaredPayload, ElementBody, ValueRange, ValueType, write};
use crate::SchemaModel;
use systole_wire::writer::XmlWriter;

const NAMESPACE: &str = "urn:example:trial";
const NAME: &str = "value";

/// An error in a value.
pub(super) struct CompactFault {
    pub(super) words: String,
    /// A fitting value, if one is known.
    pub(super) instead: Option<String>,
}

/// The error in a value of a base within a range.
pub(super) fn find_fault(base: &BaseType, range: &ValueRange, value: &str) -> Option<CompactFault> {
    let of = ValueType {
        sensitive: false,
        base: base.clone(),
        range: range.clone(),
        pattern: None,
        default: None,
        words: None,
    };
    try_value(&of, value)
}

/// The error in a value of a type.
pub(super) fn try_value(of: &ValueType, value: &str) -> Option<CompactFault> {
    let model = SchemaModel::from_xsd(&write_schema(of)).ok()?;
    let mut writer = XmlWriter::new();
    writer.open(NAME).xmlns(NAMESPACE).text(value);
    let finding = model.explain_payload(&writer.finish())?;
    let words = finding.message.strip_prefix("value: ").unwrap_or(&finding.message).to_owned();
    Some(CompactFault { words, instead: text_of(&finding.fix) })
}

/// Why the pattern of a type is refused.
pub(super) fn refused_pattern(of: &ValueType) -> Option<String> {
    let unfit = SchemaModel::from_xsd(&write_schema(of)).err()?.into_iter().next()?;
    // The text before the colon names the pattern, which is shown separately.
    let reason = unfit.message.split_once(" is not taken: ").map(|(_, reason)| reason.to_owned());
    Some(reason.unwrap_or(unfit.message))
}

fn write_schema(of: &ValueType) -> Vec<u8> {
    let body = ElementBody::Type(ValueType { default: None, words: None, ..of.clone() });
    write::write_xsd(NAMESPACE, &[DeclaredPayload { name: NAME.to_owned(), dangerous: false, body }])
}

/// The text of an element that the model proposes, if it can be written into a file unchanged.
fn text_of(fix: &str) -> Option<String> {
    let inside = fix.strip_prefix('<')?.split_once('>')?.1.split_once("</")?.0;
    (!inside.is_empty() && !inside.contains(['&', '<'])).then(|| inside.to_owned())
}
