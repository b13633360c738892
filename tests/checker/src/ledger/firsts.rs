//! Things that may occur only once in a log, and where they occurred first.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

/// The first position of everything that may occur only once. The key is half a SHA-256, so a million
/// records cost 24 bytes each and collisions do not occur by accident.
#[derive(Default)]
pub(super) struct FirstPlaces(HashMap<[u8; 16], u64>);

impl FirstPlaces {
    fn mark_parts(parts: &[&str]) -> [u8; 16] {
        let hash = parts.iter().fold(Sha256::new(), |hash, part| {
            // The length before each part keeps ("a", "bc") and ("ab", "c") apart.
            hash.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
        });
        let mut mark = [0; 16];
        mark.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        mark
    }

    pub(super) fn get(&self, parts: &[&str]) -> Option<u64> {
        self.0.get(&FirstPlaces::mark_parts(parts)).copied()
    }

    pub(super) fn forget(&mut self, parts: &[&str]) {
        self.0.remove(&FirstPlaces::mark_parts(parts));
    }

    pub(super) fn put(&mut self, parts: &[&str], position: u64) {
        self.0.entry(FirstPlaces::mark_parts(parts)).or_insert(position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_place_is_kept_and_parts_do_not_run_together() {
        let mut firsts = FirstPlaces::default();
        firsts.put(&["a", "bc"], 1);
        firsts.put(&["a", "bc"], 2);
        assert_eq!(firsts.get(&["a", "bc"]), Some(1));
        assert_eq!(firsts.get(&["ab", "c"]), None);
    }
}
