//! Reads the steps of a workflow: their ids, the keys that all steps share, and typical mistakes in their form.
//!
//! Input: a list of the file. Output: declared steps. `works` reads the work of a step. No names are looked up
//! here.

use systole_workflow::spec::Budget;

use super::super::diagnostics::Diagnostics;
use super::super::forms::read_late;
use super::super::section::SectionKeys;
use super::super::traps;
use super::super::tree::{Entry, Node, Span, Value};
use super::super::value::{self, At, SetKeys, join_path, wrong_kind};
use super::declaration::{Step, Work};
use super::step_keys::{StepKeys, step_keys};
use super::works::{self, WORKS};
use crate::limits;
use systole_core::types::codes::Code;

/// The goal at the start of every context.
pub(super) const REQUEST: &str = "request";

/// Reads a list of steps. `key` is its name for people.
pub(super) fn list(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
    key: &str,
    budget: Option<&Budget>,
) -> Vec<Step> {
    let items = match &node.value {
        Value::List(items) => items,
        Value::Reported => return Vec::new(),
        _ => {
            wrong_kind(diagnostics, node, key, "a list", "one step in each line: `- ID: what is to be done`");
            return Vec::new();
        }
    };
    if items.is_empty() {
        let message = format!("{key}: the list has no step");
        diagnostics.report(Code::ConfigMissing, node.span, &message, "[{answer: What is to be done.}]");
    }
    items.iter().filter_map(|item| step(diagnostics, item, path, key, budget)).collect()
}

/// Reports ids that occur twice in a workflow.
pub(super) fn no_id_twice(diagnostics: &mut Diagnostics, steps: &[Step], path: &str) {
    let mut all = Vec::new();
    super::declaration::collect(steps, &mut all);
    for (at, step) in all.iter().enumerate() {
        let id = &step.id;
        if let Some(first) = all.iter().take(at).find(|other| other.id.value == id.value) {
            let message = format!("{path}: two steps have the id `{}`", id.value);
            let fix = "another id: paths name steps by it, in the whole workflow";
            diagnostics.report_beside(
                Code::ConfigDuplicate,
                id.at,
                &message,
                fix,
                (first.id.at, "the first one"),
            );
        }
    }
}

/// Words that cannot be the id of a step. `request` is one of them for two reasons.
pub(crate) fn taken_ids() -> impl Iterator<Item = &'static str> {
    step_keys()
}

fn is_keyword(word: &str) -> bool {
    step_keys().any(|name| name == word)
}

fn step(
    diagnostics: &mut Diagnostics,
    item: &Node,
    path: &str,
    key: &str,
    budget: Option<&Budget>,
) -> Option<Step> {
    let entries = match &item.value {
        Value::Map(entries) => entries,
        Value::Reported => return None,
        Value::Text { text, .. } => {
            let message = format!("{key}: this step has no id");
            let fix = if text.contains(char::is_whitespace) {
                "- ID: the words"
            } else {
                "- ID: words, with a blank behind the colon"
            };
            diagnostics.report(Code::ConfigKind, item.span, &message, fix);
            return None;
        }
        Value::Nothing | Value::List(_) => {
            wrong_kind(diagnostics, item, key, "a step", "- ID: what is to be done");
            return None;
        }
    };
    let entry = the_one(diagnostics, item, entries, key)?;
    let id = At { at: entry.at, value: entry.key.clone() };
    let is_good = check_id(diagnostics, &id, path, &entry.value);
    let own_path = join_path(path, &entry.key);
    let step = body(diagnostics, id, &entry.value, path, &own_path, budget);
    step.filter(|_| is_good)
}

