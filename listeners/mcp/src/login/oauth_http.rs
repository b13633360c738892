//! The client for the requests of a login. It follows no redirect, reads no long answer, speaks in the clear with this
//! machine alone, and asks no machine of the own network unless the MCP server is there itself.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, StatusCode};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use systole_http::{BodyPart, HttpAddress, HttpClient, is_public};
use tokio::net::lookup_host;
use tokio::time::Instant;

use crate::client::{ServerAddress, is_here};
use crate::limits::{CONNECT, LOGIN_BYTES, STEP};

/// The client.
pub(super) struct LoginHttp {
    client: HttpClient,
    /// Why the last request that had no answer of use had none.
    fault: Mutex<Option<String>>,
}

impl LoginHttp {
    /// A client for the login at a server.
    ///
    /// # Errors
    /// If this machine has no TLS.
    pub(super) async fn new(at: &ServerAddress) -> Result<LoginHttp, String> {
        let client = HttpClient::new(at.roots.clone(), None).map_err(|fault| format!("no TLS: {fault}"))?;
        let own = lookup_host((at.to.host(), 0)).await.map(|found| found.map(|found| found.ip()).collect());
        let own: Vec<_> = own.unwrap_or_default();
        let is_private = !own.is_empty() && !own.into_iter().any(is_public);
        let client = if is_private { client } else { client.with_public_only() };
        Ok(LoginHttp { client, fault: Mutex::default() })
    }

    /// Why the last request that had no answer of use had none.
    pub(super) fn take_fault(&self) -> Option<String> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note_fault(&self, words: String) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    }

    async fn answer(&self, asked: OAuthHttpRequest) -> Result<oauth2::HttpResponse, String> {
        let most = asked.timeout.unwrap_or(STEP).min(STEP);
        let (head, body) = asked.request.into_parts();
        let to = HttpAddress::parse(&head.uri.to_string())?;
        if !to.tls() && !is_here(to.host()) {
            return Err(format!("{}: http:// is only for this machine itself", to.to_text()));
        }
        let to = to.with_path(head.uri.path());
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = head.method;
        *request.headers_mut() = head.headers;
        let until = Instant::now() + most;
        let sent = self.client.send_request(&to, request, CONNECT, most).await;
        let mut answer = sent.map_err(|fault| fault.describe(&to))?;
        let mut body = Vec::new();
        loop {
            match answer.next(until).await {
                BodyPart::Bytes(bytes) if body.len() + bytes.len() > LOGIN_BYTES => {
                    return Err(format!("the answer has more than {LOGIN_BYTES} bytes"));
                }
                BodyPart::Bytes(bytes) => body.extend_from_slice(&bytes),
                BodyPart::End | BodyPart::Closed => break,
                BodyPart::Cut => return Err("the answer broke off".to_owned()),
                BodyPart::TooLate => {
                    return Err(format!("no whole answer came within {} s", most.as_secs()));
                }
            }
        }
        let named = to.to_text();
        let status = StatusCode::from_u16(answer.status).map_err(|fault| fault.to_string())?;
        if status.is_redirection() {
            self.note_fault(format!("{named} redirects, which is not followed"));
        } else if status.is_server_error() {
            self.note_fault(format!("{named} answers {}", status.as_u16()));
        }
        let mut whole = oauth2::http::Response::builder().status(status);
        if let Some(headers) = whole.headers_mut() {
            *headers = answer.headers;
        }
        whole.body(body).map_err(|fault| fault.to_string())
    }
}

impl OAuthHttpClient for LoginHttp {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            self.take_fault();
            let answered = self.answer(asked).await;
            answered.map_err(|words| {
                self.note_fault(words.clone());
                OAuthHttpClientError::from(words)
            })
        })
    }
}
