//! The sections of an agent's prompt, and what may be wrong with words that nobody but a model reads: sections
//! that say nothing, markup that a model would take for the protocol, characters that no reader of the file sees.
//!
//! In come the node and later the declaration, out come sections and warnings. It never changes the text.

use std::borrow::Cow;
use std::ops::Range;

use systole_agent::spec::{self, Dialect};
use systole_kit::schema::{is_slip, nearest};
use systole_kit::writer::visible;

use super::agents::Mind;
use super::declared::{Declared, Party};
use super::desk::Desk;
use super::diagnostic::Diagnostic;
use super::stretch;
use super::value::{self, At, joined};
use super::yaml::{Entry, Node, Span, Value};
use crate::words::codes::Code;

/// A section as it stands in the file.
#[derive(Clone)]
pub(super) struct Section {
    /// Its name.
    key: At<String>,
    /// One text, or the entries of a list.
    lines: Vec<At<String>>,
    is_list: bool,
}

/// Sections that an agent makes itself, under every name that people give them.
const MADE: [&str; 4] = ["environment", "response protocol", "response-protocol", "response_protocol"];

/// Names that most prompts have.
const USUAL: [&str; 3] = ["identity", "capabilities", "rules"];

/// Reads the sections of one prompt.
pub(super) fn read(desk: &mut Desk, node: &Node, path: &str) -> Vec<Section> {
    if matches!(node.value, Value::Text { .. } | Value::List(_)) {
        value::wrong_kind(desk, node, path, "a map", "{identity: TEXT, rules: [TEXT]}");
        return Vec::new();
    }
    let entries = value::map(desk, node, node.span, path).unwrap_or_default();
    entries.iter().filter_map(|entry| section(desk, entry, path)).collect()
}

fn section(desk: &mut Desk, entry: &Entry, path: &str) -> Option<Section> {
    let key = entry.key.as_str();
    if MADE.contains(&key) {
        let told = [path, ": the section `", key, "` is made by the agent itself"].concat();
        desk.tell(Code::ConfigValue, entry.at, &told, Some("another name, or leave it out"));
        return None;
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let first = key.starts_with(|c: char| c.is_ascii_lowercase());
    if !first || key.len() > 63 || !key.bytes().all(fits) {
        let lower = key.to_lowercase();
        let near = nearest(&lower, USUAL.into_iter());
        let mend = near.unwrap_or("small letters, digits, - and _, a letter first; 63 at most");
        let told = [path, ": `", key, "` is no name of a section"].concat();
        desk.tell(Code::ConfigValue, entry.at, &told, Some(mend));
        return None;
    }
    let path = joined(path, key);
    let is_list = matches!(entry.value.value, Value::List(_));
    let lines = match &entry.value.value {
        Value::List(items) => items.iter().filter_map(|item| line(desk, item, &path)).collect(),
        _ => line(desk, &entry.value, &path).into_iter().collect(),
    };
    Some(Section { key: At { at: entry.at, value: entry.key.clone() }, lines, is_list })
}

/// A text of a section, which may be empty: that is warned of and hinders nothing.
fn line(desk: &mut Desk, node: &Node, path: &str) -> Option<At<String>> {
    match &node.value {
        Value::Text { text, .. } => Some(At { at: node.span, value: text.clone() }),
        Value::Nothing => Some(At { at: node.span, value: String::new() }),
        Value::Told => None,
        Value::List(_) | Value::Map(_) => {
            let mend = "a text or a list of texts; quotes around one that has `: ` or begins with [ or {";
            value::wrong_kind(desk, node, path, "a text", mend);
            None
        }
    }
}

impl Section {
    fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.value.trim().is_empty())
    }

    /// The section as the agent has it; none where it says nothing.
    pub(super) fn spec(&self) -> Option<spec::Section> {
        let lines = self.lines.iter().map(|line| line.value.clone());
        (!self.is_empty()).then(|| spec::Section {
            name: self.key.value.clone(),
            lines: lines.filter(|line| !line.trim().is_empty()).collect(),
            is_list: self.is_list,
        })
    }
}

