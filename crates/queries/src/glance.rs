//! A stored payload at a glance: its element, and its fields and attributes on one line.
//!
//! Fields are named as `systole send` takes them: `quantity=30 address.city=Berlin`. A cut says how much was cut. It
//! never judges a payload and never shows its bytes raw. Stored bytes of any origin come in; text that is safe to
//! print goes out, even for bytes that are not a payload.

use systole_core::types::body_parts::{ERASED_TEXT, LEFT_OUT_TEXT};
use systole_kit::gate::{GateStep, XmlGate, XmlTag};
use systole_kit::{DocumentLimits, namespaces};

use super::goal;
use crate::limits;
use systole_show::columns::{cut, plain, width};
use systole_show::layout;

/// Attributes of core payloads that are useless to people: hashes, and facts that the record shows anyway.
const UNSAID: [&str; 7] = ["head", "config", "hash", "digest", "at", "xmlns", "parent_id"];

/// A payload at a glance.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PayloadGlance {
    /// The local name of its root element; `?` if the bytes do not begin with one.
    pub element: String,
    /// Its fields, on one line.
    pub words: String,
    fields: Vec<Field>,
    /// Whether it is a core payload.
    is_core: bool,
    /// The number of dropped fields, and their characters.
    more: (usize, usize),
}

/// An attribute, an element's text, or words about a todo list.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Field {
    /// Its path inside the payload; empty for the text of the root, or for words.
    name: String,
    /// Its text on one line; `None` for an empty element.
    value: Option<String>,
    /// Whether a value with blanks is quoted.
    is_quoted: bool,
    /// Whether it is an element's text.
    is_text: bool,
    /// The number of dropped characters.
    lost: usize,
}

/// An element during reading.
struct Open {
    name: String,
    text: String,
    lost: usize,
    is_empty: bool,
    /// The mark before the text of a todo step.
    step: Option<&'static str>,
}

/// Reads a payload.
pub fn glance(body: &[u8]) -> PayloadGlance {
    let mut seen = read(body).unwrap_or_else(|| {
        let words = stand_in(body)
            .map_or_else(|| format!("{} bytes that are not a payload", body.len()), str::to_owned);
        let words =
            Field { name: String::new(), value: Some(words), is_quoted: false, is_text: true, lost: 0 };
        PayloadGlance { element: "?".to_owned(), fields: vec![words], ..PayloadGlance::default() }
    });
    seen.words = seen.line(limits::GLANCE_COLUMNS);
    seen
}

/// The sign in place of its first bytes, as a body has that is erased or left out whole.
pub fn stand_in(body: &[u8]) -> Option<&'static str> {
    let is_short = || !body.is_empty() && body.iter().all(|byte| *byte == b'*');
    let signs = [ERASED_TEXT, LEFT_OUT_TEXT];
    signs
        .into_iter()
        .find(|sign| body.starts_with(sign.as_bytes()))
        .or_else(|| is_short().then_some(ERASED_TEXT))
}

fn read(body: &[u8]) -> Option<PayloadGlance> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut seen = PayloadGlance::default();
    let most = most(limits::VALUE_BYTES);
    let mut open: Vec<Open> = Vec::new();
    let mut piece = String::new();
    while let Ok(step) = gate.read_step() {
        match step {
            GateStep::Open(tag)
                if tag.local == "goal-request" && gate.find_namespace(&tag) == Some(namespaces::WORKFLOW) =>
            {
                if let Some(above) = open.last_mut() {
                    above.is_empty = false;
                } else {
                    seen.element = tag.local.to_owned();
                }
                let told = goal::read_goal(&mut gate)?;
                seen.add(String::new(), told, 0, (false, true));
            }
            GateStep::Open(tag) => {
                let name = match open.last_mut() {
                    None => {
                        seen.element = cut(&plain(tag.local), limits::ELEMENT_COLUMNS);
                        String::new()
                    }
                    Some(above) => {
                        above.is_empty = false;
                        inward(&above.name, tag.local)
                    }
                };
                let element = seen.open(&gate, &tag, name);
                open.push(element);
            }
            GateStep::Text(text) => {
                let Some(element) = open.last_mut() else { continue };
                piece.clear();
                text.append_to(&mut piece);
                if element.text.len() < most {
                    element.text.push_str(&piece);
                } else {
                    element.lost += piece.chars().count();
                }
            }
            GateStep::Close => {
                let Some(element) = open.pop() else { continue };
                seen.close(element);
            }
            GateStep::Done => break,
            GateStep::Instruction => {}
        }
    }
    // If the document breaks off, the part before that is shown.
    while let Some(element) = open.pop() {
        seen.close(element);
    }
    (!seen.element.is_empty()).then_some(seen)
}

