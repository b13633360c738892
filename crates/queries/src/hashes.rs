//! Hashes as people read and type them.

use crate::limits;

/// The beginning of a hash, which is enough to name it. Another text stays as it is if it has no such beginning.
pub fn shorten_hash(hash: &str) -> &str {
    hash.get(..limits::HASH_DIGITS).unwrap_or(hash)
}
