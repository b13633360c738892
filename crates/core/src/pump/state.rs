//! The state: a fold of records, with nothing that is not in them. `apply` changes it; this file only says what it
//! is and what can be read from it. It never contains bodies, so the size of a thread's fold depends on its open
//! calls, not on its length.

mod budget_use;
mod journal;
mod person;
pub(super) mod reload;
mod schedule;
mod thread_state;
mod timer;

pub use journal::{AttemptEntry, EntryKind, Journal};
pub use person::{Approval, PersonRequest, Question};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::budget_use::{BudgetUse, CHILD, WrapUp, used_under};
pub use self::reload::LastReload;
pub use self::schedule::ScheduleState;
pub use self::thread_state::ThreadState;
pub use self::timer::{FiringTarget, Timer, TimerFiring};
use super::buckets::ReportBuckets;
use super::replies::RecentReplies;
use super::wall::RunningBudgets;
use crate::rules::loops::LoopMemory;
use crate::types::budget::Ceiling;
use crate::types::composition::{Composition, Listener};
use crate::types::fast_maps::FastMap;
use crate::types::ids::{AttemptId, CallPath, Digest, Key, MessageId, Name, ThreadId, TimerId};
use crate::types::ports::FoldRow;
use crate::types::primitive::TimerPace;
use crate::types::record::head_zero;
use crate::types::thread_choice::SoughtRoot;
use crate::types::time::Millis;

/// Everything a decision may look at.
#[derive(Default)]
pub struct PumpState {
    /// Threads in memory. A thread at rest may be only in the log; it is woken before anything looks at it.
    pub threads: FastMap<ThreadId, Thread>,
    /// The configurations that open calls began with, and the current one. Not a fold: read from the log's
    /// documents and the organism's file before anything is decided.
    pub book: CompositionBook,
    /// How many more refusals of each sender are recorded one by one. Not a fold: the buckets are full at each
    /// start.
    pub buckets: ReportBuckets,
    /// The running time budgets. Not a fold: filled again from the fold at each start.
    pub running: RunningBudgets,
    /// The deliveries that have their reply. Not a fold: the newest are read from the log at each start.
    pub replies: RecentReplies,
}

/// Configurations by hash.
#[derive(Default, Clone)]
pub struct CompositionBook {
    pages: FastMap<Digest, Arc<Composition>>,
    current: Option<Arc<Composition>>,
}

impl CompositionBook {
    /// A book with this current page.
    pub fn open_at(current: Arc<Composition>) -> CompositionBook {
        let pages = FastMap::from_iter([(current.hash, current.clone())]);
        CompositionBook { pages, current: Some(current) }
    }

    /// Adds the configuration of an older call.
    pub fn add(&mut self, page: Arc<Composition>) {
        self.pages.insert(page.hash, page);
    }

    /// The configuration that the next top call uses.
    pub fn current(&self) -> Option<&Arc<Composition>> {
        self.current.as_ref()
    }

    /// Whether the working time of messages from outside is limited in any configuration.
    pub fn limits_time(&self) -> bool {
        self.pages.values().any(|page| page.limits_time())
    }

    /// A listener in every configuration that names it.
    pub fn list_versions<'a>(&'a self, name: &'a Name) -> impl Iterator<Item = &'a Listener> {
        self.pages.values().filter_map(|page| page.find_listener(name))
    }

    /// The configuration with that hash.
    pub fn find_composition(&self, hash: Digest) -> Option<&Arc<Composition>> {
        self.pages.get(&hash)
    }

    /// A listener in the configuration with that hash.
    pub fn find_listener(&self, hash: Digest, name: &Name) -> Option<&Listener> {
        self.find_composition(hash)?.find_listener(name)
    }
}

/// What opened a thread: enough to recognize a repeated request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadOpener {
    /// The sender.
    pub sender: Name,
    /// The sender's key; children have none.
    pub key: Option<Key>,
    /// The hash of the first body.
    pub body: Digest,
    /// The first record.
    pub first: MessageId,
}

