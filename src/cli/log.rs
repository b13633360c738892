//! `systole log`: the records of a thread, or of the whole log, as lines for people, as JSON or as the
//! bytes that were stored.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write};
use std::time::Duration;

use clap::Args;

use super::exit::Exit;
use super::forms::Forms;
use super::looking::Looking;
use super::place::Place;
use crate::audit::columns::day;
use crate::audit::narrate::{as_json, narrate};
use crate::edges::log::sqlite::Reader;
use crate::words::ids::{Digest, ThreadId};
use crate::words::ports::{LogFault, LogReader as _, Position};
use crate::words::record::{Kind, Record, head_zero};

/// Records read at once.
const PAGE: usize = 512;
/// Records shown of a whole log where nothing says from where on.
const NEWEST: u64 = 100;
/// Threads whose last head is remembered while records are shown; that of any other is looked up.
const HEADS: usize = 16_384;
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
    /// The log as the file has it: damage is shown, and said to be that.
    reader: Reader,
    thread: Option<ThreadId>,
    form: Form,
    /// The next record: its number in the thread, or its position.
    next: u64,
    /// The day that was named last.
    day: String,
    /// Whether the thread was seen to end.
    ended: bool,
    /// The last record of each thread that was shown, with the head that the file claims after it.
    heads: HashMap<ThreadId, (u64, Digest)>,
    /// What reads payloads for programs.
    forms: Forms,
    /// Whether every record that was shown continues its chain, and none is missing between them.
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
        let mut printing = Printing {
            looking: &looking,
            reader: looking.reader.as_claimed(),
            thread,
            form,
            next,
            day: String::new(),
            ended: false,
            heads: HashMap::new(),
            forms: Forms::default(),
            sound: true,
            out,
        };
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

impl<W: Write> Printing<'_, W> {
    /// Says where a record does not continue its chain. It is shown all the same: whoever looks into
    /// damage has to see it.
    fn check(&mut self, position: Position, record: &Record) -> Result<(), LogFault> {
        let (thread, seq) = (&record.header.thread, record.header.seq);
        if self.thread.is_none() && position.0 != self.next {
            let missing = format!("error: positions {} to {} are missing", self.next, position.0 - 1);
            self.unsound(&missing);
        }
        let (last, head) = match self.heads.get(thread) {
            Some(known) => *known,
            None => self.before(thread, seq)?,
        };
        if last + 1 != seq || !record.verifies(head) {
            let place = format!("at position {} of the log, thread {thread}", position.0);
            self.unsound(&format!("error: record {seq} does not follow record {}, {place}", seq - 1));
        }
        if self.heads.len() == HEADS {
            self.heads.clear();
        }
        self.heads.insert(thread.clone(), (seq, record.head));
        Ok(())
    }

    fn unsound(&mut self, words: &str) {
        self.sound = false;
        self.looking.screen.say(words);
    }

    /// The record before one of a thread, with the head that it claims.
    fn before(&self, thread: &ThreadId, seq: u64) -> Result<(u64, Digest), LogFault> {
        let before = seq.saturating_sub(1);
        let found = if before == 0 { None } else { self.reader.of_thread(thread, before, 1)?.pop() };
        let found = found.filter(|(_, record)| record.header.seq == before);
        Ok(found.map_or_else(|| (0, head_zero(thread)), |(_, record)| (before, record.head)))
    }

    fn run(&mut self, follow: bool) -> Result<(), Over> {
        loop {
            while self.page(PAGE)? {}
            self.out.flush()?;
            if !follow || self.ended {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(LOOK_MS));
        }
    }

    /// Prints the next records, at most so many, and tells whether there may be more.
    fn page(&mut self, most: usize) -> Result<bool, Over> {
        let read = match &self.thread {
            Some(thread) => self.reader.of_thread(thread, self.next, most),
            None => self.reader.after(Position(self.next - 1), most),
        };
        let page = match read {
            // Some record of the page cannot even be read: those before it are shown one by one.
            Err(LogFault::Damaged { .. }) if most > 1 => return self.page(1),
            read => read?,
        };
        for (position, record) in &page {
            self.check(*position, record)?;
            self.next = 1 + if self.thread.is_some() { record.header.seq } else { position.0 };
            self.ended |= self.thread.is_some() && record.header.kind == Kind::Terminal;
            self.one(*position, record)?;
        }
        Ok(page.len() == most)
    }

    fn one(&mut self, position: Position, record: &Record) -> io::Result<()> {
        match self.form {
            Form::Raw => {
                self.out.write_all(&record.body)?;
                self.out.write_all(b"\n")
            }
            Form::Json => {
                let value = self.forms.record(&self.reader, &as_json(position, record));
                writeln!(self.out, "{value}")
            }
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
