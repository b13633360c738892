//! What the log proves about the demo. It is verified as `systole verify` does, the receipt and the answer that the
//! asker has are looked up in it, and its model calls are counted. Nothing is written.

use std::path::Path;

use super::DemoFault;
use systole_api::types::{ApiReceipt, ApiRecord};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogReader, Position};
use systole_log::sqlite;
use systole_queries::costs;

/// What the log proves.
pub(super) struct LogProof {
    pub(super) records: u64,
    pub(super) model_calls: u64,
    /// Model calls without a recorded answer.
    pub(super) interrupted: u64,
}

/// Judges the log of an organism that has stopped.
pub(super) fn judge_log(log: &Path, receipt: &ApiReceipt, answer: &ApiRecord) -> Result<LogProof, DemoFault> {
    let summary = sqlite::verify_all(log)?;
    let reader = sqlite::open_reading(log)?;
    for (position, id, what) in
        [(receipt.position, &receipt.id, "the question"), (answer.position, &answer.id, "the answer")]
    {
        let found = reader.read_after(Position(position.saturating_sub(1)), 1)?;
        if !found.iter().any(|(at, record)| at.0 == position && record.header.id.to_string() == *id) {
            return Err(DemoFault::Unproven(format!("{what} is not at position {position}")));
        }
    }
    let thread = ThreadId::parse(&receipt.thread)
        .map_err(|_| DemoFault::Unproven("the receipt names no thread".to_owned()))?;
    let rows = costs::read(&reader, &thread)?;
    Ok(LogProof {
        records: summary.records,
        model_calls: rows.values().map(|row| row.requests).sum(),
        interrupted: rows.values().map(|row| row.unknown).sum(),
    })
}
