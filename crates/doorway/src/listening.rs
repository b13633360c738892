//! Where connections come in, and what ends them by our word: those without a token after a time or for newer ones, those
//! of a client when they are idle for long or too many.
//!
//! Connections come in; the same connections go out. One without a token gets an answer before it ends, and so does one
//! whose requests cannot be read. Of the data it reads only where each line of a request head ends.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep};

use super::farewell::Farewell;
use super::framing::RequestFraming;
use super::unread_connections::UnreadConnections;
use super::visitors::{Visitor, Visitors};
use crate::limits;
use systole_core::types::ports::Clock as _;
use systole_core::types::time::Millis;
use systole_system::clock::WallClock;
use systole_system::descriptors;

impl Connected<IncomingStream<'_, Doorway>> for Visitor {
    fn connect_info(stream: IncomingStream<'_, Doorway>) -> Visitor {
        stream.io().visitor.clone()
    }
}

/// The source of connections.
pub struct Doorway {
    listener: TcpListener,
    /// When a connection could not be taken last, until the operator knows that they are taken again.
    short: Option<Millis>,
    visitors: Arc<Visitors>,
    unread: UnreadConnections,
}

impl Doorway {
    /// Where the connections of a socket come in.
    pub fn from_listener(listener: TcpListener) -> Doorway {
        let visitors = Arc::new(Visitors::new(descriptors::read_limit()));
        Doorway { listener, short: None, visitors, unread: UnreadConnections::default() }
    }

    /// The same, which first serves the connections that the door before has left.
    pub fn after_door(self, unread: UnreadConnections) -> Doorway {
        unread.keep_all(false);
        Doorway { unread, ..self }
    }

    /// The next connection. If this process has no descriptor left, clients wait until there is one.
    async fn next_connection(&mut self) -> (TcpStream, SocketAddr) {
        while let Some(left) = self.unread.take_next() {
            if let Ok(stream) = TcpStream::from_std(left)
                && let Ok(address) = stream.peer_addr()
            {
                return (stream, address);
            }
        }
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
    type Io = VisitorConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (VisitorConnection, SocketAddr) {
        self.visitors.wait_for_room().await;
        let (stream, address) = self.next_connection().await;
        // An event is small and a client waits for it.
        drop(stream.set_nodelay(true));
        let visitor = self.visitors.add_connection(address);
        let connection = VisitorConnection {
            stream,
            visitor,
            late: Box::pin(sleep(limits::HEAD)),
            framing: RequestFraming::default(),
            refused: None,
            farewell: None,
            unread: self.unread.clone(),
            is_read: false,
        };
        (connection, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// One connection.
pub struct VisitorConnection {
    stream: TcpStream,
    visitor: Visitor,
    /// When to look whether it is late: with its token, or with its next request.
    late: Pin<Box<Sleep>>,
    framing: RequestFraming,
    /// Once a line ended in LF alone: what the parser still reads of the request, which it refuses.
    refused: Option<&'static [u8]>,
    /// The last answer, if it ends by our word.
    farewell: Option<Farewell>,
    unread: UnreadConnections,
    /// Whether anything of it was read.
    is_read: bool,
}

impl VisitorConnection {
    /// Whether the next door serves it.
    fn stays(&self) -> bool {
        !self.is_read && self.farewell.is_none() && self.unread.are_kept()
    }

    /// The last answer, if it must end now and has shown no token. Wakes its reader if it must end later.
    fn check_stranger(&mut self, cx: &mut Context<'_>) -> Option<Farewell> {
        if self.visitor.is_known() {
            return None;
        }
        self.visitor.wake_at_end(cx.waker());
        if self.visitor.is_over() {
            return Some(Farewell::build_crowded());
        }
        self.late.as_mut().poll(cx).is_ready().then(Farewell::build_late)
    }

    /// Whether a connection of a client must end now, from which nothing can be read. Wakes its reader if it must end
    /// later.
    fn ends_idle(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.visitor.is_known() {
            return false;
        }
        self.visitor.wake_at_end(cx.waker());
        if self.visitor.is_over() && self.visitor.find_idle_rest().is_some() {
            return true;
        }
        while self.late.as_mut().poll(cx).is_ready() {
            let rest = self.visitor.find_idle_rest();
            if rest.is_some_and(|rest| rest.is_zero()) {
                return true;
            }
            self.late.as_mut().reset(Instant::now() + rest.unwrap_or(limits::IDLE));
        }
        false
    }

    /// Ends a connection whose client reads nothing of its answers, as one whose client says nothing: while such an
    /// answer waits, nothing is read.
    fn end_unread(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_pending() && (self.check_stranger(cx).is_some() || self.ends_idle(cx)) {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        written
    }

    /// Waits for what a client sends, until the connection must end. What came before its end is answered.
    fn wait_for_client(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.ends_idle(cx) {
            self.begin_farewell(Farewell::build_silent());
        }
        self.send_farewell(cx).map_or(Poll::Pending, |said| said.map(Ok))
    }

    /// Begins the last answer.
    fn begin_farewell(&mut self, farewell: Farewell) {
        if self.farewell.is_none() {
            let is_slow = self.visitor.may_leave_slowly();
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
            match Pin::new(&mut self.stream).poll_read(cx, &mut dropped) {
                Poll::Pending => return self.wait_for_client(cx),
                read => ready!(read)?,
            }
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

impl Drop for VisitorConnection {
    fn drop(&mut self) {
        if self.stays() {
            self.unread.keep(&self.stream);
        }
        self.visitor.close(self.farewell.is_some());
    }
}

impl AsyncRead for VisitorConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.farewell.is_none()
            && let Some(farewell) = self.check_stranger(cx)
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
        match Pin::new(&mut self.stream).poll_read(cx, buffer) {
            Poll::Pending => return self.wait_for_client(cx),
            read => ready!(read)?,
        }
        self.is_read = true;
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

impl AsyncWrite for VisitorConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.replace_refusal(bytes);
        if self.farewell.is_some() {
            // Nothing comes after the last answer.
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.end_unread(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.farewell.is_some() {
            return Poll::Ready(Ok(()));
        }
        self.visitor.note_sent();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(said) = self.send_farewell(cx) {
            return said.map(Ok);
        }
        if self.stays() {
            return Poll::Ready(Ok(()));
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
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.end_unread(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
