//! `systole ps`: the newest threads, one per line, and the number of workers for each listener over
//! NATS.

use clap::Args;
use serde_json::json;

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition};
use super::place::Place;
use systole_organism::workflow_steps;
use systole_queries::pauses::ThreadPause;
use systole_queries::runs::WorkflowRuns;
use systole_queries::thread_roll;

/// Which threads are listed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole ps
  systole ps -n 0 --children
  systole ps --json
  systole ps --at 120")]
pub(super) struct Ps {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// How many threads at most; 0 means all
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    most: usize,
    /// List child threads too
    #[arg(long)]
    children: bool,
}

impl Ps {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let whole = looking.whole()?;
        let most = if self.most == 0 { usize::MAX } else { self.most };
        let mut entries = thread_roll::call(&*looking.view, &whole, looking.now, most, self.children)
            .map_err(|fault| looking.fault(&fault))?;
        let runs = WorkflowRuns::new(&*looking.view, &whole, &workflow_steps::describe_step);
        thread_roll::name_goals(&mut entries, &whole, &runs).map_err(|fault| looking.fault(&fault))?;
        let (paused, alarms) = (looking.all_paused(&whole)?, looking.alarms());
        if looking.screen.json {
            let threads: Vec<_> = entries.iter().map(thread_roll::ThreadEntry::as_json).collect();
            let workers = looking.workers();
            let paused = paused.as_ref().map(ThreadPause::as_json);
            looking.screen.show_value(&json!({
                "running": looking.running, "paused": paused, "alarms": alarms, "threads": threads,
                "workers": workers,
            }));
            return Ok(CommandExit::Done);
        }
        for entry in &entries {
            looking.screen.show_drawn(&entry.line(looking.now, self.children));
        }
        if entries.is_empty() {
            looking.screen.say("no thread yet; systole send opens the first one");
        }
        let workers = looking.workers();
        if !workers.is_empty() {
            let counts = workers.iter().map(|(name, count)| format!("{name} {count}"));
            let counts: Vec<String> = counts.collect();
            looking.screen.say(format!("workers over NATS: {}", counts.join(", ")));
        }
        looking.say_if_paused(paused.as_ref());
        looking.say_alarms(&alarms);
        looking.say_if_still(entries.iter().any(|entry| entry.is_unfinished));
        Ok(CommandExit::Done)
    }
}
