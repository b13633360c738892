//! Checks that everything has an earlier cause.

use super::RunSettings;
use crate::ledger::{Ledger, Step};
use crate::meaning::{Act, By};

/// The cause of a record is earlier in the log. A record of a call was caused by something in its
/// thread, and by nothing older than the call: an item is an answer to what its call saw.
pub(crate) fn check_cause(before: &Ledger, step: &Step<'_>, _: &RunSettings) -> Option<String> {
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

fn needs_cause(act: Act<'_>) -> bool {
    match act {
        Act::Opens { by, .. } => by != By::Client,
        Act::Item { .. } | Act::Takes { .. } | Act::Answer { .. } | Act::Outcome { .. } => true,
        Act::Fires { .. } | Act::Unset { .. } => true,
        Act::Asks { .. } | Act::Questions { .. } => true,
        Act::Tell { .. } | Act::Amends { .. } | Act::Decides { .. } => true,
        Act::DeadLetter { .. } | Act::Attempt { .. } | Act::Wraps { .. } => true,
        Act::Writes { .. } | Act::Denies { .. } | Act::Marks { .. } => true,
        Act::Inbox { .. } | Act::Steers { .. } | Act::Clocks { .. } | Act::Terminal => false,
        Act::Pauses | Act::Resumes | Act::Aside => false,
    }
}

fn stays_in_thread(act: Act<'_>) -> bool {
    // A child begins because of its parent, and the cause of an inbox record may be anywhere.
    !matches!(act, Act::Opens { .. } | Act::Inbox { .. } | Act::Steers { .. } | Act::Terminal | Act::Aside)
}
