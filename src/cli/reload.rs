//! `systole reload`: the running organism goes on with another configuration. It shows first what would change, and asks.

use std::path::PathBuf;

use clap::Args;

use super::exit::CommandExit;
use super::place::Place;
use super::refusal_text;
use super::remote_organism::report_silence;
use super::replay::ReplayCommand;
use super::retry::is_agreed;
use super::screen::Screen;
use crate::limits;
use systole_api::reload_types::{FailedReloadShown, ReloadFields, RunBeginning};
use systole_client::client::{DoorClient, DoorClientFault, DoorResult};
use systole_doors::reloading::read_drain;
use systole_organism::reloading::orders::ReloadPreview;
use systole_organism::runfile::RunFile;
use systole_queries::hashes::shorten_hash;

/// Lets the running organism go on with its file as it is now.
///
/// Programs and agents get what is new from their next delivery on; nothing that is open is lost. What does not end in
/// time is taken up again, as at a restart. If the configuration does not start, the one before goes on.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole reload
  systole reload --replay 30d --stop-if differs
  systole reload --back --yes")]
pub(super) struct ReloadCommand {
    #[command(flatten)]
    place: Place,
    /// Go back to the configuration that ran before, from the log
    #[arg(long)]
    back: bool,
    /// Replay the threads since then with the file first: 10m, 30d
    #[arg(long, value_name = "TIME", conflicts_with = "back")]
    replay: Option<String>,
    /// Change nothing if a replayed thread differs
    #[arg(long, value_name = "differs", value_parser = ["differs"], requires = "replay")]
    stop_if: Option<String>,
    /// Wait so long at most for what is out, as 60s
    #[arg(long, value_name = "TIME", value_parser = parse_drain)]
    drain: Option<String>,
    /// Do it without asking
    #[arg(long)]
    yes: bool,
}

/// Checks how long to wait for what is out.
fn parse_drain(text: &str) -> Result<String, String> {
    read_drain(Some(text)).map(|_| text.to_owned())
}

impl ReloadCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        // Mistakes are shown as by `check`, before anything else.
        let log = match self.back {
            true => self.place.log(screen)?,
            false => self.place.organism(screen)?.log,
        };
        // The file may name another log by now.
        let of_file = || self.place.running_log().and_then(|log| RunFile::find_running(&log));
        let Some(run) = RunFile::find_running(&log).or_else(of_file) else {
            let words = format!("no organism runs on {}", log.display());
            return Err(screen.fail_with(CommandExit::Unavailable, words, self.place.run_command()));
        };
        self.place.set_nothing(screen, &run)?;
        let client = DoorClient::from_run_file(&run);
        let back = self.back.then_some(true);
        let fields = ReloadFields {
            file: self.find_other(&run),
            back,
            drain: self.drain.clone(),
            ..Default::default()
        };
        let beginning = read_answer(screen, client.read_beginning())?;
        let shown = ReloadFields { show: Some(true), ..fields.clone() };
        let preview = read_answer(screen, client.order_reload(&shown))?;
        show_preview(screen, &preview);
        if !preview.restart.is_empty() {
            let words = format!("a reload cannot change {}", preview.restart.join(", "));
            let fix = "systole stop, then systole run; or the value from before";
            return Err(screen.fail_with(CommandExit::Configuration, words, fix));
        }
        self.replay_first(screen)?;
        if !is_agreed(screen, self.yes, "The organism goes on with this configuration") {
            return Ok(CommandExit::Done);
        }
        let approved = Some(preview.config.clone());
        read_answer(screen, client.order_reload(&ReloadFields { approved, ..fields }))?;
        let now = self.wait_for_start(screen, &client, &beginning)?;
        report_start(screen, &preview, &now)
    }

    /// The file, if it is another one than that of the running organism.
    fn find_other(&self, run: &RunFile) -> Option<PathBuf> {
        let whole = |path| std::fs::canonicalize(path).ok();
        let file = std::path::absolute(self.place.file()).ok()?;
        (!self.back && whole(&file) != whole(&run.file)).then_some(file)
    }

    /// Replays recorded threads with the file, if that is asked for.
    fn replay_first(&self, screen: Screen) -> Result<(), CommandExit> {
        let Some(since) = &self.replay else { return Ok(()) };
        let exit = ReplayCommand::with_file(self.place.clone(), since.clone()).run()?;
        if exit == CommandExit::Done || self.stop_if.is_none() {
            return Ok(());
        }
        screen.say("nothing is changed: threads would differ");
        Err(exit)
    }

    /// Waits until the organism has started again.
    fn wait_for_start(
        &self,
        screen: Screen,
        client: &DoorClient,
        before: &RunBeginning,
    ) -> Result<RunBeginning, CommandExit> {
        let drain = read_drain(self.drain.as_deref()).unwrap_or_default();
        let looks = (drain + limits::RELOAD_PATIENCE).as_millis() / limits::DOOR_LOOK.as_millis();
        let mut silence = DoorClientFault::TooLate;
        for _ in 0..looks {
            std::thread::sleep(limits::DOOR_LOOK);
            match client.read_beginning() {
                Ok(Ok(now)) if now.began != before.began => return Ok(now),
                Ok(Err(refusal)) => {
                    refusal_text::say(screen, &refusal);
                    return Err(CommandExit::Payload);
                }
                // It waits for what is out.
                Ok(Ok(_)) => {}
                // It is between its end and its start.
                Err(fault) => silence = fault,
            }
        }
        Err(report_silence(screen, &silence))
    }
}

fn read_answer<T>(screen: Screen, answered: DoorResult<T>) -> Result<T, CommandExit> {
    let decided = answered.map_err(|fault| report_silence(screen, &fault))?;
    decided.map_err(|refusal| {
        refusal_text::say(screen, &refusal);
        CommandExit::Payload
    })
}

/// Prints what would change.
fn show_preview(screen: Screen, preview: &ReloadPreview) {
    if screen.json {
        return screen.show_value(preview);
    }
    screen.show(&format!(
        "configuration {}, now {}",
        shorten_hash(&preview.config),
        shorten_hash(&preview.before)
    ));
    for what in &preview.reload {
        screen.show(&format!("  reload   {what}"));
    }
    for what in &preview.restart {
        screen.show(&format!("  restart  {what}"));
    }
    if preview.reload.is_empty() && preview.restart.is_empty() {
        screen.show("  nothing differs; programs start again");
    }
}

/// Prints how the organism started.
fn report_start(
    screen: Screen,
    preview: &ReloadPreview,
    now: &RunBeginning,
) -> Result<CommandExit, CommandExit> {
    if screen.json {
        screen.show_value(now);
    }
    match &now.failed {
        Some(FailedReloadShown { message, .. }) => {
            let words = format!("not reloaded, and the configuration before goes on: {message}");
            Err(screen.fail_with(CommandExit::Failed, words, "correct it, then systole reload again"))
        }
        None if now.config != preview.config => {
            let words = format!("it goes on with configuration {}", shorten_hash(&now.config));
            Err(screen.fail_with(CommandExit::Failed, words, "systole log sys, which says why"))
        }
        None => {
            screen.say(format!("reloaded: it goes on with configuration {}", shorten_hash(&now.config)));
            Ok(CommandExit::Done)
        }
    }
}
