//! Why a thread waits: for every open call, what it waits for, down to the leaves, which alone can end
//! the wait.
//!
//! It reads folds and records and never asks a running organism. The whole of a log and a thread come
//! in; a tree of reasons goes out, which `wording` and `list` put into words. Only `kinds` knows the
//! kinds of waits and their words.

mod kinds;
mod list;
mod pauses;
mod value;
mod wording;

pub use kinds::{AfterAttempt, CallWait};
pub use list::{ListedWait, in_lines, list_broken, waits};
pub use pauses::ModelPause;
pub use value::{as_json, wait_json};
pub use wording::{Asker, brief, draw_reason, ends, report};

use systole_kit::journal::EarlierEntry;
use systole_kit::money::Money;

use super::anew::AnewLinks;
use super::first_cause::FirstCause;
use super::glance::glance;
use super::log_state::LogState;
use super::pauses::ThreadPause;
use super::posts::{DueCallState, DueCalls};
use super::runs::{RunStep, StepProgress, WorkflowRuns};
use super::thread_end::{ThreadEnd, ThreadStatus};
use systole_core::pump::state::{BudgetUse, Call, CallState, Thread, ThreadState, used_under};
use systole_core::rules::{approval_payload, core_payload, question};
use systole_core::types::budget::UsedAmounts;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Listener, ListenerProgram, OnUnknown};
use systole_core::types::ids::{CallPath, Name, ThreadId, TimerId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::RecordKind;
use systole_core::types::time::Millis;
use systole_show::columns::plain;

/// A thread and the reasons why it waits; no reasons if it is at rest or has ended.
#[derive(Clone, Debug)]
pub struct ThreadWaits {
    /// The thread.
    pub thread: ThreadId,
    /// Whether it is at work.
    pub life: ThreadState,
    /// The pause that holds it, if it is paused.
    pub paused: Option<ThreadPause>,
    /// When its last record was made.
    pub touched: Millis,
    /// Its last record.
    pub seq: u64,
    /// One reason for each of its top calls.
    pub reasons: Vec<WaitReason>,
    /// Timers that outlived the call that set them, and that open a new call; the next one first.
    pub timers: Vec<ThreadTimer>,
    /// The model use of the open messages from outside in it, with their limits.
    pub models: Vec<ModelUse>,
    /// The time limits of the open messages from outside in it, if they have one.
    pub times: Vec<WorkingTime>,
    /// How its last top call ended, if nothing is open.
    pub end: Option<ThreadEnd>,
    /// The roots that it is linked to, if these were read.
    pub links: AnewLinks,
}

/// The model use of a message from outside, including reserves for calls without a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelUse {
    /// The top call of the root that the message opened.
    pub call: CallPath,
    /// The use of its whole tree.
    pub used: UsedAmounts,
    /// The most tokens.
    pub tokens: Option<u64>,
    /// The highest cost.
    pub money: Option<Money>,
}

/// The working time of a message from outside, and its limit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkingTime {
    /// The top call of the root that the message opened.
    pub call: CallPath,
    /// The time used up to its last record, in milliseconds.
    pub ran_ms: u64,
    /// Since when work has resumed; `None` while it waits only for persons and timers.
    pub runs: Option<Millis>,
    /// The time limit.
    pub limit_ms: u64,
}

impl WorkingTime {
    /// The time used by that moment.
    pub fn used_ms(&self, now: Millis) -> u64 {
        let since = self.runs.map_or(0, |since| now.count_since(since));
        self.ran_ms.saturating_add(since).min(self.limit_ms)
    }
}

/// A timer of a thread that opens a call when it fires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadTimer {
    /// The timer.
    pub id: TimerId,
    /// The listener of the call.
    pub listener: Name,
    /// When.
    pub due: Millis,
}

