//! One request over one connection, and its answer piece by piece. No redirects, no retries, nothing kept for a next
//! request. Dropping it closes the socket. It knows no provider and logs nothing.
//!
//! The caller that waits for the answer drives the connection; there is no separate task. So nothing outlives a
//! request, and it is always known how far the request came before it failed.

mod address;
mod connect;
mod events;
mod limits;
mod lines;
mod patience;
mod proxy;
mod public;

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use hyper::http::uri::InvalidUri;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, timeout_at};

pub use address::HttpAddress;
pub use connect::ConnectFault;
use connect::{HttpStream, StreamConnector};
pub use events::{EventReader, StreamEvent, StreamFraming};
pub use lines::LineFault;
pub use patience::{parse_seconds, retry_after_ms};
pub use proxy::{ProxyAddress, ProxySettings};
pub use public::is_public;
pub use rustls::RootCertStore;

/// Why a request has no answer at all.
#[derive(Debug)]
pub enum FailedRequest {
    /// There is no connection, so it was not sent.
    NoConnection(ConnectFault),
    /// The connection ended before it was sent.
    NotSent(hyper::Error),
    /// It was sent, but no valid head of an answer came.
    NoHead(hyper::Error),
    /// It was sent, but no head came in time.
    TooLate,
    /// It cannot be written as a request.
    Unwritable(hyper::http::Error),
}

impl FailedRequest {
    /// What happened on the way to an address, in words.
    pub fn describe(&self, to: &HttpAddress) -> String {
        match self {
            FailedRequest::NoConnection(why) => format!("no connection to {}: {why}", to.to_text()),
            FailedRequest::NotSent(why) => format!("the connection ended: {why}"),
            FailedRequest::NoHead(why) => format!("the request was sent, and the connection ended: {why}"),
            FailedRequest::TooLate => "the request was sent, and nothing came in time".to_owned(),
            FailedRequest::Unwritable(why) => format!("the request cannot be written: {why}"),
        }
    }
}

/// Sends requests.
#[derive(Clone)]
pub struct HttpClient {
    connector: StreamConnector,
    via: Option<ProxyAddress>,
}

/// The roots of certificates that the web trusts.
#[must_use]
pub fn load_web_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

type DrivingTask = Pin<Box<http1::Connection<TokioIo<Box<dyn HttpStream>>, Full<Bytes>>>>;

/// An incoming answer.
pub struct HttpAnswer {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    body: Incoming,
    driving: Option<DrivingTask>,
    /// Parts that were already looked at and are still to be read.
    held: VecDeque<BodyPart>,
}

/// The next part of a body.
#[derive(Debug)]
pub enum BodyPart {
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

impl HttpClient {
    /// A client that trusts these roots and uses that proxy.
    pub fn new(roots: RootCertStore, via: Option<ProxyAddress>) -> Result<Self, rustls::Error> {
        Ok(Self { connector: StreamConnector::new(roots)?, via })
    }

    /// The same, but a name that resolves to addresses of this machine or of its network is not asked. Through a proxy,
    /// the proxy resolves it.
    #[must_use]
    pub fn with_public_only(mut self) -> Self {
        self.connector.is_public_only = true;
        self
    }

    /// Posts `body` and waits for the head of the answer, until `first` has passed.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn post(
        &self,
        to: &HttpAddress,
        headers: HeaderMap,
        body: Vec<u8>,
        connect: Duration,
        first: Duration,
    ) -> Result<HttpAnswer, FailedRequest> {
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers;
        self.send_request(to, request, connect, first).await
    }

