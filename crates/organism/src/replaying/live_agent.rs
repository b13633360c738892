//! The agent whose model is really called in a replay, instead of the answers in the journal. All calls together cost
//! at most an amount that the user names. The replay waits for each answer, so one call runs at a time.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use systole_agent::model::{
    AnswerFuture, AnswerWatcher, EstimatedRequest, HttpLimits, MessagePart, Model, ModelAnswer, ModelRequest,
    Models, NativeCall, NoAnswer, OutgoingRequest, RequestLedger, RequestOutcome, SystemRandom, reserve_cost,
};
use systole_agent::spec::{AgentSpec, ModelSpec};
use systole_core::types::flow::Lease;
use systole_core::types::ids::Name;
use systole_kit::journal::JournalEntry;
use systole_kit::money::Money;
use systole_kit::reply::ListenerDocument;
use tokio::runtime::{Builder, Runtime};

use super::configurations::{CannotReplay, LiveFault, LiveFaultKind};
use super::journal_model::JournalModel;
use systole_config::OrganismFile;
use systole_system::system;

/// The models that an agent may ask: its own, and the fallbacks of that model.
pub type AgentModels = Vec<(ModelSpec, Arc<dyn Model>)>;
/// Makes the models of an agent, as the organism of the user would ask them. A recorded configuration may be a stranger's,
/// so it names no address and no key.
pub(super) type ModelMaker = Box<dyn Fn(&AgentSpec) -> Result<AgentModels, LiveFault>>;

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
    /// Whether an answer was another one than recorded, since the last time that this was read.
    has_differed: bool,
    /// Why no further call is possible.
    ended: Option<LiveFault>,
}

