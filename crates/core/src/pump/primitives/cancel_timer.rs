//! `<cancel-timer>`: a timer of its sender will not fire again.

use super::set_timer::timer_id;
use super::{ItemDecision, Primitive, ShownItem, make_item, record_exchange};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::timers::list_standing;
use crate::pump::turn::Turn;
use crate::rules::admit::ItemReading;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::Admitted;
use crate::types::ids::TimerId;
use crate::types::record::{RecordCode, RecordKind, TimerEffect};
use crate::types::refusal::Refusal;

pub(super) static ROW: Primitive = Primitive {
    kind: RecordKind::Timer,
    shows: Some(show_item),
    ..make_item(
        "cancel-timer",
        RecordCode::Timing(TimerEffect::Cancel),
        "cancels a timer, item",
        ItemReading::Plain(|body| read_timer(body).map(drop)),
        decide_item,
    )
};

/// The timer that it names.
fn read_timer(body: &[u8]) -> Result<TimerId, Refusal> {
    let [id] = core_payload::read_attributes(body, "cancel-timer", ["id"]).unwrap_or_default();
    timer_id(&id.unwrap_or_default())
}

/// Cancels a timer of the sender.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let id = read_timer(admitted.bytes())?;
    let Some(thread) = d.find_thread(turn.thread) else { return Ok(None) };
    let own =
        list_standing(thread, turn).filter(|(_, timer)| thread.may_cancel(turn.path, &turn.sender, timer));
    let set: Vec<&str> = own.map(|(own, _)| own.as_str()).collect();
    if !set.contains(&id.as_str()) {
        let words = format!("no timer {} of yours is set", id.as_str());
        let expected = if set.is_empty() { "none is set".to_owned() } else { set.join(", ") };
        let refusal = Refusal::new(Code::UnknownTimer, words)
            .of_element("cancel-timer")
            .in_place("/cancel-timer/@id")
            .with_expected(expected);
        return Err(refusal);
    }
    record_exchange(d, turn, ordinal, &ROW, admitted.bytes(), core_payload::timer_cancelled(&id));
    Ok(None)
}

fn show_item(answer: Option<&[u8]>) -> ShownItem {
    let id = answer.and_then(core_payload::cancelled_timer);
    let id = id.as_ref().map(TimerId::as_str);
    ShownItem::new(format!("cancelled timer {}", id.unwrap_or("?"))).with_field("cancelled", id)
}
