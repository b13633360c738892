//! The HTTP client with which a command reaches an organism that runs elsewhere on this machine. It blocks, keeps no
//! state, follows no proxy, and never shows the credential.

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body, BodyReader};

use super::api_types;
use crate::runtime::runfile::RunFile;

/// How long the organism may take to begin its answer: it answers after a commit, or with a refusal.
const ANSWER: Duration = Duration::from_secs(60);
/// How long a connection to our own machine may take.
const CONNECT: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum DoorClientFault {
    /// Nothing answers at the address.
    #[error("nothing answers at {address}: {words}")]
    Unreachable {
        /// The address.
        address: String,
        /// The operating system's error.
        words: String,
    },
    /// Something other than an organism answers.
    #[error("{address} answered {status}, so it is not an organism: {words}")]
    Strange {
        /// The address.
        address: String,
        /// The status.
        status: u16,
        /// The mismatch.
        words: String,
    },
    /// An organism answers, but it cannot read its log any further.
    #[error("the log cannot be read: {words}")]
    Broken {
        /// Why.
        words: String,
    },
    /// The time ran out.
    #[error("nothing more came in time")]
    TooLate,
}

/// The organism's decision.
pub type DoorResult<T> = Result<Result<T, Box<api_types::ApiRefusal>>, DoorClientFault>;

/// A message to send.
pub struct OutgoingMessage<'a> {
    /// Its idempotency key.
    pub key: &'a str,
    /// The receiver.
    pub to: Option<&'a str>,
    /// The thread that it continues.
    pub thread: Option<&'a str>,
    /// The bytes.
    pub document: &'a [u8],
}

/// A running organism, for a command.
pub struct DoorClient {
    agent: Agent,
    address: String,
    authorization: String,
}

/// What sends requests to an organism on this machine.
pub(super) fn agent_of_this_machine() -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        // Requests to this machine go there directly, regardless of proxy variables.
        .proxy(None)
        .timeout_connect(Some(CONNECT))
        .timeout_recv_response(Some(ANSWER))
        .build();
    Agent::new_with_config(config)
}

impl DoorClient {
    /// The client of the organism in a run file.
    pub fn of(run: &RunFile) -> DoorClient {
        let authorization = format!("Bearer {}", run.token.secret());
        DoorClient { agent: agent_of_this_machine(), address: run.address.to_string(), authorization }
    }

    /// Sends a message.
    pub fn send(&self, letter: &OutgoingMessage<'_>) -> DoorResult<api_types::ApiReceipt> {
        let mut request = self
            .agent
            .post(self.url("/v1/messages"))
            .header("authorization", &self.authorization)
            .header("idempotency-key", letter.key)
            // The door refuses an oversized message by its announced length and closes. A client that was still
            // writing would lose the refusal with the connection.
            .header("expect", "100-continue")
            .content_type("application/xml");
        for (name, value) in [("to", letter.to), ("thread", letter.thread)] {
            if let Some(value) = value {
                request = request.query(name, value);
            }
        }
        self.decided(request.send(letter.document), StatusCode::ACCEPTED)
    }

    /// Ends a thread.
    pub fn cancel(&self, thread: &str) -> DoorResult<api_types::ThreadCancelled> {
        let url = self.url(&format!("/v1/threads/{thread}/cancel"));
        let request = self.agent.post(url).header("authorization", &self.authorization);
        self.decided(request.send_empty(), StatusCode::OK)
    }

    /// Decides a request that waits for a person.
    pub fn rule(
        &self,
        approval: &str,
        ruling: &api_types::ApiRuling,
    ) -> DoorResult<api_types::DecisionAccepted> {
        let url = self.url(&format!("/v1/approvals/{approval}"));
        let request = self.agent.post(url).header("authorization", &self.authorization);
        let body = serde_json::to_vec(ruling).unwrap_or_default();
        self.decided(request.content_type("application/json").send(&body[..]), StatusCode::OK)
    }

    /// Pauses or resumes a thread, or everything.
    pub fn steer(
        &self,
        thread: Option<&str>,
        halts: bool,
        note: Option<&str>,
    ) -> DoorResult<api_types::PauseChanged> {
        let order = if halts { "/pause" } else { "/resume" };
        let path = match thread {
            Some(thread) => format!("/v1/threads/{thread}{order}"),
            None => format!("/v1{order}"),
        };
        let mut request = self.agent.post(self.url(&path)).header("authorization", &self.authorization);
        if let Some(note) = note {
            request = request.query("note", note);
        }
        self.decided(request.send_empty(), StatusCode::OK)
    }

    /// Ends a root at rest.
    pub fn end(&self, thread: &str) -> DoorResult<api_types::ThreadEnded> {
        let url = self.url(&format!("/v1/threads/{thread}/end"));
        let request = self.agent.post(url).header("authorization", &self.authorization);
        self.decided(request.send_empty(), StatusCode::OK)
    }

    /// The status of the organism.
    pub fn status(&self) -> DoorResult<api_types::OrganismStatus> {
        let request = self.agent.get(self.url("/v1/status")).header("authorization", &self.authorization);
        self.decided(request.call(), StatusCode::OK)
    }

