//! A record as this judge reads it, and its hashes, implemented again from the page that defines them.
//!
//! Nothing here trusts a row's own hashes: `leaf` and `head_after` compute what they must be, and the
//! rules compare. The input is the columns of a row; the output is header bytes, leaf and head.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecordHash(pub [u8; 32]);

impl RecordHash {
    /// The hash of some bytes.
    pub fn hash_bytes(bytes: &[u8]) -> RecordHash {
        RecordHash(Sha256::digest(bytes).into())
    }

    /// Reads 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<RecordHash> {
        decode_hex(text).map(RecordHash)
    }
}

impl fmt::Display for RecordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The id of a record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecordId(pub [u8; 16]);

impl RecordId {
    /// Reads the hyphenated form, in lower case.
    pub fn parse(text: &str) -> Option<RecordId> {
        let id = RecordId(decode_hex(&text.replace('-', ""))?);
        (id.to_string() == text).then_some(id)
    }

    /// Whether it is a UUID of version 7, in the variant that has versions.
    pub fn is_v7(self) -> bool {
        let number = u128::from_be_bytes(self.0);
        number >> 76 & 0xf == 7 && number >> 62 & 0b11 == 0b10
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(at, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

fn decode_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * N {
        return None;
    }
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(out)
}

/// What the log keeps of one part of a body besides its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartHash {
    /// Its salt: the bytes are in the body.
    Salt([u8; 16]),
    /// Its commitment: the bytes are erased.
    Commitment(RecordHash),
}

impl PartHash {
    /// Reads the stored form: 16 or 32 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<PartHash> {
        let salt = <[u8; 16]>::try_from(bytes).map(PartHash::Salt);
        salt.or_else(|_| bytes.try_into().map(|hash| PartHash::Commitment(RecordHash(hash)))).ok()
    }

    fn hash_part(&self, part: &[u8]) -> RecordHash {
        match self {
            PartHash::Salt(salt) => hash_tagged(3, &[salt, part]),
            PartHash::Commitment(hash) => *hash,
        }
    }
}

/// One line of the log, with its interned columns as text again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLine {
    /// Its place in the log.
    pub position: u64,
    /// The chain it belongs to.
    pub thread: String,
    /// Its place in that chain, from 1.
    pub seq: u64,
    /// Its id.
    pub id: RecordId,
    /// Its kind.
    pub kind: String,
    /// Who sent it.
    pub from: String,
    /// Its receiver.
    pub to: Option<String>,
    /// The call it belongs to.
    pub call: Option<String>,
    /// The turn of that call.
    pub turn: Option<u32>,
    /// Which item of the turn's reply it is.
    pub ordinal: Option<u32>,
    /// The record that caused it.
    pub cause: Option<RecordId>,
    /// The idempotency key of a message from outside.
    pub key: Option<String>,
    /// In a child's first record, the leaf of the record that spawned it.
    pub origin: Option<RecordHash>,
    /// When it was made, in milliseconds since 1970 in UTC.
    pub time_ms: u64,
    /// The configuration in force.
    pub config: RecordHash,
    /// What it means.
    pub code: Option<String>,
    /// What is known of part 0 of the body.
    pub seal: PartHash,
    /// The sensitive values in the body: first byte, length, and what is known of each.
    pub values: Vec<(u64, u64, PartHash)>,
    /// The head that the row claims for its thread after this record.
    pub head: RecordHash,
    /// The payload.
    pub body: Vec<u8>,
}

impl LogLine {
    /// Whether a part of its body is erased.
    pub fn has_erased(&self) -> bool {
        let mut seals = std::iter::once(&self.seal).chain(self.values.iter().map(|(_, _, seal)| seal));
        seals.any(|seal| matches!(seal, PartHash::Commitment(_)))
    }

