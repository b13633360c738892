//! What a form means to send: a listener, an element and its values, and the payload that they make.
//!
//! The fields of a form come in; a payload, its verdict or its mistakes go out. It sends nothing.

use systole_kit::schema::{FormMistake, FormValues, SchemaModel, find_nearest};

use super::forms::{self, Fields, find_filled};
use super::inputs;
use super::page_request::PageRequest;
use super::verdict::VerdictView;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ElementSchema, Listener};
use systole_core::types::ids::{Key, Name};
use systole_core::types::refusal::Refusal;
use systole_hall::inbound::choose_key;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_request};
use systole_organism::validators::TrialPurpose;
use systole_payloads::open_elements;
use systole_show::columns::plain;

/// What a request means to send.
pub(super) struct SendRequest<'o> {
    pub(super) listener: &'o Listener,
    pub(super) taken: &'o ElementSchema,
    pub(super) model: SchemaModel,
    pub(super) key: Key,
    pub(super) thread: Option<String>,
    pub(super) values: FormValues,
    /// The place that gets one more.
    pub(super) mistakes: Vec<FormMistake>,
}

/// A field that is filled in, without the blanks around it.
pub(super) fn field<'f>(fields: Fields<'f>, name: &str) -> Option<&'f str> {
    find_filled(fields, name).map(str::trim)
}

/// What a client may send: a listener with an element.
fn choose_element<'o>(
    organism: &'o Composition,
    client: &Name,
    fields: Fields<'_>,
) -> Result<Option<(&'o Listener, &'o ElementSchema)>, Refusal> {
    let Some(element) = field(fields, "element") else { return Ok(None) };
    let (to, namespace) = (field(fields, "to"), field(fields, "ns"));
    let open: Vec<_> = open_elements::list_open(organism, client)
        .into_iter()
        .map(|tool| (tool.listener, tool.taken))
        .collect();
    let found = open.iter().find(|(listener, taken)| {
        *taken.name.local == *element
            && to.is_none_or(|to| listener.name.as_str() == to)
            && namespace.is_none_or(|namespace| *taken.name.ns == *namespace)
    });
    if let Some(found) = found {
        return Ok(Some(*found));
    }
    let known = || open.iter().map(|(_, taken)| &*taken.name.local);
    let near =
        find_nearest(element, known()).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let words = format!("you may not send {}, or no listener takes it from outside{near}", plain(element));
    Err(describe_unfit_request(words).fixed_by("/send, which lists what you may send"))
}

impl<'o> SendRequest<'o> {
    pub(super) fn of(
        organism: &'o Composition,
        client: &Name,
        fields: Fields<'_>,
    ) -> Result<Option<Self>, Refusal> {
        let Some((listener, taken)) = choose_element(organism, client, fields)? else { return Ok(None) };
        let Some(model) = open_elements::find_model(organism, taken.schema) else {
            let words = format!("the schema of {} cannot be read", taken.name.local);
            return Err(Refusal::new(Code::IngressUnavailable, words));
        };
        let key = choose_key(field(fields, "key").map(str::to_owned)).map_err(describe_unfit_request)?;
        let thread = field(fields, "thread").map(str::to_owned);
        let pairs = || fields.iter().filter(|(name, _)| name.starts_with('/')).cloned();
        let (mut values, mut mistakes) = (FormValues::default(), Vec::new());
        if pairs().next().is_some() {
            match FormValues::from_pairs(pairs()) {
                Ok(posted) => values = posted,
                Err(mistake) => mistakes.push(mistake),
            }
        }
        mistakes.extend(forms::list_refused(fields).map(|(name, words)| FormMistake {
            name: name.to_owned(),
            message: words.to_owned(),
            expected: String::new(),
        }));
        if let Some(more) = field(fields, "more") {
            values = values.with_more(more);
        }
        Ok(Some(SendRequest { listener, taken, model, key, thread, values, mistakes }))
    }

    pub(super) fn element(&self) -> &str {
        &self.taken.name.local
    }

    /// The payload, or every mistake.
    pub(super) fn payload(&self) -> Result<Vec<u8>, Vec<FormMistake>> {
        if !self.mistakes.is_empty() {
            return Err(self.mistakes.clone());
        }
        self.model.from_form(self.element(), &self.values).unwrap_or_else(|| Err(Vec::new()))
    }

    /// A refusal as a mistake of its field.
    pub(super) fn place_mistake(&self, refusal: &Refusal) -> FormMistake {
        let path = refusal.path.as_deref().unwrap_or_default();
        let name = self.model.form_place(self.element(), &self.values, path).unwrap_or_default();
        inputs::mistake_of(name, refusal)
    }

    /// What the payload is and whether it may be sent.
    pub(super) async fn judge_payload(
        &self,
        asked: &PageRequest,
        by: &Name,
        payload: &[u8],
    ) -> Result<VerdictView, Refusal> {
        let purpose = TrialPurpose::Message { client: by.clone(), to: self.listener.name.clone() };
        // A trial takes a validator's time, like a body takes memory.
        let _seat = asked.state.bodies.wait_for_seat(&asked.client).await;
        match asked.state.front.try_document(purpose, payload.to_vec()).await {
            Some(Ok(())) => Ok(VerdictView::valid()),
            Some(Err(refusal)) => Ok(VerdictView::from_refusal(&refusal)),
            None => Err(describe_stopping()),
        }
    }
}
