//! The files that a message from outside refers to. Its sender sent their bytes before. No other payload brings any.

use std::collections::BTreeSet;
use std::sync::Arc;

use systole_wire::file_reference::{self, FileReference, FileSource};
use systole_wire::payload::Payload;

use crate::types::codes::Code;
use crate::types::ids::Digest;
use crate::types::limits::{ANSWER_BYTES, FILE_BYTES, MESSAGE_FILES};
use crate::types::refusal::Refusal;

/// What is there of a file that a message refers to.
#[derive(Clone, Debug)]
pub enum FoundFile {
    /// Its sender sent these bytes.
    Sent(Arc<[u8]>),
    /// Its message was taken before, and is repeated here.
    Taken,
    /// Nothing.
    Unknown,
}

/// Finds the files that a sender sent before, by their hash.
pub type FindFile<'f> = &'f dyn Fn(Digest) -> FoundFile;

/// The type of a file that a client sends.
pub fn find_type(bytes: &[u8]) -> Result<&'static str, Refusal> {
    let refuse = |words: String| Err(Refusal::new(Code::UnfitFile, words));
    match file_reference::find_type(bytes) {
        _ if bytes.is_empty() => refuse("the file is empty".to_owned()),
        _ if bytes.len() > FILE_BYTES => {
            refuse(format!("the file is larger than {FILE_BYTES} bytes, the most allowed"))
        }
        Some(media_type) => Ok(media_type),
        None => refuse("the first bytes of the file are those of no known type".to_owned()),
    }
}

/// The bytes of the files that a message refers to, each once, in the order in which it first names them.
pub(crate) fn find_files(
    payload: &[u8],
    knows_fields: bool,
    find: FindFile<'_>,
) -> Result<Vec<Arc<[u8]>>, Refusal> {
    let (mut found, mut parts, mut hashes) = (Vec::new(), 0_usize, BTreeSet::new());
    let mut files = file_reference::list_files(payload);
    files.retain(|file| knows_fields || file.source != FileSource::Field);
    for (at, file) in files.iter().enumerate() {
        let Some(bytes) = find_file(at + 1, file, find)? else { continue };
        if !hashes.insert(&file.hash) {
            continue;
        }
        // A reader asks for each part.
        parts = parts.saturating_add(bytes.len().div_ceil(ANSWER_BYTES));
        found.push(bytes);
        let refusal = if found.len() > MESSAGE_FILES {
            Refusal::new(Code::TooLarge, format!("a message refers to at most {MESSAGE_FILES} files"))
        } else if parts > MESSAGE_FILES {
            let words = format!("the files of a message have together at most {FILE_BYTES} bytes");
            Refusal::new(Code::UnfitFile, format!("{words}, each counted in parts of {ANSWER_BYTES}"))
        } else {
            continue;
        };
        return Err(refusal.of_element(&*file.element).fixed_by("send them in several messages"));
    }
    Ok(found)
}

fn find_file(number: usize, file: &FileReference, find: FindFile<'_>) -> Result<Option<Arc<[u8]>>, Refusal> {
    let bytes = match Digest::parse(&file.hash).map_or(FoundFile::Unknown, find) {
        FoundFile::Taken => return Ok(None),
        FoundFile::Sent(bytes) => bytes,
        FoundFile::Unknown => {
            let words = format!("file {number}: you sent no bytes with this hash before, or too long ago");
            let refusal = Refusal::new(Code::UnknownFile, words).with_received(file.hash.clone());
            return Err(refusal.of_element(&*file.element));
        }
    };
    let media_type = find_type(&bytes).map_err(|refusal| refusal.of_element(&*file.element))?;
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if file.media_type != media_type || file.bytes != Some(length) {
        let words = format!("file {number} has another type or size than the message says");
        let said = file.bytes.map_or_else(|| "nothing".to_owned(), |bytes| bytes.to_string());
        return Err(Refusal::new(Code::UnfitFile, words)
            .with_expected(format!("type=\"{media_type}\" bytes=\"{length}\""))
            .with_received(format!("type=\"{}\" bytes=\"{said}\"", file.media_type))
            .of_element(&*file.element));
    }
    Ok(Some(bytes))
}

/// The files that the fields of a listener's payload refer to.
pub(crate) fn list_fields(payload: &[u8]) -> Vec<Digest> {
    let fields = file_reference::list_files(payload).into_iter();
    let fields = fields.filter(|file| file.source == FileSource::Field);
    fields.filter_map(|file| Digest::parse(&file.hash).ok()).collect()
}

/// Why a listener's payload is refused that refers to a file that the listener did not get.
pub(crate) fn refuse_unknown(payload: &[u8], hash: Digest) -> Refusal {
    let hash = hash.to_string();
    let mut files = file_reference::list_files(payload).into_iter();
    let field = files.find(|file| file.source == FileSource::Field && file.hash == hash);
    let words = "no message of this thread has this file";
    let refusal = Refusal::new(Code::UnknownFile, words).with_received(hash);
    let refusal = refusal.fixed_by("refer to a file that you got, or store its bytes first, with <put-blob>");
    match field {
        Some(file) => refusal.of_element(file.element),
        None => refusal,
    }
}

/// Why a payload is refused that is no new message from outside: it could refer to files of others by their hashes.
pub fn refuse_files(payload: &Payload) -> Option<Refusal> {
    let found = file_reference::list_files(payload.bytes()).into_iter();
    let field = found.filter(|file| file.source == FileSource::Field).map(|file| file.element).next();
    match field {
        Some(element) => {
            Some(make_refusal("send it without a file, or as a new message").of_element(element))
        }
        None => refuse_question(payload),
    }
}

/// Why a listener's payload is refused: only clients ask about files. A file field of a listener has what the listener got.
pub(crate) fn refuse_question(payload: &Payload) -> Option<Refusal> {
    let is_question = payload.name().is_named(systole_wire::namespaces::TALK, "ask-with");
    is_question.then(|| make_refusal("ask without files").of_element("ask-with"))
}

fn make_refusal(fix: &str) -> Refusal {
    Refusal::new(Code::UnknownFile, "only a new message from outside brings files").fixed_by(fix)
}
