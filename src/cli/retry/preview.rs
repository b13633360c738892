//! What both kinds of a retry share: how a preview is read, how a person agrees, and how the outcome is waited for.
//!
//! A place and a thread come in; a preview, an answer or an outcome goes out. It gives no order.

use std::io::{BufRead as _, IsTerminal as _, stdin};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::exit::CommandExit;
use crate::cli::local_organism;
use crate::cli::place::Place;
use crate::cli::remote_organism::{OrganismElsewhere, report_silence};
use crate::cli::screen::Screen;
use crate::cli::send::answer_in_words::show_end;
use systole_api::ending::find_call_ending;
use systole_api::retry_types::{AnewShown, RetryShown};
use systole_api::types::{ApiReceipt, ApiRecord, ApiRefusal};
use systole_client::client::{DoorClient, DoorClientFault};
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::refusal::Refusal;
use systole_log::index::{IndexFile, IndexWait};
use systole_log::sqlite;
use systole_organism::runfile::RunFile;
use systole_organism::workflow_steps::describe_step;
use systole_queries::anew::{AnewChange, SentAnew, list_sent, preview_anew};
use systole_queries::index::{LogIndex, describe_fault};
use systole_queries::log_state::ReadSource;
use systole_queries::retries;

/// What a retry of a thread would do, or why there is none.
pub(super) type Preview = Result<RetryShown, Box<ApiRefusal>>;

/// How a preview is read.
pub(super) enum PreviewSource {
    /// From an organism that runs.
    Door(DoorClient),
    /// From the log itself, with the organism's file, its folder and the file of the log.
    Log(Box<dyn LogReader>, Box<systole_config::OrganismFile>, PathBuf, PathBuf),
}

/// Whether a person agrees, or has already.
pub(in crate::cli) fn is_agreed(screen: Screen, is_agreed_before: bool, what: &str) -> bool {
    if is_agreed_before {
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

/// A call that is open: its thread, its place, a record of its thread before its end, and the position of that.
pub(super) struct AwaitedCall {
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
pub(super) fn wait_for_ends(
    place: &Place,
    screen: Screen,
    given: &[AwaitedCall],
) -> Result<CommandExit, CommandExit> {
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
    pub(super) fn open(place: &Place, screen: Screen, log: &Path) -> Result<PreviewSource, CommandExit> {
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
    pub(super) fn read_anew(
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

    pub(super) fn read(
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
