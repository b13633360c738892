//! What a thread is to a call that names it: a running child, a child that has ended, or no child of that call.
//!
//! A child leaves the row of its call once a turn has shown its end. After that only the log knows whose child it
//! was, so the answer is looked up before the decision. This file reads nothing itself.

use super::decision_builder::DecisionBuilder;
use super::turn::Turn;
use crate::types::codes::Code;
use crate::types::ids::ThreadId;
use crate::types::refusal::Refusal;

/// How a named thread is related to the call that names it.
pub(super) enum ChildKinship {
    /// A child of the call that has not ended.
    Running(ThreadId),
    /// A child of the call that has ended.
    Ended,
    /// No child of this call.
    Foreign,
    /// Only the log knows, and the log was not read.
    Unread(Box<Refusal>),
}

/// Looks up a thread by the id that the sender wrote.
pub(super) fn find_kinship(d: &DecisionBuilder<'_>, turn: &Turn<'_>, id: &str) -> ChildKinship {
    let Some(call) = d.find_call(turn.thread, turn.path) else { return ChildKinship::Foreign };
    if let Some(child) = call.children.iter().find(|child| child.id.as_str() == id) {
        return if child.ended.is_none() {
            ChildKinship::Running(child.id.clone())
        } else {
            ChildKinship::Ended
        };
    }
    let Ok(id) = ThreadId::parse(id) else { return ChildKinship::Foreign };
    if turn.ended.contains(&id) {
        return ChildKinship::Ended;
    }
    if !call.may_have_ended(turn.thread, &id) {
        return ChildKinship::Foreign;
    }
    let was_child = match turn.seen {
        Some(Ok(seen)) => seen.was_child.get(&id).copied(),
        Some(Err(refusal)) => return ChildKinship::Unread(Box::new(refusal.clone())),
        None => None,
    };
    match was_child {
        Some(true) => ChildKinship::Ended,
        Some(false) => ChildKinship::Foreign,
        None => {
            let words = format!("whether {id} was a child of this call was not read from the log");
            ChildKinship::Unread(Box::new(Refusal::new(Code::IngressUnavailable, words)))
        }
    }
}
