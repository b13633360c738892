//! Connections that have not shown a token yet. They are few and short-lived, so that many silent connections take no
//! descriptors from clients and programs.
//!
//! Connections come in; the same connections go out, but they end after a time or when too many newer ones have come.
//! A connection that shows a token loses this limit. Each connection that ends by our word gets an answer first, as
//! does one whose requests cannot be read. Of the data it reads only where each line of a request head ends.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

use super::farewell::Farewell;
use super::framing::RequestFraming;
use crate::limits;
use systole_core::types::ports::Clock as _;
use systole_core::types::time::Millis;
use systole_system::clock::WallClock;
use systole_system::descriptors;

/// The connections without a token, oldest first.
#[derive(Default)]
struct WaitingConnections {
    next: u64,
    connections: VecDeque<(u64, oneshot::Sender<()>)>,
}

struct UnknownVisitors {
    most: usize,
    waiting: Mutex<WaitingConnections>,
    /// Connections that got a last answer and are not closed yet.
    leaving: AtomicUsize,
}

impl UnknownVisitors {
    fn lock_waiting(&self) -> MutexGuard<'_, WaitingConnections> {
        // Every change is complete before anything can panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection; if there are too many, the oldest ends.
    fn add_connection(self: &Arc<UnknownVisitors>, address: SocketAddr) -> (Visitor, oneshot::Receiver<()>) {
        let (end, ended) = oneshot::channel();
        let mut waiting = self.lock_waiting();
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
        (Visitor { strangers: self.clone(), number, address, known: Arc::default() }, ended)
    }

    /// Whether one more connection may wait for its client to close it. Each costs a descriptor.
    fn may_leave_slowly(&self) -> bool {
        let leaving = self.leaving.fetch_add(1, Ordering::AcqRel);
        leaving < self.most
    }

    fn forget_connection(&self, number: u64) {
        self.lock_waiting().connections.retain(|(known, _)| *known != number);
    }
}

/// The remote end of a connection.
#[derive(Clone)]
pub(super) struct Visitor {
    strangers: Arc<UnknownVisitors>,
    number: u64,
    pub(super) address: SocketAddr,
    known: Arc<AtomicBool>,
}

impl Visitor {
    /// The connection has shown a token and may stay from now on.
    pub(super) fn is_known(&self) {
        self.known.store(true, Ordering::Release);
        self.strangers.forget_connection(self.number);
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
    /// When a connection could not be taken last, until the operator knows that they are taken again.
    short: Option<Millis>,
    strangers: Arc<UnknownVisitors>,
}

impl Doorway {
    pub(super) fn from_listener(listener: TcpListener) -> Doorway {
        let most = limits::STRANGERS.min(descriptors::read_limit() / limits::STRANGERS_SHARE);
        Doorway {
            listener,
            short: None,
            strangers: Arc::new(UnknownVisitors {
                most,
                waiting: Mutex::default(),
                leaving: AtomicUsize::new(0),
            }),
        }
    }
}

impl Doorway {
    /// The next connection. If this process has no descriptor left, clients wait until there is one.
    async fn next_connection(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(taken) => {
                    if self.short.is_some_and(|last| WallClock.ticks().count_since(last) >= limits::CALM_MS) {
                        self.short = None;
                        tracing::info!("the HTTP door takes connections again");
                    }
                    return taken;
                }
                // This one client has left.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => {}
                Err(error) => {
                    if self.short.replace(WallClock.ticks()).is_none() {
                        let fix = "a higher limit: ulimit -n, or LimitNOFILE= of the unit; or fewer clients";
                        tracing::error!(why = %error, fix, "the HTTP door cannot take a connection");
                    }
                    sleep(limits::PAUSE).await;
                }
            }
        }
    }
}

