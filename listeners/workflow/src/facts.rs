//! The events of a run so far: a fold of the view of its call. It decides nothing.
//!
//! Notes, answers and arrivals come in, in order of the call; the state of each started thing goes out.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use systole_kit::{Payload, namespaces};

use crate::items;
use crate::known::{KnownEntry, StepFailure, StepOutput, is_expired};
use crate::note::TurnNote;
use crate::tree::TreeNode;

/// The question in a note that is decided if the reply also has a final.
pub(crate) const FINAL: &str = "final";

/// The question in a note whether the time of a step is over.
pub(crate) const TIMEOUT: &str = "timeout";

/// What stands before the key of a step's time, and of the pause before its next try.
pub(crate) const TIME_OF: &str = "timeout:";
pub(crate) const PAUSE_OF: &str = "pause:";

/// The events.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunFacts {
    starts: HashMap<String, Vec<StartState>>,
    decided: HashMap<(String, String), bool>,
    /// Why a supervisor has to review an output, by the key of the output.
    reconciled: HashMap<String, Vec<String>>,
    /// The things that the items of the last reply started, by ordinal: the key and the index among the tries.
    items: HashMap<u32, (String, usize)>,
    /// The same by child thread and by timer.
    threads: HashMap<String, (String, usize)>,
    timers: HashMap<String, (String, usize)>,
    /// Whether the last reply had a final, and why it was refused.
    final_said: bool,
    final_refused: Option<StepFailure>,
    /// The numbers of messages in the view of the call, by payload. `None` if the facts come from deliveries, which
    /// have no numbers.
    numbers: Option<HashMap<Arc<[u8]>, u64>>,
    /// How many items or branches are over, counted from the first, by the key of their step. A cache: it follows
    /// from the rest.
    over: RefCell<HashMap<String, usize>>,
    /// How many tries of a key a retry of the run has made void, if it made the last one void then.
    void: HashMap<String, usize>,
    /// The keys whose decided timeout a retry of the run has made void.
    void_timeouts: HashSet<String>,
    /// The outputs that hold lists of items, by the key of the step that runs for each item. A cache as well.
    lists: RefCell<HashMap<String, Arc<TreeNode>>>,
}

/// The state of something that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StartState {
    /// Its item has no answer yet.
    Asked,
    /// A child thread.
    Runs(String),
    /// A timer that has not fired.
    Ticks(String),
    /// A timer that fired, and who kept work of its call waiting then.
    Fired(Option<String>),
    /// A timer that was cancelled.
    Stopped,
    /// It is over.
    Ended(StepOutput),
}

impl RunFacts {
    /// The tries of a key.
    pub(crate) fn tries_of(&self, key: &str) -> &[StartState] {
        self.starts.get(key).map_or(&[], Vec::as_slice)
    }

    /// How many tries of a key a retry of the run has made void.
    pub(crate) fn count_void(&self, key: &str) -> usize {
        self.void.get(key).copied().unwrap_or(0)
    }

    /// Whether a step that was out of time has new time, because the run was tried again.
    pub(crate) fn has_new_time(&self, key: &str) -> bool {
        self.void_timeouts.contains(key)
    }

    /// The decision on a question about a key.
    pub(crate) fn find_decision(&self, key: &str, question: &str) -> Option<bool> {
        self.decided.get(&(key.to_owned(), question.to_owned())).copied()
    }

    /// Why a supervisor has to review an output. `None` if it was not compared with its commitment yet.
    pub(crate) fn find_triggers(&self, key: &str) -> Option<&[String]> {
        self.reconciled.get(key).map(Vec::as_slice)
    }

    /// Why the final was refused.
    pub(crate) fn final_refused(&self) -> Option<&StepFailure> {
        self.final_refused.as_ref()
    }

    /// The timers that may still fire.
    pub(crate) fn pending_timers(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.timers.keys().cloned().collect();
        ids.sort_unstable();
        ids
    }

    /// How many items or branches of a step are over, counted from the first, as far as noted.
    pub(crate) fn over_from_first(&self, key: &str) -> usize {
        self.over.borrow().get(key).copied().unwrap_or(0)
    }

