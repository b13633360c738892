//! What a check finds: nothing, a fault of the worker, or a reason why it says nothing.

use std::pin::Pin;

use crate::limits;

/// A worker did not do what a check expects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckFailure {
    /// What the kit sent, shortened.
    pub sent: String,
    /// What a worker has to do then.
    pub expected: String,
    /// What this one did.
    pub came: String,
}

/// Why a check did not pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CheckFault {
    /// The worker failed it.
    Failed(CheckFailure),
    /// It says nothing about this worker, for this reason.
    Unscored(String),
}

/// The outcome of one check.
pub type CheckVerdict = Result<(), CheckFault>;

/// A check that runs.
pub(crate) type RunningCheck<'b> = Pin<Box<dyn Future<Output = CheckVerdict> + 'b>>;

impl CheckFault {
    /// A failure of the worker.
    pub(crate) fn build_failure(
        sent: &str,
        expected: impl Into<String>,
        came: impl Into<String>,
    ) -> CheckFault {
        CheckFault::Failed(CheckFailure {
            sent: shorten_text(sent),
            expected: expected.into(),
            came: shorten_text(&came.into()),
        })
    }

    /// A reason for no verdict.
    pub(crate) fn build_unscored(why: impl Into<String>) -> CheckFault {
        CheckFault::Unscored(why.into())
    }
}

/// A text on one line, cut in its middle if it is long.
pub(crate) fn shorten_text(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let count = line.chars().count();
    if count <= limits::SHOWN {
        return line;
    }
    let half = limits::SHOWN / 2;
    let start: String = line.chars().take(half).collect();
    let end: String = line.chars().skip(count - half).collect();
    format!("{start} … {end}")
}

/// Bytes as a text that a person can read.
pub(crate) fn show_bytes(bytes: &[u8]) -> String {
    shorten_text(&String::from_utf8_lossy(bytes))
}
