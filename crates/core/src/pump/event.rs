//! What the pump is asked to decide upon, and what comes of a decision.

use std::sync::Arc;

use systole_wire::told::Answer;

use super::buckets::{Telling, Toll};
use super::state::Thread;
use super::view::Seen;
use super::wall::{Left, Runs};
use crate::types::codes::Code;
use crate::types::flow::{Asked, Judged, Receipt, Taken, Ticket, Unconnected};
use crate::types::ids::{CallPath, Name, ThreadId, TimerId};
use crate::types::person::{PersonRequestId, Ruling};
use crate::types::ports::{CallBack, Document, GivenUp, Lease, Seed, Token};
use crate::types::record::Record;
use crate::types::refusal::Refusal;
use crate::types::time::Millis;

/// Something happened. The moment and the seed are drawn at the edge, so that deciding is pure.
#[derive(Debug)]
pub struct Event {
    /// When, by the wall clock.
    pub at: Millis,
    /// When, by the count that nobody sets.
    pub tick: Millis,
    /// What ids and salts are derived from.
    pub seed: Seed,
    /// What.
    pub what: Happening,
}

/// What happened.
#[derive(Debug)]
pub enum Happening {
    /// The organism starts.
    Booted {
        /// Its listeners.
        listeners: Vec<Name>,
    },
    /// The log goes on without positions that were acknowledged.
    GaveUp(GivenUp),
    /// The organism stops.
    Stopping {
        /// How: `drain`.
        mode: &'static str,
    },
    /// A listener's program is ready.
    Joined(Name),
    /// A listener's program ended, or does not start.
    Left {
        /// Which.
        listener: Name,
        /// What is known.
        words: String,
    },
    /// A message from outside, judged. `bound` is the receipt's place where the log already holds
    /// this key of this client in the thread it names.
    Asked {
        /// The message.
        asked: Asked,
        /// The record that bound the key before, from the log.
        bound: Option<Bound>,
    },
    /// A listener's reply, judged.
    Replied(Judged),
    /// A reply or a question that asks for the view of its call: that was read from the log, as it stood
    /// when the turn was due, or could not be.
    Looked {
        /// What was said.
        judged: Judged,
        /// The view.
        seen: Result<Seen, Refusal>,
    },
    /// A listener's document that belongs to no delivery.
    Stray(Unconnected),
    /// An attempt will not be answered.
    Lost(Lost),
    /// The first attempt of a listener whose attempts are recorded before they are sent.
    Sending {
        /// The thread.
        thread: ThreadId,
        /// The call.
        call: CallPath,
        /// The turn.
        turn: u32,
    },
    /// A timer is due, by the count of a clock that nobody sets.
    Due {
        /// The thread.
        thread: ThreadId,
        /// The timer.
        timer: TimerId,
        /// The record of the item that set it, from the log.
        set: Arc<Record>,
        /// How long ago it was due.
        late_ms: u64,
    },
    /// The time of a message from outside is mostly used, or over.
    Elapsed(Runs),
    /// Somebody came without a valid credential, so many times since this was last told.
    Knocked {
        /// From where.
        source: std::net::IpAddr,
        /// How often.
        count: u64,
    },
    /// The broker forbade somebody something, or something became of it.
    Broker {
        /// Which of the two.
        code: Code,
        /// Who, what and how often.
        words: String,
    },
    /// So many refusals of one sender were counted, and not recorded one by one.
    Throttled(Telling),
    /// A person decides about what waits.
    Ruled(Ruling),
    /// Nobody decided about it in time.
    Expired {
        /// The thread.
        thread: ThreadId,
        /// The call that waits, or the item that asks.
        place: CallPath,
        /// The request.
        request: PersonRequestId,
    },
    /// A person halts a thread or lets it go on.
    Pause(Pause),
    /// A person ends a thread with all that is open in it.
    Cancel {
        /// Where the asker waits.
        ticket: Ticket,
        /// Who.
        by: Name,
        /// Which thread.
        thread: ThreadId,
    },
    /// A person ends a root at rest.
    End {
        /// Where the asker waits.
        ticket: Ticket,
        /// Who.
        by: Name,
        /// Which thread.
        thread: ThreadId,
    },
}

/// An order to halt a thread, or to let it go on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pause {
    /// Where the asker waits.
    pub ticket: Ticket,
    /// Who.
    pub by: Name,
    /// Which thread, with all below it; none: everything.
    pub thread: Option<ThreadId>,
    /// Whether it is halted, or goes on.
    pub halts: bool,
    /// What for.
    pub note: Option<String>,
}

