//! Sending a payload by its form: `/send`. It lists what this client may send, shows the form that the schema gives,
//! the XML that the values make with its verdict and the equal command, and sends it like any other message.
//!
//! Fields come in; a page, or a message under the client's name, goes out. Sending twice with one form sends once: the
//! form holds the idempotency key.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use systole_kit::schema::FormMistake;

use super::changes::ChangeForm;
use super::command_line;
use super::forms::{Fields, PageForm};
use super::frame::{Frame, PageTab};
use super::inputs::{self, FormInputs};
use super::page_request::{PageRequest, render_page};
use super::send_request::{SendRequest, field};
use super::shorten::encode_part;
use super::verdict::VerdictView;
use systole_api::types::ApiReceipt;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use systole_organism::front::ClientMessage;
use systole_organism::waiting::SenderReply;
use systole_payloads::open_elements;
use systole_queries::full::{self, ShownPayload};
use systole_show::columns::plain;

/// The address that shows a form again.
const SHOWS: &str = "/send/show";

/// An element on the list.
struct SendableRow {
    element: String,
    to: String,
    about: String,
    href: String,
}

/// The list and the form.
#[derive(Template)]
#[template(path = "send.html")]
struct SendPage {
    frame: Frame,
    rows: Vec<SendableRow>,
    form: Option<SendForm>,
}

/// The form of one element.
struct SendForm {
    element: String,
    to: String,
    namespace: String,
    about: String,
    key: String,
    thread: String,
    waits: bool,
    inputs: FormInputs,
    /// Each mistake with the name of its field.
    mistakes: Vec<(String, String)>,
    made: Option<MadePayload>,
}

/// What the values make.
struct MadePayload {
    shown: ShownPayload,
    verdict: VerdictView,
    command: Option<String>,
}

fn fill_form(request: &SendRequest<'_>, mistakes: &[FormMistake], made: Option<MadePayload>) -> SendForm {
    let element = request.element();
    let drawn = request.model.draw_form(element, &request.values);
    let inputs = drawn.as_ref().map(|form| FormInputs::of(form, mistakes, SHOWS));
    SendForm {
        element: element.to_owned(),
        to: request.listener.name.to_string(),
        namespace: request.taken.name.ns.to_string(),
        about: request.model.find_documentation(element).map(plain).unwrap_or_default(),
        key: request.key.as_str().to_owned(),
        thread: request.thread.clone().unwrap_or_default(),
        waits: request.listener.approval.always || request.model.is_dangerous(element),
        inputs: inputs.unwrap_or_else(FormInputs::none),
        mistakes: mistakes.iter().map(|one| (one.name.clone(), inputs::describe_mistake(one))).collect(),
        made,
    }
}

fn rows(organism: &Composition, client: &Name, frame: &Frame) -> Vec<SendableRow> {
    let row = |tool: open_elements::SendableElement<'_>| {
        let (element, to) = (&tool.taken.name.local, tool.listener.name.to_string());
        let about = open_elements::find_model(organism, tool.taken.schema);
        let about = about.and_then(|model| model.find_documentation(element).map(plain)).unwrap_or_default();
        let namespace = encode_part(&tool.taken.name.ns);
        let address =
            format!("/send?to={}&element={}&ns={namespace}", encode_part(&to), encode_part(element));
        SendableRow { element: element.to_string(), to, about, href: frame.to(&address) }
    };
    open_elements::list_open(organism, client).into_iter().map(row).collect()
}

/// Shows the list, or the form of one element.
pub(super) async fn send(asked: PageRequest) -> Response {
    let answer = answer_list(&asked);
    asked.answer_page(answer)
}

fn answer_list(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&["to", "element", "ns", "thread"])?;
    if asked.at.is_some() {
        return Err(describe_unfit_address("nothing can be sent to the past: leave at= out"));
    }
    let organism = asked.state.front.composition().clone();
    let names = ["to", "element", "ns", "thread"].into_iter();
    let fields: Vec<(String, String)> =
        names.filter_map(|name| Some((name.to_owned(), asked.value(name)?.to_owned()))).collect();
    let request = SendRequest::of(&organism, &asked.client, &fields)?;
    let frame = asked.frame(PageTab::Send, "Send").with_command("systole send");
    if !asked.is_html {
        let drawn = request.as_ref().and_then(|one| one.model.draw_form(one.element(), &one.values));
        return Ok(asked.json(&match drawn {
            Some(form) => inputs::as_json(&form),
            None => list_as_json(&organism, &asked.client),
        }));
    }
    let rows = if request.is_some() { Vec::new() } else { rows(&organism, &asked.client, &frame) };
    let form = request.map(|request| fill_form(&request, &[], None));
    Ok(render_page(&SendPage { frame, rows, form }))
}

