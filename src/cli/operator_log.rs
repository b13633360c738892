//! What the operator reads of the parts that run: each event is one line on stderr, with what is wrong, where, and the
//! fix. Under systemd the line begins with its level, and with `SYSTOLE_LOG=json` it is a JSON object.
//!
//! Events come in; lines go out. Only our own events are shown, never those of libraries: theirs may hold payloads.

use std::fmt::{self, Debug, Write as _};

use systole_kit::writer::make_visible;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;

use super::screen::{ERROR_MARK, Screen, is_journal};
use systole_core::types::ports::Clock as _;
use systole_show::layout;
use systole_system::clock::WallClock;

/// The variable that says how much is shown, and in which form.
const VARIABLE: &str = "SYSTOLE_LOG";
/// The crates whose events are shown begin with this.
const OURS: &str = "systole";

/// What `SYSTOLE_LOG` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct LogChoice {
    debug: bool,
    json: bool,
}

impl LogChoice {
    /// Reads words such as `debug`, `json` or `debug,json`. Unknown ones are returned beside the choice of the others.
    fn from_words(said: &str) -> (LogChoice, Vec<&str>) {
        let (mut choice, mut unknown) = (LogChoice::default(), Vec::new());
        for word in said.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "debug" => choice.debug = true,
                "json" => choice.json = true,
                other => unknown.push(other),
            }
        }
        (choice, unknown)
    }
}

/// Shows events from now on.
pub(super) fn install_subscriber() {
    let said = std::env::var(VARIABLE).unwrap_or_default();
    let (choice, unknown) = LogChoice::from_words(&said);
    if !unknown.is_empty() {
        let screen = Screen::new(false);
        let unknown = unknown.join("`, `");
        screen.say(format!("note: {VARIABLE}: `{unknown}` is not known and is not used"));
        screen.say("  try: debug, json, or both with a comma between them");
    }
    // A second call in one process keeps the first.
    let _installed =
        tracing::subscriber::set_global_default(build_subscriber(choice, is_journal(), std::io::stderr));
}

fn build_subscriber<W>(choice: LogChoice, journal: bool, out: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let most = if choice.debug { Level::DEBUG } else { Level::INFO };
    let ours = filter_fn(move |about| about.target().starts_with(OURS) && *about.level() <= most);
    let lines = tracing_subscriber::fmt::layer().with_writer(out).with_ansi(false);
    let all = tracing_subscriber::registry().with(ours);
    match choice.json {
        true => Box::new(all.with(lines.json().flatten_event(true).with_span_list(false))),
        false => Box::new(all.with(lines.event_format(OperatorLine { journal }))),
    }
}

/// One event as a line for a person.
struct OperatorLine {
    journal: bool,
}

impl OperatorLine {
    /// What the line begins with: the level for the journal, which has the time; else the time. Then the level in
    /// words.
    fn write_lead(&self, about: &Metadata<'_>) -> String {
        let (mark, word) = match *about.level() {
            Level::ERROR => (ERROR_MARK, "error"),
            Level::WARN => ("<4>", "warning"),
            Level::INFO => ("<6>", "note"),
            _ => ("<7>", "debug"),
        };
        match self.journal {
            true => format!("{mark}{word}"),
            false => format!("{} {word}", layout::clock(WallClock.now())),
        }
    }
}

impl<S, N> FormatEvent<S, N> for OperatorLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut parts = EventParts::default();
        event.record(&mut parts);
        writeln!(line, "{}: {}", self.write_lead(event.metadata()), parts.write_line())
    }
}

/// The fields of an event.
#[derive(Default)]
struct EventParts {
    message: String,
    why: String,
    fix: String,
    others: String,
}

impl Visit for EventParts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let (place, name) = match field.name() {
            "message" => (&mut self.message, None),
            "why" => (&mut self.why, None),
            "fix" => (&mut self.fix, None),
            name => (&mut self.others, Some(name)),
        };
        // Writing into a String cannot fail.
        let _infallible = match name {
            Some(name) => write!(place, " ({name} {value:?})"),
            None => write!(place, "{value:?}"),
        };
    }
}

impl EventParts {
    /// What is wrong, why, where, and the fix, without line breaks.
    fn write_line(&self) -> String {
        let EventParts { message, why, fix, others } = self;
        let colon = if why.is_empty() { "" } else { ": " };
        let attempt = if fix.is_empty() { "" } else { "; try: " };
        make_visible(&format!("{message}{others}{colon}{why}{attempt}{fix}")).replace('\n', " ")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The lines of one event of each level.
    fn shown(choice: LogChoice, journal: bool) -> Vec<String> {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing::subscriber::with_default(build_subscriber(choice, journal, move || writer.clone()), || {
            let (why, listener) = ("no answer\n\u{1b}[2Jfor 5 s", "echo");
            tracing::error!(why, fix = "start it", %listener, "the door is shut");
            tracing::warn!("a page was not read");
            tracing::info!("it is written again");
            tracing::debug!("a group is gone");
            tracing::error!(target: "hyper", "Authorization: Bearer 0123");
        });
        let all = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        all.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_event_is_one_line_with_its_level_reason_place_and_fix() {
        let plain = LogChoice::default();
        let door = "error: the door is shut (listener echo): no answer \\u{1b}[2Jfor 5 s; try: start it";
        assert_eq!(
            shown(plain, true),
            [
                format!("<3>{door}").as_str(),
                "<4>warning: a page was not read",
                "<6>note: it is written again"
            ]
        );
        let timed = shown(plain, false);
        assert_eq!(timed.len(), 3, "{timed:?}");
        let (clock, rest) = timed[0].split_once(' ').unwrap();
        assert!(clock.len() == 8 && clock.split(':').count() == 3 && rest == door, "{timed:?}");
        let debug = shown(LogChoice { debug: true, json: false }, true);
        assert_eq!(debug.last().map(String::as_str), Some("<7>debug: a group is gone"));
    }

    #[test]
    fn as_json_an_event_has_its_parts_as_fields() {
        let all = shown(LogChoice { debug: true, json: true }, false);
        assert_eq!(all.len(), 4, "{all:?}");
        let first: serde_json::Value = serde_json::from_str(&all[0]).unwrap();
        for (field, value) in [
            ("level", "ERROR"),
            ("message", "the door is shut"),
            ("why", "no answer\n\u{1b}[2Jfor 5 s"),
            ("fix", "start it"),
            ("listener", "echo"),
        ] {
            assert_eq!(first[field], value, "{all:?}");
        }
        assert!(first["timestamp"].is_string() && first["target"].is_string(), "{all:?}");
    }

    #[test]
    fn the_variable_takes_two_words_and_names_an_unknown_one() {
        let choice = |debug, json| (LogChoice { debug, json }, Vec::new());
        assert_eq!(LogChoice::from_words(""), choice(false, false));
        assert_eq!(LogChoice::from_words("debug"), choice(true, false));
        assert_eq!(LogChoice::from_words("json, debug"), choice(true, true));
        assert_eq!(LogChoice::from_words("json,verbose").1, ["verbose"]);
        assert!(LogChoice::from_words("json,verbose").0.json, "the others count");
    }
}
