//! OpenAI's chat completions, and other servers that speak them. If a server needs a different request, the model's
//! parameters say so.

mod answer;
mod request;

use hyper::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Map, Value};

use super::ModelRequest;
use super::form::{Form, Reading};
use super::key::ModelKey;
use crate::spec;
use systole_http::StreamFraming;

pub(super) use request::{tool, words};

/// The provider that its kept reasoning names.
const NAME: &str = "openai";

/// The form.
pub(super) struct OpenAi;

impl Form for OpenAi {
    fn home(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn path(&self, base: &str, _model: &spec::ModelSpec) -> String {
        let base = if base.is_empty() { "/v1" } else { base };
        format!("{base}/chat/completions")
    }

    fn headers(&self, key: Option<&ModelKey>) -> HeaderMap {
        key.and_then(|key| key.header("Bearer ")).map(|value| (AUTHORIZATION, value)).into_iter().collect()
    }

    fn reserved(&self) -> &'static [&'static str] {
        &["model", "messages", "tools", "stream"]
    }

    fn body(&self, model: &spec::ModelSpec, request: &ModelRequest) -> Result<Map<String, Value>, String> {
        Ok(request::body(model, request))
    }

    fn framing(&self) -> StreamFraming {
        StreamFraming::Events
    }

    fn reading(&self) -> Box<dyn Reading> {
        Box::new(answer::Answering::default())
    }
}
