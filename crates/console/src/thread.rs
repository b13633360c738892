//! One thread: why it waits, everything that it caused as a tree, and each of its records in a sentence.
//!
//! A thread and a part of its records come in; a page goes out in the words of `why`, `tree` and `log`.

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::clocked::ClockedText;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page, unknown_thread};
use super::rows::{self, RecordRow, RowPart, STEPS, shown_step};
use super::shorten::{encode_part, shorten_text};
use super::speaking::{SpeakingCalls, SpeakingLines};
use crate::limits;
use systole_core::types::client::Role;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_hall::log_view::LogMoment;
use systole_log::index::RootRow;
use systole_organism::runfile::draw_hex;
use systole_organism::workflow_steps;
use systole_queries::anew::AnewLinks;
use systole_queries::costs::CostRow;
use systole_queries::glance::glance;
use systole_queries::narrate::as_json;
use systole_queries::pauses::ThreadPause;
use systole_queries::picture::{self, Pictured, StepRow};
use systole_queries::posts::DueCalls;
use systole_queries::runs::WorkflowRuns;
use systole_queries::thread_list::count_retries;
use systole_queries::tree::{self, TreeEntry};
use systole_queries::why::{Asker, ThreadWaits, report};
use systole_show::clocks;
use systole_show::columns::plain;
use systole_show::layout::moment as moment_text;

/// What a thread is about, in one line.
struct ThreadHead {
    request: String,
    by: String,
    to: String,
    opened: String,
    took: ClockedText,
    /// What a root cost with everything below it; `None` for a child, or if it is not counted yet.
    cost: Option<CostRow>,
    /// How often it was tried again, in words; `None` if it was not.
    retries: Option<String>,
}

/// Everything that the page shows.
struct ThreadView {
    head: Option<ThreadHead>,
    state: &'static str,
    /// Whether it works, rests or has ended.
    life: &'static str,
    is_paused_itself: bool,
    is_root: bool,
    is_own: bool,
    /// The roots that it is linked to.
    links: AnewLinks,
    why: Vec<ClockedText>,
    pictured: Pictured,
    now: Millis,
    entries: Vec<TreeEntry>,
    speaking: SpeakingCalls,
    part: RowPart,
    from: u64,
    seq: u64,
    /// The positions of its first record and of the end of the log.
    first: u64,
    end: u64,
    json: Value,
}

/// A line of the tree on the page, and how many lists begin before it and end after it.
pub(super) struct TreeLine {
    pub(super) text: ClockedText,
    pub(super) href: Option<String>,
    pub(super) is_current: bool,
    /// Whether entries below it follow.
    pub(super) opens: bool,
    /// The lists that end after it.
    pub(super) closes: Vec<()>,
}

/// A step of a run on the page.
struct StepLine {
    /// How far below the run it is, at most 6.
    depth: usize,
    name: String,
    /// The word of its state, which is also its class.
    state: &'static str,
    mark: &'static str,
    words: ClockedText,
    output: Option<String>,
    href: Option<String>,
}

