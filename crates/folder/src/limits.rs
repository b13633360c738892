//! The bounds of reading below a folder. They hold for every file and every walk.

/// Largest file that is read.
pub const FILE_BYTES: usize = 1 << 20;
/// Most files of a walk.
pub const FILES: usize = 20_000;
/// Most names that are read from one folder.
pub const NAMES: usize = 50_000;
/// Deepest folder.
pub const FOLDERS: usize = 64;
/// Largest file of ignore rules.
pub const RULES_BYTES: usize = 64 << 10;
/// Most nearest paths of a missing one.
pub const NEAREST: usize = 5;
/// Bytes at the start of a file in which a zero byte means that it is no text.
pub const BINARY_BYTES: usize = 8 << 10;

// Resolving

/// Attempts if a folder is renamed while a path is resolved.
pub(crate) const RENAME_TRIES: usize = 8;
