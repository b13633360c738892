//! The judges inside a run: each watches one promise of the pump during the run, and describes every
//! breach. No judge changes anything, and no judge knows another.

pub(crate) mod deliveries;
pub(crate) mod folds;
pub(crate) mod once;
pub(crate) mod remote;
pub(crate) mod rest;

/// A fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static str,
    /// The time, in milliseconds since the run began.
    pub at_ms: u64,
    /// A description of the fault.
    pub words: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {} ms: {}", self.rule, self.at_ms, self.words)
    }
}
