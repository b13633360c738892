//! Signing in: a code of `systole console` or a client's token becomes a session of a browser.
//!
//! The form of a stranger comes in, small and counted if it is wrong; a cookie goes out that allows reading, and for
//! scripts the secret that changes need. The credentials themselves are the keyring's.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::Json;
use axum::extract::rejection::FormRejection;
use axum::extract::{ConnectInfo, Form, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::frame::{Frame, PageTab};
use super::guard::{self, CookieTime};
use super::page_request::{PageRequest, render_page};
use super::refusal_page::page_before;
use crate::limits;
use systole_api::types::SignInCode;
use systole_core::types::client::{ClientDoor, Role};
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_core::types::ports::Clock as _;
use systole_core::types::refusal::Refusal;
use systole_doorway::Visitor;
use systole_hall::door_row::DoorRoute;
use systole_hall::http_state::{ApiCall, HttpState};
use systole_hall::request_refusals::{refuse_crowded, refuse_message, refuse_plainly};
use systole_hall::sessions::{OpenedSession, SessionWish};
use systole_system::clock::WallClock;

/// Why a sign-in failed, for the person who tries again.
const UNKNOWN: &str = "This code or token is not known. A code counts once, and for a minute.";
const ENDED: &str = "Your session has ended. Nothing was changed.";
const SIGNED_OUT: &str = "Your session has ended. Sign in, and you come back to the page that you asked for.";
const TOO_MANY: &str = "Too many wrong tokens came from this address. Wait a little and try again; a code of systole console signs in at once.";
const UNREADABLE: &str = "What was sent is not the form of this page.";

/// The page to sign in.
#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    /// The page that was asked for.
    to: String,
    mistake: Option<&'static str>,
    /// Whether the browser holds a form that it can send again.
    has_form: bool,
    /// Whether a log is shown without an organism.
    is_at_rest: bool,
}

/// The page that says who is signed in.
#[derive(Template)]
#[template(path = "session.html")]
struct SessionPage {
    frame: Frame,
    roles: Vec<&'static str>,
}

/// The page to sign in, for a browser without a session. `to` is the page that it asked for.
pub(super) fn page(state: &HttpState, to: &str, mistake: Option<&'static str>) -> Response {
    sign_in_page(state, to, "Sign in", (mistake, false))
}

/// The page for a browser whose session has ended.
pub(super) fn page_signed_out(state: &HttpState, to: &str) -> Response {
    sign_in_page(state, to, "Signed out", (Some(SIGNED_OUT), false))
}

/// The page for a form of a session that has ended. The form of a stranger is not read, but the browser still has it.
pub(super) fn page_for_form(state: &HttpState, path: &str) -> Response {
    let to = page_before(path).map_or_else(|| "/".to_owned(), |(to, _)| to);
    sign_in_page(state, &to, "Signed out", (Some(ENDED), true))
}

