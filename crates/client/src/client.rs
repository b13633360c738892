//! The HTTP client with which a command reaches an organism that runs elsewhere, on this machine or on another one. It
//! blocks, keeps no state, follows no proxy and no redirect, and never shows the credential.

pub mod local_file;
mod stream;

use std::time::Duration;

use tokio::time::Instant;
use ureq::config::ConfigBuilder;
use ureq::http::{Response, StatusCode, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::{AgentScope, WithBody, WithoutBody};
use ureq::{Agent, Body, RequestBuilder};

use crate::limits;
use stream::StreamFrames;
pub use stream::{RecordEvents, VoiceEvents};
use systole_api::reload_types::{ReloadFields, RunBeginning};
use systole_api::retry_types::{AnewShown, RetryShown, ThreadRetried};
use systole_api::schedule_types::ScheduleChanged;
use systole_api::types::{
    ApiAlarm, ApiReceipt, ApiRefusal, ApiRuling, DecisionAccepted, FileStored, ListedApprovals,
    ListedFollowers, OrganismStatus, PauseChanged, SignInCode, ThreadCancelled, ThreadEnded,
    WaitingCancelled, Workers,
};
use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;
use systole_core::types::subject::Subject;
use systole_organism::reloading::orders::ReloadPreview;
use systole_organism::runfile::{Credential, RunFile};

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
    /// The organism of a run file runs, but does not answer.
    #[error("process {pid} runs this organism and does not answer{effect}")]
    Silent {
        /// Its process.
        pid: u32,
        /// What that means for what was asked: a sentence part, or nothing.
        effect: &'static str,
        /// The fix.
        fix: String,
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
    #[error("{address} sends more than {} MiB, so it is not an organism", limits::REMOTE_BYTES >> 20)]
    TooLong {
        /// The address.
        address: String,
    },
    /// The organism refuses the stream.
    #[error("{}: {}", .0.code, .0.message)]
    Refused(Box<ApiRefusal>),
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
            DoorClientFault::Silent { fix, .. } => fix,
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

    /// The same fault, with what silence means for what was asked.
    fn with_effect(self, effect: &'static str) -> DoorClientFault {
        match self {
            DoorClientFault::Silent { pid, fix, .. } => DoorClientFault::Silent { pid, effect, fix },
            other => other,
        }
    }
}

/// The refusal of an order that the organism that runs would understand as another one.
fn refuse_older_organism() -> ApiRefusal {
    let words = "the organism is of an older version, which would end the whole thread";
    let refusal = Refusal::new(Code::NotBuilt, words).fixed_by("start it again with this version of systole");
    ApiRefusal::from(&refusal)
}

/// The organism's decision.
pub type DoorResult<T> = Result<Result<T, Box<ApiRefusal>>, DoorClientFault>;

/// A message to send.
pub struct OutgoingMessage<'a> {
    /// Its idempotency key.
    pub key: &'a str,
    /// The receiver.
    pub to: Option<&'a str>,
    /// The thread that it continues.
    pub thread: Option<&'a str>,
    /// What the thread is about.
    pub subject: Option<&'a Subject>,
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
    /// The process, if it is on this machine.
    pid: Option<u32>,
    /// When the one who asks gives up.
    until: Option<Instant>,
}

/// How every request is sent. It goes there directly, regardless of proxy variables.
fn build_settings() -> ConfigBuilder<AgentScope> {
    let config = Agent::config_builder().http_status_as_error(false).max_redirects(0).proxy(None);
    config.timeout_connect(Some(limits::CONNECT)).timeout_recv_response(Some(limits::BEGIN))
}

/// What sends requests to an organism on this machine.
pub(super) fn build_local_agent() -> Agent {
    Agent::new_with_config(build_settings().build())
}

impl DoorClient {
    /// The client of the organism in a run file.
    pub fn from_run_file(run: &RunFile) -> DoorClient {
        let authorization = format!("Bearer {}", run.token.secret());
        let address = run.address.to_string();
        DoorClient {
            agent: build_local_agent(),
            base: format!("http://{address}"),
            address,
            authorization,
            pid: Some(run.pid),
            until: None,
        }
    }

    /// The client of the organism at an address, as `https://systole.example`. Only these certificates count, if some
    /// are given; otherwise those of the public authorities do.
    pub fn connect_to(url: &str, token: &Credential, roots: Vec<Certificate<'static>>) -> DoorClient {
        let roots = match roots.is_empty() {
            true => RootCerts::WebPki,
            false => RootCerts::new_with_certs(&roots),
        };
        let config = build_settings()
            .timeout_recv_body(Some(limits::WHOLE_ANSWER))
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .build();
        DoorClient {
            agent: Agent::new_with_config(config),
            address: url.to_owned(),
            base: url.trim_end_matches('/').to_owned(),
            authorization: format!("Bearer {}", token.secret()),
            pid: None,
            until: None,
        }
    }

