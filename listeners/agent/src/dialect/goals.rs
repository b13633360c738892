//! The answer to a goal. JSON becomes the payload that the goal asks for. An answer that does not fit is refused with
//! the place and the fix, before any other listener sees it.
//!
//! The text that a dialect took for the final comes in; the output of the goal, or the fault, goes out.

use serde::de::IgnoredAny;
use systole_kit::extract::PayloadOrigin;
use systole_kit::schema::PayloadFinding;
use systole_kit::{DocumentLimits, Payload, namespaces};
use systole_workflow::CONVERGED;

use super::{AnswerRepair, ReadAnswer, TurnRules, json_schema, write_final};
use crate::contracts::{AgentContracts, ElementModel};
use crate::failures::AgentFailure;
use crate::goal::{self, AskedGoal};
use crate::model_answer::HeardAnswer;
use crate::show::describe_slip;

/// Recognises an answer that is only the word that ends its loop. It means the same in every dialect, inside or
/// outside of its tags.
pub(super) fn read_converged(contracts: &AgentContracts, heard: &HeardAnswer) -> Option<ReadAnswer> {
    let goal = contracts.goal.as_ref().filter(|goal| goal.is_ended_by(&heard.answer_text()))?;
    let ending = heard.calls().next().is_none().then(|| goal.write_output(CONVERGED, true))?;
    Some(ReadAnswer { ending, ..ReadAnswer::default() })
}

/// Takes a text as the final: as JSON if the goal asks for a payload with more than text, otherwise as words.
pub(super) fn take_final(contracts: &AgentContracts, text: &str, taken: &mut ReadAnswer) {
    let Some(known) = contracts.json_final() else {
        taken.ending = write_final(contracts, text, "success");
        return;
    };
    let (json, was_fenced) = strip_fence(text);
    match read_json(known, json) {
        Ok(payload) => {
            note_fence(was_fenced, taken);
            taken.ending = Some(payload);
        }
        Err((slug, words)) => taken.add_failure(slug, words),
    }
}

fn read_json(known: &ElementModel, json: &str) -> Result<Payload, (&'static str, String)> {
    serde_json::from_str::<IgnoredAny>(json)
        .map_err(|error| ("json-required", json_schema::describe_unread(&error)))?;
    let built = known.model.from_json_text(&known.element.local, json.as_bytes());
    let bytes = built.unwrap_or_else(|| Err(Vec::new())).map_err(|slips| {
        let words: Vec<String> = slips.iter().map(describe_slip).collect();
        ("json-schema", words.join("\n"))
    })?;
    Payload::parse(&bytes, &DocumentLimits::default()).map_err(|fault| ("json-schema", fault.to_string()))
}

/// Notes that a fence around a final in JSON was removed.
pub(super) fn note_fence(was_fenced: bool, taken: &mut ReadAnswer) {
    let repaired = AgentFailure::from_slug("fenced-action", "").filter(|_| was_fenced);
    taken.repairs.extend(repaired.map(|reason| AnswerRepair { reason, act: None }));
}

/// The content of a code fence around the whole text, and whether there was one.
pub(super) fn strip_fence(text: &str) -> (&str, bool) {
    let text = text.trim();
    let inside = || {
        let (info, rest) = text.strip_prefix("```")?.split_once('\n')?;
        let inside = rest.strip_suffix("```")?;
        let is_language = info.trim().chars().all(|c| c.is_ascii_alphanumeric());
        is_language.then(|| inside.trim())
    };
    inside().map_or((text, false), |inside| (inside, true))
}

/// Turns the final of a goal's call into the goal's output. A report stays a report: the workflow decides what it is
/// worth.
pub(super) fn settle_goal(contracts: &AgentContracts, allowed: TurnRules<'_>, taken: &mut ReadAnswer) {
    let Some(goal) = &contracts.goal else { return };
    let Some(ending) = taken.ending.take() else { return };
    if ending.name().is_named(namespaces::CORE, "final-report") {
        taken.ending = Some(ending);
        return;
    }
    let known = contracts.finals.iter().find(|known| known.element == *ending.name());
    if let Some(finding) = known.and_then(|known| known.model.explain_payload(ending.bytes())) {
        return refuse_final(
            taken,
            "goal-answer-invalid",
            &describe_finding(&finding, taken.ending_origin.as_ref()),
        );
    }
    let ending = goal.fill_goal(ending);
    if let Some(words) = goal.supervision_fault(&ending) {
        return refuse_final(taken, "goal-answer-invalid", &words);
    }
    if !goal::is_output(ending.name()) {
        taken.ending = Some(ending);
        return;
    }
    take_output(goal, &ending, allowed, taken);
}

fn take_output(goal: &AskedGoal, ending: &Payload, allowed: TurnRules<'_>, taken: &mut ReadAnswer) {
    let is_ended = goal.is_ended(ending);
    if is_ended && !goal.takes_end(allowed.told_early) {
        return refuse_final(taken, "converged-too-early", "");
    }
    let said = ending.text();
    let text = if goal.is_ended_by(&said) { CONVERGED } else { &said };
    taken.ending = goal.write_output(text, is_ended);
}

/// Refuses the final, and drops the fixes made in it.
fn refuse_final(taken: &mut ReadAnswer, slug: &str, words: &str) {
    taken.repairs.retain(|repair| repair.act.is_some());
    taken.add_failure(slug, words);
}

/// The fault of a final, the fix, and the place in the model's text.
pub(super) fn describe_finding(finding: &PayloadFinding, origin: Option<&PayloadOrigin>) -> String {
    let mut words = format!("{}: {}", finding.path, finding.message);
    if !finding.expected.is_empty() {
        words.push_str(&format!("; expected {}", finding.expected));
    }
    // The fix is markup, so it does not apply to an answer in words.
    if let Some(origin) = origin {
        if !finding.fix.is_empty() {
            words.push_str(&format!("; try {}", finding.fix));
        }
        let by_path = origin.place_of(&finding.path);
        let place = by_path.unwrap_or_else(|| origin.place_at(finding.line, finding.column));
        words.push_str(&format!("\nAt line {}, column {} of your answer.", place.line, place.column));
    }
    words
}
