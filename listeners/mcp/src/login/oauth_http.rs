//! The client for the requests of a login. It follows no redirect, reads no long answer, speaks in the clear with this
//! machine alone, and asks no machine of the own network unless the MCP server is there itself. It makes a few requests,
//! within one time: a server names others to ask.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, StatusCode};
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use systole_http::{BodyPart, HttpAddress, HttpClient};
use tokio::time::{Instant, timeout_at};

use crate::client::{ServerAddress, is_here};
use crate::limits::{CONNECT, LOGIN_BYTES, LOGIN_REQUESTS, LOGIN_STEPS, STEP};

/// The client.
pub(super) struct LoginHttp {
    client: HttpClient,
    course: Mutex<LoginCourse>,
}

/// How the requests of some steps went.
struct LoginCourse {
    left: usize,
    until: Instant,
    /// Why the last request that had no answer of use had none.
    fault: Option<String>,
    /// The last place where something was found.
    found_at: Option<(bool, String)>,
}

impl LoginCourse {
    fn new() -> LoginCourse {
        LoginCourse { left: LOGIN_REQUESTS, until: Instant::now() + LOGIN_STEPS, fault: None, found_at: None }
    }
}

impl LoginHttp {
    /// A client for the login at a server.
    ///
    /// # Errors
    /// If this machine has no TLS.
    pub(super) fn new(at: &ServerAddress, is_private: bool) -> Result<LoginHttp, String> {
        let client = HttpClient::new(at.roots.clone(), None).map_err(|fault| format!("no TLS: {fault}"))?;
        let client = if is_private { client } else { client.with_public_only() };
        Ok(LoginHttp { client, course: Mutex::new(LoginCourse::new()) })
    }

    fn lock_course(&self) -> MutexGuard<'_, LoginCourse> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins further steps: a person took her time before them.
    pub(super) fn begin_steps(&self) {
        *self.lock_course() = LoginCourse::new();
    }

    /// Why the last request that had no answer of use had none.
    pub(super) fn take_fault(&self) -> Option<String> {
        self.lock_course().fault.take()
    }

    /// Whether something was found last at the host of that address.
    pub(super) fn has_found_at(&self, address: &str) -> bool {
        let named = HttpAddress::parse(address).ok().map(|at| (at.tls(), at.to_text()));
        named.is_some() && named == self.lock_course().found_at
    }

    async fn answer(&self, asked: OAuthHttpRequest) -> Result<oauth2::HttpResponse, String> {
        let until = {
            let mut course = self.lock_course();
            course.left = course.left.checked_sub(1).ok_or("the servers name too many others to ask")?;
            course.until.min(Instant::now() + STEP)
        };
        let (head, body) = asked.request.into_parts();
        let to = HttpAddress::parse(&head.uri.to_string())?;
        if !to.tls() && !is_here(to.host()) {
            return Err(format!("{}: http:// is only for this machine itself", to.to_text()));
        }
        let is_question = head.method == Method::GET;
        let place = (to.tls(), to.to_text());
        let to = to.with_path(head.uri.path());
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = head.method;
        *request.headers_mut() = head.headers;
        let late = |_| format!("{}: no whole answer came in time", place.1);
        let sent = timeout_at(until, self.client.send_request(&to, request, CONNECT, STEP)).await;
        let mut answer = sent.map_err(late)?.map_err(|fault| fault.describe(&to))?;
        let mut body = Vec::new();
        loop {
            match answer.next(until).await {
                BodyPart::Bytes(bytes) if body.len() + bytes.len() > LOGIN_BYTES => {
                    return Err(format!("the answer has more than {LOGIN_BYTES} bytes"));
                }
                BodyPart::Bytes(bytes) => body.extend_from_slice(&bytes),
                BodyPart::End | BodyPart::Closed => break,
                BodyPart::Cut => return Err("the answer broke off".to_owned()),
                BodyPart::TooLate => return Err(format!("{}: no whole answer came in time", place.1)),
            }
        }
        let status = StatusCode::from_u16(answer.status).map_err(|fault| fault.to_string())?;
        let mut course = self.lock_course();
        if status.is_redirection() {
            course.fault = Some(format!("{} redirects, which is not followed", place.1));
        } else if status.is_server_error() {
            course.fault = Some(format!("{} answers {}", place.1, status.as_u16()));
        } else if status.is_success() && is_question {
            course.found_at = Some(place);
        }
        drop(course);
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
                self.lock_course().fault = Some(words.clone());
                OAuthHttpClientError::from(words)
            })
        })
    }
}
