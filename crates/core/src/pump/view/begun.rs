//! Views that were read up to some record, so that the next look at one reads only what came since. Live: without them
//! a thread is read from its beginning, and the view is the same.
//!
//! It keeps views that are read on: those of listeners that see their thread, since they look in every turn, and those
//! that were asked for from a message on. It never keeps one that could not be read.

use std::collections::VecDeque;

use super::{Reading, Whose};

/// Views that are kept. One more is read from the beginning when it is looked at again.
const KEPT: usize = 64;

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

    /// Keeps what was read, if it is read on.
    pub(super) fn keep(&mut self, reading: Reading) {
        if reading.is_read_on {
            self.kept.push_back(reading);
            while self.kept.len() > KEPT {
                self.kept.pop_front();
            }
        }
    }
}
