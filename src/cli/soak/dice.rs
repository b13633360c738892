//! Choices that can be made again: the same seed gives the same ones. SplitMix64, which is as random as
//! a choice of moments has to be, and fits into a number.

/// Dice, thrown in a fixed order for a seed.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Dice for a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Other dice that depend on these and on a number, so that no two throwers share theirs.
    pub fn apart(&self, number: u64) -> Dice {
        Dice(Dice(self.0 ^ number.wrapping_mul(0xd134_2543_de82_ef95)).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below a limit; 0 where the limit is.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }

    /// Whether something happens that happens so often in a hundred.
    pub fn percent(&mut self, often: u64) -> bool {
        self.below(100) < often
    }

    /// One of several; none where there is none.
    pub fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let place = self.below(choices.len() as u64);
        choices.get(usize::try_from(place).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_choices_and_another_gives_others() {
        let thrown = |mut dice: Dice| (0..20).map(|_| dice.below(1000)).collect::<Vec<_>>();
        assert_eq!(thrown(Dice::new(7)), thrown(Dice::new(7)));
        assert_ne!(thrown(Dice::new(7)), thrown(Dice::new(8)));
        assert_ne!(thrown(Dice::new(7).apart(1)), thrown(Dice::new(7).apart(2)));
        let mut dice = Dice::new(1);
        assert!((0..1000).all(|_| dice.below(3) < 3) && dice.below(0) == 0);
        assert_eq!(dice.one_of::<u8>(&[]), None);
    }
}
