//! The end of the log as it moves, for pages that follow it: one event with a position when records came, and one with
//! the roots in which listeners spoke.
//!
//! A page gets no record and no word here; it asks for what it shows. A client has few places, and a slow one misses
//! nothing, because a later event covers an earlier one. What pages then ask for is counted, and events wait for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::page_request::PageRequest;
use systole_api::types::ProgressReport;
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::Position;
use systole_hall::http_state::HttpState;
use systole_hall::log_view::MomentAsked;
use systole_hall::request_refusals::refuse_plainly;

struct Following {
    tail: watch::Receiver<Position>,
    told: Option<Position>,
    /// How many progress messages there were, and up to which of them the page knows who spoke.
    messages: watch::Receiver<u64>,
    heard: u64,
    /// Events that go out before anything is waited for.
    due: VecDeque<Event>,
    state: Arc<HttpState>,
    client: Name,
    _place: OwnedSemaphorePermit,
}

/// Streams the positions of the end of the log, beginning with the present one, and the roots in which listeners speak.
pub(super) async fn live(asked: PageRequest) -> Response {
    let Some(place) = asked.state.live.take_place(&asked.client) else {
        let words = "this client follows the log in too many pages already; close some";
        return refuse_plainly(StatusCode::SERVICE_UNAVAILABLE, Code::IngressUnavailable, words);
    };
    let front = &asked.state.front;
    let (tail, messages) = (front.tail(), front.count_messages());
    let (state, client) = (asked.state, asked.client);
    let due = VecDeque::new();
    let following = Following { tail, told: None, messages, heard: 0, due, state, client, _place: place };
    let events = stream::unfold(following, next);
    Sse::new(events).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response()
}

async fn next(mut following: Following) -> Option<(Result<Event, Infallible>, Following)> {
    loop {
        if let Some(event) = following.due.pop_front() {
            return Some((Ok(event), following));
        }
        if following.told.is_some() {
            following.wait_for_news().await?;
        }
        following.tell_position();
        following.tell_speakers().await;
    }
}

impl Following {
    /// Waits for a record or a word, and for the turn of this client. `None` when the pump has ended.
    async fn wait_for_news(&mut self) -> Option<()> {
        let end = *self.tail.borrow_and_update();
        if self.told == Some(end) {
            // Messages do not end before the pump.
            tokio::select! {
                moved = self.tail.changed() => moved.ok()?,
                Ok(()) = self.messages.changed() => {}
            }
        }
        self.state.views.budget().wait_for_turn(&self.client).await;
        Some(())
    }

    fn tell_position(&mut self) {
        let end = *self.tail.borrow_and_update();
        if self.told.is_some_and(|told| told >= end) {
            return;
        }
        let position = self.state.views.budget().choose_position(self.told, end);
        self.told = Some(position);
        let number = position.0.to_string();
        self.due.push_back(Event::default().event("tail").id(&number).data(number));
    }

    /// Names the roots that the client may see and in which something was said since. A page that connects hears of all
    /// whose words are kept.
    async fn tell_speakers(&mut self) {
        let count = *self.messages.borrow_and_update();
        let roots = self.state.front.list_speaking_roots(self.heard).into_iter().collect();
        self.heard = count;
        let names: Vec<String> = self.keep_visible(roots).await.iter().map(ToString::to_string).collect();
        if !names.is_empty() {
            self.due.push_back(Event::default().event(ProgressReport::EVENT).data(names.join(" ")));
        }
    }

    async fn keep_visible(&self, roots: Vec<ThreadId>) -> Vec<ThreadId> {
        let front = &self.state.front;
        if roots.is_empty() || front.composition().has_role(&self.client, Role::Read) {
            return roots;
        }
        let asked = MomentAsked { at: None, told: self.told };
        let seen = self.state.views.run_reading(front, &self.client, asked, |moment| {
            let mut seen = Vec::new();
            for root in roots {
                if !moment.reader.of_thread(&root, 1, 1)?.is_empty() {
                    seen.push(root);
                }
            }
            Ok(seen)
        });
        // The operator was told why the log cannot be read; this client learns of no thread then.
        seen.await.unwrap_or_default()
    }
}
