//! The doors of the HTTP server as one table, from which its router is built. The description of the API is held to it.

mod monitoring;

use std::sync::Arc;

use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::{Router, middleware};

use super::{a2a, acp, ag_ui, live_routes, mcp, openai, reloading, retrying, schedule_orders};
use systole_core::types::client::ClientDoor;
use systole_hall::door_row::{DoorRoute, DoorRow, enter_with_token};
use systole_hall::http_state::HttpState;
use systole_hall::{inbound, reading, steering, waiting};

/// Every door. The console has the paths that no other door has.
static DOORS: [&DoorRow; 8] = [
    &API,
    &a2a::DOOR,
    &acp::DOOR,
    &mcp::DOOR,
    &ag_ui::DOOR,
    &openai::DOOR,
    &monitoring::DOOR,
    &systole_console::DOOR,
];

/// The door for programs.
static API: DoorRow = DoorRow {
    paths: &["/v1"],
    routes: &[
        inbound::list_routes,
        live_routes::list_routes,
        waiting::list_routes,
        retrying::list_routes,
        steering::list_routes,
        schedule_orders::list_routes,
        reloading::list_routes,
        reading::list_routes,
        reading::list_question_routes,
        systole_console::signing_in::list_routes,
    ],
    enter: |visit| Box::pin(enter_with_token(visit, ClientDoor::V1)),
    is_described: true,
};

/// The door that a path belongs to.
pub(super) fn find_door(path: &str) -> &'static DoorRow {
    DOORS.into_iter().find(|door| door.has_path(path)).unwrap_or(&systole_console::DOOR)
}

/// The router of all doors. The pages forbid to store any of their answers themselves.
pub(super) fn build_router() -> Router<Arc<HttpState>> {
    let routers = DOORS.into_iter().map(|door| {
        let add = |router: Router<_>, route: DoorRoute| router.route(route.path, route.service);
        let router = door.list_routes().fold(Router::new(), add);
        if door.paths.is_empty() { router } else { router.layer(middleware::map_response(forbid_storing)) }
    });
    routers.fold(Router::new(), Router::merge)
}

/// What a client may read today is in no cache tomorrow.
async fn forbid_storing(mut response: Response) -> Response {
    let value = HeaderValue::from_static("no-store");
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(value);
    response
}

/// The method and the path of every route for programs, for tests of the description.
pub fn list_methods_and_paths() -> impl Iterator<Item = (&'static str, &'static str)> {
    let described = DOORS.into_iter().filter(|door| door.is_described);
    described.flat_map(DoorRow::list_routes).map(|route| (route.method, route.path))
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn every_path_leads_to_one_door() {
        for path in ["/", "/threads", "/v1x", "/session", "/assets/console.css", "*"] {
            assert!(ptr::eq(find_door(path), &systole_console::DOOR), "{path}");
        }
        for path in ["/v1", "/v1/threads", "/v1/nothing"] {
            assert!(ptr::eq(find_door(path), &API), "{path}");
        }
        for path in ["/metrics", "/healthz", "/readyz"] {
            assert!(ptr::eq(find_door(path), &monitoring::DOOR), "{path}");
        }
        for path in ["/mcp", "/mcp/"] {
            assert!(ptr::eq(find_door(path), &mcp::DOOR), "{path}");
        }
    }

    #[test]
    fn every_route_lies_below_the_paths_of_its_door() {
        for door in DOORS {
            for route in door.list_routes() {
                let found = find_door(route.path);
                assert!(ptr::eq(found, door), "{}: `paths` of its door lack it", route.path);
            }
        }
        // Two routes with one method and path do not build.
        let _router = build_router();
    }
}
