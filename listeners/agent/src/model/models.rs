//! All models of a file: how many requests run at once, when a request is retried, which model is the fallback, and
//! that the ledger is kept. It knows no provider's form.
//!
//! A request of which it is unknown what became is never repeated, neither here nor at another model. The caller gets
//! its fault and decides. If the provider itself said that it failed, the outcome is known.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use systole_kit::journal::RepeatedRequest;
use tokio::sync::Semaphore;

use super::held::RefusedFields;
use super::held_answer::ModelServer;
use super::ledger::{OutgoingRequest, RequestLedger, RequestOutcome};
use super::pauses::{RandomSource, RealTime, Sleeper, pause_ms};
use super::price::reserve_cost;
use super::{
    AdapterFault, AnswerPiece, AnswerWatcher, HttpLimits, Model, ModelAnswer, ModelFault, ModelFaultKind,
    ModelRateGate, ModelRequest,
};
use crate::limits;
use crate::spec::{self, Provider};

/// The models of a file.
pub struct Models {
    entries: BTreeMap<String, ModelEntry>,
    chance: Box<dyn RandomSource>,
    sleeper: Arc<dyn Sleeper>,
    /// The longest wait that a provider may ask for.
    patience: Duration,
}

struct ModelEntry {
    model: spec::ModelSpec,
    asked: Arc<dyn Model>,
    /// One permit for each request that may run.
    places: Semaphore,
    refused: RefusedFields,
    /// The count of its requests and tokens.
    gate: Arc<ModelRateGate>,
}

/// A request to a model, and its maximum of input tokens.
#[derive(Clone, Debug)]
pub struct EstimatedRequest {
    /// The request. Its parameters apply to every model; the adapter adds those of the model.
    pub request: ModelRequest,
    /// An estimate of the tokens that will be read, for the reserve.
    pub tokens_in: u64,
    /// Whether each model is asked only once.
    pub is_single: bool,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer<H> {
    /// Every available model failed, or one failed whose work may be charged. The message lists each model that was
    /// tried.
    Fault(ModelFault),
    /// The ledger refused, so nothing more was sent.
    Halted(H),
}

/// A model that failed, for the message.
struct TriedModel {
    name: String,
    attempts: u32,
    words: String,
}

impl Models {
    /// Each model with its adapter.
    ///
    /// # Errors
    /// If two models have one name, or one falls back on a missing model or on itself.
    pub fn new(
        models: Vec<(spec::ModelSpec, Arc<dyn Model>)>,
        chance: Box<dyn RandomSource>,
        http: &HttpLimits,
    ) -> Result<Self, AdapterFault> {
        let mut entries = BTreeMap::new();
        for (model, asked) in models {
            let places = Semaphore::new(model.at_once.clamp(1, Semaphore::MAX_PERMITS));
            let name = model.name.clone();
            if entries
                .insert(
                    name.clone(),
                    ModelEntry {
                        model,
                        asked,
                        places,
                        refused: RefusedFields::default(),
                        gate: Arc::default(),
                    },
                )
                .is_some()
            {
                return Err(AdapterFault::new(format!("two models are called {name}: rename one")));
            }
        }
        for (name, entry) in &entries {
            let wrong = |other: &&String| *other == name || !entries.contains_key(*other);
            if let Some(other) = entry.model.fallback.iter().find(wrong) {
                return Err(AdapterFault::new(format!(
                    "models.{name}.fallback names {other}, which is not another model: name one under models"
                )));
            }
        }
        Ok(Self { entries, chance, sleeper: Arc::new(RealTime), patience: http.retry_after })
    }

    /// The same models with another way to wait for pauses.
    #[must_use]
    pub fn with_sleeper(self, sleeper: Arc<dyn Sleeper>) -> Self {
        Self { sleeper, ..self }
    }

    /// The same models, which share the counts of their requests and tokens with others of their names.
    #[must_use]
    pub fn with_gates(mut self, gates: &mut BTreeMap<String, Arc<ModelRateGate>>) -> Self {
        for (name, entry) in &mut self.entries {
            entry.gate = Arc::clone(gates.entry(name.clone()).or_default());
        }
        self
    }

    /// The model of that name.
    #[must_use]
    pub fn find_model(&self, name: &str) -> Option<&spec::ModelSpec> {
        self.entries.get(name).map(|entry| &entry.model)
    }

    /// Whether the model of that name, or one of its fallbacks, holds an answer to a grammar.
    #[must_use]
    pub fn take_grammar(&self, name: &str) -> bool {
        let takes = |entry: &&ModelEntry| entry.model.server.is_some_and(ModelServer::takes_grammar);
        self.in_order(name).iter().any(takes)
    }

