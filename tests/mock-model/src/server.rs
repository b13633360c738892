//! The server: a thread with a separate runtime, which ends with it. Nothing here outlives `stop`. Tests with and
//! without a runtime can use it.
//!
//! In: a script and the rules. Out: answers, and the requests.

use std::fs::File;
use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use futures_core::Stream as _;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use crate::asked::{Asked, Rules, Wanted};
use crate::form::Form;
use crate::ledger::{AnswerEnd, Entry, Ledger, RequestCounts, SeenRequest, Ticket};
use crate::pace::{Pace, Steps};
use crate::refusal::Refusal;
use crate::reply::Reply;
use crate::script::{ErrorType, Fault, MockScript};
use crate::speech::Speech;
use crate::turn::{Frame, Frames, Turn};
use crate::wire::{Door, Scissors};

/// The longest body that is read: far more than any token window.
const LONGEST: usize = 64 * 1024 * 1024;

/// Bytes that match no provider's form.
const GARBAGE: &[u8] = b"data: {\"choices\":[{\"delta\":\xff\xfe\x00 }}]<<<\n\n{\"done\":tru";

/// The options of the mock.
#[derive(Clone, Debug)]
pub struct MockOptions {
    /// The address to listen on. Port 0 selects a free one.
    pub listen: SocketAddr,
    /// The most tokens of a request. Without a number there is no limit.
    pub window: Option<u64>,
    /// The only valid key. Without one, any key is valid.
    pub key: Option<String>,
    /// The existing models. If empty: those of the script's lists, or all if it has one list.
    pub models: Vec<String>,
    /// A file to which each request is appended, as a line of JSON.
    pub log: Option<PathBuf>,
}

impl Default for MockOptions {
    fn default() -> MockOptions {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        MockOptions { listen, window: None, key: None, models: Vec::new(), log: None }
    }
}

/// Why the mock cannot start.
#[derive(Debug, thiserror::Error)]
pub enum MockStartFault {
    /// The address is not available.
    #[error("{address}: {error}; another `listen`, or port 0 for one that is free")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The operating system's error.
        error: io::Error,
    },
    /// The file for requests cannot be written.
    #[error("{}: {error}; another `log`", path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
    /// The operating system provides no thread, or no runtime for it.
    #[error("no thread for the mock: {0}")]
    Thread(io::Error),
}

/// A running mock. Dropping it stops it.
#[derive(Debug)]
pub struct MockModel {
    address: SocketAddr,
    ledger: Arc<Ledger>,
    go: watch::Sender<bool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Debug)]
struct MockState {
    ledger: Arc<Ledger>,
    rules: Arc<Rules>,
    go: watch::Sender<bool>,
}

impl MockModel {
    /// Starts a mock. It listens when this returns.
    pub fn start(script: MockScript, options: MockOptions) -> Result<MockModel, MockStartFault> {
        let file = match options.log {
            None => None,
            Some(path) => match File::options().create(true).append(true).open(&path) {
                Ok(file) => Some((path, file)),
                Err(error) => return Err(MockStartFault::Log { path, error }),
            },
        };
        let scripted = script.models().map(|models| models.into_iter().map(str::to_owned).collect());
        let models = if options.models.is_empty() { scripted } else { Some(options.models) };
        let rules = Rules { key: options.key, models, window: options.window };
        let refused = |error| MockStartFault::Address { address: options.listen, error };
        let listener = std::net::TcpListener::bind(options.listen).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(MockStartFault::Thread)?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener).map_err(refused)?
        };
        let ledger = Arc::new(Ledger::new(script, file));
        let go = watch::Sender::new(false);
        let house = MockState { ledger: ledger.clone(), rules: Arc::new(rules), go: go.clone() };
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            runtime.block_on(serve(Door(listener), house, stopped));
            // This also drops every open connection.
            drop(runtime);
        };
        let thread = std::thread::Builder::new().name("mock-model".to_owned()).spawn(work);
        let thread = Some(thread.map_err(MockStartFault::Thread)?);
        Ok(MockModel { address, ledger, go, stop: Some(stop), thread })
    }

    /// Its address, such as `http://127.0.0.1:41233`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, in order.
    pub fn seen(&self) -> Vec<SeenRequest> {
        self.ledger.seen()
    }

    /// The counts so far.
    pub fn count(&self) -> RequestCounts {
        self.ledger.count()
    }

    /// Releases everything that the script holds, from now on.
    pub fn release(&self) {
        self.go.send_replace(true);
    }

    /// Waits until the requests are as `wanted` says, and returns them. After `patience`, they are returned as an
    /// error.
    pub fn wait(
        &self,
        patience: Duration,
        wanted: impl Fn(&[SeenRequest]) -> bool,
    ) -> Result<Vec<SeenRequest>, Vec<SeenRequest>> {
        self.ledger.wait(patience, wanted)
    }

    /// Stops the mock: closes every connection, and returns the requests.
    pub fn stop(mut self) -> Vec<SeenRequest> {
        self.end();
        self.ledger.seen()
    }

    fn end(&mut self) {
        self.ledger.stopping();
        if let Some(stop) = self.stop.take() {
            // The thread may have ended already, which is fine.
            let _gone = stop.send(());
        }
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            #[expect(clippy::panic, reason = "the thread has panicked, and its test must not pass")]
            {
                panic!("the mock has panicked");
            }
        }
    }
}

