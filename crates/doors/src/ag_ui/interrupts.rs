//! Interrupts: what waits for the client in a run, and its answers. The id of each has the hash of what it shows, so an
//! answer counts for just that.

use serde_json::{Value, json};
use systole_queries::persons::{RequestSubject, WaitingRequest};
use systole_queries::run_events::CallPlace;

use super::input::{ResumeStatus, SentResume};
use systole_api::types::DecisionOutcome;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::person::PersonRequestId;
use systole_core::types::refusal::Refusal;
use systole_following::run_ids::name_call;
use systole_hall::request_refusals::describe_unfit_request;
use systole_hall::runs::decisions::RequestDecision;
use systole_hall::runs::forms::{read_form, write_answer_form, write_approval_form};
use systole_hall::runs::requests::{describe_request, name_request, read_request_name};
use systole_payloads::open_elements;

const CANCELLED: &str = "the client cancelled it";

/// What waits, as the client gets it: in full, with the form of its answer.
pub(super) fn write_interrupt(organism: &Composition, run: &CallPlace, waiting: &WaitingRequest) -> Value {
    let place = CallPlace { thread: waiting.thread.clone(), call: waiting.call.clone() };
    let (reason, schema) = match &waiting.about {
        RequestSubject::Approval { element, .. } => {
            ("tool_call", write_approval_form(write_edited(organism, waiting, element)))
        }
        RequestSubject::Question { choices, .. } => ("input_required", write_answer_form(choices)),
    };
    json!({
        "id": name_request(waiting),
        "reason": reason,
        "message": describe_request(waiting, waiting.asked),
        "toolCallId": name_call(run, &place),
        "responseSchema": schema,
        "expiresAt": waiting.expires.to_string(),
    })
}

/// The form of a payload that is sent instead.
fn write_edited(organism: &Composition, waiting: &WaitingRequest, element: &str) -> Option<Value> {
    let taken = organism.listeners.get(&waiting.listener)?;
    let taken = taken.accepts.iter().find(|taken| &*taken.name.local == element)?;
    Some(open_elements::find_model(organism, taken.schema)?.json_schema(element)?.schema)
}

/// What a client says about an interrupt.
pub(super) enum SaidAnswer {
    /// It decides, or leaves what waits no longer.
    Decides(RequestDecision),
    /// It leaves a question without an answer: the run is stopped.
    Stops,
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
    Ok(SaidAnswer::Decides(read_form(request, &sent.payload).map_err(refuse)?))
}
