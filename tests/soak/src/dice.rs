//! Reproducible choices: the same seed gives the same choices, in the same order. It never asks the
//! operating system for randomness. A seed comes in, numbers go out. It uses SplitMix64, which is random
//! enough to choose moments, and whose state is one number.
//!
//! Every part of a run has its own dice, made with `apart`, so that a new choice in one part does not
//! shift the choices of the others.

/// Dice, thrown in a fixed order for a seed.
#[derive(Clone, Debug)]
pub struct SeededDice(u64);

impl SeededDice {
    /// Dice for a seed.
    pub fn new(seed: u64) -> SeededDice {
        SeededDice(seed)
    }

    /// Other dice that depend on these and on a number.
    pub fn apart(&self, number: u64) -> SeededDice {
        let mut mixed = SeededDice(self.0 ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        SeededDice(mixed.throw())
    }

    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a limit; 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.throw().checked_rem(limit).unwrap_or(0)
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// Whether an event occurs that has this chance in a hundred.
    pub fn percent(&mut self, often: u64) -> bool {
        self.below(100) < often
    }

    /// Whether an event occurs that has this chance in a thousand.
    pub fn permille(&mut self, often: u64) -> bool {
        self.below(1000) < often
    }

    /// A delay: mostly short, now and then long, rarely far too long.
    pub fn delay_ms(&mut self, usual_ms: u64) -> u64 {
        match self.below(100) {
            0 => self.between(usual_ms, usual_ms * 200),
            1..10 => self.between(usual_ms, usual_ms * 10),
            _ => self.below(usual_ms + 1),
        }
    }

    /// One of several; `None` if there are none.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let place = self.below(choices.len() as u64);
        choices.get(usize::try_from(place).unwrap_or(0))
    }

    /// The index of a weight, drawn in proportion to the weights.
    pub fn weighed(&mut self, weights: &[u64]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (place, weight) in weights.iter().enumerate() {
            match left.checked_sub(*weight) {
                None => return place,
                Some(rest) => left = rest,
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_choices_and_another_gives_others() {
        let thrown = |mut dice: SeededDice| (0..20).map(|_| dice.below(1000)).collect::<Vec<_>>();
        assert_eq!(thrown(SeededDice::new(7)), thrown(SeededDice::new(7)));
        assert_ne!(thrown(SeededDice::new(7)), thrown(SeededDice::new(8)));
        assert_ne!(thrown(SeededDice::new(7).apart(1)), thrown(SeededDice::new(7).apart(2)));
        let mut dice = SeededDice::new(1);
        assert!((0..1000).all(|_| dice.below(3) < 3) && dice.below(0) == 0);
        assert_eq!(dice.one_of::<u8>(&[]), None);
    }

    #[test]
    fn what_weighs_nothing_is_never_drawn() {
        let mut dice = SeededDice::new(3);
        let drawn: Vec<usize> = (0..200).map(|_| dice.weighed(&[0, 1, 0, 3])).collect();
        assert!(drawn.contains(&1) && drawn.contains(&3));
        assert!(!drawn.contains(&0) && !drawn.contains(&2));
    }
}
