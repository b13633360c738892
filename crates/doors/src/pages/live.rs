//! The end of the log as it moves, for pages that follow it: one event with a position when records came.
//!
//! A page gets no record here; it asks for what it shows. A client has few places, and a slow one misses nothing,
//! because a later position covers an earlier one. What pages then ask for is counted, and events wait for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::page_request::PageRequest;
use crate::http_state::HttpState;
use crate::request_refusals::refuse_plainly;
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;
use systole_core::types::ports::Position;

struct Following {
    tail: watch::Receiver<Position>,
    told: Option<Position>,
    state: Arc<HttpState>,
    client: Name,
    _place: OwnedSemaphorePermit,
}

/// Streams the positions of the end of the log, beginning with the present one.
pub(super) async fn live(asked: PageRequest) -> Response {
    let Some(place) = asked.state.live.take_place(&asked.client) else {
        let words = "this client follows the log in too many pages already; close some";
        return refuse_plainly(StatusCode::SERVICE_UNAVAILABLE, Code::IngressUnavailable, words);
    };
    let tail = asked.state.front.tail();
    let following = Following { tail, told: None, state: asked.state, client: asked.client, _place: place };
    let events = stream::unfold(following, next);
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}

async fn next(mut following: Following) -> Option<(Result<Event, Infallible>, Following)> {
    loop {
        let position = *following.tail.borrow_and_update();
        if following.told.is_none_or(|told| told < position) {
            if following.told.is_some() {
                following.state.views.budget().wait_for_turn(&following.client).await;
            }
            let end = *following.tail.borrow_and_update();
            let position = following.state.views.budget().choose_position(following.told, end);
            following.told = Some(position);
            let number = position.0.to_string();
            return Some((Ok(Event::default().event("tail").id(&number).data(number)), following));
        }
        // It fails when the pump has ended.
        following.tail.changed().await.ok()?;
    }
}
