//! What a program says that is asked in place of a listener's recorded replies.

use systole_core::types::codes::Code;

use super::ReplayDriver;
use crate::replaying::configurations::CannotReplay;
use crate::replaying::history::AttemptEnd;
use crate::replaying::ready::ReadyKind;
use crate::replaying::stand_in::StandInWord;

impl ReplayDriver<'_> {
    /// Waits for what the program in place of a listener says, unless what it said before has not entered yet. Its answer
    /// enters where the recorded one did.
    pub(super) fn hear_stand_in(&mut self) -> Result<bool, CannotReplay> {
        let Some(stand_in) = self.real.program.as_mut() else { return Ok(false) };
        if stand_in.current().is_some_and(|token| self.ready.iter().any(|ready| ready.token == *token)) {
            return Ok(false);
        }
        let (token, what) = match stand_in.next_word() {
            Some(StandInWord::Gone(_, Code::ListenerDown, words)) => {
                return Err(CannotReplay::NotStarted(stand_in.listener().clone(), words));
            }
            Some(StandInWord::Said(token, document)) => (token, ReadyKind::Said(document)),
            Some(StandInWord::Gone(token, code, words)) => (token, ReadyKind::Gone { code, words }),
            None => return Ok(false),
        };
        let Some(out) = self.out.get(&token) else { return Ok(true) };
        let lease = out.lease.clone();
        let end = self.history.find_attempt(&out.place, lease.id.attempt).and_then(|one| one.end.as_ref());
        let at = match end {
            Some(AttemptEnd::Replied(at) | AttemptEnd::Failed { at, .. }) if what.is_end() => Some(*at),
            _ => None,
        };
        self.push_ready(at, &lease, what);
        Ok(true)
    }
}
