//! Checks journals: every model call is in one attempt under its own number, every result has its start, nothing
//! is forgotten silently, and no limit is passed by more than one answer.

use super::RunSettings;
use crate::ledger::{BoughtUse, CheckLedger, LedgerCall, LedgerStep, read_kept};
use crate::meaning::RecordAct;
use crate::tag;

/// An entry is of the listener of its call, belongs to the due attempt and has a number that no other entry of it
/// has; a result replaces one start of that attempt. An attempt that follows a start without result says
/// `model.unknown-outcome`.
pub(crate) fn check_journal(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let call = before.call_of(step)?;
    match step.act? {
        RecordAct::Writes { turn, .. } => check_entry(call, turn, step),
        RecordAct::Attempt { .. } => {
            let open = call.journal.iter().find(|entry| entry.kept.is_some())?;
            let code = step.record.code.as_deref();
            (code != Some("model.unknown-outcome")).then(|| {
                format!("entry {} has no result, and the next attempt does not tell of that", open.id)
            })
        }
        _ => None,
    }
}

fn check_entry(call: &LedgerCall, turn: u32, step: &LedgerStep<'_>) -> Option<String> {
    let Some(tag) = tag::parse_entry(&step.record.body) else {
        return Some("the record holds no journal entry".into());
    };
    if tag.find_attribute("kind") != step.record.code.as_deref() {
        return Some("the entry does not say the same as its code".into());
    }
    let Some(id) = tag.read_large("id") else { return Some("the entry has no number".into()) };
    let (due, attempt) = (call.settled.saturating_add(1), call.attempts.unwrap_or(1));
    if turn != due || call.open_items() > 0 || call.is_dead {
        return Some(format!("entry {id} stands in turn {turn}, which is not out"));
    }
    if tag.read_number("attempt") != Some(attempt) {
        return Some(format!("entry {id} is not of attempt {attempt}, which is due"));
    }
    if call.journal.iter().any(|entry| entry.id == id) {
        return Some(format!("entry {id} stands in this attempt already"));
    }
    if tag.find_attribute("kind") == Some("model-started") {
        return None;
    }
    let of = tag.read_large("of");
    let start = call.journal.iter().find(|entry| entry.is_start && Some(entry.id) == of);
    let is_none = start.is_none_or(|start| start.kept.is_none());
    is_none.then(|| format!("entry {id} is the result of no start"))
}

/// The model use in the tree of one message from outside is reserved before the calls, and the sum passes no
/// limit. A call that may only answer may pass a limit that was not passed before, but not that of requests.
pub(crate) fn check_models(
    before: &CheckLedger,
    step: &LedgerStep<'_>,
    terms: &RunSettings,
) -> Option<String> {
    let RecordAct::Writes { .. } = step.act? else { return None };
    let tag = tag::parse_entry(&step.record.body)
        .filter(|tag| tag.find_attribute("kind") == Some("model-started"))?;
    let used = before.budget_use(&step.record.thread)?.bought;
    let is_last = before.call_of(step)?.wraps_up.is_some();
    let then = used.sum_with(read_kept(&tag));
    if let Some(most) = terms.requests.filter(|most| then.requests > *most) {
        return Some(format!("its message from outside makes {} requests, of {most} allowed", then.requests));
    }
    let passes = |used: u64, then: u64, most: u64| then > most && (!is_last || used > most);
    if let Some(most) = terms.tokens.filter(|most| passes(used.tokens, then.tokens, *most)) {
        return Some(format!("its message from outside uses {} tokens, of {most} allowed", then.tokens));
    }
    let most = terms.micros.filter(|most| passes(used.micros, then.micros, *most))?;
    Some(format!("its message from outside costs {} millionths, of {most} allowed", then.micros))
}

/// The model use of a child that its parent sees is the real use. Logs from before requests were limited do not say how
/// many there were.
pub(crate) fn check_bought(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    let tag = step.core_named("thread-finished")?;
    let id = tag.find_attribute("id")?;
    let used = before.find_thread(id)?.bought;
    let told = BoughtUse {
        tokens: tag.read_large("tokens").unwrap_or(0),
        micros: tag.read_micros("money").unwrap_or(0),
        requests: tag.read_large("requests").unwrap_or(used.requests),
    };
    (told != used).then(|| format!("models of {id} used {used:?}, and {told:?} are told"))
}
