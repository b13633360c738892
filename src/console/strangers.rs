//! Connections that have not shown a token yet. They are few and short-lived, so that many silent connections take no
//! descriptors from clients and programs.
//!
//! Connections come in; the same connections go out, but they end after a time or when too many newer ones have come.
//! A connection that shows a token loses this limit. It reads nothing of the data.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

use crate::edges::descriptors;

/// How long a connection may take to send a whole request head with a token.
const HEAD: Duration = Duration::from_secs(10);
/// The most connections without a token at once.
const MOST: usize = 256;
/// The divisor for all descriptors that limits these connections.
const PART: usize = 4;

/// The connections without a token, oldest first.
#[derive(Default)]
struct Waiting {
    next: u64,
    connections: VecDeque<(u64, oneshot::Sender<()>)>,
}

struct Strangers {
    most: usize,
    waiting: Mutex<Waiting>,
}

impl Strangers {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Every change is complete before anything can panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection; if there are too many, the oldest ends.
    fn comes(self: &Arc<Strangers>, address: SocketAddr) -> (Visitor, oneshot::Receiver<()>) {
        let (end, ended) = oneshot::channel();
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        waiting.connections.push_back((number, end));
        let oldest =
            if waiting.connections.len() > self.most { waiting.connections.pop_front() } else { None };
        drop(waiting);
        if let Some((_, end)) = oldest {
            // A connection that has just ended needs no signal.
            let _ended = end.send(());
        }
        (Visitor { strangers: self.clone(), number, address }, ended)
    }

    fn forget(&self, number: u64) {
        self.waiting().connections.retain(|(known, _)| *known != number);
    }
}

/// The remote end of a connection.
#[derive(Clone)]
pub(super) struct Visitor {
    strangers: Arc<Strangers>,
    number: u64,
    pub(super) address: SocketAddr,
}

impl Visitor {
    /// The connection has shown a token and may stay from now on.
    pub(super) fn is_known(&self) {
        self.strangers.forget(self.number);
    }
}

impl Connected<IncomingStream<'_, Doorway>> for Visitor {
    fn connect_info(stream: IncomingStream<'_, Doorway>) -> Visitor {
        stream.io().visitor.clone()
    }
}

/// The source of connections.
pub(super) struct Doorway {
    listener: TcpListener,
    strangers: Arc<Strangers>,
}

impl Doorway {
    pub(super) fn of(listener: TcpListener) -> Doorway {
        let most = MOST.min(descriptors::most() / PART);
        Doorway { listener, strangers: Arc::new(Strangers { most, waiting: Mutex::default() }) }
    }
}

impl Listener for Doorway {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // An event is small and a client waits for it.
        drop(stream.set_nodelay(true));
        let (visitor, ended) = self.strangers.comes(address);
        let limits = Limits { ended, late: Box::pin(sleep(HEAD)) };
        (Connection { stream, visitor, limits: Some(limits) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The limits of a connection without a token.
struct Limits {
    ended: oneshot::Receiver<()>,
    late: Pin<Box<Sleep>>,
}

/// One connection.
pub(super) struct Connection {
    stream: TcpStream,
    visitor: Visitor,
    /// `None` once it has shown a token.
    limits: Option<Limits>,
}

impl Connection {
    /// Whether it must end now. Wakes its reader if it must end later.
    fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(limits) = &mut self.limits else { return false };
        match Pin::new(&mut limits.ended).poll(cx) {
            Poll::Ready(Ok(())) => true,
            // It is no longer among the strangers.
            Poll::Ready(Err(_)) => {
                self.limits = None;
                false
            }
            Poll::Pending => limits.late.as_mut().poll(cx).is_ready(),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.visitor.strangers.forget(self.visitor.number);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_over(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
