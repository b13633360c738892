//! What all slots of a worker share: its connection, its name, what it has done, and which deliveries are in whose hands.
//!
//! It reads what was pulled and tells of what is called back. Nothing here takes a delivery; slots do. What is done with
//! one is given from outside.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Message, Subject, Subscriber};
use tokio::sync::watch;

use super::connection::Connection;
use super::held::Held;
use super::news::{News, Unserved};
use super::slot::next;
use super::token;
use crate::told::Told;

/// What is done with each delivery.
pub(super) type Working = Box<dyn Fn(Held) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;
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
    pub(super) work: Working,
    /// Whether it was told that nothing is handed out: every slot finds that out, and one word is enough.
    is_idle: AtomicBool,
    /// What is in the hands of some slot; each is told when it is called back.
    pub(super) held: Mutex<HashMap<String, watch::Sender<bool>>>,
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
    pub(super) fn failed(&self, words: &str) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let end = words.floor_char_boundary(LAST_ERROR);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) =
            words.get(..end).unwrap_or_default().to_owned();
    }
}

impl House {
    pub(super) fn new(
        connection: Connection,
        organism: &str,
        listener: &str,
        tell: Arc<dyn Fn(&News) + Send + Sync>,
        work: Working,
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
            work,
            is_idle: AtomicBool::new(false),
            held: Mutex::default(),
        }
    }

    fn subject(&self, kind: &str) -> String {
        format!("o.{}.{kind}.{}", token(&self.organism), token(&self.listener))
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
        format!("SYSTOLE_{}_BUS", token(&self.organism))
    }

    /// A slot is handed nothing, for another reason than that there is nothing.
    pub(super) fn idles(&self, words: &str) {
        if !self.is_idle.swap(true, Ordering::Relaxed) {
            (self.tell)(&News::Idle { words: words.to_owned() });
        }
    }

    /// A slot is served.
    pub(super) fn is_served(&self) {
        self.is_idle.store(false, Ordering::Relaxed);
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
    pub(super) fn takes(self: &Arc<Self>, message: Message) -> Option<Held> {
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
                drop(held);
                Some(Held::of(self.clone(), *asked, (said, reply), called_back))
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
}
