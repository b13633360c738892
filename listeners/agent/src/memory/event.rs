//! The events that a conversation is made of: requests, answered turns, and what others said in the thread.

use systole_kit::{Payload, namespaces};

use crate::failures::find_failure;
use crate::model::MessageFile;
use crate::model_answer::HeardAnswer;

/// The events of a call, in order.
#[derive(Clone, Debug)]
pub(crate) enum CallEvent {
    /// A request: the call itself, or an earlier one to the same agent in the thread.
    Request {
        /// The sender.
        from: String,
        /// The payload.
        payload: Payload,
        /// The files that the model sees with it.
        files: Vec<MessageFile>,
    },
    /// A turn was answered.
    Turn(PastTurn),
    /// A message between others before the call began.
    Overheard(OverheardMessage),
}

/// A message between other listeners in the thread.
#[derive(Clone, Debug)]
pub(crate) struct OverheardMessage {
    /// The sender.
    pub(crate) from: String,
    /// The recipient.
    pub(crate) to: String,
    /// The payload.
    pub(crate) payload: Payload,
    /// Its number in the view.
    pub(crate) number: u64,
}

/// A turn: the model's answer and its results.
#[derive(Clone, Debug, Default)]
pub(crate) struct PastTurn {
    /// The model's answer, if known.
    pub(crate) heard: Option<HeardAnswer>,
    /// Messages between others while they answered its requests, for an agent that sees its thread.
    pub(crate) inside: Vec<OverheardMessage>,
    /// The answers to its items.
    pub(crate) answers: Vec<AnsweredItem>,
    /// Unrequested payloads.
    pub(crate) inbox: Vec<Payload>,
}

/// The answer to an item.
#[derive(Clone, Debug)]
pub(crate) struct AnsweredItem {
    /// The item.
    pub(crate) ordinal: u32,
    /// The answer.
    pub(crate) payload: Payload,
    /// Its number in the view, if that was looked up.
    pub(crate) number: Option<u64>,
    /// The files that the model sees with it.
    pub(crate) files: Vec<MessageFile>,
}

/// Whether an answer reports the start of a child thread.
pub(super) fn is_spawned(answer: &Payload) -> bool {
    answer.name().is_named(namespaces::CORE, "thread-spawned")
}

/// Whether an answer is the core's report that the output of the turn was unusable or missing.
pub(super) fn is_own_failure(answer: &Payload) -> bool {
    let code = answer.find_attribute("code").unwrap_or_default();
    let is_own = code.starts_with("agent.") && find_failure(&code).is_some();
    let is_of_model = matches!(
        code.as_str(),
        "model.truncated" | "model.too-large" | "model.window-full" | "model.field-refused"
    );
    answer.name().is_named(namespaces::CORE, "system-error") && (is_own || is_of_model)
}
