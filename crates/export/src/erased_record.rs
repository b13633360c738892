//! The `<erased>` of the core among the records of the log's own thread: a record comes in, what it names goes out.

use systole_core::rules::core_payload::{self, NamedErasure};
use systole_core::types::ids::Name;
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};

/// What a record of the log's own thread names, if it is the `<erased>` of the core.
pub(super) fn read_recorded(record: &Record) -> Option<NamedErasure> {
    let h = &record.header;
    let is_told = h.kind == RecordKind::Message && h.code == Some(RecordCode::Role(MessageRole::Told));
    let is_own = is_told && h.thread.is_sys() && h.from == Name::new_core();
    is_own.then(|| core_payload::read_erased(&record.body)).flatten()
}