/// That many, or all if the layout cuts nothing.
fn most(kept: usize) -> usize {
    if layout::is_whole() { usize::MAX } else { kept }
}

/// The name of a child inside an element of that name.
fn inward(above: &str, local: &str) -> String {
    let local = plain(local);
    if above.is_empty() { local } else { format!("{above}.{local}") }
}

impl PayloadGlance {
    fn open(&mut self, gate: &XmlGate<'_>, tag: &XmlTag<'_>, name: String) -> Open {
        let mut element = Open { name, text: String::new(), lost: 0, is_empty: true, step: None };
        let is_core = gate.find_namespace(tag) == Some(namespaces::CORE);
        let is_root = element.name.is_empty();
        if is_root {
            self.is_core = is_core;
        }
        let told = |name: &str| gate.find_attribute(name).unwrap_or_default();
        match tag.local {
            "todo-until" if is_core => {
                self.add(String::new(), format!("until {}:", told("condition")), 0, (false, true));
                element.is_empty = false;
                return element;
            }
            "start" | "decided" if !is_root && self.is_of_workflow(gate, tag) => {
                self.add(String::new(), goal::describe_note(tag.local, told), 0, (false, true));
                element.is_empty = false;
                return element;
            }
            "step" if is_core => {
                element.step = Some(if told("done") == "true" { "[x] " } else { "[ ] " });
                return element;
            }
            _ => {}
        }
        for attribute in gate.attributes() {
            // Inside core payloads, attributes only number and label the text.
            let is_unsaid = UNSAID.contains(&attribute.local) || (self.is_core && !is_root);
            if !(is_core && is_unsaid) {
                self.add(
                    inward(&element.name, attribute.local),
                    attribute.value().into_owned(),
                    0,
                    (true, false),
                );
            }
            element.is_empty = false;
        }
        element
    }

    /// Whether an element belongs to the note of a workflow: it is in the namespace of the root, which has the
    /// workflow's name.
    fn is_of_workflow(&self, gate: &XmlGate<'_>, tag: &XmlTag<'_>) -> bool {
        let namespace = format!("https://xml-pipeline.org/ns/{}/v1", self.element);
        gate.find_namespace(tag) == Some(namespace.as_str()) && gate.find_attribute("key").is_some()
    }

    fn close(&mut self, element: Open) {
        let Open { name, text, lost, is_empty, step } = element;
        match step {
            Some(step) => self.add(String::new(), format!("{step}{text}"), lost, (false, true)),
            None if !text.trim().is_empty() => {
                // If the root has only text, it needs neither name nor quotes.
                let is_quoted = !name.is_empty() || !self.fields.is_empty();
                self.add(name, text, lost, (is_quoted, true));
            }
            None if is_empty && !name.is_empty() => {
                self.keep(Field { name, value: None, is_quoted: true, is_text: false, lost: 0 });
            }
            None => {}
        }
    }

    fn add(&mut self, name: String, text: String, lost: usize, (is_quoted, is_text): (bool, bool)) {
        let kept = cut_bytes(&text, most(limits::VALUE_BYTES));
        let lost = lost + text.get(kept.len()..).unwrap_or_default().chars().count();
        self.keep(Field { name, value: Some(plain(kept)), is_quoted, is_text, lost });
    }

    fn keep(&mut self, field: Field) {
        if self.fields.len() < most(limits::GLANCE_FIELDS) {
            return self.fields.push(field);
        }
        self.more.0 += 1;
        self.more.1 += field.characters();
    }

    /// Only its text in at most that many columns, without names and attributes: for a record whose other facts are
    /// already shown.
    pub fn text(mut self, columns: usize) -> String {
        self.fields.retain(|field| field.is_text);
        for field in &mut self.fields {
            field.name.clear();
            field.is_quoted = false;
        }
        self.line(columns)
    }

    /// Its fields in at most that many columns. Long values are cut before later fields are left out, and every cut
    /// says how much was cut.
    pub fn line(&self, columns: usize) -> String {
        let all = self.fields.len();
        let whole = self.join_fields(all, usize::MAX);
        if layout::is_whole() || width(&whole) <= columns {
            return whole;
        }
        let fits = |cap: usize| width(&self.join_fields(all, cap)) <= columns;
        if fits(limits::SHORT_COLUMNS) {
            let (mut least, mut most) = (limits::SHORT_COLUMNS, columns.max(limits::SHORT_COLUMNS));
            while least < most {
                let middle = (least + most).div_ceil(2);
                if fits(middle) { least = middle } else { most = middle - 1 }
            }
            return self.join_fields(all, least);
        }
        let few = (0..all)
            .rev()
            .map(|few| self.join_fields(few, limits::SHORT_COLUMNS))
            .find(|line| width(line) <= columns);
        few.unwrap_or_else(|| self.join_fields(0, limits::SHORT_COLUMNS))
    }

