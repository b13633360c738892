//! The answers about retries: what one would do, and that it is on disk. Plain data for the doors and our own commands.

use serde::{Deserialize, Serialize};

use systole_queries::retries::{RetriedPart, RetryPreview};

/// What a retry of a failed thread would do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RetryShown {
    /// The thread.
    pub thread: String,
    /// What the order has to name, so that it is about the thread as it was seen.
    pub seen: String,
    /// The last record of the thread.
    pub seq: u64,
    /// The end of the log as it was read.
    pub position: u64,
    /// The call that failed.
    pub call: String,
    /// Its listener.
    pub listener: String,
    /// The turn that goes out again.
    pub turn: u32,
    /// How often it was tried again before.
    pub retries: u32,
    /// The code of what failed first.
    pub code: String,
    /// Whether it is a run of a workflow.
    pub workflow: bool,
    /// What the run starts again.
    pub starts: Vec<RestartedStep>,
    /// Calls with effects outside that what is started again made already.
    pub effects: Vec<String>,
}

/// A part of a run that a retry starts again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RestartedStep {
    /// The step, with its pass, item and agent.
    pub key: String,
    /// The thread that did it.
    pub thread: Option<String>,
    /// Whether it was cancelled beside the failure.
    pub cancelled: bool,
    /// The tokens that its models used, which are paid again.
    pub tokens: u64,
    /// What they cost.
    pub money: Option<String>,
}

/// A thread was tried again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadRetried {
    /// The thread.
    pub retried: String,
}

impl From<RetryPreview> for RetryShown {
    fn from(preview: RetryPreview) -> RetryShown {
        let part = |part: RetriedPart| RestartedStep {
            key: part.key,
            thread: part.thread.map(|thread| thread.to_string()),
            cancelled: part.is_cancelled,
            tokens: part.used.tokens,
            money: part.used.spent.money().map(|money| money.to_string()),
        };
        RetryShown {
            thread: preview.thread.to_string(),
            seen: preview.head.to_string(),
            seq: preview.seq,
            position: preview.position.0,
            call: preview.call.to_string(),
            listener: preview.listener.to_string(),
            turn: preview.turn,
            retries: preview.retries,
            code: preview.code,
            workflow: preview.is_workflow,
            starts: preview.starts.into_iter().map(part).collect(),
            effects: preview.effects,
        }
    }
}
