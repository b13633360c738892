//! What can be said of a stored payload at a glance: its element, and its words on one line.
//!
//! It never judges a payload and never shows a byte of it as it stands. Stored bytes come in, which may
//! be anybody's; text that is safe to print goes out, also for bytes that are no payload at all.

use systole_kit::gate::{Gate, Step};
use systole_kit::{Limits, namespaces};

use super::columns::{cut, plain};

/// Columns of words kept of one payload: a few lines of a terminal.
const WORDS: usize = 400;
/// Columns kept of an element's name.
const ELEMENT: usize = 40;

/// Attributes of core payloads that say nothing to people: hashes, and what the record says anyway.
const UNSAID: [&str; 7] = ["head", "config", "hash", "digest", "at", "xmlns", "parent_id"];

/// A payload at a glance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Glance {
    /// The local name of its root element; `?` where the bytes do not begin with one.
    pub element: String,
    /// Its text, on one line.
    pub words: String,
}

/// Looks at a payload.
pub fn glance(body: &[u8]) -> Glance {
    let unknown = || {
        let words = [&body.len().to_string(), " bytes that are no payload"].concat();
        Glance { element: "?".to_owned(), words }
    };
    let mut element = None;
    let mut text = String::new();
    let Ok(mut gate) = Gate::strict(body, &Limits::FROM_PUMP) else { return unknown() };
    while let Ok(step) = gate.step() {
        match step {
            Step::Open(tag) if element.is_none() => {
                element = Some(cut(&plain(tag.local), ELEMENT));
                if gate.ns(&tag) == Some(namespaces::CORE) {
                    for attribute in gate.attributes().iter().filter(|a| !UNSAID.contains(&a.local)) {
                        text.push_str(attribute.local);
                        text.push('=');
                        text.push_str(&attribute.value());
                        text.push(' ');
                    }
                }
            }
            Step::Open(tag) => {
                text.push(' ');
                if gate.ns(&tag) == Some(namespaces::CORE) {
                    plan(&gate, tag.local, &mut text);
                }
            }
            Step::Text(piece) => piece.append_to(&mut text),
            Step::Done => break,
            Step::Close | Step::Instruction => {}
        }
        // What is not shown need not be read: a payload may be a megabyte.
        if text.len() > 8 * WORDS {
            break;
        }
    }
    match element {
        Some(element) => Glance { element, words: cut(&plain(&text), WORDS) },
        None => unknown(),
    }
}

/// What of a plan in a note stands in attributes: what its steps are for, and which of them are done.
fn plan(gate: &Gate<'_>, local: &str, text: &mut String) {
    let told = |name: &str| gate.attribute(name).unwrap_or_default();
    match local {
        "todo-until" => text.extend(["until ", &told("condition"), ":"]),
        "step" if told("done") == "true" => text.push_str("[x] "),
        "step" => text.push_str("[ ] "),
        _ => {}
    }
}

/// What a `<system-error>` tells, as a person reads it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// The code.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// The path inside the refused payload.
    pub path: Option<String>,
    /// Line and column in it.
    pub place: Option<(String, String)>,
    /// What would have been taken.
    pub expected: Option<String>,
    /// What came.
    pub received: Option<String>,
    /// The mend.
    pub mend: Option<String>,
}

/// Reads a `<system-error>` or `<system-thread-error>`; none for any other payload.
pub fn told(body: &[u8]) -> Option<Told> {
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).ok()?;
    let Ok(Step::Open(root)) = gate.step() else { return None };
    let is_error = matches!(root.local, "system-error" | "system-thread-error");
    if !is_error || gate.ns(&root) != Some(namespaces::CORE) {
        return None;
    }
    let attribute = |name: &str| gate.attribute(name).map(|value| plain(&value));
    let mut told = Told {
        code: attribute("code")?,
        message: attribute("message")?,
        path: attribute("path"),
        place: attribute("line").zip(attribute("column")),
        ..Told::default()
    };
    let mut inside: Option<(&str, String)> = None;
    while let Ok(step) = gate.step() {
        match step {
            Step::Open(tag) => inside = Some((tag.local, String::new())),
            Step::Text(piece) => {
                if let Some((_, text)) = &mut inside {
                    piece.append_to(text);
                }
            }
            Step::Close => {
                let Some((name, text)) = inside.take() else { continue };
                let text = Some(plain(&text));
                match name {
                    "expected" => told.expected = text,
                    "received" => told.received = text,
                    "try" => told.mend = text,
                    _ => {}
                }
            }
            Step::Done => break,
            Step::Instruction => {}
        }
    }
    Some(told)
}

/// An attribute of a core payload's root, if it is the one of that name.
pub(super) fn attribute(body: &[u8], element: &str, name: &str) -> Option<String> {
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).ok()?;
    let Ok(Step::Open(root)) = gate.step() else { return None };
    let is_it = root.local == element && gate.ns(&root) == Some(namespaces::CORE);
    is_it.then(|| gate.attribute(name).map(std::borrow::Cow::into_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::core_payload;
    use crate::words::codes::Code;
    use crate::words::refusal::Refusal;

    #[test]
    fn a_payload_is_its_element_and_its_words() {
        let seen = glance(b"<q xmlns='urn:t'><a>one</a><b>two\n\xe2\x80\xaethree</b></q>");
        assert_eq!(seen.element, "q");
        assert_eq!(seen.words, "one two \\u{202e}three");
    }

    #[test]
    fn the_steps_of_a_plan_are_told_apart() {
        let body = b"<boss xmlns='urn:boss'><thought>I plan.</thought><todo-until condition='it stands' \
            xmlns='https://xml-pipeline.org/ns/core/v1'><step done='true'>dig</step><step done='false'>build</step></todo-until></boss>";
        assert_eq!(glance(body).words, "I plan. until it stands: [x] dig [ ] build");
    }

    #[test]
    fn bytes_that_are_no_payload_are_counted_and_not_shown() {
        assert_eq!(glance(b"\xff\xfe\x1b[31m").words, "7 bytes that are no payload");
        assert_eq!(glance(b"").words, "0 bytes that are no payload");
    }

    #[test]
    fn what_is_long_is_cut() {
        let body = ["<q xmlns='urn:t'>", &"word ".repeat(100_000), "</q>"].concat();
        assert!(super::super::columns::width(&glance(body.as_bytes()).words) <= WORDS);
    }

    #[test]
    fn a_refusal_reads_back_with_place_and_mend() {
        let mut refusal = Refusal::new(Code::Invalid, "limit: 0 is less than 1")
            .expecting("1 to 100")
            .receiving("<limit>0</limit>")
            .mended_by("<limit>1</limit>");
        refusal.path = Some("/search/limit".to_owned());
        refusal.at = Some((3, 10));
        let told = told(&core_payload::system_error(&refusal)).unwrap();
        assert_eq!(
            (told.code.as_str(), told.message.as_str()),
            ("payload.invalid", "limit: 0 is less than 1")
        );
        assert_eq!(told.place, Some(("3".to_owned(), "10".to_owned())));
        assert_eq!(told.received.as_deref(), Some("<limit>0</limit>"));
        assert_eq!(told.mend.as_deref(), Some("<limit>1</limit>"));
        assert_eq!(super::told(&core_payload::handled()), None);
    }
}
