//! A broker that was checked and is fit for use.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_nats::jetstream::context::{GetStreamError, GetStreamErrorKind};
use async_nats::jetstream::{Context, ErrorCode};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::confirmed_places::ConfirmedPlaces;
use super::credentials::BrokerCredentials;
use super::silence::WorkerSilence;
use super::subjects::BrokerSubjects;
use super::unusable::BrokerFault;
use super::wire::{BrokerWire, ConnectionState, LogCaller};
use super::{bus, fitness, limits, monitor, silence, source};
use systole_core::types::ids::Name;
use systole_core::types::time::Millis;
use systole_system::watched::read_watched;

/// The period in which a pump has a log at the broker: from its take-over until the next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriterTerm {
    /// The log, in one word.
    pub log: String,
    /// How often it has been taken over.
    pub epoch: u64,
}

/// A broker that was checked and is fit for use.
pub struct Broker {
    pub(super) wire: Arc<BrokerWire>,
    organism: Name,
    copies: usize,
    pub(super) subjects: BrokerSubjects,
    term: OnceLock<WriterTerm>,
    confirmed: ConfirmedPlaces,
    // The stream may have a lower limit than the server.
    largest: Option<usize>,
    /// Whether the broker keeps what it says about workers that gave no sign of life.
    pub(super) keeps_silences: bool,
}

impl Broker {
    /// Connects as the pump of that organism, checks the broker, and makes the organism's streams if there are none. No
    /// step takes longer than `patience`.
    pub async fn connect(
        organism: &Name,
        url: &str,
        credentials: Option<&BrokerCredentials>,
        patience: Duration,
    ) -> Result<Broker, BrokerFault> {
        Broker::connect_to_cluster(organism, url, credentials, 1, patience).await
    }

    /// The same in a cluster, which keeps at least this many copies of the stream. The addresses of several servers
    /// are separated by commas.
    pub async fn connect_to_cluster(
        organism: &Name,
        url: &str,
        credentials: Option<&BrokerCredentials>,
        copies: usize,
        patience: Duration,
    ) -> Result<Broker, BrokerFault> {
        let wire =
            Arc::new(BrokerWire::lay_wire(organism, LogCaller::Pump, url, credentials, patience).await?);
        let subjects = BrokerSubjects::new(organism);
        fitness::check_version(&wire)?;
        fitness::check_jetstream(&wire).await?;
        let largest = bus::find_or_make(&wire, organism, &subjects, copies).await?;
        fitness::check_expectation(&wire, &subjects).await?;
        let keeps_silences = match silence::find_or_make(&wire, organism, &subjects, copies).await {
            Err(fault) if fault.is_away() => return Err(fault),
            Err(fault) => {
                let less = "a worker that dies while no pump runs may be noticed only at the timeout of its listener";
                tracing::warn!(why = %fault, fix = fault.fix(), "{less}");
                false
            }
            Ok(()) => true,
        };
        let (organism, term, confirmed) = (organism.clone(), OnceLock::new(), ConfirmedPlaces::default());
        Ok(Broker { wire, organism, copies, subjects, term, confirmed, largest, keeps_silences })
    }

    /// Makes the organism's streams again if they are gone: someone removed them, or the broker came back without them.
    pub async fn make_again(&self) -> Result<(), BrokerFault> {
        let (wire, organism, subjects) = (&self.wire, &self.organism, &self.subjects);
        bus::find_or_make(wire, organism, subjects, self.copies).await?;
        if self.keeps_silences
            && let Err(why) = silence::find_or_make(wire, organism, subjects, self.copies).await
        {
            tracing::debug!(%why, "the broker does not keep which workers died");
        }
        Ok(())
    }

    /// Whether there is a connection, and how often it broke.
    pub fn watch_link(&self) -> watch::Receiver<ConnectionState> {
        self.wire.link.clone()
    }

    /// Whether the broker syncs what it takes before it confirms it, as these pages of all its servers show.
    pub async fn check_syncs(&self, pages: &[String]) -> Result<(), BrokerFault> {
        monitor::check_syncs(&self.wire, pages, self.copies, limits::PATIENCE).await
    }

