//! Decisions for a person: as lines for a terminal, and as a table for a spreadsheet.
//!
//! Rows come in; text without hidden characters goes out. A cell of the table never begins as a formula does.

use super::{DecidedRequest, RanCall};
use systole_core::types::person::RequestKind;
use systole_core::types::time::Millis;
use systole_show::columns::{plain, wrapped};
use systole_show::layout::{self, TextTone, paint};

/// The columns of the table.
const COLUMNS: [&str; 18] = [
    "at", "by", "outcome", "choice", "id", "kind", "caller", "listener", "about", "payload", "hash", "sent",
    "note", "asked", "thread", "record", "decision", "ran",
];

impl RanCall {
    fn words(&self) -> String {
        let (listener, what) = (plain(&self.listener), plain(self.what.as_deref().unwrap_or_default()));
        match self.state.as_str() {
            "answered" => format!("{listener} answered <{what}>"),
            "handled" => format!("{listener} took it, without an answer"),
            "failed" => format!("{listener} failed: {what}"),
            "open" => format!("{listener} is not done"),
            _ => format!("the thread ended before {listener} answered"),
        }
    }
}

impl DecidedRequest {
    /// The outcome and who decided, on one line.
    pub fn describe_decision(&self) -> String {
        let choice = self.choice.as_ref().map(|choice| format!(": {choice}")).unwrap_or_default();
        let by = self.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        plain(&format!("{}{choice}{by}", self.outcome))
    }

    /// What was decided about, on one line.
    pub fn subject(&self) -> String {
        match self.kind == RequestKind::Question.as_str() {
            true => plain(&self.about),
            false => format!("<{}> {}", plain(&self.about), glance_at(&self.payload)).trim_end().to_owned(),
        }
    }

    /// What ran after it, on one line.
    pub(super) fn effect(&self) -> String {
        match (&self.ran, &self.unknown) {
            (Some(ran), _) => ran.words(),
            (None, Some(_)) => "no further attempt".to_owned(),
            (None, None) => "nothing".to_owned(),
        }
    }

    /// When it was decided.
    pub fn moment(&self) -> Millis {
        Millis::parse(&self.at).unwrap_or_default()
    }

    fn tone(&self) -> TextTone {
        match self.outcome.as_str() {
            "rejected" => TextTone::Bad,
            "expired" => TextTone::Held,
            _ => TextTone::Good,
        }
    }

    fn cells(&self) -> [String; COLUMNS.len()] {
        let text = |text: &Option<String>| plain(text.as_deref().unwrap_or_default());
        let place = |seq: u64| format!("{}@{seq}", self.thread);
        [
            self.at.clone(),
            text(&self.by),
            self.outcome.clone(),
            text(&self.choice),
            self.id.clone(),
            self.kind.clone(),
            self.caller.clone(),
            self.listener.clone(),
            plain(&self.about),
            glance_at(&self.payload),
            self.hash.clone(),
            text(&self.sent),
            text(&self.note),
            self.asked.clone(),
            self.thread.clone(),
            place(self.record),
            place(self.seq),
            self.effect(),
        ]
    }
}

/// A payload at a glance. Its hidden characters are shown already, also by an organism elsewhere if that is honest.
fn glance_at(payload: &str) -> String {
    plain(payload).replace("\\u{5c}u{", "\\u{")
}

/// A decision as lines for a terminal.
pub(super) fn lines_of(one: &DecidedRequest, now: Millis) -> Vec<String> {
    let lead = format!("{}  {} ", layout::moment(one.moment(), now), one.id);
    let place = format!("{}  {}@{}", paint(one.tone(), &one.describe_decision()), one.thread, one.seq);
    let mut lines = wrapped(&lead, 4, &place);
    let mut part = |label: &str, text: &str| lines.extend(wrapped("    ", 6, &format!("{label}{text}")));
    let asked = match one.kind == RequestKind::Question.as_str() {
        true => format!("{} asked: ", one.listener),
        false => format!("{} to {}: ", one.caller, one.listener),
    };
    part(&asked, &one.subject());
    if let Some(note) = &one.note {
        part("note: ", &plain(note));
    }
    part("hash ", &one.hash);
    if let Some(sent) = one.sent.as_ref().filter(|sent| **sent != one.hash) {
        part("sent ", sent);
    }
    let seq = one.ran.as_ref().and_then(|ran| ran.seq).map(|seq| format!(", #{seq}")).unwrap_or_default();
    part("ran: ", &format!("{}{seq}", one.effect()));
    lines
}

/// The decisions as CSV, with the names of the columns in the first line.
pub(super) fn csv(decisions: &[DecidedRequest]) -> String {
    let header = COLUMNS.map(str::to_owned);
    let rows = std::iter::once(header).chain(decisions.iter().map(DecidedRequest::cells));
    rows.map(|cells| format!("{}\n", cells.map(|cell| quote_cell(&cell)).join(","))).collect()
}

/// A cell. A spreadsheet would run what begins as a formula, and one that splits lines at another character than the
/// comma begins a cell there too.
fn quote_cell(cell: &str) -> String {
    const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let (mut safe, mut begins) = (String::with_capacity(cell.len()), true);
    for character in cell.chars() {
        if begins && FORMULA.contains(&character) {
            safe.push('\'');
        }
        begins = matches!(character, ';' | '\t' | '\n' | '\r') || (begins && character == ' ');
        safe.push(character);
    }
    match safe.contains([',', '"', '\n', '\r', ';', '\t']) || safe != cell {
        true => format!("\"{}\"", safe.replace('"', "\"\"")),
        false => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::{glance_at, quote_cell};

    #[test]
    fn g4_a_payload_is_made_visible_once() {
        assert_eq!(glance_at("why=\"a\\u{202e}b\""), "why=\"a\\u{202e}b\"");
        assert_eq!(
            glance_at("a\u{202e}b\u{1b}[31m"),
            "a\\u{202e}b\\u{1b}[31m",
            "an organism elsewhere may say anything"
        );
        assert_eq!(glance_at("a\\u{5c}u{202e}b"), "a\\u{5c}u{202e}b", "the text of an escape stays a text");
    }

    #[test]
    fn g4_a_cell_is_one_cell_and_no_formula() {
        for (cell, written) in [
            ("go", "go"),
            ("a, \"b\"", "\"a, \"\"b\"\"\""),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("-1+1", "\"'-1+1\""),
            ("two\nlines", "\"two\nlines\""),
            ("a;=1+1; @SUM(A1)", "\"a;'=1+1; '@SUM(A1)\""),
            ("＝1+1", "\"'＝1+1\""),
            ("1-1=0", "1-1=0"),
        ] {
            assert_eq!(quote_cell(cell), written);
        }
    }
}
