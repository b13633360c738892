//! The dice of the soak, with what the drawing of documents needs.

use crate::seeded_dice::SeededDice;

pub(super) struct Dice(SeededDice);

impl Dice {
    pub(super) fn of(seed: u64) -> Dice {
        Dice(SeededDice::new(seed))
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.below(limit as u64)).unwrap()
    }

    pub(super) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }

    pub(super) fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
    }
}