    /// The header as it is hashed.
    pub fn write_header(&self) -> Vec<u8> {
        let number = |n: Option<u32>| n.map(|n| n.to_string()).unwrap_or_default();
        let holes: Vec<String> = self.values.iter().map(|(at, length, _)| format!("{at}+{length}")).collect();
        let mut out = Vec::with_capacity(512);
        for field in [
            "systole record v1",
            &self.thread,
            &self.seq.to_string(),
            &self.id.to_string(),
            &self.kind,
            &self.from,
            self.to.as_deref().unwrap_or_default(),
            self.call.as_deref().unwrap_or_default(),
            &number(self.turn),
            &number(self.ordinal),
            &self.cause.map(|id| id.to_string()).unwrap_or_default(),
            self.key.as_deref().unwrap_or_default(),
            &self.origin.map(|hash| hash.to_string()).unwrap_or_default(),
            &write_moment(self.time_ms),
            &self.config.to_string(),
            self.code.as_deref().unwrap_or_default(),
            &self.body.len().to_string(),
            &holes.join(","),
        ] {
            out.extend_from_slice(field.len().to_string().as_bytes());
            out.push(b':');
            out.extend_from_slice(field.as_bytes());
            out.push(b'\n');
        }
        out
    }

    /// The leaf of the record's own bytes.
    pub fn hash_leaf(&self) -> RecordHash {
        let mut rest = Vec::new();
        let mut values = Vec::new();
        let mut end = 0;
        for (at, length, seal) in &self.values {
            let piece = |from: u64, to: u64| {
                let range = usize::try_from(from).ok()?..usize::try_from(to).ok()?;
                self.body.get(range)
            };
            let behind = at.saturating_add(*length);
            rest.extend_from_slice(piece(end, *at).unwrap_or_default());
            values.push(seal.hash_part(piece(*at, behind).unwrap_or_default()));
            end = behind;
        }
        rest.extend_from_slice(
            usize::try_from(end).ok().and_then(|end| self.body.get(end..)).unwrap_or_default(),
        );
        let rest = self.seal.hash_part(&rest);
        let parts: Vec<&[u8]> = std::iter::once(&rest).chain(&values).map(|hash| &hash.0[..]).collect();
        let commitment = hash_tagged(5, &parts);
        hash_tagged(0, &[&self.write_header(), &commitment.0])
    }
}

/// The head of a thread before its first record.
pub fn head_zero(thread: &str) -> RecordHash {
    hash_tagged(2, &[b"systole thread v1", thread.as_bytes()])
}

/// The head of a thread after a record with this leaf.
pub fn head_after(before: RecordHash, leaf: RecordHash) -> RecordHash {
    hash_tagged(2, &[&before.0, &leaf.0])
}

fn hash_tagged(tag: u8, parts: &[&[u8]]) -> RecordHash {
    let hash = parts.iter().fold(Sha256::new().chain_update([tag]), |hash, part| hash.chain_update(part));
    RecordHash(hash.finalize().into())
}

/// The last millisecond that has a text form: RFC 3339 has four digits for the year.
pub const LAST_MOMENT_MS: u64 = 253_402_300_799_999;

/// A moment as records carry it: RFC 3339 with milliseconds, in UTC.
pub fn write_moment(ms: u64) -> String {
    let ms = ms.min(LAST_MOMENT_MS);
    let (mut day, of_day) = (ms / 86_400_000, ms % 86_400_000);
    let mut year = 1970;
    while day >= days_of_year(year) {
        day -= days_of_year(year);
        year += 1;
    }
    let february = days_of_year(year) - 337;
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    format!("{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", day + 1, of_day % 1000)
}

fn days_of_year(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if leap { 366 } else { 365 }
}

/// Reads a moment in the one form in which records carry it.
pub fn read_moment(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second, ms) = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
    let february = days_of_year(year) - 337;
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let earlier = usize::try_from(month.checked_sub(1)?).ok()?;
    let days: u64 = (1970..year).map(days_of_year).sum::<u64>() + months.get(..earlier)?.iter().sum::<u64>();
    let time = ((hour * 60 + minute) * 60 + second) * 1000 + ms;
    let read = (days + day.checked_sub(1)?) * 86_400_000 + time;
    // Any other content of the text shows when it is written again.
    (write_moment(read) == text).then_some(read)
}
