//! What all slots of a worker share: its connection, its name, its counters, and which deliveries are held.
//!
//! It passes on cancels. Nothing here takes a delivery; slots do, and `held.rs` reads the pulled messages.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Message, Subject, Subscriber};
use futures_core::Stream as _;
use tokio::sync::watch;

use super::as_token;
use super::connection::WorkerConnection;
use super::in_hand::InHand;
use super::news::{WorkerEvent, WorkerFault};
use crate::pump_documents::PumpDocument;

/// What the slots of a worker share.
pub(super) struct WorkerState {
    pub(super) connection: WorkerConnection,
    /// The worker's identity among those of its name.
    pub(super) id: String,
    pub(super) organism: String,
    pub(super) listener: String,
    pub(super) tell: Arc<dyn Fn(&WorkerEvent) + Send + Sync>,
    pub(super) renew: Duration,
    pub(super) counts: WorkerCounts,
    /// Whether it was reported that nothing is handed out. Every slot finds that out, but one report is enough.
    is_idle: AtomicBool,
    /// The deliveries that slots hold.
    pub(super) held: Mutex<InHand>,
    /// What is said of a delivery of another protocol, which ends the worker.
    pub(super) foreign: watch::Sender<Option<String>>,
}

/// The worker's counters.
#[derive(Default)]
pub(super) struct WorkerCounts {
    pub(super) requests: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) nanoseconds: AtomicU64,
    pub(super) last_error: Mutex<String>,
}

impl WorkerCounts {
    pub(super) fn count_failure(&self, words: &str) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        let end = words.floor_char_boundary(crate::limits::ERROR_BYTES);
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) =
            words.get(..end).unwrap_or_default().to_owned();
    }
}

impl WorkerState {
    pub(super) fn new(
        connection: WorkerConnection,
        organism: &str,
        listener: &str,
        tell: Arc<dyn Fn(&WorkerEvent) + Send + Sync>,
        renew: Duration,
    ) -> Self {
        let (organism, listener) = (organism.to_owned(), listener.to_owned());
        // The last part of an inbox is random for each one.
        let id = connection.client.new_inbox().rsplit('.').next().unwrap_or_default().to_owned();
        Self {
            connection,
            id,
            organism,
            listener,
            tell,
            renew,
            counts: WorkerCounts::default(),
            is_idle: AtomicBool::new(false),
            held: Mutex::default(),
            foreign: watch::Sender::default(),
        }
    }

    fn subject_of(&self, kind: &str) -> String {
        format!("o.{}.{kind}.{}", as_token(&self.organism), as_token(&self.listener))
    }

    pub(super) fn deliveries(&self) -> String {
        self.subject_of("dlv")
    }

    pub(super) fn cancels(&self) -> String {
        self.subject_of("cancel")
    }

    pub(super) fn live(&self) -> String {
        self.subject_of("live")
    }

    pub(super) fn stream(&self) -> String {
        format!("SYSTOLE_{}_BUS", as_token(&self.organism))
    }

    /// Reports, once, that the broker refuses a slot's pulls.
    pub(super) fn report_idle(&self, words: &str) {
        if !self.is_idle.swap(true, Ordering::Relaxed) {
            (self.tell)(&WorkerEvent::Idle { words: words.to_owned() });
        }
    }

    /// Notes that the broker accepts a slot's pulls.
    pub(super) fn is_served(&self) {
        self.is_idle.store(false, Ordering::Relaxed);
    }

    /// What a worker that was to stop says of the broker that stayed away.
    pub(super) fn describe_absence(&self) -> WorkerFault {
        let open = self.held.lock().unwrap_or_else(PoisonError::into_inner).name_open();
        let open =
            if open.is_empty() { "nothing is open".to_owned() } else { format!("not answered: {open}") };
        WorkerFault::Told(format!("stopped while the broker is away; {open}"))
    }

    /// A subscription to a subject.
    pub(super) async fn subscribe(&self, subject: String) -> Result<Subscriber, WorkerFault> {
        self.connection.client.subscribe(subject).await.map_err(|error| WorkerFault::Ended(error.to_string()))
    }

    /// Passes cancels on to the slots, for as long as the connection lasts.
    pub(super) async fn hear_cancels(self: Arc<Self>, mut ear: Subscriber) {
        while let Some(message) = next_message(&mut ear).await {
            if let Ok(PumpDocument::Cancel { delivery }) = PumpDocument::parse(&message.payload) {
                self.held.lock().unwrap_or_else(PoisonError::into_inner).call_back(delivery);
            }
        }
    }

    /// Sends an acknowledgement for a delivery: work is in progress, or it is over.
    pub(super) async fn acknowledge(&self, message: &Subject, word: &'static str) {
        // A lost renewal is followed by the next one. The end of a delivery reaches the pump with the reply.
        let _sent = self.connection.client.publish(message.clone(), word.into()).await;
    }
}

/// The next message of a subscription. `None` if the subscription has ended. Dropping it while it waits loses
/// nothing.
pub(super) async fn next_message(ear: &mut Subscriber) -> Option<Message> {
    poll_fn(|cx| Pin::new(&mut *ear).poll_next(cx)).await
}
