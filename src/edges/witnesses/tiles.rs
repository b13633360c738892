//! A folder with the tiles of a log, in the form of C2SP's `tlog-tiles`: the hashes of the tree, the entries, and the
//! last checkpoint. An entry is the header of a record and its commitment, never its body.
//!
//! Files appear as a whole or not at all, and the checkpoint is written after the tiles that it is about. The tiles can
//! be made again from the log, so what is in the folder is believed only if it leads to the root that was signed.

use std::fs;
use std::path::PathBuf;

use systole_proof::checkpoint::SignedCheckpoint;
use systole_proof::limits::NOTE_BYTES;
use systole_proof::tree::{Frontier, TreeHash, leaf_hash};

use super::WitnessFault;
use crate::edges::log::paging;
use crate::edges::system;
use systole_core::types::ports::LogReader;

/// Hashes of a full tile, and entries of a full bundle.
const WIDTH: u64 = 256;
/// Bits of a tree's size that one level of tiles covers.
const HEIGHT: u32 = 8;

/// A folder with tiles.
pub struct TileFolder(PathBuf);

impl TileFolder {
    /// That folder. It is made when it is first written.
    pub fn new(path: PathBuf) -> TileFolder {
        TileFolder(path)
    }

    /// Brings the tiles up to a checkpoint of this log, and stores the checkpoint.
    pub fn put(&self, checkpoint: &SignedCheckpoint, reader: &dyn LogReader) -> Result<(), WitnessFault> {
        let new = checkpoint.checkpoint().size();
        let old = self.stored(checkpoint)?;
        if old > new {
            return Err(WitnessFault::Ahead { size: old, records: new });
        }
        // Tiles that do not lead to the root are made again.
        if !self.grow(old, checkpoint, reader)? && !self.grow(0, checkpoint, reader)? {
            let words = "the records of the log do not have the root of the checkpoint";
            return Err(WitnessFault::Log(words.to_owned()));
        }
        self.write("checkpoint", checkpoint.to_string().as_bytes())
    }

    /// The size of the stored checkpoint of the same log, or 0.
    fn stored(&self, next: &SignedCheckpoint) -> Result<u64, WitnessFault> {
        let path = self.0.join("checkpoint");
        let bytes = match system::read_bounded(&path, NOTE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(fault(&path, &error)),
        };
        let foreign = |what: String| {
            let words = format!("{}: {what}; name a folder of its own", path.display());
            WitnessFault::Folder(words)
        };
        let stored = SignedCheckpoint::read(&bytes).map_err(|why| foreign(why.to_string()))?;
        let (stored, next) = (stored.checkpoint(), next.checkpoint());
        if stored.origin() != next.origin() {
            return Err(foreign(format!("it is a checkpoint of {}", stored.origin())));
        }
        Ok(stored.size())
    }

    /// Writes the tiles after the last full one of a tree of that size. Returns whether they have the root.
    fn grow(
        &self,
        old: u64,
        checkpoint: &SignedCheckpoint,
        reader: &dyn LogReader,
    ) -> Result<bool, WitnessFault> {
        let (new, root) = (checkpoint.checkpoint().size(), checkpoint.checkpoint().root());
        let from = old / WIDTH * WIDTH;
        let Some(rows) = self.rows(from) else { return Ok(false) };
        let mut writing = TileWriting { folder: self, size: from, rows, entries: Vec::new(), fault: None };
        let read = paging::each_after(reader, from, new, |record| writing.push(&record.entry()));
        let last = read.map_err(|fault| WitnessFault::Log(fault.to_string()))?;
        if let Some(fault) = writing.fault.take() {
            return Err(fault);
        }
        writing.finish()?;
        Ok(last == new && writing.root().as_ref() == Some(root))
    }

    /// The hashes of the last tile of each level above the first, for a tree of so many leaves. `None` if one is
    /// missing.
    fn rows(&self, size: u64) -> Option<Vec<Vec<TreeHash>>> {
        let mut rows = vec![Vec::new()];
        for level in 1.. {
            let count = size.checked_shr(HEIGHT * level).unwrap_or(0);
            if count == 0 {
                break;
            }
            let (number, width) = (count / WIDTH, count % WIDTH);
            let bytes = match width {
                0 => Vec::new(),
                _ => {
                    let length = usize::try_from(WIDTH).ok()? * 32;
                    system::read_bounded(&self.0.join(partial(&level.to_string(), number, width)), length)
                        .ok()?
                }
            };
            let (hashes, rest) = bytes.as_chunks::<32>();
            if hashes.len() as u64 != width || !rest.is_empty() {
                return None;
            }
            rows.push(hashes.to_vec());
        }
        Some(rows)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), WitnessFault> {
        let path = self.0.join(name);
        let folder = path.parent().unwrap_or(&self.0);
        let written = fs::create_dir_all(folder).and_then(|()| system::write_whole(&path, bytes));
        written.map_err(|error| fault(&path, &error))
    }

