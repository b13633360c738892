//! The answer of a run as a text, and its failure in the form of this door.

use axum::http::StatusCode;
use systole_kit::{DocumentLimits, Payload};
use systole_queries::run_events::read_words;

use super::fault::OpenaiFault;
use crate::mcp::tools;
use systole_core::rules::core_payload::{error_words, read_first_code};
use systole_core::rules::first_cause::trace_failure;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::Composition;
use systole_core::types::record::Record;

/// An answer that is no text: its JSON form.
fn write_form(organism: &Composition, record: &Record) -> String {
    let body = || String::from_utf8_lossy(&record.body).into_owned();
    let payload = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP).ok();
    let listener = organism.listeners.get(&record.header.from);
    let known = payload.zip(listener).and_then(|(payload, listener)| {
        let answer = listener.returns.iter().find(|one| one.name == *payload.name())?;
        tools::find_model(organism, answer.schema)?.to_json(&record.body).ok()
    });
    known.map_or_else(body, |json| json.to_string())
}

/// An answer as a text. `None` if a record is none.
pub(super) fn write_answer(
    organism: &Composition,
    judgement: CallJudgement,
    record: &Record,
) -> Option<String> {
    match judgement {
        CallJudgement::Answered | CallJudgement::Partial => {
            Some(read_words(record).unwrap_or_else(|| write_form(organism, record)))
        }
        CallJudgement::Handled => Some(format!("{} took it, and gives no answer", record.header.from)),
        CallJudgement::Reported | CallJudgement::Failed | CallJudgement::Cancelled => None,
    }
}

/// Why a run has no answer: the code and the words of the first cause.
pub(super) fn describe_failure(record: &Record) -> OpenaiFault {
    if let Some((code, message)) = error_words(&record.body) {
        let (places, words) = trace_failure(&code, &message, read_first_code(&record.body).as_deref());
        let code = places.into_iter().next_back().map_or(code, |place| place.code);
        return OpenaiFault::new(StatusCode::INTERNAL_SERVER_ERROR, code, words);
    }
    let code = record.header.code.map_or("reported", |code| code.as_str());
    let payload = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP).ok();
    let words = payload.map(|payload| payload.text().trim().to_owned()).filter(|words| !words.is_empty());
    let words = words.unwrap_or_else(|| format!("the run has ended without an answer: {code}"));
    OpenaiFault::new(StatusCode::INTERNAL_SERVER_ERROR, code, words)
}