impl Drop for MockModel {
    fn drop(&mut self) {
        self.end();
    }
}

async fn serve(door: Door, house: MockState, stopped: oneshot::Receiver<()>) {
    let router = Router::new().fallback(answer).with_state(house);
    let service = router.into_make_service_with_connect_info::<Scissors>();
    let mut serving = std::pin::pin!(axum::serve(door, service).into_future());
    let mut stopped = std::pin::pin!(stopped);
    // Ends with the first of the two; the server never ends by itself. Dropping the mock is also an order to stop.
    std::future::poll_fn(|task| {
        if serving.as_mut().poll(task).is_ready() || stopped.as_mut().poll(task).is_ready() {
            return std::task::Poll::Ready(());
        }
        std::task::Poll::Pending
    })
    .await;
}

async fn answer(
    State(house): State<MockState>,
    ConnectInfo(scissors): ConnectInfo<Scissors>,
    request: Request,
) -> Response {
    match request.uri().path() {
        "/seen" => return told(serde_json::to_string(&house.ledger.seen())),
        "/release" if request.method() == Method::POST => {
            house.go.send_replace(true);
            return told(Ok("{}".to_owned()));
        }
        "/count" => return told(serde_json::to_string(&house.ledger.count())),
        _ => {}
    }
    let (head, body) = request.into_parts();
    let (body, fits) = match read(body).await {
        Ok(read) => read,
        // A client that breaks off in the middle of a request has made no request, and no one receives an answer.
        Err(_gone) => return Response::new(Body::empty()),
    };
    let asked = Asked { method: head.method, uri: head.uri, headers: head.headers, body };
    let form = Form::of(&asked);
    let judged = if fits {
        form.judge(&asked, &house.rules)
    } else {
        Err(Refusal::new(413, "Request exceeds the maximum size"))
    };
    let Entry { number, outcome, ticket } = house.ledger.enter(&asked, judged);
    let written = match outcome {
        Ok((wanted, reply)) => Written::of(form, &asked, number, wanted, &reply),
        Err(refusal) => Written::refusal(form, &asked, number, &refusal),
    };
    written.send(form, number, (ticket, scissors, house.go.subscribe()))
}

/// The body of a request, and whether it is within the limit. A longer body is still read to its end, so that the
/// client receives the refusal.
async fn read(body: Body) -> Result<(Bytes, bool), axum::Error> {
    let (mut body, mut whole, mut fits) = (body.into_data_stream(), Vec::new(), true);
    while let Some(part) = std::future::poll_fn(|task| Pin::new(&mut body).poll_next(task)).await {
        let part = part?;
        fits &= whole.len().saturating_add(part.len()) <= LONGEST;
        if fits {
            whole.extend_from_slice(&part);
        }
    }
    Ok((Bytes::from(if fits { whole } else { Vec::new() }), fits))
}

