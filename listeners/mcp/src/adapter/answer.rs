//! What a server answered, as a payload.
//!
//! A result with an output schema becomes the typed element of its tool. Any other becomes text. A tool that says that
//! it failed has answered: its words are for the caller, who can repair the call.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload};

use crate::limits;
use crate::schema::{ToolVocabulary, replace_characters};

pub use systole_kit::namespaces::MCP;

/// The media type of content whose kind is not known.
const UNKNOWN: &str = "unknown";

/// The longest texts, in bytes, and the longest lists of an answer with a type that is too large as it is. The first
/// that make it fit are taken.
const CUTS: [(usize, usize); 4] = [(256 << 10, 4096), (32 << 10, 1024), (4 << 10, 256), (256, 32)];

/// An answer, and what was left out of it.
pub(super) struct AnswerPayload {
    pub(super) payload: Payload,
    pub(super) left_out: Option<String>,
    /// Whether values with a type were cut, so that the whole has to be kept elsewhere.
    pub(super) is_cut: bool,
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
pub(super) fn list_binary(
    result: &CallToolResult,
) -> impl Iterator<Item = (usize, BinaryContent<'_>, ContentBytes)> {
    let shown = result.content.iter().take(limits::ANSWER_BLOCKS).enumerate();
    shown.filter_map(|(place, block)| {
        let (content, bytes) = BinaryContent::from_block(block)?;
        Some((place, content, bytes))
    })
}

/// The payload of a result. `typed` is the tool, if its answer has a type, and the vocabulary that has it.
pub(super) fn build_answer(
    result: &CallToolResult,
    typed: Option<(&ToolVocabulary, &str)>,
    binary: &BinaryContents<'_>,
) -> Result<AnswerPayload, UnfitAnswer> {
    if result.is_error == Some(true) {
        return Ok(write_content("tool-failed", Some(FAILED), &result.content, binary));
    }
    let Some((vocabulary, tool)) = typed else {
        return Ok(write_content("tool-result", None, &result.content, binary));
    };
    let Some(value) = &result.structured_content else {
        let words = format!("{tool} has an output schema, and answered without structured content");
        return Err(UnfitAnswer(words));
    };
    let unfit = match build_typed_answer(vocabulary, tool, value) {
        Ok(answer) => return Ok(answer),
        Err(unfit) => unfit,
    };
    // What is small as JSON is not too large as XML, whose tags take several times as much.
    if value.to_string().len() < limits::SMALL_BYTES {
        return Err(unfit);
    }
    for (text, list) in CUTS {
        if let Ok(answer) = build_typed_answer(vocabulary, tool, &cut_value(value, text, list))
            && answer.payload.bytes().len() <= limits::CUT_BYTES
        {
            let words = format!("texts beyond {text} bytes and lists beyond {list} items");
            let left_out = answer.left_out.into_iter().chain([words]).collect::<Vec<_>>().join(", ");
            return Ok(AnswerPayload { left_out: Some(left_out), is_cut: true, ..answer });
        }
    }
    Err(unfit)
}

fn build_typed_answer(
    vocabulary: &ToolVocabulary,
    tool: &str,
    value: &Value,
) -> Result<AnswerPayload, UnfitAnswer> {
    let answer = vocabulary.write_answer(tool, value).map_err(|fault| UnfitAnswer(fault.to_string()))?;
    let payload = Payload::parse(&answer.payload, &DocumentLimits::default());
    let payload = payload.map_err(|fault| UnfitAnswer(fault.to_string()))?;
    let left_out = (!answer.left_out.is_empty()).then(|| answer.left_out.join(", "));
    Ok(AnswerPayload { payload, left_out, is_cut: false })
}

/// A value without the ends of its long texts and lists.
fn cut_value(value: &Value, text: usize, list: usize) -> Value {
    match value {
        Value::String(own) => {
            Value::String(own.get(..own.floor_char_boundary(text)).unwrap_or_default().to_owned())
        }
        Value::Array(items) => items.iter().take(list).map(|item| cut_value(item, text, list)).collect(),
        Value::Object(fields) => {
            fields.iter().take(list).map(|(key, value)| (key.clone(), cut_value(value, text, list))).collect()
        }
        other => other.clone(),
    }
}

/// The code of a tool that says that it failed.
const FAILED: &str = "mcp.tool-failed";

/// An answer that is words of ours: why a call was not made, or has no result.
pub(super) fn build_failure(code: &str, words: &str) -> Payload {
    Payload::write(MCP, "tool-failed", |inside| {
        inside.open("code").text(code);
        inside.open("text").text(&replace_characters(words));
    })
}

fn write_content(
    element: &'static str,
    code: Option<&str>,
    content: &[ContentBlock],
    binary: &BinaryContents<'_>,
) -> AnswerPayload {
    let mut room = limits::ANSWER_BYTES;
    let mut cut = false;
    let payload = Payload::write(MCP, element, |inside| {
        if let Some(code) = code {
            inside.open("code").text(code);
        }
        for (place, block) in content.iter().take(limits::ANSWER_BLOCKS).enumerate() {
            match binary.get(&place) {
                Some(content) => content.write(inside),
                None => cut |= write_block(inside, block, &mut room),
            }
        }
    });
    let mut left_out = Vec::new();
    if cut {
        left_out.push(format!("text beyond {} KiB", limits::ANSWER_BYTES / 1024));
    }
    if content.len() > limits::ANSWER_BLOCKS {
        left_out.push(format!("{} of {} blocks", content.len() - limits::ANSWER_BLOCKS, content.len()));
    }
    let left_out = (!left_out.is_empty()).then(|| left_out.join(", "));
    AnswerPayload { payload, left_out, is_cut: false }
}

/// Writes a block. True if some of it was left out.
fn write_block(inside: &mut XmlWriter, block: &ContentBlock, room: &mut usize) -> bool {
    match block {
        ContentBlock::Text(text) => write_bounded(inside, &text.text, room),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => write_bounded(inside, text, room),
            _ => false,
        },
        ContentBlock::ResourceLink(link) => {
            let (uri, name) = (replace_characters(&link.uri), replace_characters(&link.name));
            inside.open("link").attr("uri", &uri).attr("name", &name).empty();
            false
        }
        _ => false,
    }
}

