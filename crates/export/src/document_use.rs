//! The documents that records name by their hashes: configurations with their schemas, refused bytes, files, prompts, and
//! answers of models, and what holds them.

use systole_kit::file_reference::{self, FileSource};
use systole_kit::journal::{EarlierEntry, JournalEntry};

use systole_core::types::ids::Digest;
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_queries::glance::attribute;

/// What a document is to the record that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DocumentUse {
    /// The configuration in force, with its schemas.
    Configuration,
    /// The bytes of a refused payload.
    Refused,
    /// A prompt, or an earlier part of one.
    Prompt,
    /// The grammar that an answer was held to.
    Grammar,
    /// A piece of a model's answer.
    Answer,
    /// A file that a client sent with a question.
    File,
    /// A file that a field of a request refers to. Pumps that knew no file fields took such requests without the file.
    Field,
    /// A file in the answer of a tool, or in what another listener says. Only that listener says that the log has it.
    Content,
}

impl DocumentUse {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            DocumentUse::Configuration => "configuration",
            DocumentUse::Refused => "refused",
            DocumentUse::Prompt => "prompt",
            DocumentUse::Grammar => "grammar",
            DocumentUse::Answer => "answer",
            DocumentUse::File | DocumentUse::Field => "file",
            DocumentUse::Content => "content",
        }
    }

    /// What records call it.
    pub const fn words(self) -> &'static str {
        match self {
            DocumentUse::Configuration => "the configuration",
            DocumentUse::Refused => "the refused bytes",
            DocumentUse::Prompt => "the prompt",
            DocumentUse::Grammar => "the grammar of an answer",
            DocumentUse::Answer => "the answer of a model",
            DocumentUse::File | DocumentUse::Field => "a file",
            DocumentUse::Content => "the content of a listener's answer",
        }
    }

    /// Whether a journal names it.
    pub const fn is_of_journal(self) -> bool {
        matches!(self, DocumentUse::Prompt | DocumentUse::Grammar | DocumentUse::Answer)
    }

    /// Whether a verifier does not miss it. Of the file of a field, `has_file_fields` of its record's configuration
    /// decides.
    pub const fn may_be_missing(self) -> bool {
        matches!(self, DocumentUse::Content)
    }

    /// The documents that a record with this kind and body names besides its configuration.
    pub fn list_named_in(kind: &str, code: Option<&str>, body: &[u8]) -> Vec<(Digest, DocumentUse)> {
        let named: Vec<(String, DocumentUse)> = if kind == RecordKind::Refusal.as_str() {
            let refused = attribute(body, "system-error", "hash");
            refused.into_iter().map(|hash| (hash, DocumentUse::Refused)).collect()
        } else if kind == RecordKind::Journal.as_str() {
            match EarlierEntry::from_body(body).map(|earlier| earlier.entry) {
                Ok(JournalEntry::Started(started)) => {
                    let grammar = started.guided.as_deref().and_then(|held| held.strip_prefix("grammar:"));
                    let grammar = grammar.map(|hash| (hash.to_owned(), DocumentUse::Grammar));
                    [(started.prompt, DocumentUse::Prompt)].into_iter().chain(grammar).collect()
                }
                Ok(JournalEntry::Result(outcome)) => {
                    outcome.blobs.into_iter().map(|blob| (blob, DocumentUse::Answer)).collect()
                }
                Err(_) => Vec::new(),
            }
        } else {
            let files = file_reference::list_files(body).into_iter();
            // A client's message and its files are one commit. What a listener says of a file is its own word.
            let is_request = code == Some(MessageRole::Request.as_str());
            let what = |source| match source {
                FileSource::Question => DocumentUse::File,
                FileSource::Field if is_request => DocumentUse::Field,
                FileSource::Field | FileSource::Tool => DocumentUse::Content,
            };
            files.map(|file| (file.hash, what(file.source))).collect()
        };
        named.into_iter().filter_map(|(hash, what)| Some((Digest::parse(&hash).ok()?, what))).collect()
    }

    /// All documents that a record names.
    pub fn list_named_by(record: &Record) -> impl Iterator<Item = (Digest, DocumentUse)> {
        let header = &record.header;
        let config = std::iter::once((header.config, DocumentUse::Configuration));
        config.chain(DocumentUse::list_named_in(
            header.kind.as_str(),
            header.code.map(RecordCode::as_str),
            &record.body,
        ))
    }
}
