//! The buttons of a thread: pause, resume, retry, cancel and end. What cannot be undone, and what may cost, asks once
//! more.
//!
//! The form of a change comes in; an order under the client's name goes to the organism, which decides whether the
//! client may give it.

use askama::Template;
use axum::response::Response;
use serde_json::json;

use super::changes::ChangeForm;
use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page, unknown_thread};
use super::shorten::encode_part;
use super::thread_orders::ThreadOrder;
use systole_api::retry_types::RetryShown;
use systole_core::types::ids::{Digest, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_hall::inbound;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use systole_hall::runs::steering_words::steer_thread as steer_work;
use systole_hall::steering::check_note;
use systole_organism::order::RetryRequest;
use systole_organism::waiting::SenderReply;
use systole_queries::posts::DueCalls;
use systole_queries::why::{Asker, ThreadWaits, report};

/// The page that asks once more.
#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage {
    frame: Frame,
    id: String,
    name: String,
    /// The order: `cancel` or `end`.
    order: &'static str,
    words: &'static str,
    why: Vec<String>,
}

/// Asks whether to cancel a thread.
pub(super) async fn ask_to_cancel(asked: PageRequest) -> Response {
    let words = "This ends the thread and everything that is open below it. It cannot be undone.";
    asked.answer_page(confirm(&asked, "cancel", words).await)
}

/// Asks whether to end a thread.
pub(super) async fn ask_to_end(asked: PageRequest) -> Response {
    let words = "No message can continue the thread afterwards. Its records stay.";
    asked.answer_page(confirm(&asked, "end", words).await)
}

/// The page with what a retry does.
#[derive(Template)]
#[template(path = "retry.html")]
struct RetryPage {
    frame: Frame,
    id: String,
    name: String,
    lines: Vec<String>,
    seen: String,
    has_effects: bool,
}

/// Shows what a retry of a failed thread does, and asks whether to do it.
pub(super) async fn ask_to_retry(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&[])?;
    if asked.at.is_some() {
        return Err(describe_unfit_address("at=: the past cannot be changed"));
    }
    let id = asked.thread()?;
    let preview = asked.state.front.preview_retry(&asked.client, &id).await;
    let shown = RetryShown::from(preview.map_err(|refusal| *refusal)?);
    if !asked.is_html {
        return Ok(asked.json(&shown));
    }
    let frame = asked.frame(PageTab::Threads, &format!("Retry {id}?"));
    Ok(render_page(&RetryPage {
        frame: frame.with_command(format!("systole retry {id}")),
        id: encode_part(id.as_str()),
        name: id.to_string(),
        lines: shown.describe_preview(),
        has_effects: !shown.effects.is_empty(),
        seen: shown.seen,
    }))
}

/// Tries a failed thread again, as its page showed it.
pub(super) async fn retry_thread(form: &ChangeForm) -> Result<Response, Refusal> {
    let id = form.asked.thread()?;
    let note = check_note(form.field("note").map(str::to_owned)).map_err(describe_unfit_request)?;
    let seen = form.field("seen").map(Digest::parse).transpose();
    let seen = seen.map_err(|malformed| describe_unfit_request(format!("seen: {malformed}")))?;
    let allows_effects = form.field("effects") == Some("true");
    let request = RetryRequest { by: form.by.clone(), thread: id.clone(), seen, note, allows_effects };
    let reply = form.asked.state.front.retry_thread(request).await;
    answer_order(form, &id, reply, ThreadOrder::Retry.describe_done())
}

async fn confirm(asked: &PageRequest, order: &'static str, words: &'static str) -> Result<Response, Refusal> {
    asked.only(&[])?;
    let id = asked.thread()?;
    let wanted = id.clone();
    let found = asked
        .read(move |moment| {
            let whole = moment.read_state()?;
            let Some(thread) = whole.thread(&*moment.reader, &wanted)? else { return Ok(None) };
            let posts = DueCalls::at(&whole, moment.now);
            let standing = ThreadWaits::of(&*moment.reader, &whole, &posts, &thread)?;
            Ok(Some(report(&standing, &Asker { now: moment.now, start: None, all: false })))
        })
        .await?;
    let why = found.ok_or_else(unknown_thread)?;
    let title = format!("{} {id}?", if order == "cancel" { "Cancel" } else { "End" });
    let frame = asked.frame(PageTab::Threads, &title).with_command(format!("systole {order} {id}"));
    let (name, id) = (id.to_string(), encode_part(id.as_str()));
    Ok(render_page(&ConfirmPage { frame, id, name, order, words, why }))
}

/// Gives an order to a thread.
pub(super) async fn give(form: ChangeForm, order: ThreadOrder) -> Response {
    let done = give_order(&form, order).await;
    form.asked.answer_page(done)
}

async fn give_order(form: &ChangeForm, order: ThreadOrder) -> Result<Response, Refusal> {
    let (id, front) = (form.asked.thread()?, &form.asked.state.front);
    let note = form.field("note").filter(|_| order.takes_note()).map(str::to_owned);
    let note = check_note(note).map_err(describe_unfit_request)?;
    let reply = order.give(front, &form.by, (&id, note.as_ref()), None).await;
    answer_order(form, &id, reply, order.describe_done())
}

/// Says something to the work that goes on in a thread. Its listener reads it in its next turn.
pub(super) async fn steer_thread(form: &ChangeForm) -> Result<Response, Refusal> {
    let id = form.asked.thread()?;
    let text =
        form.field("text").ok_or_else(|| describe_unfit_request("text is missing: what do you say?"))?;
    // The form has its key from the page, so that a second click says nothing twice.
    let key = inbound::choose_key(form.field("key").map(str::to_owned)).map_err(describe_unfit_request)?;
    steer_work((&form.asked.state, &form.by), &id, text, key).await.map_err(|refusal| *refusal)?;
    Ok(finish_order(form, &id, "steered"))
}

fn answer_order(
    form: &ChangeForm,
    id: &ThreadId,
    reply: Option<SenderReply>,
    what: &str,
) -> Result<Response, Refusal> {
    match reply {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(finish_order(form, id, what)),
        Some(SenderReply::Refused(refusal)) => Err(*refusal),
        None => Err(describe_stopping()),
    }
}

fn finish_order(form: &ChangeForm, id: &ThreadId, what: &str) -> Response {
    let back = format!("/t/{}", encode_part(id.as_str()));
    form.finish_change(&back, &json!({what: id.as_str(), "by": form.by.as_str()}))
}
