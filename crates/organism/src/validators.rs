//! The validator threads. Input: raw documents with the name on their connection. Output: judged documents for the
//! pump. Documents of one listener always go to the same thread, so that their order is kept. In the bounded queue in
//! front of each thread listeners and clients take turns; a full one slows down the reading from programs.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use super::compiled_schemas::{CompiledSchemas, SchemaSetupFault};
use super::document_turns::{TurnReceiver, TurnSender, open_turns};
use super::live_messages::LiveVoice;
use super::sent_files::SentFiles;
use crate::limits;
use crate::plan::StartFault;
use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::ClientOrder;
use systole_core::pump::primitives;
use systole_core::rules::admit;
use systole_core::rules::sent_files::FindFile;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::flow::{
    Admitted, DoorMessage, Judge, JudgedDocument, Refused, Ticket, UnmatchedDocument,
};
use systole_core::types::ids::{Digest, Key, Name};
use systole_core::types::person::{PersonDecision, PersonRequestId, Ruling};
use systole_core::types::ports::{ArrivedDocument, Leases, PumpStep, StepObserver};
use systole_core::types::refusal::Refusal;
use systole_core::types::subject::Subject;
use systole_core::types::thread_choice::ThreadChoice;

/// A person's decision on a waiting request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PersonOrder {
    /// The person.
    pub by: Name,
    /// The request.
    pub request: PersonRequestId,
    /// The hash of the payload that the person saw, if given.
    pub hash: Option<Digest>,
    /// The reason.
    pub note: Option<String>,
    /// The decision.
    pub says: PersonDecision<Vec<u8>>,
}

/// A raw document and its sender.
pub enum RawDocument {
    /// A listener's document.
    Said {
        /// The listener, from its connection.
        listener: Name,
        /// The message.
        speech: ArrivedDocument,
        /// The place that waits for the receipt, if any.
        ticket: Option<Ticket>,
    },
    /// A message from outside.
    Asked {
        /// Where the sender waits.
        ticket: Ticket,
        /// The client, from its credential.
        client: Name,
        /// The idempotency key.
        key: Key,
        /// The bytes.
        document: Vec<u8>,
        /// An addressee given outside the document.
        to: Option<String>,
        /// A thread given outside the document.
        thread: Option<String>,
        /// What the thread is about, if the sender says so.
        subject: Option<Subject>,
    },
    /// A person's amendment to a waiting payload.
    Amended {
        /// Where the person waits.
        ticket: Ticket,
        /// The rest of the person's order.
        order: PersonOrder,
        /// The listener that it is for.
        to: Name,
        /// The configuration of its call.
        config: Digest,
        /// The bytes.
        document: Vec<u8>,
    },
    /// A document that is only judged. Nothing is recorded.
    Tried {
        /// What it would be.
        purpose: TrialPurpose,
        /// The bytes.
        document: Vec<u8>,
        /// Where the verdict goes.
        verdict: oneshot::Sender<Result<(), Box<Refusal>>>,
    },
}

impl RawDocument {
    /// In whose turn it is judged.
    fn sender(&self) -> &Name {
        match self {
            RawDocument::Said { listener, .. } => listener,
            RawDocument::Asked { client, .. }
            | RawDocument::Tried { purpose: TrialPurpose::Message { client, .. }, .. } => client,
            RawDocument::Amended { order, .. } => &order.by,
            RawDocument::Tried { purpose: TrialPurpose::Amendment { to, .. }, .. } => to,
        }
    }
}

/// What a document that is only judged would be.
#[derive(Clone, Debug)]
pub enum TrialPurpose {
    /// A message from outside.
    Message {
        /// The client.
        client: Name,
        /// The addressee.
        to: Name,
    },
    /// An amendment to a waiting payload.
    Amendment {
        /// The listener that it is for.
        to: Name,
        /// The configuration of its call.
        config: Digest,
    },
}

/// Configurations by hash, with the current one.
pub struct CompositionPages {
    /// The configuration for messages from outside.
    pub current: Arc<Composition>,
    /// The configurations of all open calls, and the current one.
    pub all: HashMap<Digest, Arc<Composition>>,
}

/// The validator threads.
pub struct Validators {
    doors: Arc<[TurnSender<RawDocument>]>,
    files: Arc<SentFiles>,
    threads: Vec<JoinHandle<()>>,
}

/// Notifies the pump if its thread panics. Otherwise the pump would wait forever for the thread's unfinished work.
pub(super) struct TellsOfItsFall(pub(super) mpsc::Sender<PumpInput>);

impl Drop for TellsOfItsFall {
    fn drop(&mut self) {
        if thread::panicking() {
            let who = thread::current().name().unwrap_or("a thread").to_owned();
            // If the pump is gone, no one needs the notice.
            drop(self.0.blocking_send(PumpInput::Fallen { who }));
        }
    }
}

