//! Amending a waiting payload by its fields: `/approvals/ID/amend`. The form is filled from the payload, shows what the
//! changed values make with its verdict, and decides the request with them.
//!
//! A request that waits comes in; a page, or the decision of the signed-in client, goes out. The pump decides whether
//! the request may still be decided, and by whom.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::amendable::{AmendState, Amendable};
use super::changes::ChangeForm;
use super::filled_form::FilledForm;
use super::forms::{Fields, PageForm};
use super::frame::{Frame, PageTab};
use super::inputs::{self, FormInputs};
use super::page_request::{PageRequest, render_page};
use super::verdict::VerdictView;
use systole_api::types::{ApiRuling, DecisionAccepted, DecisionOutcome};
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use systole_hall::steering;
use systole_organism::validators::TrialPurpose;
use systole_organism::waiting::SenderReply;
use systole_queries::full::{self, ShownPayload};

/// The page.
#[derive(Template)]
#[template(path = "amend.html")]
struct AmendPage {
    frame: Frame,
    id: String,
    element: String,
    listener: String,
    caller: String,
    hash: String,
    note: String,
    before: ShownPayload,
    inputs: FormInputs,
    mistakes: Vec<(String, String)>,
    made: Option<(ShownPayload, VerdictView)>,
}

fn page(found: &Amendable, asked: &PageRequest, status: StatusCode, state: AmendState) -> Response {
    let shows = format!("/approvals/{}/amend/show", found.request.id);
    let id = found.request.id.to_string();
    let page = AmendPage {
        frame: asked
            .frame(PageTab::Approvals, &format!("Amend {id}"))
            .with_command(format!("systole amend {id} --file FILE")),
        id,
        element: found.element.clone(),
        listener: found.request.listener.to_string(),
        caller: found.request.caller.to_string(),
        hash: state.hash,
        note: state.note,
        before: full::show_payload(found.payload.as_bytes()),
        inputs: state.form.draw_inputs(found.model(), &shows),
        mistakes: state.form.list_mistakes(),
        made: state.form.made,
    };
    (status, render_page(&page)).into_response()
}

/// Shows the form, filled from the waiting payload.
pub(super) async fn open_form(asked: &PageRequest) -> Result<Response, Refusal> {
    asked.only(&[])?;
    if asked.at.is_some() {
        return Err(describe_unfit_address("the past cannot be decided: leave at= out"));
    }
    let found = Amendable::of(asked).await?;
    let values = found.model.form_values(found.payload.as_bytes()).map_err(|mistake| {
        let words = format!("this payload has no form: {}", mistake.message);
        describe_unfit_request(words).fixed_by("amend it as XML under /approvals")
    })?;
    if !asked.is_html {
        let form = found.model.draw_form(&found.element, &values);
        return Ok(asked.json(&form.as_ref().map(inputs::as_json).unwrap_or_default()));
    }
    let hash = found.request.hash.to_string();
    let state = AmendState { hash, note: String::new(), form: FilledForm::new(values) };
    Ok(page(&found, asked, StatusCode::OK, state))
}

/// Shows what the values make. It changes nothing, so the cookie of a session is enough.
pub(super) async fn show(PageForm { asked, fields, seat: _seat }: PageForm) -> Response {
    asked.answer_page(preview_form(&asked, &fields).await)
}

async fn preview_form(asked: &PageRequest, fields: Fields<'_>) -> Result<Response, Refusal> {
    let found = Amendable::of(asked).await?;
    let mut state = found.read_posted(fields)?;
    let purpose =
        TrialPurpose::Amendment { to: found.request.listener.clone(), config: found.request.config };
    state.form.judge_payload(asked, found.model(), purpose).await?;
    if !asked.is_html {
        return Ok(asked.json(&state.form.as_json()));
    }
    Ok(page(&found, asked, StatusCode::OK, state))
}

/// Decides the request with the changed payload.
pub(super) async fn decide_request(form: &ChangeForm) -> Result<Response, Refusal> {
    let asked = &form.asked;
    let found = Amendable::of(asked).await?;
    let mut state = found.read_posted(form.fields())?;
    let Some(payload) = state.form.make_payload(&found.element, &found.model) else {
        if asked.is_html {
            return Ok(page(&found, asked, StatusCode::UNPROCESSABLE_ENTITY, state));
        }
        return Err(state.form.refuse_mistakes());
    };
    let ruling = ApiRuling {
        outcome: DecisionOutcome::Amended,
        note: (!state.note.is_empty()).then(|| state.note.clone()),
        hash: Some(state.hash.clone()),
        payload: Some(String::from_utf8_lossy(&payload).into_owned()),
        choice: None,
    };
    let id = found.request.id;
    let order = steering::read_order(form.by.clone(), id, ruling).map_err(describe_unfit_request)?;
    let accepted = DecisionAccepted::from_decision(id, &order.says);
    match asked.state.front.rule_request(order).await {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => {
            let value = serde_json::to_value(accepted).unwrap_or_default();
            Ok(form.finish_change(&format!("/approvals?done={id}"), &value))
        }
        Some(SenderReply::Refused(refusal)) if asked.is_html && refusal.path.is_some() => {
            state.form.take_refusal(found.model(), &refusal);
            Ok(page(&found, asked, StatusCode::UNPROCESSABLE_ENTITY, state))
        }
        Some(SenderReply::Refused(refusal)) => Err(*refusal),
        None => Err(describe_stopping()),
    }
}
