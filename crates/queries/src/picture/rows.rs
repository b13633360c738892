//! The rows of a picture as plain data, and as JSON.
//!
//! What was read of a run comes in; values for programs go out. It reads no log.

use serde_json::{Value, json};

use crate::costs::CostRow;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::time::Millis;

/// A step as the organism file declares it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclaredStep {
    /// Its id, unique in its workflow.
    pub id: String,
    /// What it does.
    pub kind: StepKind,
    /// The agents or the listener that do it.
    pub who: Vec<String>,
    /// Whether it is done for each item of a list.
    pub is_each: bool,
    /// Whether the run goes on if it fails.
    pub keeps_failure: bool,
    /// The steps inside it.
    pub steps: Vec<DeclaredStep>,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// Agents pursue a goal.
    Goal,
    /// A listener is called.
    Call,
    /// A person is asked.
    Question,
    /// Time passes.
    Timer,
    /// Steps in order.
    Group,
    /// Steps beside one another.
    Parallel,
    /// Steps in order, again and again.
    Loop {
        /// The most passes.
        at_most: u32,
    },
}

/// The state of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepState {
    /// It was not started.
    NotYet,
    /// Its condition did not hold.
    Skipped,
    /// It has ended well.
    Done,
    /// It failed.
    Failed,
    /// The run ended before it did.
    Stopped,
    /// It is at work.
    Running,
    /// A timer has to fire.
    WaitsForTimer,
    /// Its thread is paused.
    Paused,
    /// A person has to decide.
    WaitsForPerson,
}

/// The parts of a step with several: items of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartCount {
    /// How many have ended, including failures.
    pub done: usize,
    /// How many of those failed.
    pub failed: usize,
    /// How many are running.
    pub running: usize,
    /// How many there are, if known.
    pub of: Option<usize>,
}

/// A step of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepRow {
    /// Its id.
    pub id: String,
    /// What it does.
    pub kind: StepKind,
    /// Its state.
    pub state: StepState,
    /// Who does it, or who decided.
    pub who: Vec<String>,
    /// The current pass of a loop.
    pub pass: Option<u32>,
    /// Its parts, if it is done for each item of a list.
    pub count: Option<PartCount>,
    /// How often it was tried.
    pub tries: usize,
    /// When it was started, and when it ended.
    pub started: Option<Millis>,
    /// When it ended.
    pub ended: Option<Millis>,
    /// What its models used.
    pub used: CostRow,
    /// One line of its output, or of its failure.
    pub output: Option<String>,
    /// Its thread, or its record.
    pub leads_to: Option<(ThreadId, Option<u64>)>,
    /// The steps inside it; of a loop those of the current pass.
    pub steps: Vec<StepRow>,
}

/// What runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunKind {
    /// A workflow: its rows are the declared steps.
    Workflow,
    /// An agent: its rows are the calls of its turns.
    Agent,
}

/// A run of a workflow or of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunPicture {
    /// The thread in which it runs.
    pub thread: ThreadId,
    /// Its call.
    pub call: CallPath,
    /// What runs.
    pub kind: RunKind,
    /// The workflow or the agent.
    pub name: Name,
    /// Its state.
    pub state: StepState,
    /// When it was asked for.
    pub started: Millis,
    /// When it ended.
    pub ended: Option<Millis>,
    /// What its models used.
    pub used: CostRow,
    /// Its rows.
    pub steps: Vec<StepRow>,
}

impl RunKind {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            RunKind::Workflow => "workflow",
            RunKind::Agent => "agent",
        }
    }
}

impl StepState {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            StepState::NotYet => "not-yet",
            StepState::Skipped => "skipped",
            StepState::Done => "done",
            StepState::Failed => "failed",
            StepState::Stopped => "stopped",
            StepState::Running => "running",
            StepState::WaitsForTimer => "waits-for-timer",
            StepState::Paused => "paused",
            StepState::WaitsForPerson => "waits-for-person",
        }
    }

    /// The sign before its step, for people.
    pub const fn mark(self) -> &'static str {
        match self {
            StepState::Done => "✓",
            StepState::Failed | StepState::Stopped => "✗",
            StepState::Running => "»",
            StepState::WaitsForTimer => "…",
            StepState::Paused => "=",
            StepState::WaitsForPerson => "?",
            StepState::Skipped => "·",
            StepState::NotYet => "–",
        }
    }

    /// Whether it goes on.
    pub const fn is_open(self) -> bool {
        matches!(
            self,
            StepState::Running | StepState::WaitsForTimer | StepState::Paused | StepState::WaitsForPerson
        )
    }
}

impl StepKind {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            StepKind::Goal => "goal",
            StepKind::Call => "call",
            StepKind::Question => "question",
            StepKind::Timer => "timer",
            StepKind::Group => "group",
            StepKind::Parallel => "parallel",
            StepKind::Loop { .. } => "loop",
        }
    }
}

impl StepRow {
    /// The most passes of a loop.
    pub const fn at_most(&self) -> Option<u32> {
        match self.kind {
            StepKind::Loop { at_most } => Some(at_most),
            _ => None,
        }
    }

    fn as_json(&self) -> Value {
        let count = self.count.map(|count| {
            json!({"done": count.done, "failed": count.failed, "running": count.running, "of": count.of})
        });
        let (thread, seq) = self.leads_to.clone().unzip();
        json!({
            "step": self.id,
            "kind": self.kind.as_str(),
            "state": self.state.as_str(),
            "who": self.who,
            "pass": self.pass,
            "at_most": self.at_most(),
            "items": count,
            "tries": self.tries,
            "started": self.started.map(|at| at.to_string()),
            "ended": self.ended.map(|at| at.to_string()),
            "used": self.used.as_json(),
            "output": self.output,
            "thread": thread.as_ref().map(ThreadId::as_str),
            "seq": seq.flatten(),
            "steps": self.steps.iter().map(StepRow::as_json).collect::<Vec<_>>(),
        })
    }
}

impl RunPicture {
    /// The picture for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "thread": self.thread.as_str(),
            "call": self.call.as_str(),
            "kind": self.kind.as_str(),
            "name": self.name.as_str(),
            "state": self.state.as_str(),
            "started": self.started.to_string(),
            "ended": self.ended.map(|at| at.to_string()),
            "used": self.used.as_json(),
            "steps": self.steps.iter().map(StepRow::as_json).collect::<Vec<_>>(),
        })
    }
}

/// The open state of some rows that a person should see first.
pub(super) fn urgent(rows: &[StepRow]) -> Option<StepState> {
    rows.iter().map(|row| row.state).filter(|state| state.is_open()).max_by_key(|state| rank(*state))
}

pub(super) const fn rank(state: StepState) -> u8 {
    match state {
        StepState::WaitsForPerson => 4,
        StepState::Paused => 3,
        StepState::Running => 2,
        _ => 1,
    }
}
