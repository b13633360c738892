//! The steps of a test: what is sent or decided, how much time passes, and the expected results. A step is first read
//! as written; then its names and payloads are looked up in the organism.

use std::path::Path;

use systole_kit::schema::find_nearest;

use super::table::TestStepKeys;
use crate::diagnostic::FilePlace;
use crate::diagnostics::Diagnostics;
use crate::section::SectionKeys;
use crate::tree::{Node, Span, Value};
use crate::value::{At, SetKeys, text};
use crate::written_payloads::{Among, ExpectedPayload, WrittenPayload, read_payload};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_judge::xpath;

/// A step. Its parts run and are checked in the order of these fields.
#[derive(Debug)]
pub struct TestStep {
    /// Its place.
    pub place: FilePlace,
    /// The message to send.
    pub send: Option<TestMessage>,
    /// The time that passes, in milliseconds.
    pub after_ms: Option<u64>,
    /// The expected payload that waits for a person.
    pub held: Option<(FilePlace, ExpectedPayload)>,
    /// The person's decision about it.
    pub decision: Option<(FilePlace, TestDecision)>,
    /// The expected question that waits for a person, with the person's answer.
    pub question: Option<TestQuestion>,
    /// The expected refusal of the message.
    pub refused: Option<ExpectedFailure>,
    /// The expected answer to the last message. An inner `None` means that it is handled without an answer.
    pub answer: Option<(FilePlace, Option<ExpectedPayload>)>,
    /// The expected failure of the last message.
    pub fails: Option<ExpectedFailure>,
    /// Conditions on the answer or on the waiting payload.
    pub xpath: Vec<PlacedText>,
    /// Conditions on the log.
    pub log: Vec<PlacedText>,
}

/// A text with its place.
#[derive(Clone, Debug)]
pub struct PlacedText {
    /// Its place in the test file.
    pub place: FilePlace,
    /// The text.
    pub text: String,
}

/// A message from outside.
#[derive(Debug)]
pub struct TestMessage {
    /// Its place in the test file.
    pub place: FilePlace,
    /// The payload.
    pub document: Vec<u8>,
    /// Its addressee.
    pub to: Option<String>,
    /// The sender.
    pub from: Name,
    /// Whether it continues the thread of the previous message.
    pub is_same_thread: bool,
}

/// A person's decision about the waiting payload with this element.
#[derive(Debug)]
pub struct TestDecision {
    /// The element of the waiting payload.
    pub element: String,
    /// The decision: `approve`, `reject` or `amend`.
    pub verb: &'static str,
    /// The replacing payload.
    pub amended: Option<Vec<u8>>,
    /// The person's note.
    pub note: Option<String>,
}

/// A question that waits for a person. Without a choice and a note it is not answered.
#[derive(Debug)]
pub struct TestQuestion {
    /// Its place in the test file.
    pub place: FilePlace,
    /// A text that the question must contain.
    pub contains: Option<String>,
    /// The choice.
    pub choice: Option<String>,
    /// The person's note.
    pub note: Option<String>,
}

/// A refusal, or the failure of a call.
#[derive(Clone, Debug)]
pub struct ExpectedFailure {
    /// Its place in the test file.
    pub place: FilePlace,
    /// Its code, if given.
    pub code: Option<String>,
    /// A text that its message must contain.
    pub contains: Option<String>,
}

/// An unresolved step.
pub(super) struct Written {
    at: Span,
    send: Option<At<WrittenPayload>>,
    to: Option<At<String>>,
    /// Whether there is a `to`, even an unreadable one.
    has_to: bool,
    from: Option<At<String>>,
    is_same_thread: bool,
    after_ms: Option<u64>,
    held: Option<At<WrittenPayload>>,
    decides: Option<(&'static str, At<WrittenPayload>)>,
    asked: Option<At<String>>,
    choose: Option<At<String>>,
    note: Option<String>,
    refused: Option<ExpectedFailure>,
    answer: Option<At<WrittenPayload>>,
    fails: Option<ExpectedFailure>,
    xpath: Vec<PlacedText>,
    log: Vec<PlacedText>,
}

/// The code that test files use for a report in place of an answer.
pub const REPORT: &str = "report";

/// Reads a list of steps.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str, folder: &Path) -> Vec<Written> {
    let items = super::list(diagnostics, node, path, "a list of steps, as - send: {ask: Hello}");
    if matches!(&node.value, Value::List(none) if none.is_empty()) {
        diagnostics.report(
            Code::ConfigMissing,
            node.span,
            &format!("{path} has no step"),
            "- send: {ask: Hello}",
        );
    }
    let (mut steps, mut has_sent) = (Vec::new(), false);
    for (number, item) in items.iter().enumerate() {
        let path = format!("{path}[{}]", number + 1);
        let mistakes = diagnostics.mistakes();
        let step = TestStepKeys::fields(diagnostics, item, item.span, &path).map(|own| {
            RULES.check(diagnostics, &own);
            let keys = TestStepKeys::take(diagnostics, &own);
            step(diagnostics, item.span, keys, folder)
        });
        // A step with a mistake may contain a `send`.
        has_sent |= step.as_ref().is_none_or(|step| step.send.is_some()) || diagnostics.mistakes() > mistakes;
        let Some(step) = step else { continue };
        if (step.answer.is_some() || step.fails.is_some()) && !has_sent {
            let message = "no message was sent yet, so no answer can come";
            diagnostics.report(Code::ConfigMissing, step.at, message, "a `send` in this step or before it");
        }
        steps.push(step);
    }
    steps
}

