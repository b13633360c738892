//! Hashes, in hex.
//!
//! Bytes come in; SHA-256 in 64 lowercase digits goes out.

use sha2::{Digest as _, Sha256};

pub(crate) fn hash_bytes(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id of the change set that a call asks for: the same in each turn of the call.
pub(crate) fn change_id(thread: &str, call: &str) -> String {
    let whole = hash_bytes(format!("{thread}\0{call}").as_bytes());
    format!("c{}", whole.get(..12).unwrap_or_default())
}
