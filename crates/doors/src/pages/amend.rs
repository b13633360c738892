//! Amending a waiting payload by its fields: `/approvals/ID/amend`. The form is filled from the payload, shows what the
//! changed values make with its verdict, and decides the request with them.
//!
//! A request that waits comes in; a page, or the decision of the signed-in client, goes out. The pump decides whether
//! the request may still be decided, and by whom.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::amendable::{AmendState, Amendable};
use super::changes::ChangeForm;
use super::forms::{Fields, PageForm, find_filled};
use super::frame::{Frame, PageTab};
use super::inputs::{self, FormInputs};
use super::page_request::{PageRequest, render_page};
use super::verdict::VerdictView;
use crate::api_types::{ApiRuling, DecisionAccepted, DecisionOutcome};
use crate::request_refusals::{describe_stopping, describe_unfit_address, describe_unfit_request};
use crate::steering;
use systole_core::types::refusal::Refusal;
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
    let drawn = found.model.draw_form(&found.element, &state.values);
    let inputs = drawn.as_ref().map(|form| FormInputs::of(form, &state.mistakes, &shows));
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
        inputs: inputs.unwrap_or_else(FormInputs::none),
        mistakes: state
            .mistakes
            .iter()
            .map(|one| (one.name.clone(), inputs::describe_mistake(one)))
            .collect(),
        made: state.made,
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
    let state = AmendState { hash, note: String::new(), values, mistakes: Vec::new(), made: None };
    Ok(page(&found, asked, StatusCode::OK, state))
}

/// Shows what the values make. It changes nothing, so the cookie of a session is enough.
pub(super) async fn show(PageForm { asked, fields, seat: _seat }: PageForm) -> Response {
    asked.answer_page(preview_form(&asked, &fields).await)
}

async fn preview_form(asked: &PageRequest, fields: Fields<'_>) -> Result<Response, Refusal> {
    let found = Amendable::of(asked).await?;
    let mut state = found.read_posted(fields)?;
    if find_filled(fields, "more").is_none()
        && let Some(payload) = found.make_payload(&mut state)
    {
        let to = found.request.listener.clone();
        let purpose = TrialPurpose::Amendment { to, config: found.request.config };
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
    Ok(page(&found, asked, StatusCode::OK, state))
}

/// Decides the request with the changed payload.
pub(super) async fn decide_request(form: &ChangeForm) -> Result<Response, Refusal> {
    let asked = &form.asked;
    let found = Amendable::of(asked).await?;
    let mut state = found.read_posted(form.fields())?;
    let Some(payload) = found.make_payload(&mut state) else {
        if asked.is_html {
            return Ok(page(&found, asked, StatusCode::UNPROCESSABLE_ENTITY, state));
        }
        let all: Vec<String> = state.mistakes.iter().map(inputs::describe_mistake).collect();
        return Err(describe_unfit_request(all.join("; ")));
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
            let path = refusal.path.as_deref().unwrap_or_default();
            let name = found.model.form_place(&found.element, &state.values, path).unwrap_or_default();
            state.mistakes = vec![inputs::mistake_of(name, &refusal)];
            Ok(page(&found, asked, StatusCode::UNPROCESSABLE_ENTITY, state))
        }
        Some(SenderReply::Refused(refusal)) => Err(*refusal),
        None => Err(describe_stopping()),
    }
}