/// Everything in the prompts that may not be meant, in no order, each with the place it is sorted by.
pub(super) fn warnings(desk: &Desk, declared: &Declared) -> Vec<(usize, Diagnostic)> {
    let mut lint = Lint { desk, found: Vec::new() };
    if let Some(preamble) = &declared.preamble {
        lint.text(preamble, "organism.preamble", &[CORE]);
    }
    for party in &declared.parties {
        if let Some(mind) = &party.mind {
            lint.prompt(party, mind);
        }
    }
    lint.found
}

/// What begins a payload of the core in every dialect's view.
const CORE: &str = "<core-";

/// How the dialect marks what is not prose; in a prompt a model takes it for the thing itself.
fn markup(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Xml => &["<attempt_completion>", "<tool_result", CORE],
        Dialect::XmlFinal => &["<systole-", CORE],
        Dialect::Native | Dialect::Plain => &[CORE],
    }
}

struct Lint<'d> {
    desk: &'d Desk,
    found: Vec<(usize, Diagnostic)>,
}

impl Lint<'_> {
    fn warn(&mut self, at: Span, words: &str, mend: &str) {
        let told = Diagnostic::new(Code::ConfigPrompt, self.desk.place(at), words, Some(mend));
        self.found.push((at.start, told));
    }

    fn prompt(&mut self, party: &Party, mind: &Mind) {
        let path = [&party.path(), ".prompt"].concat();
        for section in &mind.prompt {
            let path = joined(&path, &section.key.value);
            if section.is_empty() {
                let words = [&path, ": the section is empty, so that it is left out"].concat();
                self.warn(section.key.at, &words, "a text, or leave the key out");
            }
            for line in &section.lines {
                if section.is_list && !section.is_empty() && line.value.trim().is_empty() {
                    let words = [&path, ": an entry is empty, so that it is left out"].concat();
                    self.warn(line.at, &words, "a text, or leave the entry out");
                }
                self.text(line, &path, markup(mind.dialect));
            }
        }
        let has = |name: &str| mind.prompt.iter().any(|section| section.key.value == name);
        let mut slips = Vec::new();
        for section in &mind.prompt {
            let key = section.key.value.as_str();
            let meant = USUAL.into_iter().find(|usual| is_slip(key, usual) && !has(usual));
            if let Some(meant) = meant {
                let words = format!("{path}: `{key}` is an additional section; did you mean `{meant}`");
                self.warn(section.key.at, &words, meant);
                slips.push(meant);
            }
        }
        if !has("identity") && !slips.contains(&"identity") {
            let words = [&path, " has no `identity`, so that nothing says what the agent is"].concat();
            self.warn(party.key.at, &words, "prompt: {identity: You answer questions.}");
        }
    }

    /// What stands in a text, each kind once.
    fn text(&mut self, line: &At<String>, path: &str, markup: &[&str]) {
        let text = line.value.as_str();
        for sign in markup {
            if let Some(at) = text.find(sign) {
                let words = [path, ": `", sign, "` is markup by which house and model know what is what"];
                let mend = "the thing in words; the agent explains its markup itself";
                self.warn(self.within(line, &(at..at + sign.len())), &words.concat(), mend);
            }
        }
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        self.character(line, path, "a control character", control);
        self.character(line, path, "a character that nobody sees", |c| !c.is_control() && is_hidden(c));
    }

    fn character(&mut self, line: &At<String>, path: &str, what: &str, is_it: impl Fn(char) -> bool) {
        if let Some((at, c)) = line.value.char_indices().find(|(_, c)| is_it(*c)) {
            let number = format!("U+{:04X}", u32::from(c));
            let words = [path, ": ", what, " stands in it, ", &number].concat();
            self.warn(self.within(line, &(at..at + c.len_utf8())), &words, "the text without it");
        }
    }

    fn within(&self, line: &At<String>, part: &Range<usize>) -> Span {
        stretch::within(&self.desk.text(), line.at, &line.value, part)
    }
}

/// What the terminal would have to be spared is what no reader of the file sees either.
fn is_hidden(c: char) -> bool {
    matches!(visible(c.encode_utf8(&mut [0; 4])), Cow::Owned(_))
}