#[derive(Default)]
struct LiveDelivery {
    /// Whether calls are made for which the journal has no answer. An attempt that was lost makes none.
    is_free: bool,
    /// The most tokens that the agent's next call may use.
    reserve: u64,
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
        let runtime = runtime.map_err(|error| CannotReplay::BrokeOff(system::describe_error(&error)))?;
        let calls = LiveCalls(Arc::default());
        Ok(LiveAgent { name, make, most, runtime: Arc::new(runtime), calls })
    }

    /// The agent.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What its calls came to, and the most that they may come to.
    pub fn measure_use(&self) -> (LiveUse, Money) {
        (self.calls.lock_book().used, self.most)
    }

    /// Whether its model got a request.
    pub fn was_asked(&self) -> bool {
        self.calls.lock_book().used.requests > 0
    }

    /// The agents of the configurations so far.
    pub fn list_agents(&self) -> Vec<String> {
        self.calls.lock_book().agents.iter().cloned().collect()
    }

    /// Notes the agents of a configuration.
    pub(super) fn meet_agents(&self, file: &OrganismFile) {
        self.calls.lock_book().agents.extend(file.agents.iter().map(|agent| agent.name.clone()));
    }

    /// The models of the agent, with their limits in that file. Each stands for the agent's own one with its fallbacks,
    /// as they are really called.
    pub(super) fn build_models(
        &self,
        file: &OrganismFile,
        agent: &AgentSpec,
        journal: &JournalModel,
    ) -> Result<AgentModels, CannotReplay> {
        let models = (self.make)(agent)?;
        models.iter().try_for_each(|(spec, _)| self.has_price(spec))?;
        let models = Models::new(models, Box::new(SystemRandom), &HttpLimits::default());
        let models = Arc::new(models.map_err(|unusable| CannotReplay::BrokeOff(unusable.to_string()))?);
        let live = |spec: &ModelSpec| {
            let model = LiveModel {
                agent: agent.clone(),
                max_output: spec.max_output,
                most: self.most,
                models: models.clone(),
                journal: journal.clone(),
                runtime: self.runtime.clone(),
                calls: self.calls.clone(),
            };
            (spec.clone(), Arc::new(model) as Arc<dyn Model>)
        };
        Ok(file.models.iter().map(live).collect())
    }

    fn has_price(&self, spec: &ModelSpec) -> Result<(), LiveFault> {
        let name = &spec.name;
        let Some(price) = reserve_cost(spec.price.as_ref(), 1, 1).money else {
            return Err(LiveFault {
                kind: LiveFaultKind::Settings,
                words: format!("models.{name} has no price, so --money cannot limit the cost of its calls"),
                fix: format!("models.{name}.price in the organism's file"),
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
    pub(super) fn hand_delivery(&self, lease: &Lease, is_free: bool) {
        if lease.listener == self.name {
            let delivery = LiveDelivery { is_free, ..LiveDelivery::default() };
            self.calls.lock_book().deliveries.insert(lease.token.0.to_string(), delivery);
        }
    }

    /// Hears what agents say, before the pump does. Returns whether an answer was another one than recorded: then the
    /// record does not show what has to go out.
    ///
    /// # Errors
    /// If no further call is possible: the money does not suffice, or the model gave no answer.
    pub(super) fn hear_documents(&self, said: &[ListenerDocument]) -> Result<bool, CannotReplay> {
        let mut book = self.calls.lock_book();
        for document in said {
            if let ListenerDocument::Journal { delivery, entry: Ok(JournalEntry::Started(started)), .. } =
                document
                && let Some(delivery) = book.deliveries.get_mut(delivery)
            {
                delivery.reserve = started.reserve_tokens.unwrap_or_default();
            }
        }
        let has_differed = std::mem::take(&mut book.has_differed);
        book.ended.clone().map_or(Ok(has_differed), |ended| Err(ended.into()))
    }
}

impl LiveCalls {
    fn lock_book(&self) -> MutexGuard<'_, CallBook> {
        // Every change is one step, so the book is valid even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the models of the agent.
struct LiveModel {
    agent: AgentSpec,
    max_output: u64,
    most: Money,
    models: Arc<Models>,
    journal: JournalModel,
    runtime: Arc<Runtime>,
    calls: LiveCalls,
}

impl Model for LiveModel {
    fn ask(&self, request: ModelRequest, watcher: AnswerWatcher) -> AnswerFuture {
        let delivery = request.course.delivery.clone();
        let known = self.calls.lock_book().deliveries.get(&delivery).map(|one| (one.is_free, one.reserve));
        let (is_free, reserve) = known.unwrap_or_default();
        let recorded = match self.journal.take_answer(&delivery) {
            None if !is_free => return self.journal.ask(request, watcher),
            // Another request followed it, and that one is made.
            Some(Err(fault)) if fault.status.is_some() => return Box::pin(std::future::ready(Err(fault))),
            recorded => recorded,
        };
        let (call, turn) = (request.course.call.replacen(' ', " call ", 1), request.course.turns + 1);
        let place = format!("{call} turn {turn}");
        let tokens_in = reserve.saturating_sub(request.max_output.min(self.max_output));
        let asked = EstimatedRequest { request, tokens_in, is_single: false };
        let mut ledger = CallLedger { model: self, place: &place, reserve: 0 };
        let answered =
            self.runtime.block_on(self.models.ask_model(&self.agent.model, &asked, &mut ledger, watcher));
        let ended = match (answered, recorded) {
            (Ok(answer), Some(Ok(then))) if is_same(&answer, &then) => {
                return Box::pin(std::future::ready(Ok(then)));
            }
            (Ok(answer), _) => {
                self.calls.lock_book().has_differed = true;
                return Box::pin(std::future::ready(Ok(answer)));
            }
            (Err(NoAnswer::Halted(ended)), _) => ended,
            (Err(NoAnswer::Fault(fault)), _) => LiveFault {
                kind: LiveFaultKind::Ended,
                words: format!("the replay ended at {place}: {}: {}", fault.kind.code(), fault.words),
                fix: "again when the provider answers, or without --live".to_owned(),
            },
        };
        self.calls.lock_book().ended = Some(ended);
        Box::pin(std::future::pending())
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

/// Counts what each request costs, and refuses one that may cost more than is left.
struct CallLedger<'a> {
    model: &'a LiveModel,
    place: &'a str,
    /// The most that the running request may cost, in millionths.
    reserve: u64,
}

impl RequestLedger for CallLedger<'_> {
    type Halt = LiveFault;

    async fn record_start(&mut self, going: OutgoingRequest<'_>) -> Result<(), LiveFault> {
        let (agent, most) = (&self.model.agent.name, self.model.most);
        let used = self.model.calls.lock_book().used.micros;
        let left = Money { micros: most.micros.saturating_sub(used), ..most };
        // Every model has a price.
        self.reserve = going.reserve.money.map_or(u64::MAX, |money| money.micros);
        if self.reserve <= left.micros {
            return Ok(());
        }
        let (place, wanted) = (self.place, Money { micros: self.reserve, ..most });
        Err(LiveFault {
            kind: LiveFaultKind::Ended,
            words: format!(
                "the replay ended at {place}: the next call of the model of {agent} may cost {wanted}, \
                 and {left} of {most} is left"
            ),
            fix: format!("a larger --money, or a smaller models.{}.max_output", going.model.name),
        })
    }

    async fn record_end(&mut self, came: RequestOutcome<'_>) -> Result<(), LiveFault> {
        let used = &mut self.model.calls.lock_book().used;
        used.requests += 1;
        used.unknown += usize::from(came.money.is_none());
        used.micros = used.micros.saturating_add(came.money.map_or(self.reserve, |money| money.micros));
        Ok(())
    }
}
