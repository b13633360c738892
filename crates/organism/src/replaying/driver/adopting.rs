//! What workers on other machines had when the pump was restarted.

use std::collections::BTreeMap;

use systole_core::pump::engine::PumpInput;
use systole_core::types::ids::Name;
use systole_core::types::ports::LeaseToken;

use super::ReplayDriver;
use crate::replaying::configurations::CannotReplay;
use crate::replaying::history::AttemptEnd;
use crate::replaying::ports::PumpOutput;

impl ReplayDriver<'_> {
    /// What workers on other machines had goes on, as far as it is recorded that it did.
    pub(super) fn adopt_leases(&mut self) -> Result<(), CannotReplay> {
        let mut expected: BTreeMap<Name, (Vec<LeaseToken>, Option<String>)> = BTreeMap::new();
        for output in self.ports.take_outputs() {
            let PumpOutput::Expected(lease) = output else {
                self.take_output(output)?;
                continue;
            };
            let id = &lease.id;
            let own = (id.thread.clone(), id.call.clone(), id.turn);
            let place = self.before.get(&lease.token).map_or(own, |out| out.place.clone());
            let (found, lost) = expected.entry(lease.listener.clone()).or_default();
            match self.history.find_attempt(&place, id.attempt).map(|attempt| &attempt.end) {
                Some(Some(AttemptEnd::LostWithPump(words))) => *lost = Some(words.clone()),
                Some(_) => found.push(lease.token.clone()),
                None => {}
            }
        }
        for (listener, (found, lost)) in expected {
            self.find_run()?.engine.take_input(PumpInput::Adopted { listener, found, lost });
        }
        Ok(())
    }
}
