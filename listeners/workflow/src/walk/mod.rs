//! One turn of a run: the steps are walked through from the first, each with what is known of it, and what can be
//! started is started.
//!
//! A workflow and the facts come in; what the reply holds goes out. The same facts always give the same reply, and what
//! was decided once is read from the facts.

mod fan;
mod leaf;
mod person;
mod repeat;
#[cfg(test)]
mod retried;
mod supervised_goal;
pub(crate) mod supervised_task;

use systole_kit::Payload;

use crate::condition;
use crate::facts::{FINAL, PAUSE_OF, RunFacts, StartState, TIME_OF, TIMEOUT};
use crate::items::{self, BranchTerms};
use crate::known::{KnownEntry, KnownOutputs, StepFailure, StepOutput};
use crate::limits;
use crate::note::{NotedDecision, NotedStart, TurnNote};
use crate::spec::{Step, StepAction, Workflow, find_step};

/// The code of a child that was cancelled.
const CANCELLED: &str = "thread.cancelled";

/// What a turn comes to.
pub(crate) enum WalkTurn {
    /// Items of a reply, behind its note.
    Items(TurnNote, Vec<Payload>),
    /// The same, and the last of them is the final.
    Final(TurnNote, Payload),
    /// The run failed.
    Failed(StepFailure),
    /// The numbers of messages are needed, and the facts have none.
    NeedsNumbers,
}

/// How the walk through some steps ended.
enum WalkFlow {
    Done,
    Waits,
    Failed(StepFailure),
}

/// How one thing stands that is started and ends.
enum StartedUnit {
    Over(StepOutput),
    Waits,
}

struct WorkflowWalk<'w> {
    workflow: &'w Workflow,
    facts: &'w RunFacts,
    /// The turn that is answered.
    turn: u32,
    note: TurnNote,
    items: Vec<Payload>,
    /// The children that run, in the order of the walk.
    running: Vec<String>,
    /// Whether nothing may be started: the time of a step around is over.
    is_frozen: bool,
    /// Whether the file lets the run go on where it fails here.
    keeps_failure: bool,
    /// Whether something is left to start in the next reply.
    is_full: bool,
    /// Whether an item is open that ends by itself, so that nothing has to be waited for.
    asks: bool,
    needs_numbers: bool,
}

/// The failure that a branch itself reported, without the name of the workflow around it.
fn strip_workflow(workflow: &Workflow, failure: &StepFailure) -> StepFailure {
    let own = failure.words.strip_prefix(&workflow.name).and_then(|words| words.strip_prefix(": "));
    match own.and_then(|words| words.split_once(": ")) {
        Some((code, words)) if code.starts_with("workflow.") => failure.pass_on(code, words),
        _ => failure.clone(),
    }
}

/// Whether a step that failed so would fail again, or should not be tried again because a person said so.
fn is_settled(failure: &StepFailure) -> bool {
    const SETTLED: [&str; 5] = ["stopped", "nobody-answered", "context-too-large", "absent", "unusable-call"];
    failure.code.strip_prefix("workflow.").is_some_and(|code| SETTLED.contains(&code))
}

/// Walks through the whole workflow.
pub(crate) fn walk_workflow(workflow: &Workflow, request: &Payload, facts: &RunFacts, turn: u32) -> WalkTurn {
    let mut walk = WorkflowWalk::new(workflow, facts, turn);
    let mut known = KnownOutputs::from_request(request.clone());
    let flow = walk.run_sequence(&workflow.steps, &mut known);
    let last = known.last().cloned();
    walk.end_walk(flow, |workflow| items::build_final(workflow, last.as_deref()))
}

/// Walks through the branch of a step.
pub(crate) fn walk_branch(workflow: &Workflow, request: &Payload, facts: &RunFacts, turn: u32) -> WalkTurn {
    let missing = || {
        let words = "the branch is of no step of this workflow";
        WalkTurn::Failed(StepFailure::new("workflow.unknown-step", words))
    };
    let Some((id, terms, mut known)) = items::read_branch(request) else { return missing() };
    let Some(step) = find_step(&workflow.steps, &id) else { return missing() };
    let mut walk = WorkflowWalk::new(workflow, facts, turn);
    let before = known.parts.len();
    let flow = match terms {
        BranchTerms::Outside => walk.run_work(step, &mut known),
        BranchTerms::Inside => walk.run_bounded(step, &mut known),
    };
    let is_whole = terms == BranchTerms::Outside && step.has_own_thread();
    walk.end_walk(flow, |_| Ok(items::build_branch_output(&known, before, is_whole)))
}

