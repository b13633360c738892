//! Reads the steps of a workflow: the id of each, what all steps may say, and the mistakes that its shape invites.
//!
//! In comes a list of the file, out come declared steps. What a step does is read next door, in `works`. No name is
//! looked up here.

use systole_kit::money::Money;
use systole_workflow::spec::Budget;

use super::super::budgets::TOKENS;
use super::super::desk::Desk;
use super::super::keys;
use super::super::measure::{Bounds, between_ms, durations_ms, tokens};
use super::super::traps;
use super::super::value::{self, At, Fields, fields, joined, wrong_kind};
use super::super::yaml::{Entry, Node, Span, Value};
use super::{Step, Work, conditions, works};
use systole_core::types::codes::Code;
use systole_core::types::limits;

/// The place of a step in the table of keys.
pub(in crate::config) const TABLE: &str = "workflows.NAME.goals.NAME";

/// The goal that every context begins with.
pub(super) const REQUEST: &str = "request";

const ID_BYTES: usize = 32;
const AT_ONCE: u32 = 4;
const MOST_AT_ONCE: u32 = 32;
/// Anything that a step waits for lies between these.
pub(super) const WAIT: Bounds = Bounds { least: ("1s", 1_000), most: ("365d", 31_536_000_000) };

/// Reads a list of steps; `key` is how people call it.
pub(super) fn list(
    desk: &mut Desk,
    node: &Node,
    path: &str,
    key: &str,
    budget: Option<&Budget>,
) -> Vec<Step> {
    let items = match &node.value {
        Value::List(items) => items,
        Value::Told => return Vec::new(),
        _ => {
            wrong_kind(desk, node, key, "a list", "one step in each line: `- ID: what is to be done`");
            return Vec::new();
        }
    };
    if items.is_empty() {
        let told = format!("{key}: the list has no step");
        desk.tell(Code::ConfigMissing, node.span, &told, Some("[{answer: What is to be done.}]"));
    }
    items.iter().filter_map(|item| step(desk, item, path, key, budget)).collect()
}

/// Reports ids that two steps of a workflow have.
pub(super) fn no_id_twice(desk: &mut Desk, steps: &[Step], path: &str) {
    let mut all = Vec::new();
    super::collect(steps, &mut all);
    for (at, step) in all.iter().enumerate() {
        let id = &step.id;
        if let Some(first) = all.iter().take(at).find(|other| other.id.value == id.value) {
            let told = format!("{path}: two steps have the id `{}`", id.value);
            let mend = Some("another id: paths name steps by it, in the whole workflow");
            desk.tell_seeing(Code::ConfigDuplicate, id.at, &told, mend, (first.id.at, "the first one"));
        }
    }
}

/// Words that cannot be the id of a step.
pub(crate) fn taken_ids() -> impl Iterator<Item = &'static str> {
    keys::under(TABLE).map(|(name, _)| name).chain([REQUEST])
}

/// The keys that a step can have.
fn is_keyword(word: &str) -> bool {
    keys::under(TABLE).any(|(name, _)| name == word)
}

fn step(desk: &mut Desk, item: &Node, path: &str, key: &str, budget: Option<&Budget>) -> Option<Step> {
    let entries = match &item.value {
        Value::Map(entries) => entries,
        Value::Told => return None,
        Value::Text { text, .. } => {
            let told = format!("{key}: this step has no id");
            let mend = if text.contains(char::is_whitespace) {
                "- ID: the words"
            } else {
                "- ID: words, with a blank behind the colon"
            };
            desk.tell(Code::ConfigKind, item.span, &told, Some(mend));
            return None;
        }
        Value::Nothing | Value::List(_) => {
            wrong_kind(desk, item, key, "a step", "- ID: what is to be done");
            return None;
        }
    };
    let entry = the_one(desk, item, entries, key)?;
    let id = At { at: entry.at, value: entry.key.clone() };
    let is_good = check_id(desk, &id, path, &entry.value);
    let own_path = joined(path, &entry.key);
    let step = body(desk, id, &entry.value, path, &own_path, budget);
    step.filter(|_| is_good)
}

