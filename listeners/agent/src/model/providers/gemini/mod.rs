//! Gemini's generateContent, streamed. Signatures of its reasoning belong to parts, and go back with the same
//! parts.

mod answer;
mod request;

use hyper::header::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

use crate::limits;
use crate::model::ModelRequest;
use crate::model::asked_provider::ModelSettings;
use crate::model::file_bounds::FileBounds;
use crate::model::form::{AnswerReading, ProviderForm};
use crate::model::held_answer::HeldAnswer;
use crate::model::key::ModelKey;
use systole_http::StreamFraming;

/// The form.
pub(super) struct GeminiForm;

impl ProviderForm for GeminiForm {
    fn home_address(&self) -> &'static str {
        "https://generativelanguage.googleapis.com"
    }

    fn build_path(&self, base: &str, model: &ModelSettings) -> String {
        let has_version = base.ends_with("/v1beta") || base.ends_with("/v1");
        let version = if has_version { "" } else { "/v1beta" };
        // A tuned model has its own folder. Every other model is below `models`.
        let folder = if model.model.contains('/') { "" } else { "models/" };
        let how = if model.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        format!("{base}{version}/{folder}{}:{how}", escape_name(&model.model))
    }

    fn build_headers(&self, key: Option<&ModelKey>) -> HeaderMap {
        let name = HeaderName::from_static("x-goog-api-key");
        key.and_then(|key| key.as_header("")).map(|value| (name, value)).into_iter().collect()
    }

    fn reserved_keys(&self) -> &'static [&'static str] {
        &["model", "contents", "tools", "stream"]
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
        FileBounds { image: limits::FILE_BYTES, request: limits::GEMINI_FILE_BYTES }
    }

    fn framing(&self) -> StreamFraming {
        StreamFraming::Events
    }

    fn build_reader(&self) -> Box<dyn AnswerReading> {
        Box::new(answer::GeminiReader)
    }
}

/// A name, escaped for a path.
fn escape_name(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}
