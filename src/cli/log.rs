//! `systole log`: the records of a thread, or of the whole log, as lines for people, as JSON or as the
//! bytes that were stored.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::exit::CommandExit;
use super::follow::RemoteGrowth;
use super::forms::Forms;
use super::looking::{Looking, PastPosition};
use super::moments::parse_moment;
use super::place::Place;
use super::remote_organism;
use super::signals::Signals;
use super::system_faults;
use crate::limits::{self, NEWEST};
use systole_client::client::DoorClientFault;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{Record, RecordKind, head_zero};
use systole_queries::causes;
use systole_queries::log_reads::PastLog;
use systole_queries::narrate::{as_json, narrate};
use systole_show::layout::heading;

/// Which records are shown, and how.
#[derive(Args, Debug)]
// Before the command, -f names the organism file; after it, -f follows, as in other tools.
#[command(mut_arg("organism_file", |file| file.short(None)))]
#[command(after_help = "Examples:
  systole log -f
  systole log -n 20 --since 10m
  systole log @last --json
  systole log -n 5 --at 120")]
pub(super) struct Log {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// The thread: its id, its beginning, @last or @NAME; none: the whole log
    thread: Option<String>,
    /// The first record, by number in the thread or position in the log
    #[arg(long, value_name = "SEQ|POS", conflicts_with_all = ["newest", "since"])]
    from: Option<u64>,
    /// Only the newest records; 0 means all
    #[arg(short = 'n', long = "newest", value_name = "COUNT")]
    newest: Option<u64>,
    /// Only records since then: 10m, 2h, 14:30, 2026-11-21
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Follow new records, until stopped or the thread is cancelled
    #[arg(short = 'f', long, conflicts_with = "at")]
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
    /// The reader of our output has gone.
    Unread,
    /// The organism elsewhere has gone; the record to go on with.
    Gone(DoorClientFault, u64),
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
    /// The log as the file has it: damage is shown and marked as damage.
    reader: Arc<dyn LogReader>,
    thread: Option<ThreadId>,
    form: Form,
    /// The next record: its number in the thread, or its position.
    next: u64,
    /// The day and the offset of the last shown times.
    heading: String,
    /// Whether the thread was seen to end.
    ended: bool,
    /// The last record of each thread that was shown, with the head that the file claims after it.
    heads: HashMap<ThreadId, (u64, Digest)>,
    /// Reads payloads for programs.
    forms: Forms,
    /// Whether every shown record continues its chain, and none between them is missing.
    sound: bool,
    out: W,
}

impl Log {
    /// Whether it uses a pager: a pager would wait for the end of a followed log.
    pub(super) fn is_paged(&self) -> bool {
        !self.follow && !self.raw
    }

    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let screen = looking.screen;
        if self.raw && io::stdout().is_terminal() {
            // A body may contain terminal escapes, and raw output must not be changed.
            screen.say("error: stored bytes are not sent to a terminal");
            screen.say("  try: systole log --raw … > FILE, or leave --raw out");
            return Err(CommandExit::Usage);
        }
        let thread = self.thread.as_deref().map(|typed| self.find(&looking, typed)).transpose()?;
        let (next, is_cut) = self.first(&looking, thread.as_ref())?;
        if is_cut && !screen.json && !self.raw {
            screen.say(format!("the newest {NEWEST} records; -n 0 prints all"));
        }
        let form = match (self.raw, screen.json) {
            (true, _) => Form::Raw,
            (false, true) => Form::Json,
            (false, false) => Form::Lines,
        };
        let out = io::BufWriter::new(io::stdout().lock());
        let interrupt = match self.follow {
            true => Some(Interrupt::listen(&looking, thread.as_ref())?),
            false => None,
        };
        let mut printing = Printing {
            looking: &looking,
            reader: read_claimed(&looking),
            thread,
            form,
            next,
            heading: String::new(),
            ended: false,
            heads: HashMap::new(),
            forms: Forms::default(),
            sound: true,
            out,
        };
        match printing.run(interrupt) {
            Ok(()) | Err(Over::Unread) if printing.sound => Ok(CommandExit::Done),
            Ok(()) | Err(Over::Unread) => {
                screen.say("  try: systole doctor, which says how far the damage goes");
                Err(CommandExit::Log)
            }
            Err(Over::Log(fault)) => Err(looking.fault(&fault)),
            Err(Over::Gone(fault, next)) => {
                let exit = remote_organism::report_silence(screen, &fault);
                screen.say(format!("  the first record that was not shown: --from {next}"));
                Err(exit)
            }
        }
    }
}

