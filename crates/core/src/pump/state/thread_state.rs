//! Whether a thread is at work.

/// Whether a thread is at work, rests, or has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadState {
    /// A call is open.
    Working,
    /// No call is open; the next message continues it.
    Resting,
    /// Nothing is ever appended again.
    Ended,
}

impl ThreadState {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            ThreadState::Working => "working",
            ThreadState::Resting => "resting",
            ThreadState::Ended => "ended",
        }
    }
}
