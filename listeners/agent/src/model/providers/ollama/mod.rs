//! Ollama's chat: a line of JSON for each piece. Ollama silently cuts a prompt that is longer than its window, so
//! each request states the size of the window.

mod answer;
mod request;

use hyper::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Map, Value};

use crate::model::asked_provider::ModelSettings;
use crate::model::form::{AnswerReading, ProviderForm};
use crate::model::held_answer::HeldAnswer;
use crate::model::key::ModelKey;
use crate::model::{ModelRequest, answer_schema};
use systole_http::StreamFraming;

/// The form.
pub(super) struct OllamaForm;

impl ProviderForm for OllamaForm {
    fn home_address(&self) -> &'static str {
        "http://127.0.0.1:11434"
    }

    fn build_path(&self, base: &str, _model: &ModelSettings) -> String {
        format!("{}/api/chat", base.strip_suffix("/api").unwrap_or(base))
    }

    fn build_headers(&self, key: Option<&ModelKey>) -> HeaderMap {
        key.and_then(|key| key.as_header("Bearer ")).map(|value| (AUTHORIZATION, value)).into_iter().collect()
    }

    fn reserved_keys(&self) -> &'static [&'static str] {
        &["model", "messages", "tools", "stream"]
    }

    fn build_body(
        &self,
        model: &ModelSettings,
        request: &ModelRequest,
    ) -> Result<Map<String, Value>, String> {
        request::build_body(model, request)
    }

    fn find_held<'r>(&self, _model: &ModelSettings, request: &'r ModelRequest) -> Option<HeldAnswer<'r>> {
        answer_schema::find_schema(request, false).map(HeldAnswer::Schema)
    }

    fn framing(&self) -> StreamFraming {
        StreamFraming::Lines
    }

    fn build_reader(&self) -> Box<dyn AnswerReading> {
        Box::new(answer::OllamaReader)
    }
}
