//! Deciding on requests to end something.
//!
//! A person ends a root at rest: nothing is open in it, so only its timers end with it. A thread at work
//! can only be cancelled, with the command for that. `<cancel-thread>`: a call ends one of its children
//! and everything below it, in one commit with the answer. The child's end reaches the inbox like any
//! other end.

use std::sync::Arc;

use super::children::{Kinship, kinship};
use super::closing::{end_thread, not_alive};
use super::decide::{may_act, refuse_asker};
use super::decision_builder::{DecisionBuilder, Fact};
use super::event::Effect;
use super::replying::{Turn, no_thread, refuse_item};
use super::state::{Life, Thread};
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::{Refused, Ticket};
use crate::types::ids::{Name, ThreadId};
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// Ends a root at rest. Its timers end too, since nothing is ever added to it again.
pub(super) fn end(d: &mut DecisionBuilder<'_>, ticket: Ticket, by: &Name, thread: &ThreadId) {
    let found = d.thread(thread).filter(|_| !thread.is_sys() && may_act(d, by, thread));
    let refusal = match found.map(Thread::life) {
        Some(Life::Working) => {
            let words = "the thread is at work; only one at rest is ended";
            Some(Refusal::new(Code::BusyThread, words).fixed_by(format!(
                "wait for its answer, or: systole cancel {}, which ends its work",
                thread.as_str()
            )))
        }
        life => not_alive(life, "end"),
    };
    if let Some(refusal) = refusal {
        return refuse_asker(d, ticket, by, Some(thread), Refused { refusal, kept: None });
    }
    let fact = Fact::core(Kind::Terminal, Mark::Ended, core_payload::thread_ended(thread));
    let fact = fact.to(by).under(d.current_config());
    d.record(thread, fact);
    d.effect(Effect::Done { ticket });
}

/// Cancels a child of this call. A child of another call or thread is unknown here.
pub(super) fn cancel(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    id: &ThreadId,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    match kinship(d, turn, id.as_str()) {
        Kinship::Running(_) => {}
        Kinship::Ended => return Some(no_thread(d, turn, ordinal, id.as_str(), true, item)),
        Kinship::Foreign => return Some(no_thread(d, turn, ordinal, id.as_str(), false, item)),
        Kinship::Unread(refusal) => return Some(refuse_item(d, turn, ordinal, refusal, Some(item))),
    }
    let mut fact = turn.item(ordinal, Kind::Message, Mark::Role(Role::CancelThread), item.clone());
    fact.from = turn.sender.clone();
    let (_, cause) = d.record(turn.thread, fact);
    let threads = end_thread(d, id, &turn.sender);
    let answer =
        Fact::core(Kind::Message, Mark::Role(Role::Answer), core_payload::thread_cancelled(id, threads))
            .to(&turn.sender)
            .on(&turn.path.item(turn.number, ordinal))
            .because(cause)
            .under(turn.config);
    d.record(turn.thread, answer);
    None
}
