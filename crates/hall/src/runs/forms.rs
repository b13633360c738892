//! The form of an answer to what waits for a person, as JSON Schema, and what a client fills in.

use serde::Deserialize;
use serde_json::{Value, json};

use super::decisions::RequestDecision;
use systole_api::types::DecisionOutcome;
use systole_core::types::person::PersonRequestId;

/// What a rejection without a note tells the caller.
const NO_NOTE: &str = "rejected, without a note";

/// The form for an approval. `edited` is the form of a changed payload, where one can be sent.
pub fn write_approval_form(edited: Option<Value>) -> Value {
    let mut properties = json!({"approved": {"type": "boolean"}, "note": {"type": "string"}});
    if let Some((fields, edited)) = properties.as_object_mut().zip(edited) {
        fields.insert("editedArgs".to_owned(), edited);
    }
    json!({"type": "object", "properties": properties, "required": ["approved"]})
}

/// The form for an answer.
pub fn write_answer_form(choices: &[String]) -> Value {
    if choices.is_empty() {
        return json!({"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]});
    }
    let choice = json!({"type": "string", "enum": choices});
    json!({"type": "object", "properties": {"choice": choice}, "required": ["choice"]})
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FilledForm {
    #[serde(default)]
    approved: Option<bool>,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    choice: Option<String>,
    #[serde(default)]
    edited_args: Option<Value>,
}

/// What a filled form decides. An error says what is wrong with it.
pub fn read_form(request: PersonRequestId, form: &Value) -> Result<RequestDecision, String> {
    let decide = |outcome, words: String| RequestDecision::new(outcome, request, words);
    if !form.is_object() {
        return Err("it is no object with the fields of its schema".to_owned());
    }
    let form = FilledForm::deserialize(form).map_err(|error| error.to_string())?;
    let note = form.note.filter(|note| !note.trim().is_empty());
    Ok(match form.approved {
        Some(true) => {
            let outcome = match form.edited_args {
                Some(_) => DecisionOutcome::Amended,
                None => DecisionOutcome::Approved,
            };
            let amended = form.edited_args.map(|edited| edited.to_string());
            RequestDecision { amended, ..decide(outcome, note.unwrap_or_default()) }
        }
        Some(false) => decide(DecisionOutcome::Rejected, note.unwrap_or_else(|| NO_NOTE.to_owned())),
        None => {
            let words = form.choice.or(note).ok_or("it has neither approved nor choice nor note")?;
            decide(DecisionOutcome::Chosen, words)
        }
    })
}
