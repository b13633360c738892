//! The log in one SQLite file: the default.
//!
//! One writer, any number of readers, every commit fsynced before it is called committed. `open`
//! refuses what it does not trust before anything is written; `write` appends; `read` and `verify`
//! never change a byte. A disk error is never followed by a retry as if it had not happened.

mod backup;
mod closing;
mod column;
mod condition;
mod copy;
mod documents;
mod erase;
mod faults;
mod file_watch;
mod known;
mod layout;
mod lock;
mod log_file;
mod loss;
mod migrate;
mod open;
mod places;
mod pool;
mod read;
mod recent;
mod remake;
mod rows;
mod secret;
mod structure;
mod tip;
mod verify;
mod verify_all;
mod wal;
mod write;

pub use backup::{BackupDraft, back_up, name_new};
pub use condition::{LogCondition, lost_whole, read_condition};
pub use copy::{LastBundle, LogCopy};
pub use erase::LogErasure;
pub use lock::find_holder;
pub use open::{
    HeldLog, OpenSqliteLog, hold_log, open_copy, open_log, open_reading, open_still, read_followed,
    read_format,
};
pub use read::{FoldCache, SqliteReader};
pub use remake::{CopyDifference, CopyRemake};
pub use secret::LogSecret;
pub use structure::{StructureOddity, list_oddities};
pub use verify_all::{VerifySummary, read_least, verify_all, verify_each};
pub use write::SqliteAppender;

use faults::{io_fault, make_damage, make_fault};
