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

const fn route(
    method: &'static str,
    path: &'static str,
    serves: fn() -> MethodRouter<Arc<HttpState>>,
) -> ApiRoute {
    ApiRoute { method, path, serves }
}

const ROUTES: [ApiRoute; 31] = [
    route("post", "/v1/messages", || post(inbound::messages)),
    route("get", "/v1/events", || get(live_routes::events)),
    route("get", "/v1/status", || get(live_routes::status)),
    route("get", "/v1/workers", || get(live_routes::workers)),
    route("get", "/v1/approvals", || get(waiting::approvals)),
    route("post", "/v1/approvals/{id}", || post(steering::approvals)),
    route("get", "/v1/decisions", || get(reading::decisions)),
    route("post", "/v1/pause", || post(steering::pause_all)),
    route("post", "/v1/resume", || post(steering::resume_all)),
    route("post", "/v1/listeners/{listener}/cancel", || post(live_routes::cancel_waiting)),
    route("get", "/v1/threads", || get(reading::threads)),
    route("get", "/v1/threads/{thread}", || get(reading::thread)),
    route("get", "/v1/threads/{thread}/records", || get(reading::records)),
    route("get", "/v1/threads/{thread}/records/{seq}", || get(reading::record)),
    route("get", "/v1/threads/{thread}/records/{seq}/bytes", || get(reading::record_bytes)),
    route("get", "/v1/threads/{thread}/trail", || get(reading::thread_trail)),
    route("post", "/v1/threads/{thread}/cancel", || post(live_routes::cancel)),
    route("post", "/v1/threads/{thread}/end", || post(live_routes::end)),
    route("post", "/v1/threads/{thread}/pause", || post(steering::pause)),
    route("post", "/v1/threads/{thread}/resume", || post(steering::resume)),
    route("get", "/v1/find", || get(reading::find)),
    route("get", "/v1/configurations", || get(reading::configurations)),
    route("get", "/v1/configurations/{hash}", || get(reading::configuration)),
    route("get", "/v1/documents/{hash}", || get(reading::document)),
    route("get", "/v1/graph", || get(reading::graph)),
    route("get", "/v1/log", || get(reading::log_opening)),
    route("get", "/v1/log/threads", || get(reading::log_threads)),
    route("get", "/v1/log/records", || get(reading::log_records)),
    route("get", "/v1/openapi.json", || get(reading::description)),
    route("post", "/v1/session-codes", || post(pages::signing_in::codes)),
    route("post", "/mcp", || post(mcp::post).fallback(mcp::only_post)),
];

/// The router of the API.
pub(super) fn router() -> Router<Arc<HttpState>> {
    let router =
        ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.serves)()));
    let router = reading::routes().fold(router, |router, (path, service)| router.route(path, service));
    router.layer(middleware::map_response(not_stored))
}

/// What a client may read today is in no cache tomorrow.
async fn not_stored(mut response: Response) -> Response {
    let value = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(value);
    response
}

/// The method and the path of every route, for tests of the description.
pub fn methods_and_paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_questions = reading::routes().map(|(path, _)| ("get", path));
    ROUTES.iter().map(|route| (route.method, route.path)).chain(of_questions)
}
