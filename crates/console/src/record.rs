//! One record: its sentence, its payload as a person decides about it, its exact bytes, what was refused about it, why
//! it is there, and its facts.
//!
//! A thread and a number come in; a page, or the bytes themselves, go out.

use std::sync::Arc;

use askama::Template;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::fragment::{TextPiece, fragment};
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page, unknown_thread};
use super::payload_labels;
use super::proof;
use super::shorten::{encode_part, shorten_text};
use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord};
use systole_core::types::record::{Record, RecordCode, RecordKind};
use systole_core::types::refusal::Refusal;
use systole_export::verdict::ProofTone;
use systole_hall::log_view::LogMoment;
use systole_hall::record_files::{FileLine, FileLister};
use systole_hall::request_refusals::describe_unfit_address;
use systole_queries::causes;
use systole_queries::full;
use systole_queries::glance::{SystemError, attribute, read_error};
use systole_queries::hidden_characters::{self, MarkedCharacters, escape_unusual};
use systole_queries::narrate::{as_json, narrate};
use systole_queries::prompts::{self, JournaledCall};
use systole_queries::trail::{self, LastShown, Trail};

/// A line of the trail.
struct TrailLine {
    href: Option<String>,
    text: String,
}

/// What was refused.
struct Judgement {
    error: SystemError,
    /// The place, as `line 3, column 5`.
    place: Option<String>,
    /// The refused text around the place, if the log has it, with the place marked.
    fragment: Vec<TextPiece>,
    /// The number of the record that was said instead.
    repaired: Option<u64>,
}

