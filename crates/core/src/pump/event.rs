//! What the pump decides on, and what a decision contains.

use std::sync::Arc;

use smallvec::SmallVec;
use systole_wire::pump_documents::PumpAnswer;

use super::buckets::{DueReport, RefusalCost};
use super::view::ReadResults;
use super::wall::{RunningBudget, TimeLeft};
use super::wheel::TimerDue;
use crate::rules::core_payload::AttemptState;
use crate::rules::follower_payload::FollowerNews;
use crate::rules::reload_payload::ReloadNews;
use crate::rules::shutdown_payload::RunEnding;
use crate::rules::stuck_payload::StuckCalls;
use crate::types::codes::Code;
use crate::types::flow::{
    Admitted, DoorMessage, JudgedContent, JudgedDocument, JudgedItem, Receipt, SensitivePayload, TakenReply,
    Ticket, UnmatchedDocument,
};
use crate::types::ids::{AttemptId, CallPath, Digest, Name, ThreadId, TimerId};
use crate::types::person::{PersonDecision, PersonRequestId, Ruling};
use crate::types::ports::{CallBack, Lease, LeaseToken, LostRange, ProgramFile, Seed, StoredDocument};
use crate::types::record::Record;
use crate::types::refusal::Refusal;
use crate::types::schedule::{DueTicks, ScheduleChange};
use crate::types::time::Millis;

/// Something happened. The moment and the seed are drawn at the edge, so that deciding is pure.
#[derive(Debug)]
pub struct Event {
    /// When, by the wall clock.
    pub at: Millis,
    /// When, on the monotonic clock.
    pub tick: Millis,
    /// The source of ids and salts.
    pub seed: Seed,
    /// What happened.
    pub what: EventKind,
}

/// The kinds of event.
#[derive(Debug)]
pub enum EventKind {
    /// The organism starts.
    Booted {
        /// Its listeners.
        listeners: Vec<Name>,
        /// SHA-256 of the program's own file, if it is known.
        program: Option<Digest>,
    },
    /// The log continues without some acknowledged positions.
    GaveUp(LostRange),
    /// The pump begins to watch schedules, or the wall clock was set back.
    Watched {
        /// The schedules of the file, or some of them.
        known: Vec<KnownSchedule>,
        /// Whether these are all.
        are_all: bool,
    },
    /// Ticks of a schedule are due. The threads that its key could mean are in memory.
    Ticked(DueTicks),
    /// The organism stops.
    Stopping {
        /// Whether nothing is out on this machine.
        is_drained: bool,
        /// How many deliveries workers on other machines may have.
        out: usize,
        /// Why.
        ending: RunEnding,
    },
    /// A message from outside, judged. `bound` is set if the log already holds this client's key in the
    /// thread that the message names.
    Asked {
        /// The message.
        asked: DoorMessage,
        /// The record from the log that bound the key earlier.
        bound: Option<BoundKey>,
    },
    /// A listener's reply, judged.
    Replied(JudgedDocument),
    /// A reply or a question that needs the view of its call. The view was read from the log as of the
    /// moment when the turn became due, or could not be read.
    Looked {
        /// What was said.
        judged: JudgedDocument,
        /// The view.
        seen: Result<ReadResults, Refusal>,
    },
    /// An attempt that will get no answer.
    Lost(LostAttempt),
    /// The first attempt for a listener whose attempts are recorded before they are sent.
    Sending {
        /// Its thread.
        thread: ThreadId,
        /// Its call.
        call: CallPath,
        /// Its turn.
        turn: u32,
    },
    /// What happens to an attempt that may be out.
    Attempting {
        /// The attempt.
        id: AttemptId,
        /// What happens.
        state: AttemptState,
    },
    /// An attempt has waited for someone who is away for as long as it may, on the monotonic clock.
    Waited {
        /// The attempt.
        id: AttemptId,
        /// Since when, by the clock that records show. Another wait is not over.
        since: Millis,
        /// Who was away.
        words: String,
    },
    /// A timer is due on the monotonic clock.
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
    /// A message from outside has used most of its time, or all of it.
    Elapsed(RunningBudget),
    /// No person decided in time.
    Expired {
        /// The thread.
        thread: ThreadId,
        /// The call that waits, or the item that asks.
        place: CallPath,
        /// The request.
        request: PersonRequestId,
    },
    /// A listener's document that belongs to no delivery.
    Stray(UnmatchedDocument),
    /// News from outside of any call.
    Noticed(PumpNotice),
    /// An order of a client.
    Ordered(ClientOrder),
}

