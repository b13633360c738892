//! Zip files with stored entries: written with fixed times, so that the same content gives the same bytes, and read
//! strictly. Nothing is compressed, so an archive cannot grow while it is read.
//!
//! What is read is exactly what `ArchiveWriter` writes: entries one after another, each named once, then their
//! directory, and nothing before, between or after.

mod crc;
mod entry;
mod read;
mod write;

pub use entry::ARCHIVE_BEGINNING;
pub use read::{ArchiveReader, EntryReader};
pub use write::{ArchiveWriter, EntryWriter};

use entry::{ArchiveEntry, CENTRAL_BYTES, END_BYTES, LOCAL_BYTES, write_central, write_end, write_local};
