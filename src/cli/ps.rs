//! `systole ps`: the newest threads, or those that a filter fits, and the number of workers for each listener over
//! NATS.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition};
use super::place::Place;
use crate::limits::THREADS_PART;
use systole_core::types::ids::ThreadId;
use systole_organism::workflow_steps;
use systole_queries::log_state::LogState;
use systole_queries::pauses::ThreadPause;
use systole_queries::query::{QueryArguments as _, QueryFault};
use systole_queries::runs::WorkflowRuns;
use systole_queries::thread_end::STATES;
use systole_queries::thread_list::{self, ListedThread, ThreadFilter, ThreadSource};
use systole_queries::thread_roll::{self, ThreadEntry};

/// Which threads are listed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole ps
  systole ps --failed --since 3d
  systole ps --state working --listener writer
  systole ps --code model.refused --sort cost
  systole ps -n 0 --children
  systole ps --at 120")]
pub(super) struct Ps {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    #[command(flatten)]
    filter: TypedFilter,
    /// How many threads at most; 0 means all
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    most: usize,
    /// List child threads too, the newest first
    #[arg(long, conflicts_with_all = FILTERS)]
    children: bool,
}

/// The options of the filter.
const FILTERS: [&str; 10] =
    ["state", "failed", "since", "until", "listener", "client", "name", "code", "q", "sort"];

/// The filter as it was typed. Its values have the readers of `GET /v1/threads`.
#[derive(Args, Debug)]
struct TypedFilter {
    #[arg(long, help = format!("Only threads in this state:\n{}", STATES.join(", ")))]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(STATES), hide_possible_values = true)]
    state: Option<String>,
    /// Only threads that failed: the same as --state failed
    #[arg(long)]
    failed: bool,
    #[command(flatten)]
    bounds: TypedBounds,
    /// The largest first; `since` is the time of its last record
    #[arg(long, value_name = "ORDER", value_parser = ["opened", "since", "duration", "cost"])]
    sort: Option<String>,
}

/// The part of the filter that goes with every state.
#[derive(Args, Debug)]
pub(super) struct TypedBounds {
    /// Only threads with a record since then: 3d, 14:30, 2026-10-01
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only threads whose last record was made before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only threads that this listener was asked first, or works in
    #[arg(long, value_name = "NAME")]
    listener: Option<String>,
    /// Only threads that this client opened
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only threads whose name begins so: ticket-
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only threads that failed with this code, or whose first cause has it
    #[arg(long)]
    code: Option<String>,
    /// Only threads with this text in their id, request or what they wait for
    #[arg(long, value_name = "TEXT")]
    q: Option<String>,
}

/// What was typed, by the names of the fields.
type TypedFields = BTreeMap<&'static str, String>;

impl TypedBounds {
    fn list_fields(&self) -> TypedFields {
        let texts = [
            ("since", &self.since),
            ("until", &self.until),
            ("listener", &self.listener),
            ("client", &self.client),
            ("name", &self.name),
            ("code", &self.code),
            ("q", &self.q),
        ];
        texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))).collect()
    }
}

impl TypedFilter {
    fn list_fields(&self) -> TypedFields {
        let mut fields = self.bounds.list_fields();
        let texts = [("state", &self.state), ("sort", &self.sort)];
        fields.extend(texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))));
        fields.extend(self.failed.then(|| ("failed", "true".to_owned())));
        fields
    }
}

/// The failed threads that the bounds fit, the oldest first.
pub(super) fn find_failed(place: &Place, bounds: &TypedBounds) -> Result<Vec<ThreadId>, CommandExit> {
    let looking = Looking::open_anywhere(place)?;
    let whole = looking.whole()?;
    let runs = WorkflowRuns::new(&*looking.view, &whole, &workflow_steps::describe_step);
    let mut fields = bounds.list_fields();
    fields.insert("failed", "true".to_owned());
    let filter = read_filter(&looking, &fields)?;
    let (shown, _) = list_threads(&looking, (&whole, &runs), (&filter, fields), usize::MAX)?;
    Ok(shown.into_iter().rev().map(|shown| shown.entry.thread).collect())
}

fn read_filter(looking: &Looking, fields: &TypedFields) -> Result<ThreadFilter, CommandExit> {
    let filter = ThreadFilter::read(&|name| fields.get(name).cloned(), looking);
    filter.map_err(|fault| looking.report_fault(fault))
}

/// The threads that a filter fits, and up to where the index was made.
fn list_threads(
    looking: &Looking,
    parts: LogParts<'_>,
    (filter, mut fields): (&ThreadFilter, TypedFields),
    most: usize,
) -> Result<(Vec<ShownThread>, Value), CommandExit> {
    let read = match &looking.elsewhere {
        Some(_) => {
            // A time of day is one of the place where it was typed.
            let times = [("since", filter.since), ("until", filter.until)];
            fields.extend(times.into_iter().filter_map(|(name, at)| Some((name, at?.to_string()))));
            list_elsewhere(looking, parts, &fields, most)
        }
        None => list_here(looking, parts, filter, most),
    };
    read.map_err(|fault| looking.report_fault(fault))
}

