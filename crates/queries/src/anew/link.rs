//! The link between a failed root and a root that has its request anew. It is the idempotency key of the new root's first
//! record, which the log keeps and hashes like every other part of a header.
//!
//! The key names the failed root, the record that closed its call, a proof and a number. The proof is made of the leaf of
//! that record: only who may read the failed root knows it, so a client cannot link its messages to the threads of others.
//! The number counts the different requests that a client sent in place of one. It is no hash of the request, because the
//! log keeps a key when what it was made of is erased or left out of an export.
//!
//! Records and keys come in and go out.

use std::sync::Arc;

use serde_json::{Value, json};
use systole_core::types::ids::{Digest, Key, MalformedId, MessageId, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader, Position};
use systole_core::types::record::Record;
use systole_log::index::{IndexFault, IndexFile};

use crate::limits;

/// The word with which the key begins.
const LEAD: &str = "anew";
/// The last word of the key, if effects outside may happen again.
const AGAIN: &str = "again";

/// The key of a message that sends a request anew, as that client: `end` is the record that closed its call. The same
/// request has the key that it had before.
pub(super) fn make_key(
    end: &Record,
    (by, payload): (&Name, &[u8]),
    sent: &[SentAnew],
    has_effects: bool,
) -> Result<Key, MalformedId> {
    let own = || sent.iter().filter(|one| one.end == end.header.id && one.client == *by);
    let same = own().find(|one| *one.payload == *payload).map(|one| one.number);
    let number = same.unwrap_or_else(|| own().map(|one| one.number).max().unwrap_or(0).saturating_add(1));
    let (thread, seq, proof) = (&end.header.thread, end.header.seq, prove_end(end));
    let again = if has_effects { format!(":{AGAIN}") } else { String::new() };
    Key::parse(&format!("{LEAD}:{thread}:{seq}:{proof}:{number}{again}"))
}

/// What only who knows the record can know.
fn prove_end(end: &Record) -> String {
    let hash = Digest::hash_bytes(format!("systole anew {}", end.leaf).as_bytes());
    hash.to_string().chars().take(limits::PROOF_DIGITS).collect()
}

/// What a key says of a request that was sent anew.
struct AnewKey<'k> {
    /// The root from which it comes.
    source: ThreadId,
    /// The record there that closed its call.
    seq: u64,
    proof: &'k str,
    number: u32,
}

fn split_key(key: &Key) -> Option<AnewKey<'_>> {
    let mut words = key.as_str().split(':');
    words.next().filter(|lead| *lead == LEAD)?;
    let [source, seq, proof, number] = [words.next()?, words.next()?, words.next()?, words.next()?];
    let source = ThreadId::parse(source).ok()?;
    Some(AnewKey { source, seq: seq.parse().ok()?, proof, number: number.parse().ok()? })
}

/// The root from which a first record says that its request comes. Nothing proves it yet.
pub fn claimed_source(first: &Record) -> Option<ThreadId> {
    split_key(first.header.key.as_ref()?).map(|key| key.source)
}

/// The root from which the request of a root comes.
///
/// # Errors
/// If the log cannot be read.
pub fn find_source(reader: &dyn LogReader, id: &ThreadId) -> Result<Option<ThreadId>, LogFault> {
    Ok(prove_source(reader, id)?.map(|(source, _)| source))
}

/// The same, with what else the first record of the root says.
fn prove_source(reader: &dyn LogReader, id: &ThreadId) -> Result<Option<(ThreadId, SentAnew)>, LogFault> {
    let first = reader.of_thread(id, 1, 1)?.pop();
    let Some((position, Record { header, body, .. })) = first else { return Ok(None) };
    let Some(AnewKey { source, seq, proof, number }) = header.key.as_ref().and_then(split_key) else {
        return Ok(None);
    };
    let end = reader.of_thread(&source, seq, 1)?.pop();
    let is_proved = |(before, end): &(Position, Record)| {
        *before < position && end.header.seq == seq && prove_end(end) == proof
    };
    let sent = |(_, end): (Position, Record)| SentAnew {
        thread: id.clone(),
        end: end.header.id,
        client: header.from.clone(),
        number,
        payload: body.clone(),
    };
    Ok(end.filter(is_proved).map(sent).map(|sent| (source, sent)))
}

/// A root that has the request of another one anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentAnew {
    /// The new root.
    pub thread: ThreadId,
    /// The record that closed the call whose request it has.
    pub end: MessageId,
    /// Who sent it.
    client: Name,
    /// How many different requests its client had sent in place of that one, with this one.
    number: u32,
    payload: Arc<[u8]>,
}

/// The roots that have the request of a root anew, as far as the reader shows them; the oldest first.
///
/// # Errors
/// If the index or the log cannot be read.
pub fn list_sent(
    index: &IndexFile,
    reader: &dyn LogReader,
    id: &ThreadId,
) -> Result<Vec<SentAnew>, IndexFault> {
    let mut sent = Vec::new();
    for claims in index.list_sent_anew(id.as_str())? {
        let Ok(thread) = ThreadId::parse(&claims) else { continue };
        let proved = prove_source(reader, &thread)?.filter(|(source, _)| source == id);
        sent.extend(proved.map(|(_, one)| one));
        if sent.len() >= limits::SENT_ANEW {
            break;
        }
    }
    Ok(sent)
}

/// The roots that a root is linked to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AnewLinks {
    /// The root from which its request comes.
    pub source: Option<ThreadId>,
    /// The roots that have its own request.
    pub sent: Vec<ThreadId>,
}

impl AnewLinks {
    /// The links of a thread. A child has none.
    ///
    /// # Errors
    /// If the index or the log cannot be read.
    pub fn read(index: &IndexFile, reader: &dyn LogReader, id: &ThreadId) -> Result<AnewLinks, IndexFault> {
        if id.parent().is_some() {
            return Ok(AnewLinks::default());
        }
        let sent = list_sent(index, reader, id)?.into_iter().map(|one| one.thread).collect();
        Ok(AnewLinks { source: find_source(reader, id)?, sent })
    }

    /// The links for programs.
    pub fn as_json(&self) -> Value {
        let sent: Vec<&str> = self.sent.iter().map(ThreadId::as_str).collect();
        json!({"from": self.source.as_ref().map(ThreadId::as_str), "as": sent})
    }

    /// The links in words, each on a line.
    pub fn lines(&self) -> Vec<String> {
        let source = self.source.iter().map(|id| format!("sent anew from {id}"));
        source.chain(self.sent.iter().map(|id| format!("sent anew as {id}"))).collect()
    }
}
