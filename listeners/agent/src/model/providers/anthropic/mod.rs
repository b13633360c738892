//! Anthropic's messages. Blocks of reasoning are kept as received and sent back in their places.

mod answer;
mod request;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use crate::limits;
use crate::model::ModelRequest;
use crate::model::asked_provider::ModelSettings;
use crate::model::file_bounds::FileBounds;
use crate::model::form::{AnswerReading, ProviderForm};
use crate::model::held_answer::HeldAnswer;
use crate::model::key::ModelKey;
use systole_http::StreamFraming;

pub(super) use request::as_object;

/// The version of the form.
const VERSION: &str = "2023-06-01";

/// The form.
pub(super) struct AnthropicForm;

impl ProviderForm for AnthropicForm {
    fn home_address(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn build_path(&self, base: &str, _model: &ModelSettings) -> String {
        format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base))
    }

    fn build_headers(&self, key: Option<&ModelKey>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        if let Some(value) = key.and_then(|key| key.as_header("")) {
            headers.insert(HeaderName::from_static("x-api-key"), value);
        }
        headers
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

    fn find_held<'r>(&self, _model: &ModelSettings, request: &'r ModelRequest) -> Option<HeldAnswer<'r>> {
        request::find_held(request)
    }

    fn file_bounds(&self) -> FileBounds {
        FileBounds { image: limits::ANTHROPIC_IMAGE_BYTES, request: limits::REQUEST_FILE_BYTES }
    }

    fn framing(&self) -> StreamFraming {
        StreamFraming::Events
    }

    fn build_reader(&self) -> Box<dyn AnswerReading> {
        Box::new(answer::AnthropicReader::default())
    }
}
