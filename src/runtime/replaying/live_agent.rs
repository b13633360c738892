//! The agent whose model is really called in a replay, instead of the answers in the journal. All calls together cost
//! at most an amount that the user names. The replay waits for each answer, so one call runs at a time.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use systole_agent::model::{
    AnswerFuture, AnswerWatcher, EstimatedRequest, HttpLimits, Ledger, MessagePart, Model, ModelAnswer,
    ModelRequest, Models, NativeCall, NoAnswer, OutgoingRequest, RequestOutcome, SystemRandom, reserve,
};
use systole_agent::spec::{AgentSpec, ModelSpec, RequestRetry};
use systole_core::types::flow::Lease;
use systole_core::types::ids::Name;
use systole_kit::journal::JournalEntry;
use systole_kit::money::Money;
use systole_kit::reply::ListenerDocument;
use tokio::runtime::{Builder, Runtime};

use super::journal_model::JournalModel;
use super::shelf::{CannotReplay, LiveFault, LiveFaultKind};
use crate::config::OrganismFile;
use crate::edges::system;

/// The models that an agent may ask: its own, and the fallbacks of that model.
pub type AgentModels = Vec<(ModelSpec, Arc<dyn Model>)>;
/// Makes the models of an agent of that file, as an organism would ask them.
pub(super) type ModelMaker = Box<dyn Fn(&OrganismFile, &AgentSpec) -> Result<AgentModels, LiveFault>>;

/// An agent whose model is really called.
pub struct LiveAgent {
    name: Name,
    make: ModelMaker,
    /// The most that all calls may cost.
    most: Money,
    runtime: Arc<Runtime>,
    calls: LiveCalls,
}

/// What was asked so far. Clones are handles to the same calls.
#[derive(Clone)]
struct LiveCalls(Arc<Mutex<CallBook>>);

#[derive(Default)]
struct CallBook {
    /// The agents of the configurations.
    agents: BTreeSet<String>,
    /// The deliveries that the agent got.
    deliveries: HashMap<String, LiveDelivery>,
    used: LiveUse,
    /// Why no further call is possible.
    ended: Option<LiveFault>,
}

#[derive(Default)]
struct LiveDelivery {
    /// Whether calls are made for which the journal has no answer. An attempt that was lost makes none.
    is_free: bool,
    /// The most that the call may cost that the agent is about to make.
    reserve: Option<Money>,
    /// Why its last call brought no answer.
    fault: Option<LiveFault>,
}

/// What the calls came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveUse {
    /// How many requests were sent.
    pub requests: usize,
    /// Their cost, in millionths.
    pub micros: u64,
    /// How many of them count with the most that they may cost, because their cost is not known.
    pub unknown: usize,
}

impl LiveAgent {
    /// The agent of that name. All calls of its model together may cost that much.
    ///
    /// # Errors
    /// If the system refuses threads.
    pub fn new(name: Name, most: Money, make: ModelMaker) -> Result<LiveAgent, CannotReplay> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| CannotReplay::BrokeOff(system::told(&error)))?;
        let calls = LiveCalls(Arc::default());
        Ok(LiveAgent { name, make, most, runtime: Arc::new(runtime), calls })
    }

    /// The agent.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What its calls came to, and the most that they may come to.
    pub fn used(&self) -> (LiveUse, Money) {
        (self.calls.book().used, self.most)
    }

    /// Whether it got a delivery.
    pub fn was_asked(&self) -> bool {
        !self.calls.book().deliveries.is_empty()
    }

    /// The agents of the configurations so far.
    pub fn agents(&self) -> Vec<String> {
        self.calls.book().agents.iter().cloned().collect()
    }

    /// Notes the agents of a configuration.
    pub(super) fn meet(&self, file: &OrganismFile) {
        self.calls.book().agents.extend(file.agents.iter().map(|agent| agent.name.clone()));
    }

    /// The models of the agent. Each is asked for real, once for each recorded answer.
    pub(super) fn models(
        &self,
        file: &OrganismFile,
        agent: &AgentSpec,
        journal: &JournalModel,
    ) -> Result<AgentModels, CannotReplay> {
        let models = (self.make)(file, agent)?.into_iter();
        let live = models.map(|(spec, asked)| {
            self.has_price(&spec)?;
            let alone = ModelSpec { fallback: Vec::new(), ..spec.clone() };
            let models = Models::new(vec![(alone, asked)], Box::new(SystemRandom), &HttpLimits::default());
            let model = LiveModel {
                agent: self.name.clone(),
                name: spec.name.clone(),
                most: self.most,
                models: models.map_err(|unusable| CannotReplay::BrokeOff(unusable.to_string()))?,
                journal: journal.clone(),
                runtime: self.runtime.clone(),
                calls: self.calls.clone(),
            };
            // A request that is repeated is one call of the replay.
            let retry = RequestRetry { attempts: 1, ..spec.retry };
            Ok((ModelSpec { retry, ..spec }, Arc::new(model) as Arc<dyn Model>))
        });
        live.collect()
    }

    fn has_price(&self, spec: &ModelSpec) -> Result<(), LiveFault> {
        let name = &spec.name;
        let Some(price) = reserve(spec.price.as_ref(), 1, 1).money else {
            return Err(LiveFault {
                kind: LiveFaultKind::Settings,
                words: format!("models.{name} has no price, so --money cannot limit the cost of its calls"),
                fix: format!(
                    "models.{name}.price in the organism's file, and --config with that file: \
                     otherwise the recorded configuration counts"
                ),
            });
        };
        let (own, given) = (price.currency, self.most.currency);
        if own == given {
            return Ok(());
        }
        Err(LiveFault {
            kind: LiveFaultKind::Usage,
            words: format!("the prices of models.{name} are in {own}, and --money is in {given}"),
            fix: format!("--money with an amount in {own}"),
        })
    }

    /// The agent gets a delivery.
    pub(super) fn hand(&self, lease: &Lease, is_free: bool) {
        if lease.listener == self.name {
            let delivery = LiveDelivery { is_free, ..LiveDelivery::default() };
            self.calls.book().deliveries.insert(lease.token.0.to_string(), delivery);
        }
    }

    /// Hears what agents say, before the pump does.
    ///
    /// # Errors
    /// If no further call is possible: the money does not suffice, or the model gave no answer.
    pub(super) fn hear(&self, said: &[ListenerDocument]) -> Result<(), CannotReplay> {
        let mut book = self.calls.book();
        for document in said {
            let Some(delivery) = book.deliveries.get_mut(document.delivery()) else { continue };
            match document {
                ListenerDocument::Journal { entry: Ok(JournalEntry::Started(started)), .. } => {
                    delivery.reserve = started.reserve_money;
                }
                ListenerDocument::Reply { .. } => {
                    let fault = delivery.fault.take();
                    book.ended = book.ended.take().or(fault);
                }
                _ => {}
            }
        }
        book.ended.clone().map_or(Ok(()), |ended| Err(ended.into()))
    }
}

