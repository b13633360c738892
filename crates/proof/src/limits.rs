//! The bounds of everything that is read. Input beyond a bound is refused before it is decoded.

/// Largest tree, in leaves. Up to this size every consistency proof has at most [`PROOF_HASHES`] hashes.
pub const TREE_SIZE: u64 = 1 << 62;
/// Most hashes of a proof. The witness protocol allows no more lines in a request.
pub const PROOF_HASHES: usize = 63;
/// Longest name of a key, and longest origin, in bytes.
pub const NAME_BYTES: usize = 255;
/// Longest key in text, in bytes.
pub const KEY_BYTES: usize = 1 << 10;
/// Longest text of a note, in bytes.
pub const TEXT_BYTES: usize = 16 << 10;
/// Largest note with its signatures, in bytes: sixteen post-quantum signatures of 5,000 bytes fit.
pub const NOTE_BYTES: usize = 256 << 10;
/// Most signatures of a note.
pub const SIGNATURES: usize = 100;
/// Largest extra part of a proof file, in bytes.
pub const EXTRA_BYTES: usize = 64 << 10;
/// Largest proof file, in bytes: a note, the extra part in base64 and the hashes.
pub const PROOF_FILE_BYTES: usize = 512 << 10;
/// Largest request to a witness, in bytes: a note and the hashes.
pub const REQUEST_BYTES: usize = 512 << 10;
/// Largest policy, in bytes.
pub const POLICY_BYTES: usize = 256 << 10;
/// Most lines of a policy.
pub const POLICY_LINES: usize = 1_000;
/// Most logs, most witnesses and most groups of a policy. A note has room for one signature of each witness.
pub const POLICY_ENTRIES: usize = 64;
