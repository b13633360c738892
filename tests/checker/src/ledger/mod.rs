//! The state of every thread after the records read so far: open calls, their items, attempts and
//! children.
//!
//! The ledger is a separate fold, written from the pages that say what a record means and not from the
//! pump's fold. It judges nothing, and a record that breaks a rule does not derail it: it takes each
//! record as well as it can, so that one fault is found once and not again at every later record. It
//! stores open calls, and a few words per record of everything else.

mod approvals;
mod budget_uses;
mod firsts;
mod journal;
mod outages;
mod pauses;
mod retries;
mod starts;
mod takers;
mod thread;
mod timers;

use std::collections::{BTreeMap, HashMap};

pub(crate) use self::approvals::{LedgerApproval, LedgerQuestion};
pub(crate) use self::journal::{BoughtUse, LedgerEntry, read_kept};
pub(crate) use self::outages::LedgerOutage;
pub(crate) use self::starts::RunStarts;
pub(crate) use self::thread::{LedgerCall, LedgerItem, LedgerSpawn, LedgerThread};

pub(crate) use thread::{ClockedTime, LedgerFiring, LedgerTimer};

use self::firsts::FirstPlaces;
use self::thread::{LedgerChild, LedgerEnd, LedgerWarning};
use crate::meaning::{ItemSort, OpenedThrough, RecordAct};
use crate::path;
use crate::record::{LogLine, RecordHash, RecordId, head_zero};
use crate::tag::{self, BodyTag};

/// A record with the parts that all rules need, read once.
pub(crate) struct LedgerStep<'r> {
    pub(crate) record: &'r LogLine,
    /// What it does. Only the rules of chains and causes judge a record without a meaning.
    pub(crate) act: Option<RecordAct<'r>>,
    /// The leaf of its bytes.
    pub(crate) leaf: RecordHash,
    /// Its body, if that is a payload of the core.
    pub(crate) core: Option<BodyTag<'r>>,
}

impl<'r> LedgerStep<'r> {
    pub(crate) fn new(record: &'r LogLine, act: Option<RecordAct<'r>>) -> LedgerStep<'r> {
        let core = if record.from == "core" { tag::parse_root(&record.body) } else { None };
        LedgerStep { record, act, leaf: record.hash_leaf(), core }
    }

    /// The core payload of that name.
    pub(crate) fn core_named(&self, name: &str) -> Option<&BodyTag<'r>> {
        self.core.as_ref().filter(|tag| tag.name == name)
    }

    /// Whether it is an attempt after one that died with the pump.
    pub(crate) fn tells_of_a_death_of_the_pump(&self) -> bool {
        self.core_named("attempt").and_then(|tag| tag.find_attribute("with_pump")) == Some("true")
    }
}

/// The place of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LedgerPlace {
    /// The number of its thread in this ledger.
    pub(crate) thread: u32,
    pub(crate) seq: u64,
}

/// The state against which later records are judged.
#[derive(Default)]
pub(crate) struct CheckLedger {
    pub(crate) position: u64,
    pub(crate) records: u64,
    pub(crate) threads: HashMap<String, LedgerThread>,
    /// Spawns without a confirmation, by the id of their record.
    pub(crate) spawns: HashMap<RecordId, LedgerSpawn>,
    /// The last start of the pump.
    pub(crate) starts: RunStarts,
    ids: HashMap<RecordId, LedgerPlace>,
    firsts: FirstPlaces,
}

impl CheckLedger {
    pub(crate) fn find_thread(&self, id: &str) -> Option<&LedgerThread> {
        self.threads.get(id)
    }

    pub(crate) fn find_call(&self, thread: &str, call: &str) -> Option<&LedgerCall> {
        self.find_thread(thread)?.calls.get(call)
    }

    /// The open call that a record belongs to.
    pub(crate) fn call_of(&self, step: &LedgerStep<'_>) -> Option<&LedgerCall> {
        self.find_call(&step.record.thread, step.act?.call()?)
    }

    /// The head that a record of this thread continues.
    pub(crate) fn find_head(&self, thread: &str) -> RecordHash {
        self.find_thread(thread).map_or_else(|| head_zero(thread), |thread| thread.head)
    }

    pub(crate) fn find_place(&self, id: RecordId) -> Option<LedgerPlace> {
        self.ids.get(&id).copied()
    }

    /// The position of an item with the same call, turn and ordinal.
    pub(crate) fn first_item(&self, thread: &str, call: &str, turn: u32, ordinal: u32) -> Option<u64> {
        self.firsts.get(&["item", thread, &path::of_item(call, turn, ordinal)])
    }

