//! One delivery in the hands of whoever works on it, and all that can be said about it to the pump, in documents.
//!
//! A word that is answered is sent again until it is: the pump takes the same word once, however often it comes. Nothing
//! here takes a delivery or renews it; slots do. It judges nothing of what is said.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use async_nats::{HeaderMap, Request, Subject};
use tokio::sync::watch;
use tokio::time::Instant;

use super::connection::pause;
use super::news::News;
use super::work::House;
use crate::envelope::Delivered;
use crate::reply::{Said, Word};
use crate::told::{Answer, Receipt, Told};

/// The header of a reply by which whoever runs the listener tells that the delivery will not be answered. Its value is a
/// code; the reply itself is a failure with the words.
pub const GONE: &str = "Systole-Gone";

/// How long an answer may take before the same is sent again.
const ANSWER: Duration = Duration::from_secs(5);
/// What a message carries beside its body: a word is to have room for it under the broker's limit.
const BESIDE: usize = 1024;

/// Why nothing was answered to a word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Untold {
    /// The delivery was called back before: nobody waits for what is said of it.
    #[error("the delivery was called back")]
    CalledBack,
    /// The broker takes no message of that size, so it was not sent.
    #[error("has {bytes} bytes, and the broker takes {most}")]
    TooLarge {
        /// The bytes of the document.
        bytes: usize,
        /// The most that the broker takes.
        most: usize,
    },
}

/// A delivery that came. It is renewed for as long as the future that was given it goes on; where that ends without
/// [`Held::reply`] or [`Held::gone`], the broker tells the pump that nobody took care of it.
pub struct Held {
    house: Arc<House>,
    asked: Delivered,
    /// Where everything about it is said.
    said: Subject,
    /// Where its message is renewed and acknowledged.
    pub(super) message: Subject,
    called_back: watch::Receiver<bool>,
    begun: Instant,
    is_counted: AtomicBool,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Held").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl Held {
    /// One that has just come.
    pub(super) fn of(
        house: Arc<House>,
        asked: Delivered,
        (said, message): (Subject, Subject),
        called_back: watch::Receiver<bool>,
    ) -> Self {
        let is_counted = AtomicBool::new(false);
        Self { house, asked, said, message, called_back, begun: Instant::now(), is_counted }
    }

    /// What was delivered.
    #[must_use]
    pub fn delivered(&self) -> &Delivered {
        &self.asked
    }

    /// Whether its answer is no longer wanted.
    #[must_use]
    pub fn is_called_back(&self) -> bool {
        *self.called_back.borrow()
    }

    /// Waits until its answer is no longer wanted. May be dropped while it waits.
    pub async fn called_back(&self) {
        let mut called_back = self.called_back.clone();
        if called_back.wait_for(|called_back| *called_back).await.is_err() {
            // An end of whoever tells of it is none of the delivery.
            std::future::pending::<()>().await;
        }
    }

    /// Sends a notice, a journal entry or a question until it is answered, and gives the answer.
    ///
    /// # Errors
    /// When the delivery is called back before, or no message can be so large.
    pub async fn told(&self, document: &[u8]) -> Result<Told, Untold> {
        self.fits(document)?;
        let told = tokio::select! {
            () = self.called_back() => return Err(Untold::CalledBack),
            told = until_answered(&self.house, &self.said, document, None) => told,
        };
        if let Told::Receipt(receipt) = &told {
            self.refused(receipt);
        }
        Ok(told)
    }

    /// Sends progress. It is for whoever looks on at this moment: one that is lost is not said again.
    pub async fn progress(&self, document: Vec<u8>) {
        let _told = self.house.connection.client.publish(self.house.live(), document.into()).await;
    }

    /// Sends the reply until the pump has decided upon it, and says whether it took it. One that is too large becomes a
    /// failure that says so.
    pub async fn reply(&self, document: Vec<u8>) -> bool {
        let document = match self.fits(&document) {
            Ok(()) => document,
            Err(unfit) => self.failure("too-large", &format!("the reply {unfit}")),
        };
        self.counts();
        let told = until_answered(&self.house, &self.said, &document, None).await;
        self.house.says(&self.message, "+ACK").await;
        match told {
            Told::Receipt(receipt) => {
                self.refused(&receipt);
                receipt.refusal.is_none() && !receipt.is_superseded
            }
            _ => true,
        }
    }

