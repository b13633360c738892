//! What one message from outside may use, and what it has used. Pure data: kinds of use, amounts of them,
//! and the limits that an organism's file sets.

use serde::{Deserialize, Serialize};

use super::codes::Code;
use super::time::stretch;

/// What is limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Measure {
    /// Calls and spawns.
    Messages,
    /// Child threads.
    Children,
    /// Turns of one call.
    Turns,
    /// Milliseconds in which something was worked on.
    Time,
}

impl Measure {
    /// The word for it in core payloads.
    pub const fn as_str(self) -> &'static str {
        match self {
            Measure::Messages => "messages",
            Measure::Children => "children",
            Measure::Turns => "turns",
            Measure::Time => "time",
        }
    }

    /// Whether the word is one for several things.
    pub const fn is_plural(self) -> bool {
        !matches!(self, Measure::Time)
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Measure> {
        let all = [Measure::Messages, Measure::Children, Measure::Turns, Measure::Time];
        all.into_iter().find(|measure| measure.as_str() == text)
    }

    /// The code by which its end is known. The turns of a call are messages to its listener.
    pub const fn code(self) -> Code {
        match self {
            Measure::Messages | Measure::Turns => Code::MessagesBudget,
            Measure::Children => Code::ChildrenBudget,
            Measure::Time => Code::TimeBudget,
        }
    }
}

/// Amounts of what is used by a message from outside and everything it brings about. A further kind of
/// use is a further field, and a line in `and`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Use {
    /// Calls and spawns that were taken.
    pub messages: u64,
    /// Child threads that were begun.
    pub children: u64,
}

impl Use {
    /// What a call to a peer uses.
    pub const CALL: Use = Use { messages: 1, children: 0 };
    /// What a spawn uses: the child, and the message that begins it.
    pub const SPAWN: Use = Use { messages: 1, children: 1 };

    /// What calls to so many peers use.
    pub const fn calls(count: u64) -> Use {
        Use { messages: count, children: 0 }
    }

    /// This and that.
    #[must_use]
    pub fn and(self, other: Use) -> Use {
        Use {
            messages: self.messages.saturating_add(other.messages),
            children: self.children.saturating_add(other.children),
        }
    }
}

/// What one message from outside may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budgets {
    /// Most calls and spawns.
    pub messages: u64,
    /// How deep calls and spawns may nest, both counted together from the top call on.
    pub depth: usize,
    /// Most child threads, at all depths together.
    pub children: u64,
    /// How long anything of it may be worked on, in milliseconds; none where that is not limited.
    pub wall_ms: Option<u64>,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets { messages: 500, depth: 6, children: 32, wall_ms: None }
    }
}

/// When calls that repeat themselves are told and refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loops {
    /// The how many-th of the same calls is told.
    pub told: u32,
    /// The how many-th is refused.
    pub refused: u32,
    /// How many rounds with one party may bring nothing new.
    pub ping_pong: u32,
}

impl Default for Loops {
    fn default() -> Loops {
        Loops { told: 3, refused: 5, ping_pong: 6 }
    }
}

/// A limit, and how much of it is used: at first one that leaves no room for what was wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exceeded {
    /// What of.
    pub what: Measure,
    /// How much of it was used.
    pub used: u64,
    /// How much there was.
    pub limit: u64,
}

impl Exceeded {
    /// An amount of it as core payloads carry it: a number, or a stretch of time with its unit.
    pub fn written(&self, amount: u64) -> String {
        match self.what {
            Measure::Time => stretch(amount),
            Measure::Messages | Measure::Children | Measure::Turns => amount.to_string(),
        }
    }
}

/// What a record says of the time that a message from outside takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocked {
    /// Whether the time runs from here on.
    pub runs: bool,
    /// How long it ran until here, in milliseconds.
    pub used_ms: u64,
    /// How long it may.
    pub limit_ms: u64,
}
