//! What leaves a log, and whether it is whole.

pub mod document_use;
pub mod erasing;
pub mod erasures;
pub mod export;
pub mod kinship;
pub mod mismatch;
pub mod verdict;
