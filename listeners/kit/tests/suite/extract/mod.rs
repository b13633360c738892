//! The extractor: a corpus of answers with their events, and properties of every split of each.

mod corpus;
mod entities;
mod events;
mod long;
mod page;
mod repairs;
mod splits;
mod verbatim;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use systole_kit::extract::{
    ElementRole, ExtractEvent, ExtractedAction, Extractor, KnownElement, KnownNames, LiveRead, OpenElement,
    StreamEnd, TextSpan,
};
use systole_kit::schema::{SchemaModel, TextElements};
use systole_kit::{DocumentLimits, Place};

const SEARCH: &str = "https://xml-pipeline.org/ns/search/v1";
const TALK: &str = "https://xml-pipeline.org/ns/talk/v1";
const COMMANDS: &str = "https://xml-pipeline.org/ns/commands/v1";
const CORE: &str = "https://xml-pipeline.org/ns/core/v1";
const OWN: &str = "https://xml-pipeline.org/ns/researcher/v1";

/// The names that the agent of the corpus may write: it is called `researcher` and answers with `<answer>`.
fn names() -> Arc<KnownNames> {
    static NAMES: LazyLock<Arc<KnownNames>> = LazyLock::new(|| {
        let texts = |ns: &str, local: &str| {
            MODELS.iter().find(|model| model.has_element(ns, local)).and_then(|model| model.find_texts(local))
        };
        let peer = |ns: &str, local: &str, peer: &str| {
            KnownElement::new(ElementRole::Peer, ns, local).taken_by(peer).with_texts(texts(ns, local))
        };
        let primitive = |local: &str| {
            let texts = match local {
                "set-timer" => TextElements::new_text(),
                _ => TextElements::with_child("initial-payload", TextElements::new_payload()),
            };
            KnownElement::new(ElementRole::Primitive, CORE, local).with_texts(Some(texts))
        };
        KnownNames::new()
            .with_element(KnownElement::new(ElementRole::Own, OWN, "researcher"))
            .with_element(peer(SEARCH, "search", "finder"))
            .with_element(peer(TALK, "ask", "critic"))
            .with_element(peer(TALK, "ask", "planner"))
            .with_element(peer(COMMANDS, "shell", "workspace"))
            .with_element(peer(COMMANDS, "create_file", "workspace"))
            .with_element(peer(COMMANDS, "str_replace", "workspace"))
            .with_element(peer("urn:books", "lookup", "library"))
            .with_element(peer("urn:words", "lookup", "dictionary"))
            .with_element(peer("urn:mail", "send-mail", "post").with_own_to())
            .with_element(peer("urn:old", "old-order", "shop").without_namespace())
            .with_element(
                KnownElement::new(ElementRole::Returns, TALK, "answer").with_texts(texts(TALK, "answer")),
            )
            .with_element(primitive("spawn-thread"))
            .with_element(primitive("set-timer"))
            .with_text_result()
            .into()
    });
    NAMES.clone()
}

/// The schemas of the elements. They also decide about a missing end tag.
static MODELS: LazyLock<Vec<SchemaModel>> = LazyLock::new(|| {
    ["search", "talk", "commands"]
        .map(|name| {
            let path = folder().join("schemas").join(name).with_extension("xsd");
            SchemaModel::from_xsd(&std::fs::read(path).expect("the schema is there"))
                .expect("the schema is fit")
        })
        .into()
});

fn is_valid(event: &ExtractEvent) -> bool {
    let payload = match event {
        ExtractEvent::Action(action) | ExtractEvent::Plan(action) => &action.payload,
        ExtractEvent::Completion(completion) => return completion.text.is_some(),
        _ => return false,
    };
    let name = payload.name();
    let judge = MODELS.iter().find(|model| model.has_element(&name.ns, &name.local));
    judge.is_some_and(|model| model.explain_payload(payload.bytes()).is_none())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/corpus")
}

/// An answer of the corpus.
struct Answer {
    name: String,
    text: Vec<u8>,
    stop: StreamEnd,
}

/// The answers in the order of their names. If the name ends with `-length`, the answer reached its output
/// limit; if it ends with `-broken`, it was cut off in another way.
fn answers() -> Vec<Answer> {
    let read = |path: PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let stop = match name.rsplit('-').next() {
            Some("length") => StreamEnd::Length,
            Some("broken") => StreamEnd::Broken,
            _ => StreamEnd::End,
        };
        Answer { text: std::fs::read(&path).expect("the answer can be read"), name, stop }
    };
    let entries = std::fs::read_dir(folder().join("answers")).expect("the corpus is there");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut answers: Vec<Answer> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "txt")).map(read).collect();
    answers.sort_by(|a, b| a.name.cmp(&b.name));
    answers
}

