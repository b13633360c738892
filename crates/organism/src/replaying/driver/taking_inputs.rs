//! What entered from outside, or was due by time, at its recorded moment.

use std::collections::HashSet;

use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::ClientOrder;
use systole_core::rules::admit;
use systole_core::rules::sent_files::{FindFile, FoundFile};
use systole_core::types::flow::Judge;

use super::ReplayDriver;
use crate::replaying::configurations::CannotReplay;
use crate::replaying::inputs::{ReplayInput, ReplayInputKind};
use crate::replaying::ready::ReadyInput;
use crate::replaying::refused_again;

impl ReplayDriver<'_> {
    /// Takes an input of the replay: the clock moves, and an input of the pump enters if there is one.
    pub(super) fn take_input(&mut self, replayed: ReplayInput) -> Result<(), CannotReplay> {
        self.move_to(replayed.at);
        let page = self.find_run()?.page.clone();
        let input = match replayed.what {
            ReplayInputKind::Tick { sent } => {
                // If the delivery was out before, nothing is known about the next one.
                let sent = sent.filter(|_| self.entered != replayed.at.position);
                let goes_out = self.goes_out;
                if let Some(call) = sent {
                    let engine = &mut self.find_run()?.engine;
                    engine.send_only((!goes_out).then(|| HashSet::from([call])));
                    engine.dispatch_ready();
                    self.settle_run()?;
                }
                // What a listener said then comes before what was due by time.
                let is_first =
                    |one: &ReadyInput| one.at.is_some_and(|at| at.position == replayed.at.position);
                if !self.ready.iter().any(is_first) {
                    self.do_due()?;
                }
                if !self.goes_out {
                    self.find_run()?.engine.send_only(Some(HashSet::new()));
                }
                return Ok(());
            }
            ReplayInputKind::Started { config, was_drained } => {
                self.restart_run(config, was_drained)?;
                return self.settle_run();
            }
            ReplayInputKind::Outside(outside) => {
                // The record shows that its files were there. They follow it into the log of the replay.
                let judge: (&mut dyn Judge, FindFile<'_>) = (&mut self.stored.schemas, &|_| FoundFile::Taken);
                let message = admit::admit_message(
                    &page.composition,
                    &outside.client,
                    &outside.document,
                    Some(outside.to.as_str()),
                    outside.thread.as_ref().map(|thread| thread.as_str()),
                    judge,
                );
                PumpInput::Asked(outside.with_verdict(message, &page.composition.organism))
            }
            ReplayInputKind::Attempted(id, state) => PumpInput::Attempting { id, state },
            ReplayInputKind::Ordered(order) => PumpInput::Ordered(order),
            ReplayInputKind::Refused { at, is_late } => {
                match refused_again::read_outside(self.reader, self.tree, (at, is_late))? {
                    Some(input) => input,
                    None => return Ok(()),
                }
            }
            ReplayInputKind::Ruled(ruled) => {
                let state = self.find_run()?.engine.state();
                let request =
                    state.find_thread(&ruled.thread).and_then(|one| one.person_request(&ruled.place));
                let Some(request) = request.map(|request| request.id()) else { return Ok(()) };
                let page = self.stored.open_page(self.reader, ruled.config)?;
                let schemas = &mut self.stored.schemas;
                PumpInput::Ordered(ClientOrder::Ruled(ruled.into_ruling(&page.composition, request, schemas)))
            }
        };
        self.enter_input(input)
    }
}
