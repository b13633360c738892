//! The routes of the API as one table beside those of the questions, from which the router is built and to which its description is held.

use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use axum::{Router, middleware};

use super::http_state::HttpState;
use super::{inbound, live_routes, mcp, pages, reading, steering, waiting};

/// A route: its method, its path, and what serves it.
struct ApiRoute {
    method: &'static str,
    path: &'static str,
    serves: fn() -> MethodRouter<Arc<HttpState>>,
}

const fn build_route(
    method: &'static str,
    path: &'static str,
    serves: fn() -> MethodRouter<Arc<HttpState>>,
) -> ApiRoute {
    ApiRoute { method, path, serves }
}

const ROUTES: [ApiRoute; 30] = [
    build_route("post", "/v1/messages", || post(inbound::accept_message)),
    build_route("get", "/v1/events", || get(live_routes::stream_events)),
    build_route("get", "/v1/status", || get(live_routes::show_status)),
    build_route("get", "/v1/workers", || get(live_routes::count_workers)),
    build_route("get", "/v1/approvals", || get(waiting::list_approvals)),
    build_route("post", "/v1/approvals/{id}", || post(steering::decide_request)),
    build_route("post", "/v1/pause", || post(steering::pause_all)),
    build_route("post", "/v1/resume", || post(steering::resume_all)),
    build_route("post", "/v1/listeners/{listener}/cancel", || post(live_routes::cancel_waiting)),
    build_route("get", "/v1/threads", || get(reading::threads)),
    build_route("get", "/v1/threads/{thread}", || get(reading::thread)),
    build_route("get", "/v1/threads/{thread}/records", || get(reading::records)),
    build_route("get", "/v1/threads/{thread}/records/{seq}", || get(reading::record)),
    build_route("get", "/v1/threads/{thread}/records/{seq}/bytes", || get(reading::record_bytes)),
    build_route("get", "/v1/threads/{thread}/trail", || get(reading::thread_trail)),
    build_route("post", "/v1/threads/{thread}/cancel", || post(live_routes::cancel_thread)),
    build_route("post", "/v1/threads/{thread}/end", || post(live_routes::end_thread)),
    build_route("post", "/v1/threads/{thread}/pause", || post(steering::pause_thread)),
    build_route("post", "/v1/threads/{thread}/resume", || post(steering::resume_thread)),
    build_route("get", "/v1/find", || get(reading::find)),
    build_route("get", "/v1/configurations", || get(reading::configurations)),
    build_route("get", "/v1/configurations/{hash}", || get(reading::configuration)),
    build_route("get", "/v1/documents/{hash}", || get(reading::document)),
    build_route("get", "/v1/graph", || get(reading::graph)),
    build_route("get", "/v1/log", || get(reading::log_opening)),
    build_route("get", "/v1/log/threads", || get(reading::log_threads)),
    build_route("get", "/v1/log/records", || get(reading::log_records)),
    build_route("get", "/v1/openapi.json", || get(reading::description)),
    build_route("post", "/v1/session-codes", || post(pages::signing_in::codes)),
    build_route("post", "/mcp", || post(mcp::post_message).fallback(mcp::refuse_other_methods)),
];

/// The router of the API.
pub(super) fn build_router() -> Router<Arc<HttpState>> {
    let router =
        ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.serves)()));
    let router = reading::routes().fold(router, |router, (path, service)| router.route(path, service));
    router.layer(middleware::map_response(forbid_storing))
}

/// What a client may read today is in no cache tomorrow.
async fn forbid_storing(mut response: Response) -> Response {
    let value = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(value);
    response
}

/// The method and the path of every route, for tests of the description.
pub fn list_methods_and_paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_questions = reading::routes().map(|(path, _)| ("get", path));
    ROUTES.iter().map(|route| (route.method, route.path)).chain(of_questions)
}
