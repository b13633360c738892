//! The reply of a listener, rebuilt from the records of its items. The log keeps the payload of every item; of an item
//! that was refused it keeps the bytes as a document.

use std::sync::Arc;

use systole_core::rules::admit;
use systole_core::rules::core_payload;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{AttemptId, CallPath, Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, SteerEffect};
use systole_core::types::refusal::Refusal;
use systole_kit::Payload;
use systole_kit::reply::{Item, ReplyContent};

use super::history::{TreeHistory, TurnPlace};
use super::tree_records::RecordedTree;

/// The reply to a turn, or what of it is not stored.
pub(super) fn rebuild_reply(
    reader: &dyn LogReader,
    page: &Composition,
    tree: &RecordedTree,
    history: &TreeHistory,
    place: &TurnPlace,
) -> Result<Result<ReplyContent, String>, LogFault> {
    let indexes = history.items.get(place).map_or(&[][..], Vec::as_slice);
    let records = indexes.iter().filter_map(|at| tree.records.get(*at)).map(|(_, record)| record);
    let mut items: Vec<(u32, Item)> = Vec::new();
    for record in records {
        let Some(ordinal) = find_ordinal(record) else { continue };
        if items.iter().any(|(known, _)| *known == ordinal) {
            // Another taker of the same item.
            continue;
        }
        if let Some(again) = rebuild_unusable(record) {
            return Ok(Ok(again));
        }
        match rebuild_item(reader, page, tree, record)? {
            Ok(item) => items.push((ordinal, item)),
            Err(why) => return Ok(Err(why)),
        }
    }
    items.sort_by_key(|(ordinal, _)| *ordinal);
    let mut items: Vec<Item> = items.into_iter().map(|(_, item)| item).collect();
    if let (Some(first), Some(claimed)) = (items.first_mut(), history.claims.get(place)) {
        first.from = Some(claimed.clone());
    }
    Ok(Ok(ReplyContent::Items(items)))
}

fn find_ordinal(record: &Record) -> Option<u32> {
    let of_taker = record.header.call.as_ref().filter(|path| path.taker_number().is_some());
    match (record.header.ordinal, of_taker.and_then(|path| path.caller())) {
        (Some(ordinal), _) => Some(ordinal),
        (None, Some((_, _, ordinal))) => Some(ordinal),
        (None, None) => None,
    }
}

/// The reply that said that the output was of no use, if this record is about one.
fn rebuild_unusable(record: &Record) -> Option<ReplyContent> {
    let (code, words) = core_payload::error_words(&record.body)?;
    let is_own = record.header.code == Some(RecordCode::Code(Code::ListenerFailed));
    (is_own && Code::parse(&code).is_none()).then_some(ReplyContent::Again { code, words })
}

fn rebuild_item(
    reader: &dyn LogReader,
    page: &Composition,
    tree: &RecordedTree,
    record: &Record,
) -> Result<Result<Item, String>, LogFault> {
    let h = &record.header;
    if h.kind == RecordKind::Refusal {
        return rebuild_refused(reader, page, tree, record);
    }
    let payload = match Payload::from_trusted(record.body.clone()) {
        Ok(payload) => payload,
        Err(fault) => return Ok(Err(fault.message.to_string())),
    };
    let plain = Item::plain(payload);
    Ok(Ok(match h.code {
        Some(RecordCode::Role(MessageRole::Call)) => {
            Item { to: h.to.as_ref().map(ToString::to_string), ..plain }
        }
        Some(RecordCode::Role(MessageRole::Steer)) => {
            Item { thread: find_steered(tree, record).map(ToString::to_string), ..plain }
        }
        _ => plain,
    }))
}

/// The child that an item steered.
fn find_steered<'t>(tree: &'t RecordedTree, item: &Record) -> Option<&'t ThreadId> {
    let joined = RecordCode::Steering(SteerEffect::Steered);
    let found = tree.records.iter().map(|(_, record)| &record.header);
    let mut found = found.filter(|h| h.code == Some(joined) && h.cause == Some(item.header.id));
    found.next().map(|h| &h.thread)
}

