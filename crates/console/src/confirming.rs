//! The page that asks for the token of a change: it shows what will be done, in full, and keeps what was filled in.
//!
//! A form without a valid secret comes in; a page goes out. What it shows is what its button then sends.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use systole_kit::schema::FormMistake;
use systole_kit::writer::make_visible;

use super::amendable::{Amendable, find_request, may_decide};
use super::forms::{Fields, FormFields, find_filled};
use super::frame::{Frame, PageTab};
use super::inputs;
use super::page_request::{PageRequest, render_page};
use super::request_card::{self, RequestCard};
use super::send_request::SendRequest;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::person::PersonRequestId;
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::refuse_plainly;
use systole_hall::waiting;
use systole_queries::full::{self, ShownPayload};
use systole_queries::persons::WaitingRequest;
use systole_show::columns::plain as plain_text;

/// Why a change is not made yet.
#[derive(Clone, Copy)]
pub(super) struct Unconfirmed {
    /// The reason.
    pub(super) words: &'static str,
    /// Whether a secret was shown that does not count any more.
    pub(super) is_stale: bool,
}

/// The page.
#[derive(Template)]
#[template(path = "token.html")]
struct TokenPage {
    frame: Frame,
    why: Unconfirmed,
    /// What will be done.
    what: String,
    /// What waits, if a request is decided.
    card: Option<RequestCard>,
    /// Whether what was decided about does not wait any more.
    is_gone: bool,
    /// The payload that goes out.
    payload: Option<ShownPayload>,
    /// Why there is none, if the fields make none.
    mistakes: Vec<String>,
    typed: Vec<(String, ShownPayload)>,
    fields: FormFields,
}

/// What the fields of a form make, or their mistakes.
type MadePayload = Result<ShownPayload, Vec<FormMistake>>;

/// Asks for the token.
pub(super) async fn ask_again(asked: &PageRequest, fields: FormFields, why: Unconfirmed) -> Response {
    if !asked.is_html {
        return refuse_plainly(StatusCode::FORBIDDEN, Code::IngressForbidden, why.words);
    }
    match page(asked, fields, why).await {
        Ok(page) => (StatusCode::FORBIDDEN, render_page(&page)).into_response(),
        Err(refusal) => asked.refuse_page(&refusal),
    }
}

async fn page(asked: &PageRequest, fields: FormFields, why: Unconfirmed) -> Result<TokenPage, Refusal> {
    let mut parts: Vec<&str> = asked.path().split('/').skip(1).collect();
    // The routes read a part of the address decoded, so the page does too.
    if let Some(id) = parts.get_mut(1).filter(|_| !asked.part("id").is_empty()) {
        *id = asked.part("id");
    }
    if parts.first() == Some(&"approvals") {
        may_decide(asked)?;
    }
    let (card, is_gone) = match parts.as_slice() {
        ["approvals", id, ..] => waiting_card(asked, id, &fields).await?,
        _ => (None, false),
    };
    let payload = match parts.as_slice() {
        ["approvals", _, "amend"] => make_amended(asked, &fields).await,
        ["approvals", _] if find_filled(&fields, "outcome") == Some("amended") => {
            find_filled(&fields, "payload").map(|payload| Ok(full::show_payload(payload.as_bytes())))
        }
        ["send"] => make_sent(asked, &fields),
        _ => None,
    };
    let (payload, mistakes) = match payload {
        Some(Ok(payload)) => (Some(payload), Vec::new()),
        Some(Err(mistakes)) => (None, mistakes.iter().map(inputs::describe_mistake).collect()),
        None => (None, Vec::new()),
    };
    let typed = list_typed(&fields, payload.is_some());
    Ok(TokenPage {
        frame: asked.frame(PageTab::Other, "Confirm"),
        what: make_visible(&describe_wanted(&parts, &fields)).into_owned(),
        why,
        card,
        is_gone,
        payload,
        mistakes,
        typed,
        fields,
    })
}

