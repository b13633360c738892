//! OpenAI's chat completions, and other servers that speak them. If a server needs a different request, the model's
//! parameters say so.

mod answer;
mod request;

use hyper::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Map, Value};

use crate::model::ModelRequest;
use crate::model::asked_provider::ModelSettings;
use crate::model::form::{AnswerReading, ProviderForm};
use crate::model::held_answer::HeldAnswer;
use crate::model::key::ModelKey;
use systole_http::StreamFraming;

pub(super) use request::{add_header, build_tool, find_file, join_texts};

/// The header with the key.
pub(super) fn build_key_header(key: Option<&ModelKey>) -> HeaderMap {
    key.and_then(|key| key.as_header("Bearer ")).map(|value| (AUTHORIZATION, value)).into_iter().collect()
}

/// The form.
pub(super) struct OpenAi;

impl ProviderForm for OpenAi {
    fn home_address(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn build_path(&self, base: &str, _model: &ModelSettings) -> String {
        let base = if base.is_empty() { "/v1" } else { base };
        format!("{base}/chat/completions")
    }

    fn build_headers(&self, key: Option<&ModelKey>) -> HeaderMap {
        build_key_header(key)
    }

    fn reserved_keys(&self) -> &'static [&'static str] {
        &["model", "messages", "tools", "stream"]
    }

    fn build_body(
        &self,
        model: &ModelSettings,
        request: &ModelRequest,
    ) -> Result<Map<String, Value>, String> {
        Ok(request::build_body(model, request))
    }

    fn find_held<'r>(&self, model: &ModelSettings, request: &'r ModelRequest) -> Option<HeldAnswer<'r>> {
        request::find_held(model, request)
    }

    fn framing(&self) -> StreamFraming {
        StreamFraming::Events
    }

    fn build_reader(&self) -> Box<dyn AnswerReading> {
        Box::new(answer::OpenAiReader::default())
    }
}
