//! Pages of other origins: those that the organism's file names may come to the door for AG-UI. No cookie counts there, so
//! a page brings nothing but the token that it has.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::entrance::DoorAddresses;
use crate::limits;
use crate::page_origin;

/// The origin of a request's page, if the file names it.
pub fn find_named(cors: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    cors.iter().any(|named| named.as_bytes() == origin.as_bytes()).then(|| origin.clone())
}

/// Why the headers of a request are refused. A page that the file names is as a program is.
pub fn find_refusal(headers: &HeaderMap, is_named: bool, addresses: &DoorAddresses) -> Option<String> {
    let mut headers = headers.clone();
    if is_named {
        headers.remove(header::ORIGIN);
    }
    page_origin::find_refusal(&headers, addresses)
}

/// Whether a browser asks what a page may do.
pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The answer to that.
pub fn answer_preflight(origin: HeaderValue) -> Response {
    let may = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST".to_owned()),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, last-event-id".to_owned()),
        (header::ACCESS_CONTROL_MAX_AGE, limits::PREFLIGHT_S.to_string()),
    ];
    let mut response = (StatusCode::NO_CONTENT, may).into_response();
    admit(&mut response, origin);
    response
}

/// Lets a page read an answer.
pub fn admit(response: &mut Response, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let shown = HeaderValue::from_static("systole-thread, retry-after");
    headers.insert(HeaderName::from_static("access-control-expose-headers"), shown);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
}
