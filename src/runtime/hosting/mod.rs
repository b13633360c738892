//! A host: listeners of an organism that run here, while its log and its pump are elsewhere. Each is a worker at the broker
//! under its own key, and behind it stand the same carriers as where everything is one process.
//!
//! It opens no log and no door, judges nothing and counts no attempt. In: the listeners' part of a composition, and a word
//! that it is to stop. Out: what the listeners say, to the pump; and what befalls them, to whoever runs the host.

mod relay;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use systole_kit::nats::{News, Unserved, Worker};
use tokio::sync::{mpsc, oneshot, watch};

use crate::edges::delivery::{Answering, Carriers, Deaf, Equipment, NoWay, Pace, Surroundings, Unreceipted};
use crate::edges::tasks::{self, Kind};
use systole_core::types::composition::{Composition, Listener};
use systole_core::types::ids::Name;
use systole_core::types::ports::Steps;
use relay::Relays;

/// How long what is under way may take to end when the host stops.
pub const GRACE: Duration = Duration::from_secs(5);
/// How long everything may take by then: a question for the next delivery that was asked just before has an end within
/// seven seconds, what it brings has the grace again, and the pump is to hear of what is left.
const LAST: Duration = Duration::from_secs(15);
/// Reports of carriers that may wait to be sent on; behind them reading from programs pauses.
const REPORTS: usize = 1024;
/// The most deliveries that one worker takes at once.
const SLOTS: usize = 256;
/// How often a host says that it lives, where the listener's idle time is not shorter.
const RENEW_MS: u64 = 1_000;
/// What a service can show at most, of each kind.
const SHOWN: usize = 16;

/// What to host.
pub struct Hosting {
    /// The organism, with the listeners alone that are hosted here.
    pub composition: Composition,
    /// The Rust listeners among them, by name.
    pub inline: BTreeMap<Name, Arc<dyn Answering>>,
    /// The variables that programs see.
    pub surroundings: Surroundings,
    /// Who watches steps.
    pub steps: Arc<dyn Steps>,
    /// Where the broker is.
    pub url: String,
    /// The file of each listener's key; none where the broker lets in everybody.
    pub keys: BTreeMap<Name, PathBuf>,
    /// Who is told what happens.
    pub tell: Tell,
}

/// Who is told what happens to a listener.
pub type Tell = Arc<dyn Fn(&Name, &Happened) + Send + Sync>;

/// What happens to a listener that is hosted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// At the broker.
    AtBroker(News),
    /// Its program ended, or does not start.
    Fell(String),
    /// What it said could not be sent on.
    Unsent(String),
}

/// Why a host ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum Unhosted {
    /// A listener has no program and no value.
    #[error(transparent)]
    Listener(#[from] NoWay),
    /// A worker does not serve.
    #[error("{listener}: {why}")]
    Worker {
        /// Of which listener.
        listener: Name,
        /// Why.
        why: Unserved,
    },
    /// Something was still under way when the time for it was over.
    #[error("not everything that was under way had ended after {} s", LAST.as_secs())]
    Late,
}

