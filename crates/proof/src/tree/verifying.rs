//! Checking proofs, as RFC 9162 (2.1.3.2 and 2.1.4.2) says: from the hashes of a proof up to a known root. The
//! number of hashes is compared first, so the way up always ends at the root.

use super::{
    TreeFault, TreeHash, compute_empty_root, hash_node, list_consistency_ranges, list_inclusion_ranges,
};

/// Checks that a leaf is in the tree with this root.
///
/// # Errors
/// If the tree does not have the leaf, or the proof does not lead from it to the root.
pub fn verify_inclusion(
    leaf: &TreeHash,
    index: u64,
    size: u64,
    proof: &[TreeHash],
    root: &TreeHash,
) -> Result<(), TreeFault> {
    check_length(proof, list_inclusion_ranges(index, size)?.len())?;
    let (mut here, mut last, mut reached) = (index, size - 1, *leaf);
    for hash in proof {
        if is_right_of_it(here, last) {
            reached = hash_node(hash, &reached);
            move_to_right_child(&mut here, &mut last);
        } else {
            reached = hash_node(&reached, hash);
        }
        (here, last) = (here >> 1, last >> 1);
    }
    check_root(reached == *root, size)
}

/// Checks that the tree of `new` leaves continues that of `old` leaves.
///
/// # Errors
/// If the newer tree is smaller, or the proof does not lead to both roots. The tree without leaves needs no proof,
/// but has to have its own root.
pub fn verify_consistency(
    old: u64,
    old_root: &TreeHash,
    new: u64,
    new_root: &TreeHash,
    proof: &[TreeHash],
) -> Result<(), TreeFault> {
    check_length(proof, list_consistency_ranges(old, new)?.len())?;
    check_root(old > 0 || *old_root == compute_empty_root(), old)?;
    if old == new {
        return check_root(old_root == new_root, new);
    }
    if old == 0 {
        return Ok(());
    }
    // The proof begins with the last complete subtree of the older tree; if that is all of it, it is left out.
    let (first, rest) = match proof.split_first() {
        Some((first, rest)) if !old.is_power_of_two() => (first, rest),
        _ => (old_root, proof),
    };
    let complete = (old - 1).trailing_ones();
    let (mut here, mut last) = ((old - 1) >> complete, (new - 1) >> complete);
    let (mut reached_old, mut reached_new) = (*first, *first);
    for hash in rest {
        if is_right_of_it(here, last) {
            reached_old = hash_node(hash, &reached_old);
            reached_new = hash_node(hash, &reached_new);
            move_to_right_child(&mut here, &mut last);
        } else {
            reached_new = hash_node(&reached_new, hash);
        }
        (here, last) = (here >> 1, last >> 1);
    }
    check_root(reached_old == *old_root, old)?;
    check_root(reached_new == *new_root, new)
}

/// Whether the next hash of a proof belongs to the left of the node that was reached: this node is a right child, or
/// the last one of its level.
fn is_right_of_it(here: u64, last: u64) -> bool {
    here & 1 == 1 || here == last
}

/// Goes up through levels in which the node has no sibling.
fn move_to_right_child(here: &mut u64, last: &mut u64) {
    while *here & 1 == 0 && *here != 0 {
        (*here, *last) = (*here >> 1, *last >> 1);
    }
}

fn check_length(proof: &[TreeHash], expected: usize) -> Result<(), TreeFault> {
    if proof.len() == expected {
        Ok(())
    } else {
        Err(TreeFault::WrongLength { found: proof.len(), expected })
    }
}

fn check_root(is_right: bool, size: u64) -> Result<(), TreeFault> {
    if is_right { Ok(()) } else { Err(TreeFault::WrongRoot(size)) }
}