/// The entry of a step's map, which has one: the id with what the step does.
fn the_one<'n>(desk: &mut Desk, item: &Node, entries: &'n [Entry], key: &str) -> Option<&'n Entry> {
    let (first, others) = entries.split_first()?;
    let mut is_told = false;
    for (nth, other) in others.iter().enumerate() {
        let before = nth.checked_sub(1).and_then(|before| others.get(before)).unwrap_or(first);
        if traps::cut_step(desk, item, before, other, key) {
            continue;
        }
        if is_told {
            continue;
        }
        is_told = true;
        let (told, mend) = if is_keyword(&other.key) && !is_keyword(&first.key) {
            (
                format!("{key}: `{}` stands beside the id `{}`, and not below it", other.key, first.key),
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
        desk.tell_seeing(Code::ConfigKind, other.at, &told, Some(&mend), (first.at, "the id"));
    }
    Some(first)
}

fn check_id(desk: &mut Desk, id: &At<String>, path: &str, value: &Node) -> bool {
    let text = id.value.as_str();
    let is_name = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.len() <= ID_BYTES
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    let (told, mend) = if is_keyword(text) {
        let what = match &value.value {
            Value::Text { text, .. } if text.len() <= 20 => text.as_str(),
            _ => "…",
        };
        (
            format!("{path}: `{text}` is a keyword and stands where the id of a step belongs"),
            format!("- ID: {{{text}: {what}}}, with a name of its own for ID"),
        )
    } else if text == REQUEST {
        let told = format!("{path}: `{REQUEST}` is what the workflow was asked, and no id of a step");
        (told, "another id".to_owned())
    } else if !is_name {
        let told = format!("{path}: `{text}` is no id of a step");
        let nearest = nearest_id(text);
        (
            told,
            nearest.unwrap_or_else(|| "small letters, digits and -, a letter first, 32 at most".to_owned()),
        )
    } else {
        return true;
    };
    desk.tell(Code::ConfigValue, id.at, &told, Some(&mend));
    false
}

/// The id that a text becomes once everything that an id cannot hold is changed.
fn nearest_id(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let changed: String = lower.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let id = changed.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let id: String = id.chars().take(ID_BYTES).collect();
    (id.starts_with(|c: char| c.is_ascii_lowercase()) && !is_keyword(&id) && id != REQUEST).then_some(id)
}

/// What stands behind the id: words, or a map of keys.
fn body(
    desk: &mut Desk,
    id: At<String>,
    node: &Node,
    path: &str,
    own_path: &str,
    budget: Option<&Budget>,
) -> Option<Step> {
    if let Value::Text { .. } = &node.value {
        let words = value::text(desk, node, own_path)?;
        return Some(Step { budget: budget.cloned(), ..bare(id, works::words_alone(words.value)) });
    }
    if matches!(node.value, Value::Nothing) {
        let told = format!("{own_path}: the step does nothing");
        let mend = format!("{}: what is to be done; its keys stand indented below it", id.value);
        desk.tell(Code::ConfigMissing, id.at, &told, Some(&mend));
        return Some(bare(id, Work::Unread));
    }
    let uncut = traps::uncut(desk, node, own_path);
    let node = uncut.as_ref().unwrap_or(node);
    let Some(own) = fields(desk, node, id.at, TABLE, own_path) else { return Some(bare(id, Work::Unread)) };
    let mut step = bare(id, Work::Unread);
    terms(desk, &own, &mut step);
    // What a step says of budgets holds for the steps inside it.
    step.budget = match own.get("budget") {
        Some((node, path)) => self::budget(desk, node, "workflows.NAME.goals.NAME.budget", &path),
        None => budget.cloned(),
    };
    step.work = works::read(desk, &own, path, &step);
    // Each item has a thread of its own, which is ended from outside.
    if let (Some((node, path)), None) = (own.get("timeout"), &step.each) {
        no_question(desk, &step.work, node.span, &path);
    }
    Some(step)
}

/// Reports a time around a question to a person: the workflow waits for the answer, so that nothing would end it.
fn no_question(desk: &mut Desk, work: &Work, at: Span, path: &str) {
    let (Work::Group(steps) | Work::Repeat { steps, .. }) = work else { return };
    for step in steps.iter().filter(|step| step.each.is_none()) {
        if matches!(step.work, Work::Ask(_)) {
            let told = format!("{path}: it does not end the question `{}`", step.id.value);
            let mend = format!("`expires` of `{}`, and `timeout` on other steps", step.id.value);
            desk.tell_seeing(Code::ConfigValue, at, &told, Some(&mend), (step.id.at, "the question"));
        }
        no_question(desk, &step.work, at, path);
    }
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

/// What every step may say, whatever it does.
fn terms(desk: &mut Desk, own: &Fields<'_>, step: &mut Step) {
    step.each = own.get("each").and_then(|(node, path)| value::text(desk, node, &path));
    if let Some((node, path)) = own.get("at_once") {
        if own.get("each").is_none() && own.get("parallel").is_none() {
            let told = format!("{path}: nothing here runs beside something else");
            desk.tell(Code::ConfigValue, node.span, &told, Some("leave it out, or each: PATH beside it"));
        }
        step.at_once = value::count(desk, node, &path, 1, MOST_AT_ONCE).unwrap_or(AT_ONCE);
    }
    if let Some((node, path)) = own.get("when") {
        step.when = conditions::read(desk, node, &path);
        step.when_at = node.span;
    }
    if let Some((node, path)) = own.get("failed") {
        let choices = [("stop", false), ("keep", true)];
        step.keeps_failure = value::word(desk, node, &path, &choices).unwrap_or(false);
    }
    step.supervise = own.get("supervise").and_then(|(node, path)| value::text(desk, node, &path));
    if let Some((node, path)) = own.get("timeout") {
        step.timeout_ms = between_ms(desk, node, &path, &WAIT);
    }
    if let Some((node, path)) = own.get("retry")
        && let Some(retry) = fields(desk, node, node.span, "workflows.NAME.goals.NAME.retry", &path)
    {
        if let Some((node, path)) = retry.get("attempts") {
            step.tries = value::count(desk, node, &path, 1, 100).unwrap_or(1);
        }
        if let Some((node, path)) = retry.get("backoff")
            && let Some(pauses) = durations_ms(desk, node, &path)
        {
            step.pause_ms = pauses;
        }
    }
}

/// What a child may use.
pub(super) fn budget(desk: &mut Desk, node: &Node, table: &str, path: &str) -> Option<Budget> {
    let own = fields(desk, node, node.span, table, path)?;
    let mut budget = Budget::default();
    if let Some((node, path)) = own.get("messages") {
        budget.messages = value::count(desk, node, &path, 1, limits::BUDGET_MESSAGES).map(u64::from);
    }
    if let Some((node, path)) = own.get("tokens") {
        budget.tokens = tokens(desk, node, &path, &TOKENS).map(|tokens| tokens.value);
    }
    if let Some((node, path)) = own.get("money") {
        let money: Option<Money> = super::super::budgets::money(desk, node, &path);
        budget.money = money.map(|money| money.to_string());
    }
    Some(budget)
}

/// Reports a key that does not belong to what the step does.
pub(super) fn stray(desk: &mut Desk, own: &Fields<'_>, work: &str, work_at: Span, allowed: &[&str]) {
    const ALWAYS: [&str; 3] = ["each", "at_once", "when"];
    // Nothing goes wrong while time passes, a question has a time of its own, and only one thing can be done again.
    let of_work: &[&str] = match work {
        "wait" => &[],
        "ask" => &["failed"],
        "do" | "call" => &["failed", "timeout", "retry"],
        _ => &["failed", "timeout"],
    };
    let names: Vec<&str> = keys::under(TABLE).filter(|(_, key)| key.built).map(|(name, _)| name).collect();
    for name in names {
        let is_fine =
            name == work || ALWAYS.contains(&name) || of_work.contains(&name) || allowed.contains(&name);
        let Some(at) = own.place_of(name).filter(|_| !is_fine) else { continue };
        let told = format!("{}: `{name}` means nothing beside `{work}`", own.path);
        desk.tell_seeing(Code::ConfigValue, at, &told, Some("leave it out"), (work_at, "what the step does"));
    }
}
