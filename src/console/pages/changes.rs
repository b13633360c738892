//! The form of a change. A session's cookie allows only reading, so a change also shows the secret of its tab, or the
//! client's token typed once more.
//!
//! A form comes in; the client that acts and the fields go out. A form without either gets a page on which the token
//! can be typed, so that nothing that was filled in is lost.

use std::sync::Arc;

use askama::Template;
use axum::extract::{ConnectInfo, FromRequest, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use systole_kit::writer::visible;

use super::asked::{PageRequest, rendered};
use super::forms::{FormFields, PageForm};
use super::frame::{Frame, PageTab};
use super::guard::SECRET;
use super::signing_in::local;
use crate::audit::columns::plain as plain_text;
use crate::audit::full::{self, ShownPayload};
use crate::console::http_state::{Caller, HttpState};
use crate::console::request_refusals::plain;
use crate::console::strangers::Visitor;
use crate::console::waiting;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::person::PersonRequestId;
use systole_core::types::refusal::Refusal;

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
    fields: FormFields,
}

/// The page that asks for the token, with everything that was filled in.
#[derive(Template)]
#[template(path = "token.html")]
struct TokenPage {
    frame: Frame,
    words: &'static str,
    /// What will be done.
    what: String,
    subject: Option<DecisionSubject>,
    typed: Vec<TypedField>,
    fields: FormFields,
}

/// The name of a field, and its value as a person may trust it.
type TypedField = (String, ShownPayload);

/// What a decision is about.
enum DecisionSubject {
    /// What waits, in full.
    Waits(ShownPayload),
    /// What was shown does not wait any more.
    Gone,
}

/// What a form asks for, in words.
fn wanted(path: &str, fields: &[(String, String)]) -> String {
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let parts: Vec<&str> = path.split('/').collect();
    let (place, last) =
        (parts.get(2).copied().unwrap_or_default(), parts.last().copied().unwrap_or_default());
    match (parts.get(1).copied().unwrap_or_default(), field("outcome")) {
        ("approvals", Some("approved")) => format!("Approve {place}: exactly these bytes"),
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
        let caller = request.extensions().get::<Caller>().map(|caller| caller.0.clone());
        let source = request.extensions().get::<ConnectInfo<Visitor>>().map(|one| one.0.address.ip());
        let of_header = request.headers().get(SECRET).and_then(|value| value.to_str().ok());
        let of_header = of_header.map(str::to_owned);
        let PageForm { asked, mut fields } = PageForm::from_request(request, state).await?;
        if let Some(by) = caller {
            return Ok(ChangeForm { asked, by, fields });
        }
        let (token, secret) = (taken(&mut fields, "token"), taken(&mut fields, "secret"));
        let mut shown = of_header.into_iter().chain(secret);
        if shown.any(|secret| state.sessions.may_change(&asked.client, &secret)) {
            let by = asked.client.clone();
            return Ok(ChangeForm { asked, by, fields });
        }
        let token = token.filter(|token| !token.trim().is_empty());
        let Some(token) = token else { return Err(needed(&asked, fields, NEEDED).await) };
        match state.keyring.whose(token.trim()) {
            Some(by) if *by == asked.client => Ok(ChangeForm { asked, by: by.clone(), fields }),
            Some(_) => Err(needed(&asked, fields, OTHER).await),
            None => {
                if let Some(source) = source {
                    state.login_failed(source).await;
                }
                Err(needed(&asked, fields, UNKNOWN).await)
            }
        }
    }
}

/// Takes a field out of a form.
fn taken(fields: &mut FormFields, name: &str) -> Option<String> {
    let place = fields.iter().position(|(known, _)| known == name)?;
    Some(fields.remove(place).1)
}

async fn needed(asked: &PageRequest, fields: FormFields, words: &'static str) -> Response {
    if !asked.is_html {
        return plain(StatusCode::FORBIDDEN, Code::IngressForbidden, words);
    }
    let subject = match DecisionSubject::of(asked, &fields).await {
        Ok(subject) => subject,
        Err(refusal) => return asked.refused(&refusal),
    };
    let page = TokenPage {
        frame: asked.frame(PageTab::Other, "Your token"),
        words,
        what: visible(&wanted(asked.path(), &fields)).into_owned(),
        subject,
        typed: typed(&fields),
        fields,
    };
    (StatusCode::FORBIDDEN, rendered(&page)).into_response()
}

/// What a person filled in, each with its name.
fn typed(fields: &FormFields) -> Vec<TypedField> {
    let label = |name: &str| match name {
        "note" => Some("Note".to_owned()),
        "text" => Some("Text".to_owned()),
        "payload" => Some("Payload".to_owned()),
        "thread" => Some("Thread".to_owned()),
        name => name.strip_prefix('/').map(plain_text),
    };
    let filled = fields.iter().filter(|(_, value)| !value.trim().is_empty());
    filled.filter_map(|(name, value)| Some((label(name)?, full::shown_text(value)))).collect()
}

impl DecisionSubject {
    /// What waits, if the form decides it and the client may.
    async fn of(asked: &PageRequest, fields: &FormFields) -> Result<Option<DecisionSubject>, Refusal> {
        let mut parts = asked.path().split('/').skip(1);
        let id = match (parts.next(), parts.next()) {
            (Some("approvals"), Some(id)) => PersonRequestId::parse(id),
            _ => None,
        };
        let Some(id) = id else { return Ok(None) };
        let may = asked.state.front.composition().has_role(&asked.client, Role::Approve);
        let waiting = asked.read(move |moment| waiting::requests(moment, may)).await?;
        let request = waiting.into_iter().find(|one| one.id == id);
        let hash = fields.iter().find(|(name, _)| name == "hash").map(|(_, value)| value.as_str());
        Ok(Some(match request {
            Some(request) if hash.is_none_or(|hash| request.hash.to_string() == hash) => {
                DecisionSubject::Waits(request.shown())
            }
            _ => DecisionSubject::Gone,
        }))
    }
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
