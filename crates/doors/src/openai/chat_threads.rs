//! Which thread a chat is. Clients send their whole history with each message, and a thread goes on only if its newest
//! message and its answer are the last ones of that history, and all before them has the same hash. Else the message
//! opens a new thread.
//!
//! What is kept here is an index of the log, and made of it again after a start.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Mutex as OrderlyMutex;

use super::chat_hash::{ChatHash, is_chosen};
use super::sending_requests::SendingRequests;
use crate::limits;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind};
use systole_core::types::thread_choice::ThreadName;
use systole_core::types::time::Millis;
use systole_following::named_threads::list_named;
use systole_hall::http_state::BodySeats;
use systole_organism::front::OrganismHandle;
use systole_payloads::answers::write_answer;
use systole_queries::transcript::Transcript;

/// A message of a chat, and where it went.
#[derive(Clone, Debug)]
pub(super) struct AskedChat {
    /// The name of its thread.
    pub(super) name: ThreadName,
    /// Its key there.
    pub(super) key: Key,
    /// When it was sent.
    pub(super) at: Millis,
    /// The thread and its record there, once it is on disk.
    pub(super) place: Option<(ThreadId, u64)>,
}

/// Entries by a key, of which the oldest are forgotten.
struct NewestChats<K> {
    chats: BTreeMap<K, AskedChat>,
    order: VecDeque<K>,
}

impl<K> Default for NewestChats<K> {
    fn default() -> NewestChats<K> {
        NewestChats { chats: BTreeMap::new(), order: VecDeque::new() }
    }
}

impl<K: Ord + Clone> NewestChats<K> {
    fn add(&mut self, key: K, chat: AskedChat) {
        if self.chats.insert(key.clone(), chat).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > limits::CHATS {
            let Some(oldest) = self.order.pop_front() else { break };
            self.chats.remove(&oldest);
        }
    }

    /// Adds one of the log, unless there is a newer one. It is forgotten before all others.
    fn add_old(&mut self, key: K, chat: AskedChat) {
        if self.order.len() < limits::CHATS && !self.chats.contains_key(&key) {
            self.order.push_front(key.clone());
            self.chats.insert(key, chat);
        }
    }

    fn remove(&mut self, key: &K) -> Option<AskedChat> {
        self.order.retain(|known| known != key);
        self.chats.remove(key)
    }
}

/// The chats of a client.
#[derive(Default)]
pub(super) struct ClientChats {
    /// The beginnings of names whose threads in the log were read.
    read: BTreeSet<String>,
    /// The newest messages of threads, by their keys, which begin with the hash up to them.
    asked: NewestChats<String>,
    /// Messages whose keys the client chose, by the beginning of their chat and the mark of the key.
    named: NewestChats<(String, String)>,
}

/// What the door keeps.
pub(super) struct ChatDoor {
    pub(super) threads: ChatThreads,
    /// Seats of chats until their messages are sent: each may be large.
    pub(super) seats: BodySeats,
    /// Requests for responses that are being sent.
    pub(super) sending: SendingRequests,
}

impl Default for ChatDoor {
    fn default() -> ChatDoor {
        let seats = BodySeats::new(limits::OWN_CHAT_BODIES, limits::CHAT_BODIES);
        ChatDoor { threads: ChatThreads::default(), seats, sending: SendingRequests::default() }
    }
}

/// The chats of all clients. Of one client, one message at a time is placed.
#[derive(Default)]
pub(super) struct ChatThreads(Mutex<BTreeMap<Name, Arc<OrderlyMutex<ClientChats>>>>);

impl ChatThreads {
    pub(super) fn find_client(&self, client: &Name) -> Arc<OrderlyMutex<ClientChats>> {
        // An entry is added whole before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(client.clone()).or_default().clone()
    }
}

impl ClientChats {
    /// Keeps a message, and that of its client's own key if it has one.
    pub(super) fn keep(&mut self, begun: &ChatHash, chat: &AskedChat, mark: Option<&str>) {
        self.asked.add(chat.key.to_string(), chat.clone());
        if let Some(mark) = mark {
            self.named.add((begun.name_prefix(), mark.to_owned()), chat.clone());
        }
    }

    /// Forgets a message that was refused.
    pub(super) fn forget(&mut self, begun: &ChatHash, chat: &AskedChat, mark: Option<&str>) {
        self.take(chat);
        if let Some(mark) = mark {
            self.named.remove(&(begun.name_prefix(), mark.to_owned()));
        }
    }

