//! Reads a zip file of ours from a stranger: only names that the caller knows, each once, none larger than the caller
//! allows, and every byte of the file accounted for.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result, Seek as _, SeekFrom};
use std::path::Path;

use super::crc::Crc;
use super::{ArchiveEntry, CENTRAL_BYTES, END_BYTES, LOCAL_BYTES, write_central, write_end, write_local};

/// A zip file whose directory was read and fits.
pub struct ArchiveReader {
    file: File,
    entries: Vec<ArchiveEntry>,
}

/// The bytes of an entry. The end of another checksum is an error.
pub struct EntryReader<'a> {
    file: &'a File,
    left: u64,
    crc: Crc,
    wanted: u32,
    name: &'a str,
}

fn build_fault(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, why.into())
}

fn read_number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn read_short(bytes: &[u8], at: usize) -> usize {
    bytes.get(at..at + 2).and_then(|two| two.try_into().ok()).map_or(0, |two| u16::from_le_bytes(two).into())
}

impl ArchiveReader {
    /// Opens an archive whose names are among these, each with its most bytes. `InvalidData` says that it is
    /// another one.
    pub fn open(path: &Path, known: &[(&str, u64)]) -> Result<ArchiveReader> {
        let mut file = File::open(path)?;
        let all = file.metadata()?.len();
        // No name is long, so neither is the directory.
        let longest = known.iter().map(|(name, _)| CENTRAL_BYTES + name.len()).sum::<usize>() as u64;
        let tail = all.min(longest + END_BYTES as u64);
        file.seek(SeekFrom::Start(all - tail))?;
        let mut bytes = Vec::new();
        (&file).take(tail).read_to_end(&mut bytes)?;
        let other = || build_fault("it is no export: it does not end like the zip file of one");
        let start = bytes.len().checked_sub(END_BYTES).ok_or_else(other)?;
        let last = bytes.get(start..).unwrap_or_default();
        let (count, size, offset) =
            (read_short(last, 10), read_number(last, 12) as usize, read_number(last, 16));
        let directory = start.checked_sub(size).and_then(|from| bytes.get(from..start)).ok_or_else(other)?;
        let is_end = last == write_end(count, size, offset).as_slice();
        if !is_end || u64::from(offset) + (size + END_BYTES) as u64 != all {
            return Err(other());
        }
        let mut archive = ArchiveReader { file, entries: Vec::new() };
        archive.read_directory(directory, count, offset, known)?;
        Ok(archive)
    }

    fn read_directory(
        &mut self,
        mut rest: &[u8],
        count: usize,
        end: u32,
        known: &[(&str, u64)],
    ) -> Result<()> {
        let mut at = 0_u64;
        for _ in 0..count {
            let name = rest.get(CENTRAL_BYTES..).and_then(|after| after.get(..read_short(rest, 28)));
            let name = name.and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default();
            let Some((known, most)) = known.iter().find(|(known, _)| *known == name) else {
                return Err(build_fault("it has an entry that is not part of an export"));
            };
            if self.entries.iter().any(|entry| entry.name == *known) {
                return Err(build_fault(format!("{known} is in it twice")));
            }
            let (crc, size, offset) = (read_number(rest, 16), read_number(rest, 24), read_number(rest, 42));
            let is_program = read_number(rest, 38) >> 16 == 0o100_755;
            let entry = ArchiveEntry { name: (*known).to_owned(), crc, size, offset, is_program };
            let line = write_central(&entry);
            rest = rest.strip_prefix(line.as_slice()).ok_or_else(|| {
                build_fault(format!("{known} is compressed, or was not written by systole export"))
            })?;
            if u64::from(size) > *most {
                return Err(build_fault(format!("{known} has {size} bytes: {most} at most")));
            }
            let header = write_local(&entry);
            if u64::from(offset) != at || self.read_bytes(at, header.len())? != header {
                return Err(build_fault(format!("{known} is not where the directory of the zip file says")));
            }
            at += (header.len() as u64) + u64::from(size);
            self.entries.push(entry);
        }
        if !rest.is_empty() || at != u64::from(end) {
            return Err(build_fault("the zip file has bytes that belong to no entry"));
        }
        Ok(())
    }

    fn read_bytes(&mut self, at: u64, length: usize) -> Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::with_capacity(length);
        (&self.file).take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Whether it has this entry.
    pub fn has_entry(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Reads an entry, one at a time. `InvalidData` if it is missing.
    pub fn open_entry(&mut self, name: &str) -> Result<EntryReader<'_>> {
        let found = self.entries.iter().find(|entry| entry.name == name);
        let entry = found.ok_or_else(|| build_fault(format!("{name} is missing")))?;
        let at = u64::from(entry.offset) + (LOCAL_BYTES + entry.name.len()) as u64;
        self.file.seek(SeekFrom::Start(at))?;
        let (left, wanted) = (u64::from(entry.size), entry.crc);
        Ok(EntryReader { file: &self.file, left, crc: Crc::new(), wanted, name: &entry.name })
    }

    /// A whole entry. Its size was bounded when the archive was opened.
    pub fn read_whole(&mut self, name: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_entry(name)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Read for EntryReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let Some(wanted) = buffer.get_mut(..most).filter(|wanted| !wanted.is_empty()) else {
            let is_whole = self.left > 0 || self.crc.sum() == self.wanted;
            return if is_whole {
                Ok(0)
            } else {
                Err(build_fault(format!("{}: its checksum differs", self.name)))
            };
        };
        let count = self.file.read(wanted)?;
        if count == 0 {
            return Err(build_fault(format!("{} is cut off", self.name)));
        }
        self.crc.add_bytes(wanted.get(..count).unwrap_or_default());
        self.left -= count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::ArchiveWriter;
    use super::*;

    const KNOWN: [(&str, u64); 2] = [("a.txt", 100), ("b.txt", 10)];

    fn written(path: &Path) {
        let mut archive = ArchiveWriter::create(path).unwrap();
        for (name, text) in [("a.txt", "first\n".repeat(9)), ("b.txt", String::new())] {
            let mut entry = archive.begin_entry(name, false).unwrap();
            entry.write_all(text.as_bytes()).unwrap();
            entry.finish_entry().unwrap();
        }
        archive.finish().unwrap();
    }

    #[test]
    fn what_was_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.zip");
        written(&path);
        let mut read = ArchiveReader::open(&path, &KNOWN).unwrap();
        assert_eq!(read.names().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
        assert_eq!(read.read_whole("a.txt").unwrap(), "first\n".repeat(9).as_bytes());
        assert_eq!(read.read_whole("b.txt").unwrap(), b"");
        assert!(read.open_entry("c.txt").is_err());
        assert!(ArchiveWriter::create(&path).is_err(), "a file that is there stays");
        assert!(ArchiveReader::open(&path, &KNOWN[..1]).is_err(), "a name that no one expects");
        assert!(ArchiveReader::open(&path, &[("a.txt", 5), KNOWN[1]]).is_err(), "too large");
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.zip");
        written(&path);
        let whole = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut archive = ArchiveReader::open(&path, &KNOWN)?;
            Ok::<_, Error>((archive.read_whole("a.txt")?, archive.read_whole("b.txt")?))
        };
        assert!(read(&whole).is_ok());
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            assert!(read(&changed).is_err(), "byte {at}");
            assert!(read(&whole[..at]).is_err(), "cut at {at}");
        }
        assert!(read(&[&whole[..], b"x"].concat()).is_err());
    }
}
