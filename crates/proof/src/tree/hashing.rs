//! The hashes of a tree, and what is wrong with a position, a proof or a size.

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::limits;

/// A hash of the tree: of a leaf, of a subtree, or the root.
pub type TreeHash = [u8; 32];

/// What is wrong with a position, a proof or a stored frontier.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TreeFault {
    /// A tree of this size is refused.
    #[error("a tree of {0} leaves is too large: {most} at most", most = limits::TREE_SIZE)]
    TooLarge(u64),
    /// The leaf is not in the tree.
    #[error("leaf {index} is not in a tree of {size} leaves")]
    NoSuchLeaf {
        /// The leaf, counted from 0.
        index: u64,
        /// The leaves of the tree.
        size: u64,
    },
    /// The older tree is larger than the newer one.
    #[error("the old tree has {old} leaves, more than the {new} of the new one")]
    Shrinks {
        /// The leaves of the older tree.
        old: u64,
        /// The leaves of the newer tree.
        new: u64,
    },
    /// Leaves ended before the tree was complete.
    #[error("{seen} leaves came, and the tree has {size}")]
    TooFewLeaves {
        /// The leaves that came.
        seen: u64,
        /// The leaves of the tree.
        size: u64,
    },
    /// A proof of these sizes has another number of hashes.
    #[error("the proof has {found} hashes, and a proof of these sizes has {expected}")]
    WrongLength {
        /// The hashes that it has.
        found: usize,
        /// The hashes that it should have.
        expected: usize,
    },
    /// The hashes lead to another root than the given one.
    #[error("the proof leads to another root of the tree of {0} leaves")]
    WrongRoot(u64),
    /// The bytes are no frontier.
    #[error("a frontier of {size} leaves has {expected} bytes, and these are {found}")]
    NotAFrontier {
        /// The leaves that the bytes name.
        size: u64,
        /// The bytes of a frontier of this size.
        expected: usize,
        /// The bytes that came.
        found: usize,
    },
}

/// The root of the tree without leaves: the hash of nothing.
#[must_use]
pub fn compute_empty_root() -> TreeHash {
    Sha256::digest([]).into()
}

/// The hash of a leaf with this entry. A record's `leaf` is already such a hash, of `header ‖ commitment`.
#[must_use]
pub fn hash_leaf(entry: &[u8]) -> TreeHash {
    Sha256::new().chain_update([0]).chain_update(entry).finalize().into()
}

/// The hash of the node above two subtrees.
pub(super) fn hash_node(left: &TreeHash, right: &TreeHash) -> TreeHash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// The leaves that the left half of a tree has: the largest power of two below the size, which is at least 2.
pub(super) fn compute_left_half(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

pub(super) fn check_size(size: u64) -> Result<(), TreeFault> {
    if size > limits::TREE_SIZE { Err(TreeFault::TooLarge(size)) } else { Ok(()) }
}
