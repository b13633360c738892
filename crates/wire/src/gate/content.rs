//! Reads the inside of an element of known shape: its child elements one by one, or its text as one value.
//!
//! It accepts only what the shape allows. A gate inside an element comes in; tags and texts, or a fault, go out.

use super::{GateStep, XmlGate, XmlTag};
use crate::codes;
use crate::place::Fault;

impl<'d> XmlGate<'d> {
    /// Opens the next child of the innermost open element; `None` if that element has closed instead.
    ///
    /// # Errors
    /// If there is text between the children, or the reading ends.
    pub fn read_child(&mut self) -> Result<Option<XmlTag<'d>>, Fault> {
        loop {
            match self.read_step()? {
                GateStep::Open(tag) => return Ok(Some(tag)),
                GateStep::Close | GateStep::Done => return Ok(None),
                GateStep::Text(text) if text.is_blank() => {}
                GateStep::Text(_) => return Err(self.stray_text()),
                GateStep::Instruction => return Err(self.noted_here()),
            }
        }
    }

    /// The text of the element that was opened last, as one value, even if comments or CDATA sections split it;
    /// reads to its end.
    ///
    /// # Errors
    /// If it contains an element, or the reading ends.
    pub fn text_inside(&mut self) -> Result<String, Fault> {
        let mut value = String::new();
        loop {
            match self.read_step()? {
                GateStep::Text(text) => text.append_to(&mut value),
                GateStep::Close | GateStep::Done => return Ok(value),
                GateStep::Open(tag) => {
                    let message = format!("<{}> is where only text is allowed", tag.local);
                    return Err(self.make_fault(codes::INVALID, message, tag.offset).with_expected("text"));
                }
                GateStep::Instruction => return Err(self.noted_here()),
            }
        }
    }

    /// Reads to the end of the element that was opened last.
    ///
    /// # Errors
    /// When the reading ends.
    pub fn skip_content(&mut self) -> Result<(), Fault> {
        self.skip_out_of(self.depth())
    }

    /// The fault for text that the last step read, if only elements are allowed.
    pub(crate) fn stray_text(&mut self) -> Fault {
        let source = self.cut_source(self.offset(), self.end());
        let skipped = source.len() - source.trim_start().len();
        self.make_fault(codes::INVALID, "text is where only elements are allowed", self.offset() + skipped)
            .with_expected("elements, with nothing but white space and comments between them")
            .with_received(source.trim())
            .with_fix("leave the text out, or write it inside a payload")
    }

    fn noted_here(&mut self) -> Fault {
        let place = self.find_place(self.offset());
        self.take_fault().unwrap_or_else(|| super::gate_messages::refuse_instruction(place))
    }
}
