//! One proof for many leaves: the roots of the subtrees that have none of them, from the left. It is much smaller than
//! a proof for each leaf, because leaves that are near each other share their way to the root.

use std::ops::Range;

use super::{TreeFault, TreeHash, check_size, compute_empty_root, compute_left_half, hash_node};

/// The subtrees whose roots prove that these leaves are in a tree: the largest ones that have none of them, from the
/// left. The leaves are in order, each once.
///
/// # Errors
/// If the tree is too large, does not have a leaf, or the leaves are not in order.
pub fn list_batch_ranges(leaves: &[u64], size: u64) -> Result<Vec<Range<u64>>, TreeFault> {
    check_size(size)?;
    check_order(leaves.iter().copied(), size)?;
    let mut found = Vec::new();
    gather_ranges(0..size, leaves, &mut found);
    Ok(found)
}

fn gather_ranges(around: Range<u64>, leaves: &[u64], found: &mut Vec<Range<u64>>) {
    let size = around.end - around.start;
    if size == 0 || (size == 1 && !leaves.is_empty()) {
        return;
    }
    if leaves.is_empty() {
        return found.push(around);
    }
    let middle = around.start + compute_left_half(size);
    let (left, right) = leaves.split_at(leaves.partition_point(|leaf| *leaf < middle));
    gather_ranges(around.start..middle, left, found);
    gather_ranges(middle..around.end, right, found);
}

/// The root of a tree of that size, from some of its leaves, in order, and the proof for them.
///
/// # Errors
/// If the leaves are not in order or not in the tree, or the proof has another number of hashes.
pub fn compute_batch_root(
    leaves: &[(u64, TreeHash)],
    size: u64,
    hashes: &[TreeHash],
) -> Result<TreeHash, TreeFault> {
    let numbers: Vec<u64> = leaves.iter().map(|(number, _)| *number).collect();
    let expected = list_batch_ranges(&numbers, size)?.len();
    if hashes.len() != expected {
        return Err(TreeFault::WrongLength { found: hashes.len(), expected });
    }
    if size == 0 {
        return Ok(compute_empty_root());
    }
    let root = compute_root(0..size, leaves, &mut hashes.iter());
    root.ok_or(TreeFault::WrongLength { found: hashes.len(), expected })
}

fn compute_root<'a>(
    around: Range<u64>,
    leaves: &[(u64, TreeHash)],
    given: &mut impl Iterator<Item = &'a TreeHash>,
) -> Option<TreeHash> {
    let Some((_, first)) = leaves.first() else { return given.next().copied() };
    let size = around.end - around.start;
    if size == 1 {
        return Some(*first);
    }
    let middle = around.start + compute_left_half(size);
    let (left, right) = leaves.split_at(leaves.partition_point(|(leaf, _)| *leaf < middle));
    let left = compute_root(around.start..middle, left, given)?;
    Some(hash_node(&left, &compute_root(middle..around.end, right, given)?))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Frontier, ProofBuilder};

    fn leaf(number: u64) -> TreeHash {
        let mut leaf = [0; 32];
        leaf[..8].copy_from_slice(&number.to_be_bytes());
        leaf
    }

    #[test]
    fn every_choice_of_leaves_of_every_small_tree_leads_to_its_root() {
        for size in 0..=9_u64 {
            let mut tree = Frontier::new();
            (0..size).for_each(|number| tree.push(leaf(number)));
            for choice in 0..1_u64 << size {
                let chosen: Vec<u64> = (0..size).filter(|number| choice >> number & 1 == 1).collect();
                let mut builder = ProofBuilder::new_batch(&chosen, size).unwrap();
                (0..size).for_each(|number| builder.push(leaf(number)));
                let proof = builder.finish().unwrap();
                let leaves: Vec<_> = chosen.iter().map(|number| (*number, leaf(*number))).collect();
                assert_eq!(
                    compute_batch_root(&leaves, size, &proof),
                    Ok(tree.root()),
                    "{chosen:?} of {size}"
                );
                // Another leaf, another place or another hash leads elsewhere.
                for at in 0..leaves.len() {
                    let mut other = leaves.clone();
                    other[at].1[31] ^= 1;
                    assert_ne!(compute_batch_root(&other, size, &proof), Ok(tree.root()));
                    let mut other = leaves.clone();
                    other[at].0 += 1;
                    assert_ne!(compute_batch_root(&other, size, &proof), Ok(tree.root()));
                }
                for at in 0..proof.len() {
                    let mut other = proof.clone();
                    other[at][0] ^= 1;
                    assert_ne!(compute_batch_root(&leaves, size, &other), Ok(tree.root()));
                    other.remove(at);
                    assert!(compute_batch_root(&leaves, size, &other).is_err());
                }
            }
        }
    }

    #[test]
    fn leaves_out_of_order_or_out_of_the_tree_are_refused() {
        for wrong in [&[1, 0][..], &[1, 1], &[5], &[u64::MAX]] {
            assert!(list_batch_ranges(wrong, 5).is_err(), "{wrong:?}");
        }
        assert!(list_batch_ranges(&[], u64::MAX).is_err());
        assert_eq!(list_batch_ranges(&[0], 1 << 62).unwrap().len(), 62);
    }
}
