//! The relay between workers at the broker and the carriers of a host. A delivery goes to the carriers as the pump
//! would pass it. The carriers' reports go back over the broker in their order.
//!
//! It judges nothing: documents are passed on unchanged, and the pump refuses them as it refuses those of its own
//! programs. Each delivery has one relay, which ends when the carriers are done with the delivery.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use systole_kit::Payload;
use systole_kit::nats::{DocumentFault, HeldDelivery, UNSTARTED};
use systole_kit::pump_documents::{PumpAnswer, PumpDocument};
use systole_kit::reply::ListenerDocument;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::{HostEvent, HostReporter};
use crate::limits;
use systole_carriers::{Carriers, DocumentKind, InlineListener, document_kind};
use systole_core::rules::core_payload;
use systole_core::types::codes::Code;
use systole_core::types::delivery::DeliveredTurn;
use systole_core::types::ids::{AttemptId, CallPath, Digest, MalformedId, Name, ThreadId};
use systole_core::types::ports::{
    ArrivedDocument, CallBack, Carrier as _, CarrierReport, Delivery, Lease, LeaseToken,
};
use systole_core::types::refusal::Refusal;
use systole_core::types::time::spell_duration;

/// A carrier's report about a delivery.
#[derive(Debug)]
enum RelayReport {
    /// A message.
    Said(DocumentKind, Vec<u8>),
    /// No answer will come.
    Gone(Code, String),
    /// Its program cannot be started.
    Unstarted(String),
    /// It cannot be started now.
    NotNow,
}

/// The deliveries and their relays.
#[derive(Default)]
struct RelayRoutes {
    /// By the delivery's token: its listener, and the channel to its relay.
    out: HashMap<Arc<str>, (Name, mpsc::Sender<RelayReport>)>,
    /// Messages that belong to no delivery here.
    strays: BTreeMap<Name, VecDeque<Vec<u8>>>,
}

/// All relays of a host.
pub(super) struct Relays {
    carriers: Arc<Carriers>,
    inline: BTreeMap<Name, Arc<dyn InlineListener>>,
    tell: HostReporter,
    draining: watch::Receiver<Option<Duration>>,
    routes: Mutex<RelayRoutes>,
}

/// Whether the carriers are done with a delivery.
#[derive(PartialEq, Eq)]
enum RelayEnd {
    On,
    Over,
    /// The carriers get it again after a pause.
    Again,
}

/// The state of a delivery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeliveryStand {
    /// The pump waits for its answer.
    Wanted,
    /// The pump cancelled it: nothing more is reported about it.
    CalledBack,
    /// It was reported to the pump as over. The pump refuses later messages about it.
    GivenUp,
}

impl Relays {
    pub(super) fn new(
        carriers: Arc<Carriers>,
        inline: BTreeMap<Name, Arc<dyn InlineListener>>,
        tell: HostReporter,
        draining: watch::Receiver<Option<Duration>>,
    ) -> Arc<Relays> {
        Arc::new(Relays { carriers, inline, tell, draining, routes: Mutex::default() })
    }

    fn lock_routes(&self) -> MutexGuard<'_, RelayRoutes> {
        // Each change below is one step, so the data behind a poisoned lock is consistent.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the carriers' reports to the relays of their deliveries.
    pub(super) async fn pass_reports(self: Arc<Relays>, mut heard: mpsc::Receiver<CarrierReport>) {
        while let Some(report) = heard.recv().await {
            match report {
                CarrierReport::Said { listener, speech, .. }
                | CarrierReport::Misplaced { listener, speech, .. } => {
                    self.pass_document(listener, speech).await;
                }
                CarrierReport::Gone { token, code, words } => {
                    self.send_report(&token.0, RelayReport::Gone(code, words)).await
                }
                CarrierReport::Away { token, words } => {
                    self.send_report(&token.0, RelayReport::Unstarted(words)).await
                }
                CarrierReport::NotNow { token, .. } => self.send_report(&token.0, RelayReport::NotNow).await,
                // A host carries nothing over NATS itself.
                CarrierReport::Joined { .. }
                | CarrierReport::Adopted { .. }
                | CarrierReport::Taken { .. }
                | CarrierReport::Untaken { .. } => {}
                CarrierReport::Left { listener, words } => (self.tell)(&listener, &HostEvent::Fell(words)),
            }
        }
    }

    async fn pass_document(&self, listener: Name, speech: ArrivedDocument) {
        let document = match speech {
            ArrivedDocument::Bytes(document) => document,
            ArrivedDocument::Word(word) => match word.to_document() {
                Ok(document) => document,
                Err(fault) => return self.report_unwritable(&listener, word, &fault.message).await,
            },
        };
        let kind = document_kind(&document);
        let way = kind.delivery().and_then(|delivery| self.find_route(delivery));
        match way {
            Some(way) => {
                if let Err(mpsc::error::SendError(RelayReport::Said(kind, document))) =
                    way.send(RelayReport::Said(kind, document)).await
                {
                    self.send_stray(listener, kind, document).await;
                }
            }
            None => self.send_stray(listener, kind, document).await,
        }
    }

