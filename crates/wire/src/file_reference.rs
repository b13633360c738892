//! Files that a payload refers to. Their bytes are in the log under their hash. What refers to a file is an `<other>` in
//! the answer of an MCP tool, a `<file>` in a question to an agent, or a file field: an element of any other vocabulary
//! with exactly the attributes of a reference. A schema declares a file field with `systole:file`.
//!
//! A document comes in, references go out. This module does not decide who may read the bytes.

use std::ops::Range;

use crate::characters::is_legal;
use crate::gate::{GateStep, XmlGate, XmlTag};
use crate::{DocumentLimits, Fault, namespaces};

/// The media types of the files that a model may take.
pub const FILE_TYPES: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];

/// What refers to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSource {
    /// A question to an agent.
    Question,
    /// The answer of an MCP tool.
    Tool,
    /// A file field.
    Field,
}

/// A file that a payload refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReference {
    /// The hash of its bytes: SHA-256 in hex digits, as written.
    pub hash: String,
    /// Its media type, as written.
    pub media_type: String,
    /// How many bytes it has, if that is written.
    pub bytes: Option<u64>,
    /// What its sender calls it.
    pub name: Option<String>,
    /// What refers to it.
    pub source: FileSource,
    /// The local name of the element that refers to it.
    pub element: String,
    /// The element that refers to it: its bytes in the payload.
    pub span: Range<usize>,
}

/// The media type that the first bytes of a file show, of those that a model may take.
#[must_use]
pub fn find_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("application/pdf"),
        _ => None,
    }
}

/// The name of a file as an attribute has it: on one line, and with no character that XML forbids.
#[must_use]
pub fn replace_forbidden(name: &str) -> String {
    let is_kept = |one: char| !one.is_control() && is_legal(one);
    name.chars().map(|one| if is_kept(one) { one } else { '_' }).collect()
}

/// Whether a payload may refer to a file, without reading it as XML.
#[must_use]
pub fn may_have_files(payload: &[u8]) -> bool {
    std::str::from_utf8(payload).is_ok_and(|text| text.contains(ATTRIBUTE))
}

/// The files that a payload refers to, in order.
#[must_use]
pub fn list_files(payload: &[u8]) -> Vec<FileReference> {
    read_files(payload).unwrap_or_default()
}

fn read_files(payload: &[u8]) -> Result<Vec<FileReference>, Fault> {
    let (mut found, mut open, mut closed) = (Vec::new(), None, None::<FileReference>);
    if !may_have_files(payload) {
        return Ok(found);
    }
    let (mut gate, mut outer) = (XmlGate::new_strict(payload, &DocumentLimits::FROM_PUMP)?, None);
    loop {
        let step = gate.read_step()?;
        if let Some(mut file) = closed.take() {
            file.span.end = gate.offset();
            found.push(file);
        }
        match step {
            GateStep::Open(tag) => {
                let referring = match gate.find_namespace(&tag) {
                    Some(namespaces::MCP) => Some(("other", FileSource::Tool)),
                    Some(namespaces::TALK) => Some(("file", FileSource::Question)),
                    _ => None,
                };
                if gate.depth() == 1 {
                    outer = referring;
                }
                open = match referring {
                    Some((name, source)) if referring == outer && name == tag.local => {
                        read_reference(&gate, &tag, source)
                    }
                    Some(_) => None,
                    None => {
                        read_reference(&gate, &tag, FileSource::Field).filter(|file| is_field(&gate, file))
                    }
                };
            }
            GateStep::Text(text) => {
                open =
                    open.filter(|file: &FileReference| file.source != FileSource::Field || text.is_blank());
            }
            GateStep::Close => closed = open.take(),
            GateStep::Done => return Ok(found),
            GateStep::Instruction => {}
        }
    }
}

/// The reference that an element makes with its attributes, if it has a hash.
fn read_reference(gate: &XmlGate<'_>, tag: &XmlTag<'_>, source: FileSource) -> Option<FileReference> {
    let value = |name: &str| gate.find_attribute(name).map(|value| value.into_owned());
    Some(FileReference {
        hash: value(ATTRIBUTE)?,
        media_type: value("type").unwrap_or_default(),
        bytes: value("bytes").and_then(|bytes| bytes.trim_matches([' ', '\t', '\r', '\n']).parse().ok()),
        name: value("name"),
        source,
        element: tag.local.to_owned(),
        span: gate.offset()..gate.offset(),
    })
}

/// Whether the attributes are exactly those that the schema of a file field admits. Other payloads may name hashes, too.
fn is_field(gate: &XmlGate<'_>, file: &FileReference) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_known = |name: &str| [ATTRIBUTE, "type", "bytes", "name"].contains(&name);
    gate.attributes().iter().all(|one| !one.prefix.is_empty() || is_known(one.local))
        && file.hash.len() == 64
        && file.hash.bytes().all(is_digit)
        && FILE_TYPES.contains(&file.media_type.as_str())
        && file.bytes.is_some()
}

