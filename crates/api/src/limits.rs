//! The limits that both ends of the HTTP door know.

/// Records, threads, requests or hits of one part, if no number is given.
pub const ENTRIES: usize = 100;
/// Records, threads, requests, hits or links of one part at most.
pub const MOST_ENTRIES: usize = 1_000;
/// Ids of one answer at most.
pub const MOST_IDS: usize = 1_000_000;
/// Columns of the names of fields.
pub(crate) const FIELD_COLUMNS: usize = 11;