impl<'b> BinaryContent<'b> {
    /// A block's content and its bytes, unless it is text or a link.
    fn from_block(block: &'b ContentBlock) -> Option<(BinaryContent<'b>, ContentBytes)> {
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
    pub(super) fn describe(&self) -> String {
        format!("{} {}", self.kind, self.shown_type())
    }

    fn shown_type(&self) -> String {
        replace_characters(&self.media_type.chars().take(limits::SHOWN_BYTES).collect::<String>())
    }

    fn write(&self, inside: &mut XmlWriter) {
        let size = self.size.map(|size| size.to_string());
        let tag = inside.open("other").attr("kind", self.kind).attr("type", &self.shown_type());
        tag.attr_if("bytes", size.as_deref()).attr_if("sha256", self.hash.as_deref()).empty();
    }
}

/// Writes the beginning of a text for which there is room. True if some of it was left out.
fn write_bounded(inside: &mut XmlWriter, text: &str, room: &mut usize) -> bool {
    let text = replace_characters(text);
    let mut end = 0;
    for character in text.chars() {
        // What an escaped character takes counts.
        let bytes = match character {
            '&' | '\r' => 5,
            '<' | '>' => 4,
            other => other.len_utf8(),
        };
        let Some(left) = room.checked_sub(bytes) else { break };
        (*room, end) = (left, end + character.len_utf8());
    }
    inside.open("text").text(text.get(..end).unwrap_or_default());
    end < text.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::pinned_server::build_vocabulary;
    use crate::schema::{PinFile, ToolDefinition};

    fn tool(output: Value) -> ToolVocabulary {
        let tool = ToolDefinition {
            output_schema: Some(output),
            ..ToolDefinition::new("read", json!({"type": "object", "properties": {}}))
        };
        build_vocabulary("files", &PinFile::new(Vec::new(), "2025-11-25", vec![tool]), BTreeSet::new())
            .unwrap()
    }

    fn typed(vocabulary: &ToolVocabulary, value: Value) -> Result<AnswerPayload, UnfitAnswer> {
        build_answer(&CallToolResult::structured(value), Some((vocabulary, "read")), &BinaryContents::new())
    }

    #[test]
    fn g3_an_answer_that_is_too_large_is_cut_and_keeps_its_type() {
        let text =
            json!({"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}}});
        let text = tool(text);
        let small = typed(&text, json!({"content": "a"})).ok().unwrap();
        assert!(small.left_out.is_none() && !small.is_cut);
        for large in ["a".repeat(2 << 20), "&".repeat(1 << 20), "\u{1}".repeat(300 << 10)] {
            let found = typed(&text, json!({"content": large})).ok().unwrap();
            assert!(
                found.is_cut && found.payload.bytes().len() > 16 << 10,
                "{}",
                found.payload.bytes().len()
            );
            assert_eq!(&*found.payload.name().local, "read-result");
            assert!(found.left_out.unwrap().starts_with("texts beyond "));
        }
        let rows = json!({"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}});
        let found = typed(&tool(rows), json!({"rows": vec![7; 200_000]})).ok().unwrap();
        assert!(found.is_cut && found.left_out.unwrap().contains("4096 items"));
        // What breaks its schema is not made valid by a cut.
        assert!(typed(&text, json!({"content": 7, "more": "a".repeat(2 << 20)})).is_err());
    }

    #[test]
    fn g3_a_text_that_xml_cannot_carry_or_that_grows_when_it_is_escaped_stays_within_its_bound() {
        let said = |words: &str| {
            let result = CallToolResult::success(vec![ContentBlock::text(words)]);
            build_answer(&result, None, &BinaryContents::new()).ok().unwrap()
        };
        let found = said("a\u{1}b");
        assert_eq!(found.payload.text_of("text").as_deref(), Some("a\\u{1}b"));
        for long in ["&".repeat(300 << 10), "\u{1}".repeat(300 << 10), "a".repeat(2 << 20)] {
            let found = said(&long);
            assert_eq!(found.left_out.as_deref(), Some("text beyond 256 KiB"));
            assert!(found.payload.bytes().len() < (256 << 10) + 200);
        }
    }
}
