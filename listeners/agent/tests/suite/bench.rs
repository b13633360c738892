//! The tests' models and requests: a model of each form at an address on this machine, and short
//! timeouts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use systole_agent::model::{
    Adapter, Answer, Call, Course, Fault, Key, Limits, Message, Model, Part, Piece, Request, Role, Tool,
    Watcher,
};
use systole_agent::spec::{self, Provider, Retry};

pub(crate) const FORMS: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::Ollama, Provider::Gemini];

/// The key that must never be shown.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) fn model(provider: Provider, url: &str) -> spec::Model {
    spec::Model {
        name: "main".to_owned(),
        provider,
        model: "some-model".to_owned(),
        url: Some(url.to_owned()),
        key_env: Some("SOME_KEY".to_owned()),
        headers_env: Vec::new(),
        stream: true,
        timeout: spec::Timeout::default(),
        file: None,
        window: 32_000,
        max_output: 1_000,
        params: Map::new(),
        price: None,
        at_once: 4,
        retry: Retry { attempts: 4, first_ms: 1_000, longest_ms: 60_000 },
        fallback: Vec::new(),
    }
}

/// Long timeouts for tests that wait for nothing.
pub(crate) fn limits() -> Limits {
    let long = Duration::from_secs(20);
    Limits { connect: long, first: long, idle: long, ..Limits::default() }
}

pub(crate) fn request(text: &str) -> Request {
    Request {
        system: "You are brief.".to_owned(),
        messages: vec![said(Role::User, vec![Part::Text(text.to_owned())])],
        tools: Vec::new(),
        choice: None,
        schema: None,
        max_output: 500,
        params: Map::new(),
        enough: None,
        course: Course::default(),
    }
}

pub(crate) fn said(role: Role, parts: Vec<Part>) -> Message {
    Message { role, parts }
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::Call(Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() })
}

pub(crate) fn kept(provider: &str, block: Value) -> Part {
    Part::Reasoning(json!({"provider": provider, "block": block}))
}

pub(crate) fn search_tool() -> Tool {
    Tool {
        name: "search".to_owned(),
        description: "Finds text.".to_owned(),
        parameters: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
    }
}

pub(crate) fn key(model: &spec::Model) -> Option<Key> {
    Key::of(model, |_| Some(KEY.to_owned())).expect("a key")
}

pub(crate) fn adapter(model: &spec::Model, limits: Limits) -> Adapter {
    Adapter::new(model, key(model), limits, None).expect("a model that can be asked")
}

/// A watcher and the pieces it saw.
pub(crate) fn watcher() -> (Watcher, Arc<Mutex<Vec<Piece>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    (Box::new(move |piece| into.lock().expect("no watcher panicked").push(piece)), seen)
}

pub(crate) fn unwatched() -> Watcher {
    Box::new(|_| {})
}

/// Runs a future to its end, on this thread only.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

pub(crate) fn ask(model: &spec::Model, limits: Limits, request: Request) -> Result<Answer, Fault> {
    let adapter = adapter(model, limits);
    run(adapter.ask(request, unwatched()))
}
