//! Mistakes in text that only a model reads: empty sections, markup that a model would take for the protocol,
//! characters that are invisible in the file. It also reads the files that sections name.
//!
//! Input: the declaration. Output: the texts of the files, and warnings. This module never changes a text.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use systole_agent::spec::Dialect;
use systole_agent::{sections, spec};
use systole_kit::schema::is_slip;
use systole_kit::writer::make_visible;

use super::agent_keys::AgentConfig;
use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::party::Party;
use super::prompt::USUAL;
use super::schemas::{Absent, Shelf};
use super::source::PROMPTS;
use super::stretch;
use super::tree::Span;
use super::value::{At, join_path};
use systole_core::types::codes::Code;
use systole_core::types::composition::Schema;

/// Reads the files that sections name. Returns each file once, for the stored configuration.
pub(super) fn fetch(
    diagnostics: &mut Diagnostics,
    declared: &mut Declared,
    shelf: &dyn Shelf,
) -> Vec<Schema> {
    let mut kept: Vec<Schema> = Vec::new();
    for party in &mut declared.parties {
        let path = format!("{}.prompt", party.path());
        for section in
            party.agent_config.iter_mut().flat_map(|agent_config| &mut agent_config.keys.prompt.value)
        {
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
                    diagnostics.report(Code::ConfigUnreadable, file.at, &message, &fix);
                }
            }
        }
    }
    kept
}

/// Rejects sections that a model would take for something else, or that do not end where they seem to.
pub(super) fn check(diagnostics: &mut Diagnostics, declared: &Declared, agents: &[spec::AgentSpec]) {
    let agents: HashMap<&str, &spec::AgentSpec> = agents.iter().map(|agent| (&*agent.name, agent)).collect();
    for party in &declared.parties {
        let Some(agent_config) = &party.agent_config else { continue };
        let Some(agent) = agents.get(&*party.key.value).copied() else { continue };
        for section in &agent_config.keys.prompt.value {
            let path = format!("{}.prompt.{}", party.path(), section.key.value);
            if sections::is_taken(agent, &section.key.value) {
                let message = format!(
                    "{path}: `{}` is the name of an element that means something else",
                    section.key.value
                );
                diagnostics.report_value(section.key.at, &message, "another name for the section");
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
                    diagnostics.report_value(
                        at,
                        &message,
                        "the text without the tag, or another name for the section",
                    );
                }
            }
        }
    }
}

/// All warnings about the prompts, unsorted, each with its sort position.
pub(super) fn warnings(diagnostics: &Diagnostics, declared: &Declared) -> Vec<(usize, Diagnostic)> {
    let mut lint = Lint { diagnostics, found: Vec::new() };
    if let Some(preamble) = &declared.organism.preamble {
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
        for section in &agent_config.keys.prompt.value {
            let path = join_path(&path, &section.key.value);
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
                    None => self.text(line, &path, markup(agent_config.keys.dialect.value)),
                    Some(file) => self.text(
                        line,
                        &format!("{path}: {}", file.value),
                        markup(agent_config.keys.dialect.value),
                    ),
                }
            }
        }
        let has = |name: &str| agent_config.keys.prompt.value.iter().any(|section| section.key.value == name);
        let mut slips = Vec::new();
        for section in &agent_config.keys.prompt.value {
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
                let words = format!("{path}: `{sign}` is markup by which house and model know what is what");
                let fix = "the thing in words; the agent explains its markup itself";
                self.warn(self.within(line, &(at..at + sign.len())), &words, fix);
            }
        }
        let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        self.character(line, path, "a control character", control);
        self.character(line, path, "an invisible character", |c| !c.is_control() && is_hidden(c));
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
    matches!(make_visible(c.encode_utf8(&mut [0; 4])), Cow::Owned(_))
}