impl<'w> WorkflowWalk<'w> {
    fn new(workflow: &'w Workflow, facts: &'w RunFacts, turn: u32) -> Self {
        Self {
            workflow,
            facts,
            turn,
            note: TurnNote::default(),
            items: Vec::new(),
            running: Vec::new(),
            is_frozen: false,
            keeps_failure: false,
            is_full: false,
            asks: false,
            needs_numbers: false,
        }
    }

    /// The reply that follows.
    fn end_walk(
        mut self,
        flow: WalkFlow,
        last: impl FnOnce(&Workflow) -> Result<Payload, StepFailure>,
    ) -> WalkTurn {
        let end = match flow {
            WalkFlow::Waits if self.needs_numbers => return WalkTurn::NeedsNumbers,
            WalkFlow::Waits => {
                let is_open = self.asks || !self.items.is_empty() || !self.running.is_empty();
                if !is_open && self.facts.pending_timers().is_empty() {
                    // A wait for nothing is over at once, and would be said again for ever.
                    let words = "nothing runs and nothing can be started";
                    return WalkTurn::Failed(StepFailure::new("workflow.stuck", words));
                }
                if !self.asks && !self.is_full {
                    self.items.push(items::wait_for_any());
                }
                return WalkTurn::Items(self.note, self.items);
            }
            WalkFlow::Done => last(self.workflow),
            WalkFlow::Failed(failure) => Err(failure),
        };
        // Whatever was going to start beside the end stays out of the reply.
        self.note.starts.clear();
        // Timers of a root's call would fire after it.
        let ticking = self.facts.pending_timers();
        if !ticking.is_empty() {
            return WalkTurn::Items(self.note, ticking.iter().map(|id| items::cancel_timer(id)).collect());
        }
        match (end, self.facts.final_refused()) {
            (Err(failure), _) => WalkTurn::Failed(failure),
            (Ok(_), Some(refused)) => {
                let words = format!("the final was refused: {}: {}", refused.code, refused.words);
                WalkTurn::Failed(StepFailure::new("workflow.final-refused", words))
            }
            (Ok(payload), None) => {
                let decided = NotedDecision { key: String::new(), question: FINAL.to_owned(), answer: true };
                self.note.decided.push(decided);
                WalkTurn::Final(self.note, payload)
            }
        }
    }

    fn run_sequence(&mut self, steps: &[Step], known: &mut KnownOutputs) -> WalkFlow {
        for step in steps {
            match self.run_step(step, known) {
                WalkFlow::Done => {}
                other => return other,
            }
        }
        WalkFlow::Done
    }

    /// A step with its terms.
    fn run_step(&mut self, step: &Step, known: &mut KnownOutputs) -> WalkFlow {
        let key = known.key_of(&step.id);
        if !step.when.is_empty()
            && !self.decide_once(&key, "when", || condition::check_conditions(&step.when, known))
        {
            return WalkFlow::Done;
        }
        let flow = self.keep_failures(step.keeps_failure, |walk| walk.run_bounded(step, known));
        match flow {
            WalkFlow::Failed(failure) if step.keeps_failure => {
                known.push_entry(KnownEntry::new(&step.id, StepOutput::Failed(failure)));
                WalkFlow::Done
            }
            other => other,
        }
    }

    /// A part of the walk in which a failure may be kept.
    fn keep_failures<T>(&mut self, keeps: bool, part: impl FnOnce(&mut Self) -> T) -> T {
        let around = self.keeps_failure;
        self.keeps_failure |= keeps;
        let came = part(self);
        self.keeps_failure = around;
        came
    }

