//! Assembles the organism's file: models, payloads, agents and the workflow, laid out for people.
//!
//! Input: an Agentfile and its steps. Output: text. This module decides only names and layout.

use systole_workflow::escape_fields;

use super::ConversionNote;
use super::declarations::Declared;
use super::labels::Labels;
use super::statements::{Keyword, Statement, Supervision};
use super::steps::{Goal, Payload, Planned, Step, TAKEN};
use super::yaml_text::{Entry, Node, write_entries};
use crate::limits;

const MODEL: &str = "main";
const WORKER: &str = "You do one step of a larger task, and do it carefully.";
const SUPERVISOR: &str = "You judge whether a step did what it set out to do.";

/// The text of the organism's file.
pub(super) fn organism(
    declared: &Declared,
    planned: &Planned,
    names: &Names<'_>,
    notes: &[ConversionNote],
    model: &str,
) -> String {
    let mut sections = Vec::new();
    let name = Entry::new("name", text(&planned.workflow));
    sections.push(Entry { comments: header(notes), ..Entry::new("organism", Node::Map(vec![name])) });
    let mut models = vec![Entry::new(MODEL, Node::Plain(model.to_owned()))];
    models.extend(names.models.iter().map(|(_, name)| Entry::new(name, Node::Plain(model.to_owned()))));
    sections.push(Entry::new("models", Node::Section(models)));
    let payloads = payloads(declared, planned);
    if !payloads.is_empty() {
        let comments =
            vec!["Every field is text. For a number or a list, write its type: score: int 0..10".to_owned()];
        sections.push(Entry { comments, ..Entry::new("payloads", Node::Section(payloads)) });
    }
    sections.push(Entry::new("agents", Node::Section(agents(declared, planned, names))));
    let workflow = Entry::new(&planned.workflow, workflow(declared, planned, names));
    let workflow = Entry { comments: declared.comments.clone(), ..workflow };
    sections.push(Entry::new("workflows", Node::Section(vec![workflow])));
    let path = Entry::new("path", text(&format!("./{}.db", planned.workflow)));
    sections.push(Entry::new("log", Node::Map(vec![path])));
    write_entries(&sections)
}

/// The lines at the top: the source of the file, and what is missing.
fn header(notes: &[ConversionNote]) -> Vec<String> {
    let mut lines = vec!["Converted from an Agentfile with `systole workflow from`.".to_owned()];
    if !notes.is_empty() {
        lines.push("Lines that were left out or changed, or need tools:".to_owned());
    }
    let note = |note: &ConversionNote| format!("  line {}, {}: {}", note.line, note.written, note.why);
    lines.extend(notes.iter().map(note));
    lines
}

/// The names that agents and models get.
pub(super) struct Names<'d> {
    /// Agents that are used, with their names.
    agents: Vec<(&'d Statement, String)>,
    /// The agent for goals that name none.
    worker: Option<String>,
    supervisor: Option<String>,
    /// Profiles that agents ask for, each with the name of its model.
    models: Vec<(String, String)>,
    /// The agent that the workflow names for all its goals.
    usual: Option<String>,
    /// Who supervises all goals.
    supervision: Option<Supervision>,
}

