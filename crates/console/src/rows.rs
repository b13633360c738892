//! The records of a thread as rows: one sentence each, in the words of `systole log`, with the payload folded below it.
//!
//! Records come in; rows with cut payloads go out, so that a page of thousands of rows stays small.

use axum::response::Response;
use systole_kit::writer::make_visible;

use askama::Template;

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page, unknown_thread};
use super::shorten::{encode_part, shorten_text};
use crate::limits;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::refusal::Refusal;
use systole_hall::log_view::LogMoment;
use systole_hall::record_files::{FileLine, FileLister};
use systole_queries::causes;
use systole_queries::narrate::narrate;
use systole_show::layout;

const BODY: (usize, usize) = (160, 4_000);

/// The steps of importance, the fewest rows first.
pub(super) const STEPS: [&str; 3] = ["key", "more", "all"];

/// A record as a row.
pub(super) struct RecordRow {
    pub(super) seq: u64,
    pub(super) position: u64,
    /// The day, if it differs from that of the row before.
    pub(super) day: Option<String>,
    /// Its step of importance.
    step: usize,
    /// How it went: `good`, `bad`, `held` or nothing.
    pub(super) tone: &'static str,
    /// The time and the number.
    pub(super) lead: String,
    /// The sentence, and further lines of a refusal.
    pub(super) words: String,
    pub(super) body: String,
    pub(super) bytes: usize,
    pub(super) is_cut: bool,
    pub(super) files: Vec<FileLine>,
}

impl RecordRow {
    /// The class of its importance: rows of the last step are quieter.
    pub(super) fn class(&self) -> &'static str {
        if self.step == 2 { "small" } else { "key" }
    }
}

/// Rows with what is before and after them.
#[derive(Default)]
pub(super) struct RowPart {
    pub(super) rows: Vec<RecordRow>,
    /// The last position that was looked at.
    pub(super) last: u64,
    /// Whether there are more rows after them.
    pub(super) has_more: bool,
    /// Whether a listener wrote into its journal there, as agents do for each call of a model.
    pub(super) has_journal: bool,
}

/// How important a record is: an index into `STEPS`.
fn step(record: &Record) -> usize {
    let h = &record.header;
    match (h.kind, h.code) {
        (RecordKind::Journal | RecordKind::Attempt, _) => 2,
        (RecordKind::Message, Some(RecordCode::Role(role))) => match role {
            MessageRole::Request | MessageRole::Begin | MessageRole::Final => 0,
            MessageRole::Answer | MessageRole::Inbox => 2,
            _ => 1,
        },
        (RecordKind::Message | RecordKind::Timer, _) => 1,
        _ => 0,
    }
}

fn tone(record: &Record) -> &'static str {
    let h = &record.header;
    match (h.kind, h.code) {
        (RecordKind::Refusal, _) => "bad",
        (RecordKind::Outcome, code) if code != Some(RecordCode::Handled) => "bad",
        (RecordKind::Message, Some(RecordCode::Role(MessageRole::Final))) => "good",
        (RecordKind::Approval, _) => "held",
        (RecordKind::Steer, Some(RecordCode::Steering(_))) => "held",
        _ => "",
    }
}

/// A record as a row. `room` is the number of bytes for its payload.
fn row(position: Position, record: &Record, room: usize) -> RecordRow {
    let h = &record.header;
    let lead = format!("{}  #{}", layout::clock(h.time), h.seq);
    let lines: Vec<String> =
        narrate(record, Some(&h.thread)).iter().map(|line| shorten_text(line, limits::SENTENCE)).collect();
    let whole = lines.join("\n");
    let words = whole.strip_prefix(&lead).unwrap_or(&whole).to_owned();
    // A cut inside a character shows as a replacement at the very end, and the row says that it is cut.
    let kept = record.body.get(..room).unwrap_or(&record.body);
    RecordRow {
        seq: h.seq,
        position: position.0,
        day: Some(layout::heading(h.time)),
        step: step(record),
        tone: tone(record),
        lead,
        words,
        body: make_visible(&String::from_utf8_lossy(kept)).into_owned(),
        bytes: record.body.len(),
        is_cut: kept.len() < record.body.len(),
        files: Vec::new(),
    }
}

/// The rows of a thread from a number on, at most that many, of the steps up to `shown`.
pub(super) fn read(
    moment: &LogMoment,
    thread: &ThreadId,
    (from, most, shown): (u64, usize, usize),
) -> Result<RowPart, LogFault> {
    let room = (limits::BODIES_BYTES / most.max(1)).clamp(BODY.0, BODY.1);
    let mut part = RowPart::default();
    let (reader, mut files) = (&*moment.reader, FileLister::new(moment));
    let mut records = reader.records_of(thread, from);
    for placed in records.by_ref().take(most) {
        let (position, record) = placed?;
        part.last = position.0;
        part.has_journal |= record.header.kind == RecordKind::Journal && !record.parts.rest.is_erased();
        let mut row = row(position, &record, room);
        if row.step > shown {
            continue;
        }
        row.files = files.list_files(thread, row.seq, &record.body)?;
        // The day is said once.
        if part.rows.iter().rev().find_map(|one| one.day.as_ref()) == row.day.as_ref() {
            row.day = None;
        }
        part.rows.push(row);
    }
    part.has_more = records.next().transpose()?.is_some();
    Ok(part)
}

/// The rows that came after a position, for a page that follows the log.
#[derive(Template)]
#[template(path = "rows.html")]
struct FreshRows {
    rows: Vec<RecordRow>,
    last: u64,
    has_more: bool,
    frame: Frame,
    id: String,
}

/// Shows the rows after a position.
pub(super) async fn fresh_rows(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&["from", "show"])?;
    let thread = asked.thread()?;
    // A page without a row begins at the beginning.
    let after = asked.value("from").filter(|typed| *typed != "0");
    let after = if after.is_some() { asked.number("from")? } else { None }.unwrap_or(0);
    let shown = shown_step(asked)?;
    let id = encode_part(thread.as_str());
    let found = asked
        .read(move |moment| {
            let reader = &*moment.reader;
            if reader.of_thread(&thread, 1, 1)?.is_empty() {
                return Ok(None);
            }
            let is_before = |seq| {
                let page = reader.of_thread(&thread, seq, 1)?;
                Ok(page.first().is_some_and(|(position, _)| position.0 <= after))
            };
            let from = if is_before(1)? { causes::first_after(is_before)? } else { 1 };
            read(moment, &thread, (from, limits::CHUNK_ROWS, shown)).map(Some)
        })
        .await?;
    let RowPart { rows, last, has_more, .. } = found.ok_or_else(unknown_thread)?;
    let frame = asked.frame(PageTab::Threads, "Rows");
    Ok(render_page(&FreshRows { rows, last: last.max(after), has_more, frame, id }))
}

/// The step of importance in an address.
pub(super) fn shown_step(asked: &PageRequest) -> Result<usize, Refusal> {
    let word = asked.one_of("show", &STEPS)?;
    Ok(word.and_then(|word| STEPS.iter().position(|step| *step == word)).unwrap_or(STEPS.len() - 1))
}
