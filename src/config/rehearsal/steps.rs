//! The steps of a test: what is sent or decided, how much time passes, and what has to come of it. Read first as they
//! are written, then with the organism, in which names and payloads are looked up.

use std::path::Path;

use systole_kit::schema::nearest;

use super::payload::{self, Among, Expected};
use crate::edges::schemas::xpath;
use crate::config::desk::Desk;
use crate::config::diagnostic::Place;
use crate::config::measure::{Bounds, between_ms};
use crate::config::value::{self, At, Fields, fields, text, texts};
use crate::config::yaml::{Node, Span, Value};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;

/// A step: everything that is given of it happens and is looked at in the order of these fields.
#[derive(Debug)]
pub struct Step {
    /// Where it begins.
    pub place: Place,
    /// What is sent.
    pub send: Option<Sending>,
    /// How many milliseconds pass.
    pub after_ms: Option<u64>,
    /// What waits for a person.
    pub held: Option<(Place, Expected)>,
    /// What the person says about it.
    pub decision: Option<(Place, Decision)>,
    /// The question that waits for a person, with the person's answer.
    pub question: Option<Question>,
    /// The refusal of what was sent.
    pub refused: Option<Failure>,
    /// The answer to the last message. Inside none: it is handled without one.
    pub answer: Option<(Place, Option<Expected>)>,
    /// The failure of the last message.
    pub fails: Option<Failure>,
    /// What holds for the answer, or for what waits.
    pub xpath: Vec<Text>,
    /// What is in the log.
    pub log: Vec<Text>,
}

/// A text with its place.
#[derive(Clone, Debug)]
pub struct Text {
    /// Where it is written.
    pub place: Place,
    /// The text.
    pub text: String,
}

/// A message from outside.
#[derive(Debug)]
pub struct Sending {
    /// Where it is written.
    pub place: Place,
    /// The payload.
    pub document: Vec<u8>,
    /// The listener that it is for.
    pub to: Option<String>,
    /// Who sends it.
    pub from: Name,
    /// Whether it continues the thread of the message before.
    pub is_same_thread: bool,
}

/// What a person says about the waiting payload with that element.
#[derive(Debug)]
pub struct Decision {
    /// The element of the waiting payload.
    pub element: String,
    /// Which way: `approve`, `reject` or `amend`.
    pub verb: &'static str,
    /// The payload in place of it.
    pub amended: Option<Vec<u8>>,
    /// The person's note.
    pub note: Option<String>,
}

/// A question that waits for a person. Without a choice and a note it is not answered.
#[derive(Debug)]
pub struct Question {
    /// Where it is written.
    pub place: Place,
    /// A text in the question.
    pub contains: Option<String>,
    /// The choice.
    pub choice: Option<String>,
    /// The person's note.
    pub note: Option<String>,
}

/// A refusal, or the failure of a call.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Where it is written.
    pub place: Place,
    /// Its code, if that is given.
    pub code: Option<String>,
    /// A text in its words.
    pub contains: Option<String>,
}

/// A step as it is written.
pub(super) struct Written {
    at: Span,
    send: Option<At<payload::Written>>,
    to: Option<At<String>>,
    /// Whether there is a `to`, even if it cannot be read.
    has_to: bool,
    from: Option<At<String>>,
    is_same_thread: bool,
    after_ms: Option<u64>,
    held: Option<At<payload::Written>>,
    decides: Option<(&'static str, At<payload::Written>)>,
    asked: Option<At<String>>,
    choose: Option<At<String>>,
    note: Option<String>,
    refused: Option<Failure>,
    answer: Option<At<payload::Written>>,
    fails: Option<Failure>,
    xpath: Vec<Text>,
    log: Vec<Text>,
}

/// The code under which a test knows a report in place of an answer.
pub const REPORT: &str = "report";
const TABLE: &str = "#test.tests.steps";
const STRETCH: Bounds = Bounds { least: ("1ms", 1), most: ("3650d", 3_650 * 86_400_000) };

/// Reads a list of steps.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str, folder: &Path) -> Vec<Written> {
    let items = super::list(desk, node, path, "a list of steps, as - send: {ask: Hello}");
    if matches!(&node.value, Value::List(none) if none.is_empty()) {
        desk.tell(
            Code::ConfigMissing,
            node.span,
            &format!("{path} has no step"),
            Some("- send: {ask: Hello}"),
        );
    }
    let (mut steps, mut has_sent) = (Vec::new(), false);
    for (number, item) in items.iter().enumerate() {
        let path = format!("{path}[{}]", number + 1);
        let mistakes = desk.mistakes();
        let step = fields(desk, item, item.span, TABLE, &path).map(|own| step(desk, item.span, &own, folder));
        // A step with a mistake may have been meant to send something.
        has_sent |= step.as_ref().is_none_or(|step| step.send.is_some()) || desk.mistakes() > mistakes;
        let Some(step) = step else { continue };
        if (step.answer.is_some() || step.fails.is_some()) && !has_sent {
            let told = "nothing was sent yet whose answer could come";
            desk.tell(Code::ConfigMissing, step.at, told, Some("a `send` in this step or before it"));
        }
        steps.push(step);
    }
    steps
}

