//! The HTTP client with which a command reaches an organism that runs elsewhere, on this machine or on another one. It
//! blocks, keeps no state, follows no proxy and no redirect, and never shows the credential.

mod stream;

use std::time::Duration;

use ureq::config::ConfigBuilder;
use ureq::http::{Response, StatusCode, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::AgentScope;
use ureq::{Agent, Body};

use super::api_types;
use crate::runtime::runfile::{Credential, RunFile};
use stream::Frames;
pub use stream::{RecordEvents, VoiceEvents};

/// How long the organism may take to begin its answer: it answers after a commit, or with a refusal.
const ANSWER: Duration = Duration::from_secs(60);
/// How long an answer may take that is only an addition to other output.
const SOON: Duration = Duration::from_secs(2);
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long an answer of another machine may take once it has begun, unless it is a stream.
const WHOLE_ANSWER: Duration = Duration::from_secs(300);
/// Largest answer that is not a stream: several times the largest page.
const MOST_BYTES: u64 = 64 << 20;
/// Most characters of an address that another server names.
const ADDRESS: usize = 200;

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
    /// Another server is named. Nothing was sent to it.
    #[error("{address} redirects to {to}; nothing was sent there")]
    Redirected {
        /// The address.
        address: String,
        /// The other address.
        to: String,
    },
    /// The server does not show that it has the name of the address.
    #[error("{address} shows no certificate that counts here: {words}")]
    Uncertified {
        /// The address.
        address: String,
        /// What is wrong with it.
        words: String,
    },
    /// The answer is longer than any answer of an organism.
    #[error("{address} sends more than {} MiB, so it is not an organism", MOST_BYTES >> 20)]
    TooLong {
        /// The address.
        address: String,
    },
    /// The organism refuses the stream.
    #[error("{}: {}", .0.code, .0.message)]
    Refused(Box<api_types::ApiRefusal>),
    /// The time ran out.
    #[error("nothing more came in time")]
    TooLate,
}

impl DoorClientFault {
    /// The fix if something else listens at the address.
    pub const OTHER_ADDRESS: &str = "--url with the address that systole run prints, or that of its proxy";

    /// The fix.
    pub fn fix(&self) -> &str {
        match self {
            DoorClientFault::Unreachable { .. } => "--url with the address of an organism that runs",
            DoorClientFault::Strange { .. } | DoorClientFault::TooLong { .. } => {
                DoorClientFault::OTHER_ADDRESS
            }
            DoorClientFault::Uncertified { .. } => {
                "SSL_CERT_FILE with the PEM file of the authority that signed it, if you trust that"
            }
            DoorClientFault::Redirected { .. } => "--url with that address, if the organism is there",
            DoorClientFault::Broken { .. } => "systole doctor, where the log is",
            DoorClientFault::Refused(refusal) => refusal.fix.as_deref().unwrap_or("another token"),
            DoorClientFault::TooLate => "the same again",
        }
    }
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
    /// The address as people know it.
    address: String,
    /// The beginning of the address of every route.
    base: String,
    authorization: String,
}

/// How every request is sent. It goes there directly, regardless of proxy variables.
fn sending() -> ConfigBuilder<AgentScope> {
    let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None);
    config.timeout_connect(Some(CONNECT)).timeout_recv_response(Some(ANSWER))
}

/// What sends requests to an organism on this machine.
pub(super) fn agent_of_this_machine() -> Agent {
    Agent::new_with_config(sending().build())
}

impl DoorClient {
    /// The client of the organism in a run file.
    pub fn of(run: &RunFile) -> DoorClient {
        let authorization = format!("Bearer {}", run.token.secret());
        let address = run.address.to_string();
        DoorClient {
            agent: agent_of_this_machine(),
            base: format!("http://{address}"),
            address,
            authorization,
        }
    }

    /// The client of the organism at an address, as `https://systole.example`. Only these certificates count, if some
    /// are given; otherwise those of the public authorities do.
    pub fn at(url: &str, token: &Credential, roots: Vec<Certificate<'static>>) -> DoorClient {
        let roots = match roots.is_empty() {
            true => RootCerts::WebPki,
            false => RootCerts::new_with_certs(&roots),
        };
        let config = sending()
            .timeout_recv_body(Some(WHOLE_ANSWER))
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        DoorClient {
            agent: Agent::new_with_config(config),
            address: url.to_owned(),
            base: url.trim_end_matches('/').to_owned(),
            authorization: format!("Bearer {}", token.secret()),
        }
    }

