//! What is refused of a log that is shown without an organism: every change, and the pages that lead to one.

use axum::http::{Method, StatusCode};
use axum::response::Response;

use systole_core::types::codes::Code;
use systole_hall::request_refusals::refuse_plainly;

/// The last parts of the addresses of forms.
const FORMS: [&str; 5] = ["send", "cancel", "end", "amend", "order"];

/// Whether a request asks for a change, or for the form of one. Signing in and out is none.
pub fn changes(method: &Method, path: &str) -> bool {
    match *method {
        Method::GET | Method::HEAD => {
            FORMS.iter().any(|form| path.rsplit('/').next() == Some(form)) && !path.starts_with("/v1/")
        }
        _ => !matches!(path, "/session" | "/session/end"),
    }
}

/// The refusal of a change.
pub fn refusal() -> Response {
    let words = "this log is shown without an organism, so nothing can be changed; systole run starts one";
    super::guard::with_headers(refuse_plainly(StatusCode::FORBIDDEN, Code::IngressForbidden, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reading_and_signing_in_is_no_change() {
        for path in ["/", "/threads", "/t/a/1", "/t/a", "/v1/threads", "/approvals", "/v1/threads/a/end"] {
            assert!(!changes(&Method::GET, path), "{path}");
        }
        for path in ["/send", "/t/a/cancel", "/t/a/end", "/approvals/a@1/amend", "/threads/order"] {
            assert!(changes(&Method::GET, path), "{path}");
        }
        for path in ["/v1/messages", "/mcp", "/t/a/pause", "/v1/session-codes"] {
            assert!(changes(&Method::POST, path), "{path}");
        }
        assert!(!changes(&Method::POST, "/session"));
    }
}
