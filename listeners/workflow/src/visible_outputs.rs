//! The part of the known outputs that a goal sees: everything before it, or what its `sees` names.

use systole_kit::Payload;

use crate::field_words::fill_words;
use crate::goal_request::{
    Correction, CurrentGoal, EarlierOutput, GoalRequest, ShownOutput, Task, show_text,
};
use crate::items;
use crate::known::{KnownEntry, KnownOutputs, KnownPart, REQUEST, StepFailure, StepOutput};
use crate::spec::{ElementName, Goal, Path, Step, TaskRule, Workflow, find_step};
use crate::tree::{PathValue, TreeNode};

/// The special parts of a request for a goal. Supervision makes four kinds of requests about a goal.
#[derive(Default)]
pub(crate) struct GoalParts<'a> {
    /// Other work than the goal itself: words before those of the goal, and the requested payload.
    pub(crate) instead: Option<(&'a str, ElementName)>,
    /// Outputs shown after everything that the goal sees.
    pub(crate) more: &'a [KnownEntry],
    pub(crate) correction: Option<Correction<'a>>,
    /// The task that is pursued in place of a goal: its role, and the goal that it belongs to.
    pub(crate) task: Option<(&'a str, &'a str)>,
}

impl GoalParts<'_> {
    /// Whether a goal of the workflow itself is asked for.
    const fn is_whole_goal(&self) -> bool {
        self.instead.is_none() && self.task.is_none()
    }
}

/// The request to an agent that works on a goal.
pub(crate) fn build_goal_request(
    workflow: &Workflow,
    step: &Step,
    goal: &Goal,
    known: &KnownOutputs,
    asked: GoalParts<'_>,
) -> Result<Payload, StepFailure> {
    let around = known.within.last();
    let mut context = list_visible_parts(&workflow.steps, known, goal);
    context.extend(asked.more.iter().map(|entry| EarlierOutput::Goal(show_whole(entry))));
    let own_words = if asked.task.is_some() { goal.words.clone() } else { fill_goal(workflow, goal, known) };
    let words = match &asked.instead {
        Some((before, _)) => format!("{before}\n\n{own_words}"),
        None => own_words,
    };
    let assignment = match asked.task {
        Some((role, parent_goal)) => Task { role, parent_goal, words: &words }.into(),
        None => CurrentGoal {
            id: &step.id,
            words: &words,
            loop_name: around.map(|(name, _)| name.as_str()),
            iteration: around.map(|(_, pass)| *pass),
        }
        .into(),
    };
    // The workflow itself takes supervised tasks.
    let taker = |rule: &TaskRule| if rule.supervise.is_some() { &workflow.name } else { &rule.by }.clone();
    let tasks = goal.tasks.as_ref().map(|rule| TaskRule { by: taker(rule), ..rule.clone() });
    let request = GoalRequest {
        workflow: &workflow.name,
        gives: asked.instead.as_ref().map(|(_, gives)| gives).or(goal.gives.as_ref()),
        form: workflow.form,
        converges: asked.is_whole_goal() && items::can_end_loop(&workflow.steps, &step.id),
        context,
        assignment,
        correction: asked.correction,
        // Only an agent that works on the goal itself gives tasks.
        tasks: tasks.as_ref().filter(|_| asked.instead.is_none()),
    };
    request.to_payload().map_err(|_| report_too_large(&step.id, &request.context))
}

/// The words of a goal, with the values of the request's fields. One that is absent is empty.
fn fill_goal(workflow: &Workflow, goal: &Goal, known: &KnownOutputs) -> String {
    if workflow.form < 2 {
        return goal.words.clone();
    }
    let path = |field: &str| Path { goal: REQUEST.to_owned(), agent: None, fields: vec![field.to_owned()] };
    fill_words(&goal.words, |field| known.find_texts(&path(field)).join("\n"))
}

