//! `cost`: the model requests of a thread and everything below it, or of a period by agent, model, client or day.
//!
//! The client of a request is the one that opened its tree.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use systole_kit::journal::{EarlierEntry, JournalEntry};

use crate::arguments;
use crate::costs::{CostRow, CostRows, join_rows, read};
use crate::query::{
    ArgumentForm, ArgumentMistake, FreeText, PartyName, Query, QueryFault, QueryMoment, QueryPage,
    QueryRoute, QueryScope, TimePoint, TypedThread,
};
use systole_core::types::ids::{CallPath, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::RecordKind;
use systole_kit::journal::ModelCallOutcome;
use systole_log::search::{LogQuery, SearchField, SearchTerm};
use systole_show::blocks::{Block, FactColumn, FactRow, FactTable};

/// By what requests are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CostGroup {
    /// By the listener that asked.
    #[default]
    Agent,
    /// By the model.
    Model,
    /// By the client that opened the tree.
    Client,
    /// By the day, in UTC.
    Day,
}

/// Every group with its name.
const GROUPS: [(&str, CostGroup); 4] = [
    ("agent", CostGroup::Agent),
    ("model", CostGroup::Model),
    ("client", CostGroup::Client),
    ("day", CostGroup::Day),
];

impl CostGroup {
    fn as_str(self) -> &'static str {
        GROUPS.iter().find(|(_, group)| *group == self).map_or("", |(name, _)| name)
    }
}

impl ArgumentForm for CostGroup {
    type Value = CostGroup;
    const METAVAR: &'static str = "GROUP";
    const CHOICES: &'static [&'static str] = &["agent", "model", "client", "day"];

    fn read(field: &'static str, typed: &str, _: &dyn QueryMoment) -> Result<CostGroup, QueryFault> {
        let found = GROUPS.iter().find(|(name, _)| *name == typed);
        found
            .map(|(_, group)| *group)
            .ok_or_else(|| ArgumentMistake::not_one_of(field, typed, CostGroup::CHOICES).into())
    }
}

arguments! {
    /// Which requests count, and how they are grouped.
    pub struct CostArguments {
        thread as OnlySubject: TypedThread => "Its id, its beginning, or @last, which is the default",
        since: TimePoint => "All requests that began since then: 7d, 14:30, 2026-10-01",
        until: TimePoint => "All requests that began before then",
        agent: PartyName => "All requests of this agent",
        model: FreeText => "All requests to this model",
        client: PartyName => "All requests in threads that this client opened",
        by: CostGroup => "A row for each agent, model, client or day of all requests",
    }
}

impl CostArguments {
    fn check(&self) -> Result<(), ArgumentMistake> {
        ArgumentMistake::unless_after(("since", self.since), ("until", self.until))
    }

    fn search(&self) -> LogQuery {
        let named = [
            (SearchField::Kind, Some(RecordKind::Journal.as_str())),
            (SearchField::From, self.agent.as_deref()),
            (SearchField::Client, self.client.as_deref()),
        ];
        let terms = named.into_iter().filter_map(|(field, value)| Some(SearchTerm::new(field, value?)));
        // A result may come after the period.
        LogQuery { terms: terms.collect(), since: self.since, ..LogQuery::default() }
    }
}

/// The question.
pub enum CostQuery {}

/// What requests cost.
#[derive(Serialize)]
#[serde(untagged)]
pub enum CostAnswer {
    /// Of a thread and everything below it.
    Tree {
        /// The thread.
        thread: String,
        /// Its rows.
        rows: Vec<TreeRow>,
        /// Their sum.
        all: CostRow,
    },
    /// Of a period.
    Period {
        /// The name of the group.
        by: &'static str,
        /// A row for each value of the group.
        rows: Vec<GroupRow>,
        /// Their sum.
        all: CostRow,
    },
}

/// The requests of a listener to a model.
#[derive(Serialize)]
pub struct TreeRow {
    listener: String,
    model: String,
    used: CostRow,
}

/// The requests with one value of the group.
#[derive(Serialize)]
pub struct GroupRow {
    value: String,
    used: CostRow,
}

