//! The record that a sender waits for: the one that closes the call of its message. Records come in, in order, from
//! any reader of the log; their meaning goes out.

use super::types::{ApiReceipt, ApiRecord};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::record::{RecordCode, RecordKind, SteerEffect};

impl ApiRecord {
    /// Its code, empty if it has none.
    pub fn code_text(&self) -> &str {
        self.code.as_deref().unwrap_or_default()
    }
}

/// Whether a record closes the call of a receipt, and how.
pub fn find_ending(receipt: &ApiReceipt, record: &ApiRecord) -> Option<CallJudgement> {
    find_call_ending((&receipt.thread, &receipt.call, receipt.seq), record)
}

/// Whether a record opens the call of a receipt again, after it had failed.
pub fn is_reopening(receipt: &ApiReceipt, record: &ApiRecord) -> bool {
    let code = record.code.as_deref().and_then(RecordCode::parse);
    let is_here = record.thread == receipt.thread && record.call.as_deref() == Some(&receipt.call);
    is_here && code == Some(RecordCode::Steering(SteerEffect::Reopened))
}

/// Whether a record closes a call, and how; one up to the record `seq` of its thread does not.
pub fn find_call_ending((thread, call, seq): (&str, &str, u64), record: &ApiRecord) -> Option<CallJudgement> {
    if record.thread != thread || record.seq <= seq {
        return None;
    }
    let kind = RecordKind::parse(&record.kind)?;
    let closes = kind == RecordKind::Terminal || record.call.as_deref() == Some(call);
    let code = record.code.as_deref().and_then(RecordCode::parse);
    CallJudgement::judge(kind, code, record.body.as_bytes()).filter(|_| closes)
}