/// A key that a message into a thread bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecentKey {
    /// The sender.
    pub sender: Name,
    /// The key.
    pub key: Key,
    /// The hash of the body.
    pub body: Digest,
    /// The record.
    pub seq: u64,
    /// That record's id.
    pub id: MessageId,
    /// The call it opened.
    pub call: CallPath,
}

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Thread {
    /// Its id.
    pub id: ThreadId,
    /// Its last record.
    pub seq: u64,
    /// The head of its chain.
    pub head: Digest,
    /// What opened it; `None` before the first record and for `sys`.
    pub opener: Option<ThreadOpener>,
    /// Top calls so far.
    pub top_calls: u32,
    /// Open calls. Boxed, because a map has room for eleven values as soon as it has one.
    pub calls: BTreeMap<CallPath, Box<Call>>,
    /// Timers that are set.
    pub timers: BTreeMap<TimerId, Timer>,
    /// What messages from outside have used, by the number of the top call that each opened.
    pub budget_uses: BTreeMap<u32, BudgetUse>,
    /// Children so far.
    pub spawns: u32,
    /// Labels of children, each with the next suffix for it. Bounded, see `rules::labels`.
    pub labels: BTreeMap<String, u32>,
    /// Keys bound a moment ago, which a look into the log may not have seen yet. Not in rows: when a thread is
    /// woken, the log has just been read.
    #[serde(skip)]
    pub recent: VecDeque<RecentKey>,
    /// The last top call of a root, if it failed. A person can have it reopened.
    pub failed: Option<Box<FailedCall>>,
    /// Whether it has ended.
    pub ended: bool,
    /// Since when nothing new of it goes out, until a person resumes it; in `sys`, nothing new of any thread.
    pub paused: Option<Millis>,
    /// The number of requests to a person so far, over the whole log. Only `sys` counts them.
    pub person_requests: u64,
    /// The schedules. Only `sys` has some.
    pub schedules: BTreeMap<Name, ScheduleState>,
    /// The last reload, as long as its configuration runs. Only `sys` has one.
    pub reload: Option<Box<LastReload>>,
    /// When its last record was made.
    pub touched: Millis,
}

/// One open call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The listener that has to answer it.
    pub listener: Name,
    /// The receiver of its outcome: a listener, or the client of a top call.
    pub caller: Name,
    /// What opened it.
    pub opened_by: OpenedBy,
    /// The configuration it began with.
    pub config: Digest,
    /// The budget use of its thread that pays for it.
    pub budget_use: u32,
    /// Whether it may only answer, because a budget is used up.
    pub wrap_up: Option<WrapUp>,
    /// The record of its request.
    pub request: u64,
    /// When it was opened.
    pub opened: Millis,
    /// Whether an earlier top call is still open.
    pub held: bool,
    /// The approval that its request waits for.
    pub approval: Option<Approval>,
    /// The last turn whose reply was taken; 0 before the first.
    pub settled: u32,
    /// The items of that reply.
    pub items: Vec<ItemState>,
    /// How many attempts at the due turn are recorded. The first attempt is implied unless it had to be recorded.
    pub attempts: u32,
    /// How many of the due turn's attempts died with the pump. These do not count against the listener.
    pub lost_with_pump: u32,
    /// How many of the due turn's attempts found that someone is away. These do not count either.
    pub away: u32,
    /// How often it was reopened after it had failed.
    pub retries: u32,
    /// How many of the due turn's attempts came before it was reopened. These do not count either.
    pub before_retry: u32,
    /// Whether it is unknown what an attempt at the due turn did.
    pub has_unknown: bool,
    /// How many of those that died with the pump had a recorded number, so their deliveries were handed out or about to be.
    pub deaths_on_record: u32,
    /// The due turn is not delivered before this moment.
    pub not_before: Millis,
    /// When a worker on another machine took the due attempt, by the clock of the broker, if that is on record.
    pub taken: Option<Millis>,
    /// What the due attempt waits for, if it reaches no one.
    pub waits: Option<OutageWait>,
    /// Since when attempts at the due turn have found that someone is away.
    pub away_since: Option<Millis>,
    /// When it last went on after such a wait.
    pub went_on: Millis,
    /// The journal entries of its listener about models for the due turn.
    pub journal: Journal,
    /// Whether its listener has asked a model.
    pub asks_models: bool,
    /// Records in its inbox that no settled turn has shown.
    pub inbox: Vec<InboxMessage>,
    /// The record after which the due turn could be delivered. The turn shows nothing later.
    pub ready_seq: u64,
    /// The same record's id: the cause of the reply's items.
    pub ready_cause: MessageId,
    /// The time of that record.
    pub ready_at: Millis,
    /// Its children in order of spawning: those that run, and those whose end no settled turn has shown.
    pub children: Vec<Child>,
    /// Number of its children whose end a settled turn has shown. They have left `children`.
    pub shown_ends: u32,
    /// Whether its first final was answered by `<children-open>` or `<todo-open>`.
    pub nudged: bool,
    /// What it remembers of its calls, to recognize loops.
    pub rounds: LoopMemory,
    /// Its todo lists, by the hash of their condition.
    pub todos: BTreeMap<Digest, StepCount>,
    /// The last cleared message of its view; all messages before it except the request are cleared too. 0 if none
    /// is.
    pub cleared: u64,
}