/// The data that each thread works with.
struct ValidatorThread {
    pages: Arc<CompositionPages>,
    leases: Arc<dyn Leases>,
    steps: Arc<dyn StepObserver>,
    pump: mpsc::Sender<PumpInput>,
    voice: LiveVoice,
    files: Arc<SentFiles>,
}

impl Validators {
    /// Starts `count` threads. Each compiles its own schemas before this returns.
    pub(super) fn start(
        count: usize,
        pages: &Arc<CompositionPages>,
        leases: &Arc<dyn Leases>,
        steps: &Arc<dyn StepObserver>,
        pump: &mpsc::Sender<PumpInput>,
        voice: &LiveVoice,
    ) -> Result<Validators, StartFault> {
        let (mut doors, mut threads) = (Vec::new(), Vec::new());
        let files = Arc::new(SentFiles::default());
        for n in 0..count.max(1) {
            let (door, raws) = open_turns();
            let validator = ValidatorThread {
                pages: pages.clone(),
                leases: leases.clone(),
                steps: steps.clone(),
                pump: pump.clone(),
                voice: voice.clone(),
                files: files.clone(),
            };
            let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
            let thread = thread::Builder::new()
                .name(format!("validator-{n}"))
                .spawn(move || {
                    let _tells = TellsOfItsFall(validator.pump.clone());
                    validator.run_thread(&raws, &ready);
                })
                .map_err(|e| StartFault::Machine(e.to_string()))?;
            is_ready
                .recv()
                .map_err(|_| StartFault::Machine("a validator thread ended at once".to_owned()))?
                .map_err(|e| StartFault::Machine(e.to_string()))?;
            doors.push(door);
            threads.push(thread);
        }
        Ok(Validators { doors: doors.into(), files, threads })
    }

    /// The entrance to the threads.
    pub fn queue(&self) -> ValidatorQueue {
        ValidatorQueue { doors: self.doors.clone(), files: self.files.clone() }
    }

    /// Waits for the threads to end. They end when every `ValidatorQueue` is dropped.
    pub fn stop(self) {
        drop(self.doors);
        for thread in self.threads {
            // A thread that panicked has already notified the pump.
            let _ended = thread.join();
        }
    }
}

/// The entrance to the validator threads.
#[derive(Clone)]
pub struct ValidatorQueue {
    doors: Arc<[TurnSender<RawDocument>]>,
    /// The files that wait for their messages.
    pub(super) files: Arc<SentFiles>,
}

impl ValidatorQueue {
    /// Passes in a document. Waits while too many of its sender wait for that thread. Returns false if the thread is gone.
    pub async fn hand_in(&self, raw: RawDocument) -> bool {
        let mut hasher = DefaultHasher::new();
        match &raw {
            RawDocument::Said { listener, .. } => listener.hash(&mut hasher),
            RawDocument::Asked { client, key, .. } => (client, key).hash(&mut hasher),
            RawDocument::Amended { order, .. } => order.request.hash(&mut hasher),
            RawDocument::Tried { document, .. } => document.hash(&mut hasher),
        }
        let count = u64::try_from(self.doors.len()).unwrap_or(1).max(1);
        let n = usize::try_from(hasher.finish() % count).unwrap_or(0);
        match self.doors.get(n) {
            Some(door) => door.hand_in(&raw.sender().clone(), raw).await,
            None => false,
        }
    }
}

impl ValidatorThread {
    fn run_thread(
        self,
        raws: &TurnReceiver<RawDocument>,
        ready: &std::sync::mpsc::SyncSender<Result<(), SchemaSetupFault>>,
    ) {
        let mut compiled_schemas = match CompiledSchemas::set_up(self.pages.all.values()) {
            Ok(compiled_schemas) => compiled_schemas,
            // The starting thread waits for exactly this result.
            Err(unfit) => return drop(ready.send(Err(unfit))),
        };
        drop(ready.send(Ok(())));
        let mut came = Vec::with_capacity(limits::JUDGED);
        loop {
            raws.take_many(&mut came, limits::JUDGED);
            if came.is_empty() {
                return;
            }
            let judged: Vec<PumpInput> =
                came.drain(..).filter_map(|raw| self.judge_raw(raw, &mut compiled_schemas)).collect();
            if judged.is_empty() {
                continue;
            }
            if self.pump.blocking_send(PumpInput::Many(judged)).is_err() {
                return;
            }
        }
    }

