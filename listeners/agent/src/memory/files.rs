//! Files in questions, in file fields and in the answers of tools: in the text each has a number, which stays the same in the
//! conversation. The model never sees a hash.
//!
//! Events come in; the same events go out, with a line in place of each reference. It reads no bytes.

use std::ops::Range;

use systole_kit::attributes::AttributeWalk;
use systole_kit::file_reference::{FileReference, FileSource, list_files};
use systole_kit::gate::XmlGate;
use systole_kit::{DocumentLimits, Payload, namespaces};

use super::event::{CallEvent, OverheardMessage};
use crate::limits::{KILOBYTE, MEGABYTE};
use crate::model::{FileKind, MessageFile};
use crate::show::escape_markup;

/// The files of a conversation, in order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileNumbers(Vec<FileReference>);

impl FileNumbers {
    fn find_number(&mut self, file: &FileReference) -> usize {
        if let Some(at) = self.0.iter().position(|known| known.hash == file.hash) {
            return at + 1;
        }
        self.0.push(file.clone());
        self.0.len()
    }

    /// The file with that number, as a model writes it.
    pub(crate) fn find_file(&self, number: &str) -> Option<&FileReference> {
        self.0.get(number.trim().parse::<usize>().ok()?.checked_sub(1)?)
    }

    /// Whether one of the files has that hash.
    pub(crate) fn has_hash(&self, hash: &str) -> bool {
        self.0.iter().any(|known| known.hash == hash)
    }

    /// The files as a model was shown them.
    pub(crate) fn list_lines(&self) -> Vec<String> {
        (1..).zip(&self.0).map(|(number, file)| write_line(number, file, true)).collect()
    }

    /// The event with its files named. `None` if it has none.
    pub(super) fn name_files(&mut self, takes: &[FileKind], happened: &CallEvent) -> Option<CallEvent> {
        match happened {
            CallEvent::Request { from, payload, .. } => {
                let (lines, files) = self.list_named(takes, payload)?;
                let payload = match payload.name().is_named(namespaces::TALK, "ask-with") {
                    true => {
                        let lines = lines.into_iter().map(|(_, line)| line);
                        let words = std::iter::once(read_question(payload)?).chain(lines).collect::<Vec<_>>();
                        Payload::write(namespaces::TALK, "ask", |inside| inside.text(&words.join("\n")))
                    }
                    false => replace_references(payload, &lines)?,
                };
                Some(CallEvent::Request { from: from.clone(), payload, files })
            }
            CallEvent::Turn(turn) => {
                let mut named = None;
                for (at, inside) in turn.inside.iter().enumerate() {
                    let Some(payload) = self.name_overheard(&inside.payload) else { continue };
                    let turn = named.get_or_insert_with(|| turn.clone());
                    turn.inside.get_mut(at).into_iter().for_each(|own| own.payload = payload.clone());
                }
                for (at, answer) in turn.answers.iter().enumerate() {
                    let Some((lines, files)) = self.list_named(takes, &answer.payload) else { continue };
                    let turn = named.get_or_insert_with(|| turn.clone());
                    let Some(own) = turn.answers.get_mut(at) else { continue };
                    let payload = replace_references(&answer.payload, &lines);
                    (own.payload, own.files) = (payload.unwrap_or_else(|| answer.payload.clone()), files);
                }
                named.map(CallEvent::Turn)
            }
            CallEvent::Overheard(overheard) => {
                let payload = self.name_overheard(&overheard.payload)?;
                Some(CallEvent::Overheard(OverheardMessage { payload, ..overheard.clone() }))
            }
        }
    }

    /// A message between others: what they show each other is not shown here.
    fn name_overheard(&mut self, payload: &Payload) -> Option<Payload> {
        let (lines, _) = self.list_named(&[], payload)?;
        replace_references(payload, &lines)
    }