fn sign_in_page(
    state: &HttpState,
    to: &str,
    title: &str,
    (mistake, has_form): (Option<&'static str>, bool),
) -> Response {
    let organism = &state.front.composition().organism;
    let frame = Frame::of(organism, None, (PageTab::Other, title), None, "/session");
    let is_at_rest = state.front.at_rest().is_some();
    let page = SignInPage { frame, to: local(to).to_owned(), mistake, has_form, is_at_rest };
    (StatusCode::UNAUTHORIZED, render_page(&page)).into_response()
}

/// The address of a page of ours, or the first page: a form may name any address.
pub(super) fn local(to: &str) -> &str {
    let is_local = to.starts_with('/')
        && !to.starts_with("//")
        && !to.contains('\\')
        && to.bytes().all(|byte| byte.is_ascii_graphic())
        && !to.starts_with("/session");
    if is_local { to } else { "/" }
}

/// The routes for programs.
pub fn list_routes() -> Vec<DoorRoute> {
    vec![DoorRoute::post("/v1/session-codes", codes)]
}

/// Makes a code for the client of a token.
async fn codes(ApiCall { state, client }: ApiCall) -> Response {
    match state.sessions.code_for(&client, WallClock.ticks()) {
        Ok(code) => {
            let made = SignInCode { code, client: client.to_string() };
            (StatusCode::CREATED, Json(made)).into_response()
        }
        Err(error) => no_random(&error),
    }
}

fn no_random(error: &std::io::Error) -> Response {
    let words = format!("no random bytes for a session: {error}");
    refuse_message(&Refusal::new(Code::IngressUnavailable, words))
}

#[derive(Deserialize)]
pub(super) struct SignInForm {
    /// A code or a token: a person need not know which of the two she has.
    code: String,
    #[serde(default)]
    to: String,
    /// Set if the person wants to stay signed in.
    stay: Option<String>,
}

/// Exchanges a code or a token for a session.
pub(super) async fn sign_in(
    State(state): State<Arc<HttpState>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    headers: HeaderMap,
    form: Result<Form<SignInForm>, FormRejection>,
) -> Response {
    let is_html = guard::wants_html(&headers);
    let Ok(Form(form)) = form else {
        let words = "the body is code=CODE or code=TOKEN, as a form sends it, and small";
        return match is_html {
            true => page(&state, "/", Some(UNREADABLE)),
            false => refuse_plainly(StatusCode::BAD_REQUEST, Code::Invalid, words),
        };
    };
    let shown = form.code.trim();
    let source = visitor.address.ip();
    let found = match state.sessions.take_code(shown, WallClock.ticks()) {
        Some(client) => {
            Ok(Some(client).filter(|client| state.front.composition().may_enter(client, ClientDoor::Pages)))
        }
        None => state.find_signing_in(source, shown),
    };
    let client = match found {
        Ok(client) => client,
        Err(wait_ms) => {
            state.login_failed(source).await;
            return refuse_guess(&state, &form.to, is_html, wait_ms);
        }
    };
    let Some(client) = client else {
        state.login_failed(source).await;
        return match is_html {
            true => page(&state, &form.to, Some(UNKNOWN)),
            false => refuse_plainly(StatusCode::UNAUTHORIZED, Code::IngressUnauthorized, UNKNOWN),
        };
    };
    if let Err(crowded) = visitor.let_in(&client) {
        return refuse_crowded(crowded);
    }
    let wish = SessionWish { entrance: state.addresses.find_entrance(&headers), stays: form.stay.is_some() };
    match state.sessions.open(&state.keyring, client, wish, WallClock.now()) {
        Ok(opened) => {
            write_sessions(&state).await;
            let seconds = CookieTime::Seconds(limits::LONG_SESSION_SECONDS);
            let lasts = if wish.stays { seconds } else { CookieTime::Browser };
            let cookie = guard::write_cookie(&state.addresses, &headers, &opened.cookie, lasts);
            signed_in(cookie, &opened, is_html, local(&form.to))
        }
        Err(error) => no_random(&error),
    }
}

/// The answer to an address that has tried too many wrong tokens. Nothing was looked at.
fn refuse_guess(state: &HttpState, to: &str, is_html: bool, wait_ms: u64) -> Response {
    let after = [(header::RETRY_AFTER, (Duration::from_millis(wait_ms).as_secs() + 1).to_string())];
    if !is_html {
        let refused = refuse_plainly(StatusCode::TOO_MANY_REQUESTS, Code::IngressThrottled, TOO_MANY);
        return (after, refused).into_response();
    }
    (StatusCode::TOO_MANY_REQUESTS, after, page(state, to, Some(TOO_MANY))).into_response()
}

/// Writes the sessions, so that they outlive the process.
pub(super) async fn write_sessions(state: &Arc<HttpState>) {
    let state = state.clone();
    let writing = tokio::task::spawn_blocking(move || state.sessions.write_file(WallClock.now()));
    if let Err(error) = writing.await {
        let fix = "report it with these words";
        tracing::error!(why = %error, fix, "the sessions were not written");
    }
}

fn signed_in(cookie: String, opened: &OpenedSession, is_html: bool, to: &str) -> Response {
    let headers = [(header::SET_COOKIE, cookie)];
    match is_html {
        true => (StatusCode::SEE_OTHER, headers, [(header::LOCATION, to.to_owned())]).into_response(),
        false => {
            let value = json!({"client": opened.client.as_str(), "secret": opened.secret});
            (headers, Json(value)).into_response()
        }
    }
}

/// Says who is signed in.
pub(super) async fn session(asked: PageRequest) -> Response {
    let composition = asked.state.front.composition().clone();
    let roles: Vec<&'static str> = roles_of(&asked.client, &composition);
    if !asked.is_html {
        return asked.json(&json!({"client": asked.client.as_str(), "roles": roles}));
    }
    let frame = asked.frame(PageTab::Other, "Signed in").with_command("systole console");
    render_page(&SessionPage { frame, roles })
}

fn roles_of(client: &Name, composition: &Composition) -> Vec<&'static str> {
    let held = Role::ALL.iter().filter(|role| composition.has_role(client, **role));
    held.map(|role| role.as_str()).collect()
}

/// Ends the session of the cookie. It takes no secret: a page of ours asks for it, and it only takes rights away.
pub(super) async fn end(State(state): State<Arc<HttpState>>, headers: HeaderMap) -> Response {
    if let Some(cookie) = guard::read_cookie(&state.addresses, &headers) {
        let entrance = state.addresses.find_entrance(&headers);
        state.sessions.end(&state.keyring, cookie, entrance);
        write_sessions(&state).await;
    }
    let gone: (HeaderName, String) =
        (header::SET_COOKIE, guard::write_cookie(&state.addresses, &headers, "", CookieTime::Seconds(0)));
    if guard::wants_html(&headers) {
        return (StatusCode::SEE_OTHER, [gone], [(header::LOCATION, "/session")]).into_response();
    }
    ([gone], Json(json!({"client": null}))).into_response()
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn a_form_leads_only_to_our_own_pages() {
        for ours in ["/", "/threads?state=working&q=a%20b", "/t/sess-1/3"] {
            assert_eq!(local(ours), ours);
        }
        for other in [
            "",
            "http://evil.example",
            "//evil.example",
            "/\\evil.example",
            "/a\r\nb",
            "/session",
            "x",
            "/a b",
        ] {
            assert_eq!(local(other), "/", "{other}");
        }
    }
}
