//! The tree: the vectors of Certificate Transparency, a recursive definition, and the crate `tlog_tiles`.

use std::ops::Range;

use proptest::prelude::*;
use systole_proof::limits::{PROOF_HASHES, TREE_SIZE};
use systole_proof::tree::{
    Frontier, ProofBuilder, TreeFault, TreeHash, compute_empty_root, hash_leaf, list_consistency_ranges,
    list_inclusion_ranges, verify_consistency, verify_inclusion,
};
use tlog_tiles::tlog::{self, Hash, HashReader};

use crate::parties::{at, consistency, leaf, leaves, path, root};

const SIZES: Range<u64> = 0..71;

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digit = |place| u8::from_str_radix(&text[place..place + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digit).collect()
}

fn frontier(leaves: &[TreeHash]) -> Frontier {
    let mut frontier = Frontier::new();
    leaves.iter().for_each(|leaf| frontier.push(*leaf));
    frontier
}

fn built(mut builder: ProofBuilder, leaves: &[TreeHash]) -> Vec<TreeHash> {
    leaves.iter().for_each(|leaf| builder.push(*leaf));
    builder.finish().unwrap()
}

fn inclusion(index: u64, leaves: &[TreeHash]) -> Vec<TreeHash> {
    built(ProofBuilder::new_inclusion(index, leaves.len() as u64).unwrap(), leaves)
}

#[test]
fn the_trees_of_certificate_transparency_have_their_roots() {
    let entries =
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    let roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let leaves: Vec<TreeHash> = entries.iter().map(|entry| hash_leaf(&hex(entry))).collect();
    for (size, root) in roots.iter().enumerate() {
        assert_eq!(frontier(&leaves[..size]).root().to_vec(), hex(root), "{size} leaves");
    }
    assert_eq!(compute_empty_root().to_vec(), hex(roots[0]));
}

#[test]
fn roots_and_proofs_are_those_of_the_recursive_definition() {
    for size in SIZES {
        let leaves = leaves(size);
        let top = root(&leaves);
        assert_eq!((frontier(&leaves).size(), frontier(&leaves).root()), (size, top), "{size} leaves");
        for index in 0..size {
            let proof = inclusion(index, &leaves);
            assert_eq!(proof, path(at(index), &leaves), "leaf {index} of {size}");
            verify_inclusion(&leaf(index), index, size, &proof, &top).unwrap();
        }
        for old in 0..=size {
            let proof = built(ProofBuilder::new_consistency(old, size).unwrap(), &leaves);
            assert_eq!(proof, consistency(at(old), &leaves), "{old} to {size}");
            let known = ProofBuilder::new_consistency_after(&frontier(&leaves[..at(old)]), size).unwrap();
            assert_eq!(built(known, &leaves[at(old)..]), proof, "only the leaves after {old} to {size}");
            let old_root = root(&leaves[..at(old)]);
            verify_consistency(old, &old_root, size, &top, &proof).unwrap();
        }
    }
}

/// The hashes that `tlog_tiles` stores.
struct StoredHashes(Vec<Hash>);

impl StoredHashes {
    fn of(leaves: &[TreeHash]) -> Self {
        let mut stored = Self(Vec::new());
        for (number, leaf) in (0..).zip(leaves) {
            let new = tlog::stored_hashes_for_record_hash(number, Hash(*leaf), &stored).unwrap();
            stored.0.extend(new);
        }
        stored
    }
}

impl HashReader for StoredHashes {
    fn read_hashes(&self, places: &[u64]) -> Result<Vec<Hash>, tlog::Error> {
        Ok(places.iter().map(|place| self.0[at(*place)]).collect())
    }
}

fn plain(hashes: &[Hash]) -> Vec<TreeHash> {
    hashes.iter().map(|hash| hash.0).collect()
}

fn theirs(hashes: &[TreeHash]) -> Vec<Hash> {
    hashes.iter().map(|hash| Hash(*hash)).collect()
}

