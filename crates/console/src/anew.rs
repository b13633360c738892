//! Sending the request of a failed thread anew by its form: `/t/ID/anew`. The form is filled from the request, shows what
//! the changed values make with its verdict, and sends them as a new thread.
//!
//! A thread and fields come in; a page, or a message under the client's name, goes out. Sending the same form twice sends
//! once.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use systole_kit::schema::SchemaModel;

use super::changes::ChangeForm;
use super::filled_form::FilledForm;
use super::forms::{Fields, PageForm, find_filled};
use super::frame::{Frame, PageTab};
use super::inputs::FormInputs;
use super::page_request::{PageRequest, render_page};
use super::shorten::encode_part;
use super::verdict::VerdictView;
use systole_api::retry_types::AnewShown;
use systole_api::types::ApiReceipt;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Digest, Name, ThreadId};
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use systole_kit::{DocumentLimits, Payload};
use systole_organism::anew::AnewRequest;
use systole_organism::validators::TrialPurpose;
use systole_payloads::open_elements;
use systole_queries::anew::{AnewChange, AnewPreview};
use systole_queries::full::ShownPayload;

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
struct AnewState {
    /// The head of the thread, as it was shown first.
    seen: String,
    form: FilledForm,
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
    fn read_posted(fields: Fields<'_>) -> Result<AnewState, Refusal> {
        let seen = find_filled(fields, "seen");
        let seen = seen.ok_or_else(|| describe_unfit_request("seen is missing: it says what you saw"))?;
        Ok(AnewState { seen: seen.to_owned(), form: FilledForm::read_posted(fields) })
    }

    /// The element with the model of its schema.
    fn model(&self) -> (&str, &SchemaModel) {
        (&self.element, &self.model)
    }

    fn page(&self, asked: &PageRequest, status: StatusCode, state: AnewState) -> Response {
        let id = encode_part(self.thread.as_str());
        let shows = format!("/t/{id}/anew/show");
        let shown = AnewShown::from(self.preview.clone());
        let frame = asked.frame(PageTab::Threads, &format!("Send {} anew?", self.thread));
        let page = AnewPage {
            frame: frame.with_command(format!("systole retry {} --anew", self.thread)),
            id,
            name: self.thread.to_string(),
            lines: shown.describe_costs(),
            element: self.element.clone(),
            listener: shown.listener,
            seen: state.seen,
            has_effects: !shown.effects.is_empty(),
            inputs: state.form.draw_inputs(self.model(), &shows),
            mistakes: state.form.list_mistakes(),
            made: state.form.made,
        };
        (status, render_page(&page)).into_response()
    }
}

/// The element of a request, and the model of the schema by which its listener takes it.
fn find_model(organism: &Composition, preview: &AnewPreview) -> Option<(String, SchemaModel)> {
    let read = Payload::parse(&preview.payload, &DocumentLimits::default()).ok()?;
    let schema = organism.find_listener(&preview.listener)?.find_accepted(read.name())?;
    Some((read.name().local.to_string(), open_elements::find_model(organism, schema)?))
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
    Ok(found.page(asked, StatusCode::OK, AnewState { seen, form: FilledForm::new(values) }))
}

/// Shows what the values make. It changes nothing, so the cookie of a session is enough.
pub(super) async fn show(PageForm { asked, fields, seat: _seat }: PageForm) -> Response {
    asked.answer_page(preview_form(&asked, &fields).await)
}

async fn preview_form(asked: &PageRequest, fields: Fields<'_>) -> Result<Response, Refusal> {
    let found = FailedForm::of(asked, &asked.client).await?;
    let mut state = FailedForm::read_posted(fields)?;
    let purpose = TrialPurpose::Message { client: asked.client.clone(), to: found.preview.listener.clone() };
    state.form.judge_payload(asked, found.model(), purpose).await?;
    if !asked.is_html {
        return Ok(asked.json(&state.form.as_json()));
    }
    Ok(found.page(asked, StatusCode::OK, state))
}

/// Sends the request with the values of the form.
pub(super) async fn send_form(form: &ChangeForm) -> Result<Response, Refusal> {
    let asked = &form.asked;
    let found = FailedForm::of(asked, &form.by).await?;
    let mut state = FailedForm::read_posted(form.fields())?;
    let seen = Digest::parse(&state.seen);
    let seen = seen.map_err(|malformed| describe_unfit_request(format!("seen: {malformed}")))?;
    let Some(payload) = state.form.make_payload(&found.element, &found.model) else {
        if asked.is_html {
            return Ok(found.page(asked, StatusCode::UNPROCESSABLE_ENTITY, state));
        }
        return Err(state.form.refuse_mistakes());
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
            state.form.take_refusal(found.model(), &refusal);
            Ok(found.page(asked, StatusCode::UNPROCESSABLE_ENTITY, state))
        }
        Some(Err(refusal)) => Err(*refusal),
        None => Err(describe_stopping()),
    }
}
