//! Checks calls that wait for someone who is away.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerCall, LedgerOutage, LedgerStep};
use crate::meaning::RecordAct;

/// A wait for someone who is away has one record when it begins and one when it ends. In between nothing of its
/// attempt is recorded, unless the delivery is with the broker. It begins only after an attempt that was out, or
/// before one that goes out, and does not end in a pause. If the terms limit it, it lasts so long, and no longer,
/// unless no pump lived in between.
pub(crate) fn check_outage(
    before: &CheckLedger,
    step: &LedgerStep<'_>,
    terms: &RunSettings,
) -> Option<String> {
    let (act, call) = (step.act?, before.call_of(step)?);
    let waits = call.waits.as_ref();
    match act {
        RecordAct::Marks { .. } => {
            check_mark(before, step, call).or_else(|| check_duration(before, step, call, terms))
        }
        RecordAct::DeadLetter { .. } => {
            let (waited_ms, least_ms) = (waited_ms(step, call)?, terms.outage_ms?);
            waits.filter(|wait| !wait.is_sent)?;
            (waited_ms < least_ms).then(|| format!("a wait ends after {waited_ms} ms of {least_ms}"))
        }
        RecordAct::Outcome { .. } if step.record.code.as_deref() != Some("handled") => None,
        RecordAct::Item { .. }
        | RecordAct::Takes { .. }
        | RecordAct::Attempt { .. }
        | RecordAct::Writes { .. }
        | RecordAct::Outcome { .. } => {
            let LedgerOutage { outage, .. } = waits.filter(|wait| !wait.is_sent)?;
            Some(format!("an attempt that waits for {outage} is over, and did not go on"))
        }
        _ => None,
    }
}

/// Whether the record begins, or ends, what can begin or end.
fn check_mark(before: &CheckLedger, step: &LedgerStep<'_>, call: &LedgerCall) -> Option<String> {
    let tag = step.core_named("attempt")?;
    let (wait, known) = (LedgerOutage::from_tag(tag)?, call.waits.as_ref());
    if tag.find_attribute("over").is_some() {
        let is_it = known.is_some_and(|known| known.outage == wait.outage);
        let halted = before.find_halt(&step.record.thread).filter(|_| is_it);
        return match halted {
            Some(since) => Some(format!("an attempt goes on, though all is halted since {since}")),
            None => (!is_it).then(|| format!("an attempt goes on that does not wait for {}", wait.outage)),
        };
    }
    let known = known?;
    let is_again = known.outage == wait.outage;
    let has_failed = tag.find_attribute("code").is_some() && !known.is_sent;
    (is_again || has_failed).then(|| format!("an attempt waits for {}, and waits again", known.outage))
}

/// How long the due turn has waited by now.
fn waited_ms(step: &LedgerStep<'_>, call: &LedgerCall) -> Option<u64> {
    Some(step.record.time_ms.saturating_sub(call.away_since_ms?))
}

/// Whether it waits for longer than it may, although this pump began before the end of its time. A wait that no failure
/// begins may begin after that time, and then ends the call at once.
fn check_duration(
    before: &CheckLedger,
    step: &LedgerStep<'_>,
    call: &LedgerCall,
    terms: &RunSettings,
) -> Option<String> {
    let (most_ms, waited_ms) = (terms.outage_ms?, waited_ms(step, call)?);
    let tag = step.core_named("attempt").filter(|tag| tag.find_attribute("outage").is_some())?;
    tag.find_attribute("over").or(tag.find_attribute("code"))?;
    LedgerOutage::from_tag(tag).filter(|wait| !wait.is_in_queue())?;
    let end_ms = call.away_since_ms?.saturating_add(most_ms);
    let is_late = waited_ms > most_ms && before.starts.boot_ms.is_none_or(|boot| boot < end_ms);
    is_late.then(|| format!("an attempt waits after {waited_ms} ms, and {most_ms} are the most"))
}
