//! The exported threads as one XML document, for programs that read XML: each record with its fields as attributes and
//! its payload inside. It is a view; `records.jsonl` is the evidence.

use std::io::Write;

use systole_kit::DocumentLimits;
use systole_kit::gate::{GateStep, XmlGate};

use super::record_line::write_hex;
use super::{ExportFault, ExportScope};
use systole_core::types::ports::{LogReader, Position};
use systole_core::types::record::{Record, RecordCode};

/// Writes the document.
pub fn write_threads(
    scope: &ExportScope,
    reader: &dyn LogReader,
    out: &mut dyn Write,
) -> Result<(), ExportFault> {
    // A prefix, so that payloads keep their own default namespace, and a payload without one keeps none.
    out.write_all(b"<x:threads xmlns:x=\"https://xml-pipeline.org/ns/export/v1\">\n")?;
    let mut open = None;
    scope.visit_records(reader, |position, record| {
        let thread = &record.header.thread;
        if open.as_ref() != Some(thread) {
            if open.is_some() {
                out.write_all(b"</x:thread>\n")?;
            }
            writeln!(out, "<x:thread id=\"{thread}\">")?;
            open = Some(thread.clone());
        }
        write_record(position, record, out)
    })?;
    if open.is_some() {
        out.write_all(b"</x:thread>\n")?;
    }
    Ok(out.write_all(b"</x:threads>\n")?)
}

fn write_record(position: Position, record: &Record, out: &mut dyn Write) -> Result<(), ExportFault> {
    let h = &record.header;
    write!(
        out,
        "<x:record position=\"{}\" seq=\"{}\" id=\"{}\" kind=\"{}\"",
        position.0,
        h.seq,
        h.id,
        h.kind.as_str()
    )?;
    let fields = [
        ("code", h.code.map(|code| RecordCode::as_str(code).to_owned())),
        ("from", Some(h.from.to_string())),
        ("to", h.to.as_ref().map(ToString::to_string)),
        ("call", h.call.as_ref().map(ToString::to_string)),
        ("turn", h.turn.map(|turn| turn.to_string())),
        ("ordinal", h.ordinal.map(|ordinal| ordinal.to_string())),
        ("cause", h.cause.map(|cause| cause.to_string())),
        ("key", h.key.as_ref().map(ToString::to_string)),
        ("time", Some(h.time.to_string())),
        ("head", Some(record.head.to_string())),
    ];
    for (name, value) in fields.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        write!(out, " {name}=\"{}\"", escape_text(&value))?;
    }
    out.write_all(b">")?;
    if is_left_out(record) {
        return Ok(writeln!(out, "<x:left-out bytes=\"{}\"/></x:record>", record.body.len())?);
    }
    match std::str::from_utf8(&record.body) {
        Ok(_) if is_payload(&record.body) => out.write_all(&record.body)?,
        Ok(text) if text.chars().all(is_xml) => write!(out, "<x:text>{}</x:text>", escape_text(text))?,
        _ => write!(out, "<x:hex>{}</x:hex>", write_hex(&record.body))?,
    }
    Ok(out.write_all(b"</x:record>\n")?)
}

/// Whether nothing of a body is left.
pub(super) fn is_left_out(record: &Record) -> bool {
    record.parts.rest.is_erased() && record.parts.values.iter().all(|(_, seal)| seal.is_erased())
}

/// Whether the bytes are one element, so that they can be part of a document.
fn is_payload(body: &[u8]) -> bool {
    let Ok(mut gate) = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP) else { return false };
    loop {
        match gate.read_step() {
            Ok(GateStep::Done) => return body.first() == Some(&b'<') && !body.starts_with(b"<?"),
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

/// Whether XML 1.0 allows the character.
fn is_xml(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}

/// Text with everything escaped that has a meaning in XML or HTML.
pub(super) fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
    out
}
