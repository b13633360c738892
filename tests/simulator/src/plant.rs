//! Faults that are built in on purpose, to see that they are found. They sit where the pump meets the
//! outside, so the product has no door for them.

/// A mistake that a pump, or what is around it, might make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plant {
    /// The writer says that a batch is on disk before it is.
    AckBeforeSync,
    /// The disk says that it synced, and loses what it has when the power fails.
    LostSync,
    /// Of a batch that was being written when the power failed, the first records stay.
    TornBatch,
    /// An unknown commit is taken for a good one.
    UnknownIsStored,
    /// A reply that comes again counts for the turn after it.
    ReplyTwice,
    /// A start forgets how many attempts were made.
    ForgottenAttempts,
    /// What waits for a look into the log is dropped now and then.
    DroppedLook,
    /// A start does not take up the threads that were at work at the last checkpoint.
    ForgottenRows,
    /// A delivery that was called back never gives its slot back.
    KeptSlot,
    /// A start forgets which timers are set.
    ForgottenTimers,
    /// A start forgets what is waited for.
    ForgottenWaits,
    /// A start forgets which steps are open.
    ForgottenTodos,
    /// A start forgets what waits for a person.
    ForgottenApprovals,
    /// A start forgets what somebody paused.
    ForgottenPauses,
    /// A word for work that goes on, which comes again, is taken for another one.
    WordTwice,
}

impl Plant {
    /// Every one.
    pub const ALL: [Plant; 15] = [
        Plant::AckBeforeSync,
        Plant::LostSync,
        Plant::TornBatch,
        Plant::UnknownIsStored,
        Plant::ReplyTwice,
        Plant::ForgottenAttempts,
        Plant::DroppedLook,
        Plant::ForgottenRows,
        Plant::KeptSlot,
        Plant::ForgottenTimers,
        Plant::ForgottenWaits,
        Plant::ForgottenTodos,
        Plant::ForgottenApprovals,
        Plant::ForgottenPauses,
        Plant::WordTwice,
    ];
}