    /// The position of a message with the same sender and key in the same thread.
    pub(crate) fn first_key(&self, record: &LogLine) -> Option<u64> {
        self.firsts.get(&["key", &record.thread, &record.from, record.key.as_deref()?])
    }

    /// The position of another root that the same sender opened with the same key.
    pub(crate) fn first_root(&self, record: &LogLine) -> Option<u64> {
        self.firsts.get(&["root", &record.from, record.key.as_deref()?])
    }

    /// The position of a call's outcome.
    pub(crate) fn first_outcome(&self, thread: &str, call: &str) -> Option<u64> {
        self.firsts.get(&["outcome", thread, call])
    }

    /// Whether a child has not ended; a child that never began is not running.
    pub(crate) fn is_running(&self, child: &str) -> bool {
        self.find_thread(child).is_some_and(|child| child.ended.is_none())
    }

    /// Skips a row that is not a record.
    pub(crate) fn skip_to(&mut self, position: u64) {
        self.position = self.position.max(position);
        self.records += 1;
    }

    /// Takes a record.
    pub(crate) fn apply_step(&mut self, step: &LedgerStep<'_>) {
        let record = step.record;
        self.position = record.position;
        self.records += 1;
        let number = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        let thread = self
            .threads
            .entry(record.thread.clone())
            .or_insert_with(|| LedgerThread::new(number, &record.thread));
        (thread.seq, thread.head) = (record.seq, record.head);
        self.ids.entry(record.id).or_insert(LedgerPlace { thread: thread.number, seq: record.seq });
        if let Some(key) = &record.key {
            self.firsts.put(&["key", &record.thread, &record.from, key], record.position);
            if record.seq == 1 {
                self.firsts.put(&["root", &record.from, key], record.position);
            }
        }
        match step.act {
            Some(RecordAct::Opens { call, to, by }) => self.note_open(step, call, to, by),
            Some(RecordAct::Item { call, turn, ordinal, sort }) => {
                self.note_item(step, call, turn, ordinal, sort)
            }
            Some(act @ RecordAct::Takes { .. }) => self.note_takers(step, act),
            Some(RecordAct::Answer { caller, turn, ordinal }) => {
                self.note_answer(step, caller, turn, ordinal)
            }
            Some(RecordAct::Inbox { call }) => {
                self.note_notice(step);
                self.note_warning(step, call);
            }
            Some(RecordAct::Wraps { call }) => self.with_call(&record.thread, call, |call| {
                call.wraps_up.get_or_insert(record.position);
            }),
            Some(RecordAct::Fires { call }) => self.note_firing(step, call),
            Some(RecordAct::Unset { .. }) => self.remove_timer(step),
            Some(RecordAct::Clocks { call }) => self.note_time(step, call),
            Some(RecordAct::Asks { call }) => self.note_request(step, call),
            Some(RecordAct::Questions { caller, turn, ordinal }) => {
                self.note_question(step, caller, turn, ordinal)
            }
            Some(RecordAct::Tell { call, to, .. }) => self.open_call(record, call.to_owned(), to),
            Some(RecordAct::Amends { call }) => self.note_amendment(step, call),
            Some(RecordAct::Decides { call }) => {
                self.note_decision(step, call);
                self.note_move(&record.thread, call);
            }
            Some(RecordAct::Steers { call }) => self.note_steer(step, call),
            Some(RecordAct::Outcome { call }) => self.close_call(step, call),
            Some(RecordAct::DeadLetter { call, .. }) => self.note_dead_letter(&record.thread, call),
            Some(RecordAct::Attempt { call, .. }) => self.note_attempt(step, call),
            Some(RecordAct::Writes { call, .. }) => self.note_entry(step, call),
            Some(RecordAct::Terminal) => self.end_thread(step),
            Some(RecordAct::Pauses) => self.set_pause(&record.thread, Some(record.position)),
            Some(RecordAct::Resumes) => self.set_pause(&record.thread, None),
            Some(RecordAct::Reopens { call, .. }) => self.reopen_call(step, call),
            Some(RecordAct::Aside) if record.thread == "sys" => self.starts_or_ends(step),
            Some(RecordAct::Marks { call }) => self.take_mark(step, call),
            Some(RecordAct::Denies { .. } | RecordAct::Aside) | None => {}
        }
    }

    fn note_dead_letter(&mut self, thread: &str, call: &str) {
        self.with_call(thread, call, |call| call.is_dead = true);
    }

