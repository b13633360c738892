//! A primitive: its row of the table, and what several of them do to decide on an item.

use std::sync::Arc;

use super::shown_item::ShownItem;
use crate::pump::decision_builder::{DecisionBuilder, RecordFact};
use crate::pump::fold::settling;
use crate::pump::state::Thread;
use crate::pump::turn::Turn;
use crate::pump::view::ReadRequest;
use crate::rules::admit::ItemReading;
use crate::types::codes::Code;
use crate::types::flow::Admitted;
use crate::types::ids::{MessageId, ThreadId};
use crate::types::record::{MessageRole, Record, RecordCode, RecordKind};
use crate::types::refusal::Refusal;
use systole_wire::namespaces;

/// What became of an item: `Ok(None)` if it is taken, `Ok(Some)` if its refusal is recorded, `Err` if its refusal is
/// still to be recorded.
pub(super) type ItemDecision = Result<Option<Refusal>, Refusal>;

pub(super) type DecideItem = fn(&mut DecisionBuilder<'_>, &Turn<'_>, u32, &Admitted) -> ItemDecision;

/// How a tree shows an item, given the core's answer if there is one.
pub type ShowItem = fn(Option<&[u8]>) -> ShownItem;

/// How many turns the call of an item must still have.
#[derive(Clone, Copy)]
pub(super) enum TurnEffect {
    /// Any number.
    Any,
    /// Its listener takes several turns.
    Several,
    /// Another turn comes after this one.
    Another,
}

/// A payload that the pump answers.
#[derive(Clone, Copy)]
pub struct Primitive {
    /// The local name of its element.
    pub element: &'static str,
    /// The namespace of its element.
    pub namespace: &'static str,
    /// The kind of its record.
    pub kind: RecordKind,
    /// The code of its record.
    pub mark: RecordCode,
    /// The words for its record in the log.
    pub says: &'static str,
    /// How a tree shows it. Without this it is shown as a note.
    pub shows: Option<ShowItem>,
    /// Whether a person answers it.
    pub is_for_person: bool,
    /// The threads that it names as children of its sender.
    pub names: fn(&[u8]) -> Vec<ThreadId>,
    /// Whether it ends the threads that it names.
    pub ends_threads: bool,
    /// What its decision needs from the log.
    pub wants: fn(&[u8]) -> Vec<ReadRequest>,
    /// What its record means for the state.
    pub(in crate::pump) fold: fn(&mut Thread, &Record),
    /// Whether recording it is its answer, so that it may come with a final.
    pub(in crate::pump) is_kept: bool,
    /// Whether it is decided after the other items of its reply.
    pub(in crate::pump) comes_last: bool,
    pub(super) turns: TurnEffect,
    pub(super) reading: ItemReading,
    pub(super) decide: DecideItem,
}

/// A primitive with the parts that every one has. The others keep their defaults.
pub(super) const fn make_item(
    element: &'static str,
    mark: RecordCode,
    says: &'static str,
    reading: ItemReading,
    decide: DecideItem,
) -> Primitive {
    Primitive {
        element,
        namespace: namespaces::CORE,
        kind: RecordKind::Message,
        mark,
        says,
        shows: None,
        is_for_person: false,
        names: |_| Vec::new(),
        ends_threads: false,
        wants: |_| Vec::new(),
        fold: settling::settle_unanswered,
        is_kept: false,
        comes_last: false,
        turns: TurnEffect::Any,
        reading,
        decide,
    }
}

/// What the door or a look into the log should have found is missing.
pub(super) fn refuse_unread() -> Refusal {
    Refusal::new(Code::IngressUnavailable, "this was not read from the log")
}

/// Records an item.
pub(super) fn record_taken(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    one: &Primitive,
    item: &Arc<[u8]>,
) -> MessageId {
    let mut fact = turn.make_fact(ordinal, one.kind, one.mark, item.clone());
    fact.from = turn.sender.clone();
    d.add_record(turn.thread, fact).1
}

/// Records the core's answer to an item.
pub(super) fn record_answer(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    cause: MessageId,
    answer: Arc<[u8]>,
) {
    let fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Answer), answer)
        .with_addressee(&turn.sender)
        .with_call(&turn.path.append_item(turn.number, ordinal))
        .with_cause(cause)
        .with_config(turn.config);
    d.add_record(turn.thread, fact);
}

/// Records an item and the core's answer to it.
pub(super) fn record_exchange(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    one: &Primitive,
    item: &Arc<[u8]>,
    answer: Arc<[u8]>,
) {
    let cause = record_taken(d, turn, ordinal, one, item);
    record_answer(d, turn, ordinal, cause, answer);
}
