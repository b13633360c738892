//! What holds a model to the form of an answer: a grammar or a schema that goes with the request. The answer is read and
//! judged as every other, so a server that takes the field and ignores it does no harm.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use super::held_answer::{HeldAnswer, ModelServer};
use super::{ModelFault, ModelFaultKind, ModelRequest, answer_schema};

/// What a server in the form of OpenAI holds the answer to. `None` as the server means OpenAI itself if there is no
/// address, and else one about which nothing is known.
pub(super) fn find_held(
    request: &ModelRequest,
    server: Option<ModelServer>,
    is_own: bool,
) -> Option<HeldAnswer<'_>> {
    let is_whole = server.map_or(is_own, |server| server == ModelServer::OpenAi);
    if let Some(schema) = answer_schema::find_schema(request, is_whole) {
        return Some(HeldAnswer::Schema(schema));
    }
    // llama.cpp refuses a grammar beside tools, and the other servers ignore one of the two.
    let grammar = request.grammar.as_deref().filter(|_| request.tools.is_empty())?;
    Some(HeldAnswer::Grammar(match server? {
        ModelServer::OpenAi => return None,
        // It holds the model's own reasoning to the grammar too, also where the template of the chat opens it.
        ModelServer::LlamaCpp => &grammar.behind_reasoning,
        ModelServer::Vllm | ModelServer::Sglang => &grammar.alone,
    }))
}

/// The fault of a request whose answer was to be held: whether the server refuses the field for that.
pub(super) fn name_refused(fault: ModelFault, held: Option<HeldAnswer<'_>>) -> ModelFault {
    const GRAMMAR: &[&str] = &["grammar", "ebnf", "structured_output", "guided"];
    const SCHEMA: &[&str] =
        &["schema", "response_format", "responseformat", "output_config", "output format", "\"format\""];
    let fields = match held {
        Some(HeldAnswer::Grammar(_)) => GRAMMAR,
        Some(HeldAnswer::Schema(_)) => SCHEMA,
        None => return fault,
    };
    let words = fault.words.to_ascii_lowercase();
    let is_it =
        fault.kind == ModelFaultKind::InvalidRequest && fields.iter().any(|field| words.contains(field));
    if !is_it {
        return fault;
    }
    let words = format!("{}; it is asked without this field until the next start", fault.words);
    ModelFault { kind: ModelFaultKind::FieldRefused, words, ..fault }
}

/// The fields that a model refused since the start.
#[derive(Default)]
pub(super) struct RefusedFields {
    grammar: AtomicBool,
    schema: AtomicBool,
}

impl RefusedFields {
    /// Notes what a model refused.
    pub(super) fn note_refused(&self, held: Option<HeldAnswer<'_>>) {
        match held {
            Some(HeldAnswer::Grammar(_)) => self.grammar.store(true, Ordering::Relaxed),
            Some(HeldAnswer::Schema(_)) => self.schema.store(true, Ordering::Relaxed),
            None => {}
        }
    }

    /// A request without what its model refused.
    pub(super) fn leave_out(&self, request: &ModelRequest) -> ModelRequest {
        let mut request = request.clone();
        request.grammar.take_if(|_| self.grammar.load(Ordering::Relaxed));
        request.schema.take_if(|_| self.schema.load(Ordering::Relaxed));
        request
    }
}

/// Adds a grammar to a request, in the field of the server.
pub(super) fn add_grammar(body: &mut Map<String, Value>, server: Option<ModelServer>, grammar: &str) {
    match server {
        Some(ModelServer::LlamaCpp) => body.insert("grammar".to_owned(), json!(grammar)),
        Some(ModelServer::Vllm) => body.insert("structured_outputs".to_owned(), json!({"grammar": grammar})),
        Some(ModelServer::Sglang) => body.insert("ebnf".to_owned(), json!(grammar)),
        Some(ModelServer::OpenAi) | None => None,
    };
}
