//! The line from a working listener to the pump. The pump answers what the listener says on this line.
//!
//! Each delivery has its own line. The line makes no decisions. Entries, questions and remarks go in. The pump's
//! answers to entries and questions come out, once the confirmed data is on disk.

use std::future::Future;
use std::pin::Pin;

use crate::ask::{BytePage, PumpQuestion, StoredBlob, ViewedPage};
use crate::journal::{EarlierEntries, JournalEntry};
use crate::pump_documents::PumpAnswer;
use crate::reply::AnswerPart;
use crate::{Fault, Payload, Place, codes};

/// An answer that is still to come.
pub type PendingAnswer<'l, T> = Pin<Box<dyn Future<Output = T> + Send + 'l>>;

/// Why the pump did not accept a message of the listener.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The pump refused it.
    #[error("{code}: {words}")]
    Refused {
        /// The code, such as `budget.tokens`. With that code the model is not called.
        code: String,
        /// The pump's message.
        words: String,
    },
    /// No answer will come: the delivery is over, or the organism is stopping.
    #[error("the delivery is over")]
    Over,
    /// The pump's answer does not fit the question.
    #[error("the answer of the pump cannot be read: {0}")]
    Unreadable(Fault),
}

/// The line of one delivery.
pub trait Line: Send + Sync {
    /// Sends something that the pump answers. Entries and questions of one delivery share one sequence of numbers.
    fn say(&self, what: LineRequest) -> PendingAnswer<'_, Result<PumpAnswer, NotTaken>>;

    /// Sends something that the pump does not answer. When the future is ready, the remark is on its way and precedes
    /// anything sent later.
    fn tell(&self, what: Remark) -> PendingAnswer<'_, Result<(), NotTaken>>;
}

/// A message on the line that gets an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineRequest {
    /// An entry for the journal.
    Journal(JournalEntry),
    /// A question.
    Ask(PumpQuestion),
}

/// A message on the line that gets no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Feedback. The pump records it and shows it in the next turn.
    Notice {
        /// What happened, such as `agent.second-action`.
        code: String,
        /// The feedback.
        words: String,
    },
    /// A sign of life for observers.
    Progress {
        /// The part of an answer that they are, if they come from an answer on its way.
        part: Option<AnswerPart>,
        /// What the listener is doing, or the next words of that part.
        words: String,
    },
}

