//! The first error that a model finds in a payload: its place, what is allowed there, and what to write.

/// The first error in a payload, worded so that its author can fix it from the message alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadFinding {
    /// The root element of the payload, by local name.
    pub element: String,
    /// The path of the error, such as `/search/limit`, `/order/line[2]` or `/search/@mode`.
    pub path: String,
    /// The byte offset of the error in the payload.
    pub offset: usize,
    /// Line of that byte in the payload, from 1.
    pub line: u64,
    /// Column of that byte in the payload, in characters from 1.
    pub column: u64,
    /// The error: `limit: 0 is less than 1, the smallest allowed`.
    pub message: String,
    /// What is allowed there: `limit: whole number, 1 to 100, may be left out`.
    pub expected: String,
    /// The value found, as written, shortened if it is long.
    pub received: String,
    /// The smallest part of the schema that says so, as it is in the schema.
    pub schema: String,
    /// What to write. If it begins with an element, replacing `received` with that element is enough.
    pub fix: String,
}
