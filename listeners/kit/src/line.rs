//! The line from a listener that is at work to the pump: what it says on it is answered.
//!
//! Whoever carries deliveries gives a listener one line for each. Entries and questions go in; what the pump answers
//! comes out, once whatever it confirms is on disk.

use std::future::Future;
use std::pin::Pin;

use crate::Payload;
use crate::ask::{Question, Shown, Viewed};
use crate::journal::{Entry, Past};
use crate::told::Answer;

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
}

/// The line of one delivery.
pub trait Line: Send + Sync {
    /// Says something that is answered. Numbers of entries and of questions are one count, in one delivery.
    fn say(&self, what: Saying) -> Pending<'_, Result<Answer, NotTaken>>;
}

/// What is said on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saying {
    /// An entry for the journal.
    Journal(Entry),
    /// A question.
    Ask(Question),
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

    /// The messages of its own view, from that number on: what is kept of them, in one piece.
    ///
    /// # Errors
    /// When the pump refuses to answer, or nobody does.
    pub async fn view(&self, from_seq: u64) -> Result<Vec<Shown>, NotTaken> {
        let mut all = Vec::new();
        let mut from = Some(from_seq);
        while let Some(first) = from {
            let answer = self.ask(Question::View { from_seq: first }).await?;
            let page = answer.as_ref().and_then(|payload| Viewed::read(payload).ok()).unwrap_or_default();
            all.extend(page.messages);
            // A page that does not lead on is the last, whatever it says.
            from = page.next.filter(|after| *after > first);
        }
        Ok(all)
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
            let page = answer.as_ref().and_then(|payload| Past::read(payload).ok()).unwrap_or_default();
            all.entries.extend(page.entries);
            // A page that does not lead on is the last, whatever it says.
            from = page.next.filter(|after| *after > next);
        }
        Ok(all)
    }
}

fn taken(answer: Answer) -> Result<Answer, NotTaken> {
    match answer.refusal() {
        Some((code, words)) => Err(NotTaken::Refused { code, words }),
        None => Ok(answer),
    }
}
