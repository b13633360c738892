//! One proof for many leaves: the roots of the subtrees that have none of them, from the left. It is much smaller than
//! a proof for each leaf, because leaves that are near each other share their way to the root.

use std::ops::Range;

use super::{TreeFault, TreeHash, check_size, empty_root, left_half, node_hash};

/// The subtrees whose roots prove that these leaves are in a tree: the largest ones that have none of them, from the
/// left. The leaves are in order, each once.
///
/// # Errors
/// If the tree is too large, does not have a leaf, or the leaves are not in order.
pub fn batch_ranges(leaves: &[u64], size: u64) -> Result<Vec<Range<u64>>, TreeFault> {
    check_size(size)?;
    check_order(leaves.iter().copied(), size)?;
    let mut found = Vec::new();
    gather(0..size, leaves, &mut found);
    Ok(found)
}

fn gather(around: Range<u64>, leaves: &[u64], found: &mut Vec<Range<u64>>) {
    let size = around.end - around.start;
    if size == 0 || (size == 1 && !leaves.is_empty()) {
        return;
    }
    if leaves.is_empty() {
        return found.push(around);
    }
    let middle = around.start + left_half(size);
    let (left, right) = leaves.split_at(leaves.partition_point(|leaf| *leaf < middle));
    gather(around.start..middle, left, found);
    gather(middle..around.end, right, found);
}

/// The root of a tree of that size, from some of its leaves, in order, and the proof for them.
///
/// # Errors
/// If the leaves are not in order or not in the tree, or the proof has another number of hashes.
pub fn batch_root(leaves: &[(u64, TreeHash)], size: u64, hashes: &[TreeHash]) -> Result<TreeHash, TreeFault> {
    let numbers: Vec<u64> = leaves.iter().map(|(number, _)| *number).collect();
    let expected = batch_ranges(&numbers, size)?.len();
    if hashes.len() != expected {
        return Err(TreeFault::WrongLength { found: hashes.len(), expected });
    }
    if size == 0 {
        return Ok(empty_root());
    }
    let root = root_of(0..size, leaves, &mut hashes.iter());
    root.ok_or(TreeFault::WrongLength { found: hashes.len(), expected })
}

fn root_of<'a>(
    around: Range<u64>,
    leaves: &[(u64, TreeHash)],
    given: &mut impl Iterator<Item = &'a TreeHash>,
) -> Option<TreeHash> {
    let Some((_, first)) = leaves.first() else { return given.next().copied() };
    let size = around.end - around.start;
    if size == 1 {
        return Some(*first);
    }
    let middle = around.start + left_half(size);
    let (left, right) = leaves.split_at(leaves.partition_point(|(leaf, _)| *leaf < middle));
    let left = root_of(around.start..middle, left, given)?;
    Some(node_hash(&left, &root_of(middle..around.end, right, given)?))
}

fn check_order(leaves: impl Iterator<Item = u64>, size: u64) -> Result<(), TreeFault> {
    let mut next = 0;
    for index in leaves {
        if index < next || index >= size {
            return Err(TreeFault::NoSuchLeaf { index, size });
        }
        next = index + 1;
    }
    Ok(())
}
