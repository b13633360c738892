//! `systole log`: the records of a thread, or of the whole log, as lines for people, as JSON or as the
//! bytes that were stored.

use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::looking::Looking;
use super::place::Place;
use crate::audit::columns::day;
use crate::audit::narrate::{as_json, narrate};
use crate::words::ids::{Digest, ThreadId};
use crate::words::ports::{LogFault, LogReader as _, Position};
use crate::words::record::{Kind, Record, head_zero};

/// Records read at once.
const PAGE: usize = 512;
/// Records shown of a whole log where nothing says from where on.
const NEWEST: u64 = 100;
/// How often a log that is followed is looked at. Another process writes it and tells nobody.
const LOOK_MS: u64 = 200;

/// Which records are shown, and how.
#[derive(Args, Debug)]
pub(super) struct Log {
    #[command(flatten)]
    place: Place,
    /// The thread: its id, its beginning, or @last; none: the whole log
    thread: Option<String>,
    /// The first record, by number in the thread or position in the log
    #[arg(long, value_name = "SEQ|POS")]
    from: Option<u64>,
    /// Go on with what comes, until stopped or the thread is cancelled
    #[arg(long)]
    follow: bool,
    /// Print the stored bytes of each body, and nothing else
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

/// How a record is printed.
#[derive(Clone, Copy)]
enum Form {
    Lines,
    Json,
    Raw,
}

/// Why no more is printed.
enum Over {
    Log(LogFault),
    /// Whoever read our output has gone.
    Unread,
}

impl From<LogFault> for Over {
    fn from(fault: LogFault) -> Over {
        Over::Log(fault)
    }
}

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Over {
        Over::Unread
    }
}

struct Printing<'a, W> {
    looking: &'a Looking,
    thread: Option<ThreadId>,
    form: Form,
    /// The next record: its number in the thread, or its position.
    next: u64,
    /// The day that was named last.
    day: String,
    /// Whether the thread was seen to end.
    ended: bool,
    /// The head of the thread's chain before the next record; none where several threads are shown.
    head: Option<Digest>,
    /// Whether every record that was shown continues its chain.
    sound: bool,
    out: W,
}

impl Log {
    pub(super) fn run(self) -> Exit {
        self.print().unwrap_or_else(|exit| exit)
    }

    fn print(&self) -> Result<Exit, Exit> {
        let looking = Looking::open(&self.place)?;
        let screen = looking.screen;
        if self.raw && io::stdout().is_terminal() {
            // A body may hold what a terminal obeys, and it is not ours to change.
            screen.say("error: stored bytes are not sent to a terminal");
            screen.say("  try: systole log --raw … > FILE, or leave --raw out");
            return Err(Exit::Usage);
        }
        let thread = self.thread.as_deref().map(|typed| looking.find(typed)).transpose()?;
        let next = match (self.from, &thread) {
            (Some(from), _) => from.max(1),
            (None, Some(_)) => 1,
            (None, None) => {
                let last = looking.reader.last().map_err(|fault| looking.fault(&fault))?;
                (last.0 + 1).saturating_sub(NEWEST).max(1)
            }
        };
        if next > 1 && self.from.is_none() && !screen.json && !self.raw {
            let words = ["the newest ", &NEWEST.to_string(), " records; --from 1 begins at the first"];
            screen.say(words.concat());
        }
        let form = match (self.raw, screen.json) {
            (true, _) => Form::Raw,
            (false, true) => Form::Json,
            (false, false) => Form::Lines,
        };
        let out = io::BufWriter::new(io::stdout().lock());
        let head = match &thread {
            Some(thread) => Some(head_before(&looking, thread, next)?),
            None => None,
        };
        let day = String::new();
        let mut printing =
            Printing { looking: &looking, thread, form, next, day, ended: false, head, sound: true, out };
        match printing.run(self.follow) {
            Ok(()) | Err(Over::Unread) if printing.sound => Ok(Exit::Done),
            Ok(()) | Err(Over::Unread) => {
                screen.say("  try: systole doctor, which says how far the damage goes");
                Err(Exit::Log)
            }
            Err(Over::Log(fault)) => Err(looking.fault(&fault)),
        }
    }
}

/// The head of a thread's chain before one of its records, as the record before that claims it.
fn head_before(looking: &Looking, thread: &ThreadId, seq: u64) -> Result<Digest, Exit> {
    if seq > 1 {
        let before = looking.reader.of_thread(thread, seq - 1, 1).map_err(|fault| looking.fault(&fault))?;
        if let Some((_, record)) = before.first() {
            return Ok(record.head);
        }
    }
    Ok(head_zero(thread))
}

impl<W: Write> Printing<'_, W> {
    /// Says where a record does not continue its chain. It is shown all the same: whoever looks into
    /// damage has to see it.
    fn check(&mut self, position: Position, record: &Record) {
        let Some(head) = &mut self.head else { return };
        if !record.verifies(std::mem::replace(head, record.head)) {
            self.sound = false;
            let (seq, position) = (record.header.seq, position.0);
            let before = seq.saturating_sub(1);
            let words =
                format!("error: record {seq} does not follow record {before}, at position {position}");
            self.looking.screen.say(words);
        }
    }

    fn run(&mut self, follow: bool) -> Result<(), Over> {
        loop {
            while self.page()? == PAGE {}
            self.out.flush()?;
            if !follow || self.ended {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(LOOK_MS));
        }
    }

    /// Prints the next records, and tells how many there were.
    fn page(&mut self) -> Result<usize, Over> {
        let reader = &self.looking.reader;
        let page = match &self.thread {
            Some(thread) => reader.of_thread(thread, self.next, PAGE)?,
            None => reader.after(Position(self.next - 1), PAGE)?,
        };
        for (position, record) in &page {
            self.next = 1 + if self.thread.is_some() { record.header.seq } else { position.0 };
            self.ended |= self.thread.is_some() && record.header.kind == Kind::Terminal;
            self.check(*position, record);
            self.one(*position, record)?;
        }
        Ok(page.len())
    }

    fn one(&mut self, position: Position, record: &Record) -> io::Result<()> {
        match self.form {
            Form::Raw => {
                self.out.write_all(&record.body)?;
                self.out.write_all(b"\n")
            }
            Form::Json => writeln!(self.out, "{}", as_json(position, record)),
            Form::Lines => {
                let today = day(record.header.time);
                if today != self.day {
                    writeln!(self.out, "{today}, times in UTC")?;
                    self.day = today;
                }
                for line in narrate(record, self.thread.as_ref()) {
                    writeln!(self.out, "{line}")?;
                }
                Ok(())
            }
        }
    }
}
