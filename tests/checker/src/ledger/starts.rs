//! The starts and ends of the pump in the ledger.

use super::{CheckLedger, LedgerStep};

/// The last start of a pump, and what the pump before said at its end.
#[derive(Default)]
pub(crate) struct RunStarts {
    /// The position of the record of the last start.
    pub(crate) boot: Option<u64>,
    /// The time of that record.
    pub(crate) boot_ms: Option<u64>,
    /// How many deliveries were out on other machines when the pump before stopped, if it stopped with nothing else
    /// out.
    pub(crate) out: Option<u64>,
    /// The last such statement, with its position.
    said: Option<(u64, u64)>,
}

impl CheckLedger {
    pub(super) fn starts_or_ends(&mut self, step: &LedgerStep<'_>) {
        let position = step.record.position;
        if let Some(tag) =
            step.core_named("shutdown").filter(|tag| tag.find_attribute("mode") == Some("drained"))
        {
            self.starts.said = Some((position, tag.read_large("out").unwrap_or(0)));
        } else if step.core_named("boot").is_some() {
            // The statement holds as long as no record follows it.
            let said = self.starts.said.filter(|(at, _)| at + 1 == position);
            (self.starts.boot, self.starts.out) = (Some(position), said.map(|(_, out)| out));
            self.starts.boot_ms = Some(step.record.time_ms);
        }
    }
}
