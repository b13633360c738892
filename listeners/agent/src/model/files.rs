//! Files in a request: pictures and PDFs that a message has besides its text. A file that cannot be sent is named in
//! words, with the reason.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::limits;

/// What a model takes besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Pictures: PNG, JPEG, GIF and WebP.
    Image,
    /// PDFs.
    Pdf,
}

impl FileKind {
    /// All of them, in the order of [`FileKind::WORDS`].
    pub const ALL: &'static [FileKind] = &[FileKind::Image, FileKind::Pdf];
    /// Their words in the organism file.
    pub const WORDS: &'static [&'static str] = &["image", "pdf"];

    /// The kind of files of this media type.
    #[must_use]
    pub fn from_type(media_type: &str) -> Option<Self> {
        match media_type {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Some(FileKind::Image),
            "application/pdf" => Some(FileKind::Pdf),
            _ => None,
        }
    }
}

/// A file of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageFile {
    /// Its number in the conversation, from 1.
    pub number: usize,
    /// The hash of its bytes.
    pub hash: String,
    /// Its kind.
    pub kind: FileKind,
    /// Its media type.
    pub media_type: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// The bytes, or why they are not sent.
    pub content: Result<Arc<[u8]>, String>,
}

impl MessageFile {
    /// What stands before it, or in its place.
    pub(super) fn describe(&self) -> String {
        match &self.content {
            Ok(_) => format!("[file {}]", self.number),
            Err(why) => format!("[file {} is not shown: {why}]", self.number),
        }
    }

    /// Its bytes as base64, if they are sent.
    pub(super) fn encode(&self) -> Option<String> {
        self.content.as_ref().ok().map(|bytes| BASE64_STANDARD.encode(bytes))
    }

    /// The same as a data URL.
    pub(super) fn encode_url(&self) -> Option<String> {
        Some(format!("data:{};base64,{}", self.media_type, self.encode()?))
    }

    /// An estimate of its tokens. How wide and high a picture is shows only in its bytes, which are not at hand.
    pub(crate) fn estimate_tokens(&self) -> u64 {
        let tokens = self.bytes / limits::FILE_TOKEN_BYTES;
        match self.kind {
            FileKind::Image => tokens.clamp(limits::IMAGE_TOKENS.0, limits::IMAGE_TOKENS.1),
            FileKind::Pdf => tokens.max(limits::PAGE_TOKENS),
        }
    }
}
