//! Deciding on `<cancel-thread>`: a call ends a child of its own, and everything below it, in one commit
//! with the answer. The child's end reaches the inbox as every other one does.

use std::sync::Arc;

use super::closing::end_thread;
use super::draft::{Draft, Fact};
use super::replying::{Turn, no_thread};
use crate::rules::core_payload;
use crate::words::ids::ThreadId;
use crate::words::record::{Kind, Mark, Role};
use crate::words::refusal::Refusal;

/// Cancels a child of this call. One of another call, or of another thread, is unknown here.
pub(super) fn cancel(
    d: &mut Draft<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    id: &ThreadId,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    let child = d.call(turn.thread, turn.path)?.children.iter().find(|child| child.id == *id);
    let ended = child.is_some_and(|child| child.ended.is_some());
    if child.is_none() || ended {
        return Some(no_thread(d, turn, ordinal, id.as_str(), ended, item));
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
