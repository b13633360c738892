//! Checks that an item asks each question to a person, and that the answer is allowed.

use super::RunSettings;
use crate::ledger::{CheckLedger, LedgerCall, LedgerItem, LedgerQuestion, LedgerStep};
use crate::meaning::RecordAct;
use crate::path;
use crate::record::write_moment;

/// A question is recorded once, after its item and before its answer, under its own id. Its answer is what a person
/// said, which is one of the choices if there are any, or its expiry, not early, unless the record says that the
/// clock was set back. It is withdrawn only if its call may only answer. Nothing else is answered like this.
pub(crate) fn check_question(before: &CheckLedger, step: &LedgerStep<'_>, _: &RunSettings) -> Option<String> {
    match step.act? {
        RecordAct::Questions { caller, turn, ordinal } => {
            let item =
                before.find_call(&step.record.thread, caller).and_then(|call| call.find_item(turn, ordinal));
            check_asked(before, item, step, &path::of_item(caller, turn, ordinal))
        }
        RecordAct::Answer { caller, turn, ordinal } => {
            let call = before.find_call(&step.record.thread, caller)?;
            check_answer(call, call.find_item(turn, ordinal)?, step)
        }
        _ => None,
    }
}

fn check_asked(
    before: &CheckLedger,
    item: Option<&LedgerItem>,
    step: &LedgerStep<'_>,
    place: &str,
) -> Option<String> {
    let Some(tag) = step.core_named("person-asked") else {
        return Some("the record does not say what is asked".into());
    };
    let id = tag.find_attribute("id").unwrap_or_default();
    if let Some(first) = before.first_approval(id) {
        return Some(format!("request {id} was made before, at position {first}"));
    }
    if tag.find_attribute("call") != Some(place) || tag.find_attribute("thread") != Some(&step.record.thread)
    {
        return Some(format!("question {id} does not name the item that asks it"));
    }
    match item {
        Some(LedgerItem { is_person: true, is_answered: false, question: None, .. }) => None,
        Some(LedgerItem { is_person: true, .. }) => {
            Some(format!("question {id} is asked twice, or after its answer"))
        }
        _ => Some(format!("question {id} is asked by no item")),
    }
}

fn check_answer(call: &LedgerCall, item: &LedgerItem, step: &LedgerStep<'_>) -> Option<String> {
    let said = step.core_named("person-said");
    if !item.is_person {
        return said.map(|_| "a person answers what no person was asked".into());
    }
    let Some(question) = &item.question else {
        return Some("an item is answered before its question is asked".into());
    };
    let Some(tag) = said else {
        let withdrawn = call.wraps_up.is_some()
            && step.core_named("system-error").and_then(|tag| tag.find_attribute("code"))
                == Some("thread.cancelled");
        return (!withdrawn).then(|| format!("question {} is answered by no person", question.id));
    };
    let LedgerQuestion { id, expires, choices } = question;
    let choice = tag.find_attribute("choice");
    match tag.find_attribute("outcome") {
        Some("chosen") if tag.find_attribute("by").is_none() => {
            Some(format!("the answer to question {id} does not say who gave it"))
        }
        Some("chosen") => {
            let fits = choice.map_or(choices.is_empty(), |choice| choices.iter().any(|one| one == choice));
            (!fits).then(|| format!("the answer to question {id} is none of its choices"))
        }
        Some("expired") if choice.is_some() || tag.find_attribute("by").is_some() => {
            Some(format!("question {id} expires with an answer"))
        }
        Some("expired") => {
            let early = write_moment(step.record.time_ms) < *expires && tag.find_attribute("clock").is_none();
            early.then(|| format!("question {id} expires early"))
        }
        _ => Some(format!("question {id} has no known outcome")),
    }
}
