//! Named sessions: each keeps its folder and its exported variables from one command to the next.
//!
//! A thread and a name come in; a folder on disk with what the session keeps goes out. Every command is a fresh shell:
//! functions, aliases, options and background processes are not kept. What a session keeps was written by commands and
//! is believed only as far as the commands themselves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use systole_folder::FolderRoot;

use crate::hash::sha256;
use crate::limits;

/// The script around a command of a session. Its arguments are the folder of the session and the command.
///
/// The variables are kept only if they differ from those of a fresh shell, and the folder always.
const SESSION: &str = r#"__systole_s=$1; __systole_c=$2; set --
export -n PWD OLDPWD SHLVL
__systole_b=$(export -p)
[ -f "$__systole_s/variables" ] && . "$__systole_s/variables"
__systole_end() {
  local now; now=$(export -p)
  if [ "$now" = "$__systole_b" ]; then rm -f "$__systole_s/variables"; else printf '%s\n' "$now" >"$__systole_s/variables"; fi
  pwd -P >"$__systole_s/folder"
}
trap __systole_end EXIT
eval "$__systole_c""#;

/// The words of the process that runs a command.
pub(crate) fn words(command: &str, session: Option<&Path>) -> Vec<String> {
    let bash = ["bash", "--noprofile", "--norc", "-c"].map(str::to_owned);
    let mut words = bash.to_vec();
    match session {
        None => words.push(command.to_owned()),
        Some(session) => {
            let session = session.display().to_string();
            words.extend([SESSION.to_owned(), "bash".to_owned(), session, command.to_owned()]);
        }
    }
    words
}

/// The sessions of all threads.
#[derive(Debug)]
pub(crate) struct Sessions(PathBuf);

impl Sessions {
    pub(crate) fn new(state: &Path) -> Sessions {
        Sessions(state.join("sessions"))
    }

    /// The folder of a session. Only the name of the thread's hash is used, whatever the thread is called.
    pub(crate) fn folder(&self, thread: &str, name: &str) -> PathBuf {
        let thread = sha256(thread.as_bytes());
        self.0.join(thread.get(..24).unwrap_or_default()).join(name)
    }

    /// The same, made if it is not there.
    pub(crate) fn make(&self, thread: &str, name: &str) -> io::Result<PathBuf> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = self.folder(thread, name);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// Where a session is, from the root. `None` if it is new, or left the root.
    pub(crate) fn is_in(
        &self,
        root: &FolderRoot,
        root_path: &Path,
        thread: &str,
        name: &str,
    ) -> Option<String> {
        let kept = small_file(&self.folder(thread, name), "folder")?;
        let kept = String::from_utf8(kept).ok()?;
        let below = Path::new(kept.trim_end_matches('\n')).strip_prefix(root_path).ok()?.to_str()?.to_owned();
        let below = if below.is_empty() { ".".to_owned() } else { below };
        root.folder(&below).is_ok().then_some(below)
    }

    /// Whether a session keeps variables, so that a plain command may do something else in it.
    pub(crate) fn has_variables(&self, thread: &str, name: &str) -> bool {
        fs::symlink_metadata(self.folder(thread, name).join("variables")).is_ok()
    }

    /// Forgets the sessions of all but the latest threads.
    pub(crate) fn prune(&self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        let mut threads = Vec::new();
        for entry in entries {
            let entry = entry?;
            threads.push((entry.metadata()?.modified()?, entry.path()));
        }
        threads.sort();
        let surplus = threads.len().saturating_sub(limits::SESSION_THREADS);
        threads.iter().take(surplus).try_for_each(|(_, path)| fs::remove_dir_all(path))
    }
}

/// Reads a small regular file that commands could write.
fn small_file(folder: &Path, name: &str) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let folder = fs::File::open(folder).ok()?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(&folder, name, flags, Mode::empty()).ok()?;
    if FileType::from_raw_mode(fstat(&file).ok()?.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::from(file).take(limits::SESSION_BYTES as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
