//! OpenAI's Responses. The provider stores nothing: each request holds the whole conversation, and the items of an answer
//! go back as they came, with their encrypted reasoning.
//!
//! An item is kept as a block of the answer. The texts of a message, and the name and the arguments of a call, are parts
//! of their own, so their blocks come right behind them and hold the rest.

mod answer;
mod request;

use hyper::header::HeaderMap;
use serde_json::{Map, Value};

use super::openai::build_key_header;
use crate::model::ModelRequest;
use crate::model::asked_provider::ModelSettings;
use crate::model::form::{AnswerReading, ProviderForm};
use crate::model::held_answer::HeldAnswer;
use crate::model::key::ModelKey;
use systole_http::StreamFraming;

/// The form.
pub(super) struct ResponsesForm;

impl ProviderForm for ResponsesForm {
    fn home_address(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn build_path(&self, base: &str, _model: &ModelSettings) -> String {
        let base = if base.is_empty() { "/v1" } else { base };
        format!("{base}/responses")
    }

    fn build_headers(&self, key: Option<&ModelKey>) -> HeaderMap {
        build_key_header(key)
    }

    fn reserved_keys(&self) -> &'static [&'static str] {
        &["model", "input", "tools", "stream"]
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

    fn framing(&self) -> StreamFraming {
        StreamFraming::Events
    }

    fn build_reader(&self) -> Box<dyn AnswerReading> {
        Box::new(answer::ResponsesReader::default())
    }
}
