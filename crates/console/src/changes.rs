//! The form of a change. A session's cookie allows only reading, so a change also shows the secret of its tab, or the
//! client's token typed once more. At the public address the guard has looked at the origin, and the cookie is enough.
//!
//! A form comes in; the client that acts and the fields go out. A form without either gets a page on which the token
//! can be typed, so that nothing that was filled in is lost.

use std::sync::Arc;

use axum::extract::{ConnectInfo, FromRequest, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::confirming::{self, Unconfirmed};
use super::forms::{FormFields, FormSeat, PageForm, find_filled};
use super::guard::SECRET;
use super::page_request::PageRequest;
use super::signing_in::local;
use systole_core::types::client::ClientDoor;
use systole_core::types::ids::Name;
use systole_doorway::Visitor;
use systole_hall::http_state::{Caller, HttpState};

/// Why a change is not made.
const NEEDED: Unconfirmed = Unconfirmed {
    words: "A change needs your token, because the cookie of a session allows only reading.",
    is_stale: false,
};
const STALE: Unconfirmed = Unconfirmed {
    words: "The session of this form has ended. Look at it once more, and confirm it with your token.",
    is_stale: true,
};
const OTHER: Unconfirmed = Unconfirmed {
    words: "This token is of another client than the one that is signed in. Nothing was changed: sign in with it first.",
    is_stale: false,
};
const UNKNOWN: Unconfirmed =
    Unconfirmed { words: "This token is not known. Nothing was changed.", is_stale: false };

/// A change that its client may ask for. Whether the client may make it is decided by the organism.
pub(crate) struct ChangeForm {
    /// The request.
    pub(super) asked: PageRequest,
    /// The client that acts.
    pub(super) by: Name,
    fields: FormFields,
    _seat: FormSeat,
}

impl FromRequest<Arc<HttpState>> for ChangeForm {
    type Rejection = Response;

    async fn from_request(request: Request, state: &Arc<HttpState>) -> Result<ChangeForm, Response> {
        let caller = request.extensions().get::<Caller>().map(|caller| caller.0.clone());
        let source = request.extensions().get::<ConnectInfo<Visitor>>().map(|one| one.0.address.ip());
        let of_header = request.headers().get(SECRET).and_then(|value| value.to_str().ok());
        let of_header = of_header.map(str::to_owned);
        let PageForm { asked, mut fields, seat } = PageForm::from_request(request, state).await?;
        let (token, secret) = (take_field(&mut fields, "token"), take_field(&mut fields, "secret"));
        if let Some(by) = caller {
            return Ok(ChangeForm { asked, by, fields, _seat: seat });
        }
        let shown: Vec<String> = of_header.into_iter().chain(secret).collect();
        if shown.iter().any(|secret| state.sessions.may_change(&state.keyring, &asked.client, secret)) {
            let by = asked.client.clone();
            return Ok(ChangeForm { asked, by, fields, _seat: seat });
        }
        let needed = confirming::ask_again;
        let token = token.filter(|token| !token.trim().is_empty());
        let Some(token) = token else {
            let why = if shown.is_empty() { NEEDED } else { STALE };
            return Err(needed(&asked, fields, why).await);
        };
        match state.find_owner(token.trim(), ClientDoor::Pages) {
            Some(by) if *by == asked.client => Ok(ChangeForm { asked, by: by.clone(), fields, _seat: seat }),
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
fn take_field(fields: &mut FormFields, name: &str) -> Option<String> {
    let place = fields.iter().position(|(known, _)| known == name)?;
    Some(fields.remove(place).1)
}

impl ChangeForm {
    /// A field of the form; an empty one counts as absent.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        find_filled(&self.fields, name)
    }

    /// All fields of the form, in its order.
    pub(super) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The answer to a change that was made: a browser goes on to the page that the form names.
    pub(super) fn finish_change(&self, otherwise: &str, value: &Value) -> Response {
        if !self.asked.is_html {
            return self.asked.json(value);
        }
        let back = self.field("back").map_or(otherwise, local).to_owned();
        (StatusCode::SEE_OTHER, [(header::LOCATION, back)]).into_response()
    }
}
