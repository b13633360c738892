//! A tape of numbers, which decides everything in a property test: a failing case shrinks to a short tape.

/// Numbers that are read in sequence; after the end there are only zeros.
pub(crate) struct Tape {
    pub(crate) numbers: Vec<u8>,
    pub(crate) at: usize,
}

impl Tape {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let number = self.numbers.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        usize::from(number) % limit
    }

    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == of - 1
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}
