//! The form of a change. A session's cookie allows only reading, so a change also shows the secret of its tab, or the
//! client's token typed once more.
//!
//! A form comes in; the client that acts and the fields go out. A form without either gets a page on which the token
//! can be typed, so that nothing that was filled in is lost.

use std::sync::Arc;

use askama::Template;
use axum::extract::{ConnectInfo, Form, FromRequest, FromRequestParts as _, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use systole_kit::writer::visible;

use super::asked::{PageRequest, rendered};
use super::frame::{Frame, PageTab};
use super::guard;
use super::signing_in::local;
use crate::console::http_state::{Caller, HttpState};
use crate::console::request_refusals::{plain, unfit_request};
use crate::console::strangers::Visitor;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

/// The header with the secret of a tab.
const SECRET: &str = "systole-secret";
/// Why a change is not made.
const NEEDED: &str = "A change needs your token, because the cookie of a session allows only reading.";
const OTHER: &str = "This token is of another client than the one that is signed in. Nothing was changed: sign in with it first.";
const UNKNOWN: &str = "This token is not known. Nothing was changed.";

/// A change that its client may ask for. Whether the client may make it is decided by the organism.
pub(in crate::console) struct ChangeForm {
    /// The request.
    pub(super) asked: PageRequest,
    /// The client that acts.
    pub(super) by: Name,
    fields: Vec<(String, String)>,
}

/// The page that asks for the token, with everything that was filled in.
#[derive(Template)]
#[template(path = "token.html")]
struct TokenPage {
    frame: Frame,
    words: &'static str,
    /// What will be done.
    what: String,
    fields: Vec<(String, String)>,
}

/// What a form asks for, in words.
fn wanted(path: &str, fields: &[(String, String)]) -> String {
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let parts: Vec<&str> = path.split('/').collect();
    let (place, last) =
        (parts.get(2).copied().unwrap_or_default(), parts.last().copied().unwrap_or_default());
    match (parts.get(1).copied().unwrap_or_default(), field("outcome")) {
        ("approvals", Some("approved")) => format!("Approve {place}, the bytes that you saw"),
        ("approvals", Some("rejected")) => format!("Reject {place}"),
        ("approvals", Some("chosen")) => {
            format!("Answer {place} with {}", field("choice").or(field("note")).unwrap_or_default())
        }
        ("approvals", _) => format!("Amend {place}"),
        ("t", _) => format!("{last}: thread {place}"),
        ("send", _) => {
            format!("Send <{}> to {}", field("element").unwrap_or("?"), field("to").unwrap_or("?"))
        }
        _ => path.to_owned(),
    }
}

impl FromRequest<Arc<HttpState>> for ChangeForm {
    type Rejection = Response;

    async fn from_request(request: Request, state: &Arc<HttpState>) -> Result<ChangeForm, Response> {
        let (mut parts, body) = request.into_parts();
        let asked = PageRequest::from_request_parts(&mut parts, state).await?;
        let caller = parts.extensions.get::<Caller>().map(|caller| caller.0.clone());
        let source = parts.extensions.get::<ConnectInfo<Visitor>>().map(|one| one.0.address.ip());
        let headers = parts.headers.clone();
        let has_body = headers.contains_key(header::CONTENT_TYPE);
        let mut fields = Vec::new();
        if has_body {
            // It fails only if the semaphore is closed, and that never happens.
            let _seat = state.bodies.acquire().await.ok();
            let read = Form::<Vec<(String, String)>>::from_request(Request::from_parts(parts, body), state);
            match read.await {
                Ok(Form(read)) => fields = read,
                Err(rejected) => {
                    let words = format!("the form cannot be read: {}", rejected.body_text());
                    return Err(asked.refused(&unfit_request(words)));
                }
            }
        }
        if let Some(by) = caller {
            return Ok(ChangeForm { asked, by, fields });
        }
        if !guard::names_origin(&headers) {
            let words = "a change with a cookie says where it comes from, in Origin or Sec-Fetch-Site";
            return Err(plain(StatusCode::FORBIDDEN, Code::IngressForbidden, words));
        }
        let (token, secret) = (taken(&mut fields, "token"), taken(&mut fields, "secret"));
        if may_change(state, &asked.client, &headers, secret.as_deref()) {
            let by = asked.client.clone();
            return Ok(ChangeForm { asked, by, fields });
        }
        let token = token.filter(|token| !token.trim().is_empty());
        let Some(token) = token else { return Err(needed(&asked, fields, NEEDED)) };
        match state.keyring.whose(token.trim()) {
            Some(by) if *by == asked.client => Ok(ChangeForm { asked, by: by.clone(), fields }),
            Some(_) => Err(needed(&asked, fields, OTHER)),
            None => {
                if let Some(source) = source {
                    state.login_failed(source).await;
                }
                Err(needed(&asked, fields, UNKNOWN))
            }
        }
    }
}

/// Takes a field out of a form.
fn taken(fields: &mut Vec<(String, String)>, name: &str) -> Option<String> {
    let place = fields.iter().position(|(known, _)| known == name)?;
    Some(fields.remove(place).1)
}

fn may_change(state: &HttpState, client: &Name, headers: &HeaderMap, secret: Option<&str>) -> bool {
    let of_header = headers.get(SECRET).and_then(|value| value.to_str().ok());
    let mut shown = of_header.into_iter().chain(secret);
    shown.any(|secret| state.sessions.may_change(client, secret))
}

fn needed(asked: &PageRequest, fields: Vec<(String, String)>, words: &'static str) -> Response {
    if !asked.is_html {
        return plain(StatusCode::FORBIDDEN, Code::IngressForbidden, words);
    }
    let page = TokenPage {
        frame: asked.frame(PageTab::Other, "Your token"),
        words,
        what: visible(&wanted(asked.path(), &fields)).into_owned(),
        fields,
    };
    (StatusCode::FORBIDDEN, rendered(&page)).into_response()
}

impl ChangeForm {
    /// A field of the form; an empty one counts as absent.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.trim().is_empty())
    }

    /// All fields of the form, in its order.
    pub(super) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The answer to a change that was made: a browser goes on to the page that the form names.
    pub(super) fn done(&self, otherwise: &str, value: &Value) -> Response {
        if !self.asked.is_html {
            return self.asked.json(value);
        }
        let back = self.field("back").map_or(otherwise, local).to_owned();
        (StatusCode::SEE_OTHER, [(header::LOCATION, back)]).into_response()
    }
}