/// What is shown of a thread.
struct ShownThread {
    entry: ThreadEntry,
    value: Value,
}

impl Ps {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let whole = looking.whole()?;
        let runs = WorkflowRuns::new(&*looking.view, &whole, &workflow_steps::describe_step);
        let most = if self.most == 0 { usize::MAX } else { self.most };
        let fields = self.filter.list_fields();
        let filter = read_filter(&looking, &fields)?;
        let (shown, end) = if self.children {
            let shown = list_with_children(&looking, &whole, &runs, most);
            (shown.map_err(|fault| looking.report_fault(fault))?, Value::Null)
        } else {
            list_threads(&looking, (&whole, &runs), (&filter, fields), most)?
        };
        let (paused, alarms) = (looking.all_paused(&whole)?, looking.alarms());
        if looking.screen.json {
            let threads: Vec<_> = shown.iter().map(|thread| &thread.value).collect();
            let workers = looking.workers();
            let paused = paused.as_ref().map(ThreadPause::as_json);
            looking.screen.show_value(&json!({
                "running": looking.running, "paused": paused, "alarms": alarms, "threads": threads,
                "workers": workers, "index": end,
            }));
            return Ok(CommandExit::Done);
        }
        for ShownThread { entry, value } in &shown {
            looking.screen.show_drawn(&entry.line(looking.now, self.children));
            if filter.is_set() {
                looking.screen.show_drawn(&format!("    {}", thread_list::describe_facts(value)));
            }
        }
        match (shown.is_empty(), filter.is_set()) {
            (true, true) => looking.screen.say("no thread fits the filter"),
            (true, false) => looking.screen.say("no thread yet; systole send opens the first one"),
            (false, _) => {}
        }
        let workers = looking.workers();
        if !workers.is_empty() {
            let counts = workers.iter().map(|(name, count)| format!("{name} {count}"));
            let counts: Vec<String> = counts.collect();
            looking.screen.say(format!("workers over NATS: {}", counts.join(", ")));
        }
        looking.say_if_paused(paused.as_ref());
        looking.say_alarms(&alarms);
        looking.say_if_still(shown.iter().any(|thread| thread.entry.is_unfinished));
        Ok(CommandExit::Done)
    }
}

/// The state of a log, and the workflows in it.
type LogParts<'a> = (&'a LogState, &'a WorkflowRuns<'a>);

/// The threads of a log on this machine, and up to where its index was made.
fn list_here(
    looking: &Looking,
    (whole, runs): LogParts<'_>,
    filter: &ThreadFilter,
    most: usize,
) -> Result<(Vec<ShownThread>, Value), QueryFault> {
    looking.read_index(|index| {
        let (reader, now) = (&*looking.view, looking.now);
        let source = ThreadSource { reader, whole, runs, now, index, sees_all: true, own: None };
        let part = thread_list::list(&source, filter, most)?;
        let show =
            |listed: &ListedThread| ShownThread { value: listed.as_json(), entry: listed.entry.clone() };
        Ok((part.threads.iter().map(show).collect(), part.end_json()))
    })
}

/// The newest threads with the child threads between them.
fn list_with_children(
    looking: &Looking,
    whole: &LogState,
    runs: &WorkflowRuns<'_>,
    most: usize,
) -> Result<Vec<ShownThread>, QueryFault> {
    let mut entries = thread_roll::call(&*looking.view, whole, looking.now, most, true)?;
    thread_roll::name_goals(&mut entries, whole, runs)?;
    Ok(entries.into_iter().map(|entry| ShownThread { value: entry.as_json(), entry }).collect())
}

/// The threads of an organism elsewhere: it says which fit, by its own index, and their states are read from their
/// records.
fn list_elsewhere(
    looking: &Looking,
    (whole, runs): LogParts<'_>,
    fields: &TypedFields,
    most: usize,
) -> Result<(Vec<ShownThread>, Value), QueryFault> {
    let Some(elsewhere) = &looking.elsewhere else { return Ok((Vec::new(), Value::Null)) };
    let log = elsewhere.log_at(looking.at);
    let (mut shown, mut end, mut after) = (Vec::new(), Value::Null, None);
    while shown.len() < most {
        let mut asked: Vec<(&'static str, String)> =
            fields.iter().map(|(name, value)| (*name, value.clone())).collect();
        asked.push(("limit", (most - shown.len()).min(THREADS_PART).to_string()));
        asked.extend(after.take().map(|after| ("after", after)));
        let mut part = log.list_part(asked)?;
        let listed = part.get_mut("threads").and_then(Value::as_array_mut);
        for value in listed.into_iter().flatten() {
            let id = value["thread"].as_str().and_then(|id| ThreadId::parse(id).ok());
            let Some(id) = id else { continue };
            let Some(entry) = thread_roll::one(&*looking.view, whole, looking.now, &id)? else { continue };
            let mut entries = [entry];
            thread_roll::name_goals(&mut entries, whole, runs)?;
            let [entry] = entries;
            shown.push(ShownThread { entry, value: value.take() });
        }
        end = part.get_mut("index").map(Value::take).unwrap_or_default();
        after = part.get("next").and_then(Value::as_str).map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    Ok((shown, end))
}
