//! How a call ended: the one judgement of the record that closes it, for exit codes, states, colours and sums.
//!
//! Kind, code and body of a record come in; its meaning goes out. The fold asks less: whether a caller can go on.

use systole_wire::payload::Payload;
use systole_wire::{DocumentLimits, namespaces};

use super::core_payload::{is_no_answer, is_partial};
use crate::types::codes::Code;
use crate::types::record::{MessageRole, Record, RecordCode, RecordKind};

/// The answers of our listeners that say what went wrong.
const FAILURES: [(&str, &str); 2] = [(namespaces::MCP, "tool-failed"), (namespaces::CODE, "code-error")];

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallJudgement {
    /// With an answer.
    Answered,
    /// With a report that marks itself as partial.
    Partial,
    /// With a report in place of an answer: it says what went wrong, or was made for a listener that gave no answer.
    Reported,
    /// Without an answer, as its listener may.
    Handled,
    /// With a failure.
    Failed,
    /// By a cancellation.
    Cancelled,
}

impl CallJudgement {
    /// Judges a record; `None` if it closes no call. A terminal record closes every call of its thread.
    pub fn judge(kind: RecordKind, code: Option<RecordCode>, body: &[u8]) -> Option<CallJudgement> {
        match (kind, code) {
            (RecordKind::Terminal, _) => Some(CallJudgement::Cancelled),
            (RecordKind::Message, Some(RecordCode::Role(MessageRole::Final))) => Some(judge_final(body)),
            (
                RecordKind::Outcome,
                Some(RecordCode::DeadLetter | RecordCode::ChildrenOpen | RecordCode::TodoOpen),
            ) => None,
            (RecordKind::Outcome, Some(RecordCode::Handled)) => Some(CallJudgement::Handled),
            (RecordKind::Outcome, Some(RecordCode::Code(Code::CancelledThread))) => {
                Some(CallJudgement::Cancelled)
            }
            (RecordKind::Outcome, _) => Some(CallJudgement::Failed),
            _ => None,
        }
    }

    /// Judges a record of the log.
    pub fn of_record(record: &Record) -> Option<CallJudgement> {
        CallJudgement::judge(record.header.kind, record.header.code, &record.body)
    }

    /// Whether it is a failure. A cancelled call did not fail.
    pub fn is_failure(self) -> bool {
        matches!(self, CallJudgement::Reported | CallJudgement::Failed)
    }
}

fn judge_final(body: &[u8]) -> CallJudgement {
    if is_no_answer(body) || is_failure_answer(body) {
        CallJudgement::Reported
    } else if is_partial(body) {
        CallJudgement::Partial
    } else {
        CallJudgement::Answered
    }
}

/// Whether a payload says what went wrong in place of an answer.
fn is_failure_answer(body: &[u8]) -> bool {
    let payload = Payload::parse(body, &DocumentLimits::FROM_PUMP).ok();
    payload.is_some_and(|payload| FAILURES.iter().any(|(ns, local)| payload.name().is_named(ns, local)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINAL: (RecordKind, RecordCode) = (RecordKind::Message, RecordCode::Role(MessageRole::Final));

    #[test]
    fn a_final_is_judged_by_what_it_says() {
        for (body, end) in [
            ("<answer xmlns='urn:t'>yes</answer>", CallJudgement::Answered),
            (
                "<final-report xmlns='CORE' source='model' outcome='success'>yes</final-report>",
                CallJudgement::Answered,
            ),
            (
                "<final-report xmlns='CORE' source='model' outcome='partial'>half</final-report>",
                CallJudgement::Partial,
            ),
            (
                "<final-report xmlns='CORE' source='model' outcome='failure'>no</final-report>",
                CallJudgement::Reported,
            ),
            (
                "<final-report xmlns='CORE' source='synthetic' outcome='partial'>no</final-report>",
                CallJudgement::Reported,
            ),
            ("<final-report xmlns='urn:t' outcome='failure'>no</final-report>", CallJudgement::Answered),
            ("<tool-failed xmlns='MCP'>no</tool-failed>", CallJudgement::Reported),
            ("<tool-failed xmlns='urn:t'>no</tool-failed>", CallJudgement::Answered),
        ] {
            let body = body.replace("CORE", namespaces::CORE).replace("MCP", namespaces::MCP);
            assert_eq!(CallJudgement::judge(FINAL.0, Some(FINAL.1), body.as_bytes()), Some(end), "{body}");
        }
    }

    #[test]
    fn an_outcome_record_is_a_failure_unless_it_was_handled_or_cancelled() {
        let judge = |code| CallJudgement::judge(RecordKind::Outcome, Some(code), b"");
        assert_eq!(judge(RecordCode::Code(Code::ListenerFailed)), Some(CallJudgement::Failed));
        assert_eq!(judge(RecordCode::Code(Code::RejectedApproval)), Some(CallJudgement::Failed));
        assert_eq!(judge(RecordCode::Code(Code::CancelledThread)), Some(CallJudgement::Cancelled));
        assert_eq!(judge(RecordCode::Handled), Some(CallJudgement::Handled));
        assert_eq!(judge(RecordCode::DeadLetter), None, "the outcome of its call follows");
        assert_eq!(CallJudgement::judge(RecordKind::Refusal, None, b""), None);
        let failures = [CallJudgement::Failed, CallJudgement::Reported].map(CallJudgement::is_failure);
        assert_eq!(failures, [true, true]);
        let others = [
            CallJudgement::Answered,
            CallJudgement::Partial,
            CallJudgement::Handled,
            CallJudgement::Cancelled,
        ];
        assert!(!others.into_iter().any(CallJudgement::is_failure));
    }
}
