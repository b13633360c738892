//! Carriers: they bring deliveries to listeners, and bring back what listeners say.
//!
//! This crate never judges a document, never decides whether a delivery is tried again, and never
//! makes the pump wait. In: deliveries and call-backs, by `Carrier`. Out: `CarrierReport`, once for every
//! delivery, into one bounded queue. While the queue is full, nothing is read from any listener.

mod document_kind;
mod ear;
mod inline;
pub mod leases;
mod limits;
mod mailbox;
mod nats;
mod pace;
mod post;
mod process;
mod receipts;

pub use document_kind::{DocumentKind, document_kind};
pub use ear::{NoEar, ProgramEar};
pub use inline::{InlineListener, ReplyFuture, from_answer, from_conversation};
pub use pace::CarrierWaits;
pub use process::{
    ADAPTER_WORD, COMMANDS_WORD, CommandSandbox, InheritedVariables, JudgedPipes, JudgedProgram,
    ReadyCommand, StartCheck, WARDEN_WORD, guard_program, output_of, own_hash, sandbox_level, try_start,
};
pub use receipts::{NoReceipt, NoReceipts, ReceiptFuture, Receipts};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use systole_kit::pump_documents::PumpAnswer;
use tokio::sync::{mpsc, watch};

use mailbox::{Mailbox, RefusedDelivery};
use post::Post;
use process::ProgramPlace;
use systole_bus::Broker;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener, Reach};
use systole_core::types::ids::Name;
use systole_core::types::ports::{
    CallBack, Carrier, CarrierReport, Delivery, Lease, LeaseToken, StepObserver,
};
use systole_system::tasks::{self, RunningTask, TaskKind};

/// What carriers need in addition to the composition.
pub struct CarrierEquipment {
    /// The Rust listeners, by name.
    pub inline: BTreeMap<Name, Arc<dyn InlineListener>>,
    /// The variables of our own process; programs see those that the reference names.
    pub surroundings: InheritedVariables,
    /// How long to wait before each harder step.
    pub pace: CarrierWaits,
    /// Observes steps.
    pub steps: Arc<dyn StepObserver>,
    /// Hears what programs say aside.
    pub ear: Arc<dyn ProgramEar>,
    /// Gives the receipts for documents that are passed on.
    pub receipts: Arc<dyn Receipts>,
    /// The broker; `None` if no listener is reached over a broker, or nothing is to go out.
    pub broker: Option<Arc<Broker>>,
    /// Whether nothing is to go out.
    pub is_still: bool,
}

/// A listener that no carrier can reach.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoCarrier {
    /// It must be reached in this process, and no value was given for it.
    #[error("listener {0} is inline, and no value was given for it")]
    Value(Name),
    /// It must be reached over a broker, and there is none.
    #[error("listener {0} is reached over NATS, and no broker was given")]
    Broker(Name),
    /// Its program is to run in a sandbox, and this machine has none.
    #[error("{code}: {listener} is to run in a sandbox, and this machine has none: {why}", code = Code::ConfigNoSandbox.as_str())]
    Sandbox {
        /// The listener.
        listener: Name,
        /// Why there is none, in words.
        why: String,
    },
}

/// Checks that this machine has the sandboxes that programs of the composition are to run in.
///
/// # Errors
/// The first listener that cannot have its sandbox.
pub fn check_sandboxes(composition: &Composition, is_still: bool) -> Result<(), NoCarrier> {
    let sandboxed = |listener: &&Listener| {
        listener.reach.traits().program.is_some_and(|program| program.sandbox.is_some())
    };
    // Nothing is started if nothing is to go out.
    match composition.listeners.values().find(sandboxed).filter(|_| !is_still) {
        Some(listener) => sandbox_level()
            .map(drop)
            .map_err(|why| NoCarrier::Sandbox { listener: listener.name.clone(), why }),
        None => Ok(()),
    }
}

/// The start of one carrier.
type CarrierStart = Box<dyn FnOnce() -> RunningTask + Send>;

/// The carriers of one organism, one for each of its listeners.
pub struct Carriers {
    posts: BTreeMap<Name, Post>,
    reports: mpsc::Sender<CarrierReport>,
    stop: watch::Sender<bool>,
    beginnings: Mutex<Vec<CarrierStart>>,
    tasks: Mutex<Vec<RunningTask>>,
}

