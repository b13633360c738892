//! `systole pause` and `systole resume`: pause a thread, or everything, and resume it.

use clap::Args;

use super::exit::CommandExit;
use super::live_order::{DecidedHere, LiveOrder, carry_out, read_reply};
use super::place::Place;
use super::screen::Screen;
use systole_api::types::{HoldingPause, PauseChanged};
use systole_client::client::{DoorClient, DoorResult};
use systole_core::types::ids::{Name, ThreadId};
use systole_organism::front::OrganismHandle;
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
    /// The thread: an id, the beginning of one, @last or @NAME
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    thread: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

impl PauseCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let PauseTarget { place, thread, .. } = self.which;
        carry_out(&place, PauseOrder { thread, halts: true, note: self.note })
    }
}

impl ResumeCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let PauseTarget { place, thread, .. } = self.which;
        carry_out(&place, PauseOrder { thread, halts: false, note: None })
    }
}

/// The order to pause or to resume.
struct PauseOrder {
    /// The thread, as typed; `None` for everything.
    thread: Option<String>,
    halts: bool,
    note: Option<String>,
}

impl LiveOrder for PauseOrder {
    type Done = PauseChanged;

    fn thread(&self) -> Option<&str> {
        self.thread.as_deref()
    }

    fn give_through(&self, client: &DoorClient, thread: Option<&ThreadId>) -> DoorResult<PauseChanged> {
        client.pause_or_resume(thread.map(ThreadId::as_str), self.halts, self.note.as_deref())
    }

    async fn give_here(&self, front: &OrganismHandle, thread: Option<ThreadId>) -> DecidedHere<PauseChanged> {
        let (by, note) = (Name::new_operator(), self.note.clone());
        let reply = front.pause_or_continue(by, thread.clone(), self.halts, note).await?;
        let held = thread.as_ref().and_then(|id| pauses::above(&**front.reader(), id).ok().flatten());
        let thread = thread.map(|id| id.to_string());
        Some(read_reply(
            reply,
            PauseChanged { thread, paused: self.halts, held: held.map(HoldingPause::from) },
        ))
    }

    fn report_done(&self, screen: Screen, changed: &PauseChanged, _: bool) -> CommandExit {
        report_change(screen, changed)
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
