//! Journal entries: the record before a call of a model, and the record of the model's answer.
//!
//! An entry is durable once the pump answers it. So a later attempt at the same turn finds the answers that were
//! already bought, and sees a call whose outcome is unknown. This module does not decide what follows from that. A
//! start tag that the gate has just opened comes in and an [`JournalEntry`] goes out, or the other way round.

use crate::gate::{XmlGate, XmlTag};
use crate::limits::WORD_BYTES;
use crate::money::Money;
use crate::place::Fault;
use crate::writer::XmlWriter;
use crate::{codes, namespaces};

mod details;
mod past;

pub use details::{OutcomeDetails, RepeatedRequest};
pub use past::{EarlierEntries, EarlierEntry, PriorCall};

/// How the `stop` of a request without an answer begins.
const FAULT_STOP: &str = "model.";

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalEntry {
    /// A model is about to be called.
    Started(ModelStarted),
    /// The model has answered, or it is known that it will not.
    Result(ModelCallOutcome),
}

/// The record before a call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStarted {
    /// The model.
    pub model: String,
    /// SHA-256 of the prompt, in 64 hex digits: a later attempt recognises the call by it.
    pub prompt: String,
    /// What holds the answer to its form: `schema`, `strict`, or `grammar:` and the SHA-256 of the document with it.
    pub guided: Option<String>,
    /// The most tokens that the call may use; the pump reserves them.
    pub reserve_tokens: Option<u64>,
    /// The most that the call may cost.
    pub reserve_money: Option<Money>,
    /// How many milliseconds later the model is called, if its rate delays the call.
    pub wait_ms: Option<u64>,
}

/// The outcome of a model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCallOutcome {
    /// The id of the call's `model-started` entry, in the same attempt.
    pub of: u64,
    /// Why the model stopped, such as `end` or `length`; or why there is no answer.
    pub stop: String,
    /// Tokens that the model read, if known.
    pub tokens_in: Option<u64>,
    /// Tokens that the model wrote, if known.
    pub tokens_out: Option<u64>,
    /// The cost, if known.
    pub money: Option<Money>,
    /// The answer's text, unchanged. Empty if the text is kept as documents.
    pub text: String,
    /// The hashes of the documents that hold the text, in order, if an entry has no room for it.
    pub blobs: Vec<String>,
    /// What else is known.
    pub details: Box<OutcomeDetails>,
}

impl ModelCallOutcome {
    /// Whether the request failed and cost nothing.
    #[must_use]
    pub fn is_unpaid_fault(&self) -> bool {
        self.stop.starts_with(FAULT_STOP)
            && self.count_tokens() == Some(0)
            && self.money.is_none_or(|money| money.micros == 0)
    }

    /// All tokens used; `None` if neither number is known, and then the reserved tokens count as used.
    #[must_use]
    pub fn count_tokens(&self) -> Option<u64> {
        match (self.tokens_in, self.tokens_out) {
            (None, None) => None,
            (read, written) => Some(read.unwrap_or(0).saturating_add(written.unwrap_or(0))),
        }
    }
}

/// The identifying attributes of an entry's start tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EntryLabel<'a> {
    /// Its number within its attempt.
    pub id: u64,
    /// The delivery of the entry, in a document from a listener.
    pub delivery: Option<&'a str>,
    /// The attempt that made it, in a record.
    pub attempt: Option<u32>,
}

impl JournalEntry {
    /// The word for the entry's kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Started(_) => "model-started",
            Self::Result(_) => "model-result",
        }
    }

    /// The document of an entry, as a listener sends it or as the log keeps it.
    #[must_use]
    pub fn to_document(&self, label: EntryLabel<'_>) -> Vec<u8> {
        let mut writer = XmlWriter::with_capacity(512);
        self.write_to(&mut writer, label);
        writer.finish()
    }

    /// Writes the entry with its namespace on its own tag.
    pub(crate) fn write_to(&self, writer: &mut XmlWriter, label: EntryLabel<'_>) {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let attempt = number(label.attempt.map(u64::from));
        let start = writer
            .open("journal")
            .xmlns(namespaces::LISTENER)
            .number("id", label.id)
            .attr_if("delivery", label.delivery)
            .attr_if("attempt", attempt.as_deref())
            .attr("kind", self.kind());
        match self {
            Self::Started(ModelStarted { model, prompt, guided, reserve_tokens, reserve_money, wait_ms }) => {
                start
                    .attr("model", model)
                    .attr("prompt", prompt)
                    .attr_if("guided", guided.as_deref())
                    .attr_if("reserve-tokens", number(*reserve_tokens).as_deref())
                    .attr_if("reserve-money", reserve_money.map(|money| money.to_string()).as_deref())
                    .attr_if("wait", number(*wait_ms).as_deref())
                    .empty()
            }
            Self::Result(outcome) => {
                let ModelCallOutcome { of, stop, tokens_in, tokens_out, money, text, blobs, details } =
                    outcome;
                let start = start
                    .number("of", *of)
                    .attr("stop", stop)
                    .attr_if("in", number(*tokens_in).as_deref())
                    .attr_if("out", number(*tokens_out).as_deref())
                    .attr_if("money", money.map(|money| money.to_string()).as_deref())
                    .attr_if("blobs", Some(blobs.join(" ")).filter(|blobs| !blobs.is_empty()).as_deref());
                details.write_to(start).text(text);
            }
        }
    }

    /// Reads the entry that `gate` has just opened, to its end.
    pub(crate) fn from_tag<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Self, Fault> {
        let kind = super::required_attributes::require_attribute(gate, tag, "kind")?;
        match kind.as_str() {
            "model-started" => {
                let started = ModelStarted {
                    model: read_word(gate, tag, "model")?,
                    prompt: read_hash(gate, tag, "prompt")?,
                    guided: read_guided(gate, tag)?,
                    reserve_tokens: read_count(gate, tag, "reserve-tokens")?,
                    reserve_money: read_money(gate, tag, "reserve-money")?,
                    wait_ms: read_count(gate, tag, "wait")?,
                };
                let text = gate.text_inside()?;
                if !text.trim_matches(crate::characters::is_white).is_empty() {
                    let message = "a start has no text: the model has not said anything yet";
                    return Err(gate
                        .make_fault(codes::INVALID, message, tag.offset)
                        .with_received(text.trim()));
                }
                Ok(Self::Started(started))
            }
            "model-result" => Ok(Self::Result(ModelCallOutcome {
                of: require_count(gate, tag, "of")?,
                stop: read_word(gate, tag, "stop")?,
                tokens_in: read_count(gate, tag, "in")?,
                tokens_out: read_count(gate, tag, "out")?,
                money: read_money(gate, tag, "money")?,
                blobs: read_hashes(gate, tag, "blobs")?,
                details: Box::new(OutcomeDetails::from_tag(gate, tag)?),
                text: gate.text_inside()?,
            })),
            other => {
                let fault =
                    gate.make_fault(codes::INVALID, "there is no journal entry of this kind", tag.offset);
                Err(fault.with_expected("model-started or model-result").with_received(other))
            }
        }
    }
}