    fn note_attempt(&mut self, step: &LedgerStep<'_>, call: &str) {
        let number = step.core_named("attempt").and_then(|tag| tag.read_number("number"));
        let lost = u32::from(step.tells_of_a_death_of_the_pump());
        self.with_call(&step.record.thread, call, |call| {
            call.deaths_on_record += if call.attempts.is_some() { lost } else { 0 };
            call.attempts = number.or(call.attempts);
            call.journal.clear();
            call.lost_with_pump += lost;
            call.waits_no_more();
        });
        self.note_move(&step.record.thread, call);
    }

    fn with_call(&mut self, thread: &str, call: &str, change: impl FnOnce(&mut LedgerCall)) {
        if let Some(call) = self.threads.get_mut(thread).and_then(|thread| thread.calls.get_mut(call)) {
            change(call);
        }
    }

    fn open_call(&mut self, record: &LogLine, path: String, listener: &str) {
        let call = LedgerCall {
            listener: listener.to_owned(),
            caller: record.from.clone(),
            timer: None,
            request: RecordHash::hash_bytes(&record.body),
            approval: None,
            position: record.position,
            seq: record.seq,
            since_ms: record.time_ms,
            moved: record.position,
            budget_use: 0,
            settled: 0,
            items: Vec::new(),
            attempts: None,
            journal: Vec::new(),
            lost_with_pump: 0,
            away: 0,
            retries: 0,
            before_retry: 0,
            is_news: false,
            waits: None,
            away_since_ms: None,
            deaths_on_record: 0,
            is_dead: false,
            children: Vec::new(),
            is_nudged: false,
            wraps_up: None,
            warned: Vec::new(),
            fired: None,
            steered: None,
            cleared: 0,
            outlived: None,
        };
        if let Some(thread) = self.threads.get_mut(&record.thread) {
            thread.calls.insert(path, call);
        }
    }

    fn note_open(&mut self, step: &LedgerStep<'_>, call: &str, to: &str, by: OpenedThrough) {
        let record = step.record;
        self.open_call(record, call.to_owned(), to);
        if by != OpenedThrough::Spawn {
            self.gives_budget_use(step, call);
        }
        let Some(thread) = self.threads.get_mut(&record.thread) else { return };
        thread.top_calls = thread.top_calls.max(path::find_top(call));
        let is_news = by == OpenedThrough::Tell;
        if let Some(call) = thread.calls.get_mut(call) {
            call.is_news = is_news;
        }
        if let Some(failed) = thread.failed.as_mut().filter(|_| !is_news) {
            failed.is_followed = true;
        }
        if by == OpenedThrough::Timer {
            let id =
                step.core_named("timer-fired").and_then(|tag| tag.find_attribute("id")).map(str::to_owned);
            self.with_call(&record.thread, call, |call| call.timer = id);
            return self.note_firing(step, call);
        }
        if by != OpenedThrough::Spawn || !record.thread.contains('.') || thread.child.is_some() {
            return;
        }
        let child = LedgerChild {
            first_head: record.head,
            is_confirmed: false,
            depth: 0,
            ceiling: None,
            end: None,
            told: None,
        };
        thread.child = Some(Box::new(child));
        let Some(spawn) = record.cause.and_then(|cause| self.spawns.get_mut(&cause)) else { return };
        if spawn.child.is_none() {
            spawn.child = Some(record.thread.clone());
            let (parent, call) = (spawn.thread.clone(), spawn.call.clone());
            self.with_call(&parent, &call, |call| call.children.push(record.thread.clone()));
            let depth = self.depth_below(&parent, &call);
            let child = self.threads.get_mut(&record.thread).and_then(|thread| thread.child.as_mut());
            child.into_iter().for_each(|child| child.depth = depth);
        }
    }