/// An attempt that reaches no one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OutageWait {
    /// Who is away, in one word.
    pub outage: String,
    /// Since when, by the pump's clock.
    pub since: Millis,
    /// Whether its delivery is with the broker or on its way there, and holds a slot.
    pub is_sent: bool,
}

/// What opened a call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum OpenedBy {
    /// A request. Its sender waits for the outcome.
    Request,
    /// A timer that fired while its thread was at rest.
    Timer(TimerFiring),
    /// News for its listener. No one waits for the outcome.
    Tell,
}

/// How many steps there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepCount {
    /// Those that are not done.
    pub open: u64,
    /// All of them.
    pub total: u64,
}

impl StepCount {
    /// The sum of both.
    pub fn sum_with(self, other: StepCount) -> StepCount {
        StepCount {
            open: self.open.saturating_add(other.open),
            total: self.total.saturating_add(other.total),
        }
    }
}

/// A child thread, as the call that spawned it knows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Child {
    /// Its id.
    pub id: ThreadId,
    /// The record that reported its end, if it has ended.
    pub ended: Option<u64>,
    /// What it may use, with everything below it.
    pub ceiling: Ceiling,
}

/// A message that reached a call unasked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InboxMessage {
    /// Its record.
    pub seq: u64,
    /// The kind of news.
    pub sort: Sort,
}

/// The kinds of news that reach a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Sort {
    /// The end of a child.
    Finished,
    /// A message from its own listener, before the reply.
    Notice {
        /// The attempt that said it.
        attempt: u32,
        /// What it said.
        said: Digest,
    },
    /// A timer that fired.
    Timer,
    /// A notice that a budget is mostly or wholly used.
    Budget,
    /// A message from its parent, or from outside.
    Steer,
}

/// One item of the last reply.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ItemState {
    /// Its ordinal.
    pub ordinal: u32,
    /// Its record.
    pub seq: u64,
    /// That record's id.
    pub id: MessageId,
    /// Its receiver; `None` for notes and refused items.
    pub to: Option<Name>,
    /// What answers it.
    pub answer: ItemAnswer,
    /// What its answer depends on.
    pub pending: PendingItem,
}

/// The part of an item's request that its answer depends on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PendingItem {
    /// Nothing that needs to be kept.
    Other,
    /// The end of children.
    Threads(AwaitedChildren),
    /// A timer.
    Timer(TimerPace),
    /// The answers of several takers.
    Takers(TakerState),
    /// The answer of a person.
    Person(Question),
}

/// The state of an item that went to several takers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TakerState {
    /// Whether the first answer that is no failure is enough.
    pub first_is_enough: bool,
    /// The record that answers it for each taker, in order.
    pub answers: Vec<Option<u64>>,
}

