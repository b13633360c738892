//! What a provider reports about a request beyond its tokens and its cost, and the pause before the next request. It
//! decides nothing: a replay and the fold of the log ignore it.

use super::{XmlGate, XmlTag, read_count, read_word};
use crate::place::Fault;
use crate::writer::StartTag;

/// The details of an outcome, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutcomeDetails {
    /// How many of the tokens read came from the provider's cache.
    pub cached: Option<u64>,
    /// How many of the tokens read were written to the provider's cache.
    pub cache_write: Option<u64>,
    /// How many of the tokens written are reasoning.
    pub reasoning: Option<u64>,
    /// The model that answered, by the provider's name for it.
    pub served: Option<String>,
    /// The provider's name for the configuration that answered.
    pub fingerprint: Option<String>,
    /// The provider's id of the request.
    pub request: Option<String>,
    /// The next request to the same model, if this one failed.
    pub again: Option<RepeatedRequest>,
}

/// The request that follows a failed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatedRequest {
    /// The pause before it, in milliseconds.
    pub pause_ms: u64,
    /// Its number, from 1.
    pub number: u32,
    /// The most requests.
    pub most: u32,
}

impl OutcomeDetails {
    /// Writes the known details as attributes.
    pub(super) fn write_to<'w, 'n>(&self, start: StartTag<'w, 'n>) -> StartTag<'w, 'n> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let again = self.again.as_ref();
        start
            .attr_if("cached", number(self.cached).as_deref())
            .attr_if("cache-write", number(self.cache_write).as_deref())
            .attr_if("reasoning", number(self.reasoning).as_deref())
            .attr_if("served", self.served.as_deref())
            .attr_if("fingerprint", self.fingerprint.as_deref())
            .attr_if("request", self.request.as_deref())
            .attr_if("pause", number(again.map(|again| again.pause_ms)).as_deref())
            .attr_if("next", number(again.map(|again| again.number.into())).as_deref())
            .attr_if("most", number(again.map(|again| again.most.into())).as_deref())
    }

    /// Reads the details from the attributes of a tag.
    pub(super) fn from_tag<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>) -> Result<Self, Fault> {
        let pause = read_count(gate, tag, "pause")?;
        let (number, most) = (read_small(gate, tag, "next")?, read_small(gate, tag, "most")?);
        Ok(Self {
            cached: read_count(gate, tag, "cached")?,
            cache_write: read_count(gate, tag, "cache-write")?,
            reasoning: read_count(gate, tag, "reasoning")?,
            served: read_optional(gate, tag, "served")?,
            fingerprint: read_optional(gate, tag, "fingerprint")?,
            request: read_optional(gate, tag, "request")?,
            again: pause.map(|pause_ms| RepeatedRequest { pause_ms, number, most }),
        })
    }
}

fn read_small<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str) -> Result<u32, Fault> {
    let count = read_count(gate, tag, name)?;
    Ok(u32::try_from(count.unwrap_or(0)).unwrap_or(u32::MAX))
}

fn read_optional<'d>(gate: &mut XmlGate<'d>, tag: &XmlTag<'d>, name: &str) -> Result<Option<String>, Fault> {
    if gate.find_attribute(name).is_none() {
        return Ok(None);
    }
    read_word(gate, tag, name).map(Some)
}
