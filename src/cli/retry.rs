//! `systole retry`: lets threads that failed go on in their place. It shows first what goes out again and what that costs,
//! and carries it out once a person agrees.

mod anew;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::exit::CommandExit;
use super::live_order::{DecidedHere, LiveOrder, carry_out_all, read_reply};
use super::local_organism;
use super::place::Place;
use super::ps::{self, TypedBounds};
use super::refusal_text;
use super::remote_organism::{OrganismElsewhere, report_silence};
use super::screen::Screen;
use super::send::answer_in_words::show_end;
use super::thread_name;
use crate::limits;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::refusal::Refusal;
use systole_doors::api_types::{ApiReceipt, ApiRecord, ApiRefusal};
use systole_doors::client::{DoorClient, DoorClientFault, DoorResult};
use systole_doors::ending::find_call_ending;
use systole_doors::retry_types::{AnewShown, RetryShown, ThreadRetried, sum_up_retries};
use systole_log::index::{IndexFile, IndexWait};
use systole_log::sqlite;
use systole_organism::front::OrganismHandle;
use systole_organism::order::RetryRequest;
use systole_organism::runfile::RunFile;
use systole_organism::workflow_steps::describe_step;
use systole_queries::anew::{AnewChange, SentAnew, list_sent, preview_anew};
use systole_queries::index::{LogIndex, describe_fault};
use systole_queries::log_state::ReadSource;
use systole_queries::retries;
use systole_show::columns::counted;

/// Lets threads that failed go on in their place.
///
/// The turn that failed goes out again, and earlier ones are not paid again. A run of a workflow starts again what
/// failed, and what was cancelled beside it. Shows first what that is, and asks.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole retry 1f0c
  systole retry 1f0c 88e2 --yes --note "the key is renewed"
  systole retry --failed --since 3d --code model.refused
  systole retry @last --yes --wait
  systole retry 1f0c --anew limit=5"#)]
pub(super) struct RetryCommand {
    #[command(flatten)]
    place: Place,
    /// The threads: ids, the beginnings of ids, or @last
    #[arg(value_name = "THREAD", required_unless_present = "failed", conflicts_with_all = FILTERS)]
    threads: Vec<String>,
    /// All threads that failed, as far as the filter fits them
    #[arg(long)]
    failed: bool,
    #[command(flatten)]
    bounds: TypedBounds,
    /// Do it without asking
    #[arg(long)]
    yes: bool,
    /// Wait for the outcome of each thread
    #[arg(long)]
    wait: bool,
    /// The reason; it is recorded
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Go on although effects outside may happen twice; it is recorded
    #[arg(long)]
    again_with_effects: bool,
    /// Send the request once more, as a new thread, with these values in place of its own
    #[arg(long, value_name = "NAME=VALUE", num_args = 0.., conflicts_with_all = WITHOUT_ANEW)]
    anew: Option<Vec<String>>,
}

/// The options that do not go with a request that is sent anew.
const WITHOUT_ANEW: [&str; 8] = ["failed", "since", "until", "listener", "client", "code", "q", "note"];

/// The options that do not go with named threads.
const FILTERS: [&str; 7] = ["failed", "since", "until", "listener", "client", "code", "q"];

/// What a retry of a thread would do, or why there is none.
type Preview = Result<RetryShown, Box<ApiRefusal>>;

/// How a preview is read.
enum PreviewSource {
    /// From an organism that runs.
    Door(DoorClient),
    /// From the log itself, with the organism's file, its folder and the file of the log.
    Log(Box<dyn LogReader>, Box<systole_config::OrganismFile>, PathBuf, PathBuf),
}