    /// Sets the term of the log for everything from now on. A connection has at most one term, and the first one
    /// stays.
    pub fn has_term(&self, term: WriterTerm) {
        let _there_is_one = self.term.set(term);
    }

    /// The term; `None` if the log is not at the broker.
    pub fn term(&self) -> Option<&WriterTerm> {
        self.term.get()
    }

    /// The places in the stream of deliveries that the broker has confirmed.
    pub fn confirmations(&self) -> &ConfirmedPlaces {
        &self.confirmed
    }

    /// How often the stream of deliveries was found to have lost what it had confirmed.
    pub async fn count_losses(&self) -> Result<u64, String> {
        let breaks = read_watched(&self.wire.link).breaks;
        let last = async {
            let end = Instant::now() + limits::PATIENCE;
            loop {
                let last = self.last_place().await?;
                // A new leader in a cluster may be behind for a moment.
                if last >= self.confirmed.find_highest() || Instant::now() >= end {
                    return Ok(last);
                }
                tokio::time::sleep(limits::STREAM_PAUSE).await;
            }
        };
        self.confirmed.count_losses(breaks, last).await
    }

    /// The last place in the stream of deliveries. A stream that is gone has none.
    async fn last_place(&self) -> Result<u64, String> {
        let stream = self.jetstream().get_stream(self.subjects.bus_stream());
        match tokio::time::timeout(limits::PATIENCE, stream).await {
            Ok(Ok(stream)) => Ok(stream.cached_info().state.last_sequence),
            Ok(Err(error)) if is_not_found(&error) => Ok(0),
            Ok(Err(error)) => Err(format!("the stream of deliveries: {error}")),
            Err(_) => Err("the stream of deliveries: the broker did not answer within 5 s".to_owned()),
        }
    }

    /// The run of the server that this is connected to, which has another name whenever it is started. `None` if several
    /// servers keep copies of what they take: the others know what one forgets.
    pub fn server_run(&self) -> Option<String> {
        (self.copies == 1).then(|| self.wire.client.server_info().server_id)
    }

    /// The client to publish and subscribe with.
    pub fn client(&self) -> &async_nats::Client {
        &self.wire.client
    }

    /// The interface to streams and consumers.
    pub fn jetstream(&self) -> &Context {
        &self.wire.jetstream
    }

    /// The names of this organism's streams and subjects.
    pub fn subjects(&self) -> &BrokerSubjects {
        &self.subjects
    }

    /// The most bytes of one message, headers included, that the broker takes. The server may report another number
    /// whenever it is restarted.
    pub fn largest_message(&self) -> usize {
        let server = self.wire.client.max_payload();
        self.largest.map_or(server, |stream| stream.min(server))
    }

    /// Its address, for messages: only host and port.
    pub fn address(&self) -> &str {
        &self.wire.address
    }

    /// What the broker said from that time on about workers of a listener that gave no sign of life, oldest first.
    /// Nothing if the broker does not keep it.
    pub async fn list_silences(
        &self,
        listener: &Name,
        since: Option<Millis>,
    ) -> Result<Vec<WorkerSilence>, BrokerFault> {
        if !self.keeps_silences {
            return Ok(Vec::new());
        }
        let (stream, subject) = (self.subjects.silence_stream(), self.subjects.name_silence(listener));
        let mut said = Vec::new();
        let mut asked = match since {
            Some(since) => json!({ "start_time": since.to_string(), "next_by_subj": subject }),
            None => json!({ "seq": 1, "next_by_subj": subject }),
        };
        let what = "it was asked which workers gave no sign of life";
        while let Some(found) = source::read_message(&self.wire, what, &stream, asked).await? {
            said.extend(WorkerSilence::parse(&found.bytes));
            asked = json!({ "seq": found.sequence + 1, "next_by_subj": subject });
        }
        Ok(said)
    }
}

pub(super) fn is_not_found(error: &GetStreamError) -> bool {
    matches!(error.kind(), GetStreamErrorKind::JetStream(why) if why.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Broker({}, {})", self.wire.address, self.subjects.bus_stream())
    }
}
