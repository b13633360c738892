//! The provider and the model that are asked, as requests and faults name them, without secrets.

use std::fmt;

use serde_json::{Map, Value};

use super::held_answer::{ModelServer, RefusedField};
use super::key::ModelKey;
use super::{FileKind, ModelFault, ModelFaultKind, ModelRequest};
use crate::model::thinking::ModelThinking;

/// The model: the values of its section that requests and faults name.
pub(super) struct ModelSettings {
    pub(super) name: String,
    pub(super) model: String,
    pub(super) url: Option<String>,
    pub(super) server: Option<ModelServer>,
    pub(super) key_env: Option<String>,
    pub(super) window: u64,
    pub(super) max_output: u64,
    pub(super) thinking: Option<ModelThinking>,
    pub(super) is_cached: bool,
    pub(super) files: Vec<FileKind>,
    pub(super) stream: bool,
    pub(super) params: Map<String, Value>,
}

/// The asked provider, for messages.
pub(super) struct AskedProvider {
    /// Its word in the organism file.
    pub(super) provider: &'static str,
    /// The address.
    pub(super) at: String,
    /// The model.
    pub(super) model: ModelSettings,
    /// The key and other secrets that no message may show.
    pub(super) secrets: Vec<ModelKey>,
}

impl fmt::Display for AskedProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at {}", self.provider, self.at)
    }
}

impl ModelSettings {
    /// How much it reasons for a request.
    pub(super) fn find_thinking(&self, request: &ModelRequest) -> Option<ModelThinking> {
        self.thinking.filter(|_| request.may_have(RefusedField::Thinking))
    }

    /// Whether a request marks what to cache.
    pub(super) fn has_cache_marks(&self, request: &ModelRequest) -> bool {
        self.is_cached && request.may_have(RefusedField::Cache)
    }

    /// Whether it takes all that OpenAI's own server takes.
    pub(super) fn is_openai(&self) -> bool {
        self.server.map_or(self.url.is_none(), |server| server == ModelServer::OpenAi)
    }
}

impl AskedProvider {
    /// A text without the secrets.
    pub(super) fn hide_secrets(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| secret.hide_key(&text))
    }

    /// A fault before anything was sent, or one that cannot have been charged.
    pub(super) fn build_fault(
        &self,
        kind: ModelFaultKind,
        status: Option<u16>,
        words: impl fmt::Display,
    ) -> ModelFault {
        let words = self.hide_secrets(&format!("{self} {words}"));
        ModelFault {
            kind,
            words,
            status,
            retry_after_ms: None,
            partial: String::new(),
            may_be_paid: false,
            used: None,
        }
    }
}
