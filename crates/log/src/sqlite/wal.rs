//! The header of the write-ahead log. SQLite takes a file with a corrupt header for an empty one, and silently loses
//! all commits in it. So the header is checked before SQLite opens the file. Nothing is written.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use super::io_fault;
use super::layout::make_beside;
use systole_core::types::ports::LogFault;

/// The file's ending.
pub(super) const ENDING: &str = "-wal";
/// Bytes of the header.
pub(super) const HEADER: usize = 32;

/// What is known about a write-ahead log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WalState {
    /// There is no such file.
    Nothing,
    /// It holds no commit.
    Empty,
    /// Its header is as SQLite wrote it.
    Sound,
    /// It is longer than its header, and the header is not what SQLite wrote.
    Corrupt,
}

/// Looks at the write-ahead log of a log that no process writes to.
pub(super) fn read_wal(log: &Path) -> Result<WalState, LogFault> {
    let path = make_beside(log, ENDING);
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(HEADER as u64 + 1).read_to_end(&mut bytes));
    match read {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(WalState::Nothing),
        Err(e) => return Err(io_fault(&path, &e)),
        Ok(_) => {}
    }
    // A file with only a header holds no commit; neither does a file whose header was never synced.
    Ok(match bytes.first_chunk::<HEADER>() {
        Some(header) if bytes.len() > HEADER && header != &[0; HEADER] => match is_sound(header) {
            true => WalState::Sound,
            false => WalState::Corrupt,
        },
        _ => WalState::Empty,
    })
}

/// Whether the header matches SQLite's file format: a magic number, the version, a page size, a counter and salts,
/// with a checksum over all of them.
fn is_sound(header: &[u8; HEADER]) -> bool {
    let word =
        |at: usize| header.get(at..at + 4).and_then(|four| four.first_chunk()).copied().unwrap_or_default();
    let number = |at: usize| u32::from_be_bytes(word(at));
    // The last bit of the magic number says in which byte order the checksum reads its words.
    let summed = |at: usize| match number(0) & 1 {
        1 => number(at),
        _ => u32::from_le_bytes(word(at)),
    };
    let (mut one, mut two) = (0_u32, 0_u32);
    for at in [0, 8, 16] {
        one = one.wrapping_add(summed(at)).wrapping_add(two);
        two = two.wrapping_add(summed(at + 4)).wrapping_add(one);
    }
    number(0) | 1 == 0x377f_0683 && number(4) == 3_007_000 && (number(24), number(28)) == (one, two)
}

/// Keeps the content of a damaged write-ahead log under another name, for a person who looks for what was lost. A
/// file with a corrupt header is removed, because SQLite may refuse it.
pub(super) fn set_aside(log: &Path) -> Result<Option<PathBuf>, LogFault> {
    let path = make_beside(log, ENDING);
    let found = read_wal(log)?;
    if matches!(found, WalState::Nothing | WalState::Empty) {
        return Ok(None);
    }
    let kept = free_name(log)?;
    let copied = std::fs::copy(&path, &kept).and_then(|_| File::open(&kept)?.sync_all());
    copied.map_err(|e| io_fault(&kept, &e))?;
    if found == WalState::Corrupt {
        std::fs::remove_file(&path).map_err(|e| io_fault(&path, &e))?;
    }
    Ok(Some(kept))
}

/// The first name for lost commits that no file has.
pub(super) fn free_name(log: &Path) -> Result<PathBuf, LogFault> {
    let free = (1..=1_000).map(|n| make_beside(log, &format!("-wal.lost-{n}"))).find(|kept| !kept.exists());
    free.ok_or_else(|| LogFault::Io {
        path: make_beside(log, ENDING).display().to_string(),
        why: "a thousand files of lost commits are beside it already; move them away".to_owned(),
    })
}