    /// The first fields, with each value limited to that many columns, and the size of the rest.
    fn join_fields(&self, few: usize, cap: usize) -> String {
        let shown = self.fields.iter().take(few).map(|field| field.show_field(cap));
        let left = self.fields.iter().skip(few);
        let fields = left.clone().count() + self.more.0;
        let characters = left.map(Field::characters).sum::<usize>() + self.more.1;
        let more = match fields {
            0 => None,
            1 => Some(format!("… 1 more field, {characters} characters")),
            _ => Some(format!("… {fields} more fields, {characters} characters")),
        };
        shown.chain(more).collect::<Vec<_>>().join(" ")
    }
}

impl Field {
    fn characters(&self) -> usize {
        self.name.chars().count() + self.value.as_ref().map_or(0, |value| value.chars().count()) + self.lost
    }

    fn show_field(&self, cap: usize) -> String {
        let Some(value) = &self.value else { return self.name.clone() };
        let shown = cut(value, cap);
        let lost = match shown.strip_suffix('…').filter(|_| shown != *value) {
            Some(kept) => self.lost + value.chars().count() - kept.chars().count(),
            None => self.lost,
        };
        let is_bare = !value.is_empty()
            && !value.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '='));
        let shown = match self.is_quoted && !is_bare {
            true if shown.contains('"') && !shown.contains('\'') => format!("'{shown}'"),
            true => format!("\"{}\"", shown.replace('"', "&quot;")),
            false => shown,
        };
        let equals = if self.name.is_empty() { "" } else { "=" };
        let more = if lost > 0 { format!(" ({lost} more)") } else { String::new() };
        format!("{}{equals}{shown}{more}", self.name)
    }
}

/// The longest beginning of at most that many bytes.
fn cut_bytes(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// The content of a `<system-error>` for a person.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SystemError {
    /// The code.
    pub code: String,
    /// The code of the first cause, if a listener reported the failure.
    pub first_code: Option<String>,
    /// The message.
    pub message: String,
    /// The path inside the refused payload.
    pub path: Option<String>,
    /// Line and column in the refused payload.
    pub place: Option<(String, String)>,
    /// What would have been accepted.
    pub expected: Option<String>,
    /// The received value.
    pub received: Option<String>,
    /// The fix.
    pub fix: Option<String>,
}

/// Reads a `<system-error>` or `<system-thread-error>`; `None` for any other payload.
pub fn read_error(body: &[u8]) -> Option<SystemError> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let Ok(GateStep::Open(root)) = gate.read_step() else { return None };
    let is_error = matches!(root.local, "system-error" | "system-thread-error");
    if !is_error || gate.find_namespace(&root) != Some(namespaces::CORE) {
        return None;
    }
    let attribute = |name: &str| gate.find_attribute(name).map(|value| plain(&value));
    let mut told = SystemError {
        code: attribute("code")?,
        first_code: attribute("first-code"),
        message: attribute("message")?,
        path: attribute("path"),
        place: attribute("line").zip(attribute("column")),
        ..SystemError::default()
    };
    let mut inside: Option<(&str, String)> = None;
    while let Ok(step) = gate.read_step() {
        match step {
            GateStep::Open(tag) => inside = Some((tag.local, String::new())),
            GateStep::Text(piece) => {
                if let Some((_, text)) = &mut inside {
                    piece.append_to(text);
                }
            }
            GateStep::Close => {
                let Some((name, text)) = inside.take() else { continue };
                let text = Some(plain(&text));
                match name {
                    "expected" => told.expected = text,
                    "received" => told.received = text,
                    "try" => told.fix = text,
                    _ => {}
                }
            }
            GateStep::Done => break,
            GateStep::Instruction => {}
        }
    }
    Some(told)
}

