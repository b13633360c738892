//! Maps and sets for what every hop looks up several times. Their hash is a fast one with a random key for each
//! process; it does not resist an attacker who learns that key, and their keys are ids that no sender chooses freely.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

/// A map with a fast hash.
pub type FastMap<K, V> = HashMap<K, V, RandomState>;
/// A set with a fast hash.
pub type FastSet<K> = HashSet<K, RandomState>;
