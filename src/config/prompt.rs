//! The sections of an agent's prompt, and mistakes in text that only a model reads: empty sections, markup that a
//! model would take for the protocol, characters that are invisible in the file.
//!
//! Input: the node, and later the declaration. Output: sections and warnings. This module never changes the text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use systole_agent::sections;
use systole_agent::spec::{self, Dialect};
use systole_kit::schema::{is_slip, nearest};
use systole_kit::writer::visible;

use super::agents::AgentConfig;
use super::declared::{Declared, Party};
use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::schemas::{Absent, Shelf};
use super::source::PROMPTS;
use super::stretch;
use super::value::{self, At, fields, joined};
use super::yaml::{Entry, Node, Span, Value};
use systole_core::types::codes::Code;
use systole_core::types::composition::Schema;

/// A section of the file.
#[derive(Clone)]
pub(super) struct Section {
    /// Its name.
    key: At<String>,
    /// One text, or the entries of a list.
    lines: Vec<At<String>>,
    is_list: bool,
    /// The file that holds the text.
    file: Option<At<String>>,
}

/// Sections that an agent makes itself, under all their usual names.
const MADE: [&str; 4] = ["environment", "response protocol", "response-protocol", "response_protocol"];

/// Names that most prompts have.
const USUAL: [&str; 3] = ["identity", "capabilities", "rules"];

