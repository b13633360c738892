//! An entry of a zip file, and the parts that are written for it.

/// The signatures that begin the parts of a zip file.
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const CENTRAL: [u8; 4] = *b"PK\x01\x02";
const END: [u8; 4] = *b"PK\x05\x06";

/// The bytes of the parts without their names.
pub(super) const LOCAL_BYTES: usize = 30;
pub(super) const CENTRAL_BYTES: usize = 46;
pub(super) const END_BYTES: usize = 22;

/// The version that is needed to read an entry.
const VERSION: u16 = 20;

/// The first day that a zip file can name.
const DATE: u16 = 0x21;

/// How the file of an archive begins.
pub const ARCHIVE_BEGINNING: &[u8] = &LOCAL;

/// An entry: its name, checksum, bytes, and where its header is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ArchiveEntry {
    pub(super) name: String,
    pub(super) crc: u32,
    pub(super) size: u32,
    pub(super) offset: u32,
    pub(super) is_program: bool,
}

/// What is written alike into the header of an entry and into the directory.
fn write_fields(entry: &ArchiveEntry) -> Vec<u8> {
    let mut out = Vec::with_capacity(26);
    for word in [VERSION, 0, 0, 0, DATE] {
        out.extend(word.to_le_bytes());
    }
    for number in [entry.crc, entry.size, entry.size] {
        out.extend(number.to_le_bytes());
    }
    // Names are our own and short.
    out.extend(u16::try_from(entry.name.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend([0, 0]);
    out
}

/// The header of an entry.
pub(super) fn write_local(entry: &ArchiveEntry) -> Vec<u8> {
    [&LOCAL[..], &write_fields(entry), entry.name.as_bytes()].concat()
}

/// The line of an entry in the directory.
pub(super) fn write_central(entry: &ArchiveEntry) -> Vec<u8> {
    // Made on Unix; an ordinary file that all can read, and a program that all can run.
    let made_by = (3_u16 << 8) | VERSION;
    let mode: u32 = if entry.is_program { 0o100_755 } else { 0o100_644 };
    [
        &CENTRAL[..],
        &made_by.to_le_bytes(),
        &write_fields(entry),
        &[0; 6],
        &(mode << 16).to_le_bytes(),
        &entry.offset.to_le_bytes(),
        entry.name.as_bytes(),
    ]
    .concat()
}

/// The end of an archive whose directory of that many bytes begins there.
pub(super) fn write_end(entries: usize, directory: usize, offset: u32) -> Vec<u8> {
    let entries = u16::try_from(entries).unwrap_or(u16::MAX).to_le_bytes();
    let directory = u32::try_from(directory).unwrap_or(u32::MAX).to_le_bytes();
    [&END[..], &[0; 4], &entries, &entries, &directory, &offset.to_le_bytes(), &[0; 2]].concat()
}
