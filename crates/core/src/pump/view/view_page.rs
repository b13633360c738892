//! What can be wanted of a view, and what was seen of it. Plain data: other files read the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_wire::ask::MessageSpot;

use crate::types::ids::{Digest, Name, ThreadId};
use crate::types::ports::CallMark;
use crate::types::primitive::Recall;
use crate::types::refusal::Refusal;
use crate::types::time::Millis;

/// One message of a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewMessage {
    /// Its record.
    pub seq: u64,
    /// The sender.
    pub from: Name,
    /// The receiver, if it was said between others.
    pub to: Option<Name>,
    /// Its place in its call.
    pub spot: MessageSpot,
    /// The leaf of that record.
    pub leaf: Digest,
    /// Characters of its text.
    pub characters: u64,
    /// Whether it is a note.
    pub is_note: bool,
    /// The documents that it names: refused bytes, if the core said it, or else files.
    pub names: Vec<Digest>,
    /// Whether a turn begins with it, so that everything before it can be cleared.
    pub begins: bool,
}

/// The messages of a view, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct View {
    pub(super) messages: Vec<ViewMessage>,
    /// The number of the request of the call itself.
    pub(super) request: u64,
    /// What models said, by the number of the message that follows.
    pub(super) spoken: BTreeMap<u64, PrecedingWords>,
    /// When the thread began.
    pub(super) began: Millis,
}

impl View {
    /// All of them; the first has number 1.
    pub fn messages(&self) -> &[ViewMessage] {
        &self.messages
    }

    /// The number of the request of the call itself, which is never cleared.
    pub fn request(&self) -> u64 {
        self.request
    }

    /// The number of messages.
    pub fn count(&self) -> u64 {
        self.messages.len() as u64
    }

    /// What a model said before that message.
    pub fn spoken_before(&self, number: u64) -> Option<PrecedingWords> {
        self.spoken.get(&number).copied()
    }

    /// When the thread began.
    pub fn began(&self) -> Millis {
        self.began
    }

    /// The messages from one number to another, with their numbers.
    pub fn list_range(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, &ViewMessage)> {
        let skipped = usize::try_from(from.saturating_sub(1)).unwrap_or(usize::MAX);
        let rest = self.messages.get(skipped..).unwrap_or_default();
        (from.max(1)..).zip(rest).take_while(move |(number, _)| *number <= to)
    }
}

/// What is wanted from the log: by items of a reply, each under its ordinal, or by a question, under 0.
pub type ReadRequests = Vec<(u32, ReadRequest)>;

/// One thing that is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadRequest {
    /// The view itself.
    Whole,
    /// Whether that thread was a child of the call. This needs no view.
    Child(ThreadId),
    /// Messages, to be read again.
    Recall(Recall),
    /// The hash of the bytes of that message.
    Hash(u64),
    /// A page of the messages that are kept.
    Page(ViewPage),
    /// A document that it names.
    Blob {
        /// The hash, if what was written is one.
        hash: Option<Digest>,
        /// The first byte.
        from: u64,
    },
    /// Whether messages of the thread name these files. This needs no view.
    Files(Vec<Digest>),
}

/// A page of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ViewPage {
    /// The first message.
    pub from: u64,
    /// The last message that was cleared.
    pub cleared: u64,
    /// Whether what models said is shown as well.
    pub words: bool,
    /// Whether the listener's own items that are no notes are shown too.
    pub items: bool,
    /// The mark of the call.
    pub mark: CallMark,
}

/// What was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadResults {
    /// The view, if the view itself is wanted.
    pub view: Option<View>,
    /// The answer to each wish, or why there is none.
    pub answers: BTreeMap<u32, Result<Arc<[u8]>, Refusal>>,
    /// The first message after the page that was read, if there is one.
    pub next: Option<u64>,
    /// Whether each of the threads that were asked about was a child of the call.
    pub was_child: BTreeMap<ThreadId, bool>,
    /// The wanted hashes, by the numbers of their messages. A message that the view does not have gets none.
    pub hashes: BTreeMap<u64, Digest>,
    /// Of each item, a file that no earlier message of the thread names.
    pub unknown_files: BTreeMap<u32, Digest>,
}

/// Words of a model that come before a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrecedingWords {
    /// The turn whose reply used them.
    pub turn: u32,
    /// The record of the result.
    pub seq: u64,
    /// The message that they are cleared with.
    pub with: u64,
}
