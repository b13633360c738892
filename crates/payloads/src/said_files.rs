//! The files that a client sends in its message, as bytes in base64: what stands for them in the texts of a chat, and the
//! question that a message with files becomes. No address is fetched.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use systole_kit::{DocumentLimits, Payload, file_reference};
use systole_organism::front::OrganismHandle;
use systole_organism::question_payload::{QuestionFile, build_question_with_files, name_question_with_files};

use crate::entries::write_text;
use crate::limits;
use systole_api::request_refusals::describe_stopping;
use systole_core::rules::sent_files::find_type;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::record::Record;
use systole_core::types::refusal::Refusal;

/// A file of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaidFile {
    bytes: Vec<u8>,
    name: Option<String>,
}

/// A text with files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SaidText {
    /// The text.
    pub text: String,
    /// The files.
    pub files: Vec<SaidFile>,
}

impl SaidFile {
    /// Reads the bytes of a file, in base64. An error says why there are none.
    pub fn read(base64: &str, name: Option<String>) -> Result<SaidFile, String> {
        let bytes = STANDARD.decode(base64).map_err(|error| format!("is not base64: {error}"))?;
        Ok(SaidFile { bytes, name: name.filter(|name| !name.trim().is_empty()) })
    }

    /// Whether its first bytes show a type that is taken.
    pub fn is_known(&self) -> bool {
        find_type(&self.bytes).is_ok()
    }

    /// A file from an address with the bytes in it.
    pub fn read_address(address: &str, name: Option<String>) -> Result<SaidFile, String> {
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
    pub fn new(text: String) -> SaidText {
        SaidText { text, files: Vec::new() }
    }

    /// The text, with a line for each file.
    pub fn describe(&self) -> String {
        let lines = self.files.iter();
        let lines =
            lines.map(|file| describe_file(file.bytes.len(), &Digest::hash_bytes(&file.bytes).to_string()));
        [self.text.clone()].into_iter().chain(lines).collect()
    }
}

/// What a recorded question about files asked, as `SaidText::describe` has it. `None` if it is none.
pub fn read_asked(record: &Record) -> Option<String> {
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
pub fn takes_files(entry: &Listener) -> bool {
    entry.find_accepted(&name_question_with_files()).is_some()
}

/// A message with files, which are held until it is dropped.
pub struct SaidMessage {
    /// The payload.
    pub document: Vec<u8>,
    held: Option<(OrganismHandle, Name, Vec<Digest>)>,
}

impl SaidMessage {
    /// A message without files.
    pub fn new(document: Vec<u8>) -> SaidMessage {
        SaidMessage { document, held: None }
    }
}

impl Drop for SaidMessage {
    fn drop(&mut self) {
        if let Some((front, client, hashes)) = &self.held {
            hashes.iter().for_each(|hash| front.release_file(client, *hash));
        }
    }
}

/// The payload that a text with files becomes for an entry.
pub fn build_said(
    organism: &Composition,
    entry: &Listener,
    (text, files): (&str, &[&SaidFile]),
) -> Result<Vec<u8>, Box<Refusal>> {
    if files.is_empty() {
        return write_text(organism, entry, text);
    }
    let refuse = |words: String, fix: &str| {
        Err(Box::new(Refusal::new(Code::UnfitFile, words).fixed_by(fix.to_owned())))
    };
    if !takes_files(entry) {
        let fix = "send it without files, or to an agent whose model has `files` in the organism's file";
        return refuse(format!("{} takes no files", entry.name), fix);
    }
    if files.len() > limits::QUESTION_FILES {
        let words =
            format!("{} files are more than the {} of a message", files.len(), limits::QUESTION_FILES);
        return refuse(words, "send them in several messages");
    }
    let mut referred = Vec::with_capacity(files.len());
    for file in files {
        let media_type = find_type(&file.bytes).map_err(Box::new)?;
        let (hash, bytes) = (Digest::hash_bytes(&file.bytes), file.bytes.len());
        referred.push(QuestionFile { hash, media_type, bytes, name: file.name.as_deref() });
    }
    Ok(build_question_with_files(text, &referred).bytes().to_vec())
}

/// The same with the files held for the message.
pub fn write_said(
    (front, client): (&OrganismHandle, &Name),
    entry: &Listener,
    (text, files): (&str, &[&SaidFile]),
) -> Result<SaidMessage, Box<Refusal>> {
    let document = build_said(front.composition(), entry, (text, files))?;
    let mut hashes = Vec::with_capacity(files.len());
    let mut message = SaidMessage::new(document);
    for file in files {
        let held = front.hold_file(client, file.bytes.clone());
        let held = held.unwrap_or_else(|| Err(Box::new(describe_stopping())));
        let end = held.map(|sent| hashes.push(sent.hash));
        message.held = Some((front.clone(), client.clone(), hashes.clone()));
        end?;
    }
    Ok(message)
}