/// Why one call is still open.
#[derive(Clone, Debug)]
pub struct WaitReason {
    /// The thread of the call.
    pub thread: ThreadId,
    /// The call.
    pub call: CallPath,
    /// The listener that must answer it.
    pub listener: Name,
    /// The exhausted budget that makes the due turn its last.
    pub wraps_up: Option<Code>,
    /// The turn that is due, or whose items are being answered.
    pub turn: u32,
    /// Since when it is in this state.
    pub since: Millis,
    /// What it waits for.
    pub cause: CallWait,
    /// The attempt at the due turn.
    pub attempt: u32,
    /// Most attempts for a turn.
    pub attempts: u32,
    /// Failed attempts at this turn, oldest first.
    pub failures: Vec<FailedAttempt>,
    /// The program that answers, if the listener is one.
    pub program: Option<ListenerProgram>,
    /// Why the listener is away, if it is and the organism runs.
    pub away: Option<String>,
    /// The model that is asked after a pause: its last request failed, or its rate delays this one.
    pub again: Option<ModelPause>,
    /// The first record in the log about this.
    pub told_from: u64,
    /// Open work below it: nested calls, and the calls of its running children.
    pub below: Vec<WaitReason>,
    /// Its goal in a workflow.
    pub goal: Option<RunStep>,
    /// Its current steps, if it is a workflow.
    pub steps: Vec<StepProgress>,
}

/// An attempt that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedAttempt {
    /// How.
    pub code: Option<Code>,
    /// The known facts: exit code, time, last words.
    pub words: String,
    /// When.
    pub at: Millis,
}

impl ThreadWaits {
    /// Computes a thread's state.
    pub fn of(
        reader: &dyn LogReader,
        whole: &LogState,
        posts: &DueCalls,
        thread: &Thread,
    ) -> Result<ThreadWaits, LogFault> {
        let mut reasons = Vec::new();
        let asking = Asking { reader, whole, posts };
        for (path, call) in thread.calls.iter().filter(|(path, _)| path.depth() == 0) {
            reasons.push(asking.reason(thread, path, call)?);
        }
        // Paths sort as text, but people expect numeric order.
        reasons.sort_by_key(|reason| reason.call.top_number());
        let is_at_work = thread.life() == ThreadState::Working;
        let end = if is_at_work { None } else { ThreadEnd::of_thread(reader, &thread.id, thread.seq)? };
        Ok(ThreadWaits {
            thread: thread.id.clone(),
            life: thread.life(),
            paused: whole.find_pause(reader, &thread.id)?,
            touched: thread.touched,
            seq: thread.seq,
            reasons,
            timers: list_kept(thread),
            models: models(whole, thread),
            times: times(whole, thread),
            end,
            links: AnewLinks::default(),
        })
    }

    /// Adds the workflow facts to each reason.
    pub fn name_goals(&mut self, runs: &WorkflowRuns<'_>) -> Result<(), LogFault> {
        let mut left: Vec<&mut WaitReason> = self.reasons.iter_mut().collect();
        while let Some(reason) = left.pop() {
            reason.goal = match reason.call.depth() {
                0 => runs.of_thread(&reason.thread)?,
                _ => runs.of_item(&reason.thread, &reason.call)?,
            };
            reason.steps = runs.steps(&reason.thread, &reason.call)?;
            left.extend(&mut reason.below);
        }
        Ok(())
    }

    /// Its state.
    pub fn status(&self) -> ThreadStatus {
        if self.paused.is_some() {
            return ThreadStatus::Paused;
        }
        match self.life {
            ThreadState::Working if self.has_due_turn() => ThreadStatus::Working,
            ThreadState::Working => ThreadStatus::Waiting,
            _ if !self.timers.is_empty() => ThreadStatus::Waiting,
            _ => ThreadStatus::of_end(self.end.as_ref().map(|end| end.end)),
        }
    }

    /// Whether a turn is with its listener, or goes out as soon as it can.
    fn has_due_turn(&self) -> bool {
        let leaves = self.leaves();
        leaves.is_empty() || leaves.iter().any(|leaf| leaf.cause.is_due())
    }

    /// Whether something is open in it.
    pub fn is_at_work(&self) -> bool {
        self.life == ThreadState::Working
    }

