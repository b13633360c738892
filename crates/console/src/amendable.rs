//! A waiting payload that can be changed by its fields: its schema's model, and what the fields of a form make of it.
//!
//! The request of an address and the fields of a form come in; a payload or its mistakes go out. It decides nothing.

use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload};

use super::filled_form::FilledForm;
use super::forms::{Fields, find_filled};
use super::page_request::PageRequest;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::person::PersonRequestId;
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::describe_unfit_request;
use systole_hall::waiting;
use systole_payloads::open_elements;
use systole_queries::persons::{RequestSubject, WaitingRequest};

/// A waiting payload with the model of its schema.
pub(super) struct Amendable {
    pub(super) request: WaitingRequest,
    pub(super) element: String,
    pub(super) payload: String,
    pub(super) model: SchemaModel,
}

/// A state of the form.
pub(super) struct AmendState {
    pub(super) hash: String,
    pub(super) note: String,
    pub(super) form: FilledForm,
}

/// Refuses a client that may decide nothing.
pub(super) fn may_decide(asked: &PageRequest) -> Result<(), Refusal> {
    if waiting::has_say(asked.state.front.composition(), &asked.client) {
        return Ok(());
    }
    let refusal = Refusal::new(Code::IngressForbidden, "this is for clients with the role `approve`");
    Err(refusal.fixed_by("sign in with the token of a client with `roles: [approve]`"))
}

/// The request with that id, if it waits and the client may decide it.
pub(super) async fn find_request(
    asked: &PageRequest,
    id: PersonRequestId,
) -> Result<Option<WaitingRequest>, Refusal> {
    let found = asked.read(move |moment| {
        let decides = moment.composition().has_role(&moment.client, Role::Approve);
        let waiting = waiting::list_requests(moment, decides)?;
        let Some(request) = waiting.into_iter().find(|one| one.id == id) else { return Ok(None) };
        Ok(waiting::may_decide(moment, &request)?.then_some(request))
    });
    found.await
}

impl Amendable {
    /// The waiting request of the address, for a client that may decide.
    pub(super) async fn of(asked: &PageRequest) -> Result<Amendable, Refusal> {
        may_decide(asked)?;
        let organism = asked.state.front.composition().clone();
        let typed = asked.part("id");
        let Some(id) = PersonRequestId::parse(typed) else {
            return Err(describe_unfit_request("the id of a request is a and a number, as in a1"));
        };
        let Some(request) = find_request(asked, id).await? else {
            let refusal = Refusal::new(Code::DecidedApproval, format!("{id} does not wait"));
            return Err(refusal.fixed_by("/approvals, which lists what waits"));
        };
        let (element, payload) = match &request.about {
            RequestSubject::Approval { element, payload, unknown: None, .. } => {
                (element.clone(), payload.clone())
            }
            _ => return Err(describe_unfit_request(format!("{id} is not a payload that can be amended"))),
        };
        if request.config != organism.hash {
            let words = format!("{id} waits under an earlier configuration: amend it as XML");
            return Err(describe_unfit_request(words).fixed_by("/approvals has the field for it"));
        }
        let model = model_of(&organism, &request, &payload);
        let model =
            model.ok_or_else(|| describe_unfit_request(format!("the schema of {element} cannot be read")))?;
        Ok(Amendable { request, element, payload, model })
    }

    /// The form as it was posted.
    pub(super) fn read_posted(&self, fields: Fields<'_>) -> Result<AmendState, Refusal> {
        let Some(hash) = find_filled(fields, "hash") else {
            return Err(describe_unfit_request("hash is missing: it says what you saw"));
        };
        let note = find_filled(fields, "note").unwrap_or_default().to_owned();
        Ok(AmendState { hash: hash.to_owned(), note, form: FilledForm::read_posted(fields) })
    }

    /// The element with the model of its schema.
    pub(super) fn model(&self) -> (&str, &SchemaModel) {
        (&self.element, &self.model)
    }
}

/// The model of the schema by which the listener takes the payload.
pub(super) fn model_of(
    organism: &Composition,
    request: &WaitingRequest,
    payload: &str,
) -> Option<SchemaModel> {
    let read = Payload::parse(payload.as_bytes(), &DocumentLimits::default()).ok()?;
    let schema = organism.find_listener(&request.listener)?.find_accepted(read.name())?;
    open_elements::find_model(organism, schema)
}
