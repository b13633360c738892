//! Inputs that were refused, made again from their refusals: the refused bytes are not always stored.

use std::sync::Arc;

use systole_core::pump::engine::PumpInput;
use systole_core::pump::replying::LATE_QUESTION;
use systole_core::types::flow::{
    DoorMessage, JudgedContent, JudgedDocument, JudgedItem, Lease, LeaseToken, Refused,
};
use systole_core::types::ids::Key;
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::thread_choice::ThreadChoice;
use systole_kit::journal::EarlierEntry;
use systole_kit::reply::ListenerDocument;

use super::inputs::NO_TICKET;
use super::replies;
use super::tree_records::RecordedTree;

/// Something that a working listener said and that was refused.
pub(super) enum RefusedWord {
    /// A journal entry, which the log keeps.
    Entry(ListenerDocument),
    /// A question.
    Question(Refused),
}

/// A journal entry or a question of that delivery, by the index of its refusal.
pub(super) fn read_word(
    reader: &dyn LogReader,
    tree: &RecordedTree,
    (delivery, index): (&str, usize),
) -> Result<Option<RefusedWord>, LogFault> {
    let Some((_, record)) = tree.records.get(index) else { return Ok(None) };
    let kept = replies::read_kept(reader, record)?;
    if let Some(EarlierEntry { id, entry, .. }) =
        kept.as_ref().and_then(|kept| EarlierEntry::from_body(kept).ok())
    {
        let delivery = delivery.to_owned();
        return Ok(Some(RefusedWord::Entry(ListenerDocument::Journal { delivery, id, entry: Ok(entry) })));
    }
    let refused = replies::read_refusal(record).map(|refusal| Refused { refusal, kept });
    Ok(refused.map(RefusedWord::Question))
}

/// Something that was refused outside of every call: a message of a client, or a document of a listener for a delivery
/// that was over.
pub(super) fn read_outside(
    reader: &dyn LogReader,
    tree: &RecordedTree,
    (index, is_late): (usize, bool),
) -> Result<Option<PumpInput>, LogFault> {
    let Some((_, record)) = tree.records.get(index) else { return Ok(None) };
    let h = &record.header;
    let (Some(to), Some(refusal)) = (h.to.clone(), replies::read_refusal(record)) else { return Ok(None) };
    let kept = replies::read_kept(reader, record)?;
    if is_late {
        let Some(id) = replies::read_late_attempt(record) else { return Ok(None) };
        let is_reply = !refusal.message.starts_with(LATE_QUESTION);
        let lease = Lease { token: LeaseToken("late".into()), listener: to, id, config: h.config };
        let refused = Refused { refusal, kept };
        let said = if is_reply {
            JudgedContent::Items(vec![JudgedItem::Refused(refused)])
        } else {
            JudgedContent::Ask { id: 0, question: Err(refused) }
        };
        let judged = JudgedDocument { lease: Arc::new(lease), said, claimed: None, ticket: None };
        return Ok(Some(PumpInput::Judged(judged)));
    }
    let Ok(key) = Key::parse(&format!("refused-{index}")) else { return Ok(None) };
    Ok(Some(PumpInput::Asked(DoorMessage {
        ticket: NO_TICKET,
        client: to,
        key,
        thread: ThreadChoice::Known(h.thread.clone()),
        payload: Err(Refused { refusal, kept }),
        claimed: None,
        subject: None,
    })))
}
