//! One connection to the broker, and questions over it. Every question ends: with its answer, with the broker's
//! report that it is forbidden, or with a timeout. Nothing here knows what a good answer is.
//!
//! The broker answers a forbidden request with silence and a separate report, so each question also listens for that
//! report.

use std::error::Error as _;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::context::RequestErrorKind as Asked;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::{self, Context};
use async_nats::{
    Client, ConnectError, ConnectErrorKind, ConnectOptions, Event, HeaderMap, Request, RequestErrorKind,
    ServerAddr, ServerError, header,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::timeout;

use super::credentials::BrokerCredentials;
use super::subjects::BrokerSubjects;
use super::unusable::{BrokerFault, make_line};
use crate::limits;
use systole_core::types::ids::Name;
use systole_system::system;

/// Whether there is a connection, and how often it broke. It reconnects by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConnectionState {
    /// Whether there is a connection, as far as is known.
    pub stands: bool,
    /// How often it broke. Messages on their way at that moment may have arrived or not.
    pub breaks: u64,
}

/// The last thing that the broker forbade.
#[derive(Clone, Default)]
struct ForbiddenSubject {
    times: u64,
    words: String,
}

impl ForbiddenSubject {
    /// Whether no question can be answered at all: the broker reports that once, and never again.
    fn concerns_all(&self) -> bool {
        self.words.to_lowercase().contains("subscription")
    }
}

/// The role of a caller that may read the log. Each role has its own inbox, and JetStream's interface may have a
/// different name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogCaller {
    /// The pump.
    Pump,
    /// An auditor.
    Auditor,
}

impl LogCaller {
    /// The other role.
    pub(super) fn other(self) -> LogCaller {
        match self {
            LogCaller::Pump => LogCaller::Auditor,
            LogCaller::Auditor => LogCaller::Pump,
        }
    }

    fn name_inbox(self, organism: &Name) -> String {
        match self {
            LogCaller::Pump => BrokerSubjects::name_inbox(organism),
            LogCaller::Auditor => BrokerSubjects::name_auditor_inbox().to_owned(),
        }
    }

    fn open_jetstream(self, organism: &Name, client: Client) -> Context {
        match self {
            LogCaller::Pump => jetstream::new(client),
            LogCaller::Auditor => jetstream::with_prefix(client, &BrokerSubjects::name_auditor_api(organism)),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            LogCaller::Pump => "pump",
            LogCaller::Auditor => "auditor",
        }
    }
}

/// A connection, and what the broker forbade on it.
pub(super) struct BrokerWire {
    pub(super) client: Client,
    pub(super) jetstream: Context,
    pub(super) address: String,
    patience: Duration,
    caller: LogCaller,
    /// Whether it showed the broker any credentials.
    pub(super) shows_key: bool,
    forbidden: watch::Receiver<ForbiddenSubject>,
    pub(super) link: watch::Receiver<ConnectionState>,
}

