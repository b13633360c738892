//! A folder with the tiles of a log, in the form of C2SP's `tlog-tiles`: the hashes of the tree, the entries, and the
//! last checkpoint. An entry is the header of a record and its commitment, never its body.
//!
//! Files appear as a whole or not at all, and the checkpoint is written after the tiles that it is about. The tiles can
//! be made again from the log, so what is in the folder is believed only if it leads to the root that was signed.

use std::fs;
use std::path::PathBuf;

use systole_proof::checkpoint::{Checkpoint, SignedCheckpoint};
use systole_proof::limits::NOTE_BYTES;
use systole_proof::tree::{Frontier, TreeHash, hash_leaf};

use super::WitnessFault;
use systole_core::types::ports::{LogReader, Position};
use systole_system::system;

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
    pub fn put_checkpoint(
        &self,
        checkpoint: &SignedCheckpoint,
        reader: &dyn LogReader,
    ) -> Result<(), WitnessFault> {
        let new = checkpoint.checkpoint();
        let mut writing = match self.read_stored(new.origin())? {
            Some(old) if old.checkpoint().size() > new.size() => {
                return Err(WitnessFault::Ahead { size: old.checkpoint().size(), records: new.size() });
            }
            Some(old) => self.start_after(old.checkpoint(), reader)?,
            None => TileWriting::new(None),
        };
        writing.folder = Some(self);
        if writing.read_log(reader, new.size())?.as_ref() != Some(new.root()) {
            let words = "its records do not have the root of the checkpoint";
            return Err(WitnessFault::Log(words.to_owned()));
        }
        writing.finish_tiles()?;
        self.write_file("checkpoint", checkpoint.to_string().as_bytes())
    }

    /// The tiles before the last one of the stored checkpoint. Nothing is written before the log is known to continue
    /// that checkpoint. Tiles that do not lead to its root are made again.
    fn start_after(&self, old: &Checkpoint, reader: &dyn LogReader) -> Result<TileWriting<'_>, WitnessFault> {
        for from in [old.size() / WIDTH * WIDTH, 0] {
            let Some(rows) = self.read_rows(from) else { continue };
            let kept = TileWriting { size: from, rows, ..TileWriting::new(None) };
            if kept.clone().read_log(reader, old.size())?.as_ref() == Some(old.root()) {
                return Ok(kept);
            }
        }
        Err(WitnessFault::OtherHistory { size: old.size() })
    }

    /// The stored checkpoint of the same log.
    fn read_stored(&self, origin: &str) -> Result<Option<SignedCheckpoint>, WitnessFault> {
        let path = self.0.join("checkpoint");
        let bytes = match system::read_bounded(&path, NOTE_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(make_fault(&path, &error)),
        };
        let foreign = |what: String| {
            let words = format!("{}: {what}; name a folder of its own", path.display());
            WitnessFault::Folder(words)
        };
        let stored = SignedCheckpoint::parse(&bytes).map_err(|why| foreign(why.to_string()))?;
        if stored.checkpoint().origin() != origin {
            return Err(foreign(format!("it is a checkpoint of {}", stored.checkpoint().origin())));
        }
        Ok(Some(stored))
    }

    /// The hashes of the last tile of each level above the first, for a tree of so many leaves. `None` if one is
    /// missing.
    fn read_rows(&self, size: u64) -> Option<Vec<Vec<TreeHash>>> {
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
                    system::read_bounded(
                        &self.0.join(name_partial(&level.to_string(), number, width)),
                        length,
                    )
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

    fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), WitnessFault> {
        let path = self.0.join(name);
        let folder = path.parent().unwrap_or(&self.0);
        let written = fs::create_dir_all(folder).and_then(|()| system::write_whole(&path, bytes));
        written.map_err(|error| make_fault(&path, &error))
    }

    /// Writes a full tile, and removes the partial ones that it replaces.
    fn write_full(&self, kind: &str, number: u64, bytes: &[u8]) -> Result<(), WitnessFault> {
        let name = name_full(kind, number);
        self.write_file(&name, bytes)?;
        // They stay readable as parts of the full one, so a folder that cannot be removed harms nothing.
        let _left = fs::remove_dir_all(self.0.join(format!("{name}.p")));
        Ok(())
    }
}

