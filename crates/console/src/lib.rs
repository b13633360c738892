//! The pages for people, on the same door as the routes for programs: a view of the log and of what waits. Every page
//! works without scripts, and answers JSON to a program that asks for it.
//!
//! Requests of signed-in browsers and of clients with a token come in; pages go out. Nothing here keeps a copy of the
//! log, and a change needs more than the cookie of a session.

mod amend;
mod amendable;
mod anew;
mod approvals;
mod assets;
mod attention;
mod changes;
mod clocked;
mod command_line;
mod configs;
mod confirming;
mod export;
mod filled_form;
mod find;
mod forms;
mod fragment;
mod frame;
pub mod guard;
mod inputs;
mod limits;
mod live;
mod map;
mod orders;
mod page_request;
mod payload_labels;
mod proof;
mod questions;
pub mod read_only;
mod record;
mod record_file;
mod refusal_page;
mod refusals;
mod request_card;
mod rows;
mod send;
mod send_request;
mod shorten;
mod side_by_side;
pub mod signing_in;
mod speaking;
mod thread;
mod thread_orders;
mod threads;
mod time;
mod verdict;

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use serde_json::json;

use changes::ChangeForm;
use page_request::{CookieReader, PageRequest};
use systole_core::types::client::ClientDoor;
use systole_core::types::codes::Code;
use systole_core::types::ports::Clock as _;
use systole_core::types::refusal::Refusal;
use systole_doorway::entrance::{Entrance, read_host};
use systole_hall::door_row::{DoorRoute, DoorRow, DoorVisit};
use systole_hall::http_state::{Caller, HttpState};
use systole_hall::request_refusals::{read_bearer, refuse_crowded, refuse_plainly, without_token};
use systole_system::clock::WallClock;
use thread_orders::ThreadOrder;

/// The door for people. It has every path that no other door has.
pub static DOOR: DoorRow = DoorRow {
    paths: &[],
    routes: &[list_routes, questions::list_question_pages],
    enter: |visit| Box::pin(enter(visit)),
    is_described: false,
};

fn list_routes() -> Vec<DoorRoute> {
    let mut sign_in = DoorRoute::post("/session", signing_in::sign_in);
    sign_in.service = sign_in.service.layer(DefaultBodyLimit::max(limits::SIGN_IN_BYTES));
    vec![
        DoorRoute::get("/assets/{name}", assets::serve),
        serve_page("/approvals", |asked| Box::pin(approvals::answer_list(asked))),
        DoorRoute::get("/approvals/{id}", approvals::request),
        DoorRoute::post("/approvals/{id}", approvals::decide),
        serve_page("/", |asked| Box::pin(attention::answer_page(asked))),
        serve_page("/threads", |asked| Box::pin(threads::list(asked))),
        serve_page("/threads/order", |asked| Box::pin(thread_orders::preview_order(asked))),
        serve_form("/threads/order", |form| Box::pin(thread_orders::give_order(form))),
        serve_page("/t/{id}", |asked| Box::pin(thread::answer_page(asked))),
        serve_page("/t/{id}/rows", |asked| Box::pin(rows::fresh_rows(asked))),
        serve_page("/t/{id}/words", |asked| Box::pin(speaking::answer_words(asked))),
        DoorRoute::post("/t/{id}/pause", |form| orders::give(form, ThreadOrder::Pause)),
        DoorRoute::post("/t/{id}/resume", |form| orders::give(form, ThreadOrder::Resume)),
        serve_form("/t/{id}/steer", |form| Box::pin(orders::steer_thread(form))),
        serve_page("/t/{id}/retry", |asked| Box::pin(orders::ask_to_retry(asked))),
        serve_form("/t/{id}/retry", |form| Box::pin(orders::retry_thread(form))),
        serve_page("/t/{id}/anew", |asked| Box::pin(anew::open_form(asked))),
        serve_form("/t/{id}/anew", |form| Box::pin(anew::send_form(form))),
        DoorRoute::post("/t/{id}/anew/show", anew::show),
        DoorRoute::get("/t/{id}/cancel", orders::ask_to_cancel),
        DoorRoute::post("/t/{id}/cancel", |form| orders::give(form, ThreadOrder::Cancel)),
        DoorRoute::get("/t/{id}/end", orders::ask_to_end),
        DoorRoute::post("/t/{id}/end", |form| orders::give(form, ThreadOrder::End)),
        serve_page("/t/{id}/time", |asked| Box::pin(time::answer_page(asked))),
        serve_page("/t/{id}/export", |asked| Box::pin(export::send_export(asked))),
        DoorRoute::get("/t/{id}/compare", side_by_side::compare),
        serve_page("/t/{id}/{seq}", |asked| Box::pin(record::answer_page(asked))),
        serve_page("/diff/{id}/{other}", |asked| Box::pin(side_by_side::answer_page(asked))),
        serve_page("/refused", |asked| Box::pin(refusals::answer_page(asked))),
        serve_page("/find", |asked| Box::pin(find::answer_page(asked))),
        serve_page("/config", |asked| Box::pin(configs::answer_list(asked))),
        serve_page("/config/{hash}", |asked| Box::pin(configs::one(asked))),
        serve_page("/map", |asked| Box::pin(map::answer_page(asked))),
        DoorRoute::get("/map.svg", map::picture),
        serve_page("/proof", |asked| Box::pin(proof::answer_page(asked))),
        serve_page("/t/{id}/{seq}/bytes", |asked| Box::pin(record::download(asked))),
        serve_page("/t/{id}/{seq}/files/{number}", |asked| Box::pin(record_file::send_file(asked))),
        serve_page("/approvals/{id}/amend", |asked| Box::pin(amend::open_form(asked))),
        serve_form("/approvals/{id}/amend", |form| Box::pin(amend::decide_request(form))),
        DoorRoute::post("/approvals/{id}/amend/show", amend::show),
        DoorRoute::get("/send", send::send),
        serve_form("/send", |form| Box::pin(send::send_form(form))),
        DoorRoute::post("/send/show", send::show),
        DoorRoute::get("/live", live::live),
        DoorRoute::post("/session/end", signing_in::end),
        DoorRoute::get("/session", signing_in::session),
        sign_in,
    ]
}

