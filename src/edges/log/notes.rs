//! The checkpoints of a log, one after another in a file beside it. A record about a checkpoint would change the tree
//! that it is about, so they are no part of the log. Only whole checkpoints are ever added.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::limits::NOTE_BYTES;

use crate::edges::system::{self, FileFault};

/// The most bytes that are read: a checkpoint in each minute of a year.
const MOST: u64 = 256 << 20;
/// More bytes than one checkpoint has.
const LAST: u64 = 2 * NOTE_BYTES as u64;
/// How a line of a signature begins.
const SIGNATURE: &[u8] = "\u{2014} ".as_bytes();
/// What the file is, in messages.
const WHAT: &str = "the checkpoints of the log";

/// The file beside a log.
pub fn path(log: &Path) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".notes");
    path.into()
}

/// A checkpoint that is no checkpoint, by its first line in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadNote {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

/// The first line of a checkpoint in its file, and the checkpoint.
pub type FoundNote = (usize, Result<SignedCheckpoint, UnreadNote>);

/// The checkpoints of a file, in their order; none if there is no file.
pub fn read(path: &Path) -> Result<Vec<FoundNote>, FileFault> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(system::unread(path, WHAT, &error)),
    };
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| system::unread(path, WHAT, &error))?;
    if bytes.len() as u64 > MOST {
        let words = format!("{}: {WHAT} have more than {MOST} bytes", path.display());
        return Err(FileFault { words, fix: "move the older ones into another file" });
    }
    Ok(split(&bytes))
}

/// The checkpoints in these bytes.
fn split(bytes: &[u8]) -> Vec<FoundNote> {
    let mut found = Vec::new();
    let (mut from, mut first, mut is_signed) = (0, 1, false);
    let mut at = 0;
    let mut take = |from: usize, to: usize, line: usize| {
        if let Some(note) = bytes.get(from..to).filter(|note| !note.is_empty()) {
            let read = SignedCheckpoint::read(note);
            found.push((line, read.map_err(|fault| UnreadNote { line, why: fault.to_string() })));
        }
    };
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let signs = line.starts_with(SIGNATURE);
        if is_signed && !signs {
            take(from, at, first);
            (from, first) = (at, number);
        }
        is_signed = signs;
        at += line.len();
    }
    take(from, at, first);
    found
}

/// Adds a checkpoint, and syncs it. What a crash left of an earlier one is taken away first.
pub fn append(path: &Path, checkpoint: &SignedCheckpoint) -> Result<(), FileFault> {
    added(path, checkpoint.to_string().as_bytes()).map_err(|error| system::unwritten(path, WHAT, &error))
}

fn added(path: &Path, note: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    // Two may be made at the same time. The kernel takes the lock away with the file.
    flock(&file, FlockOperation::LockExclusive)?;
    let from = file.metadata()?.len().saturating_sub(LAST);
    file.seek(SeekFrom::Start(from))?;
    let mut before = Vec::new();
    (&file).take(LAST).read_to_end(&mut before)?;
    let whole = from + whole_part(&before) as u64;
    file.set_len(whole)?;
    file.seek(SeekFrom::Start(whole))?;
    file.write_all(note)?;
    file.sync_all()
}

/// How many of these bytes are whole checkpoints: up to the last whole line of a signature.
fn whole_part(bytes: &[u8]) -> usize {
    let mut at = 0;
    let mut whole = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if line.starts_with(SIGNATURE) && line.ends_with(b"\n") {
            whole = at;
        }
    }
    whole
}
