//! Merges ranges of lines that are close together.
//!
//! Ranges come in; fewer ranges go out. No files here.

use crate::limits;

/// A range of lines of a file, both ends included, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LineRange {
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl LineRange {
    pub(crate) fn has_line(self, line: usize) -> bool {
        (self.first..=self.last).contains(&line)
    }

    /// The number of its lines.
    pub(crate) fn count_lines(self) -> usize {
        self.last.saturating_sub(self.first) + 1
    }
}

/// Merges ranges in place, each with its score. The best score stays.
pub(crate) fn merge_ranges(mut ranges: Vec<(LineRange, f64)>) -> Vec<(LineRange, f64)> {
    ranges.sort_by_key(|(range, _)| *range);
    let mut merged: Vec<(LineRange, f64)> = Vec::new();
    for (range, score) in ranges {
        match merged.last_mut() {
            Some((before, best)) if is_near(*before, range) => {
                before.last = before.last.max(range.last);
                *best = best.max(score);
            }
            _ => merged.push((range, score)),
        }
    }
    merged
}

fn is_near(before: LineRange, range: LineRange) -> bool {
    let union = LineRange { first: before.first, last: before.last.max(range.last) };
    range.first <= before.last
        || range.first - before.last <= limits::GAP_LINES + 1 && union.count_lines() <= limits::MERGED_LINES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(ranges: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let ranges = ranges.iter().map(|(first, last)| (LineRange { first: *first, last: *last }, 1.0));
        merge_ranges(ranges.collect()).into_iter().map(|(range, _)| (range.first, range.last)).collect()
    }

    #[test]
    fn near_ranges_become_one_and_far_ones_do_not() {
        assert_eq!(merged(&[(20, 30), (1, 14)]), [(1, 30)], "five lines between them");
        assert_eq!(merged(&[(1, 14), (21, 30)]), [(1, 14), (21, 30)], "six lines between them");
        assert_eq!(merged(&[(1, 70), (72, 100)]), [(1, 70), (72, 100)], "too long together");
        assert_eq!(merged(&[(1, 90), (40, 50)]), [(1, 90)]);
    }
}