    /// The same, for someone who waits that long for everything that this client does.
    pub fn with_limit(self, limit: Option<Duration>) -> DoorClient {
        DoorClient { until: limit.map(|limit| Instant::now() + limit), ..self }
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
        self.read_decision(
            self.build_question(path, limits::BEGIN).query_pairs(fields).call(),
            StatusCode::OK,
        )
    }

    /// The bytes that a reading route answers.
    pub fn read_bytes(&self, path: &str) -> DoorResult<Vec<u8>> {
        let (status, bytes) = self.read_whole(self.build_question(path, limits::BEGIN).call())?;
        if status == StatusCode::OK {
            return Ok(Ok(bytes));
        }
        self.read_refusal(status, &bytes).map(Err)
    }

    /// The requests that wait for a person and that this client may see, now or at a position.
    pub fn list_approvals(&self, at: Option<u64>) -> DoorResult<ListedApprovals> {
        let fields: Vec<_> = at.map(|at| ("at", at.to_string())).into_iter().collect();
        self.get("/v1/approvals", &fields)
    }

    /// Sends a message.
    pub fn send_message(&self, letter: &OutgoingMessage<'_>) -> DoorResult<ApiReceipt> {
        self.send_order("/v1/messages", StatusCode::ACCEPTED, |request| {
            let query = [("to", letter.to), ("thread", letter.thread)];
            let query = query.into_iter().filter_map(|(name, value)| Some((name, value?)));
            // The door refuses an oversized message by its announced length and closes. A client that was still
            // writing would lose the refusal with the connection.
            let request = request.header("idempotency-key", letter.key).header("expect", "100-continue");
            let request = letter.subject.into_iter().fold(request, |request, subject| {
                request.header("systole-subject", subject.as_str().as_bytes())
            });
            request.query_pairs(query).content_type("application/xml").send(letter.document)
        })
    }

    /// Sends a file, to which a message refers afterwards.
    pub fn send_file(&self, bytes: &[u8]) -> DoorResult<FileStored> {
        self.send_order("/v1/files", StatusCode::CREATED, |request| {
            let request = request.header("expect", "100-continue");
            request.content_type("application/octet-stream").send(bytes)
        })
    }

    /// Ends a thread, or one of its top calls. An organism of an older version would not read which call.
    pub fn cancel_thread(&self, thread: &str, call: Option<u32>) -> DoorResult<ThreadCancelled> {
        if call.is_some() {
            match self.read_status()? {
                Ok(status) if status.client.is_none() => return Ok(Err(Box::new(refuse_older_organism()))),
                Ok(_) => {}
                Err(refused) => return Ok(Err(refused)),
            }
        }
        let call = call.map(|call| format!("?call={call}")).unwrap_or_default();
        let path = format!("/v1/threads/{thread}/cancel{call}");
        self.send_order(&path, StatusCode::OK, RequestBuilder::send_empty)
    }

    /// Ends the calls that wait for a listener.
    pub fn cancel_waiting(&self, to: &str) -> DoorResult<WaitingCancelled> {
        self.send_order(&format!("/v1/listeners/{to}/cancel"), StatusCode::OK, RequestBuilder::send_empty)
    }

    /// Decides a request that waits for a person.
    pub fn rule_request(&self, approval: &str, ruling: &ApiRuling) -> DoorResult<DecisionAccepted> {
        let body = serde_json::to_vec(ruling).unwrap_or_default();
        self.send_order(&format!("/v1/approvals/{approval}"), StatusCode::OK, |request| {
            request.content_type("application/json").send(&body[..])
        })
    }

    /// Pauses or resumes a thread, or everything.
    pub fn pause_or_resume(
        &self,
        thread: Option<&str>,
        halts: bool,
        note: Option<&str>,
    ) -> DoorResult<PauseChanged> {
        let order = if halts { "/pause" } else { "/resume" };
        let path = match thread {
            Some(thread) => format!("/v1/threads/{thread}{order}"),
            None => format!("/v1{order}"),
        };
        self.send_order(&path, StatusCode::OK, |request| {
            request.query_pairs(note.map(|note| ("note", note))).send_empty()
        })
    }

    /// Pauses, resumes or fires a schedule.
    pub fn order_schedule(&self, schedule: &str, order: &str) -> DoorResult<ScheduleChanged> {
        let path = format!("/v1/schedules/{schedule}/{order}");
        self.send_order(&path, StatusCode::OK, RequestBuilder::send_empty)
    }

