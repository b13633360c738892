//! The current activity, rewritten in place on a terminal: the picture of the run, and below it a line with the
//! speaker's words, or with who works and for how long. Without a terminal nothing is shown: it is not data, and records
//! are printed when they come.

use std::collections::HashMap;
use std::io::IsTerminal as _;

use systole_kit::writer::make_visible;

use super::Screen;
use crate::limits;
use systole_api::types::{ApiReceipt, ApiRecord, ProgressReport};
use systole_core::types::ids::CallPath;
use systole_core::types::ports::Clock as _;
use systole_core::types::time::Millis;
use systole_organism::waiting_view::{OpenWork, describe_work};
use systole_queries::picture::{self, RunPicture};
use systole_show::columns::{cut, ending, plain, width};
use systole_show::layout::talk_columns;
use systole_show::phrase::SpokenPhrase;
use systole_system::clock::WallClock;

/// A thread and a call in it.
type ThreadCall = (String, String);

/// The line.
pub(super) struct LiveTail {
    screen: Screen,
    /// Whether the output is a terminal.
    watched: bool,
    /// The phrase of each call, with the turn and the attempt.
    phrases: HashMap<ThreadCall, ((u32, u32), SpokenPhrase)>,
    /// The call whose words the line shows.
    last: Option<ThreadCall>,
    /// The last line, without the picture.
    line: String,
    /// Ticks since the last words.
    quiet: u32,
    /// Who works, until a record may have changed that.
    work: Option<Vec<OpenWork>>,
    /// The picture of the run, whether a record may have changed it, and when it was read.
    picture: Option<RunPicture>,
    is_old: bool,
    looked: Option<Millis>,
    /// Lines on the screen.
    shown: usize,
}

/// The next output begins on a new line.
impl Drop for LiveTail {
    fn drop(&mut self) {
        self.clear_shown();
    }
}

impl LiveTail {
    pub(super) fn new(screen: Screen) -> LiveTail {
        let watched = !screen.json && std::io::stderr().is_terminal();
        let phrases = HashMap::new();
        let (last, work, picture) = (None, None, None);
        LiveTail {
            screen,
            watched,
            phrases,
            last,
            line: String::new(),
            quiet: 0,
            work,
            picture,
            is_old: true,
            looked: None,
            shown: 0,
        }
    }

    /// Takes more words of a listener.
    pub(super) fn take_report(&mut self, spoken: &ProgressReport) {
        if !self.watched {
            return;
        }
        let place = (spoken.thread.clone(), spoken.call.clone());
        if self.phrases.len() >= limits::CALLS && !self.phrases.contains_key(&place) {
            self.phrases.clear();
        }
        let turn = (spoken.turn, spoken.attempt);
        let (of, phrase) = self.phrases.entry(place.clone()).or_insert_with(|| (turn, SpokenPhrase::new()));
        if std::mem::replace(of, turn) != turn {
            *phrase = SpokenPhrase::new();
        }
        if spoken.whole {
            phrase.set_text(&spoken.words);
        } else {
            phrase.push_text(&spoken.words);
        }
        if phrase.is_blank() {
            return;
        }
        let columns = count_columns();
        let lead = cut(&make_visible(&format!("{}{}", spoken.listener, phrase.lead().as_str())), columns / 2);
        let text = plain(&phrase.text());
        let room = columns.saturating_sub(width(&lead));
        let text = match phrase.is_whole() || width(&text) <= room {
            true => cut(&text, room),
            false => format!("…{}", ending(&text, room.saturating_sub(1))),
        };
        let line = format!("{lead}{text}");
        (self.last, self.quiet) = (Some(place), 0);
        self.write_below(line);
    }

    /// Takes the picture of the run, if there is one and a record may have changed it. Not more often than a person sees:
    /// each look reads the log.
    pub(super) fn take_picture(&mut self, picture: impl FnOnce() -> Option<RunPicture>) {
        let now = WallClock.now();
        let is_soon = self.looked.is_some_and(|looked| now.count_since(looked) < limits::PICTURE_LOOK_MS);
        if self.watched && self.is_old && !is_soon {
            (self.is_old, self.looked) = (false, Some(now));
            self.picture = picture();
        }
    }

    /// Whether a picture shows what happens, so that no record need be shown.
    pub(super) fn has_picture(&self) -> bool {
        self.picture.is_some()
    }

    /// Leaves the picture on the screen as it is in the end, if it says more than the answer alone.
    pub(super) fn leave_picture(&mut self, picture: impl FnOnce() -> Option<RunPicture>) {
        if self.has_picture() {
            (self.is_old, self.looked) = (true, None);
            self.take_picture(picture);
            self.clear_shown();
            let run = self.picture.take().filter(|run| run.steps.len() > 1);
            let lines = run.map(|run| picture::draw(&run, WallClock.now(), count_columns()));
            lines.into_iter().flatten().for_each(|line| self.screen.say_drawn(&line));
        }
    }

    /// Runs once per second: shows who works, unless a listener is speaking.
    pub(super) fn tick_second(&mut self, at_work: impl FnOnce() -> Vec<OpenWork>) {
        self.quiet = self.quiet.saturating_add(1);
        if !self.watched {
            return;
        }
        if self.last.is_some() && self.quiet < limits::SILENT_SECONDS {
            let line = std::mem::take(&mut self.line);
            return if self.has_picture() { self.write_below(line) } else { self.line = line };
        }
        self.last = None;
        match describe_work(self.work.get_or_insert_with(at_work), WallClock.now()) {
            Some(line) => self.write_below(cut(&line, count_columns())),
            None if self.has_picture() => self.write_below(String::new()),
            None => self.clear_shown(),
        }
    }

    /// Notes another record, after which others may be working.
    pub(super) fn note_record(&mut self) {
        self.work = None;
        self.is_old = true;
    }

    /// Removes what is shown, before other output.
    pub(super) fn clear_shown(&mut self) {
        self.last = None;
        let shown = std::mem::take(&mut self.shown);
        if shown > 0 {
            self.screen.show_block_drawn(shown, &[]);
        }
    }

    /// Shows the picture with a line below it.
    fn write_below(&mut self, line: String) {
        let drawn = self.picture.as_ref().map(|run| picture::draw(run, WallClock.now(), count_columns()));
        let mut lines = drawn.unwrap_or_default();
        let room = self.screen.count_talk_rows().saturating_sub(2).max(1);
        if lines.len() > room {
            let more = lines.len() - room + 1;
            lines.truncate(room - 1);
            lines.push(format!("  … {more} more lines"));
        }
        lines.push(line.clone());
        self.line = line;
        self.screen.show_block_drawn(self.shown, &lines);
        self.shown = lines.len();
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
fn count_columns() -> usize {
    talk_columns().saturating_sub(1)
}
