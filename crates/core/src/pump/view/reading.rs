//! Reads a view from the log, and the parts of its messages that are wanted. Blocks: call it only where reading may
//! block. It keeps a few words for each message, and never more bodies than a page of records has.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_wire::ask::{self as asking, BytePage, MessageSpot, ModelWords, ViewEntry, ViewedPage};
use systole_wire::file_reference;
use systole_wire::journal::{EarlierEntry, JournalEntry, ModelCallOutcome};
use systole_wire::payload::Payload;

use super::text;
use super::{
    BegunViews, PrecedingWords, ReadRequest, ReadRequests, ReadResults, View, ViewMessage, ViewOwner,
    ViewPage, ViewReading,
};
use crate::rules::core_payload;
use crate::rules::view_payload::{self, RecallPart};
use crate::types::body_parts::ERASED_TEXT;
use crate::types::ids::{Digest, Name, ThreadId};
use crate::types::limits;
use crate::types::ports::{LogFault, LogReader, Position};
use crate::types::primitive::Recall;
use crate::types::record::{Record, RecordKind};
use crate::types::refusal::Refusal;

/// Reads what is wanted.
pub fn read_requests(
    reader: &dyn LogReader,
    begun: &mut BegunViews,
    whose: &ViewOwner,
    wanted: &ReadRequests,
) -> Result<ReadResults, LogFault> {
    let mut seen = ReadResults::default();
    let mut needs_view = false;
    for (_, wish) in wanted {
        match wish {
            ReadRequest::Child(id) => drop(seen.was_child.insert(id.clone(), was_child(reader, whose, id)?)),
            ReadRequest::Files(_) => {}
            _ => needs_view = true,
        }
    }
    seen.unknown_files = find_unknown_files(reader, whose, wanted)?;
    if !needs_view {
        return Ok(seen);
    }
    let mut reading = read_view(reader, begun, whose)?;
    reading.is_read_on |=
        wanted.iter().any(|(_, wish)| matches!(wish, ReadRequest::Page(ViewPage { from: 2.., .. })));
    let view = reading.lay_out().ok_or_else(|| report_gone(whose))?;
    for (ordinal, wish) in wanted {
        let answer = match wish {
            ReadRequest::Child(_) | ReadRequest::Files(_) => continue,
            ReadRequest::Whole => {
                seen.view = Some(view.clone());
                continue;
            }
            ReadRequest::Hash(number) => {
                if let Some((_, message)) = view.list_range(*number, *number).next().filter(|_| *number > 0) {
                    seen.hashes.insert(*number, Digest::hash_bytes(&read_body(reader, whose, message.seq)?));
                }
                continue;
            }
            ReadRequest::Recall(recall) => recall_part(reader, whose, view, recall)?,
            ReadRequest::Page(wanted) => {
                let page = read_page(reader, whose, view, wanted)?;
                seen.next = page.next;
                Ok(page.to_payload().bytes().clone())
            }
            ReadRequest::Blob { hash, from } => read_blob(reader, view, *hash, *from)?,
        };
        seen.answers.insert(*ordinal, answer);
    }
    begun.keep_reading(reading);
    Ok(seen)
}

/// Whether that thread is a child of this call. The first record of a child comes directly after the record of the
/// item that spawned it.
fn was_child(reader: &dyn LogReader, whose: &ViewOwner, id: &ThreadId) -> Result<bool, LogFault> {
    let Some((position, first)) = reader.of_thread(id, 1, 1)?.pop() else { return Ok(false) };
    let spawn = reader.read_after(Position(position.0.saturating_sub(2)), 1)?.pop();
    Ok(spawn.is_some_and(|(_, spawn)| {
        let h = &spawn.header;
        first.header.cause == Some(h.id) && h.thread == whose.thread && h.call.as_ref() == Some(&whose.call)
    }))
}