/// The tiles of a growing tree.
#[derive(Clone)]
struct TileWriting<'f> {
    /// Where they are written. `None` if they are only computed.
    folder: Option<&'f TileFolder>,
    size: u64,
    /// The hashes of the last tile of each level.
    rows: Vec<Vec<TreeHash>>,
    /// The last bundle of entries.
    entries: Vec<u8>,
}

impl<'f> TileWriting<'f> {
    /// The tree without leaves.
    fn new(folder: Option<&'f TileFolder>) -> TileWriting<'f> {
        TileWriting { folder, size: 0, rows: vec![Vec::new()], entries: Vec::new() }
    }

    /// Takes the next records of a log, up to that size. Returns the root, if the log has so many.
    fn read_log(&mut self, reader: &dyn LogReader, size: u64) -> Result<Option<TreeHash>, WitnessFault> {
        for placed in reader.records_after(Position(self.size)).up_to(Position(size)) {
            let (_, record) = placed.map_err(|fault| WitnessFault::Log(fault.to_string()))?;
            self.push_entry(&record.entry())?;
        }
        Ok(self.root().filter(|_| self.size == size))
    }

    fn push_entry(&mut self, entry: &[u8]) -> Result<(), WitnessFault> {
        let length = u16::try_from(entry.len()).map_err(|_| {
            WitnessFault::Log(format!("the entry of record {} has more than 65535 bytes", self.size + 1))
        })?;
        self.entries.extend(length.to_be_bytes());
        self.entries.extend(entry);
        self.size += 1;
        if self.size.is_multiple_of(WIDTH) {
            let number = self.size / WIDTH - 1;
            if let Some(folder) = self.folder {
                folder.write_full("entries", number, &self.entries)?;
            }
            self.entries.clear();
        }
        let mut hash = hash_leaf(entry);
        for level in 0.. {
            if self.rows.len() == level {
                self.rows.push(Vec::new());
            }
            let Some(row) = self.rows.get_mut(level) else { break };
            row.push(hash);
            if (row.len() as u64) < WIDTH {
                break;
            }
            let (bytes, tile) = (row.concat(), make_frontier(row));
            row.clear();
            let shift = HEIGHT * (u32::try_from(level).unwrap_or(u32::MAX) + 1);
            let number = self.size.checked_shr(shift).unwrap_or(0).saturating_sub(1);
            if let Some(folder) = self.folder {
                folder.write_full(&level.to_string(), number, &bytes)?;
            }
            hash = tile.root();
        }
        Ok(())
    }

    /// Writes the tiles that are not full.
    fn finish_tiles(&self) -> Result<(), WitnessFault> {
        let Some(folder) = self.folder else { return Ok(()) };
        for (level, row) in self.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            let shift = HEIGHT * u32::try_from(level).unwrap_or(u32::MAX);
            let number = self.size.checked_shr(shift).unwrap_or(0) / WIDTH;
            let name = name_partial(&level.to_string(), number, row.len() as u64);
            folder.write_file(&name, &row.concat())?;
        }
        match self.size % WIDTH {
            0 => Ok(()),
            width => folder.write_file(&name_partial("entries", self.size / WIDTH, width), &self.entries),
        }
    }

    /// The root of the tree. The rows are the digits of its size, each with its complete subtrees.
    fn root(&self) -> Option<TreeHash> {
        let mut bytes = self.size.to_be_bytes().to_vec();
        for row in self.rows.iter().rev() {
            bytes.extend(make_frontier(row).to_bytes().get(8..)?);
        }
        Frontier::from_bytes(&bytes).ok().map(|tree| tree.root())
    }
}