    /// The newest messages of threads with that hash, the newest first. The same may be said in several chats.
    pub(super) fn find(&self, asked: &ChatHash) -> Vec<AskedChat> {
        let (first, behind) = asked.key_range();
        let mut found: Vec<AskedChat> =
            self.asked.chats.range(first..behind).map(|(_, chat)| chat.clone()).collect();
        found.sort_by_key(|chat| std::cmp::Reverse(chat.at));
        found.truncate(limits::SAME_CHATS);
        found
    }

    /// Takes one of them: who comes next does not find it.
    pub(super) fn take(&mut self, chat: &AskedChat) {
        self.asked.remove(&chat.key.to_string());
    }

    /// The message that the client sent under a key of its own.
    pub(super) fn find_named(&self, begun: &ChatHash, mark: &str) -> Option<&AskedChat> {
        self.named.chats.get(&(begun.name_prefix(), mark.to_owned()))
    }

    /// Reads from the log what chats with that beginning there are, if they were not read since the start.
    pub(super) async fn read_begun(
        &mut self,
        front: &OrganismHandle,
        client: &Name,
        (begun, named): (&ChatHash, &ChatHash),
    ) -> Result<(), LogFault> {
        let prefix = named.name_prefix();
        if self.read.contains(&prefix) {
            return Ok(());
        }
        let (front, name, wanted) = (front.clone(), client.clone(), prefix.clone());
        let read = tokio::task::spawn_blocking(move || read_chats(&front, &name, wanted)).await;
        let found = read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
        if self.read.len() >= limits::CHATS {
            self.read.clear();
        }
        self.read.insert(prefix);
        for ReadChat { mark, chat, is_newest } in found {
            if is_newest {
                self.asked.add_old(chat.key.to_string(), chat.clone());
            }
            if is_chosen(&mark) {
                self.named.add_old((begun.name_prefix(), mark), chat);
            }
        }
        Ok(())
    }
}

/// A message of a chat in the log.
struct ReadChat {
    mark: String,
    chat: AskedChat,
    /// Whether it is the newest of a thread that has not ended.
    is_newest: bool,
}

/// The messages of the threads whose names begin so, those of the newest threads first.
fn read_chats(front: &OrganismHandle, client: &Name, prefix: String) -> Result<Vec<ReadChat>, LogFault> {
    let reader = &**front.reader();
    let mut chats = Vec::new();
    for (name, thread) in list_named(front, client, prefix)? {
        let (mut own, mut has_ended): (Vec<ReadChat>, bool) = (Vec::new(), false);
        for placed in reader.records_of(&thread, 1) {
            let (_, record) = placed?;
            has_ended |= record.header.kind == RecordKind::Terminal;
            let key = record.header.key.as_ref().filter(|_| is_request(&record));
            let Some((key, mark)) = key.and_then(ChatHash::read_key) else { continue };
            let place = Some((thread.clone(), record.header.seq));
            let chat = AskedChat { name: name.clone(), key, at: record.header.time, place };
            own.push(ReadChat { mark, chat, is_newest: false });
        }
        if let Some(newest) = own.last_mut() {
            newest.is_newest = !has_ended;
        }
        chats.append(&mut own);
    }
    Ok(chats)
}

fn is_request(record: &Record) -> bool {
    record.header.code == Some(RecordCode::Role(MessageRole::Request))
}

/// The answer of a message, if nothing was asked in its thread since, and the thread has not ended.
pub(super) async fn read_answer(
    front: &OrganismHandle,
    chat: &AskedChat,
) -> Result<Option<String>, LogFault> {
    let Some((thread, seq)) = chat.place.clone() else { return Ok(None) };
    let (reader, organism) = (front.reader().clone(), front.composition().clone());
    let read = tokio::task::spawn_blocking(move || read_last_answer(&organism, &*reader, &thread, seq)).await;
    read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })?
}

fn read_last_answer(
    organism: &Composition,
    reader: &dyn LogReader,
    thread: &ThreadId,
    seq: u64,
) -> Result<Option<String>, LogFault> {
    let said = Transcript::read(reader, thread, seq)?;
    let [only] = said.turns.as_slice() else { return Ok(None) };
    let end = only.end.as_ref().filter(|_| !said.has_ended);
    Ok(end.and_then(|(how, record)| write_answer(organism, *how, record)))
}
