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
use systole_kit::characters;

use crate::hash::hash_bytes;
use crate::limits;

/// The script around a command of a session. Its arguments are the folder of the session, the variables that the order
/// says, and the command.
///
/// Only variables that differ from those of a fresh shell are kept, one in each line, and the folder always.
const SESSION: &str = r#"__systole_s=$1; __systole_v=$2; __systole_c=$3; set --
export -n PWD OLDPWD SHLVL
declare -A __systole_b
for __systole_n in $(compgen -e); do __systole_b[$__systole_n]=${!__systole_n}; done
eval "$__systole_v"
__systole_end() {
  local IFS=$' \t\n' n
  for n in $(compgen -e); do
    case $n in PWD|OLDPWD|SHLVL|_) continue;; esac
    [ "${__systole_b[$n]+x}" ] && [ "${__systole_b[$n]}" = "${!n}" ] && continue
    printf 'export %s=%q\n' "$n" "${!n}"
  done >"$__systole_s/variables"
  pwd -P >"$__systole_s/folder"
}
trap __systole_end EXIT
eval "$__systole_c""#;

/// A session in which a command runs: its folder, and the variables that it begins with.
pub(crate) struct OpenSession {
    pub(crate) folder: PathBuf,
    pub(crate) variables: String,
}

/// The words of the process that runs a command.
pub(crate) fn build_words(command: &str, session: Option<&OpenSession>) -> Vec<String> {
    let bash = ["bash", "--noprofile", "--norc", "-c"].map(str::to_owned);
    let mut words = bash.to_vec();
    match session {
        None => words.push(command.to_owned()),
        Some(OpenSession { folder, variables }) => {
            let folder = folder.display().to_string();
            let arguments = [SESSION.to_owned(), "bash".to_owned(), folder, variables.clone()];
            words.extend(arguments.into_iter().chain([command.to_owned()]));
        }
    }
    words
}

/// The sessions of all threads.
#[derive(Debug)]
pub(crate) struct CommandSessions(PathBuf);

impl CommandSessions {
    pub(crate) fn new(state: &Path) -> CommandSessions {
        CommandSessions(state.join("sessions"))
    }

    /// The folder of a session. Its path has a hash of the thread's name, because a name may hold any characters.
    pub(crate) fn folder_of(&self, thread: &str, name: &str) -> PathBuf {
        let thread = hash_bytes(thread.as_bytes());
        self.0.join(thread.get(..24).unwrap_or_default()).join(name)
    }

    /// The same, made if it is not there.
    pub(crate) fn make_folder(&self, thread: &str, name: &str) -> io::Result<PathBuf> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folder = self.folder_of(thread, name);
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
        let kept = read_small_file(&self.folder_of(thread, name), "folder").ok()??;
        let kept = String::from_utf8(kept).ok()?;
        let below = Path::new(kept.trim_end_matches('\n')).strip_prefix(root_path).ok()?.to_str()?.to_owned();
        let below = if below.is_empty() { ".".to_owned() } else { below };
        root.open_folder(&below).is_ok().then_some(below)
    }

    /// The variables that a session keeps, as the lines that set them. A command wrote them, so they are shown to
    /// the person who approves the next one.
    ///
    /// # Errors
    /// If they cannot be shown.
    pub(crate) fn read_variables(&self, thread: &str, name: &str) -> Result<String, &'static str> {
        let kept = match read_small_file(&self.folder_of(thread, name), "variables") {
            Ok(kept) => kept.unwrap_or_default(),
            Err(_) => return Err("its session keeps variables that cannot be read; use another session"),
        };
        if kept.len() > limits::VARIABLES_BYTES {
            return Err("its session keeps more variables than can be shown; use another session");
        }
        let text = String::from_utf8(kept).ok();
        let text = text.filter(|text| text.chars().all(characters::is_legal));
        text.ok_or("its session keeps variables that cannot be shown; use another session")
    }

    /// Forgets the sessions of all but the latest threads.
    pub(crate) fn prune_old(&self) -> io::Result<()> {
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

/// Reads a small regular file that commands could write; `None` if there is none.
fn read_small_file(folder: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read as _;
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let folder = match fs::File::open(folder) {
        Err(error) if is_missing(&error) => return Ok(None),
        folder => folder?,
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat(&folder, name, flags, Mode::empty()).map_err(io::Error::from) {
        Err(error) if is_missing(&error) => return Ok(None),
        file => file?,
    };
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::from(io::ErrorKind::InvalidData));
    }
    let mut bytes = Vec::new();
    fs::File::from(file).take(limits::SESSION_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
