//! One request of the protocol's library, and what its answer means.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http_body_util::Full;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};
use systole_http::{BodyPart, FailedRequest, HttpAnswer, HttpClient};
use tokio::time::Instant;

use super::address::ServerKey;
use super::keys::KeyedServer;
use super::stream::{ServerEvents, into_stream};
use crate::client::wire::show_line;
use crate::limits::{CONNECT, ERROR_BYTES, SHOWN_BYTES, SILENCE, STEP, WHOLE_BYTES};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// A request without a usable answer, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::client) struct HttpFault(String);

type TransportFault = StreamableHttpError<HttpFault>;

/// The client through which every byte comes.
#[derive(Clone)]
pub(in crate::client) struct BoundedHttp {
    client: HttpClient,
    server: Arc<KeyedServer>,
}

impl BoundedHttp {
    /// A client for this server.
    ///
    /// # Errors
    /// If this machine has no TLS.
    pub(in crate::client) fn new(server: KeyedServer) -> Result<BoundedHttp, String> {
        let client =
            HttpClient::new(server.at.roots.clone(), None).map_err(|fault| format!("no TLS: {fault}"))?;
        Ok(BoundedHttp { client, server: Arc::new(server) })
    }

    fn build_fault(&self, words: &str) -> TransportFault {
        TransportFault::Client(HttpFault(format!(
            "{}: {}",
            self.server.at.to.to_text(),
            self.server.hide_key(words)
        )))
    }

    /// Sends a request, and refuses what no server may answer.
    async fn send_request(
        &self,
        method: Method,
        session: Option<&str>,
        further: HashMap<HeaderName, HeaderValue>,
        body: Vec<u8>,
    ) -> Result<HttpAnswer, TransportFault> {
        let accept = if method == Method::GET { EVENTS } else { "application/json, text/event-stream" };
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        let headers = request.headers_mut();
        headers.extend(further);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(session) = session {
            let session = HeaderValue::from_str(session);
            headers.insert(SESSION, session.map_err(|_| self.build_fault("its session id is no header"))?);
        }
        let key = self.server.find_key(None).await.map_err(|words| self.build_fault(&words))?;
        let answer = self.send_with(&request, key.as_ref()).await?;
        if answer.status == StatusCode::UNAUTHORIZED
            && let Some(refused) = &key
        {
            // It did nothing yet, so the same request may go again with a renewed token.
            let renewed =
                self.server.find_key(Some(refused)).await.map_err(|words| self.build_fault(&words))?;
            if let Some(renewed) = renewed {
                let answer = self.send_with(&request, Some(&renewed)).await?;
                return self.judge_status(answer, session, true);
            }
        }
        self.judge_status(answer, session, key.is_some())
    }

    /// Sends a request with that key.
    async fn send_with(
        &self,
        request: &Request<Full<Bytes>>,
        key: Option<&ServerKey>,
    ) -> Result<HttpAnswer, TransportFault> {
        let mut request = request.clone();
        if let Some(key) = key {
            request.headers_mut().insert(AUTHORIZATION, key.sent.clone());
        }
        let answer = self.client.send_request(&self.server.at.to, request, CONNECT, SILENCE).await.map_err(
            |fault| {
                self.build_fault(&match fault {
                    FailedRequest::NoConnection(why) => format!("no connection: {why}"),
                    FailedRequest::NotSent(why) => format!("the connection ended: {why}"),
                    FailedRequest::NoHead(why) => format!("the request was sent, and no answer came: {why}"),
                    FailedRequest::TooLate => "the request was sent, and no answer came in time".to_owned(),
                    FailedRequest::Unwritable(why) => format!("the request cannot be written: {why}"),
                })
            },
        )?;
        Ok(answer)
    }

    /// Refuses what no server may answer.
    fn judge_status(
        &self,
        answer: HttpAnswer,
        session: Option<&str>,
        has_key: bool,
    ) -> Result<HttpAnswer, TransportFault> {
        match answer.status {
            300..=399 => {
                let to = answer.headers.get(LOCATION).map(|to| show_line(to.as_bytes())).unwrap_or_default();
                let words = format!("it redirects to {to:?}, which is not followed; write that address");
                Err(self.build_fault(&words))
            }
            401 => Err(self.build_fault(&format!("it answers 401: {}", self.server.describe_fix(has_key)))),
            403 => {
                let all = answer.headers.get_all(WWW_AUTHENTICATE).iter();
                let missing = all.filter_map(|header| header.to_str().ok()).find_map(find_missing_scope);
                let rights = self.server.describe_rights(missing);
                Err(self.build_fault(&format!("it answers 403: {rights}")))
            }
            404 if session.is_some() => Err(TransportFault::SessionExpired),
            _ => Ok(answer),
        }
    }

    /// The beginning of a body. A key in it is hidden first: a part of one could not be found.
    fn show_body(&self, body: &[u8]) -> String {
        show_line(self.server.hide_key(&String::from_utf8_lossy(body)).as_bytes())
    }

