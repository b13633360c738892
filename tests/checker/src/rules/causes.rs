//! Checks that everything has an earlier cause.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::meaning::{OpenedThrough, RecordAct};

/// The cause of a record is earlier in the log. A record of a call was caused by something in its
/// thread, and by nothing older than the call: an item is an answer to what its call saw.
pub(crate) fn check_cause(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let record = step.record;
    let Some(cause) = record.cause else {
        return needs_cause(step.act?).then(|| "the record names no cause".into());
    };
    let Some(place) = before.find_place(cause) else {
        return Some(format!("no record before this one is its cause {cause}"));
    };
    if !stays_in_thread(step.act?) {
        return None;
    }
    let thread = before.find_thread(&record.thread).map(|thread| thread.number);
    if thread != Some(place.thread) {
        return Some(format!("its cause {cause} stands in another thread"));
    }
    let call = before.call_of(step)?;
    (place.seq < call.seq)
        .then(|| format!("its cause, record {}, is older than its call, record {}", place.seq, call.seq))
}

fn needs_cause(act: RecordAct<'_>) -> bool {
    match act {
        RecordAct::Opens { by, .. } => by != OpenedThrough::Client,
        RecordAct::Item { .. }
        | RecordAct::Takes { .. }
        | RecordAct::Answer { .. }
        | RecordAct::Outcome { .. } => true,
        RecordAct::Fires { .. } | RecordAct::Unset { .. } => true,
        RecordAct::Asks { .. } | RecordAct::Questions { .. } => true,
        RecordAct::Tell { .. } | RecordAct::Amends { .. } | RecordAct::Decides { .. } => true,
        RecordAct::DeadLetter { .. } | RecordAct::Attempt { .. } | RecordAct::Wraps { .. } => true,
        RecordAct::Writes { .. } | RecordAct::Denies { .. } | RecordAct::Marks { .. } => true,
        RecordAct::Reopens { .. } => true,
        RecordAct::Inbox { .. }
        | RecordAct::Steers { .. }
        | RecordAct::Clocks { .. }
        | RecordAct::Terminal => false,
        RecordAct::Pauses | RecordAct::Resumes | RecordAct::Aside => false,
    }
}

fn stays_in_thread(act: RecordAct<'_>) -> bool {
    // A child begins because of its parent, and the cause of an inbox record may be anywhere.
    !matches!(
        act,
        RecordAct::Opens { .. }
            | RecordAct::Inbox { .. }
            | RecordAct::Steers { .. }
            | RecordAct::Terminal
            | RecordAct::Aside
    )
}
