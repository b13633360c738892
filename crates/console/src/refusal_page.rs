//! The page that says what is wrong with a request, what to try, and where the request came from.
//!
//! A refusal comes in; its status, its title and its page go out.

use askama::Template;
use axum::http::StatusCode;

use super::frame::Frame;
use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;
use systole_hall::request_refusals;
use systole_show::columns::plain;

/// A page that says what is wrong with a request.
#[derive(Template)]
#[template(path = "refused.html")]
pub(super) struct RefusalPage {
    frame: Frame,
    code: &'static str,
    message: Vec<TextPart>,
    fix: Option<Vec<TextPart>>,
    /// The page from which the request came, and its name.
    back: Option<(String, &'static str)>,
}

/// A part of a sentence, and whether it is code.
type TextPart = (bool, String);

/// The parts of a message: what stands between backticks is code. Characters that cannot be seen are named.
fn parts_of(text: &str) -> Vec<TextPart> {
    let text = plain(text);
    let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(at, part)| (at % 2 == 1, part.to_owned())).collect()
}

/// The title of a refusal. An order was not done; a page has another reason.
pub(super) fn title(status: StatusCode, is_change: bool) -> &'static str {
    match status {
        _ if is_change => "Not done",
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::SERVICE_UNAVAILABLE => "Not now",
        StatusCode::INTERNAL_SERVER_ERROR => "Damaged",
        _ => "Not a page",
    }
}

/// The page that leads to an address, and its name.
pub(super) fn page_before(path: &str) -> Option<(String, &'static str)> {
    let mut parts = path.split('/').skip(1);
    match (parts.next()?, parts.next()) {
        ("approvals", _) => Some(("/approvals".to_owned(), "Approvals")),
        ("send", _) => Some(("/send".to_owned(), "Send")),
        ("threads", _) => Some(("/threads".to_owned(), "Threads")),
        ("t", Some(id)) => parts.next().map(|_| (format!("/t/{id}"), "The thread")),
        _ => None,
    }
}

/// The status of a refusal, for a request without a payload.
pub(super) fn status(refusal: &Refusal) -> StatusCode {
    match refusal.code {
        Code::UnknownThread | Code::NoSuchElement => StatusCode::NOT_FOUND,
        Code::Invalid => StatusCode::BAD_REQUEST,
        _ => request_refusals::find_status(refusal.code),
    }
}

impl RefusalPage {
    /// The page of a refusal. Its frame has the address that was asked for.
    pub(super) fn of(frame: Frame, refusal: &Refusal) -> RefusalPage {
        let back = page_before(frame.address.split('?').next().unwrap_or_default());
        RefusalPage {
            frame,
            code: refusal.code.as_str(),
            message: parts_of(&refusal.message),
            fix: refusal.fix.as_deref().map(parts_of),
            back,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_code_apart_and_shows_what_is_invisible() {
        let text = |part: &str| (false, part.to_owned());
        let code = |part: &str| (true, part.to_owned());
        assert_eq!(parts_of("costs need `read`"), [text("costs need "), code("read")]);
        assert_eq!(parts_of("`at=` is wrong"), [code("at="), text(" is wrong")]);
        assert_eq!(parts_of("at=\u{202e}\0: no"), [text("at=\\u{202e}\\u{0}: no")]);
        assert_eq!(parts_of(""), []);
    }

    #[test]
    fn each_page_below_another_leads_back_to_it() {
        let to = |path: &str| page_before(path).map(|(to, _)| to);
        assert_eq!(to("/t/sess-1/pause").as_deref(), Some("/t/sess-1"));
        assert_eq!(to("/approvals/a1/amend/show").as_deref(), Some("/approvals"));
        assert_eq!(to("/send").as_deref(), Some("/send"));
        assert_eq!(to("/t/sess-1"), None);
        assert_eq!(to("/nowhere"), None);
    }
}
