//! The record that a sender waits for: the one that closes the call of its message. Records come in, in order, from
//! any reader of the log; their meaning goes out.

use super::api_types::{Receipt, Record};
use systole_core::rules::core_payload::{is_no_answer, is_partial};
use systole_core::types::record::{Kind, Mark, Role};

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// With an answer.
    Answered,
    /// With a report instead of an answer: it marks itself as a failure, or it was made for a listener that gave no
    /// answer.
    Reported,
    /// With a report that marks itself as partial.
    Partial,
    /// Without an answer, as its listener may.
    Handled,
    /// With a failure: its code.
    Failed(String),
}

/// Whether a record closes the call of a receipt, and how.
pub fn ending(receipt: &Receipt, record: &Record) -> Option<Ending> {
    if record.thread != receipt.thread || record.seq <= receipt.seq {
        return None;
    }
    let code = record.code.as_deref().unwrap_or_default();
    let kind = Kind::parse(&record.kind);
    if kind == Some(Kind::Terminal) {
        return Some(Ending::Failed(code.to_owned()));
    }
    if record.call.as_deref() != Some(&receipt.call) {
        return None;
    }
    match (kind, Mark::parse(code)) {
        (Some(Kind::Message), Some(Mark::Role(Role::Final))) => {
            let body = record.body.as_bytes();
            Some(match (is_no_answer(body), is_partial(body)) {
                (true, _) => Ending::Reported,
                (false, true) => Ending::Partial,
                (false, false) => Ending::Answered,
            })
        }
        (Some(Kind::Outcome), Some(Mark::DeadLetter | Mark::ChildrenOpen | Mark::TodoOpen)) => None,
        (Some(Kind::Outcome), Some(Mark::Handled)) => Some(Ending::Handled),
        (Some(Kind::Outcome), _) => Some(Ending::Failed(code.to_owned())),
        _ => None,
    }
}