    /// A code with which a browser signs in to the console as this client.
    pub fn session_code(&self) -> DoorResult<api_types::SignInCode> {
        let url = self.url("/v1/session-codes");
        let request = self.agent.post(url).header("authorization", &self.authorization);
        self.decided(request.send_empty(), StatusCode::CREATED)
    }

    /// The number of NATS workers for each listener.
    pub fn workers(&self) -> DoorResult<api_types::Workers> {
        let request = self.agent.get(self.url("/v1/workers")).header("authorization", &self.authorization);
        self.decided(request.call(), StatusCode::OK)
    }

    /// The records of a thread and those below it after a position, as they are written. With `within`, for at most
    /// that long.
    pub fn events(
        &self,
        after: u64,
        thread: &str,
        within: Option<Duration>,
    ) -> Result<RecordEvents, DoorClientFault> {
        Ok(RecordEvents(self.stream(after, thread, false, within)?))
    }

    /// The same, with what listeners report while they work.
    pub fn voices(
        &self,
        after: u64,
        thread: &str,
        within: Option<Duration>,
    ) -> Result<VoiceEvents, DoorClientFault> {
        Ok(VoiceEvents(self.stream(after, thread, true, within)?))
    }

    fn stream(
        &self,
        after: u64,
        thread: &str,
        voice: bool,
        within: Option<Duration>,
    ) -> Result<Frames, DoorClientFault> {
        let voice = voice.then_some(("voice", "true"));
        let request = self
            .agent
            .get(self.url("/v1/events"))
            .header("authorization", &self.authorization)
            .query("from", after.to_string())
            .query("thread", thread)
            .query_pairs(voice)
            .config()
            .timeout_recv_body(within)
            .build();
        let response = request.call().map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(self.strange(status, "it sends no events"));
        }
        let lines = BufReader::new(response.into_body().into_reader());
        Ok(Frames { lines, address: self.address.clone() })
    }

    fn decided<T: serde::de::DeserializeOwned>(
        &self,
        answered: Result<Response<Body>, ureq::Error>,
        good: StatusCode,
    ) -> DoorResult<T> {
        let mut response = answered.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let text = response.body_mut().read_to_string().map_err(|error| self.unreachable(&error))?;
        let strange = |error: serde_json::Error| self.strange(status, &error.to_string());
        if status == good {
            return serde_json::from_str(&text).map(Ok).map_err(strange);
        }
        serde_json::from_str(&text).map(|refusal| Err(Box::new(refusal))).map_err(strange)
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn unreachable(&self, error: &ureq::Error) -> DoorClientFault {
        DoorClientFault::Unreachable { address: self.address.clone(), words: error.to_string() }
    }

    fn strange(&self, status: StatusCode, words: &str) -> DoorClientFault {
        DoorClientFault::Strange {
            address: self.address.clone(),
            status: status.as_u16(),
            words: words.to_owned(),
        }
    }
}

/// Records as they are written. It ends when the organism stops.
pub struct RecordEvents(Frames);

impl Iterator for RecordEvents {
    type Item = Result<api_types::ApiRecord, DoorClientFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next()? {
                Ok(api_types::FollowerEvent::Record(record)) => return Some(Ok(*record)),
                Ok(api_types::FollowerEvent::Spoken(_)) => {}
                Err(unheard) => return Some(Err(unheard)),
            }
        }
    }
}

/// Records and listener output as they come. It ends when the organism stops.
pub struct VoiceEvents(Frames);

impl Iterator for VoiceEvents {
    type Item = Result<api_types::FollowerEvent, DoorClientFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

/// Events of the HTTP stream.
struct Frames {
    lines: BufReader<BodyReader<'static>>,
    address: String,
}

impl Frames {
    fn next(&mut self) -> Option<Result<api_types::FollowerEvent, DoorClientFault>> {
        let (mut line, mut kind) = (String::new(), String::new());
        loop {
            line.clear();
            match self.lines.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(self.broken(&error))),
            }
            if let Some(event) = line.strip_prefix("event:") {
                event.trim().clone_into(&mut kind);
            }
            // The data line has everything else; the id only repeats a part of it.
            if let Some(json) = line.strip_prefix("data:") {
                return Some(self.read(json.trim(), &kind));
            }
        }
    }

    fn read(&self, json: &str, kind: &str) -> Result<api_types::FollowerEvent, DoorClientFault> {
        let strange = |words: String| DoorClientFault::Strange {
            address: self.address.clone(),
            status: StatusCode::OK.as_u16(),
            words,
        };
        let read = match kind {
            api_types::ProgressReport::EVENT => {
                serde_json::from_str(json).map(api_types::FollowerEvent::Spoken)
            }
            api_types::ApiRefusal::EVENT => match serde_json::from_str::<api_types::ApiRefusal>(json) {
                Ok(refusal) => return Err(DoorClientFault::Broken { words: refusal.message }),
                Err(error) => Err(error),
            },
            _ => serde_json::from_str(json).map(|record| api_types::FollowerEvent::Record(Box::new(record))),
        };
        read.map_err(|error| strange(error.to_string()))
    }

    fn broken(&self, error: &std::io::Error) -> DoorClientFault {
        let late = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
        if matches!(late, Some(ureq::Error::Timeout(_))) || error.kind() == std::io::ErrorKind::TimedOut {
            return DoorClientFault::TooLate;
        }
        DoorClientFault::Unreachable { address: self.address.clone(), words: error.to_string() }
    }
}
