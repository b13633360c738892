//! The servers that hold an answer to its form, and what they hold it to.

use serde_json::Value;

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
    /// A JSON Schema to the letter: that of the answer, or those of the tools.
    Strict,
}

/// A field that a provider may refuse, although the request means the same without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedField {
    /// The grammar of the answer.
    Grammar,
    /// The JSON Schema of the answer.
    Schema,
    /// Strictness of tools.
    StrictTools,
    /// How much to reason.
    Thinking,
    /// What to cache.
    Cache,
}
