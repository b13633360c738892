//! Views that were read up to some record, so that the next look at one reads only what came since. Live: whoever loses
//! it reads the thread from its beginning, and sees the same.
//!
//! It keeps views of those who see their thread, as they look in every turn; others look once in a while. It knows
//! nothing of what a view shows, and never keeps one that could not be read.

use std::collections::VecDeque;

use super::{Reading, Whose};
use crate::words::composition::Sees;

/// Views that are kept. One more is read from the beginning when it is looked at again.
const KEPT: usize = 16;

/// Views that were begun.
#[derive(Default)]
pub struct Begun {
    kept: VecDeque<Reading>,
}

impl Begun {
    /// The view of that call as far as it was read, to be read on; it is kept no longer.
    pub(super) fn take(&mut self, whose: &Whose) -> Reading {
        let goes_on = |reading: &Reading| reading.is_before(whose);
        let found = self.kept.iter().position(goes_on).and_then(|at| self.kept.remove(at));
        match found {
            Some(reading) => reading.up_to(whose.up_to),
            None => Reading::of(whose.clone()),
        }
    }

    /// Keeps what was read.
    pub(super) fn keep(&mut self, reading: Reading) {
        if reading.sees() == Sees::Thread {
            self.kept.push_back(reading);
            while self.kept.len() > KEPT {
                self.kept.pop_front();
            }
        }
    }
}