    /// Notes that number.
    pub(crate) fn note_over_from_first(&self, key: &str, count: usize) {
        self.over.borrow_mut().insert(key.to_owned(), count);
    }

    /// The output that holds a step's list of items, read once.
    pub(crate) fn read_list(
        &self,
        key: &str,
        read: impl FnOnce() -> Option<TreeNode>,
    ) -> Option<Arc<TreeNode>> {
        if let Some(tree) = self.lists.borrow().get(key) {
            return Some(tree.clone());
        }
        let tree = Arc::new(read()?);
        self.lists.borrow_mut().insert(key.to_owned(), tree.clone());
        Some(tree)
    }

    /// Takes the note of a reply; answers to its items come next.
    pub(crate) fn take_note(&mut self, note: &TurnNote) {
        self.items.clear();
        self.final_said = note.decided.iter().any(|one| one.question == FINAL);
        for one in &note.decided {
            if one.question == TIMEOUT {
                self.void_timeouts.remove(&one.key);
            }
            self.decided.insert((one.key.clone(), one.question.clone()), one.answer);
        }
        for one in &note.reconciled {
            self.reconciled.insert(one.key.clone(), one.triggers.clone());
        }
        for one in &note.starts {
            let tries = self.starts.entry(one.key.clone()).or_default();
            tries.push(StartState::Asked);
            self.items.insert(one.ordinal, (one.key.clone(), tries.len() - 1));
        }
    }

    /// Takes the answer to an item of the last reply.
    pub(crate) fn take_answer(&mut self, ordinal: u32, payload: &Payload) {
        let is_core = |local: &str| payload.name().is_named(namespaces::CORE, local);
        let Some((key, at)) = self.items.get(&ordinal).cloned() else {
            // Waits, cancels and finals start nothing.
            if is_core("timer-cancelled") {
                self.set_timer(payload, StartState::Stopped);
            } else if self.final_said {
                self.final_refused = Some(read_failure(payload));
            }
            return;
        };
        let state = if is_core("thread-spawned") {
            let id = payload.find_attribute("assigned_id").unwrap_or_default();
            self.threads.insert(id.clone(), (key.clone(), at));
            StartState::Runs(id)
        } else if is_core("timer-set") {
            let id = payload.find_attribute("id").unwrap_or_default();
            self.timers.insert(id.clone(), (key.clone(), at));
            StartState::Ticks(id)
        } else if is_core("system-error") || is_core("system-thread-error") {
            StartState::Ended(StepOutput::Failed(read_failure(payload)))
        } else {
            StartState::Ended(StepOutput::Payload(payload.clone()))
        };
        self.set_state(&key, at, state);
    }

    /// Takes an unrequested payload.
    pub(crate) fn take_arrival(&mut self, payload: &Payload) {
        let is_core = |local: &str| payload.name().is_named(namespaces::CORE, local);
        if is_core("timer-fired") {
            self.set_timer(payload, StartState::Fired(payload.find_attribute("away")));
        } else if is_core("retried") {
            self.note_retry();
        } else if is_core("thread-finished")
            && let Some((key, at)) = payload.find_attribute("id").and_then(|id| self.threads.remove(&id))
        {
            self.set_state(&key, at, StartState::Ended(read_output(payload)));
        }
    }

    /// The run failed and is tried again: what has failed by now, or was cancelled with the run, may be started once
    /// more. What was done stays done. The walk knows which failures the file lets the run go on with.
    fn note_retry(&mut self) {
        let is_over = |key: &str, last: &StartState| match last {
            StartState::Ended(StepOutput::Failed(_)) | StartState::Stopped => true,
            StartState::Ended(StepOutput::Payload(payload)) => is_no_answer(payload),
            StartState::Fired(_) => key.starts_with(TIME_OF),
            StartState::Asked | StartState::Runs(_) | StartState::Ticks(_) => false,
        };
        let over =
            self.starts.iter().filter(|(key, tries)| tries.last().is_some_and(|last| is_over(key, last)));
        let over: Vec<String> = over.map(|(key, _)| key.clone()).collect();
        for key in over {
            let pauses = format!("{PAUSE_OF}{key}");
            for key in [key, pauses] {
                let tries = self.starts.get(&key).map_or(0, Vec::len);
                self.void.insert(key, tries);
            }
        }
        let timeouts = self.decided.iter().filter(|((_, question), is_so)| question == TIMEOUT && **is_so);
        self.void_timeouts.extend(timeouts.map(|((key, _), _)| key.clone()));
        self.final_refused = None;
        self.over.borrow_mut().clear();
    }