fn step(diagnostics: &mut Diagnostics, at: Span, keys: TestStepKeys, folder: &Path) -> Written {
    let path = |key: &str| format!("{}.{key}", keys.own.path);
    let mut payload = |key: &str, node: &Option<At<Node>>| {
        read_payload(diagnostics, &node.as_ref()?.value, &path(key), folder)
    };
    let (send, held) = (payload("send", &keys.send), payload("held", &keys.held));
    let (answer, amend) = (payload("answer", &keys.answer), payload("amend", &keys.amend));
    let mut failed =
        |key: &str, node: &Option<At<Node>>| failure(diagnostics, &node.as_ref()?.value, &path(key));
    let (refused, fails) = (failed("refused", &keys.refused), failed("fails", &keys.fails));
    let named = |found: At<String>| At { at: found.at, value: WrittenPayload::Element(found.value) };
    let decides =
        [("approve", keys.approve.map(named)), ("reject", keys.reject.map(named)), ("amend", amend)];
    Written {
        at,
        send,
        has_to: keys.own.has("to"),
        to: keys.to,
        from: keys.from,
        is_same_thread: keys.thread.is_some_and(|thread| thread.value),
        after_ms: keys.after.map(|after| after.value),
        held,
        decides: decides.into_iter().find_map(|(verb, found)| Some((verb, found?))),
        asked: keys.asked,
        choose: keys.choose,
        note: keys.note.map(|note| note.value),
        refused,
        answer,
        fails,
        xpath: expressions(diagnostics, &keys.own, keys.xpath),
        log: keys.log.map(|log| place_texts(diagnostics, log.value)).unwrap_or_default(),
    }
}

/// Which keys of a map exclude or need each other.
pub(super) struct KeyRules {
    /// What the map is: a step or a test.
    pub(super) what: &'static str,
    /// Keys that exclude each other.
    pub(super) clashes: &'static [(&'static str, &'static str)],
    /// Keys that need one of some other keys.
    pub(super) needs: &'static [(&'static str, &'static [&'static str])],
}

const RULES: KeyRules = KeyRules {
    what: "step",
    clashes: &[
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
    ],
    needs: &[
        ("to", &["send"]),
        ("from", &["send"]),
        ("thread", &["send"]),
        ("refused", &["send"]),
        ("note", &["approve", "reject", "amend", "choose", "asked"]),
        ("reject", &["note"]),
        ("xpath", &["answer", "held"]),
    ],
};

impl KeyRules {
    /// Reports keys that may not be together, and keys that lack another one.
    pub(super) fn check(&self, diagnostics: &mut Diagnostics, own: &SetKeys) {
        let KeyRules { what, clashes, needs } = self;
        for (one, other) in *clashes {
            if let (true, Some(at)) = (own.has(one), own.value_place(other)) {
                let message = format!("{}.{other} cannot be in one {what} with `{one}`", own.path);
                let fix = format!("two {what}s, or one of the two keys");
                diagnostics.report(Code::ConfigDuplicate, at, &message, &fix);
            }
        }
        for (one, needed) in *needs {
            if let (Some(at), false) = (own.value_place(one), needed.iter().any(|key| own.has(key))) {
                let needed = needed.join("` or `");
                let message = format!("{}.{one} needs `{needed}` in the same {what}", own.path);
                let fix = "it there, or leave this key out";
                diagnostics.report(Code::ConfigMissing, at, &message, fix);
            }
        }
    }
}

/// The XPath expressions of a step or a test.
pub(super) fn expressions(
    diagnostics: &mut Diagnostics,
    own: &SetKeys,
    found: Option<At<Vec<At<String>>>>,
) -> Vec<PlacedText> {
    let found = found.map(|found| found.value).unwrap_or_default();
    for one in &found {
        if let Some(why) = xpath::find_mistake(&one.value) {
            let message = format!("{}.xpath: `{}`: {why}", own.path, one.value);
            diagnostics.report_value(one.at, &message, "an expression as /answer[contains(., 'Rome')]");
        }
    }
    place_texts(diagnostics, found)
}

fn place_texts(diagnostics: &Diagnostics, texts: Vec<At<String>>) -> Vec<PlacedText> {
    texts.into_iter().map(|one| PlacedText { place: diagnostics.place(one.at), text: one.value }).collect()
}

