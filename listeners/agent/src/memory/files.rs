//! Files in the answers of tools: in the text each has a number, which stays the same in the conversation. The model never
//! sees a hash.
//!
//! Events come in; the same events go out, with a line in place of each reference. It reads no bytes.

use systole_kit::file_reference::{FileReference, list_files};
use systole_kit::{DocumentLimits, Payload};

use super::event::CallEvent;
use crate::model::{FileKind, MessageFile};
use crate::show::escape_markup;

/// The hashes of the files of a conversation, in order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct FileNumbers(Vec<String>);

impl FileNumbers {
    fn find_number(&mut self, hash: &str) -> usize {
        if let Some(at) = self.0.iter().position(|known| known == hash) {
            return at + 1;
        }
        self.0.push(hash.to_owned());
        self.0.len()
    }

    /// The event with its files named. `None` if it has none.
    pub(super) fn name_files(&mut self, takes: &[FileKind], happened: &CallEvent) -> Option<CallEvent> {
        let CallEvent::Turn(turn) = happened else { return None };
        let mut named = None;
        for (at, answer) in turn.answers.iter().enumerate() {
            let found = list_files(answer.payload.bytes());
            if found.is_empty() {
                continue;
            }
            let turn = named.get_or_insert_with(|| turn.clone());
            let Some(own) = turn.answers.get_mut(at) else { continue };
            let mut lines = Vec::with_capacity(found.len());
            for file in &found {
                let number = self.find_number(&file.hash);
                let kind = FileKind::from_type(&file.media_type).filter(|kind| takes.contains(kind));
                lines.push(write_line(number, file, kind.is_some()));
                own.files.extend(kind.map(|kind| MessageFile {
                    number,
                    hash: file.hash.clone(),
                    kind,
                    media_type: file.media_type.clone(),
                    bytes: file.bytes.unwrap_or_default(),
                    content: Err("its bytes were not read".to_owned()),
                }));
            }
            own.payload =
                replace_spans(&answer.payload, &found, &lines).unwrap_or_else(|| answer.payload.clone());
        }
        named.map(CallEvent::Turn)
    }
}

/// `[file 1: image/png, 48 KB]`
fn write_line(number: usize, file: &FileReference, is_taken: bool) -> String {
    let size = file.bytes.map(|bytes| format!(", {}", spell_size(bytes))).unwrap_or_default();
    let why = if is_taken { "" } else { ", not shown: this model does not take it" };
    format!("[file {number}: {}{size}{why}]", file.media_type)
}

fn spell_size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

fn replace_spans(payload: &Payload, found: &[FileReference], lines: &[String]) -> Option<Payload> {
    let (mut bytes, mut at) = (Vec::with_capacity(payload.bytes().len()), 0);
    for (file, line) in found.iter().zip(lines) {
        bytes.extend_from_slice(payload.bytes().get(at..file.span.start)?);
        bytes.extend_from_slice(escape_markup(line).as_bytes());
        at = file.span.end;
    }
    bytes.extend_from_slice(payload.bytes().get(at..)?);
    Payload::parse(&bytes, &DocumentLimits::FROM_PUMP).ok()
}
