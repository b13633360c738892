//! Shared by the reading commands: the log opened for reading, the process that runs on it, and the selected thread.
//! The log is a file on this machine, or that of an organism elsewhere. It writes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::Args;
use serde_json::Value;

use super::exit::CommandExit;
use super::forms::Forms;
use super::local_organism;
use super::place::{Place, refuse};
use super::remote_organism::OrganismElsewhere;
use super::screen::Screen;
use super::unfound::report_not_found;
use systole_api::types::ApiAlarm;
use systole_client::client::{DoorClient, DoorClientFault};
use systole_config as config;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{Clock as _, LogFault, LogReader, Position};
use systole_core::types::time::Millis;
use systole_log::index::{IndexFault, IndexFile, IndexWait};
use systole_log::sqlite::{self, LogCondition, SqliteReader};
use systole_organism::runfile::RunFile;
use systole_organism::workflow_steps;
use systole_queries::anew;
use systole_queries::configurations;
use systole_queries::finding::{self, NameOwner};
use systole_queries::index::{LogIndex, describe_fault};
use systole_queries::log_reads::PastLog;
use systole_queries::log_state::LogState;
use systole_queries::pauses::ThreadPause;
use systole_queries::persons::{self, WaitingRequest};
use systole_queries::query::QueryFault;
use systole_queries::runs::WorkflowRuns;
use systole_system::clock::WallClock;

/// The position at which a command ends its reading.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct PastPosition {
    /// Show everything as it was at this position of the log
    #[arg(long, value_name = "POSITION")]
    at: Option<u64>,
}

impl PastPosition {
    /// Whether the past is asked for.
    pub(super) fn is_given(self) -> bool {
        self.at.is_some()
    }
}

/// An open log.
pub(super) struct Looking {
    pub(super) screen: Screen,
    pub(super) reader: Arc<dyn LogReader>,
    /// The reader of the log's file, if it is on this machine.
    pub(super) file: Option<SqliteReader>,
    /// The organism that is asked instead, if the log is elsewhere.
    pub(super) elsewhere: Option<OrganismElsewhere>,
    /// What is read of the log: all of it, or up to a position.
    pub(super) view: Arc<dyn LogReader>,
    /// That position.
    pub(super) at: Option<Position>,
    /// The file of the log; for messages, the address of an organism elsewhere.
    pub(super) log: PathBuf,
    /// The process that runs an organism on it.
    pub(super) running: Option<u32>,
    /// The moment of reading.
    pub(super) now: Millis,
    directory: PathBuf,
    start: String,
    /// Set once the organism did not answer: it is not asked again.
    silent: OnceLock<()>,
    /// What keeps the log from being written, once that was asked.
    alarms: OnceLock<Vec<ApiAlarm>>,
    /// The forms of payloads for programs.
    pub(super) forms: Forms,
}

impl Looking {
    /// The log of the organism that the command line or the environment names: elsewhere, or on this machine.
    pub(super) fn open_anywhere(place: &Place) -> Result<Looking, CommandExit> {
        let Some(elsewhere) = OrganismElsewhere::find_named(place)? else { return Looking::open(place) };
        let reader: Arc<dyn LogReader> = elsewhere.log.clone();
        Ok(Looking {
            screen: place.screen(),
            view: reader.clone(),
            at: None,
            reader,
            file: None,
            log: elsewhere.client.address().into(),
            running: Some(elsewhere.status.pid),
            now: WallClock.now(),
            directory: PathBuf::from("."),
            start: String::new(),
            silent: OnceLock::new(),
            alarms: OnceLock::new(),
            forms: Forms::default(),
            elsewhere: Some(elsewhere),
        })
    }

    /// Opens the log of a place on this machine, or reports why it cannot, with the fix.
    pub(super) fn open(place: &Place) -> Result<Looking, CommandExit> {
        let screen = place.screen();
        // A path joined from two may contain `/./`, which is ugly to read.
        let named = place.log(screen).inspect_err(|_| {
            screen.say("a log can be read without that file: name it with --log PATH");
        });
        let log: PathBuf = named?.components().collect();
        let start = place.run_command();
        if !log.exists() {
            if let Some(fault) = sqlite::lost_whole(&log) {
                return Err(local_organism::report_log_fault(screen, &fault));
            }
            let fix = format!("{start}, or name another with --log PATH");
            return Err(screen.fail_with(CommandExit::Unavailable, describe_absent(&log), fix));
        }
        let opened = sqlite::open_reading(&log).and_then(|reader| Ok((reader, sqlite::find_holder(&log)?)));
        let (reader, running) = opened.map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
        if let Ok(LogCondition { lost: Some(fault), .. }) = sqlite::read_condition(&log) {
            screen.say(format!("note: {fault}"));
        }
        let of_file: Arc<dyn LogReader> = Arc::new(reader.clone());
        Ok(Looking {
            screen,
            view: of_file.clone(),
            at: None,
            reader: of_file,
            file: Some(reader),
            elsewhere: None,
            log,
            running,
            now: WallClock.now(),
            directory: place.directory(),
            start,
            silent: OnceLock::new(),
            alarms: OnceLock::new(),
            forms: Forms::default(),
        })
    }

