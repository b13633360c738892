//! The judges inside of a run: each watches one promise of the pump while the run goes on, and says in
//! words what breaks it. None of them changes anything, and none knows another.

pub(crate) mod deliveries;
pub(crate) mod folds;
pub(crate) mod once;
pub(crate) mod rest;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static str,
    /// When, in milliseconds since the run began.
    pub at_ms: u64,
    /// What is wrong.
    pub words: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {} ms: {}", self.rule, self.at_ms, self.words)
    }
}
