//! The front of a running organism: what doors and commands speak to. It hands messages and orders in,
//! waits for their receipts and gives out the log to read. It decides nothing, and it keeps nothing
//! alive: once the organism stops, every call answers that nobody is there.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use systole_kit::envelope::Letter;
use tokio::sync::{mpsc, watch};

use super::spoken::{Hearing, Voice};
use super::tail::{Following, Tail};
use super::validators::{Door, Raw};
use super::waiting::{Reply, WaitingRoom};
use crate::edges::nats::Broker;
use systole_core::pump::heart::Input;
use systole_core::rules::admit;
use systole_core::types::composition::Composition;
use systole_core::types::flow::{Asked, Receipt, Refused};
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};

/// A message from outside.
pub struct Message {
    /// Who sends it, from its credential.
    pub client: Name,
    /// Its idempotency key.
    pub key: Key,
    /// The bytes.
    pub document: Vec<u8>,
    /// An addressee given beside the document.
    pub to: Option<String>,
    /// A thread given beside the document.
    pub thread: Option<String>,
}

/// The ways in. The organism holds the one strong reference beside calls that are on their way.
pub(super) struct Ways {
    pub(super) door: Door,
    pub(super) pump: mpsc::Sender<Input>,
}

/// What doors and commands hold. Cheap to clone.
#[derive(Clone)]
pub struct Front {
    pub(super) composition: Arc<Composition>,
    pub(super) reader: Arc<dyn LogReader>,
    pub(super) room: Arc<WaitingRoom>,
    pub(super) began: Position,
    pub(super) tail: watch::Receiver<Position>,
    pub(super) followed: Tail,
    pub(super) ways: Weak<Ways>,
    pub(super) seats: mpsc::WeakSender<Reading>,
    pub(super) voice: Voice,
    /// None where nobody is reached over one. It goes with the organism.
    pub(super) broker: Option<Weak<Broker>>,
}

/// Held by whoever follows the log to its end, so that it is not closed before.
pub enum Reading {}

impl Front {
    /// Hands a message from outside in and waits for its receipt; none if nobody is there any more.
    pub async fn ask(&self, message: Message) -> Option<Reply> {
        let (ticket, reply) = self.room.enter();
        let Message { client, key, document, to, thread } = message;
        let raw = Raw::Asked { ticket, client, key, document, to, thread };
        // The way in is held while the message is handed in, not while its receipt is waited for.
        let handed = self.ways.upgrade()?.door.hand(raw).await;
        handed.then_some(())?;
        reply.await.ok()
    }

    /// Has a refusal recorded that a door decided on before it had the whole message.
    pub async fn refuse(&self, client: Name, key: Key, refused: Refused) -> Option<Reply> {
        let (ticket, reply) = self.room.enter();
        let asked = Asked { ticket, client, key, thread: None, payload: Err(refused) };
        self.send(Input::Asked(asked)).await?;
        reply.await.ok()
    }

    /// Ends a root at rest.
    pub async fn end(&self, by: Name, thread: ThreadId) -> Option<Reply> {
        let (ticket, reply) = self.room.enter();
        self.send(Input::End { ticket, by, thread }).await?;
        reply.await.ok()
    }

    /// Ends a thread with all that is open in it.
    pub async fn cancel(&self, by: Name, thread: ThreadId) -> Option<Reply> {
        let (ticket, reply) = self.room.enter();
        self.send(Input::Cancel { ticket, by, thread }).await?;
        reply.await.ok()
    }

    /// How many workers answer to the name of each listener over NATS, or why that cannot be said; none of both where no
    /// listener is reached so.
    pub async fn workers(&self) -> Result<BTreeMap<Name, usize>, String> {
        let over_nats = self.composition.listeners.values().filter(|one| one.reach.is_over_broker());
        let names: Vec<Name> = over_nats.map(|one| one.name.clone()).collect();
        match self.broker.as_ref().and_then(Weak::upgrade) {
            Some(broker) => broker.workers(&names).await,
            None => Ok(BTreeMap::new()),
        }
    }

    /// The broker over which clients come in, if there is one. It goes with the organism.
    pub fn broker(&self) -> Option<Weak<Broker>> {
        self.broker.clone()
    }

    /// Has it recorded that somebody came without a credential, so many times.
    pub async fn knocked(&self, source: IpAddr, count: u64) {
        // A pump that is gone records nothing more; the count is lost with it, and nobody waits for it.
        let _recorded = self.send(Input::Knocked { source, count }).await;
    }

    /// What an envelope claims as its sender, where that is not the client. It counts for nothing; a
    /// receipt says that it was replaced.
    pub fn claimed(&self, client: &Name, document: &[u8]) -> Option<String> {
        let letter = Letter::read(document, &admit::gate_limits(&self.composition)).ok()?;
        letter.from.filter(|from| from != client.as_str())
    }

    /// Hears what listeners say of their work: in that thread and those below it, if one is named; and what was
    /// said since the log went as far as `from` and is still kept, or else from now on.
    pub fn hear(&self, from: Option<Position>, thread: Option<ThreadId>) -> Hearing {
        self.voice.hear(from, thread)
    }

    /// Where in the log a receipt's record is, for a receipt that repeats an earlier one. Blocks.
    pub fn position_of(&self, receipt: &Receipt, key: &Key) -> Result<Option<Position>, LogFault> {
        let found = self.reader.by_key(&receipt.thread, &receipt.sender, key)?;
        Ok(found.map(|(position, _)| position))
    }

    pub(super) async fn send(&self, input: Input) -> Option<()> {
        self.ways.upgrade()?.pump.send(input).await.ok()
    }

    /// What runs.
    pub fn composition(&self) -> &Arc<Composition> {
        &self.composition
    }

    /// The log, to read.
    pub fn reader(&self) -> &Arc<dyn LogReader> {
        &self.reader
    }

    /// How far the log went when this organism started.
    pub fn began(&self) -> Position {
        self.began
    }

    /// A seat for somebody who follows the log; none once the organism has stopped.
    pub fn seat(&self) -> Option<mpsc::Sender<Reading>> {
        self.seats.upgrade()
    }

    /// Follows the log from the record after `at`: that thread and those below it, or all if none is named.
    pub fn follow(&self, at: Position, thread: Option<ThreadId>) -> Following {
        self.followed.follow(at, thread)
    }

    /// How far the log goes, as it grows. It ends with the pump.
    pub fn tail(&self) -> watch::Receiver<Position> {
        self.tail.clone()
    }
}
