//! Durations that go on while they are looked at. A page gets each with the moment that it counts from or to, so that
//! it goes on there; everyone else gets plain words.
//!
//! Moments come in; words go out. The marks around them are control characters, which no text of a stranger keeps.

use std::cell::Cell;

use systole_core::types::time::{Millis, spell_duration};

/// Before the moment that a duration counts from, and that it counts to; between it and the words; after them.
const SINCE: char = '\u{1}';
const UNTIL: char = '\u{2}';
const WORDS: char = '\u{3}';
const END: char = '\u{4}';

thread_local! {
    /// Whether this thread writes for a page whose clocks run.
    static MARKED: Cell<bool> = const { Cell::new(false) };
}

/// What a running duration counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockMoment {
    /// The time since that moment.
    Since(u64),
    /// The time until that moment.
    Until(u64),
}

/// A piece of a text, and what it counts if it is a running duration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClockPiece<'t> {
    /// Its words.
    pub text: &'t str,
    /// What it counts.
    pub counts: Option<ClockMoment>,
}

/// Runs work whose durations are marked for `split_clocks`, if they are for a page.
pub fn mark_clocks<T>(is_page: bool, work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            MARKED.set(self.0);
        }
    }
    let _before = Before(MARKED.replace(is_page));
    work()
}

/// How long something has lasted, and still does.
pub fn spell_since(since: Millis, now: Millis) -> String {
    write_clock(SINCE, since, spell_duration(now.count_since(since)))
}

/// How long it is until a moment.
pub fn spell_until(until: Millis, now: Millis) -> String {
    write_clock(UNTIL, until, spell_duration(until.count_since(now)))
}

fn write_clock(mark: char, moment: Millis, words: String) -> String {
    if MARKED.get() { format!("{mark}{}{WORDS}{words}{END}", moment.0) } else { words }
}

/// The pieces of a text with marks. A duration that was cut is plain words.
pub fn split_clocks(text: &str) -> Vec<ClockPiece<'_>> {
    let mut pieces = Vec::new();
    let mut add = |text, counts| pieces.push(ClockPiece { text, counts });
    let mut rest = text;
    while let Some((before, after)) = rest.split_once([SINCE, UNTIL]) {
        let is_since = rest.get(before.len()..).is_some_and(|here| here.starts_with(SINCE));
        if !before.is_empty() {
            add(before, None);
        }
        let (moment, words) = after.split_once(WORDS).unwrap_or(("", ""));
        let counts = moment.parse().ok().map(if is_since { ClockMoment::Since } else { ClockMoment::Until });
        let (whole, later) = words.split_once(END).map_or((None, ""), |(whole, later)| (Some(whole), later));
        add(whole.unwrap_or(words), whole.and(counts));
        rest = later;
    }
    if !rest.is_empty() {
        add(rest, None);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, counts: Option<ClockMoment>) -> ClockPiece<'_> {
        ClockPiece { text, counts }
    }

    #[test]
    fn h4_a_duration_carries_its_moment_for_a_page_alone() {
        let words = || {
            format!(
                "out for {}, again in {}",
                spell_since(Millis(5), Millis(12_005)),
                spell_until(Millis(70_000), Millis(10_000))
            )
        };
        assert_eq!(words(), "out for 12 s, again in 1 m");
        let marked = mark_clocks(true, words);
        assert_eq!(words(), "out for 12 s, again in 1 m", "the marks end with their work");
        let wanted = [
            piece("out for ", None),
            piece("12 s", Some(ClockMoment::Since(5))),
            piece(", again in ", None),
            piece("1 m", Some(ClockMoment::Until(70_000))),
        ];
        assert_eq!(split_clocks(&marked), wanted);
    }

    #[test]
    fn h4_a_text_that_was_cut_within_a_duration_shows_no_mark() {
        let marked = mark_clocks(true, || format!("a {} b", spell_since(Millis(5), Millis(12_005))));
        for end in 0..=marked.len() {
            let shown: String = split_clocks(&marked[..end]).iter().map(|piece| piece.text).collect();
            assert!(!shown.contains(char::is_control), "{shown:?}");
            assert!("a 12 s b".starts_with(&shown), "{shown:?}");
        }
        assert_eq!(split_clocks("plain"), [piece("plain", None)]);
        assert_eq!(split_clocks(""), []);
    }
}
