//! What a server answered, as a payload.
//!
//! A result with an output schema becomes the typed element of its tool. Any other becomes text. A tool that says that
//! it failed has answered: its words are for the caller, who can repair the call.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload};

use crate::schema::ToolVocabulary;

/// The namespace of answers that have no type of their own.
pub const MCP: &str = "https://xml-pipeline.org/ns/mcp/v1";

/// The most text of one answer, in bytes.
const TEXT_BYTES: usize = 256 * 1024;
/// The most blocks of one answer.
const BLOCKS: usize = 32;

/// An answer, and what was left out of it.
pub(super) struct AnswerPayload {
    pub(super) payload: Payload,
    pub(super) left_out: Option<String>,
}

/// Why an answer cannot be passed on.
pub(super) struct UnfitAnswer(pub(super) String);

/// The payload of a result. `typed` is the tool, if its answer has a type, and the vocabulary that has it.
pub(super) fn answer(
    result: &CallToolResult,
    typed: Option<(&ToolVocabulary, &str)>,
) -> Result<AnswerPayload, UnfitAnswer> {
    if result.is_error == Some(true) {
        return Ok(said("tool-failed", Some(FAILED), &result.content));
    }
    let Some((vocabulary, tool)) = typed else {
        return Ok(said("tool-result", None, &result.content));
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

fn said(element: &'static str, code: Option<&str>, content: &[ContentBlock]) -> AnswerPayload {
    let mut room = TEXT_BYTES;
    let mut cut = false;
    let payload = Payload::write(MCP, element, |inside| {
        if let Some(code) = code {
            inside.open("code").text(code);
        }
        for block in content.iter().take(BLOCKS) {
            cut |= shown(inside, block, &mut room);
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
            _ => other(inside, "resource", "binary"),
        },
        ContentBlock::ResourceLink(link) => {
            inside.open("link").attr("uri", &link.uri).attr("name", &link.name).empty();
            false
        }
        ContentBlock::Image(image) => other(inside, "image", &image.mime_type),
        ContentBlock::Audio(audio) => other(inside, "audio", &audio.mime_type),
        _ => other(inside, "content", "unknown"),
    }
}

fn bounded(inside: &mut XmlWriter, text: &str, room: &mut usize) -> bool {
    let end = text.floor_char_boundary((*room).min(text.len()));
    let kept = text.get(..end).unwrap_or_default();
    *room -= kept.len();
    inside.open("text").text(kept);
    kept.len() < text.len()
}

/// Content that no payload can hold.
fn other(inside: &mut XmlWriter, kind: &str, media_type: &str) -> bool {
    inside.open("other").attr("kind", kind).attr("type", media_type).empty();
    false
}
