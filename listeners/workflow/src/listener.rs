//! The listener: a delivery comes in, the run continues from the state of its call, and the due items go out.
//!
//! The events of a run are read from the view of its call. While a call is open, they are also kept here and grow
//! with each delivery. So a run of a thousand turns reads only a thousand answers.

use std::sync::Arc;

use systole_kit::answers::Answers;
use systole_kit::ask::{MessageSpot, ViewEntry};
use systole_kit::envelope::Delivered;
use systole_kit::line::{Line, NotTaken};
use systole_kit::open_calls::OpenCalls;
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::{Payload, namespaces};

use crate::facts::RunFacts;
use crate::known::StepFailure;
use crate::note::TurnNote;
use crate::spec::Workflow;
use crate::walk::{self, WalkTurn, supervised_task};

/// The notice of a loop that ended at its limit.
const LOOP_LIMIT: &str = "workflow.loop-limit";

/// A running workflow.
pub struct WorkflowListener {
    name: String,
    kept: OpenCalls<KeptRun>,
}

/// A run.
#[derive(Clone)]
struct ListenerRun {
    workflow: Arc<Workflow>,
    request: Payload,
    /// The sender of the request.
    asked_by: String,
    facts: RunFacts,
}

/// A run between two deliveries.
struct KeptRun {
    run: ListenerRun,
    /// The note of the reply to the last turn.
    note: TurnNote,
}

impl std::fmt::Debug for WorkflowListener {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Listener").field("name", &self.name).finish_non_exhaustive()
    }
}