/// The only entry of a step's map: the id with the step's content.
fn the_one<'n>(
    diagnostics: &mut Diagnostics,
    item: &Node,
    entries: &'n [Entry],
    key: &str,
) -> Option<&'n Entry> {
    let (first, others) = entries.split_first()?;
    let mut is_told = false;
    for (nth, other) in others.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|before| others.get(before)).unwrap_or(first);
        if traps::cut_step(diagnostics, item, before, other, key) {
            continue;
        }
        if is_told {
            continue;
        }
        is_told = true;
        let (message, fix) = if is_keyword(&other.key) && !is_keyword(&first.key) {
            (
                format!("{key}: `{}` is beside the id `{}`, not below it", other.key, first.key),
                format!("two more blanks before `{}`, or {}: {{{}: …}}", other.key, first.key, other.key),
            )
        } else if is_keyword(&first.key) {
            break;
        } else {
            (
                format!("{key}: `{}` is a second step in one entry of the list", other.key),
                format!("- {}: …, an entry for each step", other.key),
            )
        };
        diagnostics.report_beside(Code::ConfigKind, other.at, &message, &fix, (first.at, "the id"));
    }
    Some(first)
}

fn check_id(diagnostics: &mut Diagnostics, id: &At<String>, path: &str, value: &Node) -> bool {
    let text = id.value.as_str();
    let is_name = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= limits::STEP_ID_BYTES
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let (message, fix) = if is_keyword(text) && text != REQUEST {
        let what = match &value.value {
            Value::Text { text, .. } if text.len() <= 20 => text.as_str(),
            _ => "…",
        };
        (
            format!("{path}: `{text}` is a keyword, but an id of a step belongs here"),
            format!("- ID: {{{text}: {what}}}, with a name of its own for ID"),
        )
    } else if text == REQUEST {
        let message = format!("{path}: `{REQUEST}` is the request of the workflow, not an id of a step");
        (message, "another id".to_owned())
    } else if !is_name {
        let message = format!("{path}: `{text}` is not an id of a step");
        let nearest = nearest_id(text);
        (
            message,
            nearest.unwrap_or_else(|| "small letters, digits and -, a letter first, 32 at most".to_owned()),
        )
    } else {
        return true;
    };
    diagnostics.report_value(id.at, &message, &fix);
    false
}

/// The text with everything changed that an id cannot contain.
fn nearest_id(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let changed: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let id = changed.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let id: String = id.chars().take(limits::STEP_ID_BYTES).collect();
    (id.starts_with(|c: char| c.is_ascii_lowercase()) && !is_keyword(&id) && id != REQUEST).then_some(id)
}

/// The content after the id: text, or a map of keys.
fn body(
    diagnostics: &mut Diagnostics,
    id: At<String>,
    node: &Node,
    path: &str,
    own_path: &str,
    budget: Option<&Budget>,
) -> Option<Step> {
    if let Value::Text { .. } = &node.value {
        let words = value::text(diagnostics, node, own_path)?;
        return Some(Step {
            id,
            work: works::words_alone(words),
            at_once: limits::STEPS_AT_ONCE,
            budget: budget.cloned(),
            keys: Box::default(),
        });
    }
    if matches!(node.value, Value::Nothing) {
        let message = format!("{own_path}: the step does nothing");
        let fix = format!("{}: what is to be done; its keys are indented below it", id.value);
        diagnostics.report(Code::ConfigMissing, id.at, &message, &fix);
        return Some(Step {
            id,
            work: Work::Unread,
            at_once: limits::STEPS_AT_ONCE,
            budget: None,
            keys: Box::default(),
        });
    }
    let uncut = traps::uncut(diagnostics, node, own_path, is_keyword);
    let node = uncut.as_ref().unwrap_or(node);
    let keys = read_keys(diagnostics, node, id.at, own_path);
    let is_read = !keys.own.path.is_empty();
    let has_several = keys.own.has("each") || keys.own.has("parallel");
    if let Some(at) = keys.own.value_place("at_once").filter(|_| !has_several) {
        let message = format!("{own_path}.at_once: nothing here runs in parallel");
        diagnostics.report_value(at, &message, "leave it out, or each: PATH beside it");
    }
    let at_once = read_late(diagnostics, &keys.at_once).map_or(limits::STEPS_AT_ONCE, |most| most.value);
    // A step's budget also applies to the steps inside it.
    let budget = match &keys.budget {
        None if is_read && !keys.own.has("budget") => budget.cloned(),
        own => own.as_ref().map(|budget| budget.value.budget()),
    };
    let work = if is_read { work(diagnostics, &keys, path, budget.as_ref()) } else { Work::Unread };
    Some(Step { id, work, at_once, budget, keys })
}

