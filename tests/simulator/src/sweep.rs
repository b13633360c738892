//! Many seeds, on all available threads. One thread runs each seed alone, so the distribution changes
//! only the time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::plant::Plant;
use crate::world::outcome::Outcome;

/// The result of many seeds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sweep {
    /// Seeds that were played.
    pub seeds: u64,
    /// Records in their logs.
    pub records: u64,
    /// Simulated time, in milliseconds.
    pub simulated_ms: u64,
    /// How often each event happened.
    pub counts: BTreeMap<&'static str, u64>,
    /// The outcomes with a fault, in order of their seeds.
    pub failed: Vec<Outcome>,
}

/// Runs seeds, and stops early once `enough` have failed.
pub fn sweep(seeds: Range<u64>, plant: Option<Plant>, threads: usize, enough: usize) -> Sweep {
    let next = AtomicU64::new(seeds.start);
    let stop = AtomicBool::new(false);
    let all = Mutex::new(Sweep::default());
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let outcome = crate::play(seed, plant);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            all.add(outcome);
            if all.failed.len() >= enough {
                stop.store(true, Ordering::Relaxed);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    let mut all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.failed.sort_by_key(|outcome| outcome.seed);
    all
}

impl Sweep {
    fn add(&mut self, outcome: Outcome) {
        self.seeds += 1;
        self.records += outcome.records;
        self.simulated_ms += outcome.simulated_ms;
        for (what, count) in &outcome.counts {
            *self.counts.entry(what).or_default() += count;
        }
        if !outcome.findings.is_empty() {
            self.failed.push(outcome);
        }
    }
}
