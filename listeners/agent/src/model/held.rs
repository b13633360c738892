//! What holds a model to the form of an answer: a grammar or a schema that goes with the request. The answer is read and
//! judged as every other, so a server that takes the field and ignores it does no harm.

use serde_json::{Map, Value, json};

use super::{ModelRequest, answer_schema};

/// A server that speaks the form of OpenAI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelServer {
    /// One that takes all that OpenAI takes.
    OpenAi,
    /// llama.cpp.
    LlamaCpp,
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
}

impl ModelServer {
    /// All of them, in the order of the reference.
    pub const ALL: &'static [Self] = &[Self::OpenAi, Self::LlamaCpp, Self::Vllm, Self::Sglang];
    /// Their words in the organism file, in the same order.
    pub const WORDS: &'static [&'static str] = &["openai", "llama.cpp", "vllm", "sglang"];

    /// Whether it holds an answer to a grammar.
    #[must_use]
    pub const fn takes_grammar(self) -> bool {
        !matches!(self, Self::OpenAi)
    }
}

/// What holds the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldAnswer<'r> {
    /// A grammar, as it is sent.
    Grammar(&'r str),
    /// A JSON Schema, as the request has it.
    Schema(&'r Value),
}

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

/// Adds a grammar to a request, in the field of the server.
pub(super) fn add_grammar(body: &mut Map<String, Value>, server: Option<ModelServer>, grammar: &str) {
    match server {
        Some(ModelServer::LlamaCpp) => body.insert("grammar".to_owned(), json!(grammar)),
        Some(ModelServer::Vllm) => body.insert("structured_outputs".to_owned(), json!({"grammar": grammar})),
        Some(ModelServer::Sglang) => body.insert("ebnf".to_owned(), json!(grammar)),
        Some(ModelServer::OpenAi) | None => None,
    };
}
