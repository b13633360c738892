//! Checks that items for several takers reached each of them once, and that the first answer, if it is
//! enough, leaves none of the others at work.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::{ItemSort, RecordAct};
use crate::path;
use crate::record::RecordHash;

/// The takers of an item count from 0, all differ, and all get the same bytes on the same terms. When one
/// gives the answer that is enough, the calls to the others are closed before it.
pub(crate) fn check_takers(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    match step.act? {
        RecordAct::Takes { caller, turn, ordinal, call, to, first_is_enough } => {
            let number = path::find_taker(call)?;
            let item = before.find_call(&step.record.thread, caller)?.find_item(turn, ordinal);
            let name = path::of_item(caller, turn, ordinal);
            let Some(item) = item else {
                return (number > 0).then(|| format!("taker {number} of item {name} comes first"));
            };
            let Some(takers) = &item.takers else {
                return Some(format!("item {name} goes to several and is something else as well"));
            };
            if u32::try_from(takers.all.len()) != Ok(number) {
                return Some(format!("{} takers of item {name} come before this one", takers.all.len()));
            }
            if takers.all.iter().any(|known| known.name == to) {
                return Some(format!("item {name} goes to {to} twice"));
            }
            let is_same = (takers.first_is_enough, takers.request)
                == (first_is_enough, RecordHash::hash_bytes(&step.record.body));
            (!is_same).then(|| format!("item {name} is not the same to all"))
        }
        act => {
            let closes = act.find_closed()?;
            let (number, (caller, turn, ordinal)) = (path::find_taker(closes)?, path::split_item(closes)?);
            let item = before.find_call(&step.record.thread, caller)?.find_item(turn, ordinal)?;
            let takers = item.takers.as_ref().filter(|takers| takers.first_is_enough)?;
            if !is_enough(act, step) {
                return None;
            }
            let others = takers.all.iter().filter(|other| other.number != number && !other.is_closed);
            let names: Vec<&str> = others.map(|other| other.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("{} still answer, though this is enough", names.join(", ")))
        }
    }
}

/// Whether that is surely an answer and not a failure. A listener's own report may be a failure: this judge
/// does not read its bytes.
fn is_enough(act: RecordAct<'_>, step: &LedgerStep<'_>) -> bool {
    let is_report = || step.record.body.windows(b"final-report".len()).any(|part| part == b"final-report");
    match act {
        RecordAct::Item { sort: ItemSort::Final, .. } => !is_report(),
        _ => step.record.code.as_deref() == Some("handled"),
    }
}