fn report_too_large(id: &str, context: &[EarlierOutput]) -> StepFailure {
    let goals = context.iter().flat_map(|part| match part {
        EarlierOutput::Goal(goal) => std::slice::from_ref(goal),
        EarlierOutput::Iteration { goals, .. } => goals,
    });
    let mut sizes: Vec<(usize, &str)> = goals.map(|goal| (goal.text.len(), goal.id.as_str())).collect();
    sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let total: usize = sizes.iter().map(|(bytes, _)| bytes).sum();
    let largest: Vec<String> =
        sizes.iter().take(3).map(|(bytes, id)| format!("{id} ({} KiB)", bytes.div_ceil(1024))).collect();
    let words = format!(
        "{id}: what it sees has {} KiB, and a message has 1 MiB at most; the largest: {}; limit it with `sees`",
        total.div_ceil(1024),
        largest.join(", ")
    );
    StepFailure::new("workflow.context-too-large", words)
}

/// The context of a goal.
pub(crate) fn list_visible_parts(steps: &[Step], known: &KnownOutputs, goal: &Goal) -> Vec<EarlierOutput> {
    let mut lines = Vec::new();
    for part in &known.parts {
        match part {
            KnownPart::Entry(entry) => {
                lines.extend(show_entry(steps, entry, goal).into_iter().map(EarlierOutput::Goal))
            }
            KnownPart::Pass { n, entries } => {
                let goals: Vec<ShownOutput> =
                    entries.iter().flat_map(|entry| show_entry(steps, entry, goal)).collect();
                if !goals.is_empty() {
                    lines.push(EarlierOutput::Iteration { n: *n, goals });
                }
            }
        }
    }
    lines
}

/// An output as it is shown: whole, or by each path that names it.
fn show_entry(steps: &[Step], entry: &KnownEntry, goal: &Goal) -> Vec<ShownOutput> {
    let names_request =
        || goal.sees.as_ref().is_some_and(|sees| sees.iter().any(|path| path.goal == REQUEST));
    if entry.id == REQUEST && goal.hides_request && !names_request() {
        return Vec::new();
    }
    let Some(sees) = &goal.sees else { return vec![show_whole(entry)] };
    if entry.id == REQUEST && !sees.is_empty() && !names_request() {
        return vec![show_whole(entry)];
    }
    let is_of = |path: &&Path| {
        let is_agent = path.agent.is_none() || path.agent == entry.agent;
        let group =
            || find_step(steps, &path.goal).filter(|step| find_step(step.inner_steps(), &entry.id).is_some());
        entry.id == path.goal && is_agent || group().is_some()
    };
    let wanted: Vec<&Path> = sees.iter().filter(is_of).collect();
    if wanted.iter().any(|path| path.fields.is_empty()) {
        return vec![show_whole(entry)];
    }
    wanted.into_iter().filter_map(|path| show_part(entry, path)).collect()
}

fn show_whole(entry: &KnownEntry) -> ShownOutput {
    let id = entry.label();
    match &entry.output {
        StepOutput::Failed(StepFailure { code, words, .. }) => {
            let text = if words.is_empty() { code.clone() } else { format!("{code}: {words}") };
            ShownOutput { id, outcome: Some("failed".to_owned()), text }
        }
        StepOutput::Payload(payload) => {
            let outcome = entry.is_unfinished.then(|| "not-converged".to_owned());
            ShownOutput { id, outcome, text: read_text(entry, payload) }
        }
    }
}

/// The text of a payload. If the payload is only a list narrowed to an item, the text of the item.
fn read_text(entry: &KnownEntry, payload: &Payload) -> String {
    let item = entry
        .narrowed
        .as_ref()
        .and_then(|fields| TreeNode::from_payload(payload)?.find_only(fields)?.to_payload());
    show_text(item.as_ref().unwrap_or(payload))
}

fn show_part(entry: &KnownEntry, path: &Path) -> Option<ShownOutput> {
    let node = TreeNode::from_payload(entry.payload()?)?;
    let values = node.find_values(&path.fields);
    let texts: Vec<String> = values.iter().map(read_value_text).collect();
    let id = format!("{}/{}", entry.label(), path.fields.join("/"));
    (!texts.is_empty()).then(|| ShownOutput { id, outcome: None, text: texts.join("\n") })
}

