//! Turns the operating system's errors about files into our own messages: what is there, what was wanted, and what to
//! do about it.
//!
//! In comes an error with the path it is about; out come a whole sentence and a fix. It never repeats the system's
//! bare text, and looks at the disk only to name what is in the way.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

/// The user of this process: the name, or the number if the machine knows no name.
pub fn read_user() -> String {
    let number = rustix::process::geteuid().as_raw().to_string();
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id == number).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

/// Why something could not be done with a file, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFault {
    /// The path, what was wanted there, and why not.
    pub words: String,
    /// The fix.
    pub fix: &'static str,
}

/// Why a file was not read; `what` says what it should have been, as `the payload`.
pub fn report_unread(path: &Path, what: &str, error: &Error) -> FileFault {
    let fix = match error.kind() {
        ErrorKind::PermissionDenied => "the right to read it, or another file",
        ErrorKind::IsADirectory => "the path of a file in it",
        ErrorKind::InvalidData => "the file as UTF-8",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "the path of a file that is there",
        _ => "another file, or a disk that can be read",
    };
    FileFault { words: make_sentence(path, what, &describe_error(error)), fix }
}

/// Why a file was not written; `what` says what it should have become.
pub fn report_unwritten(path: &Path, what: &str, error: &Error) -> FileFault {
    if let Some(words) = path.parent().and_then(find_obstacle) {
        return FileFault { words, fix: "another path, or move it out of the way" };
    }
    let (why, fix) = match error.kind() {
        ErrorKind::NotFound => ("there is no such folder".to_owned(), "a path in a folder that is there"),
        ErrorKind::IsADirectory => (describe_error(error), "the path of a file in it"),
        ErrorKind::AlreadyExists => (describe_error(error), "another path, or move it out of the way"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            (describe_error(error), "free space on that disk, or another path")
        }
        _ => (describe_error(error), "a path where this user may write"),
    };
    FileFault { words: make_sentence(path, what, &why), fix }
}

/// Why a folder was not made.
pub fn report_no_folder(path: &Path, what: &str, error: &Error) -> FileFault {
    match find_obstacle(path) {
        Some(words) => FileFault { words, fix: "another path, or move it out of the way" },
        None => report_unwritten(path, what, error),
    }
}

fn make_sentence(path: &Path, what: &str, why: &str) -> String {
    format!("{}, {what}: {why}", path.display())
}

/// What is in the way to a folder, or in its place, and is no folder.
fn find_obstacle(folder: &Path) -> Option<String> {
    let mut way: Vec<&Path> = folder.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
    way.reverse();
    let is_there = |part: &&&Path| fs::symlink_metadata(part).is_ok();
    let first = way.iter().filter(is_there).find(|part| !part.is_dir())?;
    let what = if first.exists() { " is a file" } else { " is a link to nothing" };
    Some(format!("{}{what}, and not a folder", first.display()))
}

/// The error alone, in our own words if we have any.
pub fn describe_error(error: &Error) -> String {
    if error.get_ref().is_some() {
        // Our own code made this error, with its own words.
        return error.to_string();
    }
    let words = match error.kind() {
        ErrorKind::NotFound => "there is no such file",
        ErrorKind::PermissionDenied => "this user may not do that",
        ErrorKind::IsADirectory => "it is a folder, not a file",
        ErrorKind::NotADirectory => "a part of the path is not a folder",
        ErrorKind::AlreadyExists => "it is there already",
        ErrorKind::StorageFull => "no room is left on that disk",
        ErrorKind::QuotaExceeded => "no room is left there for this user",
        ErrorKind::ReadOnlyFilesystem => "that disk is read-only",
        ErrorKind::InvalidFilename => "its name is too long, or has characters that are not allowed",
        ErrorKind::InvalidData => "it is not UTF-8",
        _ => {
            // The number adds nothing to the text.
            let whole = error.to_string();
            let words = whole.split(" (os error").next().unwrap_or_default();
            return format!("the system says: {words}");
        }
    };
    words.to_owned()
}

/// The bytes of a file that has at most so many. Nothing waits for a pipe.
pub fn read_bounded(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let waits_not = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(waits_not).open(path)?;
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        return Err(Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The same for a file that only this user may read and write. A link counts as none.
pub fn read_private(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::MetadataExt as _;
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() {
        return Err(Error::other("it is no file"));
    }
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err(Error::other("other users may read or write it"));
    }
    read_bounded(path, most)
}

/// Writes a file so that it has either the old bytes or the new ones, even after a crash.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_draft(path, bytes, fs::OpenOptions::new().write(true).create(true).truncate(true))
}

/// The same for a file that only this user may read and write.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    match fs::remove_file(to_draft(path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    write_draft(path, bytes, fs::OpenOptions::new().write(true).create_new(true).mode(0o600))
}

fn to_draft(path: &Path) -> PathBuf {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    draft.into()
}

fn write_draft(path: &Path, bytes: &[u8], options: &fs::OpenOptions) -> std::io::Result<()> {
    use std::io::Write as _;
    let draft = to_draft(path);
    let mut file = options.open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::File::open(folder)?.sync_all(),
        _ => fs::File::open(".")?.sync_all(),
    }
}

/// When the process with that id began, in ticks since the machine did; `None` if there is none. Two processes that had
/// the same id differ in it.
pub fn find_process_start(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    let (_, fields) = status.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// The program `systole` that this process may start for its own work. It is next to this program, or one folder up
/// from the tests of a workspace, or it is this program itself under a longer name. `None` if there is none, for
/// example in another project's program.
pub fn find_own_program() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    let folder = this.parent()?;
    let named = |folder: &Path| folder.join(format!("systole{}", std::env::consts::EXE_SUFFIX));
    let is_of_tests = folder.file_name().is_some_and(|name| name == "deps");
    let above = folder.parent().filter(|_| is_of_tests).map(named);
    let is_longer = |name: &str| !is_of_tests && name.starts_with("systole-");
    let itself = this.file_name().and_then(std::ffi::OsStr::to_str).is_some_and(is_longer);
    let known = [Some(named(folder)), above, itself.then(|| this.clone())];
    known.into_iter().flatten().find(|path| path.is_file())
}
