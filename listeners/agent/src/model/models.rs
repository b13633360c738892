//! All models of a file, around the trait: how many requests are out at once, what is repeated and when, who is asked
//! where one cannot answer, and that the books are kept. Knows no form of any provider.
//!
//! A request that may have been paid for is never repeated, neither here nor at another model: its fault goes to the
//! caller, who knows what to do about it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::ledger::{Came, Going, Ledger};
use super::pauses::{Chance, RealTime, Sleeper, pause_ms};
use super::price::reserve;
use super::{Answer, Fault, FaultKind, Limits, Model, Request, Unusable, Watcher};
use crate::spec::{self, Provider};

/// The models of a file.
pub struct Models {
    entries: BTreeMap<String, Entry>,
    chance: Box<dyn Chance>,
    sleeper: Arc<dyn Sleeper>,
    /// The longest wait that a provider may ask for.
    patience: Duration,
}

struct Entry {
    model: spec::Model,
    asked: Arc<dyn Model>,
    /// One place for each request that may be out.
    places: Semaphore,
}

/// What a model is asked, and how many tokens that is at most.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The request. The parameters of a model are added by who asks it: these are further ones, for every model.
    pub request: Request,
    /// An estimate of the tokens that will be read, for what is kept aside.
    pub tokens_in: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer<H> {
    /// Every model that could be asked failed, or one did whose work may be paid. The words tell each that was tried.
    Fault(Fault),
    /// The books said no, and nothing more went out.
    Halted(H),
}

/// A model that failed, for the words.
struct Tried {
    name: String,
    attempts: u32,
    words: String,
}

impl Models {
    /// Each model with whoever answers for it.
    ///
    /// # Errors
    /// Where two have one name, or one falls back on a model that is not there or on itself.
    pub fn new(
        models: Vec<(spec::Model, Arc<dyn Model>)>,
        chance: Box<dyn Chance>,
        limits: &Limits,
    ) -> Result<Self, Unusable> {
        let mut entries = BTreeMap::new();
        for (model, asked) in models {
            let places = Semaphore::new(model.at_once.clamp(1, Semaphore::MAX_PERMITS));
            let name = model.name.clone();
            if entries.insert(name.clone(), Entry { model, asked, places }).is_some() {
                return Err(Unusable::because(format!("two models are called {name}: rename one")));
            }
        }
        for (name, entry) in &entries {
            let wrong = |other: &&String| *other == name || !entries.contains_key(*other);
            if let Some(other) = entry.model.fallback.iter().find(wrong) {
                return Err(Unusable::because(format!(
                    "models.{name}.fallback names {other}, which is no other model: name one under models"
                )));
            }
        }
        Ok(Self { entries, chance, sleeper: Arc::new(RealTime), patience: limits.retry_after })
    }

    /// The same, where pauses are waited for in another way.
    #[must_use]
    pub fn sleeping(self, sleeper: Arc<dyn Sleeper>) -> Self {
        Self { sleeper, ..self }
    }

