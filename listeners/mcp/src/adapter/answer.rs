//! What a server answered, as a payload.
//!
//! A result with an output schema becomes the typed element of its tool. Any other becomes text. A tool that says that
//! it failed has answered: its words are for the caller, who can repair the call.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use systole_kit::Payload;
use systole_kit::schema::SchemaModel;
use systole_kit::writer::XmlWriter;

/// The namespace of answers that have no type of their own.
pub const MCP: &str = "https://xml-pipeline.org/ns/mcp/v1";

/// The most text of one answer, in bytes.
const TEXT_BYTES: usize = 256 * 1024;
/// The most blocks of one answer.
const BLOCKS: usize = 32;

/// An answer, and what was left out of it.
pub(super) struct ToolAnswer {
    pub(super) payload: Payload,
    pub(super) left_out: Option<String>,
}

/// Why an answer cannot be passed on.
pub(super) struct UnfitAnswer(pub(super) String);

/// The payload of a result. `typed` is the element of its structured content, and the schema that declares it.
pub(super) fn answer(
    result: &CallToolResult,
    typed: Option<(&SchemaModel, &str)>,
) -> Result<ToolAnswer, UnfitAnswer> {
    if result.is_error == Some(true) {
        return Ok(said("tool-failed", Some(FAILED), &result.content));
    }
    match (typed, &result.structured_content) {
        (Some((schema, element)), Some(value)) => {
            let built = schema.from_json(element, value);
            let built = built.ok_or_else(|| UnfitAnswer(format!("the pin has no element `{element}`")))?;
            let bytes = built.map_err(|slips| {
                UnfitAnswer(
                    slips
                        .iter()
                        .map(|slip| format!("{}: {}", slip.path, slip.message))
                        .collect::<Vec<_>>()
                        .join("; "),
                )
            })?;
            let payload = Payload::read(&bytes, &systole_kit::DocumentLimits::default());
            let payload = payload.map_err(|fault| UnfitAnswer(fault.to_string()))?;
            Ok(ToolAnswer { payload, left_out: None })
        }
        (Some((_, element)), None) => {
            Err(UnfitAnswer(format!("its output schema asks for structured content, for `{element}`")))
        }
        (None, _) => Ok(said("tool-result", None, &result.content)),
    }
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

fn said(element: &'static str, code: Option<&str>, content: &[ContentBlock]) -> ToolAnswer {
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
    ToolAnswer { payload, left_out }
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
        #[allow(unreachable_patterns, reason = "the protocol may grow kinds of content")]
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