impl RetryCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        if let Some(values) = &self.anew {
            return anew::send_anew(&self, values);
        }
        let screen = self.place.screen();
        let previews = self.read_previews(screen)?;
        if previews.is_empty() {
            let words = "no thread that failed fits the filter";
            let fix = "systole ps --failed, which lists those that failed";
            return Err(screen.fail_with(CommandExit::Failed, words, fix));
        }
        let is_refused = previews.iter().any(|(_, preview)| preview.is_err());
        let refused = if is_refused { CommandExit::Payload } else { CommandExit::Done };
        self.show_previews(screen, &previews);
        let given = RefCell::default();
        let fits = previews.into_iter().filter_map(|(_, preview)| preview.ok());
        let (note, allows_effects) = (self.note.as_deref(), self.again_with_effects);
        let orders: Vec<ThreadRetry<'_>> =
            fits.map(|shown| ThreadRetry { shown, note, allows_effects, given: &given }).collect();
        let goes_on = match orders.len() {
            1 => "1 thread goes on".to_owned(),
            count => format!("{count} threads go on"),
        };
        if orders.is_empty() || !self.is_agreed(screen, &goes_on) {
            return Ok(refused);
        }
        let exit = carry_out_all(&self.place, orders)?;
        let given = given.into_inner();
        let ended = match self.wait {
            true => wait_for_ends(&self.place, screen, &given)?,
            false => CommandExit::Done,
        };
        Ok([exit, refused, ended].into_iter().find(|exit| *exit != CommandExit::Done).unwrap_or(exit))
    }

    /// What a retry of each thread would do.
    fn read_previews(&self, screen: Screen) -> Result<Vec<(ThreadId, Preview)>, CommandExit> {
        let failed = if self.failed { Some(ps::find_failed(&self.place, &self.bounds)?) } else { None };
        if let Some(elsewhere) = OrganismElsewhere::find_named(&self.place)? {
            let named = self.threads.iter().map(|typed| elsewhere.find_thread(typed));
            let threads = failed.map_or_else(|| named.collect::<Result<_, _>>(), Ok)?;
            let read = |thread: ThreadId| {
                let preview = elsewhere.check_decision(elsewhere.client.preview_retry(thread.as_str()))?;
                Ok((thread, preview))
            };
            return threads.into_iter().map(read).collect();
        }
        let log = self.place.log(screen)?;
        let named = self.threads.iter().map(|typed| thread_name::find(screen, &log, typed));
        let threads: Vec<ThreadId> = failed.map_or_else(|| named.collect::<Result<_, _>>(), Ok)?;
        let source = PreviewSource::open(&self.place, screen, &log)?;
        threads.into_iter().map(|id| Ok((id.clone(), source.read(screen, &id)?))).collect()
    }

    /// Shows what the retries do. Of many threads only the sum is shown, and why some are left as they are.
    fn show_previews(&self, screen: Screen, previews: &[(ThreadId, Preview)]) {
        if screen.json {
            for (_, preview) in previews {
                match preview {
                    Ok(_) if self.yes => {}
                    Ok(shown) => screen.show_value(shown),
                    Err(refusal) => screen.show_value(refusal),
                }
            }
            return;
        }
        let (is_one, is_short) = (previews.len() == 1, previews.len() <= limits::RETRIES_SHOWN);
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for (thread, preview) in previews {
            match preview {
                Ok(shown) if is_short => shown.describe_preview().iter().for_each(|line| screen.say(line)),
                Ok(_) => {}
                Err(refusal) if is_short => {
                    if !is_one {
                        screen.say(format!("{thread} is left as it is"));
                    }
                    refusal_text::say(screen, refusal);
                }
                Err(refusal) => *left.entry(&refusal.code).or_default() += 1,
            }
        }
        let fits: Vec<&RetryShown> =
            previews.iter().filter_map(|(_, preview)| preview.as_ref().ok()).collect();
        if !is_one && !fits.is_empty() {
            screen.say(sum_up_retries(&fits));
        }
        for (code, number) in left {
            screen.say(format!("{} left as they are: {code}", counted(number as u64, "thread")));
        }
    }

    /// Whether a person agrees, or has already.
    fn is_agreed(&self, screen: Screen, what: &str) -> bool {
        if self.yes {
            return true;
        }
        if screen.json || !(screen.terminal && stdin().is_terminal()) {
            screen.say("  try: the same command with --yes, which does it");
            return false;
        }
        screen.say(format!("{what}. Is that right? [y/N]"));
        let mut line = String::new();
        let is_read = stdin().lock().read_line(&mut line).is_ok();
        let agrees = is_read && matches!(line.trim(), "y" | "Y" | "yes");
        if !agrees {
            screen.say("nothing is done");
        }
        agrees
    }
}

