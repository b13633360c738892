//! Moves `payloads` out of an organism's file: their schema goes into its own file, which is then listed
//! under `schemas`. Every other byte of the organism's file stays the same.
//!
//! Input: the path. Output: the new text; the caller writes it. If the section cannot be edited safely, the
//! result says what to write by hand. The new text is loaded again and must mean the same.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::diagnostic::FileMistakes;
use super::diagnostics::{Diagnostics, Given};
use super::era::Era;
use super::keys;
use super::schemas::{Absent, PAYLOADS, Shelf};
use super::tree::{Entry, Node, Value};
use super::{Page, check, folder, load, yaml};
use systole_core::types::composition::{Composition, ElementSchema, Schema};

/// The result: two texts to write.
#[derive(Clone, Debug)]
pub struct EjectedTexts {
    /// The schema, with the name that the file then uses for it.
    pub schema: Schema,
    /// The file without its payloads and with that schema.
    pub file: String,
    /// Comments inside the removed section, which are lost.
    pub comments: Vec<String>,
}

/// Why payloads were not moved.
#[derive(Clone, Debug)]
pub enum NotEjected {
    /// The file is rejected.
    Refused(FileMistakes),
    /// It declares no payloads.
    Nothing,
    /// Its layout is one that only a person should edit. Contains the schema.
    ByHand(Schema),
}

/// Computes the result. Writes nothing.
pub fn eject(path: &Path) -> Result<EjectedTexts, NotEjected> {
    let organism = load(path).map_err(NotEjected::Refused)?.composition;
    let made = organism.schemas.iter().find(|schema| schema.name == PAYLOADS);
    let text = Arc::clone(&made.ok_or(NotEjected::Nothing)?.text);
    let schema = Schema { name: format!("schemas/{}.xsd", organism.organism.as_str()), text };
    let by_hand = || NotEjected::ByHand(schema.clone());
    let file = folder::organism_text(path).map_err(NotEjected::Refused)?;
    let mut diagnostics = Diagnostics::new("", &file, &[], Given::Any, keys::is_required);
    let stretch = diagnostics.file();
    let root = yaml::read(&mut diagnostics, stretch).ok_or_else(by_hand)?;
    let edited = edit(&file, &root, &schema.name).ok_or_else(by_hand)?;
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let folder = folder::Folder { path: directory.clone(), as_typed: directory.clone(), is_only_read: false };
    let shelf = With { shelf: &folder, name: &schema.name, text: Arc::clone(&schema.text) };
    let page =
        Page { file: "", text: edited.text.as_str().into(), settings: &[], lies: None, has_scripts: true };
    let again = check(page, &shelf, &directory, Given::Any, Era::NOW);
    if !again.is_ok_and(|again| mean_the_same(&organism, &again.composition)) {
        return Err(by_hand());
    }
    Ok(EjectedTexts { schema, file: edited.text, comments: edited.comments })
}

/// The text of a file without its payloads.
struct Edited {
    text: String,
    /// Comments inside the removed section, which are lost.
    comments: Vec<String>,
}

/// Replaces `payloads` by a schema with this name. `None` if the layout is one that only a person should
/// edit.
fn edit(text: &str, root: &Node, name: &str) -> Option<Edited> {
    let Value::Map(entries) = &root.value else { return None };
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    let payloads = find("payloads")?;
    let block = Block::of(text, payloads)?;
    let end_of_line = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut changes = Vec::new();
    match find("schemas") {
        None => {
            let behind = if block.is_flow { "" } else { end_of_line };
            changes.push((block.removed.clone(), format!("schemas: [{name}]{behind}")));
        }
        Some(schemas) => {
            // A comment after a block in braces stays, and so does its line.
            let whole = block.is_flow && block.rest_of_line(text).trim().is_empty();
            let removed = if whole { block.line(text) } else { block.removed.clone() };
            changes.push((removed, String::new()));
            changes.push(find_addition(text, &schemas.value, name, end_of_line)?);
        }
    }
    // From the end to the start, so that no change moves another.
    changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut edited = text.to_owned();
    for (place, written) in changes {
        edited.get(place.clone())?;
        edited.replace_range(place, &written);
    }
    let comments = text.get(block.removed).unwrap_or_default().lines().filter_map(comment);
    Some(Edited { text: edited, comments: comments.collect() })
}

/// The place of the section.
struct Block {
    is_flow: bool,
    /// From the key to the end of a value in brackets, or else to the end of the last line.
    removed: Range<usize>,
}

