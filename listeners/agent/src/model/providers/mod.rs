//! The providers, a folder and a row of `providers!` for each.

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod responses;

use super::form::ProviderForm;

/// What the table says about a provider that is asked over a network.
pub struct ProviderRow {
    /// The environment variables that may hold its key, the usual one first. Empty if it needs no key.
    pub key_variables: &'static [&'static str],
    /// One of its models that is fast and cheap.
    pub cheap_model: &'static str,
    /// Its position in the search for a key, and in the help of `systole init`. The lowest comes first.
    pub rank: u8,
    /// Its requests and answers.
    pub(super) form: &'static dyn ProviderForm,
}

/// Makes `Provider` from the rows: for each the variant, the word of the organism file, and a `ProviderRow`. A script
/// is asked over no network, so it has no row.
macro_rules! providers {
    ($($(#[$doc:meta])+ $variant:ident $word:literal { $($field:ident: $value:expr,)+ })+) => {
        /// The provider of a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Provider {
            $($(#[$doc])+ $variant,)+
            /// A file of answers.
            Script,
        }

        impl Provider {
            /// All providers, in the order of the reference.
            pub const ALL: &'static [Provider] = &[$(Provider::$variant,)+ Provider::Script];
            /// Their words in the organism file, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+ "script"];
            /// The meaning of these words, for the reference and for editors.
            pub const MEANING: &'static str =
                concat!("the provider: ", $("`", $word, "`, ",)+ "or `script`, a file of answers");

            /// Its word in the organism file.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Provider::$variant => $word,)+
                    Provider::Script => "script",
                }
            }

            /// Its row. A script has none.
            #[must_use]
            pub fn row(self) -> Option<&'static ProviderRow> {
                match self {
                    $(Provider::$variant => {
                        static ROW: ProviderRow = ProviderRow { $($field: $value,)+ };
                        Some(&ROW)
                    })+
                    Provider::Script => None,
                }
            }
        }
    };
}

providers! {
    /// OpenAI, or another server that speaks its chat completions.
    OpenAi "openai" {
        form: &openai::OpenAi,
        key_variables: &["OPENAI_API_KEY"],
        cheap_model: "gpt-5-mini",
        rank: 2,
    }
    /// OpenAI's Responses.
    OpenAiResponses "openai-responses" {
        form: &responses::ResponsesForm,
        key_variables: &["OPENAI_API_KEY"],
        cheap_model: "gpt-5-mini",
        rank: 5,
    }
    /// Anthropic.
    Anthropic "anthropic" {
        form: &anthropic::AnthropicForm,
        key_variables: &["ANTHROPIC_API_KEY"],
        cheap_model: "claude-haiku-4-5",
        rank: 1,
    }
    /// Ollama.
    Ollama "ollama" {
        form: &ollama::OllamaForm,
        key_variables: &[],
        cheap_model: "llama3.2",
        rank: 4,
    }
    /// Gemini.
    Gemini "gemini" {
        form: &gemini::GeminiForm,
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        cheap_model: "gemini-flash-latest",
        rank: 3,
    }
}

impl Provider {
    /// The provider with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.word() == word)
    }
}
