//! The secret from which delivery tokens are made: 32 random bytes in `<log>.secret`, which only the owner may
//! read. It survives a restart, so that a listener's late answer still finds its delivery. It is not part of the
//! proof: if it is lost, a new one is made, and old tokens are stale.

use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::io_fault;
use super::layout::{make_beside, sync_folder};
use systole_core::types::ports::LogFault;

/// Thirty-two bytes that no one else knows.
#[derive(Clone, PartialEq, Eq)]
pub struct LogSecret(pub [u8; 32]);

impl fmt::Debug for LogSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl LogSecret {
    /// Reads the secret of a log, or makes it. Only the holder of the log's lock may call this.
    pub(super) fn read_secret(log: &Path) -> Result<LogSecret, LogFault> {
        let path = make_beside(log, ".secret");
        match fs::read(&path) {
            Ok(bytes) => <[u8; 32]>::try_from(bytes.as_slice()).map(LogSecret).map_err(|_| LogFault::Io {
                path: path.display().to_string(),
                why: format!("holds {} bytes instead of 32; remove it to have a new one made", bytes.len()),
            }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => make_secret(&path),
            Err(e) => Err(io_fault(&path, &e)),
        }
    }

    /// Draws a new secret in place of the old one: answers to old deliveries are then refused.
    pub(super) fn make_anew(log: &Path) -> Result<LogSecret, LogFault> {
        make_secret(&make_beside(log, ".secret"))
    }
}

/// Writes under another name first: a crash must not leave half a secret.
fn make_secret(path: &Path) -> Result<LogSecret, LogFault> {
    let draft = make_beside(path, ".new");
    let write = || {
        let mut bytes = [0; 32];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        Ok(bytes)
    };
    let bytes = write().map_err(|e| io_fault(path, &e))?;
    sync_folder(path)?;
    Ok(LogSecret(bytes))
}
