//! One reply of a script as written: the content, the pace, and the faults.
//!
//! It holds the written values and checks them. It knows no provider.

use serde::Deserialize;

use crate::script::{Calls, Chunk, Cut, Fault, MediaType, Need, Pause, Rate, Stop, Times, UsageSet};

/// A reply, key by key.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Reply {
    pub(crate) say: Option<String>,
    pub(crate) fits: Option<String>,
    #[serde(rename = "if")]
    pub(crate) when: Option<String>,
    pub(crate) need: Vec<Need>,
    pub(crate) chunk: Option<Chunk>,
    pub(crate) delay: Option<Pause>,
    pub(crate) first: Option<Pause>,
    pub(crate) stop: Option<Stop>,
    pub(crate) cut: Option<Cut>,
    pub(crate) hang: bool,
    pub(crate) hold: Option<String>,
    pub(crate) usage: UsageSet,
    pub(crate) call: Calls,
    pub(crate) thinking: Option<String>,
    pub(crate) error: Option<Fault>,
    pub(crate) html: bool,
    pub(crate) ok_error: bool,
    pub(crate) garbage: bool,
    pub(crate) content_type: Option<MediaType>,
    pub(crate) drip: Option<Rate>,
    pub(crate) fill: Option<u64>,
    pub(crate) endless: bool,
    pub(crate) times: Times,
}

impl Reply {
    /// The status of the answer.
    pub(crate) fn status(&self) -> u16 {
        match &self.error {
            Some(fault) => fault.status.0,
            None if self.html => 500,
            None => 200,
        }
    }

    /// Whether the keys fit together. Otherwise the message of the mistake.
    pub(crate) fn check(&self) -> Result<(), String> {
        let told = [
            ("say", self.say.is_some()),
            ("call", !self.call.0.is_empty()),
            ("thinking", self.thinking.is_some()),
            ("fill", self.fill.is_some()),
            ("endless", self.endless),
            ("stop", self.stop.is_some()),
        ];
        let alone = [
            ("error", self.error.is_some()),
            ("html", self.html),
            ("garbage", self.garbage),
            ("hang", self.hang),
        ];
        let told: Vec<&str> = told.iter().filter(|(_, there)| *there).map(|(key, _)| *key).collect();
        let alone: Vec<&str> = alone.iter().filter(|(_, there)| *there).map(|(key, _)| *key).collect();
        match (alone.as_slice(), told.as_slice()) {
            ([], []) if !self.ok_error && self.cut.is_none() => {
                return Err(
                    "the reply is empty: `say`, `call`, `error` or another key that answers".to_owned()
                );
            }
            ([one, other, ..], _) | ([one], [other, ..]) => {
                return Err(format!("`{one}` answers alone, without `{other}`"));
            }
            ([one], []) if self.ok_error => {
                return Err(format!("`{one}` answers alone, without `ok_error`"));
            }
            (["hang"], []) if self.cut.is_some() => {
                return Err("`hang` sends nothing that `cut` could end".to_owned());
            }
            _ => {}
        }
        if self.fits.is_some() && self.say.is_none() {
            return Err("`fits` needs `say`, for requests without a JSON Schema".to_owned());
        }
        if let Some(text) = &self.hold
            && (text.is_empty()
                || ![&self.thinking, &self.say].into_iter().flatten().any(|said| said.contains(text)))
        {
            return Err("`hold` is a part of what is said, in `say` or `thinking`".to_owned());
        }
        if self.endless && self.fill.is_some() {
            return Err("`endless` has no end that `fill` could set".to_owned());
        }
        let bytes = matches!(self.chunk, Some(Chunk::Bytes(_)));
        if self.drip.is_some() && (self.delay.is_some() || bytes) {
            return Err(
                "`drip` sets the pace of every byte, without `delay` and a `chunk` of bytes".to_owned()
            );
        }
        Ok(())
    }
}
