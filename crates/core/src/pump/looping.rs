//! Deciding on calls that repeat themselves. The third identical call is reported to the caller, and the fifth is
//! refused. So is a call after six rounds with the same party that brought nothing new. A round is a turn with
//! all its calls.

use std::sync::Arc;

use super::decision_builder::{DecisionBuilder, RecordFact};
use super::turn::Turn;
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::ids::Name;
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// Why a call may not be made again; `None` if it may.
pub(super) fn find_refusal(
    d: &DecisionBuilder<'_>,
    turn: &Turn<'_>,
    to: &Name,
    payload: &[u8],
) -> Option<Refusal> {
    let loops = d.find_composition(turn.config)?.loops?;
    let rounds = &d.find_call(turn.thread, turn.path)?.rounds;
    let made = rounds.count_calls(to, payload);
    let (number, stale) = (made.saturating_add(1), rounds.count_stale(turn.number, to));
    if number >= loops.refused {
        let words = format!(
            "the same call was made to {} {made} times; its answers are known, and it is not made again",
            to.as_str()
        );
        return Some(
            Refusal::new(Code::RepeatedCall, words).fixed_by("use an answer, or ask for something else"),
        );
    }
    if made > 0 && stale >= loops.ping_pong {
        let words = format!("{stale} rounds with {} brought no new payload", to.as_str());
        return Some(Refusal::new(Code::PingPong, words).fixed_by("say something new, or answer"));
    }
    None
}

/// If a call that was just recorded was made once too often, tells the caller in the next turn.
pub(super) fn report_loop(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, to: &Name, payload: &Arc<[u8]>) {
    let Some(loops) = d.find_composition(turn.config).and_then(|page| page.loops) else { return };
    let made = d.find_call(turn.thread, turn.path).map_or(0, |call| call.rounds.count_calls(to, payload));
    if made != loops.told {
        return;
    }
    let words = format!(
        "the same call was made to {} {made} times; number {} is refused",
        to.as_str(),
        loops.refused
    );
    let refusal =
        Refusal::new(Code::RepeatedCall, words).fixed_by("use an answer, or ask for something else");
    let body = core_payload::system_error(&refusal);
    let fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Inbox), body)
        .with_call(turn.path)
        .with_addressee(&turn.sender);
    d.add_record(turn.thread, fact.with_cause(turn.cause).with_config(turn.config));
}
