//! The HTTP client with which `systole mcp` and `systole acp` pass messages of their host on to a door. It blocks, follows
//! no proxy, reads only the few fields of a message that its headers repeat, and never shows the credential.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio::time::Instant;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body, BodyReader};

use super::client::build_local_agent;
use systole_organism::runfile::Credential;

/// The header of a message that was posted before: how many milliseconds ago for the first time.
const AGAIN: &str = "acp-again";

/// A door to which messages are passed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PipedDoor {
    /// For hosts of models.
    Mcp,
    /// For editors.
    Acp,
}

impl PipedDoor {
    /// Its path.
    const fn path(self) -> &'static str {
        match self {
            PipedDoor::Mcp => "/mcp",
            PipedDoor::Acp => "/acp",
        }
    }

    /// The header with the name of a session.
    const fn session_header(self) -> &'static str {
        match self {
            PipedDoor::Mcp => "mcp-session-id",
            PipedDoor::Acp => "acp-session",
        }
    }

    /// Whether a message whose answer breaks off is posted again, for the rest.
    pub const fn resumes(self) -> bool {
        matches!(self, PipedDoor::Acp)
    }
}

/// A door of an organism on this machine.
#[derive(Clone)]
pub struct PipeClient {
    door: PipedDoor,
    agent: Agent,
    url: String,
    authorization: String,
    session: String,
}

/// What goes with a message that may be posted again.
#[derive(Clone, Default)]
pub struct PostPlace {
    /// Its key, which is the same each time.
    pub key: Option<String>,
    /// The id of the last event of its answer that came.
    pub last: Option<String>,
    /// When it was posted for the first time, if it is posted again.
    pub first: Option<Instant>,
}

/// What the door sends back.
pub enum DoorAnswer {
    /// Nothing: the message was a notification.
    Nothing,
    /// One message.
    Whole(String),
    /// Messages as they come.
    Stream(AnswerStream),
    /// The door refused the request, in words.
    Refused(String),
}

/// Why the door answers nothing.
#[derive(Debug)]
pub struct NoDoorAnswer {
    /// Whether nothing listens at the address, so that no organism had the message.
    pub is_unsent: bool,
    /// Whether its process runs, but does not answer.
    pub is_silent: bool,
    /// Whether an organism answers that does not know the token. One that was started again has drawn another.
    pub is_locked: bool,
    /// The operating system's error.
    pub words: String,
}

impl NoDoorAnswer {
    fn from_error(error: ureq::Error) -> NoDoorAnswer {
        let is_unsent = match &error {
            ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
            other => matches!(other, ureq::Error::ConnectionFailed),
        };
        let is_silent = matches!(error, ureq::Error::Timeout(_));
        NoDoorAnswer { is_unsent, is_silent, is_locked: false, words: error.to_string() }
    }
}

impl PipeClient {
    /// The client of a door. The session tells its requests apart from those of other programs.
    pub fn new(door: PipedDoor, address: SocketAddr, token: &Credential, session: String) -> PipeClient {
        PipeClient {
            door,
            agent: build_local_agent(),
            url: format!("http://{address}{}", door.path()),
            authorization: format!("Bearer {}", token.secret()),
            session,
        }
    }

    /// The same door of an organism that was started again, in the session of this one.
    pub fn go_on_at(&mut self, found: PipeClient) {
        *self = PipeClient { session: std::mem::take(&mut self.session), ..found };
    }

    /// The door.
    pub fn door(&self) -> PipedDoor {
        self.door
    }

