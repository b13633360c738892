//! The front of a running organism, used by doors and commands. It passes in messages and orders, waits for their
//! receipts, and gives read access to the log. It decides nothing and keeps nothing alive: after the organism stops,
//! every call returns `None` or an error.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Weak};

use systole_proof::policy::TrustPolicy;
use tokio::sync::{mpsc, oneshot, watch};

use super::indexing::{self, SharedIndex};
use super::live_messages::{LiveObserver, LiveVoice};
use super::live_words::CallWords;
use super::plan::RunPlan;
use super::resting_verdict::RestingVerdict;
use super::sent_files::SentFile;
use super::tail::{FollowPosition, LogTail};
use super::validators::{RawDocument, TrialPurpose, ValidatorQueue};
use super::waiting::{HeldForSender, SenderReply, UnusedTicket, WaitingRoom};
use systole_bus::Broker;
use systole_config as config;
use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::{ClientOrder, PumpNotice};
use systole_core::types::client::Role;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::flow::{DoorMessage, Receipt, Refused};
use systole_core::types::ids::{Digest, Key, Name, ThreadId};
use systole_core::types::ports::{LogReader, Position};
use systole_core::types::refusal::Refusal;
use systole_core::types::subject::Subject;
use systole_core::types::thread_choice::ThreadChoice;
use systole_follow::{FollowerBoard, FollowerStatus};
use systole_log::alarms::{LogAlarm, LogAlarms};
use systole_queries::outages;
use systole_system::watched::read_watched;

/// A message from outside.
pub struct ClientMessage {
    /// The sender, from its credential.
    pub client: Name,
    /// Its idempotency key.
    pub key: Key,
    /// The document.
    pub document: Vec<u8>,
    /// An addressee given outside the document.
    pub to: Option<String>,
    /// A thread given outside the document.
    pub thread: Option<String>,
    /// What the thread is about, if the sender says so.
    pub subject: Option<Subject>,
}

/// The ways in. The organism holds the only lasting strong reference; a call holds one only while it runs.
pub(super) struct OrganismWays {
    pub(super) door: ValidatorQueue,
    pub(super) pump: mpsc::Sender<PumpInput>,
}

/// What the handle knows of the organism's files.
#[derive(Clone)]
pub(super) struct OrganismPlaces {
    /// The folder of the organism's file.
    pub(super) directory: Arc<Path>,
    /// The file on this machine that has the log.
    pub(super) log: Option<Arc<Path>>,
    /// The index beside the log, or in memory.
    pub(super) index: SharedIndex,
    /// How the followers of the log fare.
    pub(super) followers: FollowerBoard,
    /// Which checkpoints beside the log count; `None` if none are signed.
    policy: Option<Arc<TrustPolicy>>,
}

impl OrganismPlaces {
    pub(super) fn from_plan(plan: &RunPlan) -> OrganismPlaces {
        OrganismPlaces {
            directory: plan.directory.as_path().into(),
            log: plan.log.file().map(Arc::from),
            index: indexing::share_index(plan.log.file()),
            followers: FollowerBoard::default(),
            policy: plan.proof.as_ref().map(|proof| proof.policy.clone()),
        }
    }

    /// Those of a log that is shown without an organism. No policy came with it, and nothing is written beside it.
    pub(super) fn from_log(directory: Arc<Path>, log: Option<Arc<Path>>) -> OrganismPlaces {
        OrganismPlaces {
            directory,
            log,
            index: indexing::share_index(None),
            followers: FollowerBoard::default(),
            policy: None,
        }
    }
}

/// The handle for doors and commands. Cheap to clone.
#[derive(Clone)]
pub struct OrganismHandle {
    pub(super) composition: Arc<Composition>,
    pub(super) places: OrganismPlaces,
    pub(super) reader: Arc<dyn LogReader>,
    pub(super) room: Arc<WaitingRoom>,
    pub(super) began: Position,
    pub(super) followed: LogTail,
    pub(super) ways: Weak<OrganismWays>,
    pub(super) seats: mpsc::WeakSender<ReaderToken>,
    pub(super) voice: LiveVoice,
    /// `None` if no listener or client uses a broker. It is dropped with the organism.
    pub(super) broker: Option<Weak<Broker>>,
    pub(super) alarms: LogAlarms,
    /// The verdict on a log that is shown without an organism; `None` if one runs.
    pub(super) at_rest: Option<Arc<RestingVerdict>>,
}