    /// A line for each file of a payload, and the files that the model sees. `None` if it refers to none.
    fn list_named(
        &mut self,
        takes: &[FileKind],
        payload: &Payload,
    ) -> Option<(Vec<FileLine>, Vec<MessageFile>)> {
        let found = list_files(payload.bytes());
        let (mut lines, mut files) = (Vec::with_capacity(found.len()), Vec::new());
        for file in &found {
            let number = self.find_number(file);
            let kind = FileKind::from_type(&file.media_type).filter(|kind| takes.contains(kind));
            lines.push((number, write_line(number, file, kind.is_some())));
            files.extend(kind.map(|kind| MessageFile {
                number,
                hash: file.hash.clone(),
                kind,
                media_type: file.media_type.clone(),
                bytes: file.bytes.unwrap_or_default(),
                content: Err("its bytes were not read".to_owned()),
            }));
        }
        (!lines.is_empty()).then_some((lines, files))
    }
}

/// The question of an `<ask-with>`.
fn read_question(payload: &Payload) -> Option<String> {
    let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    gate.read_step().ok()?;
    gate.read_child().ok()??;
    gate.text_inside().ok()
}

/// `[file 1: image/png, 48 KB]`
fn write_line(number: usize, file: &FileReference, is_taken: bool) -> String {
    let size = file.bytes.map(|bytes| format!(", {}", spell_size(bytes))).unwrap_or_default();
    let why = if is_taken { "" } else { ", not shown" };
    let name = file.name.as_ref().map(|name| format!("{name}, ")).unwrap_or_default();
    format!("[file {number}: {name}{}{size}{why}]", file.media_type)
}

fn spell_size(bytes: u64) -> String {
    match bytes {
        0..KILOBYTE => format!("{bytes} bytes"),
        KILOBYTE..MEGABYTE => format!("{} KB", bytes.div_ceil(KILOBYTE)),
        _ => format!("{}.{} MB", bytes / MEGABYTE, bytes % MEGABYTE * 10 / MEGABYTE),
    }
}

/// The number of a file, and the line that tells of it.
type FileLine = (usize, String);

fn replace_references(payload: &Payload, lines: &[FileLine]) -> Option<Payload> {
    let text = std::str::from_utf8(payload.bytes()).ok()?;
    let mut places = Vec::with_capacity(lines.len());
    for (file, (number, line)) in list_files(payload.bytes()).iter().zip(lines) {
        let line = escape_markup(line);
        let written = match file.source {
            // The element stays, as a model writes it.
            FileSource::Field => {
                write_element(text.get(file.span.clone())?, &format!("file=\"{number}\""), Some(&line))?
            }
            FileSource::Question | FileSource::Tool => line,
        };
        places.push((file.span.clone(), written));
    }
    replace_elements(payload, places)
}

/// The payload with other text in the place of some elements, which come in their order.
pub(super) fn replace_elements(payload: &Payload, places: Vec<(Range<usize>, String)>) -> Option<Payload> {
    let text = std::str::from_utf8(payload.bytes()).ok()?;
    let (mut written, mut at) = (String::with_capacity(text.len()), 0);
    for (span, other) in places {
        written.push_str(text.get(at..span.start)?);
        written.push_str(&other);
        at = span.end;
    }
    written.push_str(text.get(at..)?);
    Payload::parse(written.as_bytes(), &DocumentLimits::FROM_PUMP).ok()
}

/// An element with the name and the namespaces of another one.
pub(super) fn write_element(of: &str, attributes: &str, content: Option<&str>) -> Option<String> {
    let inside = of.strip_prefix('<')?;
    let end = inside.find(|character: char| character.is_ascii_whitespace() || "/>".contains(character))?;
    let (name, rest) = inside.split_at_checked(end)?;
    let namespaces: String = AttributeWalk::new(rest, 0)
        .map_while(Result::ok)
        .filter(|one| one.name == "xmlns" || one.name.starts_with("xmlns:"))
        .map(|one| format!(" {}=\"{}\"", one.name, one.raw))
        .collect();
    Some(match content {
        Some(content) => format!("<{name}{namespaces} {attributes}>{content}</{name}>"),
        None => format!("<{name}{namespaces} {attributes}/>"),
    })
}
