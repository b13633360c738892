//! What a server answered, as a payload.
//!
//! A result with an output schema becomes the typed element of its tool. Any other becomes text. A tool that says that
//! it failed has answered: its words are for the caller, who can repair the call.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload};

use crate::schema::ToolVocabulary;

pub use systole_kit::namespaces::MCP;

/// The most text of one answer, in bytes.
const TEXT_BYTES: usize = 256 * 1024;
/// The longest media type that is shown.
const TYPE_CHARS: usize = 200;
/// The most blocks of one answer.
const BLOCKS: usize = 32;
/// The media type of content whose kind is not known.
const UNKNOWN: &str = "unknown";

/// An answer, and what was left out of it.
pub(super) struct AnswerPayload {
    pub(super) payload: Payload,
    pub(super) left_out: Option<String>,
}

/// Why an answer cannot be passed on.
pub(super) struct UnfitAnswer(pub(super) String);

/// Content that no payload can hold.
pub(super) struct BinaryContent<'b> {
    kind: &'static str,
    media_type: &'b str,
    /// How many bytes it has, if they can be read.
    size: Option<usize>,
    /// Their hash, if the log keeps them.
    pub(super) hash: Option<String>,
}

/// Binary contents by the place of their block.
pub(super) type BinaryContents<'b> = BTreeMap<usize, BinaryContent<'b>>;

/// Bytes, or why there are none.
type ContentBytes = Result<Vec<u8>, String>;

/// The binary contents of a result that are passed on, with the places of their blocks.
pub(super) fn binary(
    result: &CallToolResult,
) -> impl Iterator<Item = (usize, BinaryContent<'_>, ContentBytes)> {
    let shown = result.content.iter().take(BLOCKS).enumerate();
    shown.filter_map(|(place, block)| {
        let (content, bytes) = BinaryContent::of(block)?;
        Some((place, content, bytes))
    })
}

/// The payload of a result. `typed` is the tool, if its answer has a type, and the vocabulary that has it.
pub(super) fn answer(
    result: &CallToolResult,
    typed: Option<(&ToolVocabulary, &str)>,
    binary: &BinaryContents<'_>,
) -> Result<AnswerPayload, UnfitAnswer> {
    if result.is_error == Some(true) {
        return Ok(said("tool-failed", Some(FAILED), &result.content, binary));
    }
    let Some((vocabulary, tool)) = typed else {
        return Ok(said("tool-result", None, &result.content, binary));
    };
    let Some(value) = &result.structured_content else {
        let words = format!("{tool} has an output schema, and answered without structured content");
        return Err(UnfitAnswer(words));
    };
    let answer = vocabulary.answer(tool, value).map_err(|fault| UnfitAnswer(fault.to_string()))?;
    let payload = Payload::read(&answer.payload, &DocumentLimits::default());
    let payload = payload.map_err(|fault| UnfitAnswer(fault.to_string()))?;
    let left_out = (!answer.left_out.is_empty()).then(|| answer.left_out.join(", "));
    Ok(AnswerPayload { payload, left_out })
}

/// The code of a tool that says that it failed.
const FAILED: &str = "mcp.tool-failed";

/// An answer that is words of ours: why a call was not made, or has no result.
pub(super) fn failed(code: &str, words: &str) -> Payload {
    Payload::write(MCP, "tool-failed", |inside| {
        inside.open("code").text(code);
        inside.open("text").text(words);
    })
}

fn said(
    element: &'static str,
    code: Option<&str>,
    content: &[ContentBlock],
    binary: &BinaryContents<'_>,
) -> AnswerPayload {
    let mut room = TEXT_BYTES;
    let mut cut = false;
    let payload = Payload::write(MCP, element, |inside| {
        if let Some(code) = code {
            inside.open("code").text(code);
        }
        for (place, block) in content.iter().take(BLOCKS).enumerate() {
            match binary.get(&place) {
                Some(content) => content.write(inside),
                None => cut |= shown(inside, block, &mut room),
            }
        }
    });
    let mut left_out = Vec::new();
    if cut {
        left_out.push(format!("text beyond {} KiB", TEXT_BYTES / 1024));
    }
    if content.len() > BLOCKS {
        left_out.push(format!("{} of {} blocks", content.len() - BLOCKS, content.len()));
    }
    let left_out = (!left_out.is_empty()).then(|| left_out.join(", "));
    AnswerPayload { payload, left_out }
}

/// Writes a block. True if some of it was left out.
fn shown(inside: &mut XmlWriter, block: &ContentBlock, room: &mut usize) -> bool {
    match block {
        ContentBlock::Text(text) => bounded(inside, &text.text, room),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => bounded(inside, text, room),
            _ => false,
        },
        ContentBlock::ResourceLink(link) => {
            inside.open("link").attr("uri", &link.uri).attr("name", &link.name).empty();
            false
        }
        _ => false,
    }
}

impl<'b> BinaryContent<'b> {
    /// A block's content and its bytes, unless it is text or a link.
    fn of(block: &'b ContentBlock) -> Option<(BinaryContent<'b>, ContentBytes)> {
        let (kind, media_type, data) = match block {
            ContentBlock::Text(_) | ContentBlock::ResourceLink(_) => return None,
            ContentBlock::Image(image) => ("image", &*image.mime_type, Some(&image.data)),
            ContentBlock::Audio(audio) => ("audio", &*audio.mime_type, Some(&audio.data)),
            ContentBlock::Resource(resource) => match &resource.resource {
                ResourceContents::TextResourceContents { .. } => return None,
                ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
                    ("resource", mime_type.as_deref().unwrap_or("binary"), Some(blob))
                }
                _ => ("resource", UNKNOWN, None),
            },
            _ => ("content", UNKNOWN, None),
        };
        let decoded =
            |data| BASE64_STANDARD.decode(data).map_err(|fault| format!("it is not base64: {fault}"));
        let bytes = data.map_or_else(|| Err("its kind is not known".to_owned()), decoded);
        let size = bytes.as_ref().ok().map(Vec::len);
        Some((BinaryContent { kind, media_type, size, hash: None }, bytes))
    }

    /// What it is, in words.
    pub(super) fn named(&self) -> String {
        format!("{} {}", self.kind, self.shown_type())
    }

    fn shown_type(&self) -> String {
        self.media_type.chars().take(TYPE_CHARS).collect()
    }

    fn write(&self, inside: &mut XmlWriter) {
        let size = self.size.map(|size| size.to_string());
        let tag = inside.open("other").attr("kind", self.kind).attr("type", &self.shown_type());
        tag.attr_if("bytes", size.as_deref()).attr_if("sha256", self.hash.as_deref()).empty();
    }
}

fn bounded(inside: &mut XmlWriter, text: &str, room: &mut usize) -> bool {
    let end = text.floor_char_boundary((*room).min(text.len()));
    let kept = text.get(..end).unwrap_or_default();
    *room -= kept.len();
    inside.open("text").text(kept);
    kept.len() < text.len()
}