    /// The word for its state.
    pub fn state(&self) -> &'static str {
        self.status().as_str()
    }

    /// Why its last top call failed, if it did and nothing is open.
    pub fn failure(&self) -> Option<&FirstCause> {
        self.end.as_ref()?.cause.as_ref()
    }

    /// The reason why that call is still open.
    pub fn find(&self, thread: &ThreadId, call: &CallPath) -> Option<&WaitReason> {
        let mut left: Vec<&WaitReason> = self.reasons.iter().collect();
        while let Some(reason) = left.pop() {
            if reason.thread == *thread && reason.call == *call {
                return Some(reason);
            }
            left.extend(&reason.below);
        }
        None
    }

    /// Whether only a person can end the wait, because nothing else is in progress.
    pub fn waits_for_a_person(&self) -> bool {
        let leaves = self.leaves();
        !leaves.is_empty() && leaves.iter().all(|leaf| leaf.cause.is_up_to_a_person())
    }

    /// The reasons without others below them: what they wait for ends the wait. Held calls wait for
    /// another top call of the same thread and are not leaves.
    pub fn leaves(&self) -> Vec<&WaitReason> {
        let mut leaves = Vec::new();
        let mut left: Vec<&WaitReason> = self.reasons.iter().rev().collect();
        while let Some(reason) = left.pop() {
            if matches!(reason.cause, CallWait::Held { .. }) {
                continue;
            }
            left.extend(reason.below.iter().rev());
            if !reason.cause.joins() || reason.below.is_empty() {
                leaves.push(reason);
            }
        }
        leaves
    }
}

struct Asking<'a> {
    reader: &'a dyn LogReader,
    whole: &'a LogState,
    posts: &'a DueCalls,
}

