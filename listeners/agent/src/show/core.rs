//! The core's messages as a model sees them: inside a tag that only this call's prompt has, without heads, digests
//! and hashes.
//!
//! A payload of the core comes in; a block goes out. Text from others inside it is escaped.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::{DocumentLimits, Payload, namespaces};

use super::{TextMark, escape_markup, quote_attribute, show_payload};

/// Parts of a core payload that a model does not need.
const LEFT_OUT: [&str; 4] = ["head", "digest", "hash", FIRST_CODE];

/// For programs: the message says it too.
const FIRST_CODE: &str = "first-code";

/// A block of the core's text, unescaped.
pub(crate) fn write_block(mark: &TextMark, words: &str) -> String {
    format!("<core-{}>\n{}\n</core-{}>", mark.0, words.trim_matches('\n'), mark.0)
}

/// A core payload: its own tag and attributes, with content from others as text.
pub(crate) fn write_core(payload: &Payload, mark: &TextMark) -> String {
    let name = &*payload.name().local;
    let mut tag = format!("<{name}");
    for (attribute, value) in read_attributes(payload) {
        tag.extend([" ", &attribute, "=\"", &quote_attribute(&mark.cover_mark(&value)), "\""]);
    }
    let inside = write_inside(payload, mark);
    if inside.is_empty() { format!("{tag}/>") } else { format!("{tag}>{inside}</{name}>") }
}

fn read_attributes(payload: &Payload) -> Vec<(String, String)> {
    let Ok(mut gate) = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP) else {
        return Vec::new();
    };
    if !matches!(gate.read_step(), Ok(GateStep::Open(_))) {
        return Vec::new();
    }
    let all = gate.attributes().iter();
    let told = all.filter(|a| a.prefix.is_empty() && a.local != "xmlns" && !LEFT_OUT.contains(&a.local));
    told.map(|a| (a.local.to_owned(), a.value().into_owned())).collect()
}

/// A payload inside a core payload comes from others. Elements of the core inside it are read by their text.
fn write_inside(payload: &Payload, mark: &TextMark) -> String {
    match payload.parse_child() {
        Ok(child)
            if *child.name().ns == *namespaces::CORE && child.name().local.as_ref() != "final-report" =>
        {
            write_children(payload, mark)
        }
        Ok(child) => show_payload(&child, mark),
        Err(_) => escape_markup(&mark.cover_mark(&payload.text())),
    }
}

/// Recalled messages, and other core elements inside: each by its attributes and its text.
fn write_children(payload: &Payload, mark: &TextMark) -> String {
    let Ok(mut gate) = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP) else {
        return String::new();
    };
    if !matches!(gate.read_step(), Ok(GateStep::Open(_))) {
        return String::new();
    }
    let mut out = String::new();
    while let Ok(Some(tag)) = gate.read_child() {
        out.extend(["<", tag.local]);
        let told = |local: &str| local != "xmlns" && local != FIRST_CODE;
        for attribute in gate.attributes().iter().filter(|a| a.prefix.is_empty() && told(a.local)) {
            out.extend([
                " ",
                attribute.local,
                "=\"",
                &quote_attribute(&mark.cover_mark(&attribute.value())),
                "\"",
            ]);
        }
        let text = gate.text_inside().unwrap_or_default();
        out.extend([">", &escape_markup(&mark.cover_mark(&text)), "</", tag.local, ">"]);
    }
    out
}
