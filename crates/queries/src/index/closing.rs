//! How a call ended, as the index keeps it, by the record that closed it.

use systole_core::rules::outcome::CallJudgement;
use systole_core::types::record::Record;

use crate::first_cause::FirstCause;
use crate::thread_end::ThreadStatus;

/// The call has its answer, or needed none.
pub const ANSWERED: &str = ThreadStatus::Answered.as_str();
/// It failed.
pub const FAILED: &str = ThreadStatus::Failed.as_str();
/// It was cancelled.
pub const CANCELLED: &str = ThreadStatus::Cancelled.as_str();

/// How a call ended.
pub(super) struct CallEnd {
    /// One of the words above.
    pub(super) outcome: &'static str,
    /// The code of the failure; empty without one.
    pub(super) code: String,
    /// The code of its first cause.
    pub(super) first_code: String,
}

impl CallEnd {
    /// The end that a record says.
    pub(super) fn of(record: &Record) -> CallEnd {
        let (h, end) = (&record.header, CallJudgement::of_record(record));
        let outcome = ThreadStatus::of_end(end).as_str();
        let cause = end.filter(|end| end.is_failure()).map(|_| FirstCause::of_body(h.code, &record.body));
        let Some(cause) = cause else {
            return CallEnd { outcome, code: String::new(), first_code: String::new() };
        };
        let code = cause.places.first().map(|place| place.code.clone());
        CallEnd { outcome, code: code.unwrap_or_default(), first_code: cause.code().to_owned() }
    }
}
