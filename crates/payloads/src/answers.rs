//! The answer of a run as a text, and its failure in the form of this door.

use systole_kit::{DocumentLimits, Payload};
use systole_queries::run_events::read_words;

use crate::open_elements::find_model;
use crate::said_files::read_asked;
use systole_core::rules::core_payload::{error_words, read_first_code};
use systole_core::rules::first_cause::trace_failure;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::{Composition, ElementSchema};
use systole_core::types::ids::Name;
use systole_core::types::record::Record;

/// A payload that is no text: its JSON form, which the schema of one of these elements gives.
fn write_form(organism: &Composition, elements: &[ElementSchema], body: &[u8]) -> String {
    let name = Payload::parse(body, &DocumentLimits::FROM_PUMP).ok().map(|payload| payload.name().clone());
    let known = elements.iter().find(|one| Some(&one.name) == name.as_ref());
    let json = known.and_then(|one| find_model(organism, one.schema)?.to_json(body).ok());
    json.map_or_else(|| String::from_utf8_lossy(body).into_owned(), |json| json.to_string())
}

/// The JSON form of what a listener sends.
pub fn write_sent(organism: &Composition, from: &Name, body: &[u8]) -> String {
    let listener = organism.listeners.get(from);
    write_form(organism, listener.map(|listener| listener.returns.as_slice()).unwrap_or_default(), body)
}

/// The JSON form of what a listener is called with.
pub fn write_called(organism: &Composition, to: &Name, body: &[u8]) -> String {
    let listener = organism.listeners.get(to);
    write_form(organism, listener.map(|listener| listener.accepts.as_slice()).unwrap_or_default(), body)
}

/// What was asked, as a text.
pub fn read_question(organism: &Composition, record: &Record) -> String {
    let form = || match &record.header.to {
        Some(to) => write_called(organism, to, &record.body),
        None => String::from_utf8_lossy(&record.body).into_owned(),
    };
    read_asked(record).or_else(|| read_words(record)).unwrap_or_else(form)
}

/// An answer as a text. `None` if a record is none.
pub fn write_answer(organism: &Composition, judgement: CallJudgement, record: &Record) -> Option<String> {
    match judgement {
        CallJudgement::Answered | CallJudgement::Partial => Some(
            read_words(record).unwrap_or_else(|| write_sent(organism, &record.header.from, &record.body)),
        ),
        CallJudgement::Handled => Some(format!("{} took it, and gives no answer", record.header.from)),
        CallJudgement::Reported | CallJudgement::Failed | CallJudgement::Cancelled => None,
    }
}

/// Why a run has no answer.
pub struct RunFailure {
    /// The code.
    pub code: String,
    /// What it says.
    pub words: String,
}

/// The code and the words of the first cause.
pub fn describe_failure(record: &Record) -> RunFailure {
    if let Some((code, message)) = error_words(&record.body) {
        let (places, words) = trace_failure(&code, &message, read_first_code(&record.body).as_deref());
        let code = places.into_iter().next_back().map_or(code, |place| place.code);
        return RunFailure { code, words: words.into() };
    }
    let code = record.header.code.map_or("reported", |code| code.as_str());
    let payload = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP).ok();
    let words = payload.map(|payload| payload.text().trim().to_owned()).filter(|words| !words.is_empty());
    let words = words.unwrap_or_else(|| format!("the run has ended without an answer: {code}"));
    RunFailure { code: code.to_owned(), words }
}