impl<'d> Names<'d> {
    pub(super) fn of(declared: &'d Declared, planned: &Planned) -> Names<'d> {
        let mut goals = Vec::new();
        planned.steps.iter().for_each(|step| collect(step, &mut goals));
        let is_used = |agent: &&Statement| goals.iter().any(|goal| goal.by.contains(&agent.name));
        let mut labels =
            Labels::new(limits::LABEL_BYTES, TAKEN.into_iter().chain([planned.workflow.as_str()]));
        let agents: Vec<(&Statement, String)> =
            declared.agents.iter().filter(is_used).map(|agent| (agent, labels.pick(&agent.name))).collect();
        let worker = goals.iter().any(|goal| goal.by.is_empty()).then(|| labels.pick("worker"));
        let effective = |goal: &Goal| goal.supervision.or(declared.supervision);
        let is_same = goals.iter().all(|goal| effective(goal) == declared.supervision);
        let is_judged = goals.iter().any(|goal| effective(goal) == Some(Supervision::Agent));
        let supervisor = is_judged.then(|| labels.pick("supervisor"));
        let mut models = Labels::new(limits::LABEL_BYTES, [MODEL]);
        let mut profiles: Vec<(String, String)> = Vec::new();
        for profile in agents.iter().filter_map(|(agent, _)| agent.requires.as_ref()) {
            if !profiles.iter().any(|(known, _)| known == profile) {
                profiles.push((profile.clone(), models.pick(profile)));
            }
        }
        let only = match agents.as_slice() {
            [(_, only)] => Some(only.clone()),
            _ => None,
        };
        let usual = worker.clone().or(only);
        let supervision = declared.supervision.filter(|_| is_same);
        Names { agents, worker, supervisor, models: profiles, usual, supervision }
    }

    /// The agents that have the words of a statement: the agent itself, or those that pursue the goal.
    pub(super) fn of_statement(&self, statement: &Statement) -> Vec<String> {
        let is_agent = statement.keyword == Keyword::Agent;
        if !is_agent && statement.using.is_empty() {
            return self.worker.clone().into_iter().collect();
        }
        let is_it = |agent: &Statement| {
            if is_agent { agent.name == statement.name } else { statement.using.contains(&agent.name) }
        };
        self.agents.iter().filter(|(agent, _)| is_it(agent)).map(|(_, name)| name.clone()).collect()
    }

    fn agent(&self, name: &str) -> String {
        let found = self.agents.iter().find(|(agent, _)| agent.name == name);
        found.map(|(_, name)| name.clone()).unwrap_or_default()
    }

    fn supervisor(&self, supervision: Option<Supervision>) -> Option<Node> {
        match supervision? {
            Supervision::Off => None,
            Supervision::Person => Some(text("person")),
            Supervision::Agent => self.supervisor.as_deref().map(text),
        }
    }
}

/// Collects every goal in a step.
fn collect<'s>(step: &'s Step, goals: &mut Vec<&'s Goal>) {
    match step {
        Step::Goal(goal) => goals.push(goal),
        Step::Parallel { goals: inside, .. } => goals.extend(inside),
        Step::Repeat { steps, .. } => steps.iter().for_each(|step| collect(step, goals)),
    }
}

fn payloads(declared: &Declared, planned: &Planned) -> Vec<Entry> {
    let mut made = Vec::new();
    if let Some(request) = &planned.request {
        let inputs = declared.inputs.iter().filter(|input| !planned.limits.contains(&input.name));
        made.push(Entry::new(request, Node::Map(inputs.map(input).collect())));
    }
    made.extend(planned.payloads.iter().map(|payload| Entry::new(&payload.name, fields(payload))));
    made
}

fn input(input: &Statement) -> Entry {
    let Some(default) = &input.default else { return Entry::new(&input.name, text("text")) };
    let name = format!("{}?", input.name);
    let is_short = !default.contains(['\n', '\t']) && default.trim() == default;
    let has_signs = default.split(' ').any(|word| matches!(word, "=" | "--" | "~"));
    let kind = match default.as_str() {
        "" => "text 0..".to_owned(),
        default if is_short && !has_signs => format!("text = {default}"),
        _ => "text".to_owned(),
    };
    Entry::new(&name, Node::Text(kind))
}

fn fields(payload: &Payload) -> Node {
    let mut entries = Vec::new();
    for field in &payload.fields {
        let kind = if payload.converges && field == CONVERGED { "bool" } else { "text" };
        entries.push(Entry::new(field, text(kind)));
    }
    if payload.converges && !payload.fields.iter().any(|field| field == CONVERGED) {
        entries.push(Entry::new("converged?", text("bool")));
    }
    Node::Map(entries)
}

/// The field with which a goal says that nothing is left to change.
const CONVERGED: &str = "converged";

fn agents(declared: &Declared, planned: &Planned, names: &Names<'_>) -> Vec<Entry> {
    let entry = |name: &str, model: &str, words: &str, comments: &[String]| {
        let prompt = Node::Map(vec![Entry::new("identity", text(words))]);
        let value = Node::Map(vec![Entry::new("model", text(model)), Entry::new("prompt", prompt)]);
        Entry { comments: comments.to_vec(), ..Entry::new(name, value) }
    };
    let mut made = Vec::new();
    for agent in &declared.agents {
        let Some((_, name)) = names.agents.iter().find(|(one, _)| one.name == agent.name) else { continue };
        let profile = agent.requires.as_ref();
        let model =
            names.models.iter().find(|(known, _)| Some(known) == profile).map_or(MODEL, |(_, model)| model);
        let usual = format!("You are {name}.");
        let words = planned.prompts.get(&agent.name).unwrap_or(&usual);
        made.push(entry(name, model, words, &agent.comments));
    }
    made.extend(names.worker.iter().map(|name| entry(name, MODEL, WORKER, &[])));
    made.extend(names.supervisor.iter().map(|name| entry(name, MODEL, SUPERVISOR, &[])));
    made
}