/// A wait for children, as recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AwaitedChildren {
    /// The children.
    pub threads: Vec<ThreadId>,
    /// How many of them must have finished.
    pub enough: usize,
}

/// The one answer of an item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ItemAnswer {
    /// None yet.
    Open,
    /// Recording it was the answer.
    Recorded,
    /// That record of the same thread.
    Seq(u64),
    /// One record for each of its takers.
    Each,
}

/// The state of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallState {
    /// Its request waits for a person.
    Asking,
    /// An earlier top call is open.
    Held,
    /// That turn and attempt may go out, or is out.
    Ready {
        /// The turn.
        turn: u32,
        /// The attempt.
        attempt: u32,
    },
    /// This many items have no answer.
    Joining(usize),
}

impl Call {
    /// Its state.
    pub fn stand(&self) -> CallState {
        if self.approval.is_some() {
            return CallState::Asking;
        }
        if self.held {
            return CallState::Held;
        }
        match self.items.iter().filter(|i| i.answer == ItemAnswer::Open).count() {
            0 => CallState::Ready { turn: self.settled + 1, attempt: self.attempts.max(1) },
            open => CallState::Joining(open),
        }
    }

    /// Whether exactly this turn and attempt may be out.
    pub fn is_due(&self, turn: u32, attempt: u32) -> bool {
        self.stand() == CallState::Ready { turn, attempt }
    }

    /// The number of the due attempt without those that died with the pump, found that someone is away, or came before
    /// the call was reopened.
    pub fn own_attempt(&self) -> u32 {
        let uncounted = [self.lost_with_pump, self.away, self.before_retry];
        uncounted.into_iter().fold(self.attempts.max(1), u32::saturating_sub)
    }

    /// Its children that have not ended.
    pub fn running(&self) -> impl Iterator<Item = &ThreadId> {
        self.children.iter().filter(|child| child.ended.is_none()).map(|child| &child.id)
    }

    /// Its children that are open as far as it can know: no settled turn has shown their end.
    pub fn seen_open(&self) -> impl Iterator<Item = &ThreadId> {
        let unseen = |seq| self.inbox.iter().any(|arrival| arrival.seq == seq);
        self.children.iter().filter(move |child| child.ended.is_none_or(unseen)).map(|child| &child.id)
    }

    /// Whether only the log knows if a thread was a child of this call, because the thread's end may have been
    /// shown. `own` is the thread of this call.
    pub fn may_have_ended(&self, own: &ThreadId, id: &ThreadId) -> bool {
        let is_known = || self.children.iter().any(|child| child.id == *id);
        self.shown_ends > 0 && id.parent().as_ref() == Some(own) && !is_known()
    }

    /// Its waits that are not over.
    pub fn awaits(&self) -> impl Iterator<Item = (&ItemState, &AwaitedChildren)> {
        let open = self.items.iter().filter(|item| item.answer == ItemAnswer::Open);
        open.filter_map(|item| match &item.pending {
            PendingItem::Threads(awaited) => Some((item, awaited)),
            PendingItem::Other | PendingItem::Timer(_) | PendingItem::Takers(_) | PendingItem::Person(_) => {
                None
            }
        })
    }

    /// How many notices came after the due turn could be delivered, and wait for the next turn.
    pub fn unshown_notices(&self) -> usize {
        let unshown = self.inbox.iter().rev().take_while(|arrival| arrival.seq > self.ready_seq);
        unshown.filter(|arrival| matches!(arrival.sort, Sort::Notice { .. })).count()
    }

    /// Whether an earlier attempt at the due turn said the same. What an attempt says again because it does not know what
    /// the one before it said is shown once.
    pub fn was_noticed(&self, body: &[u8]) -> bool {
        let (this, what) = (self.attempts.max(1), Digest::hash_bytes(body));
        let mut unshown = self.inbox.iter().rev().take_while(|arrival| arrival.seq > self.ready_seq);
        unshown.any(|arrival| matches!(arrival.sort, Sort::Notice { attempt, said } if attempt < this && said == what))
    }

