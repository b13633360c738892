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

    /// Its tokens, by its bytes: a picture by its width and height, a PDF by its pages. What is not sent has none.
    pub(crate) fn measure_tokens(&self) -> u64 {
        let Ok(bytes) = &self.content else { return 0 };
        let measured = match self.kind {
            FileKind::Image => imagesize::blob_size(bytes).ok().map(|size| {
                let pixels = u64::try_from(size.width.saturating_mul(size.height)).unwrap_or(u64::MAX);
                (pixels / limits::TOKEN_PIXELS).clamp(limits::IMAGE_TOKENS.0, limits::IMAGE_TOKENS.1)
            }),
            FileKind::Pdf => Some(count_pages(bytes).min(limits::PDF_PAGES) * limits::PAGE_TOKENS),
        };
        measured.filter(|tokens| *tokens > 0).unwrap_or_else(|| self.estimate_tokens())
    }

    /// An estimate of its tokens by its size alone, as long as its bytes are not read.
    pub(crate) fn estimate_tokens(&self) -> u64 {
        let tokens = self.bytes / limits::FILE_TOKEN_BYTES;
        match self.kind {
            FileKind::Image => tokens.clamp(limits::IMAGE_TOKENS.0, limits::IMAGE_TOKENS.1),
            FileKind::Pdf => tokens.max(limits::PAGE_TOKENS),
        }
    }
}

/// The pages of a PDF, as far as they are not in compressed objects.
fn count_pages(bytes: &[u8]) -> u64 {
    let is_page = |rest: &[u8]| {
        let after = rest.trim_ascii_start().strip_prefix(b"/Page");
        after.is_some_and(|after| !after.first().is_some_and(u8::is_ascii_alphanumeric))
    };
    let places = bytes.windows(b"/Type".len()).enumerate().filter(|(_, part)| *part == b"/Type");
    let pages = places.filter(|(at, part)| bytes.get(at + part.len()..).is_some_and(is_page));
    u64::try_from(pages.count()).unwrap_or(u64::MAX)
}
