//! A payload in full, for a person who decides about it: every element, attribute and character that its listener
//! reads.
//!
//! Nothing is left out or shortened. Payload content cannot pass for the text around it: each of its lines begins
//! with a bar, and a wrapped continuation begins with a dotted bar. Stored bytes come in; lines go out.

use systole_kit::gate::{GateStep, XmlGate, XmlTag};
use systole_kit::{DocumentLimits, namespaces};

use super::glance::attribute;
use super::hidden_characters::{self, MarkedCharacters, escape_unusual};
use crate::limits;
use systole_show::layout;

/// The start of a line, and of a line that continues the one above.
const BAR: &str = "│ ";
const BROKEN: &str = "┊ ";

/// A payload as text, with hidden characters marked, and notes about them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownPayload {
    /// The elements, indented.
    pub text: String,
    /// What to look at closely.
    pub notes: Vec<String>,
}

/// The payload in full.
pub fn show_payload(body: &[u8]) -> ShownPayload {
    let mut marked = MarkedCharacters::new();
    let text = match read(body, &mut marked) {
        Some(root) => {
            let mut text = String::new();
            write_element(&root, 0, &mut text);
            text
        }
        None => escape_unusual(&String::from_utf8_lossy(body), &mut marked),
    };
    let mut notes = look_closely(&marked, 0);
    if body.windows(4).any(|four| four == b"<!--") {
        notes.push("comments are not shown: nothing reads them; systole log --raw has them".to_owned());
    }
    ShownPayload { text, notes }
}

/// What a child thread answered: the payload inside the core's message about its end, and the tag of that message.
/// Any other payload is shown as it is.
pub fn shown_inside(body: &[u8]) -> (ShownPayload, Option<String>) {
    let mut marked = MarkedCharacters::new();
    let Some(Element { tag, inside, .. }) = read(body, &mut marked) else {
        return (show_payload(body), None);
    };
    let is_end = attribute(body, "thread-finished", "id").is_some();
    match inside.as_slice() {
        [Inside::Element(answer)] if is_end => {
            let mut text = String::new();
            write_element(answer, 0, &mut text);
            (ShownPayload { text, notes: look_closely(&marked, 0) }, Some(format!("{tag}>")))
        }
        _ => (show_payload(body), None),
    }
}

/// A text that is not a payload, in full.
pub fn shown_text(text: &str) -> ShownPayload {
    let mut marked = MarkedCharacters::new();
    let text = escape_unusual(text, &mut marked);
    ShownPayload { text, notes: look_closely(&marked, 0) }
}

/// The payload's lines, each after `indent` blanks, and notes about its characters.
pub fn lines(body: &[u8], indent: usize) -> Vec<String> {
    with_notes(&show_payload(body), indent)
}

/// The lines of a text that is not a payload.
pub fn text_lines(text: &str, indent: usize) -> Vec<String> {
    with_notes(&shown_text(text), indent)
}

/// The lines of a payload that was made ready before, each after `indent` blanks, and its notes.
pub fn with_notes(shown: &ShownPayload, indent: usize) -> Vec<String> {
    let blanks = " ".repeat(indent);
    let mut lines = with_bars(&shown.text, indent);
    lines.extend(shown.notes.iter().map(|note| format!("{blanks}{note}")));
    lines
}

/// Notes about characters that were marked.
pub(super) fn look_closely(marked: &MarkedCharacters, indent: usize) -> Vec<String> {
    let blanks = " ".repeat(indent);
    hidden_characters::describe_marked(marked)
        .iter()
        .map(|told| format!("{blanks}look closely: {told}"))
        .collect()
}

fn with_bars(text: &str, indent: usize) -> Vec<String> {
    let blanks = " ".repeat(indent);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        for (number, part) in
            break_line(line, layout::columns().saturating_sub(indent + 2)).into_iter().enumerate()
        {
            lines.push(format!("{blanks}{}{part}", if number == 0 { BAR } else { BROKEN }));
        }
    }
    lines
}

