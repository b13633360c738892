//! The model requests of a period by agent, model, client or day.
//!
//! A search, filters and a group come in; one row for each value of the group, as JSON, goes out. The client of a
//! request is the one that opened its tree.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use systole_kit::journal::{EarlierEntry, JournalEntry};

use super::CostRow;
use crate::search::{LogSearch, SearchProgress};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::{Header, RecordKind};
use systole_core::types::time::Millis;
use systole_log::search::{LogQuery, SearchFault, SearchField, SearchTerm};

/// Roots whose client is remembered. More are looked up again.
const ROOTS: usize = 4_096;

/// By what requests are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostGroup {
    /// By the listener that asked.
    Agent,
    /// By the model.
    Model,
    /// By the client that opened the tree.
    Client,
    /// By the day, in UTC.
    Day,
}

impl CostGroup {
    /// Every group.
    pub const ALL: [CostGroup; 4] = [CostGroup::Agent, CostGroup::Model, CostGroup::Client, CostGroup::Day];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            CostGroup::Agent => "agent",
            CostGroup::Model => "model",
            CostGroup::Client => "client",
            CostGroup::Day => "day",
        }
    }

    /// The group of that name.
    pub fn parse(name: &str) -> Option<CostGroup> {
        CostGroup::ALL.into_iter().find(|group| group.as_str() == name)
    }
}

/// Which requests count.
#[derive(Clone, Debug, Default)]
pub struct CostFilter {
    /// Only requests that began since then.
    pub since: Option<Millis>,
    /// Only requests that began before then.
    pub until: Option<Millis>,
    /// Only requests of this listener.
    pub agent: Option<String>,
    /// Only requests to this model.
    pub model: Option<String>,
    /// Only requests in trees that this client opened.
    pub client: Option<String>,
    /// Only what was recorded up to this position.
    pub end: Option<Position>,
}

impl CostFilter {
    fn query(&self) -> LogQuery {
        let named = [
            (SearchField::Kind, Some(RecordKind::Journal.as_str().to_owned())),
            (SearchField::From, self.agent.clone()),
            (SearchField::Client, self.client.clone()),
        ];
        let terms = named.into_iter().filter_map(|(field, value)| Some(SearchTerm::new(field, value?)));
        // A result may come after the period.
        LogQuery { terms: terms.collect(), since: self.since, ..LogQuery::default() }
    }

    fn takes(&self, header: &Header, model: &str) -> bool {
        self.until.is_none_or(|until| header.time < until)
            && self.model.as_deref().is_none_or(|wanted| wanted == model)
    }
}

/// The rows of a period, by the values of the group.
pub fn grouped(
    search: &mut LogSearch<'_>,
    reader: &dyn LogReader,
    filter: &CostFilter,
    by: CostGroup,
    told: SearchProgress<'_>,
) -> Result<BTreeMap<String, CostRow>, SearchFault> {
    let before = filter.end.map_or(Position(u64::MAX), |end| Position(end.0.saturating_add(1)));
    let (mut rows, mut results) = (BTreeMap::<String, CostRow>::new(), HashMap::new());
    let mut clients = TreeClients { reader, known: HashMap::new() };
    let mut failed = None;
    search.newest_before(&filter.query(), before, told, |hit| {
        let (_, record) = hit.placed;
        let h = record.header;
        let Ok(EarlierEntry { attempt, id, entry }) = EarlierEntry::read(&record.body) else { return true };
        match entry {
            JournalEntry::Result(outcome) => {
                results.insert((h.thread, h.call, h.turn, attempt, outcome.of), outcome);
            }
            JournalEntry::Started(started) => {
                let place = (h.thread.clone(), h.call.clone(), h.turn, attempt, id);
                let result = results.remove(&place);
                if !filter.takes(&h, &started.model) {
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
                    Err(fault) => {
                        failed = Some(fault);
                        return false;
                    }
                }
            }
        }
        true
    })?;
    failed.map_or(Ok(rows), |fault| Err(SearchFault::Log(fault)))
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
        if self.known.len() >= ROOTS {
            self.known.clear();
        }
        self.known.insert(root, client.clone());
        Ok(client)
    }
}

/// The rows for programs, and their sum.
pub fn grouped_json(by: CostGroup, rows: &BTreeMap<String, CostRow>) -> Value {
    let mut all = CostRow::default();
    rows.values().for_each(|row| all.join(row));
    let each: Vec<Value> =
        rows.iter().map(|(value, row)| json!({"value": value, "used": row.as_json()})).collect();
    json!({"by": by.as_str(), "rows": each, "all": all.as_json()})
}