impl Asking<'_> {
    fn reason(&self, thread: &Thread, path: &CallPath, call: &Call) -> Result<WaitReason, LogFault> {
        let listener = self.whole.listener(call.config, &call.listener);
        let attempt = call.attempts.max(1);
        let post = self.posts.of(&thread.id, path);
        let (cause, since) = match call.stand() {
            CallState::Asking => self.asking(thread, call)?,
            CallState::Held => (held_behind(thread, path), call.opened),
            CallState::Joining(open) => (joining(thread, path, call, open), call.ready_at),
            CallState::Ready { .. } => self.due(call, listener, post, attempt),
        };
        let again = match cause {
            CallWait::Out { .. } => self.find_pause(thread, path, call)?,
            _ => None,
        };
        let failures = if attempt > 1 { self.failures(thread, path, call)? } else { Vec::new() };
        Ok(WaitReason {
            thread: thread.id.clone(),
            call: path.clone(),
            listener: call.listener.clone(),
            wraps_up: call.wrap_up.filter(|_| call.is_wrapping_up()).map(|of| of.what.code()),
            turn: if cause.joins() { call.settled } else { call.settled + 1 },
            since,
            attempt,
            attempts: listener.map_or(1, |l| l.retry.attempts) + call.lost_with_pump + call.away,
            failures,
            program: listener.and_then(|l| l.reach.traits().program).cloned(),
            away: self.whole.running.and_then(|_| self.whole.away(&call.listener)).map(str::to_owned),
            again,
            told_from: if call.settled == 0 { call.request } else { first_item(call) },
            below: self.below(thread, path, call)?,
            goal: None,
            steps: Vec::new(),
            cause,
        })
    }

    /// The decision that a person must make.
    fn asking(&self, thread: &Thread, call: &Call) -> Result<(CallWait, Millis), LogFault> {
        let Some(approval) = &call.approval else { return Ok((CallWait::Stopped, call.ready_at)) };
        let request = self.reader.of_thread(&thread.id, call.request, 1)?;
        let seen = request.first().map(|(_, record)| glance(&record.body));
        let (fields, element) = seen.map_or_else(Default::default, |seen| {
            (seen.line(systole_show::layout::two_lines()), seen.element)
        });
        let (id, hash, until) = (approval.id, approval.hash, approval.expires);
        let unknown = match approval.of_attempt {
            true => self.reader.of_thread(&thread.id, approval.seq, 1)?,
            false => Vec::new(),
        };
        let unknown = unknown.first().and_then(|(_, record)| approval_payload::read_unknown(&record.body));
        Ok((CallWait::Person { id, element, fields, hash, until, unknown }, approval.asked))
    }

    /// The unanswered questions of a call.
    fn questions(&self, thread: &Thread, path: &CallPath, call: &Call) -> Result<Vec<WaitReason>, LogFault> {
        let mut reasons = Vec::new();
        for (item, asked) in call.questions() {
            let record = self.reader.of_thread(&thread.id, asked.seq, 1)?;
            let read = record.first().and_then(|(_, record)| question::read_asked(&record.body));
            let words = read.map_or_else(String::new, |request| plain(&request.words));
            let cause = CallWait::Question {
                id: asked.id,
                words,
                choices: asked.choices.clone(),
                hash: asked.hash,
                until: asked.expires,
            };
            reasons.push(WaitReason {
                thread: thread.id.clone(),
                call: path.append_item(call.settled, item.ordinal),
                listener: call.listener.clone(),
                wraps_up: None,
                turn: call.settled,
                since: asked.asked,
                cause,
                attempt: 1,
                attempts: 1,
                failures: Vec::new(),
                program: None,
                away: None,
                again: None,
                told_from: asked.seq,
                below: Vec::new(),
                goal: None,
                steps: Vec::new(),
            });
        }
        Ok(reasons)
    }

    fn due(
        &self,
        call: &Call,
        listener: Option<&Listener>,
        post: Option<&DueCallState>,
        attempt: u32,
    ) -> (CallWait, Millis) {
        // A paused call sends nothing, regardless of its configuration.
        if let Some(DueCallState::Paused { by }) = post {
            return (CallWait::Paused { by: by.clone() }, call.ready_at);
        }
        let Some(listener) = listener else {
            let why = self.whole.unread(call.config).unwrap_or("it has no such listener");
            return (CallWait::Unknown { why: why.to_owned() }, call.ready_at);
        };
        match post {
            None | Some(DueCallState::Stopped | DueCallState::Paused { .. }) => {
                (CallWait::Stopped, call.ready_at)
            }
            Some(DueCallState::BackOff { until }) => (CallWait::BackOff { until: *until }, call.ready_at),
            Some(DueCallState::Queued { place, slots, full }) => {
                let since = call.ready_at.max(call.not_before);
                (CallWait::Queued { place: *place, slots: *slots, full: full.clone() }, since)
            }
            Some(DueCallState::Away { outage, since }) => (CallWait::Away { outage: outage.clone() }, *since),
            Some(DueCallState::Out { since }) => {
                // A timeout is an unknown outcome.
                let left = call.own_attempt() < listener.retry.attempts;
                let then = match listener.on_unknown {
                    OnUnknown::Retry if left => AfterAttempt::Attempt(attempt + 1),
                    OnUnknown::Ask => AfterAttempt::Asks,
                    OnUnknown::Retry | OnUnknown::Fail => AfterAttempt::Fails,
                };
                let deadline = Some(since.add_ms(listener.timeout_ms));
                (CallWait::Out { deadline, idle_ms: listener.idle_ms, then }, *since)
            }
        }
    }

    /// Open calls made by items of this one, and the calls of its running children.
    fn below(&self, thread: &Thread, path: &CallPath, call: &Call) -> Result<Vec<WaitReason>, LogFault> {
        let mut below = self.questions(thread, path, call)?;
        for (nested, open) in &thread.calls {
            // No call waits for a listener that was only notified of a request for approval: turn 0.
            if nested.caller().is_some_and(|(caller, turn, _)| caller == *path && turn > 0) {
                below.push(self.reason(thread, nested, open)?);
            }
        }
        below.sort_by_key(|reason| {
            let item = reason.call.caller().map(|(_, turn, ordinal)| (turn, ordinal));
            (item, reason.call.taker_number())
        });
        for child in call.running() {
            let Some(child) = self.whole.at_work(child) else { continue };
            for (top, open) in child.calls.iter().filter(|(path, _)| path.depth() == 0) {
                below.push(self.reason(child, top, open)?);
            }
        }
        Ok(below)
    }

    /// The model that is asked after a pause, if the newest entry of the due attempt says so.
    fn find_pause(
        &self,
        thread: &Thread,
        path: &CallPath,
        call: &Call,
    ) -> Result<Option<ModelPause>, LogFault> {
        let mut entries = Vec::new();
        for placed in self.reader.records_of(&thread.id, call.ready_seq) {
            let (_, record) = placed?;
            let h = &record.header;
            if h.kind == RecordKind::Journal && h.call.as_ref() == Some(path) {
                entries.extend(EarlierEntry::from_body(&record.body).ok().map(|entry| (h.time, entry)));
            }
        }
        Ok(pauses::find_newest(entries, call.attempts.max(1)))
    }

    /// The failed attempts at the due turn, from their records. The record of the next attempt
    /// describes the failed one.
    fn failures(
        &self,
        thread: &Thread,
        path: &CallPath,
        call: &Call,
    ) -> Result<Vec<FailedAttempt>, LogFault> {
        let mut found = Vec::new();
        for placed in self.reader.records_of(&thread.id, call.ready_seq) {
            let (_, record) = placed?;
            let h = &record.header;
            let ours = h.kind == RecordKind::Attempt
                && h.call.as_ref() == Some(path)
                && h.turn == Some(call.settled + 1);
            // If attempts are never repeated, the first attempt is recorded too; nothing has failed yet.
            if let Some(next) = core_payload::next_attempt(&record.body).filter(|a| ours && a.number > 1) {
                found.push(FailedAttempt { code: next.code, words: next.words, at: h.time });
            }
        }
        Ok(found)
    }
}