impl Log {
    /// The selected thread. If the user wrote `-f FILE` after the command, an explanation of `-f` is
    /// printed.
    fn find(&self, looking: &Looking, typed: &str) -> Result<ThreadId, CommandExit> {
        let found = looking.find(typed);
        if found.is_err() && self.follow && Path::new(typed).is_file() {
            looking.screen.say("  -f follows the log here; the file is named with --organism FILE");
        }
        found
    }

    /// The first record to show, and whether earlier ones are omitted by default.
    fn first(&self, looking: &Looking, thread: Option<&ThreadId>) -> Result<(u64, bool), CommandExit> {
        if let Some(from) = self.from {
            return Ok((from.max(1), false));
        }
        let (reader, fault) = (read_claimed(looking), |fault| looking.fault(&fault));
        // The first record at or after that number.
        let at = |number: u64| match thread {
            Some(thread) => reader.of_thread(thread, number, 1),
            None => reader.read_after(Position(number - 1), 1),
        };
        let since = match self.since.as_deref() {
            None => 1,
            Some(text) => {
                let since = parse_moment(looking.screen, "--since", text, looking.now)?;
                causes::first_after(|number| Ok(at(number)?.iter().any(|(_, it)| it.header.time < since)))
                    .map_err(fault)?
            }
        };
        let newest = match (self.newest, &self.since, thread) {
            (Some(0), ..) | (None, Some(_), _) | (None, None, Some(_)) => return Ok((since, false)),
            (Some(newest), ..) => newest,
            (None, None, None) => NEWEST,
        };
        let end = match thread {
            Some(_) => causes::first_after(|number| Ok(!at(number)?.is_empty())).map_err(fault)?,
            None => reader.read_last().map_err(fault)?.0 + 1,
        };
        let first = end.saturating_sub(newest).max(1);
        Ok((first.max(since), first > 1 && self.newest.is_none()))
    }
}

/// The log as the file has it, up to the selected position. An organism elsewhere shows only what verifies.
fn read_claimed(looking: &Looking) -> Arc<dyn LogReader> {
    match (&looking.file, looking.at) {
        (Some(file), Some(at)) => Arc::new(PastLog::new(Arc::new(file.as_claimed()), at)),
        (Some(file), None) => Arc::new(file.as_claimed()),
        (None, _) => looking.view.clone(),
    }
}

/// Ctrl-C or TERM, for a command that a signal ends, and what says that the log may have grown.
struct Interrupt {
    runtime: tokio::runtime::Runtime,
    signals: Signals,
    /// An organism elsewhere says so itself.
    growth: Option<RemoteGrowth>,
}

/// What ended a wait.
enum Woken {
    Grown,
    Stopped,
    /// The organism elsewhere does not come back.
    Gone(DoorClientFault),
}

impl Interrupt {
    fn listen(looking: &Looking, thread: Option<&ThreadId>) -> Result<Interrupt, CommandExit> {
        let screen = looking.screen;
        let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime =
            built.map_err(|error| system_faults::report_missing(screen, "the wait for records", &error))?;
        let entered = runtime.enter();
        let signals = Signals::listen(screen)?;
        drop(entered);
        let growth =
            looking.elsewhere.as_ref().map(|organism| RemoteGrowth::follow(screen, organism, thread));
        Ok(Interrupt { runtime, signals, growth })
    }

