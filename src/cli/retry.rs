//! `systole retry`: lets threads that failed go on in their place. It shows first what goes out again and what that costs,
//! and carries it out once a person agrees.

use std::io::{BufRead as _, IsTerminal as _, stdin};
use std::path::PathBuf;

use clap::Args;

use super::exit::CommandExit;
use super::live_order::{DecidedHere, LiveOrder, carry_out_all, read_reply};
use super::local_organism;
use super::place::Place;
use super::refusal_text;
use super::remote_organism::{OrganismElsewhere, report_silence};
use super::screen::Screen;
use super::send::answer_in_words::show_end;
use super::thread_name;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::ports::LogReader;
use systole_doors::api_types::{ApiRecord, ApiRefusal, RestartedStep, RetryShown, ThreadRetried};
use systole_doors::client::{DoorClient, DoorClientFault, DoorResult};
use systole_doors::ending::find_call_ending;
use systole_log::sqlite;
use systole_organism::front::OrganismHandle;
use systole_organism::order::RetryRequest;
use systole_organism::runfile::RunFile;
use systole_organism::workflow_steps::describe_step;
use systole_queries::log_state::ReadSource;
use systole_queries::retries;
use systole_show::columns::plain;

/// Lets threads that failed go on in their place.
///
/// The turn that failed goes out again, and earlier ones are not paid again. A run of a workflow starts again what
/// failed, and what was cancelled beside it. Shows first what that is, and asks.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole retry 1f0c
  systole retry 1f0c 88e2 --yes --note "the key is renewed"
  systole retry @last --yes --wait"#)]
pub(super) struct RetryCommand {
    #[command(flatten)]
    place: Place,
    /// The threads: ids, the beginnings of ids, or @last
    #[arg(value_name = "THREAD", required = true)]
    threads: Vec<String>,
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
}

/// How a preview is read.
enum PreviewSource {
    /// From an organism that runs.
    Door(DoorClient),
    /// From the log itself.
    Log(Box<dyn LogReader>, Box<systole_config::OrganismFile>, PathBuf),
}

impl RetryCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let mut orders = Vec::new();
        let mut refused = None;
        for preview in self.read_previews(screen)? {
            match preview {
                Ok(shown) => {
                    self.show_preview(screen, &shown);
                    orders.push(ThreadRetry {
                        shown,
                        waits: self.wait,
                        note: self.note.clone(),
                        allows_effects: self.again_with_effects,
                    });
                }
                Err(refusal) => {
                    refused = Some(CommandExit::Payload);
                    match screen.json {
                        true => screen.show_value(&refusal),
                        false => refusal_text::say(screen, &refusal),
                    }
                }
            }
        }
        if orders.is_empty() || !self.is_agreed(screen, &orders) {
            return Ok(refused.unwrap_or(CommandExit::Done));
        }
        let exit = carry_out_all(&self.place, orders)?;
        Ok(if exit == CommandExit::Done { refused.unwrap_or(exit) } else { exit })
    }

    fn read_previews(&self, screen: Screen) -> Result<Vec<Result<RetryShown, Box<ApiRefusal>>>, CommandExit> {
        if let Some(elsewhere) = OrganismElsewhere::find_named(&self.place)? {
            let read = |typed: &String| {
                let thread = elsewhere.find_thread(typed)?;
                elsewhere.check_decision(elsewhere.client.preview_retry(thread.as_str()))
            };
            return self.threads.iter().map(read).collect();
        }
        let log = self.place.log(screen)?;
        let threads = self.threads.iter().map(|typed| thread_name::find(screen, &log, typed));
        let threads = threads.collect::<Result<Vec<ThreadId>, _>>()?;
        let source = match RunFile::find_running(&log) {
            Some(run) => {
                self.place.set_nothing(screen, &run)?;
                PreviewSource::Door(DoorClient::from_run_file(&run))
            }
            None => {
                let reader = sqlite::open_reading(&log);
                let reader = reader.map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
                let file = Box::new(self.place.organism(screen)?);
                PreviewSource::Log(Box::new(reader), file, self.place.directory())
            }
        };
        threads.iter().map(|thread| source.read(screen, thread)).collect()
    }

    /// Shows what a retry does.
    fn show_preview(&self, screen: Screen, shown: &RetryShown) {
        if screen.json {
            if !self.yes {
                screen.show_value(shown);
            }
            return;
        }
        let RetryShown { thread, listener, turn, code, .. } = shown;
        screen.say(format!("{thread} failed: {}", plain(code)));
        if !shown.workflow {
            screen.say(format!("  {listener} goes on in turn {turn}; nothing before it is paid again"));
        } else if shown.starts.is_empty() {
            screen.say(format!(
                "  the run of {listener} goes on where it failed; no step that ended is paid again"
            ));
        } else {
            screen.say(format!("  the run of {listener} starts again:"));
            shown.starts.iter().for_each(|part| screen.say(describe_part(part)));
        }
        for effect in &shown.effects {
            screen.say(format!("  an effect that may happen twice: {}", plain(effect)));
        }
    }

    /// Whether a person agrees, or has already.
    fn is_agreed(&self, screen: Screen, orders: &[ThreadRetry]) -> bool {
        if self.yes {
            return true;
        }
        let count = orders.len();
        if screen.json || !(screen.terminal && stdin().is_terminal()) {
            let ids: Vec<&str> = orders.iter().map(|order| &*order.shown.thread).collect();
            screen.say(format!("  try: systole retry {} --yes, which does it", ids.join(" ")));
            return false;
        }
        screen.say(format!("{count} threads go on. Is that right? [y/N]"));
        let mut line = String::new();
        let is_read = stdin().lock().read_line(&mut line).is_ok();
        let agrees = is_read && matches!(line.trim(), "y" | "Y" | "yes");
        if !agrees {
            screen.say("nothing is done");
        }
        agrees
    }
}

