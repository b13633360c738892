//! Reads the steps of a workflow: their ids, the keys that all steps share, and typical mistakes in their form.
//!
//! Input: a list of the file. Output: declared steps. `works` reads the work of a step. No names are looked up
//! here.

use systole_workflow::spec::Budget;

use super::super::diagnostics::Diagnostics;
use super::super::keys::{self, STEP_TABLE};
use super::super::measure::durations_ms;
use super::super::traps;
use super::super::tree::{Entry, Node, Span, Value};
use super::super::value::{self, At, Fields, fields, joined, wrong_kind};
use super::declaration::{Step, Work};
use super::works::WORKS;
use super::{conditions, works};
use systole_core::types::codes::Code;

/// The goal at the start of every context.
pub(super) const REQUEST: &str = "request";

const ID_BYTES: usize = 32;
const AT_ONCE: u32 = 4;

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
        diagnostics.report(Code::ConfigMissing, node.span, &message, Some("[{answer: What is to be done.}]"));
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
            let fix = Some("another id: paths name steps by it, in the whole workflow");
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

/// Words that cannot be the id of a step.
pub(crate) fn taken_ids() -> impl Iterator<Item = &'static str> {
    keys::under(STEP_TABLE).map(|(name, _)| name).chain([REQUEST])
}

/// The keys that a step can have.
fn is_keyword(word: &str) -> bool {
    keys::under(STEP_TABLE).any(|(name, _)| name == word)
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
            diagnostics.report(Code::ConfigKind, item.span, &message, Some(fix));
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
    let own_path = joined(path, &entry.key);
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
        diagnostics.report_beside(Code::ConfigKind, other.at, &message, Some(&fix), (first.at, "the id"));
    }
    Some(first)
}

fn check_id(diagnostics: &mut Diagnostics, id: &At<String>, path: &str, value: &Node) -> bool {
    let text = id.value.as_str();
    let is_name = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= ID_BYTES
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let (message, fix) = if is_keyword(text) {
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
    diagnostics.report(Code::ConfigValue, id.at, &message, Some(&fix));
    false
}

/// The text with everything changed that an id cannot contain.
fn nearest_id(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let changed: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let id = changed.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let id: String = id.chars().take(ID_BYTES).collect();
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
        return Some(Step { budget: budget.cloned(), ..bare(id, works::words_alone(words.value)) });
    }
    if matches!(node.value, Value::Nothing) {
        let message = format!("{own_path}: the step does nothing");
        let fix = format!("{}: what is to be done; its keys are indented below it", id.value);
        diagnostics.report(Code::ConfigMissing, id.at, &message, Some(&fix));
        return Some(bare(id, Work::Unread));
    }
    let uncut = traps::uncut(diagnostics, node, own_path);
    let node = uncut.as_ref().unwrap_or(node);
    let Some(own) = fields(diagnostics, node, id.at, STEP_TABLE, own_path) else {
        return Some(bare(id, Work::Unread));
    };
    let mut step = bare(id, Work::Unread);
    terms(diagnostics, &own, &mut step);
    // A step's budget also applies to the steps inside it.
    step.budget = match own.get("budget") {
        Some((node, path)) => self::budget(diagnostics, node, "workflows.NAME.goals.NAME.budget", &path),
        None => budget.cloned(),
    };
    step.work = work(diagnostics, &own, path, &step);
    Some(step)
}

fn bare(id: At<String>, work: Work) -> Step {
    let when_at = id.at;
    Step {
        id,
        work,
        each: None,
        at_once: AT_ONCE,
        when: Vec::new(),
        when_at,
        keeps_failure: false,
        timeout_ms: None,
        tries: 1,
        pause_ms: (1_000, 30_000),
        budget: None,
        supervise: None,
    }
}