/// An attribute of a core payload's root, if the root has that name.
pub fn attribute(body: &[u8], element: &str, name: &str) -> Option<String> {
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let Ok(GateStep::Open(root)) = gate.read_step() else { return None };
    let is_it = root.local == element && gate.find_namespace(&root) == Some(namespaces::CORE);
    is_it.then(|| gate.find_attribute(name).map(std::borrow::Cow::into_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_core::rules::core_payload;
    use systole_core::types::codes::Code;
    use systole_core::types::refusal::Refusal;

    #[test]
    fn a_payload_is_its_element_and_its_words() {
        let seen = glance(b"<q xmlns='urn:t'><a>one</a><b>two\n\xe2\x80\xaethree</b></q>");
        assert_eq!(seen.element, "q");
        assert_eq!(seen.words, "a=one b=\"two \\u{202e}three\"");
    }

    #[test]
    fn the_steps_of_a_plan_are_told_apart() {
        let body = b"<boss xmlns='urn:boss'><thought>I plan.</thought><todo-until condition='it stands' \
            xmlns='https://xml-pipeline.org/ns/core/v1'><step done='true'>dig</step><step done='false'>build</step></todo-until></boss>";
        assert_eq!(glance(body).words, "thought=\"I plan.\" until it stands: [x] dig [ ] build");
    }

    #[test]
    fn bytes_that_are_no_payload_are_counted_and_not_shown() {
        assert_eq!(glance(b"\xff\xfe\x1b[31m").words, "7 bytes that are not a payload");
        assert_eq!(glance(b"").words, "0 bytes that are not a payload");
        assert_eq!(glance(b"[erased]***").words, "[erased]");
        assert_eq!(glance(b"***").words, "[erased]");
    }

    #[test]
    fn attributes_and_fields_have_names_and_cannot_be_faked_by_a_text() {
        for (body, words) in [
            (
                "<grant xmlns='urn:t' who='mallory' role='ADMIN'><why>new</why></grant>",
                "who=mallory role=ADMIN why=new",
            ),
            (
                "<create_file xmlns='urn:t' path='/etc/passwd'>root::0:0</create_file>",
                "path=/etc/passwd root::0:0",
            ),
            (
                "<pay xmlns='urn:t'><note>x amount=1</note><amount>9</amount></pay>",
                "note=\"x amount=1\" amount=9",
            ),
            (
                "<pay xmlns='urn:t'><to><who kind='a b'>m</who></to><urgent/></pay>",
                "to.who.kind=\"a b\" to.who=m urgent",
            ),
            ("<ask xmlns='urn:t'>What is a=b?</ask>", "What is a=b?"),
            ("<q xmlns='urn:t'><a>say &quot;yes&quot;</a></q>", "a='say \"yes\"'"),
            ("<q xmlns='urn:t'><a>it's &quot;it&quot;</a></q>", "a=\"it's &quot;it&quot;\""),
        ] {
            assert_eq!(glance(body.as_bytes()).words, words, "{body}");
        }
    }

    #[test]
    fn a_long_field_is_cut_before_a_later_one_is_left_out_and_says_how_much() {
        let body =
            format!("<pay xmlns='urn:t'><note>{}</note><amount>999999</amount></pay>", "word ".repeat(200));
        let line = glance(body.as_bytes()).line(60);
        assert!(line.starts_with("note=\"word") && line.ends_with(" more) amount=999999"), "{line}");
        let shown = line.matches("word").count() * 5;
        let lost: usize = line.split(['(', ' ']).find_map(|word| word.parse().ok()).unwrap();
        assert!((995..=1005).contains(&(shown + lost)), "{line}");
        assert!(width(&line) <= 60);
    }

    #[test]
    fn fields_that_do_not_fit_are_counted() {
        let many: String = (0..200).map(|n| format!("<f{n}>{}</f{n}>", "value ".repeat(9))).collect();
        let body = format!("<q xmlns='urn:t'>{many}</q>");
        let line = glance(body.as_bytes()).line(120);
        assert!(line.starts_with("f0=\"value") && line.contains(" more fields, "), "{line}");
        assert!(width(&line) <= 120);
    }

    #[test]
    fn what_is_long_is_cut() {
        let body = format!("<q xmlns='urn:t'>{}</q>", "word ".repeat(100_000));
        let seen = glance(body.as_bytes());
        assert!(width(&seen.words) <= limits::GLANCE_COLUMNS + 20, "{}", seen.words);
        assert!(seen.words.ends_with(" more)"), "{}", seen.words);
    }

    #[test]
    fn a_refusal_reads_back_with_place_and_repair() {
        let mut refusal = Refusal::new(Code::Invalid, "limit: 0 is less than 1")
            .with_expected("1 to 100")
            .with_received("<limit>0</limit>")
            .fixed_by("<limit>1</limit>");
        refusal.path = Some("/search/limit".to_owned());
        refusal.at = Some((3, 10));
        let told = read_error(&core_payload::system_error(&refusal)).unwrap();
        assert_eq!(
            (told.code.as_str(), told.message.as_str()),
            ("payload.invalid", "limit: 0 is less than 1")
        );
        assert_eq!(told.place, Some(("3".to_owned(), "10".to_owned())));
        assert_eq!(told.received.as_deref(), Some("<limit>0</limit>"));
        assert_eq!(told.fix.as_deref(), Some("<limit>1</limit>"));
        assert_eq!(super::read_error(&core_payload::write_handled()), None);
    }
}