struct Element {
    tag: String,
    name: String,
    inside: Vec<Inside>,
}

enum Inside {
    Element(Element),
    Text(String),
}

fn read(body: &[u8], marked: &mut MarkedCharacters) -> Option<Element> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut open: Vec<(Element, Option<String>)> = Vec::new();
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) => {
                let above = open.last().and_then(|(_, ns)| ns.clone());
                let ns = gate.find_namespace(&tag).map(str::to_owned);
                let element = open_element(&gate, &tag, (above != ns).then_some(ns.as_deref()), marked);
                open.push((element, ns));
            }
            GateStep::Text(piece) => match open.last_mut().map(|(element, _)| &mut element.inside) {
                Some(inside) => match inside.last_mut() {
                    Some(Inside::Text(text)) => piece.append_to(text),
                    _ => {
                        let mut text = String::new();
                        piece.append_to(&mut text);
                        inside.push(Inside::Text(text));
                    }
                },
                None => return None,
            },
            GateStep::Close => {
                let (mut element, _) = open.pop()?;
                settle(&mut element, marked);
                match open.last_mut() {
                    Some((above, _)) => above.inside.push(Inside::Element(element)),
                    None => return Some(element),
                }
            }
            GateStep::Done | GateStep::Instruction => return None,
        }
    }
}

/// A start tag without its end: the namespace if it differs from the surrounding one, then its attributes.
fn open_element(
    gate: &XmlGate<'_>,
    tag: &XmlTag<'_>,
    ns: Option<Option<&str>>,
    marked: &mut MarkedCharacters,
) -> Element {
    let name = escape_unusual(tag.local, marked);
    let mut text = format!("<{name}");
    // Every reader knows the core's own namespace.
    if let Some(ns) = ns.filter(|ns| *ns != Some(namespaces::CORE)) {
        text.push_str(&format!(" xmlns=\"{}\"", value(ns.unwrap_or_default(), marked)));
    }
    for attribute in gate.attributes() {
        let name = match attribute.prefix {
            "" => attribute.local.to_owned(),
            prefix => format!("{prefix}:{}", attribute.local),
        };
        text.push_str(&format!(
            " {}=\"{}\"",
            escape_unusual(&name, marked),
            value(&attribute.value(), marked)
        ));
    }
    Element { tag: text, name, inside: Vec::new() }
}

fn value(text: &str, marked: &mut MarkedCharacters) -> String {
    escape_unusual(&escape_text(text).replace('"', "&quot;").replace('\n', "&#10;"), marked)
}

fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// White space between elements is layout; any other text is kept unchanged.
fn settle(element: &mut Element, marked: &mut MarkedCharacters) {
    let has_elements = element.inside.iter().any(|inside| matches!(inside, Inside::Element(_)));
    element.inside.retain(|inside| match inside {
        Inside::Text(text) => !has_elements || !text.trim().is_empty(),
        Inside::Element(_) => true,
    });
    for inside in &mut element.inside {
        if let Inside::Text(text) = inside {
            *text = escape_unusual(&escape_text(text), marked);
        }
    }
}

fn write_element(element: &Element, depth: usize, text: &mut String) {
    let blanks = "  ".repeat(depth);
    let Element { tag, name, inside } = element;
    match inside.as_slice() {
        [] => text.push_str(&format!("{blanks}{tag}/>")),
        [Inside::Text(only)] => text.push_str(&format!("{blanks}{tag}>{only}</{name}>")),
        several => {
            text.push_str(&format!("{blanks}{tag}>\n"));
            for inside in several {
                match inside {
                    Inside::Element(element) => write_element(element, depth + 1, text),
                    Inside::Text(between) => text.push_str(&format!("{blanks}  {between}")),
                }
                text.push('\n');
            }
            text.push_str(&format!("{blanks}</{name}>"));
        }
    }
}

