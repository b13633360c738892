//! Files that a payload refers to. Their bytes are in the log under their hash. What refers to a file is an `<other>` in
//! the answer of an MCP tool.
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
    /// The element that refers to it: its bytes in the payload.
    pub span: Range<usize>,
}

/// The files that a payload refers to, in order. Other payloads than those of MCP refer to none.
#[must_use]
pub fn list_files(payload: &[u8]) -> Vec<FileReference> {
    read_files(payload).unwrap_or_default()
}

fn read_files(payload: &[u8]) -> Result<Vec<FileReference>, Fault> {
    let (mut found, mut open, mut closed) = (Vec::new(), None, None::<FileReference>);
    if !payload.windows(ATTRIBUTE.len()).any(|part| part == ATTRIBUTE.as_bytes()) {
        return Ok(found);
    }
    let mut gate = XmlGate::new_strict(payload, &DocumentLimits::FROM_PUMP)?;
    loop {
        let step = gate.read_step()?;
        if let Some(mut file) = closed.take() {
            file.span.end = gate.offset();
            found.push(file);
        }
        match step {
            GateStep::Open(tag) => {
                let is_mcp = gate.find_namespace(&tag) == Some(namespaces::MCP);
                if gate.depth() == 1 && !is_mcp {
                    return Ok(found);
                }
                let value = |name: &str| gate.find_attribute(name).map(|value| value.into_owned());
                let hash = value(ATTRIBUTE).filter(|_| is_mcp && tag.local == "other");
                open = hash.map(|hash| FileReference {
                    hash,
                    media_type: value("type").unwrap_or_default(),
                    bytes: value("bytes").and_then(|bytes| bytes.trim().parse().ok()),
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
    fn another_payload_refers_to_no_file() {
        for payload in [
            r#"<a xmlns="urn:a"><other xmlns="https://xml-pipeline.org/ns/mcp/v1" type="x" sha256="ab"/></a>"#,
            r#"<tool-result xmlns="https://xml-pipeline.org/ns/mcp/v1"><a xmlns="urn:a" sha256="ab"/></tool-result>"#,
            r#"<tool-result xmlns="https://xml-pipeline.org/ns/mcp/v1"><other sha256="ab">"#,
        ] {
            assert_eq!(list_files(payload.as_bytes()), [], "{payload}");
        }
    }
}