impl LiveCalls {
    fn book(&self) -> MutexGuard<'_, CallBook> {
        // Every change is one step, so the book is valid even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the models of the agent.
struct LiveModel {
    agent: Name,
    name: String,
    most: Money,
    models: Models,
    journal: JournalModel,
    runtime: Arc<Runtime>,
    calls: LiveCalls,
}

impl Model for LiveModel {
    fn ask(&self, request: ModelRequest, watcher: AnswerWatcher) -> AnswerFuture {
        let delivery = request.course.delivery.clone();
        let recorded = self.journal.take(&delivery);
        let is_free = self.calls.book().deliveries.get(&delivery).is_some_and(|one| one.is_free);
        if recorded.is_none() && !is_free {
            return self.journal.ask(request, watcher);
        }
        let place =
            format!("{} turn {}", request.course.call.replacen(' ', " call ", 1), request.course.turns + 1);
        let Some(reserve) = self.reserved(&delivery, &place) else {
            return Box::pin(std::future::pending());
        };
        let asked = EstimatedRequest { request, tokens_in: 0 };
        let mut ledger = CallLedger { calls: &self.calls, reserve };
        let outcome = self.runtime.block_on(self.models.ask(&self.name, &asked, &mut ledger, watcher));
        let outcome = outcome.map_err(|none| match none {
            NoAnswer::Fault(fault) => fault,
            NoAnswer::Halted(never) => match never {},
        });
        let fault = outcome.as_ref().err().map(|fault| LiveFault {
            kind: LiveFaultKind::Ended,
            words: format!("{place}: {}: {}", fault.kind.code(), fault.words),
            fix: "again when the provider answers, or without --live".to_owned(),
        });
        if let Some(one) = self.calls.book().deliveries.get_mut(&delivery) {
            one.fault = fault;
        }
        let answer = match (outcome, recorded) {
            (Ok(answer), Some(Ok(then))) if is_same(&answer, &then) => Ok(then),
            (outcome, _) => outcome,
        };
        Box::pin(std::future::ready(answer))
    }
}

impl LiveModel {
    /// The most that the next call may cost. `None` if that is more than is left, which ends the replay.
    fn reserved(&self, delivery: &str, place: &str) -> Option<Money> {
        let mut book = self.calls.book();
        let reserve = book.deliveries.get(delivery).and_then(|one| one.reserve);
        let left = Money { micros: self.most.micros.saturating_sub(book.used.micros), ..self.most };
        let fits = reserve.filter(|reserve| reserve.micros <= left.micros);
        if fits.is_none() {
            let wanted = reserve.map_or_else(|| "more".to_owned(), |reserve| reserve.to_string());
            let (agent, most) = (&self.agent, self.most);
            book.ended = Some(LiveFault {
                kind: LiveFaultKind::Ended,
                words: format!(
                    "{place}: the next call of the model of {agent} may cost {wanted}, and {left} of {most} is left"
                ),
                fix: format!("a larger --money, or a smaller models.{}.max_output", self.name),
            });
        }
        fits
    }
}

/// Whether two answers say the same. Ids of calls, reasoning and counts of tokens are the provider's.
fn is_same(one: &ModelAnswer, other: &ModelAnswer) -> bool {
    let said = |answer: &ModelAnswer| -> Vec<MessagePart> {
        let parts = answer.parts.iter().filter(|part| !matches!(part, MessagePart::Reasoning(_)));
        let without_id = |part: &MessagePart| match part {
            MessagePart::Call(call) => MessagePart::Call(NativeCall { id: String::new(), ..call.clone() }),
            other => other.clone(),
        };
        parts.map(without_id).collect()
    };
    one.stop == other.stop && said(one) == said(other)
}

/// Counts what each request costs.
struct CallLedger<'a> {
    calls: &'a LiveCalls,
    /// The most that one request may cost.
    reserve: Money,
}

impl Ledger for CallLedger<'_> {
    type Halt = Infallible;

    async fn started(&mut self, _: OutgoingRequest<'_>) -> Result<(), Infallible> {
        Ok(())
    }

    async fn ended(&mut self, came: RequestOutcome<'_>) -> Result<(), Infallible> {
        let used = &mut self.calls.book().used;
        used.requests += 1;
        used.unknown += usize::from(came.money.is_none());
        used.micros = used.micros.saturating_add(came.money.unwrap_or(self.reserve).micros);
        Ok(())
    }
}
