//! Tasks that a goal's agent gives. Each becomes a child thread of another agent, with a request that the program
//! writes.
//!
//! The actions of a dialect come in. Tasks are checked against their schema and counted. Tasks beyond the limit and
//! invalid tasks go out as reasons. A model has no other way to reach the agent that takes tasks.

use std::sync::LazyLock;

use systole_kit::schema::SchemaModel;
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};
use systole_workflow::WORKFLOW_XSD;
use systole_workflow::goal_request::{GoalRequest, Task};
use systole_workflow::spec::TaskRule;

use super::goals::describe_finding;
use super::{AnswerAction, ReadAnswer};
use crate::contracts::AgentContracts;
use crate::failures::AgentFailure;
use crate::goal::AskedGoal;
use crate::primitives::{SPAWN, TASK};
use crate::spec::AgentSpec;

/// The schema of a task. It is part of the program, and its tests read it.
static SCHEMA: LazyLock<Option<SchemaModel>> = LazyLock::new(|| SchemaModel::from_xsd(WORKFLOW_XSD).ok());

/// Turns tasks into child threads. `given` tasks were given before.
pub(super) fn settle_tasks(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    given: u32,
    taken: &mut ReadAnswer,
) {
    let mut given = given;
    let mut places = Vec::new();
    for (at, mut act) in std::mem::take(&mut taken.acts).into_iter().enumerate() {
        let settled = match find_task(contracts, &act) {
            Some((goal, tasks)) => build_thread(goal, tasks, &act, given).map(|payload| {
                given += 1;
                act = AnswerAction {
                    payload,
                    to: None,
                    thread: None,
                    origin: None,
                    is_task: true,
                    ..act.clone()
                };
            }),
            None => address_act(agent, contracts, &mut act),
        };
        match settled {
            Ok(()) => {
                places.push(at);
                taken.acts.push(act);
            }
            Err(reason) => {
                let failed = act.call.zip(reason.clone());
                taken.failed_calls.extend(failed);
                taken.reasons.extend(reason);
            }
        }
    }
    // A fix belongs to its action.
    taken.repairs.retain_mut(|repair| match repair.act {
        None => true,
        Some(old) => {
            repair.act = places.iter().position(|place| *place == old);
            repair.act.is_some()
        }
    });
}

/// The goal, if the action is a task for it.
fn find_task<'c>(contracts: &'c AgentContracts, act: &AnswerAction) -> Option<(&'c AskedGoal, &'c TaskRule)> {
    let goal = contracts.goal.as_ref()?;
    let tasks = goal.tasks.as_ref()?;
    act.payload.name().is_named(namespaces::WORKFLOW, TASK).then_some((goal, tasks))
}

/// The child thread of a task.
fn build_thread(
    goal: &AskedGoal,
    tasks: &TaskRule,
    act: &AnswerAction,
    given: u32,
) -> Result<Payload, Option<AgentFailure>> {
    let invalid = |words: String| AgentFailure::from_slug("tool-payload-invalid", words);
    let finding = SCHEMA.as_ref().and_then(|model| model.explain_payload(act.payload.bytes()));
    if let Some(finding) = finding {
        return Err(invalid(describe_finding(&finding, act.origin.as_ref())));
    }
    if given >= tasks.at_most {
        let words = format!(
            "The goal {} has no tasks left: {given} of {} were given. Do the rest yourself, and end with your final.",
            goal.id, tasks.at_most
        );
        let reason = AgentFailure::from_slug("too-many-tasks", words);
        return Err(reason.map(|reason| AgentFailure { about: Some(act.name.clone()), ..reason }));
    }
    let (role, text) = (act.payload.find_attribute("role").unwrap_or_default(), act.payload.text());
    let request = GoalRequest {
        workflow: &goal.workflow,
        gives: None,
        form: goal.form,
        converges: false,
        context: Vec::new(),
        assignment: Task { role: role.trim(), parent_goal: &goal.id, words: text.trim() }.into(),
        correction: None,
        tasks: None,
    };
    let request = request.to_payload().map_err(|fault| invalid(fault.to_string()))?;
    let mut writer = XmlWriter::new();
    let label = format!("task-{}", given + 1);
    let start = writer.open(SPAWN).xmlns(namespaces::CORE).attr("suggested_sub_id", &label);
    start.content(|inside| inside.open("initial-payload").attr("to", &tasks.by).write_payload(&request));
    Payload::parse(&writer.finish(), &DocumentLimits::default()).map_err(|fault| invalid(fault.to_string()))
}

/// Sends an action to the peer that the file names for it. The agents that take tasks may take the element as well,
/// and the core would let it through to them.
fn address_act(
    agent: &AgentSpec,
    contracts: &AgentContracts,
    act: &mut AnswerAction,
) -> Result<(), Option<AgentFailure>> {
    if agent.task_takers.is_empty() {
        return Ok(());
    }
    let action =
        |payload: &Payload| contracts.actions.iter().find(|action| action.known.element == *payload.name());
    if !act.payload.name().is_named(namespaces::CORE, SPAWN) {
        if let (None, Some([taker])) = (&act.to, action(&act.payload).map(|action| action.takers.as_slice()))
        {
            act.to = Some(taker.clone());
        }
        return Ok(());
    }
    let Ok(initial) = act.payload.parse_child() else { return Ok(()) };
    let to = initial.find_attribute("to");
    let Ok(payload) = initial.parse_child() else { return Ok(()) };
    let is_taker = |takers: &[String]| to.as_ref().is_none_or(|to| takers.contains(to));
    if action(&payload).is_some_and(|action| is_taker(&action.takers)) {
        return Ok(());
    }
    let local = &payload.name().local;
    let whom = to.map(|to| format!(" at {to}")).unwrap_or_default();
    let reason =
        AgentFailure::from_slug("unknown-action", format!("No thread of yours begins with <{local}>{whom}."));
    Err(reason.map(|reason| AgentFailure { about: Some(local.to_string()), ..reason }))
}