/// A token for readers that follow the log to its end, so that it is not closed before.
pub enum ReaderToken {}

impl OrganismHandle {
    /// Sends in a message from outside and waits for its receipt. `None` if the organism has stopped.
    pub async fn send_message(&self, message: ClientMessage) -> Option<SenderReply> {
        self.ask_holding(message, None).await
    }

    /// The same, with something that is held until the message is answered, even if its sender hangs up before.
    pub async fn ask_holding(&self, message: ClientMessage, held: HeldForSender) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_holding(held);
        let mut unhanded = UnusedTicket { room: &self.room, ticket: Some(ticket) };
        let ClientMessage { client, key, document, to, thread, subject } = message;
        let raw = RawDocument::Asked { ticket, client, key, document, to, thread, subject };
        // The way in is held while the message is passed in, not while waiting for its receipt.
        let handed = self.ways.upgrade()?.door.hand_in(raw).await;
        handed.then_some(())?;
        unhanded.ticket = None;
        reply.await.ok()
    }

    /// The verdict on a document that is not sent: what is wrong with it, if anything. Nothing is recorded. `None` if
    /// the organism has stopped.
    pub async fn try_document(
        &self,
        purpose: TrialPurpose,
        document: Vec<u8>,
    ) -> Option<Result<(), Box<Refusal>>> {
        let (verdict, judged) = oneshot::channel();
        let handed =
            self.ways.upgrade()?.door.hand_in(RawDocument::Tried { purpose, document, verdict }).await;
        handed.then_some(())?;
        judged.await.ok()
    }

    /// Records a refusal that a door decided on before it had the whole message.
    pub async fn record_refusal(&self, client: Name, key: Key, refused: Refused) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        let asked = DoorMessage {
            ticket,
            client,
            key,
            thread: ThreadChoice::New,
            payload: Err(refused),
            claimed: None,
            subject: None,
        };
        self.send_input(PumpInput::Asked(asked)).await?;
        reply.await.ok()
    }

    /// Keeps a file until a message of the same client refers to it. `None` if the organism has stopped.
    pub fn keep_file(&self, client: &Name, bytes: Vec<u8>) -> Option<Result<SentFile, Box<Refusal>>> {
        Some(self.ways.upgrade()?.door.files.keep(client, bytes.into()))
    }

    /// Holds a file for the message that brings it. `None` if the organism has stopped.
    pub fn hold_file(&self, client: &Name, bytes: Vec<u8>) -> Option<Result<SentFile, Box<Refusal>>> {
        Some(self.ways.upgrade()?.door.files.hold_file(client, bytes.into()))
    }

    /// Lets go of a file that a message brought, once that is on record or refused.
    pub fn release_file(&self, client: &Name, hash: Digest) {
        // Without an organism nothing is held.
        if let Some(ways) = self.ways.upgrade() {
            ways.door.files.release_file(client, hash);
        }
    }

    /// Whether the organism takes messages.
    pub fn is_running(&self) -> bool {
        self.ways.strong_count() > 0
    }

    /// Ends an idle root.
    pub async fn end_thread(&self, by: Name, thread: ThreadId) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        self.send_input(PumpInput::Ordered(ClientOrder::End { ticket, by, thread })).await?;
        reply.await.ok()
    }

    /// Ends a thread and everything that is open in it.
    pub async fn cancel_thread(&self, by: Name, thread: ThreadId) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        self.send_input(PumpInput::Ordered(ClientOrder::Cancel { ticket, by, thread })).await?;
        reply.await.ok()
    }

    /// Ends one top call of a thread, which goes on.
    pub async fn stop_run(&self, by: Name, thread: ThreadId, call: u32) -> Option<SenderReply> {
        let (ticket, reply) = self.room.enter_asker();
        self.send_input(PumpInput::Ordered(ClientOrder::StopRun { ticket, by, thread, call })).await?;
        reply.await.ok()
    }

    /// Ends the calls to a listener that wait for someone who is away, as far as that client may. Returns how many have
    /// ended; `None` if the organism has stopped.
    pub async fn cancel_waiting(&self, by: &Name, to: &Name) -> Option<Result<usize, Box<Refusal>>> {
        let (reader, name) = (self.reader.clone(), to.clone());
        let own = (!self.composition.has_role(by, Role::Operate)).then(|| by.clone());
        let read =
            tokio::task::spawn_blocking(move || outages::calls_to(&*reader, &name, own.as_ref())).await;
        let Ok(Ok(waiting)) = read else {
            let words = "the log cannot be read at the moment";
            return Some(Err(Box::new(Refusal::new(Code::IngressUnavailable, words))));
        };
        let mut replies = Vec::new();
        for (thread, call) in waiting {
            let (ticket, reply) = self.room.enter_asker();
            let order = ClientOrder::CancelCall { ticket, by: by.clone(), thread, call };
            self.send_input(PumpInput::Ordered(order)).await?;
            replies.push(reply);
        }
        let mut ended = 0;
        for reply in replies {
            match reply.await.ok()? {
                SenderReply::Done | SenderReply::Receipt(..) => ended += 1,
                // It waits no longer.
                SenderReply::Refused(refusal) if refusal.code == Code::UnknownThread => {}
                SenderReply::Refused(refusal) => return Some(Err(refusal)),
            }
        }
        Some(Ok(ended))
    }

    /// The number of workers for each listener over NATS. Empty if no listener uses NATS. An error says why it is
    /// unknown, for example because the organism has stopped.
    pub async fn count_workers(&self) -> Result<BTreeMap<Name, usize>, String> {
        let over_nats = self.composition.listeners.values().filter(|one| one.reach.is_over_broker());
        let names: Vec<Name> = over_nats.map(|one| one.name.clone()).collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        match upgrade(self.broker.as_ref())? {
            Some(broker) => broker.count_workers(&names).await,
            None => Ok(BTreeMap::new()),
        }
    }

    /// The broker for clients, if there is one. It is dropped with the organism.
    pub fn broker(&self) -> Option<Weak<Broker>> {
        self.broker.clone()
    }

    /// Sends nothing from now on, and takes messages as before. It returns when nothing is out on this machine; `None` if
    /// the organism has stopped.
    pub async fn hold_deliveries(&self) -> Option<()> {
        let (ticket, reply) = self.room.enter_asker();
        self.send_input(PumpInput::Hold(ticket)).await?;
        reply.await.ok().map(drop)
    }

    /// Records `count` attempts to connect without a credential.
    pub async fn record_attempts(&self, source: IpAddr, count: u64) {
        // If the pump is gone, the count is lost; no one waits for it.
        let _recorded = self.send_input(PumpInput::Noticed(PumpNotice::Knocked { source, count })).await;
    }

    /// Listens to progress messages of listeners: in `thread` and the threads below it, or in all threads. With
    /// `from`, it starts with the kept messages since that log position; without it, it starts now.
    pub fn listen(&self, from: Option<Position>, thread: Option<ThreadId>) -> LiveObserver {
        self.voice.listen(from, thread)
    }

    /// What the calls in a thread and below it say now. Whether they are still open is for the log to say.
    pub fn live_words(&self, thread: &ThreadId) -> Vec<CallWords> {
        self.voice.list_words(thread)
    }

    /// How many progress messages there were, as it changes.
    pub fn count_messages(&self) -> watch::Receiver<u64> {
        self.voice.count_messages()
    }

    /// The roots in which something was said after that many messages, among the calls whose words are kept.
    pub fn list_speaking_roots(&self, after: u64) -> BTreeSet<ThreadId> {
        self.voice.list_roots(after)
    }

    /// The log position of the record in a receipt. One that repeats an earlier receipt comes without: then it is read.
    pub async fn locate_receipt(&self, receipt: &Receipt, position: Option<Position>) -> Position {
        if let Some(position) = position {
            return position;
        }
        let (reader, thread, seq) = (self.reader.clone(), receipt.thread.clone(), receipt.seq);
        let read = move || reader.of_thread(&thread, seq, 1);
        let found = tokio::task::spawn_blocking(read).await.ok().and_then(Result::ok);
        let found = found.and_then(|mut found| found.pop());
        // The receipt is still valid, and reading from the beginning misses nothing.
        found.map_or(Position(0), |(position, _)| position)
    }

    pub(super) async fn send_input(&self, input: PumpInput) -> Option<()> {
        self.ways.upgrade()?.pump.send(input).await.ok()
    }

    /// The running composition.
    pub fn composition(&self) -> &Arc<Composition> {
        &self.composition
    }

    /// A configuration from its stored source, or why it cannot be read.
    pub fn read_configuration(&self, source: &[u8]) -> Result<Composition, String> {
        config::read_source(source, &self.places.directory).map_err(|refused| refused.to_string())
    }

    /// The verdict on a log that is shown without an organism; `None` if one runs.
    pub fn at_rest(&self) -> Option<&Arc<RestingVerdict>> {
        self.at_rest.as_ref()
    }

    /// The file on this machine that has the log; `None` for a log in memory.
    pub fn log_file(&self) -> Option<&Path> {
        self.places.log.as_deref()
    }

    /// Which checkpoints beside the log count; `None` if none are signed.
    pub fn policy(&self) -> Option<&TrustPolicy> {
        self.places.policy.as_deref()
    }

    /// What has kept the log from being written as it should, since the start.
    pub fn alarms(&self) -> Vec<LogAlarm> {
        self.alarms.list_all()
    }

    /// How the followers of the log fare.
    pub fn followers(&self) -> Vec<FollowerStatus> {
        self.places.followers.list_all(self.end())
    }

    /// The log, for reading.
    pub fn reader(&self) -> &Arc<dyn LogReader> {
        &self.reader
    }

    /// The index of the log.
    pub fn index(&self) -> &SharedIndex {
        &self.places.index
    }

    /// The last log position when this organism started.
    pub fn began(&self) -> Position {
        self.began
    }

    /// A token for a reader that follows the log. `None` after the organism has stopped.
    pub fn take_seat(&self) -> Option<mpsc::Sender<ReaderToken>> {
        self.seats.upgrade()
    }

    /// Follows the log from the record after `at`: `thread` and the threads below it, or all threads.
    pub fn follow(&self, at: Position, thread: Option<ThreadId>) -> FollowPosition {
        self.followed.follow(at, thread)
    }

    /// The last log position of now.
    pub fn end(&self) -> Position {
        read_watched(&self.followed.end())
    }

    /// The last log position, updated as the log grows. It ends with the pump.
    pub fn tail(&self) -> watch::Receiver<Position> {
        self.followed.end()
    }
}

/// The object behind a handle that the organism drops when it stops. `None` if there never was one.
fn upgrade<T>(held: Option<&Weak<T>>) -> Result<Option<Arc<T>>, String> {
    let gone = || "the organism has stopped".to_owned();
    held.map(|held| held.upgrade().ok_or_else(gone)).transpose()
}

#[cfg(test)]
mod tests {
    use super::{Arc, Weak, upgrade};

    #[test]
    fn a_broker_that_is_gone_is_not_one_that_never_was() {
        assert_eq!(upgrade::<u8>(None), Ok(None));
        assert_eq!(upgrade(Some(&Weak::<u8>::new())), Err("the organism has stopped".to_owned()));
        let held = Arc::new(1);
        assert_eq!(upgrade(Some(&Arc::downgrade(&held))), Ok(Some(held.clone())));
    }
}
