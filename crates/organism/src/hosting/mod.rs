//! A host: listeners of an organism that run in this process, while its log and its pump are elsewhere. Each listener
//! is a worker at the broker under its own key, and uses the same carriers as in a single process.
//!
//! A host opens no log and no door, judges nothing and counts no attempts. Input: the hosted part of a composition,
//! and a stop signal. Output: the listeners' messages, to the pump; and events about the listeners, to the program
//! that runs the host.

mod relay;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use systole_kit::nats::{Worker, WorkerEvent, WorkerFault};
use tokio::sync::{mpsc, oneshot, watch};

use relay::Relays;
use systole_carriers::{
    CarrierEquipment, CarrierWaits, Carriers, InheritedVariables, InlineListener, NoCarrier, NoEar,
    NoReceipts,
};
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::Name;
use systole_core::types::ports::StepObserver;
use systole_system::tasks::{self, TaskKind};

use crate::limits;

/// The plan of a host.
#[derive(Clone)]
pub struct HostPlan {
    /// The organism, with only the hosted listeners.
    pub composition: Composition,
    /// The Rust listeners among them, by name.
    pub inline: BTreeMap<Name, Arc<dyn InlineListener>>,
    /// The variables that programs see.
    pub surroundings: InheritedVariables,
    /// The observer of steps.
    pub steps: Arc<dyn StepObserver>,
    /// The broker's address.
    pub url: String,
    /// The key file of each listener. `None` if the broker needs no credentials.
    pub keys: BTreeMap<Name, PathBuf>,
    /// Called with the events of each listener.
    pub tell: HostReporter,
}

/// How a host stops.
#[derive(Clone, Copy, Debug)]
pub struct HostStop {
    /// How long running deliveries may take.
    pub grace: Duration,
    /// Whether it also ends if the pump does not take what is done.
    pub is_bounded: bool,
}

impl Default for HostStop {
    fn default() -> HostStop {
        HostStop { grace: limits::HOST_GRACE, is_bounded: true }
    }
}

/// Called with the events of a listener.
pub type HostReporter = Arc<dyn Fn(&Name, &HostEvent) + Send + Sync>;

/// An event of a hosted listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostEvent {
    /// An event at the broker.
    AtBroker(WorkerEvent),
    /// The listener's program ended or does not start.
    Fell(String),
    /// A message of the listener could not be sent.
    Unsent(String),
}