/// What proves the record.
struct RecordProof {
    position: u64,
    facts: Vec<(&'static str, String)>,
    /// The newest checkpoint in a sentence, if this client sees the whole log and it is in a file.
    covered: Option<(ProofTone, String)>,
}

/// Everything that the page shows.
struct RecordView {
    sentence: Vec<String>,
    rendered: Vec<String>,
    pieces: Vec<TextPiece>,
    marked: Vec<String>,
    bytes: usize,
    is_cut: bool,
    is_text: bool,
    judged: Option<Judgement>,
    trail: Vec<(ThreadId, u64, Vec<String>)>,
    has_more_causes: bool,
    facts: Vec<(&'static str, String)>,
    /// The labels of the schema and the values.
    labelled: Vec<(String, String)>,
    files: Vec<FileLine>,
    /// The call to a model that it belongs to.
    called: Option<JournaledCall>,
    proof: RecordProof,
    is_last: bool,
    json: Value,
}

#[derive(Template)]
#[template(path = "record.html")]
struct RecordPage {
    frame: Frame,
    id: String,
    name: String,
    seq: u64,
    view: RecordView,
    /// Bytes of a payload on the page.
    limit: usize,
    trail: Vec<TrailLine>,
    before: Option<String>,
    after: Option<String>,
    thread: String,
    download: String,
}

impl RecordPage {
    /// The address of the prompt of its turn.
    fn prompt_address(&self) -> String {
        format!("/t/{}/context?seq={}", self.id, self.seq)
    }
}

/// The number in the path.
pub(super) fn read_seq(asked: &PageRequest) -> Result<u64, Refusal> {
    let typed = asked.part("seq");
    let seq = typed.parse().ok().filter(|seq| *seq > 0);
    seq.ok_or_else(|| {
        describe_unfit_address(format!("{typed:?} is no number of a record: it is a whole number from 1"))
    })
}

/// The refusal of a number that no record of a thread has.
pub(super) fn no_record(thread: &ThreadId, seq: u64) -> Refusal {
    let words = format!("thread {thread} has no record {seq}");
    Refusal::new(Code::UnknownThread, words).fixed_by(format!("/t/{thread} lists its records"))
}

/// Shows a record.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&[])?;
    let (id, seq) = (asked.thread()?, read_seq(asked)?);
    let wanted = id.clone();
    let found = asked
        .read(move |moment| {
            if moment.reader.of_thread(&wanted, 1, 1)?.is_empty() {
                return Ok(None);
            }
            let placed = causes::at(&*moment.reader, &wanted, seq)?;
            Ok(Some(placed.map(|placed| view(moment, &placed)).transpose()?))
        })
        .await?;
    let view = found.ok_or_else(unknown_thread)?.ok_or_else(|| no_record(&id, seq))?;
    if !asked.is_html {
        return Ok(asked.json(&view.json));
    }
    let title = format!("{id}@{seq}");
    let frame = asked.frame(PageTab::Threads, &title).with_command(format!("systole trail {title}"));
    let path = encode_part(id.as_str());
    let link = |thread: &ThreadId, seq: u64| frame.to(&format!("/t/{}/{seq}", encode_part(thread.as_str())));
    let mut trail = Vec::new();
    for (thread, seq, lines) in &view.trail {
        for (at, line) in lines.iter().enumerate() {
            let is_sentence = line.contains(&format!("  #{seq}")) && !trail_has(&trail, thread, *seq, &frame);
            let href = (is_sentence || (at == 0 && lines.len() == 1)).then(|| link(thread, *seq));
            trail.push(TrailLine { href, text: line.clone() });
        }
    }
    let page = RecordPage {
        before: (seq > 1).then(|| link(&id, seq - 1)),
        after: (!view.is_last).then(|| link(&id, seq + 1)),
        thread: frame.to(&format!("/t/{path}")),
        download: frame.to(&format!("/t/{path}/{seq}/bytes")),
        name: id.to_string(),
        id: path,
        seq,
        trail,
        limit: limits::ANSWER_BYTES,
        view,
        frame,
    };
    Ok(render_page(&page))
}

/// Whether a line of the trail already leads to a record.
fn trail_has(trail: &[TrailLine], thread: &ThreadId, seq: u64, frame: &Frame) -> bool {
    let href = frame.to(&format!("/t/{}/{seq}", encode_part(thread.as_str())));
    trail.iter().any(|line| line.href.as_ref() == Some(&href))
}

fn view(moment: &LogMoment, placed: &PlacedRecord) -> Result<RecordView, LogFault> {
    let (reader, (position, record)) = (&*moment.reader, placed);
    let h = &record.header;
    let kept = record.body.get(..limits::ANSWER_BYTES).unwrap_or(&record.body);
    let mut marked = MarkedCharacters::new();
    let exact = escape_unusual(&String::from_utf8_lossy(kept), &mut marked);
    let read = |source: &[u8]| moment.read_configuration(source);
    let mut telling = LastShown::default();
    let (mut links, mut shown) = (Vec::new(), Vec::new());
    let ended = Trail::through(reader, &read).follow_most(placed.clone(), limits::LINKS, |link| {
        let h = &link.placed.1.header;
        let lines = telling.lines(link).iter().map(|line| shorten_text(line, limits::LINE)).collect();
        shown.push((h.thread.clone(), h.seq, lines));
        let mut link = trail::as_json(link);
        // The bodies of a chain may be large, and each has its own address.
        if let Some(body) = link.get_mut("record").and_then(|record| record.get_mut("body")) {
            *body = shorten_text(body.as_str().unwrap_or_default(), limits::LINE).into();
        }
        links.push(link);
    })?;
    let next = reader.of_thread(&h.thread, h.seq + 1, 1)?;
    let labelled = match kept.len() == record.body.len() {
        true => composition(moment, h.config)?.map(|organism| payload_labels::pairs(&organism, record)),
        false => None,
    };
    let labelled = labelled.unwrap_or_default();
    let labels: Vec<Value> =
        labelled.iter().map(|(label, value)| json!({"label": label, "value": value})).collect();
    let files = FileLister::new(moment).list_files(&h.thread, h.seq, &record.body)?;
    let called = prompts::find_called(reader, &h.thread, h.seq)?;
    let called = called.filter(|called| called.listener == h.from && called.turn == h.turn);
    let proof = prove_record(moment, placed)?;
    Ok(RecordView {
        sentence: narrate(record, None).iter().map(|line| shorten_text(line, limits::LINE)).collect(),
        rendered: if record.body.len() <= limits::ANSWER_BYTES {
            full::lines(&record.body, 0)
        } else {
            Vec::new()
        },
        pieces: pieces(&exact),
        marked: hidden_characters::describe_marked(&marked),
        bytes: record.body.len(),
        is_cut: kept.len() < record.body.len(),
        is_text: std::str::from_utf8(&record.body).is_ok(),
        judged: judge_record(reader, record)?,
        trail: shown,
        has_more_causes: !ended,
        facts: facts(position.0, record),
        labelled,
        files,
        json: json!({"record": as_json(*position, record), "trail": links, "labels": labels,
            "proof": {"position": proof.position, "covered": proof.covered.as_ref().map(|(_, words)| words)},
            "context": called.as_ref().map(|called| called.seq)}),
        called,
        proof,
        is_last: next.is_empty(),
    })
}

/// The configuration with that hash, if it can be read.
fn composition(moment: &LogMoment, hash: Digest) -> Result<Option<Arc<Composition>>, LogFault> {
    if moment.composition().hash == hash {
        return Ok(Some(moment.composition().clone()));
    }
    let source = moment.reader.intact_document(hash)?;
    Ok(source.and_then(|source| moment.read_configuration(&source).ok()).map(Arc::new))
}

/// What proves a record.
fn prove_record(moment: &LogMoment, (position, record): &PlacedRecord) -> Result<RecordProof, LogFault> {
    // Signs in place of erased or left-out parts are covered by no hash.
    let bytes = match record.parts.has_erased() {
        true => "not known: parts of them are not here".to_owned(),
        false => Digest::hash_bytes(&record.body).to_string(),
    };
    let facts = vec![
        ("hash of the bytes", bytes),
        ("head of the thread", record.head.to_string()),
        ("leaf of the log", record.leaf.to_string()),
    ];
    let covered = match moment.front.log_file().filter(|_| moment.sees_all) {
        Some(log) => Some(proof::standing(moment, log)?.describe_cover(*position)),
        None => None,
    };
    Ok(RecordProof { position: position.0, facts, covered })
}

/// The exact text in pieces: between them are the marks for characters that a person cannot see.
fn pieces(text: &str) -> Vec<TextPiece> {
    let mut pieces = Vec::new();
    let mut add = |text: &str, is_marked: bool| {
        if !text.is_empty() {
            pieces.push(TextPiece { text: text.to_owned(), is_marked });
        }
    };
    // A text cannot pretend to have such a mark: its backslash would be marked itself.
    let mut rest = text;
    while let Some((before, mark)) = rest.split_once("\\u{") {
        let Some((digits, after)) = mark.split_once('}') else { break };
        add(before, false);
        add(&format!("\\u{{{digits}}}"), true);
        rest = after;
    }
    add(rest, false);
    pieces
}

/// What a refusal says, with the refused text and what came instead.
fn judge_record(reader: &dyn LogReader, record: &Record) -> Result<Option<Judgement>, LogFault> {
    let h = &record.header;
    if h.kind != RecordKind::Refusal {
        return Ok(None);
    }
    let Some(error) = read_error(&record.body) else { return Ok(None) };
    let hash = attribute(&record.body, "system-error", "hash");
    let hash = hash.and_then(|hash| Digest::parse(&hash).ok());
    let bytes = hash.map_or(Ok(None), |hash| reader.intact_document(hash))?;
    let number = |typed: &str| typed.parse::<usize>().ok();
    let place = error.place.as_ref().and_then(|(line, column)| Some((number(line)?, number(column)?)));
    let shown = bytes.map(|bytes| {
        fragment(&String::from_utf8_lossy(&bytes), (error.path.as_deref(), error.received.as_deref()), place)
    });
    let fragment = shown.unwrap_or_default();
    let later = reader.of_thread(&h.thread, h.seq + 1, limits::SEARCHED)?;
    let is_instead = |later: &Record| {
        let l = &later.header;
        l.kind == RecordKind::Message && l.call == h.call && Some(&l.from) == h.to.as_ref()
    };
    let repaired = later.iter().map(|(_, later)| later).find(|later| is_instead(later));
    let place = error.place.as_ref().map(|(line, column)| format!("line {line}, column {column}"));
    Ok(Some(Judgement { place, fragment, repaired: repaired.map(|one| one.header.seq), error }))
}

/// The header in words.
fn facts(position: u64, record: &Record) -> Vec<(&'static str, String)> {
    let h = &record.header;
    let facts = [
        ("position", Some(position.to_string())),
        ("thread", Some(h.thread.to_string())),
        ("number", Some(h.seq.to_string())),
        ("id", Some(h.id.to_string())),
        ("kind", Some(h.kind.as_str().to_owned())),
        ("code", h.code.map(|code| RecordCode::as_str(code).to_owned())),
        ("from", Some(h.from.to_string())),
        ("to", h.to.as_ref().map(ToString::to_string)),
        ("call", h.call.as_ref().map(ToString::to_string)),
        ("turn", h.turn.map(|turn| turn.to_string())),
        ("item", h.ordinal.map(|ordinal| ordinal.to_string())),
        ("cause", h.cause.map(|cause| cause.to_string())),
        ("key", h.key.as_ref().map(|key| key.as_str().to_owned())),
        ("time", Some(h.time.to_string())),
        ("configuration", Some(h.config.to_string())),
        ("bytes", Some(record.body.len().to_string())),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The exact bytes as a file. A browser never shows them: they may be anything.
pub(super) async fn download(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&[])?;
    let (id, seq) = (asked.thread()?, read_seq(asked)?);
    let wanted = id.clone();
    let found = asked.read(move |moment| causes::at(&*moment.reader, &wanted, seq)).await?;
    let (_, record) = found.ok_or_else(|| no_record(&id, seq))?;
    let name = format!("attachment; filename=\"{}-{seq}.xml\"", encode_part(id.as_str()));
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, record.body.to_vec()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_apart_from_the_text_around_them() {
        let mut marked = MarkedCharacters::new();
        let text = escape_unusual("a\u{202e}b \\u{41} {", &mut marked);
        let shown = pieces(&text);
        let marks: Vec<&str> =
            shown.iter().filter(|one| one.is_marked).map(|one| one.text.as_str()).collect();
        assert_eq!(marks, ["\\u{202e}", "\\u{5c}"]);
        assert_eq!(shown.iter().map(|one| one.text.as_str()).collect::<String>(), text);
    }
}
