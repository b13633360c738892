//! `schedules`: what is sent at which times: when a schedule ticks next, when it fired last and what came of it, and
//! whether it is paused.
//!
//! All of it is in the fold of the log's own thread. The next tick is computed with the time zones of the machine that
//! answers.

use serde::Serialize;

use crate::arguments;
use crate::query::{
    ArgumentMistake, PartyName, Query, QueryFault, QueryMoment, QueryPage, QueryRoute, QueryScope,
};
use systole_core::pump::state::ScheduleState;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::schedule::TickTimes as _;
use systole_core::types::time::Millis;
use systole_schedule::TickRule;
use systole_show::blocks::{Block, ListCell, ListRow, RowList};
use systole_show::columns::{cut, plain};
use systole_show::{layout, limits};

arguments! {
    /// Which schedules are listed.
    pub struct ScheduleArguments {
        schedule: PartyName => "Only this schedule",
    }
}

impl ScheduleArguments {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "every question has this check")]
    fn check(&self) -> Result<(), ArgumentMistake> {
        Ok(())
    }
}

/// The question.
pub enum ScheduleQuery {}

/// The schedules of a log.
#[derive(Serialize)]
pub struct ScheduleList {
    schedules: Vec<ListedSchedule>,
    /// The moment at which it was read.
    #[serde(skip)]
    now: Millis,
}

/// A schedule.
#[derive(Serialize)]
pub struct ListedSchedule {
    name: String,
    /// When it ticks, as the file says it.
    rule: String,
    /// `waits`, `paused`, or `ended` if the file no longer has it.
    state: &'static str,
    /// Since when it is paused.
    paused: Option<String>,
    /// The first tick that the log does not have yet; null if it is paused or has ended.
    next: Option<String>,
    /// When it fired last.
    fired: Option<String>,
    /// The thread that this opened.
    thread: Option<String>,
    #[serde(skip)]
    moments: [Option<Millis>; 2],
}

impl Query for ScheduleQuery {
    const NAME: &'static str = "schedules";
    const ABOUT: &'static str = "List what is sent at which times, pause it, or send it now";
    const EXAMPLES: &'static [&'static str] = &[
        "systole schedules",
        "systole schedules --json",
        "systole schedules --at 120",
        "systole schedules pause digest",
        "systole schedules resume digest",
        "systole schedules fire digest",
    ];
    const ROUTES: &'static [QueryRoute] = &[QueryRoute { path: "/v1/schedules", fields: &["schedule"] }];
    const PAGE: Option<QueryPage> =
        Some(QueryPage { path: "/schedules", title: "Schedules", form: None, without_requests: None });
    const IS_LIVE: bool = true;
    const IS_OF_SYS: bool = true;
    type Arguments = ScheduleArguments;
    type Answer = ScheduleList;

    fn scope(_asked: &ScheduleArguments) -> QueryScope {
        QueryScope::WholeLog("schedules are")
    }

    fn read(moment: &dyn QueryMoment, asked: &ScheduleArguments) -> Result<ScheduleList, QueryFault> {
        let sys = moment.state()?.thread(moment.log(), &ThreadId::new_sys())?;
        let all = sys.map(|sys| sys.schedules).unwrap_or_default();
        let is_asked = |name: &Name| asked.schedule.as_ref().is_none_or(|only| name.as_str() == only);
        let listed = all.iter().filter(|(name, _)| is_asked(name));
        Ok(ScheduleList { schedules: listed.map(ListedSchedule::from_state).collect(), now: moment.now() })
    }

    fn blocks(answer: &ScheduleList) -> Vec<Block> {
        if answer.schedules.is_empty() {
            let words =
                "no schedule is on record: `schedules` in the file has them, and they begin when it runs";
            return vec![Block::Note(words.to_owned())];
        }
        let columns =
            ["schedule", "times", "state", "next", "last", "thread"].map(|title| (title, "words labelled"));
        let rows = answer.schedules.iter().map(|one| one.build_row(answer.now)).collect();
        vec![Block::List(RowList { label: "Schedules", columns: columns.into(), rows })]
    }
}

impl ListedSchedule {
    fn from_state((name, state): (&Name, &ScheduleState)) -> ListedSchedule {
        let word = match (state.is_ended, state.paused) {
            (true, _) => "ended",
            (false, Some(_)) => "paused",
            (false, None) => "waits",
        };
        let rule = TickRule::parse(&state.rule).ok().filter(|_| word == "waits");
        let next = rule.and_then(|rule| rule.next_after(state.last));
        let text = |moment: Option<Millis>| moment.map(|moment| moment.to_string());
        ListedSchedule {
            name: name.to_string(),
            rule: state.rule.clone(),
            state: word,
            paused: text(state.paused),
            next: text(next),
            fired: text(state.fired),
            thread: state.thread.as_ref().map(ToString::to_string),
            moments: [next, state.fired],
        }
    }

    fn build_row(&self, now: Millis) -> ListRow {
        let record = self.thread.clone().map(|thread| (thread, 1));
        let moment = |at: Option<Millis>| at.map(|at| layout::moment(at, now));
        let cell = |at: Option<Millis>| ListCell { time: at, ..moment(at).unwrap_or_default().into() };
        let [next, fired] = self.moments;
        let thread = self.thread.clone().unwrap_or_default();
        let cells = vec![
            self.name.clone().into(),
            self.rule.clone().into(),
            self.state.to_owned().into(),
            cell(next),
            cell(fired),
            ListCell { record: record.clone(), ..thread.clone().into() },
        ];
        let told = [
            moment(next).map_or_else(|| self.state.to_owned(), |next| format!("next {next}")),
            moment(fired)
                .map_or_else(|| "not fired yet".to_owned(), |fired| format!("last {fired} {thread}")),
        ];
        let name = cut(&plain(&self.name), limits::NAME_COLUMNS);
        let line = format!("{name}  {}  {}", plain(&self.rule), told.join("  "));
        ListRow { record: record.unwrap_or_else(|| ("sys".to_owned(), 1)), cells, lines: vec![line] }
    }
}
