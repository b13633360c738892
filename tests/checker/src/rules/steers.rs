//! Checks that steering messages come from the right sender, once, and that their items are answered
//! afterwards.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::RecordAct;

/// A steering message joins a child because of one item of the call that spawned it, once; one for a
/// root comes from outside, under a key. A steering item is handled after its message has joined.
pub(crate) fn check_steer(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    match step.act? {
        RecordAct::Steers { .. } => check_join(before, step),
        RecordAct::Answer { caller, turn, ordinal } => {
            let item = before.find_call(&step.record.thread, caller)?.find_item(turn, ordinal)?;
            match (item.steers, step.core_named("handled")) {
                (Some((_, true)), Some(_)) | (None, None) => None,
                (Some((_, false)), Some(_)) => Some("a word is handled that joined no thread".into()),
                (Some(_), None) => Some("a word is not answered by its being handled".into()),
                (None, Some(_)) => Some("an item is handled that is no word for a thread".into()),
            }
        }
        _ => None,
    }
}

fn check_join(before: &CheckLedger, step: &LedgerStep<'_>) -> Option<String> {
    let record = step.record;
    let Some((parent, _)) = record.thread.rsplit_once('.') else {
        return record.key.is_none().then(|| "a word for a root has no key".into());
    };
    let calls = before.find_thread(parent).into_iter().flat_map(|thread| thread.calls.values());
    for call in calls.filter(|call| call.children.contains(&record.thread)) {
        let word = call.items.iter().filter_map(|item| item.steers).find(|(id, _)| Some(*id) == record.cause);
        match word {
            Some((_, true)) => return Some("a word joins for the second time".into()),
            Some(_) if call.listener != record.from => {
                return Some(format!("a word of {} says that it is from {}", call.listener, record.from));
            }
            Some(_) => return None,
            None => {}
        }
    }
    Some("a word for a child comes from no item of the call that spawned it".into())
}
