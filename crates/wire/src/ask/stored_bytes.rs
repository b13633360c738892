//! Stored bytes as questions and answers carry them: `<schema/>`, `<blob/>`, `<put-blob/>` and `<configuration/>` in an
//! `<ask>`. If XML can carry the bytes as text, they are text, otherwise hex digits. Also the answer that confirms
//! stored bytes.
//!
//! This module does not decide who may read the bytes. Bytes come in and a payload goes out, or the other way round.

use crate::gate::{GateStep, XmlGate, XmlTag};
use crate::journal::{read_count, require_count};
use crate::place::Fault;
use crate::writer::{StartTag, XmlWriter};
use crate::{DocumentLimits, Payload, QName, characters, codes, namespaces};

/// A page of some bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BytePage {
    /// How many bytes there are in all.
    pub total: u64,
    /// The first byte of the next page, if this is not the last page.
    pub next: Option<u64>,
    /// The bytes of this page.
    pub bytes: Vec<u8>,
}

/// Where the bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteSource<'n> {
    /// The schema of the listener with that name.
    Schema(&'n str),
    /// The blob with that hash.
    Blob(&'n str),
    /// The section of the organism file with that path.
    Configuration(&'n str),
}

impl BytePage {
    /// Cuts a page of at most `most` bytes, beginning at `from`; `None` if `from` is past the end. Text is cut
    /// between characters, so a page of text may be a little shorter.
    #[must_use]
    pub fn cut_page(all: &[u8], from: u64, most: usize) -> Option<Self> {
        let start = usize::try_from(from).ok().filter(|start| *start < all.len() || *start == 0)?;
        let rest = all.get(start..)?;
        let mut end = rest.len().min(most);
        while end > 0 && end < rest.len() && rest.get(end).is_some_and(|byte| *byte & 0xc0 == 0x80) {
            end -= 1;
        }
        // Bytes that are not text have no character boundaries to cut at.
        let end = if end == 0 { rest.len().min(most) } else { end };
        let bytes = rest.get(..end)?.to_vec();
        let next = (end < rest.len()).then_some((start + end) as u64);
        Some(Self { total: all.len() as u64, next, bytes })
    }

    /// The payload of the answer that carries this page.
    #[must_use]
    pub fn to_payload(&self, whose: ByteSource<'_>) -> Payload {
        let (name, attribute, value) = match whose {
            ByteSource::Schema(name) => ("schema", "name", name),
            ByteSource::Blob(hash) => ("blob", "hash", hash),
            ByteSource::Configuration(path) => ("configuration", "path", path),
        };
        let next = self.next.map(|next| next.to_string());
        let mut writer = XmlWriter::with_capacity(256 + self.bytes.len() * 2);
        let start =
            writer.open(name).xmlns(namespaces::LISTENER).attr(attribute, value).number("total", self.total);
        write_bytes(start.attr_if("next", next.as_deref()), &self.bytes);
        Payload::from_composed(writer.finish(), QName::new(namespaces::LISTENER, name))
    }

    /// Reads the payload back.
    ///
    /// # Errors
    /// If the payload holds no schema, blob or configuration.
    pub fn from_payload(payload: &Payload) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
        let tag = match gate.read_step()? {
            GateStep::Open(tag)
                if gate.find_namespace(&tag) == Some(namespaces::LISTENER)
                    && matches!(tag.local, "schema" | "blob" | "configuration") =>
            {
                tag
            }
            _ => {
                let fault =
                    gate.make_fault(codes::INVALID, "the payload holds no bytes that were asked for", 0);
                return Err(fault.with_expected("<schema>, <blob> or <configuration>"));
            }
        };
        let (total, next) = (require_count(&mut gate, &tag, "total")?, read_count(&mut gate, &tag, "next")?);
        Ok(Self { total, next, bytes: read_bytes(&mut gate, &tag)? })
    }
}

/// Ends an element with bytes inside it.
pub(super) fn write_bytes(start: StartTag<'_, '_>, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).ok();
    match text.filter(|text| text.chars().all(characters::is_legal)) {
        Some(text) => start.text(text),
        None => start.attr("encoding", "hex").text(&to_hex(bytes)),
    }
}

/// Reads the bytes inside the element that `gate` has just opened.
pub(super) fn read_bytes<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Vec<u8>, Fault> {
    let is_hex = match gate.find_attribute("encoding").as_deref() {
        None => false,
        Some("hex") => true,
        Some(other) => {
            let message = format!("attribute encoding of <{}> names no encoding that is known", tag.local);
            let fault = gate.make_fault(codes::INVALID, message, tag.offset);
            return Err(fault.with_expected("hex, or no encoding for text").with_received(other));
        }
    };
    let text = gate.text_inside()?;
    let bytes = if is_hex { from_hex(&text) } else { Some(text.into_bytes()) };
    bytes.ok_or_else(|| {
        let message = format!("<{}> does not hold pairs of hex digits", tag.local);
        gate.make_fault(codes::INVALID, message, tag.offset)
    })
}

/// The answer to `<ask><put-blob/></ask>`: the bytes are on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBlob {
    /// The SHA-256 of the bytes, as 64 lower-case hex digits.
    pub hash: String,
    /// The number of bytes.
    pub total: u64,
}

impl StoredBlob {
    /// The payload of the answer.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let mut writer = XmlWriter::with_capacity(256);
        let start = writer.open("blob").xmlns(namespaces::LISTENER);
        start.attr("hash", &self.hash).number("total", self.total).empty();
        Payload::from_composed(writer.finish(), QName::new(namespaces::LISTENER, "blob"))
    }

    /// Reads the payload back.
    ///
    /// # Errors
    /// If the payload does not confirm stored bytes.
    pub fn from_payload(payload: &Payload) -> Result<Self, Fault> {
        let mut gate = XmlGate::new_strict(payload.bytes(), &DocumentLimits::FROM_PUMP)?;
        match gate.read_step()? {
            GateStep::Open(tag)
                if gate.find_namespace(&tag) == Some(namespaces::LISTENER) && tag.local == "blob" =>
            {
                let hash = crate::required_attributes::require_attribute(&mut gate, &tag, "hash")?;
                Ok(Self { hash, total: require_count(&mut gate, &tag, "total")? })
            }
            _ => {
                let fault =
                    gate.make_fault(codes::INVALID, "the payload does not say that bytes are kept", 0);
                Err(fault.with_expected("<blob>"))
            }
        }
    }
}

fn to_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |byte, half| byte * 16 + half)).ok())
        .collect()
}