    /// Passes a message on.
    pub fn post_message(&mut self, message: &str, place: &PostPlace) -> Result<DoorAnswer, NoDoorAnswer> {
        let mut request = self
            .agent
            .post(&self.url)
            .header("authorization", &self.authorization)
            .header("accept", "application/json, text/event-stream")
            .header(self.door.session_header(), &self.session)
            .header("expect", "100-continue")
            .content_type("application/json");
        if self.door == PipedDoor::Mcp {
            for (name, value) in repeat_headers(message) {
                request = request.header(name, value);
            }
        }
        let again = place.first.map(|first| first.elapsed().as_millis().to_string());
        let fields = [
            ("idempotency-key", place.key.as_deref()),
            ("last-event-id", place.last.as_deref()),
            (AGAIN, again.as_deref()),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let response = request.send(message).map_err(NoDoorAnswer::from_error)?;
        // A handshake may name the session anew.
        if let Some(session) =
            response.headers().get(self.door.session_header()).and_then(|session| session.to_str().ok())
        {
            session.clone_into(&mut self.session);
        }
        let status = response.status();
        match read_answer(response).map_err(NoDoorAnswer::from_error)? {
            DoorAnswer::Refused(words) if status == StatusCode::UNAUTHORIZED => {
                Err(NoDoorAnswer { is_unsent: true, is_silent: false, is_locked: true, words })
            }
            answer => Ok(answer),
        }
    }
}

/// The headers that repeat what the message says.
fn repeat_headers(message: &str) -> Vec<(&'static str, String)> {
    // A message that is not JSON is refused by the door, in its words.
    let message: Value = serde_json::from_str(message).unwrap_or_default();
    let said = |path: &str| message.pointer(path).and_then(Value::as_str);
    let version = said("/params/_meta/io.modelcontextprotocol~1protocolVersion");
    let name = ["/params/taskId", "/params/name", "/params/uri"].into_iter().find_map(said);
    let fields = [("mcp-protocol-version", version), ("mcp-method", said("/method")), ("mcp-name", name)];
    let shown = |text: &str| match text.bytes().all(|b| b.is_ascii_graphic()) && text.len() <= 1024 {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    };
    // Without a version the message is of the older revision, which has no such headers.
    let fields = fields.into_iter().filter(|_| version.is_some());
    // What is too long for a header is left out, and refused by the door.
    let fields = fields.filter_map(|(name, value)| Some((name, shown(value?))));
    fields.filter(|(_, value)| value.len() <= crate::limits::HEADER_BYTES).collect()
}

fn read_answer(mut response: Response<Body>) -> Result<DoorAnswer, ureq::Error> {
    let kind = response.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        return Ok(DoorAnswer::Stream(AnswerStream(BufReader::new(response.into_body().into_reader()))));
    }
    let status = response.status();
    let mut text = String::new();
    response
        .body_mut()
        .as_reader()
        .take(crate::limits::REMOTE_BYTES)
        .read_to_string(&mut text)
        .map_err(ureq::Error::from)?;
    if text.is_empty() && status.is_success() {
        return Ok(DoorAnswer::Nothing);
    }
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    if value.get("jsonrpc").is_some() {
        return Ok(DoorAnswer::Whole(text));
    }
    let words = value
        .get("message")
        .and_then(Value::as_str)
        .map_or_else(|| format!("the door answered {status}"), str::to_owned);
    Ok(DoorAnswer::Refused(words))
}

/// An event of a stream. Without a message it only says how far its reader is.
#[derive(Default)]
pub struct PipedEvent {
    /// Its id.
    pub id: Option<String>,
    /// The message.
    pub message: Option<String>,
}

/// The messages of a stream.
pub struct AnswerStream(BufReader<BodyReader<'static>>);

impl Iterator for AnswerStream {
    type Item = Result<PipedEvent, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut line, mut event) = (String::new(), PipedEvent::default());
        loop {
            line.clear();
            match self.0.read_line(&mut line) {
                // What has no end did not come.
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(error.to_string())),
            }
            if let Some(message) = line.strip_prefix("data:") {
                event.message = Some(message.trim().to_owned());
            } else if let Some(id) = line.strip_prefix("id:") {
                event.id = Some(id.trim().to_owned());
            } else if line.trim().is_empty() && (event.id.is_some() || event.message.is_some()) {
                return Some(Ok(event));
            }
        }
    }
}