/// Reads the sections of one prompt.
pub(super) fn read(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<Section> {
    if matches!(node.value, Value::Text { .. } | Value::List(_)) {
        value::wrong_kind(diagnostics, node, path, "a map", "{identity: TEXT, rules: [TEXT]}");
        return Vec::new();
    }
    let entries = value::map(diagnostics, node, node.span, path).unwrap_or_default();
    entries.iter().filter_map(|entry| section(diagnostics, entry, path)).collect()
}

fn section(diagnostics: &mut Diagnostics, entry: &Entry, path: &str) -> Option<Section> {
    let key = entry.key.as_str();
    if MADE.contains(&key) {
        let message = format!("{path}: the section `{key}` is made by the agent itself");
        diagnostics.report(Code::ConfigValue, entry.at, &message, Some("another name, or leave it out"));
        return None;
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let first = key.starts_with(|c: char| c.is_ascii_lowercase());
    if !first || key.len() > 63 || !key.bytes().all(fits) {
        let lower = key.to_lowercase();
        let near = nearest(&lower, USUAL.into_iter());
        let fix = near.unwrap_or("small letters, digits, - and _, a letter first; 63 at most");
        let message = format!("{path}: `{key}` is no name of a section");
        diagnostics.report(Code::ConfigValue, entry.at, &message, Some(fix));
        return None;
    }
    let path = joined(path, key);
    let is_list = matches!(entry.value.value, Value::List(_));
    if let Value::Map(entries) = &entry.value.value
        && entries.iter().any(|entry| entry.key == "file")
    {
        let own = fields(diagnostics, &entry.value, entry.at, "agents.NAME.prompt.NAME", &path)?;
        let file = own.need(diagnostics, "file", "file: PATH, from this file's folder");
        let file = file.and_then(|(node, path)| value::text(diagnostics, node, &path));
        let key = At { at: entry.at, value: entry.key.clone() };
        return Some(Section { key, lines: Vec::new(), is_list, file });
    }
    let lines = match &entry.value.value {
        Value::List(items) => items.iter().filter_map(|item| line(diagnostics, item, &path)).collect(),
        _ => line(diagnostics, &entry.value, &path).into_iter().collect(),
    };
    Some(Section { key: At { at: entry.at, value: entry.key.clone() }, lines, is_list, file: None })
}

/// A text of a section. It may be empty, which only causes a warning.
fn line(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<At<String>> {
    match &node.value {
        Value::Text { text, .. } => Some(At { at: node.span, value: text.clone() }),
        Value::Nothing => Some(At { at: node.span, value: String::new() }),
        Value::Reported => None,
        Value::List(_) | Value::Map(_) => {
            let fix = "a text, a list of texts, or {file: PATH}; quotes around one that has `: ` or begins with [ or {";
            value::wrong_kind(diagnostics, node, path, "a text", fix);
            None
        }
    }
}

/// Reads the files that sections name. Returns each file once, for the stored configuration.
pub(super) fn fetch(
    diagnostics: &mut Diagnostics,
    declared: &mut Declared,
    shelf: &dyn Shelf,
) -> Vec<Schema> {
    let mut kept: Vec<Schema> = Vec::new();
    for party in &mut declared.parties {
        let path = format!("{}.prompt", party.path());
        for section in party.agent_config.iter_mut().flat_map(|agent_config| &mut agent_config.prompt) {
            let Some(file) = section.file.clone() else { continue };
            let name = format!("{PROMPTS}{}", file.value);
            let known = kept.iter().find(|text| text.name == name).map(|text| Ok(Arc::clone(&text.text)));
            let read = known.unwrap_or_else(|| shelf.prompt(&file.value)).and_then(|bytes| {
                let text =
                    std::str::from_utf8(&bytes).map(|text| text.trim_start_matches('\u{feff}').to_owned());
                let why = |_| Absent { why: format!("{}: it is not UTF-8", file.value), fix: None };
                text.map(|text| (bytes, text)).map_err(why)
            });
            match read {
                Ok((bytes, text)) => {
                    section.lines = vec![At { at: file.at, value: text }];
                    if !kept.iter().any(|text| text.name == name) {
                        kept.push(Schema { name, text: bytes });
                    }
                }
                Err(Absent { why, fix }) => {
                    let message = format!("{path}.{}.file: {why}", section.key.value);
                    let fix = fix
                        .unwrap_or_else(|| "the path of a text in UTF-8, from this file's folder".to_owned());
                    diagnostics.report(Code::ConfigUnreadable, file.at, &message, Some(&fix));
                }
            }
        }
    }
    kept
}

/// Rejects sections that a model would take for something else, or that do not end where they seem to.
pub(super) fn check(diagnostics: &mut Diagnostics, declared: &Declared, agents: &[spec::Agent]) {
    let agents: HashMap<&str, &spec::Agent> = agents.iter().map(|agent| (&*agent.name, agent)).collect();
    for party in &declared.parties {
        let Some(agent_config) = &party.agent_config else { continue };
        let Some(agent) = agents.get(&*party.key.value).copied() else { continue };
        for section in &agent_config.prompt {
            let path = format!("{}.prompt.{}", party.path(), section.key.value);
            if sections::is_taken(agent, &section.key.value) {
                let message = format!(
                    "{path}: `{}` is the name of an element that means something else",
                    section.key.value
                );
                diagnostics.report(
                    Code::ConfigValue,
                    section.key.at,
                    &message,
                    Some("another name for the section"),
                );
            }
            for line in &section.lines {
                if let Some(part) = sections::end_tag(agent, &line.value) {
                    let tag = line.value.get(part.clone()).unwrap_or_default();
                    let message = format!(
                        "{path}: {}`{tag}` ends a section of the prompt",
                        section.place(&line.value, part.start)
                    );
                    // For a text from another file, this is the name of that file.
                    let at = stretch::within(&diagnostics.text(), line.at, &line.value, &part);
                    diagnostics.report(
                        Code::ConfigValue,
                        at,
                        &message,
                        Some("the text without the tag, or another name for the section"),
                    );
                }
            }
        }
    }
}

impl Section {
    /// The place of an offset in the text, if the text comes from a file.
    fn place(&self, text: &str, at: usize) -> String {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        self.file.as_ref().map(|file| format!("{}, line {line}: ", file.value)).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.value.trim().is_empty())
    }

    /// The section in the form for agents. `None` if it is empty.
    pub(super) fn spec(&self) -> Option<spec::Section> {
        let lines = self.lines.iter().map(|line| line.value.clone());
        (!self.is_empty()).then(|| spec::Section {
            name: self.key.value.clone(),
            lines: lines.filter(|line| !line.trim().is_empty()).collect(),
            is_list: self.is_list,
        })
    }
}

/// All warnings about the prompts, unsorted, each with its sort position.
pub(super) fn warnings(diagnostics: &Diagnostics, declared: &Declared) -> Vec<(usize, Diagnostic)> {
    let mut lint = Lint { diagnostics, found: Vec::new() };
    if let Some(preamble) = &declared.preamble {
        lint.text(preamble, "organism.preamble", &[CORE]);
    }
    for party in &declared.parties {
        if let Some(agent_config) = &party.agent_config {
            lint.prompt(party, agent_config);
        }
    }
    lint.found
}

/// The start of a core payload in every dialect's view.
const CORE: &str = "<core-";

/// The markup of the dialect. In a prompt, a model would take it for the real thing.
fn markup(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Xml => &["<attempt_completion>", "<tool_result", CORE],
        Dialect::XmlFinal => &["<systole-", CORE],
        Dialect::Native | Dialect::Plain => &[CORE],
    }
}

struct Lint<'d> {
    diagnostics: &'d Diagnostics,
    found: Vec<(usize, Diagnostic)>,
}

