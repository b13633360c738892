//! The list of threads: newest first, with state and reason, filtered by its address.
//!
//! A checked filter comes in; a part of the list goes out, with the address of the next part.

use std::collections::BTreeSet;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::clocked::ClockedText;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::{encode_part, shorten_text};
use crate::limits::{self, ENTRIES, SEARCH_TEXT};
use systole_core::types::client::Role;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_hall::log_view::LogMoment;
use systole_hall::reading::{FILTERS, QueryFields, find_threads};
use systole_hall::request_refusals::describe_unfit_address;
use systole_payloads::open_elements;
use systole_queries::index::FAILED;
use systole_queries::query::ArgumentForm as _;
use systole_queries::thread_end::STATES;
use systole_queries::thread_list::{ListedThread, ThreadOrderName, ThreadPart};
use systole_queries::thread_roll::ThreadEntry;

/// The fields of the filter that take a text, with their labels.
const TEXTS: [(&str, &str, &str); 5] = [
    ("since", "Since", "3d"),
    ("until", "Until", "14:30"),
    ("client", "Client", ""),
    ("name", "Name", "ticket-"),
    ("code", "Code", "model.refused"),
];

/// A row of the list.
struct ThreadRow {
    id: String,
    /// The name that its client gave it, with `@`; empty if it has none.
    name: String,
    href: String,
    state: &'static str,
    since: ClockedText,
    words: String,
    by: String,
    to: String,
    request: String,
    age: ClockedText,
    opened: String,
    took: String,
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
    orders: Vec<Choice>,
    /// The fields with a text: name, label, example and value.
    texts: Vec<(&'static str, &'static str, &'static str, String)>,
    text: String,
    is_filtered: bool,
    next: Option<String>,
    /// The fields of the filter, for an order to all that are shown.
    hidden: Vec<(&'static str, String)>,
    may_order: bool,
}

/// A part of the list, as the address asks for it, and the moment that counts as now. The address may have `more`
/// fields.
pub(super) async fn read_part(asked: &PageRequest, more: &[&str]) -> Result<(ThreadPart, Millis), Refusal> {
    let known = [&FILTERS[..], &["after"], more].concat();
    asked.only(&known)?;
    if asked.value("q").is_some_and(|text| text.chars().count() > SEARCH_TEXT) {
        return Err(describe_unfit_address(format!("q=: it has {SEARCH_TEXT} characters at most")));
    }
    let read =
        |moment: &LogMoment, fields: &QueryFields| Ok((find_threads(moment, fields, ENTRIES)?, moment.now));
    asked.look(&known, read).await
}

/// Shows the list.
pub(super) async fn list(asked: &PageRequest) -> Result<Response, Refusal> {
    let (part, now) = read_part(asked, &[]).await?;
    if !asked.is_html {
        let threads: Vec<Value> = part.threads.iter().map(ListedThread::as_json).collect();
        let next = part.next.as_ref().map(ThreadId::as_str);
        return Ok(asked.json(&json!({"threads": threads, "next": next, "index": part.end_json()})));
    }
    Ok(render_page(&page(asked, &part, now)))
}

fn page(asked: &PageRequest, part: &ThreadPart, now: Millis) -> ThreadsPage {
    let frame = asked.frame(PageTab::Threads, "Threads").with_known_command(Some(command(asked))).live();
    let rows = part.threads.iter().map(|listed| row(&frame, listed, now)).collect();
    let names = listeners_for(asked, frame.sees_all, part);
    let listeners =
        names.iter().map(|name| (name.to_string(), asked.value("listener") == Some(name.as_str()))).collect();
    let state = asked.value("failed").map_or(asked.value("state"), |_| Some(FAILED));
    let choose = |word: &'static str, chosen: Option<&str>| Choice { word, is_chosen: chosen == Some(word) };
    let states = STATES.iter().map(|word| choose(word, state)).collect();
    let orders = ThreadOrderName::CHOICES.iter().map(|word| choose(word, asked.value("sort"))).collect();
    let value = |name| asked.value(name).unwrap_or_default().to_owned();
    let texts = TEXTS.into_iter().map(|(name, label, example)| (name, label, example, value(name))).collect();
    let next = part.next.as_ref().map(|id| frame.to(&list_address(asked, Some(id.as_str()))));
    let fields = FILTERS.into_iter().chain(["after"]);
    let hidden = fields.filter_map(|name| Some((name, asked.value(name)?.to_owned()))).collect();
    let may_order = asked.at.is_none() && part.threads.iter().any(|listed| may_order(asked, listed));
    let is_filtered = FILTERS.iter().any(|name| asked.value(name).is_some());
    ThreadsPage {
        frame,
        rows,
        states,
        listeners,
        orders,
        texts,
        text: value("q"),
        is_filtered,
        next,
        hidden,
        may_order,
    }
}

/// Whether a client may give orders to a thread: it opened the thread, or operates those of others.
pub(super) fn may_order(asked: &PageRequest, listed: &ListedThread) -> bool {
    listed.root.client == asked.client.as_str()
        || asked.state.front.composition().has_role(&asked.client, Role::Operate)
}

/// The command for the list.
fn command(asked: &PageRequest) -> String {
    let named: Vec<&str> = FILTERS.into_iter().filter(|name| *name != "failed").collect();
    let failed = if asked.value("failed") == Some("true") { " --failed" } else { "" };
    format!("systole ps -n {ENTRIES}{failed}{}", asked.options(&named))
}

/// The listeners to filter by: all of them, or those that the client may address or finds in its own threads.
fn listeners_for(asked: &PageRequest, sees_all: bool, part: &ThreadPart) -> BTreeSet<Name> {
    let organism = asked.state.front.composition();
    if sees_all {
        return organism.listeners.keys().cloned().collect();
    }
    let open =
        open_elements::list_open(organism, &asked.client).into_iter().map(|tool| tool.listener.name.clone());
    open.chain(part.threads.iter().filter_map(|listed| Name::parse(&listed.root.entry).ok())).collect()
}

/// The address of the list, or of its part after a thread.
pub(super) fn list_address(asked: &PageRequest, after: Option<&str>) -> String {
    let fields = FILTERS.iter().filter_map(|name| Some((*name, asked.value(name)?)));
    let fields = fields.chain(after.map(|after| ("after", after)));
    let set: Vec<String> = fields.map(|(name, value)| format!("{name}={}", encode_part(value))).collect();
    match set.is_empty() {
        true => "/threads".to_owned(),
        false => format!("/threads?{}", set.join("&")),
    }
}

fn row(frame: &Frame, listed: &ListedThread, now: Millis) -> ThreadRow {
    let (entry, root, cost) = (&listed.entry, &listed.root, listed.cost());
    let since = entry.paused.as_ref().map_or(entry.since, |pause| pause.since);
    let words = [entry.run(), entry.describe_entry()];
    let words: Vec<String> = words.into_iter().filter(|words| !words.is_empty()).collect();
    let link = |id: &ThreadId| frame.to(&format!("/t/{}", encode_part(id.as_str())));
    let children = listed.children.iter().map(|id| (id.to_string(), link(id))).collect();
    ThreadRow {
        id: entry.thread.to_string(),
        name: if root.name.is_empty() { String::new() } else { format!("@{}", root.name) },
        href: link(&entry.thread),
        state: listed.entry.state(),
        since: ClockedText::since(since, now),
        words: shorten_text(&words.join(": "), limits::WORDS),
        by: root.client.clone(),
        to: root.entry.clone(),
        request: shorten_text(&format!("<{}> {}", root.element, root.subject), limits::WORDS),
        age: ClockedText::since(Millis(root.opened), now),
        opened: Millis(root.opened).to_string(),
        took: if root.outcome.is_empty() { String::new() } else { spell_duration(root.took) },
        records: listed.records,
        refusals: refusals(entry),
        is_refused: entry.refusals > 0,
        refused_href: frame.to(&format!("/find?kind=refusal&thread={}", encode_part(entry.thread.as_str()))),
        tokens: cost.tokens(),
        money: cost.money_known(),
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
