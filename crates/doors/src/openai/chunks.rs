//! The form of an answer: one object, or a stream of chunks that ends with `[DONE]`.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::response::sse::Event;
use futures_core::Stream;
use serde_json::{Value, json};
use systole_core::types::ports::Clock as _;
use systole_system::clock::WallClock;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::api_time::count_seconds;
use super::chat_writer::{ChatEnd, ChatPiece, ChatWriter};
use crate::limits;
use systole_api::types::ApiReceipt;

/// What is the same in each chunk of an answer.
pub(super) struct ChunkFrame {
    id: String,
    created: u64,
    model: String,
}

impl ChunkFrame {
    pub(super) fn new(receipt: &ApiReceipt, model: String) -> ChunkFrame {
        ChunkFrame { id: format!("chatcmpl-{}", receipt.id), created: count_seconds(WallClock.now()), model }
    }

    /// The whole answer.
    pub(super) fn write_whole(&self, writer: &ChatWriter, finish: &str) -> Value {
        let mut message = json!({"role": "assistant", "content": writer.text, "refusal": null});
        if let Some(fields) = message.as_object_mut().filter(|_| !writer.beside.is_empty()) {
            fields.insert("reasoning_content".to_owned(), writer.beside.clone().into());
        }
        let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish});
        self.write_object("chat.completion", vec![choice], writer.usage.as_ref())
    }

    fn write_chunk(&self, delta: &Value, finish: Option<&str>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        self.write_object("chat.completion.chunk", vec![choice], None)
    }

    fn write_object(&self, kind: &str, choices: Vec<Value>, usage: Option<&Value>) -> Value {
        let mut object = json!({
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if let (Some(fields), Some(usage)) = (object.as_object_mut(), usage) {
            fields.insert("usage".to_owned(), usage.clone());
        }
        object
    }

    /// Begins the stream. `None` if the client has left, or reads nothing.
    pub(super) async fn send_begin(&self, to_client: &mpsc::Sender<Value>) -> Option<()> {
        let delta = json!({"role": "assistant", "content": ""});
        send_value(to_client, self.write_chunk(&delta, None)).await
    }

    /// Sends a piece of the answer.
    pub(super) async fn send_piece(&self, to_client: &mpsc::Sender<Value>, piece: &ChatPiece) -> Option<()> {
        let delta = match piece {
            ChatPiece::Text(words) => json!({"content": words}),
            ChatPiece::Beside(words) => json!({"reasoning_content": words}),
        };
        send_value(to_client, self.write_chunk(&delta, None)).await
    }

    /// Ends the stream, with what was used if the client wants that.
    pub(super) async fn send_end(
        &self,
        to_client: &mpsc::Sender<Value>,
        (end, usage): (Option<ChatEnd>, Option<&Value>),
    ) -> Option<()> {
        match end? {
            Ok(finish) => {
                send_value(to_client, self.write_chunk(&json!({}), Some(finish))).await?;
                if usage.is_some() {
                    let last = self.write_object("chat.completion.chunk", Vec::new(), usage);
                    send_value(to_client, last).await?;
                }
                send_value(to_client, Value::Null).await
            }
            Err(fault) => send_value(to_client, fault.as_json()).await,
        }
    }
}

async fn send_value(to_client: &mpsc::Sender<Value>, value: Value) -> Option<()> {
    timeout(limits::STALLED, to_client.send(value)).await.ok()?.ok()
}

/// The chunks as events. `null` is the end.
pub(super) struct ChunkEvents(pub(super) mpsc::Receiver<Value>);

impl Stream for ChunkEvents {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let write = |value: Value| if value.is_null() { "[DONE]".to_owned() } else { value.to_string() };
        self.0.poll_recv(cx).map(|value| value.map(|value| Ok(Event::default().data(write(value)))))
    }
}
