//! A task of a goal's agent under supervision. The agent sends it to its workflow, which runs it as a goal of the agent that
//! takes tasks, and answers with the output.
//!
//! A request for a task comes in; a turn of its call goes out. The task sees nothing of the run.

use systole_kit::gate::{GateStep, XmlGate};
use systole_kit::{DocumentLimits, Payload, namespaces};

use super::supervised_goal::PursuedGoal;
use super::{StartedUnit, WalkFlow, WalkTurn, WorkflowWalk};
use crate::facts::RunFacts;
use crate::goal_request::{read_back, show_text};
use crate::known::{KnownOutputs, StepFailure, StepOutput};
use crate::spec::{Goal, Step, StepAction, Supervisor, TaskRule, Workflow, find_step};

/// The key of a task in its call. A call has only one.
const KEY: &str = "task";

/// A task that was given.
struct GivenTask {
    role: String,
    parent_goal: String,
    words: String,
}

/// Whether a request to a workflow gives a task. Other requests for goals go to agents.
pub(crate) fn is_task(request: &Payload) -> bool {
    request.name().is_named(namespaces::WORKFLOW, "goal-request")
}

/// Walks through a task.
pub(crate) fn walk_task(
    workflow: &Workflow,
    (request, asked_by): (&Payload, &str),
    facts: &RunFacts,
    turn: u32,
) -> WalkTurn {
    let Some(task) = read_task(request) else {
        let words = "the request holds no task";
        return WalkTurn::Failed(StepFailure::new("workflow.unknown-step", words));
    };
    let Some((around, rule, supervisor)) = find_rule(workflow, &task.parent_goal, asked_by) else {
        let words = format!(
            "{asked_by} gave a task of `{}`, and is no agent of a goal of {} that gives supervised tasks",
            task.parent_goal, workflow.name
        );
        return WalkTurn::Failed(StepFailure::new("workflow.foreign-branch", words));
    };
    let goal = Goal {
        words: task.words.clone(),
        by: vec![rule.by.clone()],
        gives: None,
        sees: None,
        hides_request: false,
        tasks: None,
    };
    let step = Step { budget: around.budget.clone(), ..Step::new(&task.role, StepAction::Do(goal.clone())) };
    let known = KnownOutputs::default();
    let mut walk = WorkflowWalk::new(workflow, facts, turn);
    let pursued = PursuedGoal {
        step: &step,
        goal: &goal,
        agent: &rule.by,
        known: &known,
        key: KEY,
        label: &task.role,
        task: Some((&task.role, &task.parent_goal)),
    };
    let (flow, output) = match walk.supervise(supervisor, &pursued) {
        StartedUnit::Over(StepOutput::Payload(output)) => (WalkFlow::Done, Some(output)),
        StartedUnit::Over(StepOutput::Failed(failure)) => (WalkFlow::Failed(failure), None),
        StartedUnit::Waits => (WalkFlow::Waits, None),
    };
    walk.end_walk(flow, |_| {
        let output = output.ok_or_else(|| StepFailure::new("workflow.no-final", "the task gave nothing"))?;
        Ok(Payload::write(namespaces::WORKFLOW, "goal-output", |inside| {
            inside.text(show_output(&output).trim())
        }))
    })
}

/// The words of an output, which may be a report of the model.
fn show_output(output: &Payload) -> String {
    match output.name().is_named(namespaces::CORE, "final-report") {
        true => output.text(),
        false => show_text(output),
    }
}

/// The goal to which a task belongs, if this agent pursues it and its tasks are supervised.
fn find_rule<'w>(
    workflow: &'w Workflow,
    goal: &str,
    agent: &str,
) -> Option<(&'w Step, &'w TaskRule, &'w Supervisor)> {
    let step = find_step(&workflow.steps, goal)?;
    let StepAction::Do(goal) = &step.work else { return None };
    let rule = goal.tasks.as_ref().filter(|_| goal.by.iter().any(|by| by == agent))?;
    Some((step, rule, rule.supervise.as_ref()?))
}