    fn note_item(&mut self, step: &LedgerStep<'_>, call: &str, turn: u32, ordinal: u32, sort: ItemSort<'_>) {
        let record = step.record;
        self.firsts.put(&["item", &record.thread, &path::of_item(call, turn, ordinal)], record.position);
        let boot = self.starts.boot;
        self.with_call(&record.thread, call, |call| {
            call.is_nudged |= is_nudge(record);
            if turn > call.settled {
                call.outlived = boot.filter(|boot| call.moved < *boot);
            }
            call.settle_turn(turn);
            call.moved = record.position;
            if turn == call.settled && call.find_item(turn, ordinal).is_none() {
                call.items.push(LedgerItem {
                    ordinal,
                    is_note: sort == ItemSort::Note,
                    is_wait: sort == ItemSort::Wait,
                    is_end: sort == ItemSort::End,
                    is_clear: sort == ItemSort::Clear,
                    is_recall: sort == ItemSort::Recall,
                    is_person: sort == ItemSort::Person,
                    question: None,
                    steers: (sort == ItemSort::Steer).then_some((record.id, false)),
                    sets: (sort == ItemSort::Set).then_some(record.id),
                    is_cancel: sort == ItemSort::Cancel,
                    is_answered: matches!(sort, ItemSort::Note | ItemSort::Refused | ItemSort::Final),
                    spawn: (sort == ItemSort::Spawn).then_some(record.id),
                    cause: record.cause,
                    time_ms: record.time_ms,
                    takers: None,
                });
            }
        });
        match sort {
            ItemSort::Call { to } => {
                self.add_use(&record.thread, 1, 0);
                self.charge_use(&record.thread, 1, 0);
                self.open_call(record, path::of_item(call, turn, ordinal), to);
            }
            ItemSort::Spawn => {
                let spawn = LedgerSpawn {
                    thread: record.thread.clone(),
                    call: call.to_owned(),
                    from: record.from.clone(),
                    position: record.position,
                    seq: record.seq,
                    leaf: step.leaf,
                    child: None,
                };
                self.spawns.insert(record.id, spawn);
            }
            ItemSort::Final => self.close_call(step, call),
            ItemSort::Refused => {
                let counts = !is_nudge(record) && record.code.as_deref() != Some("budget.messages");
                if let Some(thread) = self.threads.get_mut(&record.thread).filter(|_| counts) {
                    thread.refused = thread.refused.saturating_add(1);
                }
            }
            ItemSort::Wait
            | ItemSort::End
            | ItemSort::Steer
            | ItemSort::Asks
            | ItemSort::Clear
            | ItemSort::Recall
            | ItemSort::Person
            | ItemSort::Set
            | ItemSort::Cancel
            | ItemSort::Note => {}
        }
    }

    fn count_answer(&mut self, thread: &str, caller: &str, turn: u32, ordinal: u32) {
        let position = self.position;
        self.with_call(thread, caller, |call| {
            if let Some(item) = call.item_mut(turn, ordinal) {
                item.is_answered = true;
                call.moved = position;
            }
        });
    }

    fn note_answer(&mut self, step: &LedgerStep<'_>, caller: &str, turn: u32, ordinal: u32) {
        let thread = &step.record.thread;
        self.count_answer(thread, caller, turn, ordinal);
        self.answered_timer(step, caller, turn, ordinal);
        if let Some(to) = step.core_named("context-cleared").and_then(|tag| tag.read_large("to_seq")) {
            self.with_call(thread, caller, |call| call.cleared = call.cleared.max(to));
        }
        let Some(tag) = step.core_named("thread-spawned") else { return };
        let item = self.find_call(thread, caller).and_then(|call| call.find_item(turn, ordinal));
        let Some(spawned_by) = item.and_then(|item| item.spawn) else { return };
        self.add_use(thread, 1, 1);
        self.charge_use(thread, 1, 1);
        // A spawn that is confirmed too early still waits for its child.
        let has_child = self.spawns.get(&spawned_by).is_some_and(|spawn| spawn.child.is_some());
        let spawn = if has_child { self.spawns.remove(&spawned_by) } else { None };
        let child = spawn.and_then(|spawn| spawn.child).and_then(|child| self.threads.get_mut(&child));
        if let Some(child) = child.and_then(|thread| thread.child.as_mut()) {
            child.is_confirmed = true;
            child.ceiling = tag.read_number("messages");
        }
    }

    fn note_notice(&mut self, step: &LedgerStep<'_>) {
        let child = step.core_named("thread-finished").and_then(|tag| tag.find_attribute("id"));
        let child = child.and_then(|id| self.threads.get_mut(id)).and_then(|thread| thread.child.as_mut());
        if let Some(child) = child {
            child.told.get_or_insert(step.record.position);
        }
        if let Some(tag) = step.core_named("thread-finished") {
            let number = |name| tag.read_number(name).unwrap_or(0);
            self.add_use(&step.record.thread, number("messages"), number("children"));
            let [tokens, requests] = ["tokens", "requests"].map(|name| tag.read_large(name).unwrap_or(0));
            let micros = tag.read_micros("money").unwrap_or(0);
            self.note_purchase(&step.record.thread, BoughtUse { tokens, micros, requests });
        }
    }