impl EventKind {
    /// The judged payloads with sensitive values that it brings.
    pub(super) fn list_sensitive(&self) -> Vec<SensitivePayload> {
        let of = |admitted: &Admitted| admitted.sensitive().to_vec();
        match self {
            EventKind::Asked { asked, .. } => asked.payload.as_ref().map(of).unwrap_or_default(),
            EventKind::Replied(judged) | EventKind::Looked { judged, .. } => match &judged.said {
                JudgedContent::Items(items) => {
                    items.iter().filter_map(JudgedItem::as_admitted).flat_map(of).collect()
                }
                _ => Vec::new(),
            },
            EventKind::Ticked(due) => due.schedule.payload.sensitive().to_vec(),
            EventKind::Ordered(ClientOrder::Schedule(ScheduleOrder {
                change: ScheduleChange::Fire(Some((schedule, _))),
                ..
            })) => schedule.payload.sensitive().to_vec(),
            EventKind::Ordered(ClientOrder::Ruled(Ruling {
                says: PersonDecision::Amend(amendment), ..
            })) => amendment.as_ref().as_ref().map(of).unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// What the pump hears from outside of any call, and records.
#[derive(Debug)]
pub enum PumpNotice {
    /// A listener's program is ready.
    Joined {
        /// The listener.
        listener: Name,
        /// The level of its program's sandbox. `None` if it has none.
        sandbox: Option<&'static str>,
        /// The files that its program was started with.
        files: Vec<ProgramFile>,
    },
    /// A listener's program ended, or does not start.
    Left {
        /// The listener.
        listener: Name,
        /// The details, in words.
        words: String,
    },
    /// Requests came without a valid credential, this many since the last report.
    Knocked {
        /// The address they came from.
        source: std::net::IpAddr,
        /// The count.
        count: u64,
    },
    /// The broker refused something, or died.
    Broker {
        /// The code of a refusal, or of its death.
        code: Code,
        /// Who, what and how often; contains no secret.
        words: String,
    },
    /// A checkpoint of the log is not signed, or lacks the cosignature of a witness.
    Unproved {
        /// Which one, and why.
        words: String,
    },
    /// Something happened to a follower of the log.
    Follower(FollowerNews),
    /// Another configuration began, or did not start.
    Reload(ReloadNews),
    /// Calls have waited for too long.
    Stuck(StuckCalls),
    /// So many refusals of one sender were counted and not recorded one by one.
    Throttled(DueReport),
}

/// An order of a client about something that is in the pump already.
#[derive(Debug)]
pub enum ClientOrder {
    /// A person decides about something that waits.
    Ruled(Ruling),
    /// A person pauses or resumes a thread.
    Pause(PauseOrder),
    /// A person ends a thread and everything that is open in it.
    Cancel {
        /// The asker's ticket.
        ticket: Ticket,
        /// The client that asks.
        by: Name,
        /// The thread.
        thread: ThreadId,
    },
    /// A person ends a call that waits for someone who is away.
    CancelCall {
        /// The asker's ticket.
        ticket: Ticket,
        /// The client that asks.
        by: Name,
        /// The thread of the call.
        thread: ThreadId,
        /// The call.
        call: CallPath,
    },
    /// A client ends one top call and all that is open below it, and its thread goes on.
    StopRun {
        /// The asker's ticket.
        ticket: Ticket,
        /// The client that asks.
        by: Name,
        /// The thread of the call.
        thread: ThreadId,
        /// The number of the top call.
        call: u32,
    },
    /// A client has a failed root go on.
    Retry(RetryOrder),
    /// A person pauses, resumes or fires a schedule.
    Schedule(ScheduleOrder),
    /// A person ends a root at rest.
    End {
        /// The asker's ticket.
        ticket: Ticket,
        /// The client that asks.
        by: Name,
        /// The thread.
        thread: ThreadId,
    },
}

impl ClientOrder {
    /// The asker's ticket, and the client that asks.
    pub fn asker(&self) -> (Ticket, &Name) {
        match self {
            ClientOrder::Ruled(Ruling { ticket, by, .. })
            | ClientOrder::Pause(PauseOrder { ticket, by, .. })
            | ClientOrder::Retry(RetryOrder { ticket, by, .. })
            | ClientOrder::Schedule(ScheduleOrder { ticket, by, .. })
            | ClientOrder::Cancel { ticket, by, .. }
            | ClientOrder::CancelCall { ticket, by, .. }
            | ClientOrder::StopRun { ticket, by, .. }
            | ClientOrder::End { ticket, by, .. } => (*ticket, by),
        }
    }

    /// The thread that must be in memory. `None` for a decision, because everything that waits for a person is in
    /// memory, for a schedule, and for a pause of everything.
    pub fn thread(&self) -> Option<&ThreadId> {
        match self {
            ClientOrder::Ruled(_) | ClientOrder::Schedule(_) => None,
            ClientOrder::Pause(order) => order.thread.as_ref(),
            ClientOrder::Retry(order) => Some(&order.thread),
            ClientOrder::Cancel { thread, .. }
            | ClientOrder::CancelCall { thread, .. }
            | ClientOrder::StopRun { thread, .. }
            | ClientOrder::End { thread, .. } => Some(thread),
        }
    }
}

/// An order to pause or resume a thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PauseOrder {
    /// The asker's ticket.
    pub ticket: Ticket,
    /// The client that asks.
    pub by: Name,
    /// The thread, with everything below it; `None` means everything.
    pub thread: Option<ThreadId>,
    /// Whether it is paused; otherwise it is resumed.
    pub halts: bool,
    /// The person's note.
    pub note: Option<String>,
}

/// An order about a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleOrder {
    /// The asker's ticket.
    pub ticket: Ticket,
    /// The client that asks.
    pub by: Name,
    /// The schedule.
    pub name: Name,
    /// What is to change.
    pub change: ScheduleChange,
    /// The first and the last tick that passed while it was paused, if it is resumed and there are some. The pump adds
    /// them.
    pub passed: Option<(Millis, Millis)>,
}

/// A schedule of the file, as far as the log may know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KnownSchedule {
    /// Its name.
    pub name: Name,
    /// When it ticks, as the file says it.
    pub rule: String,
    /// Its next tick from now on.
    pub next: Option<Millis>,
}

