//! Deciding on `<spawn-thread>`: the item, the child's first record and the confirmation are one
//! commit, in this order, and only then can the child's first delivery go out.

use std::sync::Arc;

use systole_wire::payload::Payload;

use super::approving::hold_if_due;
use super::draft::{Draft, Fact};
use super::purse;
use super::replying::{Turn, record_refusal};
use crate::rules::{core_payload, labels};
use crate::types::budget::Use;
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Name};
use crate::types::limits;
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// The child that is wanted.
pub(super) struct Wanted<'a> {
    pub(super) label: Option<&'a str>,
    pub(super) to: &'a Name,
    pub(super) initial: &'a Arc<[u8]>,
    /// Whether a person must approve its initial payload.
    pub(super) dangerous: bool,
}

pub(super) fn spawn(
    d: &mut Draft<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    item: &Arc<[u8]>,
    wanted: &Wanted<'_>,
) -> Option<Refusal> {
    let Wanted { label: suggested, to, initial, dangerous } = *wanted;
    let over = purse::over(d, turn.thread, turn.path);
    let open = d.call(turn.thread, turn.path).map_or(0, |c| c.running().count());
    if open >= limits::OPEN_CHILDREN {
        let words =
            format!("{} children of this call are open, the most allowed at once", limits::OPEN_CHILDREN);
        let mut refusal = Refusal::new(Code::ChildrenBudget, words).mended_by("wait until one has finished");
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
    // Before the answer, after which the sender's next turn is ready: that turn shows the warning.
    purse::warn(d, &over, Use::SPAWN);
    let share_percent = d.listener(turn.config, to).map_or(0, |listener| listener.share_percent);
    let ceiling = purse::ceiling(&over, share_percent.into()).within(core_payload::wanted_ceiling(item));
    let body = core_payload::thread_spawned(&child, turn.thread, head, &ceiling);
    let answer = Fact::core(Kind::Message, Mark::Role(Role::Answer), body)
        .to(&turn.sender)
        .on(&turn.path.item(turn.number, ordinal))
        .because(spawned_by)
        .under(turn.config);
    d.record(turn.thread, answer);
    // After it: nothing more stands in a child before its parent was told of it.
    purse::warn_child(d, &over, Use::SPAWN, &child);
    // Payloads that were judged begin with an element.
    let element =
        Payload::trusted(initial.clone()).map_or_else(|_| String::new(), |p| p.name().local.to_string());
    hold_if_due(d, &child, &CallPath::top(1), (initial, &element), dangerous);
    None
}
