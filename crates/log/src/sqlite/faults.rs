//! What an error of the file system or of SQLite means for a log.

use std::io::ErrorKind;
use std::path::Path;

use rusqlite::ErrorCode;
use systole_core::types::ports::{LogFault, Position};
use systole_system::system;

/// The bytes of the smallest piece that SQLite asks a disk for: a page of its shared memory.
const PAGE_BYTES: u64 = 32 << 10;

/// A fault of the file system, and what it means for a log.
pub(super) fn io_fault(path: &Path, error: &std::io::Error) -> LogFault {
    let why = match error.kind() {
        ErrorKind::NotFound => "the file or folder for the log does not exist".to_owned(),
        ErrorKind::IsADirectory => "it is a folder, not a log".to_owned(),
        ErrorKind::PermissionDenied => "this user may not read and write the log there".to_owned(),
        ErrorKind::StorageFull => return LogFault::Full { path: path.display().to_string() },
        _ => system::describe_error(error),
    };
    LogFault::Io { path: path.display().to_string(), why }
}

/// Damage, named by the first position that shows it; 0 means the file as a whole.
pub(super) fn make_damage(path: &Path, position: Position, why: impl Into<String>) -> LogFault {
    LogFault::Damaged { path: path.display().to_string(), position, why: why.into() }
}

/// A fault of the database. If SQLite itself finds something wrong with the file, that is damage.
/// Its position is the one that was being read, or 0 if no position is known.
pub(super) fn make_fault(path: &Path, at: Option<Position>, error: &rusqlite::Error) -> LogFault {
    match error.sqlite_error_code() {
        // An unknown code is SQLite's plain "error": a table or column of ours is missing. A rule of a table that is
        // broken outside of a commit was broken by another program before.
        Some(
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::Unknown
            | ErrorCode::ConstraintViolation,
        ) => make_damage(path, at.unwrap_or_default(), error.to_string()),
        Some(ErrorCode::DiskFull) => LogFault::Full { path: path.display().to_string() },
        // SQLite calls a full disk an I/O error if only its shared memory has no room.
        Some(ErrorCode::SystemIoFailure) if has_no_room(path) => {
            LogFault::Full { path: path.display().to_string() }
        }
        _ => LogFault::Io { path: path.display().to_string(), why: error.to_string() },
    }
}

/// Whether the disk of a file has no room for a page more.
fn has_no_room(path: &Path) -> bool {
    let free = rustix::fs::statvfs(path).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    free.is_ok_and(|free| free < PAGE_BYTES)
}
