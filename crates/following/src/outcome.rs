//! The wait for the outcome of a message, for a sender that asked for it with `Systole-Wait`. It follows the thread of the
//! message from its receipt on, and decides nothing.

use std::time::Duration;

use crate::events::build_refusal;
use crate::limits::LONGEST_WAIT;
use crate::run_follower::RunFollower;
use systole_api::request_refusals::{LOOK, describe_unfit_request};
use systole_api::types::{ApiReceipt, ApiRecord, MessageOutcome};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;
use systole_organism::front::OrganismHandle;
use systole_queries::run_events::RunEvent;

/// How long a sender waits.
pub fn read_wait(text: &str) -> Result<Duration, Box<Refusal>> {
    let seconds = text.parse().ok().filter(|seconds| (1..=LONGEST_WAIT).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let words = format!("Systole-Wait: {text:?} is not a number of seconds from 1 to {LONGEST_WAIT}");
        Box::new(describe_unfit_request(words))
    })
}

/// The outcome of a message within that time. If the log cannot be read, the outcome is open with the code of that
/// fault: to wait again is of no use.
pub async fn wait_for_outcome(
    front: &OrganismHandle,
    receipt: &ApiReceipt,
    wait: Duration,
) -> MessageOutcome {
    let open = MessageOutcome::open_call(receipt);
    let found = match tokio::time::timeout(wait, wait_for_end(front, receipt)).await {
        Ok(Ok(found)) => found,
        Ok(Err(fault)) => {
            tracing::error!(why = %fault, fix = LOOK, "an outcome cannot be read for the sender that waits for it");
            return MessageOutcome { code: Some(build_refusal(&fault).code), ..open };
        }
        Err(_) => None,
    };
    let Some((ending, record)) = found else { return open };
    let (outcome, code) = match ending {
        CallJudgement::Answered => ("answered", None),
        CallJudgement::Partial => ("partial", None),
        CallJudgement::Reported => ("reported", None),
        CallJudgement::Handled => ("handled", None),
        CallJudgement::Failed | CallJudgement::Cancelled => ("failed", record.code),
    };
    let (outcome, position) = (outcome.to_owned(), Some(record.position));
    MessageOutcome { outcome, code, position, payload: Some(record.body), ..open }
}

/// The end of the call, with its record; `None` if the log ends first: the next pump knows more.
async fn wait_for_end(
    front: &OrganismHandle,
    receipt: &ApiReceipt,
) -> Result<Option<(CallJudgement, ApiRecord)>, LogFault> {
    let Some(mut run) = RunFollower::follow(front, receipt, false) else { return Ok(None) };
    while let Some(event) = run.next().await? {
        if let RunEvent::Ended { judgement, record: (position, record) } = event {
            return Ok(Some((judgement, ApiRecord::from_record(position, &record))));
        }
    }
    Ok(None)
}
