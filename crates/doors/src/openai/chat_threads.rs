//! Which thread a chat is. Clients send their whole history with each message, and a thread goes on only if its chat is
//! that history to the letter; else the message opens a new thread.
//!
//! What is kept here is an index of the log, and made of it again after a start.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::answers::write_answer;
use super::chat_hash::ChatHash;
use crate::limits;
use systole_core::rules::outcome::CallJudgement;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{MessageRole, Record, RecordCode, RecordKind, SteerEffect};
use systole_core::types::thread_choice::ThreadName;
use systole_core::types::time::Millis;
use systole_log::index::{IndexFile, RootSelection};
use systole_organism::front::OrganismHandle;
use systole_organism::indexing::ask_index;

/// A thread whose chat is over for now.
#[derive(Clone, Debug)]
pub(super) struct RestingChat {
    /// Its name.
    pub(super) name: ThreadName,
    /// The thread.
    pub(super) thread: ThreadId,
    /// Its last record that counted.
    pub(super) seq: u64,
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub(super) struct SentChat {
    /// The name of its thread.
    pub(super) name: ThreadName,
    /// Its key there.
    pub(super) key: Key,
    /// When it was sent, since this process began.
    pub(super) at: Millis,
}

/// The chats of a client. The oldest are forgotten: their next message opens a new thread.
#[derive(Default)]
struct ClientChats {
    /// The beginnings whose threads in the log were read.
    read: BTreeSet<String>,
    resting: BTreeMap<ChatHash, RestingChat>,
    order: VecDeque<ChatHash>,
    /// By what each message had of its own: the key that the client chose, or its bytes.
    sent: BTreeMap<String, SentChat>,
    sent_order: VecDeque<String>,
}

impl ClientChats {
    fn add_resting(&mut self, hash: ChatHash, chat: RestingChat) {
        if self.resting.insert(hash.clone(), chat).is_none() {
            self.order.push_back(hash);
        }
        while self.order.len() > limits::CHATS {
            let Some(oldest) = self.order.pop_front() else { break };
            self.resting.remove(&oldest);
        }
    }

    fn add_sent(&mut self, own: String, sent: SentChat) {
        if self.sent.insert(own.clone(), sent).is_none() {
            self.sent_order.push_back(own);
        }
        while self.sent_order.len() > limits::CHATS {
            let Some(oldest) = self.sent_order.pop_front() else { break };
            self.sent.remove(&oldest);
        }
    }
}

/// The chats of all clients.
#[derive(Default)]
pub(super) struct ChatThreads(Mutex<BTreeMap<Name, ClientChats>>);

impl ChatThreads {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, ClientChats>> {
        // Every change is complete before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a thread whose chat has ended with that hash.
    pub(super) fn keep_resting(&self, client: &Name, hash: ChatHash, chat: RestingChat) {
        self.lock().entry(client.clone()).or_default().add_resting(hash, chat);
    }

    /// Takes the thread whose chat is that history. Who comes second with the same history opens a new one.
    pub(super) fn take_resting(&self, client: &Name, history: &ChatHash) -> Option<RestingChat> {
        let mut chats = self.lock();
        let own = chats.get_mut(client)?;
        own.order.retain(|hash| hash != history);
        own.resting.remove(history)
    }

    /// Keeps where a message went.
    pub(super) fn keep_sent(&self, client: &Name, own: String, sent: SentChat) {
        self.lock().entry(client.clone()).or_default().add_sent(own, sent);
    }

    /// Where such a message went, if it was sent before.
    pub(super) fn find_sent(&self, client: &Name, own: &str) -> Option<SentChat> {
        self.lock().get(client)?.sent.get(own).cloned()
    }

