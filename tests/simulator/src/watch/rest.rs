//! Checks that something ends every open state. A waiting call must wait for something that is itself
//! open; a delivery ends a ready call, and the world sees the delivery go out.
//!
//! A new reason to wait is a line here.

use std::collections::BTreeMap;

use systole_core::pump::state::{
    AwaitedChildren, Call, CallState, ItemAnswer, PendingItem, Thread, ThreadState,
};
use systole_core::types::ids::{CallPath, ThreadId};

/// Calls that wait for something that cannot come.
pub(crate) fn stranded(threads: &BTreeMap<ThreadId, Thread>) -> Vec<String> {
    let mut wrong = Vec::new();
    for thread in threads.values() {
        for (path, call) in &thread.calls {
            let place = || format!("call {path} of {}", thread.id);
            if call.stand() == CallState::Held && !is_behind(thread, path) {
                wrong.push(format!("{} is held, and no earlier call is open", place()));
            }
            let open = call.items.iter().filter(|item| item.answer == ItemAnswer::Open);
            for item in open {
                if let PendingItem::Threads(awaited) = &item.pending {
                    if !has_something_to_come(thread, path, call, awaited) {
                        wrong.push(format!("{} waits for threads, and none of them runs", place()));
                    }
                    continue;
                }
                if let PendingItem::Person(question) = &item.pending {
                    if thread.person_request(&path.append_item(call.settled, item.ordinal)).is_none() {
                        wrong.push(format!(
                            "{} waits for an answer to {}, which has no open request",
                            place(),
                            question.id
                        ));
                    }
                    continue;
                }
                let nested = path.append_item(call.settled, item.ordinal);
                let waits_for = match &item.pending {
                    PendingItem::Takers(takers) => {
                        let open = (0..).zip(&takers.answers).filter(|(_, answer)| answer.is_none());
                        open.map(|(taker, _)| nested.append_taker(taker)).collect()
                    }
                    _ => vec![nested],
                };
                for call in waits_for.into_iter().filter(|call| !thread.calls.contains_key(call)) {
                    wrong.push(format!("{} waits for {call}, which is not open", place()));
                }
            }
            for child in running(call, threads) {
                wrong.push(format!("{} has the child {child} open, which does not run", place()));
            }
        }
    }
    wrong
}

/// Calls that are still open although nothing happens any more.
pub(crate) fn open(threads: &BTreeMap<ThreadId, Thread>) -> Vec<String> {
    let open = threads.values().filter(|thread| thread.life() == ThreadState::Working);
    open.flat_map(|thread| {
        thread.calls.iter().map(|(path, call)| format!("call {path} of {} is {:?}", thread.id, call.stand()))
    })
    .collect()
}

/// Whether a wait ends by itself: by running children, or by a timer of its call.
fn has_something_to_come(thread: &Thread, path: &CallPath, call: &Call, awaited: &AwaitedChildren) -> bool {
    let runs = |id: &ThreadId| call.running().any(|child| child == id);
    awaited.threads.iter().any(runs) || thread.timers.values().any(|timer| timer.call == *path)
}

fn is_behind(thread: &Thread, path: &CallPath) -> bool {
    thread.calls.keys().any(|other| other.top_number() < path.top_number())
}

fn running<'c>(
    call: &'c Call,
    threads: &'c BTreeMap<ThreadId, Thread>,
) -> impl Iterator<Item = &'c ThreadId> {
    call.running().filter(|child| threads.get(*child).is_none_or(|t| t.life() != ThreadState::Working))
}
