//! The run file, `<log>.run`: the address and the credential of the organism that runs on a log. Only its
//! owner may read it. It is a hint and not a lock: if its process does not hold the lock of the log, a killed
//! organism left the file behind, and it is ignored.
//!
//! Input: a log's path. Output: a file is written, read or removed. This module prints the credential to no
//! terminal or trace.

use std::fmt;
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use systole_log::sqlite;
use systole_system::clock::draw_random_bytes;
use systole_system::sockets::list_listener_files;
use systole_system::system::find_process_start;

use crate::limits;

/// The secret that a client of the door must show: 32 unguessable hex digits.
#[derive(Clone, Serialize, Deserialize)]
pub struct Credential(String);

impl Credential {
    /// Generates one.
    pub fn draw() -> std::io::Result<Credential> {
        Ok(Credential(draw_hex()?))
    }

    /// A credential that was generated elsewhere.
    pub fn from_token(token: String) -> Credential {
        Credential(token)
    }

    /// Whether `shown` is this credential. The time does not depend on how much of it matches.
    pub fn matches(&self, shown: &str) -> bool {
        let pairs = self.0.bytes().zip(shown.bytes());
        let differing = pairs.fold(0, |sum, (ours, theirs)| std::hint::black_box(sum | (ours ^ theirs)));
        differing == 0 && self.0.len() == shown.len()
    }

    /// Its text, for the header of a request.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(…)")
    }
}

/// 32 random hex digits from the kernel: a credential, or a key for a sender that chose none.
pub fn draw_hex() -> std::io::Result<String> {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(32);
    for byte in draw_random_bytes::<16>()? {
        // Writing into a String cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

/// The credentials of clients that no file declares. One is missing if the organism's file uses its name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GuestCredentials {
    /// Of hosts of models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Credential>,
    /// Of editors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acp: Option<Credential>,
}

/// How to reach an organism.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFile {
    /// The process id.
    pub pid: u32,
    /// The address of its HTTP door.
    pub address: SocketAddr,
    /// The credential of client `operator`.
    pub token: Credential,
    /// Those of the clients that no file declares.
    #[serde(flatten)]
    pub guests: GuestCredentials,
    /// The organism's name.
    #[serde(default)]
    pub organism: String,
    /// The organism's file.
    #[serde(default)]
    pub file: PathBuf,
    /// Set by `systole stop --drain`: its next signal means a stop that waits up to so long for workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_ms: Option<u64>,
    /// When its process began, while it is about to start the organism again. It does not hold the log then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reloading: Option<u64>,
}

/// A run file of this process, removed when it is dropped.
#[must_use = "the file is removed when this is dropped"]
#[derive(Debug)]
pub struct PostedRunFile {
    path: PathBuf,
    pid: u32,
}

impl PostedRunFile {
    /// How long a stop of this process waits for workers, if `systole stop --drain` asked for that.
    pub fn read_drain(&self) -> Option<Duration> {
        let run = RunFile::read_file(&self.path).filter(|run| run.pid == self.pid)?;
        run.drain_ms.map(Duration::from_millis)
    }

    /// Says that this process has stopped the organism, and starts it again.
    pub fn note_reload(&self, log: &Path) -> std::io::Result<()> {
        match RunFile::read_file(&self.path).filter(|run| run.pid == self.pid) {
            Some(run) => {
                RunFile { reloading: find_process_start(run.pid), ..run }.write_beside(log).map(drop)
            }
            None => Ok(()),
        }
    }

    /// The same file with what this process says now.
    pub fn post_again(self, run: &RunFile, log: &Path) -> std::io::Result<PostedRunFile> {
        run.write_beside(log).map(|_| self)
    }
}

impl Drop for PostedRunFile {
    fn drop(&mut self) {
        // Another organism may have taken the log in the meantime.
        if RunFile::read_file(&self.path).is_none_or(|run| run.pid == self.pid) {
            // A file that stays behind names a dead process, so it is ignored.
            let _left = std::fs::remove_file(&self.path);
        }
    }
}

