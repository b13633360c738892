//! The work on one delivery, from the moment it came to the receipt of its reply, and what all slots share.
//!
//! Whoever works gives one reply for each delivery, and that same one until its receipt comes. Nothing here takes a
//! delivery; slots do.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Message, Subject, Subscriber};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use super::call::{Call, until_answered};
use super::connection::Connection;
use super::news::{News, Unserved};
use super::slot::next;
use super::token;
use crate::envelope::Delivered;
use crate::reply::{Said, Word};
use crate::told::{Answer, Receipt, Told};
use crate::turn::Turn;

/// What an author's function does.
pub(super) type Answering = Box<dyn Fn(&mut Turn<'_>) -> Said + Send + Sync>;
/// What a message carries beside its body: a reply is to have room for it under the broker's limit.
const BESIDE: usize = 1024;
/// The most bytes of what is shown as the last error.
const LAST_ERROR: usize = 512;

/// What the slots of a worker share.
pub(super) struct House {
    pub(super) connection: Connection,
    /// Who this worker is among those of its name.
    pub(super) id: String,
    pub(super) organism: String,
    pub(super) listener: String,
    pub(super) tell: Arc<dyn Fn(&News) + Send + Sync>,
    pub(super) renew: Duration,
    pub(super) counts: Counts,
    answer: Answering,
    /// What is in the hands of some slot; each is told when it is called back.
    held: Mutex<HashMap<String, watch::Sender<bool>>>,
}

/// What it has done so far.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) requests: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) nanoseconds: AtomicU64,
    pub(super) last_error: Mutex<String>,
}

impl Counts {
    fn failed(&self, words: &str) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let end = words.floor_char_boundary(LAST_ERROR);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) =
            words.get(..end).unwrap_or_default().to_owned();
    }
}

/// A delivery that came.
pub(super) struct Held {
    asked: Delivered,
    /// Where everything about it is said.
    said: Subject,
    /// Where its message is renewed and acknowledged.
    pub(super) message: Subject,
    called_back: watch::Receiver<bool>,
}

impl House {
    pub(super) fn new(
        connection: Connection,
        organism: &str,
        listener: &str,
        tell: Arc<dyn Fn(&News) + Send + Sync>,
        answer: Answering,
        renew: Duration,
    ) -> Self {
        let (organism, listener) = (organism.to_owned(), listener.to_owned());
        // What an inbox ends with is drawn anew for each.
        let id = connection.client.new_inbox().rsplit('.').next().unwrap_or_default().to_owned();
        Self {
            connection,
            id,
            organism,
            listener,
            tell,
            renew,
            counts: Counts::default(),
            answer,
            held: Mutex::default(),
        }
    }

    fn subject(&self, kind: &str) -> String {
        ["o.", &token(&self.organism), ".", kind, ".", &token(&self.listener)].concat()
    }

    pub(super) fn deliveries(&self) -> String {
        self.subject("dlv")
    }

    pub(super) fn cancels(&self) -> String {
        self.subject("cancel")
    }

    pub(super) fn live(&self) -> String {
        self.subject("live")
    }

    pub(super) fn stream(&self) -> String {
        ["SYSTOLE_", &token(&self.organism), "_BUS"].concat()
    }

    /// An ear for a subject.
    pub(super) async fn ear(&self, subject: String) -> Result<Subscriber, Unserved> {
        self.connection.client.subscribe(subject).await.map_err(|error| Unserved::Ended(error.to_string()))
    }

    /// Tells each slot what is called back, for as long as the connection lasts.
    pub(super) async fn hear_cancels(self: Arc<Self>, mut ear: Subscriber) {
        while let Some(message) = next(&mut ear).await {
            if let Ok(Told::Cancel { delivery }) = Told::read(&message.payload) {
                let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(tell) = held.get(&delivery) {
                    tell.send_replace(true);
                }
            }
        }
    }