fn list_as_json(organism: &Composition, client: &Name) -> Value {
    let one = |tool: open_elements::SendableElement<'_>| {
        json!({
            "to": tool.listener.name.as_str(), "element": &*tool.taken.name.local,
            "namespace": &*tool.taken.name.ns,
        })
    };
    json!({"elements": open_elements::list_open(organism, client).into_iter().map(one).collect::<Vec<_>>()})
}

/// Shows what the values make. It changes nothing, so the cookie of a session is enough.
pub(super) async fn show(PageForm { asked, fields, seat: _seat }: PageForm) -> Response {
    asked.answer_page(preview_form(&asked, &fields).await)
}

async fn preview_form(asked: &PageRequest, fields: Fields<'_>) -> Result<Response, Refusal> {
    let organism = asked.state.front.composition().clone();
    let Some(request) = SendRequest::of(&organism, &asked.client, fields)? else {
        return Err(describe_unfit_request("element is missing: it says what to send"));
    };
    // A button for one more place shows the form as it is, and no mistakes of what is not filled in yet.
    let made = if field(fields, "more").is_some() { None } else { Some(request.payload()) };
    let (mistakes, made) = match made {
        None => (request.mistakes.clone(), None),
        Some(Err(mistakes)) => (mistakes, None),
        Some(Ok(payload)) => {
            let verdict = request.judge_payload(asked, &asked.client, &payload).await?;
            let text = String::from_utf8_lossy(&payload);
            let command = command_line::send(&request.model, request.element(), &payload);
            let to = request.listener.name.as_str();
            let command = command.map(|line| line.with_beside(to, request.thread.as_deref()));
            let made = MadePayload { shown: full::shown_text(&text), verdict, command };
            (Vec::new(), Some(made))
        }
    };
    if !asked.is_html {
        let mistakes: Vec<String> = mistakes.iter().map(inputs::describe_mistake).collect();
        let xml = made.as_ref().map(|made| made.shown.text.clone());
        let verdict = made.as_ref().map(|made| made.verdict.as_json());
        return Ok(asked.json(&json!({"mistakes": mistakes, "xml": xml, "verdict": verdict})));
    }
    Ok(page(asked, StatusCode::OK, fill_form(&request, &mistakes, made)))
}

fn page(asked: &PageRequest, status: StatusCode, form: SendForm) -> Response {
    let command = format!("systole send {} --to {}", form.element, form.to);
    let frame = asked.frame(PageTab::Send, "Send").with_command(command);
    (status, render_page(&SendPage { frame, rows: Vec::new(), form: Some(form) })).into_response()
}

/// Sends the payload under the client's name.
pub(super) async fn send_form(form: &ChangeForm) -> Result<Response, Refusal> {
    let (asked, fields) = (&form.asked, form.fields());
    let organism = asked.state.front.composition().clone();
    let Some(request) = SendRequest::of(&organism, &form.by, fields)? else {
        return Err(describe_unfit_request("element is missing: it says what to send"));
    };
    let document = match request.payload() {
        Ok(document) => document,
        Err(mistakes) if asked.is_html => {
            return Ok(page(asked, StatusCode::UNPROCESSABLE_ENTITY, fill_form(&request, &mistakes, None)));
        }
        Err(mistakes) => {
            let all: Vec<String> = mistakes.iter().map(inputs::describe_mistake).collect();
            return Err(describe_unfit_request(all.join("; ")));
        }
    };
    let message = ClientMessage {
        client: form.by.clone(),
        key: request.key.clone(),
        document,
        to: Some(request.listener.name.to_string()),
        thread: request.thread.clone(),
        subject: None,
    };
    match asked.state.front.send_message(message).await {
        Some(SenderReply::Receipt(receipt, position)) => {
            let position = asked.state.front.locate_receipt(&receipt, position).await;
            let told = ApiReceipt::from_receipt(&receipt, position, request.key.as_str());
            if !asked.is_html {
                return Ok(asked.json(&serde_json::to_value(told).unwrap_or_default()));
            }
            let place = format!("/t/{}", receipt.thread);
            Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
        }
        Some(SenderReply::Refused(refusal)) if asked.is_html => {
            let mistake = request.place_mistake(&refusal);
            Ok(page(asked, StatusCode::UNPROCESSABLE_ENTITY, fill_form(&request, &[mistake], None)))
        }
        Some(SenderReply::Refused(refusal)) => Err(*refusal),
        Some(SenderReply::Done) | None => Err(describe_stopping()),
    }
}