/// An order to open the failed call of a root again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RetryOrder {
    /// The asker's ticket.
    pub ticket: Ticket,
    /// The client that asks.
    pub by: Name,
    /// The root.
    pub thread: ThreadId,
    /// The head of its chain that the client has seen; `None` if the client has looked at nothing.
    pub seen: Option<Digest>,
    /// The client's note.
    pub note: Option<String>,
    /// What would start again and may have had effects outside, as the log has it.
    pub effects: Vec<String>,
    /// Whether these effects may happen again.
    pub allows_effects: bool,
    /// The steps of the workflow in the configuration that the call began with, as the log has them; `None` if it is a
    /// call to no workflow.
    pub steps: Option<Arc<str>>,
}

/// A key that was bound earlier: the record that bound it, and the hash of its body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoundKey {
    /// Its receipt.
    pub receipt: Receipt,
    /// The hash of its body.
    pub body: crate::types::ids::Digest,
}

/// An attempt that ended without a reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostAttempt {
    /// The attempt.
    pub id: AttemptId,
    /// The code of the failure.
    pub code: Code,
    /// The details: exit code, time, last words.
    pub words: String,
    /// Whether the pump itself died while the delivery was out. Such attempts have a separate limit.
    pub with_pump: bool,
    /// Who is away, in one word, if that is why: the call may wait.
    pub outage: Option<String>,
    /// The request of the call, if a person may have to decide about it.
    pub request: Option<Arc<Record>>,
    /// What follows once this is on disk.
    pub then: Option<Box<Effect>>,
}