/// What a page or a form answers, or what is wrong with the request.
type PageAnswer<'a> = Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send + 'a>>;

/// The route of a page.
fn serve_page(path: &'static str, answer: fn(&PageRequest) -> PageAnswer<'_>) -> DoorRoute {
    DoorRoute::get(path, move |asked: PageRequest| async move { asked.answer_page(answer(&asked).await) })
}

/// The route of a form that changes something.
fn serve_form(path: &'static str, answer: fn(&ChangeForm) -> PageAnswer<'_>) -> DoorRoute {
    DoorRoute::post(path, move |form: ChangeForm| async move { form.asked.answer_page(answer(&form).await) })
}

/// Lets a request for a page pass if its address is ours and its client is known. A browser without a session gets
/// the page to sign in.
async fn enter(visit: DoorVisit) -> Response {
    guard::with_headers(admit_request(visit).await)
}

async fn admit_request(visit: DoorVisit) -> Response {
    let DoorVisit { state, visitor, mut request, next } = visit;
    let (headers, path) = (request.headers(), request.uri().path());
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let is_bearer = read_bearer(headers).is_some();
    // Only a browser can be led here under a foreign name: a program says itself where it goes.
    let addresses = &state.addresses;
    let entrance = addresses.find_entrance(headers);
    let (cookie, is_html) = (guard::read_cookie(addresses, headers), guard::wants_html(headers));
    let is_open = guard::is_open(request.method(), path);
    let by_browser = cookie.is_some() || is_html || is_open;
    let foreign = guard::foreign_host(request.uri(), headers, addresses).filter(|_| by_browser);
    let foreign = foreign.or_else(|| guard::foreign_origin(headers, addresses).filter(|_| changes));
    if let Some(words) = foreign {
        return refuse_plainly(StatusCode::FORBIDDEN, Code::IngressForbidden, words);
    }
    let is_unnamed = changes && !guard::names_origin(headers, entrance);
    if is_open {
        // At the public address the cookie makes changes, so no other page may sign a browser in or out.
        if is_unnamed && entrance == Entrance::Public {
            return refuse_unnamed();
        }
        return next.run(request).await;
    }
    if is_bearer {
        let client =
            read_bearer(headers).and_then(|token| state.find_owner(token, ClientDoor::Pages)).cloned();
        let Some(client) = client else {
            state.login_failed(visitor.address.ip()).await;
            return without_token();
        };
        if let Err(crowded) = visitor.let_in(&client) {
            return refuse_crowded(crowded);
        }
        request.extensions_mut().insert(Caller(client));
        return count_request(&state, request, next).await;
    }
    let client = cookie.and_then(|cookie| state.find_signed_in(cookie, entrance));
    let is_over = cookie.is_some();
    let Some(client) = client else {
        if path == "/session" && !is_html && !changes {
            // The sign-in page asks whether it is needed.
            return Json(json!({"client": null})).into_response();
        }
        // A page of an ended session asks again and again, and that is no attempt to come in.
        if cookie.is_none() && !is_html {
            state.login_failed(visitor.address.ip()).await;
        }
        if !is_html {
            return without_token();
        }
        let wanted = request.uri().path_and_query().map_or("/", |whole| whole.as_str());
        return match changes {
            // Signing out takes the cookie away, so only its origin shows that a form is of our page.
            true if !is_unnamed => signing_in::page_for_form(&state, path),
            true => signing_in::page(&state, "/", None),
            false if is_over => signing_in::page_signed_out(&state, wanted),
            false => signing_in::page(&state, wanted, None),
        };
    };
    if state.sessions.is_due(WallClock.now()) {
        signing_in::write_sessions(&state).await;
    }
    match visitor.let_in(&client) {
        Err(crowded) => return refuse_crowded(crowded),
        Ok(()) if is_unnamed => return refuse_unnamed(),
        Ok(()) => {}
    }
    if changes && entrance == Entrance::Bound {
        request.extensions_mut().insert(CookieReader(client));
    } else {
        request.extensions_mut().insert(Caller(client));
    }
    count_request(&state, request, next).await
}