    /// The log of `anywhere`, as it was at a position. Nothing runs in the past, and the time of its record counts as now.
    pub(super) fn open_anywhere_at(place: &Place, past: PastPosition) -> Result<Looking, CommandExit> {
        Looking::open_anywhere(place)?.show_at(past)
    }

    /// This log as it was at a position.
    pub(super) fn show_at(self, past: PastPosition) -> Result<Looking, CommandExit> {
        let mut looking = self;
        let Some(at) = past.at else { return Ok(looking) };
        let last = looking.reader.read_last().map_err(|fault| looking.fault(&fault))?;
        let before = Position(at.saturating_sub(1));
        let found = if at == 0 { Ok(Vec::new()) } else { looking.reader.read_after(before, 1) };
        let found = found.map_err(|fault| looking.fault(&fault))?;
        let Some((_, record)) = found.into_iter().find(|(position, _)| position.0 == at) else {
            let words = format!("--at {at}: there is no such position; the log ends at {}", last.0);
            let fix = "systole log --json, which prints the position of each record";
            return Err(looking.screen.refuse(words, fix));
        };
        looking.now = record.header.time;
        looking.running = None;
        looking.at = Some(Position(at));
        looking.view = match &looking.elsewhere {
            Some(elsewhere) => elsewhere.log_at(looking.at),
            None => Arc::new(PastLog::new(looking.view, Position(at))),
        };
        Ok(looking)
    }

    /// The thread that the user means.
    pub(super) fn find(&self, typed: &str) -> Result<ThreadId, CommandExit> {
        finding::find(&*self.view, typed, &self.owner()).map_err(|why| report_not_found(self.screen, &why))
    }

    /// Whose names of threads count.
    pub(super) fn owner(&self) -> NameOwner {
        self.elsewhere.as_ref().map_or_else(NameOwner::new_operator, OrganismElsewhere::owner)
    }

    /// Asks the index of the log, with all that the log has. It is made in memory for an organism elsewhere, and for the
    /// log as it was.
    pub(super) fn read_index<T>(
        &self,
        mut ask: impl FnMut(&IndexFile) -> Result<T, IndexFault>,
    ) -> Result<T, QueryFault> {
        let mut index = match self.elsewhere.is_none() && self.at.is_none() {
            true => LogIndex::beside(&self.log, IndexWait::Patient),
            false => LogIndex::apart(),
        };
        let (mut told, mut is_shown) = (self.screen.follow_progress("index"), false);
        let mut going_on = |at, last| {
            is_shown |= told(at, last);
            true
        };
        let asked = index.ask(&*self.view, &mut going_on, &mut ask);
        // Without a line to clear, nothing but the answer is written.
        if is_shown {
            self.screen.show_progress("");
        }
        index.notes.iter().for_each(|note| self.screen.say(format!("note: {note}")));
        asked.map_err(|fault| QueryFault::Log(describe_fault(fault)))
    }

    /// The roots that have the request of a root anew. An organism elsewhere says it, by its own index.
    pub(super) fn list_sent_anew(&self, id: &ThreadId) -> Result<Vec<ThreadId>, QueryFault> {
        let Some(elsewhere) = &self.elsewhere else {
            let sent = self.read_index(|index| anew::list_sent(index, &*self.view, id))?;
            return Ok(sent.into_iter().map(|one| one.thread).collect());
        };
        let told = elsewhere.log_at(self.at).describe_thread(id)?;
        let sent = told.pointer("/why/anew/as").and_then(Value::as_array);
        let ids = sent.into_iter().flatten().filter_map(Value::as_str);
        Ok(ids.filter_map(|id| ThreadId::parse(id).ok()).collect())
    }

    /// The current state of the log.
    pub(super) fn whole(&self) -> Result<LogState, CommandExit> {
        self.read_state().map_err(|fault| self.fault(&fault))
    }

