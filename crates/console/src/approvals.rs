//! What waits for a person, and what was decided: `/approvals`. Everything that a decision is about is shown in full,
//! and a decision counts only for the bytes that were shown.
//!
//! Requests from the log come in; a page with a form for each goes out. The pump decides what may still be decided, and
//! by whom.

use std::collections::BTreeSet;

use askama::Template;
use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::changes::ChangeForm;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::request_card::{self, RequestCard, RequestFiles};
use super::shorten::encode_part;
use systole_api::types::{ApiRuling, DecisionAccepted, DecisionOutcome};
use systole_core::types::client::Role;
use systole_core::types::ids::ThreadId;
use systole_core::types::person::PersonRequestId;
use systole_core::types::ports::LogFault;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_hall::log_view::LogMoment;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use systole_hall::{steering, waiting};
use systole_organism::waiting::SenderReply;
use systole_queries::decisions::{self, DecidedRequest, DecisionArguments};
use systole_queries::persons::WaitingRequest;
use systole_show::columns::plain;
use systole_show::layout;

/// The page.
#[derive(Template)]
#[template(path = "approvals.html")]
struct ApprovalsPage {
    frame: Frame,
    waiting: Vec<RequestCard>,
    decided: Vec<DecidedRow>,
    /// Whether only one request was asked for.
    one: Option<String>,
    /// Who may decide, for a client that may know; otherwise empty.
    deciders: String,
    /// The page with all decisions, for a client that may read all.
    all: Option<String>,
    /// The request that was just decided.
    done: Option<DecidedRow>,
}

/// A request that has its outcome.
struct DecidedRow {
    id: String,
    about: String,
    listener: String,
    outcome: String,
    note: Option<String>,
    at: String,
    href: Option<String>,
}

/// What one reading finds.
struct Found {
    waiting: Vec<WaitingRequest>,
    decided: Vec<DecidedRequest>,
    /// The request that was just decided.
    done: Option<DecidedRequest>,
    /// The threads among these that the client may open.
    open: BTreeSet<ThreadId>,
    files: RequestFiles,
    /// The requests that the client may decide.
    may: BTreeSet<PersonRequestId>,
    now: Millis,
}

impl Found {
    fn link(&self, frame: &Frame, thread: &ThreadId, seq: Option<u64>) -> Option<String> {
        let place = seq.map(|seq| format!("/{seq}")).unwrap_or_default();
        self.open.contains(thread).then(|| frame.to(&format!("/t/{}{place}", encode_part(thread.as_str()))))
    }
}

fn look(
    moment: &LogMoment,
    sees_all: bool,
    (one, done): (Option<PersonRequestId>, Option<PersonRequestId>),
) -> Result<Found, LogFault> {
    let mut waiting = waiting::list_requests(moment, sees_all)?;
    let reader = if sees_all { moment.of_all() } else { moment.reader.clone() };
    waiting.retain(|request| one.is_none_or(|one| request.id == one));
    waiting::add_changes(moment, &mut waiting, sees_all)?;
    let newest = |most: usize, one: Option<PersonRequestId>| {
        let before = one.map(|one| PersonRequestId(one.0.saturating_add(1)));
        let period = DecisionArguments { before, ..DecisionArguments::default() };
        let found = if sees_all { decisions::list(&*reader, &period, most)?.decisions } else { Vec::new() };
        Ok::<Vec<DecidedRequest>, LogFault>(found)
    };
    let decided = if one.is_some() { newest(1, one)? } else { newest(crate::limits::NEWS, None)? };
    let done = if done.is_some() { newest(1, done)?.pop() } else { None };
    let decided_threads: Vec<ThreadId> =
        decided.iter().chain(&done).filter_map(|one| ThreadId::parse(&one.thread).ok()).collect();
    let threads = waiting.iter().flat_map(WaitingRequest::threads).chain(&decided_threads);
    let open = moment.find_open(threads)?;
    let files = request_card::list_files(moment, &waiting, &open)?;
    let mut may = BTreeSet::new();
    for request in &waiting {
        may.extend(waiting::may_decide(moment, request)?.then_some(request.id));
    }
    Ok(Found { waiting, decided, done, open, files, may, now: moment.now })
}

