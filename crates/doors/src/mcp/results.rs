//! What a call of a tool gives: the answer as text and as JSON, or what went wrong in words that a model can repair
//! its call with.

use serde_json::{Value, json};
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload, namespaces};

use super::tools;
use systole_api::types::{ApiReceipt, ApiRecord};
use systole_core::rules::core_payload;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::{Composition, ElementSchema};
use systole_core::types::refusal::Refusal;
use systole_payloads::open_elements::find_model;

/// The `_meta` keys of ours, in requests and in results.
pub(super) const KEY: &str = "systole/key";
pub(super) const THREAD: &str = "systole/thread";
pub(super) const RECORD: &str = "systole/record";
/// How all of them begin.
pub(super) const OURS: &str = "systole/";

/// A payload that was refused: what an agent would see, byte for byte.
pub(super) fn build_refusal(refusal: &Refusal) -> Value {
    build_text(&String::from_utf8_lossy(&core_payload::system_error(refusal)), true)
}

/// The result of a call that has ended.
pub(super) fn build_end(
    organism: &Composition,
    receipt: &ApiReceipt,
    ending: CallJudgement,
    record: &ApiRecord,
) -> Value {
    let mut result = match ending {
        CallJudgement::Answered => build_answer(organism, record),
        CallJudgement::Reported | CallJudgement::Partial => build_text(&read_text(record), true),
        CallJudgement::Handled => {
            let words = format!("{} took it, and gives no answer", record.from);
            // A host that knows the form of the answer refuses a result without one.
            build_text(
                &words,
                matches!(find_answers(organism, record), [only] if find_answer_model(organism, only).is_some()),
            )
        }
        CallJudgement::Failed | CallJudgement::Cancelled => {
            build_text(if record.body.is_empty() { record.code_text() } else { &record.body }, true)
        }
    };
    if let Some(fields) = result.as_object_mut() {
        let meta = json!({KEY: receipt.key, THREAD: receipt.thread, RECORD: receipt.id});
        fields.insert("_meta".to_owned(), meta);
    }
    result
}

/// Adds what the person of the client should know, as texts of their own.
pub(super) fn add_remarks<'r>(result: &mut Value, remarks: impl Iterator<Item = &'r str>) {
    let content = result.get_mut("content").and_then(Value::as_array_mut);
    if let Some(content) = content {
        content.extend(remarks.map(|words| json!({"type": "text", "text": words})));
    }
}

fn build_answer(organism: &Composition, record: &ApiRecord) -> Value {
    let payload = Payload::parse(record.body.as_bytes(), &DocumentLimits::FROM_PUMP).ok();
    let known = payload.as_ref().and_then(|payload| {
        let answer = find_answers(organism, record).iter().find(|one| one.name == *payload.name())?;
        Some((payload, answer))
    });
    let Some((payload, answer)) = known else { return build_text(&read_text(record), false) };
    let Some(model) = find_answer_model(organism, answer) else { return build_text(&payload.text(), false) };
    let mut result = build_text(&read_text(record), false);
    if let (Some(fields), Ok(value)) = (result.as_object_mut(), model.to_json(record.body.as_bytes())) {
        fields.insert("structuredContent".to_owned(), value);
    }
    result
}

/// The model of an answer that has a form beside its text. `None` if it is one text.
fn find_answer_model(organism: &Composition, answer: &ElementSchema) -> Option<SchemaModel> {
    let model = find_model(organism, answer.schema)?;
    tools::answer_schema(&model, answer).map(|_| model)
}

/// What the listener of a record may answer.
fn find_answers<'c>(organism: &'c Composition, record: &ApiRecord) -> &'c [ElementSchema] {
    organism.listeners.get(record.from.as_str()).map_or(&[], |listener| &listener.returns)
}

/// The text of an answer: its words, if it is made of words alone, else the whole payload.
fn read_text(record: &ApiRecord) -> String {
    let payload = Payload::parse(record.body.as_bytes(), &DocumentLimits::FROM_PUMP).ok();
    let is_words = |payload: &Payload| {
        let name = payload.name();
        name.is_named(namespaces::TALK, "answer") || name.is_named(namespaces::CORE, "final-report")
    };
    payload.filter(is_words).map_or_else(|| record.body.clone(), |payload| payload.text())
}

fn build_text(words: &str, is_error: bool) -> Value {
    json!({"content": [{"type": "text", "text": words}], "isError": is_error})
}