/// Reads the keys of a step. They are large, and steps nest, so they are kept off the stack of those who read the steps
/// inside.
fn read_keys(diagnostics: &mut Diagnostics, node: &Node, at: Span, path: &str) -> Box<StepKeys> {
    Box::new(StepKeys::read_at(diagnostics, node, at, path).unwrap_or_default())
}

/// Reports a key that does not fit the step's kind of work.
pub(super) fn stray(
    diagnostics: &mut Diagnostics,
    own: &SetKeys,
    work: &str,
    work_at: Span,
    allowed: &[&str],
) {
    const ALWAYS: [&str; 3] = ["each", "at_once", "when"];
    // Nothing goes wrong while time passes, and a question has a time of its own.
    let of_work: &[&str] = match work {
        "wait" => &[],
        "ask" => &["failed"],
        _ => &["failed", "timeout", "retry"],
    };
    for name in step_keys() {
        let is_fine =
            name == work || ALWAYS.contains(&name) || of_work.contains(&name) || allowed.contains(&name);
        let Some(at) = own.place_of(name).filter(|_| !is_fine) else { continue };
        let message = format!("{}: `{name}` has no effect beside `{work}`", own.path);
        diagnostics.report_value_beside(at, &message, "leave it out", (work_at, "what the step does"));
    }
}

/// Reads the work of a step. `path` is the path of the workflow.
fn work(diagnostics: &mut Diagnostics, keys: &StepKeys, path: &str, budget: Option<&Budget>) -> Work {
    let own = &keys.own;
    let mut found: Vec<(&str, Span)> =
        WORKS.iter().filter_map(|work| Some((*work, own.place_of(work)?))).collect();
    found.sort_by_key(|(_, at)| at.start);
    let Some((work, at)) = found.first().copied() else {
        let message = format!("{}: the step does nothing", own.path);
        let fix = match own.has("repeat") {
            true => "goals: [...] beside `repeat`, the steps of each pass",
            false => "do: WORDS, or one of call, ask, goals, parallel, wait",
        };
        diagnostics.report(Code::ConfigMissing, own.at, &message, fix);
        return Work::Unread;
    };
    if let Some((second, second_at)) = found.get(1) {
        let message =
            format!("{}: a step does one thing, and this one has `{work}` and `{second}`", own.path);
        let fix = "a step of its own for each of the two";
        diagnostics.report_value_beside(*second_at, &message, fix, (at, "the first one"));
        return Work::Unread;
    }
    let allowed: &[&str] = match work {
        "do" => &["by", "gives", "sees", "request", "tasks", "budget", "supervise"],
        "call" => &["to", "with", "budget"],
        "ask" => &["choices", "shows", "expires", "otherwise"],
        "goals" => &["repeat", "budget", "supervise"],
        "parallel" => &["budget", "supervise"],
        _ => &[],
    };
    stray(diagnostics, own, work, at, allowed);
    let mut inside = |steps: &Option<At<Node>>| {
        let key = format!("{}.{work}", own.path);
        steps.as_ref().map(|steps| list(diagnostics, &steps.value, path, &key, budget)).unwrap_or_default()
    };
    match work {
        "do" => works::goal(diagnostics, keys),
        "call" => works::call(diagnostics, keys),
        "ask" => works::question(diagnostics, keys),
        "wait" => read_late(diagnostics, &keys.wait).map_or(Work::Unread, |wait| Work::Wait(wait.value)),
        "parallel" => Work::Parallel(inside(&keys.parallel)),
        _ => match (inside(&keys.goals), own.has("repeat")) {
            (steps, true) => works::repeat(diagnostics, keys, steps),
            (steps, false) => Work::Group(steps),
        },
    }
}