/// The answer to a change that does not say which page sent it.
fn refuse_unnamed() -> Response {
    let words = "a form with a cookie says where it comes from, in Origin or Sec-Fetch-Site";
    refuse_plainly(StatusCode::FORBIDDEN, Code::IngressForbidden, words)
}

/// Answers a known client. What a page costs that refreshes itself is counted, and the same pages of one client share
/// their answer. A form of a thread has a key of its own, so pages of threads share none.
async fn count_request(state: &Arc<HttpState>, request: Request, next: Next) -> Response {
    let Some(told) = guard::read_position(request.headers()).filter(|_| *request.method() == Method::GET)
    else {
        return next.run(request).await;
    };
    // No page was told of a position that the log does not have.
    let told = told.min(state.front.end());
    let Some(Caller(client)) = request.extensions().get::<Caller>().cloned() else {
        return next.run(request).await;
    };
    let is_shared = guard::wants_html(request.headers()) && !request.uri().path().starts_with("/t/");
    // A page of the public address differs from that of the bound one.
    let host = read_host(request.headers());
    let address = request.uri().path_and_query().filter(|_| is_shared).map(|whole| format!("{host}{whole}"));
    let budget = state.views.budget();
    match address {
        Some(address) => {
            let key = (client.clone(), address);
            let answer = state.views.answers().at_least(key, told, next.run(request));
            budget.count_time(&client, answer).await
        }
        None => budget.count_time(&client, next.run(request)).await,
    }
}

/// Answers the addresses that no door has, and those that take another method.
pub fn answer_others(router: Router<Arc<HttpState>>) -> Router<Arc<HttpState>> {
    router.fallback(nowhere).method_not_allowed_fallback(only_other)
}

/// The answer for an address without a page.
async fn nowhere(asked: Result<PageRequest, Response>) -> Response {
    match asked {
        Ok(asked) => asked.nowhere(),
        Err(refused) => refused,
    }
}

/// The answer for an address that takes another method.
async fn only_other(method: Method, asked: Result<PageRequest, Response>) -> Response {
    match asked {
        Ok(asked) => asked.takes_another(&method),
        Err(refused) => refused,
    }
}