fn read_value_text(value: &PathValue<'_>) -> String {
    match value {
        PathValue::Element(node) => {
            node.to_payload().map_or_else(|| node.text(), |payload| show_text(&payload))
        }
        PathValue::Attribute(text) => (*text).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use systole_kit::DocumentLimits;

    use super::*;

    fn ids(sees: Option<&[&str]>, hides_request: bool) -> Vec<String> {
        let payload = |text: &str| Payload::parse(text.as_bytes(), &DocumentLimits::default()).unwrap();
        let mut known =
            KnownOutputs::from_request(payload("<ask xmlns='urn:t'><what>A</what><why>B</why></ask>"));
        for id in ["plan", "draft"] {
            known.push_entry(KnownEntry::new(id, StepOutput::Payload(payload("<p xmlns='urn:t'/>"))));
        }
        let path = |written: &&str| {
            let mut parts = written.split('/').map(str::to_owned);
            Path { goal: parts.next().unwrap(), agent: None, fields: parts.collect() }
        };
        let sees: Option<Vec<Path>> = sees.map(|sees| sees.iter().map(path).collect());
        let goal =
            Goal { words: String::new(), by: Vec::new(), gives: None, sees, hides_request, tasks: None };
        let lines = list_visible_parts(&[], &known, &goal).into_iter();
        let goals = lines.map(|line| match line {
            EarlierOutput::Goal(goal) => goal.id,
            EarlierOutput::Iteration { n, .. } => panic!("there is no pass {n}"),
        });
        goals.collect()
    }

    #[test]
    fn sees_limits_the_goals_and_only_an_empty_one_hides_the_request() {
        let ids = |sees: Option<&[&str]>| super::tests::ids(sees, false);
        assert_eq!(ids(None), ["request", "plan", "draft"]);
        assert_eq!(ids(Some(&["draft"])), ["request", "draft"]);
        assert_eq!(ids(Some(&["request", "plan"])), ["request", "plan"]);
        assert_eq!(ids(Some(&["request/what", "plan"])), ["request/what", "plan"]);
        assert!(ids(Some(&[])).is_empty());
    }

    #[test]
    fn f1_a_hidden_request_is_shown_only_to_a_goal_that_names_it() {
        let ids = |sees: Option<&[&str]>| super::tests::ids(sees, true);
        assert_eq!(ids(None), ["plan", "draft"]);
        assert_eq!(ids(Some(&["draft"])), ["draft"]);
        assert_eq!(ids(Some(&["request/what", "plan"])), ["request/what", "plan"]);
        assert!(ids(Some(&[])).is_empty());
    }

    #[test]
    fn f1_the_words_of_a_goal_have_the_values_of_the_fields_that_they_name() {
        let payload = |text: &str| Payload::parse(text.as_bytes(), &DocumentLimits::default()).unwrap();
        let request = "<job xmlns='urn:t' kind='short'><topic>A &lt; B &amp; $kind</topic></job>";
        let known = KnownOutputs::from_request(payload(request));
        let returns = ElementName { namespace: "urn:t".into(), local: "x".into() };
        let words = "A $kind text on $topic, $$5 [$more].".to_owned();
        let goal = Goal { words, by: vec![], gives: None, sees: None, hides_request: true, tasks: None };
        let step = Step::new("write", crate::spec::StepAction::Do(goal.clone()));
        let text = |form: u32| {
            let (name, returns, steps) = ("w".to_owned(), returns.clone(), vec![step.clone()]);
            let workflow = Workflow { name, returns, returns_text: true, steps, description: None, form };
            let made = build_goal_request(&workflow, &step, &goal, &known, GoalParts::default()).unwrap();
            String::from_utf8(made.bytes().to_vec()).unwrap()
        };
        let filled = "<workflow name=\"w\">\n\n<current-goal id=\"write\">\nA short text on A &lt; B &amp; $kind, $5 [].\n</current-goal>\n\n</workflow>";
        assert!(text(2).contains(filled), "{}", text(2));
        assert!(text(1).contains("A $kind text on $topic, $$5 [$more]."), "{}", text(1));
    }
}
