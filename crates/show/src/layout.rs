//! The form of this process's output for people: columns of a line, the time zone of moments, colour.
//!
//! A process has one stdout, so there is one layout. The program sets it before it prints anything. Until then lines
//! have 80 columns, times are in UTC and nothing is coloured: tests and data for programs use that.

use std::cell::Cell;
use std::sync::OnceLock;

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, civil};

use systole_core::types::time::{Millis, stretch_ms};

use crate::limits;

/// The form of lines.
#[derive(Clone, Debug)]
pub struct LineLayout {
    /// Columns of stdout; `usize::MAX` if no line is broken or cut.
    pub columns: usize,
    /// Columns of stderr.
    pub talk: usize,
    /// The time zone of moments.
    pub zone: TimeZone,
    /// Whether stdout is coloured.
    pub colour: bool,
}

static LAYOUT: OnceLock<LineLayout> = OnceLock::new();

thread_local! {
    /// Whether this thread writes for a page or a program: whole lines without colour.
    static WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// Runs work whose lines are for a page or a program: nothing is cut or coloured, and times are in UTC.
pub fn whole_lines<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            WHOLE.set(self.0);
        }
    }
    let _before = Before(WHOLE.replace(true));
    work()
}

/// The layout that counts on this thread.
fn layout() -> Option<&'static LineLayout> {
    LAYOUT.get().filter(|_| !WHOLE.get())
}

/// The meaning of a colour. There are only these, so that they stay readable on dark and light screens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextTone {
    /// Done, answered.
    Good,
    /// Failed, refused.
    Bad,
    /// Waits for a person, or is paused.
    Held,
    /// A name: who speaks or works.
    Name,
}

/// Sets the layout of this process. Only the first call counts.
pub fn set(layout: LineLayout) {
    let _already_set = LAYOUT.set(layout);
}

/// Columns of a line on stdout.
pub fn columns() -> usize {
    if WHOLE.get() {
        return usize::MAX;
    }
    layout().map_or(limits::COLUMNS, |layout| layout.columns)
}

/// Columns of a line on stderr.
pub fn talk_columns() -> usize {
    layout().map_or(limits::COLUMNS, |layout| layout.talk)
}

/// Columns for the fields of a payload: usually two lines, minus some room lost at the breaks.
pub fn two_lines() -> usize {
    columns().saturating_sub(10).saturating_mul(2)
}

/// Whether lines are neither broken nor cut.
pub fn is_whole() -> bool {
    columns() == usize::MAX
}

/// The text in the colour of a tone, word by word, so that a line can break between words. Foreign text must be made
/// visible first.
pub fn paint(tone: TextTone, text: &str) -> String {
    if layout().is_some_and(|layout| layout.colour) { by_word(tone, text) } else { text.to_owned() }
}

pub(super) fn by_word(tone: TextTone, text: &str) -> String {
    let drawn = |word: &str| if word.is_empty() { String::new() } else { ink(tone, word) };
    text.split(' ').map(drawn).collect::<Vec<_>>().join(" ")
}

/// The text in the colour of a tone, regardless of the layout. It must not be broken.
pub fn ink(tone: TextTone, text: &str) -> String {
    let code = match tone {
        TextTone::Good => "32",
        TextTone::Bad => "31",
        TextTone::Held => "35",
        TextTone::Name => "1",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// The local time of a moment in the layout's zone.
fn local(at: Millis) -> (civil::DateTime, Offset) {
    let stamp = i64::try_from(at.0).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let stamp = stamp.unwrap_or(Timestamp::MAX);
    let offset = layout().map_or(Offset::UTC, |layout| layout.zone.to_offset(stamp));
    (offset.to_datetime(stamp), offset)
}

/// The moment that was typed: a duration ago, a time with an offset, or a time in the layout's zone.
pub fn moment_of(text: &str, now: Millis) -> Option<Millis> {
    let ago = stretch_ms(text).map(|ago| Millis(now.count_since(Millis(ago))));
    ago.or_else(|| Millis::parse(text)).or_else(|| typed(text, now))
}

/// The moment that a person typed in the layout's zone: a time of today, a day, or both.
pub fn typed(text: &str, now: Millis) -> Option<Millis> {
    let today = local(now).0.date();
    let time = || text.parse::<civil::Time>().ok().map(|time| today.to_datetime(time));
    let datetime = text.parse::<civil::DateTime>().ok().or_else(time)?;
    let zone = layout().map_or(TimeZone::UTC, |layout| layout.zone.clone());
    let stamp = zone.to_timestamp(datetime).ok()?;
    u64::try_from(stamp.as_millisecond()).ok().map(Millis)
}

/// The time of day of a moment, to the second.
pub fn clock(at: Millis) -> String {
    let at = local(at).0;
    format!("{:02}:{:02}:{:02}", at.hour(), at.minute(), at.second())
}

/// The day of a moment.
pub fn day(at: Millis) -> String {
    let at = local(at).0;
    format!("{:04}-{:02}-{:02}", at.year(), at.month(), at.day())
}

/// The offset of local time at a moment, as `+02:00`; empty in UTC.
pub fn offset(at: Millis) -> String {
    let minutes = local(at).1.seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    match minutes.abs() {
        0 => String::new(),
        minutes => format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60),
    }
}

/// A moment for a reader at `now`: without the day if that is today, with its offset.
pub fn moment(at: Millis, now: Millis) -> String {
    let clock = format!("{}{}", clock(at), offset(at));
    if day(at) == day(now) { clock } else { format!("{} {clock}", day(at)) }
}

/// The line above times of one day: `2026-11-21, times in UTC+02:00`.
pub fn heading(at: Millis) -> String {
    format!("{}, times in UTC{}", day(at), offset(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_layout_times_are_in_utc() {
        let at = Millis(1_795_158_000_007);
        assert_eq!(moment(at, at), "07:00:00");
        assert_eq!(moment(at, Millis(0)), "2026-11-20 07:00:00");
        assert_eq!(heading(at), "2026-11-20, times in UTC");
    }

    #[test]
    fn a_person_types_a_time_a_day_or_both() {
        let now = Millis(1_795_158_000_007);
        for (text, wanted) in [
            ("06:30", "2026-11-20T06:30:00.000Z"),
            ("2026-11-19", "2026-11-19T00:00:00.000Z"),
            ("2026-11-19 23:15:01", "2026-11-19T23:15:01.000Z"),
            ("2026-11-19T23:15", "2026-11-19T23:15:00.000Z"),
        ] {
            assert_eq!(typed(text, now).map(|at| at.to_string()).as_deref(), Some(wanted), "{text}");
        }
        for text in ["", "yesterday", "25:00", "2026-13-01"] {
            assert_eq!(typed(text, now), None, "{text}");
        }
    }

    #[test]
    fn colour_ends_with_each_word() {
        assert_eq!(by_word(TextTone::Bad, "a  b"), "\u{1b}[31ma\u{1b}[0m  \u{1b}[31mb\u{1b}[0m");
    }
}