    /// The tries of a key that count. Of those that a retry of the run has made void, a failure stays if the file lets
    /// the run go on with it, and so does an answer that is `fine`.
    fn tries_of(&self, key: &str, is_fine: impl Fn(&Payload) -> bool) -> &'w [StartState] {
        let (all, void) = (self.facts.tries_of(key), self.facts.count_void(key));
        let stays = match void.checked_sub(1).and_then(|last| all.get(last)) {
            None => true,
            Some(StartState::Ended(StepOutput::Failed(failure))) => {
                self.keeps_failure && failure.code != CANCELLED
            }
            Some(StartState::Ended(StepOutput::Payload(payload))) => self.keeps_failure || is_fine(payload),
            Some(_) => false,
        };
        all.get(if stays { 0 } else { void }..).unwrap_or_default()
    }

    /// The number of the next try of a key, from 1.
    fn next_number(&self, key: &str) -> u32 {
        u32::try_from(self.facts.tries_of(key).len()).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// A step within its time.
    fn run_bounded(&mut self, step: &Step, known: &mut KnownOutputs) -> WalkFlow {
        match step.timeout_ms {
            Some(ms) => self.run_timed(step, &known.key_of(&step.id), ms, known),
            None => self.run_whole(step, known),
        }
    }

    /// A step with all its branches.
    fn run_whole(&mut self, step: &Step, known: &mut KnownOutputs) -> WalkFlow {
        match (&step.each, &step.work) {
            (Some(each), _) => self.run_each(step, each, known),
            (None, _) if step.has_own_thread() && !self.is_done_here(step, known) => {
                self.run_in_thread(step, known)
            }
            (None, StepAction::Parallel { steps, at_once }) => {
                self.run_parallel(step, (steps, *at_once), known)
            }
            (None, _) => self.run_work(step, known),
        }
    }

    /// Whether this thread has begun with a step that others have threads of their own for, as earlier versions did.
    fn is_done_here(&self, step: &Step, known: &KnownOutputs) -> bool {
        let key = known.key_of(&step.id);
        let has_begun = |key: &str| !self.facts.tries_of(key).is_empty();
        has_begun(&format!("commit:{key}")) || has_begun(&format!("timeout:{key}")) && !has_begun(&key)
    }

    /// What a step does, once.
    fn run_work(&mut self, step: &Step, known: &mut KnownOutputs) -> WalkFlow {
        match &step.work {
            StepAction::Do(_) | StepAction::Call(_) => self.run_leaf(step, None, known),
            StepAction::Ask(question) => self.ask_question(step, question, known),
            StepAction::Wait { ms } => self.run_wait(step, *ms, known),
            StepAction::Group { steps } => self.run_sequence(steps, known),
            StepAction::Parallel { steps, at_once } => self.run_parallel(step, (steps, *at_once), known),
            StepAction::Repeat { steps, until, at_most } => {
                self.run_repeat(step, (steps, until, *at_most), known)
            }
        }
    }

    /// A step that may take so long. What runs of it by then is cancelled.
    fn run_timed(&mut self, step: &Step, key: &str, ms: u64, known: &mut KnownOutputs) -> WalkFlow {
        let timer = format!("{TIME_OF}{key}");
        let state = self.tries_of(&timer, |_| true).last();
        let over = || {
            let away = match state {
                Some(StartState::Fired(Some(away))) => format!(" (it waits: {away})"),
                _ => String::new(),
            };
            let words = format!("it took longer than {}{away}", items::format_duration(ms));
            StepFailure::new("workflow.timeout", words)
        };
        let has_new_time = self.facts.has_new_time(key) && !self.keeps_failure;
        if self.facts.find_decision(key, TIMEOUT) == Some(true) && !has_new_time {
            return WalkFlow::Failed(over());
        }
        let (is_over, was_frozen) = (matches!(state, Some(StartState::Fired(_))), self.is_frozen);
        let before = self.running.len();
        self.is_frozen |= is_over;
        let flow = self.run_whole(step, known);
        self.is_frozen = was_frozen;
        if !matches!(flow, WalkFlow::Waits) {
            return flow;
        }
        if is_over && !was_frozen {
            let decided = NotedDecision { key: key.to_owned(), question: TIMEOUT.to_owned(), answer: true };
            self.note.decided.push(decided);
            let cancelled = self.running.split_off(before);
            self.items.extend(cancelled.iter().map(|id| items::cancel_thread(id)));
            return WalkFlow::Failed(over());
        }
        if state.is_none() {
            self.start_item(&timer, self.next_number(&timer), |id| items::start_timer(id, ms));
        }
        WalkFlow::Waits
    }

    /// What was decided, or is now.
    fn decide_once(&mut self, key: &str, question: &str, how: impl FnOnce() -> bool) -> bool {
        if let Some(answer) = self.facts.find_decision(key, question) {
            return answer;
        }
        let answer = how();
        let decided = NotedDecision { key: key.to_owned(), question: question.to_owned(), answer };
        self.note.decided.push(decided);
        answer
    }

    /// Starts something, which is given the label that is its own in the call.
    fn start_item(&mut self, key: &str, number: u32, item: impl FnOnce(&str) -> Payload) {
        if self.is_frozen {
            return;
        }
        if self.items.len() >= limits::STARTS {
            self.is_full = true;
            return;
        }
        // The note is the first item.
        let ordinal = u32::try_from(self.items.len() + 1).unwrap_or(u32::MAX);
        let label = format!("t{}-{ordinal}", self.turn);
        self.items.push(item(&label));
        self.note.starts.push(NotedStart { ordinal, key: key.to_owned(), number });
    }

    /// Something that is tried again where it fails, as often as its step says.
    fn try_item(
        &mut self,
        step: &Step,
        key: &str,
        item: impl FnOnce(&str) -> Result<Payload, StepFailure>,
    ) -> StartedUnit {
        self.try_within((step.tries, step.pause_ms), key, |_| true, item)
    }

    /// Something that is not tried again.
    fn try_once(
        &mut self,
        key: &str,
        item: impl FnOnce(&str) -> Result<Payload, StepFailure>,
    ) -> StartedUnit {
        self.try_within((1, (0, 0)), key, |_| true, item)
    }

    /// Something that is tried so often in all, with pauses between the first and the longest. `is_fine` says whether an
    /// answer is one.
    fn try_within(
        &mut self,
        (most, (first, longest)): (u32, (u64, u64)),
        key: &str,
        is_fine: impl Fn(&Payload) -> bool,
        item: impl FnOnce(&str) -> Result<Payload, StepFailure>,
    ) -> StartedUnit {
        let tries = self.tries_of(key, is_fine);
        let failed = match tries.last() {
            Some(StartState::Ended(StepOutput::Failed(failure))) => {
                Some(strip_workflow(self.workflow, failure))
            }
            _ => None,
        };
        let number = u32::try_from(tries.len()).unwrap_or(u32::MAX);
        match tries.last() {
            Some(_) if failed.as_ref().is_some_and(|failure| number < most && !is_settled(failure)) => {
                let pause = first.saturating_mul(1 << number.saturating_sub(1).min(32)).min(longest);
                let pause_key = format!("{PAUSE_OF}{key}");
                let all = self.facts.tries_of(&pause_key);
                let is_anew = tries.len() < self.facts.tries_of(key).len();
                let pauses = if is_anew { all.get(self.facts.count_void(&pause_key)..) } else { Some(all) };
                match pauses.and_then(|pauses| pauses.get(tries.len() - 1)) {
                    None => {
                        self.start_item(&pause_key, number, |id| items::start_timer(id, pause));
                        return StartedUnit::Waits;
                    }
                    Some(StartState::Fired(_) | StartState::Ended(_) | StartState::Stopped) => {}
                    Some(_) => return StartedUnit::Waits,
                }
            }
            Some(StartState::Ended(output)) => {
                return StartedUnit::Over(failed.map_or_else(|| output.clone(), StepOutput::Failed));
            }
            Some(StartState::Runs(id)) => {
                self.running.push(id.clone());
                return StartedUnit::Waits;
            }
            Some(_) => return StartedUnit::Waits,
            None => {}
        }
        match item(&items::label_child(key)) {
            Ok(payload) => {
                self.start_item(key, self.next_number(key), |_| payload);
                StartedUnit::Waits
            }
            Err(failure) => StartedUnit::Over(StepOutput::Failed(failure)),
        }
    }
}