/// Hosts listeners until it is told to stop, or one of them cannot be. What is under way then may end within the grace;
/// of what does not, the pump is told that it is lost.
pub async fn host(hosting: Hosting, mut stop: watch::Receiver<bool>) -> Result<(), Unhosted> {
    let (reports, heard) = mpsc::channel(REPORTS);
    let (pace, steps) = (Pace::default(), hosting.steps);
    let equipment = Equipment {
        inline: hosting.inline.clone(),
        surroundings: hosting.surroundings,
        pace,
        steps,
        ear: Arc::new(Deaf),
        receipts: Arc::new(Unreceipted),
        broker: None,
        is_still: false,
    };
    let carriers = Arc::new(Carriers::start(&hosting.composition, equipment, reports)?);
    let (drain, draining) = watch::channel(false);
    let relays = Relays::new(carriers.clone(), hosting.inline, hosting.tell.clone(), draining);
    let (leave, left) = oneshot::channel::<()>();
    let sorting = relays.clone();
    let sorter = tasks::start(
        Kind::Host,
        async move {
            tokio::select! { () = sorting.sorts(heard) => {} _ = left => {} }
        },
        async |_| (),
    );
    let listeners = &hosting.composition.listeners;
    // One word of each at most.
    let (say, mut said) = mpsc::channel(listeners.len().max(1));
    for listener in listeners.values() {
        let worker = worker(&hosting.composition, listener, &hosting.url, hosting.keys.get(&listener.name));
        works(worker, listener, (&relays, &hosting.tell), &drain, &say);
    }
    drop(say);
    let ended = tokio::select! {
        ended = all(&mut said) => ended,
        // Who told it to run and forgot it wants it no longer.
        _ = stop.wait_for(|stop| *stop) => Ok(()),
    };
    drain.send_replace(true);
    let rest = tokio::time::timeout(LAST, all(&mut said)).await.unwrap_or(Err(Unhosted::Late));
    carriers.stop().await;
    drop(leave);
    sorter.over().await;
    ended.and(rest)
}

/// Waits until every worker has ended, or one of them cannot serve.
async fn all(said: &mut mpsc::Receiver<Result<(), Unhosted>>) -> Result<(), Unhosted> {
    while let Some(ended) = said.recv().await {
        ended?;
    }
    Ok(())
}

/// The worker of a listener, as it shows itself.
fn worker(composition: &Composition, listener: &Listener, url: &str, key: Option<&PathBuf>) -> Worker {
    let renew = listener.idle_ms.map_or(RENEW_MS, |idle| (idle / 3).clamp(1, RENEW_MS));
    let mut worker = Worker::new(url, composition.organism.as_str(), listener.name.as_str())
        .slots(listener.in_flight.clamp(1, SLOTS))
        .renew_every(Duration::from_millis(renew))
        .version(env!("CARGO_PKG_VERSION"))
        .description("hosted by systole run --role listeners");
    for element in listener.accepts.iter().take(SHOWN) {
        worker = worker.accepts(&element.name.ns, &[&*element.name.local]);
    }
    for element in listener.returns.iter().take(SHOWN) {
        worker = worker.returns(&element.name.ns, &[&*element.name.local]);
    }
    match key {
        Some(key) => worker.key_file(key),
        None => worker,
    }
}

/// Starts the task of a worker.
fn works(
    worker: Worker,
    listener: &Listener,
    (relays, tell): (&Arc<Relays>, &Tell),
    drain: &watch::Sender<bool>,
    say: &mpsc::Sender<Result<(), Unhosted>>,
) {
    let (name, idle) = (listener.name.clone(), listener.idle_ms.map(Duration::from_millis));
    let (told, tell) = (name.clone(), tell.clone());
    let worker = worker.tell(move |news| tell(&told, &Happened::AtBroker(news.clone())));
    let (carried, relays) = (name.clone(), relays.clone());
    let work = move |held| relays.clone().relays(carried.clone(), idle, held);
    let mut stop = drain.subscribe();
    let stopped = async move {
        // Who drains lives as long as the host.
        let _drained = stop.wait_for(|stop| *stop).await;
    };
    let (say, fell) = (say.clone(), say.clone());
    let (of, fallen) = (name.clone(), name.clone());
    let whole = async move {
        let ended = worker.carry(work, stopped).await;
        let ended = ended.map_err(|why| Unhosted::Worker { listener: of, why });
        // A host that has gone on without it needs no word.
        let _nobody_waits = say.send(ended).await;
    };
    // Its word is how its end is waited for.
    let _heard_of = tasks::start(Kind::Listener(name), whole, async move |panicked| {
        let why = Unserved::Told(format!("panicked: {}", panicked.0));
        let _nobody_waits = fell.send(Err(Unhosted::Worker { listener: fallen, why })).await;
    });
}
