//! One folder of a file system, and nothing outside it: files are opened and listed below it, and some are never
//! shown.
//!
//! The kernel resolves every path below the open folder (`openat2` with `RESOLVE_BENEATH`), so no link, no `..` and
//! no change between a check and an open leads outside. This crate writes nothing.

mod deny;
pub mod limits;
mod nearest;
mod root;
mod rules;
mod walk;

pub use deny::{DenyFault, DenyList, PathPatterns, check_pattern};
pub use root::{FolderFile, FolderRoot, PathFault, PathFaultKind, is_binary, join_names};
pub use rules::RuleWords;
pub use walk::{HiddenNames, WalkedFiles, WorkBound, walk_files};
