//! The events of one answer. An event has a limit, and so has what comes between two events; what is not the result
//! comes at a limited pace. An answer that breaks off becomes an error for its request.

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, unfold};
use rmcp::model::{ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use sse_stream::{Error as SseError, Sse};
use systole_http::{BodyPart, EventReader, HttpAnswer, LineFault, StreamFraming};
use tokio::time::Instant;

use crate::client::wire::{LinePace, ServerLine, read_line};
use crate::limits;

/// The number of an error that stands for a stream that cannot be used.
pub(in crate::client) const BROKEN_STREAM: i32 = -32_980;

/// The events of an answer.
pub(super) struct ServerEvents {
    answer: HttpAnswer,
    reader: EventReader,
    /// The request that it answers, until it is answered.
    id: Option<RequestId>,
    pace: LinePace,
    stray: u32,
    /// Bytes since the last event.
    quiet: usize,
    is_over: bool,
}

impl ServerEvents {
    pub(super) fn new(answer: HttpAnswer, id: Option<RequestId>) -> ServerEvents {
        let reader = EventReader::new(StreamFraming::Events, limits::WHOLE_BYTES);
        ServerEvents { answer, reader, id, pace: LinePace::new(), stray: 0, quiet: 0, is_over: false }
    }

    /// The text of the next event that matters. `None` at the end.
    async fn next(&mut self) -> Option<String> {
        if self.is_over {
            return None;
        }
        match self.read_event().await {
            Ok(found) => found,
            Err(words) => {
                self.is_over = true;
                self.id.take().and_then(|id| write_break(id, words))
            }
        }
    }

    async fn read_event(&mut self) -> Result<Option<String>, String> {
        loop {
            let event = self.reader.next_event().map_err(describe_unreadable)?;
            let Some(event) = event else {
                match self.answer.next(Instant::now() + limits::SILENCE).await {
                    BodyPart::Bytes(bytes) => {
                        self.quiet += bytes.len();
                        if self.quiet > 2 * limits::WHOLE_BYTES {
                            return Err(describe_unreadable(LineFault::TooLong));
                        }
                        self.reader.feed_bytes(&bytes);
                        continue;
                    }
                    BodyPart::TooLate => return Err("its stream fell silent".to_owned()),
                    BodyPart::End | BodyPart::Closed | BodyPart::Cut => {
                        return Err("its stream ended before the result".to_owned());
                    }
                }
            };
            self.quiet = 0;
            match read_line(event.text.as_bytes()) {
                ServerLine::Result(_) => {
                    self.id = None;
                    return Ok(Some(event.text));
                }
                ServerLine::Other(_) => {
                    self.pace.count_line();
                    self.pace.wait_for_room().await;
                    return Ok(Some(event.text));
                }
                ServerLine::Unwanted => {
                    self.pace.count_line();
                    self.pace.wait_for_room().await;
                }
                ServerLine::Stray => {
                    self.stray += 1;
                    if self.stray > limits::STRAY_LINES {
                        return Err("its stream has events that are no MCP messages".to_owned());
                    }
                }
            }
        }
    }
}

/// The events as the library reads them. They have no ids: a stream that broke off is not resumed.
pub(super) fn into_stream(from: ServerEvents) -> BoxStream<'static, Result<Sse, SseError>> {
    unfold(from, |mut from| async {
        let text = from.next().await?;
        Some((Ok(Sse { data: Some(text), ..Sse::default() }), from))
    })
    .boxed()
}

fn describe_unreadable(fault: LineFault) -> String {
    match fault {
        LineFault::TooLong => format!("it sent an event of more than {} MiB", limits::WHOLE_BYTES >> 20),
        LineFault::NotUtf8 => "its stream is not UTF-8".to_owned(),
    }
}

fn write_break(id: RequestId, words: String) -> Option<String> {
    let error = ErrorData::new(ErrorCode(BROKEN_STREAM), words, None);
    serde_json::to_string(&ServerJsonRpcMessage::error(error, Some(id))).ok()
}
