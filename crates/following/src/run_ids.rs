//! Receipts of messages that are on record, and the ids of their runs.

use systole_queries::run_events::{CallPlace, RunId};

use systole_api::types::ApiReceipt;
use systole_core::types::ids::{MessageId, ThreadId};
use systole_core::types::ports::PlacedRecord;

/// The id of the run of a message, by its receipt.
pub fn find_run_id(receipt: &ApiReceipt) -> Option<RunId> {
    let (thread, record) = ThreadId::parse(&receipt.thread).ok().zip(MessageId::parse(&receipt.id).ok())?;
    Some(RunId::new(thread, receipt.seq, record))
}

/// The receipt of a message, by its record.
pub fn read_receipt((position, record): &PlacedRecord) -> ApiReceipt {
    let h = &record.header;
    ApiReceipt {
        id: h.id.to_string(),
        thread: h.thread.to_string(),
        seq: h.seq,
        position: position.0,
        call: h.call.as_ref().map(ToString::to_string).unwrap_or_default(),
        sender: h.from.to_string(),
        claimed: None,
        key: h.key.as_ref().map(ToString::to_string).unwrap_or_default(),
        repeated: true,
    }
}

/// The id of a run, which its answer has too: its thread and its call there.
pub fn name_run(run: &CallPlace) -> String {
    format!("{}#{}", run.thread, run.call)
}

/// The id of a call of a run. All of them begin with that of the run, also those in threads below.
pub fn name_call(run: &CallPlace, at: &CallPlace) -> String {
    if at.thread == run.thread {
        return name_run(at);
    }
    let below = at.thread.as_str().strip_prefix(run.thread.as_str()).unwrap_or(at.thread.as_str());
    format!("{}/{below}#{}", name_run(run), at.call)
}