/// A report of the mock about itself.
fn told(json: serde_json::Result<String>) -> Response {
    let (status, body) = match json {
        Ok(json) => (StatusCode::OK, json),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer before it is sent.
struct Written {
    status: u16,
    media_type: Option<String>,
    retry_after: Option<String>,
    /// The length, if it is known and announced.
    length: Option<usize>,
    frames: Frames,
    pace: Pace,
}

impl Written {
    /// An answer with fixed bytes.
    fn fixed(status: u16, media_type: Option<&str>, bytes: Vec<u8>) -> Written {
        Written {
            status,
            media_type: media_type.map(str::to_owned),
            retry_after: None,
            length: Some(bytes.len()),
            frames: Box::new(std::iter::once(Frame::end(bytes))),
            pace: Pace::default(),
        }
    }

    fn refusal(form: Form, asked: &Asked, number: u64, refusal: &Refusal) -> Written {
        let body = form.refused(refusal, number, asked).into_bytes();
        Written::fixed(refusal.status, Some(form.refusal_type(refusal)), body)
    }

    fn of(form: Form, asked: &Asked, number: u64, wanted: Wanted, reply: &Reply) -> Written {
        let mode = wanted.mode;
        let mut written = if let Some(fault) = &reply.error {
            Written::fault(form, asked, number, fault)
        } else if reply.html {
            Written::fixed(500, Some("text/html"), page(500, ""))
        } else if reply.garbage {
            Written::fixed(200, Some(form.media_type(mode)), GARBAGE.to_vec())
        } else {
            let turn = Turn::of(
                reply,
                number,
                wanted.model,
                wanted.input,
                wanted.tells_usage,
                wanted.schema.as_ref(),
            );
            let frames = form.answer(&turn, mode);
            let (pace, media_type) = (Pace::default(), Some(form.media_type(mode).to_owned()));
            Written { status: 200, media_type, retry_after: None, length: None, frames, pace }
        };
        written.pace = Pace::of(reply);
        if written.pace.cut.is_some() || written.pace.hangs {
            written.length = None;
        }
        if let Some(media_type) = &reply.content_type {
            written.media_type = Some(media_type.0.clone());
        }
        written
    }

    fn fault(form: Form, asked: &Asked, number: u64, fault: &Fault) -> Written {
        let status = fault.status.0;
        let mut refusal = Refusal::of_status(status);
        if let Some(words) = &fault.body {
            refusal.message.clone_from(words);
        }
        let mut written = match fault.form {
            ErrorType::Json => Written::refusal(form, asked, number, &refusal),
            ErrorType::Html => Written::fixed(
                status,
                Some("text/html"),
                page(status, fault.body.as_deref().unwrap_or_default()),
            ),
            ErrorType::None => Written::fixed(status, None, Vec::new()),
        };
        written.retry_after = fault.retry_after.as_ref().map(|after| after.0.clone());
        written
    }

    fn send(
        self,
        form: Form,
        number: u64,
        (mut ticket, scissors, go): (Ticket, Scissors, watch::Receiver<bool>),
    ) -> Response {
        if self.length == Some(0) {
            // A body known to be empty is never polled.
            ticket.end = AnswerEnd::Sent;
        }
        let speech = Speech::new(Steps::new(self.frames, self.pace), ticket, scissors, go);
        let mut response = Response::new(Body::from_stream(speech));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut put = |name: HeaderName, value: &str| {
            // Every value comes from a checked script or is made here.
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(name, value);
            }
        };
        if let Some(media_type) = &self.media_type {
            put(header::CONTENT_TYPE, media_type);
        }
        if let Some(after) = &self.retry_after {
            put(header::RETRY_AFTER, after);
        }
        if let Some(length) = self.length {
            put(header::CONTENT_LENGTH, &length.to_string());
        }
        if let Some(name) = form.request_id() {
            put(HeaderName::from_static(name), &format!("req_mock{number:06}"));
        }
        response
    }
}

/// A page like that of a proxy in front of a provider.
fn page(status: u16, words: &str) -> Vec<u8> {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let title = format!("{status} {}", reason.unwrap_or("Error"));
    let words = if words.is_empty() { &title } else { words };
    format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{words}</h1></center>\r\n\
         <hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
    .into_bytes()
}
