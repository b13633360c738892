//! `systole cost`: the model requests of a thread and everything below it, or of a period, and their cost.

use clap::Args;

use super::exit::CommandExit;
use super::find;
use super::looking::{Looking, PastPosition};
use super::moments::typed_period;
use super::place::Place;
use systole_queries::costs::{self, CostRows};

/// Of which thread, or of which period.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole cost
  systole cost 1f0c --json
  systole cost --at 120
  systole cost --agent coordinator --since 2026-10-01 --until 2026-11-01")]
pub(super) struct Cost {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// Its id, its beginning, or @last, which is the default
    thread: Option<String>,
    /// All requests that began since then: 7d, 14:30, 2026-10-01
    #[arg(long, value_name = "TIME", conflicts_with = "thread")]
    since: Option<String>,
    /// All requests that began before then
    #[arg(long, value_name = "TIME", conflicts_with = "thread")]
    until: Option<String>,
    /// All requests of this agent
    #[arg(long, value_name = "NAME", conflicts_with = "thread")]
    agent: Option<String>,
}

impl Cost {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::anywhere_at(&self.place, self.past)?;
        let screen = looking.screen;
        let is_period = self.since.is_some() || self.until.is_some() || self.agent.is_some();
        let (id, rows) = if is_period {
            (None, self.period(&looking)?)
        } else {
            let id = looking.find(self.thread.as_deref().unwrap_or("@last"))?;
            let rows = costs::read(&*looking.view, &id).map_err(|fault| looking.fault(&fault))?;
            (Some(id), rows)
        };
        if screen.json {
            screen.value(&costs::as_json(id.as_ref(), &rows));
        } else if rows.is_empty() {
            let who = id.map_or_else(|| "no request".to_owned(), |id| format!("thread {}", id.as_str()));
            screen.say(format!("{who} {}", if is_period { "fits" } else { "asked no model" }));
        } else {
            costs::lines(&rows).iter().for_each(|line| screen.drawn(line));
        }
        Ok(CommandExit::Done)
    }

    /// The requests of a period, over all threads.
    fn period(&self, looking: &Looking) -> Result<CostRows, CommandExit> {
        let times = (self.since.as_deref(), self.until.as_deref());
        let times = typed_period(looking.screen, times, looking.now)?;
        costs::period(self.agent.as_deref(), times, |query, take| find::newest(looking, query, take))
    }
}
