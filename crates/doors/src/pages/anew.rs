//! Sending the request of a failed thread anew by its form: `/t/ID/anew`. The form is filled from the request, shows what
//! the changed values make with its verdict, and sends them as a new thread.
//!
//! A thread and fields come in; a page, or a message under the client's name, goes out. Sending the same form twice sends
//! once.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use systole_kit::schema::{FormMistake, FormValues, SchemaModel};

use super::changes::ChangeForm;
use super::forms::{Fields, PageForm, find_filled};
use super::frame::{Frame, PageTab};
use super::inputs::{self, FormInputs};
use super::page_request::{PageRequest, render_page};
use super::shorten::encode_part;
use super::verdict::VerdictView;
use crate::api_types::ApiReceipt;
use crate::mcp::tools;
use crate::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use crate::retry_types::AnewShown;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_kit::{DocumentLimits, Payload};
use systole_organism::anew::AnewRequest;
use systole_organism::validators::TrialPurpose;
use systole_queries::anew::{AnewChange, AnewPreview};
use systole_queries::full::{self, ShownPayload};

/// The page.
#[derive(Template)]
#[template(path = "anew.html")]
struct AnewPage {
    frame: Frame,
    id: String,
    name: String,
    lines: Vec<String>,
    element: String,
    listener: String,
    seen: String,
    has_effects: bool,
    inputs: FormInputs,
    mistakes: Vec<(String, String)>,
    made: Option<(ShownPayload, VerdictView)>,
}

/// The request of a failed thread with the model of its schema.
struct FailedForm {
    thread: ThreadId,
    preview: AnewPreview,
    element: String,
    model: SchemaModel,
}

/// A state of the form.
#[derive(Default)]
struct FormState {
    /// The head of the thread, as it was shown first.
    seen: String,
    values: FormValues,
    mistakes: Vec<FormMistake>,
    made: Option<(ShownPayload, VerdictView)>,
}

impl FailedForm {
    /// The request of the thread of the address, for a client that may send and read it.
    async fn of(asked: &PageRequest, by: &Name) -> Result<FailedForm, Refusal> {
        let (thread, front) = (asked.thread()?, &asked.state.front);
        let change = AnewChange::Values(Vec::new());
        let preview = front.preview_anew(by, &thread, change).await.map_err(|refusal| *refusal)?;
        if preview.shown.is_empty() {
            let refusal =
                Refusal::new(Code::IngressForbidden, "the request is for clients with the role `read`");
            return Err(refusal.fixed_by(format!("systole retry {thread} --anew, which sends it unread")));
        }
        let found = find_model(front.composition(), &preview);
        let (element, model) =
            found.ok_or_else(|| describe_unfit_request("the schema of the request cannot be read"))?;
        Ok(FailedForm { thread, preview, element, model })
    }

    /// The form as it was posted.
    fn read_posted(&self, fields: Fields<'_>) -> Result<FormState, Refusal> {
        let Some(seen) = find_filled(fields, "seen") else {
            return Err(describe_unfit_request("seen is missing: it says what you saw"));
        };
        let pairs = fields.iter().filter(|(name, _)| name.starts_with('/')).cloned();
        let (mut values, mistakes) = match FormValues::from_pairs(pairs) {
            Ok(values) => (values, Vec::new()),
            Err(mistake) => (FormValues::default(), vec![mistake]),
        };
        if let Some(more) = find_filled(fields, "more") {
            values = values.with_more(more);
        }
        Ok(FormState { seen: seen.to_owned(), values, mistakes, made: None })
    }

    /// The payload that the values make; without one the state has the mistakes.
    fn make_payload(&self, state: &mut FormState) -> Option<Vec<u8>> {
        if !state.mistakes.is_empty() {
            return None;
        }
        match self.model.from_form(&self.element, &state.values)? {
            Ok(payload) => Some(payload),
            Err(mistakes) => {
                state.mistakes = mistakes;
                None
            }
        }
    }

    fn page(&self, asked: &PageRequest, status: StatusCode, state: FormState) -> Response {
        let id = encode_part(self.thread.as_str());
        let drawn = self.model.draw_form(&self.element, &state.values);
        let inputs =
            drawn.as_ref().map(|form| FormInputs::of(form, &state.mistakes, &format!("/t/{id}/anew/show")));
        let shown = AnewShown::from(self.preview.clone());
        let frame = asked.frame(PageTab::Threads, &format!("Send {} anew?", self.thread));
        let mistakes = state.mistakes.iter();
        let page = AnewPage {
            frame: frame.with_command(format!("systole retry {} --anew", self.thread)),
            id,
            name: self.thread.to_string(),
            lines: shown.describe_costs(),
            element: self.element.clone(),
            listener: shown.listener,
            seen: state.seen,
            has_effects: !shown.effects.is_empty(),
            inputs: inputs.unwrap_or_else(FormInputs::none),
            mistakes: mistakes.map(|one| (one.name.clone(), inputs::describe_mistake(one))).collect(),
            made: state.made,
        };
        (status, render_page(&page)).into_response()
    }
}

