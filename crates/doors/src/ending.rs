//! The record that a sender waits for: the one that closes the call of its message. Records come in, in order, from
//! any reader of the log; their meaning goes out.

use systole_kit::{DocumentLimits, Payload, namespaces};

use super::api_types::{ApiReceipt, ApiRecord};
use systole_core::rules::core_payload::{is_no_answer, is_partial};
use systole_core::types::record::{MessageRole, RecordCode, RecordKind, SteerEffect};

/// The answers of our listeners that say what went wrong.
const FAILURES: [(&str, &str); 2] = [(namespaces::MCP, "tool-failed"), (namespaces::CODE, "code-error")];

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallResult {
    /// With an answer.
    Answered,
    /// With a report instead of an answer: it says what went wrong, or it was made for a listener that gave no answer.
    Reported,
    /// With a report that marks itself as partial.
    Partial,
    /// Without an answer, as its listener may.
    Handled,
    /// With a failure: its code.
    Failed(String),
}

/// Whether a record closes the call of a receipt, and how.
pub fn find_ending(receipt: &ApiReceipt, record: &ApiRecord) -> Option<CallResult> {
    find_call_ending((&receipt.thread, &receipt.call, receipt.seq), record)
}

/// Whether a record opens the call of a receipt again, after it had failed.
pub(super) fn is_reopening(receipt: &ApiReceipt, record: &ApiRecord) -> bool {
    let code = record.code.as_deref().and_then(RecordCode::parse);
    let is_here = record.thread == receipt.thread && record.call.as_deref() == Some(&receipt.call);
    is_here && code == Some(RecordCode::Steering(SteerEffect::Reopened))
}

/// Whether a record closes a call, and how; one up to the record `seq` of its thread does not.
pub fn find_call_ending((thread, call, seq): (&str, &str, u64), record: &ApiRecord) -> Option<CallResult> {
    if record.thread != thread || record.seq <= seq {
        return None;
    }
    let code = record.code.as_deref().unwrap_or_default();
    let kind = RecordKind::parse(&record.kind);
    if kind == Some(RecordKind::Terminal) {
        return Some(CallResult::Failed(code.to_owned()));
    }
    if record.call.as_deref() != Some(call) {
        return None;
    }
    match (kind, RecordCode::parse(code)) {
        (Some(RecordKind::Message), Some(RecordCode::Role(MessageRole::Final))) => {
            let body = record.body.as_bytes();
            Some(match (is_no_answer(body) || is_failure(body), is_partial(body)) {
                (true, _) => CallResult::Reported,
                (false, true) => CallResult::Partial,
                (false, false) => CallResult::Answered,
            })
        }
        (
            Some(RecordKind::Outcome),
            Some(RecordCode::DeadLetter | RecordCode::ChildrenOpen | RecordCode::TodoOpen),
        ) => None,
        (Some(RecordKind::Outcome), Some(RecordCode::Handled)) => Some(CallResult::Handled),
        (Some(RecordKind::Outcome), _) => Some(CallResult::Failed(code.to_owned())),
        _ => None,
    }
}

/// Whether a payload says what went wrong in place of an answer.
fn is_failure(body: &[u8]) -> bool {
    let payload = Payload::parse(body, &DocumentLimits::FROM_PUMP).ok();
    payload.is_some_and(|payload| FAILURES.iter().any(|(ns, local)| payload.name().is_named(ns, local)))
}
