//! What an export does not have: a line of `holes.jsonl` for each part of a body that was left out.

use serde::{Deserialize, Serialize};

use super::record_line::ExportedRecord;
use systole_core::types::body_parts::read_holes;

/// Why a part was left out. Only the sender says so; nothing proves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoleReason {
    /// It is erased in the log.
    Erased,
    /// Its schema marks it as sensitive.
    Sensitive,
    /// An expression selected its record.
    Selected,
    /// It is an entry in a journal.
    Journal,
    /// It is an error, which may quote what was refused.
    Error,
    /// It repeats something that was left out.
    Repeat,
    /// It has the hash of something that the export does not have.
    Hash,
}

impl HoleReason {
    /// The reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            HoleReason::Erased => "erased in the log",
            HoleReason::Sensitive => "a sensitive value",
            HoleReason::Selected => "selected by an expression",
            HoleReason::Journal => "a journal entry",
            HoleReason::Error => "an error, which may quote a value",
            HoleReason::Repeat => "repeats what was left out",
            HoleReason::Hash => "has the hash of what is not in the export",
        }
    }
}

/// What is said of a part that no record of an erasure names.
const UNEXPLAINED: &str = "unexplained: it is said to be erased, and no <erased> record says so";

/// A part that was left out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportHole {
    /// The position of its record.
    pub position: u64,
    /// The thread of its record.
    pub thread: String,
    /// The number of its record in the thread.
    pub seq: u64,
    /// The number of the part in the body.
    pub part: usize,
    /// The first byte of the part in the body. It is 0 for part 0, whose bytes are around the others.
    pub at: u64,
    /// How many bytes it had.
    pub length: u64,
    /// Why it was left out. `None` if that is not known.
    pub why: Option<HoleReason>,
    /// Whether it is said to be erased, and no record of an erasure names it.
    #[serde(skip)]
    pub is_unexplained: bool,
}

impl ExportHole {
    /// The holes of a record, in the order of the parts.
    pub fn from_record(record: &ExportedRecord) -> Vec<ExportHole> {
        let holes = read_holes(record.holes.as_bytes(), record.length).unwrap_or_default();
        let in_holes: u64 = holes.iter().map(|hole| u64::from(hole.length)).sum();
        let rest = (0, record.length.saturating_sub(in_holes));
        let values = holes.iter().map(|hole| (u64::from(hole.at), u64::from(hole.length)));
        let places = std::iter::once(rest).chain(values);
        let dropped = record.parts.iter().zip(places).enumerate().filter(|(_, (part, _))| part.is_dropped());
        let hole = |(part, (_, (at, length)))| ExportHole {
            position: record.position,
            thread: record.thread.clone(),
            seq: record.seq,
            part,
            at,
            length,
            why: None,
            is_unexplained: false,
        };
        dropped.map(hole).collect()
    }

    /// Whether the log itself does not have the part.
    pub fn is_of_log(&self) -> bool {
        self.why == Some(HoleReason::Erased)
    }

    /// The hole in words.
    pub fn words(&self) -> String {
        let ExportHole { position, thread, seq, part, at, length, why, is_unexplained } = self;
        let place = if *part == 0 { String::new() } else { format!(" from byte {at}") };
        let why = match why {
            _ if *is_unexplained => format!(": {UNEXPLAINED}"),
            Some(why) => format!(": {}", why.as_str()),
            None => String::new(),
        };
        format!("record {seq} of {thread} at #{position}, part {part}, {length} bytes{place}{why}")
    }
}