    /// Gets what is at an address, and waits for the head of the answer, until `first` has passed.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn get(
        &self,
        to: &HttpAddress,
        connect: Duration,
        first: Duration,
    ) -> Result<HttpAnswer, FailedRequest> {
        self.send_request(to, Request::new(Full::new(Bytes::new())), connect, first).await
    }

    /// Sends a request, whose address and host are set here, and waits for the head of the answer, until `first` has
    /// passed.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn send_request(
        &self,
        to: &HttpAddress,
        mut request: Request<Full<Bytes>>,
        connect: Duration,
        first: Duration,
    ) -> Result<HttpAnswer, FailedRequest> {
        let via = self.via.as_ref();
        let stream =
            self.connector.open_stream(to, via, connect).await.map_err(FailedRequest::NoConnection)?;
        let host =
            HeaderValue::from_str(&to.authority).map_err(|fault| FailedRequest::Unwritable(fault.into()))?;
        // A proxy that reads the request needs the whole address.
        let read_on_the_way = via.filter(|_| !to.tls);
        let uri = match read_on_the_way {
            Some(_) => format!("http://{}{}", to.authority, to.path),
            None => to.path.clone(),
        };
        *request.uri_mut() =
            uri.parse().map_err(|fault: InvalidUri| FailedRequest::Unwritable(fault.into()))?;
        request.headers_mut().insert(HOST, host);
        if let Some(value) = read_on_the_way.and_then(|proxy| proxy.authorization.clone()) {
            request.headers_mut().insert(PROXY_AUTHORIZATION, value);
        }
        let (mut sender, driving) = http1::Builder::new()
            .max_buf_size(limits::HEAD_BYTES)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(FailedRequest::NotSent)?;
        let mut driving = Some(Box::pin(driving));
        let mut sending = std::pin::pin!(sender.send_request(request));
        let sent = std::future::poll_fn(|cx| {
            poll_connection(&mut driving, cx);
            sending.as_mut().poll(cx)
        });
        match timeout_at(Instant::now() + first, sent).await {
            Err(_) => Err(FailedRequest::TooLate),
            Ok(Err(fault)) if fault.is_canceled() => Err(FailedRequest::NotSent(fault)),
            Ok(Err(fault)) => Err(FailedRequest::NoHead(fault)),
            Ok(Ok(answer)) => {
                let (head, body) = answer.into_parts();
                Ok(HttpAnswer {
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
fn poll_connection(driving: &mut Option<DrivingTask>, cx: &mut Context<'_>) {
    if let Some(connection) = driving
        && connection.as_mut().poll(cx).is_ready()
    {
        *driving = None;
    }
}

impl HttpAnswer {
    /// Whether the head gives the length of the body, so that its end differs from a cut.
    pub fn is_measured(&self) -> bool {
        let chunked = |value: &HeaderValue| value.as_bytes().to_ascii_lowercase().ends_with(b"chunked");
        self.headers.get_all(TRANSFER_ENCODING).iter().any(chunked)
            || self.headers.contains_key(CONTENT_LENGTH)
    }

    /// The beginning of the body without leading whitespace: at least `least` bytes, unless the body ends earlier.
    /// All of it can still be read.
    pub async fn read_begin(&mut self, least: usize, until: Instant) -> Vec<u8> {
        let (mut begin, mut blank) = (Vec::new(), false);
        while begin.len() < least && Instant::now() < until {
            match self.next(until).await {
                BodyPart::Bytes(bytes) => {
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
            self.held.push_front(BodyPart::Bytes(whole.into()));
        }
        begin
    }

    /// The next part. Waits until `until`.
    pub async fn next(&mut self, until: Instant) -> BodyPart {
        if let Some(held) = self.held.pop_front() {
            return held;
        }
        let measured = self.is_measured();
        let frame = std::future::poll_fn(|cx| {
            poll_connection(&mut self.driving, cx);
            loop {
                match Pin::new(&mut self.body).poll_frame(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => {
                        return Poll::Ready(if measured { BodyPart::End } else { BodyPart::Closed });
                    }
                    Poll::Ready(Some(Err(_))) => return Poll::Ready(BodyPart::Cut),
                    // Trailers hold nothing that is needed.
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Ok(bytes) = frame.into_data() {
                            return Poll::Ready(BodyPart::Bytes(bytes));
                        }
                    }
                }
            }
        });
        timeout_at(until, frame).await.unwrap_or(BodyPart::TooLate)
    }
}