/// An item that was refused: the refused bytes.
fn rebuild_refused(
    reader: &dyn LogReader,
    page: &Composition,
    tree: &RecordedTree,
    record: &Record,
) -> Result<Result<Item, String>, LogFault> {
    if matches!(record.header.code, Some(RecordCode::ChildrenOpen | RecordCode::TodoOpen)) {
        return Ok(find_held_final(tree, record)
            .ok_or_else(|| "a final that was not taken is not stored".to_owned()));
    }
    let unknown = core_payload::read_attributes(&record.body, "system-thread-error", ["unknown_id"]);
    if let Some([Some(thread)]) = unknown {
        // The thread alone decides, whatever was sent to it.
        return Ok(Ok(Item {
            thread: Some(thread),
            ..Item::plain(Payload::write("urn:unknown", "item", |_| ()))
        }));
    }
    let Some(kept) = read_kept(reader, record)? else {
        return Ok(Err("the bytes of a refused item are not stored".to_owned()));
    };
    let payload = Payload::parse(&kept, &admit::gate_limits(page));
    Ok(Ok(Item { from: None, to: None, thread: None, payload }))
}

/// The bytes that a refusal is about, as far as the log keeps them.
pub(super) fn read_kept(reader: &dyn LogReader, record: &Record) -> Result<Option<Arc<[u8]>>, LogFault> {
    let hash = core_payload::read_attributes(&record.body, "system-error", ["hash"]);
    match hash.and_then(|[hash]| Digest::parse(&hash?).ok()) {
        Some(hash) => reader.read_document(hash),
        None => Ok(None),
    }
}

/// A recorded refusal, read back.
pub(super) fn read_refusal(record: &Record) -> Option<Refusal> {
    let names = ["code", "message", "element", "path", "line", "column"];
    let [code, message, element, path, line, column] =
        core_payload::read_attributes(&record.body, "system-error", names)?;
    let payload = Payload::from_trusted(record.body.clone()).ok()?;
    let number = |text: Option<String>| text?.parse().ok();
    let mut refusal = Refusal::new(Code::parse(&code?)?, message.unwrap_or_default());
    (refusal.element, refusal.path) = (element, path);
    refusal.at = number(line).zip(number(column));
    refusal.expected = payload.text_of("expected");
    refusal.received = payload.text_of("received");
    refusal.schema = payload.text_of("schema").map(Into::into);
    refusal.fix = payload.text_of("try");
    Some(refusal)
}

/// The attempt that a late document was for, as its refusal names it: `… for call C of thread T, turn N, attempt M, …`
pub(super) fn read_late_attempt(record: &Record) -> Option<AttemptId> {
    let (_, words) = core_payload::error_words(&record.body)?;
    let (_, rest) = words.split_once(" is for call ")?;
    let (call, rest) = rest.split_once(" of thread ")?;
    let (thread, rest) = rest.split_once(", turn ")?;
    let (turn, rest) = rest.split_once(", attempt ")?;
    let (attempt, _) = rest.split_once(',')?;
    Some(AttemptId {
        thread: ThreadId::parse(thread).ok()?,
        call: CallPath::parse(call).ok()?,
        turn: turn.parse().ok()?,
        attempt: attempt.parse().ok()?,
    })
}

/// The first final of a call that left work open is answered by a reminder, and only the next one is stored. Its bytes
/// decide nothing about the reminder.
fn find_held_final(tree: &RecordedTree, record: &Record) -> Option<Item> {
    let later = tree.records.iter().map(|(_, later)| later).filter(|later| {
        later.header.thread == record.header.thread
            && later.header.call == record.header.call
            && later.header.code == Some(RecordCode::Role(MessageRole::Final))
    });
    let payload = later.filter_map(|later| Payload::from_trusted(later.body.clone()).ok()).next();
    payload.map(Item::plain)
}
