//! The checkpoints of a log, one after another in a file beside it. A record about a checkpoint would change the tree
//! that it is about, so they are no part of the log. Only whole checkpoints are ever added.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use systole_proof::checkpoint::{CheckpointFault, SignedCheckpoint};
use systole_proof::limits::NOTE_BYTES;

use systole_system::system::{self, FileFault};

use crate::limits::{self, NOTES_BYTES};

/// The bytes of a root in base64.
const ROOT: usize = 44;
/// No waiting for a pipe.
const WAITS_NOT: i32 = OFlags::NONBLOCK.bits().cast_signed();
/// No link at the end of the path, and no waiting for a pipe.
const OPEN_FLAGS: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
/// How a line of a signature begins.
const SIGNATURE: &[u8] = "\u{2014} ".as_bytes();
/// What the file is, in messages.
const WHAT: &str = "the checkpoints of the log";

/// The file beside a log.
pub fn to_path(log: &Path) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".notes");
    path.into()
}

/// The first line of a checkpoint in its file, and the checkpoint, or what is wrong with it.
pub type FoundNote = (usize, Result<SignedCheckpoint, CheckpointFault>);

/// The checkpoints of a file, in their order; none if there is no file.
pub fn read_notes(path: &Path) -> Result<Vec<FoundNote>, FileFault> {
    let file = match OpenOptions::new().read(true).custom_flags(WAITS_NOT).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(system::report_unread(path, WHAT, &error)),
    };
    let mut bytes = Vec::new();
    file.take(NOTES_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| system::report_unread(path, WHAT, &error))?;
    if bytes.len() as u64 > NOTES_BYTES {
        let words = format!("{}: {WHAT} have more than {NOTES_BYTES} bytes", path.display());
        return Err(FileFault { words, fix: "move the older ones into another file" });
    }
    Ok(split_notes(&bytes))
}

/// The newest checkpoints of a file, in their order: those in its last part, so that a page can read them often.
pub fn read_newest(path: &Path) -> Result<Vec<Result<SignedCheckpoint, CheckpointFault>>, FileFault> {
    let unread = |error| system::report_unread(path, WHAT, &error);
    let mut file = match OpenOptions::new().read(true).custom_flags(WAITS_NOT).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unread(error)),
    };
    let length = file.metadata().map_err(unread)?.len();
    let from = length.saturating_sub(limits::NOTES_NEWEST_BYTES);
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(from))
        .and_then(|_| file.take(limits::NOTES_NEWEST_BYTES).read_to_end(&mut bytes));
    read.map_err(unread)?;
    // The first one may lack its beginning.
    let skipped = usize::from(from > 0);
    Ok(split_notes(&bytes).into_iter().skip(skipped).map(|(_, read)| read).collect())
}

/// The checkpoints in these bytes. Empty lines between them are allowed.
fn split_notes(bytes: &[u8]) -> Vec<FoundNote> {
    let read = |block: &NoteBlock| {
        let note = bytes.get(block.from..block.to).unwrap_or_default();
        (block.line, SignedCheckpoint::parse(note))
    };
    split_blocks(bytes).iter().map(read).collect()
}

/// The place of one checkpoint.
struct NoteBlock {
    from: usize,
    to: usize,
    /// Its first line, from 1.
    line: usize,
    /// Whether its last line is a whole signature.
    is_whole: bool,
}

/// The places of checkpoints: a text, an empty line, and the lines of signatures.
fn split_blocks(bytes: &[u8]) -> Vec<NoteBlock> {
    let mut found: Vec<NoteBlock> = Vec::new();
    // Whether a text goes on, and whether its signatures have begun.
    let (mut is_open, mut is_signed) = (false, false);
    let mut at = 0;
    for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
        let (from, is_empty) = (at, line == b"\n");
        at += line.len();
        let signs = is_signed && line.starts_with(SIGNATURE);
        if is_signed && !signs {
            (is_open, is_signed) = (false, false);
        }
        match found.last_mut().filter(|_| is_open) {
            Some(block) => {
                block.to = at;
                block.is_whole = signs && line.ends_with(b"\n");
                is_signed = is_signed || is_empty;
            }
            None if is_empty => {}
            None => {
                found.push(NoteBlock { from, to: at, line: number, is_whole: false });
                is_open = true;
            }
        }
    }
    found
}

/// Adds a checkpoint, and syncs it. What a crash left of an earlier one is taken away first.
pub fn append_checkpoint(path: &Path, checkpoint: &SignedCheckpoint) -> Result<(), FileFault> {
    append_note(path, checkpoint.to_string().as_bytes())
        .map_err(|error| system::report_unwritten(path, WHAT, &error))
}

fn append_note(path: &Path, note: &[u8]) -> std::io::Result<()> {
    let mut open = OpenOptions::new();
    // A link would lead to a file of something else.
    open.read(true).write(true).create(true).truncate(false).custom_flags(OPEN_FLAGS);
    let mut file = open.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no ordinary file"));
    }
    // Two may be made at the same time. The kernel takes the lock away with the file.
    flock(&file, FlockOperation::LockExclusive)?;
    if file.metadata()?.len() > NOTES_BYTES {
        return Err(std::io::Error::other(format!("it has more than {NOTES_BYTES} bytes; move it away")));
    }
    let mut before = Vec::new();
    (&file).take(NOTES_BYTES).read_to_end(&mut before)?;
    let whole = match split_blocks(&before).last() {
        None => 0,
        Some(last) if last.is_whole => before.len(),
        Some(last) if is_torn(before.get(last.from..).unwrap_or_default()) => last.from,
        Some(last) => {
            let words = format!("line {} begins something that is no checkpoint", last.line);
            return Err(std::io::Error::other(words));
        }
    };
    file.set_len(whole as u64)?;
    file.seek(SeekFrom::Start(whole as u64))?;
    file.write_all(note)?;
    file.sync_all()
}

/// Whether these bytes are the beginning of a checkpoint of ours, as a crash leaves it.
fn is_torn(bytes: &[u8]) -> bool {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    bytes.len() <= NOTE_BYTES
        && lines.iter().enumerate().all(|(number, line)| match number {
            0 => !line.contains(&b' '),
            1 => line.iter().all(u8::is_ascii_digit),
            2 => line.len() <= ROOT && !line.contains(&b' '),
            3 => line.is_empty(),
            _ => line.starts_with(SIGNATURE) || SIGNATURE.starts_with(line),
        })
}
