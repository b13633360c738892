//! The current activity, on one terminal line that is rewritten in place: the speaker's words, or who works and for
//! how long. Without a terminal nothing is shown: it is not data, and records are printed when they come.

use std::collections::HashMap;
use std::io::IsTerminal as _;

use systole_kit::writer::visible;

use super::Screen;
use super::phrase::Phrase;
use crate::audit::columns::{cut, ending, plain, width};
use crate::audit::layout::talk_columns;
use crate::cli::awaited::{Work, works};
use crate::console::api_types::{ApiReceipt, ApiRecord, ProgressReport};
use crate::edges::clock::WallClock;
use systole_core::types::ids::CallPath;
use systole_core::types::ports::Clock as _;

/// Seconds of silence after which the line shows who works instead of a listener's words.
const QUIET: u32 = 5;
/// Most calls whose words are kept; few speak at once.
const SPEAKERS: usize = 64;

/// A thread and a call in it.
type Place = (String, String);

/// The line.
pub(super) struct Tail {
    screen: Screen,
    /// Whether the output is a terminal.
    watched: bool,
    /// The phrase of each call, with the turn and the attempt.
    phrases: HashMap<Place, ((u32, u32), Phrase)>,
    /// The call whose words the line shows.
    last: Option<Place>,
    /// Ticks since the last words.
    quiet: u32,
    /// Who works, until a record may have changed that.
    work: Option<Vec<Work>>,
    is_shown: bool,
}

/// The next output begins on a new line.
impl Drop for Tail {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Tail {
    pub(super) fn new(screen: Screen) -> Tail {
        let watched = !screen.json && std::io::stderr().is_terminal();
        let phrases = HashMap::new();
        Tail { screen, watched, phrases, last: None, quiet: 0, work: None, is_shown: false }
    }

    /// Takes more words of a listener.
    pub(super) fn hear(&mut self, spoken: &ProgressReport) {
        if !self.watched {
            return;
        }
        let place = (spoken.thread.clone(), spoken.call.clone());
        if self.phrases.len() >= SPEAKERS && !self.phrases.contains_key(&place) {
            self.phrases.clear();
        }
        let turn = (spoken.turn, spoken.attempt);
        let (of, phrase) = self.phrases.entry(place.clone()).or_insert_with(|| (turn, Phrase::new()));
        if std::mem::replace(of, turn) != turn {
            *phrase = Phrase::new();
        }
        if spoken.whole {
            phrase.say(&spoken.words);
        } else {
            phrase.push(&spoken.words);
        }
        if phrase.is_blank() {
            return;
        }
        let columns = columns();
        let lead = cut(&visible(&format!("{}{}", spoken.listener, phrase.lead().as_str())), columns / 2);
        let text = plain(&phrase.text());
        let room = columns.saturating_sub(width(&lead));
        let text = match phrase.is_whole() || width(&text) <= room {
            true => cut(&text, room),
            false => format!("…{}", ending(&text, room.saturating_sub(1))),
        };
        let line = format!("{lead}{text}");
        (self.last, self.quiet) = (Some(place), 0);
        self.write(&line);
    }

    /// Runs once per second: shows who works, unless a listener is speaking.
    pub(super) fn tick(&mut self, at_work: impl FnOnce() -> Vec<Work>) {
        self.quiet = self.quiet.saturating_add(1);
        if !self.watched || (self.last.is_some() && self.quiet < QUIET) {
            return;
        }
        self.last = None;
        match works(self.work.get_or_insert_with(at_work), WallClock.now()) {
            Some(line) => self.write(&cut(&line, columns())),
            None => self.clear(),
        }
    }

    /// Notes another record, after which others may be working.
    pub(super) fn note(&mut self) {
        self.work = None;
    }

    /// Removes the line, before other output.
    pub(super) fn clear(&mut self) {
        self.last = None;
        if std::mem::take(&mut self.is_shown) {
            self.screen.progress_drawn("");
        }
    }

    fn write(&mut self, line: &str) {
        self.is_shown = true;
        self.screen.progress_drawn(line);
    }

    /// Whether a record belongs to the inside of the awaited call, and the output is a terminal.
    pub(super) fn is_inside(&self, receipt: &ApiReceipt, record: &ApiRecord) -> bool {
        let call = record.call.as_deref().and_then(|call| CallPath::parse(call).ok());
        let is_below = record.thread != receipt.thread || call.is_some_and(|call| call.depth() > 0);
        // Items that the call itself sends, and its refused ones.
        let goes_out = matches!(record.code.as_deref(), Some("call" | "spawn")) || record.kind == "refusal";
        self.watched && (is_below || goes_out)
    }
}

/// The columns of the terminal minus the last one, after which some terminals begin a new line.
fn columns() -> usize {
    talk_columns().saturating_sub(1)
}