fn step(desk: &mut Desk, at: Span, own: &Fields<'_>, folder: &Path) -> Written {
    for (one, other) in CLASHES {
        if let (Some(_), Some((node, path))) = (own.get(one), own.get(other)) {
            let told = format!("{path} cannot be in one step with `{one}`");
            desk.tell(Code::ConfigDuplicate, node.span, &told, Some("two steps, or one of the two keys"));
        }
    }
    for (one, needed) in NEEDS {
        if let (Some((node, path)), true) = (own.get(one), needed.iter().all(|key| own.get(key).is_none())) {
            let told = format!("{path} needs `{}` in the same step", needed.join("` or `"));
            desk.tell(Code::ConfigMissing, node.span, &told, Some("it there, or leave this key out"));
        }
    }
    let mut payload = |key: &str| {
        let (node, path) = own.get(key)?;
        payload::read(desk, node, &path, folder)
    };
    let (send, held, answer, amend) = (payload("send"), payload("held"), payload("answer"), payload("amend"));
    let mut word = |key: &str| own.get(key).and_then(|(node, path)| text(desk, node, &path));
    let (to, from, note) = (word("to"), word("from"), word("note"));
    let (asked, choose) = (word("asked"), word("choose"));
    let named = |found: At<String>| At { at: found.at, value: payload::Written::Element(found.value) };
    let decides =
        [("approve", word("approve").map(named)), ("reject", word("reject").map(named)), ("amend", amend)];
    let decides = decides.into_iter().find_map(|(verb, found)| Some((verb, found?)));
    let thread = own.get("thread");
    let thread =
        thread.and_then(|(node, path)| value::word(desk, node, &path, &[("new", false), ("same", true)]));
    let after = own.get("after");
    Written {
        at,
        send,
        to,
        has_to: own.get("to").is_some(),
        from,
        is_same_thread: thread.unwrap_or(false),
        after_ms: after.and_then(|(node, path)| between_ms(desk, node, &path, &STRETCH)),
        held,
        decides,
        asked,
        choose,
        note: note.map(|note| note.value),
        refused: own.get("refused").and_then(|(node, path)| failure(desk, node, &path)),
        answer,
        fails: own.get("fails").and_then(|(node, path)| failure(desk, node, &path)),
        xpath: all(desk, own, "xpath", xpath::unreadable),
        log: all(desk, own, "log", |_| None),
    }
}

/// Keys that cannot be in one step.
const CLASHES: &[(&str, &str)] = &[
    ("approve", "reject"),
    ("approve", "amend"),
    ("reject", "amend"),
    ("choose", "approve"),
    ("choose", "reject"),
    ("choose", "amend"),
    ("asked", "approve"),
    ("asked", "reject"),
    ("asked", "amend"),
    ("asked", "held"),
    ("choose", "held"),
    ("answer", "fails"),
    ("refused", "answer"),
    ("refused", "fails"),
    ("refused", "held"),
];

/// Keys that need another one beside them.
const NEEDS: &[(&str, &[&str])] = &[
    ("to", &["send"]),
    ("from", &["send"]),
    ("thread", &["send"]),
    ("refused", &["send"]),
    ("note", &["approve", "reject", "amend", "choose", "asked"]),
    ("reject", &["note"]),
    ("xpath", &["answer", "held"]),
];

/// One text, or several.
fn all(desk: &mut Desk, own: &Fields<'_>, key: &str, wrong: impl Fn(&str) -> Option<String>) -> Vec<Text> {
    let Some((node, path)) = own.get(key) else { return Vec::new() };
    let found = match &node.value {
        Value::List(_) => texts(desk, node, &path).unwrap_or_default(),
        _ => text(desk, node, &path).into_iter().collect(),
    };
    for one in &found {
        if let Some(why) = wrong(&one.value) {
            let told = format!("{path}: `{}`: {why}", one.value);
            desk.tell(
                Code::ConfigValue,
                one.at,
                &told,
                Some("an expression as /answer[contains(., 'Rome')]"),
            );
        }
    }
    found.into_iter().map(|one| Text { place: desk.place(one.at), text: one.value }).collect()
}

