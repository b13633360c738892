//! A payload as the text that a context shows, and the text of a goal read back from its element.
//!
//! A payload or a text comes in, a text goes out. The text is not escaped for where it is put: the writer does that.

use systole_kit::gate::{GateStep, XmlGate, XmlTag};
use systole_kit::writer::{XmlName, XmlWriter};
use systole_kit::{DocumentLimits, Fault, Payload, namespaces};

/// A payload as a context shows it.
///
/// The output of a goal and a payload that holds only text are shown as their text. Any other is shown as canonical
/// XML without namespaces: local names, attributes in order of name, no comments or CDATA, both tags of an empty
/// element. So the text does not depend on how the sender wrote the payload.
#[must_use]
pub fn show_text(payload: &Payload) -> String {
    if payload.name().is_named(namespaces::WORKFLOW, "goal-output") {
        return read_back(&payload.text()).to_owned();
    }
    // A payload that was read once can be read again.
    write_canonical(payload).unwrap_or_else(|_| String::from_utf8_lossy(payload.bytes()).into_owned())
}

/// The text of a goal or an output, without the line breaks at its ends that the layout adds, and without the indent
/// of the end tag.
#[must_use]
pub fn read_back(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    match text.rsplit_once('\n') {
        Some((before, indent)) if indent.trim_matches(' ').is_empty() => before,
        _ => text,
    }
}

fn write_canonical(payload: &Payload) -> Result<String, Fault> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
    let mut writer = XmlWriter::with_capacity(payload.bytes().len());
    let (mut has_markup, mut text) = (false, String::new());
    if let GateStep::Open(tag) = gate.read_step()? {
        let mut copy = ElementCopy { gate: &mut gate, has_markup: &mut has_markup, text: &mut text };
        copy.copy_element(&mut writer, tag)?;
    }
    Ok(if has_markup { String::from_utf8_lossy(&writer.finish()).into_owned() } else { text })
}

/// Copies an element from a gate to a writer. The gate bounds its depth.
struct ElementCopy<'c, 'd> {
    gate: &'c mut XmlGate<'d>,
    /// Whether the payload holds more than text: an attribute, or an element in its root.
    has_markup: &'c mut bool,
    /// All its text.
    text: &'c mut String,
}

impl<'d> ElementCopy<'_, 'd> {
    fn copy_element(&mut self, writer: &mut XmlWriter, tag: XmlTag<'d>) -> Result<(), Fault> {
        let mut attributes: Vec<(&str, String)> =
            self.gate.attributes().iter().map(|found| (found.local, found.value().into_owned())).collect();
        attributes.sort();
        *self.has_markup |= !attributes.is_empty();
        // The gate accepts only legal names.
        let Some(name) = XmlName::new(tag.local) else { return Ok(()) };
        let mut start = writer.open(name);
        for (local, value) in &attributes {
            if let Some(local) = XmlName::new(local) {
                start = start.attr(local, value);
            }
        }
        let mut read = Ok(());
        start.content(|inside| read = self.copy_content(inside));
        read
    }

    fn copy_content(&mut self, writer: &mut XmlWriter) -> Result<(), Fault> {
        loop {
            match self.gate.read_step()? {
                GateStep::Open(tag) => {
                    *self.has_markup = true;
                    self.copy_element(writer, tag)?;
                }
                GateStep::Text(part) => {
                    let mut text = String::new();
                    part.append_to(&mut text);
                    writer.text(&text);
                    self.text.push_str(&text);
                }
                GateStep::Close | GateStep::Done => return Ok(()),
                GateStep::Instruction => {}
            }
        }
    }
}
