//! What really works in a replay, because the user names it: a program in place of a listener's recorded replies, and
//! the model of an agent.

use super::live_agent::LiveAgent;
use super::stand_in::StandInProgram;

/// What really works in a replay.
#[derive(Default)]
pub struct RealParts {
    /// A program in place of a listener's recorded replies.
    pub program: Option<StandInProgram>,
    /// An agent whose model is really called.
    pub live: Option<LiveAgent>,
}

impl RealParts {
    /// Whether everything that the user names got a request so far.
    pub fn were_asked(&self) -> bool {
        self.program.as_ref().is_none_or(|program| program.count_requests() > 0)
            && self.live.as_ref().is_none_or(LiveAgent::was_asked)
    }
}