fn workflow(declared: &Declared, planned: &Planned, names: &Names<'_>) -> Node {
    let accepts = planned.request.as_deref().unwrap_or("ask");
    let returns = planned.steps.last().and_then(last_goal).and_then(|goal| goal.gives);
    let returns = returns.and_then(|at| planned.payloads.get(at)).map_or("answer", |payload| &payload.name);
    let list = |name: &str| Node::List(vec![text(name)]);
    let mut entries = vec![Entry::new("accepts", list(accepts)), Entry::new("returns", list(returns))];
    entries.extend(names.usual.as_deref().map(|usual| Entry::new("by", text(usual))));
    entries.extend(names.supervisor(names.supervision).map(|who| Entry::new("supervise", who)));
    let steps = planned.steps.iter().map(|one| step(declared, planned, names, one)).collect();
    entries.push(Entry::new("goals", Node::Steps(steps)));
    Node::Section(entries)
}

fn last_goal(step: &Step) -> Option<&Goal> {
    match step {
        Step::Goal(goal) => Some(goal),
        Step::Repeat { steps, .. } => steps.last().and_then(last_goal),
        Step::Parallel { .. } => None,
    }
}

fn step(declared: &Declared, planned: &Planned, names: &Names<'_>, one: &Step) -> Entry {
    let inside = |steps: &[Step]| steps.iter().map(|one| step(declared, planned, names, one)).collect();
    match one {
        Step::Goal(goal) => self::goal(declared, planned, names, goal),
        Step::Parallel { id, comments, goals } => {
            let goals = goals.iter().map(|goal| self::goal(declared, planned, names, goal)).collect();
            let value = Node::Section(vec![Entry::new("parallel", Node::Steps(goals))]);
            Entry { comments: comments.clone(), ..Entry::new(id, value) }
        }
        Step::Repeat { id, at_most, steps, comments } => {
            let until = Entry::new("until", text("converged"));
            let at_most = Entry::new("at_most", Node::Plain(at_most.to_string()));
            let repeat = Entry::new("repeat", Node::Map(vec![until, at_most]));
            let value = Node::Section(vec![repeat, Entry::new("goals", Node::Steps(inside(steps)))]);
            Entry { comments: comments.clone(), ..Entry::new(id, value) }
        }
    }
}

fn goal(declared: &Declared, planned: &Planned, names: &Names<'_>, goal: &Goal) -> Entry {
    let mut entries = vec![Entry::new("do", text(&escape_fields(&goal.words)))];
    let by: Vec<String> = goal.by.iter().map(|name| names.agent(name)).collect();
    match by.as_slice() {
        [] => {}
        [only] if names.usual.as_ref() == Some(only) => {}
        [only] => entries.push(Entry::new("by", text(only))),
        several => {
            let several = several.iter().map(|name| text(name)).collect();
            entries.push(Entry::new("by", Node::List(several)));
        }
    }
    let gives = goal.gives.and_then(|at| planned.payloads.get(at));
    entries.extend(gives.map(|payload| Entry::new("gives", text(&payload.name))));
    if !goal.sees.is_empty() {
        let sees = goal.sees.iter().map(|id| text(id)).collect();
        entries.push(Entry::new("sees", Node::List(sees)));
    }
    if names.supervision.is_none() {
        let who = names.supervisor(goal.supervision.or(declared.supervision));
        entries.extend(who.map(|who| Entry::new("supervise", who)));
    }
    let value = match <[Entry; 1]>::try_from(entries) {
        Ok([only]) => only.value,
        Err(entries) => Node::Map(entries),
    };
    Entry { comments: goal.comments.clone(), ..Entry::new(&goal.id, value) }
}

fn text(text: &str) -> Node {
    Node::Text(text.to_owned())
}
