//! The run file, `<log>.run`: where the organism that runs on a log can be reached, and with which
//! credential. Only its owner may read it. It is a hint and no lock: one that an organism left behind
//! when it was killed is seen by its dead process and ignored.
//!
//! A log's path goes in; a file is written, read or removed. The credential never reaches a terminal
//! or a trace from here.

use std::fmt;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::edges::clock::random_bytes;

/// Largest run file that is read: many times what one holds, because the file may be anybody's.
const BYTES: u64 = 4096;

/// What a client of the door must show: 32 hex digits that nobody can guess.
#[derive(Clone, Serialize, Deserialize)]
pub struct Credential(String);

impl Credential {
    /// Draws one.
    pub fn draw() -> std::io::Result<Credential> {
        Ok(Credential(random_hex()?))
    }

    /// One that was drawn by somebody else.
    pub fn given(token: String) -> Credential {
        Credential(token)
    }

    /// Whether this is what somebody showed. Takes as long for a near miss as for a far one.
    pub fn is(&self, shown: &str) -> bool {
        let pairs = self.0.bytes().zip(shown.bytes());
        let differing = pairs.fold(0, |sum, (ours, theirs)| std::hint::black_box(sum | (ours ^ theirs)));
        differing == 0 && self.0.len() == shown.len()
    }

    /// The text of it, for the header of a request.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// 32 hex digits of the kernel's randomness: a credential, or a key that a sender did not choose.
pub fn random_hex() -> std::io::Result<String> {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(32);
    for byte in random_bytes::<16>()? {
        // Writing into a String cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

/// Where an organism can be reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFile {
    /// Its process.
    pub pid: u32,
    /// Where its HTTP door listens.
    pub address: SocketAddr,
    /// The credential of client `operator`.
    pub token: Credential,
}

/// A run file of this process, removed when it is dropped.
#[must_use = "the file is removed when this is dropped"]
#[derive(Debug)]
pub struct Posted(PathBuf);

impl Drop for Posted {
    fn drop(&mut self) {
        // One that stays behind names a dead process, so nobody follows it.
        let _left = std::fs::remove_file(&self.0);
    }
}

impl RunFile {
    /// The run file of a log. Links are followed, so that a log has one run file whatever it is called.
    pub fn path(log: &Path) -> PathBuf {
        let log = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
        let mut path = log.into_os_string();
        path.push(".run");
        path.into()
    }

    /// Writes it beside the log, in place of one that was left behind.
    pub fn post(&self, log: &Path) -> std::io::Result<Posted> {
        let path = RunFile::path(log);
        let fresh = path.with_extension("run.new");
        // Only the organism that holds the log comes here: what is there was left by one that was killed.
        let _absent = std::fs::remove_file(&fresh);
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let posted = file
            .write_all(&serde_json::to_vec(self)?)
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&fresh, &path));
        if let Err(error) = posted {
            // What could not become the run file is of no use; the first error says why.
            let _left = std::fs::remove_file(&fresh);
            return Err(error);
        }
        Ok(Posted(path))
    }

    /// The run file of a log whose process is alive; none where nothing runs.
    pub fn of(log: &Path) -> Option<RunFile> {
        let file = std::fs::File::open(RunFile::path(log)).ok()?;
        let read: RunFile = serde_json::from_reader(std::io::Read::take(file, BYTES)).ok()?;
        read.lives().then_some(read)
    }

    fn lives(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        // A process that we may not signal is alive as well.
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn run_file(pid: u32) -> RunFile {
        let token = Credential("0123456789abcdef0123456789abcdef".into());
        RunFile { pid, address: ([127, 0, 0, 1], 7474).into(), token }
    }

    #[test]
    fn only_its_owner_may_read_it_and_it_goes_with_its_organism() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        std::fs::write(&log, "").unwrap();
        let posted = run_file(std::process::id()).post(&log).unwrap();
        let path = RunFile::path(&log);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = RunFile::of(&log).unwrap();
        assert!(read.token.is("0123456789abcdef0123456789abcdef"));
        drop(posted);
        assert!(!path.exists() && RunFile::of(&log).is_none());
    }

    #[test]
    fn one_that_a_killed_organism_left_behind_is_ignored_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        std::fs::write(RunFile::path(&log), serde_json::to_vec(&run_file(dead)).unwrap()).unwrap();
        assert!(RunFile::of(&log).is_none());
        let _posted = run_file(std::process::id()).post(&log).unwrap();
        assert_eq!(RunFile::of(&log).unwrap().pid, std::process::id());
        std::fs::write(RunFile::path(&log), "{").unwrap();
        assert!(RunFile::of(&log).is_none(), "half a file is no run file");
    }

    /// The number of a process that died while it wrote its own is given to another one some day.
    #[test]
    fn one_that_was_never_finished_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        std::fs::write(&log, "").unwrap();
        let path = RunFile::path(&log);
        std::fs::write(path.with_extension("run.new"), "{").unwrap();
        let posted = run_file(std::process::id()).post(&log).unwrap();
        assert_eq!(RunFile::of(&log).unwrap().pid, std::process::id());
        drop(posted);
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "the log alone");
    }

    #[test]
    fn a_credential_is_itself_only_and_is_never_shown() {
        let token = run_file(1).token;
        for wrong in [
            "",
            "0",
            "0123456789abcdef0123456789abcde",
            "0123456789abcdef0123456789abcdef0",
            "1123456789abcdef0123456789abcdef",
        ] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert!(!format!("{:?}", run_file(1)).contains("0123"));
        assert_ne!(Credential::draw().unwrap().secret(), Credential::draw().unwrap().secret());
    }
}
