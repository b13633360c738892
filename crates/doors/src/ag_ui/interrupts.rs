//! Interrupts: what waits for the client in a run, and its answers. The id of each has the hash of what it shows, so an
//! answer counts for just that.

use serde::Deserialize;
use serde_json::{Value, json};
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_queries::run_events::CallPlace;

use super::input::{ResumeStatus, SentResume};
use super::writer::name_call;
use crate::mcp::tools;
use crate::request_refusals::describe_unfit_request;
use crate::runs::decisions::RequestDecision;
use crate::runs::requests::{name_request, read_request_name};
use systole_api::types::DecisionOutcome;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::person::PersonRequestId;
use systole_core::types::refusal::Refusal;

/// What a rejection without a note tells the caller.
const NO_NOTE: &str = "rejected, without a note";
const CANCELLED: &str = "the client cancelled it";

/// What waits, as the client gets it: in full, with the form of its answer.
pub(super) fn write_interrupt(organism: &Composition, run: &CallPlace, waiting: &WaitingRequest) -> Value {
    let place = CallPlace { thread: waiting.thread.clone(), call: waiting.call.clone() };
    let (reason, schema) = match &waiting.about {
        RequestSubject::Approval { element, .. } => {
            ("tool_call", write_approval_form(organism, waiting, element))
        }
        RequestSubject::Question { choices, .. } => ("input_required", write_answer_form(choices)),
    };
    json!({
        "id": name_request(waiting),
        "reason": reason,
        "message": waiting.lines(waiting.asked, None, false).join("\n"),
        "toolCallId": name_call(run, &place),
        "responseSchema": schema,
        "expiresAt": waiting.expires.to_string(),
    })
}

fn write_approval_form(organism: &Composition, waiting: &WaitingRequest, element: &str) -> Value {
    let mut properties = json!({"approved": {"type": "boolean"}, "note": {"type": "string"}});
    let taken = organism.listeners.get(&waiting.listener);
    let taken = taken.and_then(|one| one.accepts.iter().find(|taken| &*taken.name.local == element));
    let edited = taken.and_then(|taken| tools::find_model(organism, taken.schema)?.json_schema(element));
    if let Some((fields, edited)) = properties.as_object_mut().zip(edited) {
        fields.insert("editedArgs".to_owned(), edited.schema);
    }
    json!({"type": "object", "properties": properties, "required": ["approved"]})
}

fn write_answer_form(choices: &[String]) -> Value {
    if choices.is_empty() {
        return json!({"type": "object", "properties": {"note": {"type": "string"}}, "required": ["note"]});
    }
    let choice = json!({"type": "string", "enum": choices});
    json!({"type": "object", "properties": {"choice": choice}, "required": ["choice"]})
}

/// What a client says about an interrupt.
pub(super) enum SaidAnswer {
    /// It decides, or leaves what waits no longer.
    Decides(RequestDecision),
    /// It leaves a question without an answer: the run is stopped.
    Stops,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentAnswer {
    #[serde(default)]
    approved: Option<bool>,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    choice: Option<String>,
    #[serde(default)]
    edited_args: Option<Value>,
}

/// The request that an interrupt is about.
pub(super) fn read_request(sent: &SentResume) -> Result<PersonRequestId, Box<Refusal>> {
    read_request_name(&sent.interrupt_id).ok_or_else(|| {
        let id: String = sent.interrupt_id.chars().take(80).collect();
        let refusal = Refusal::new(Code::UnknownApproval, format!("no interrupt has the id {id:?}"));
        Box::new(refusal.fixed_by("the id of an interrupt, as the run gave it"))
    })
}

/// Reads an answer, with the request as it waits now, if it does.
pub(super) fn read_answer(
    sent: &SentResume,
    waiting: Option<&WaitingRequest>,
) -> Result<SaidAnswer, Box<Refusal>> {
    let request = read_request(sent)?;
    let decide = |outcome, words: String| RequestDecision::new(outcome, request, words);
    if sent.status == ResumeStatus::Cancelled {
        return Ok(match waiting.map(|one| &one.about) {
            Some(RequestSubject::Approval { .. }) => {
                SaidAnswer::Decides(decide(DecisionOutcome::Rejected, CANCELLED.to_owned()))
            }
            Some(RequestSubject::Question { .. }) => SaidAnswer::Stops,
            None => {
                let shown = decide(DecisionOutcome::Rejected, String::new());
                SaidAnswer::Decides(RequestDecision { outcome: None, ..shown })
            }
        });
    }
    let refuse = |why: String| {
        let id = &sent.interrupt_id;
        let words = format!("resume: the payload for {id} is none of its responseSchema: {why}");
        Box::new(describe_unfit_request(words))
    };
    let answer = SentAnswer::deserialize(&sent.payload).map_err(|error| refuse(error.to_string()))?;
    let note = answer.note.filter(|note| !note.trim().is_empty());
    Ok(SaidAnswer::Decides(match answer.approved {
        Some(true) => {
            let outcome = match answer.edited_args {
                Some(_) => DecisionOutcome::Amended,
                None => DecisionOutcome::Approved,
            };
            let amended = answer.edited_args.map(|edited| edited.to_string());
            RequestDecision { amended, ..decide(outcome, note.unwrap_or_default()) }
        }
        Some(false) => decide(DecisionOutcome::Rejected, note.unwrap_or_else(|| NO_NOTE.to_owned())),
        None => {
            let words = answer.choice.or(note);
            let words =
                words.ok_or_else(|| refuse("it has neither approved nor choice nor note".to_owned()))?;
            decide(DecisionOutcome::Chosen, words)
        }
    }))
}
