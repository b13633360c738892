//! Proofs over a log: the Merkle tree of its records, signed checkpoints of that tree, the cosignatures of witnesses,
//! and proofs of single records.
//!
//! Everything here works on bytes and values. This crate opens no file and no connection, reads no clock and draws
//! no random number: a caller passes times and seeds. All formats are those of C2SP (<https://c2sp.org>), so that
//! other people's programs read what this crate writes. Notes, proofs, policies and requests may come from
//! strangers: [`limits`] bounds them, and an error names the place that is wrong.

pub mod checkpoint;
pub mod cosignature;
mod encoding;
pub mod key;
pub mod limits;
pub mod note;
pub mod policy;
pub mod proof_file;
pub mod statement;
pub mod tree;
pub mod witness;