/// A call that is open: its thread, its place, a record of its thread before its end, and the position of that.
struct AwaitedCall {
    thread: String,
    call: String,
    seq: u64,
    position: u64,
}

impl From<&RetryShown> for AwaitedCall {
    fn from(shown: &RetryShown) -> AwaitedCall {
        let RetryShown { thread, call, seq, position, .. } = shown.clone();
        AwaitedCall { thread, call, seq, position }
    }
}

impl From<&ApiReceipt> for AwaitedCall {
    fn from(receipt: &ApiReceipt) -> AwaitedCall {
        let ApiReceipt { thread, call, seq, position, .. } = receipt.clone();
        AwaitedCall { thread, call, seq, position }
    }
}

/// Waits for the outcome of each call that is open again.
fn wait_for_ends(place: &Place, screen: Screen, given: &[AwaitedCall]) -> Result<CommandExit, CommandExit> {
    let elsewhere = OrganismElsewhere::find_named(place)?.map(|found| found.client);
    let client = match elsewhere {
        Some(client) => Some(client),
        None => {
            RunFile::find_running(&place.log(screen)?).map(|run| Arc::new(DoorClient::from_run_file(&run)))
        }
    };
    // Without an organism they go on at its next start.
    let Some(client) = client else { return Ok(CommandExit::Done) };
    let mut exit = CommandExit::Done;
    for call in given {
        let ended = wait_for_end(&client, call).map_err(|fault| report_silence(screen, &fault))?;
        let Some((ending, record)) = ended else { return Ok(CommandExit::Unavailable) };
        if screen.json {
            screen.show_value(&record);
        } else {
            show_end(screen, ending, &record);
        }
        if !matches!(ending, CallJudgement::Answered | CallJudgement::Handled) {
            exit = CommandExit::Failed;
        }
    }
    Ok(exit)
}

impl PreviewSource {
    /// The organism that runs on a log of this machine, or the log itself.
    fn open(place: &Place, screen: Screen, log: &Path) -> Result<PreviewSource, CommandExit> {
        if let Some(run) = RunFile::find_running(log) {
            place.set_nothing(screen, &run)?;
            return Ok(PreviewSource::Door(DoorClient::from_run_file(&run)));
        }
        let reader = sqlite::open_reading(log);
        let reader = reader.map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
        let file = Box::new(place.organism(screen)?);
        Ok(PreviewSource::Log(Box::new(reader), file, place.directory(), log.to_owned()))
    }

    /// What sending the request of a thread anew would do.
    fn read_anew(
        &self,
        screen: Screen,
        thread: &ThreadId,
        values: &[String],
    ) -> Result<Result<AnewShown, Box<ApiRefusal>>, CommandExit> {
        match self {
            PreviewSource::Door(client) => {
                client.preview_anew(thread.as_str(), values).map_err(|fault| report_silence(screen, &fault))
            }
            PreviewSource::Log(reader, file, directory, log) => {
                let read: ReadSource<'_> = &|source| {
                    systole_config::read_source(source, directory).map_err(|refused| refused.to_string())
                };
                let (by, change) = (Name::new_operator(), AnewChange::Values(values.to_vec()));
                let pages = (&file.composition, read);
                let preview = list_sent_here(&**reader, log, thread)
                    .and_then(|sent| preview_anew(&**reader, pages, (&by, thread, &sent), change));
                take_preview(screen, preview, AnewShown::from)
            }
        }
    }

    fn read(
        &self,
        screen: Screen,
        thread: &ThreadId,
    ) -> Result<Result<RetryShown, Box<ApiRefusal>>, CommandExit> {
        match self {
            PreviewSource::Door(client) => {
                client.preview_retry(thread.as_str()).map_err(|fault| report_silence(screen, &fault))
            }
            PreviewSource::Log(reader, file, directory, log) => {
                let read: ReadSource<'_> = &|source| {
                    systole_config::read_source(source, directory).map_err(|refused| refused.to_string())
                };
                let pages = (&file.composition, read);
                let preview = list_sent_here(&**reader, log, thread).and_then(|sent| {
                    retries::preview_retry(&**reader, pages, &describe_step, (thread, &sent))
                });
                take_preview(screen, preview, RetryShown::from)
            }
        }
    }
}