/// Of each item, a file that no message of the thread names up to the due turn.
fn find_unknown_files(
    reader: &dyn LogReader,
    whose: &ViewOwner,
    wanted: &ReadRequests,
) -> Result<BTreeMap<u32, Digest>, LogFault> {
    let mut unknown: Vec<(u32, Digest)> = Vec::new();
    for (ordinal, wish) in wanted {
        if let ReadRequest::Files(files) = wish {
            unknown.extend(files.iter().map(|hash| (*ordinal, *hash)));
        }
    }
    if !unknown.is_empty() {
        for placed in reader.records_of(&whose.thread, 1) {
            let (_, record) = placed?;
            if record.header.seq > whose.up_to || unknown.is_empty() {
                break;
            }
            if !matches!(record.header.kind, RecordKind::Journal | RecordKind::Refusal) {
                let named = file_reference::list_files(&record.body);
                let is_named = |hash: &Digest| named.iter().any(|file| file.hash == hash.to_string());
                unknown.retain(|(_, hash)| !is_named(hash));
            }
        }
    }
    Ok(unknown.into_iter().collect())
}

/// An answer, or why there is none.
type ReadAnswer = Result<Arc<[u8]>, Refusal>;

fn read_view(
    reader: &dyn LogReader,
    begun: &mut BegunViews,
    whose: &ViewOwner,
) -> Result<ViewReading, LogFault> {
    let mut reading = begun.take_reading(whose);
    let Some(next) = reading.next() else { return Ok(reading) };
    for placed in reader.records_of(&whose.thread, next) {
        let (position, record) = placed?;
        reading.take_record(&record, position)?;
        if reading.next().is_none() {
            break;
        }
    }
    Ok(reading)
}

/// A record that was there a moment ago.
fn read_record(reader: &dyn LogReader, whose: &ViewOwner, seq: u64) -> Result<Record, LogFault> {
    let found = reader.of_thread(&whose.thread, seq, 1)?.pop();
    match found.filter(|(_, record)| record.header.seq == seq) {
        Some((_, record)) => Ok(record),
        None => Err(report_gone(whose)),
    }
}

/// Its body. One that was erased whole has signs in place of the text.
fn read_body(reader: &dyn LogReader, whose: &ViewOwner, seq: u64) -> Result<Arc<[u8]>, LogFault> {
    Ok(read_record(reader, whose, seq)?.body)
}

/// Its payload. An `<erased-body>` stands for a body that was erased whole.
fn to_payload(whose: &ViewOwner, record: Record) -> Result<Payload, LogFault> {
    let is_erased = record.parts.rest.is_erased();
    let body = if is_erased { core_payload::erased_body() } else { record.body };
    Payload::from_trusted(body).map_err(|_| report_gone(whose))
}

