//! Looks ahead for the closing run of backticks in prose: code in a line ends at the next run of the same length,
//! unless its paragraph ends first.
//!
//! It never looks at a byte twice, even if many runs are never closed. Held text comes in; the end of the code goes
//! out.

use std::collections::{BTreeMap, VecDeque};

use super::lines::{ListIndents, is_paragraph_end};
use super::stream_buffer::HeldText;

/// The result of looking ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClosingRun {
    /// The text that has come does not decide it.
    More,
    /// The code ends before this offset.
    Half(usize),
    /// The paragraph ends without a closing run.
    None,
}

/// What is known about the runs ahead.
#[derive(Debug, Default)]
pub(super) struct RunsAhead {
    /// Up to where the text has been searched.
    scanned: usize,
    /// Where the run that is being read began.
    run: Option<usize>,
    /// The runs ahead, with their lengths.
    ahead: VecDeque<(usize, usize)>,
    /// Where the last run of each length is.
    last: BTreeMap<usize, usize>,
    /// A line that must be read as a whole, and up to where its end was searched.
    line: Option<(usize, usize)>,
    /// Where the paragraph has ended.
    over: Option<usize>,
}

impl RunsAhead {
    /// The closing run for a run of `length`, searched from `after`.
    pub(super) fn find_closing(
        &mut self,
        held: &HeldText,
        length: usize,
        after: usize,
        lists: &ListIndents,
        at_end: bool,
    ) -> ClosingRun {
        if self.scanned < after || self.over.is_some_and(|over| over < after) {
            *self = Self { scanned: after, ..Self::default() };
        }
        loop {
            if self.last.get(&length).is_some_and(|last| *last >= after) {
                while let Some((at, found)) = self.ahead.pop_front() {
                    if at >= after && found == length {
                        return ClosingRun::Half(at + found);
                    }
                }
            }
            if self.over.is_some() {
                return ClosingRun::None;
            }
            if !self.search_on(held, lists, at_end) {
                return ClosingRun::More;
            }
        }
    }

    /// Where the paragraph has ended, if the search came that far.
    pub(super) fn paragraph_end(&self) -> Option<usize> {
        self.over
    }

    /// Searches on, up to the end of a run or a line. `false` if the text ends first.
    fn search_on(&mut self, held: &HeldText, lists: &ListIndents, at_end: bool) -> bool {
        if let Some((start, probe)) = self.line {
            let end = held.find_byte(probe, b'\n');
            let Some(end) = end.or_else(|| at_end.then(|| held.end())) else {
                self.line = Some((start, held.end()));
                return false;
            };
            self.line = None;
            if is_paragraph_end(held.slice(start, end), lists) {
                self.over = Some(start);
            }
            return true;
        }
        for (at, byte) in (self.scanned..).zip(held.slice_from(self.scanned)) {
            if *byte == b'`' {
                self.run = self.run.or(Some(at));
                continue;
            }
            if *byte == b'\n' {
                self.line = Some((at + 1, at + 1));
            }
            if self.end_run(at) || self.line.is_some() {
                self.scanned = at + 1;
                return true;
            }
        }
        self.scanned = held.end();
        if at_end {
            self.end_run(held.end());
            self.over = Some(held.end());
        }
        at_end
    }

    fn end_run(&mut self, at: usize) -> bool {
        let Some(start) = self.run.take() else { return false };
        self.ahead.push_back((start, at - start));
        self.last.insert(at - start, start);
        true
    }
}