    /// The same, or the fault of the log.
    pub(super) fn read_state(&self) -> Result<LogState, LogFault> {
        let read = |source: &[u8]| self.configuration(source);
        let whole = LogState::look(&*self.view, &read, self.running)?;
        if self.elsewhere.as_ref().is_some_and(|organism| organism.log.refused_document().is_some()) {
            self.screen
                .say("note: configurations are for clients with the role `read`, so less is known of calls");
        }
        Ok(whole)
    }

    /// A configuration from its stored source, or why it cannot be read.
    pub(super) fn configuration(&self, source: &[u8]) -> Result<Composition, String> {
        config::read_source(source, &self.directory).map_err(|refused| {
            let first = refused.0.first();
            first.map_or_else(|| "it is refused".to_owned(), |mistake| mistake.message.clone())
        })
    }

    /// The organism as it was when it started last.
    pub(super) fn used_composition(&self) -> Result<Composition, CommandExit> {
        let fault = |fault| self.fault(&fault);
        let used = configurations::list_used(&*self.view).map_err(fault)?;
        let Some(last) = used.first() else {
            return Err(self.screen.refuse("no organism had started at this position", "a later position"));
        };
        let source = self.view.read_document(last.hash).map_err(fault)?;
        let source = source.ok_or_else(|| "the log does not hold it".to_owned());
        source.and_then(|source| self.configuration(&source)).map_err(|why| {
            let words = format!("the configuration {} cannot be read: {why}", last.hash);
            let fix = format!("systole blob {}, which prints it", last.hash);
            self.screen.fail_with(CommandExit::Failed, words, fix)
        })
    }

    /// The command that starts the organism; `None` if it runs, or if the past is shown.
    pub(super) fn start(&self) -> Option<&str> {
        (self.running.is_none() && self.at.is_none()).then_some(&self.start)
    }

    /// The number of NATS workers for each listener, if a running organism can be asked. It reports a failed request.
    pub(super) fn workers(&self) -> BTreeMap<String, usize> {
        let running = self.running.filter(|_| self.silent.get().is_none());
        let told = match &self.elsewhere {
            Some(elsewhere) => running.map(|_| elsewhere.client.count_workers()),
            None => running
                .and_then(|_| RunFile::find_running(&self.log))
                .map(|run| DoorClient::from_run_file(&run).count_workers()),
        };
        let unknown = |words: &str| {
            self.screen.say(format!("the number of workers over NATS is not known: {words}"));
            BTreeMap::new()
        };
        match told {
            // Just after the start there is no door yet to ask.
            None | Some(Err(DoorClientFault::Unreachable { .. })) => BTreeMap::new(),
            Some(Ok(Ok(found))) => found.workers,
            // A client without the role that reads sees no listeners.
            Some(Ok(Err(refusal))) if refusal.code == Code::IngressForbidden.as_str() => BTreeMap::new(),
            Some(Ok(Err(refusal))) => unknown(&refusal.message),
            Some(Err(unheard)) => unknown(&unheard.to_string()),
        }
    }

    /// What keeps the log from being written as it should at the moment, if a running organism can be asked.
    pub(super) fn alarms(&self) -> Vec<ApiAlarm> {
        self.alarms.get_or_init(|| self.ask_alarms()).clone()
    }

    fn ask_alarms(&self) -> Vec<ApiAlarm> {
        let all = match &self.elsewhere {
            Some(elsewhere) if self.running.is_some() => elsewhere.status.alarms.clone(),
            None if self.running.is_some() => read_alarms(&self.log).unwrap_or_else(|fault| {
                let _known = self.silent.set(());
                self.screen.say(format!("note: {fault}"));
                self.screen.say(format!("  try: {}", fault.fix()));
                Vec::new()
            }),
            _ => Vec::new(),
        };
        all.into_iter().filter(ApiAlarm::lasts).collect()
    }

    /// Reports them, each with its fix.
    pub(super) fn say_alarms(&self, alarms: &[ApiAlarm]) {
        for alarm in alarms {
            self.screen.say(alarm.sentence(self.now));
            self.screen.say(format!("  try: {}", alarm.fix));
        }
    }

    /// The pause of everything, if there is one.
    pub(super) fn all_paused(&self, whole: &LogState) -> Result<Option<ThreadPause>, CommandExit> {
        whole.all_paused(&*self.view).map_err(|fault| self.fault(&fault))
    }

    /// Reports that everything is paused, if so.
    pub(super) fn say_if_paused(&self, pause: Option<&ThreadPause>) {
        if let Some(pause) = pause {
            self.screen.say(pause.of_everything(self.now));
        }
    }

