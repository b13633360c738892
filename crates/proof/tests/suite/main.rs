//! The suite of proofs: published test vectors, other people's implementations in both directions, and changed
//! bytes.
#![cfg(test)]

mod changed_bytes;
mod checkpoints;
mod keys;
mod notes;
mod parties;
mod policies;
mod proof_files;
mod public_log;
mod strangers;
mod trees;
mod witnessing;
