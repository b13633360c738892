//! Required attributes of the elements that both sides of the wire read.

use crate::codes;
use crate::gate::{Gate, Tag};
use crate::place::Fault;

/// The value of a required attribute.
pub(crate) fn attribute<'d>(gate: &mut Gate<'d>, tag: &Tag<'d>, name: &str) -> Result<String, Fault> {
    match gate.attribute(name).filter(|value| !value.is_empty()) {
        Some(value) => Ok(value.into_owned()),
        None => {
            let message = format!("<{}> has no attribute {name}", tag.local);
            Err(gate.fault(codes::INVALID, message, tag.offset).fix(format!("add {name}=\"…\"")))
        }
    }
}
