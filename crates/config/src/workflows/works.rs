//! Reads the kinds of work of a step: a goal, a call, a question to a person, repeated steps.
//!
//! Input: the keys of one step. Output: its declared work. No names are looked up here.

use super::super::diagnostics::Diagnostics;
use super::super::tree::{Node, Value};
use super::super::value::{self, At, Fields, fields, wrong_kind};
use super::conditions;
use super::declaration::{Goal, Question, Step, Tasks, Until, With, Work};
use systole_core::types::codes::Code;

/// The keys of the kinds of work. A step has exactly one.
pub(super) const WORKS: [&str; 6] = ["do", "call", "ask", "goals", "parallel", "wait"];
const EXPIRES_MS: u64 = 86_400_000;
/// Default and greatest number of a goal's tasks. One answer of a model may contain all of them.
const TASKS: u32 = 8;

/// The work of a step that is only text.
pub(super) fn words_alone(words: String) -> Work {
    Work::Do(Goal { words, by: Vec::new(), gives: None, sees: None, tasks: None })
}

/// One text, or a list of texts.
fn one_or_more(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<At<String>> {
    match &node.value {
        Value::Text { .. } => value::text(diagnostics, node, path).into_iter().collect(),
        Value::List(items) if items.is_empty() => {
            let message = format!("{path}: the list is empty");
            diagnostics.report(Code::ConfigValue, node.span, &message, Some("a name, or leave the key out"));
            Vec::new()
        }
        Value::List(_) => super::super::names::names(diagnostics, node, path),
        _ => value::text(diagnostics, node, path).into_iter().collect(),
    }
}

pub(super) fn goal(diagnostics: &mut Diagnostics, own: &Fields<'_>, node: &Node, key: &str) -> Work {
    let words = value::text(diagnostics, node, key);
    let by = own.get("by").map(|(node, path)| one_or_more(diagnostics, node, &path)).unwrap_or_default();
    let gives = own.get("gives").and_then(|(node, path)| value::text(diagnostics, node, &path));
    let sees = own.get("sees").map(|(node, path)| super::super::names::names(diagnostics, node, &path));
    let tasks = own
        .get("tasks")
        .and_then(|(node, path)| tasks(diagnostics, node, "workflows.NAME.goals.NAME.tasks", &path));
    let Some(words) = words else { return Work::Unread };
    Work::Do(Goal { words: words.value, by, gives, sees, tasks })
}

/// Who takes tasks, and how many tasks each agent of a goal may give.
pub(super) fn tasks(diagnostics: &mut Diagnostics, node: &Node, table: &str, path: &str) -> Option<Tasks> {
    let own = fields(diagnostics, node, node.span, table, path)?;
    let by = own.need(diagnostics, "by", "by: AGENT, which takes the tasks");
    let by = by.and_then(|(node, path)| value::text(diagnostics, node, &path));
    let at_most = own.count(diagnostics, "at_most");
    Some(Tasks { by: by?, at_most: at_most.unwrap_or(TASKS) })
}

pub(super) fn call(diagnostics: &mut Diagnostics, own: &Fields<'_>, node: &Node, key: &str) -> Work {
    let element = value::text(diagnostics, node, key);
    let to = own.need(diagnostics, "to", "to: LISTENER, which takes the payload");
    let to = to.and_then(|(node, path)| value::text(diagnostics, node, &path));
    let with_at = own.place_of("with").unwrap_or(node.span);
    let with = own.get("with").map(|(node, path)| with(diagnostics, node, &path)).unwrap_or_default();
    element.map_or(Work::Unread, |element| Work::Call { element, to, with, with_at })
}

/// The sources of the fields: a goal, or a map of fields.
fn with(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<With> {
    let entries = match &node.value {
        Value::Text { .. } => {
            return value::text(diagnostics, node, path).map(With::Goal).into_iter().collect();
        }
        Value::Map(entries) => entries,
        Value::Reported => return Vec::new(),
        Value::Nothing | Value::List(_) => {
            wrong_kind(
                diagnostics,
                node,
                path,
                "the id of a goal or a map",
                "with: ID, or with: {field: PATH}",
            );
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = value::joined(path, &entry.key);
        let field = At { at: entry.at, value: entry.key.clone() };
        if let Value::Map(_) = &entry.value.value {
            let table = "workflows.NAME.goals.NAME.with.NAME";
            let text = fields(diagnostics, &entry.value, entry.at, table, &path).and_then(|own| {
                let (node, path) = own.need(diagnostics, "text", "{text: WORDS}, which is sent as it is")?;
                text_or_empty(diagnostics, node, &path)
            });
            found.push(text.map_or(With::Unread, |text| With::Text { field, text }));
        } else {
            let path = value::text(diagnostics, &entry.value, &path);
            found.push(path.map_or(With::Unread, |path| With::Path { field, path }));
        }
    }
    found
}

/// A text, which may be empty.
fn text_or_empty(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<At<String>> {
    match &node.value {
        Value::Text { text, .. } if text.is_empty() => Some(At { at: node.span, value: String::new() }),
        _ => value::text(diagnostics, node, path),
    }
}

pub(super) fn question(diagnostics: &mut Diagnostics, own: &Fields<'_>, node: &Node, key: &str) -> Work {
    let words = value::text(diagnostics, node, key);
    let mut list = |key: &str| {
        let (node, path) = own.get(key)?;
        Some(super::super::names::names(diagnostics, node, &path))
    };
    let choices = list("choices").unwrap_or_default();
    let shows = list("shows").unwrap_or_default();
    let expires_ms = own.measure(diagnostics, "expires").map(|expires| expires.value);
    let otherwise = own.get("otherwise").and_then(|(node, path)| value::text(diagnostics, node, &path));
    if let Some(named) = &otherwise
        && !choices.iter().any(|choice| choice.value == named.value)
    {
        let known = || choices.iter().map(|choice| choice.value.as_str());
        let message = format!("{}.otherwise: `{}` is not one of the choices", own.path, named.value);
        let fix = systole_kit::schema::find_nearest(&named.value, known()).map(str::to_owned);
        let fix = fix.unwrap_or_else(|| match choices.is_empty() {
            true => format!("choices: [{}, …] beside it, or leave it out", named.value),
            false => super::super::names::one_of(known()),
        });
        diagnostics.report(Code::ConfigUnknownName, named.at, &message, Some(&fix));
    }
    let Some(words) = words else { return Work::Unread };
    let expires_ms = expires_ms.unwrap_or(EXPIRES_MS);
    Work::Ask(Question { words: words.value, choices, shows, expires_ms, otherwise })
}

pub(super) fn repeat(diagnostics: &mut Diagnostics, node: &Node, path: &str, steps: Vec<Step>) -> Work {
    let Some(own) = fields(diagnostics, node, node.span, "workflows.NAME.goals.NAME.repeat", path) else {
        return Work::Repeat { steps, until: None, at_most: 1 };
    };
    let until = own.need(diagnostics, "until", "until: converged, or until: {PATH: VALUE}");
    let until = until.and_then(|(node, path)| until_of(diagnostics, node, &path));
    own.need(diagnostics, "at_most", "at_most: 5, the most passes");
    let at_most = own.count(diagnostics, "at_most");
    Work::Repeat { steps, until, at_most: at_most.unwrap_or(1) }
}

fn until_of(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Until> {
    match &node.value {
        Value::Text { text, .. } if text == "converged" => Some(Until::Converged(node.span)),
        Value::Text { text, .. } if !text.is_empty() && !conditions::is_comparison(text) => {
            let message = format!("{path}: `{text}` is neither `converged` nor a condition");
            let near = systole_kit::schema::find_nearest(text, ["converged"].into_iter());
            let fix = near.unwrap_or("converged, or {PATH: VALUE}, as {judge/score: 9..}");
            diagnostics.report(Code::ConfigValue, node.span, &message, Some(fix));
            None
        }
        _ => {
            let conditions = conditions::read(diagnostics, node, path);
            (!conditions.is_empty()).then_some(Until::Holds(conditions))
        }
    }
}