    /// Shows what a reload would change, or orders it.
    pub fn order_reload(&self, fields: &ReloadFields) -> DoorResult<ReloadPreview> {
        let is_shown = fields.show == Some(true);
        let good = if is_shown { StatusCode::OK } else { StatusCode::ACCEPTED };
        self.send_order("/v1/reload", good, |request| request.query_pairs(fields.list_pairs()).send_empty())
    }

    /// How the organism began.
    pub fn read_beginning(&self) -> DoorResult<RunBeginning> {
        self.get("/v1/reload", &[])
    }

    /// What a retry of a failed thread would do.
    pub fn preview_retry(&self, thread: &str) -> DoorResult<RetryShown> {
        self.get(&format!("/v1/threads/{thread}/retry"), &[])
    }

    /// Tries a failed thread again, as it was `seen`.
    pub fn retry_thread(
        &self,
        thread: &str,
        seen: Option<&str>,
        note: Option<&str>,
        allows_effects: bool,
    ) -> DoorResult<ThreadRetried> {
        self.send_order(&format!("/v1/threads/{thread}/retry"), StatusCode::OK, |request| {
            let effects = allows_effects.then_some(("effects", "true"));
            let fields = [note.map(|note| ("note", note)), seen.map(|seen| ("seen", seen)), effects];
            request.query_pairs(fields.into_iter().flatten()).send_empty()
        })
    }

    /// What sending the request of a failed thread anew would do, with these values in place of its own.
    pub fn preview_anew(&self, thread: &str, values: &[String]) -> DoorResult<AnewShown> {
        self.order_anew(thread, values, [Some(("anew", "show")), None, None])
    }

    /// Sends the request of a failed thread anew, as the thread was `seen`.
    pub fn send_anew(
        &self,
        thread: &str,
        values: &[String],
        seen: Option<&str>,
        allows_effects: bool,
    ) -> DoorResult<ApiReceipt> {
        let effects = allows_effects.then_some(("effects", "true"));
        self.order_anew(thread, values, [Some(("anew", "send")), seen.map(|seen| ("seen", seen)), effects])
    }

    fn order_anew<T: serde::de::DeserializeOwned>(
        &self,
        thread: &str,
        values: &[String],
        fields: [Option<(&str, &str)>; 3],
    ) -> DoorResult<T> {
        let body = serde_json::to_vec(values).unwrap_or_default();
        self.send_order(&format!("/v1/threads/{thread}/retry"), StatusCode::OK, |request| {
            let request = request.query_pairs(fields.into_iter().flatten());
            request.content_type("application/json").send(&body[..])
        })
    }

    /// Ends a root at rest.
    pub fn end_thread(&self, thread: &str) -> DoorResult<ThreadEnded> {
        self.send_order(&format!("/v1/threads/{thread}/end"), StatusCode::OK, RequestBuilder::send_empty)
    }

    /// The status of the organism.
    pub fn read_status(&self) -> DoorResult<OrganismStatus> {
        self.read_decision(self.build_question("/v1/status", limits::SIGN_OF_LIFE).call(), StatusCode::OK)
    }

    /// What keeps the log from being written as it should, or did. An organism that does not answer soon is not waited
    /// for, because the one who asks has other work.
    pub fn read_alarms(&self) -> DoorResult<Vec<ApiAlarm>> {
        let status: DoorResult<OrganismStatus> =
            self.read_decision(self.build_question("/v1/status", limits::SOON).call(), StatusCode::OK);
        status.map(|told| told.map(|status| status.alarms))
    }

    /// A code with which a browser signs in to the console as this client.
    pub fn session_code(&self) -> DoorResult<SignInCode> {
        self.send_order("/v1/session-codes", StatusCode::CREATED, RequestBuilder::send_empty)
    }

    /// The number of NATS workers for each listener.
    pub fn count_workers(&self) -> DoorResult<Workers> {
        self.read_decision(self.build_question("/v1/workers", limits::SIGN_OF_LIFE).call(), StatusCode::OK)
    }

    /// The followers of the log.
    pub fn list_followers(&self) -> DoorResult<ListedFollowers> {
        self.read_decision(self.build_question("/v1/followers", limits::SIGN_OF_LIFE).call(), StatusCode::OK)
    }

    /// The records of a thread and those below it, or of the whole log, after a position, as they are written. With
    /// `within`, for at most that long.
    pub fn follow_records(
        &self,
        after: u64,
        thread: Option<&str>,
        within: Option<Duration>,
    ) -> Result<RecordEvents, DoorClientFault> {
        Ok(RecordEvents(self.open_stream(after, thread, false, within)?))
    }

    /// The same, with what listeners report while they work.
    pub fn follow_reports(
        &self,
        after: u64,
        thread: &str,
        within: Option<Duration>,
    ) -> Result<VoiceEvents, DoorClientFault> {
        Ok(VoiceEvents(self.open_stream(after, Some(thread), true, within)?))
    }

