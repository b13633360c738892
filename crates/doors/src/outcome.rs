//! The wait for the outcome of a message, for a sender that asked for it with `Systole-Wait`. It follows the thread of the
//! message from its receipt on, and decides nothing.

use std::time::Duration;

use super::api_types::{ApiReceipt, ApiRecord, MessageOutcome};
use super::ending::{find_ending, is_reopening};
use super::events::{RecordFollower, build_refusal};
use super::request_refusals::{LOOK, describe_unfit_request};
use crate::limits::{self, LONGEST_WAIT};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::record::Record;
use systole_core::types::refusal::Refusal;
use systole_organism::front::OrganismHandle;

/// How long a sender waits.
pub(super) fn read_wait(text: &str) -> Result<Duration, Box<Refusal>> {
    let seconds = text.parse().ok().filter(|seconds| (1..=LONGEST_WAIT).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let words = format!("Systole-Wait: {text:?} is not a number of seconds from 1 to {LONGEST_WAIT}");
        Box::new(describe_unfit_request(words))
    })
}

/// The outcome of a message within that time. If the log cannot be read, the outcome is open with the code of that
/// fault: to wait again is of no use.
pub(super) async fn wait_for_outcome(
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
    let Ok(thread) = ThreadId::parse(&receipt.thread) else { return Ok(None) };
    let mut from = Position(receipt.position);
    if receipt.repeated {
        from = front.end();
        if let Some(found) = find_earlier_end(front, receipt, &thread).await? {
            return Ok(Some(found));
        }
    }
    let mut follower = RecordFollower::follow_after(front, from, Some(thread));
    while let Some(records) = follower.next().await? {
        if let Some(found) = find_first_end(receipt, records.into_iter()) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// How the call of a receipt has ended, with its record, if it has.
pub(super) async fn find_earlier_record(
    front: &OrganismHandle,
    receipt: &ApiReceipt,
) -> Result<Option<(CallJudgement, Record)>, LogFault> {
    let Ok(thread) = ThreadId::parse(&receipt.thread) else { return Ok(None) };
    let Some((judgement, found)) = find_earlier_end(front, receipt, &thread).await? else { return Ok(None) };
    let (reader, seq) = (front.reader().clone(), found.seq);
    let read = tokio::task::spawn_blocking(move || reader.of_thread(&thread, seq, 1)).await;
    let read = read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
    Ok(read.into_iter().next().map(|(_, record)| (judgement, record)))
}

/// The same if the call has ended. One that is waited for again may have ended long ago, so its thread alone is read.
pub(super) async fn find_earlier_end(
    front: &OrganismHandle,
    receipt: &ApiReceipt,
    thread: &ThreadId,
) -> Result<Option<(CallJudgement, ApiRecord)>, LogFault> {
    let mut seq = receipt.seq + 1;
    let mut found = None;
    loop {
        let (reader, thread) = (front.reader().clone(), thread.clone());
        let read =
            tokio::task::spawn_blocking(move || reader.of_thread(&thread, seq, limits::LOG_PAGE_FIRST)).await;
        let page = read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
        for record in page.iter().map(|(position, record)| ApiRecord::from_record(*position, record)) {
            // A call that failed may have been tried again: its newest end counts.
            if is_reopening(receipt, &record) {
                found = None;
            } else if let Some(ending) = find_ending(receipt, &record).filter(|_| found.is_none()) {
                found = Some((ending, record));
            }
        }
        match page.last() {
            Some((_, record)) if page.len() == limits::LOG_PAGE_FIRST => seq = record.header.seq + 1,
            _ => return Ok(found),
        }
    }
}

fn find_first_end(
    receipt: &ApiReceipt,
    mut records: impl Iterator<Item = ApiRecord>,
) -> Option<(CallJudgement, ApiRecord)> {
    records.find_map(|record| Some((find_ending(receipt, &record)?, record)))
}
