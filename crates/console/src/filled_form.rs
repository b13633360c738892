//! The values that a person gave in the form of a payload, what is wrong with them, and what they make.
//!
//! Fields of a form come in; a payload, its mistakes and its verdict go out. It sends and decides nothing.

use serde_json::{Value, json};
use systole_kit::schema::{FormMistake, FormValues, SchemaModel};

use super::forms::{Fields, find_filled};
use super::inputs::{self, FormInputs};
use super::page_request::PageRequest;
use super::verdict::VerdictView;
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::{describe_stopping, describe_unfit_request};
use systole_organism::validators::TrialPurpose;
use systole_queries::full::{self, ShownPayload};

/// A form as it was filled.
#[derive(Default)]
pub(super) struct FilledForm {
    pub(super) values: FormValues,
    pub(super) mistakes: Vec<FormMistake>,
    /// The payload that the values make, with its verdict.
    pub(super) made: Option<(ShownPayload, VerdictView)>,
    /// Whether a person asked for one more place: then nothing is judged.
    is_growing: bool,
}

impl FilledForm {
    /// A form with these values.
    pub(super) fn new(values: FormValues) -> FilledForm {
        FilledForm { values, ..FilledForm::default() }
    }

    /// The form as it was posted.
    pub(super) fn read_posted(fields: Fields<'_>) -> FilledForm {
        let pairs = fields.iter().filter(|(name, _)| name.starts_with('/')).cloned();
        let (values, mistakes) = match FormValues::from_pairs(pairs) {
            Ok(values) => (values, Vec::new()),
            Err(mistake) => (FormValues::default(), vec![mistake]),
        };
        match find_filled(fields, "more") {
            Some(more) => {
                FilledForm { values: values.with_more(more), mistakes, is_growing: true, made: None }
            }
            None => FilledForm { values, mistakes, ..FilledForm::default() },
        }
    }

    /// The payload that the values make; without one there are mistakes.
    pub(super) fn make_payload(&mut self, element: &str, model: &SchemaModel) -> Option<Vec<u8>> {
        if !self.mistakes.is_empty() {
            return None;
        }
        match model.from_form(element, &self.values)? {
            Ok(payload) => Some(payload),
            Err(mistakes) => {
                self.mistakes = mistakes;
                None
            }
        }
    }

    /// Judges what the values make.
    pub(super) async fn judge_payload(
        &mut self,
        asked: &PageRequest,
        (element, model): (&str, &SchemaModel),
        purpose: TrialPurpose,
    ) -> Result<(), Refusal> {
        if self.is_growing {
            return Ok(());
        }
        let Some(payload) = self.make_payload(element, model) else { return Ok(()) };
        let text = full::shown_text(&String::from_utf8_lossy(&payload));
        let _seat = asked.state.bodies.wait_for_seat(&asked.client).await;
        let verdict = match asked.state.front.try_document(purpose, payload).await {
            Some(Ok(())) => VerdictView::valid(),
            Some(Err(refusal)) => VerdictView::from_refusal(&refusal),
            None => return Err(describe_stopping()),
        };
        self.made = Some((text, verdict));
        Ok(())
    }

    /// Takes a refusal of the payload as a mistake of the field at that place.
    pub(super) fn take_refusal(&mut self, (element, model): (&str, &SchemaModel), refusal: &Refusal) {
        let path = refusal.path.as_deref().unwrap_or_default();
        let name = model.form_place(element, &self.values, path).unwrap_or_default();
        self.mistakes = vec![inputs::mistake_of(name, refusal)];
    }

    /// The inputs of the page. `shows` is the address that shows the form again.
    pub(super) fn draw_inputs(&self, (element, model): (&str, &SchemaModel), shows: &str) -> FormInputs {
        let drawn = model.draw_form(element, &self.values);
        let inputs = drawn.as_ref().map(|form| FormInputs::of(form, &self.mistakes, shows));
        inputs.unwrap_or_else(FormInputs::none)
    }

    /// Each mistake with the name of its field.
    pub(super) fn list_mistakes(&self) -> Vec<(String, String)> {
        self.mistakes.iter().map(|one| (one.name.clone(), inputs::describe_mistake(one))).collect()
    }

    /// The mistakes as the refusal of a form that a program posted.
    pub(super) fn refuse_mistakes(&self) -> Refusal {
        let all: Vec<String> = self.mistakes.iter().map(inputs::describe_mistake).collect();
        describe_unfit_request(all.join("; "))
    }

    /// What the values make, for programs.
    pub(super) fn as_json(&self) -> Value {
        let mistakes: Vec<String> = self.mistakes.iter().map(inputs::describe_mistake).collect();
        let xml = self.made.as_ref().map(|(shown, _)| shown.text.clone());
        let verdict = self.made.as_ref().map(|(_, verdict)| verdict.as_json());
        json!({"mistakes": mistakes, "xml": xml, "verdict": verdict})
    }
}