impl BrokerWire {
    /// Connects and shows the credentials.
    pub(super) async fn lay_wire(
        organism: &Name,
        caller: LogCaller,
        url: &str,
        credentials: Option<&BrokerCredentials>,
        patience: Duration,
    ) -> Result<BrokerWire, BrokerFault> {
        let servers = parse_servers(url)?;
        let address = servers.iter().map(write_address).collect::<Vec<_>>().join(", ");
        let (forbid, forbidden) = watch::channel(ForbiddenSubject::default());
        // A broker need not grant this subscription; questions are answered all the same.
        let unheard =
            format!("subscription to \"{}\"", BrokerSubjects::new(organism).name_refused()).to_lowercase();
        let (links, link) = watch::channel(ConnectionState { stands: true, breaks: 0 });
        let options = ConnectOptions::new()
            .name(format!("systole {} {}", caller.as_str(), organism.as_str()))
            .custom_inbox_prefix(caller.name_inbox(organism))
            // A silent server leaves time for the others.
            .connection_timeout(patience / u32::try_from(servers.len()).unwrap_or(u32::MAX).max(1))
            .request_timeout(Some(patience))
            .ping_interval(limits::PING)
            .reconnect_delay_callback(compute_pause)
            .event_callback(move |event| {
                match event {
                    Event::ServerError(ServerError::Other(words))
                        if words.to_lowercase().contains(&unheard) =>
                    {
                        tracing::debug!(why = words, "refused connections at the broker are not recorded");
                    }
                    Event::ServerError(ServerError::Other(words))
                        if words.to_lowercase().contains("permissions violation") =>
                    {
                        let words = make_line(&words);
                        forbid.send_modify(|last| *last = ForbiddenSubject { times: last.times + 1, words });
                    }
                    Event::Connected => links.send_modify(|link| link.stands = true),
                    Event::Disconnected => links.send_modify(|link| {
                        link.stands = false;
                        link.breaks += 1;
                    }),
                    _ => {}
                }
                std::future::ready(())
            });
        let options = match credentials {
            Some(credentials) => credentials.apply_to(options),
            None => options,
        };
        let shows_key = credentials.is_some();
        let client = match timeout(patience, options.connect(servers)).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(report_no_connection(address, shows_key, &error, patience)),
            Err(_) => {
                return Err(BrokerFault::Silent { address, what: "it was called".to_owned(), patience });
            }
        };
        let mut jetstream = caller.open_jetstream(organism, client.clone());
        jetstream.set_timeout(patience);
        Ok(BrokerWire { client, jetstream, address, patience, caller, shows_key, forbidden, link })
    }

    /// Asks the broker's own interface. `what` says what the pump did, as in `it was asked for its streams`. Every
    /// question here may be asked again. A cluster is asked again, because it is silent while it elects a leader, and
    /// that may take longer than a broker may take for an answer.
    pub(super) async fn ask_api<T: DeserializeOwned>(
        &self,
        what: &str,
        api: &str,
        body: &impl Serialize,
    ) -> Result<Response<T>, BrokerFault> {
        match self.ask_once(what, api, body).await {
            Err(BrokerFault::Silent { .. }) if self.client.server_info().connect_urls.len() > 1 => {
                self.ask_once(what, api, body).await
            }
            said => said,
        }
    }

    async fn ask_once<T: DeserializeOwned>(
        &self,
        what: &str,
        api: &str,
        body: &impl Serialize,
    ) -> Result<Response<T>, BrokerFault> {
        let asked = self.jetstream.request(api.to_owned(), body);
        let said = self
            .wait_for_reply(what, async { asked.await.map_err(|error| (error.kind(), error.to_string())) });
        match said.await? {
            Ok(response) => Ok(response),
            Err((Asked::NoResponders, _)) => {
                Err(BrokerFault::NoJetStream { address: self.address.clone(), for_account: false })
            }
            Err((Asked::TimedOut, _)) => Err(self.report_silent(what, self.patience)),
            Err((_, why)) => Err(self.report_broken(&why)),
        }
    }

    /// Publishes with the expected last sequence of that subject.
    pub(super) async fn publish_message(
        &self,
        what: &str,
        subject: &str,
        payload: Vec<u8>,
        expected: Option<u64>,
    ) -> Result<Response<PublishAck>, BrokerFault> {
        let mut headers = HeaderMap::new();
        if let Some(expected) = expected {
            headers.insert(header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.to_string());
        }
        let request = Request::new().headers(headers).payload(payload.into());
        let asked = self.client.send_request(subject.to_owned(), request);
        let said = self
            .wait_for_reply(what, async { asked.await.map_err(|error| (error.kind(), error.to_string())) });
        match said.await? {
            Ok(message) => serde_json::from_slice(&message.payload)
                .map_err(|error| self.report_broken(&error.to_string())),
            Err((RequestErrorKind::TimedOut, _)) => Err(self.report_silent(what, self.patience)),
            Err((RequestErrorKind::NoResponders, _)) => Err(self.report_refused(
                what,
                "no stream takes the subject: it has no leader now, or it was removed",
            )),
            Err((_, why)) => Err(self.report_broken(&why)),
        }
    }

    /// Waits for the first of: the answer, the report that it is forbidden, a broken connection, or the timeout.
    /// Without a connection nothing is asked, because the question would go out whenever there is a connection again.
    pub(super) async fn wait_for_reply<T>(
        &self,
        what: &str,
        asked: impl Future<Output = T>,
    ) -> Result<T, BrokerFault> {
        self.wait_within(self.patience, what, asked).await
    }

    /// The same with a separate timeout, for work that takes many messages.
    pub(super) async fn wait_within<T>(
        &self,
        patience: Duration,
        what: &str,
        asked: impl Future<Output = T>,
    ) -> Result<T, BrokerFault> {
        let mut forbidden = self.forbidden.clone();
        let before = forbidden.borrow_and_update().times;
        let no = async {
            let last = forbidden.wait_for(|last| last.concerns_all() || last.times > before).await;
            match last.map(|last| last.words.clone()) {
                Ok(words) => words,
                // No one is left who could report it.
                Err(_) => std::future::pending().await,
            }
        };
        // The answer comes over the connection on which the question was asked, or never.
        let mut link = self.link.clone();
        let breaks = link.borrow_and_update().breaks;
        let broke = async {
            // No one is left who could report it.
            if link.wait_for(|link| !link.stands || link.breaks > breaks).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            what = no => {
                let who = self.caller.as_str();
                Err(BrokerFault::Forbidden { address: self.address.clone(), who, what })
            }
            () = broke => Err(self.report_broken(&format!("there is no connection when {what}"))),
            said = timeout(patience, asked) => said.map_err(|_| self.report_silent(what, patience)),
        }
    }

    fn report_silent(&self, what: &str, patience: Duration) -> BrokerFault {
        let address = self.address.clone();
        match self.client.connection_state() {
            State::Connected => BrokerFault::Silent { address, what: what.to_owned(), patience },
            _ => BrokerFault::Unreachable { address, why: format!("the connection broke when {what}") },
        }
    }

    fn report_broken(&self, why: &str) -> BrokerFault {
        BrokerFault::Unreachable { address: self.address.clone(), why: make_line(why) }
    }

    /// The error for a refusal by the broker.
    pub(super) fn report_refused(&self, what: &str, why: &str) -> BrokerFault {
        BrokerFault::Refused { address: self.address.clone(), what: what.to_owned(), why: make_line(why) }
    }
}

