//! The growing log for a person who watches: one line per record, never taken back. On a terminal the
//! lines of a call are below it and cut to fit; elsewhere each line is complete.

use super::screen::Screen;
use systole_api::record_words::{ShownContent, describe_record, find_joined};
use systole_api::types::ApiRecord;
use systole_core::types::ids::CallPath;
use systole_core::types::time::Millis;
use systole_show::columns::{cut, cut_counted, plain, width};
use systole_show::layout::{self, TextTone};

/// Keeps what was shown last, so that it is not repeated.
pub(super) struct Live {
    screen: Screen,
    thread: String,
    /// The day and the offset of the last shown times.
    heading: String,
    /// The listeners whose program runs elsewhere.
    over_nats: Vec<String>,
}

impl Live {
    pub(super) fn new(screen: Screen) -> Live {
        Live { screen, thread: String::new(), heading: String::new(), over_nats: Vec::new() }
    }

    /// The same for an organism with these listeners over NATS.
    pub(super) fn with_workers(self, over_nats: Vec<String>) -> Live {
        Live { over_nats, ..self }
    }

    /// Shows a record as data, for people.
    pub(super) fn show(&mut self, record: &ApiRecord, content: ShownContent) {
        for line in self.lines(record, content, layout::columns()) {
            self.screen.show_drawn(&line);
        }
    }

    /// Shows a record as a message beside data of another kind.
    pub(super) fn mention(&mut self, record: &ApiRecord) {
        for line in self.lines(record, ShownContent::Text, layout::talk_columns()) {
            self.screen.say_drawn(&line);
        }
    }

    /// The lines of a record, on a terminal with that many columns.
    fn lines(&mut self, record: &ApiRecord, content: ShownContent, columns: usize) -> Vec<String> {
        let Some(mut what) = describe_record(record, content) else { return Vec::new() };
        if find_joined(record).is_some_and(|listener| self.over_nats.contains(&listener)) {
            // Whether any worker answers under its name is reported separately.
            what.words.push_str(" for workers");
        }
        if !self.screen.terminal {
            let call = record.call.as_deref().unwrap_or("-");
            let line = format!("{} {} {call} {}", record.position, record.thread, what.words);
            return vec![plain(&line)];
        }
        let mut lines = Vec::new();
        let at = Millis::parse(&record.time).unwrap_or_default();
        let heading = layout::heading(at);
        if self.heading != heading && !layout::offset(at).is_empty() {
            lines.push(heading.clone());
            self.heading = heading;
        }
        if self.thread != record.thread {
            self.thread.clone_from(&record.thread);
            lines.push(cut(&record.thread, columns));
        }
        let depth =
            record.call.as_deref().and_then(|call| CallPath::parse(call).ok()).map_or(0, |c| c.depth());
        let indent = "  ".repeat(1 + depth.min(12));
        let lead = format!("{}{indent}", layout::clock(at));
        let words = cut_counted(&plain(&what.words), columns.saturating_sub(width(&lead)));
        lines.push(format!("{lead}{}", self.paint_words(&words, what.colour)));
        lines
    }

    fn paint_words(&self, words: &str, colour: Option<TextTone>) -> String {
        colour.map_or_else(|| words.to_owned(), |tone| self.screen.colour(tone, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use systole_show::limits::COLUMNS;

    fn record(kind: &str, code: &str, call: &str, body: &str) -> ApiRecord {
        ApiRecord {
            position: 7,
            thread: "sess-1f0c9a2b77d1".into(),
            seq: 2,
            id: String::new(),
            kind: kind.into(),
            from: "echo".into(),
            to: Some("operator".into()),
            call: Some(call.into()),
            turn: None,
            ordinal: None,
            cause: None,
            key: None,
            origin: None,
            time: "2026-11-20T07:00:01.007Z".into(),
            config: String::new(),
            code: Some(code.into()),
            head: String::new(),
            body: body.into(),
        }
    }

    fn live(terminal: bool, colour: bool) -> Live {
        Live::new(Screen { json: false, terminal, colour })
    }

    const SAID: &str = r#"<said xmlns="urn:e"><text>hello</text><text>you</text></said>"#;

    #[test]
    fn a_terminal_shows_calls_below_their_thread_and_lines_that_fit() {
        let mut live = live(true, false);
        assert_eq!(
            live.lines(&record("message", "final", "1", SAID), ShownContent::Text, COLUMNS),
            ["sess-1f0c9a2b77d1", "07:00:01  echo -> operator <said> hello you"]
        );
        let nested = live.lines(&record("message", "call", "1/1.0", SAID), ShownContent::Text, COLUMNS);
        assert_eq!(nested, ["07:00:01    echo -> operator <said> hello you"], "the thread is not said again");
        let long = SAID.replace("hello", &"many words ".repeat(50));
        assert!(
            live.lines(&record("message", "final", "1", &long), ShownContent::Text, COLUMNS)
                .iter()
                .all(|l| l.chars().count() <= COLUMNS)
        );
    }

    #[test]
    fn elsewhere_each_line_stands_for_itself() {
        let lines =
            live(false, false).lines(&record("message", "final", "1", SAID), ShownContent::Text, COLUMNS);
        assert_eq!(lines, ["7 sess-1f0c9a2b77d1 1 echo -> operator <said> hello you"]);
    }

    #[test]
    fn row_20_nothing_of_a_payload_reaches_a_terminal_unescaped() {
        let hostile = SAID.replace("hello", "\u{202e}olleh \u{85}");
        let lines = live(true, true)
            .lines(&record("message", "final", "1", &hostile), ShownContent::Text, COLUMNS)
            .concat();
        assert!(lines.contains("\\u{202e}olleh \\u{85}"), "{lines}");
        assert!(lines.contains("\u{1b}[32m") && lines.ends_with("\u{1b}[0m"), "{lines}");
    }

    #[test]
    fn a_failure_is_told_in_its_own_words() {
        let error = r#"<system-error xmlns="https://xml-pipeline.org/ns/core/v1" code="listener.failed" retry_allowed="false" message="echo: exited 1"/>"#;
        let lines = live(false, false).lines(
            &record("outcome", "listener.failed", "1", error),
            ShownContent::Text,
            COLUMNS,
        );
        assert_eq!(lines, ["7 sess-1f0c9a2b77d1 1 outcome listener.failed echo: exited 1"]);
    }
}
