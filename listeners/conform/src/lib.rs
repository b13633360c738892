//! The kit that judges any worker: it plays the pump, over pipes and over NATS, and says which checks of a list a
//! worker passes.
//!
//! It shares the pump's writers, so that a worker gets the bytes of a pump, and the pump's own reading of what
//! listeners say. Whether a payload is valid, libxml2 says. It starts programs as an organism does. It writes to no log,
//! and reaches no broker but its own.

mod checks;
mod command;
mod documents;
mod expectations;
mod judging;
mod limits;
mod list;
mod nats;
mod pipe;
mod report;
mod rules;
mod stage;
mod subject;
mod verdict;

pub use command::{ConformArguments, PrintedJudgement};
pub use documents::CONFORM_XSD;
pub use judging::{CheckOutcome, CheckResult, JudgementOrder, judge_worker};
pub use list::{CheckLevel, CheckRow, find_list};
pub use report::{JudgementCount, build_json, count_results, write_junit, write_lines};
pub use subject::ConformSubject;
pub use verdict::{CheckFailure, CheckFault, CheckVerdict};