/// A code, or a map of `code` and `contains`.
fn failure(desk: &mut Desk, node: &Node, path: &str) -> Option<Failure> {
    let mut failure = Failure { place: desk.place(node.span), code: None, contains: None };
    let code = match &node.value {
        Value::Map(entries) => {
            let mut code = None;
            for entry in entries {
                let path = format!("{path}.{}", entry.key);
                match entry.key.as_str() {
                    "code" => code = text(desk, &entry.value, &path),
                    "contains" => {
                        failure.contains = text(desk, &entry.value, &path).map(|found| found.value);
                    }
                    _ => {
                        let told = format!("`{path}` is no key here");
                        desk.tell(Code::ConfigUnknownKey, entry.at, &told, Some("code or contains"));
                    }
                }
            }
            code
        }
        _ => text(desk, node, path),
    };
    if let Some(code) = code {
        if code.value != REPORT && Code::parse(&code.value).is_none() {
            let known = || Code::ALL.iter().map(|code| code.as_str()).chain([REPORT]);
            let told = format!("{path}: there is no code `{}`", code.value);
            let mend = nearest(&code.value, known()).unwrap_or("a code of docs/reference/codes.md");
            desk.tell(Code::ConfigUnknownName, code.at, &told, Some(mend));
        }
        failure.code = Some(code.value);
    }
    Some(failure)
}

/// Looks up what the steps name.
pub(super) fn resolve(desk: &mut Desk, composition: &Composition, steps: Vec<Written>) -> Vec<Step> {
    steps.into_iter().map(|step| resolved(desk, composition, step)).collect()
}

fn resolved(desk: &mut Desk, composition: &Composition, step: Written) -> Step {
    let held = Among::all(composition, "held");
    let expected =
        step.held.as_ref().and_then(|written| Some((desk.place(written.at), held.expected(desk, written)?)));
    let answer = step.answer.as_ref().and_then(|written| {
        let place = desk.place(written.at);
        match &written.value {
            payload::Written::Element(none) if none == "none" => Some((place, None)),
            _ => Some((place, Some(Among::all(composition, "answer").expected(desk, written)?))),
        }
    });
    let question = step.asked.as_ref().or(step.choose.as_ref()).map(|first| Question {
        place: desk.place(first.at),
        contains: step.asked.as_ref().map(|asked| asked.value.clone()),
        choice: step.choose.as_ref().map(|choice| choice.value.clone()),
        note: step.note.clone(),
    });
    let decision = step.decides.and_then(|(verb, written)| {
        let place = desk.place(written.at);
        let expected = Among::all(composition, verb).expected(desk, &written)?;
        let amended = expected.exact.map(|exact| exact.xml);
        if verb == "amend" && amended.is_none() {
            let told = "amend: the payload that goes out instead is missing";
            desk.tell(Code::ConfigMissing, written.at, told, Some("amend: {ELEMENT: {FIELD: VALUE}}"));
        }
        Some((place, Decision { element: expected.element, verb, amended, note: step.note }))
    });
    let to = step.to.and_then(|to| named(desk, composition.listeners.keys(), &to, "to"));
    let send = step.send.and_then(|written| {
        let from = match step.from {
            Some(from) => Name::parse(&named(desk, composition.clients.keys(), &from, "from")?).ok()?,
            None => Name::operator(),
        };
        let place = desk.place(written.at);
        let among = match &to {
            // It is not known what that listener takes.
            None if step.has_to => Among::all(composition, "send"),
            to => sent(composition, to.as_deref()),
        };
        let document = among.document(desk, &written)?;
        Some(Sending { place, document, to, from, is_same_thread: step.is_same_thread })
    });
    Step {
        place: desk.place(step.at),
        send,
        after_ms: step.after_ms,
        held: expected,
        decision,
        question,
        refused: step.refused,
        answer,
        fails: step.fails,
        xpath: step.xpath,
        log: step.log,
    }
}

/// What may be sent: what a listener takes that is open to the outside, or the one that is named.
fn sent<'c>(composition: &'c Composition, to: Option<&str>) -> Among<'c> {
    let open = composition.listeners.values().filter(|listener| match to {
        Some(to) => listener.name.as_str() == to,
        None => listener.entry,
    });
    let elements = open.flat_map(|listener| listener.accepts.iter()).collect();
    Among { composition, elements, what: "send" }
}

/// A name that has to be among the known ones.
fn named<'n>(
    desk: &mut Desk,
    known: impl Iterator<Item = &'n Name>,
    found: &At<String>,
    what: &str,
) -> Option<String> {
    let known: Vec<&str> = known.map(Name::as_str).collect();
    if known.contains(&found.value.as_str()) {
        return Some(found.value.clone());
    }
    let mend = nearest(&found.value, known.iter().copied());
    let mend = mend.map_or_else(|| format!("one of {}", known.join(", ")), str::to_owned);
    let told = format!("{what}: the organism has no `{}`", found.value);
    desk.tell(Code::ConfigUnknownName, found.at, &told, Some(&mend));
    None
}