    /// Waits until the log may have grown, or a signal comes.
    fn wait(&mut self) -> Woken {
        let Interrupt { runtime, signals, growth } = self;
        runtime.block_on(async {
            let grown = async {
                match growth {
                    Some(growth) => growth.next().await,
                    None => {
                        tokio::time::sleep(Duration::from_millis(limits::LOG_LOOK_MS)).await;
                        Ok(())
                    }
                }
            };
            tokio::select! {
                _ = signals.next() => Woken::Stopped,
                grown = grown => grown.map_or_else(Woken::Gone, |()| Woken::Grown),
            }
        })
    }
}

impl<W: Write> Printing<'_, W> {
    /// Reports if a record does not continue its chain. The record is still shown: a person who examines
    /// damage must see it.
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
        if last + 1 != seq || !record.is_valid_after(head) {
            let place = format!("at position {} of the log, thread {thread}", position.0);
            self.unsound(&format!("error: record {seq} does not follow record {}, {place}", seq - 1));
        }
        if self.heads.len() == limits::KNOWN_THREADS {
            self.heads.clear();
        }
        self.heads.insert(thread.clone(), (seq, record.head));
        Ok(())
    }

    fn unsound(&mut self, words: &str) {
        self.sound = false;
        self.looking.screen.say(words);
    }

    /// The previous record of a thread, with the head that it claims.
    fn before(&self, thread: &ThreadId, seq: u64) -> Result<(u64, Digest), LogFault> {
        let before = seq.saturating_sub(1);
        let found = if before == 0 { None } else { self.reader.of_thread(thread, before, 1)?.pop() };
        let found = found.filter(|(_, record)| record.header.seq == before);
        Ok(found.map_or_else(|| (0, head_zero(thread)), |(_, record)| (before, record.head)))
    }

    /// Prints the existing records; with `interrupt`, also new ones until the signal.
    fn run(&mut self, mut interrupt: Option<Interrupt>) -> Result<(), Over> {
        loop {
            match self.print() {
                // The stream says when it is back, or that it does not come back.
                Err(Over::Log(LogFault::Elsewhere { code: None, .. })) if interrupt.is_some() => {}
                printed => printed?,
            }
            self.out.flush()?;
            let Some(interrupt) = interrupt.as_mut().filter(|_| !self.ended) else { return Ok(()) };
            match interrupt.wait() {
                Woken::Grown => self.looking.look_again(),
                Woken::Stopped => return Ok(()),
                Woken::Gone(fault) => return Err(Over::Gone(fault, self.next)),
            }
        }
    }

    /// Prints the next records. Those before a damaged one are shown.
    fn print(&mut self) -> Result<(), Over> {
        let (reader, thread) = (self.reader.clone(), self.thread.clone());
        let records = match &thread {
            Some(thread) => reader.records_of(thread, self.next),
            None => reader.records_after(Position(self.next - 1)),
        };
        for placed in records {
            let (position, record) = placed?;
            self.check(position, &record)?;
            self.next = 1 + if self.thread.is_some() { record.header.seq } else { position.0 };
            self.ended |= self.thread.is_some() && record.header.kind == RecordKind::Terminal;
            self.one(position, &record)?;
        }
        Ok(())
    }

    fn one(&mut self, position: Position, record: &Record) -> io::Result<()> {
        match self.form {
            Form::Raw => {
                self.out.write_all(&record.body)?;
                self.out.write_all(b"\n")
            }
            Form::Json => {
                let value = self.forms.add_to_record(&*self.reader, &as_json(position, record));
                writeln!(self.out, "{value}")
            }
            Form::Lines => {
                let heading = heading(record.header.time);
                if heading != self.heading {
                    writeln!(self.out, "{heading}")?;
                    self.heading = heading;
                }
                for line in narrate(record, self.thread.as_ref()) {
                    writeln!(self.out, "{line}")?;
                }
                Ok(())
            }
        }
    }
}
