//! The organism as a map: its listeners with their elements, permissions and open calls; a picture of it; and the
//! newest messages between two listeners.
//!
//! A composition and the state of a log come in; a page and an SVG document go out.

use std::collections::BTreeMap;

use askama::Template;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::{encode_part, shorten_text};
use crate::limits;
use systole_core::types::composition::{Composition, ListenerSection};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{LogFault, PlacedRecord};
use systole_core::types::record::RecordCode;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_hall::log_view::LogMoment;
use systole_hall::reading::{composition_of, whole_log_only};
use systole_hall::request_refusals::describe_unfit_address;
use systole_organism::workflow_steps;
use systole_queries::glance::glance;
use systole_queries::graph::{GraphNode, ListenerGraph};
use systole_queries::loads::{self, ListenerLoad};
use systole_queries::log_state::LogState;
use systole_queries::narrate::as_json;
use systole_queries::posts::DueCalls;
use systole_queries::runs::WorkflowRuns;
use systole_show::columns::plain;

/// What the page is about, for clients that may not see it.
const WHAT: &str = "the map names every listener and is";
/// What the picture may do by itself: draw in its own colours, and nothing else.
const PICTURE: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

/// A listener in the table.
struct MapRow {
    name: String,
    is_entry: bool,
    is_workflow: bool,
    is_apart: bool,
    takes: Vec<String>,
    answers: Vec<String>,
    held: String,
    /// Who may address it from outside, and the address of these messages.
    outside: Option<(String, String)>,
    peers: Vec<(String, String)>,
    load: ListenerLoad,
    /// What its open calls wait for.
    waits: String,
    /// How many workers over a broker there are, if it is reached over one.
    workers: Option<usize>,
}

/// A message of an edge.
struct EdgeRow {
    href: String,
    place: String,
    what: String,
    words: String,
    ago: String,
    time: String,
}

#[derive(Template)]
#[template(path = "map.html")]
struct MapPage {
    frame: Frame,
    picture: String,
    rows: Vec<MapRow>,
    edge: Option<(String, String)>,
    messages: Vec<EdgeRow>,
    window: u64,
    workflows: Vec<WorkflowView>,
    /// Why the workers over a broker are not known.
    unknown_workers: Option<String>,
}

/// A workflow as its sentences.
struct WorkflowView {
    name: String,
    steps: Vec<WorkflowStep>,
}

/// A step of it, with the threads in which it runs now.
struct WorkflowStep {
    depth: usize,
    text: String,
    running: usize,
    threads: Vec<(String, String)>,
}

/// The picture alone.
pub(super) async fn picture(asked: PageRequest) -> Response {
    let drawn = asked.look(&[], |moment, _| {
        whole_log_only(moment, WHAT)?;
        Ok(ListenerGraph::of(&*composition_of(moment)?).picture())
    });
    let headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, PICTURE)];
    asked.answer_page(drawn.await.map(|picture| (headers, picture).into_response()))
}

/// Shows the map.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    let name = |field: &str| {
        let read = asked.value(field).map(Name::parse).transpose();
        read.map_err(|malformed| describe_unfit_address(format!("{field}=: {malformed}")))
    };
    let (from, to) = (name("from")?, name("to")?);
    if from.is_some() && to.is_none() {
        return Err(describe_unfit_address("from= without to=: an edge has two ends"));
    }
    let edge = to.map(|to| (from, to));
    let wanted = edge.clone();
    let (graph, loads, messages, running, now) = asked
        .look(&["from", "to"], move |moment, _| {
            whole_log_only(moment, WHAT)?;
            let composition = composition_of(moment)?;
            let graph = ListenerGraph::of(&composition);
            let whole = moment.read_state()?;
            let loads = loads::loads(&whole, &DueCalls::at(&whole, moment.now));
            let messages = match &wanted {
                Some((from, to)) => loads::between(&*moment.reader, (from.as_ref(), to), limits::NEWEST)?,
                None => Vec::new(),
            };
            let running = (running_steps(moment, &whole)?, composition);
            Ok((graph, loads, messages, running, moment.now))
        })
        .await?;
    let workers = match asked.at {
        None => asked.state.front.count_workers().await,
        Some(_) => Ok(BTreeMap::new()),
    };
    if !asked.is_html {
        let known = workers.as_ref().ok();
        let workers: Option<BTreeMap<String, usize>> =
            known.map(|all| all.iter().map(|(name, count)| (name.to_string(), *count)).collect());
        let steps = running.0.iter().map(|((workflow, step), threads)| {
            let threads: Vec<&str> = threads.iter().map(ThreadId::as_str).collect();
            json!({"workflow": workflow.as_str(), "step": step, "threads": threads})
        });
        let steps: Vec<Value> = steps.collect();
        let messages: Vec<Value> =
            messages.iter().map(|(position, record)| as_json(*position, record)).collect();
        return Ok(asked.json(&json!({"graph": graph, "loads": loads, "messages": messages,
            "workers": workers, "running": steps})));
    }
    let frame = asked.frame(PageTab::Map, "Map").with_command("systole graph").live();
    let load = |name: &str| loads.iter().find(|(one, _)| one.as_str() == name).map(|(_, load)| *load);
    let worker = |name: &str| {
        workers.as_ref().ok()?.iter().find(|(one, _)| one.as_str() == name).map(|(_, count)| *count)
    };
    let row_of = |node: &GraphNode| MapRow {
        workers: worker(&node.name),
        ..row(&frame, &graph, node, load(&node.name))
    };
    let rows = graph.listeners.iter().map(row_of).collect();
    let workflows = workflows(&frame, &running.1, &running.0);
    let edge = edge.map(|(from, to)| {
        (from.map_or_else(|| "outside".to_owned(), |from| from.to_string()), to.to_string())
    });
    Ok(render_page(&MapPage {
        picture: frame.to("/map.svg"),
        rows,
        edge,
        messages: messages.iter().map(|placed| message(&frame, placed, now)).collect(),
        window: systole_queries::limits::EDGE_RECORDS,
        workflows,
        unknown_workers: workers.err().map(|words| plain(&words)),
        frame,
    }))
}

