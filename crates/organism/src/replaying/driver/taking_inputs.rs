//! What entered from outside, or was due by time, at its recorded moment.

use std::collections::HashSet;

use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::ClientOrder;
use systole_core::rules::admit;

use super::ReplayDriver;
use crate::replaying::configurations::CannotReplay;
use crate::replaying::inputs::{CueKind, ReplayInput};
use crate::replaying::ready::ReadyInput;
use crate::replaying::refused_again;

impl ReplayDriver<'_> {
    /// Takes a cue: the clock moves, and an input enters if there is one.
    pub(super) fn take_input(&mut self, cue: ReplayInput) -> Result<(), CannotReplay> {
        self.move_to(cue.at);
        let page = self.find_run()?.page.clone();
        let input = match cue.what {
            CueKind::Tick { sent } => {
                // If the delivery was out before, nothing is known about the next one.
                let sent = sent.filter(|_| self.entered != cue.at.position);
                let goes_out = self.goes_out;
                if let Some(call) = sent {
                    let engine = &mut self.find_run()?.engine;
                    engine.send_only((!goes_out).then(|| HashSet::from([call])));
                    engine.dispatch_ready();
                    self.settle_run()?;
                }
                // What a listener said then comes before what was due by time.
                let is_first = |one: &ReadyInput| one.at.is_some_and(|at| at.position == cue.at.position);
                if !self.ready.iter().any(is_first) {
                    self.do_due()?;
                }
                if !self.goes_out {
                    self.find_run()?.engine.send_only(Some(HashSet::new()));
                }
                return Ok(());
            }
            CueKind::Started { config, was_drained } => {
                self.restart_run(config, was_drained)?;
                return self.settle_run();
            }
            CueKind::Outside(outside) => {
                let message = admit::admit_message(
                    &page.composition,
                    &outside.client,
                    &outside.document,
                    Some(outside.to.as_str()),
                    outside.thread.as_ref().map(|thread| thread.as_str()),
                    &mut self.shelf.schemas,
                );
                PumpInput::Asked(outside.with_verdict(message))
            }
            CueKind::Attempted(id, state) => PumpInput::Attempting { id, state },
            CueKind::Ordered(order) => PumpInput::Ordered(order),
            CueKind::Refused { at, is_late } => {
                match refused_again::read_outside(self.reader, self.tree, (at, is_late))? {
                    Some(input) => input,
                    None => return Ok(()),
                }
            }
            CueKind::Ruled(ruled) => {
                let state = self.find_run()?.engine.state();
                let request =
                    state.find_thread(&ruled.thread).and_then(|one| one.person_request(&ruled.place));
                let Some(request) = request.map(|request| request.id()) else { return Ok(()) };
                let page = self.shelf.open_page(self.reader, ruled.config)?;
                let schemas = &mut self.shelf.schemas;
                PumpInput::Ordered(ClientOrder::Ruled(ruled.into_ruling(&page.composition, request, schemas)))
            }
        };
        self.enter_input(input)
    }
}
