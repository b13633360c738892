//! The list of threads: newest first, with state and reason, filtered by its address.
//!
//! A checked filter comes in; a part of the list goes out, with the address of the next part.

use std::collections::BTreeSet;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::{encode_part, shorten_text};
use crate::limits::{self, ENTRIES, SEARCH_TEXT};
use crate::mcp::tools;
use crate::request_refusals::describe_unfit_address;
use systole_core::types::client::Role;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_organism::workflow_steps;
use systole_queries::costs::CostRow;
use systole_queries::limits::LOOKED_AT;
use systole_queries::runs::WorkflowRuns;
use systole_queries::thread_end::STATES;
use systole_queries::thread_list::{self, ListedThread, ThreadFilter, ThreadPart};
use systole_queries::thread_roll::ThreadEntry;

/// What is shown for a cost that is not counted yet.
const UNCOUNTED: &str = "…";

/// A row of the list.
struct ThreadRow {
    id: String,
    href: String,
    state: &'static str,
    since: String,
    words: String,
    by: String,
    to: String,
    request: String,
    age: String,
    opened: String,
    records: u64,
    /// How many of its newest records are refusals, with a plus if there may be more; empty if there are none.
    refusals: String,
    is_refused: bool,
    refused_href: String,
    tokens: String,
    money: String,
    children: Vec<(String, String)>,
    has_more_children: bool,
}

/// A choice of a filter.
struct Choice {
    word: &'static str,
    is_chosen: bool,
}