#[test]
fn tlog_tiles_makes_the_same_proofs_and_accepts_ours() {
    for size in SIZES.skip(1) {
        let leaves = leaves(size);
        let stored = StoredHashes::of(&leaves);
        let top = frontier(&leaves).root();
        assert_eq!(tlog::tree_hash(size, &stored).unwrap().0, top, "{size} leaves");
        for index in 0..size {
            let proof = inclusion(index, &leaves);
            assert_eq!(
                plain(&tlog::prove_record(size, index, &stored).unwrap()),
                proof,
                "leaf {index} of {size}"
            );
            tlog::check_record(&theirs(&proof), size, Hash(top), index, Hash(leaf(index))).unwrap();
        }
        for old in 1..=size {
            let proof = built(ProofBuilder::new_consistency(old, size).unwrap(), &leaves);
            assert_eq!(plain(&tlog::prove_tree(size, old, &stored).unwrap()), proof, "{old} to {size}");
            let old_root = frontier(&leaves[..at(old)]).root();
            tlog::check_tree(&theirs(&proof), size, Hash(top), old, Hash(old_root)).unwrap();
        }
    }
}

#[test]
fn a_changed_inclusion_proof_proves_nothing() {
    for size in 1..20 {
        let leaves = leaves(size);
        let top = root(&leaves);
        for index in 0..size {
            let proof = inclusion(index, &leaves);
            let refused = |leaf: TreeHash, index, size, proof: &[TreeHash], top: TreeHash| {
                verify_inclusion(&leaf, index, size, proof, &top).unwrap_err()
            };
            for other in (0..size + 2).filter(|other| *other != index) {
                refused(leaf(index), other, size, &proof, top);
            }
            // A proof says nothing about the size beyond its own shape, so the root decides here.
            let short = [proof.as_slice(), &[top]].concat();
            let expected = TreeFault::WrongLength { found: short.len(), expected: proof.len() };
            assert_eq!(refused(leaf(index), index, size, &short, top), expected);
            assert_eq!(refused(leaf(size), index, size, &proof, top), TreeFault::WrongRoot(size));
            assert_eq!(refused(leaf(index), index, size, &proof, leaf(99)), TreeFault::WrongRoot(size));
            for place in 0..proof.len() {
                let mut changed = proof.clone();
                changed[place][31] ^= 1;
                assert_eq!(refused(leaf(index), index, size, &changed, top), TreeFault::WrongRoot(size));
                changed.remove(place);
                refused(leaf(index), index, size, &changed, top);
            }
        }
    }
}

#[test]
fn a_changed_consistency_proof_proves_nothing() {
    for size in 1..20 {
        let leaves = leaves(size);
        let top = root(&leaves);
        for old in 1..=size {
            let old_root = root(&leaves[..at(old)]);
            let proof = consistency(at(old), &leaves);
            let refused = |old_root: TreeHash, proof: &[TreeHash], top: TreeHash| {
                verify_consistency(old, &old_root, size, &top, proof).unwrap_err()
            };
            refused(leaf(99), &proof, top);
            refused(old_root, &proof, leaf(99));
            refused(old_root, &[proof.as_slice(), &[top]].concat(), top);
            for place in 0..proof.len() {
                let mut changed = proof.clone();
                changed[place][0] ^= 128;
                refused(old_root, &changed, top);
                changed.remove(place);
                refused(old_root, &changed, top);
            }
        }
    }
}

#[test]
fn a_tree_without_leaves_has_one_root_and_needs_no_proof() {
    let top = root(&leaves(3));
    verify_consistency(0, &compute_empty_root(), 0, &compute_empty_root(), &[]).unwrap();
    verify_consistency(0, &compute_empty_root(), 3, &top, &[]).unwrap();
    let fault = |old, old_root: &TreeHash, new, new_root: &TreeHash, proof: &[TreeHash]| {
        verify_consistency(old, old_root, new, new_root, proof).unwrap_err().to_string()
    };
    assert_eq!(
        fault(0, &compute_empty_root(), 0, &top, &[]),
        "the proof leads to another root of the tree of 0 leaves"
    );
    assert_eq!(fault(0, &top, 3, &top, &[]), "the proof leads to another root of the tree of 0 leaves");
    let one_too_many = "the proof has 1 hashes, and a proof of these sizes has 0";
    assert_eq!(fault(0, &compute_empty_root(), 3, &top, &[top]), one_too_many);
    assert_eq!(
        fault(3, &top, 0, &compute_empty_root(), &[]),
        "the old tree has 3 leaves, more than the 0 of the new one"
    );
}

