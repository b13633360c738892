//! Views that were read up to some record, so that the next look reads only newer records. Live: without them a
//! thread is read from its beginning, and the view is the same.
//!
//! It keeps views that are likely to be read on: those of listeners that see their thread, since these look in every
//! turn, and those that were asked for from a message on. It never keeps a view that could not be read.

use std::collections::VecDeque;

use super::{ViewOwner, ViewReading};

/// Views that were begun.
#[derive(Default)]
pub struct BegunViews {
    kept: VecDeque<ViewReading>,
}

impl BegunViews {
    /// Removes and returns the view of that call as far as it was read, so that it can be read on.
    pub(super) fn take_reading(&mut self, whose: &ViewOwner) -> ViewReading {
        let goes_on = |reading: &ViewReading| reading.is_before(whose);
        let found = self.kept.iter().position(goes_on).and_then(|at| self.kept.remove(at));
        match found {
            Some(reading) => reading.up_to(whose.up_to),
            None => ViewReading::new(whose.clone()),
        }
    }

    /// Keeps a view if it is likely to be read on.
    pub(super) fn keep_reading(&mut self, reading: ViewReading) {
        if reading.is_read_on {
            self.kept.push_back(reading);
            while self.kept.len() > crate::types::limits::VIEWS {
                self.kept.pop_front();
            }
        }
    }
}
