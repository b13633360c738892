//! `<cancel-timer>`: a timer of its sender will not fire again.

use super::set_timer::timer_id;
use super::{Decided, Primitive, ShownItem, item, told};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::timers::standing;
use crate::pump::turn::Turn;
use crate::rules::admit::Reading;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::Admitted;
use crate::types::ids::TimerId;
use crate::types::record::{RecordCode, RecordKind, TimerEffect};
use crate::types::refusal::Refusal;

pub(super) static ROW: Primitive = Primitive {
    kind: RecordKind::Timer,
    shows: Some(shows),
    ..item(
        "cancel-timer",
        RecordCode::Timing(TimerEffect::Cancel),
        "cancels a timer, item",
        Reading::Plain(|body| read(body).map(drop)),
        decide,
    )
};

/// The timer that it names.
fn read(body: &[u8]) -> Result<TimerId, Refusal> {
    let [id] = core_payload::attributes(body, "cancel-timer", ["id"]).unwrap_or_default();
    timer_id(&id.unwrap_or_default())
}

/// Cancels a timer of the sender.
fn decide(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, ordinal: u32, admitted: &Admitted) -> Decided {
    let id = read(admitted.bytes())?;
    let Some(thread) = d.thread(turn.thread) else { return Ok(None) };
    let own = standing(thread, turn).filter(|(_, timer)| thread.may_cancel(turn.path, &turn.sender, timer));
    let set: Vec<&str> = own.map(|(own, _)| own.as_str()).collect();
    if !set.contains(&id.as_str()) {
        let words = format!("no timer {} of yours is set", id.as_str());
        let expected = if set.is_empty() { "none is set".to_owned() } else { set.join(", ") };
        let refusal = Refusal::new(Code::UnknownTimer, words)
            .of_element("cancel-timer")
            .in_place("/cancel-timer/@id")
            .expecting(expected);
        return Err(refusal);
    }
    told(d, turn, ordinal, &ROW, admitted.bytes(), core_payload::timer_cancelled(&id));
    Ok(None)
}

fn shows(answer: Option<&[u8]>) -> ShownItem {
    let id = answer.and_then(core_payload::cancelled_timer);
    let id = id.as_ref().map(TimerId::as_str);
    ShownItem::of(format!("cancelled timer {}", id.unwrap_or("?"))).with("cancelled", id)
}
