//! The parties of the tests, with fixed keys, and trees computed as RFC 6962 defines them: by recursion, and with
//! no code of the crate.

use sha2::{Digest, Sha256};
use systole_proof::checkpoint::{Checkpoint, SignedCheckpoint};
use systole_proof::key::{SignatureKind, SignerKey, VerifierKey};
use systole_proof::tree::TreeHash;

pub(crate) const ORIGIN: &str = "example.org/acme";

/// The secret of witness 1.
pub(crate) const WITNESS_SEED: [u8; 32] = [101; 32];

pub(crate) fn log() -> SignerKey {
    SignerKey::generate(ORIGIN, SignatureKind::Plain, &[1; 32]).unwrap()
}

pub(crate) fn witness(number: u8) -> SignerKey {
    let name = format!("witness.example/w{number}");
    SignerKey::generate(&name, SignatureKind::Cosignature, &[100 + number; 32]).unwrap()
}

pub(crate) fn keys(signers: &[&SignerKey]) -> Vec<VerifierKey> {
    signers.iter().map(|signer| signer.verifier().clone()).collect()
}

fn hash(parts: &[&[u8]]) -> TreeHash {
    Sha256::digest(parts.concat()).into()
}

/// The leaf hash of the entry `entry 7`, and so on.
pub(crate) fn leaf(number: u64) -> TreeHash {
    hash(&[&[0], format!("entry {number}").as_bytes()])
}

pub(crate) fn leaves(count: u64) -> Vec<TreeHash> {
    (0..count).map(leaf).collect()
}

/// A number as the place in a list.
pub(crate) fn at(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// The largest power of two below a number.
fn half(count: usize) -> usize {
    let mut power = 1;
    while power * 2 < count {
        power *= 2;
    }
    power
}

pub(crate) fn root(leaves: &[TreeHash]) -> TreeHash {
    match leaves {
        [] => hash(&[]),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(half(leaves.len()));
            hash(&[&[1], &root(left), &root(right)])
        }
    }
}

/// PATH of RFC 6962, 2.1.1.
pub(crate) fn path(index: usize, leaves: &[TreeHash]) -> Vec<TreeHash> {
    if leaves.len() < 2 {
        return Vec::new();
    }
    let middle = half(leaves.len());
    let (left, right) = leaves.split_at(middle);
    let (mut below, beside) = if index < middle {
        (path(index, left), root(right))
    } else {
        (path(index - middle, right), root(left))
    };
    below.push(beside);
    below
}

/// PROOF of RFC 6962, 2.1.2.
pub(crate) fn consistency(old: usize, leaves: &[TreeHash]) -> Vec<TreeHash> {
    if old == 0 { Vec::new() } else { subproof(old, leaves, true) }
}

fn subproof(old: usize, leaves: &[TreeHash], is_known: bool) -> Vec<TreeHash> {
    if old == leaves.len() {
        return if is_known { Vec::new() } else { vec![root(leaves)] };
    }
    let middle = half(leaves.len());
    let (left, right) = leaves.split_at(middle);
    let (mut below, beside) = if old <= middle {
        (subproof(old, left, is_known), root(right))
    } else {
        (subproof(old - middle, right, false), root(left))
    };
    below.push(beside);
    below
}

/// The checkpoint of the tree of so many leaves, signed by the log.
pub(crate) fn checkpoint(size: u64) -> SignedCheckpoint {
    let checkpoint = Checkpoint::new(ORIGIN, size, root(&leaves(size))).unwrap();
    SignedCheckpoint::sign_with(checkpoint, &log()).unwrap()
}
