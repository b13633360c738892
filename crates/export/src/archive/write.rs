//! Writes a zip file, entry after entry. The size and the checksum of an entry are set when it ends.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Error, Result, Seek as _, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use systole_core::types::ids::Digest;

use super::crc::Crc;
use super::{ArchiveEntry, write_central, write_end, write_local};

/// A zip file that is being written.
pub struct ArchiveWriter {
    file: BufWriter<File>,
    at: u64,
    entries: Vec<ArchiveEntry>,
}

/// An entry that is being written.
pub struct EntryWriter<'a> {
    archive: &'a mut ArchiveWriter,
    entry: ArchiveEntry,
    begun: u64,
    crc: Crc,
    hash: Sha256,
}

fn report_too_large() -> Error {
    Error::other("it has more than 4 GB, and this zip file cannot have more")
}

impl ArchiveWriter {
    /// Makes a new file that only its owner may read. One that is there stays, and is an error.
    pub fn create(path: &Path) -> Result<ArchiveWriter> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        Ok(ArchiveWriter { file: BufWriter::new(file), at: 0, entries: Vec::new() })
    }

    /// Begins an entry.
    pub fn begin_entry(&mut self, name: &str, is_program: bool) -> Result<EntryWriter<'_>> {
        let offset = u32::try_from(self.at).map_err(|_| report_too_large())?;
        let entry = ArchiveEntry { name: name.to_owned(), crc: 0, size: 0, offset, is_program };
        let header = write_local(&entry);
        self.file.write_all(&header)?;
        self.at += header.len() as u64;
        let begun = self.at;
        Ok(EntryWriter { archive: self, entry, begun, crc: Crc::new(), hash: Sha256::new() })
    }

    /// Writes the directory, and syncs the file.
    pub fn finish(mut self) -> Result<()> {
        let offset = u32::try_from(self.at).map_err(|_| report_too_large())?;
        let directory: Vec<u8> = self.entries.iter().flat_map(write_central).collect();
        self.file.write_all(&directory)?;
        self.file.write_all(&write_end(self.entries.len(), directory.len(), offset))?;
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

impl EntryWriter<'_> {
    /// Ends the entry, and says the SHA-256 of its bytes.
    pub fn finish_entry(mut self) -> Result<Digest> {
        self.entry.crc = self.crc.sum();
        self.entry.size = u32::try_from(self.archive.at - self.begun).map_err(|_| report_too_large())?;
        self.archive.file.seek(SeekFrom::Start(u64::from(self.entry.offset)))?;
        self.archive.file.write_all(&write_local(&self.entry))?;
        self.archive.file.seek(SeekFrom::Start(self.archive.at))?;
        self.archive.entries.push(self.entry);
        Ok(Digest(self.hash.finalize().into()))
    }
}

impl Write for EntryWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let after = self.archive.at + bytes.len() as u64;
        if u32::try_from(after).is_err() {
            return Err(report_too_large());
        }
        self.archive.file.write_all(bytes)?;
        self.archive.at = after;
        self.crc.add_bytes(bytes);
        self.hash.update(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}
