//! What went wrong, in the form of the OpenAI API: a status, and `{"error": {message, type, param, code}}`.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals::{describe_with_fix, find_status};
use systole_hall::runs::work::describe_later;
use systole_payloads::answers::RunFailure;

/// Why a request gets no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct OpenaiFault {
    status: StatusCode,
    code: String,
    param: Option<&'static str>,
    words: String,
    /// Seconds after which the client may try again, if that is of use.
    wait_s: Option<u32>,
}

impl OpenaiFault {
    pub(super) fn new(status: StatusCode, code: impl Into<String>, words: impl Into<String>) -> OpenaiFault {
        OpenaiFault { status, code: code.into(), param: None, words: words.into(), wait_s: None }
    }

    /// A request that cannot be read, or asks for what is not here.
    pub(super) fn refuse_request(param: &'static str, words: impl Into<String>) -> OpenaiFault {
        let fault = OpenaiFault::new(StatusCode::BAD_REQUEST, "invalid_request", words);
        OpenaiFault { param: Some(param), ..fault }
    }

    /// A refusal of ours, with its fix.
    pub(super) fn from_refusal(refusal: &Refusal) -> OpenaiFault {
        let words = describe_with_fix(refusal);
        let status = find_status(refusal.code);
        let is_busy = status == StatusCode::TOO_MANY_REQUESTS;
        let wait_s = is_busy.then(|| refusal.wait_s.map_or(1, std::num::NonZeroU32::get));
        OpenaiFault { wait_s, ..OpenaiFault::new(status, refusal.code.as_str(), words) }
    }

    /// The same about a part of the request.
    pub(super) fn about(self, param: &'static str) -> OpenaiFault {
        OpenaiFault { param: Some(param), ..self }
    }

    /// The body, which is also the last event of a stream.
    pub(super) fn as_json(&self) -> Value {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {"message": self.words, "type": kind, "param": self.param, "code": self.code}})
    }

    /// The same as the error of a response.
    pub(super) fn as_response_error(&self) -> Value {
        json!({"code": self.code, "message": self.words})
    }

    /// The same as the last event of a response. The schema wants the fields beside the type, and the libraries for Python
    /// raise only what is in `error`.
    pub(super) fn as_response_event(&self, number: u64) -> Value {
        let mut event = self.as_json();
        if let Some(fields) = event.as_object_mut() {
            fields.extend([
                ("type".to_owned(), json!("error")),
                ("code".to_owned(), json!(self.code)),
                ("message".to_owned(), json!(self.words)),
                ("param".to_owned(), json!(self.param)),
                ("sequence_number".to_owned(), json!(number)),
            ]);
        }
        event
    }

    /// The answer. The clients of this API repeat some requests by themselves, unless they are told that it is of no use.
    pub(super) fn into_answer(self) -> Response {
        let is_later = self.wait_s.is_some() || self.status == StatusCode::SERVICE_UNAVAILABLE;
        let repeats = [("x-should-retry", if is_later { "true" } else { "false" })];
        let wait = self.wait_s.map(|seconds| [(header::RETRY_AFTER, seconds.to_string())]);
        (self.status, repeats, wait, Json(self.as_json())).into_response()
    }

    /// The answer to a request that was not read.
    pub(super) fn into_closing(self) -> Response {
        ([(header::CONNECTION, "close")], self.into_answer()).into_response()
    }
}

impl From<RunFailure> for OpenaiFault {
    fn from(failure: RunFailure) -> OpenaiFault {
        OpenaiFault::new(StatusCode::INTERNAL_SERVER_ERROR, failure.code, failure.words)
    }
}

impl From<Box<Refusal>> for OpenaiFault {
    fn from(refusal: Box<Refusal>) -> OpenaiFault {
        OpenaiFault::from_refusal(&refusal)
    }
}

/// What can be asked again later.
pub(super) fn refuse_later(words: String) -> OpenaiFault {
    describe_later(words).into()
}
