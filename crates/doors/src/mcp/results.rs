//! What a call of a tool gives: the answer as text and as JSON, or what went wrong in words that a model can repair
//! its call with.

use serde_json::{Value, json};
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload, namespaces};

use super::tools;
use crate::api_types::{ApiReceipt, ApiRecord};
use crate::ending::CallResult;
use systole_core::rules::core_payload;
use systole_core::types::composition::{Composition, ElementSchema};
use systole_core::types::refusal::Refusal;

/// The `_meta` keys of ours, in requests and in results.
pub(super) const KEY: &str = "systole/key";
pub(super) const THREAD: &str = "systole/thread";
pub(super) const RECORD: &str = "systole/record";
/// How all of them begin.
pub(super) const OURS: &str = "systole/";

/// A payload that was refused: what an agent would see, byte for byte.
pub(super) fn refused(refusal: &Refusal) -> Value {
    plain(&String::from_utf8_lossy(&core_payload::system_error(refusal)), true)
}

/// The result of a call that has ended.
pub(super) fn ended(
    organism: &Composition,
    receipt: &ApiReceipt,
    ending: &CallResult,
    record: &ApiRecord,
) -> Value {
    let mut result = match ending {
        CallResult::Answered => answered(organism, record),
        CallResult::Reported | CallResult::Partial => plain(&text(record), true),
        CallResult::Handled => {
            let words = format!("{} took it, and gives no answer", record.from);
            // A host that knows the form of the answer refuses a result without one.
            plain(&words, matches!(answers(organism, record), [only] if form(organism, only).is_some()))
        }
        CallResult::Failed(code) => plain(if record.body.is_empty() { code } else { &record.body }, true),
    };
    if let Some(fields) = result.as_object_mut() {
        let meta = json!({KEY: receipt.key, THREAD: receipt.thread, RECORD: receipt.id});
        fields.insert("_meta".to_owned(), meta);
    }
    result
}

fn answered(organism: &Composition, record: &ApiRecord) -> Value {
    let payload = Payload::read(record.body.as_bytes(), &DocumentLimits::FROM_PUMP).ok();
    let known = payload.as_ref().and_then(|payload| {
        let answer = answers(organism, record).iter().find(|one| one.name == *payload.name())?;
        Some((payload, answer))
    });
    let Some((payload, answer)) = known else { return plain(&text(record), false) };
    let Some(model) = form(organism, answer) else { return plain(&payload.text(), false) };
    let mut result = plain(&text(record), false);
    if let (Some(fields), Ok(value)) = (result.as_object_mut(), model.to_json(record.body.as_bytes())) {
        fields.insert("structuredContent".to_owned(), value);
    }
    result
}

/// The model of an answer that has a form beside its text. `None` if it is one text.
fn form(organism: &Composition, answer: &ElementSchema) -> Option<SchemaModel> {
    let model = tools::model(organism, answer.schema)?;
    tools::answer_schema(&model, answer).map(|_| model)
}

/// What the listener of a record may answer.
fn answers<'c>(organism: &'c Composition, record: &ApiRecord) -> &'c [ElementSchema] {
    organism.listeners.get(record.from.as_str()).map_or(&[], |listener| &listener.returns)
}

/// The text of an answer: its words, if it is made of words alone, else the whole payload.
fn text(record: &ApiRecord) -> String {
    let payload = Payload::read(record.body.as_bytes(), &DocumentLimits::FROM_PUMP).ok();
    let is_words = |payload: &Payload| {
        let name = payload.name();
        name.is(namespaces::TALK, "answer") || name.is(namespaces::CORE, "final-report")
    };
    payload.filter(is_words).map_or_else(|| record.body.clone(), |payload| payload.text())
}

fn plain(words: &str, is_error: bool) -> Value {
    json!({"content": [{"type": "text", "text": words}], "isError": is_error})
}
