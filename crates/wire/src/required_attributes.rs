//! Required attributes of the elements that both sides of the wire read.

use crate::codes;
use crate::gate::{XmlGate, XmlTag};
use crate::place::Fault;

/// The value of a required attribute.
pub(crate) fn require_attribute<'d>(
    gate: &mut XmlGate<'d>,
    tag: &XmlTag<'d>,
    name: &str,
) -> Result<String, Fault> {
    match gate.find_attribute(name).filter(|value| !value.is_empty()) {
        Some(value) => Ok(value.into_owned()),
        None => {
            let message = format!("<{}> has no attribute {name}", tag.local);
            Err(gate.make_fault(codes::INVALID, message, tag.offset).with_fix(format!("add {name}=\"…\"")))
        }
    }
}