impl Block {
    fn of(text: &str, payloads: &Entry) -> Option<Block> {
        let start = payloads.at.start;
        let line = line_start(text, start);
        // In braces, or after `---` or `?`, the section does not have its own lines.
        if line != start {
            return None;
        }
        let is_flow = is_flow(text, &payloads.value);
        let last = end_of(text, &payloads.value);
        let end = if is_flow { last } else { line_end(text, last) };
        Some(Block { is_flow, removed: start..end })
    }

    fn rest_of_line<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.removed.end..line_end(text, self.removed.end)).unwrap_or_default()
    }

    fn line(&self, text: &str) -> Range<usize> {
        self.removed.start..line_end(text, self.removed.end)
    }
}

/// The end of a value. The parser ends a map or list without brackets only where the next entry begins, after
/// the comments between. So this returns the end of its last entry.
fn end_of(text: &str, node: &Node) -> usize {
    let last = match &node.value {
        Value::Map(entries) if !is_flow(text, node) => entries.last().map(|entry| &entry.value),
        Value::List(items) if !is_flow(text, node) => items.last(),
        _ => None,
    };
    last.map_or(node.span.end, |last| end_of(text, last))
}

fn is_flow(text: &str, node: &Node) -> bool {
    matches!(text.as_bytes().get(node.span.start), Some(b'{' | b'['))
}

fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

/// The position after the line break that ends the line of `at`.
fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |length| at + length + 1)
}

/// The comment of a line, if it has one outside quotes.
fn comment(line: &str) -> Option<String> {
    let whole = line.trim_start();
    if whole.starts_with('#') {
        return Some(whole.trim_end().to_owned());
    }
    let (before, comment) = line.rsplit_once(" #")?;
    let quoted = |sign| before.matches(sign).count() % 2 == 1;
    (!quoted('\'') && !quoted('"')).then(|| format!("#{}", comment.trim_end()))
}

/// Adds an entry to the list `schemas`.
fn find_addition(
    text: &str,
    schemas: &Node,
    name: &str,
    end_of_line: &str,
) -> Option<(Range<usize>, String)> {
    let Value::List(items) = &schemas.value else { return None };
    let Some(last) = items.last() else {
        // `[]` is the only form of an empty list.
        return Some((schemas.span.start + 1..schemas.span.start + 1, name.to_owned()));
    };
    if is_flow(text, schemas) {
        return Some((last.span.end..last.span.end, format!(", {name}")));
    }
    let start = line_start(text, last.span.start);
    let before = text.get(start..last.span.start)?;
    if before.trim() != "-" {
        return None;
    }
    let end = line_end(text, last.span.end);
    let is_last_line = !text.get(..end)?.ends_with('\n');
    let entry = if is_last_line {
        format!("{end_of_line}{before}{name}")
    } else {
        format!("{before}{name}{end_of_line}")
    };
    Some((end..end, entry))
}

/// A shelf that already has the new schema.
struct With<'s> {
    shelf: &'s dyn Shelf,
    name: &'s str,
    text: Arc<[u8]>,
}

impl Shelf for With<'_> {
    fn find_made(&self, name: &str) -> Option<Arc<[u8]>> {
        self.shelf.find_made(name)
    }

    fn find(&self, name: &str) -> Result<std::path::PathBuf, Absent> {
        self.shelf.find(name)
    }

    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Absent> {
        self.shelf.read(name)
    }

    fn prompt(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        self.shelf.prompt(name)
    }

    fn house(&self) -> [Schema; 2] {
        self.shelf.house()
    }

    fn vocabularies(&self) -> Vec<Schema> {
        self.shelf.vocabularies()
    }

    fn payloads(&self) -> Option<Arc<[u8]>> {
        self.shelf.payloads()
    }

    fn show_name(&self, name: &str) -> String {
        self.shelf.show_name(name)
    }

    fn take(&self, name: &str) -> Result<Arc<[u8]>, Absent> {
        if name == self.name { Ok(Arc::clone(&self.text)) } else { self.shelf.take(name) }
    }

    fn is_proved(&self) -> bool {
        self.shelf.is_proved()
    }
}

/// Whether two compositions accept and return the same elements, judged by the same schema texts.
fn mean_the_same(one: &Composition, other: &Composition) -> bool {
    let words = |composition: &Composition| {
        let text = |element: &ElementSchema| {
            let schema = composition.schemas.get(element.schema.0);
            (element.name.clone(), schema.map(|schema| Arc::clone(&schema.text)))
        };
        let listeners = composition.listeners.values();
        let all = listeners.map(|listener| {
            let accepts: Vec<_> = listener.accepts.iter().map(text).collect();
            let returns: Vec<_> = listener.returns.iter().map(text).collect();
            (listener.name.clone(), accepts, returns)
        });
        all.collect::<Vec<_>>()
    };
    words(one) == words(other)
}