/// The roots that have the request of a root anew, by the index beside the log.
fn list_sent_here(reader: &dyn LogReader, log: &Path, thread: &ThreadId) -> Result<Vec<SentAnew>, LogFault> {
    let mut index = LogIndex::beside(log, IndexWait::Patient);
    let mut ask = |index: &IndexFile| list_sent(index, reader, thread);
    index.ask(reader, &mut |_, _| true, &mut ask).map_err(describe_fault)
}

/// A preview that was read from the log, as a door would show it.
fn take_preview<T, S>(
    screen: Screen,
    read: Result<Option<Result<T, Refusal>>, LogFault>,
    show: impl FnOnce(T) -> S,
) -> Result<Result<S, Box<ApiRefusal>>, CommandExit> {
    let preview = read.map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
    let unknown = || screen.fail(CommandExit::Payload, "there is no such thread");
    let preview = preview.ok_or_else(unknown)?;
    Ok(preview.map(show).map_err(|refusal| Box::new(ApiRefusal::from(&refusal))))
}

/// What became of a call that is open again; `None` if the log ended first.
fn wait_for_end(
    client: &DoorClient,
    awaited: &AwaitedCall,
) -> Result<Option<(CallJudgement, ApiRecord)>, DoorClientFault> {
    let AwaitedCall { thread, call, seq, position } = awaited;
    // The stream begins with the records that are there already.
    for record in client.follow_records(*position, Some(thread), None)? {
        let record = record?;
        if let Some(ending) = find_call_ending((thread, call, *seq), &record) {
            return Ok(Some((ending, record)));
        }
    }
    Ok(None)
}

/// The order about one thread, as it was shown.
struct ThreadRetry<'a> {
    shown: RetryShown,
    note: Option<&'a str>,
    allows_effects: bool,
    /// The threads that go on.
    given: &'a RefCell<Vec<AwaitedCall>>,
}

impl LiveOrder for ThreadRetry<'_> {
    type Done = ThreadRetried;

    fn thread(&self) -> Option<&str> {
        Some(&self.shown.thread)
    }

    fn give_through(&self, client: &DoorClient, thread: Option<&ThreadId>) -> DoorResult<ThreadRetried> {
        let id = thread.map_or("", ThreadId::as_str);
        client.retry_thread(id, Some(&self.shown.seen), self.note, self.allows_effects)
    }

    async fn give_here(
        &self,
        front: &OrganismHandle,
        thread: Option<ThreadId>,
    ) -> DecidedHere<ThreadRetried> {
        let thread = thread?;
        let retried = ThreadRetried { retried: thread.to_string() };
        let reply = front.retry_thread(RetryRequest {
            by: Name::new_operator(),
            thread,
            seen: Digest::parse(&self.shown.seen).ok(),
            note: self.note.map(str::to_owned),
            allows_effects: self.allows_effects,
        });
        Some(read_reply(reply.await?, retried))
    }

    fn report_done(&self, screen: Screen, done: &ThreadRetried, runs: bool) -> CommandExit {
        self.given.borrow_mut().push(AwaitedCall::from(&self.shown));
        match (screen.json, runs) {
            (true, _) => screen.show_value(done),
            (false, true) => screen.say(format!("{} goes on", done.retried)),
            (false, false) => screen.say(format!("{} goes on as soon as the organism runs", done.retried)),
        }
        CommandExit::Done
    }
}
