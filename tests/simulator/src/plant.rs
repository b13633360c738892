//! Faults that are built in on purpose, to check that they are found. They are between the pump and
//! the outside, so the product has no hooks for them.

/// A fault that a pump, or its surroundings, might have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plant {
    /// The writer reports that a batch is on disk before it is.
    AckBeforeSync,
    /// The disk reports a sync, and loses the data when the power fails.
    LostSync,
    /// When the power fails during the write of a batch, its first records stay.
    TornBatch,
    /// An unknown commit counts as stored.
    UnknownIsStored,
    /// A repeated reply counts for the next turn.
    ReplyTwice,
    /// A start forgets how many attempts were made.
    ForgottenAttempts,
    /// A pending read of the log is sometimes dropped.
    DroppedLook,
    /// A start does not load the threads that were at work at the last checkpoint.
    ForgottenRows,
    /// A delivery that was called back never releases its slot.
    KeptSlot,
    /// A start forgets which timers are set.
    ForgottenTimers,
    /// A start forgets the waits.
    ForgottenWaits,
    /// A start forgets which steps are open.
    ForgottenTodos,
    /// A start forgets the requests that wait for a person.
    ForgottenApprovals,
    /// A start forgets the pauses.
    ForgottenPauses,
    /// A start forgets which calls wait for someone who is away.
    ForgottenOutages,
    /// A repeated steering message counts as a new one.
    WordTwice,
    /// A start does not name the deliveries that workers elsewhere may have.
    ForgottenLeases,
    /// A delivery whose reply was heard before the broker confirmed it is deleted at once.
    DeletedEarly,
    /// A pump that was held takes what it decides for written, although another one has the log.
    OustedWrites,
    /// The broker forgets which ids it had.
    NoWindow,
    /// A carrier does not report what it found, so that it counts as lost.
    LostFound,
    /// A reply that is sent to the next life of the pump is refused.
    DroppedReply,
}

impl Plant {
    /// All of them.
    pub const ALL: [Plant; 22] = [
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
        Plant::ForgottenOutages,
        Plant::WordTwice,
        Plant::ForgottenLeases,
        Plant::DeletedEarly,
        Plant::OustedWrites,
        Plant::NoWindow,
        Plant::LostFound,
        Plant::DroppedReply,
    ];
}
