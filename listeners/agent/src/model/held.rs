//! What holds a model to the form of an answer: a grammar or a schema that goes with the request. The answer is read and
//! judged as every other, so a server that takes the field and ignores it does no harm.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

use super::held_answer::{HeldAnswer, ModelServer, RefusedField};
use super::{ModelFault, ModelFaultKind, ModelRequest, Tool, answer_schema};

/// What a server in the form of OpenAI holds the answer to. `None` as the server means OpenAI itself if there is no
/// address, and else one about which nothing is known.
pub(super) fn find_held(
    request: &ModelRequest,
    server: Option<ModelServer>,
    is_own: bool,
) -> Option<HeldAnswer<'_>> {
    let is_whole = server.map_or(is_own, |server| server == ModelServer::OpenAi);
    if is_whole {
        return find_strict(request);
    }
    if let Some(schema) = answer_schema::find_schema(request, false) {
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

/// What a server holds the answer to that takes strict schemas.
pub(super) fn find_strict(request: &ModelRequest) -> Option<HeldAnswer<'_>> {
    match answer_schema::find_schema(request, true) {
        Some(schema) if answer_schema::make_strict(schema).is_none() => Some(HeldAnswer::Schema(schema)),
        None if !has_strict_tool(request) => None,
        _ => Some(HeldAnswer::Strict),
    }
}

/// Whether a request has a tool that is strict.
pub(super) fn has_strict_tool(request: &ModelRequest) -> bool {
    request.tools.iter().any(|tool| find_strict_parameters(tool, request).is_some())
}

/// The parameters of a tool whose calls follow them to the letter. `None` if it goes without that.
pub(super) fn find_strict_parameters(tool: &Tool, request: &ModelRequest) -> Option<Value> {
    let is_taken = request.may_have(RefusedField::StrictTools);
    is_taken.then(|| answer_schema::make_strict_tool(&tool.parameters)).flatten()
}

/// The field that a fault names and a request has, if the request means the same without it.
pub(super) fn find_refused(body: &Map<String, Value>, fault: &ModelFault) -> Option<RefusedField> {
    let is_refusal = matches!(fault.kind, ModelFaultKind::InvalidRequest | ModelFaultKind::FieldRefused);
    if !is_refusal || !matches!(fault.status, Some(400 | 422)) {
        return None;
    }
    // What comes before names the address.
    let (_, words) = fault.words.split_once(" answered ")?;
    let words = words.to_ascii_lowercase();
    let is_it = |(field, names): &&(RefusedField, &[&str])| {
        names.iter().any(|name| words.contains(name)) && has_field(body, *field)
    };
    REFUSALS.iter().find(is_it).map(|(field, _)| *field)
}

/// The words of refusals, the clearest first.
const REFUSALS: &[(RefusedField, &[&str])] = &[
    (RefusedField::Grammar, &["grammar", "ebnf", "structured_output", "guided"]),
    (RefusedField::Cache, &["cache_control"]),
    (
        RefusedField::Schema,
        &[
            "response_format",
            "responseformat",
            "output_config.format",
            "text.format",
            "output format",
            "\"format\"",
        ],
    ),
    (
        RefusedField::Thinking,
        &["reasoning", "thinking", "effort", "chat_template_kwargs", "encrypted content"],
    ),
    (
        RefusedField::StrictTools,
        &[
            "strict",
            "for function",
            "input_schema",
            "tools.",
            "tools[",
            "compiled grammar",
            "too complex",
            "too many",
        ],
    ),
    (RefusedField::Schema, &["schema", "output_config"]),
];

/// Whether a request has that field, in the place of any provider.
fn has_field(body: &Map<String, Value>, field: RefusedField) -> bool {
    let inside = |keys: [&str; 2]| body.get(keys[0]).and_then(|outer| outer.get(keys[1])).is_some();
    let has = |keys: &[&str]| keys.iter().any(|key| body.contains_key(*key));
    match field {
        RefusedField::Grammar => has(&["grammar", "structured_outputs", "ebnf"]),
        RefusedField::Schema => {
            has(&["response_format", "format"])
                || inside(["text", "format"])
                || inside(["output_config", "format"])
                || inside(["generationConfig", "responseJsonSchema"])
        }
        RefusedField::StrictTools => {
            let mut tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
            tools.any(|tool| tool.get("function").unwrap_or(tool).get("strict") == Some(&json!(true)))
        }
        RefusedField::Thinking => {
            has(&["reasoning_effort", "chat_template_kwargs", "reasoning", "include", "thinking", "think"])
                || inside(["output_config", "effort"])
                || inside(["generationConfig", "thinkingConfig"])
        }
        RefusedField::Cache => {
            let mut blocks = body.get("system").and_then(Value::as_array).into_iter().flatten();
            blocks.any(|block| block.get("cache_control").is_some())
        }
    }
}

/// The fault of a request, which says whether the server refuses a field that can be left out.
pub(super) fn name_refused(fault: ModelFault, body: &Map<String, Value>) -> ModelFault {
    if find_refused(body, &fault).is_none() {
        return fault;
    }
    let words = format!("{}; it is asked without this field until the next start", fault.words);
    ModelFault { kind: ModelFaultKind::FieldRefused, words, ..fault }
}

/// The fields that a model refused since the start.
#[derive(Default)]
pub(super) struct RefusedFields(Mutex<Vec<RefusedField>>);

impl RefusedFields {
    /// Notes what a model refused.
    pub(super) fn note_refused(&self, field: Option<RefusedField>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(field);
    }

    /// A request without what its model refused.
    pub(super) fn leave_out(&self, request: &ModelRequest) -> ModelRequest {
        let mut request = request.clone();
        request.refused.clone_from(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let is_refused = |field| request.refused.contains(&field);
        let (grammar, schema) = (is_refused(RefusedField::Grammar), is_refused(RefusedField::Schema));
        request.grammar.take_if(|_| grammar);
        request.schema.take_if(|_| schema);
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
