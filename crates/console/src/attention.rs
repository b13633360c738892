//! The first page: what waits for a person, what is stuck with the command that ends it, what went wrong in the last
//! hour, and how far the log is proved.
//!
//! It reads the log's fold and its newest records. Bounded lists go out, each with the number of what they leave out.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use axum::response::Response;
use serde_json::{Value, json};

use super::clocked::ClockedText;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::proof;
use super::shorten::{encode_part, shorten_text};
use crate::limits;
use systole_core::types::client::Role;
use systole_core::types::ids::ThreadId;
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::{LogFault, Position};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::{Millis, spell_duration};
use systole_export::verdict::{ProofStanding, ProofTone};
use systole_hall::log_view::LogMoment;
use systole_hall::waiting;
use systole_log::sqlite::read_condition;
use systole_organism::workflow_steps;
use systole_queries::glance::glance;
use systole_queries::pauses::ThreadPause;
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_queries::posts::DueCalls;
use systole_queries::runs::WorkflowRuns;
use systole_queries::troubles::Troubles;
use systole_queries::why::{self, ListedWait, ThreadWaits};
use systole_show::clocks;
use systole_show::columns::plain;

/// A list with the number of entries that are left out.
struct BoundedList<T> {
    shown: Vec<T>,
    more: usize,
}

impl<T> BoundedList<T> {
    fn of(mut all: Vec<T>) -> BoundedList<T> {
        let more = all.len().saturating_sub(limits::NEWS);
        all.truncate(limits::NEWS);
        BoundedList { shown: all, more }
    }

    fn count(&self) -> usize {
        self.shown.len() + self.more
    }
}

/// What waits for a person.
struct WaitingRow {
    id: String,
    what: String,
    words: String,
    since: ClockedText,
    left: ClockedText,
    thread: String,
    /// None if the client may not open the thread.
    href: Option<String>,
    commands: Vec<String>,
}

/// What is stuck.
struct StuckRow {
    thread: String,
    href: String,
    what: ClockedText,
    since: ClockedText,
    command: String,
}

/// What went wrong.
struct WrongRow {
    code: String,
    listener: String,
    count: u64,
    words: String,
    ago: ClockedText,
    href: String,
    /// The search that finds all of them.
    all: String,
}

/// What the page shows.
struct Attention {
    waiting: Vec<WaitingRequest>,
    /// Their threads that the client may open.
    open: BTreeSet<ThreadId>,
    /// Those that the client may decide.
    may: BTreeSet<PersonRequestId>,
    stuck: Vec<ListedWait>,
    troubles: Arc<Troubles>,
    paused: Option<ThreadPause>,
    /// How far the log is proved, if this client sees all of it and it is in a file.
    proof: Option<ProofStanding>,
    damage: Option<String>,
    now: Millis,
    /// Since when what went wrong is listed.
    since: Millis,
}

#[derive(Template)]
#[template(path = "attention.html")]
struct AttentionPage {
    frame: Frame,
    /// Whether this client may decide what waits.
    decides: bool,
    waiting: BoundedList<WaitingRow>,
    stuck: BoundedList<StuckRow>,
    /// What is too long for a wait that may end by itself.
    limit: String,
    wrong: BoundedList<WrongRow>,
    is_cut: bool,
    last: u64,
    paused: Option<(ClockedText, String)>,
    /// How far the log is proved.
    proof: Vec<(ProofTone, String)>,
    /// Whether checkpoints are signed while it runs.
    signs: bool,
}

/// Shows the first page.
pub(super) async fn answer_page(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&[])?;
    let decides = asked.state.front.composition().has_role(&asked.client, Role::Approve);
    let is_html = asked.is_html;
    let seen = asked.read(move |moment| look(moment, decides, is_html)).await?;
    if !asked.is_html {
        let waiting: Vec<Value> = seen.waiting.iter().map(WaitingRequest::as_json).collect();
        let stuck: Vec<Value> = seen.stuck.iter().map(stuck_json).collect();
        let paused = seen.paused.as_ref().map(ThreadPause::as_json);
        return Ok(asked.json(&json!({"waiting": waiting, "stuck": stuck, "wrong": seen.troubles.counts,
            "is_cut": seen.troubles.is_cut, "paused": paused,
            "proof": seen.proof.as_ref().map(ProofStanding::as_json), "damage": seen.damage})));
    }
    Ok(render_page(&page(asked, &seen)))
}

fn look(moment: &LogMoment, decides: bool, is_html: bool) -> Result<Attention, LogFault> {
    let (reader, now) = (&*moment.reader, moment.now);
    let whole = moment.read_state()?;
    let posts = DueCalls::at(&whole, now);
    let runs = WorkflowRuns::new(reader, &whole, &workflow_steps::describe_step);
    let mut standings = Vec::new();
    for thread in whole.waiting() {
        let mut standing = ThreadWaits::of(reader, &whole, &posts, thread)?;
        standing.name_goals(&runs)?;
        standings.push(standing);
    }
    let mut stuck = clocks::mark_clocks(is_html, || why::waits(&standings, now));
    let limit = moment.composition().stuck_ms;
    stuck.retain(|wait| is_stuck(wait, now, limit));
    let (proof, damage) = proof(moment)?.unzip();
    let since = Millis(end_of(moment)?.0.saturating_sub(limits::LATELY_MS));
    let waiting = waiting::list_requests(moment, decides)?;
    let open = moment.find_open(waiting.iter().map(|one| &one.thread))?;
    let mut may = BTreeSet::new();
    for request in &waiting {
        may.extend(waiting::may_decide(moment, request)?.then_some(request.id));
    }
    Ok(Attention {
        waiting,
        open,
        may,
        stuck,
        troubles: moment.read_troubles(since)?,
        paused: whole.all_paused(reader)?,
        proof,
        damage: damage.flatten(),
        now,
        since,
    })
}