/// Reads the keys that every kind of step can have.
fn terms(diagnostics: &mut Diagnostics, own: &Fields<'_>, step: &mut Step) {
    step.each = own.get("each").and_then(|(node, path)| value::text(diagnostics, node, &path));
    if let Some((node, path)) = own.get("at_once") {
        if own.get("each").is_none() && own.get("parallel").is_none() {
            let message = format!("{path}: nothing here runs in parallel");
            diagnostics.report(
                Code::ConfigValue,
                node.span,
                &message,
                Some("leave it out, or each: PATH beside it"),
            );
        }
        step.at_once = own.count(diagnostics, "at_once").unwrap_or(AT_ONCE);
    }
    if let Some((node, path)) = own.get("when") {
        step.when = conditions::read(diagnostics, node, &path);
        step.when_at = node.span;
    }
    if let Some((node, path)) = own.get("failed") {
        let choices = [("stop", false), ("keep", true)];
        step.keeps_failure = value::word(diagnostics, node, &path, &choices).unwrap_or(false);
    }
    step.supervise = own.get("supervise").and_then(|(node, path)| value::text(diagnostics, node, &path));
    step.timeout_ms = own.measure(diagnostics, "timeout").map(|limit| limit.value);
    if let Some((node, path)) = own.get("retry")
        && let Some(retry) = fields(diagnostics, node, node.span, "workflows.NAME.goals.NAME.retry", &path)
    {
        step.tries = retry.count(diagnostics, "attempts").unwrap_or(step.tries);
        if let Some((node, path)) = retry.get("backoff")
            && let Some(pauses) = durations_ms(diagnostics, node, &path)
        {
            step.pause_ms = pauses;
        }
    }
}

/// The limits of a child.
pub(super) fn budget(diagnostics: &mut Diagnostics, node: &Node, table: &str, path: &str) -> Option<Budget> {
    let own = fields(diagnostics, node, node.span, table, path)?;
    let messages = own.count(diagnostics, "messages").map(u64::from);
    let tokens = own.measure(diagnostics, "tokens").map(|tokens| tokens.value);
    let money =
        own.get("money").and_then(|(node, path)| super::super::budgets::money(diagnostics, node, &path));
    Some(Budget { messages, tokens, money: money.map(|money| money.to_string()) })
}

/// Reports a key that does not fit the step's kind of work.
pub(super) fn stray(
    diagnostics: &mut Diagnostics,
    own: &Fields<'_>,
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
    let names: Vec<&str> =
        keys::under(STEP_TABLE).filter(|(_, key)| key.built).map(|(name, _)| name).collect();
    for name in names {
        let is_fine =
            name == work || ALWAYS.contains(&name) || of_work.contains(&name) || allowed.contains(&name);
        let Some(at) = own.place_of(name).filter(|_| !is_fine) else { continue };
        let message = format!("{}: `{name}` has no effect beside `{work}`", own.path);
        diagnostics.report_beside(
            Code::ConfigValue,
            at,
            &message,
            Some("leave it out"),
            (work_at, "what the step does"),
        );
    }
}

/// Reads the work of a step. `path` is the path of the workflow.
fn work(diagnostics: &mut Diagnostics, own: &Fields<'_>, path: &str, step: &Step) -> Work {
    let mut found: Vec<(&str, Span)> =
        WORKS.iter().filter_map(|work| Some((*work, own.place_of(work)?))).collect();
    found.sort_by_key(|(_, at)| at.start);
    let Some((work, at)) = found.first().copied() else {
        let message = format!("{}: the step does nothing", own.path);
        let fix = match own.get("repeat") {
            Some(_) => "goals: [...] beside `repeat`, the steps of each pass",
            None => "do: WORDS, or one of call, ask, goals, parallel, wait",
        };
        diagnostics.report(Code::ConfigMissing, own.at, &message, Some(fix));
        return Work::Unread;
    };
    if let Some((second, second_at)) = found.get(1) {
        let message =
            format!("{}: a step does one thing, and this one has `{work}` and `{second}`", own.path);
        let fix = Some("a step of its own for each of the two");
        diagnostics.report_beside(Code::ConfigValue, *second_at, &message, fix, (at, "the first one"));
        return Work::Unread;
    }
    let allowed: &[&str] = match work {
        "do" => &["by", "gives", "sees", "tasks", "budget", "supervise"],
        "call" => &["to", "with", "budget"],
        "ask" => &["choices", "shows", "expires", "otherwise"],
        "goals" => &["repeat", "budget", "supervise"],
        "parallel" => &["budget", "supervise"],
        _ => &[],
    };
    stray(diagnostics, own, work, at, allowed);
    let Some((node, key)) = own.get(work) else { return Work::Unread };
    let budget = step.budget.as_ref();
    match work {
        "do" => works::goal(diagnostics, own, node, &key),
        "call" => works::call(diagnostics, own, node, &key),
        "ask" => works::question(diagnostics, own, node, &key),
        "wait" => own.measure(diagnostics, "wait").map_or(Work::Unread, |wait| Work::Wait(wait.value)),
        "parallel" => Work::Parallel(list(diagnostics, node, path, &key, budget)),
        _ => {
            let steps = list(diagnostics, node, path, &key, budget);
            match own.get("repeat") {
                Some((node, key)) => works::repeat(diagnostics, node, &key, steps),
                None => Work::Group(steps),
            }
        }
    }
}