/// The element of a request, and the model of the schema by which its listener takes it.
fn find_model(organism: &Composition, preview: &AnewPreview) -> Option<(String, SchemaModel)> {
    let read = Payload::parse(&preview.payload, &DocumentLimits::default()).ok()?;
    let schema = organism.find_listener(&preview.listener)?.find_accepted(read.name())?;
    Some((read.name().local.to_string(), tools::find_model(organism, schema)?))
}

/// Shows the form, filled from the request.
pub(super) async fn open_form(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&[])?;
    if asked.at.is_some() {
        return Err(describe_unfit_address("at=: the past cannot be changed"));
    }
    let found = FailedForm::of(asked, &asked.client).await?;
    if !asked.is_html {
        return Ok(asked.json(&AnewShown::from(found.preview)));
    }
    let values = found.model.form_values(&found.preview.payload).map_err(|mistake| {
        let words = format!("this request has no form: {}", mistake.message);
        describe_unfit_request(words).fixed_by(format!("systole retry {} --anew", found.thread))
    })?;
    let seen = found.preview.head.to_string();
    Ok(found.page(asked, StatusCode::OK, FormState { seen, values, ..FormState::default() }))
}

/// Shows what the values make. It changes nothing, so the cookie of a session is enough.
pub(super) async fn show(PageForm { asked, fields, seat: _seat }: PageForm) -> Response {
    asked.answer_page(preview_form(&asked, &fields).await)
}

async fn preview_form(asked: &PageRequest, fields: Fields<'_>) -> Result<Response, Refusal> {
    let found = FailedForm::of(asked, &asked.client).await?;
    let mut state = found.read_posted(fields)?;
    if find_filled(fields, "more").is_none()
        && let Some(payload) = found.make_payload(&mut state)
    {
        let purpose =
            TrialPurpose::Message { client: asked.client.clone(), to: found.preview.listener.clone() };
        let text = full::shown_text(&String::from_utf8_lossy(&payload));
        let _seat = asked.state.bodies.wait_for_seat(&asked.client).await;
        let verdict = match asked.state.front.try_document(purpose, payload).await {
            Some(Ok(())) => VerdictView::valid(),
            Some(Err(refusal)) => VerdictView::from_refusal(&refusal),
            None => return Err(describe_stopping()),
        };
        state.made = Some((text, verdict));
    }
    if !asked.is_html {
        let mistakes: Vec<String> = state.mistakes.iter().map(inputs::describe_mistake).collect();
        let xml = state.made.as_ref().map(|(shown, _)| shown.text.clone());
        let verdict = state.made.as_ref().map(|(_, verdict)| verdict.as_json());
        return Ok(asked.json(&json!({"mistakes": mistakes, "xml": xml, "verdict": verdict})));
    }
    Ok(found.page(asked, StatusCode::OK, state))
}

/// Sends the request with the values of the form.
pub(super) async fn send_form(form: &ChangeForm) -> Result<Response, Refusal> {
    let asked = &form.asked;
    let found = FailedForm::of(asked, &form.by).await?;
    let mut state = found.read_posted(form.fields())?;
    let seen = Digest::parse(&state.seen);
    let seen = seen.map_err(|malformed| describe_unfit_request(format!("seen: {malformed}")))?;
    let Some(payload) = found.make_payload(&mut state) else {
        if asked.is_html {
            return Ok(found.page(asked, StatusCode::UNPROCESSABLE_ENTITY, state));
        }
        let all: Vec<String> = state.mistakes.iter().map(inputs::describe_mistake).collect();
        return Err(describe_unfit_request(all.join("; ")));
    };
    let order = AnewRequest {
        by: form.by.clone(),
        thread: found.thread.clone(),
        seen: Some(seen),
        change: AnewChange::Payload(payload),
        allows_effects: form.field("effects") == Some("true"),
    };
    match asked.state.front.send_anew(order).await {
        Some(Ok(sent)) if asked.is_html => {
            let place = format!("/t/{}", encode_part(sent.receipt.thread.as_str()));
            Ok((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response())
        }
        Some(Ok(sent)) => {
            Ok(asked.json(&ApiReceipt::from_receipt(&sent.receipt, sent.position, sent.key.as_str())))
        }
        Some(Err(refusal)) if asked.is_html && refusal.path.is_some() => {
            let path = refusal.path.as_deref().unwrap_or_default();
            let name = found.model.form_place(&found.element, &state.values, path).unwrap_or_default();
            state.mistakes = vec![inputs::mistake_of(name, &refusal)];
            Ok(found.page(asked, StatusCode::UNPROCESSABLE_ENTITY, state))
        }
        Some(Err(refusal)) => Err(*refusal),
        None => Err(describe_stopping()),
    }
}