    /// Stores the number of a message by its payload.
    pub(crate) fn store_number(&mut self, payload: &Payload, number: u64) {
        let inside = payload
            .name()
            .is_named(namespaces::CORE, "thread-finished")
            .then(|| payload.parse_child().ok())
            .flatten();
        let whole = inside.as_ref().unwrap_or(payload);
        // A message about a branch holds the outputs of others.
        let parts =
            if *whole.name().ns == *namespaces::WORKFLOW { items::read_outputs(whole) } else { Vec::new() };
        let numbers = self.numbers.get_or_insert_default();
        for part in parts.iter().filter_map(KnownEntry::payload).chain([whole]) {
            numbers.insert(part.bytes().clone(), number);
        }
    }

    /// The number of the message with that payload. `None` if numbers are not known.
    pub(crate) fn number_of(&self, payload: &Payload) -> Option<u64> {
        self.numbers.as_ref()?.get(payload.bytes()).copied()
    }

    /// Whether messages have numbers here.
    pub(crate) fn has_numbers(&self) -> bool {
        self.numbers.is_some()
    }

    /// Forgets the numbers, which are no longer complete.
    pub(crate) fn forget_numbers(&mut self) {
        self.numbers = None;
    }

    fn set_timer(&mut self, payload: &Payload, state: StartState) {
        if let Some((key, at)) = payload.find_attribute("id").and_then(|id| self.timers.remove(&id)) {
            self.set_state(&key, at, state);
        }
    }

    fn set_state(&mut self, key: &str, at: usize, state: StartState) {
        if let Some(found) = self.starts.get_mut(key).and_then(|tries| tries.get_mut(at)) {
            *found = state;
        }
    }
}

/// Whether a payload may stand where an answer was wanted: a report, or a person who did not answer.
fn is_no_answer(payload: &Payload) -> bool {
    let is_core = |local: &str| payload.name().is_named(namespaces::CORE, local);
    is_core("final-report") || is_core("person-said") && is_expired(payload)
}

/// The output of a finished child.
fn read_output(payload: &Payload) -> StepOutput {
    let outcome = payload.find_attribute("outcome").unwrap_or_default();
    let inside = payload.parse_child().ok();
    match (outcome.as_str(), inside) {
        ("answered", Some(answer)) if answer.name().is_named(namespaces::CORE, "final-report") => {
            read_report(answer)
        }
        ("answered", Some(answer)) => StepOutput::Payload(answer),
        ("handled", _) => StepOutput::Payload(Payload::write(namespaces::CORE, "handled", |_| {})),
        (_, Some(answer)) if answer.name().is_named(namespaces::CORE, "system-error") => {
            StepOutput::Failed(read_failure(&answer))
        }
        (outcome, inside) => {
            let words = inside.map(|answer| answer.text()).unwrap_or_default();
            let code = if outcome == "budget" { "budget.used-up" } else { "thread.cancelled" };
            StepOutput::Failed(StepFailure::new(code, words))
        }
    }
}

/// A report in place of an answer. A report that the model itself wrote may serve as an answer in words.
fn read_report(report: Payload) -> StepOutput {
    let is = |name: &str, value: &str| report.find_attribute(name).as_deref() == Some(value);
    if is("source", "model") && !is("outcome", "failure") {
        return StepOutput::Payload(report);
    }
    let words = report.find_attribute("reason").unwrap_or_else(|| report.text());
    StepOutput::Failed(StepFailure::new("agent.no-answer", words))
}

fn read_failure(error: &Payload) -> StepFailure {
    let code = error.find_attribute("code").unwrap_or_else(|| "thread.unknown".to_owned());
    let first_code = error.find_attribute("first-code");
    StepFailure { code, first_code, words: error.find_attribute("message").unwrap_or_default() }
}