    /// Reads what was pulled. What is no delivery is told and left alone: the pump hears from the broker that nobody
    /// takes care of it.
    pub(super) fn takes(&self, message: Message) -> Option<Held> {
        let no = |words: &str| {
            (self.tell)(&News::Unreadable { words: words.to_owned() });
            None
        };
        let said = message.headers.as_ref().and_then(|headers| headers.get("Systole-Reply"));
        let (Some(said), Some(reply)) = (said, message.reply) else {
            return no("it has no Systole-Reply, or nothing to be acknowledged by");
        };
        let said = Subject::from(said.as_str());
        match Told::read(&message.payload) {
            Ok(Told::Delivery(asked)) => {
                let (tell, called_back) = watch::channel(false);
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                held.insert(asked.stamp.delivery.clone(), tell);
                Some(Held { asked: *asked, said, message: reply, called_back })
            }
            Ok(_) => no("it is no envelope"),
            Err(fault) => no(&fault.to_string()),
        }
    }

    /// Says that somebody is at work on a delivery, or that it is over.
    pub(super) async fn says(&self, message: &Subject, word: &'static str) {
        // One that is lost is said again by the next; of one that is over the pump knows by the reply.
        let _sent = self.connection.client.publish(message.clone(), word.into()).await;
    }

    /// Works on a delivery until the pump has its reply on disk, or does not want it any more.
    pub(super) async fn works(self: Arc<Self>, held: Held) {
        let (delivery, message, subject) =
            (held.asked.stamp.delivery.clone(), held.message.clone(), held.said.clone());
        let called_back = held.called_back.clone();
        let begun = Instant::now();
        let said = self.clone().said(held).await;
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts.nanoseconds.fetch_add(took, Ordering::Relaxed);
        if let Said::Failure { code, words, .. } = &said {
            self.counts.failed(&[code, ": ", words].concat());
        }
        let was_called_back = *called_back.borrow();
        if !was_called_back {
            let document = self.reply(&delivery, said);
            if let Told::Receipt(receipt) = until_answered(&self, &subject, &document).await {
                self.refused(&receipt);
            }
            self.says(&message, "+ACK").await;
        }
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&delivery);
    }

    /// What the author's function says.
    async fn said(self: Arc<Self>, held: Held) -> Said {
        let runtime = Handle::current();
        let work = tokio::task::spawn_blocking(move || {
            let Held { asked, said, called_back, .. } = held;
            let mut call = Call { house: self.clone(), runtime, subject: said, called_back, answer: None };
            let mut turn = Turn::of(asked, &mut call);
            let said = (self.answer)(&mut turn);
            match turn.broken() {
                None => said,
                // What it said before cannot be written; the rest would stand there without it.
                Some(error) => failure("unsayable", &error.to_string()),
            }
        });
        // The words of a panic are on stderr.
        work.await.unwrap_or_else(|_| failure("panicked", "the listener fell while it worked on this"))
    }

    /// The document of a reply; one that cannot be sent becomes a failure that says why.
    fn reply(&self, delivery: &str, said: Said) -> Vec<u8> {
        let most = self.connection.client.server_info().max_payload.saturating_sub(BESIDE);
        let written = Word::Reply { delivery: delivery.to_owned(), said }.document();
        let (code, words) = match written {
            Ok(document) if document.len() <= most => return document,
            Ok(document) => {
                let (bytes, most) = (document.len().to_string(), most.to_string());
                ("too-large", ["the reply has ", &bytes, " bytes, and the broker takes ", &most].concat())
            }
            Err(fault) => ("unsayable", fault.to_string()),
        };
        self.counts.failed(&words);
        (self.tell)(&News::Unsent { delivery: delivery.to_owned(), words: words.clone() });
        Word::Reply { delivery: delivery.to_owned(), said: failure(code, &words) }
            .document()
            .unwrap_or_default()
    }

    /// Tells the author if it was refused.
    pub(super) fn refused(&self, receipt: &Receipt) {
        let answer = Answer { delivery: receipt.delivery.clone(), id: 0, payload: receipt.refusal.clone() };
        if let Some((code, words)) = answer.refusal() {
            self.counts.failed(&[&code, ": ", &words].concat());
            (self.tell)(&News::Refused { delivery: answer.delivery, code, words });
        }
    }
}

fn failure(code: &str, words: &str) -> Said {
    Said::Failure { code: code.to_owned(), retry: false, words: words.to_owned() }
}
