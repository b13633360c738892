//! Deciding on todo lists, alone or in notes, and on the one reminder for a final that comes too early:
//! steps are open, or children run.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::decision_builder::DecisionBuilder;
use super::state::StepCount;
use super::turn::{Turn, refuse_item};
use crate::rules::{core_payload, todo};
use crate::types::codes::Code;
use crate::types::ids::Digest;
use crate::types::limits;
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// Records a note, or a list alone; the record is the answer to both. A note that brings more lists
/// than a call may have is refused. A list replaces the list with the same condition.
pub(super) fn keep_list(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    role: MessageRole,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    // The door has read them, so they are valid.
    let lists = todo::read_lists(item).unwrap_or_default();
    if !lists.is_empty() {
        let known =
            d.find_call(turn.thread, turn.path).into_iter().flat_map(|call| call.todos.keys().copied());
        let conditions: BTreeSet<Digest> =
            known.chain(lists.iter().map(|list| Digest::hash_bytes(list.condition.as_bytes()))).collect();
        if conditions.len() > limits::TODO_LISTS {
            let words = "32 todo lists of this call have other conditions, the most allowed";
            let refusal = Refusal::new(Code::TooLarge, words)
                .of_element("todo-until")
                .fixed_by("go on with a list that is there, under its condition");
            return Some(refuse_item(d, turn, ordinal, refusal, Some(item)));
        }
    }
    let mut fact = turn.make_fact(ordinal, RecordKind::Message, RecordCode::Role(role), item.clone());
    fact.from = turn.sender.clone();
    d.add_record(turn.thread, fact);
    None
}

/// If the first final of a call leaves children running or steps open, its answer is a reminder; the
/// next final is taken. Children come first, because taking a final cancels them. On the last turn
/// there is no next final, so the first is taken.
pub(super) fn remind_of_todos(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, ordinal: u32) -> Option<Refusal> {
    if turn.is_last() {
        return None;
    }
    let call = d.find_call(turn.thread, turn.path).filter(|call| !call.nudged)?;
    let running = call.running().count();
    let StepCount { open, total } =
        call.todos.values().fold(StepCount::default(), |all, list| all.sum_with(*list));
    let (mark, body, words) = match (running, open) {
        (0, 0) => return None,
        (0, open) => (RecordCode::TodoOpen, core_payload::todo_open(open, total), "steps are still open"),
        (running, _) => {
            (RecordCode::ChildrenOpen, core_payload::children_open(running), "children are still running")
        }
    };
    d.add_record(
        turn.thread,
        turn.make_fact(ordinal, RecordKind::Refusal, mark, body).with_addressee(&turn.sender),
    );
    Some(Refusal::new(Code::FinalNotAlone, words))
}