/// What a form asks for, in words.
fn describe_wanted(parts: &[&str], fields: Fields<'_>) -> String {
    let value = |name: &str| find_filled(fields, name).unwrap_or_default();
    match *parts {
        ["approvals", id, "amend"] => format!("Approve {id} with another payload"),
        ["approvals", id] => match value("outcome") {
            "approved" => format!("Approve {id}: exactly these bytes"),
            "rejected" => format!("Reject {id}"),
            "chosen" if value("choice").is_empty() => format!("Answer {id} with the note"),
            "chosen" => format!("Answer {id} with {}", value("choice")),
            "amended" => format!("Approve {id} with another payload"),
            _ => format!("Decide {id}"),
        },
        ["threads", "order"] => {
            let count = fields.iter().filter(|(name, _)| name == "thread").count();
            format!("{} {count} {}", order(value("order")), if count == 1 { "thread" } else { "threads" })
        }
        ["t", id, "steer"] => format!("Say this to thread {id}"),
        ["t", id, name] => format!("{} thread {id}", order(name)),
        ["send"] if value("to").is_empty() => format!("Send <{}>", value("element")),
        ["send"] => format!("Send <{}> to {}", value("element"), value("to")),
        _ => parts.join("/"),
    }
}

/// The word of an order to threads, and what is to be known of it.
fn order(name: &str) -> &'static str {
    match name {
        "pause" => "Pause",
        "resume" => "Resume",
        "cancel" => "This cannot be undone: cancel",
        "end" => "This cannot be undone: end",
        _ => "Change",
    }
}

/// What waits, for a client that may decide; and whether the form is about something that no longer waits.
async fn waiting_card(
    asked: &PageRequest,
    typed: &str,
    fields: Fields<'_>,
) -> Result<(Option<RequestCard>, bool), Refusal> {
    let Some(id) = PersonRequestId::parse(typed) else { return Ok((None, true)) };
    let Some(request) = find_request(asked, id).await? else { return Ok((None, true)) };
    let found = asked.read(move |moment| {
        let decides = moment.composition().has_role(&moment.client, Role::Approve);
        let mut waiting = vec![request];
        waiting::add_changes(moment, &mut waiting, decides)?;
        let open = moment.find_open(waiting.iter().flat_map(WaitingRequest::threads))?;
        let files = request_card::list_files(moment, &waiting, &open)?;
        let card = |one: WaitingRequest| {
            (RequestCard::of(&one, moment.composition(), moment.now, (None, &files)), one.hash)
        };
        Ok(waiting.pop().map(card))
    });
    let hash = find_filled(fields, "hash");
    Ok(match found.await? {
        Some((card, waits)) if hash.is_none_or(|hash| waits.to_string() == hash) => (Some(card), false),
        _ => (None, true),
    })
}

/// The payload that the fields of an amendment make.
async fn make_amended(asked: &PageRequest, fields: Fields<'_>) -> Option<MadePayload> {
    let found = Amendable::of(asked).await.ok()?;
    let mut state = found.read_posted(fields).ok()?;
    let made = state.form.make_payload(&found.element, &found.model);
    Some(made.map(|payload| full::show_payload(&payload)).ok_or(state.form.mistakes))
}

/// The payload that the fields of a message make.
fn make_sent(asked: &PageRequest, fields: Fields<'_>) -> Option<MadePayload> {
    let organism = asked.state.front.composition().clone();
    let request = SendRequest::of(&organism, &asked.client, fields).ok()??;
    Some(request.payload().map(|payload| full::show_payload(&payload)))
}

/// What a person filled in, each with its name. The values of a payload are left out if it is shown as a whole.
fn list_typed(fields: Fields<'_>, has_payload: bool) -> Vec<(String, ShownPayload)> {
    let label = |name: &str| match name {
        "note" => Some("Note".to_owned()),
        "text" => Some("Text".to_owned()),
        "thread" => Some("Thread".to_owned()),
        name => name.strip_prefix('/').filter(|_| !has_payload).map(plain_text),
    };
    let shown = |value: &str| match value {
        "" => full::shown_text("(empty)"),
        // Browsers end the lines of a field so.
        value => full::shown_text(&value.replace("\r\n", "\n")),
    };
    let wanted = fields.iter().filter(|(name, value)| !value.is_empty() || name.starts_with('/'));
    wanted.filter_map(|(name, value)| Some((label(name)?, shown(value)))).collect()
}
