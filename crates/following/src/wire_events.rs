//! Events of a run on the wire of a door that goes on behind each of them. An event without an id belongs to the next one that has an id: they count together, so a client
//! that goes on behind an id has all or nothing of what one step of the run made.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde_json::Value;
use systole_queries::run_events::RunCursor;
use tokio::sync::mpsc;

use crate::limits;
use crate::said_thought::SaidThought;

/// The text of an event.
#[derive(Debug)]
pub struct EventText(String);

impl From<Value> for EventText {
    fn from(event: Value) -> EventText {
        EventText(event.to_string())
    }
}

impl From<String> for EventText {
    fn from(json: String) -> EventText {
        EventText(json)
    }
}

/// An event as it is sent. Without data it says only how far the client is.
#[derive(Debug)]
pub struct WireEvent {
    /// The id behind which the rest can be had.
    pub id: Option<String>,
    /// Its text.
    pub data: Option<EventText>,
}

impl WireEvent {
    /// Events that count together.
    pub fn write_group(id: &str, events: Vec<EventText>) -> Vec<WireEvent> {
        let mut group: Vec<WireEvent> =
            events.into_iter().map(|data| WireEvent { id: None, data: Some(data) }).collect();
        match group.last_mut() {
            Some(last) => last.id = Some(id.to_owned()),
            None => group.push(WireEvent { id: Some(id.to_owned()), data: None }),
        }
        group
    }

    fn into_sse(self) -> Event {
        let event = Event::default();
        let event = self.id.into_iter().fold(event, Event::id);
        self.data.into_iter().fold(event, |event, EventText(data)| event.data(data))
    }
}

/// Where a client is: the newest event that it has, and the bytes of a thought that were said behind it.
#[derive(Clone, Copy, Debug)]
pub struct ClientPlace {
    /// The newest event.
    pub cursor: RunCursor,
    thought: Option<usize>,
}

impl ClientPlace {
    /// Reads an id.
    pub fn parse(id: &str) -> Result<ClientPlace, String> {
        let (cursor, thought) = match id.split_once('~') {
            Some((cursor, thought)) => (cursor, Some(thought)),
            None => (id, None),
        };
        let thought = thought.map(str::parse).transpose();
        let thought = thought.map_err(|_| format!("{id:?} is not the id of an event"))?;
        Ok(ClientPlace { cursor: RunCursor::parse(cursor)?, thought })
    }

    /// What the client has of a thought. Its answer begins behind it.
    pub fn read_thought(&self) -> SaidThought {
        match self.thought {
            Some(bytes) => SaidThought::after(bytes),
            // It was over before the client came.
            None if self.cursor.has_open_text() => SaidThought::after(usize::MAX),
            None => SaidThought::default(),
        }
    }
}

/// These events, and nothing after them.
pub fn answer_events(events: Vec<WireEvent>) -> Response {
    let (sender, queue) = mpsc::channel(events.len().max(1));
    for event in events {
        // There is room for all.
        drop(sender.try_send(event));
    }
    stream(queue)
}

/// The events as they come, with a sign of life so often that no client of today gives up.
pub fn stream_often(events: mpsc::Receiver<WireEvent>) -> Response {
    Sse::new(SentEvents(events)).keep_alive(KeepAlive::new().interval(limits::STREAM_SIGN)).into_response()
}

/// The events as they come.
pub fn stream(events: mpsc::Receiver<WireEvent>) -> Response {
    Sse::new(SentEvents(events)).keep_alive(KeepAlive::default()).into_response()
}

struct SentEvents(mpsc::Receiver<WireEvent>);

impl Stream for SentEvents {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(|event| Ok(event.into_sse())))
    }
}