/// The moment up to which something can have gone wrong: now, or the time of the last record of a log at rest.
fn end_of(moment: &LogMoment) -> Result<Millis, LogFault> {
    if moment.front.at_rest().is_none() {
        return Ok(moment.now);
    }
    let before = Position(moment.reader.read_last()?.0.saturating_sub(1));
    let last = moment.reader.read_after(before, 1)?.pop();
    Ok(last.map_or(moment.now, |(_, record)| record.header.time))
}

/// How far the log is proved, and what is known to be missing of it. Nothing for a log without a file, and for a client
/// that may not see all of it.
fn proof(moment: &LogMoment) -> Result<Option<(ProofStanding, Option<String>)>, LogFault> {
    let Some(log) = moment.front.log_file().filter(|_| moment.sees_all) else { return Ok(None) };
    let standing = proof::standing(moment, log)?;
    let lost = if moment.at.is_some() { None } else { read_condition(log)?.lost };
    Ok(Some((standing, lost.map(|fault| plain(&fault.to_string())))))
}

/// Whether a wait needs someone: a pause, a configuration that is gone, a back-off, or any wait but a timer's that
/// lasts longer than `limits.stuck`. Requests for a person have a list of their own.
fn is_stuck(wait: &ListedWait, now: Millis, limit: u64) -> bool {
    match wait.cause {
        "person" | "timer" => false,
        "paused" | "unknown" | "stopped" | "back-off" | "outage" => true,
        _ => now.count_since(wait.since) >= limit,
    }
}

fn stuck_json(wait: &ListedWait) -> Value {
    json!({"thread": wait.thread.as_str(), "cause": wait.cause, "since": wait.since.to_string(),
        "what": wait.what, "command": wait.command})
}

fn page(asked: &PageRequest, seen: &Attention) -> AttentionPage {
    let mut frame = asked.frame(PageTab::Attention, "Attention").with_command("systole why").live();
    let (now, thread_href) = (seen.now, |id: &ThreadId| format!("/t/{}", encode_part(id.as_str())));
    let waiting = seen.waiting.iter().map(|one| waiting_row(one, &frame, seen)).collect();
    let stuck = seen.stuck.iter().map(|wait| StuckRow {
        thread: wait.thread.to_string(),
        href: frame.to(&thread_href(&wait.thread)),
        what: ClockedText::of_marked(shorten_text(&wait.what, limits::LONG_WORDS)),
        since: ClockedText::since(wait.since, now),
        command: wait.command.clone(),
    });
    let wrong = seen.troubles.counts.iter().map(|one| WrongRow {
        code: one.code.clone(),
        listener: one.listener.clone(),
        count: one.count,
        words: shorten_text(&one.message, limits::LONG_WORDS),
        ago: ClockedText::since(one.at, now),
        href: frame.to(&format!("{}/{}", thread_href(&one.thread), one.seq)),
        all: {
            let fields = one.search.iter().map(|(name, value)| format!("{name}={}", encode_part(value)));
            let fields: Vec<String> = fields.collect();
            frame.to(&format!("/find?{}&since={}", fields.join("&"), encode_part(&seen.since.to_string())))
        },
    });
    let limit = spell_duration(asked.state.front.composition().stuck_ms);
    let (stuck, wrong) = (BoundedList::of(stuck.collect()), BoundedList::of(wrong.collect()));
    let waiting: BoundedList<WaitingRow> = BoundedList::of(waiting);
    let decides = waiting::has_say(asked.state.front.composition(), &asked.client);
    frame.count = seen.may.len();
    let paused = seen.paused.as_ref();
    let paused =
        paused.map(|pause| (ClockedText::of(|| pause.sentence(&ThreadId::new_sys(), now)), pause.command()));
    let last = asked.at.unwrap_or_else(|| asked.state.front.end()).0;
    let mut proof = seen.proof.as_ref().map(|proof| proof.sentences(now)).unwrap_or_default();
    proof.extend(seen.damage.iter().map(|words| (ProofTone::Bad, format!("The log is damaged: {words}."))));
    let signs = asked.state.front.policy().is_some();
    let is_cut = seen.troubles.is_cut;
    AttentionPage { decides, waiting, stuck, limit, wrong, is_cut, last, paused, proof, signs, frame }
}

fn waiting_row(one: &WaitingRequest, frame: &Frame, seen: &Attention) -> WaitingRow {
    let now = seen.now;
    let (what, words) = match &one.about {
        RequestSubject::Approval { payload, .. } => {
            let seen = glance(payload.as_bytes());
            (format!("{} wants <{}> delivered to {}", one.caller, seen.element, one.listener), seen.words)
        }
        RequestSubject::Question { words, .. } => (format!("{} asks", one.listener), plain(words)),
    };
    WaitingRow {
        what: shorten_text(&what, limits::LONG_WORDS),
        words: shorten_text(&words, limits::LONG_WORDS),
        since: ClockedText::since(one.asked, now),
        left: ClockedText::of(|| one.show_rest(now)),
        thread: one.thread.to_string(),
        href: seen
            .open
            .contains(&one.thread)
            .then(|| frame.to(&format!("/t/{}", encode_part(one.thread.as_str())))),
        commands: if seen.may.contains(&one.id) { one.commands() } else { Vec::new() },
        id: one.id.to_string(),
    }
}
