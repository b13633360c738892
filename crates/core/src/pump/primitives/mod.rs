//! The payloads that the pump itself answers, one file for each. A file has the element, the mark in the log, the words
//! for readers, what the door and the decision check, and what the fold notes. `TABLE` lists them.

mod ask_person;
mod await_threads;
mod cancel_thread;
mod cancel_timer;
mod clear;
mod introspect;
pub(super) mod recall;
mod row;
mod set_timer;
mod shown_item;
mod spawn_thread;
mod todo;

use systole_wire::QName;

pub use row::{Primitive, ShowItem};
pub use shown_item::{FieldValue, ShownItem, ShownPiece};

use super::decision_builder::DecisionBuilder;
use super::turn::{Turn, no_turn_left, refuse_item};
use row::{ItemDecision, TurnEffect, make_item, record_answer, record_exchange, record_taken, refuse_unread};

use crate::rules::admit::ItemReading;
use crate::types::flow::{Admitted, JudgedItem, PayloadKind};
use crate::types::ids::ThreadId;
use crate::types::record::Header;
use crate::types::refusal::Refusal;

/// How the door reads that element. `None` if the pump does not answer it.
pub fn find_reading(element: &QName) -> Option<ItemReading> {
    TABLE.iter().find(|one| element.is_named(one.namespace, one.element)).map(|one| one.reading)
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

/// The threads that items name as children of their sender, if they can be children at all.
pub fn list_named(items: &[JudgedItem]) -> Vec<ThreadId> {
    let mut named = Vec::new();
    for item in items {
        match item {
            JudgedItem::ForThread { thread, .. } => named.extend(ThreadId::parse(thread)),
            JudgedItem::Admitted(admitted) => {
                if let Some(one) = find_primitive(admitted) {
                    named.extend((one.names)(admitted.bytes()));
                }
            }
            JudgedItem::Refused(_) => {}
        }
    }
    named
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::record::{MessageRole, RecordCode, RecordKind, TimerEffect};
    use systole_wire::namespaces;

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
