//! `systole why`: all waits, or one thread in full.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition};
use super::place::Place;
use systole_organism::workflow_steps;
use systole_queries::pauses::ThreadPause;
use systole_queries::posts::DueCalls;
use systole_queries::runs::WorkflowRuns;
use systole_queries::why::{self, Asker, CallWait, ThreadWaits, as_json, report, wait_json};
use systole_show::columns::width;
use systole_show::layout;

/// Which thread is asked about.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole why
  systole why @last
  systole why @last --at 120")]
pub(super) struct Why {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// Show each call that a failure went through
    #[arg(long, requires = "thread")]
    all: bool,
    /// The thread: its id, its beginning, or @last; none: all at work
    thread: Option<String>,
}

impl Why {
    pub(super) fn run(self) -> CommandExit {
        self.tell().unwrap_or_else(|exit| exit)
    }

    fn tell(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let whole = looking.whole()?;
        let posts = DueCalls::at(&whole, looking.now);
        let (reader, screen) = (&*looking.view, looking.screen);
        let runs = WorkflowRuns::new(reader, &whole, &workflow_steps::describe_step);
        let asker = Asker { now: looking.now, start: looking.start(), all: self.all };
        if let Some(typed) = &self.thread {
            let id = looking.find(typed)?;
            let found = whole.thread(reader, &id).map_err(|fault| looking.fault(&fault))?;
            let Some(thread) = found else {
                return Err(screen.fail(CommandExit::Usage, format!("thread {} has no record", id.as_str())));
            };
            let mut standing =
                ThreadWaits::of(reader, &whole, &posts, &thread).map_err(|fault| looking.fault(&fault))?;
            standing.name_goals(&runs).map_err(|fault| looking.fault(&fault))?;
            if screen.json {
                screen.show_value(&as_json(&standing, looking.running, looking.now));
            } else {
                report(&standing, &asker).iter().for_each(|line| screen.show_drawn(line));
                looking.say_alarms(&looking.alarms());
                say_who_is_missing(&looking, &[standing]);
            }
            return Ok(CommandExit::Done);
        }
        let standings =
            whole.waiting().into_iter().map(|thread| ThreadWaits::of(reader, &whole, &posts, thread));
        let mut standings: Vec<ThreadWaits> =
            standings.collect::<Result<_, _>>().map_err(|fault| looking.fault(&fault))?;
        for standing in &mut standings {
            standing.name_goals(&runs).map_err(|fault| looking.fault(&fault))?;
        }
        let waits = why::waits(&standings, looking.now);
        let (paused, alarms) = (looking.all_paused(&whole)?, looking.alarms());
        if screen.json {
            let waits: Vec<Value> = waits.iter().map(|wait| wait_json(wait, looking.now)).collect();
            let paused = paused.as_ref().map(ThreadPause::as_json);
            screen.show_value(&json!({
                "running": looking.running, "paused": paused, "alarms": alarms, "waits": waits,
            }));
            return Ok(CommandExit::Done);
        }
        let mut lines = why::in_lines(&waits, looking.now);
        if lines.iter().any(|line| width(line) > layout::columns()) {
            lines = why::broken(&waits, looking.now);
        }
        lines.iter().for_each(|line| screen.show_drawn(line));
        if waits.is_empty() && alarms.is_empty() {
            screen.say("nothing waits; systole ps lists the threads that rest or have ended");
        }
        looking.say_if_paused(paused.as_ref());
        looking.say_alarms(&alarms);
        say_who_is_missing(&looking, &standings);
        looking.say_if_still(!waits.is_empty());
        Ok(CommandExit::Done)
    }
}

/// Reports listeners over NATS that calls wait for but that have no worker. It asks the broker only if a call waits
/// for a listener.
fn say_who_is_missing(looking: &Looking, standings: &[ThreadWaits]) {
    let leaves = standings.iter().flat_map(ThreadWaits::leaves);
    let waited_for: BTreeSet<&str> = leaves
        .filter(|leaf| {
            matches!(
                leaf.cause,
                CallWait::Out { .. }
                    | CallWait::Away { .. }
                    | CallWait::Queued { .. }
                    | CallWait::BackOff { .. }
            )
        })
        .map(|leaf| leaf.listener.as_str())
        .collect();
    if waited_for.is_empty() {
        return;
    }
    let workers = looking.workers();
    for name in waited_for.into_iter().filter(|name| workers.get(*name) == Some(&0)) {
        looking.screen.say(format!("{name}: no worker of that name answers at the broker; start one"));
    }
}
