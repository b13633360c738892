//! A tree as lines for a terminal, and as JSON for programs.
//!
//! It adds nothing to the tree and the reasons. No line is wider than the layout.

use serde_json::{Value, json};

use super::{CallEnd, CallEndKind, CallNode, ItemOutcome, ThreadTree};
use crate::limits;
use crate::thread_end::ThreadStatus;
use crate::why::{WaitReason, brief, draw_reason};
use systole_core::pump::primitives::{self, FieldValue, ShownPiece};
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::time::{Millis, spell_duration};
use systole_show::columns::{self, cut, cut_counted, plain};
use systole_show::layout::{self, TextTone, moment, paint};

/// Returns the reason of an open call; `None` if unknown.
pub type ReasonLookup<'a> = &'a dyn Fn(&ThreadId, &CallPath) -> Option<&'a WaitReason>;

/// An entry of a drawn tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeEntry {
    /// How far below the first thread it is, from 0.
    pub depth: usize,
    /// The lines of the tree before its text.
    pub fork: String,
    /// Its text, whole.
    pub text: String,
    /// The thread that it leads to, and the number of its record there, if it leads to one record.
    pub leads_to: Option<(ThreadId, Option<u64>)>,
}

/// Draws a tree. `life` is the state of its first thread.
pub fn draw(tree: &ThreadTree, life: ThreadStatus, reasons: ReasonLookup<'_>, now: Millis) -> Vec<String> {
    let entries = entries(tree, life, reasons, now);
    entries.iter().map(|one| cut_counted(&format!("{}{}", one.fork, one.text), layout::columns())).collect()
}

/// The entries of a drawn tree, in the order of its lines. The first is the thread itself.
pub fn entries(
    tree: &ThreadTree,
    life: ThreadStatus,
    reasons: ReasonLookup<'_>,
    now: Millis,
) -> Vec<TreeEntry> {
    let opened = moment(tree.opened, now);
    let state = life.tone().map_or_else(|| life.as_str().to_owned(), |tone| paint(tone, life.as_str()));
    let title = format!("{}  {state}  opened {opened}", tree.thread);
    let mut drawing = Drawing { entries: Vec::new(), depth: 0, reasons, now };
    drawing.line("", &title, Some((tree.thread.clone(), None)));
    drawing.thread(tree, "");
    if tree.cut {
        drawing.depth = 0;
        drawing.line("", "… more records are left out; systole log has them", None);
    }
    drawing.entries
}

struct Drawing<'a> {
    entries: Vec<TreeEntry>,
    depth: usize,
    reasons: ReasonLookup<'a>,
    now: Millis,
}

/// What an entry leads to.
type Place = Option<(ThreadId, Option<u64>)>;