impl RunFile {
    /// The path of a log's run file. Links are resolved, so that a log has one run file whatever path is
    /// used.
    pub fn find_path(log: &Path) -> PathBuf {
        let log = std::fs::canonicalize(log).unwrap_or_else(|_| log.to_owned());
        let mut path = log.into_os_string();
        path.push(".run");
        path.into()
    }

    /// The files with the output of organisms in the background: of the last start, and of the one before.
    pub fn list_outputs(log: &Path) -> [PathBuf; 2] {
        ["out", "out.before"].map(|ending| RunFile::find_path(log).with_extension(ending))
    }

    /// Writes it next to the log and replaces an older one.
    pub fn post_beside(&self, log: &Path) -> std::io::Result<PostedRunFile> {
        Ok(PostedRunFile { path: self.write_beside(log)?, pid: self.pid })
    }

    /// Lets the next signal to its process mean a stop that waits so long for workers, or an ordinary one.
    pub fn set_drain(self, log: &Path, time: Option<Duration>) -> std::io::Result<()> {
        let drain_ms = time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        RunFile { drain_ms, ..self }.write_beside(log).map(drop)
    }

    fn write_beside(&self, log: &Path) -> std::io::Result<PathBuf> {
        let path = RunFile::find_path(log);
        let fresh = path.with_extension("run.new");
        // Only the organism that holds the log gets here, and who ends it. An existing file was left by a killed one.
        let _absent = std::fs::remove_file(&fresh);
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        let written = file
            .write_all(&serde_json::to_vec(self)?)
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&fresh, &path));
        if let Err(error) = written {
            // The unfinished file is useless; the first error says why.
            let _left = std::fs::remove_file(&fresh);
            return Err(error);
        }
        Ok(path)
    }

    /// The run file of the process that holds this log. `None` if no organism runs on it, or if it has closed its door
    /// and drains.
    pub fn find_running(log: &Path) -> Option<RunFile> {
        RunFile::find_holder(log).filter(|run| run.drain_ms.is_none())
    }

    /// The same, also if it drains.
    pub fn find_holder(log: &Path) -> Option<RunFile> {
        let read = RunFile::read_file(&RunFile::find_path(log))?;
        // Another process may have this process id by now.
        let is_holder = |holder: Option<u32>| match holder {
            Some(holder) => holder == read.pid,
            None => read.reloading.is_some_and(|began| find_process_start(read.pid) == Some(began)),
        };
        sqlite::find_holder(log).is_ok_and(is_holder).then_some(read)
    }

    /// The log of an organism that runs from this file, if the log is in the folder of the file.
    pub fn find_log(file: &Path) -> Option<PathBuf> {
        let whole = |path: &Path| std::fs::canonicalize(path).ok();
        let file = whole(file)?;
        let folder = std::fs::read_dir(file.parent()?).ok()?;
        let logs = folder
            .flatten()
            .filter_map(|entry| Some(PathBuf::from(entry.path().to_str()?.strip_suffix(".run")?)));
        let mut logs: Vec<PathBuf> = logs.collect();
        logs.sort_unstable();
        logs.into_iter()
            .find(|log| RunFile::find_holder(log).is_some_and(|run| whole(&run.file).as_ref() == Some(&file)))
    }

    fn read_file(path: &Path) -> Option<RunFile> {
        let file = std::fs::File::open(path).ok()?;
        serde_json::from_reader(std::io::Read::take(file, limits::NOTE_BYTES)).ok()
    }

    /// The run file of this user's organism that listens on an address of this machine, if there is one.
    pub fn find_at(address: SocketAddr) -> Option<RunFile> {
        let logs = list_listener_files(address.port()).into_iter();
        let logs = logs.filter_map(|file| Some(PathBuf::from(file.to_str()?.strip_suffix(".lock")?)));
        logs.filter_map(|log| RunFile::find_running(&log)).find(|run| run.address.port() == address.port())
    }

    /// A description of the organism, for people.
    pub fn describe(&self) -> String {
        let folder = self.file.parent().unwrap_or(Path::new("")).display();
        format!("the organism {} in {folder} (process {})", self.organism, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn run_file(pid: u32) -> RunFile {
        let token = Credential("0123456789abcdef0123456789abcdef".into());
        let (organism, file) = ("hello".to_owned(), "/hello/organism.yaml".into());
        let address = ([127, 0, 0, 1], 7474).into();
        RunFile {
            pid,
            address,
            token,
            guests: GuestCredentials::default(),
            organism,
            file,
            drain_ms: None,
            reloading: None,
        }
    }

    /// Locks a log as an organism does.
    fn held(log: &Path) -> sqlite::OpenSqliteLog {
        sqlite::open_log(log).unwrap()
    }

    #[test]
    fn only_its_owner_may_read_it_and_it_goes_with_its_organism() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        let held = held(&log);
        let posted = run_file(std::process::id()).post_beside(&log).unwrap();
        let path = RunFile::find_path(&log);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = RunFile::find_running(&log).unwrap();
        assert!(read.token.matches("0123456789abcdef0123456789abcdef"));
        assert_eq!(read.describe(), format!("the organism hello in /hello (process {})", std::process::id()));
        drop(posted);
        assert!(!path.exists() && RunFile::find_running(&log).is_none());
        let _posted = run_file(std::process::id()).post_beside(&log).unwrap();
        drop(held);
        assert!(
            RunFile::find_running(&log).is_none(),
            "a process that lives and does not hold the log does not run it"
        );
    }

    #[test]
    fn one_that_a_killed_organism_left_behind_is_ignored_and_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        let _held = held(&log);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        std::fs::write(RunFile::find_path(&log), serde_json::to_vec(&run_file(dead)).unwrap()).unwrap();
        assert!(RunFile::find_running(&log).is_none());
        let _posted = run_file(std::process::id()).post_beside(&log).unwrap();
        assert_eq!(RunFile::find_running(&log).unwrap().pid, std::process::id());
        std::fs::write(RunFile::find_path(&log), "{").unwrap();
        assert!(RunFile::find_running(&log).is_none(), "half a file is no run file");
    }

    #[test]
    fn an_organism_is_found_by_its_file_while_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let (file, log) = (folder.path().join("organism.yaml"), folder.path().join("other.db"));
        std::fs::write(&file, "organism: [").unwrap();
        assert_eq!(RunFile::find_log(&file), None);
        let held = held(&log);
        let run = RunFile { file: file.clone(), ..run_file(std::process::id()) };
        let _posted = run.post_beside(&log).unwrap();
        assert_eq!(RunFile::find_log(&file), Some(std::fs::canonicalize(&log).unwrap()));
        let another = folder.path().join("another.yaml");
        std::fs::write(&another, "").unwrap();
        assert_eq!(RunFile::find_log(&another), None, "it runs from another file");
        drop(held);
        assert_eq!(RunFile::find_log(&file), None, "its process is gone");
    }

    /// A process died while it wrote its file; later another process gets its process id.
    #[test]
    fn one_that_was_never_finished_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("hello.db");
        let _held = held(&log);
        let path = RunFile::find_path(&log);
        std::fs::write(path.with_extension("run.new"), "{").unwrap();
        let posted = run_file(std::process::id()).post_beside(&log).unwrap();
        assert_eq!(RunFile::find_running(&log).unwrap().pid, std::process::id());
        drop(posted);
        let left = std::fs::read_dir(folder.path()).unwrap().flatten();
        assert!(left.into_iter().all(|file| !file.file_name().to_string_lossy().contains(".run")));
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
            assert!(!token.matches(wrong), "{wrong}");
        }
        assert!(!format!("{:?}", run_file(1)).contains("0123"));
        assert_ne!(Credential::draw().unwrap().secret(), Credential::draw().unwrap().secret());
    }
}