#[derive(Template)]
#[template(path = "thread.html")]
struct ThreadPage {
    frame: Frame,
    id: String,
    /// The id as it is shown.
    name: String,
    root: String,
    view: ThreadView,
    speaking: SpeakingLines,
    /// The roots that it is linked to: how, their ids and addresses.
    links: Vec<(&'static str, String, String)>,
    /// The steps of its run, if a workflow runs in it, and a note if they cannot be read.
    steps_of_run: Vec<StepLine>,
    note: Option<String>,
    tree: Vec<TreeLine>,
    more_entries: usize,
    chunks: Vec<Vec<RecordRow>>,
    steps: Vec<(&'static str, String, bool)>,
    shown: &'static str,
    earlier: Option<String>,
    later: Option<String>,
    may_order: bool,
    /// Whether the request of the thread, which failed or was cancelled, can be sent anew.
    may_send_anew: bool,
    /// The key of what is said to the work; empty if there are no random bytes for one.
    key: String,
    moment: u64,
}

/// Shows a thread.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&["from", "show"])?;
    let id = asked.thread()?;
    let (from, step, is_html) = (asked.number("from")?, shown_step(asked)?, asked.is_html);
    let (wanted, client) = (id.clone(), asked.client.clone());
    let found = asked.read(move |moment| view(moment, &wanted, &client, (from, step, is_html))).await?;
    let view = found.ok_or_else(unknown_thread)?;
    if !asked.is_html {
        return Ok(asked.json(&view.json));
    }
    let role = asked.state.front.composition().has_role(&asked.client, Role::Operate);
    let may_order = asked.at.is_none() && (role || view.is_own);
    Ok(render_page(&page(asked, &id, step, view, may_order)))
}

fn view(
    moment: &LogMoment,
    id: &ThreadId,
    client: &Name,
    (from, step, is_html): (Option<u64>, usize, bool),
) -> Result<Option<ThreadView>, LogFault> {
    let (reader, now) = (&*moment.reader, moment.now);
    let whole = moment.read_state()?;
    let posts = DueCalls::at(&whole, now);
    let tree = moment.read_tree(id)?;
    let (Some(thread), Some(tree)) = (whole.thread(reader, id)?, &*tree) else { return Ok(None) };
    let mut standing = ThreadWaits::of(reader, &whole, &posts, &thread)?;
    standing.name_goals(&WorkflowRuns::new(reader, &whole, &workflow_steps::describe_step))?;
    let reasons = |thread: &ThreadId, call: &CallPath| standing.find(thread, call);
    let pictured = workflow_steps::draw_picture(reader, &whole, tree, &standing)?;
    let request = reader.of_thread(&id.root_of(), 1, 1)?;
    let is_own = request.first().is_some_and(|(_, record)| record.header.from == *client);
    let opening = reader.of_thread(id, 1, 1)?.pop();
    let first = opening.as_ref().map_or(1, |(position, _)| position.0);
    let (root, links) = read_root(moment, id)?;
    let retries = root.as_ref().map(|root| root.retries.into()).filter(|retries| *retries > 0);
    let head = opening.map(|(_, record)| {
        let (h, seen) = (record.header, glance(&record.body));
        let subject = root.as_ref().map_or(&seen.words, |root| &root.subject);
        ThreadHead {
            request: shorten_text(&format!("<{}> {subject}", seen.element), limits::WHY_WORDS),
            by: h.from.to_string(),
            to: h.to.map(|to| to.to_string()).unwrap_or_default(),
            opened: moment_text(h.time, now),
            took: match standing.is_at_work() {
                true => ClockedText::since(h.time, now),
                false => ClockedText::of(|| spell_duration(standing.touched.count_since(h.time))),
            },
            retries: retries.map(count_retries),
            cost: root.map(|root| CostRow::of_index(root.requests, root.unknown, &root.used)),
        }
    });
    let newest = (thread.seq + 1).saturating_sub(limits::ROWS as u64).max(1);
    let from = from.unwrap_or(newest).min(thread.seq.max(1));
    let why = spell_waits(&standing, now, (is_html, moment.front.at_rest().is_some()));
    let entries = clocks::mark_clocks(is_html, || tree::entries(tree, standing.status(), &reasons, now));
    let (mut json, mut part) = (Value::Null, RowPart::default());
    if is_html {
        part = rows::read(moment, id, (from, limits::ROWS, step))?;
    } else {
        let records = reader.of_thread(id, from, limits::MOST_ENTRIES)?;
        let records: Vec<Value> =
            records.iter().map(|(position, record)| cut(as_json(*position, record))).collect();
        let paused = standing.paused.as_ref().map(ThreadPause::as_json);
        let mut tree = tree::to_json(tree, &reasons, now);
        tree::with_picture(&mut tree, pictured.as_json());
        json = json!({"thread": id.as_str(), "state": standing.state(), "life": standing.life.as_str(), "paused": paused, "why": why,
            "anew": links.as_json(), "seq": thread.seq, "from": from, "tree": tree, "records": records});
    }
    Ok(Some(ThreadView {
        head,
        state: standing.state(),
        life: standing.life.as_str(),
        is_paused_itself: standing.paused.as_ref().is_some_and(|pause| pause.of == *id),
        is_root: id.parent().is_none(),
        is_own,
        links,
        why: why.into_iter().map(ClockedText::of_marked).collect(),
        pictured,
        now,
        entries,
        speaking: SpeakingCalls::read(moment, &whole, &posts, id),
        part,
        from,
        seq: thread.seq,
        first,
        end: moment.front.end().0,
        json,
    }))
}

/// Why it waits, without the commands that no log at rest takes; with running durations for a page.
fn spell_waits(standing: &ThreadWaits, now: Millis, (is_html, is_at_rest): (bool, bool)) -> Vec<String> {
    let asker = Asker { now, start: None, all: false };
    let lines = clocks::mark_clocks(is_html, || report(standing, &asker)).into_iter();
    let lines = lines.take_while(|line| !is_at_rest || !line.starts_with("next:"));
    lines.map(|line| shorten_text(&line, limits::WHY_WORDS)).collect()
}

/// What the index has of a root, and the roots that it is linked to; nothing of a child.
fn read_root(moment: &LogMoment, id: &ThreadId) -> Result<(Option<RootRow>, AnewLinks), LogFault> {
    if id.parent().is_some() {
        return Ok((None, AnewLinks::default()));
    }
    moment
        .ask_index(|index| Ok((index.find_root(id.as_str())?, AnewLinks::read(index, &*moment.reader, id)?)))
}

/// A record for programs with a short body. Its own address has all of it.
fn cut(mut record: Value) -> Value {
    if let Some(body) = record.get_mut("body") {
        let text = body.as_str().unwrap_or_default();
        if text.chars().count() > limits::BODY {
            *body = shorten_text(text, limits::BODY).into();
        }
    }
    record
}

fn page(
    asked: &PageRequest,
    id: &ThreadId,
    step: usize,
    mut view: ThreadView,
    may_order: bool,
) -> ThreadPage {
    let is_last = !view.part.has_more;
    let range = match (is_last, view.from) {
        (true, 0..=1) => String::new(),
        (true, from) => format!(" -n {}", (view.seq + 1).saturating_sub(from)),
        (false, from) => format!(" --from {from}"),
    };
    let command = format!("systole log {id}{range}");
    let mut frame = asked.frame(PageTab::Threads, id.as_str()).with_command(command);
    if is_last {
        frame = frame.live();
    }
    let path = format!("/t/{}", encode_part(id.as_str()));
    let shown = STEPS.get(step).copied().unwrap_or("all");
    let with_from = |from: u64| frame.to(&format!("{path}?from={from}&show={shown}"));
    let earlier = (view.from > 1).then(|| with_from(view.from.saturating_sub(limits::ROWS as u64).max(1)));
    let later = view.part.has_more.then(|| with_from(view.from + limits::ROWS as u64));
    let steps =
        STEPS.iter().map(|word| (*word, frame.to(&format!("{path}?show={word}")), *word == shown)).collect();
    let more_entries = view.entries.len().saturating_sub(limits::TABLE_ROWS);
    view.entries.truncate(limits::TABLE_ROWS);
    let tree = lines(&view.entries, &frame, id);
    let (mut steps_of_run, mut note) = (Vec::new(), None);
    match &view.pictured {
        Pictured::Run(run) => step_lines(&run.steps, (1, view.now), &frame, &mut steps_of_run),
        Pictured::Unread(why) => note = Some(shorten_text(why, limits::WHY_WORDS)),
        Pictured::Nothing => {}
    }
    let mut rows = std::mem::take(&mut view.part.rows).into_iter().peekable();
    let mut chunks = Vec::new();
    while rows.peek().is_some() {
        chunks.push(rows.by_ref().take(limits::CHUNK_ROWS).collect());
    }
    let moment = asked.at.map_or(view.end, |at| at.0);
    let sources = view.links.source.iter().map(|source| ("Sent anew from", source));
    let linked = sources.chain(view.links.sent.iter().map(|sent| ("Sent anew as", sent)));
    let links = linked
        .map(|(words, id)| (words, id.to_string(), frame.to(&format!("/t/{}", encode_part(id.as_str())))));
    ThreadPage {
        id: encode_part(id.as_str()),
        name: id.to_string(),
        root: id.root_of().to_string(),
        speaking: std::mem::take(&mut view.speaking).into_lines(&frame),
        links: links.collect(),
        steps_of_run,
        note,
        tree,
        more_entries,
        chunks,
        steps,
        shown,
        earlier,
        later,
        may_order: may_order && view.life != "ended",
        may_send_anew: may_order && view.is_root && matches!(view.state, "failed" | "cancelled"),
        key: draw_hex().unwrap_or_default(),
        moment,
        view,
        frame,
    }
}

/// The steps of a run, each followed by those inside it.
fn step_lines(rows: &[StepRow], (depth, now): (usize, Millis), frame: &Frame, lines: &mut Vec<StepLine>) {
    for row in rows {
        let href = row.leads_to.as_ref().map(|(thread, seq)| {
            let thread = encode_part(thread.as_str());
            frame.to(&seq.map_or_else(|| format!("/t/{thread}"), |seq| format!("/t/{thread}/{seq}")))
        });
        lines.push(StepLine {
            depth: depth.min(6),
            name: plain(&row.id),
            state: row.state.as_str(),
            mark: row.state.mark(),
            words: ClockedText::of(|| picture::row_words(row, now).join(" · ")),
            output: row.output.clone(),
            href,
        });
        step_lines(&row.steps, (depth + 1, now), frame, lines);
    }
}

/// The entries as nested lists.
pub(super) fn lines(entries: &[TreeEntry], frame: &Frame, shown: &ThreadId) -> Vec<TreeLine> {
    let mut lines = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let next = entries.get(at + 1).map_or(0, |next| next.depth);
        let href = entry.leads_to.as_ref().map(|(thread, seq)| {
            let thread = encode_part(thread.as_str());
            frame.to(&seq.map_or_else(|| format!("/t/{thread}"), |seq| format!("/t/{thread}/{seq}")))
        });
        let is_current =
            entry.leads_to.as_ref().is_some_and(|(thread, seq)| thread == shown && seq.is_none());
        lines.push(TreeLine {
            text: ClockedText::of_marked(shorten_text(entry.text.trim_start(), limits::TREE_WORDS)),
            href,
            is_current,
            opens: next > entry.depth,
            closes: vec![(); entry.depth.saturating_sub(next)],
        });
    }
    lines
}