    /// The address as people know it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What a reading route answers.
    pub fn get<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        fields: &[(&'static str, String)],
    ) -> DoorResult<T> {
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
        let request = self.agent.get(self.url(path)).header("authorization", &self.authorization);
        self.decided(request.query_pairs(fields).call(), StatusCode::OK)
    }

    /// The bytes that a reading route answers.
    pub fn bytes(&self, path: &str) -> DoorResult<Vec<u8>> {
        let request = self.agent.get(self.url(path)).header("authorization", &self.authorization);
        let (status, bytes) = self.whole(request.call())?;
        if status == StatusCode::OK {
            return Ok(Ok(bytes));
        }
        self.refusal(status, &bytes).map(Err)
    }

    /// The requests that wait for a person and that this client may see, now or at a position.
    pub fn approvals(&self, at: Option<u64>) -> DoorResult<api_types::ListedApprovals> {
        let fields: Vec<_> = at.map(|at| ("at", at.to_string())).into_iter().collect();
        self.get("/v1/approvals", &fields)
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

    /// What keeps the log from being written as it should, or did. An organism that does not answer soon has no
    /// answer here, because the one who asks has other work.
    pub fn alarms(&self) -> Vec<api_types::ApiAlarm> {
        let request = self.agent.get(self.url("/v1/status")).header("authorization", &self.authorization);
        let request = request.config().timeout_global(Some(SOON)).build();
        let status: DoorResult<api_types::OrganismStatus> = self.decided(request.call(), StatusCode::OK);
        status.ok().and_then(Result::ok).map(|status| status.alarms).unwrap_or_default()
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

    /// The records of a thread and those below it, or of the whole log, after a position, as they are written. With
    /// `within`, for at most that long.
    pub fn events(
        &self,
        after: u64,
        thread: Option<&str>,
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
        Ok(VoiceEvents(self.stream(after, Some(thread), true, within)?))
    }

    fn stream(
        &self,
        after: u64,
        thread: Option<&str>,
        voice: bool,
        within: Option<Duration>,
    ) -> Result<Frames, DoorClientFault> {
        let voice = voice.then_some(("voice", "true"));
        let request = self
            .agent
            .get(self.url("/v1/events"))
            .header("authorization", &self.authorization)
            .query("from", after.to_string())
            .query_pairs(thread.map(|thread| ("thread", thread)))
            .query_pairs(voice)
            .config()
            .timeout_recv_body(within)
            .build();
        let response = request.call().map_err(|error| self.unreachable(&error))?;
        if response.status() == StatusCode::OK {
            return Ok(Frames::of(response, self.address.clone()));
        }
        let (status, bytes) = self.whole(Ok(response))?;
        Err(DoorClientFault::Refused(self.refusal(status, &bytes)?))
    }

    fn decided<T: serde::de::DeserializeOwned>(
        &self,
        answered: Result<Response<Body>, ureq::Error>,
        good: StatusCode,
    ) -> DoorResult<T> {
        let (status, bytes) = self.whole(answered)?;
        if status == good {
            let read = serde_json::from_slice(&bytes).map(Ok);
            return read.map_err(|error| self.strange(status, &error.to_string()));
        }
        self.refusal(status, &bytes).map(Err)
    }

    /// The status of an answer, and all of it.
    fn whole(
        &self,
        answered: Result<Response<Body>, ureq::Error>,
    ) -> Result<(StatusCode, Vec<u8>), DoorClientFault> {
        let mut response = answered.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            let to = to.unwrap_or("another address").chars().take(ADDRESS).collect();
            return Err(DoorClientFault::Redirected { address: self.address.clone(), to });
        }
        let read = response.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
        let bytes = read.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => DoorClientFault::TooLong { address: self.address.clone() },
            error => self.unreachable(&error),
        })?;
        Ok((status, bytes))
    }

    fn refusal(
        &self,
        status: StatusCode,
        bytes: &[u8],
    ) -> Result<Box<api_types::ApiRefusal>, DoorClientFault> {
        serde_json::from_slice(bytes).map(Box::new).map_err(|error| self.strange(status, &error.to_string()))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn unreachable(&self, error: &ureq::Error) -> DoorClientFault {
        let told = error.to_string();
        if let Some((_, words)) = told.split_once("invalid peer certificate: ") {
            return DoorClientFault::Uncertified { address: self.address.clone(), words: words.to_owned() };
        }
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