fn make_frontier(row: &[TreeHash]) -> Frontier {
    let mut tree = Frontier::new();
    row.iter().for_each(|hash| tree.push(*hash));
    tree
}

fn make_fault(path: &std::path::Path, error: &std::io::Error) -> WitnessFault {
    WitnessFault::Folder(system::report_unwritten(path, "a file of tiles", error).words)
}

/// The path of a full tile of a level, or of a bundle of entries.
fn name_full(kind: &str, number: u64) -> String {
    let mut path = format!("{:03}", number % 1000);
    let mut rest = number / 1000;
    while rest > 0 {
        path = format!("x{:03}/{path}", rest % 1000);
        rest /= 1000;
    }
    format!("tile/{kind}/{path}")
}

/// The path of a tile with fewer hashes.
fn name_partial(kind: &str, number: u64, width: u64) -> String {
    format!("{}.p/{width}", name_full(kind, number))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use systole_core::types::ids::{Digest, Key, MessageId, Name, ThreadId};
    use systole_core::types::ports::{FoldRow, LogFault, LogOpening};
    use systole_core::types::record::{Header, Record, RecordKind, head_zero};
    use systole_core::types::time::Millis;
    use systole_proof::key::{SignatureKind, SignerKey};

    #[test]
    fn a_tile_has_the_path_of_the_format() {
        assert_eq!(name_full("0", 1_234_067), "tile/0/x001/x234/067");
        assert_eq!(name_full("entries", 0), "tile/entries/000");
        assert_eq!(name_partial("1", 5, 17), "tile/1/005.p/17");
    }
    /// A log with so many records, of which only reading in order works.
    struct Records(Vec<Record>);

    impl LogReader for Records {
        fn read_opening(&self) -> Result<LogOpening, LogFault> {
            unreachable!()
        }
        fn read_last(&self) -> Result<Position, LogFault> {
            Ok(Position(self.0.len() as u64))
        }
        fn read_row(&self, _: &ThreadId) -> Result<Option<FoldRow>, LogFault> {
            unreachable!()
        }
        fn of_thread(&self, _: &ThreadId, _: u64, _: usize) -> Result<Vec<(Position, Record)>, LogFault> {
            unreachable!()
        }
        fn read_after(&self, at: Position, limit: usize) -> Result<Vec<(Position, Record)>, LogFault> {
            let from = usize::try_from(at.0).unwrap();
            let rest = self.0.iter().enumerate().skip(from).take(limit);
            Ok(rest.map(|(place, record)| (Position(place as u64 + 1), record.clone())).collect())
        }
        fn by_key(&self, _: &ThreadId, _: &Name, _: &Key) -> Result<Option<(Position, Record)>, LogFault> {
            unreachable!()
        }
        fn list_threads(&self, _: usize) -> Result<Vec<ThreadId>, LogFault> {
            unreachable!()
        }
        fn threads_like(&self, _: &str, _: usize) -> Result<Vec<ThreadId>, LogFault> {
            unreachable!()
        }
        fn read_document(&self, _: Digest) -> Result<Option<Arc<[u8]>>, LogFault> {
            unreachable!()
        }
    }

    fn records(count: u64, body: &str) -> Records {
        let record = |seq| {
            let header = Header {
                thread: ThreadId::new_sys(),
                seq,
                id: MessageId([1; 16]),
                kind: RecordKind::Message,
                from: Name::new_core(),
                to: None,
                call: None,
                turn: None,
                ordinal: None,
                cause: None,
                key: None,
                origin: None,
                time: Millis(0),
                config: Digest([1; 32]),
                code: None,
            };
            header.seal_record(Arc::from(body.as_bytes()), [7; 16], head_zero(&ThreadId::new_sys()))
        };
        Records((1..=count).map(record).collect())
    }

    fn signed(log: &Records, size: usize) -> SignedCheckpoint {
        let key = SignerKey::generate("example.org/log", SignatureKind::Plain, &[3; 32]).unwrap();
        let leaves: Vec<TreeHash> = log.0[..size].iter().map(|record| record.leaf.0).collect();
        let root = make_frontier(&leaves).root();
        let checkpoint = Checkpoint::new("example.org/log", size as u64, root).unwrap();
        SignedCheckpoint::sign_with(checkpoint, &key).unwrap()
    }

    /// The leaves that a reader of the folder computes from the entries.
    fn leaves(folder: &Path, size: u64) -> Vec<TreeHash> {
        let mut leaves = Vec::new();
        for number in 0..size.div_ceil(WIDTH) {
            let width = (size - number * WIDTH).min(WIDTH);
            let name = if width == WIDTH {
                name_full("entries", number)
            } else {
                name_partial("entries", number, width)
            };
            let bytes = fs::read(folder.join(name)).unwrap();
            let mut rest = bytes.as_slice();
            while let Some((length, after)) = rest.split_first_chunk::<2>() {
                let (entry, next) = after.split_at(usize::from(u16::from_be_bytes(*length)));
                leaves.push(hash_leaf(entry));
                rest = next;
            }
        }
        leaves
    }

    #[test]
    fn tiles_grow_with_the_log_and_lead_to_its_root() {
        let folder = tempfile::tempdir().unwrap();
        let (at, log) = (folder.path().join("kept"), records(700, "<a/>"));
        let tiles = TileFolder::new(at.clone());
        for size in [1, 200, 256, 257, 511, 512, 700] {
            let checkpoint = signed(&log, size);
            tiles.put_checkpoint(&checkpoint, &log).unwrap();
            let found = leaves(&at, size as u64);
            assert_eq!(found.len(), size);
            assert_eq!(make_frontier(&found).root(), *checkpoint.checkpoint().root(), "{size}");
            let stored = fs::read_to_string(at.join("checkpoint")).unwrap();
            assert_eq!(stored, checkpoint.to_string());
        }
        assert_eq!(fs::read(at.join("tile/1/000.p/2")).unwrap().len(), 64, "the level above");
        let first: Vec<TreeHash> = log.0[..256].iter().map(|record| record.leaf.0).collect();
        assert_eq!(fs::read(at.join("tile/0/000")).unwrap(), first.concat());
        assert!(!at.join("tile/0/000.p").exists(), "parts of a full tile are gone");

        // A file that someone changed is made again; a checkpoint of a longer or another log is refused.
        fs::write(at.join("tile/1/000.p/2"), [9; 64]).unwrap();
        tiles.put_checkpoint(&signed(&log, 700), &log).unwrap();
        assert_eq!(make_frontier(&leaves(&at, 700)).root(), *signed(&log, 700).checkpoint().root());
        let before = fs::read(at.join("checkpoint")).unwrap();
        let fewer = tiles.put_checkpoint(&signed(&log, 500), &log);
        assert_eq!(fewer, Err(WitnessFault::Ahead { size: 700, records: 500 }));
        assert!(matches!(
            tiles.put_checkpoint(&signed(&records(700, "<b/>"), 700), &log),
            Err(WitnessFault::Log(_))
        ));
        for size in [700, 800] {
            let others = records(size, "<b/>");
            let other = tiles.put_checkpoint(&signed(&others, usize::try_from(size).unwrap()), &others);
            assert_eq!(other, Err(WitnessFault::OtherHistory { size: 700 }), "{size}");
        }
        assert_eq!(make_frontier(&leaves(&at, 700)).root(), *signed(&log, 700).checkpoint().root());
        assert_eq!(fs::read(at.join("checkpoint")).unwrap(), before);
        fs::write(at.join("checkpoint"), "another page").unwrap();
        assert!(matches!(tiles.put_checkpoint(&signed(&log, 700), &log), Err(WitnessFault::Folder(_))));
    }
}
