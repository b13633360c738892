//! Deciding on `<await-threads>`: the item stays open until enough of its children have finished, or
//! something comes that its sender must not sleep through. Results come in the inbox, awaited or not;
//! the answer says only why the wait is over. It never waits for what the sender has been told already.

use std::sync::Arc;

use super::children::{Kinship, kinship};
use super::draft::{Draft, Fact};
use super::replying::{Turn, no_thread, refuse_item};
use super::state::{Awaited, Call, Sort, Thread};
use crate::rules::core_payload;
use crate::types::ids::{CallPath, ThreadId};
use crate::types::primitive::Await;
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// Takes a wait, and answers it at once where it is over already. A thread that is no child of this
/// call refuses it; a child that has ended is one that has finished, since no sender can know sooner.
pub(super) fn wait(
    d: &mut Draft<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    wanted: &Await,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    for id in &wanted.threads {
        match kinship(d, turn, id.as_str()) {
            Kinship::Running(_) | Kinship::Ended => {}
            Kinship::Foreign => return Some(no_thread(d, turn, ordinal, id.as_str(), false, item)),
            Kinship::Unread(refusal) => return Some(refuse_item(d, turn, ordinal, refusal, Some(item))),
        }
    }
    let mut fact = turn.item(ordinal, Kind::Message, Mark::Role(Role::Await), item.clone());
    fact.from = turn.sender.clone();
    d.record(turn.thread, fact);
    arrived(d, turn.thread, turn.path);
    None
}

/// Answers those waits of a call that what has come by now ends.
pub(super) fn arrived(d: &mut Draft<'_>, thread: &ThreadId, path: &CallPath) {
    let Some((state, call)) = d.thread(thread).and_then(|t| Some((t, t.calls.get(path)?))) else { return };
    let (to, config, turn, cause) = (call.listener.clone(), call.config, call.settled, d.last_id());
    let over: Vec<_> = call
        .awaits()
        .filter_map(|(item, awaited)| {
            let (finished, open) = standing(call, awaited);
            let why = reason(state, path, call, awaited, finished)?;
            Some((item.ordinal, why, finished, open))
        })
        .collect();
    for (ordinal, why, finished, open) in over {
        let body = core_payload::await_over(why, finished, open);
        let mut fact = Fact::core(Kind::Message, Mark::Role(Role::Answer), body)
            .to(&to)
            .on(&path.item(turn, ordinal))
            .under(config);
        fact.cause = cause;
        d.record(thread, fact);
    }
}

/// How many of the awaited children have finished, and how many are open.
fn standing(call: &Call, awaited: &Awaited) -> (usize, usize) {
    let open = call.running().filter(|id| awaited.threads.contains(id)).count();
    (awaited.threads.len().saturating_sub(open), open)
}

/// Why a wait is over; none while it is not. One for no child at all is a wait for the call's timers.
fn reason(
    state: &Thread,
    path: &CallPath,
    call: &Call,
    awaited: &Awaited,
    finished: usize,
) -> Option<&'static str> {
    let waits_for_timer = awaited.threads.is_empty() && state.timers_of(path).next().is_some();
    if finished >= awaited.enough && !waits_for_timer {
        return Some("done");
    }
    call.inbox.iter().find_map(|arrival| match arrival.sort {
        Sort::Timer => Some("timer"),
        Sort::Steer => Some("message"),
        Sort::Budget => Some("budget"),
        Sort::Finished | Sort::Notice => None,
    })
}
