//! The validator threads: raw documents come in, with the name on their connection; what was judged
//! goes to the pump. Documents of one listener always go to the same thread, so that what it said
//! first is heard first. A bounded queue in front of each thread slows the reading of programs down.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc;

use super::bench::{Bench, Unfit};
use super::order::Order;
use super::spoken::Voice;
use systole_core::pump::heart::Input;
use systole_core::rules::admit;
use systole_core::types::composition::{Composition, Reach};
use systole_core::types::flow::{Asked, Judged, Ticket, Unconnected};
use systole_core::types::ids::{Digest, Key, Name};
use systole_core::types::person::{Ruling, Says};
use systole_core::types::ports::{Leases, Speech, Step, Steps};

/// Documents that may wait for one thread: a few batches of the pump's, and at 1 MiB each still no
/// more than this machine has.
const WAITING: usize = 1024;
/// Documents judged before the pump is given what came of them.
const AT_ONCE: usize = 64;

/// A raw document and whose it is.
pub enum Raw {
    /// A listener's.
    Said {
        /// The listener, from its connection.
        listener: Name,
        /// What it said.
        speech: Speech,
        /// Where its receipt is waited for, if it is.
        ticket: Option<Ticket>,
    },
    /// A message from outside.
    Asked {
        /// Where the asker waits.
        ticket: Ticket,
        /// The client, from its credential.
        client: Name,
        /// The idempotency key.
        key: Key,
        /// The bytes.
        document: Vec<u8>,
        /// An addressee given beside the document.
        to: Option<String>,
        /// A thread given beside the document.
        thread: Option<String>,
    },
    /// What a person puts in place of a payload that waits.
    Amended {
        /// Where the asker waits.
        ticket: Ticket,
        /// What the person says besides.
        order: Order,
        /// The listener that it is for.
        to: Name,
        /// The configuration of its call.
        config: Digest,
        /// The bytes.
        document: Vec<u8>,
    },
}

/// Configurations by hash, with the current one.
pub struct Pages {
    /// The configuration that messages from outside are judged by.
    pub current: Arc<Composition>,
    /// All that open calls began with, the current one among them.
    pub all: HashMap<Digest, Arc<Composition>>,
}

/// The threads.
pub struct Validators {
    doors: Vec<mpsc::Sender<Raw>>,
    threads: Vec<JoinHandle<()>>,
}

/// Tells the pump if the thread that holds it panics: what the thread had in hand would be waited for
/// for ever.
pub(super) struct TellsOfItsFall(pub(super) mpsc::Sender<Input>);

impl Drop for TellsOfItsFall {
    fn drop(&mut self) {
        if thread::panicking() {
            let who = thread::current().name().unwrap_or("a thread").to_owned();
            // A pump that is gone needs no telling.
            drop(self.0.blocking_send(Input::Fallen { who }));
        }
    }
}

/// What every thread works with.
struct Desk {
    pages: Arc<Pages>,
    leases: Arc<dyn Leases>,
    steps: Arc<dyn Steps>,
    pump: mpsc::Sender<Input>,
    voice: Voice,
}

impl Validators {
    /// Starts so many threads; each compiles its own schemas before this returns.
    pub(super) fn start(
        count: usize,
        pages: &Arc<Pages>,
        leases: &Arc<dyn Leases>,
        steps: &Arc<dyn Steps>,
        pump: &mpsc::Sender<Input>,
        voice: &Voice,
    ) -> Result<Validators, String> {
        let mut validators = Validators { doors: Vec::new(), threads: Vec::new() };
        for n in 0..count.max(1) {
            let (door, raws) = mpsc::channel(WAITING);
            let desk = Desk {
                pages: pages.clone(),
                leases: leases.clone(),
                steps: steps.clone(),
                pump: pump.clone(),
                voice: voice.clone(),
            };
            let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
            let thread = thread::Builder::new()
                .name(format!("validator-{n}"))
                .spawn(move || {
                    let _tells = TellsOfItsFall(desk.pump.clone());
                    desk.work(raws, &ready);
                })
                .map_err(|e| e.to_string())?;
            is_ready
                .recv()
                .map_err(|_| "a validator thread ended at once".to_owned())?
                .map_err(|e| e.to_string())?;
            validators.doors.push(door);
            validators.threads.push(thread);
        }
        Ok(validators)
    }

