//! `systole pause` and `systole resume`: pause a thread, or everything, and resume it, through the organism that runs
//! on the log or elsewhere, or through one that is started here only for that and sends nothing.

use clap::Args;

use super::elsewhere::{OrganismElsewhere, report_silence};
use super::exit::CommandExit;
use super::here;
use super::place::Place;
use super::refused;
use super::screen::Screen;
use super::thread_name;
use systole_core::types::ids::{Name, ThreadId};
use systole_doors::api_types::{ApiRefusal, HoldingPause, PauseChanged};
use systole_doors::client::{DoorClient, DoorClientFault};
use systole_organism::runfile::RunFile;
use systole_organism::waiting::SenderReply;
use systole_queries::pauses;
use systole_show::columns::plain;

/// Halts a thread and everything below it, or all threads.
///
/// Nothing new is delivered; open deliveries may end, and new messages are recorded. It survives restarts.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole pause 1f0c --note "moving house"
  systole pause --all"#)]
pub(super) struct PauseCommand {
    #[command(flatten)]
    which: PauseTarget,
    /// The reason; it is recorded
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// Lets what was paused go on.
///
/// A thread that was paused by itself is resumed by itself.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole resume 1f0c
  systole resume --all")]
pub(super) struct ResumeCommand {
    #[command(flatten)]
    which: PauseTarget,
}

#[derive(Args, Debug)]
struct PauseTarget {
    #[command(flatten)]
    place: Place,
    /// The thread: an id, the beginning of one, or @last
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    thread: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

impl PauseCommand {
    pub(super) fn run(self) -> CommandExit {
        self.which.steer(true, self.note.as_deref()).unwrap_or_else(|exit| exit)
    }
}

impl ResumeCommand {
    pub(super) fn run(self) -> CommandExit {
        self.which.steer(false, None).unwrap_or_else(|exit| exit)
    }
}

impl PauseTarget {
    fn steer(&self, halts: bool, note: Option<&str>) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        if let Some(elsewhere) = OrganismElsewhere::find_named(&self.place)? {
            let thread = self.thread.as_deref().map(|typed| elsewhere.find_thread(typed)).transpose()?;
            let answered =
                elsewhere.client.pause_or_resume(thread.as_ref().map(ThreadId::as_str), halts, note);
            return Ok(match elsewhere.check_decision(answered)? {
                Ok(steered) => report_change(screen, &steered),
                Err(refusal) => report_not_done(screen, &refusal),
            });
        }
        let log = self.place.log(screen)?;
        let thread = match &self.thread {
            Some(typed) => Some(thread_name::find(screen, &log, typed)?),
            None => None,
        };
        if let Some(run) = RunFile::find_running(&log) {
            self.place.set_nothing(screen, &run)?;
            match DoorClient::from_run_file(&run).pause_or_resume(
                thread.as_ref().map(ThreadId::as_str),
                halts,
                note,
            ) {
                Ok(Ok(steered)) => return Ok(report_change(screen, &steered)),
                Ok(Err(refusal)) => return Ok(report_not_done(screen, &refusal)),
                // The organism in the run file is stopping or gone. If it still has the log, starting
                // reports that.
                Err(DoorClientFault::Unreachable { .. }) => {}
                Err(fault) => return Err(report_silence(screen, &fault)),
            }
        }
        let work = async {
            Box::pin(self.in_process(screen, thread, halts, note)).await.unwrap_or_else(|exit| exit)
        };
        Ok(here::with_runtime(screen, work))
    }

    async fn in_process(
        &self,
        screen: Screen,
        thread: Option<ThreadId>,
        halts: bool,
        note: Option<&str>,
    ) -> Result<CommandExit, CommandExit> {
        let file = self.place.organism(screen)?;
        let organism = Box::pin(here::start_without_deliveries(screen, &self.place, file)).await?;
        let (by, note) = (Name::new_operator(), note.map(str::to_owned));
        let exit = match organism.handle().pause_or_continue(by, thread.clone(), halts, note).await {
            Some(SenderReply::Refused(refusal)) => report_not_done(screen, &ApiRefusal::from(&*refusal)),
            Some(SenderReply::Done | SenderReply::Receipt(..)) => {
                let held = thread.as_ref();
                let held = held.and_then(|id| pauses::above(&**organism.reader(), id).ok().flatten());
                let held = held.map(HoldingPause::from);
                report_change(
                    screen,
                    &PauseChanged { thread: thread.map(|id| id.to_string()), paused: halts, held },
                )
            }
            None => screen.fail(CommandExit::Unavailable, "the organism ended before it answered"),
        };
        let ended = organism.stop(std::time::Duration::ZERO).await;
        Ok(here::report_end(screen, &ended).unwrap_or(exit))
    }
}

fn report_change(screen: Screen, steered: &PauseChanged) -> CommandExit {
    if screen.json {
        screen.show_value(steered);
        return CommandExit::Done;
    }
    let what = steered.thread.as_deref().unwrap_or("everything");
    match (steered.paused, &steered.thread) {
        (true, Some(id)) => match &steered.held {
            Some(held) => {
                screen.say(format!("{id} is paused, with all below it, and {}", describe_pause(held)));
                screen.say(format!("  try: systole resume {id}, then systole resume {}", name_target(held)));
            }
            None => {
                screen.say(format!("{id} is paused, with all below it; systole resume {id} lets it go on"));
            }
        },
        (true, None) => screen.say("everything is paused; systole resume --all lets it go on"),
        (false, Some(_)) => match &steered.held {
            Some(held) => report_still_held(screen, what, held),
            None => screen.say(format!("{what} goes on")),
        },
        (false, None) => screen.say("everything goes on; threads that were paused one by one stay paused"),
    }
    CommandExit::Done
}

/// Reports that a thread remains paused although its own pause has ended.
fn report_still_held(screen: Screen, thread: &str, held: &HoldingPause) {
    screen.say(format!("{thread} does not go on: {}", describe_pause(held)));
    screen.say(format!("  try: systole resume {}", name_target(held)));
}

/// Who still pauses what, since when and why.
fn describe_pause(held: &HoldingPause) -> String {
    let whose = held.thread.as_ref().map_or("everything".to_owned(), |above| format!("{above}, above it,"));
    let note = held.note.as_deref().map_or_else(String::new, |note| format!(": {}", plain(note)));
    format!("{whose} is still paused by {} since {}{note}", plain(&held.by), held.since)
}

/// The argument of `resume` for it.
fn name_target(held: &HoldingPause) -> &str {
    held.thread.as_deref().unwrap_or("--all")
}

fn report_not_done(screen: Screen, refusal: &ApiRefusal) -> CommandExit {
    if screen.json {
        screen.show_value(refusal);
    } else {
        refused::say(screen, refusal);
    }
    CommandExit::Payload
}
