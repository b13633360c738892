//! The limits of what is shown on a terminal.

/// Columns of a line if the terminal's width is unknown.
pub const COLUMNS: usize = 80;
/// Columns of a name: longer ones are cut.
pub const NAME_COLUMNS: usize = 24;
/// Columns before the second line of a row.
pub const INDENT: usize = 4;
/// Bytes of a phrase that is kept: more than any line shows.
pub const PHRASE_BYTES: usize = 4096;
/// Bytes of a tag: anything longer is text.
pub const TAG_BYTES: usize = 512;
