//! Seeds that every run of the tests plays.

use systole_simulator::{play, sweep};

/// Seeds of every run of the tests.
pub(crate) const SEEDS: u64 = 2_000;

#[test]
fn nothing_is_wrong_in_two_thousand_storms() {
    let swept = sweep(0..SEEDS, None, 2, 3);
    let told: Vec<String> = swept
        .failed
        .iter()
        .map(|o| format!("{o}\nrepeat it with: SEED={} cargo run --bin systole-simulate", o.seed))
        .collect();
    assert!(told.is_empty(), "{}", told.join("\n\n"));
    assert_eq!(swept.seeds, SEEDS);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
    for seed in 0..40 {
        assert_eq!(play(seed, None), play(seed, None));
    }
    assert_ne!(play(1, None).log, play(2, None).log);
}