/// Shows the requests.
pub(super) async fn answer_list(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&["one", "done"])?;
    let number = |name: &str| {
        let typed = asked.value(name);
        let parsed = typed.map(|typed| PersonRequestId::parse(typed).ok_or_else(|| not_an_id(name, typed)));
        parsed.transpose()
    };
    let (one, done) = (number("one")?, number("done")?);
    let organism = asked.state.front.composition().clone();
    let sees_all =
        organism.has_role(&asked.client, Role::Approve) || organism.has_role(&asked.client, Role::Read);
    let found = asked.read(move |moment| look(moment, sees_all, (one, done))).await?;
    if !asked.is_html {
        let waiting: Vec<Value> = found.waiting.iter().map(WaitingRequest::as_json).collect();
        return Ok(asked.json(&json!({"approvals": waiting, "decided": found.decided})));
    }
    let mut frame = asked.frame(PageTab::Approvals, "Approvals").live();
    // The command shows only what waits.
    if one.is_none() || !found.waiting.is_empty() {
        frame = frame.with_command("systole approve");
    }
    frame.count = found.may.len();
    let page = layout::whole_lines(|| {
        let decided: Vec<DecidedRow> =
            found.decided.iter().map(|one| DecidedRow::of(one, &frame, &found)).collect();
        let done = found.done.as_ref().map(|one| DecidedRow::of(one, &frame, &found));
        ApprovalsPage {
            waiting: found
                .waiting
                .iter()
                .map(|one| {
                    let href = found.link(&frame, &one.thread, None);
                    let may = asked.at.is_none() && found.may.contains(&one.id);
                    let card = RequestCard::of(one, &organism, found.now, (href, &found.files));
                    RequestCard { may, ..card }
                })
                .collect(),
            decided,
            one: one.map(|one| one.to_string()),
            deciders: if sees_all { waiting::list_deciders(&organism).join(", ") } else { String::new() },
            all: frame.sees_all.then(|| frame.to("/decisions")),
            done,
            frame,
        }
    });
    Ok(render_page(&page))
}

fn not_an_id(name: &str, typed: &str) -> Refusal {
    describe_unfit_address(format!(
        "{name}={}: the id of a request is a and a number, as in a1",
        plain(typed)
    ))
}

impl DecidedRow {
    fn of(one: &DecidedRequest, frame: &Frame, found: &Found) -> DecidedRow {
        let thread = ThreadId::parse(&one.thread).ok();
        DecidedRow {
            id: one.id.clone(),
            about: plain(&one.about),
            listener: one.listener.clone(),
            outcome: one.describe_decision(),
            note: one.note.as_deref().map(plain),
            at: layout::moment(one.moment(), found.now),
            href: thread.and_then(|thread| found.link(frame, &thread, Some(one.seq))),
        }
    }
}

/// The address of a request leads to its page.
pub(super) async fn request(asked: PageRequest) -> Response {
    let place = asked.only(&[]).and_then(|()| {
        let typed = asked.part("id");
        let id = PersonRequestId::parse(typed).ok_or_else(|| not_an_id("id", typed))?;
        Ok(asked.frame(PageTab::Approvals, "").to(&format!("/approvals?one={id}")))
    });
    asked.answer_page(place.map(|place| (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()))
}

/// Decides a request, as the client that is signed in.
pub(super) async fn decide(Path(id): Path<String>, form: ChangeForm) -> Response {
    let answer = decided_by(&id, &form).await;
    form.asked.answer_page(answer)
}

async fn decided_by(id: &str, form: &ChangeForm) -> Result<Response, Refusal> {
    let request = PersonRequestId::parse(id).ok_or_else(|| not_an_id("id", id))?;
    let text = |name: &str| form.field(name).map(str::to_owned);
    let outcome = match form.field("outcome") {
        Some("approved") => DecisionOutcome::Approved,
        Some("rejected") => DecisionOutcome::Rejected,
        Some("amended") => DecisionOutcome::Amended,
        Some("chosen") => DecisionOutcome::Chosen,
        _ => {
            let words = "outcome is one of approved, rejected, amended, chosen";
            return Err(describe_unfit_request(words));
        }
    };
    // A form has one field for the note, and buttons for the decisions.
    let payload = text("payload").filter(|_| outcome == DecisionOutcome::Amended);
    let choice = text("choice").filter(|_| outcome == DecisionOutcome::Chosen);
    let hash =
        form.field("hash").ok_or_else(|| describe_unfit_request("hash is missing: it says what you saw"))?;
    let ruling = ApiRuling { outcome, note: text("note"), hash: Some(hash.to_owned()), payload, choice };
    let order = steering::read_order(form.by.clone(), request, ruling).map_err(describe_unfit_request)?;
    let accepted = DecisionAccepted::from_decision(request, &order.says);
    match form.asked.state.front.rule_request(order).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => {
            let value = serde_json::to_value(accepted).unwrap_or_default();
            Ok(form.finish_change(&format!("/approvals?done={request}"), &value))
        }
        Some(SenderReply::Refused(refusal)) => Err(*refusal),
        None => Err(describe_stopping()),
    }
}
