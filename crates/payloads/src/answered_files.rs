//! The files of an answer with their bytes, for protocols that send them along.
//!
//! A payload may name any hash. So only what begins like a picture or a PDF goes out: prompts and configurations are
//! documents of the log, too.

use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use systole_kit::file_reference::{find_type, list_files, may_have_files};
use systole_queries::record_files::{KeptFile, read_file};

use crate::limits;
use systole_core::types::ports::{LogFault, LogReader};

/// A file that an answer refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnsweredFile {
    bytes: Arc<[u8]>,
    /// Its type, as its first bytes show.
    pub media_type: &'static str,
    /// What its sender calls it.
    pub name: Option<String>,
    /// The hash of its bytes.
    pub hash: String,
}

impl AnsweredFile {
    /// Its bytes in base64.
    pub fn write_base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

/// The files of an answer, each once, up to the bytes that fit into one message. What is missing, erased or of another type
/// is left out: its reference stands in the payload.
pub fn read_answered(reader: &dyn LogReader, payload: &[u8]) -> Result<Vec<AnsweredFile>, LogFault> {
    if !may_have_files(payload) {
        return Ok(Vec::new());
    }
    let (mut found, mut left, mut seen) = (Vec::new(), limits::ANSWER_FILE_BYTES, HashSet::new());
    for file in list_files(payload).into_iter().take(limits::QUESTION_FILES) {
        if !seen.insert(file.hash.clone()) {
            continue;
        }
        let KeptFile::Whole(bytes) = read_file(reader, &file)? else { continue };
        let Some(media_type) = find_type(&bytes) else { continue };
        let Some(rest) = left.checked_sub(bytes.len()) else { continue };
        left = rest;
        found.push(AnsweredFile { bytes, media_type, name: file.name, hash: file.hash });
    }
    Ok(found)
}