/// A part of a run, and what of it is paid again.
fn describe_part(part: &RestartedStep) -> String {
    let why = if part.cancelled { "was cancelled beside it" } else { "failed" };
    let paid = match (&part.money, part.tokens) {
        (Some(money), _) => format!(", pays about {money} again"),
        (None, 0) => String::new(),
        (None, tokens) => format!(", uses about {tokens} tokens again"),
    };
    format!("    {} ({why}){paid}", plain(&part.key))
}

impl PreviewSource {
    fn read(
        &self,
        screen: Screen,
        thread: &ThreadId,
    ) -> Result<Result<RetryShown, Box<ApiRefusal>>, CommandExit> {
        match self {
            PreviewSource::Door(client) => {
                client.preview_retry(thread.as_str()).map_err(|fault| report_silence(screen, &fault))
            }
            PreviewSource::Log(reader, file, directory) => {
                let read: ReadSource<'_> = &|source| {
                    systole_config::read_source(source, directory).map_err(|refused| refused.to_string())
                };
                let pages = (&file.composition, read);
                let preview = retries::preview_retry(&**reader, pages, &describe_step, thread);
                let preview = preview.map_err(|fault| local_organism::report_log_fault(screen, &fault))?;
                let unknown = || screen.fail(CommandExit::Payload, "there is no such thread");
                let preview = preview.ok_or_else(unknown)?;
                Ok(preview.map(RetryShown::from).map_err(|refusal| Box::new(ApiRefusal::from(&refusal))))
            }
        }
    }
}

/// The order about one thread, as it was shown.
struct ThreadRetry {
    shown: RetryShown,
    waits: bool,
    note: Option<String>,
    allows_effects: bool,
}

impl ThreadRetry {
    /// What became of the call that is open again.
    fn wait_for_end(
        &self,
        client: &DoorClient,
    ) -> Result<Option<(CallJudgement, ApiRecord)>, DoorClientFault> {
        let RetryShown { thread, seq, position, call, .. } = &self.shown;
        // The stream begins with the records that are there already.
        for record in client.follow_records(*position, Some(thread), None)? {
            let record = record?;
            if let Some(ending) = find_call_ending((thread, call, *seq), &record) {
                return Ok(Some((ending, record)));
            }
        }
        Ok(None)
    }
}

impl LiveOrder for ThreadRetry {
    type Done = (ThreadRetried, Option<(CallJudgement, ApiRecord)>);

    fn thread(&self) -> Option<&str> {
        Some(&self.shown.thread)
    }

    fn give_through(&self, client: &DoorClient, thread: Option<&ThreadId>) -> DoorResult<Self::Done> {
        let id = thread.map_or("", ThreadId::as_str);
        let seen = Some(self.shown.seen.as_str());
        match client.retry_thread(id, seen, self.note.as_deref(), self.allows_effects)? {
            Ok(done) => {
                let ended = if self.waits { self.wait_for_end(client)? } else { None };
                Ok(Ok((done, ended)))
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    async fn give_here(&self, front: &OrganismHandle, thread: Option<ThreadId>) -> DecidedHere<Self::Done> {
        let thread = thread?;
        let retried = ThreadRetried { retried: thread.to_string() };
        let reply = front.retry_thread(RetryRequest {
            by: Name::new_operator(),
            thread,
            seen: Digest::parse(&self.shown.seen).ok(),
            note: self.note.clone(),
            allows_effects: self.allows_effects,
        });
        Some(read_reply(reply.await?, (retried, None)))
    }

    fn report_done(&self, screen: Screen, (done, ended): &Self::Done, runs: bool) -> CommandExit {
        let Some((ending, record)) = ended else {
            match (screen.json, runs) {
                (true, _) => screen.show_value(done),
                (false, true) => screen.say(format!("{} goes on", done.retried)),
                (false, false) => {
                    screen.say(format!("{} goes on as soon as the organism runs", done.retried));
                }
            }
            return CommandExit::Done;
        };
        if screen.json {
            screen.show_value(record);
        } else {
            show_end(screen, *ending, record);
        }
        match ending {
            CallJudgement::Answered | CallJudgement::Handled => CommandExit::Done,
            CallJudgement::Partial
            | CallJudgement::Reported
            | CallJudgement::Failed
            | CallJudgement::Cancelled => CommandExit::Failed,
        }
    }
}
