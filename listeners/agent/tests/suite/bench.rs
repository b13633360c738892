//! The tests' models and requests: a model of each form at an address on this machine, and short
//! timeouts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use systole_agent::model::{
    AnswerPiece, AnswerWatcher, CallHistory, HttpLimits, MessageAuthor, MessagePart, Model, ModelAdapter,
    ModelAnswer, ModelFault, ModelKey, ModelRequest, NativeCall, PromptMessage, Tool,
};
use systole_agent::spec::{self, Provider, RequestRetry};

pub(crate) const FORMS: [Provider; 5] =
    [Provider::OpenAi, Provider::OpenAiResponses, Provider::Anthropic, Provider::Ollama, Provider::Gemini];

/// Whether an address ends with the version.
pub(crate) const fn has_version(form: Provider) -> bool {
    matches!(form, Provider::OpenAi | Provider::OpenAiResponses)
}

/// The field of a request that holds the conversation.
pub(crate) const fn name_messages(form: Provider) -> &'static str {
    match form {
        Provider::Gemini => "contents",
        Provider::OpenAiResponses => "input",
        _ => "messages",
    }
}

/// The key that must never be shown.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) fn model(provider: Provider, url: &str) -> spec::ModelSpec {
    spec::ModelSpec {
        name: "main".to_owned(),
        provider,
        model: "some-model".to_owned(),
        url: Some(url.to_owned()),
        server: None,
        key_env: Some("SOME_KEY".to_owned()),
        headers_env: Vec::new(),
        thinking: None,
        is_cached: true,
        files: Vec::new(),
        stream: true,
        timeout: spec::ModelTimeouts::default(),
        file: None,
        window: 32_000,
        max_output: 1_000,
        params: Map::new(),
        price: None,
        rate: spec::ModelRates::default(),
        at_once: 4,
        retry: RequestRetry { attempts: 4, first_ms: 1_000, longest_ms: 60_000 },
        fallback: Vec::new(),
    }
}

/// Long timeouts for tests that wait for nothing.
pub(crate) fn limits() -> HttpLimits {
    let long = Duration::from_secs(20);
    HttpLimits { connect: long, first: long, idle: long, ..HttpLimits::default() }
}

pub(crate) fn request(text: &str) -> ModelRequest {
    ModelRequest {
        system: "You are brief.".to_owned(),
        messages: vec![said(MessageAuthor::User, vec![MessagePart::Text(text.to_owned())])],
        header: None,
        tools: Vec::new(),
        choice: None,
        schema: None,
        refused: Vec::new(),
        grammar: None,
        max_output: 500,
        params: Map::new(),
        enough: None,
        course: CallHistory::default(),
    }
}

pub(crate) fn said(role: MessageAuthor, parts: Vec<MessagePart>) -> PromptMessage {
    PromptMessage { role, parts }
}

pub(crate) fn text(text: &str) -> MessagePart {
    MessagePart::Text(text.to_owned())
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> MessagePart {
    MessagePart::Call(NativeCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

pub(crate) fn kept(provider: &str, block: Value) -> MessagePart {
    MessagePart::Reasoning(json!({"provider": provider, "block": block}))
}

/// An answer without what is kept of it for its provider.
pub(crate) fn without_kept(parts: Vec<MessagePart>) -> Vec<MessagePart> {
    parts.into_iter().filter(|part| !matches!(part, MessagePart::Reasoning(_))).collect()
}

pub(crate) fn search_tool() -> Tool {
    Tool {
        name: "search".to_owned(),
        description: "Finds text.".to_owned(),
        parameters: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
    }
}

pub(crate) fn key(model: &spec::ModelSpec) -> Option<ModelKey> {
    ModelKey::from_lookup(model, |_| Some(KEY.to_owned())).expect("a key")
}

pub(crate) fn adapter(model: &spec::ModelSpec, limits: HttpLimits) -> ModelAdapter {
    ModelAdapter::new(model, key(model), limits, None).expect("a model that can be asked")
}

/// A watcher and the pieces it saw.
pub(crate) fn watcher() -> (AnswerWatcher, Arc<Mutex<Vec<AnswerPiece>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    (Box::new(move |piece| into.lock().expect("no watcher panicked").push(piece)), seen)
}

pub(crate) fn unwatched() -> AnswerWatcher {
    Box::new(|_| {})
}

/// Runs a future to its end, on this thread only.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

pub(crate) fn ask(
    model: &spec::ModelSpec,
    limits: HttpLimits,
    request: ModelRequest,
) -> Result<ModelAnswer, ModelFault> {
    let adapter = adapter(model, limits);
    run(adapter.ask(request, unwatched()))
}