impl Carriers {
    /// A carrier for every listener of the composition, and for those that only open calls know. They begin later.
    pub fn new(
        composition: &Composition,
        kept: &[Listener],
        equipment: CarrierEquipment,
        reports: mpsc::Sender<CarrierReport>,
    ) -> Result<Carriers, NoCarrier> {
        let CarrierEquipment { inline, surroundings, pace, steps, ear, receipts, broker, is_still } =
            equipment;
        check_sandboxes(composition, is_still)?;
        let around = Arc::new(surroundings);
        let (stop, is_stopped) = watch::channel(false);
        let mut posts = BTreeMap::new();
        let mut beginnings: Vec<CarrierStart> = Vec::new();
        for listener in composition.listeners.values().chain(kept) {
            let name = &listener.name;
            let post = Post {
                listener: name.clone(),
                mailbox: Arc::new(Mailbox::new(listener.in_flight)),
                pace,
                steps: steps.clone(),
                ear: ear.clone(),
                receipts: receipts.clone(),
                reports: reports.clone(),
                stop: is_stopped.clone(),
            };
            posts.insert(name.clone(), post.clone());
            beginnings.push(match &listener.reach {
                Reach::Inline => {
                    let value = inline.get(name).cloned().ok_or_else(|| NoCarrier::Value(name.clone()))?;
                    Box::new(move || inline::start_carrier(&post, value))
                }
                Reach::Process(program) => {
                    let badge = (composition.organism.clone(), name.clone());
                    let place = ProgramPlace::new(program.clone(), badge, around.clone());
                    Box::new(move || process::start_carrier(&post, place))
                }
                Reach::Nats | Reach::Hosted => match &broker {
                    Some(broker) => {
                        let (broker, terms) = (broker.clone(), nats::CarrierTerms::from_listener(listener));
                        Box::new(move || nats::start_carrier(&post, broker, terms))
                    }
                    None if is_still => continue,
                    None => return Err(NoCarrier::Broker(name.clone())),
                },
            });
        }
        Ok(Carriers { posts, reports, stop, beginnings: Mutex::new(beginnings), tasks: Mutex::default() })
    }

    /// The same, begun at once.
    pub fn start_all(
        composition: &Composition,
        equipment: CarrierEquipment,
        reports: mpsc::Sender<CarrierReport>,
    ) -> Result<Carriers, NoCarrier> {
        let carriers = Carriers::new(composition, &[], equipment, reports)?;
        carriers.begin_all();
        Ok(carriers)
    }

    /// Starts every carrier, and with it the listener's program. A second call does nothing.
    pub fn begin_all(&self) {
        let beginnings = std::mem::take(&mut *self.beginnings.lock().unwrap_or_else(PoisonError::into_inner));
        let tasks = beginnings.into_iter().map(|begin| begin());
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).extend(tasks);
    }

    /// Stops every listener: programs see the end of their stdin, then TERM, then KILL, each with its
    /// whole process group. Returns when nothing of them is left; deliveries that are not answered by
    /// then are reported gone. While this runs, the caller must keep taking reports, or drop the
    /// receiver.
    pub async fn stop_all(&self) {
        self.stop.send_replace(true);
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            task.wait_for_end().await;
        }
    }

    /// Reports on a delivery that no mailbox took, without waiting.
    fn report_gone(&self, delivery: &Delivery, code: Code, words: &str) {
        let lease = &delivery.lease;
        let gone = CarrierReport::Gone { token: lease.token.clone(), code, words: words.to_owned() };
        if let Err(mpsc::error::TrySendError::Full(gone)) = self.reports.try_send(gone) {
            let reports = self.reports.clone();
            let late = async move {
                let _pump_is_gone = reports.send(gone).await;
            };
            // A send cannot panic. Nothing waits for this task, because it ends with the pump at the
            // latest.
            let _nobody_waits =
                tasks::start_task(TaskKind::Report(lease.listener.clone()), late, async |_| ());
        }
    }
}

impl Carrier for Carriers {
    fn send_delivery(&self, delivery: Delivery) {
        let Some(post) = self.posts.get(&delivery.lease.listener) else {
            return self.report_gone(&delivery, Code::Unavailable, Code::Unavailable.meaning());
        };
        match post.mailbox.put_delivery(delivery) {
            Ok(()) => {}
            Err((delivery, RefusedDelivery::Closed)) => {
                self.report_gone(&delivery, Code::ListenerDown, "the listener was stopped");
            }
            Err((delivery, RefusedDelivery::Full)) => {
                self.report_gone(&delivery, Code::ListenerThrottled, Code::ListenerThrottled.meaning());
            }
        }
    }

    fn call_back(&self, token: &LeaseToken, why: CallBack) {
        // The token does not name its listener. Listeners are few, and a look at a mailbox is short.
        for post in self.posts.values() {
            post.mailbox.call_back(token, why);
        }
    }

    fn send_answer(&self, listener: &Name, answer: PumpAnswer) {
        if let Some(post) = self.posts.get(listener) {
            post.mailbox.put_answer(answer);
        }
    }

    fn expect_reply(&self, lease: &Lease) {
        if let Some(post) = self.posts.get(&lease.listener) {
            post.mailbox.expect_reply(&lease.token);
        }
    }

    fn let_go(&self, listener: &Name, token: &LeaseToken) {
        if let Some(post) = self.posts.get(listener) {
            post.mailbox.let_go(token);
        }
    }
}
