//! Questions that a listener may ask the pump about its delivery.
//!
//! This module answers none of them. A start tag that the gate has just opened comes in and a [`PumpQuestion`] goes out,
//! or the other way round.

mod stored_bytes;
mod view_answer;

pub use stored_bytes::{BytePage, ByteSource, StoredBlob};
pub use view_answer::{MessageSpot, ModelWords, ViewEntry, ViewedMessage, ViewedPage};

use crate::gate::{XmlGate, XmlTag};
use crate::journal::read_count;
use crate::place::Fault;
use crate::writer::{StartTag, XmlWriter};
use crate::{codes, namespaces};

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PumpQuestion {
    /// The messages of the listener's own call, from a given one on.
    View {
        /// The number of the first message wanted; 0 means the same as 1: all of them.
        from_seq: u64,
        /// Whether to show the model's text between the messages.
        words: bool,
        /// Whether to show the listener's own items that are not notes. If not, the answers, the notes and the inbox
        /// remain and keep their numbers.
        items: bool,
    },
    /// The schema of a listener.
    Schema {
        /// The listener's own name, or the name of a peer.
        name: String,
        /// The element, if several schemas define it.
        element: Option<String>,
        /// The first byte wanted, from 0.
        from: u64,
    },
    /// Bytes that the listener's view names.
    Blob {
        /// Their hash.
        hash: String,
        /// The first byte wanted, from 0.
        from: u64,
    },
    /// The listener's own section of the organism file, as it was when the call began.
    Configuration {
        /// Its path: `listeners.NAME`, `agents.NAME` or `workflows.NAME`, with the asker's own name.
        path: String,
        /// The first byte wanted, from 0.
        from: u64,
    },
    /// Bytes to store under their hash.
    PutBlob {
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The journal of this turn's earlier attempts.
    Journal {
        /// The first entry wanted, from 0.
        from: u64,
    },
}

const KINDS: &str = "view, schema, blob, put-blob, configuration or journal";

impl PumpQuestion {
    /// The name of the question's element.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::View { .. } => "view",
            Self::Schema { .. } => "schema",
            Self::Blob { .. } => "blob",
            Self::PutBlob { .. } => "put-blob",
            Self::Configuration { .. } => "configuration",
            Self::Journal { .. } => "journal",
        }
    }

    /// Writes the question as the content of `<ask>`.
    pub(crate) fn write_to(&self, writer: &mut XmlWriter) {
        let start = writer.open(self.name());
        match self {
            Self::View { from_seq, words, items } => {
                let (words, items) = (words.then_some("true"), (!items).then_some("false"));
                start.number("from-seq", *from_seq).attr_if("words", words).attr_if("items", items).empty();
            }
            Self::Schema { name, element, from } => {
                write_since(start.attr("name", name).attr_if("element", element.as_deref()), *from);
            }
            Self::Blob { hash, from } => write_since(start.attr("hash", hash), *from),
            Self::PutBlob { bytes } => stored_bytes::write_bytes(start, bytes),
            Self::Configuration { path, from } => write_since(start.attr("path", path), *from),
            Self::Journal { from } => write_since(start, *from),
        }
    }

    /// Reads the one question inside the element that `gate` has just opened, to the end of that element.
    pub(crate) fn from_tag<'d>(gate: &mut XmlGate<'d>, ask: &XmlTag<'d>) -> Result<Self, Fault> {
        let Some(tag) = gate.read_child()? else {
            return Err(gate
                .make_fault(codes::INVALID, "<ask> asks nothing", ask.offset)
                .with_expected(KINDS));
        };
        let question = Self::read_one(gate, &tag)?;
        match gate.read_child()? {
            None => Ok(question),
            Some(second) => {
                let fault =
                    gate.make_fault(codes::INVALID, "<ask> asks more than one question", second.offset);
                Err(fault.with_fix("send each question in an <ask> with an id of its own"))
            }
        }
    }

    fn read_one<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Self, Fault> {
        let is_own = gate.find_namespace(tag) == Some(namespaces::LISTENER);
        let question = match tag.local {
            "view" if is_own => Self::View {
                from_seq: read_count(gate, tag, "from-seq")?.unwrap_or(0),
                words: read_flag(gate, tag, "words", false)?,
                items: read_flag(gate, tag, "items", true)?,
            },
            "schema" if is_own => Self::Schema {
                name: super::required_attributes::require_attribute(gate, tag, "name")?,
                element: gate.find_attribute("element").map(std::borrow::Cow::into_owned),
                from: read_start(gate, tag)?,
            },
            "blob" if is_own => Self::Blob {
                hash: super::required_attributes::require_attribute(gate, tag, "hash")?,
                from: read_start(gate, tag)?,
            },
            "configuration" if is_own => Self::Configuration {
                path: super::required_attributes::require_attribute(gate, tag, "path")?,
                from: read_start(gate, tag)?,
            },
            "put-blob" if is_own => return Ok(Self::PutBlob { bytes: stored_bytes::read_bytes(gate, tag)? }),
            "journal" if is_own => Self::Journal { from: read_start(gate, tag)? },
            other => {
                let message = format!("<{other}> is not a question to the pump");
                let fault = gate.make_fault(codes::INVALID, message, tag.offset);
                return Err(fault.with_expected(format!("{KINDS}, in {}", namespaces::LISTENER)));
            }
        };
        let text = gate.text_inside()?;
        if text.trim_matches(crate::characters::is_white).is_empty() {
            return Ok(question);
        }
        let message = format!("<{}> has text, and must have none", tag.local);
        Err(gate.make_fault(codes::INVALID, message, tag.offset).with_received(text.trim()))
    }
}

/// Closes a question, with its first byte if that is not the beginning.
fn write_since(start: StartTag<'_, '_>, from: u64) {
    if from == 0 { start.empty() } else { start.number("from", from).empty() }
}

/// An attribute that is true or false.
fn read_flag<'d>(
    gate: &mut XmlGate<'d>,
    tag: &XmlTag<'d>,
    name: &str,
    left_out: bool,
) -> Result<bool, Fault> {
    match gate.find_attribute(name).as_deref() {
        None => Ok(left_out),
        Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(other) => {
            let message = format!("attribute {name} of <{}> is neither true nor false", tag.local);
            Err(gate.make_fault(codes::INVALID, message, tag.offset).with_received(other))
        }
    }
}

fn read_start<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<u64, Fault> {
    Ok(read_count(gate, tag, "from")?.unwrap_or(0))
}
