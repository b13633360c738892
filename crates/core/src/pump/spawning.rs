//! Deciding on `<spawn-thread>`: the item, the child's first record and the confirmation are one
//! commit, in this order. Only then can the child's first delivery go out.

use std::sync::Arc;

use systole_wire::payload::Payload;

use super::approving::hold_if_due;
use super::budget_use;
use super::decision_builder::{DecisionBuilder, Fact};
use super::replying::{Turn, record_refusal};
use crate::rules::{core_payload, labels};
use crate::types::budget::Use;
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Name};
use crate::types::limits;
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// The child to spawn.
pub(super) struct Wanted<'a> {
    pub(super) label: Option<&'a str>,
    pub(super) to: &'a Name,
    pub(super) initial: &'a Arc<[u8]>,
    /// Whether a person must approve its initial payload.
    pub(super) dangerous: bool,
}

pub(super) fn spawn(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    item: &Arc<[u8]>,
    wanted: &Wanted<'_>,
) -> Option<Refusal> {
    let Wanted { label: suggested, to, initial, dangerous } = *wanted;
    let over = budget_use::over(d, turn.thread, turn.path);
    let open = d.call(turn.thread, turn.path).map_or(0, |c| c.running().count());
    if open >= limits::OPEN_CHILDREN {
        let words =
            format!("{} children of this call are open, the most allowed at once", limits::OPEN_CHILDREN);
        let mut refusal = Refusal::new(Code::ChildrenBudget, words).fixed_by("wait until one has finished");
        refusal.hash = Some(d.keep(item));
        record_refusal(d, turn, ordinal, &refusal);
        return Some(refusal);
    }
    let named = d.thread(turn.thread).map(|t| labels::choose(&t.labels, t.spawns, suggested));
    let child = match named.and_then(|label| turn.thread.child(&label).ok()) {
        Some(child) => child,
        None => {
            let refusal = Refusal::new(Code::ThreadLimit, "the thread's id is too long for another child");
            record_refusal(d, turn, ordinal, &refusal);
            return Some(refusal);
        }
    };
    let mut fact = turn.item(ordinal, Kind::Message, Mark::Role(Role::Spawn), item.clone());
    fact.from = turn.sender.clone();
    let (_, spawned_by) = d.record(turn.thread, fact);
    let mut begin = Fact::core(Kind::Message, Mark::Role(Role::Begin), initial.clone())
        .to(to)
        .on(&CallPath::top(1))
        .because(spawned_by)
        .under(turn.config);
    begin.from = turn.sender.clone();
    begin.origin = d.last_leaf();
    d.record(&child, begin);
    let head = d.thread(&child).map_or_else(|| crate::types::record::head_zero(&child), |t| t.head);
    // This comes before the answer, because the answer makes the sender's next turn ready, and that
    // turn shows the warning.
    budget_use::warn(d, &over, Use::SPAWN);
    let share_percent = d.listener(turn.config, to).map_or(0, |listener| listener.share_percent);
    let ceiling = budget_use::ceiling(&over, share_percent.into()).within(core_payload::wanted_ceiling(item));
    let body = core_payload::thread_spawned(&child, turn.thread, head, &ceiling);
    let answer = Fact::core(Kind::Message, Mark::Role(Role::Answer), body)
        .to(&turn.sender)
        .on(&turn.path.item(turn.number, ordinal))
        .because(spawned_by)
        .under(turn.config);
    d.record(turn.thread, answer);
    // This comes after the answer: a child gets no further record before its parent knows of it.
    budget_use::warn_child(d, &over, Use::SPAWN, &child);
    // Judged payloads begin with an element.
    let element =
        Payload::trusted(initial.clone()).map_or_else(|_| String::new(), |p| p.name().local.to_string());
    hold_if_due(d, &child, &CallPath::top(1), (initial, &element), dangerous);
    None
}