fn read_task(request: &Payload) -> Option<GivenTask> {
    let mut gate = XmlGate::new_strict(request.bytes(), &DocumentLimits::FROM_PUMP).ok()?;
    let mut task: Option<GivenTask> = None;
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) if tag.local == "task" => {
                let value = |name: &str| gate.find_attribute(name).map(std::borrow::Cow::into_owned);
                let (role, parent_goal) = (value("role")?, value("parent-goal")?);
                task = Some(GivenTask { role, parent_goal, words: String::new() });
            }
            GateStep::Text(text) => {
                if let Some(task) = &mut task {
                    text.append_to(&mut task.words);
                }
            }
            GateStep::Close if task.is_some() => break,
            GateStep::Done => return None,
            GateStep::Open(_) | GateStep::Close | GateStep::Instruction => {}
        }
    }
    let mut task = task?;
    task.words = read_back(&task.words).to_owned();
    Some(task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::{NotedStart, TurnNote};
    use crate::spec::{ElementName, FORM};

    fn read(xml: &str) -> Payload {
        Payload::parse(xml.as_bytes(), &DocumentLimits::default()).unwrap()
    }

    /// A workflow whose goal `report` of the agent `lead` gives tasks to `scholar`, which `auditor` supervises.
    fn workflow(supervise: Option<Supervisor>) -> Workflow {
        let tasks = Some(TaskRule { by: "scholar".into(), at_most: 2, supervise });
        let (words, by) = ("Write it.".to_owned(), vec!["lead".to_owned()]);
        let goal = Goal { words, by, gives: None, sees: None, hides_request: false, tasks };
        let steps = vec![Step::new("report", StepAction::Do(goal))];
        let returns = ElementName { namespace: "urn:x".into(), local: "x".into() };
        Workflow { name: "guide".into(), returns, returns_text: true, steps, description: None, form: FORM }
    }

    fn request() -> Payload {
        let task = "<task role='historian' parent-goal='report'>\nWhen was $it built?\n</task>";
        read(&format!("<goal-request xmlns='{}'>\n{task}\n</goal-request>", namespaces::WORKFLOW))
    }

    fn turn(facts: &RunFacts, by: &str) -> WalkTurn {
        walk_task(&workflow(Some(Supervisor::Agent("auditor".into()))), (&request(), by), facts, 2)
    }

    /// The next request of the task: its key, and its text.
    fn next(facts: &RunFacts) -> (String, String) {
        let WalkTurn::Items(note, items) = turn(facts, "lead") else { panic!("it has ended") };
        let [start] = note.starts.as_slice() else { panic!("{note:?}") };
        (start.key.clone(), String::from_utf8(items[0].bytes().to_vec()).unwrap())
    }

    /// Something was started under that key and answered with this.
    fn answer(facts: &mut RunFacts, key: &str, answer: &str) {
        let start = NotedStart { ordinal: 1, key: key.to_owned(), number: 1 };
        facts.take_note(&TurnNote { starts: vec![start], ..TurnNote::default() });
        let core = namespaces::CORE;
        facts.take_answer(1, &read(&format!("<thread-spawned xmlns='{core}' assigned_id='{key}'/>")));
        let (name, rest) = answer.split_once(' ').unwrap();
        let inside = format!("<{name} xmlns='{}' {rest}", namespaces::WORKFLOW);
        facts.take_arrival(&read(&format!(
            "<thread-finished xmlns='{core}' id='{key}' outcome='answered'>{inside}</thread-finished>"
        )));
    }

    const TASK: &str = "<task role=\"historian\" parent-goal=\"report\">\n";

    #[test]
    fn f3_a_supervised_task_goes_the_way_of_a_goal_and_is_corrected() {
        let mut facts = RunFacts::default();
        let (key, asked) = next(&facts);
        assert_eq!(key, "commit:task");
        assert!(asked.contains("to=\"scholar\"") && asked.contains("}commit\" form=\"2\""), "{asked}");
        assert!(asked.contains(&format!("{TASK}Do not pursue this goal yet.")), "{asked}");
        assert!(
            asked.contains("\n\nWhen was $it built?\n</task>") && !asked.contains("<workflow"),
            "{asked}"
        );
        answer(&mut facts, &key, "commit goal='historian'><scope>All.</scope></commit>");
        let (key, asked) = next(&facts);
        assert_eq!(key, "task");
        assert!(
            asked.contains(&format!("{TASK}When was $it built?\n</task>")) && !asked.contains("gives="),
            "{asked}"
        );
        assert!(asked.contains("<goal id=\"commit:historian\">"), "{asked}");
        answer(&mut facts, &key, "goal-output id='historian'>Long ago.</goal-output>");
        let (key, _) = next(&facts);
        assert_eq!(key, "assess:task");
        answer(&mut facts, &key, "assessment goal='historian' met='partly' scope-left='true'/>");
        let (key, asked) = next(&facts);
        assert_eq!(key, "verdict:task");
        assert!(asked.contains("to=\"auditor\"") && asked.contains("commitment-not-met"), "{asked}");
        answer(&mut facts, &key, "verdict goal='historian' value='reorient'>Say the year.</verdict>");
        let (key, asked) = next(&facts);
        assert_eq!(key, "task:2");
        let correction =
            "</task>\n\n<correction source=\"supervisor\">\nSay the year.\n</correction>\n</goal-request>";
        assert!(asked.contains(correction), "{asked}");
        answer(&mut facts, &key, "goal-output id='historian'>In 1889.</goal-output>");
        let (key, _) = next(&facts);
        assert_eq!(key, "assess:task:2");
        answer(&mut facts, &key, "assessment goal='historian' met='yes' scope-left='false'/>");
        let WalkTurn::Final(_, output) = turn(&facts, "lead") else { panic!("it goes on") };
        assert_eq!((&*output.name().local, &*output.text()), ("goal-output", "In 1889."));
    }

    #[test]
    fn f3_a_task_of_no_such_goal_or_agent_or_without_a_supervisor_is_refused() {
        let failed = |turn: WalkTurn| match turn {
            WalkTurn::Failed(failure) => failure.code,
            _ => panic!("it goes on"),
        };
        let facts = RunFacts::default();
        assert_eq!(failed(turn(&facts, "operator")), "workflow.foreign-branch");
        let alone = walk_task(&workflow(None), (&request(), "lead"), &facts, 2);
        assert_eq!(failed(alone), "workflow.foreign-branch");
        let empty = read(&format!("<goal-request xmlns='{}'/>", namespaces::WORKFLOW));
        let none = walk_task(&workflow(Some(Supervisor::Person)), (&empty, "lead"), &facts, 2);
        assert_eq!(failed(none), "workflow.unknown-step");
    }

    #[test]
    fn f3_the_agent_of_a_goal_with_supervised_tasks_gives_them_to_the_workflow() {
        let run = workflow(Some(Supervisor::Person));
        let ask = read("<ask xmlns='urn:t'>Go.</ask>");
        let WalkTurn::Items(_, items) = super::super::walk_workflow(&run, &ask, &RunFacts::default(), 1)
        else {
            panic!("it has ended")
        };
        let asked = String::from_utf8(items[0].bytes().to_vec()).unwrap();
        assert!(asked.contains("form=\"2\" tasks=\"2\" tasks-by=\"guide\""), "{asked}");
    }
}