fn row(frame: &Frame, graph: &ListenerGraph, node: &GraphNode, load: Option<ListenerLoad>) -> MapRow {
    let edge = |from: Option<&str>, to: &str| {
        let from = from.map(|from| format!("from={}&", encode_part(from))).unwrap_or_default();
        format!("{}#edge", frame.to(&format!("/map?{from}to={}", encode_part(to))))
    };
    let tags =
        |elements: &[String]| elements.iter().map(|element| format!("<{element}>")).collect::<Vec<_>>();
    let held = [(&node.approval, "always"), (&node.approval_if_marked, "if marked")];
    let held = held.iter().filter(|(elements, _)| !elements.is_empty());
    let held: Vec<String> =
        held.map(|(elements, when)| format!("{} {when}", tags(elements).join(", "))).collect();
    let peers = node.peers.iter().map(|peer| (peer.clone(), edge(Some(&node.name), peer))).collect();
    let outside =
        (!node.from_outside.is_empty()).then(|| (node.from_outside.join(", "), edge(None, &node.name)));
    MapRow {
        name: node.name.clone(),
        is_entry: graph.entry.as_ref() == Some(&node.name),
        is_workflow: node.is_workflow,
        is_apart: node.depth.is_none(),
        takes: tags(&node.takes),
        answers: tags(&node.answers),
        held: held.join("; "),
        outside,
        peers,
        waits: load.map(|load| load.words()).unwrap_or_default(),
        load: load.unwrap_or_default(),
        workers: None,
    }
}

/// The steps that run now, with their threads.
type RunningSteps = BTreeMap<(Name, String), Vec<ThreadId>>;

fn running_steps(moment: &LogMoment, whole: &LogState) -> Result<RunningSteps, LogFault> {
    let runs = WorkflowRuns::new(&*moment.reader, whole, &workflow_steps::describe_step);
    let mut running = RunningSteps::new();
    for thread in whole.working() {
        for (path, call) in thread.calls.iter().filter(|(path, _)| path.depth() == 0) {
            for progress in runs.steps(&thread.id, path)? {
                let step = (call.listener.clone(), progress.step);
                running.entry(step).or_default().push(thread.id.clone());
            }
        }
    }
    Ok(running)
}

fn workflows(frame: &Frame, composition: &Composition, running: &RunningSteps) -> Vec<WorkflowView> {
    let sections = composition.sections.iter().filter(|(_, section)| section.path.starts_with("workflows."));
    let link = |id: &ThreadId| (id.to_string(), frame.to(&format!("/t/{}", encode_part(id.as_str()))));
    let view = |(name, section): (&Name, &ListenerSection)| WorkflowView {
        name: name.to_string(),
        steps: workflow_steps::list_sentences(section)
            .into_iter()
            .map(|(depth, id, text)| {
                let threads = running.get(&(name.clone(), id)).map(Vec::as_slice).unwrap_or_default();
                let named = threads.iter().take(limits::RUNNING).map(link).collect();
                WorkflowStep {
                    depth,
                    text: shorten_text(&plain(&text), limits::WORDS),
                    running: threads.len(),
                    threads: named,
                }
            })
            .collect(),
    };
    sections.map(view).collect()
}

fn message(frame: &Frame, (_, record): &PlacedRecord, now: Millis) -> EdgeRow {
    let h = &record.header;
    let seen = glance(&record.body);
    EdgeRow {
        href: frame.to(&format!("/t/{}/{}", encode_part(h.thread.as_str()), h.seq)),
        place: format!("{}@{}", h.thread, h.seq),
        what: format!("<{}> {}", seen.element, h.code.map_or(h.kind.as_str(), RecordCode::as_str)),
        words: shorten_text(&seen.words, limits::WORDS),
        ago: spell_duration(now.count_since(h.time)),
        time: h.time.to_string(),
    }
}
