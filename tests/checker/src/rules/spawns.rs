//! Checks that children begin and end as their parents saw it.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::{OpenedThrough, RecordAct};
use crate::record::RecordHash;
use crate::report::CheckFinding;

/// A child begins because of a spawn in its parent, with that spawn's leaf as origin. The parent confirms it after
/// its first record and before its second, and the confirmation names it and its head. Every spawn is confirmed.
pub(crate) fn check_spawn(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let record = step.record;
    let child = record.thread.contains('.').then(|| before.find_thread(&record.thread)).flatten();
    match step.act {
        Some(RecordAct::Answer { caller, turn, ordinal }) => {
            check_confirmation(before, step, caller, turn, ordinal)
        }
        Some(RecordAct::Opens { by: OpenedThrough::Spawn, .. }) => check_begin(before, step),
        _ if record.thread.contains('.') && record.seq == 1 => {
            Some("a child's first record is not the one that begins it".into())
        }
        _ if child.and_then(|thread| thread.child.as_ref()).is_some_and(|child| !child.is_confirmed) => {
            Some("the child moves before its parent was told of it".into())
        }
        _ => None,
    }
}

fn check_begin(before: &CheckLedger, step: &LedgerStep<'_>) -> Option<String> {
    let record = step.record;
    // Without a cause, the rule on causes reports it.
    let cause = record.cause?;
    let Some(spawn) = before.spawns.get(&cause) else {
        return Some(format!("its cause {cause} is no spawn that waits for its child"));
    };
    if let Some(other) = &spawn.child {
        return Some(format!("its spawn already has the child {other}"));
    }
    let parent = record.thread.rsplit_once('.').map(|(parent, _)| parent);
    if parent != Some(&spawn.thread) {
        return Some(format!("it was spawned in {}, which is not its parent", spawn.thread));
    }
    if record.origin != Some(spawn.leaf) {
        return Some(format!("its origin is not {}, the leaf of its spawn", spawn.leaf));
    }
    None
}

fn check_confirmation(
    before: &CheckLedger,
    step: &LedgerStep<'_>,
    caller: &str,
    turn: u32,
    ordinal: u32,
) -> Option<String> {
    let record = step.record;
    let item = before.find_call(&record.thread, caller)?.find_item(turn, ordinal)?;
    let tag = step.core_named("thread-spawned");
    let Some(spawned_by) = item.spawn else {
        return tag.map(|_| "it confirms a spawn, but its item asked for none".into());
    };
    // A second confirmation of one spawn is reported as a second answer.
    let spawn = before.spawns.get(&spawned_by)?;
    let Some(tag) = tag else { return Some("a spawn is not answered by its confirmation".into()) };
    if record.cause != Some(spawned_by) {
        return Some("the confirmation is not caused by its spawn".into());
    }
    let Some(id) = &spawn.child else { return Some("the spawn is confirmed before its child begins".into()) };
    let thread = before.find_thread(id)?;
    let child = thread.child.as_ref()?;
    if tag.find_attribute("assigned_id") != Some(id)
        || tag.find_attribute("parent_id") != Some(&record.thread)
    {
        return Some(format!("the confirmation does not name {id} and its parent"));
    }
    let told = tag.find_attribute("head").and_then(RecordHash::parse);
    (told != Some(child.first_head))
        .then(|| format!("the confirmation does not name {}, the child's first head", child.first_head))
}

/// A parent gets one notice about each ended child, after its end, with its last head, its outcome and its answer.
pub(crate) fn check_finish(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let Some(RecordAct::Inbox { call }) = step.act else { return None };
    let tag = step.core_named("thread-finished")?;
    let id = tag.find_attribute("id").unwrap_or_default();
    let Some((thread, child)) =
        before.find_thread(id).and_then(|thread| Some((thread, thread.child.as_ref()?)))
    else {
        return Some(format!("it reports the end of {id}, and no such child began"));
    };
    if let Some(first) = child.told {
        return Some(format!("the end of {id} was already reported, at position {first}"));
    }
    let record = step.record;
    let is_own =
        before.find_call(&record.thread, call).is_some_and(|call| call.children.iter().any(|own| own == id));
    if !is_own {
        return Some(format!("it reports the end of {id} to a call that did not spawn {id}"));
    }
    let Some(end) = &child.end else { return Some(format!("it reports the end of {id}, which still runs")) };
    if tag.find_attribute("head").and_then(RecordHash::parse) != Some(thread.head) {
        return Some(format!("the last head of {id} is {}, and it reports another", thread.head));
    }
    if tag.find_attribute("outcome") != Some(end.outcome) {
        let told = tag.find_attribute("outcome").unwrap_or("none");
        return Some(format!("{id} ended as {}, and it reports {told}", end.outcome));
    }
    let told = (!tag.inside.is_empty()).then(|| RecordHash::hash_bytes(tag.inside.as_bytes()));
    (told != end.payload).then(|| format!("it reports another answer than that of {id}"))
}

/// Every spawn is confirmed.
pub(crate) fn list_unconfirmed(end: &CheckLedger, _: &RunSettings) -> Vec<CheckFinding> {
    let finding = |spawn: &crate::ledger::LedgerSpawn| CheckFinding {
        rule: "spawn",
        position: spawn.position,
        thread: spawn.thread.clone(),
        seq: spawn.seq,
        words: match &spawn.child {
            Some(child) => format!("child {child} of this spawn was never confirmed"),
            None => "this spawn has no child".into(),
        },
    };
    end.spawns.values().map(finding).collect()
}

/// Every ended child was reported to its parent.
pub(crate) fn list_unreported(end: &CheckLedger, _: &RunSettings) -> Vec<CheckFinding> {
    let ended = end
        .threads
        .iter()
        .filter_map(|(id, thread)| Some((id, thread, thread.ended?, thread.child.as_ref()?)));
    let untold = ended.filter(|(.., child)| child.told.is_none());
    let finding = |(id, thread, position, _): (&String, &crate::ledger::LedgerThread, u64, _)| CheckFinding {
        rule: "finished",
        position,
        thread: id.clone(),
        seq: thread.seq,
        words: "the child ended, and its parent never learned of it".into(),
    };
    untold.map(finding).collect()
}
