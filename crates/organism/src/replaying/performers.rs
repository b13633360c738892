//! Agents and workflows at work in a replay. Each delivery has its future, which runs until it asks the pump something.
//! What it says goes onto a board, and the replay decides when the pump hears it.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use systole_agent::Agent;
use systole_agent::model::{HttpLimits, Model, Models, SystemRandom};
use systole_agent::spec::ModelSpec;
use systole_core::types::ids::Name;
use systole_kit::envelope::Delivered;
use systole_kit::line::{Line, LineRequest, NotTaken, PendingAnswer, Remark};
use systole_kit::pump_documents::PumpAnswer;
use systole_kit::reply::{ListenerDocument, ReplyContent};
use systole_workflow::WorkflowListener;
use tokio::sync::oneshot;

use super::configurations::CannotReplay;
use super::journal_model::{JournalModel, NoPauses};
use super::live_agent::LiveAgent;
use systole_config::OrganismFile;

/// A listener that runs in a replay.
#[derive(Clone)]
pub(super) enum ReplayListener {
    /// An agent, with recorded answers.
    Agent(Arc<Agent>),
    /// A workflow.
    Workflow(Arc<WorkflowListener>),
}

/// The agents and workflows of a file, or why one cannot be made. The model of `live` is really called.
pub(super) fn build_performers(
    file: &OrganismFile,
    answers: &JournalModel,
    live: Option<&LiveAgent>,
) -> Result<BTreeMap<Name, ReplayListener>, CannotReplay> {
    let unmade = |words| CannotReplay::Configuration { config: file.composition.hash, words };
    live.iter().for_each(|live| live.meet_agents(file));
    let mut all = BTreeMap::new();
    for agent in &file.agents {
        let Ok(name) = Name::parse(&agent.name) else { continue };
        let recorded = |spec: &ModelSpec| (spec.clone(), Arc::new(answers.clone()) as Arc<dyn Model>);
        let mut models = match live.filter(|live| *live.name() == name) {
            Some(live) => live.build_models(file, agent, answers)?,
            None => file.models.iter().map(recorded).collect(),
        };
        models.iter_mut().for_each(|(spec, _)| spec.at_once = crate::limits::REPLAY_REQUESTS);
        let models = Models::new(models, Box::new(SystemRandom), &HttpLimits::default());
        let models =
            models.map_err(|unusable| unmade(unusable.to_string()))?.with_sleeper(Arc::new(NoPauses));
        let made = Agent::new(agent.clone(), Arc::new(models));
        let made = made.map_err(|unreadable| unmade(unreadable.to_string()))?;
        all.insert(name, ReplayListener::Agent(Arc::new(made)));
    }
    for workflow in &file.workflows {
        let Ok(name) = Name::parse(&workflow.name) else { continue };
        all.insert(name, ReplayListener::Workflow(Arc::new(WorkflowListener::new(&workflow.name))));
    }
    Ok(all)
}

type AnswerTask = Pin<Box<dyn Future<Output = ReplyContent> + Send>>;

/// The deliveries that agents and workflows work on.
#[derive(Default)]
pub(super) struct ReplayWork {
    board: Arc<SpokenBoard>,
    running: BTreeMap<String, AnswerTask>,
    /// Deliveries that can go on.
    awake: Vec<String>,
}

impl ReplayWork {
    /// Brings a delivery to its listener.
    pub(super) fn bring_delivery(&mut self, performer: &ReplayListener, asked: Delivered) {
        let delivery = asked.stamp.delivery.clone();
        let line: Arc<dyn Line> = Arc::new(BoardLine {
            board: self.board.clone(),
            delivery: delivery.clone(),
            said: AtomicU64::new(0),
        });
        let answering: AnswerTask = match performer.clone() {
            ReplayListener::Agent(agent) => Box::pin(agent.answer(asked, line)),
            ReplayListener::Workflow(workflow) => Box::pin(workflow.answer_delivery(asked, line)),
        };
        self.running.insert(delivery.clone(), answering);
        self.awake.push(delivery);
    }

    /// Brings the pump's answer to the delivery that waits for it.
    pub(super) fn bring_answer(&mut self, answer: PumpAnswer) {
        let delivery = answer.delivery.clone();
        let waiting = self.board.lock_waiting().remove(&(delivery.clone(), answer.id));
        if let Some(waiting) = waiting {
            // The asker may be gone.
            drop(waiting.send(answer));
            self.awake.push(delivery);
        }
    }

    /// A delivery is no longer wanted.
    pub(super) fn stop_delivery(&mut self, delivery: &str) {
        self.running.remove(delivery);
    }

    /// Lets every delivery go on that can, and returns what they say.
    pub(super) fn go_on(&mut self) -> Vec<ListenerDocument> {
        let mut said = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Some(delivery) = self.awake.pop() {
            let Some(answering) = self.running.get_mut(&delivery) else { continue };
            let polled = answering.as_mut().poll(&mut context);
            said.append(&mut self.board.take_documents());
            if let Poll::Ready(content) = polled {
                self.running.remove(&delivery);
                said.push(ListenerDocument::Reply { delivery, said: content });
            }
        }
        said
    }
}

/// What listeners have said and wait for.
#[derive(Default)]
struct SpokenBoard {
    said: Mutex<Vec<ListenerDocument>>,
    waiting: Mutex<HashMap<(String, u64), oneshot::Sender<PumpAnswer>>>,
}

impl SpokenBoard {
    // Every change below is one step, so the board is valid even if a lock is poisoned.
    fn lock_waiting(&self) -> MutexGuard<'_, HashMap<(String, u64), oneshot::Sender<PumpAnswer>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_documents(&self) -> Vec<ListenerDocument> {
        std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add_document(&self, document: ListenerDocument) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(document);
    }
}

/// The line of one delivery.
struct BoardLine {
    board: Arc<SpokenBoard>,
    delivery: String,
    said: AtomicU64,
}

impl Line for BoardLine {
    fn say(&self, what: LineRequest) -> PendingAnswer<'_, Result<PumpAnswer, NotTaken>> {
        Box::pin(async move {
            let id = self.said.fetch_add(1, Ordering::Relaxed) + 1;
            let (answer, answered) = oneshot::channel();
            self.board.lock_waiting().insert((self.delivery.clone(), id), answer);
            let delivery = self.delivery.clone();
            self.board.add_document(match what {
                LineRequest::Journal(entry) => ListenerDocument::Journal { delivery, id, entry: Ok(entry) },
                LineRequest::Ask(question) => ListenerDocument::Ask { delivery, id, question: Ok(question) },
            });
            answered.await.map_err(|_| NotTaken::Over)
        })
    }

    fn tell(&self, what: Remark) -> PendingAnswer<'_, Result<(), NotTaken>> {
        // No one watches a replay.
        if let Remark::Notice { code, words } = what {
            let delivery = self.delivery.clone();
            self.board.add_document(ListenerDocument::Notice { delivery, code, words });
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