/// The attribute that has the hash.
const ATTRIBUTE: &str = "sha256";

#[cfg(test)]
mod tests {
    use super::{FileSource, list_files, replace_forbidden};

    #[test]
    fn a_name_has_no_character_that_an_attribute_cannot_carry() {
        assert_eq!(replace_forbidden("a\u{fffe}b\u{ffff}c\nd\0\u{85}é😀 &<.png"), "a_b_c_d__é😀 &<.png");
    }

    #[test]
    fn the_files_of_a_tool_are_found_with_their_places() {
        let answer = br#"<tool-result xmlns="https://xml-pipeline.org/ns/mcp/v1"><text>sha256</text><other kind="image" type="image/png" bytes="68" sha256="ab"/><other kind="audio" type="audio/wav" bytes="9"/><other sha256="cd" kind="blob" type="x"></other></tool-result>"#;
        let found = list_files(answer);
        let shown: Vec<_> =
            found.iter().map(|file| (file.hash.as_str(), file.media_type.as_str(), file.bytes)).collect();
        assert_eq!(shown, [("ab", "image/png", Some(68)), ("cd", "x", None)]);
        let element = |at: usize| std::str::from_utf8(&answer[found[at].span.clone()]).unwrap();
        assert!(element(0).starts_with("<other kind=\"image\"") && element(0).ends_with("sha256=\"ab\"/>"));
        assert!(element(1).starts_with("<other sha256=\"cd\"") && element(1).ends_with("</other>"));
    }

    #[test]
    fn the_files_of_a_question_are_found_with_their_names() {
        let asked = br#"<t:ask-with xmlns:t="https://xml-pipeline.org/ns/talk/v1"><t:question>What is it?</t:question><t:file sha256="ab" type="image/png" bytes="68" name="plan &amp; sketch.png"/></t:ask-with>"#;
        let found = list_files(asked);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name.as_deref(), Some("plan & sketch.png"));
    }

    #[test]
    fn a_file_field_is_an_element_with_exactly_the_attributes_of_a_reference() {
        let hash = "0123456789abcdef".repeat(4);
        let report = format!(
            r#"<x:wrap xmlns:x="urn:x"><r:report xmlns:r="urn:r"><r:photo r:note="1" sha256="{hash}" type="image/png" bytes="68" name="a.png">
</r:photo><r:page type="application/pdf" bytes="9" sha256="{hash}"/></r:report></x:wrap>"#
        );
        let found = list_files(report.as_bytes());
        let shown: Vec<_> =
            found.iter().map(|file| (file.element.as_str(), file.bytes, file.source)).collect();
        assert_eq!(shown, [("photo", Some(68), FileSource::Field), ("page", Some(9), FileSource::Field)]);
        assert!(report[found[0].span.clone()].ends_with("</r:photo>"));
        let padded = format!("{}7", "0".repeat(30));
        for (bytes, size) in [
            ("68", Some(68)),
            (" +0068\n", Some(68)),
            (padded.as_str(), Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("99999999999999999999", None),
            ("-1", None),
            ("6 8", None),
            ("", None),
        ] {
            let photo =
                format!(r#"<a xmlns="urn:a"><b sha256="{hash}" type="image/png" bytes="{bytes}"/></a>"#);
            assert_eq!(list_files(photo.as_bytes()).first().and_then(|file| file.bytes), size, "{bytes:?}");
        }
        let right = format!(r#"sha256="{hash}" type="image/png" bytes="68""#);
        for inside in [
            format!(r#"<photo {right} of="b"/>"#),
            format!(r#"<photo {right}>text</photo>"#),
            format!(r#"<photo {right}><a/></photo>"#),
            format!(r#"<photo sha256="{hash}" type="image/png"/>"#),
            format!(r#"<photo sha256="{hash}" bytes="68"/>"#),
            format!(r#"<photo sha256="{hash}" type="image/svg+xml" bytes="68"/>"#),
            format!(r#"<photo sha256="{}" type="image/png" bytes="68"/>"#, hash.to_uppercase()),
        ] {
            assert_eq!(list_files(format!(r#"<a xmlns="urn:a">{inside}</a>"#).as_bytes()), [], "{inside}");
        }
    }

    #[test]
    fn another_payload_refers_to_no_file() {
        for payload in [
            r#"<a xmlns="urn:a"><other xmlns="https://xml-pipeline.org/ns/mcp/v1" type="x" sha256="ab"/></a>"#,
            r#"<tool-result xmlns="https://xml-pipeline.org/ns/mcp/v1"><a xmlns="urn:a" sha256="ab"/></tool-result>"#,
            r#"<tool-result xmlns="https://xml-pipeline.org/ns/mcp/v1"><file xmlns="https://xml-pipeline.org/ns/talk/v1" sha256="ab"/></tool-result>"#,
            r#"<tool-result xmlns="https://xml-pipeline.org/ns/mcp/v1"><other sha256="ab">"#,
        ] {
            assert_eq!(list_files(payload.as_bytes()), [], "{payload}");
        }
    }
}
