//! Files that a payload refers to. Their bytes are in the log under their hash. What refers to a file is an `<other>` in
//! the answer of an MCP tool, or a `<file>` in a question to an agent.
//!
//! A document comes in, references go out. This module does not decide who may read the bytes.

use std::ops::Range;

use crate::gate::{GateStep, XmlGate};
use crate::{DocumentLimits, Fault, namespaces};

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
    /// Whether a client sent it with a question.
    pub is_asked: bool,
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

/// The files that a payload refers to, in order. Other payloads than those of MCP and of questions refer to none.
#[must_use]
pub fn list_files(payload: &[u8]) -> Vec<FileReference> {
    read_files(payload).unwrap_or_default()
}

fn read_files(payload: &[u8]) -> Result<Vec<FileReference>, Fault> {
    let (mut found, mut open, mut closed) = (Vec::new(), None, None::<FileReference>);
    if !std::str::from_utf8(payload).is_ok_and(|text| text.contains(ATTRIBUTE)) {
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
                    Some(namespaces::MCP) => Some("other"),
                    Some(namespaces::TALK) => Some("file"),
                    _ => None,
                };
                if gate.depth() == 1 {
                    outer = referring;
                }
                if outer.is_none() {
                    return Ok(found);
                }
                let value = |name: &str| gate.find_attribute(name).map(|value| value.into_owned());
                let hash = value(ATTRIBUTE).filter(|_| referring == outer && outer == Some(tag.local));
                open = hash.map(|hash| FileReference {
                    hash,
                    media_type: value("type").unwrap_or_default(),
                    bytes: value("bytes").and_then(|bytes| bytes.trim().parse().ok()),
                    name: value("name"),
                    is_asked: outer == Some("file"),
                    span: gate.offset()..gate.offset(),
                });
            }
            GateStep::Close => closed = open.take(),
            GateStep::Done => return Ok(found),
            GateStep::Text(_) | GateStep::Instruction => {}
        }
    }
}

/// The attribute that has the hash.
const ATTRIBUTE: &str = "sha256";

#[cfg(test)]
mod tests {
    use super::list_files;

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
