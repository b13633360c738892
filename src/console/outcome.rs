//! The wait for the outcome of a message, for a sender that asked for it with `Systole-Wait`. It follows the thread of the
//! message from its receipt on, and decides nothing.

use std::time::Duration;

use super::api_types::{ApiReceipt, MessageOutcome};
use super::ending::{CallResult, ending};
use super::events::Follower;
use super::request_refusals::unfit_request;
use crate::runtime::front::OrganismHandle;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::Position;
use systole_core::types::refusal::Refusal;

/// The longest wait: a broker keeps the reply path for twice as long.
const LONGEST_WAIT: u64 = 300;

/// How long a sender waits.
pub(super) fn waited(text: &str) -> Result<Duration, Box<Refusal>> {
    let seconds = text.parse().ok().filter(|seconds| (1..=LONGEST_WAIT).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let words = format!("Systole-Wait: {text:?} is not a number of seconds from 1 to {LONGEST_WAIT}");
        Box::new(unfit_request(words))
    })
}

/// The outcome of a message within that time.
pub(super) async fn outcome_within(
    front: &OrganismHandle,
    receipt: &ApiReceipt,
    wait: Duration,
) -> MessageOutcome {
    let open = MessageOutcome::open(receipt);
    let Ok(thread) = ThreadId::parse(&receipt.thread) else { return open };
    let mut follower = Follower::after(front, Position(receipt.position), Some(thread));
    let look = async {
        // If the log ends, the wait ends: the next pump knows more.
        while let Ok(Some(records)) = follower.next().await {
            let ended = records.into_iter().find_map(|record| Some((ending(receipt, &record)?, record)));
            if ended.is_some() {
                return ended;
            }
        }
        None
    };
    let Some((ending, record)) = tokio::time::timeout(wait, look).await.ok().flatten() else { return open };
    let (outcome, code) = match ending {
        CallResult::Answered => ("answered", None),
        CallResult::Partial => ("partial", None),
        CallResult::Reported => ("reported", None),
        CallResult::Handled => ("handled", None),
        CallResult::Failed(code) => ("failed", Some(code)),
    };
    let (outcome, position) = (outcome.to_owned(), Some(record.position));
    MessageOutcome { outcome, code, position, payload: Some(record.body), ..open }
}