    /// Counts the use in a thread.
    fn add_use(&mut self, thread: &str, messages: u32, children: u32) {
        if let Some(thread) = self.threads.get_mut(thread) {
            let (before, below) = thread.used;
            thread.used = (before.saturating_add(messages), below.saturating_add(children));
        }
    }

    fn note_warning(&mut self, step: &LedgerStep<'_>, call: &str) {
        let Some(tag) = step.core_named("budget-warning") else { return };
        let (Some(what), Some(limit)) = (tag.find_attribute("what"), tag.find_attribute("limit")) else {
            return;
        };
        let (what, limit) = (what.to_owned(), limit.to_owned());
        self.with_call(&step.record.thread, call, |call| {
            call.warned.push(LedgerWarning { what, limit, settled: call.settled });
        });
    }

    fn note_steer(&mut self, step: &LedgerStep<'_>, call: &str) {
        let record = step.record;
        self.with_call(&record.thread, call, |call| call.steered = Some(call.settled));
        let Some((parent, _)) = record.thread.rsplit_once('.') else { return };
        let calls = self.threads.get_mut(parent).into_iter().flat_map(|thread| thread.calls.values_mut());
        for word in calls.flat_map(|call| &mut call.items).filter_map(|item| item.steers.as_mut()) {
            word.1 |= Some(word.0) == record.cause;
        }
    }

    fn close_call(&mut self, step: &LedgerStep<'_>, call: &str) {
        let record = step.record;
        self.firsts.put(&["outcome", &record.thread, call], record.position);
        match (path::split_item(call), path::find_taker(call)) {
            (Some(item), Some(number)) => self.note_taken(&record.thread, item, number),
            (Some((caller, turn, ordinal)), None) => self.count_answer(&record.thread, caller, turn, ordinal),
            (None, _) => {}
        }
        let Some(thread) = self.threads.get_mut(&record.thread) else { return };
        let Some(closed) = thread.calls.remove(call) else { return };
        if path::is_top(call) {
            // A top call is due when those before it are over; a later one may close while it is at work.
            let behind = |other: &&str| path::is_top(other) && path::find_top(other) > path::find_top(call);
            let behind = thread.calls.iter_mut().filter(|(other, _)| behind(&other.as_str()));
            behind.for_each(|(_, call)| call.moved = record.position);
        }
        thread.timers.values_mut().for_each(|timer| timer.note_close(call, closed.settled));
        // The rule on open calls below has reported them; they are removed with the call.
        thread.calls.retain(|other, _| !path::is_below(other, call));
        if thread.calls.is_empty() {
            // An emptied map keeps its memory; most threads rest, and there are many.
            thread.calls = BTreeMap::new();
        }
        let is_root = thread.child.is_none();
        thread.timers.retain(|_, timer| {
            let goes = timer.call == call || path::is_below(&timer.call, call);
            !goes || is_root && path::is_top(&timer.call)
        });
        if path::is_top(call) && is_root {
            thread.note_failure(step, call, closed);
        }
        thread.forget_budget_uses();
        if path::is_top(call) && !is_root {
            self.end_thread(step);
        }
    }

    fn end_thread(&mut self, step: &LedgerStep<'_>) {
        let Some(thread) = self.threads.get_mut(&step.record.thread) else { return };
        (thread.calls, thread.timers) = (BTreeMap::new(), BTreeMap::new());
        thread.ended.get_or_insert(step.record.position);
        if let Some(child) = &mut thread.child {
            let outcome = name_outcome(step);
            let says = step.act != Some(RecordAct::Terminal) && outcome != "handled";
            let payload = says.then(|| RecordHash::hash_bytes(&step.record.body));
            child.end.get_or_insert(LedgerEnd { outcome, payload });
        }
    }
}

/// Whether a record answers a final that came while children run or steps are open.
pub(crate) fn is_nudge(record: &LogLine) -> bool {
    matches!(record.code.as_deref(), Some("children-open" | "todo-open"))
}

/// The word that tells a parent how its child ended.
fn name_outcome(step: &LedgerStep<'_>) -> &'static str {
    match (step.act, step.record.code.as_deref()) {
        (Some(RecordAct::Item { .. }), _) => "answered",
        (Some(RecordAct::Terminal), _) | (_, Some("thread.cancelled")) => "cancelled",
        (_, Some("handled")) => "handled",
        (_, Some("approval.rejected")) => "rejected",
        (_, Some("approval.expired")) => "expired",
        // A used-up budget ends with a report, and a refusal for lack of budget with an error.
        _ if step.core_named("final-report").is_some() => "budget",
        _ => "failed",
    }
}
