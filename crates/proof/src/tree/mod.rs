//! The Merkle tree of RFC 6962 and RFC 9162 with SHA-256, over leaf hashes.

mod batch;
mod frontier;
mod hashing;
mod proving;
mod verifying;

pub use batch::{compute_batch_root, list_batch_ranges};
pub use frontier::Frontier;
pub use hashing::{TreeFault, TreeHash, compute_empty_root, hash_leaf};
pub use proving::{ProofBuilder, list_consistency_ranges, list_inclusion_ranges};
pub use verifying::{verify_consistency, verify_inclusion};

use hashing::{check_size, compute_left_half, hash_node};
