//! The list of threads, as `ps`, `GET /v1/threads` and the page ask for it: filtered, in an order, a part at a time.
//!
//! What is closed comes from the index, what is open from the fold, so a filter is right for any number of threads and
//! reads only what it shows. A filter comes in; entries and the place to go on from go out, with the record up to which
//! the index was made.

mod filter;

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub use filter::{ThreadFilter, ThreadOrderName};

use super::costs::CostRow;
use super::log_state::LogState;
use super::posts::DueCalls;
use super::runs::WorkflowRuns;
use super::thread_roll::{self, ThreadEntry};
use crate::limits;
use systole_core::pump::state::{Thread, ThreadState};
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_core::types::time::{Millis, spell_duration};
use systole_log::index::{IndexEnd, IndexFault, IndexFile, RootRow, RootSelection};
use systole_show::columns::{cut, plain};
use systole_show::layout;

/// What the list is made of.
pub struct ThreadSource<'a> {
    /// The log as the client may see it.
    pub reader: &'a dyn LogReader,
    /// Its state.
    pub whole: &'a LogState,
    /// The workflows in it.
    pub runs: &'a WorkflowRuns<'a>,
    /// The moment that counts as now.
    pub now: Millis,
    /// The index, of the threads of all clients.
    pub index: &'a IndexFile,
    /// Whether the client may see the threads of others.
    pub sees_all: bool,
    /// The client whose threads alone are listed, if it sees no other.
    pub own: Option<&'a str>,
}

/// A root in the list.
#[derive(Clone, Debug)]
pub struct ListedThread {
    /// Its state and the reason.
    pub entry: ThreadEntry,
    /// What the index has of it.
    pub root: RootRow,
    /// Its records.
    pub records: u64,
    /// The threads below it, as far as they are named.
    pub children: Vec<ThreadId>,
    /// Whether there are more of them.
    pub has_more_children: bool,
}

/// A part of the list.
#[derive(Clone, Debug, Default)]
pub struct ThreadPart {
    /// The threads, in the order of the filter.
    pub threads: Vec<ListedThread>,
    /// The thread after which the list goes on, if it does.
    pub next: Option<ThreadId>,
    /// Up to which record the index was made; `None` for an empty log, and for a client that sees only a part of it.
    pub end: Option<IndexEnd>,
}

/// A part of the list, of at most that many threads.
pub fn list(source: &ThreadSource<'_>, filter: &ThreadFilter, most: usize) -> Result<ThreadPart, IndexFault> {
    let mut listing = Listing::new(source, filter, most)?;
    let selection = match filter.find_start(source.index)? {
        Some(after) => listing.select(after),
        // The thread after which the list goes on is not in it.
        None => return Ok(listing.part),
    };
    match filter.state() {
        Some("working" | "waiting") => listing.add_open(&selection)?,
        _ => {
            let mut failed = None;
            source.index.visit_roots(&selection, &mut |row| match listing.add(row) {
                Ok(goes_on) => goes_on,
                Err(fault) => {
                    failed = Some(fault);
                    false
                }
            })?;
            failed.map_or(Ok(()), Err)?;
        }
    }
    Ok(listing.part)
}

/// A list while it is made.
struct Listing<'a> {
    source: &'a ThreadSource<'a>,
    filter: &'a ThreadFilter,
    most: usize,
    posts: DueCalls,
    /// Whether everything is paused.
    is_all_paused: bool,
    /// The roots in which or below which the listener of the filter works.
    busy: BTreeSet<String>,
    part: ThreadPart,
}