/// The pause before the next try to reconnect, after this many tries.
fn compute_pause(tries: usize) -> Duration {
    let doublings = u32::try_from(tries).unwrap_or(u32::MAX).min(10);
    Duration::from_millis(1 << doublings).min(limits::RECONNECT_PAUSE)
}

/// Reads the addresses of a cluster's servers, separated by commas.
fn parse_servers(urls: &str) -> Result<Vec<ServerAddr>, BrokerFault> {
    urls.split(',').map(parse_server).collect()
}

/// Reads an address. The error for a wrong address does not repeat any part of it.
fn parse_server(url: &str) -> Result<ServerAddr, BrokerFault> {
    let is_none = |why: &str| BrokerFault::Address { why: why.to_owned() };
    let is_ours = |scheme: &str| matches!(scheme, "nats" | "tls");
    if url.split_once("://").is_some_and(|(scheme, _)| !is_ours(scheme)) {
        return Err(is_none("begins neither with nats:// nor with tls://"));
    }
    let server: ServerAddr = url.parse().map_err(|_| is_none("is not a host with a port"))?;
    if server.host().is_empty() {
        return Err(is_none("names no host"));
    }
    // It would end up in files and logs where a credential does not belong.
    if server.username().is_some() || server.password().is_some() {
        return Err(is_none("has a user, a token or a password in it"));
    }
    Ok(server)
}

fn write_address(server: &ServerAddr) -> String {
    let (host, port) = (server.host(), server.port().to_string());
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Why the connection was not made.
fn report_no_connection(
    address: String,
    shows_key: bool,
    error: &ConnectError,
    patience: Duration,
) -> BrokerFault {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation => BrokerFault::Unauthorized { address, shows_key },
        ConnectErrorKind::Authentication if shows_key => BrokerFault::Credentials,
        ConnectErrorKind::TimedOut => {
            BrokerFault::Silent { address, what: "it was called".to_owned(), patience }
        }
        ConnectErrorKind::Dns => {
            BrokerFault::Unreachable { address, why: "the name of the machine is not known".to_owned() }
        }
        _ => {
            let source = error.source();
            let why = match source.and_then(|source| source.downcast_ref::<std::io::Error>()) {
                Some(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                    "nothing listens there".to_owned()
                }
                Some(error) => system::describe_error(error),
                None => error.to_string(),
            };
            BrokerFault::Unreachable { address, why: make_line(&why) }
        }
    }
}
