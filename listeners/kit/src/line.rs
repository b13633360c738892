//! The line from a listener that is at work to the pump: what it says on it is answered.
//!
//! Whoever carries deliveries gives a listener one line for each. It judges nothing. Entries, questions and remarks go
//! in; what the pump answers to the first two comes out, once whatever it confirms is on disk.

use std::future::Future;
use std::pin::Pin;

use crate::ask::{Kept, Put, Question, Viewed};
use crate::journal::{Entry, Past};
use crate::told::Answer;
use crate::{Fault, Payload, Place, codes};

/// An answer that is waited for.
pub type Pending<'l, T> = Pin<Box<dyn Future<Output = T> + Send + 'l>>;

/// Why what a listener said was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The pump refused it.
    #[error("{code}: {words}")]
    Refused {
        /// The code, such as `budget.tokens`: then the model is not called.
        code: String,
        /// What the pump says about it.
        words: String,
    },
    /// Nobody answers any more: the delivery is over, or the organism stops.
    #[error("the delivery is over")]
    Over,
    /// The pump answered something else than what was asked for.
    #[error("the answer of the pump cannot be read: {0}")]
    Unreadable(Fault),
}

/// The line of one delivery.
pub trait Line: Send + Sync {
    /// Says something that is answered. Numbers of entries and of questions are one count, in one delivery.
    fn say(&self, what: Saying) -> Pending<'_, Result<Answer, NotTaken>>;

    /// Says something that is not answered: it is on its way once this is ready, before whatever is said next.
    fn tell(&self, what: Remark) -> Pending<'_, Result<(), NotTaken>>;
}

/// What is said on a line and answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saying {
    /// An entry for the journal.
    Journal(Entry),
    /// A question.
    Ask(Question),
}

/// What is said on a line and not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Feedback that is recorded and shown in the next turn.
    Notice {
        /// What happened, such as `agent.second-action`.
        code: String,
        /// The feedback.
        words: String,
    },
    /// A sign of life, for whoever watches.
    Progress {
        /// What is being done.
        words: String,
    },
}

impl dyn Line + '_ {
    /// Puts an entry on record and waits until it is on disk. Its number is what a result names as its start.
    ///
    /// # Errors
    /// When the pump refuses it, or nobody answers.
    pub async fn journal(&self, entry: Entry) -> Result<u64, NotTaken> {
        Ok(taken(self.say(Saying::Journal(entry)).await?)?.id)
    }

    /// Asks something.
    ///
    /// # Errors
    /// When the pump refuses to answer, or nobody does.
    pub async fn ask(&self, question: Question) -> Result<Option<Payload>, NotTaken> {
        Ok(taken(self.say(Saying::Ask(question)).await?)?.payload)
    }

    /// Leaves feedback that is recorded and shown in the next turn. It is on disk before the reply is.
    ///
    /// # Errors
    /// When the delivery is over.
    pub async fn notice(&self, code: &str, words: &str) -> Result<(), NotTaken> {
        self.tell(Remark::Notice { code: code.to_owned(), words: words.to_owned() }).await
    }

    /// Says what is being done. It is shown to whoever watches, and renews the idle timeout.
    ///
    /// # Errors
    /// When the delivery is over.
    pub async fn progress(&self, words: &str) -> Result<(), NotTaken> {
        self.tell(Remark::Progress { words: words.to_owned() }).await
    }

    /// Has a text kept, and gives its hash once it is on disk: SHA-256 in 64 small hex digits. So a prompt is kept
    /// before the entry that names it.
    ///
    /// # Errors
    /// When the pump refuses it, or nobody answers.
    pub async fn put_blob(&self, text: impl Into<String>) -> Result<String, NotTaken> {
        let answer = self.ask(Question::PutBlob { text: text.into() }).await?;
        Ok(read(answer.as_ref(), Put::read)?.hash)
    }

    /// Its own view from that message on: what is kept of it, in one piece.
    ///
    /// # Errors
    /// When the pump refuses to answer, or nobody does.
    pub async fn view(&self, from_seq: u64) -> Result<Viewed, NotTaken> {
        self.whole_view(from_seq, false, true).await
    }

    /// The same without its own items, but for notes: what it was told, and what it wrote down about that. Numbers
    /// stay as they are.
    ///
    /// # Errors
    /// When the pump refuses to answer, or nobody does.
    pub async fn view_without_items(&self, from_seq: u64) -> Result<Viewed, NotTaken> {
        self.whole_view(from_seq, false, false).await
    }

    /// The same, and between the messages what its models said: before what was made of it.
    ///
    /// # Errors
    /// When the pump refuses to answer, or nobody does.
    pub async fn view_with_words(&self, from_seq: u64) -> Result<Viewed, NotTaken> {
        self.whole_view(from_seq, true, true).await
    }

    async fn whole_view(&self, from_seq: u64, words: bool, items: bool) -> Result<Viewed, NotTaken> {
        let mut all = Vec::new();
        let mut from = from_seq;
        loop {
            let answer = self.ask(Question::View { from_seq: from, words, items }).await?;
            let page = read(answer.as_ref(), Viewed::read)?;
            all.extend(page.shown);
            // A page that does not lead on is the last, whatever it says.
            match page.next.filter(|after| *after > from) {
                Some(next) => from = next,
                None => return Ok(Viewed { next: None, shown: all, ..page }),
            }
        }
    }

    /// Its own section of the organism's file, as text: what the call began with, whatever the file says by now.
    /// The path is `listeners.NAME`, `agents.NAME` or `workflows.NAME`, with its own name.
    ///
    /// # Errors
    /// When the pump refuses to answer, or nobody does.
    pub async fn configuration(&self, path: &str) -> Result<String, NotTaken> {
        let (mut all, mut from) = (Vec::new(), 0);
        loop {
            let answer = self.ask(Question::Configuration { path: path.to_owned(), from }).await?;
            let page = read(answer.as_ref(), Kept::read)?;
            all.extend(page.bytes);
            // A page that does not lead on is the last, whatever it says.
            match page.next.filter(|after| *after > from) {
                Some(next) => from = next,
                None => break,
            }
        }
        String::from_utf8(all).map_err(|_| {
            NotTaken::Unreadable(Fault::new(codes::INVALID, "the section is not UTF-8", Place::START))
        })
    }

    /// The whole journal of this turn's earlier attempts. Whoever was given a stamp without `journal` need not ask.
    ///
    /// # Errors
    /// When the pump refuses to answer, or nobody does.
    pub async fn past(&self) -> Result<Past, NotTaken> {
        let mut all = Past::default();
        let mut from = Some(0);
        while let Some(next) = from {
            let answer = self.ask(Question::Journal { from: next }).await?;
            let page = read(answer.as_ref(), Past::read)?;
            all.entries.extend(page.entries);
            // A page that does not lead on is the last, whatever it says.
            from = page.next.filter(|after| *after > next);
        }
        Ok(all)
    }
}

/// What an answer holds. To take one that cannot be read for an empty one would hide what was said or paid.
fn read<T>(answer: Option<&Payload>, as_what: impl Fn(&Payload) -> Result<T, Fault>) -> Result<T, NotTaken> {
    match answer {
        Some(payload) => as_what(payload).map_err(NotTaken::Unreadable),
        None => Err(NotTaken::Unreadable(Fault::new(codes::INVALID, "the answer is empty", Place::START))),
    }
}

fn taken(answer: Answer) -> Result<Answer, NotTaken> {
    match answer.refusal() {
        Some((code, words)) => Err(NotTaken::Refused { code, words }),
        None => Ok(answer),
    }
}