    /// Writes a full tile, and removes the partial ones that it replaces.
    fn write_full(&self, kind: &str, number: u64, bytes: &[u8]) -> Result<(), WitnessFault> {
        let name = full(kind, number);
        self.write(&name, bytes)?;
        // They stay readable as parts of the full one, so a folder that cannot be removed harms nothing.
        let _left = fs::remove_dir_all(self.0.join(format!("{name}.p")));
        Ok(())
    }
}

/// The tiles that are being written.
struct TileWriting<'f> {
    folder: &'f TileFolder,
    size: u64,
    /// The hashes of the last tile of each level.
    rows: Vec<Vec<TreeHash>>,
    /// The last bundle of entries.
    entries: Vec<u8>,
    fault: Option<WitnessFault>,
}

impl TileWriting<'_> {
    fn push(&mut self, entry: &[u8]) {
        if self.fault.is_none()
            && let Err(fault) = self.pushed(entry)
        {
            self.fault = Some(fault);
        }
    }

    fn pushed(&mut self, entry: &[u8]) -> Result<(), WitnessFault> {
        let length = u16::try_from(entry.len()).map_err(|_| {
            WitnessFault::Log(format!("the entry of record {} has more than 65535 bytes", self.size + 1))
        })?;
        self.entries.extend(length.to_be_bytes());
        self.entries.extend(entry);
        self.size += 1;
        if self.size % WIDTH == 0 {
            let number = self.size / WIDTH - 1;
            self.folder.write_full("entries", number, &self.entries)?;
            self.entries.clear();
        }
        let mut hash = leaf_hash(entry);
        for level in 0.. {
            if self.rows.len() == level {
                self.rows.push(Vec::new());
            }
            let Some(row) = self.rows.get_mut(level) else { break };
            row.push(hash);
            if (row.len() as u64) < WIDTH {
                break;
            }
            let (bytes, tile) = (row.concat(), frontier(row));
            row.clear();
            let shift = HEIGHT * (u32::try_from(level).unwrap_or(u32::MAX) + 1);
            let number = self.size.checked_shr(shift).unwrap_or(0).saturating_sub(1);
            self.folder.write_full(&level.to_string(), number, &bytes)?;
            hash = tile.root();
        }
        Ok(())
    }

    /// Writes the tiles that are not full.
    fn finish(&self) -> Result<(), WitnessFault> {
        for (level, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            let shift = HEIGHT * u32::try_from(level).unwrap_or(u32::MAX);
            let number = self.size.checked_shr(shift).unwrap_or(0) / WIDTH;
            let name = partial(&level.to_string(), number, row.len() as u64);
            self.folder.write(&name, &row.concat())?;
        }
        match self.size % WIDTH {
            0 => Ok(()),
            width => self.folder.write(&partial("entries", self.size / WIDTH, width), &self.entries),
        }
    }

    /// The root of the tree. The rows are the digits of its size, each with its complete subtrees.
    fn root(&self) -> Option<TreeHash> {
        let mut bytes = self.size.to_be_bytes().to_vec();
        for row in self.rows.iter().rev() {
            bytes.extend(frontier(row).to_bytes().get(8..)?);
        }
        Frontier::from_bytes(&bytes).ok().map(|tree| tree.root())
    }
}

fn frontier(row: &[TreeHash]) -> Frontier {
    let mut tree = Frontier::new();
    row.iter().for_each(|hash| tree.push(*hash));
    tree
}

fn fault(path: &std::path::Path, error: &std::io::Error) -> WitnessFault {
    WitnessFault::Folder(system::unwritten(path, "a file of tiles", error).words)
}

/// The path of a full tile of a level, or of a bundle of entries.
fn full(kind: &str, number: u64) -> String {
    let mut path = format!("{:03}", number % 1000);
    let mut rest = number / 1000;
    while rest > 0 {
        path = format!("x{:03}/{path}", rest % 1000);
        rest /= 1000;
    }
    format!("tile/{kind}/{path}")
}

/// The path of a tile with fewer hashes.
fn partial(kind: &str, number: u64, width: u64) -> String {
    format!("{}.p/{width}", full(kind, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_has_the_path_of_the_format() {
        assert_eq!(full("0", 1_234_067), "tile/0/x001/x234/067");
        assert_eq!(full("entries", 0), "tile/entries/000");
        assert_eq!(partial("1", 5, 17), "tile/1/005.p/17");
    }
}