    /// Reads from the log what chats with that beginning there are, if they were not read since the start.
    pub(super) async fn read_begun(
        &self,
        front: &OrganismHandle,
        client: &Name,
        begun: &ChatHash,
    ) -> Result<(), LogFault> {
        let prefix = begun.name_prefix();
        if self.lock().get(client).is_some_and(|own| own.read.contains(&prefix)) {
            return Ok(());
        }
        let (front, name, wanted) = (front.clone(), client.clone(), prefix.clone());
        let read = tokio::task::spawn_blocking(move || read_chats(&front, &name, wanted)).await;
        let found = read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
        let mut chats = self.lock();
        let own = chats.entry(client.clone()).or_default();
        if own.read.insert(prefix) {
            for chat in found {
                own.add_sent(format!("key {}", chat.mark), chat.sent);
                chat.resting.into_iter().for_each(|(hash, resting)| own.add_resting(hash, resting));
            }
        }
        Ok(())
    }
}

/// A chat in the log.
struct ReadChat {
    /// The mark and the place of its last message.
    mark: String,
    sent: SentChat,
    /// The thread at rest, if that has an answer.
    resting: Option<(ChatHash, RestingChat)>,
}

/// The chats in the log whose names begin so, the newest last.
fn read_chats(front: &OrganismHandle, client: &Name, prefix: String) -> Result<Vec<ReadChat>, LogFault> {
    let wanted =
        RootSelection { name: Some(prefix), client: Some(client.to_string()), ..RootSelection::default() };
    let reader = &**front.reader();
    let mut rows = Vec::new();
    ask_index(front.index(), reader, &mut |index: &IndexFile| {
        rows.clear();
        index.visit_roots(&wanted, &mut |row| {
            rows.push((row.name, row.thread));
            rows.len() < limits::CHATS
        })
    })?;
    let mut chats = Vec::new();
    for (name, thread) in rows.into_iter().rev() {
        let Some((name, thread)) = ThreadName::parse(&name).ok().zip(ThreadId::parse(&thread).ok()) else {
            continue;
        };
        chats.extend(read_last_run(front.composition(), reader, (name, thread))?);
    }
    Ok(chats)
}

/// The last run of a thread, unless the thread has ended.
fn read_last_run(
    organism: &Composition,
    reader: &dyn LogReader,
    (name, thread): (ThreadName, ThreadId),
) -> Result<Option<ReadChat>, LogFault> {
    let (mut asked, mut ended) = (None, None);
    let mut seq = 1;
    loop {
        let page = reader.of_thread(&thread, seq, limits::LOG_PAGE_FIRST)?;
        for (_, record) in &page {
            let h = &record.header;
            if h.kind == RecordKind::Terminal {
                return Ok(None);
            }
            if is_request(record) {
                (asked, ended) = (Some((h.key.clone(), h.call.clone())), None);
            } else if h.code == Some(RecordCode::Steering(SteerEffect::Reopened)) {
                ended = None;
            } else if asked.as_ref().is_some_and(|(_, call)| *call == h.call) {
                ended = CallJudgement::of_record(record).map(|how| (how, record.clone())).or(ended);
            }
        }
        match page.last() {
            Some((_, record)) if page.len() == limits::LOG_PAGE_FIRST => seq = record.header.seq + 1,
            _ => break,
        }
    }
    let recorded = asked.and_then(|(key, _)| key);
    let Some((hash, key, mark)) = recorded.and_then(|key| ChatHash::from_key(&key)) else { return Ok(None) };
    let resting = ended.and_then(|(how, record)| {
        let answer = write_answer(organism, how, &record)?;
        let resting = RestingChat { name: name.clone(), thread, seq: record.header.seq };
        Some((hash.add("assistant", &answer), resting))
    });
    Ok(Some(ReadChat { mark, sent: SentChat { name, key, at: Millis(0) }, resting }))
}

fn is_request(record: &Record) -> bool {
    record.header.code == Some(RecordCode::Role(MessageRole::Request))
}

/// Whether a thread still rests where its chat was left: no other message came, and it has not ended.
pub(super) async fn is_resting(front: &OrganismHandle, chat: &RestingChat) -> Result<bool, LogFault> {
    let (reader, thread, seq) = (front.reader().clone(), chat.thread.clone(), chat.seq + 1);
    let read = move || reader.of_thread(&thread, seq, limits::LOG_PAGE_FIRST);
    let read = tokio::task::spawn_blocking(read).await;
    let later = read.map_err(|end| LogFault::Io { path: "the log".into(), why: end.to_string() })??;
    let is_other = |record: &Record| is_request(record) || record.header.kind == RecordKind::Terminal;
    Ok(later.len() < limits::LOG_PAGE_FIRST && !later.iter().any(|(_, record)| is_other(record)))
}