    /// Whether a fault says that this model and its fallbacks are away: the same request may be answered later.
    #[must_use]
    pub fn are_away(&self, name: &str, fault: &ModelFault) -> bool {
        let lacks = self.in_order(name).back().is_some_and(|entry| lacks_answer(&entry.model, fault));
        matches!(fault.kind, ModelFaultKind::RateLimited | ModelFaultKind::Unavailable)
            && fault.is_known()
            && !lacks
    }

    /// Asks the model of that name and, if it cannot answer, its fallbacks. Each request is in the ledger before it
    /// is sent. Dropping the result ends the running request.
    ///
    /// # Errors
    /// The last fault, with a message that lists every model that was tried; or the ledger's refusal.
    pub async fn ask_model<L: RequestLedger>(
        &self,
        name: &str,
        ask: &EstimatedRequest,
        ledger: &mut L,
        watcher: AnswerWatcher,
    ) -> Result<ModelAnswer, NoAnswer<L::Halt>> {
        let watcher = Arc::new(Mutex::new(watcher));
        let mut tried: Vec<TriedModel> = Vec::new();
        let mut entries = self.in_order(name);
        while let Some(entry) = entries.pop_front() {
            let before: u32 = tried.iter().map(|tried| tried.attempts).sum();
            let others = u32::try_from(entries.len()).unwrap_or(u32::MAX);
            let room = limits::REQUESTS.saturating_sub(before.saturating_add(others)).max(1);
            let most = if ask.is_single { 1 } else { entry.model.retry.attempts.min(room) };
            let (attempts, fault) = match self.ask_entry(entry, (ask, most), ledger, &watcher).await? {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            tried.push(TriedModel { name: entry.model.name.clone(), attempts, words: fault.words.clone() });
            if entries.is_empty() || !may_go_elsewhere(&fault) {
                return Err(NoAnswer::Fault(ModelFault { words: describe_tries(&tried), ..fault }));
            }
        }
        Err(NoAnswer::Fault(ModelFault {
            kind: ModelFaultKind::InvalidRequest,
            words: format!("there is no model called {name}: name one under models"),
            status: None,
            retry_after_ms: None,
            partial: String::new(),
            may_be_paid: false,
            used: None,
        }))
    }

    /// The model of that name and its fallbacks.
    fn in_order(&self, name: &str) -> VecDeque<&ModelEntry> {
        let first = self.entries.get(name);
        let others = first.into_iter().flat_map(|entry| &entry.model.fallback);
        first.into_iter().chain(others.filter_map(|other| self.entries.get(other))).collect()
    }

    /// Asks one model at most `most` times, until it answers or a retry makes no sense.
    async fn ask_entry<L: RequestLedger>(
        &self,
        entry: &ModelEntry,
        (ask, most): (&EstimatedRequest, u32),
        ledger: &mut L,
        watcher: &Arc<Mutex<AnswerWatcher>>,
    ) -> Result<Result<ModelAnswer, (u32, ModelFault)>, NoAnswer<L::Halt>> {
        let ModelEntry { model, asked, places, refused, gate } = entry;
        let written = ask.request.max_output.min(model.max_output);
        let reserve = reserve_cost(model.price.as_ref(), ask.tokens_in, written);
        let mut attempt = 1;
        loop {
            // The permit is held while the request runs: not while it waits for its rate, nor during the pause before
            // a retry.
            let mut place = Some(places.acquire().await);
            let request = refused.leave_out(&ask.request);
            let held = asked.find_held(&request);
            let wait = match gate.take_request(&model.rate, ask.tokens_in, limits::RATE_WAIT) {
                Ok(wait) => wait,
                // An attempt has no time for that: the call waits as for a model that is away.
                Err(wait) => return Ok(Err((attempt, build_rate_fault(model, wait)))),
            };
            let wait_ms = Some(to_ms(wait)).filter(|ms| *ms > 0);
            if wait_ms.is_some() {
                place = None;
            }
            let going = OutgoingRequest { model, attempt, reserve, held, wait_ms };
            ledger.record_start(going).await.map_err(NoAnswer::Halted)?;
            if place.is_none() {
                self.sleeper.sleep(wait).await;
                place = Some(places.acquire().await);
            }
            let mut watcher = share_watcher(watcher);
            watcher(AnswerPiece::Begun);
            let outcome = asked.ask(request.clone(), watcher).await;
            drop(place);
            let failed = outcome.as_ref().err();
            refused.note_refused(failed.and_then(|fault| asked.find_refused(&request, fault)));
            let pause = failed.and_then(|fault| self.choose_pause(model, (attempt, most), fault));
            let again = pause.map(|pause| RepeatedRequest {
                pause_ms: to_ms(pause),
                number: attempt + 1,
                most: most.max(attempt + 1),
            });
            let mut ended = RequestOutcome::from_answer(model, outcome.as_ref(), ask.tokens_in);
            ended.details.again = again;
            let used = ended.tokens_in.unwrap_or(0).saturating_add(ended.tokens_out.unwrap_or(0));
            gate.add_tokens(&model.rate, used.saturating_sub(ask.tokens_in));
            ledger.record_end(ended).await.map_err(NoAnswer::Halted)?;
            let fault = match outcome {
                Ok(answer) => return Ok(Ok(answer)),
                Err(fault) => fault,
            };
            let Some(pause) = pause else {
                return Ok(Err((attempt, self.refuse_long_wait(attempt < most, fault))));
            };
            self.sleeper.sleep(pause).await;
            attempt += 1;
        }
    }

    /// The pause before a model is asked again. `None` if it is not.
    fn choose_pause(
        &self,
        model: &spec::ModelSpec,
        (attempt, most): (u32, u32),
        fault: &ModelFault,
    ) -> Option<Duration> {
        // Each field is refused once.
        if fault.kind == ModelFaultKind::FieldRefused && attempt < most.saturating_add(limits::REFUSED_FIELDS)
        {
            return Some(Duration::ZERO);
        }
        let again = may_be_repeated(fault) && !lacks_answer(model, fault) && attempt < most;
        let own = pause_ms(&model.retry, attempt, self.chance.as_ref());
        let pause = Duration::from_millis(own.max(fault.retry_after_ms.unwrap_or(0)));
        (again && (fault.retry_after_ms.is_none() || pause <= self.patience.max(Duration::from_millis(own))))
            .then_some(pause)
    }

    /// If the provider asked for too long a wait, the fault says so.
    fn refuse_long_wait(&self, has_attempts: bool, fault: ModelFault) -> ModelFault {
        let asked = fault.retry_after_ms.filter(|asked| Duration::from_millis(*asked) > self.patience);
        match asked {
            Some(asked) if may_be_repeated(&fault) && has_attempts => {
                let most = self.patience.as_millis();
                let words =
                    format!("{}; it asks to wait {asked} ms, and {most} ms are waited at most", fault.words);
                ModelFault { words, ..fault }
            }
            _ => fault,
        }
    }
}

fn to_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A missing script answer is missing the second time too. The faults that a script simulates have a status or are cuts.
fn lacks_answer(model: &spec::ModelSpec, fault: &ModelFault) -> bool {
    model.provider == Provider::Script && fault.kind == ModelFaultKind::Unavailable && fault.status.is_none()
}

/// The fault of a request that was not sent, because the rate of its model leaves no room for it soon.
fn build_rate_fault(model: &spec::ModelSpec, wait: Duration) -> ModelFault {
    ModelFault {
        kind: ModelFaultKind::RateLimited,
        words: format!("models.{}.rate allows the next request in {} s", model.name, wait.as_secs()),
        status: None,
        retry_after_ms: None,
        partial: String::new(),
        may_be_paid: false,
        used: None,
    }
}

fn may_be_repeated(fault: &ModelFault) -> bool {
    let passing = matches!(
        fault.kind,
        ModelFaultKind::RateLimited | ModelFaultKind::Unavailable | ModelFaultKind::Truncated
    );
    passing && fault.is_known()
}

/// If a model is missing, rejects the key, has no credit left or refuses to answer, another model may still work. If
/// it rejects the request itself, no other will.
fn may_go_elsewhere(fault: &ModelFault) -> bool {
    let its_own = matches!(fault.status, Some(401..=404 | 429))
        || (fault.kind == ModelFaultKind::Refused && fault.status.is_some());
    (may_be_repeated(fault) || its_own) && fault.is_known()
}

/// `main: … after 4 attempts; rehearsal: …`
fn describe_tries(tried: &[TriedModel]) -> String {
    let each = tried.iter().map(|TriedModel { name, attempts, words }| match attempts {
        1 => format!("{name}: {words}"),
        attempts => format!("{name}: {words}, after {attempts} attempts"),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A watcher for one attempt, which passes everything on to the shared one.
fn share_watcher(watcher: &Arc<Mutex<AnswerWatcher>>) -> AnswerWatcher {
    let watcher = Arc::clone(watcher);
    Box::new(move |piece| (watcher.lock().unwrap_or_else(PoisonError::into_inner))(piece))
}
