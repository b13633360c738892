//! The answers of the HTTP door that refuse a request: what is wrong with it, and the status that says so.

use std::borrow::Cow;
use std::num::NonZeroU32;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

pub use systole_api::request_refusals::{LOOK, describe_stopping, describe_unfit_request};
use systole_api::types::ApiRefusal;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::refusal::Refusal;
use systole_organism::waiting::SenderReply;

/// A refusal of the request itself, not of a payload: nothing of it is recorded.
pub fn refuse_plainly(status: StatusCode, code: Code, words: impl Into<String>) -> Response {
    let refusal = Refusal::new(code, words.into());
    (status, Json(ApiRefusal::from(&refusal))).into_response()
}

/// No place is left for a request.
pub fn refuse_crowded(words: String) -> Response {
    let refused = refuse_plainly(StatusCode::SERVICE_UNAVAILABLE, Code::IngressUnavailable, words);
    ([(header::RETRY_AFTER, "1")], refused).into_response()
}

/// An address that cannot be read. Reading records nothing, so only the address is to be fixed.
pub fn describe_unfit_address(words: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new(Code::Invalid, words).fixed_by("correct the address")
}

/// What a refusal says, with its fix.
pub fn describe_with_fix(refusal: &Refusal) -> String {
    match refusal.fix.as_deref().unwrap_or(refusal.code.fix()) {
        "" => refusal.message.to_string(),
        fix => format!("{}; {fix}", refusal.message),
    }
}

/// The answer to such a request.
pub fn refuse_request(words: impl Into<Cow<'static, str>>) -> Response {
    (StatusCode::BAD_REQUEST, Json(ApiRefusal::from(&describe_unfit_request(words)))).into_response()
}

/// The answer to such an address.
pub(crate) fn refuse_address(words: impl Into<Cow<'static, str>>) -> Response {
    (StatusCode::BAD_REQUEST, Json(ApiRefusal::from(&describe_unfit_address(words)))).into_response()
}

/// The status that says what a code means to a client.
pub fn find_status(code: Code) -> StatusCode {
    match code {
        Code::IngressForbidden => StatusCode::FORBIDDEN,
        Code::IdConflict | Code::DecidedApproval | Code::MismatchedApproval | Code::WrongRequestKind => {
            StatusCode::CONFLICT
        }
        Code::UnknownApproval => StatusCode::NOT_FOUND,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::IngressRate | Code::IngressQueue | Code::IngressThrottled => StatusCode::TOO_MANY_REQUESTS,
        Code::IngressUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::DamagedThread => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// A refusal by the pump.
pub fn refuse_message(refusal: &Refusal) -> Response {
    let status = find_status(refusal.code);
    let response = (status, Json(ApiRefusal::from(refusal))).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        // An empty bucket has room again within a second.
        let wait = refusal.wait_s.map_or(1, NonZeroU32::get).to_string();
        return ([(header::RETRY_AFTER, wait)], response).into_response();
    }
    response
}

/// The organism is stopping, or has stopped.
pub fn refuse_stopping() -> Response {
    refuse_message(&describe_stopping())
}

/// Whether the organism carried an order out; if not, the answer that says why.
pub fn check_done(reply: Option<SenderReply>) -> Result<(), Response> {
    match reply {
        Some(SenderReply::Done | SenderReply::Receipt(..)) => Ok(()),
        Some(SenderReply::Refused(refusal)) => Err(refuse_message(&refusal)),
        None => Err(refuse_stopping()),
    }
}

/// The thread of an order.
pub fn read_thread(typed: &str) -> Result<ThreadId, Response> {
    let refused = |words| refuse_plainly(StatusCode::UNPROCESSABLE_ENTITY, Code::UnknownThread, words);
    ThreadId::parse(typed).map_err(|malformed| refused(malformed.to_string()))
}

/// The token in a request's header.
pub fn read_bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

/// The answer to a request without a valid token.
pub fn without_token() -> Response {
    let words =
        "send the header `Authorization: Bearer TOKEN`; the operator's is in the run file beside the log";
    let response = refuse_plainly(StatusCode::UNAUTHORIZED, Code::IngressUnauthorized, words);
    ([(header::WWW_AUTHENTICATE, "Bearer"), (header::CONNECTION, "close")], response).into_response()
}