    /// What the pump hears of a document; nothing if it was only tried.
    fn judge_raw(&self, raw: RawDocument, compiled_schemas: &mut CompiledSchemas) -> Option<PumpInput> {
        if let RawDocument::Tried { purpose, document, verdict } = raw {
            let refused = self.try_document(&purpose, &document, compiled_schemas);
            // Without a waiting reader, no one needs the verdict.
            drop(verdict.send(refused));
            return None;
        }
        self.steps.note_step(PumpStep::Received);
        Some(match raw {
            RawDocument::Tried { .. } => return None,
            RawDocument::Said { listener, speech, ticket } => {
                match self.judge_document(&listener, &speech, compiled_schemas) {
                    Ok(judged) => PumpInput::Judged(JudgedDocument { ticket, ..judged }),
                    Err(stray) => PumpInput::Stray(UnmatchedDocument { ticket, ..*stray }),
                }
            }
            RawDocument::Asked { ticket, client, key, document, to, thread, subject } => {
                let page = &self.pages.current;
                let (to, thread) = (to.as_deref(), thread.as_deref());
                let find_file = |hash| self.files.find(&client, hash);
                let judge = (&mut *compiled_schemas as &mut dyn Judge, &find_file as FindFile<'_>);
                let message = admit::admit_message(page, &client, &document, to, thread, judge);
                self.passed_door(message.payload.is_ok());
                let admit::JudgedMessage { thread, payload, claimed } = message;
                let (key, payload) = bind_key(&thread, key, payload);
                PumpInput::Asked(DoorMessage { ticket, client, key, thread, payload, claimed, subject })
            }
            RawDocument::Amended { ticket, order, to, config, document } => {
                let page = self.pages.all.get(&config).unwrap_or(&self.pages.current);
                let amended = admit::admit_amendment(page, &to, &document, compiled_schemas);
                self.passed_door(amended.is_ok());
                let PersonOrder { by, request, hash, note, .. } = order;
                let says = PersonDecision::Amend(Box::new(amended));
                PumpInput::Ordered(ClientOrder::Ruled(Ruling { ticket, by, request, hash, note, says }))
            }
        })
    }

    /// The verdict on a document, by the same steps as if it were meant.
    fn try_document(
        &self,
        purpose: &TrialPurpose,
        document: &[u8],
        compiled_schemas: &mut CompiledSchemas,
    ) -> Result<(), Box<Refusal>> {
        let judged = match purpose {
            TrialPurpose::Message { client, to } => {
                let page = &self.pages.current;
                let find_file = |hash| self.files.find(client, hash);
                let judge = (&mut *compiled_schemas as &mut dyn Judge, &find_file as FindFile<'_>);
                admit::admit_message(page, client, document, Some(to.as_str()), None, judge).payload
            }
            TrialPurpose::Amendment { to, config } => {
                let page = self.pages.all.get(config).unwrap_or(&self.pages.current);
                admit::admit_amendment(page, to, document, compiled_schemas)
            }
        };
        let admitted = judged.map_err(|refused| Box::new(refused.refusal))?;
        admitted.files().map(|_| ()).map_err(|refusal| Box::new(refusal.clone()))
    }

    fn judge_document(
        &self,
        listener: &Name,
        speech: &ArrivedDocument,
        compiled_schemas: &mut CompiledSchemas,
    ) -> Result<JudgedDocument, Box<UnmatchedDocument>> {
        self.steps.note_step(PumpStep::Replied);
        let limits = admit::gate_limits(&self.pages.current);
        let find = |token: &str| self.leases.find_lease(token);
        let (lease, word) = admit::listener_word(listener, speech, &limits, find)?;
        let page = self.pages.all.get(&lease.config).unwrap_or(&self.pages.current);
        let whole = page.find_listener(listener).is_some_and(|listener| listener.reach.traits().sends_whole);
        let judged = admit::judge_word(page, lease, word, speech, primitives::find_reading, compiled_schemas);
        self.passed_door(true);
        self.voice.pass_live(&judged, whole);
        Ok(judged)
    }

    fn passed_door(&self, admitted: bool) {
        self.steps.note_step(PumpStep::GatePassed);
        if admitted {
            self.steps.note_step(PumpStep::SchemaPassed);
        }
    }
}

/// The key that is recorded. One that does not fit a named thread refuses the message.
fn bind_key(
    thread: &ThreadChoice,
    key: Key,
    payload: Result<Admitted, Refused>,
) -> (Key, Result<Admitted, Refused>) {
    let ThreadChoice::Named(name) = thread else { return (key, payload) };
    match name.bind_key(&key) {
        Ok(bound) => (bound, payload),
        Err(words) => {
            let refusal = Refusal::new(Code::Invalid, words)
                .with_received(key.as_str())
                .fixed_by("a shorter key, of visible ASCII characters without /");
            let kept = payload.ok().map(|admitted| admit::cut_excerpt(admitted.bytes(), 0));
            (key, Err(Refused { refusal, kept }))
        }
    }
}
