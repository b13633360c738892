//! `<set-timer>`: its sender is told something later, once or again and again. `pump::timers` says what happens when
//! the timer is due.

use std::collections::BTreeSet;

use super::{FieldValue, ItemDecision, Primitive, ShownItem, make_item, record_exchange};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::fold::settling::settle_unanswered;
use crate::pump::state::{PendingItem, Thread};
use crate::pump::timers::list_standing;
use crate::pump::turn::Turn;
use crate::rules::admit::ItemReading;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::Admitted;
use crate::types::ids::TimerId;
use crate::types::limits::{TIMER_MOST_MS, TIMERS, WAIT_LEAST_MS};
use crate::types::primitive::TimerPace;
use crate::types::record::{Record, RecordCode, RecordKind, TimerEffect};
use crate::types::refusal::Refusal;
use crate::types::time::stretch_ms;

pub(super) static ROW: Primitive = Primitive {
    kind: RecordKind::Timer,
    shows: Some(show_item),
    fold: fold_item,
    ..make_item(
        "set-timer",
        RecordCode::Timing(TimerEffect::Set),
        "sets a timer, item",
        ItemReading::Plain(|body| read_timer(body).map(drop)),
        decide_item,
    )
};

/// The content of a `<set-timer>`, without its note. The note stays in the record and is read again when
/// the timer fires.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SetTimer {
    /// The requested id. `None` lets the pump choose.
    id: Option<TimerId>,
    /// When it fires.
    pace: TimerPace,
}

fn read_timer(body: &[u8]) -> Result<SetTimer, Refusal> {
    let [id, after, every] =
        core_payload::read_attributes(body, "set-timer", ["id", "after", "every"]).unwrap_or_default();
    let id = id.map(|id| timer_id(&id)).transpose()?;
    let (name, written, repeats) = match (after, every) {
        (Some(after), None) => ("after", after, false),
        (None, Some(every)) => ("every", every, true),
        (Some(_), Some(_)) => return Err(one_of_two("after and every are both given")),
        (None, None) => return Err(one_of_two("neither after nor every is given")),
    };
    let wrong = |words: &str, instead: &str| {
        let message = format!("{name}: {written}{words}");
        Refusal::new(Code::Invalid, message)
            .with_expected("1s to 3650d, with one of the units ms, s, m, h, d")
            .fixed_by(format!("{name}=\"{instead}\""))
            .in_place(format!("/set-timer/@{name}"))
    };
    match stretch_ms(&written) {
        None => Err(wrong(" is not a whole number with a unit", "10m")),
        Some(ms) if ms < WAIT_LEAST_MS => Err(wrong(" is less than 1s, the shortest allowed", "1s")),
        Some(ms) if ms > TIMER_MOST_MS => Err(wrong(" is more than 3650d, the longest allowed", "3650d")),
        Some(span_ms) => Ok(SetTimer { id, pace: TimerPace { span_ms, repeats } }),
    }
}

fn one_of_two(message: &'static str) -> Refusal {
    Refusal::new(Code::Invalid, message)
        .with_expected("after to fire once, or every to fire again and again")
        .fixed_by("after=\"10m\", or every=\"10m\"")
        .in_place("/set-timer")
}

pub(super) fn timer_id(written: &str) -> Result<TimerId, Refusal> {
    TimerId::parse(written).map_err(|words| Refusal::new(Code::Invalid, words.to_string()))
}

/// Sets a timer, and tells the sender its id and its time.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let wanted = read_timer(admitted.bytes())?;
    let Some(thread) = d.find_thread(turn.thread) else { return Ok(None) };
    let timers: BTreeSet<&TimerId> = list_standing(thread, turn).map(|(id, _)| id).collect();
    let refusal = match &wanted.id {
        Some(id) if timers.contains(id) => Some(
            Refusal::new(Code::Invalid, format!("a timer {} is set in this thread", id.as_str()))
                .of_element("set-timer")
                .in_place("/set-timer/@id")
                .fixed_by("leave id out, choose another, or cancel that timer first"),
        ),
        _ if timers.len() >= TIMERS => Some(
            Refusal::new(Code::ThreadLimit, "32 timers are set in this thread, the most allowed")
                .fixed_by("cancel one, or wait until one has fired"),
        ),
        _ => None,
    };
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let id = wanted.id.unwrap_or_else(|| TimerId::find_free(|id| timers.contains(id)));
    let due = d.at().add_ms(wanted.pace.span_ms);
    record_exchange(d, turn, ordinal, &ROW, admitted.bytes(), core_payload::timer_set(&id, due));
    Ok(None)
}

/// Notes when the timer of an item fires. The answer says whether it is set.
fn fold_item(thread: &mut Thread, record: &Record) {
    settle_unanswered(thread, record);
    let item = record.header.call.as_ref().and_then(|path| thread.calls.get_mut(path)?.items.last_mut());
    if let (Some(item), Ok(wanted)) = (item, read_timer(&record.body)) {
        item.pending = PendingItem::Timer(wanted.pace);
    }
}

fn show_item(answer: Option<&[u8]>) -> ShownItem {
    let Some((id, due)) = answer.and_then(core_payload::read_timer_set) else {
        return ShownItem::new("set a timer")
            .with_field("timer", FieldValue::Null)
            .with_field("due", FieldValue::Null);
    };
    let words = ShownItem::new(format!("set timer {}, due at ", id.as_str())).with_time(due);
    words.with_field("timer", Some(id.as_str())).with_field("due", Some(due))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_span_is_read_or_refused_with_the_fix() {
        let core = systole_wire::namespaces::CORE;
        let read = |attributes: &str| {
            super::read_timer(format!("<set-timer xmlns=\"{core}\" {attributes}>x</set-timer>").as_bytes())
        };
        let pace = |attributes: &str| read(attributes).unwrap().pace;
        assert_eq!((pace("after='1500ms'").span_ms, pace("after='1500ms'").repeats), (1_500, false));
        assert_eq!(
            (pace("every='3650d'").span_ms, pace("every='3650d'").repeats),
            (3_650 * 86_400_000, true)
        );
        for (attributes, words) in [
            ("", "neither after nor every is given"),
            ("after='1m' every='1m'", "after and every are both given"),
            ("after='999ms'", "after: 999ms is less than 1s"),
            ("every='0s'", "every: 0s is less than 1s"),
            ("after='3651d'", "after: 3651d is more than 3650d"),
            ("after='99999999999999999999999s'", "is more than 3650d"),
            ("after='10'", "after: 10 is not a whole number with a unit"),
            ("after='-1s'", "is not a whole number with a unit"),
            ("after='soon'", "is not a whole number with a unit"),
        ] {
            let refusal = read(attributes).unwrap_err();
            assert!(
                refusal.message.contains(words) && refusal.expected.is_some(),
                "{attributes}: {refusal:?}"
            );
        }
    }
}