impl WorkflowListener {
    /// The listener of the workflow with that name. Each call reads its steps from the configuration that it began
    /// with.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), kept: OpenCalls::default() }
    }

    /// For a workflow with several processes under its name.
    #[must_use]
    pub fn one_of_many(self) -> Self {
        Self { kept: self.kept.one_of_many(), ..self }
    }

    /// Notes that the answer to this delivery was accepted.
    pub fn mark_taken(&self, asked: &Delivered) {
        self.kept.mark_taken(asked);
    }

    /// Answers a delivery.
    pub async fn answer_delivery(self: Arc<Self>, asked: Delivered, line: Arc<dyn Line>) -> ReplyContent {
        match self.answer_turn(&asked, &*line).await {
            Ok(said) => said,
            // The delivery was cancelled, and the canceller knows.
            Err(NotTaken::Over) => ReplyContent::Items(Vec::new()),
            Err(not_taken) => build_failure(StepFailure::new("workflow.unreadable", not_taken.to_string())),
        }
    }

    async fn answer_turn(&self, asked: &Delivered, line: &(dyn Line + '_)) -> Result<ReplyContent, NotTaken> {
        let answers = Answers::from_payload(&asked.payload).ok();
        if let Some(budget) = answers.as_ref().and_then(|answers| answers.wrap_up.as_deref()) {
            let words = format!("{budget} is used up before the run was over");
            return Ok(build_failure(StepFailure::new("workflow.budget", words)));
        }
        let kept = answers.as_ref().and_then(|answers| self.gone_on(asked, answers));
        let mut run = match kept {
            Some(run) => run,
            None => self.read_run(line).await?,
        };
        if run.is_branch() && run.asked_by != self.name {
            let words = format!("<branch> is for {} itself, and {} sent it", self.name, run.asked_by);
            return Ok(build_failure(StepFailure::new("workflow.foreign-branch", words)));
        }
        let mut turn = run.walk_turn(asked.stamp.turn);
        if matches!(turn, WalkTurn::NeedsNumbers) {
            let workflow = run.workflow.clone();
            run = Self::read_view(workflow, line).await?;
            turn = run.walk_turn(asked.stamp.turn);
        }
        if let WalkTurn::Items(note, _) | WalkTurn::Final(note, _) = &turn {
            for words in &note.reached {
                line.notice(LOOP_LIMIT, words).await?;
            }
        }
        Ok(match turn {
            WalkTurn::Items(note, items) => {
                let Some(words) = note.to_payload(&self.name) else { return Ok(describe_unwritten()) };
                self.kept.keep(asked, KeptRun { run, note });
                ReplyContent::Items([words].into_iter().chain(items).map(Item::plain).collect())
            }
            WalkTurn::Final(note, payload) => {
                let Some(words) = note.to_payload(&self.name) else { return Ok(describe_unwritten()) };
                ReplyContent::Items([words, payload].map(Item::plain).into())
            }
            WalkTurn::Failed(failure) => build_failure(failure),
            WalkTurn::NeedsNumbers => {
                build_failure(StepFailure::new("workflow.unreadable", "its view has no numbers"))
            }
        })
    }

    /// The kept run, with the data of this delivery.
    fn gone_on(&self, asked: &Delivered, answers: &Answers) -> Option<ListenerRun> {
        let KeptRun { mut run, note } = self.kept.take(asked)?;
        run.facts.forget_numbers();
        run.facts.take_note(&note);
        for item in &answers.items {
            if let Some(payload) = &item.payload {
                run.facts.take_answer(item.ordinal, payload);
            }
        }
        answers.inbox.iter().for_each(|arrival| run.facts.take_arrival(arrival));
        Some(run)
    }

    /// The run, from its configuration and its view.
    async fn read_run(&self, line: &(dyn Line + '_)) -> Result<ListenerRun, NotTaken> {
        let text = line.configuration(&format!("workflows.{}", self.name)).await?;
        let workflow = Workflow::from_text(&text).map_err(|error| NotTaken::Refused {
            code: "workflow.unreadable".to_owned(),
            words: format!("the configuration of the call holds no workflow: {error}"),
        })?;
        Self::read_view(Arc::new(workflow), line).await
    }

    async fn read_view(workflow: Arc<Workflow>, line: &(dyn Line + '_)) -> Result<ListenerRun, NotTaken> {
        let mut facts = RunFacts::default();
        let mut request = None;
        let namespace = format!("https://xml-pipeline.org/ns/{}/v1", workflow.name);
        for shown in line.view_without_items(0).await?.shown {
            let ViewEntry::Message(message) = shown else { continue };
            match message.spot {
                // The work of an earlier call in the thread is over.
                MessageSpot::Request => {
                    facts = RunFacts::default();
                    request = Some((message.payload.clone(), message.from.clone()));
                }
                MessageSpot::Said { .. } if message.payload.name().is_named(&namespace, &workflow.name) => {
                    facts.take_note(&TurnNote::from_payload(&message.payload));
                }
                MessageSpot::Answer { ordinal, .. } => facts.take_answer(ordinal, &message.payload),
                MessageSpot::Inbox { .. } => facts.take_arrival(&message.payload),
                MessageSpot::Said { .. } | MessageSpot::Thread { .. } => {}
            }
            facts.store_number(&message.payload, message.seq);
        }
        let (request, asked_by) = request.ok_or_else(|| NotTaken::Refused {
            code: "workflow.unreadable".to_owned(),
            words: "the view of the call has no request".to_owned(),
        })?;
        Ok(ListenerRun { workflow, request, asked_by, facts })
    }
}

impl ListenerRun {
    fn is_branch(&self) -> bool {
        self.request.name().is_named(namespaces::WORKFLOW, "branch")
    }

    fn walk_turn(&self, turn: u32) -> WalkTurn {
        if supervised_task::is_task(&self.request) {
            supervised_task::walk_task(&self.workflow, (&self.request, &self.asked_by), &self.facts, turn)
        } else if self.is_branch() {
            walk::walk_branch(&self.workflow, &self.request, &self.facts, turn)
        } else {
            walk::walk_workflow(&self.workflow, &self.request, &self.facts, turn)
        }
    }
}

fn build_failure(failure: StepFailure) -> ReplyContent {
    let StepFailure { code, first_code, words } = failure;
    ReplyContent::Failure { code, first_code, retry: false, words }
}

fn describe_unwritten() -> ReplyContent {
    build_failure(StepFailure::new("workflow.unreadable", "its note cannot be written"))
}
