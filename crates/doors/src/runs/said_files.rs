//! The files that a client sends in its message, as bytes in base64: what stands for them in the texts of a chat, and the
//! question that a message with files becomes. No address is fetched.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use systole_kit::{DocumentLimits, Payload, file_reference};
use systole_organism::question_payload::{QuestionFile, build_question_with_files, name_question_with_files};

use super::entries::write_text;
use crate::http_state::HttpState;
use crate::inbound::keep_file;
use systole_core::types::codes::Code;
use systole_core::types::composition::Listener;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::record::Record;
use systole_core::types::refusal::Refusal;

/// A file of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SaidFile {
    bytes: Vec<u8>,
    name: Option<String>,
}

/// A text with files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SaidText {
    pub(crate) text: String,
    pub(crate) files: Vec<SaidFile>,
}

impl SaidFile {
    /// Reads the bytes of a file, in base64. An error says why there are none.
    pub(crate) fn read(base64: &str, name: Option<String>) -> Result<SaidFile, String> {
        let bytes = STANDARD.decode(base64).map_err(|error| format!("is not base64: {error}"))?;
        Ok(SaidFile { bytes, name: name.filter(|name| !name.trim().is_empty()) })
    }

    /// The same from an address with the bytes in it.
    pub(crate) fn read_address(address: &str, name: Option<String>) -> Result<SaidFile, String> {
        let data = address.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
        let Some((_, base64)) = data else {
            return Err(
                "has an address that is not fetched: send the bytes, as data:TYPE;base64,…".to_owned()
            );
        };
        SaidFile::read(base64, name)
    }
}

/// The line that stands for a file in a text.
fn describe_file(bytes: usize, hash: &str) -> String {
    format!("\n[a file of {bytes} bytes, sha256 {hash}]")
}

impl SaidText {
    /// A text without files.
    pub(crate) fn new(text: String) -> SaidText {
        SaidText { text, files: Vec::new() }
    }

    /// The text, with a line for each file.
    pub(crate) fn describe(&self) -> String {
        let lines = self.files.iter();
        let lines =
            lines.map(|file| describe_file(file.bytes.len(), &Digest::hash_bytes(&file.bytes).to_string()));
        [self.text.clone()].into_iter().chain(lines).collect()
    }
}

/// What a recorded question about files asked, as `SaidText::describe` has it. `None` if it is none.
pub(crate) fn read_asked(record: &Record) -> Option<String> {
    let payload = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP).ok();
    let payload = payload.filter(|payload| *payload.name() == name_question_with_files())?;
    let files = file_reference::list_files(&record.body);
    let lines = files.iter().map(|file| {
        let bytes = file.bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or_default();
        describe_file(bytes, &file.hash)
    });
    Some([payload.text_of("question")?].into_iter().chain(lines).collect())
}

/// Whether an entry takes files.
pub(crate) fn takes_files(entry: &Listener) -> bool {
    entry.find_accepted(&name_question_with_files()).is_some()
}

/// What a text with files becomes for an entry. The bytes are kept for the message.
pub(crate) fn write_said(
    (state, client): (&HttpState, &Name),
    entry: &Listener,
    (text, files): (&str, &[&SaidFile]),
) -> Result<Vec<u8>, Box<Refusal>> {
    if files.is_empty() {
        return write_text(state.front.composition(), entry, text);
    }
    if !takes_files(entry) {
        let words = format!("{} takes no files", entry.name);
        let refusal = Refusal::new(Code::UnfitFile, words);
        return Err(Box::new(refusal.fixed_by(
            "send it without files, or to an agent whose model has `files` in the organism's file",
        )));
    }
    let mut kept = Vec::with_capacity(files.len());
    for file in files {
        kept.push((keep_file(&state.front, client, file.bytes.clone())?, file.name.as_deref()));
    }
    let kept = kept.iter().map(|(sent, name)| QuestionFile {
        hash: sent.hash,
        media_type: sent.media_type,
        bytes: sent.bytes,
        name: *name,
    });
    Ok(build_question_with_files(text, &kept.collect::<Vec<_>>()).bytes().to_vec())
}