impl Listener for Doorway {
    type Io = StrangerConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (StrangerConnection, SocketAddr) {
        let (stream, address) = self.next_connection().await;
        // An event is small and a client waits for it.
        drop(stream.set_nodelay(true));
        let (visitor, ended) = self.strangers.add_connection(address);
        let limits = StrangerLimits { ended, late: Box::pin(sleep(limits::HEAD)) };
        let framing = RequestFraming::default();
        (
            StrangerConnection {
                stream,
                visitor,
                limits: Some(limits),
                framing,
                refused: None,
                farewell: None,
            },
            address,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// The limits of a connection without a token.
struct StrangerLimits {
    ended: oneshot::Receiver<()>,
    late: Pin<Box<Sleep>>,
}

/// One connection.
pub(super) struct StrangerConnection {
    stream: TcpStream,
    visitor: Visitor,
    /// `None` once it has shown a token.
    limits: Option<StrangerLimits>,
    framing: RequestFraming,
    /// Once a line ended in LF alone: what the parser still reads of the request, which it refuses.
    refused: Option<&'static [u8]>,
    /// The last answer, if it ends by our word.
    farewell: Option<Farewell>,
}

impl StrangerConnection {
    /// The last answer, if it must end now. Wakes its reader if it must end later.
    fn check_end(&mut self, cx: &mut Context<'_>) -> Option<Farewell> {
        if self.visitor.known.load(Ordering::Acquire) {
            // It may have been the oldest in the moment in which its token was read.
            self.limits = None;
        }
        let limits = self.limits.as_mut()?;
        match Pin::new(&mut limits.ended).poll(cx) {
            Poll::Ready(Ok(())) => Some(Farewell::build_crowded()),
            // It is no longer among the strangers.
            Poll::Ready(Err(_)) => {
                self.limits = None;
                None
            }
            Poll::Pending => limits.late.as_mut().poll(cx).is_ready().then(Farewell::build_late),
        }
    }

    /// Begins the last answer.
    fn begin_farewell(&mut self, farewell: Farewell) {
        if self.farewell.is_none() {
            let is_slow = self.visitor.strangers.may_leave_slowly();
            self.farewell = Some(if is_slow { farewell } else { farewell.without_waiting() });
        }
    }

    /// Ends the head of a request that is refused, and reads nothing more but the end of the connection.
    fn end_refused(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some((now, later)) =
            self.refused.and_then(|rest| rest.split_at_checked(rest.len().min(buffer.remaining())))
            && !now.is_empty()
        {
            buffer.put_slice(now);
            self.refused = Some(later);
            return Poll::Ready(Ok(()));
        }
        loop {
            let mut dropped = [0; 1024];
            let mut dropped = ReadBuf::new(&mut dropped);
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut dropped))?;
            if dropped.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Begins the last answer if the parser begins to say that it refuses a request.
    fn replace_refusal(&mut self, bytes: &[u8]) {
        if let Some(farewell) = Farewell::build_in_place_of(bytes) {
            self.begin_farewell(if self.refused.is_some() {
                Farewell::build_bare_line_feed()
            } else {
                farewell
            });
        }
    }

    /// Says the last answer, if there is one.
    fn send_farewell(&mut self, cx: &mut Context<'_>) -> Option<Poll<()>> {
        let farewell = self.farewell.as_mut()?;
        Some(farewell.write_on(&mut self.stream, cx))
    }
}

impl Drop for StrangerConnection {
    fn drop(&mut self) {
        self.visitor.strangers.forget_connection(self.visitor.number);
        if self.farewell.is_some() {
            self.visitor.strangers.leaving.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl AsyncRead for StrangerConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.farewell.is_none()
            && let Some(farewell) = self.check_end(cx)
        {
            self.begin_farewell(farewell);
        }
        // What it sends after that is not read, which looks like its end.
        if let Some(said) = self.send_farewell(cx) {
            return said.map(Ok);
        }
        if self.refused.is_some() {
            return self.end_refused(cx, buffer);
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let read = buffer.filled_mut().get_mut(before..).unwrap_or_default();
        let found = self.framing.follow_bytes(read);
        if let Some((at, byte)) = found.and_then(|at| Some((at, read.get_mut(at)?))) {
            // No line may hold this byte, so the parser refuses the request, after the answers to those before it.
            *byte = 0;
            let end = before + at + 1;
            buffer.set_filled(end);
            self.refused = Some(b"\r\n\r\n");
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for StrangerConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.replace_refusal(bytes);
        if self.farewell.is_some() {
            // Nothing comes after the last answer.
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.farewell.is_some() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(said) = self.send_farewell(cx) {
            return said.map(Ok);
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let whole = || parts.iter().map(|part| part.len()).sum();
        self.replace_refusal(parts.first().map_or(&[], |first| first));
        if self.farewell.is_some() {
            return Poll::Ready(Ok(whole()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
