//! The declarations of an Agentfile: inputs, agents, goals, and the order of the goals.
//!
//! Input: statements. Output: the usable statements with every name looked up, and a note about each unusable one.

use systole_kit::schema::find_nearest;

use super::statements::{Keyword, Statement, Supervision};
use super::{ConversionNote, ConversionServices};

/// An Agentfile.
pub(super) struct Declared {
    pub(super) name: String,
    /// The comments above the name.
    pub(super) comments: Vec<String>,
    pub(super) supervision: Option<Supervision>,
    pub(super) inputs: Vec<Statement>,
    pub(super) agents: Vec<Statement>,
    pub(super) goals: Vec<Statement>,
    /// RUN and LOOP.
    pub(super) orders: Vec<Statement>,
}

/// The name of an unnamed workflow.
const UNNAMED: &str = "converted";

impl Declared {
    pub(super) fn of(
        statements: Vec<Statement>,
        surroundings: &dyn ConversionServices,
        notes: &mut Vec<ConversionNote>,
    ) -> Declared {
        let mut made = Declared {
            name: UNNAMED.to_owned(),
            comments: Vec::new(),
            supervision: None,
            inputs: Vec::new(),
            agents: Vec::new(),
            goals: Vec::new(),
            orders: Vec::new(),
        };
        let mut named: Option<usize> = None;
        for mut statement in statements {
            match statement.keyword {
                Keyword::Name => match named {
                    Some(first) => {
                        note(notes, &statement, format!("a second NAME; the first one is on line {first}"))
                    }
                    None => {
                        named = Some(statement.line);
                        made.name = statement.name;
                        made.comments.append(&mut statement.comments);
                    }
                },
                Keyword::Security => {
                    let why = "there are no security modes; `approve` on a listener makes a person approve its payloads";
                    note(notes, &statement, why.to_owned());
                }
                Keyword::Supervised | Keyword::Unsupervised => {
                    made.comments.append(&mut statement.comments);
                    made.supervision = statement.supervision;
                }
                Keyword::Input => add(&mut made.inputs, statement, notes),
                Keyword::Agent => {
                    load(&mut statement, surroundings, notes);
                    add(&mut made.agents, statement, notes);
                }
                Keyword::Goal | Keyword::Converge => {
                    load(&mut statement, surroundings, notes);
                    add(&mut made.goals, statement, notes);
                }
                Keyword::Run | Keyword::Loop => made.orders.push(statement),
            }
        }
        let goals: Vec<String> = made.goals.iter().map(|goal| goal.name.clone()).collect();
        let agents: Vec<String> = made.agents.iter().map(|agent| agent.name.clone()).collect();
        made.goals.iter_mut().for_each(|goal| only_known(goal, &agents, "AGENT", notes));
        made.orders.iter_mut().for_each(|order| only_known(order, &goals, "GOAL", notes));
        made.orders.retain(|order| !order.using.is_empty());
        made
    }

    pub(super) fn agent(&self, name: &str) -> Option<&Statement> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    pub(super) fn goal(&self, name: &str) -> Option<&Statement> {
        self.goals.iter().find(|goal| goal.name == name)
    }

    pub(super) fn input(&self, name: &str) -> Option<&Statement> {
        self.inputs.iter().find(|input| input.name == name)
    }
}

/// A note about a statement.
pub(super) fn note(notes: &mut Vec<ConversionNote>, statement: &Statement, why: String) {
    notes.push(ConversionNote { line: statement.line, written: statement.written.clone(), why });
}

fn add(all: &mut Vec<Statement>, statement: Statement, notes: &mut Vec<ConversionNote>) {
    match all.iter().find(|one| one.name == statement.name) {
        None => all.push(statement),
        Some(first) => {
            let why =
                format!("the name `{}` is taken by line {}", super::short(&statement.name, 32), first.line);
            note(notes, &statement, why);
        }
    }
}

/// Replaces a file name by the text of the file.
fn load(statement: &mut Statement, surroundings: &dyn ConversionServices, notes: &mut Vec<ConversionNote>) {
    let text = match (&statement.text, &statement.from) {
        (None, Some(path)) => surroundings.read(path).unwrap_or_else(|why| {
            note(
                notes,
                statement,
                format!("FROM {}: {why}; the text has to be added", super::short(path, 60)),
            );
            String::new()
        }),
        (text, _) => text.clone().unwrap_or_default(),
    };
    let text = text.trim();
    statement.text = (!text.is_empty()).then(|| text.to_owned());
}

/// Removes undeclared names from USING.
fn only_known(statement: &mut Statement, known: &[String], what: &str, notes: &mut Vec<ConversionNote>) {
    let using = std::mem::take(&mut statement.using);
    for name in using {
        if known.contains(&name) {
            statement.using.push(name);
            continue;
        }
        let near = find_nearest(&name, known.iter().map(String::as_str));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        note(notes, statement, format!("no {what} is called `{}`{hint}", super::short(&name, 32)));
    }
}
