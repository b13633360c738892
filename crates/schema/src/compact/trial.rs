//! Tries a type out: the schema that it means is made, and the schema model is asked. What is said of a
//! default or a regex is thereby said by the same rules that payloads are held to later.
//!
//! Never has rules of its own. A type comes in, the model's words against it go out.

use super::base::Base;
use super::{Body, Payload, Range, Type, write};
use crate::Model;
use systole_wire::writer::Writer;

const NAMESPACE: &str = "urn:example:trial";
const NAME: &str = "value";

/// What is wrong with a value.
pub(super) struct Fault {
    pub(super) words: String,
    /// A value that fits, if one is known.
    pub(super) instead: Option<String>,
}

/// What is wrong with a value of a base within a range.
pub(super) fn fault(base: &Base, range: &Range, value: &str) -> Option<Fault> {
    let of = Type {
        sensitive: false,
        base: base.clone(),
        range: range.clone(),
        pattern: None,
        default: None,
        words: None,
    };
    against(&of, value)
}

/// What is wrong with a value of a type.
pub(super) fn against(of: &Type, value: &str) -> Option<Fault> {
    let model = Model::read(&schema(of)).ok()?;
    let mut writer = Writer::new();
    writer.open(NAME).xmlns(NAMESPACE).text(value);
    let finding = model.explain(&writer.finish())?;
    let words = finding.message.strip_prefix("value: ").unwrap_or(&finding.message).to_owned();
    Some(Fault { words, instead: text_of(&finding.fix) })
}

/// Why the pattern of a type is not taken.
pub(super) fn refused_pattern(of: &Type) -> Option<String> {
    let unfit = Model::read(&schema(of)).err()?.into_iter().next()?;
    // What stands before the colon names the pattern, which is shown beside.
    let reason = unfit.message.split_once(" is not taken: ").map(|(_, reason)| reason.to_owned());
    Some(reason.unwrap_or(unfit.message))
}

fn schema(of: &Type) -> Vec<u8> {
    let body = Body::Type(Type { default: None, words: None, ..of.clone() });
    write::xsd(NAMESPACE, &[Payload { name: NAME.to_owned(), dangerous: false, body }])
}

/// The text of an element that the model proposes, where it can be written into a file as it is.
fn text_of(fix: &str) -> Option<String> {
    let inside = fix.strip_prefix('<')?.split_once('>')?.1.split_once("</")?.0;
    (!inside.is_empty() && !inside.contains(['&', '<'])).then(|| inside.to_owned())
}