#[test]
fn sizes_are_bounded_and_the_largest_tree_fits_the_protocol() {
    let last = TREE_SIZE - 1;
    assert_eq!(list_inclusion_ranges(last, TREE_SIZE).unwrap().len(), 62);
    assert_eq!(list_consistency_ranges(last, TREE_SIZE).unwrap().len(), PROOF_HASHES);
    for size in [TREE_SIZE + 1, u64::MAX] {
        assert_eq!(list_inclusion_ranges(0, size).unwrap_err(), TreeFault::TooLarge(size));
        assert_eq!(list_consistency_ranges(1, size).unwrap_err(), TreeFault::TooLarge(size));
        verify_inclusion(&leaf(0), 0, size, &[], &leaf(0)).unwrap_err();
        verify_consistency(size, &leaf(0), size, &leaf(0), &[]).unwrap_err();
    }
    assert_eq!(
        verify_inclusion(&leaf(0), 0, 0, &[], &leaf(0)).unwrap_err().to_string(),
        "leaf 0 is not in a tree of 0 leaves"
    );
    assert!(verify_inclusion(&leaf(0), u64::MAX, u64::MAX, &[], &leaf(0)).is_err());
}

#[test]
fn a_stored_frontier_goes_on() {
    for size in SIZES {
        let (before, all) = (leaves(size), leaves(size + 9));
        let mut stored = Frontier::from_bytes(&frontier(&before).to_bytes()).unwrap();
        assert_eq!(stored, frontier(&before));
        all[at(size)..].iter().for_each(|leaf| stored.push(*leaf));
        assert_eq!(stored.root(), root(&all));
    }
}

#[test]
fn a_corrupt_frontier_is_refused() {
    let whole = frontier(&leaves(5)).to_bytes();
    assert_eq!(whole.len(), 8 + 2 * 32);
    for length in 0..whole.len() {
        Frontier::from_bytes(&whole[..length]).unwrap_err();
    }
    let fault = |bytes: &[u8]| Frontier::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(fault(&[]), "a frontier of 0 leaves has 8 bytes, and these are 0");
    assert_eq!(
        fault(&[whole.as_slice(), &[0]].concat()),
        "a frontier of 5 leaves has 72 bytes, and these are 73"
    );
    let mut other = whole.clone();
    other[7] = 7;
    assert_eq!(fault(&other), "a frontier of 7 leaves has 104 bytes, and these are 72");
    assert_eq!(
        fault(&[255; 8]),
        "a tree of 18446744073709551615 leaves is too large: 4611686018427387904 at most"
    );
}

#[test]
fn a_builder_wants_all_leaves_and_no_more() {
    let mut builder = ProofBuilder::new_inclusion(2, 5).unwrap();
    leaves(4).into_iter().for_each(|leaf| builder.push(leaf));
    assert_eq!(builder.finish().unwrap_err().to_string(), "4 leaves came, and the tree has 5");
    assert_eq!(
        ProofBuilder::new_inclusion(5, 5).unwrap_err().to_string(),
        "leaf 5 is not in a tree of 5 leaves"
    );
    assert!(ProofBuilder::new_consistency(6, 5).is_err());
    // The log may have grown since the checkpoint.
    assert_eq!(built(ProofBuilder::new_inclusion(2, 5).unwrap(), &leaves(9)), inclusion(2, &leaves(5)));
}

/// Whether these subtrees are next to each other and reach from the first leaf to the end.
fn is_whole(mut ranges: Vec<Range<u64>>, end: u64) -> bool {
    ranges.sort_by_key(|range| range.start);
    let reached =
        ranges.iter().try_fold(0, |at, range| (range.start == at && range.end > at).then_some(range.end));
    reached == Some(end)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The subtrees of a proof and what the reader has are the whole tree, also in trees that no test can fill.
    #[test]
    fn a_proof_covers_the_whole_tree(size in 1..=TREE_SIZE, bits in 0..62u32, part in any::<u64>()) {
        let size = (size >> bits).max(1);
        let mut ranges = list_inclusion_ranges(part % size, size).unwrap();
        prop_assert!(ranges.len() < PROOF_HASHES);
        ranges.push(part % size..part % size + 1);
        prop_assert!(is_whole(ranges, size));

        let old = part % size + 1;
        let mut ranges = list_consistency_ranges(old, size).unwrap();
        prop_assert!(ranges.len() <= PROOF_HASHES);
        let mut of_old: Vec<Range<u64>> = ranges.iter().filter(|range| range.end <= old).cloned().collect();
        if of_old.is_empty() {
            of_old.push(0..old);
            ranges.push(0..old);
        }
        prop_assert!(is_whole(of_old, old));
        prop_assert!(is_whole(ranges, size));
    }
}