#[derive(Template)]
#[template(path = "threads.html")]
struct ThreadsPage {
    frame: Frame,
    rows: Vec<ThreadRow>,
    states: Vec<Choice>,
    listeners: Vec<(String, bool)>,
    text: String,
    is_filtered: bool,
    next: Option<String>,
    /// The fields of the filter, for an order to all that are shown.
    hidden: Vec<(&'static str, String)>,
    may_order: bool,
    /// Whether the cost of a thread is not counted yet.
    is_counting: bool,
    /// How many threads were looked at, if these are not all and few of them fit.
    looked_at: Option<usize>,
}

/// The filter of an address, which may have `more` fields.
pub(super) fn filter_of(asked: &PageRequest, more: &[&str]) -> Result<ThreadFilter, Refusal> {
    asked.only(&[&["state", "listener", "q", "after"], more].concat())?;
    let listener = asked.value("listener").map(Name::parse).transpose();
    let listener = listener.map_err(|malformed| describe_unfit_address(format!("listener=: {malformed}")))?;
    let after = asked.value("after").map(ThreadId::parse).transpose();
    let after = after.map_err(|malformed| describe_unfit_address(format!("after=: {malformed}")))?;
    let text = asked.value("q").map(str::to_owned);
    if text.as_ref().is_some_and(|text| text.chars().count() > SEARCH_TEXT) {
        return Err(describe_unfit_address(format!("q=: it has {SEARCH_TEXT} characters at most")));
    }
    Ok(ThreadFilter { state: asked.one_of("state", &STATES)?, listener, text, after })
}

/// A part of the list, and the moment that counts as now.
pub(super) async fn read_part(
    asked: &PageRequest,
    filter: &ThreadFilter,
) -> Result<(ThreadPart, Millis), Refusal> {
    let wanted = filter.clone();
    asked
        .read(move |moment| {
            let whole = moment.read_state()?;
            let runs = WorkflowRuns::new(&*moment.reader, &whole, &workflow_steps::describe_step);
            let part = thread_list::list(&*moment.reader, &whole, &runs, moment.now, (&wanted, ENTRIES))?;
            Ok((part, moment.now))
        })
        .await
}

/// Shows the list.
pub(super) async fn list(asked: &PageRequest) -> Result<Response, Refusal> {
    let filter = filter_of(asked, &[])?;
    let (part, now) = read_part(asked, &filter).await?;
    let roots: Vec<ThreadId> = part.threads.iter().map(|listed| listed.entry.thread.clone()).collect();
    let costs = asked.read(move |moment| moment.tree_costs(&roots)).await?;
    if !asked.is_html {
        let threads: Vec<Value> = part
            .threads
            .iter()
            .zip(&costs)
            .map(|(listed, cost)| listed_json(listed, cost.as_ref()))
            .collect();
        let next = part.next.as_ref().map(ThreadId::as_str);
        return Ok(asked.json(&json!({"threads": threads, "next": next})));
    }
    Ok(render_page(&page(asked, &filter, &part, &costs, now)))
}

/// An entry for programs, with what it cost.
fn listed_json(listed: &ListedThread, cost: Option<&CostRow>) -> Value {
    let mut value = listed.as_json();
    if let Some(fields) = value.as_object_mut() {
        fields.insert("cost".to_owned(), json!(cost.map(CostRow::as_json)));
    }
    value
}

fn page(
    asked: &PageRequest,
    filter: &ThreadFilter,
    part: &ThreadPart,
    costs: &[Option<CostRow>],
    now: Millis,
) -> ThreadsPage {
    let frame = asked.frame(PageTab::Threads, "Threads").with_known_command(command(filter)).live();
    let with_costs = part.threads.iter().zip(costs);
    let rows = with_costs.map(|(listed, cost)| row(&frame, listed, cost.as_ref(), now)).collect();
    let names = listeners_for(asked, frame.sees_all, part);
    let listeners =
        names.iter().map(|name| (name.to_string(), filter.listener.as_ref() == Some(name))).collect();
    let states = STATES.iter().map(|word| Choice { word, is_chosen: filter.state == Some(word) }).collect();
    let next = part.next.as_ref().map(|id| frame.to(&list_address(filter, Some(id))));
    let is_filtered = filter.state.is_some() || filter.listener.is_some() || filter.text.is_some();
    let text = filter.text.clone().unwrap_or_default();
    let fields = ["state", "listener", "q", "after"];
    let hidden = fields.into_iter().filter_map(|name| Some((name, asked.value(name)?.to_owned()))).collect();
    let may_order = asked.at.is_none() && part.threads.iter().any(|listed| may_order(asked, listed));
    let looked_at = (next.is_some() && part.threads.len() < ENTRIES).then_some(LOOKED_AT);
    let is_counting = costs.iter().any(Option::is_none);
    ThreadsPage {
        frame,
        rows,
        states,
        listeners,
        text,
        is_filtered,
        next,
        looked_at,
        hidden,
        may_order,
        is_counting,
    }
}

/// Whether a client may give orders to a thread: it opened the thread, or operates those of others.
pub(super) fn may_order(asked: &PageRequest, listed: &ListedThread) -> bool {
    listed.by == asked.client || asked.state.front.composition().has_role(&asked.client, Role::Operate)
}

/// The command for the whole list. It knows no filter.
fn command(filter: &ThreadFilter) -> Option<String> {
    (filter == &ThreadFilter::default()).then(|| format!("systole ps -n {ENTRIES}"))
}

/// The listeners to filter by: all of them, or those that the client may address or finds in its own threads.
fn listeners_for(asked: &PageRequest, sees_all: bool, part: &ThreadPart) -> BTreeSet<Name> {
    let organism = asked.state.front.composition();
    if sees_all {
        return organism.listeners.keys().cloned().collect();
    }
    let open = tools::open_to(organism, &asked.client).into_iter().map(|tool| tool.listener.name.clone());
    open.chain(part.threads.iter().filter_map(|listed| listed.to.clone())).collect()
}

/// The address of the list, or of its part after a thread.
pub(super) fn list_address(filter: &ThreadFilter, after: Option<&ThreadId>) -> String {
    let state = filter.state.map(|state| format!("state={state}&"));
    let listener = filter.listener.as_ref().map(|name| format!("listener={}&", encode_part(name.as_str())));
    let text = filter.text.as_ref().map(|text| format!("q={}&", encode_part(text)));
    let after = after.map(|after| format!("after={}&", encode_part(after.as_str())));
    let set: String = [state, listener, text, after].into_iter().flatten().collect();
    match set.strip_suffix('&') {
        Some(set) => format!("/threads?{set}"),
        None => "/threads".to_owned(),
    }
}

fn row(frame: &Frame, listed: &ListedThread, cost: Option<&CostRow>, now: Millis) -> ThreadRow {
    let entry = &listed.entry;
    let since = entry.paused.as_ref().map_or(entry.since, |pause| pause.since);
    let words = [entry.run(), entry.describe_entry()];
    let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
    let link = |id: &ThreadId| frame.to(&format!("/t/{}", encode_part(id.as_str())));
    let children = listed.children.iter().map(|id| (id.to_string(), link(id))).collect();
    ThreadRow {
        id: entry.thread.to_string(),
        href: link(&entry.thread),
        state: entry.state(),
        since: spell_duration(now.count_since(since)),
        words: shorten_text(&words.join(": "), limits::WORDS),
        by: listed.by.to_string(),
        to: listed.to.as_ref().map(ToString::to_string).unwrap_or_default(),
        request: shorten_text(
            &format!("<{}> {}", listed.request.element, listed.request.words),
            limits::WORDS,
        ),
        age: spell_duration(now.count_since(listed.opened)),
        opened: listed.opened.to_string(),
        records: listed.records,
        refusals: refusals(entry),
        is_refused: entry.refusals > 0,
        refused_href: frame.to(&format!("/find?kind=refusal&thread={}", encode_part(entry.thread.as_str()))),
        tokens: cost.map_or_else(|| UNCOUNTED.to_owned(), CostRow::tokens),
        money: cost.map_or_else(|| UNCOUNTED.to_owned(), CostRow::money_known),
        children,
        has_more_children: listed.has_more_children,
    }
}

/// The count of refusals.
fn refusals(entry: &ThreadEntry) -> String {
    match (entry.refusals, entry.has_older_records) {
        (0, false) => String::new(),
        (count, false) => count.to_string(),
        (count, true) => format!("{count}+"),
    }
}
