//! The lines of a server: one JSON-RPC message each, in both directions.
//!
//! The library's own transport drops a line that is too long and goes on, so that a caller would wait for ever, and
//! it starts a task for every notification. Here a line has a limit, a line that is too long ends the connection,
//! and a flood slows its sender down: its pipe fills.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Mutex, SetOnce};
use tokio::time::Instant;

use crate::limits;

/// Why nothing more comes from a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireEnd {
    /// Its output ended.
    #[error("it closed its output")]
    Closed,
    /// The library gave the connection to an address up.
    #[error("the connection to its address is over")]
    Lost,
    /// Reading failed.
    #[error("its output cannot be read: {0}")]
    Broken(String),
    /// A line was too long.
    #[error("it wrote a message of more than {} MiB, the most that is read", limits::WHOLE_BYTES >> 20)]
    TooLong,
    /// It does not speak the protocol.
    #[error("it writes something else than MCP to stdout, such as: {0}")]
    NoMcp(String),
}

/// The streams of a server as a transport.
pub(super) struct ServerLines<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    output: Arc<Mutex<W>>,
    pace: LinePace,
    stray: u32,
    end: Arc<SetOnce<WireEnd>>,
}

impl<R: AsyncRead, W: AsyncWrite> ServerLines<R, W> {
    /// The transport over these streams. `end` is set when nothing more will come.
    pub(super) fn new(input: R, output: W, end: Arc<SetOnce<WireEnd>>) -> Self {
        let pace = LinePace::new();
        let output = Arc::new(Mutex::new(output));
        Self { input: BufReader::new(input), line: Vec::new(), output, pace, stray: 0, end }
    }

    fn set_end(&self, end: WireEnd) {
        // The first reason counts.
        let _earlier = self.end.set(end);
    }
}

impl<R, W> Transport<RoleClient> for ServerLines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    /// The next message that matters. It may be dropped while it waits: what was read so far is kept.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            self.pace.wait_for_room().await;
            match next_line(&mut self.input, &mut self.line).await {
                Ok(true) => {}
                Ok(false) => {
                    self.set_end(WireEnd::Closed);
                    return None;
                }
                Err(end) => {
                    self.set_end(end);
                    return None;
                }
            }
            let line = std::mem::take(&mut self.line);
            match read_line(&line) {
                ServerLine::Result(message) => return Some(*message),
                ServerLine::Other(message) => {
                    self.pace.count_line();
                    return Some(*message);
                }
                ServerLine::Unwanted => self.pace.count_line(),
                ServerLine::Stray => {
                    self.stray += 1;
                    if self.stray > limits::STRAY_LINES {
                        self.set_end(WireEnd::NoMcp(show_line(&line)));
                        return None;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

/// Reads a line into `line`, without its line break. False if the stream has ended.
async fn next_line<R: AsyncRead + Unpin>(
    input: &mut BufReader<R>,
    line: &mut Vec<u8>,
) -> Result<bool, WireEnd> {
    loop {
        let chunk = input.fill_buf().await.map_err(|error| WireEnd::Broken(error.to_string()))?;
        if chunk.is_empty() {
            return Ok(false);
        }
        let found = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..found.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + part.len() > limits::WHOLE_BYTES {
            return Err(WireEnd::TooLong);
        }
        line.extend_from_slice(part);
        let used = part.len() + usize::from(found.is_some());
        input.consume(used);
        if found.is_some() {
            return Ok(true);
        }
    }
}

/// A line as far as it was understood.
pub(super) enum ServerLine {
    /// The answer to a request of ours. It is never held up.
    Result(Box<RxJsonRpcMessage<RoleClient>>),
    /// A notification or a request of the server.
    Other(Box<RxJsonRpcMessage<RoleClient>>),
    /// A notification that changes nothing for us.
    Unwanted,
    /// No message.
    Stray,
}

/// The members of a message that say what it is.
#[derive(Deserialize)]
struct MessageHead<'l> {
    method: Option<String>,
    #[serde(borrow)]
    id: Option<&'l RawValue>,
}

pub(super) fn read_line(line: &[u8]) -> ServerLine {
    if line.trim_ascii().is_empty() {
        return ServerLine::Unwanted;
    }
    let Ok(head) = serde_json::from_slice::<MessageHead<'_>>(line) else { return ServerLine::Stray };
    let is_wanted = match (&head.method, head.id) {
        (None, Some(_)) => true,
        (None, None) => return ServerLine::Stray,
        (Some(_), Some(_)) => true,
        (Some(method), None) => {
            matches!(&**method, "notifications/progress" | "notifications/tools/list_changed")
        }
    };
    if !is_wanted {
        return ServerLine::Unwanted;
    }
    match serde_json::from_slice(line) {
        Ok(message) if head.method.is_none() => ServerLine::Result(Box::new(message)),
        Ok(message) => ServerLine::Other(Box::new(message)),
        Err(_) => ServerLine::Stray,
    }
}

pub(super) fn show_line(line: &[u8]) -> String {
    let end = line.len().min(limits::SHOWN_BYTES);
    String::from_utf8_lossy(line.get(..end).unwrap_or_default()).escape_debug().to_string()
}

/// How fast a server may talk unasked.
pub(super) struct LinePace {
    window: Instant,
    lines: u32,
}

impl LinePace {
    pub(super) fn new() -> LinePace {
        LinePace { window: Instant::now(), lines: 0 }
    }

    pub(super) fn count_line(&mut self) {
        if self.window.elapsed() >= Duration::from_secs(1) {
            *self = LinePace::new();
        }
        self.lines += 1;
    }

    /// Waits for the next second if this one is used up.
    pub(super) async fn wait_for_room(&self) {
        if self.lines >= limits::LINES_PER_SECOND {
            tokio::time::sleep_until(self.window + Duration::from_secs(1)).await;
        }
    }
}
