//! The defaults of each version of stored configurations: what a configuration does not say keeps its meaning.

use systole_core::types::composition::OnUnknown;
use systole_workflow::spec;

use super::limits;

/// The version of the defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Era {
    /// Whether a message from outside has budgets.
    pub(super) has_budgets: bool,
    /// How long a payload waits for its approval.
    pub(super) approval_ms: u64,
    /// What happens to an agent's attempt whose outcome is unknown.
    pub(super) agents_on_unknown: OnUnknown,
    /// How long a call waits for someone who is away.
    pub(super) outage_ms: u64,
    /// Whether requests to models are limited, with the rules that came with that limit.
    pub(super) limits_requests: bool,
    /// The form of the requests of workflows.
    pub(super) workflow_form: u32,
    /// Whether each call keeps a request to its model for its final, with the rules that came with that.
    pub(super) keeps_finals: bool,
}

impl Era {
    /// The defaults of this version.
    pub(super) const NOW: Era = Era {
        has_budgets: true,
        approval_ms: limits::APPROVAL_MS,
        agents_on_unknown: OnUnknown::Retry,
        outage_ms: limits::OUTAGE_MS,
        limits_requests: true,
        workflow_form: spec::FORM,
        keeps_finals: true,
    };
    /// Those of configurations of version 7.
    pub(super) const V7: Era = Era { keeps_finals: false, ..Era::NOW };
    /// Those of configurations of version 6.
    pub(super) const V6: Era = Era { workflow_form: 1, ..Era::V7 };
    /// Those of configurations of version 5.
    pub(super) const V5: Era = Era { limits_requests: false, ..Era::V6 };
    /// Those of configurations of version 4.
    pub(super) const V4: Era = Era { outage_ms: 0, ..Era::V5 };
    /// Those of configurations of version 3.
    pub(super) const V3: Era = Era { agents_on_unknown: OnUnknown::Ask, ..Era::V4 };
    /// Those of configurations of version 2.
    pub(super) const V2: Era = Era { approval_ms: limits::HOUR, ..Era::V3 };
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn agents_of_an_older_configuration_read_answers_as_they_did() {
        let text = "organism: {name: t, entry: solo}\n\
             models: {main: {provider: openai, model: m, url: 'http://127.0.0.1:1/v1'}}\n\
             agents: {solo: {model: main}}\n";
        let now = crate::load_text(Path::new("organism.yaml"), text).unwrap();
        assert!(!now.agents[0].reads_as_before);
        let (from, to) = (b"systole configuration v8", b"systole configuration v5");
        let source = now.composition.source.to_vec();
        let at = source.windows(from.len()).position(|part| part == from).expect("it names its format");
        for (format, as_before) in [(from, false), (to, true)] {
            let source = [&source[..at], format, &source[at + from.len()..]].concat();
            let stored = crate::read_stored(&source, Path::new(".")).unwrap();
            assert_eq!(stored.agents[0].reads_as_before, as_before);
        }
    }
}