/// The events of a text that comes in these chunks, and the open element.
fn extracted<'c>(
    chunks: impl IntoIterator<Item = &'c [u8]>,
    stop: StreamEnd,
) -> (Vec<ExtractEvent>, Option<OpenElement>) {
    let mut extractor = Extractor::new(names(), DocumentLimits::default());
    let mut events = Vec::new();
    for chunk in chunks {
        extractor.push(chunk, &mut events);
    }
    let left = extractor.finish(stop, &mut is_valid, &mut events);
    (events, left)
}

/// The events of a text that comes in one chunk and ends normally.
fn whole(text: &str) -> Vec<ExtractEvent> {
    settled(extracted([text.as_bytes()], StreamEnd::End).0)
}

/// The events that do not depend on how the text was split.
fn settled(events: Vec<ExtractEvent>) -> Vec<ExtractEvent> {
    events.into_iter().filter(|event| !matches!(event, ExtractEvent::Live(_))).collect()
}

/// The thinking that was shown live, and whether its beginning and end were reported.
fn shown(text: &[u8], events: &[ExtractEvent]) -> String {
    let mut shown = String::new();
    for event in events {
        match event {
            ExtractEvent::Live(LiveRead::Begun(_)) => shown.push('('),
            ExtractEvent::Live(LiveRead::Piece(range)) => {
                shown.push_str(std::str::from_utf8(&text[range.clone()]).expect("whole characters"));
            }
            ExtractEvent::Live(LiveRead::Ended) => shown.push(')'),
            _ => {}
        }
    }
    shown
}

fn at(place: Place) -> String {
    format!("{}:{}", place.line, place.column)
}

fn quoted(text: &[u8], span: TextSpan) -> String {
    let part = text.get(span.start.offset..span.end).unwrap_or_else(|| panic!("{span:?} is in the text"));
    format!("{:?}", String::from_utf8_lossy(part))
}

/// Events in a form for people.
fn written(text: &[u8], events: &[ExtractEvent], left: Option<&OpenElement>) -> String {
    let mut out = String::new();
    for event in events {
        match event {
            ExtractEvent::Live(_) => Ok(()),
            ExtractEvent::Thinking(span) => {
                writeln!(out, "thinking {} {}", at(span.start), quoted(text, *span))
            }
            ExtractEvent::Prose(span) => writeln!(out, "prose {} {}", at(span.start), quoted(text, *span)),
            ExtractEvent::Thought(thought) => {
                writeln!(out, "thought {} {:?}", at(thought.span.start), thought.text)
            }
            ExtractEvent::Plan(action) => writeln!(out, "plan {}", action_words(text, action)),
            ExtractEvent::Action(action) => writeln!(out, "action {}", action_words(text, action)),
            ExtractEvent::Completion(it) => {
                let span = quoted(text, it.span);
                assert!(
                    span.starts_with("\"<")
                        && text[it.inside.start.offset..].starts_with(it.markup.as_bytes())
                );
                let words = (at(it.span.start), at(it.inside.start));
                writeln!(
                    out,
                    "completion {} inside {}\n  {:?}\n  text {:?}",
                    words.0, words.1, it.markup, it.text
                )
            }
            ExtractEvent::Repair(it) => {
                writeln!(out, "repair {:?} {} {:?} -> {:?}", it.repair, at(it.place), it.written, it.meant)
            }
            ExtractEvent::Problem(it) => {
                let element = it.element.as_deref().map(|name| format!(" <{name}>")).unwrap_or_default();
                let mut words = format!("problem {} {}{element}: {}", it.slug, at(it.place), it.message);
                let mut add = |what: &str, words_of: &Option<String>| {
                    if let Some(it) = words_of {
                        words.push_str(&format!("\n  {what}: {it}"));
                    }
                };
                add("expected", &it.expected);
                add("fix", &it.fix);
                if !it.near.is_empty() {
                    add("near", &Some(it.near.join(", ")));
                }
                writeln!(out, "{words}")
            }
        }
        .expect("a text takes text");
    }
    if let Some(left) = left {
        writeln!(out, "left <{}> {}", left.element, at(left.span.start)).expect("a text takes text");
    }
    out
}

fn action_words(text: &[u8], action: &ExtractedAction) -> String {
    let part = &text[action.span.start.offset..action.span.end];
    assert_eq!(part, action.raw.as_bytes(), "the raw markup is what stands at its span");
    let said = |what: &str, who: &Option<String>| {
        who.as_ref().map(|who| format!(" {what}={who}")).unwrap_or_default()
    };
    let whom = said("to", &action.to) + &said("thread", &action.thread);
    let payload = String::from_utf8(action.payload.bytes().to_vec()).expect("a payload is text");
    format!("{} {:?} {}{whom}\n  {payload:?}", at(action.span.start), action.role, action.written)
}
