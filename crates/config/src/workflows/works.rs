//! Reads the kinds of work of a step: a goal, a call, a question to a person, repeated steps.
//!
//! Input: the keys of one step. Output: its declared work. No names are looked up here.

use systole_kit::schema::find_nearest;

use super::super::diagnostics::Diagnostics;
use super::super::forms::read_late;
use super::super::names::one_of;
use super::super::value::At;
use super::declaration::{Goal, Question, Step, Work};
use super::step_keys::StepKeys;
use crate::limits::DAY;
use systole_core::types::codes::Code;

/// The keys of the kinds of work. A step has exactly one.
pub(super) const WORKS: [&str; 6] = ["do", "call", "ask", "goals", "parallel", "wait"];

/// The work of a step that is only text.
pub(super) fn words_alone(words: At<String>) -> Work {
    Work::Do(Goal { words, by: Vec::new(), gives: None, sees: None, hides_request: None, tasks: None })
}

pub(super) fn goal(diagnostics: &mut Diagnostics, keys: &StepKeys) -> Work {
    let words = read_late(diagnostics, &keys.r#do);
    let by = read_late(diagnostics, &keys.by).map(|by| by.value).unwrap_or_default();
    let gives = read_late(diagnostics, &keys.gives);
    let sees = read_late(diagnostics, &keys.sees).map(|sees| sees.value);
    let sees = sees.or_else(|| keys.own.has("sees").then(Vec::new));
    let tasks = read_late(diagnostics, &keys.tasks).and_then(|tasks| tasks.value.declare());
    let hides_request = read_late(diagnostics, &keys.request);
    let Some(words) = words else { return Work::Unread };
    Work::Do(Goal { words, by, gives, sees, hides_request, tasks })
}

pub(super) fn call(diagnostics: &mut Diagnostics, keys: &StepKeys) -> Work {
    let element = read_late(diagnostics, &keys.call);
    keys.own.report_missing(diagnostics, "to", "to: LISTENER, which takes the payload");
    let to = read_late(diagnostics, &keys.to);
    let with_at = keys.own.place_of("with").or(keys.own.value_place("call")).unwrap_or_default();
    let with = read_late(diagnostics, &keys.with).map(|with| with.value).unwrap_or_default();
    element.map_or(Work::Unread, |element| Work::Call { element, to, with, with_at })
}

pub(super) fn question(diagnostics: &mut Diagnostics, keys: &StepKeys) -> Work {
    let words = read_late(diagnostics, &keys.ask);
    let choices = read_late(diagnostics, &keys.choices).map(|choices| choices.value).unwrap_or_default();
    let shows = read_late(diagnostics, &keys.shows).map(|shows| shows.value).unwrap_or_default();
    let expires_ms = read_late(diagnostics, &keys.expires).map_or(DAY, |expires| expires.value);
    let otherwise = read_late(diagnostics, &keys.otherwise);
    if let Some(named) = &otherwise
        && !choices.iter().any(|choice| choice.value == named.value)
    {
        let known = || choices.iter().map(|choice| choice.value.as_str());
        let message = format!("{}.otherwise: `{}` is not one of the choices", keys.own.path, named.value);
        let fix = find_nearest(&named.value, known()).map(str::to_owned);
        let fix = fix.unwrap_or_else(|| match choices.is_empty() {
            true => format!("choices: [{}, …] beside it, or leave it out", named.value),
            false => one_of(known()),
        });
        diagnostics.report(Code::ConfigUnknownName, named.at, &message, &fix);
    }
    let Some(words) = words else { return Work::Unread };
    Work::Ask(Question { words: words.value, choices, shows, expires_ms, otherwise })
}

pub(super) fn repeat(diagnostics: &mut Diagnostics, keys: &StepKeys, steps: Vec<Step>) -> Work {
    let repeat = read_late(diagnostics, &keys.repeat).map(|repeat| repeat.value).unwrap_or_default();
    let at_most = repeat.at_most.map_or(1, |most| most.value);
    Work::Repeat { steps, until: repeat.until.map(|until| until.value), at_most }
}
