//! Connections from which nothing was read when the door closed for a reload. The next door serves them, as if they had
//! waited to be accepted.

use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// They are shared by the doors of one process, of which one is open.
#[derive(Clone, Default)]
pub struct UnreadConnections(Arc<UnreadList>);

#[derive(Default)]
struct UnreadList {
    /// Whether the door is closed, and another one will open.
    are_kept: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl UnreadConnections {
    /// Says whether those that end from now on are kept.
    pub fn keep_all(&self, are_kept: bool) {
        self.0.are_kept.store(are_kept, Ordering::Release);
    }

    /// Whether one that ends now is kept.
    pub fn are_kept(&self) -> bool {
        self.0.are_kept.load(Ordering::Acquire)
    }

    /// Keeps a connection that is about to be dropped. Without a free descriptor it ends.
    pub fn keep(&self, stream: &tokio::net::TcpStream) {
        if let Ok(same) = stream.as_fd().try_clone_to_owned() {
            self.0.streams.lock().unwrap_or_else(PoisonError::into_inner).push(same.into());
        }
    }

    /// Takes the next of them.
    pub fn take_next(&self) -> Option<TcpStream> {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}