    /// The message of an answer that is an error, or the fault that it is.
    async fn read_error(
        &self,
        mut answer: HttpAnswer,
        id: Option<&RequestId>,
    ) -> Result<StreamableHttpPostResponse, TransportFault> {
        let status = answer.status;
        let body = self.read_whole(&mut answer, ERROR_BYTES, CONNECT).await?;
        if let (Some(id), Ok(ServerJsonRpcMessage::Error(error))) = (id, serde_json::from_slice(&body)) {
            // Some servers cannot name the request that they refuse.
            let error = ServerJsonRpcMessage::error(error.error, Some(id.clone()));
            return Ok(StreamableHttpPostResponse::Json(error, None));
        }
        Err(self.build_fault(&format!("it answers {status}: {}", self.show_body(&body))))
    }

    async fn read_whole(
        &self,
        answer: &mut HttpAnswer,
        most: usize,
        within: Duration,
    ) -> Result<Vec<u8>, TransportFault> {
        let until = Instant::now() + within;
        let mut body = Vec::new();
        loop {
            match answer.next(until).await {
                BodyPart::Bytes(bytes) if body.len() + bytes.len() > most => {
                    return Err(self.build_fault(&format!("its answer has more than {most} bytes")));
                }
                BodyPart::Bytes(bytes) => body.extend_from_slice(&bytes),
                BodyPart::End | BodyPart::Closed => return Ok(body),
                BodyPart::Cut => return Err(self.build_fault("its answer broke off")),
                BodyPart::TooLate => return Err(self.build_fault("its answer did not come to an end")),
            }
        }
    }

    async fn read_success(
        &self,
        mut answer: HttpAnswer,
        id: Option<RequestId>,
    ) -> Result<StreamableHttpPostResponse, TransportFault> {
        if matches!(answer.status, 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !(200..300).contains(&answer.status) {
            return self.read_error(answer, id.as_ref()).await;
        }
        let is_empty = answer.headers.get(CONTENT_LENGTH).is_some_and(|length| length == "0");
        if id.is_none() && is_empty {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let header = |name| answer.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let session = header(SESSION).map(str::to_owned);
        let kind = header(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        match kind.split(';').next().unwrap_or_default().trim() {
            EVENTS => {
                let stream = into_stream(ServerEvents::new(answer, id));
                Ok(StreamableHttpPostResponse::Sse(stream, session))
            }
            JSON => {
                let body = self.read_whole(&mut answer, WHOLE_BYTES, STEP).await?;
                match serde_json::from_slice(&body) {
                    Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
                    Err(_) if id.is_none() => Ok(StreamableHttpPostResponse::Accepted),
                    Err(why) => Err(self.build_fault(&format!(
                        "its answer is no MCP message ({why}): {}",
                        self.show_body(&body)
                    ))),
                }
            }
            other => Err(self.build_fault(&format!(
                "its answer is neither JSON nor events, but {:?}; is this the address of an MCP server?",
                show_line(other.as_bytes())
            ))),
        }
    }
}

/// The rights that a login lacks, as the server says it in its challenge.
fn find_missing_scope(challenge: &str) -> Option<&str> {
    let scope = challenge.split_once("scope=\"")?.1.split_once('"')?.0;
    let is_plain = |sign: char| sign.is_ascii_graphic() || sign == ' ';
    (challenge.contains("insufficient_scope") && scope.len() <= SHOWN_BYTES && scope.chars().all(is_plain))
        .then_some(scope)
}

impl StreamableHttpClient for BoundedHttp {
    type Error = HttpFault;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _key: Option<String>,
        further: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, TransportFault> {
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let body = serde_json::to_vec(&message)?;
        let answer = self.send_request(Method::POST, session.as_deref(), further, body).await?;
        self.read_success(answer, id).await
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session: Arc<str>,
        _key: Option<String>,
        further: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), TransportFault> {
        self.send_request(Method::DELETE, Some(&session), further, Vec::new()).await.map(drop)
    }

    /// The stream of what the server says unasked. A stream that broke off is not resumed, so that no event is asked for
    /// again.
    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        _last_event: Option<String>,
        _key: Option<String>,
        further: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, TransportFault> {
        let answer = self.send_request(Method::GET, session.as_deref(), further, Vec::new()).await?;
        let kind = answer.headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes().to_ascii_lowercase());
        if answer.status == 200 && kind.is_some_and(|kind| kind.starts_with(EVENTS.as_bytes())) {
            return Ok(into_stream(ServerEvents::new(answer, None)));
        }
        if answer.status >= 500 {
            let words = format!("it answers {} to the request for its events", answer.status);
            return Err(TransportFault::UnexpectedServerResponse(Cow::Owned(words)));
        }
        Err(TransportFault::ServerDoesNotSupportSse)
    }
}