impl Query for CostQuery {
    const NAME: &'static str = "cost";
    const ABOUT: &'static str = "Show the model requests, their tokens and their cost";
    const EXAMPLES: &'static [&'static str] = &[
        "systole cost",
        "systole cost 1f0c --json",
        "systole cost --at 120",
        "systole cost --by day --since 7d",
        "systole cost --agent coordinator --since 2026-10-01 --until 2026-11-01",
    ];
    const ROUTES: &'static [QueryRoute] = &[
        QueryRoute { path: "/v1/threads/{thread}/cost", fields: &[] },
        QueryRoute { path: "/v1/cost", fields: &["since", "until", "agent", "model", "client", "by"] },
    ];
    const PAGE: Option<QueryPage> = Some(QueryPage {
        path: "/cost",
        title: "Cost",
        form: Some("Period and groups"),
        without_requests: Some("requests to models are left out, and so are their costs and prompts"),
    });
    type Arguments = CostArguments;
    type Answer = CostAnswer;

    fn scope(asked: &CostArguments) -> QueryScope {
        match asked.thread {
            Some(_) => QueryScope::Own,
            None => QueryScope::WholeLog("costs over all threads are"),
        }
    }

    fn read(moment: &dyn QueryMoment, asked: &CostArguments) -> Result<CostAnswer, QueryFault> {
        match &asked.thread {
            Some(thread) => Ok(answer_of_tree(thread, read(moment.log(), thread)?)),
            None => read_period(moment, asked),
        }
    }

    fn blocks(answer: &CostAnswer) -> Vec<Block> {
        let (names, rows, all) = match answer {
            CostAnswer::Tree { thread, rows, .. } if rows.is_empty() => {
                return vec![Block::Note(format!("thread {thread} asked no model"))];
            }
            CostAnswer::Period { rows, .. } if rows.is_empty() => {
                return vec![Block::Note("no model was asked in this period".to_owned())];
            }
            CostAnswer::Tree { rows, all, .. } => {
                let row = |row: &TreeRow| build_row(&[&row.listener, &row.model], &row.used);
                (vec!["listener", "model"], rows.iter().map(row).collect(), build_row(&["all"], all))
            }
            CostAnswer::Period { by, rows, all } => {
                let row = |row: &GroupRow| build_row(&[&row.value], &row.used);
                (vec![*by], rows.iter().map(row).collect(), build_row(&["all"], all))
            }
        };
        let facts = ["Requests", "Tokens in", "Tokens out", "Money", "Not known"]
            .map(|title| FactColumn { title, is_number: title != "Not known" });
        vec![Block::Table(FactTable { names, facts: facts.into(), rows, sum: Some(all) })]
    }
}

fn build_row(names: &[&str], row: &CostRow) -> FactRow {
    FactRow { names: names.iter().map(|name| (*name).to_owned()).collect(), facts: row.facts() }
}

fn answer_of_tree(thread: &ThreadId, rows: CostRows) -> CostAnswer {
    let all = join_rows(rows.values());
    let row = |((listener, model), used): ((systole_core::types::ids::Name, String), CostRow)| TreeRow {
        listener: listener.to_string(),
        model,
        used,
    };
    CostAnswer::Tree { thread: thread.to_string(), rows: rows.into_iter().map(row).collect(), all }
}

/// A request: thread, call, turn, attempt and entry.
type RequestPlace = (ThreadId, Option<CallPath>, Option<u32>, u32, u64);

/// Reads the requests of a period. The newest come first: the result of a request is seen before its start.
fn read_period(moment: &dyn QueryMoment, asked: &CostArguments) -> Result<CostAnswer, QueryFault> {
    let by = asked.by.unwrap_or_default();
    let mut rows = BTreeMap::<String, CostRow>::new();
    let mut results = HashMap::<RequestPlace, ModelCallOutcome>::new();
    let mut clients = TreeClients { reader: moment.log(), known: HashMap::new() };
    let mut failed = None;
    moment.newest(&asked.search(), &mut |hit| {
        let h = hit.placed.1.header;
        let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::from_body(&hit.placed.1.body) else {
            return true;
        };
        let place = |entry| (h.thread.clone(), h.call.clone(), h.turn, attempt, entry);
        let started = match entry {
            JournalEntry::Result(outcome) => {
                results.insert(place(outcome.of), outcome);
                return true;
            }
            JournalEntry::Started(started) => started,
        };
        let result = results.remove(&place(id));
        let is_late = asked.until.is_some_and(|until| h.time >= until);
        if is_late || asked.model.as_ref().is_some_and(|model| *model != started.model) {
            return true;
        }
        let value = match by {
            CostGroup::Agent => Ok(h.from.to_string()),
            CostGroup::Model => Ok(started.model),
            CostGroup::Day => Ok(h.time.to_string().chars().take(10).collect()),
            CostGroup::Client => clients.of(&h.thread),
        };
        match value {
            Ok(value) => rows.entry(value).or_default().count(result.as_ref()),
            Err(fault) => failed = Some(fault),
        }
        failed.is_none()
    })?;
    if let Some(fault) = failed {
        return Err(fault.into());
    }
    let all = join_rows(rows.values());
    let rows = rows.into_iter().map(|(value, used)| GroupRow { value, used }).collect();
    Ok(CostAnswer::Period { by: by.as_str(), rows, all })
}

/// The clients that opened trees.
struct TreeClients<'a> {
    reader: &'a dyn LogReader,
    known: HashMap<ThreadId, String>,
}

impl TreeClients<'_> {
    fn of(&mut self, thread: &ThreadId) -> Result<String, LogFault> {
        let root = thread.root_of();
        if let Some(client) = self.known.get(&root) {
            return Ok(client.clone());
        }
        let first = self.reader.of_thread(&root, 1, 1)?;
        let client = first.first().map(|(_, record)| record.header.from.to_string()).unwrap_or_default();
        if self.known.len() >= crate::limits::KNOWN_THREADS {
            self.known.clear();
        }
        self.known.insert(root, client.clone());
        Ok(client)
    }
}