    fn open_stream(
        &self,
        after: u64,
        thread: Option<&str>,
        voice: bool,
        within: Option<Duration>,
    ) -> Result<StreamFrames, DoorClientFault> {
        let voice = voice.then_some(("voice", "true"));
        let request = self
            .build_question("/v1/events", limits::BEGIN)
            .query("from", after.to_string())
            .query_pairs(thread.map(|thread| ("thread", thread)))
            .query_pairs(voice)
            .config()
            .timeout_recv_body(within)
            .build();
        let response = request.call().map_err(|error| self.describe_unreachable(&error))?;
        if response.status() == StatusCode::OK {
            return Ok(StreamFrames::from_response(response, self.address.clone()));
        }
        let (status, bytes) = self.read_whole(Ok(response))?;
        Err(DoorClientFault::Refused(self.read_refusal(status, &bytes)?))
    }

    /// A request that changes nothing. Its answer begins within that time.
    fn build_question(&self, path: &str, most: Duration) -> RequestBuilder<WithoutBody> {
        self.limit_time(self.agent.get(format!("{}{path}", self.base)), most)
    }

    /// Gives an order, once the organism of this machine has answered: a process that is stopped would take from its
    /// connections later what its sender has given up.
    fn send_order<T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        good: StatusCode,
        give: impl FnOnce(RequestBuilder<WithBody>) -> Result<Response<Body>, ureq::Error>,
    ) -> DoorResult<T> {
        if self.pid.is_some()
            && let Err(silent @ DoorClientFault::Silent { .. }) = self.read_status()
        {
            return Err(silent.with_effect("; nothing was sent"));
        }
        let request = self.limit_time(self.agent.post(format!("{}{path}", self.base)), limits::BEGIN);
        let decided = self.read_decision(give(request), good);
        decided.map_err(|fault| fault.with_effect("; it may still carry this out"))
    }

    fn limit_time<B>(&self, request: RequestBuilder<B>, most: Duration) -> RequestBuilder<B> {
        let left = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        let limit = |most: Duration| Some(left.unwrap_or(most).clamp(Duration::from_millis(1), most));
        let request = request.header("authorization", &self.authorization).config();
        request.timeout_connect(limit(limits::CONNECT)).timeout_recv_response(limit(most)).build()
    }

    fn read_decision<T: serde::de::DeserializeOwned>(
        &self,
        answered: Result<Response<Body>, ureq::Error>,
        good: StatusCode,
    ) -> DoorResult<T> {
        let (status, bytes) = self.read_whole(answered)?;
        if status == good {
            let read = serde_json::from_slice(&bytes).map(Ok);
            return read.map_err(|error| self.describe_strange(status, &error.to_string()));
        }
        self.read_refusal(status, &bytes).map(Err)
    }

    /// The status of an answer, and all of it.
    fn read_whole(
        &self,
        answered: Result<Response<Body>, ureq::Error>,
    ) -> Result<(StatusCode, Vec<u8>), DoorClientFault> {
        let mut response = answered.map_err(|error| self.describe_unreachable(&error))?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
            let to = to.unwrap_or("another address").chars().take(limits::SERVER_ADDRESS).collect();
            return Err(DoorClientFault::Redirected { address: self.address.clone(), to });
        }
        let read = response.body_mut().with_config().limit(limits::REMOTE_BYTES).read_to_vec();
        let bytes = read.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(_) => DoorClientFault::TooLong { address: self.address.clone() },
            error => self.describe_unreachable(&error),
        })?;
        Ok((status, bytes))
    }

    fn read_refusal(&self, status: StatusCode, bytes: &[u8]) -> Result<Box<ApiRefusal>, DoorClientFault> {
        serde_json::from_slice(bytes)
            .map(Box::new)
            .map_err(|error| self.describe_strange(status, &error.to_string()))
    }

    fn describe_unreachable(&self, error: &ureq::Error) -> DoorClientFault {
        if let (Some(pid), ureq::Error::Timeout(_)) = (self.pid, error) {
            let fix = format!("kill -CONT {pid}, if it was stopped; or systole stop --now, which ends it");
            return DoorClientFault::Silent { pid, effect: "", fix };
        }
        let told = error.to_string();
        if let Some((_, words)) = told.split_once("invalid peer certificate: ") {
            return DoorClientFault::Uncertified { address: self.address.clone(), words: words.to_owned() };
        }
        DoorClientFault::Unreachable { address: self.address.clone(), words: error.to_string() }
    }

    fn describe_strange(&self, status: StatusCode, words: &str) -> DoorClientFault {
        DoorClientFault::Strange {
            address: self.address.clone(),
            status: status.as_u16(),
            words: words.to_owned(),
        }
    }
}
