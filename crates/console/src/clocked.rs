//! A text whose running durations go on in the browser: each carries the moment that it counts from or to.
//!
//! Words with the marks of `clocks` come in; escaped text goes out, with an element around each duration.

use askama::Template;

use systole_core::types::time::Millis;
use systole_show::clocks::{self, ClockMoment, ClockPiece};

/// A text with durations.
#[derive(Template)]
#[template(path = "clocked.html")]
pub(super) struct ClockedText(String);

/// Its template escapes each piece.
impl askama::filters::HtmlSafe for ClockedText {}

impl ClockedText {
    /// The words that some work makes, with its running durations.
    pub(super) fn of(work: impl FnOnce() -> String) -> ClockedText {
        ClockedText(clocks::mark_clocks(true, work))
    }

    /// Words that were marked before, or that have no duration.
    pub(super) fn of_marked(words: String) -> ClockedText {
        ClockedText(words)
    }

    /// How long something has lasted, and still does.
    pub(super) fn since(since: Millis, now: Millis) -> ClockedText {
        ClockedText::of(|| clocks::spell_since(since, now))
    }

    fn pieces(&self) -> Vec<ClockPiece<'_>> {
        clocks::split_clocks(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a7_only_a_duration_of_ours_becomes_an_element() {
        let text = ClockedText::of(|| format!("<b> for {}", clocks::spell_since(Millis(7), Millis(12_007))));
        assert_eq!(text.to_string(), "&#60;b&#62; for <span data-since=\"7\">12 s</span>");
        assert_eq!(ClockedText::of_marked("a <b>".to_owned()).to_string(), "a &#60;b&#62;");
    }
}