/// An entry below a call: its items, or the calls of a thread.
enum Twig<'t> {
    Call(&'t ThreadTree, &'t CallPath, &'t CallNode),
    Item(&'t ThreadTree, CallPath, &'t ItemOutcome),
    /// An item for several receivers, with its calls below it.
    Takers(&'t ThreadTree, CallPath, &'t ItemOutcome, &'t [CallPath]),
    Child(CallPath, &'t ThreadTree),
    /// A cancelled thread, with the name of who cancelled it.
    End(&'t ThreadTree),
}

impl Drawing<'_> {
    fn thread(&mut self, tree: &ThreadTree, margin: &str) {
        let mut twigs: Vec<Twig<'_>> =
            tree.tops().into_iter().map(|(path, branch)| Twig::Call(tree, path, branch)).collect();
        if tree.ended_by.is_some() {
            twigs.push(Twig::End(tree));
        }
        self.twigs(&twigs, margin);
    }

    fn twigs(&mut self, twigs: &[Twig<'_>], margin: &str) {
        self.depth += 1;
        for (index, twig) in twigs.iter().enumerate() {
            let last = index + 1 == twigs.len();
            let fork = format!("{margin}{}", if last { "└─ " } else { "├─ " });
            let mut below = margin.to_owned();
            if columns::width(margin) < limits::TREE_COLUMNS {
                below.push_str(if last { "   " } else { "│  " });
            }
            match twig {
                Twig::Call(tree, path, branch) => {
                    self.call(tree, path, branch, (&fork, &below));
                    self.below(tree, path, branch, &below);
                }
                Twig::Child(item, tree) => {
                    let room = layout::columns()
                        .saturating_sub(columns::width(&fork) + columns::width(item.as_str()) + 9);
                    let id = columns::thread(&tree.thread, room);
                    let place = Some((tree.thread.clone(), None));
                    self.line(&fork, &format!("{}  thread {id}", item.as_str()), place);
                    self.thread(tree, &below);
                }
                Twig::Item(tree, item, leaf) => {
                    // An item that waits for a person shows what for.
                    let reason = (self.reasons)(&tree.thread, item).filter(|_| waits_for_person(leaf));
                    let words = reason.map_or_else(
                        || describe_outcome(leaf, self.now),
                        |reason| draw_reason(reason, self.now),
                    );
                    self.line(&fork, &format!("{item}  {words}"), None);
                }
                Twig::Takers(tree, item, leaf, calls) => {
                    self.line(
                        &fork,
                        &format!("{}  {}", item.as_str(), describe_outcome(leaf, self.now)),
                        None,
                    );
                    let calls = calls.iter().filter_map(|path| tree.calls.get_key_value(path));
                    let calls: Vec<Twig<'_>> =
                        calls.map(|(path, branch)| Twig::Call(tree, path, branch)).collect();
                    self.twigs(&calls, &below);
                }
                Twig::End(tree) => {
                    if let Some((at, by)) = &tree.ended_by {
                        let at = moment(*at, self.now);
                        let how = if tree.rested { "ended by " } else { "cancelled by " };
                        let place = Some((tree.thread.clone(), Some(tree.seq)));
                        self.line(&fork, &format!("{how}{} at {at}", by.as_str()), place);
                    }
                }
            }
        }
        self.depth -= 1;
    }

    /// A call. The fields of its request follow its element if they fit on the line, otherwise they go below
    /// it.
    fn call(&mut self, tree: &ThreadTree, path: &CallPath, branch: &CallNode, (fork, below): (&str, &str)) {
        let fields = branch.request.line(usize::MAX);
        let fields = if fields.is_empty() { fields } else { format!("  {fields}") };
        let text = self.state(tree, path, branch, &fields);
        let place = Some((tree.thread.clone(), Some(branch.seq)));
        if columns::width(fork) + columns::width(&text) <= layout::columns() || fields.is_empty() {
            return self.line(fork, &text, place);
        }
        let text = self.state(tree, path, branch, "");
        self.line(fork, &text, place);
        let bar = if branch.items.is_empty() { "   " } else { "│  " };
        let lead = format!("{below}{bar}");
        let room = layout::columns().saturating_sub(columns::width(&lead));
        self.line(&lead, &branch.request.line(room), None);
    }

    fn below(&mut self, tree: &ThreadTree, path: &CallPath, branch: &CallNode, margin: &str) {
        let twigs: Vec<Twig<'_>> = branch
            .items
            .iter()
            .map(|((turn, ordinal), leaf)| {
                let item = path.append_item(*turn, *ordinal);
                let call = tree.calls.get_key_value(&item);
                match (leaf, call) {
                    (ItemOutcome::Call, Some((nested, branch))) => Twig::Call(tree, nested, branch),
                    (ItemOutcome::Takers { calls, .. }, _) => Twig::Takers(tree, item, leaf, calls),
                    _ => match child_of(tree, leaf) {
                        Some(child) => Twig::Child(item, child),
                        None => Twig::Item(tree, item, leaf),
                    },
                }
            })
            .collect();
        self.twigs(&twigs, margin);
    }

    fn line(&mut self, fork: &str, text: &str, leads_to: Place) {
        let (fork, text) = (fork.to_owned(), text.to_owned());
        self.entries.push(TreeEntry { depth: self.depth, fork, text, leads_to });
    }

    fn state(&self, tree: &ThreadTree, path: &CallPath, branch: &CallNode, fields: &str) -> String {
        let name = paint(TextTone::Name, &cut(branch.listener.as_str(), limits::NAME_COLUMNS));
        let mut text = format!("{path}  {name}  <{}>{fields}  ", branch.request.element);
        let mut words = String::new();
        match &branch.ended {
            Some(ended) => {
                let (how, why) = how(ended, branch.opened);
                text.push_str(&how);
                words = why;
            }
            None => match (self.reasons)(&tree.thread, path) {
                Some(reason) => text.push_str(&draw_reason(reason, self.now)),
                None if tree.ended_by.is_some() => text.push_str("cancelled"),
                None => text.push_str("open"),
            },
        }
        if branch.turn > 1 {
            text.extend([", ", &branch.turn.to_string(), " turns"]);
        }
        if branch.retries > 0 && branch.ended.is_some() {
            let again = if branch.retries == 1 { " retry" } else { " retries" };
            text.extend([", ", &branch.retries.to_string(), again]);
        }
        if let Some(code) = branch.wrapped_up {
            text.extend([", wrapping up for ", code.as_str()]);
        }
        if let Some(approval) = &branch.approval {
            text.extend([", ", approval]);
        }
        text.push_str(&words);
        text
    }
}

/// How a call ended and after how long; and the words if it failed.
fn how(ended: &CallEnd, opened: Millis) -> (String, String) {
    let after = spell_duration(ended.at.count_since(opened));
    match &ended.way {
        CallEndKind::Answered { element, .. } => {
            (format!("{} <{element}> after {after}", paint(TextTone::Good, "answered")), String::new())
        }
        CallEndKind::Reported { element, words } => {
            (format!("{} <{element}> after {after}", paint(TextTone::Bad, "failed")), format!(": {words}"))
        }
        CallEndKind::Handled => (format!("handled after {after}"), String::new()),
        CallEndKind::Failed { code, words } => (
            format!("{} after {after}", paint(TextTone::Bad, "failed")),
            format!(": {}: {words}", paint(TextTone::Bad, code)),
        ),
    }
}

fn describe_outcome(leaf: &ItemOutcome, now: Millis) -> String {
    match leaf {
        ItemOutcome::Note { element } => format!("note <{element}>"),
        ItemOutcome::Refused { code, words } if words.is_empty() => format!("answered: {code}"),
        ItemOutcome::Refused { code, words } => {
            format!("{}: {words}", paint(TextTone::Bad, &format!("refused: {code}")))
        }
        ItemOutcome::Call => "call".to_owned(),
        ItemOutcome::Takers { first, calls } => {
            let until = if *first { "until the first answers" } else { "until all have answered" };
            format!("to {} takers, {until}", calls.len())
        }
        ItemOutcome::Steers => "steered a thread".to_owned(),
        ItemOutcome::Primitive { told, .. } => {
            told.words.iter().map(|piece| write_piece(piece, now)).collect()
        }
    }
}

fn write_piece(piece: &ShownPiece, now: Millis) -> String {
    match piece {
        ShownPiece::Words(words) => words.clone(),
        ShownPiece::Quoted(words) => plain(words),
        ShownPiece::At(at) => moment(*at, now),
    }
}

/// Whether an item still waits for a person.
fn waits_for_person(leaf: &ItemOutcome) -> bool {
    match leaf {
        ItemOutcome::Primitive { element, is_answered: false, .. } => {
            primitives::find_named(element).is_some_and(|one| one.is_for_person)
        }
        _ => false,
    }
}

/// The thread that an item opened, if it was read.
fn child_of<'t>(tree: &'t ThreadTree, leaf: &ItemOutcome) -> Option<&'t ThreadTree> {
    match leaf {
        ItemOutcome::Primitive { told, .. } => tree.children.get(told.child.as_ref()?),
        _ => None,
    }
}

/// The tree for programs: the same shape, with moments instead of durations.
pub fn to_json(tree: &ThreadTree, reasons: ReasonLookup<'_>, now: Millis) -> Value {
    let calls: Vec<Value> =
        tree.tops().into_iter().map(|(path, branch)| call_json(tree, path, branch, reasons, now)).collect();
    let ended = tree.ended_by.as_ref().map(|(at, by)| json!({"at": at.to_string(), "by": by.as_str()}));
    json!({
        "thread": tree.thread.as_str(),
        "opened": tree.opened.to_string(),
        "records": tree.seq,
        "calls": calls,
        "cancelled": ended.clone().filter(|_| !tree.rested),
        "ended": ended.filter(|_| tree.rested),
        "cut": tree.cut,
    })
}

fn object<'f>(fields: impl Iterator<Item = &'f (&'static str, FieldValue)>) -> Value {
    Value::Object(fields.map(|(name, field)| ((*name).to_owned(), value(field))).collect())
}

fn value(field: &FieldValue) -> Value {
    match field {
        FieldValue::Null => Value::Null,
        FieldValue::True => Value::Bool(true),
        FieldValue::Text(text) => text.as_str().into(),
        FieldValue::Range(from, to) => json!([from, to]),
        FieldValue::Fields(fields) => object(fields.iter()),
    }
}

fn call_json(
    tree: &ThreadTree,
    path: &CallPath,
    branch: &CallNode,
    reasons: ReasonLookup<'_>,
    now: Millis,
) -> Value {
    let (state, detail) = match &branch.ended {
        Some(CallEnd { way: CallEndKind::Answered { element, .. }, .. }) => {
            ("answered", Some(element.clone()))
        }
        Some(CallEnd { way: CallEndKind::Reported { element, .. }, .. }) => ("failed", Some(element.clone())),
        Some(CallEnd { way: CallEndKind::Handled, .. }) => ("handled", None),
        Some(CallEnd { way: CallEndKind::Failed { code, .. }, .. }) => ("failed", Some((*code).to_owned())),
        None if tree.ended_by.is_some() => ("cancelled", None),
        None => ("open", reasons(&tree.thread, path).map(|reason| brief(reason, now))),
    };
    let items = branch.items.iter().map(|((turn, ordinal), leaf)| {
        let item = path.append_item(*turn, *ordinal);
        match (leaf, tree.calls.get(&item)) {
            (ItemOutcome::Call, Some(nested)) => call_json(tree, &item, nested, reasons, now),
            (ItemOutcome::Primitive { told, .. }, _) => match child_of(tree, leaf) {
                Some(child) => to_json(child, reasons, now),
                None => {
                    let place = ("item", FieldValue::Text(item.as_str().to_owned()));
                    object([&place].into_iter().chain(&told.fields))
                }
            },
            (ItemOutcome::Note { element }, _) => json!({"item": item.as_str(), "note": element}),
            (ItemOutcome::Refused { code, words }, _) => {
                json!({"item": item.as_str(), "refused": code, "message": words})
            }
            (ItemOutcome::Steers, _) => json!({"item": item.as_str(), "steered": true}),
            (ItemOutcome::Takers { first, calls }, _) => {
                let calls = calls.iter().filter_map(|path| tree.calls.get_key_value(path));
                let calls = calls.map(|(path, branch)| call_json(tree, path, branch, reasons, now));
                let gather = if *first { "first" } else { "all" };
                json!({"item": item.as_str(), "gather": gather, "calls": calls.collect::<Vec<_>>()})
            }
            (ItemOutcome::Call, _) => json!({"item": item.as_str()}),
        }
    });
    json!({
        "call": path.as_str(),
        "listener": branch.listener.as_str(),
        "caller": branch.caller.as_str(),
        "element": branch.request.element,
        "fields": branch.request.words,
        "seq": branch.seq,
        "opened": branch.opened.to_string(),
        "state": state,
        "detail": detail,
        "ended": branch.ended.as_ref().map(|ended| ended.at.to_string()),
        "turns": branch.turn,
        "retries": branch.retries,
        "wrap_up": branch.wrapped_up.map(Code::as_str),
        "approval": branch.approval,
        "items": items.collect::<Vec<_>>(),
    })
}