fn list_kept(thread: &Thread) -> Vec<ThreadTimer> {
    let left = thread.timers.iter().filter(|(_, timer)| !thread.calls.contains_key(&timer.call));
    let mut kept: Vec<ThreadTimer> = left
        .map(|(id, timer)| ThreadTimer { id: id.clone(), listener: timer.listener.clone(), due: timer.due })
        .collect();
    kept.sort_by_key(|timer| timer.due);
    kept
}

/// The root of a thread's tree.
fn root_of<'a>(whole: &'a LogState, thread: &'a Thread) -> Option<&'a Thread> {
    if thread.id.parent().is_none() { Some(thread) } else { whole.at_work(&thread.id.root_of()) }
}

/// The budgets of the open messages from outside in a thread's tree.
fn open_budget_uses<'a>(
    whole: &'a LogState,
    thread: &'a Thread,
) -> impl Iterator<Item = (&'a u32, &'a BudgetUse)> {
    root_of(whole, thread).into_iter().flat_map(|root| {
        let is_open = |number: u32| root.calls.values().any(|call| call.budget_use == number);
        root.budget_uses.iter().filter(move |(number, _)| is_open(**number))
    })
}

/// The model use of those messages; messages with neither use nor limit are left out.
fn models(whole: &LogState, thread: &Thread) -> Vec<ModelUse> {
    let Some(root) = root_of(whole, thread) else { return Vec::new() };
    let at_work = |id: &ThreadId| whole.at_work(id);
    let bought = open_budget_uses(whole, thread).map(|(number, budget_use)| {
        let (tokens, money) = whole.limits_of_models(budget_use.config);
        ModelUse {
            call: CallPath::new_top(*number),
            used: used_under(&at_work, root, *number),
            tokens,
            money,
        }
    });
    let has_any = |it: &ModelUse| {
        it.tokens.is_some() || it.money.is_some() || it.used.tokens > 0 || it.used.spent.money().is_some()
    };
    bought.filter(has_any).collect()
}

/// The time of the open messages from outside in a thread's tree.
fn times(whole: &LogState, thread: &Thread) -> Vec<WorkingTime> {
    let timed = open_budget_uses(whole, thread).filter_map(|(number, budget_use)| {
        let limit_ms = whole.wall_ms(budget_use.config)?;
        Some(WorkingTime {
            call: CallPath::new_top(*number),
            ran_ms: budget_use.ran_ms,
            runs: budget_use.runs,
            limit_ms,
        })
    });
    timed.collect()
}

/// What a call joins: nested calls and waits, or only waits. All waits must end, so any of them can
/// represent the others.
fn joining(thread: &Thread, path: &CallPath, call: &Call, open: usize) -> CallWait {
    let items = call.items.len();
    match call.awaits().next() {
        Some((_, awaited)) if call.awaits().count() == open => {
            let running = call.running().filter(|id| awaited.threads.contains(id)).count();
            let finished = awaited.threads.len().saturating_sub(running);
            let timer = thread.timers_of(path).min_by_key(|(_, timer)| timer.due);
            let timer = timer.map(|(id, timer)| (id.clone(), timer.due));
            CallWait::Awaiting { finished, enough: awaited.enough, timer }
        }
        _ => CallWait::Joining { answered: items - open, items },
    }
}

fn held_behind(thread: &Thread, path: &CallPath) -> CallWait {
    let earlier = thread.calls.keys().filter(|p| p.depth() == 0 && p.top_number() < path.top_number());
    let open = earlier.min_by_key(|p| p.top_number());
    CallWait::Held { behind: open.unwrap_or(path).clone() }
}

fn first_item(call: &Call) -> u64 {
    call.items.iter().map(|item| item.seq).min().unwrap_or(call.request)
}
