//! What the log proves about the demo. The checker, which shares no code with the pump, judges it
//! together with the asker's history; the model calls in the log are counted. It reads the log and writes nothing.

use std::path::Path;

use systole_checker::check;
use systole_checker::history::{ClientHistory, HistoryReceipt, SeenAnswer, SentMessage};
use systole_checker::log::LogSnapshot;
use systole_checker::record::{RecordHash, RecordId};

use super::Fault;
use systole_core::types::ids::ThreadId;
use systole_doors::api_types;
use systole_log::sqlite;
use systole_queries::costs;

/// What the log proves.
pub(super) struct Proof {
    pub(super) records: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) model_calls: u64,
    /// Model calls without a recorded answer.
    pub(super) interrupted: u64,
}

/// Judges the log of an organism that has stopped.
pub(super) fn of(
    log: &Path,
    question: &[u8],
    receipt: &api_types::ApiReceipt,
    answer: &api_types::ApiRecord,
) -> Result<Proof, Fault> {
    let unproven = |words: String| Fault::Unproven(words);
    let illegible = || unproven("the receipt names no record".to_owned());
    let acked = HistoryReceipt {
        thread: receipt.thread.clone(),
        seq: receipt.seq,
        id: RecordId::parse(&receipt.id).ok_or_else(illegible)?,
        position: receipt.position,
    };
    let sent = SentMessage {
        client: receipt.sender.clone(),
        key: receipt.key.clone(),
        sha256: RecordHash::of(question),
        acked: Some(acked),
        refused: None,
        answer: Some(SeenAnswer { seq: answer.seq, sha256: RecordHash::of(answer.body.as_bytes()) }),
        token: None,
    };
    let read = LogSnapshot::read(log).map_err(|fault| unproven(fault.to_string()))?;
    let report = check(&read, &[ClientHistory { sent: vec![sent] }]);
    if let Some(finding) = report.findings.first() {
        return Err(unproven(finding.to_string()));
    }
    let thread = ThreadId::parse(&receipt.thread).map_err(|_| illegible())?;
    let reader = sqlite::open_reading(log)?;
    let rows = costs::read(&reader, &thread)?;
    Ok(Proof {
        records: report.counts.records,
        lost: report.counts.lost,
        doubled: report.counts.doubled,
        model_calls: rows.values().map(|row| row.requests).sum(),
        interrupted: rows.values().map(|row| row.unknown).sum(),
    })
}