    /// Reads what came since. A file is read anew each time anyway.
    pub(super) fn look_again(&self) {
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.log.look_again();
        }
    }

    /// Why stored documents are not shown, if they were refused to this client of an organism elsewhere.
    pub(super) fn refused_document(&self) -> Option<CommandExit> {
        let elsewhere = self.elsewhere.as_ref()?;
        elsewhere.log.refused_document().map(|refusal| elsewhere.report_refusal(&refusal))
    }

    /// The requests that wait for a person.
    pub(super) fn requests(&self) -> Result<Vec<WaitingRequest>, CommandExit> {
        match &self.elsewhere {
            Some(elsewhere) => elsewhere.list_waiting(self.at),
            None => self.waiting_here(),
        }
    }

    fn waiting_here(&self) -> Result<Vec<WaitingRequest>, CommandExit> {
        let view = &*self.view;
        let mut waiting = persons::waiting(view).map_err(|fault| self.fault(&fault))?;
        if waiting.iter().any(|request| request.payload().is_none()) {
            let whole = self.whole()?;
            let runs = WorkflowRuns::new(view, &whole, &workflow_steps::describe_step);
            persons::name_outcomes(&mut waiting, &runs).map_err(|fault| self.fault(&fault))?;
            persons::add_changes(&mut waiting, view).map_err(|fault| self.fault(&fault))?;
        }
        Ok(waiting)
    }

    /// Reports that no organism runs on the log, if work in it needs one.
    pub(super) fn say_if_still(&self, is_unfinished: bool) {
        if let Some(note) = self.still_note().filter(|_| is_unfinished) {
            self.screen.say(note);
        }
    }

    /// That no organism runs on the log, if so.
    pub(super) fn still_note(&self) -> Option<String> {
        let log = self.log.display();
        self.start().map(|start| format!("no organism runs on {log}; start it with: {start}"))
    }

    /// Reports what is wrong with the log.
    pub(super) fn fault(&self, fault: &LogFault) -> CommandExit {
        local_organism::report_log_fault(self.screen, fault)
    }
}

/// The organism of the file. If the file has mistakes while an organism runs from it, the one that runs.
pub(super) fn read_composition(place: &Place, screen: Screen) -> Result<Composition, CommandExit> {
    match place.load() {
        Ok(file) => Ok(file.composition),
        Err(_) if place.running_log().is_some() => Looking::open(place)?.used_composition(),
        Err(refused) => Err(refuse(screen, &refused)),
    }
}

/// What keeps a log on this machine from being written as it should, or did since the organism on it started. The
/// fault says that the organism does not answer.
pub(super) fn read_alarms(log: &Path) -> Result<Vec<ApiAlarm>, DoorClientFault> {
    let Some(run) = RunFile::find_running(log) else { return Ok(Vec::new()) };
    match DoorClient::from_run_file(&run).read_alarms() {
        Err(silent @ DoorClientFault::Silent { .. }) => Err(silent),
        // An organism that starts or stops may have no door.
        told => Ok(told.ok().and_then(Result::ok).unwrap_or_default()),
    }
}

/// The words for a missing log.
pub(super) fn describe_absent(log: &Path) -> String {
    format!("{}: there is no such log; nothing has run here yet", log.display())
}

/// The log that was named, or that of the organism's file, if it is there.
pub(super) fn find_log(screen: Screen, place: &Place, named: Option<&Path>) -> Result<PathBuf, CommandExit> {
    let log: PathBuf = match named {
        Some(named) => named.to_owned(),
        None => place.log(screen)?.components().collect(),
    };
    if log.exists() {
        return Ok(log);
    }
    if let Some(fault) = sqlite::lost_whole(&log) {
        return Err(local_organism::report_log_fault(screen, &fault));
    }
    let words = describe_absent(&log);
    Err(screen.fail_with(CommandExit::Unavailable, words, "--log with the path of a log, as organism.db"))
}

/// Splits a record's number off the end of the input. `@last` alone has none.
pub(super) fn split_number(typed: &str) -> (&str, Option<u64>) {
    let seq = typed.rsplit_once('@').and_then(|(thread, seq)| Some((thread, seq.parse().ok()?)));
    match seq.filter(|(thread, _)| !thread.is_empty()) {
        Some((thread, seq)) => (thread, Some(seq)),
        None => (typed, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_behind_the_thread() {
        assert_eq!(split_number("sess-77b0@12"), ("sess-77b0", Some(12)));
        assert_eq!(split_number("@last@3"), ("@last", Some(3)));
        for whole in ["@last", "sess-77b0", "@12", "sess-77b0@", "sess-77b0@x"] {
            assert_eq!(split_number(whole), (whole, None));
        }
    }
}