    /// A message that cannot be written as a document. A question or journal entry gets an error; a reply ends its
    /// delivery.
    async fn report_unwritable(&self, listener: &Name, word: ListenerDocument, why: &str) {
        match word {
            ListenerDocument::Reply { delivery, .. } => {
                self.send_report(&delivery, RelayReport::Gone(Code::ListenerFailed, why.to_owned())).await;
            }
            ListenerDocument::Journal { delivery, id, .. } | ListenerDocument::Ask { delivery, id, .. } => {
                self.refuse_document(listener, delivery, id, Refusal::new(Code::Invalid, why.to_owned()));
            }
            ListenerDocument::Notice { .. } | ListenerDocument::Progress { .. } => {
                (self.tell)(listener, &HostEvent::Unsent(why.to_owned()));
            }
        }
    }

    fn find_route(&self, delivery: &str) -> Option<mpsc::Sender<RelayReport>> {
        self.lock_routes().out.get(delivery).map(|(_, way)| way.clone())
    }

    async fn send_report(&self, delivery: &str, report: RelayReport) {
        if let Some(way) = self.find_route(delivery) {
            // If the relay has ended, it has already given up this delivery.
            let _given_up = way.send(report).await;
        }
    }

    /// A message that belongs to no delivery here. It goes to the pump through another delivery of the listener, and
    /// the pump refuses it.
    async fn send_stray(&self, listener: Name, kind: DocumentKind, document: Vec<u8>) {
        if matches!(kind, DocumentKind::Progress { .. }) {
            // Live progress is only useful during its delivery.
            return;
        }
        let another = {
            let routes = self.lock_routes();
            let mut all = routes.out.values();
            all.find(|(of, _)| *of == listener).map(|(_, way)| way.clone())
        };
        let document = match another {
            None => document,
            Some(way) => match way.send(RelayReport::Said(DocumentKind::Other, document)).await {
                Err(mpsc::error::SendError(RelayReport::Said(_, document))) => document,
                _ => return,
            },
        };
        self.keep_document(&listener, document);
    }

    /// Keeps a document for the next delivery of the listener.
    fn keep_document(&self, listener: &Name, document: Vec<u8>) {
        let mut routes = self.lock_routes();
        let waiting = routes.strays.entry(listener.clone()).or_default();
        if waiting.len() < limits::SHORT_QUEUE {
            return waiting.push_back(document);
        }
        drop(routes);
        let words = "it sends too much outside of its deliveries";
        (self.tell)(listener, &HostEvent::Unsent(words.to_owned()));
    }

    /// Answers a journal entry or question that could not be sent, with a refusal.
    fn refuse_document(&self, listener: &Name, delivery: String, id: u64, refusal: Refusal) {
        match Payload::from_trusted(core_payload::system_error(&refusal)) {
            Ok(payload) => {
                self.carriers.send_answer(listener, PumpAnswer { delivery, id, payload: Some(payload) })
            }
            Err(fault) => (self.tell)(listener, &HostEvent::Unsent(fault.message.clone().into())),
        }
    }

    /// Relays one delivery until the carriers are done with it.
    pub(super) async fn relay_delivery(
        self: Arc<Relays>,
        listener: Name,
        idle: Option<Duration>,
        held: HeldDelivery,
    ) {
        let delivery = match build_delivery(&listener, &held) {
            Ok(delivery) => delivery,
            Err(why) => return held.send_gone(Code::ListenerFailed.as_str(), &why.to_string()).await,
        };
        let token = delivery.lease.token.clone();
        let (way, mut heard) = mpsc::channel(limits::SHORT_QUEUE);
        let strays = {
            let mut routes = self.lock_routes();
            routes.out.insert(token.0.clone(), (listener.clone(), way));
            routes.strays.remove(&listener).unwrap_or_default()
        };
        let _routed = RouteGuard { relays: &self, token: &token };
        for document in strays {
            self.pass_report(
                RelayReport::Said(DocumentKind::Other, document),
                &listener,
                &held,
                DeliveryStand::Wanted,
            )
            .await;
        }
        self.carriers.send_delivery(delivery.clone());
        // When the carriers get the delivery again, after they could not start it.
        let mut again = None;
        let mut stand = DeliveryStand::Wanted;
        let mut overdue = pin!(self.wait_for_grace());
        let mut quiet_since = Instant::now();
        loop {
            let counts = stand == DeliveryStand::Wanted && again.is_none();
            let silent = wait_until(idle.filter(|_| counts).map(|idle| quiet_since + idle));
            tokio::select! {
                biased;
                report = heard.recv() => {
                    let Some(report) = report else { return };
                    match self.pass_report(report, &listener, &held, stand).await {
                        RelayEnd::Over => return,
                        RelayEnd::Again => again = Some(Instant::now() + limits::START_PAUSE),
                        RelayEnd::On => {}
                    }
                    quiet_since = Instant::now();
                }
                () = held.called_back(), if stand == DeliveryStand::Wanted => {
                    if again.is_some() {
                        return;
                    }
                    stand = DeliveryStand::CalledBack;
                    self.carriers.call_back(&token, CallBack::Cancelled);
                }
                () = silent => {
                    stand = DeliveryStand::GivenUp;
                    self.carriers.call_back(&token, CallBack::TimedOut);
                    let ms = idle.map_or(0, |idle| u64::try_from(idle.as_millis()).unwrap_or(u64::MAX));
                    let words = format!("no sign of life for {}", spell_duration(ms));
                    held.send_gone(Code::ListenerTimeout.as_str(), &words).await;
                }
                () = wait_until(again) => {
                    again = None;
                    quiet_since = Instant::now();
                    self.carriers.send_delivery(delivery.clone());
                }
                () = &mut overdue => {
                    if stand == DeliveryStand::Wanted {
                        held.send_gone(Code::ListenerLost.as_str(), "still at work when its host stopped").await;
                    }
                    return;
                }
            }
        }
    }

