//! The documents that exported records name: configurations with their schemas, refused bytes, prompts, and answers of
//! models. Each is a line of `documents.jsonl`, once, under its SHA-256.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use serde::{Deserialize, Serialize};

use super::ExportFault;
use super::record_line::{read_hex, write_hex};
use crate::document_use::DocumentUse;
use systole_core::types::ids::Digest;
use systole_core::types::ports::LogReader;
use systole_core::types::record::Record;
use systole_queries::prompts::find_before;

/// A document outside of its log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedDocument {
    /// Its hash.
    pub sha256: String,
    /// What it is. Nothing proves that.
    pub what: String,
    /// Its bytes, if they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes, if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
}

impl ExportedDocument {
    fn from_bytes(hash: Digest, what: DocumentUse, bytes: &[u8]) -> ExportedDocument {
        let (text, hex) = match std::str::from_utf8(bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (None, Some(write_hex(bytes))),
        };
        ExportedDocument { sha256: hash.to_string(), what: what.as_str().to_owned(), text, hex }
    }

    /// Its hash and its bytes, if they fit.
    pub fn into_content(self) -> Option<(Digest, Vec<u8>)> {
        let bytes = match (self.text, self.hex) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(hex)) => read_hex(&hex)?,
            _ => return None,
        };
        let hash = Digest::hash_bytes(&bytes);
        (hash.to_string() == self.sha256).then_some((hash, bytes))
    }
}

/// The documents that records name, each once, in the order of their names.
#[derive(Default)]
pub struct NamedDocuments {
    known: HashSet<Digest>,
    /// Each with its first use.
    pub all: Vec<(Digest, DocumentUse)>,
    /// Whether configurations are left out, because they say more than their records.
    pub lacks_configurations: bool,
}

impl NamedDocuments {
    /// Names one more.
    pub fn add_name(&mut self, hash: Digest, what: DocumentUse) {
        if self.known.insert(hash) {
            self.all.push((hash, what));
        }
    }

    /// The same without configurations: they name every listener and client.
    pub fn without_configurations() -> NamedDocuments {
        NamedDocuments { lacks_configurations: true, ..NamedDocuments::default() }
    }

    /// Takes what a record names.
    pub fn take_record(&mut self, record: &Record) {
        for (hash, what) in DocumentUse::list_named_by(record) {
            if what != DocumentUse::Configuration || !self.lacks_configurations {
                self.add_name(hash, what);
            }
        }
    }

    /// Writes them, and the earlier links of prompts; `erased_links` has those before links that are erased. Returns how many were written, and how many the log does not have: they are erased, or a listener
    /// keeps its prompts elsewhere.
    pub fn write_documents(
        &mut self,
        reader: &dyn LogReader,
        erased_links: &HashMap<Digest, Digest>,
        out: &mut dyn Write,
    ) -> Result<(u64, u64), ExportFault> {
        let (mut written, mut missing, mut next) = (0, 0, 0);
        while let Some((hash, what)) = self.all.get(next).copied() {
            next += 1;
            // Signs are in the place of one that is erased.
            let Some(bytes) = reader.read_document(hash)?.filter(|bytes| Digest::hash_bytes(bytes) == hash)
            else {
                missing += 1;
                let link = erased_links.get(&hash).filter(|_| what == DocumentUse::Prompt);
                link.into_iter().for_each(|hash| self.add_name(*hash, DocumentUse::Prompt));
                continue;
            };
            if what == DocumentUse::Prompt {
                find_before(&bytes).into_iter().for_each(|hash| self.add_name(hash, DocumentUse::Prompt));
            }
            serde_json::to_writer(&mut *out, &ExportedDocument::from_bytes(hash, what, &bytes))
                .map_err(std::io::Error::from)?;
            out.write_all(b"\n")?;
            written += 1;
        }
        Ok((written, missing))
    }
}
