//! Deciding on journal entries and questions: documents that a listener sends while it works, and that need
//! an answer. An answer goes out once its decision is on disk, like every effect.

use std::sync::Arc;

use systole_wire::ask::PumpQuestion;
use systole_wire::journal::{EntryLabel, JournalEntry, ModelCallOutcome};
use systole_wire::payload::Payload;
use systole_wire::pump_documents::PumpAnswer;

use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{Effect, JournalRecall};
use super::primitives::recall;
use super::reserving;
use super::showing;
use super::state::{EntryKind, Journal};
use super::turn::Turn;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::Refused;
use crate::types::ids::{Digest, Name};
use crate::types::limits;
use crate::types::ports::Lease;
use crate::types::record::{JournalEffect, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// Takes an entry. If the same entry comes again, it is answered again and changes nothing.
pub(super) fn take_entry(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    lease: &Lease,
    id: u64,
    entry: Result<JournalEntry, Refused>,
) {
    let entry = match entry {
        Ok(entry) => entry,
        Err(refused) => return refuse_entry(d, turn, lease, id, refused),
    };
    let Some(call) = d.find_call(turn.thread, turn.path) else { return };
    let label = EntryLabel { id, delivery: None, attempt: Some(lease.id.attempt) };
    let body: Arc<[u8]> = Arc::from(entry.to_document(label));
    let refusal = match call.journal.find_entry(id) {
        Some(known) if known.body == Digest::hash_bytes(&body) => return confirm_entry(d, turn, lease, id),
        Some(_) => Some(other_bytes(id)),
        None => match &entry {
            JournalEntry::Started(_) => refuse_full(&call.journal),
            JournalEntry::Result(outcome) => no_start(&call.journal, id, outcome),
        },
    };
    if let Some(refusal) = refusal.or_else(|| reserving::foreign_money(d, turn, &entry)) {
        return refuse_entry(d, turn, lease, id, Refused { refusal, kept: Some(body) });
    }
    if let JournalEntry::Started(started) = &entry
        && let Some((of, refusal)) = reserving::find_refusal(d, turn, started)
    {
        refuse_entry(d, turn, lease, id, Refused { refusal, kept: Some(body) });
        return reserving::wrap_up(d, turn, &of);
    }
    let mark = match entry {
        JournalEntry::Started(_) => JournalEffect::Started,
        JournalEntry::Result(_) => JournalEffect::Result,
    };
    let mut fact =
        RecordFact::from_core(RecordKind::Journal, RecordCode::Journaling(mark), body).with_call(turn.path);
    fact.from = turn.sender.clone();
    fact.turn = Some(turn.number);
    d.add_record(turn.thread, fact.with_cause(turn.cause).with_config(turn.config));
    if mark == JournalEffect::Result {
        reserving::settle_reserved(d, turn.thread, turn.path);
    }
    confirm_entry(d, turn, lease, id);
}

/// Why no further model call can begin in this attempt. There is always room for the results of calls that
/// have begun: what was bought must not be lost.
fn refuse_full(journal: &Journal) -> Option<Refusal> {
    let taken = journal.own.len() + journal.open().count();
    (taken + 2 > limits::JOURNAL).then(|| {
        let words = "64 journal entries are made, or kept for results, in this delivery, the most allowed";
        Refusal::new(Code::TooManyItems, words).fixed_by("answer with what you have")
    })
}

/// Why this is not the result of a model call that has begun.
fn no_start(journal: &Journal, id: u64, outcome: &ModelCallOutcome) -> Option<Refusal> {
    let (result, start) = (id.to_string(), outcome.of.to_string());
    let words = match journal.find_entry(outcome.of).map(|entry| &entry.sort) {
        Some(EntryKind::Open(_)) => return None,
        Some(EntryKind::Answered) => format!("entry {start} has its result already"),
        Some(EntryKind::Result) => format!("entry {start} is a result itself"),
        None => {
            format!("entry {result} is the result of {start}, which this attempt never began")
        }
    };
    let open: Vec<String> = journal.open().map(|entry| entry.id.to_string()).collect();
    let expected = match open.is_empty() {
        true => "of: every model call of this attempt has its result".to_owned(),
        false => format!("of: one of {}", open.join(", ")),
    };
    Some(Refusal::new(Code::Invalid, words).with_expected(expected).of_element("journal"))
}

fn other_bytes(id: u64) -> Refusal {
    let words = format!("entry {id} of this attempt is on record with other bytes");
    Refusal::new(Code::IdConflict, words).fixed_by("take a number that this attempt has not used")
}

fn confirm_entry(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, lease: &Lease, id: u64) {
    send_answer(d, &turn.sender, lease.token.0.to_string(), id, None);
}

/// Answers a question.
pub(super) fn take_question(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    lease: &Arc<Lease>,
    id: u64,
    question: Result<PumpQuestion, Refused>,
) {
    let answered = match question {
        Ok(PumpQuestion::Journal { from }) => {
            let past = d.find_call(turn.thread, turn.path).map_or(&[][..], |call| &call.journal.past);
            let skipped = usize::try_from(from).unwrap_or(usize::MAX);
            let seqs = past.iter().skip(skipped).copied().collect();
            return d.add_effect(Effect::Recall(JournalRecall { lease: lease.clone(), id, from, seqs }));
        }
        Ok(PumpQuestion::View { .. } | PumpQuestion::Blob { .. }) => {
            recall::answer_of(turn, 0).map_err(refuse_unkept)
        }
        Ok(PumpQuestion::Schema { name, element, from }) => {
            showing::show_schema(d, turn, &name, element.as_deref(), from).map_err(refuse_unkept)
        }
        Ok(PumpQuestion::PutBlob { bytes }) => Ok(showing::put_document(d, bytes)),
        Ok(PumpQuestion::Configuration { path, from }) => {
            showing::show_configuration(d, turn, &path, from).map_err(refuse_unkept)
        }
        Err(refused) => Err(refused),
    };
    match answered {
        Ok(body) => send_answer(d, &turn.sender, lease.token.0.to_string(), id, Some(&body)),
        Err(refused) => refuse_entry(d, turn, lease, id, refused),
    }
}

/// A refused question is not worth keeping.
fn refuse_unkept(refusal: Refusal) -> Refused {
    Refused { refusal, kept: None }
}

/// Answers with a refusal. The refusal is recorded in the call, or only counted if its sender causes too
/// many.
fn refuse_entry(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, lease: &Lease, id: u64, refused: Refused) {
    let Refused { mut refusal, kept } = refused;
    if d.has_room(&turn.sender) {
        d.charge_refusal(&turn.sender, None);
        refusal.hash = kept.map(|bytes| d.keep_document(&bytes));
        let body = core_payload::system_error(&refusal);
        let fact = RecordFact::from_core(RecordKind::Refusal, RecordCode::Code(refusal.code), body)
            .with_addressee(&turn.sender)
            .with_call(turn.path);
        d.add_record(turn.thread, fact.with_cause(turn.cause).with_config(turn.config));
    } else {
        d.charge_refusal(&turn.sender, Some(turn.thread.clone()));
    }
    let body = core_payload::system_error(&refusal);
    send_answer(d, &turn.sender, lease.token.0.to_string(), id, Some(&body));
}

/// Answers an entry or a question.
pub(super) fn send_answer(
    d: &mut DecisionBuilder<'_>,
    listener: &Name,
    delivery: String,
    id: u64,
    body: Option<&Arc<[u8]>>,
) {
    let payload = body.and_then(|body| Payload::from_trusted(body.clone()).ok());
    let answer = Box::new(PumpAnswer { delivery, id, payload });
    d.add_effect(Effect::Answer { listener: listener.clone(), answer });
}