    /// The inbox records that the due turn shows.
    pub fn shown_inbox(&self) -> impl Iterator<Item = u64> {
        self.inbox.iter().map(|arrival| arrival.seq).filter(|seq| *seq <= self.ready_seq)
    }
}

/// The version of a row's encoding and of what is folded into it. Rows of other versions are dropped and folded
/// again.
const ROW_VERSION: u8 = 25;

impl Thread {
    /// Whether it is the root that a message seeks.
    pub fn is_root_of(&self, sought: &SoughtRoot) -> bool {
        self.opener.as_ref().is_some_and(|opener| sought.is_opened_by(&opener.sender, opener.key.as_ref()))
    }

    /// A thread before its first record.
    pub fn new_blank(id: ThreadId) -> Thread {
        let head = head_zero(&id);
        Thread {
            id,
            seq: 0,
            head,
            opener: None,
            top_calls: 0,
            calls: BTreeMap::new(),
            timers: BTreeMap::new(),
            budget_uses: BTreeMap::new(),
            spawns: 0,
            labels: BTreeMap::new(),
            recent: VecDeque::new(),
            failed: None,
            ended: false,
            paused: None,
            person_requests: 0,
            schedules: BTreeMap::new(),
            reload: None,
            touched: Millis(0),
        }
    }

    /// Whether it works, rests or has ended.
    pub fn life(&self) -> ThreadState {
        match (self.ended, self.calls.is_empty()) {
            (true, _) => ThreadState::Ended,
            (false, true) => ThreadState::Resting,
            (false, false) => ThreadState::Working,
        }
    }

    /// Its fold as a row of the log.
    pub fn to_row(&self) -> FoldRow {
        let mut bytes = vec![ROW_VERSION];
        // Encoding into a Vec fails only for types that postcard does not know; it knows these.
        if let Ok(body) = postcard::to_allocvec(self) {
            bytes.extend_from_slice(&body);
        }
        FoldRow { thread: self.id.clone(), seq: self.seq, working: self.is_at_work(), bytes }
    }

    /// Whether opening a log must load the thread: it has an open call or a set timer.
    pub fn is_at_work(&self) -> bool {
        self.life() == ThreadState::Working || !self.timers.is_empty()
    }

    /// Whether the row has the encoding that this version writes.
    pub fn is_row_readable(row: &FoldRow) -> bool {
        row.bytes.first() == Some(&ROW_VERSION)
    }

    /// Reads a row; returns `None` if it has another encoding, and then the thread is folded again.
    pub fn from_row(row: &FoldRow) -> Option<Thread> {
        let (version, body) = row.bytes.split_first()?;
        let thread: Thread = (*version == ROW_VERSION).then(|| postcard::from_bytes(body).ok())??;
        (thread.id == row.thread && thread.seq == row.seq).then_some(thread)
    }
}

impl PumpState {
    /// A thread in memory.
    pub fn find_thread(&self, id: &ThreadId) -> Option<&Thread> {
        self.threads.get(id)
    }

    /// The call of that attempt, if that attempt is due.
    pub fn due_call(&self, id: &AttemptId) -> Option<&Call> {
        let call = self.find_thread(&id.thread)?.calls.get(&id.call)?;
        call.is_due(id.turn, id.attempt).then_some(&**call)
    }
}

/// The last top call of a root, if it failed, as its closing left it. One is kept at most, and only until the next top
/// call opens.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedCall {
    /// Its path.
    pub path: CallPath,
    /// The call. `None` if a later top call has opened, so that it cannot be reopened.
    pub call: Option<Box<Call>>,
    /// The code of its outcome.
    pub code: String,
    /// The code of what failed first. A call passes on the failure of a call below it in the words of its own.
    pub first_code: String,
    /// Whether its own listener said that it failed, in a final. Then no turn is due.
    pub is_final: bool,
    /// The record that is its outcome.
    pub outcome: MessageId,
}
