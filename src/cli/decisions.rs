//! `systole decisions`: what persons decided in a period, for a person, a program or a spreadsheet.

use clap::Args;

use super::elsewhere::OrganismElsewhere;
use super::exit::CommandExit;
use super::looking::{Looking, PastPosition};
use super::moments::parse_period;
use super::place::Place;
use systole_core::types::ports::Position;
use systole_core::types::time::Millis;
use systole_queries::decisions::{self, DecisionList, DecisionPeriod};

/// Shows what persons decided, newest request first: who, when, about which payload, with which outcome, and what
/// ran after it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole decisions
  systole decisions --since 30d --csv
  systole decisions --since 2026-10-01 --until 2026-11-01 --json")]
pub(super) struct Decisions {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// Only decisions since then: 30d, 14:30, 2026-11-21
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only decisions before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Print a table for a spreadsheet
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

impl Decisions {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let screen = looking.screen;
        let (since, until) =
            parse_period(screen, (self.since.as_deref(), self.until.as_deref()), looking.now)?;
        let period = DecisionPeriod { since, until, before: None };
        let found = match &looking.elsewhere {
            Some(elsewhere) => far(elsewhere, &period, looking.at)?,
            None => {
                decisions::list(&*looking.view, &period, usize::MAX).map_err(|fault| looking.fault(&fault))?
            }
        };
        if screen.json {
            screen.show_value(&found);
        } else if self.csv {
            screen.show_document(decisions::csv(&found.decisions).as_bytes());
        } else if found.decisions.is_empty() {
            screen.say("no person decided anything, and no request expired, in this period");
        } else {
            decisions::lines(&found.decisions, looking.now).iter().for_each(|line| screen.show_drawn(line));
        }
        Ok(CommandExit::Done)
    }
}

/// The decisions as an organism elsewhere lists them, page after page.
fn far(
    elsewhere: &OrganismElsewhere,
    period: &DecisionPeriod,
    at: Option<Position>,
) -> Result<DecisionList, CommandExit> {
    let mut all = DecisionList::default();
    loop {
        let moment = |name, moment: Option<Millis>| moment.map(|moment| (name, moment.to_string()));
        let mut fields = vec![("limit", crate::limits::REQUESTS.to_string())];
        fields.extend(moment("since", period.since));
        fields.extend(moment("until", period.until));
        fields.extend(at.map(|at| ("at", at.0.to_string())));
        fields.extend(all.next.take().map(|before| ("before", before)));
        let page: DecisionList = elsewhere.check_answer(elsewhere.client.get("/v1/decisions", &fields))?;
        all.decisions.extend(page.decisions);
        match page.next {
            Some(next) => all.next = Some(next),
            None => return Ok(all),
        }
    }
}