/// A line in parts that fit, with nothing lost.
fn break_line(line: &str, columns: usize) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), line);
    loop {
        // A beginning is found without reading the rest of a line that may have a megabyte.
        let full = systole_show::columns::beginning(rest, columns);
        if full.len() == rest.len() {
            break;
        }
        let blank =
            full.rfind(' ').map(|at| at + 1).filter(|at| full.len() - at < limits::BREAK_COLUMNS && *at > 0);
        let end = blank.unwrap_or(full.len()).max(1);
        let Some((part, more)) = rest.split_at_checked(end) else { break };
        parts.push(part);
        rest = more;
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_show::columns::width;
    use systole_show::limits::COLUMNS;

    #[test]
    fn attributes_and_fields_are_shown_whole_however_long_the_first_is() {
        let body = format!(
            "<pay xmlns='urn:t' to='mallory'><note>{}</note><amount>999999</amount><urgent/></pay>",
            "word ".repeat(2_000)
        );
        let lines = lines(body.as_bytes(), 4);
        assert_eq!(lines[0], "    │ <pay xmlns=\"urn:t\" to=\"mallory\">");
        assert!(lines.iter().any(|line| line == "    │   <amount>999999</amount>"), "{lines:#?}");
        assert!(lines.iter().all(|line| width(line) <= COLUMNS));
        let words: usize = lines.iter().map(|line| line.matches("word").count()).sum();
        assert_eq!(words, 2_000);
    }

    #[test]
    fn text_cannot_pass_for_an_element_or_for_a_line_of_ours() {
        let body = "<note xmlns='urn:t'>a&lt;/note>\n    hash 00\nb</note>";
        let wanted = ["│ <note xmlns=\"urn:t\">a&lt;/note>", "│     hash 00", "│ b</note>"];
        assert_eq!(lines(body.as_bytes(), 0), wanted);
    }

    #[test]
    fn only_the_core_can_wrap_an_answer() {
        let inside = "<plan xmlns='urn:p'><steps>all</steps></plan>";
        let core = "xmlns='https://xml-pipeline.org/ns/core/v1'";
        let ended = |ns: &str| format!("<thread-finished {ns} id='s.1' head='00'>{inside}</thread-finished>");
        let (payload, wrapper) = shown_inside(ended(core).as_bytes());
        assert_eq!(payload, show_payload(inside.as_bytes()));
        assert_eq!(wrapper.as_deref(), Some("<thread-finished id=\"s.1\" head=\"00\">"));
        for other in [ended("xmlns='urn:x'"), ended(""), inside.to_owned(), "no element".to_owned()] {
            assert_eq!(shown_inside(other.as_bytes()), (show_payload(other.as_bytes()), None), "{other}");
        }
    }

    #[test]
    fn references_are_read_and_hidden_characters_marked() {
        let body = "<grant xmlns='urn:t' who='&#1072;dmin'>&#x6d;e\u{202e}x<!-- no --></grant>";
        let lines = lines(body.as_bytes(), 0);
        assert_eq!(lines[0], "│ <grant xmlns=\"urn:t\" who=\"\\u{430}dmin\">me\\u{202e}x</grant>");
        assert_eq!(lines[1], "look closely: \\u{430} is a Cyrillic letter that looks like a Latin one");
        assert!(lines[2].contains("changes the direction") && lines[3].contains("comments"), "{lines:#?}");
    }

    #[test]
    fn a_line_of_a_megabyte_is_broken_in_one_pass() {
        // If each part read the rest, this would take minutes.
        let text = "x ".repeat(500_000);
        let parts = break_line(&text, 40);
        assert_eq!(parts.len(), 25_000);
    }

    #[test]
    fn nothing_of_a_broken_line_is_lost() {
        let text = format!("{} 日本語 {}", "x".repeat(200), "a b ".repeat(40));
        for columns in 10..60 {
            let parts = break_line(&text, columns);
            assert!(parts.iter().all(|part| width(part) <= columns));
            assert_eq!(parts.concat(), text);
        }
    }
}