impl<'a> Listing<'a> {
    fn new(
        source: &'a ThreadSource<'a>,
        filter: &'a ThreadFilter,
        most: usize,
    ) -> Result<Listing<'a>, IndexFault> {
        let whole = source.whole;
        let of_listener = filter.listener.iter().flat_map(|name| {
            let works = move |thread: &&Thread| {
                thread.calls.values().any(|call| call.listener.as_str() == name.as_str())
            };
            whole.working().into_iter().filter(works)
        });
        Ok(Listing {
            source,
            filter,
            most,
            posts: DueCalls::at(whole, source.now),
            is_all_paused: whole.all_paused(source.reader)?.is_some(),
            busy: of_listener.map(|thread| thread.id.root_of().to_string()).collect(),
            part: ThreadPart {
                end: if source.sees_all { source.index.read_end()? } else { None },
                ..ThreadPart::default()
            },
        })
    }

    /// What is asked of the index.
    fn select(&self, after: Option<(i64, u64)>) -> RootSelection {
        let filter = self.filter;
        let state = filter.state();
        RootSelection {
            order: filter.sort.unwrap_or_default(),
            after,
            outcome: state.filter(|state| filter::is_outcome(state)),
            // With everything paused, every thread that has not ended is.
            is_paused: (state == Some("paused") && !self.is_all_paused).then_some(true),
            is_ended: match state {
                Some("ended") => Some(true),
                Some("resting") => Some(false),
                Some(state) if self.is_all_paused && filter::is_outcome(state) => Some(true),
                _ => None,
            },
            name: filter.name.as_deref().map(|name| name.strip_prefix('@').unwrap_or(name).to_owned()),
            client: self.source.own.map(str::to_owned).or_else(|| filter.client.clone()),
            entry: filter.listener.clone().map(|name| (name, self.busy.iter().cloned().collect())),
            code: filter.code.clone(),
            since: filter.since.map(|since| since.0),
            until: filter.until.map(|until| until.0),
        }
    }

    /// Adds the roots with open work: few, and the fold has them all.
    fn add_open(&mut self, selection: &RootSelection) -> Result<(), IndexFault> {
        let mut rows = Vec::new();
        for thread in self.source.whole.waiting() {
            rows.extend(self.source.index.find_root(thread.id.as_str())?);
        }
        rows.retain(|row| selection.has(row));
        rows.sort_by_key(|row| std::cmp::Reverse((selection.order.value_of(row), row.position)));
        for row in rows {
            if !self.add(row)? {
                break;
            }
        }
        Ok(())
    }

    /// Adds a root if it fits, and returns whether more are wanted.
    fn add(&mut self, root: RootRow) -> Result<bool, IndexFault> {
        let (source, filter) = (self.source, self.filter);
        if filter.client.as_ref().is_some_and(|client| *client != root.client) {
            return Ok(true);
        }
        let Ok(id) = ThreadId::parse(&root.thread) else { return Ok(true) };
        // What is closed says no more than the index; only open work has words of its own.
        let is_open = source.whole.at_work(&id).is_some();
        if !is_open && filter.q.as_ref().is_some_and(|text| !has_text(&root, text)) {
            return Ok(true);
        }
        let Some(thread) = source.whole.thread(source.reader, &id)? else { return Ok(true) };
        if !source.sees_all && source.reader.of_thread(&id, 1, 1)?.is_empty() {
            return Ok(true);
        }
        if filter.state() == Some("resting") && thread.life() != ThreadState::Resting {
            return Ok(true);
        }
        let mut entries =
            [thread_roll::entry(source.reader, source.whole, &self.posts, &thread, source.now)?];
        thread_roll::name_goals(&mut entries, source.whole, source.runs)?;
        let [entry] = entries;
        let says = |text: &String| {
            has_text(&root, text) || entry.words.to_lowercase().contains(&text.to_lowercase())
        };
        if !filter.q.as_ref().is_none_or(says) || !filter.fits_state(&entry) {
            return Ok(true);
        }
        if self.part.threads.len() == self.most {
            self.part.next = self.part.threads.last().map(|listed| listed.entry.thread.clone());
            return Ok(false);
        }
        let mut children = source.reader.threads_like(&format!("{id}."), limits::NAMED_CHILDREN + 1)?;
        let has_more_children = children.len() > limits::NAMED_CHILDREN;
        children.truncate(limits::NAMED_CHILDREN);
        self.part.threads.push(ListedThread {
            entry,
            root,
            records: thread.seq,
            children,
            has_more_children,
        });
        Ok(true)
    }
}

fn has_text(root: &RootRow, text: &str) -> bool {
    let text = text.to_lowercase();
    let own = [&root.thread, &root.subject, &root.element];
    own.iter().any(|own| own.to_lowercase().contains(&text))
}

impl ListedThread {
    /// What it cost with everything below it.
    pub fn cost(&self) -> CostRow {
        CostRow::of_index(self.root.requests, self.root.unknown, &self.root.used)
    }

    /// The entry for programs.
    pub fn as_json(&self) -> Value {
        let mut value = self.entry.as_json();
        let root = &self.root;
        let code = |code: &str| (!code.is_empty()).then(|| code.to_owned());
        if let Some(fields) = value.as_object_mut() {
            let children: Vec<&str> = self.children.iter().map(ThreadId::as_str).collect();
            let more = json!({
                "opened": Millis(root.opened).to_string(),
                "by": root.client,
                "to": root.entry,
                "element": root.element,
                "subject": root.subject,
                "name": (!root.name.is_empty()).then_some(&root.name),
                "code": code(&root.code),
                "first_code": code(&root.first_code),
                "took_ms": root.took,
                "retries": root.retries,
                "cost": self.cost().as_json(),
                "records": self.records,
                "children": children,
            });
            if let Value::Object(more) = more {
                fields.extend(more);
            }
        }
        value
    }
}

/// How often a thread was tried again, in words.
pub fn count_retries(retries: u64) -> String {
    if retries == 1 { "1 retry".to_owned() } else { format!("{retries} retries") }
}

/// Who asked whom for what, how long it took and what it cost, on one line. It is made of an entry for programs, which
/// an organism elsewhere sends too.
pub fn describe_facts(entry: &Value) -> String {
    let text = |name: &str| plain(entry[name].as_str().unwrap_or_default());
    let took = entry["took_ms"].as_u64().filter(|took| *took > 0);
    let took = took.map(|took| format!("took {}", spell_duration(took)));
    let retries = entry["retries"].as_u64().filter(|retries| *retries > 0).map(count_retries);
    let amounts = entry.pointer("/cost/money").and_then(Value::as_array);
    let amounts = amounts.into_iter().flatten().filter_map(Value::as_str);
    let name = Some(text("name")).filter(|name| !name.is_empty()).map(|name| format!("@{name}"));
    let asked = format!("{} → {}", text("by"), text("to"));
    let parts = name.into_iter().chain([asked]).chain(took).chain(retries);
    let parts: Vec<String> = parts.chain(amounts.map(plain)).collect();
    let request = format!("<{}> {}", text("element"), text("subject"));
    cut(&format!("{}: {request}", parts.join(", ")), layout::columns().saturating_sub(limits::INDENT))
}

impl ThreadPart {
    /// Up to which record the index was made, for programs.
    pub fn end_json(&self) -> Value {
        self.end.map_or(Value::Null, |end| json!({"position": end.position.0, "leaf": end.leaf.to_string()}))
    }
}
