//! The file of the sessions, `<log>.sessions`: who is signed in to the pages, for the time after a restart. It has hashes
//! of their secrets and no secret.
//!
//! All sessions come in or go out at once. A file that is damaged, or that another user may have written, counts as none:
//! the reason is said, and the next session begins it anew.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::session_kept::KeptSession;
use crate::limits;
use systole_organism::runfile::RunFile;
use systole_system::system::{describe_error, read_private, write_private};

/// The name of this form.
const FORM: &str = "systole-sessions-1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredSessions {
    form: String,
    sessions: Vec<KeptSession>,
}

/// The path of the file beside a log.
pub(crate) fn find_path(log: &Path) -> PathBuf {
    RunFile::find_path(log).with_extension("sessions")
}

/// The sessions of the file; none if there is no file. The error says why what is there does not count.
pub(crate) fn read_sessions(path: &Path) -> Result<Vec<KeptSession>, String> {
    let bytes = match read_private(path, limits::SESSIONS_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) if error.kind() == ErrorKind::Other => return Err(error.to_string()),
        Err(error) => return Err(describe_error(&error)),
    };
    match serde_json::from_slice::<StoredSessions>(&bytes) {
        Ok(stored) if stored.form == FORM => Ok(stored.sessions),
        Ok(stored) => Err(format!("its form is {:?}, and this version reads {FORM}", stored.form)),
        Err(_) => Err("it is damaged, or no file of sessions".to_owned()),
    }
}

/// Writes all sessions.
pub(crate) fn write_sessions(path: &Path, sessions: Vec<KeptSession>) -> io::Result<()> {
    write_private(path, &serde_json::to_vec(&StoredSessions { form: FORM.to_owned(), sessions })?)
}
