//! The limits of exports, erasures and pages.

pub(crate) use systole_core::types::limits::is_own_outage;
pub(crate) use systole_log::limits::BODY_BYTES;

/// Records that are selected from at once.
pub(crate) const BATCH: usize = 64;
/// Milliseconds between two checkpoints that are usual: twice the default of `proof.every`.
pub(crate) const USUAL_GAP_MS: u64 = 2 * 3_600_000;

// Erasing

/// Bytes of a marked value looked for in other texts, and of one that counts inside a word.
pub const SHORTEST: usize = 4;
/// Bytes of a text that goes whole: it is not marked, so a shorter one may be a common word.
pub const SHORTEST_TEXT: usize = 8;
/// Texts of one body that are looked for; the longest are taken.
pub(crate) const MOST_TEXTS: usize = 64;
/// Bytes of a value of which pieces count too.
pub(crate) const LONG_VALUE: usize = 24;
/// Bytes of a piece.
pub(crate) const PIECE: usize = 16;
/// Bytes from the beginning of a piece to that of the next.
pub(crate) const PIECE_STEP: usize = LONG_VALUE - PIECE;

// Pages

/// Bytes of a text that are shown.
pub(crate) const SHOWN_BYTES: usize = 64 << 10;
/// Documents that are shown.
pub(crate) const DOCUMENTS: usize = 200;
/// Depth of an indent.
pub(crate) const INDENTS: usize = 4;