    /// Sends a report to the pump.
    async fn pass_report(
        &self,
        report: RelayReport,
        listener: &Name,
        held: &HeldDelivery,
        stand: DeliveryStand,
    ) -> RelayEnd {
        let (kind, document) = match report {
            RelayReport::Said(kind, document) => (kind, document),
            RelayReport::Gone(code, words) => {
                if stand == DeliveryStand::Wanted {
                    held.send_gone(code.as_str(), &words).await;
                }
                return RelayEnd::Over;
            }
            RelayReport::Unstarted(words) => {
                if stand == DeliveryStand::Wanted {
                    held.send_gone(UNSTARTED, &words).await;
                }
                return RelayEnd::Over;
            }
            RelayReport::NotNow if stand == DeliveryStand::Wanted => return RelayEnd::Again,
            RelayReport::NotNow => return RelayEnd::Over,
        };
        match kind {
            DocumentKind::Reply { .. } => {
                if stand != DeliveryStand::CalledBack && held.send_reply(document).await {
                    self.mark_taken(listener, held);
                }
                return RelayEnd::Over;
            }
            DocumentKind::Progress { .. } => held.send_progress(document).await,
            DocumentKind::Waits { delivery, id } => match held.send_document(&document).await {
                Ok(PumpDocument::Answer(answer)) => self.carriers.send_answer(listener, answer),
                // The number of the message could not be read, so no answer can be passed on.
                Ok(_) => {}
                // The delivery is cancelled, and the carriers cancel the waiting program too.
                Err(DocumentFault::CalledBack) => {}
                Err(unsent @ DocumentFault::TooLarge { .. }) => {
                    let words = format!("its message {unsent}");
                    let refusal = Refusal::new(Code::TooLarge, words);
                    self.refuse_document(listener, delivery, id, refusal);
                }
            },
            DocumentKind::Notice { .. } | DocumentKind::Other => match held.send_document(&document).await {
                Err(unsent @ DocumentFault::TooLarge { .. }) => {
                    let words = format!("it {unsent}");
                    (self.tell)(listener, &HostEvent::Unsent(words));
                }
                Err(DocumentFault::CalledBack) if kind == DocumentKind::Other => {
                    self.keep_document(listener, document)
                }
                Err(DocumentFault::CalledBack) | Ok(_) => {}
            },
        }
        RelayEnd::On
    }

    /// The pump took the reply to a delivery.
    fn mark_taken(&self, listener: &Name, held: &HeldDelivery) {
        if let Some(value) = self.inline.get(listener) {
            value.note_taken(held.delivery());
        }
    }

    /// Waits until the host has to stop, then for the grace, which may be changed.
    async fn wait_for_grace(&self) {
        let mut draining = self.draining.clone();
        loop {
            let grace = *draining.borrow_and_update();
            tokio::select! {
                () = wait_for(grace) => return,
                // The sender of `draining` lives as long as the host.
                changed = draining.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Waits that long, or forever if nothing is set.
async fn wait_for(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Waits until `at`, or forever if there is no such moment.
async fn wait_until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// A delivery in the form in which the pump passes it to a carrier.
fn build_delivery(listener: &Name, held: &HeldDelivery) -> Result<Delivery, MalformedId> {
    let delivered = held.delivery();
    let stamp = &delivered.stamp;
    let lease = Lease {
        token: LeaseToken(stamp.delivery.as_str().into()),
        listener: listener.clone(),
        id: AttemptId {
            thread: ThreadId::parse(&delivered.thread)?,
            call: CallPath::parse(&stamp.call)?,
            turn: stamp.turn,
            attempt: stamp.attempt,
        },
        // The pump judges the reply and knows the configuration.
        config: Digest::hash_bytes(b""),
    };
    Ok(Delivery { lease: Arc::new(lease), turn: DeliveredTurn::Composed(Box::new(delivered.clone())) })
}

/// A route to a relay, removed when the relay ends.
struct RouteGuard<'r> {
    relays: &'r Relays,
    token: &'r LeaseToken,
}

impl Drop for RouteGuard<'_> {
    fn drop(&mut self) {
        self.relays.lock_routes().out.remove(&self.token.0);
    }
}
