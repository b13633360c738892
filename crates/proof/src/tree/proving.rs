//! Making proofs: which subtrees a proof consists of, and their hashes in one pass over the leaves.

use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

use super::{
    Frontier, TreeFault, TreeHash, check_size, compute_empty_root, compute_left_half, list_batch_ranges,
};

/// The subtrees whose roots prove that a leaf is in a tree, in the order of the proof: from the leaf up.
///
/// # Errors
/// If the tree is too large or does not have the leaf.
pub fn list_inclusion_ranges(index: u64, size: u64) -> Result<Vec<Range<u64>>, TreeFault> {
    check_size(size)?;
    if index >= size {
        return Err(TreeFault::NoSuchLeaf { index, size });
    }
    let (mut found, mut around) = (Vec::new(), 0..size);
    while around.end - around.start > 1 {
        let middle = around.start + compute_left_half(around.end - around.start);
        if index < middle {
            found.push(middle..around.end);
            around.end = middle;
        } else {
            found.push(around.start..middle);
            around.start = middle;
        }
    }
    found.reverse();
    Ok(found)
}

/// The subtrees whose roots prove that a tree continues an older one, in the order of the proof. There are none if
/// the older tree is empty or the same.
///
/// # Errors
/// If the newer tree is too large, or smaller than the older one.
pub fn list_consistency_ranges(old: u64, new: u64) -> Result<Vec<Range<u64>>, TreeFault> {
    check_size(new)?;
    if old > new {
        return Err(TreeFault::Shrinks { old, new });
    }
    if old == 0 {
        return Ok(Vec::new());
    }
    let (mut found, mut around) = (Vec::new(), 0..new);
    while around.end != old {
        let middle = around.start + compute_left_half(around.end - around.start);
        if old <= middle {
            found.push(middle..around.end);
            around.end = middle;
        } else {
            found.push(around.start..middle);
            around.start = middle;
        }
    }
    // Only a subtree that is not the whole older tree is unknown to those who have its root.
    if around.start > 0 {
        found.push(around);
    }
    found.reverse();
    Ok(found)
}

/// A proof that is made while the leaves pass by. Several can be made in the same pass.
#[derive(Debug)]
pub struct ProofBuilder {
    size: u64,
    seen: u64,
    /// The subtrees that are still to come, from the left, each with its place in the proof.
    wanted: Peekable<IntoIter<(usize, Range<u64>)>>,
    /// The part of the current subtree that has passed.
    current: Frontier,
    proof: Vec<TreeHash>,
}

impl ProofBuilder {
    /// Begins the proof that a leaf is in the tree of `size` leaves.
    ///
    /// # Errors
    /// If the tree is too large or does not have the leaf.
    pub fn new_inclusion(index: u64, size: u64) -> Result<Self, TreeFault> {
        Ok(Self::from_ranges(list_inclusion_ranges(index, size)?, size))
    }

    /// Begins the proof that the tree of `new` leaves continues that of `old` leaves.
    ///
    /// # Errors
    /// If the newer tree is too large, or smaller than the older one.
    pub fn new_consistency(old: u64, new: u64) -> Result<Self, TreeFault> {
        Ok(Self::from_ranges(list_consistency_ranges(old, new)?, new))
    }

    /// Begins the proof that the tree of `new` leaves continues a known one: only the leaves after that one have to be
    /// pushed.
    ///
    /// # Errors
    /// If the newer tree is too large, or smaller than the known one.
    pub fn new_consistency_after(old: &Frontier, new: u64) -> Result<Self, TreeFault> {
        let mut builder = Self::new_consistency(old.size(), new)?;
        // A subtree of such a proof that lies in the older tree is one of its complete subtrees.
        for (range, root) in old.list_subtrees() {
            let is_here = |wanted: &(usize, Range<u64>)| wanted.1 == range;
            if let Some((place, _)) = builder.wanted.next_if(is_here)
                && let Some(hash) = builder.proof.get_mut(place)
            {
                *hash = root;
            }
        }
        builder.seen = old.size();
        Ok(builder)
    }

    /// Begins the proof that these leaves are in the tree of `size` leaves. They are in order, each once.
    ///
    /// # Errors
    /// If the tree is too large, does not have a leaf, or the leaves are not in order.
    pub fn new_batch(leaves: &[u64], size: u64) -> Result<Self, TreeFault> {
        Ok(Self::from_ranges(list_batch_ranges(leaves, size)?, size))
    }

    fn from_ranges(ranges: Vec<Range<u64>>, size: u64) -> Self {
        let proof = vec![compute_empty_root(); ranges.len()];
        let mut wanted: Vec<_> = ranges.into_iter().enumerate().collect();
        wanted.sort_unstable_by_key(|(_, range)| range.start);
        Self { size, seen: 0, wanted: wanted.into_iter().peekable(), current: Frontier::new(), proof }
    }

    /// Takes the next leaf. Leaves after the last one of the tree change nothing.
    pub fn push(&mut self, leaf: TreeHash) {
        let at = self.seen;
        self.seen += 1;
        if !self.wanted.peek().is_some_and(|(_, range)| range.contains(&at)) {
            return;
        }
        self.current.push(leaf);
        if let Some((place, _)) = self.wanted.next_if(|(_, range)| range.end == at + 1) {
            if let Some(hash) = self.proof.get_mut(place) {
                *hash = self.current.root();
            }
            self.current = Frontier::new();
        }
    }

    /// The proof.
    ///
    /// # Errors
    /// If not all leaves of the tree have passed.
    pub fn finish(self) -> Result<Vec<TreeHash>, TreeFault> {
        if self.seen < self.size {
            return Err(TreeFault::TooFewLeaves { seen: self.seen, size: self.size });
        }
        Ok(self.proof)
    }
}