fn recall_part(
    reader: &dyn LogReader,
    whose: &ViewOwner,
    view: &View,
    wanted: &Recall,
) -> Result<ReadAnswer, LogFault> {
    let cut = match text::cut_view(view, wanted) {
        Ok(cut) => cut,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut messages = Vec::with_capacity(cut.pieces.len());
    for piece in &cut.pieces {
        // Systole never writes bodies that are not valid text.
        let body = read_body(reader, whose, piece.message.seq)?;
        messages.push((
            piece.number,
            piece.message.from.clone(),
            piece.cut_from(&String::from_utf8_lossy(&body)),
        ));
    }
    let range = (wanted.from, wanted.to);
    let part = RecallPart { range, total: cut.total, offset: wanted.offset, next: cut.next, messages };
    Ok(Ok(view_payload::write_recalled(&part)))
}

/// The kept messages from a number on: as many as a page holds, and at least one. What a model said is on the page
/// of the message that follows it.
fn read_page(
    reader: &dyn LogReader,
    whose: &ViewOwner,
    view: &View,
    wanted: &ViewPage,
) -> Result<ViewedPage, LogFault> {
    let ViewPage { from, cleared, words, items, mark } = *wanted;
    let is_kept = |number: u64, message: &ViewMessage| {
        let is_shown = items || message.is_note || !matches!(message.spot, MessageSpot::Said { .. });
        is_shown && (number > cleared || number == view.request())
    };
    let (mark, began) = (mark.to_string(), view.began().to_date());
    let mut page = ViewedPage { count: view.count(), mark, began, ..ViewedPage::default() };
    let mut bytes = 0;
    for (number, message) in
        view.list_range(from, u64::MAX).filter(|(number, message)| is_kept(*number, message))
    {
        let spoken = view.spoken_before(number).filter(|spoken| words && spoken.with > cleared);
        let said = spoken.map(|spoken| model_words(reader, whose, spoken)).transpose()?;
        let record = read_record(reader, whose, message.seq)?;
        bytes += record.body.len() + said.as_ref().map_or(0, |said| said.text.len());
        if bytes > limits::ANSWER_BYTES && !page.shown.is_empty() {
            page.next = Some(number);
            break;
        }
        page.shown.extend(said.map(ViewEntry::Words));
        let payload = to_payload(whose, record)?;
        let (from, to) = (message.from.to_string(), message.to.as_ref().map(Name::to_string));
        let spot = message.spot;
        page.shown.push(ViewEntry::Message(asking::ViewedMessage { seq: number, from, to, spot, payload }));
    }
    Ok(page)
}

/// What a model said, from the journal.
fn model_words(
    reader: &dyn LogReader,
    whose: &ViewOwner,
    spoken: PrecedingWords,
) -> Result<ModelWords, LogFault> {
    let record = read_record(reader, whose, spoken.seq)?;
    if record.parts.rest.is_erased() {
        let (stop, text) = ("erased".to_owned(), ERASED_TEXT.to_owned());
        return Ok(ModelWords { turn: spoken.turn, stop, tokens_in: None, tokens_out: None, text });
    }
    match EarlierEntry::from_body(&record.body) {
        Ok(EarlierEntry { entry: JournalEntry::Result(outcome), .. }) => {
            let outcome = with_words(reader, outcome)?.ok_or_else(|| report_gone(whose))?;
            let ModelCallOutcome { stop, tokens_in, tokens_out, text, .. } = outcome;
            Ok(ModelWords { turn: spoken.turn, stop, tokens_in, tokens_out, text })
        }
        _ => Err(report_gone(whose)),
    }
}

/// The same outcome with its words, which may be stored as documents; `None` if one of these is missing.
pub fn with_words(
    reader: &dyn LogReader,
    mut outcome: ModelCallOutcome,
) -> Result<Option<ModelCallOutcome>, LogFault> {
    for hash in std::mem::take(&mut outcome.blobs) {
        let bytes = match Digest::parse(&hash) {
            Ok(hash) => reader.read_document(hash)?,
            Err(_) => None,
        };
        let Some(bytes) = bytes else { return Ok(None) };
        // Only text is ever put.
        outcome.text.push_str(&String::from_utf8_lossy(&bytes));
    }
    Ok(Some(outcome))
}

/// A document that a message of the view names. A hash that no message names, a document that is not stored and
/// text that is no hash all get the same refusal.
fn read_blob(
    reader: &dyn LogReader,
    view: &View,
    hash: Option<Digest>,
    from: u64,
) -> Result<ReadAnswer, LogFault> {
    let named = hash.filter(|hash| view.messages().iter().any(|message| message.names.contains(hash)));
    let stored = match named {
        Some(hash) => reader.read_document(hash)?.map(|bytes| (hash, bytes)),
        None => None,
    };
    let Some((hash, bytes)) = stored else { return Ok(Err(view_payload::no_such_blob())) };
    Ok(match BytePage::cut_page(&bytes, from, limits::ANSWER_BYTES) {
        Some(page) => Ok(page.to_payload(asking::ByteSource::Blob(&hash.to_string())).bytes().clone()),
        None => Err(view_payload::past_the_end(from, bytes.len())),
    })
}

fn report_gone(whose: &ViewOwner) -> LogFault {
    let why = format!("the records of call {} are not all there", whose.call.as_str());
    LogFault::Damaged { path: "the log".into(), position: Position::default(), why }
}