fn read_word<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str) -> Result<String, Fault> {
    let value = super::required_attributes::require_attribute(gate, tag, name)?;
    if value.len() > WORD_BYTES {
        let message = format!(
            "attribute {name} of <{}> has {} bytes, the limit is {WORD_BYTES}",
            tag.local,
            value.len()
        );
        let fault = gate.make_fault(codes::TOO_LARGE, message, tag.offset);
        return Err(fault.with_fix(format!("write at most {WORD_BYTES} bytes into {name}")));
    }
    Ok(value)
}

fn read_hash<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str) -> Result<String, Fault> {
    let value = super::required_attributes::require_attribute(gate, tag, name)?;
    if is_hash(&value) { Ok(value) } else { Err(no_hash(gate, tag, name, &value)) }
}

/// What holds an answer, if the attribute says it.
fn read_guided<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Option<String>, Fault> {
    let Some(value) = gate.find_attribute("guided").map(std::borrow::Cow::into_owned) else {
        return Ok(None);
    };
    if matches!(value.as_str(), "schema" | "strict") || value.strip_prefix("grammar:").is_some_and(is_hash) {
        return Ok(Some(value));
    }
    let message = format!("attribute guided of <{}> names nothing that holds an answer", tag.local);
    let fault = gate.make_fault(codes::INVALID, message, tag.offset);
    Err(fault.with_expected("schema, strict, or grammar: and a SHA-256").with_received(&value))
}

/// Hashes with a blank between them; empty if the attribute is missing.
fn read_hashes<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str) -> Result<Vec<String>, Fault> {
    let Some(value) = gate.find_attribute(name).map(std::borrow::Cow::into_owned) else {
        return Ok(Vec::new());
    };
    let hashes: Vec<String> = value.split_ascii_whitespace().map(str::to_owned).collect();
    match hashes.iter().find(|hash| !is_hash(hash)) {
        None => Ok(hashes),
        Some(other) => Err(no_hash(gate, tag, name, other)),
    }
}

fn is_hash(value: &str) -> bool {
    value.len() == 64 && value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn no_hash<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str, value: &str) -> Fault {
    let message = format!("attribute {name} of <{}> is not a SHA-256", tag.local);
    gate.make_fault(codes::INVALID, message, tag.offset)
        .with_expected("64 hex digits, a to f small")
        .with_received(value)
}

pub(crate) fn require_count<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str) -> Result<u64, Fault> {
    super::required_attributes::require_attribute(gate, tag, name)?;
    read_count(gate, tag, name).map(Option::unwrap_or_default)
}

/// A whole number, if the attribute is present.
pub(crate) fn read_count<'d>(
    gate: &mut XmlGate<'d>,
    tag: &XmlTag<'d>,
    name: &str,
) -> Result<Option<u64>, Fault> {
    let Some(value) = gate.find_attribute(name) else { return Ok(None) };
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    match value.parse().ok().filter(|_| digits) {
        Some(number) => Ok(Some(number)),
        None => {
            let message = format!("attribute {name} of <{}> is not a whole number", tag.local);
            Err(gate.make_fault(codes::INVALID, message, tag.offset).with_received(&value))
        }
    }
}

fn read_money<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str) -> Result<Option<Money>, Fault> {
    let Some(value) = gate.find_attribute(name) else { return Ok(None) };
    match Money::parse(&value) {
        Some(money) => Ok(Some(money)),
        None => {
            let message = format!("attribute {name} of <{}> is not an amount of money", tag.local);
            let fault = gate.make_fault(codes::INVALID, message, tag.offset).with_received(&value);
            Err(fault.with_expected("an amount with at most six decimals, a blank, a currency: 0.0134 USD"))
        }
    }
}