    /// The way in to them.
    pub fn door(&self) -> Door {
        Door { doors: self.doors.clone().into() }
    }

    /// Waits for the threads to end; they do once every `Door` is gone.
    pub fn stop(self) {
        drop(self.doors);
        for thread in self.threads {
            // A thread that panicked has told the pump so; there is nothing left to end.
            let _ended = thread.join();
        }
    }
}

/// The way in to the validator threads.
#[derive(Clone)]
pub struct Door {
    doors: Arc<[mpsc::Sender<Raw>]>,
}

impl Door {
    /// Hands a document in; waits while the thread it belongs to has too many. False if that is gone.
    pub async fn hand(&self, raw: Raw) -> bool {
        let mut hasher = DefaultHasher::new();
        match &raw {
            Raw::Said { listener, .. } => listener.hash(&mut hasher),
            Raw::Asked { client, key, .. } => (client, key).hash(&mut hasher),
            Raw::Amended { order, .. } => order.request.hash(&mut hasher),
        }
        let count = u64::try_from(self.doors.len()).unwrap_or(1).max(1);
        let n = usize::try_from(hasher.finish() % count).unwrap_or(0);
        match self.doors.get(n) {
            Some(door) => door.send(raw).await.is_ok(),
            None => false,
        }
    }
}

impl Desk {
    fn work(self, mut raws: mpsc::Receiver<Raw>, ready: &std::sync::mpsc::SyncSender<Result<(), Unfit>>) {
        let mut bench = match Bench::set_up(self.pages.all.values()) {
            Ok(bench) => bench,
            // Whoever started us waits for exactly this word.
            Err(unfit) => return drop(ready.send(Err(unfit))),
        };
        drop(ready.send(Ok(())));
        let mut came = Vec::with_capacity(AT_ONCE);
        while raws.blocking_recv_many(&mut came, AT_ONCE) > 0 {
            let judged: Vec<Input> = came.drain(..).map(|raw| self.judge(raw, &mut bench)).collect();
            if self.pump.blocking_send(Input::Many(judged)).is_err() {
                return;
            }
        }
    }

    fn judge(&self, raw: Raw, bench: &mut Bench) -> Input {
        self.steps.passed(Step::Received);
        match raw {
            Raw::Said { listener, speech, ticket } => match self.said(&listener, &speech, bench) {
                Ok(judged) => Input::Judged(Judged { ticket, ..judged }),
                Err(stray) => Input::Stray(Unconnected { ticket, ..*stray }),
            },
            Raw::Asked { ticket, client, key, document, to, thread } => {
                let page = &self.pages.current;
                let (to, thread) = (to.as_deref(), thread.as_deref());
                let message = admit::message(page, &client, &document, to, thread, bench);
                self.passed_door(message.payload.is_ok());
                Input::Asked(Asked { ticket, client, key, thread: message.thread, payload: message.payload })
            }
            Raw::Amended { ticket, order, to, config, document } => {
                let page = self.pages.all.get(&config).unwrap_or(&self.pages.current);
                let amended = admit::amendment(page, &to, &document, bench);
                self.passed_door(amended.is_ok());
                let Order { by, request, hash, note, .. } = order;
                let says = Says::Amend(Box::new(amended));
                Input::Ruled(Ruling { ticket, by, request, hash, note, says })
            }
        }
    }

    fn said(&self, listener: &Name, speech: &Speech, bench: &mut Bench) -> Result<Judged, Box<Unconnected>> {
        self.steps.passed(Step::Replied);
        let limits = admit::gate_limits(&self.pages.current);
        let find = |token: &str| self.leases.find(token);
        let (lease, word) = admit::listener_word(listener, speech, &limits, find)?;
        let page = self.pages.all.get(&lease.config).unwrap_or(&self.pages.current);
        // An agent streams what its model says; a program says one thing after the other. What a host runs may be either.
        let reach = page.listener(listener).map(|listener| &listener.reach);
        let whole = matches!(reach, Some(Reach::Process(_) | Reach::Nats));
        let judged = admit::judge_word(page, lease, word, speech, bench);
        self.passed_door(true);
        self.voice.pass(&judged, whole);
        Ok(judged)
    }

    fn passed_door(&self, admitted: bool) {
        self.steps.passed(Step::GatePassed);
        if admitted {
            self.steps.passed(Step::SchemaPassed);
        }
    }
}