/// A code, or a map of `code` and `contains`.
fn failure(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<ExpectedFailure> {
    let mut failure = ExpectedFailure { place: diagnostics.place(node.span), code: None, contains: None };
    let code = match &node.value {
        Value::Map(entries) => {
            let mut code = None;
            for entry in entries {
                let path = format!("{path}.{}", entry.key);
                match entry.key.as_str() {
                    "code" => code = text(diagnostics, &entry.value, &path),
                    "contains" => {
                        failure.contains = text(diagnostics, &entry.value, &path).map(|found| found.value);
                    }
                    _ => {
                        let message = format!("`{path}` is not a key here");
                        diagnostics.report(Code::ConfigUnknownKey, entry.at, &message, "code or contains");
                    }
                }
            }
            code
        }
        _ => text(diagnostics, node, path),
    };
    if let Some(code) = code {
        if code.value != REPORT && Code::parse(&code.value).is_none() {
            let known = || Code::ALL.iter().map(|code| code.as_str()).chain([REPORT]);
            let message = format!("{path}: there is no code `{}`", code.value);
            let fix = find_nearest(&code.value, known()).unwrap_or("a code of docs/reference/codes.md");
            diagnostics.report(Code::ConfigUnknownName, code.at, &message, fix);
        }
        failure.code = Some(code.value);
    }
    Some(failure)
}

/// Looks up the names in the steps.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    composition: &Composition,
    steps: Vec<Written>,
) -> Vec<TestStep> {
    steps.into_iter().map(|step| resolve_step(diagnostics, composition, step)).collect()
}

fn resolve_step(diagnostics: &mut Diagnostics, composition: &Composition, step: Written) -> TestStep {
    let held = Among::all(composition, "held");
    let expected = step.held.as_ref().and_then(|written| {
        Some((diagnostics.place(written.at), held.expect_payload(diagnostics, written)?))
    });
    let answer = step.answer.as_ref().and_then(|written| {
        let place = diagnostics.place(written.at);
        match &written.value {
            WrittenPayload::Element(none) if none == "none" => Some((place, None)),
            _ => Some((place, Some(Among::all(composition, "answer").expect_payload(diagnostics, written)?))),
        }
    });
    let question = step.asked.as_ref().or(step.choose.as_ref()).map(|first| TestQuestion {
        place: diagnostics.place(first.at),
        contains: step.asked.as_ref().map(|asked| asked.value.clone()),
        choice: step.choose.as_ref().map(|choice| choice.value.clone()),
        note: step.note.clone(),
    });
    let decision = step.decides.and_then(|(verb, written)| {
        let place = diagnostics.place(written.at);
        let expected = Among::all(composition, verb).expect_payload(diagnostics, &written)?;
        let amended = expected.exact.map(|exact| exact.xml);
        if verb == "amend" && amended.is_none() {
            let message = "amend: the payload that goes out instead is missing";
            diagnostics.report(Code::ConfigMissing, written.at, message, "amend: {ELEMENT: {FIELD: VALUE}}");
        }
        Some((place, TestDecision { element: expected.element, verb, amended, note: step.note }))
    });
    let to = step.to.and_then(|to| find_named(diagnostics, composition.listeners.keys(), &to, "to"));
    let send = step.send.and_then(|written| {
        let from = match step.from {
            Some(from) => {
                Name::parse(&find_named(diagnostics, composition.clients.keys(), &from, "from")?).ok()?
            }
            None => Name::new_operator(),
        };
        let place = diagnostics.place(written.at);
        let among = match &to {
            // That listener's elements are unknown.
            None if step.has_to => Among::all(composition, "send"),
            to => list_sendable(composition, to.as_deref()),
        };
        let document = among.document(diagnostics, &written)?;
        Some(TestMessage { place, document, to, from, is_same_thread: step.is_same_thread })
    });
    TestStep {
        place: diagnostics.place(step.at),
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

/// The elements that may be sent: those of the named listener, or of all listeners open to the outside.
fn list_sendable<'c>(composition: &'c Composition, to: Option<&str>) -> Among<'c> {
    let open = composition.listeners.values().filter(|listener| match to {
        Some(to) => listener.name.as_str() == to,
        None => listener.entry,
    });
    let elements = open.flat_map(|listener| listener.accepts.iter()).collect();
    Among { composition, elements, what: "send" }
}

/// Checks that a name is known.
fn find_named<'n>(
    diagnostics: &mut Diagnostics,
    known: impl Iterator<Item = &'n Name>,
    found: &At<String>,
    what: &str,
) -> Option<String> {
    let known: Vec<&str> = known.map(Name::as_str).collect();
    if known.contains(&found.value.as_str()) {
        return Some(found.value.clone());
    }
    let fix = find_nearest(&found.value, known.iter().copied());
    let fix = fix.map_or_else(|| format!("one of {}", known.join(", ")), str::to_owned);
    let message = format!("{what}: the organism has no `{}`", found.value);
    diagnostics.report(Code::ConfigUnknownName, found.at, &message, &fix);
    None
}
