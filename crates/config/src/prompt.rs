//! The sections of an agent's prompt.
//!
//! Input: the node. Output: sections. This module never changes the text.

use systole_agent::spec;
use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::forms::AnyText;
use super::key::{KeyForm, KeyRow};
use super::section::{SectionKeys, form, section};
use super::tree::{Entry, Node, Value};
use super::value::{self, At, join_path};

/// A section of the file.
#[derive(Clone)]
pub(super) struct Section {
    /// Its name.
    pub(super) key: At<String>,
    /// One text, or the entries of a list.
    pub(super) lines: Vec<At<String>>,
    pub(super) is_list: bool,
    /// The file that holds the text.
    pub(super) file: Option<At<String>>,
}

/// Sections that an agent makes itself, under all their usual names.
const MADE: [&str; 3] = ["response protocol", "response-protocol", "response_protocol"];

/// Names that most prompts have.
pub(super) const USUAL: [&str; 3] = ["identity", "capabilities", "rules"];

form! {
    /// The sections of one prompt.
    pub(super) PromptSections -> Vec<Section> {
        KeyForm::Names("^[a-z][a-z0-9_-]{0,62}$"), read_sections, below &[KeyRow::any_name(
            "none", "a section: a text, a list of texts, or a file", KeyForm::LinesOrMap, PromptFile::ROWS,
        )]
    }
}

section! { PromptFile {
    file: required("file: PATH, from this file's folder") <AnyText> "a file with the text in UTF-8, a path from this file's folder; its text is part of the configuration";
} }

fn read_sections(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<Vec<Section>> {
    if matches!(node.value, Value::Text { .. } | Value::List(_)) {
        value::wrong_kind(diagnostics, node, path, "a map", "{identity: TEXT, rules: [TEXT]}");
        return None;
    }
    let entries = value::map(diagnostics, node, node.span, path)?;
    Some(entries.iter().filter_map(|entry| read_section(diagnostics, entry, path)).collect())
}

fn read_section(diagnostics: &mut Diagnostics, entry: &Entry, path: &str) -> Option<Section> {
    let key = entry.key.as_str();
    if MADE.contains(&key) {
        let message = format!("{path}: the section `{key}` is made by the agent itself");
        diagnostics.report_value(entry.at, &message, "another name, or leave it out");
        return None;
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let first = key.starts_with(|c: char| c.is_ascii_lowercase());
    if !first || key.len() > 63 || !key.bytes().all(fits) {
        let lower = key.to_lowercase();
        let near = find_nearest(&lower, USUAL.into_iter());
        let fix = near.unwrap_or("small letters, digits, - and _, a letter first; 63 at most");
        let message = format!("{path}: `{key}` is no name of a section");
        diagnostics.report_value(entry.at, &message, fix);
        return None;
    }
    let path = join_path(path, key);
    let is_list = matches!(entry.value.value, Value::List(_));
    if let Value::Map(entries) = &entry.value.value
        && entries.iter().any(|entry| entry.key == "file")
    {
        let file = PromptFile::read_at(diagnostics, &entry.value, entry.at, &path)?.file;
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

impl Section {
    /// The place of an offset in the text, if the text comes from a file.
    pub(super) fn place(&self, text: &str, at: usize) -> String {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        self.file.as_ref().map(|file| format!("{}, line {line}: ", file.value)).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.value.trim().is_empty())
    }

    /// The section in the form for agents. `None` if it is empty.
    pub(super) fn spec(&self) -> Option<spec::PromptSection> {
        let lines = self.lines.iter().map(|line| line.value.clone());
        (!self.is_empty()).then(|| spec::PromptSection {
            name: self.key.value.clone(),
            lines: lines.filter(|line| !line.trim().is_empty()).collect(),
            is_list: self.is_list,
        })
    }
}