    /// The same for what a listener says in the end. What cannot be written becomes a failure that says why.
    pub async fn says(&self, said: Said) -> bool {
        if let Said::Failure { code, words, .. } = &said {
            self.house.counts.failed(&format!("{code}: {words}"));
        }
        let written = Word::Reply { delivery: self.delivery().to_owned(), said }.document();
        let document = written.unwrap_or_else(|fault| self.failure("unsayable", &fault.to_string()));
        self.reply(document).await
    }

    /// Says that the delivery will not be answered, until the pump has heard it: with a code of the pump's own, such as
    /// `listener.failed` or `listener.lost`, and what is known. What follows from that is the pump's to decide.
    pub async fn gone(&self, code: &str, words: &str) {
        self.house.counts.failed(&format!("{code}: {words}"));
        self.counts();
        let said = Said::Failure { code: code.to_owned(), retry: true, words: words.to_owned() };
        // Words that no document can carry are left out: the code is what counts.
        let document = Word::Reply { delivery: self.delivery().to_owned(), said }
            .document()
            .unwrap_or_else(|fault| self.failure(code, &fault.to_string()));
        let _heard = until_answered(&self.house, &self.said, &document, Some(code)).await;
        self.house.says(&self.message, "+ACK").await;
    }

    fn delivery(&self) -> &str {
        &self.asked.stamp.delivery
    }

    fn fits(&self, document: &[u8]) -> Result<(), Untold> {
        let most = self.house.connection.client.server_info().max_payload.saturating_sub(BESIDE);
        let bytes = document.len();
        if bytes <= most { Ok(()) } else { Err(Untold::TooLarge { bytes, most }) }
    }

    /// The document of a failure, which goes in the place of something else.
    fn failure(&self, code: &str, words: &str) -> Vec<u8> {
        self.house.counts.failed(words);
        (self.house.tell)(&News::Unsent { delivery: self.delivery().to_owned(), words: words.to_owned() });
        let said = Said::Failure { code: code.to_owned(), retry: false, words: words.to_owned() };
        Word::Reply { delivery: self.delivery().to_owned(), said }.document().unwrap_or_default()
    }

    /// Tells the author if what was said was refused.
    fn refused(&self, receipt: &Receipt) {
        if receipt.is_superseded {
            (self.house.tell)(&News::Superseded { delivery: receipt.delivery.clone() });
        }
        let whole = receipt.refusal.iter().map(|refusal| (None, refusal));
        let items = receipt.refused.iter().map(|(ordinal, refusal)| (Some(*ordinal), refusal));
        for (item, refusal) in whole.chain(items) {
            let answer = Answer { delivery: receipt.delivery.clone(), id: 0, payload: Some(refusal.clone()) };
            if let Some((code, words)) = answer.refusal() {
                self.house.counts.failed(&format!("{code}: {words}"));
                (self.house.tell)(&News::Refused { delivery: answer.delivery, item, code, words });
            }
        }
    }

    /// Counts the work, once: it is over when its end is about to be said.
    fn counts(&self) {
        if !self.is_counted.swap(true, Ordering::Relaxed) {
            let took = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.house.counts.requests.fetch_add(1, Ordering::Relaxed);
            self.house.counts.nanoseconds.fetch_add(took, Ordering::Relaxed);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.counts();
        self.house.held.lock().unwrap_or_else(PoisonError::into_inner).remove(self.delivery());
    }
}

/// Sends the same until it is answered, with pauses, for as long as it is waited for.
async fn until_answered(house: &House, subject: &Subject, document: &[u8], gone: Option<&str>) -> Told {
    let mut tries = 0;
    loop {
        let mut request = Request::new().payload(document.to_vec().into()).timeout(Some(ANSWER));
        if let Some(code) = gone {
            let mut headers = HeaderMap::new();
            headers.insert(GONE, code);
            request = request.headers(headers);
        }
        // Nobody there, no answer in time, a connection that broke, something unreadable: all the same, it is not known
        // to be on disk.
        if let Ok(answer) = house.connection.client.send_request(subject.clone(), request).await
            && let Ok(told) = Told::read(&answer.payload)
            && matches!(told, Told::Answer(_) | Told::Receipt(_))
        {
            return told;
        }
        tokio::time::sleep(pause(tries)).await;
        tries = tries.saturating_add(1);
    }
}