impl dyn Line + '_ {
    /// Records an entry and waits until it is on disk. Returns its number, which a result names as its start.
    ///
    /// # Errors
    /// If the pump refuses the entry or does not answer.
    pub async fn journal(&self, entry: JournalEntry) -> Result<u64, NotTaken> {
        Ok(check_taken(self.say(LineRequest::Journal(entry)).await?)?.id)
    }

    /// Asks the pump a question.
    ///
    /// # Errors
    /// If the pump refuses to answer or does not answer.
    pub async fn ask(&self, question: PumpQuestion) -> Result<Option<Payload>, NotTaken> {
        Ok(check_taken(self.say(LineRequest::Ask(question)).await?)?.payload)
    }

    /// Leaves feedback that the pump records and shows in the next turn. The feedback is on disk before the reply is.
    ///
    /// # Errors
    /// If the delivery is over.
    pub async fn notice(&self, code: &str, words: &str) -> Result<(), NotTaken> {
        self.tell(Remark::Notice { code: code.to_owned(), words: words.to_owned() }).await
    }

    /// Reports what the listener is doing. Observers see it, and it renews the idle timeout.
    ///
    /// # Errors
    /// If the delivery is over.
    pub async fn progress(&self, words: &str) -> Result<(), NotTaken> {
        self.tell(Remark::Progress { part: None, words: words.to_owned() }).await
    }

    /// Shows the next words of an answer on its way: part `answer` only if the answer begins with them, word for word.
    ///
    /// # Errors
    /// If the delivery is over.
    pub async fn show_answer(&self, part: Option<AnswerPart>, words: String) -> Result<(), NotTaken> {
        self.tell(Remark::Progress { part, words }).await
    }

    /// Stores bytes and returns their hash once they are on disk: SHA-256 in 64 lowercase hex digits. Use it to store a
    /// prompt before the entry that names it.
    ///
    /// # Errors
    /// If the pump refuses the bytes or does not answer.
    pub async fn put_blob(&self, bytes: impl Into<Vec<u8>>) -> Result<String, NotTaken> {
        let answer = self.ask(PumpQuestion::PutBlob { bytes: bytes.into() }).await?;
        Ok(read_answer(answer.as_ref(), StoredBlob::from_payload)?.hash)
    }

    /// The bytes of a document that a message of the listener's view names, such as a file of a tool: at most so many.
    ///
    /// # Errors
    /// If the pump refuses to answer or does not answer, or the document has more bytes.
    pub async fn blob(&self, hash: &str, most: u64) -> Result<Vec<u8>, NotTaken> {
        self.read_pages(|from| PumpQuestion::Blob { hash: hash.to_owned(), from }, most).await
    }

    /// The listener's own view from the given message on, joined into one piece.
    ///
    /// # Errors
    /// If the pump refuses to answer or does not answer.
    pub async fn view(&self, from_seq: u64) -> Result<ViewedPage, NotTaken> {
        self.whole_view(from_seq, false, true).await
    }

    /// Like `view`, but of the listener's own items only the notes are included. Message numbers do not change.
    ///
    /// # Errors
    /// If the pump refuses to answer or does not answer.
    pub async fn view_without_items(&self, from_seq: u64) -> Result<ViewedPage, NotTaken> {
        self.whole_view(from_seq, false, false).await
    }

    /// Like `view`, with the models' answers between the messages. Each answer comes before the items made from it.
    ///
    /// # Errors
    /// If the pump refuses to answer or does not answer.
    pub async fn view_with_words(&self, from_seq: u64) -> Result<ViewedPage, NotTaken> {
        self.whole_view(from_seq, true, true).await
    }

    async fn whole_view(&self, from_seq: u64, words: bool, items: bool) -> Result<ViewedPage, NotTaken> {
        let mut all = Vec::new();
        let mut from = from_seq;
        loop {
            let answer = self.ask(PumpQuestion::View { from_seq: from, words, items }).await?;
            let page = read_answer(answer.as_ref(), ViewedPage::from_payload)?;
            all.extend(page.shown);
            // A page that does not move forward is the last one, even if it names a next page.
            match page.next.filter(|after| *after > from) {
                Some(next) => from = next,
                None => return Ok(ViewedPage { next: None, shown: all, ..page }),
            }
        }
    }

    /// The listener's own section of the organism file, as text, as it was when the call began. The path is
    /// `listeners.NAME`, `agents.NAME` or `workflows.NAME`, with the listener's own name.
    ///
    /// # Errors
    /// If the pump refuses to answer or does not answer.
    pub async fn configuration(&self, path: &str) -> Result<String, NotTaken> {
        let all = self
            .read_pages(|from| PumpQuestion::Configuration { path: path.to_owned(), from }, u64::MAX)
            .await?;
        String::from_utf8(all).map_err(|_| {
            NotTaken::Unreadable(Fault::new(codes::INVALID, "the section is not UTF-8", Place::START))
        })
    }

    async fn read_pages(
        &self,
        question: impl Fn(u64) -> PumpQuestion + Send,
        most: u64,
    ) -> Result<Vec<u8>, NotTaken> {
        let (mut all, mut from) = (Vec::new(), 0);
        loop {
            let answer = self.ask(question(from)).await?;
            let page = read_answer(answer.as_ref(), BytePage::from_payload)?;
            if page.total > most {
                let words = format!("it has {} bytes, more than the {most} that were expected", page.total);
                return Err(NotTaken::Unreadable(Fault::new(codes::TOO_LARGE, words, Place::START)));
            }
            all.extend(page.bytes);
            // A page that does not move forward is the last one, even if it names a next page.
            match page.next.filter(|after| *after > from) {
                Some(next) => from = next,
                None => return Ok(all),
            }
        }
    }

    /// The whole journal of this turn's earlier attempts. A delivery whose stamp has no `journal` has none, so its
    /// listener need not ask.
    ///
    /// # Errors
    /// If the pump refuses to answer or does not answer.
    pub async fn past(&self) -> Result<EarlierEntries, NotTaken> {
        let mut all = EarlierEntries::default();
        let mut from = Some(0);
        while let Some(next) = from {
            let answer = self.ask(PumpQuestion::Journal { from: next }).await?;
            let page = read_answer(answer.as_ref(), EarlierEntries::from_payload)?;
            all.entries.extend(page.entries);
            // A page that does not move forward is the last one, even if it names a next page.
            from = page.next.filter(|after| *after > next);
        }
        Ok(all)
    }
}

/// Reads the payload of an answer. An unreadable answer is an error: treating it as empty would hide what was said or
/// paid.
fn read_answer<T>(
    answer: Option<&Payload>,
    as_what: impl Fn(&Payload) -> Result<T, Fault>,
) -> Result<T, NotTaken> {
    match answer {
        Some(payload) => as_what(payload).map_err(NotTaken::Unreadable),
        None => Err(NotTaken::Unreadable(Fault::new(codes::INVALID, "the answer is empty", Place::START))),
    }
}

fn check_taken(answer: PumpAnswer) -> Result<PumpAnswer, NotTaken> {
    match answer.refusal() {
        Some((code, words)) => Err(NotTaken::Refused { code, words }),
        None => Ok(answer),
    }
}