/// A key that was bound before: by which record, and with which body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bound {
    /// Its receipt.
    pub receipt: Receipt,
    /// The hash of its body.
    pub body: crate::types::ids::Digest,
}

/// An attempt that ended without a reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lost {
    /// The thread.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// The turn.
    pub turn: u32,
    /// The attempt.
    pub attempt: u32,
    /// Why.
    pub code: Code,
    /// What is known: exit code, time, last words.
    pub words: String,
    /// Whether the pump itself died with the delivery out, which counts against a limit of its own.
    pub with_pump: bool,
    /// The request of the call, where a person may have to be asked about it.
    pub request: Option<Arc<Record>>,
}

/// What a decision brings about once its facts are on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A turn may go out.
    Ready(Work),
    /// A timer has to be waited for.
    Wait {
        /// The thread.
        thread: ThreadId,
        /// The timer.
        timer: TimerId,
        /// Until when; none ends the waiting.
        until: Option<Until>,
    },
    /// A delivery that may be out is no longer wanted.
    CallBack {
        /// The thread.
        thread: ThreadId,
        /// The call.
        call: CallPath,
        /// Why.
        why: CallBack,
    },
    /// A request to a person expires.
    Expires {
        /// The thread.
        thread: ThreadId,
        /// The call that waits, or the item that asks.
        place: CallPath,
        /// The request.
        request: PersonRequestId,
        /// When, on the wall clock.
        at: Millis,
        /// How long a person is waited for at most.
        most_ms: u64,
    },
    /// A listener's journal entry or question is answered.
    Answer {
        /// The listener.
        listener: Name,
        /// The answer.
        answer: Box<Answer>,
    },
    /// A listener's question for the journal of earlier attempts is answered from the log.
    Recall(Recall),
    /// The time of a message from outside runs from here on, or no more.
    Runs {
        /// Whose.
        runs: Runs,
        /// Until its next mark; none where it stands still.
        left: Option<Left>,
    },
    /// What was halted by a pause of that thread may go out; one of `sys` halts everything.
    Resumed(ThreadId),
    /// The asker's message is taken.
    Receipt {
        /// Where it waits.
        ticket: Ticket,
        /// What it gets.
        receipt: Receipt,
    },
    /// The asker's message, or what the listener said, is refused.
    Refused {
        /// Where it waits.
        ticket: Ticket,
        /// What it is told.
        refusal: Box<Refusal>,
    },
    /// A listener's reply was taken, and there is more to be said about it.
    Taken {
        /// Where its receipt is waited for.
        ticket: Ticket,
        /// What.
        taken: Box<Taken>,
    },
    /// The asker's order was carried out, or what the listener said was taken.
    Done {
        /// Where it waits.
        ticket: Ticket,
    },
}

/// A question for the journal of a turn's earlier attempts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recall {
    /// The delivery in which it was asked.
    pub lease: Arc<Lease>,
    /// The number of the answer.
    pub id: u64,
    /// Which entry is the first that was asked for, from 0.
    pub from: u64,
    /// The records from that one on.
    pub seqs: Vec<u64>,
}

/// When a timer is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Until {
    /// The record of the item that set it.
    pub set: u64,
    /// The moment, by the wall clock.
    pub due: Millis,
    /// The longest time that can be left until then, whatever the clock says.
    pub most_ms: u64,
    /// Whether it may fire: not before its last firing was shown to somebody.
    pub may_fire: bool,
}

/// One turn of one call that may be handed to its listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// The listener.
    pub listener: Name,
    /// The thread.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// The turn.
    pub turn: u32,
    /// The attempt.
    pub attempt: u32,
    /// Not before this moment.
    pub not_before: Millis,
}

/// Facts to record, and effects that wait until they are on disk.
#[derive(Default, Debug)]
#[must_use = "facts that nobody records did not happen"]
pub struct Decision {
    /// Sealed records, in order.
    pub facts: Vec<Arc<Record>>,
    /// The threads that the facts touch, as `apply` leaves them after the last: they were folded while
    /// the decision was written, and need not be folded again.
    pub folded: Vec<Thread>,
    /// Documents that the facts name.
    pub documents: Vec<Document>,
    /// What follows.
    pub effects: Vec<Effect>,
    /// What a refusal took from its sender's bucket.
    pub toll: Option<Toll>,
    /// The delivery whose reply was taken, and whose it is, where a receipt is waited for: so that the reply
    /// is known when it comes again.
    pub replied: Option<(Token, Name, u64)>,
}
