//! The exported threads as one HTML page for a person: a tree of threads, in each its records, indented by call. It
//! has no scripts and loads nothing, and no text of a payload can become part of the page.

use std::collections::BTreeMap;
use std::io::Write;

use super::documents::NamedDocuments;
use super::thread_xml::{escape_text, is_left_out};
use super::{ExportFault, ExportScope};
use crate::limits::{DOCUMENTS, INDENTS, SHOWN_BYTES};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_core::types::record::{Header, Record, RecordCode, RecordKind};
use systole_queries::glance::glance;
use systole_queries::hidden_characters::escape_unusual;

const HEAD: &str = include_str!("page.html");

/// Writes the page.
pub fn write_page(
    scope: &ExportScope,
    reader: &dyn LogReader,
    named: &NamedDocuments,
    out: &mut dyn Write,
) -> Result<(), ExportFault> {
    let first = scope.threads.first().map(ToString::to_string).unwrap_or_default();
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>Export of {first}</title>\n{HEAD}</head>\n<body>\n"
    )?;
    writeln!(out, "<h1>Export of {first}</h1>")?;
    out.write_all(
        b"<p class=\"note\">This page is a view. What counts is in records.jsonl; README.txt says how to verify it. \
          Times are in UTC, as the machine of the log had them.</p>\n",
    )?;
    let mut open: Vec<ThreadId> = Vec::new();
    scope.visit_records(reader, |_, record| {
        let thread = &record.header.thread;
        if open.last() != Some(thread) {
            while open.last().is_some_and(|above| !thread.is_within(above)) {
                open.pop();
                out.write_all(b"</section>\n")?;
            }
            writeln!(out, "<section id=\"{thread}\">\n<h2>{thread}</h2>")?;
            open.push(thread.clone());
        }
        write_record(record, out)
    })?;
    open.iter().try_for_each(|_| out.write_all(b"</section>\n"))?;
    write_documents(reader, named, out)?;
    Ok(out.write_all(b"</body>\n</html>\n")?)
}

/// The parties, the call and the meaning of a record.
fn write_heading(h: &Header, element: &str) -> String {
    let to = h.to.as_ref().map(|to| format!(" → {to}")).unwrap_or_default();
    let call = h.call.as_ref().map(|call| format!("  call {call}")).unwrap_or_default();
    let turn = h.turn.map(|turn| format!("  turn {turn}")).unwrap_or_default();
    let code = h.code.map_or_else(String::new, |code| format!(" {}", RecordCode::as_str(code)));
    let element = if element.is_empty() { String::new() } else { format!("  <{element}>") };
    format!("{}  #{}  {}{to}  {}{code}{call}{turn}{element}", h.time, h.seq, h.from, h.kind.as_str())
}

fn write_record(record: &Record, out: &mut dyn Write) -> Result<(), ExportFault> {
    let h = &record.header;
    let depth = h.call.as_ref().map_or(0, |call| call.depth().saturating_sub(1)).min(INDENTS);
    // What goes on between parties is read at once; the bookkeeping is opened if it is wanted.
    let open = match h.kind {
        RecordKind::Message | RecordKind::Refusal | RecordKind::Approval | RecordKind::Outcome => " open",
        _ => "",
    };
    let kind = h.kind.as_str();
    let is_left_out = is_left_out(record);
    let element = if is_left_out { String::new() } else { glance(&record.body).element };
    let heading = escape_shown(&write_heading(h, &element));
    writeln!(out, "<details class=\"{kind} d{depth}\"{open}><summary>{heading}</summary>")?;
    if is_left_out {
        let length = record.body.len();
        return Ok(writeln!(out, "<p class=\"note\">Left out: {length} bytes.</p></details>")?);
    }
    let body = String::from_utf8_lossy(&record.body);
    Ok(writeln!(out, "<pre>{}</pre></details>", cut_text(&body))?)
}

fn write_documents(
    reader: &dyn LogReader,
    named: &NamedDocuments,
    out: &mut dyn Write,
) -> Result<(), ExportFault> {
    if named.all.is_empty() && !named.lacks_configurations {
        return Ok(());
    }
    out.write_all(b"<h1>Documents</h1>\n")?;
    if named.lacks_configurations {
        out.write_all(
            b"<p class=\"note\">Configurations are left out. They are for clients with the role read.</p>\n",
        )?;
    }
    for (hash, what) in named.all.iter().take(DOCUMENTS) {
        let text = match reader.read_document(*hash)? {
            Some(bytes) => cut_text(&String::from_utf8_lossy(&bytes)),
            None => "The log does not have it.".to_owned(),
        };
        writeln!(out, "<details><summary>{} {hash}</summary><pre>{text}</pre></details>", what.as_str())?;
    }
    match named.all.len().saturating_sub(DOCUMENTS) {
        0 => Ok(()),
        more => Ok(writeln!(out, "<p class=\"note\">And {more} more in documents.jsonl.</p>")?),
    }
}

/// Text that cannot leave its place: escaped, with invisible characters shown as `\u{…}`.
fn escape_shown(text: &str) -> String {
    escape_text(&escape_unusual(text, &mut BTreeMap::new()))
}

/// The beginning of a text, which may be long.
fn cut_text(text: &str) -> String {
    let end = (0..=SHOWN_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    match rest.len() {
        0 => escape_shown(start),
        more => {
            format!(
                "{}\n… and {more} more bytes, which records.jsonl or documents.jsonl has",
                escape_shown(start)
            )
        }
    }
}
