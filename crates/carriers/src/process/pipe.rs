//! Reads one pipe of a program to its end.
//!
//! It never reads ahead: it takes bytes from the pipe only when a caller asks. In: a pipe, and the
//! signal that its program is over. Out: its bytes in chunks.

use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::time::Instant;

/// Reads one pipe to its end. After the program is over, it reads only a moment longer, because a
/// process that left the process group may hold the pipe open forever.
pub(super) struct ProgramPipe<P> {
    pipe: P,
    over: watch::Receiver<bool>,
    rest: Duration,
    until: Option<Instant>,
    buffer: Vec<u8>,
}

impl<P: AsyncRead + Unpin> ProgramPipe<P> {
    pub(super) fn new(pipe: P, over: watch::Receiver<bool>, rest_ms: u64) -> ProgramPipe<P> {
        let rest = Duration::from_millis(rest_ms);
        ProgramPipe { pipe, over, rest, until: None, buffer: vec![0; crate::limits::PORTION_BYTES] }
    }

    /// The next bytes; empty at the end.
    pub(super) async fn read_chunk(&mut self) -> &[u8] {
        let read = self.fill_buffer().await;
        self.buffer.get(..read).unwrap_or_default()
    }

    async fn fill_buffer(&mut self) -> usize {
        let mut read = pin!(self.pipe.read(&mut self.buffer));
        let until = match self.until {
            Some(until) => until,
            None => tokio::select! {
                biased;
                // An error of the pipe is its end: nothing more will come either way.
                read = &mut read => return read.unwrap_or(0),
                _ = self.over.wait_for(|over| *over) => *self.until.insert(Instant::now() + self.rest),
            },
        };
        tokio::time::timeout_at(until, read).await.map_or(0, |read| read.unwrap_or(0))
    }
}