/// Why a host stops on its own.
#[derive(Debug, thiserror::Error)]
pub enum HostFault {
    /// A listener has no program and no Rust value.
    #[error(transparent)]
    Listener(#[from] NoCarrier),
    /// A worker cannot serve.
    #[error("{listener}: {why}")]
    Worker {
        /// The listener.
        listener: Name,
        /// The reason.
        why: WorkerFault,
    },
    /// Something was still running when the time for the stop was over.
    #[error("some deliveries were still running after {} s", .0.as_secs())]
    Late(Duration),
}

/// Hosts listeners until `stop` says something, or until one of them cannot be hosted. Running deliveries may then end
/// within the grace. The others are reported to the pump as lost.
pub async fn host_listeners(
    hosting: HostPlan,
    mut stop: watch::Receiver<Option<HostStop>>,
) -> Result<(), HostFault> {
    let (reports, heard) = mpsc::channel(limits::QUEUE);
    let (pace, steps) = (CarrierWaits::default(), hosting.steps);
    let equipment = CarrierEquipment {
        inline: hosting.inline.clone(),
        surroundings: hosting.surroundings,
        pace,
        steps,
        ear: Arc::new(NoEar),
        receipts: Arc::new(NoReceipts),
        broker: None,
        is_still: false,
    };
    let carriers = Arc::new(Carriers::start_all(&hosting.composition, equipment, reports)?);
    let (drain, draining) = watch::channel(None);
    let relays = Relays::new(carriers.clone(), hosting.inline, hosting.tell.clone(), draining);
    let (leave, left) = oneshot::channel::<()>();
    let sorting = relays.clone();
    let sorter = tasks::start_task(
        TaskKind::Host,
        async move {
            tokio::select! { () = sorting.pass_reports(heard) => {} _ = left => {} }
        },
        async |_| (),
    );
    let listeners = &hosting.composition.listeners;
    // At most one message from each worker.
    let (say, mut said) = mpsc::channel(listeners.len().max(1));
    for listener in listeners.values() {
        let worker =
            build_worker(&hosting.composition, listener, &hosting.url, hosting.keys.get(&listener.name));
        start_worker(worker, listener, (&relays, &hosting.tell), &drain, &say);
    }
    drop(say);
    let ended = tokio::select! {
        ended = wait_for_all(&mut said) => ended,
        // A dropped sender also means stop.
        _ = stop.wait_for(Option::is_some) => Ok(()),
    };
    let rest = drain_workers(&mut said, &mut stop, &drain).await;
    carriers.stop_all().await;
    drop(leave);
    sorter.wait_for_end().await;
    ended.and(rest)
}

/// Waits until every worker has ended, within the time of the stop, which may be changed. Returns the first fault.
async fn drain_workers(
    said: &mut mpsc::Receiver<Result<(), HostFault>>,
    stop: &mut watch::Receiver<Option<HostStop>>,
    drain: &watch::Sender<Option<Duration>>,
) -> Result<(), HostFault> {
    let mut first = Ok(());
    loop {
        let HostStop { grace, is_bounded } = stop.borrow_and_update().unwrap_or_default();
        drain.send_replace(Some(grace));
        let all = grace + limits::HOST_END;
        let end = async {
            match is_bounded {
                true => tokio::time::sleep(all).await,
                false => std::future::pending().await,
            }
        };
        let mut end = std::pin::pin!(end);
        loop {
            tokio::select! {
                ended = said.recv() => match ended {
                    None => return first,
                    Some(ended) => first = first.and(ended),
                },
                () = &mut end => return first.and(Err(HostFault::Late(all))),
                Ok(()) = stop.changed() => break,
            }
        }
    }
}

/// Waits until every worker has ended, or one of them cannot serve.
async fn wait_for_all(said: &mut mpsc::Receiver<Result<(), HostFault>>) -> Result<(), HostFault> {
    while let Some(ended) = said.recv().await {
        ended?;
    }
    Ok(())
}

/// The worker of a listener, with its description for the broker.
fn build_worker(composition: &Composition, listener: &Listener, url: &str, key: Option<&PathBuf>) -> Worker {
    let renew = listener.idle_ms.map_or(limits::RENEW_MS, |idle| (idle / 3).clamp(1, limits::RENEW_MS));
    let mut worker = Worker::new(url, composition.organism.as_str(), listener.name.as_str())
        .slots(listener.in_flight.clamp(1, limits::SLOTS))
        .renew_every(Duration::from_millis(renew))
        .version(env!("CARGO_PKG_VERSION"))
        .description("hosted by systole run --role listeners");
    for element in listener.accepts.iter().take(limits::SHOWN_SCHEMAS) {
        worker = worker.accepts(&element.name.ns, &[&*element.name.local]);
    }
    for element in listener.returns.iter().take(limits::SHOWN_SCHEMAS) {
        worker = worker.returns(&element.name.ns, &[&*element.name.local]);
    }
    match key {
        Some(key) => worker.key_file(key),
        None => worker,
    }
}

/// Starts the task of a worker.
fn start_worker(
    worker: Worker,
    listener: &Listener,
    (relays, tell): (&Arc<Relays>, &HostReporter),
    drain: &watch::Sender<Option<Duration>>,
    say: &mpsc::Sender<Result<(), HostFault>>,
) {
    let (name, idle) = (listener.name.clone(), listener.idle_ms.map(Duration::from_millis));
    let (told, tell) = (name.clone(), tell.clone());
    let worker = worker.tell(move |news| tell(&told, &HostEvent::AtBroker(news.clone())));
    let (carried, relays) = (name.clone(), relays.clone());
    let work = move |held| relays.clone().relay_delivery(carried.clone(), idle, held);
    let mut stop = drain.subscribe();
    let stopped = async move {
        // The sender of `stop` lives as long as the host.
        let _drained = stop.wait_for(Option::is_some).await;
    };
    let (say, fell) = (say.clone(), say.clone());
    let (of, fallen) = (name.clone(), name.clone());
    let whole = async move {
        let ended = worker.carry(work, stopped).await;
        let ended = ended.map_err(|why| HostFault::Worker { listener: of, why });
        // The host may have stopped waiting for this worker.
        let _nobody_waits = say.send(ended).await;
    };
    // The worker reports its end over the channel, so the task itself is not awaited.
    let _heard_of = tasks::start_task(TaskKind::Listener(name), whole, async move |panicked| {
        let why = WorkerFault::Told(format!("panicked: {}", panicked.0));
        let _nobody_waits = fell.send(Err(HostFault::Worker { listener: fallen, why })).await;
    });
}