impl LostAttempt {
    /// That attempt, without the request of its call.
    pub fn new(id: &AttemptId, code: Code, words: String, with_pump: bool) -> LostAttempt {
        LostAttempt { id: id.clone(), code, words, with_pump, outage: None, request: None, then: None }
    }
}

/// What a decision causes once its facts are on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A turn may go out.
    Ready(ReadyTurn),
    /// The pump must wait for a timer.
    Wait {
        /// The thread.
        thread: ThreadId,
        /// The timer.
        timer: TimerId,
        /// Until when; `None` ends the wait.
        until: Option<TimerDue>,
    },
    /// A delivery that may be out is no longer wanted.
    CallBack {
        /// The thread.
        thread: ThreadId,
        /// The call.
        call: CallPath,
        /// The reason.
        why: CallBack,
    },
    /// What is left of a delivery that its carrier reported gone may be removed.
    LetGo {
        /// The listener.
        listener: Name,
        /// The delivery.
        token: LeaseToken,
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
        /// The longest wait for a person.
        most_ms: u64,
    },
    /// The answer to a listener's journal entry or question.
    Answer {
        /// The listener.
        listener: Name,
        /// The answer.
        answer: Box<PumpAnswer>,
    },
    /// A listener asks for the journal of earlier attempts; the log has the answer.
    Recall(JournalRecall),
    /// The time of a message from outside starts to run, or stops.
    Runs {
        /// The message: its root and budget use.
        runs: RunningBudget,
        /// The time until its next mark; `None` if the time does not run.
        left: Option<TimeLeft>,
    },
    /// Work that a pause of that thread held back may go out; `sys` stands for everything.
    Resumed(ThreadId),
    /// The asker's message is taken.
    Receipt {
        /// The asker's ticket.
        ticket: Ticket,
        /// The receipt.
        receipt: Receipt,
    },
    /// The asker's message, or what the listener said, is refused.
    Refused {
        /// The asker's ticket.
        ticket: Ticket,
        /// The reason.
        refusal: Box<Refusal>,
    },
    /// A listener's reply was taken, and the receipt says more about it.
    Taken {
        /// The ticket of the listener that waits for its receipt.
        ticket: Ticket,
        /// The content of the receipt.
        taken: Box<TakenReply>,
    },
    /// The asker's order was carried out, or the listener's document was taken.
    Done {
        /// The asker's ticket.
        ticket: Ticket,
    },
}

/// A request for the journal of a turn's earlier attempts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalRecall {
    /// The delivery that asked.
    pub lease: Arc<Lease>,
    /// The number of the answer.
    pub id: u64,
    /// The index of the first entry that was asked for, from 0.
    pub from: u64,
    /// The records from that entry on.
    pub seqs: Vec<u64>,
}

/// One turn of one call that may be handed to its listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadyTurn {
    /// The listener.
    pub listener: Name,
    /// The attempt.
    pub id: AttemptId,
    /// Not before this moment.
    pub not_before: Millis,
}

/// What follows from a decision, in order.
pub type Effects = SmallVec<[Effect; 2]>;

/// Facts to record, and effects that wait until they are on disk.
#[derive(Default, Debug)]
#[must_use = "facts that are not recorded did not happen"]
pub struct Decision {
    /// Sealed records, in order.
    pub facts: SmallVec<[Arc<Record>; 4]>,
    /// The threads that the facts belong to, in order of their ids. The facts are folded in already.
    pub touched: SmallVec<[ThreadId; 1]>,
    /// Documents that the facts name.
    pub documents: Vec<StoredDocument>,
    /// The effects that follow.
    pub effects: Effects,
    /// The cost of a refusal to its sender's bucket.
    pub toll: Option<RefusalCost>,
    /// The delivery whose reply was taken, its listener and a fingerprint, if the listener waits for a
    /// receipt: so that the reply is recognized when it comes again.
    pub replied: Option<(LeaseToken, Name, u64)>,
}
