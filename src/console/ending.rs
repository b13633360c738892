//! What whoever sent a message waits for: the record that closes the call which it opened. Records come in, in order, from
//! wherever the log is read; what they mean comes out.

use super::told::{Receipt, Record};
use systole_core::rules::core_payload::{is_no_answer, is_partial};
use systole_core::types::record::{Kind, Mark, Role};

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// With an answer.
    Answered,
    /// With a report in place of an answer: it says that it is a failure, or it was made for a listener that gave none.
    Reported,
    /// With a report that says of itself that it is only a part.
    Partial,
    /// Without one, as its listener may.
    Handled,
    /// With a failure: its code.
    Failed(String),
}

/// Whether a record closes the call that a receipt speaks of, and how.
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