impl Lint<'_> {
    fn warn(&mut self, at: Span, words: &str, fix: &str) {
        let message = Diagnostic::new(Code::ConfigPrompt, self.diagnostics.place(at), words, Some(fix));
        self.found.push((at.start, message));
    }

    fn prompt(&mut self, party: &Party, agent_config: &AgentConfig) {
        let path = format!("{}.prompt", party.path());
        for section in &agent_config.prompt {
            let path = joined(&path, &section.key.value);
            if section.is_empty() {
                let words = format!("{path}: the section is empty, so that it is left out");
                self.warn(section.key.at, &words, "a text, or leave the key out");
            }
            for line in &section.lines {
                if section.is_list && !section.is_empty() && line.value.trim().is_empty() {
                    let words = format!("{path}: an entry is empty, so that it is left out");
                    self.warn(line.at, &words, "a text, or leave the entry out");
                }
                match &section.file {
                    None => self.text(line, &path, markup(agent_config.dialect)),
                    Some(file) => {
                        self.text(line, &format!("{path}: {}", file.value), markup(agent_config.dialect))
                    }
                }
            }
        }
        let has = |name: &str| agent_config.prompt.iter().any(|section| section.key.value == name);
        let mut slips = Vec::new();
        for section in &agent_config.prompt {
            let key = section.key.value.as_str();
            let meant = USUAL.into_iter().find(|usual| is_slip(key, usual) && !has(usual));
            if let Some(meant) = meant {
                let words = format!("{path}: `{key}` is an additional section; did you mean `{meant}`");
                self.warn(section.key.at, &words, meant);
                slips.push(meant);
            }
        }
        if !has("identity") && !slips.contains(&"identity") {
            let words = format!("{path} has no `identity`, so that nothing says what the agent is");
            self.warn(party.key.at, &words, "prompt: {identity: You answer questions.}");
        }
    }

    /// Checks a text and reports each kind of mistake once.
    fn text(&mut self, line: &At<String>, path: &str, markup: &[&str]) {
        let text = line.value.as_str();
        for sign in markup {
            if let Some(at) = text.find(sign) {
                let words = [path, ": `", sign, "` is markup by which house and model know what is what"];
                let fix = "the thing in words; the agent explains its markup itself";
                self.warn(self.within(line, &(at..at + sign.len())), &words.concat(), fix);
            }
        }
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        self.character(line, path, "a control character", control);
        self.character(line, path, "a character that nobody sees", |c| !c.is_control() && is_hidden(c));
    }

    fn character(&mut self, line: &At<String>, path: &str, what: &str, is_it: impl Fn(char) -> bool) {
        if let Some((at, c)) = line.value.char_indices().find(|(_, c)| is_it(*c)) {
            let number = format!("U+{:04X}", u32::from(c));
            let words = format!("{path}: {what} stands in it, {number}");
            self.warn(self.within(line, &(at..at + c.len_utf8())), &words, "the text without it");
        }
    }

    fn within(&self, line: &At<String>, part: &Range<usize>) -> Span {
        stretch::within(&self.diagnostics.text(), line.at, &line.value, part)
    }
}

/// Characters that are escaped for the terminal are also invisible in the file.
fn is_hidden(c: char) -> bool {
    matches!(visible(c.encode_utf8(&mut [0; 4])), Cow::Owned(_))
}
