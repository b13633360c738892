//! The payloads that the pump itself answers, one file for each. A file has the element, the mark in the log, the words
//! for readers, what the door and the decision check, and what the fold notes. `TABLE` lists them.

mod ask_person;
mod await_threads;
mod cancel_thread;
mod cancel_timer;
mod clear;
mod introspect;
pub(super) mod recall;
mod set_timer;
mod spawn_thread;
mod todo;
mod told;

use std::sync::Arc;

use systole_wire::{QName, namespaces};

pub use told::{FieldValue, ShownItem, ShownPiece};

use super::decision_builder::{DecisionBuilder, RecordFact};
use super::fold::settling;
use super::state::Thread;
use super::turn::{Turn, no_turn_left, refuse_item};
use super::view::ReadRequest;
use crate::rules::admit::ItemReading;
use crate::types::codes::Code;
use crate::types::flow::{Admitted, PayloadKind};
use crate::types::ids::{MessageId, ThreadId};
use crate::types::record::{Header, MessageRole, Record, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// What became of an item: `Ok(None)` if it is taken, `Ok(Some)` if its refusal is recorded, `Err` if its refusal is
/// still to be recorded.
type ItemDecision = Result<Option<Refusal>, Refusal>;

type DecideItem = fn(&mut DecisionBuilder<'_>, &Turn<'_>, u32, &Admitted) -> ItemDecision;

/// How a tree shows an item, given the core's answer if there is one.
pub type ShowItem = fn(Option<&[u8]>) -> ShownItem;

/// How many turns the call of an item must still have.
#[derive(Clone, Copy)]
enum TurnEffect {
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
    pub(super) fold: fn(&mut Thread, &Record),
    /// Whether recording it is its answer, so that it may come with a final.
    pub(super) is_kept: bool,
    /// Whether it is decided after the other items of its reply.
    pub(super) comes_last: bool,
    turns: TurnEffect,
    reading: ItemReading,
    decide: DecideItem,
}

/// A primitive with the parts that every one has. The others keep their defaults.
const fn make_item(
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

/// Every primitive.
pub static TABLE: [&Primitive; 11] = [
    &spawn_thread::ROW,
    &await_threads::ROW,
    &cancel_thread::ROW,
    &set_timer::ROW,
    &cancel_timer::ROW,
    &todo::ROW,
    &clear::ROW,
    &recall::ROW,
    &ask_person::ROW,
    &introspect::DESCRIBE,
    &introspect::LIST_CAPABILITIES,
];

/// How the door reads that element. `None` if the pump does not answer it.
pub fn find_reading(element: &QName) -> Option<ItemReading> {
    TABLE.iter().find(|one| element.is_named(one.namespace, one.element)).map(|one| one.reading)
}

/// The primitive of a record. `<describe>` stands for both questions about payloads, because they have the same mark.
pub fn find_recorded(header: &Header) -> Option<&'static Primitive> {
    TABLE.iter().copied().find(|one| one.kind == header.kind && Some(one.mark) == header.code)
}

/// The primitive with that local name.
pub fn find_named(element: &str) -> Option<&'static Primitive> {
    TABLE.iter().copied().find(|one| one.element == element)
}

/// The primitive of an admitted payload.
pub fn find_primitive(admitted: &Admitted) -> Option<&'static Primitive> {
    if matches!(admitted.what(), PayloadKind::Primitive(_)) { find_named(admitted.element()) } else { None }
}

/// Answers an item, now or later; returns the refusal if there is one.
pub(super) fn answer_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> Option<Refusal> {
    let decided = find_primitive(admitted).ok_or_else(refuse_unread).and_then(|one| match one.turns {
        TurnEffect::Several if turn.is_single() => Err(no_turn_left()),
        TurnEffect::Another if turn.is_last() => Err(no_turn_left()),
        _ => (one.decide)(d, turn, ordinal, admitted),
    });
    decided.unwrap_or_else(|refusal| Some(refuse_item(d, turn, ordinal, refusal, Some(admitted.bytes()))))
}

/// What the door or a look into the log should have found is missing.
fn refuse_unread() -> Refusal {
    Refusal::new(Code::IngressUnavailable, "this was not read from the log")
}

/// Records an item.
fn record_taken(
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
fn record_answer(
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
fn record_exchange(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::record::TimerEffect;

    #[test]
    fn every_role_is_folded_by_name_or_by_the_table() {
        use MessageRole::{
            Answer, Begin, Call, Final, Inbox, Note, Request, Steer, Tell, ToAll, ToFirst, Told, WrapUp,
        };
        let by_name =
            [Request, Begin, Call, ToAll, ToFirst, Note, Steer, Final, Answer, Inbox, WrapUp, Told, Tell];
        for role in MessageRole::ALL {
            let in_table = TABLE.iter().any(|one| one.mark == RecordCode::Role(*role));
            assert_ne!(by_name.contains(role), in_table, "{role:?}");
        }
    }

    #[test]
    fn every_record_leads_back_to_its_row() {
        for one in TABLE {
            let of_role = matches!(one.mark, RecordCode::Role(_));
            let kind = if of_role { RecordKind::Message } else { RecordKind::Timer };
            assert_eq!(one.kind, kind, "{}", one.element);
            let same = TABLE.iter().filter(|other| other.mark == one.mark).count();
            // Both questions about the composition have the same record.
            let is_introspection = one.mark == RecordCode::Role(MessageRole::Introspect);
            assert_eq!(same, if is_introspection { 2 } else { 1 }, "{}", one.element);
        }
        for effect in [TimerEffect::Set, TimerEffect::Cancel] {
            assert!(TABLE.iter().any(|one| one.mark == RecordCode::Timing(effect)), "{effect:?}");
        }
    }

    #[test]
    fn every_element_is_in_the_table_once_and_declared() {
        let core = include_str!("../../../../../schemas/core.xsd");
        let meta = include_str!("../../../../../schemas/meta.xsd");
        for one in TABLE {
            let schema = if one.namespace == namespaces::CORE { core } else { meta };
            let declaration = format!("<xs:element name=\"{}\"", one.element);
            assert!(schema.contains(&declaration), "{}", one.element);
            assert_eq!(
                TABLE.iter().filter(|other| other.element == one.element).count(),
                1,
                "{}",
                one.element
            );
        }
    }
}
