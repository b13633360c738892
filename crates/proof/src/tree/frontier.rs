//! A growing tree in little memory: leaves go in one after another, size and root come out.

use std::ops::Range;

use super::{TreeFault, TreeHash, check_size, compute_empty_root, hash_node};

/// The roots of the complete subtrees of a tree, from the left: one for each bit that is set in the size.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    roots: Vec<TreeHash>,
}

impl Frontier {
    /// The tree without leaves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next leaf.
    // The size cannot overflow: the largest stored one is 2^62, and no program adds as many leaves again.
    pub fn push(&mut self, leaf: TreeHash) {
        let mut root = leaf;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.roots.pop() {
                root = hash_node(&left, &root);
            }
        }
        self.roots.push(root);
        self.size += 1;
    }

    /// The number of leaves.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root of the tree.
    #[must_use]
    pub fn root(&self) -> TreeHash {
        let above = |right: TreeHash, left: &TreeHash| hash_node(left, &right);
        match self.roots.split_last() {
            Some((last, before)) => before.iter().rev().fold(*last, above),
            None => compute_empty_root(),
        }
    }

    /// The complete subtrees, from the left: their leaves and their roots.
    pub(super) fn list_subtrees(&self) -> impl Iterator<Item = (Range<u64>, TreeHash)> {
        let bits = (0..64).rev().map(|bit| 1_u64 << bit).filter(|bit| self.size & bit != 0);
        let ranges = bits.scan(0, |start, length| {
            let range = *start..*start + length;
            *start = range.end;
            Some(range)
        });
        ranges.zip(self.roots.iter().copied())
    }

    /// The frontier to be stored: the size in 8 bytes, big-endian, and the roots.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.size.to_be_bytes().to_vec();
        bytes.extend(self.roots.iter().flatten());
        bytes
    }

    /// A stored frontier.
    ///
    /// # Errors
    /// If the size is too large, or the bytes are not those of a frontier of this size. Changed hashes cannot be
    /// noticed here: compare the root with a checkpoint.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TreeFault> {
        let fault = |size, expected| TreeFault::NotAFrontier { size, expected, found: bytes.len() };
        let (size, rest) = bytes.split_first_chunk().ok_or_else(|| fault(0, 8))?;
        let size = u64::from_be_bytes(*size);
        check_size(size)?;
        let (roots, after) = rest.as_chunks::<32>();
        let expected = size.count_ones() as usize;
        if roots.len() != expected || !after.is_empty() {
            return Err(fault(size, 8 + 32 * expected));
        }
        Ok(Self { size, roots: roots.to_vec() })
    }
}
