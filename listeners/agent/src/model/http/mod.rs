//! One request over one connection, and its answer piece by piece. No redirects, no retries, nothing kept for a next
//! request. Dropping it closes the socket. It knows no provider and logs nothing.
//!
//! The caller that waits for the answer drives the connection; there is no separate task. So nothing outlives a
//! request, and it is always known how far the request came before it failed.

mod address;
mod connect;
mod events;
mod lines;
mod patience;
mod proxy;

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use tokio::time::{Instant, timeout_at};

pub(super) use address::Address;
pub(super) use connect::NoConnection;
use connect::{Connector, Stream};
pub(super) use events::{Event, Events, Framing};
pub(super) use lines::LineFault;
pub(super) use patience::{retry_after_ms, seconds_ms};
pub(super) use proxy::{Proxies, Proxy};

/// The most bytes of the head of an answer, and of one read.
const HEAD_BYTES: usize = 64 << 10;

/// Why a request has no answer at all.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// There is no connection, so it was not sent.
    NoConnection(NoConnection),
    /// The connection ended before it was sent.
    NotSent(hyper::Error),
    /// It was sent, but no valid head of an answer came.
    NoHead(hyper::Error),
    /// It was sent, but no head came in time.
    TooLate,
    /// It cannot be written as a request.
    Unwritable(hyper::http::Error),
}

/// Sends requests.
#[derive(Clone)]
pub(super) struct Client {
    connector: Connector,
    via: Option<Proxy>,
}

type Driving = Pin<Box<http1::Connection<TokioIo<Box<dyn Stream>>, Full<Bytes>>>>;

/// An incoming answer.
pub(super) struct Incomings {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    body: Incoming,
    driving: Option<Driving>,
    /// Parts that were already looked at and are still to be read.
    held: VecDeque<Next>,
}

/// The next part of a body.
#[derive(Debug)]
pub(super) enum Next {
    /// Bytes.
    Bytes(Bytes),
    /// The end, as the head announced it.
    End,
    /// The connection ended, and the head did not give the length of the body: it may be complete or cut.
    Closed,
    /// The connection broke before the body was complete.
    Cut,
    /// Nothing came in time.
    TooLate,
}

impl Client {
    /// A client that trusts these roots and uses that proxy.
    pub(super) fn new(roots: RootCertStore, via: Option<Proxy>) -> Result<Self, rustls::Error> {
        Ok(Self { connector: Connector::new(roots)?, via })
    }

    /// Sends `body` and waits for the head of the answer, until `first` has passed.
    pub(super) async fn post(
        &self,
        to: &Address,
        headers: HeaderMap,
        body: Vec<u8>,
        connect: Duration,
        first: Duration,
    ) -> Result<Incomings, Unanswered> {
        let via = self.via.as_ref();
        let stream = self.connector.open(to, via, connect).await.map_err(Unanswered::NoConnection)?;
        let host =
            HeaderValue::from_str(&to.authority).map_err(|fault| Unanswered::Unwritable(fault.into()))?;
        // A proxy that reads the request needs the whole address.
        let read_on_the_way = via.filter(|_| !to.tls);
        let uri = match read_on_the_way {
            Some(_) => format!("http://{}{}", to.authority, to.path),
            None => to.path.clone(),
        };
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .body(Full::new(Bytes::from(body)))
            .map_err(Unanswered::Unwritable)?;
        *request.headers_mut() = headers;
        request.headers_mut().insert(HOST, host);
        if let Some(value) = read_on_the_way.and_then(|proxy| proxy.authorization.clone()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, value);
        }
        let (mut sender, driving) = http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(Unanswered::NotSent)?;
        let mut driving = Some(Box::pin(driving));
        let mut sending = std::pin::pin!(sender.send_request(request));
        let sent = std::future::poll_fn(|cx| {
            drive(&mut driving, cx);
            sending.as_mut().poll(cx)
        });
        match timeout_at(Instant::now() + first, sent).await {
            Err(_) => Err(Unanswered::TooLate),
            Ok(Err(fault)) if fault.is_canceled() => Err(Unanswered::NotSent(fault)),
            Ok(Err(fault)) => Err(Unanswered::NoHead(fault)),
            Ok(Ok(answer)) => {
                let (head, body) = answer.into_parts();
                Ok(Incomings {
                    status: head.status.as_u16(),
                    headers: head.headers,
                    body,
                    driving,
                    held: VecDeque::new(),
                })
            }
        }
    }
}

/// Lets the connection make progress. Its outcome shows at the future that waits for it.
fn drive(driving: &mut Option<Driving>, cx: &mut Context<'_>) {
    if let Some(connection) = driving
        && connection.as_mut().poll(cx).is_ready()
    {
        *driving = None;
    }
}

impl Incomings {
    /// Whether the head gives the length of the body, so that its end differs from a cut.
    pub(super) fn is_measured(&self) -> bool {
        let chunked = |value: &HeaderValue| value.as_bytes().to_ascii_lowercase().ends_with(b"chunked");
        self.headers.get_all(TRANSFER_ENCODING).iter().any(chunked)
            || self.headers.contains_key(CONTENT_LENGTH)
    }

    /// The beginning of the body without leading whitespace: at least `least` bytes, unless the body ends earlier.
    /// All of it can still be read.
    pub(super) async fn begins(&mut self, least: usize, until: Instant) -> Vec<u8> {
        let (mut begin, mut blank) = (Vec::new(), false);
        while begin.len() < least && Instant::now() < until {
            match self.next(until).await {
                Next::Bytes(bytes) => {
                    let more: &[u8] = if begin.is_empty() { bytes.trim_ascii_start() } else { &bytes };
                    blank |= more.is_empty() && !bytes.is_empty();
                    begin.extend_from_slice(more);
                }
                end => {
                    self.held.push_back(end);
                    break;
                }
            }
        }
        // A body of whitespace is not an empty one.
        let whole = if begin.is_empty() && blank { b"\n".to_vec() } else { begin.clone() };
        if !whole.is_empty() {
            self.held.push_front(Next::Bytes(whole.into()));
        }
        begin
    }

    /// The next part. Waits until `until`.
    pub(super) async fn next(&mut self, until: Instant) -> Next {
        if let Some(held) = self.held.pop_front() {
            return held;
        }
        let measured = self.is_measured();
        let frame = std::future::poll_fn(|cx| {
            drive(&mut self.driving, cx);
            loop {
                match Pin::new(&mut self.body).poll_frame(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => return Poll::Ready(if measured { Next::End } else { Next::Closed }),
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(Next::Cut),
                    // Trailers hold nothing that is needed.
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Ok(bytes) = frame.into_data() {
                            return Poll::Ready(Next::Bytes(bytes));
                        }
                    }
                }
            }
        });
        timeout_at(until, frame).await.unwrap_or(Next::TooLate)
    }
}