    /// The model of that name.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&spec::Model> {
        self.entries.get(name).map(|entry| &entry.model)
    }

    /// Asks the model of that name and, where it cannot answer, those it falls back on. Each request that goes out is in
    /// the books before it does. Dropping what comes back ends the request that is out.
    ///
    /// # Errors
    /// The last fault, in words that tell every model that was tried; or what the books said.
    pub async fn ask<L: Ledger>(
        &self,
        name: &str,
        ask: &Ask,
        ledger: &mut L,
        watcher: Watcher,
    ) -> Result<Answer, NoAnswer<L::Halt>> {
        let watcher = Arc::new(Mutex::new(watcher));
        let mut tried: Vec<Tried> = Vec::new();
        let mut entries = self.in_order(name);
        while let Some(entry) = entries.pop_front() {
            let (attempts, fault) = match self.at(entry, ask, ledger, &watcher).await? {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            tried.push(Tried { name: entry.model.name.clone(), attempts, words: fault.words.clone() });
            if entries.is_empty() || !may_go_elsewhere(&fault) {
                return Err(NoAnswer::Fault(Fault { words: told(&tried), ..fault }));
            }
        }
        Err(NoAnswer::Fault(Fault {
            kind: FaultKind::InvalidRequest,
            words: format!("there is no model called {name}: name one under models"),
            status: None,
            retry_after_ms: None,
            partial: String::new(),
            may_be_paid: false,
        }))
    }

    /// The model of that name and those it falls back on.
    fn in_order(&self, name: &str) -> VecDeque<&Entry> {
        let first = self.entries.get(name);
        let others = first.into_iter().flat_map(|entry| &entry.model.fallback);
        first.into_iter().chain(others.filter_map(|other| self.entries.get(other))).collect()
    }

    /// Asks one model until it answers, its attempts are used up, or it makes no sense to repeat.
    async fn at<L: Ledger>(
        &self,
        entry: &Entry,
        ask: &Ask,
        ledger: &mut L,
        watcher: &Arc<Mutex<Watcher>>,
    ) -> Result<Result<Answer, (u32, Fault)>, NoAnswer<L::Halt>> {
        let Entry { model, asked, places } = entry;
        let most = ask.request.max_output.min(model.max_output);
        let reserve = reserve(model.price.as_ref(), ask.tokens_in, most);
        let mut attempt = 1;
        loop {
            // The place is held while the request is out, and not while its repetition waits.
            let place = places.acquire().await;
            ledger.started(Going { model, attempt, reserve }).await.map_err(NoAnswer::Halted)?;
            let outcome = asked.ask(ask.request.clone(), shared(watcher)).await;
            drop(place);
            ledger.ended(Came::of(model, outcome.as_ref())).await.map_err(NoAnswer::Halted)?;
            let fault = match outcome {
                Ok(answer) => return Ok(Ok(answer)),
                Err(fault) => fault,
            };
            let Some(pause) = self.pause(model, attempt, &fault) else {
                return Ok(Err((attempt, self.impatient(model, attempt, fault))));
            };
            self.sleeper.sleep(pause).await;
            attempt += 1;
        }
    }

    /// How long to wait before a model is asked again; none where it is not.
    fn pause(&self, model: &spec::Model, attempt: u32, fault: &Fault) -> Option<Duration> {
        // What a script lacks it lacks a second time as well; the faults that it rehearses have a status, or are cuts.
        let lacks = model.provider == Provider::Script
            && fault.kind == FaultKind::Unavailable
            && fault.status.is_none();
        let again = may_be_repeated(fault) && !lacks && attempt < model.retry.attempts;
        let own = pause_ms(&model.retry, attempt, self.chance.as_ref());
        let pause = Duration::from_millis(own.max(fault.retry_after_ms.unwrap_or(0)));
        (again && (fault.retry_after_ms.is_none() || pause <= self.patience.max(Duration::from_millis(own))))
            .then_some(pause)
    }

    /// A fault that would have been repeated, had the provider not asked for too long a wait, says so.
    fn impatient(&self, model: &spec::Model, attempt: u32, fault: Fault) -> Fault {
        let asked = fault.retry_after_ms.filter(|asked| Duration::from_millis(*asked) > self.patience);
        match asked {
            Some(asked) if may_be_repeated(&fault) && attempt < model.retry.attempts => {
                let most = self.patience.as_millis();
                let words =
                    format!("{}; it asks to wait {asked} ms, and {most} ms are waited at most", fault.words);
                Fault { words, ..fault }
            }
            _ => fault,
        }
    }
}

fn may_be_repeated(fault: &Fault) -> bool {
    let passing =
        matches!(fault.kind, FaultKind::RateLimited | FaultKind::Unavailable | FaultKind::Truncated);
    passing && !fault.may_be_paid
}

/// A model that is not there, wants another key or has no money left says nothing of the others. One that finds the
/// request itself wrong does.
fn may_go_elsewhere(fault: &Fault) -> bool {
    let its_own = matches!(fault.status, Some(401..=404 | 429));
    (may_be_repeated(fault) || its_own) && !fault.may_be_paid
}

/// `main: … after 4 attempts; rehearsal: …`
fn told(tried: &[Tried]) -> String {
    let each = tried.iter().map(|Tried { name, attempts, words }| match attempts {
        1 => format!("{name}: {words}"),
        attempts => format!("{name}: {words}, after {attempts} attempts"),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A watcher for one attempt, which passes everything on to the one for all.
fn shared(watcher: &Arc<Mutex<Watcher>>) -> Watcher {
    let watcher = Arc::clone(watcher);
    Box::new(move |piece| (watcher.lock().unwrap_or_else(PoisonError::into_inner))(piece))
}
