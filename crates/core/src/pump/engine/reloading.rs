//! A reload, as the pump sees it: one pump sends nothing more and ends, and the next one begins with another
//! configuration.

use super::Engine;
use crate::rules::reload_payload::ReloadNews;
use crate::rules::shutdown_payload::RunEnding;
use crate::types::flow::Ticket;

impl Engine {
    /// The same engine, which records at its start how the reload went that the start belongs to, and at its end why it
    /// ended.
    pub fn of_run(self, reloaded: Option<ReloadNews>, ending: RunEnding) -> Engine {
        Engine { reloaded, ending, ..self }
    }

    /// Sends nothing from now on, and takes messages as before. The asker hears when nothing is out on this machine.
    pub(super) fn hold_for_reload(&mut self, ticket: Ticket) {
        self.still = true;
        if let Some(earlier) = self.holder.replace(ticket) {
            self.turn_away(earlier);
        }
        self.tell_holder();
    }

    /// Its end is not that of the organism: another pump begins at once.
    pub fn end_for_reload(&mut self) {
        self.ending = RunEnding::Reload;
    }

    /// Tells the one who waits, once nothing is out on this machine.
    pub(super) fn tell_holder(&mut self) {
        if self.holder.is_some() && self.out_here() == 0 && self.reserved.is_empty() {
            self.holder.take().into_iter().for_each(|ticket| self.ports.askers.finish_sender(ticket));
        }
    }
}
