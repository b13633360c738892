//! A payload as a model reads and writes it: by local names, without declarations.
//!
//! A payload comes in; text goes out. It never escapes that text as a whole: the caller does.

use systole_kit::attributes::TagAttribute;
use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::{DocumentLimits, Payload};

/// The text of a payload that holds nothing else, not even an attribute.
pub(crate) fn read_only_text(payload: &Payload) -> Option<String> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let GateStep::Open(_) = gate.read_step().ok()? else { return None };
    if gate.attributes().iter().any(|attribute| !is_declaration(attribute)) {
        return None;
    }
    let mut text = String::new();
    loop {
        match gate.read_step().ok()? {
            GateStep::Text(part) => part.append_to(&mut text),
            GateStep::Open(_) => return None,
            GateStep::Close | GateStep::Done => return Some(text),
            GateStep::Instruction => {}
        }
    }
}

/// A payload by local names, as an example of what a model may write.
pub(crate) fn write_markup(payload: &Payload) -> String {
    try_markup(payload).unwrap_or_else(|| String::from_utf8_lossy(payload.bytes()).into_owned())
}

fn try_markup(payload: &Payload) -> Option<String> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let (mut out, mut open) = (String::with_capacity(payload.bytes().len()), Vec::new());
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) => {
                close_start(&mut out, &open);
                out.extend(["<", tag.local]);
                for attribute in gate.attributes().iter().filter(|attribute| !is_declaration(attribute)) {
                    out.extend([" ", attribute.local, "=\""]);
                    out.push_str(&quote_attribute(&attribute.value()));
                    out.push('"');
                }
                open.push((tag.local.to_owned(), out.len()));
            }
            GateStep::Text(part) => {
                close_start(&mut out, &open);
                let mut text = String::new();
                part.append_to(&mut text);
                out.push_str(&escape_markup(&text));
            }
            GateStep::Close => {
                let (name, at) = open.pop()?;
                if at == out.len() {
                    out.push_str("/>");
                } else {
                    out.extend(["</", &name, ">"]);
                }
            }
            GateStep::Instruction => {}
            GateStep::Done => return Some(out),
        }
    }
}

/// Everything in a payload that is not markup: names, values, and each text from one tag to the next. `None` if it
/// cannot be read.
pub(super) fn list_values(payload: &Payload) -> Option<Vec<String>> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let (mut values, mut text) = (Vec::new(), String::new());
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) => {
                values.extend([std::mem::take(&mut text), tag.local.to_owned()]);
                for attribute in gate.attributes().iter() {
                    values.extend([attribute.local.to_owned(), attribute.value().into_owned()]);
                }
            }
            GateStep::Text(part) => part.append_to(&mut text),
            GateStep::Close => values.push(std::mem::take(&mut text)),
            GateStep::Instruction => {}
            GateStep::Done => return Some(values),
        }
    }
}

/// The local names of all elements of a payload. `None` if it cannot be read.
pub(super) fn list_elements(payload: &Payload) -> Option<Vec<String>> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let mut names = Vec::new();
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) => names.push(tag.local.to_owned()),
            GateStep::Text(_) | GateStep::Close | GateStep::Instruction => {}
            GateStep::Done => return Some(names),
        }
    }
}

/// Ends the last start tag, if nothing follows it yet.
fn close_start(out: &mut String, open: &[(String, usize)]) {
    if open.last().is_some_and(|(_, at)| *at == out.len()) {
        out.push('>');
    }
}

fn is_declaration(attribute: &TagAttribute<'_>) -> bool {
    attribute.prefix == "xmlns" || attribute.prefix.is_empty() && attribute.local == "xmlns"
}

/// Text for a place that is read as markup.
pub(crate) fn escape_markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            other => out.push(other),
        }
    }
    out
}

/// Text for an attribute.
pub(crate) fn quote_attribute(text: &str) -> String {
    escape_markup(text).replace('"', "&quot;")
}
