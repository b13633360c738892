//! Reads one pipe of a program to its end.
//!
//! It never reads ahead: nothing is taken from the pipe until somebody asks. In: a pipe, and word that
//! its program is over. Out: its bytes in chunks.

use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::time::Instant;

/// Bytes asked of a pipe at once: what a Linux pipe holds.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads one pipe to its end; after the program is over only for a moment longer, because something
/// that left the process group may hold the pipe open for ever.
pub(super) struct Pipe<P> {
    pipe: P,
    over: watch::Receiver<bool>,
    rest: Duration,
    until: Option<Instant>,
    buffer: Vec<u8>,
}

impl<P: AsyncRead + Unpin> Pipe<P> {
    pub(super) fn new(pipe: P, over: watch::Receiver<bool>, rest_ms: u64) -> Pipe<P> {
        let rest = Duration::from_millis(rest_ms);
        Pipe { pipe, over, rest, until: None, buffer: vec![0; CHUNK_BYTES] }
    }

    /// The next bytes; empty at the end.
    pub(super) async fn read(&mut self) -> &[u8] {
        let read = self.fill().await;
        self.buffer.get(..read).unwrap_or_default()
    }

    async fn fill(&mut self) -> usize {
        let mut read = pin!(self.pipe.read(&mut self.buffer));
        let until = match self.until {
            Some(until) => until,
            None => tokio::select! {
                biased;
                // An error of the pipe is its end: nothing more will be heard either way.
                read = &mut read => return read.unwrap_or(0),
                _ = self.over.wait_for(|over| *over) => *self.until.insert(Instant::now() + self.rest),
            },
        };
        tokio::time::timeout_at(until, read).await.map_or(0, |read| read.unwrap_or(0))
    }
}
