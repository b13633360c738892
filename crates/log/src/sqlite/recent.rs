//! A map that remembers recently used keys and forgets the rest, so that a million threads cost no
//! more memory than the few thousand that are awake.

use std::borrow::Borrow;
use std::hash::Hash;

use systole_core::types::fast_maps::FastMap;

/// Holds at least the `room` keys used last, at most twice as many. It has two plain maps instead of a
/// linked list: when the young map is full, it becomes the old one, and the content of the old one is
/// forgotten.
pub(super) struct RecentMap<K, V> {
    young: FastMap<K, V>,
    old: FastMap<K, V>,
    room: usize,
}

impl<K: Eq + Hash, V> RecentMap<K, V> {
    pub(super) fn new(room: usize) -> RecentMap<K, V> {
        RecentMap { young: FastMap::default(), old: FastMap::default(), room }
    }

    pub(super) fn get<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        if !self.young.contains_key(key) {
            let (key, value) = self.old.remove_entry(key)?;
            self.insert(key, value);
        }
        self.young.get_mut(key)
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.room {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    pub(super) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_is_bounded() {
        let mut recent = RecentMap::new(4);
        recent.insert(0_u32, "kept");
        for key in 1..1000 {
            recent.insert(key, "passing");
            assert_eq!(recent.get(&0), Some(&mut "kept"), "used after every insert");
            assert!(recent.young.len() + recent.old.len() <= 8);
        }
        assert_eq!(recent.get(&1), None);
    }
}
