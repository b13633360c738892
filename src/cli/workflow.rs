//! `systole workflow`: explains the workflows of an organism file, and makes a workflow from an Agentfile. It reads
//! only files: nothing runs, and no log is opened.

mod from;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use systole_kit::schema::find_nearest;
use systole_workflow::explain::{StepSentence, write_sentences};
use systole_workflow::spec::Workflow as Spec;

use super::exit::CommandExit;
use super::place::Place;
use super::screen::Screen;
use systole_config::OrganismFile;
use systole_show::columns::{plain, wrapped};

/// What is wanted of a workflow.
#[derive(Subcommand, Debug)]
pub(super) enum WorkflowCommand {
    /// Print what a workflow does, step by step
    #[command(after_help = "Examples:
  systole workflow explain review-change
  systole workflow explain --json")]
    Explain(ExplainWorkflow),
    /// Convert an Agentfile into an organism's file, and print it
    #[command(after_help = "Examples:
  systole workflow from Agentfile
  systole workflow from Agentfile --json")]
    From(from::FromCommand),
}

/// Which workflow.
#[derive(Args, Debug)]
pub(super) struct ExplainWorkflow {
    #[command(flatten)]
    place: Place,
    /// The workflow; without a name every workflow of the file
    name: Option<String>,
}

impl WorkflowCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        match self {
            WorkflowCommand::Explain(explain) => explain.run(),
            WorkflowCommand::From(from) => from.run(),
        }
    }

    /// Whether its output may be long and is read from its beginning.
    pub(super) fn is_paged(&self) -> bool {
        matches!(self, WorkflowCommand::Explain(_))
    }
}

impl ExplainWorkflow {
    fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let file = self.place.organism(screen)?;
        let meant: Vec<&Spec> = match &self.name {
            None => file.workflows.iter().collect(),
            Some(name) => vec![find_workflow(&file, name, screen)?],
        };
        if meant.is_empty() {
            let fix = "a section `workflows`, as docs/reference/workflows.md describes it";
            return Err(screen.refuse("the organism's file has no workflow", fix));
        }
        for (nth, workflow) in meant.into_iter().enumerate() {
            if screen.json {
                screen.show_value(&as_json(workflow));
                continue;
            }
            if nth > 0 {
                screen.show_drawn("");
            }
            list_lines(&file, workflow).iter().for_each(|line| screen.show_drawn(line));
        }
        Ok(CommandExit::Done)
    }
}

fn find_workflow<'f>(file: &'f OrganismFile, name: &str, screen: Screen) -> Result<&'f Spec, CommandExit> {
    if let Some(found) = file.workflows.iter().find(|workflow| workflow.name == name) {
        return Ok(found);
    }
    let known = || file.workflows.iter().map(|workflow| workflow.name.as_str());
    let hint = match find_nearest(name, known()) {
        Some(near) => format!("; did you mean {near}?"),
        None if file.workflows.is_empty() => "; the file has none".to_owned(),
        None => format!("; there are {}", known().collect::<Vec<_>>().join(", ")),
    };
    Err(screen.fail(CommandExit::Usage, format!("no workflow is called {name}{hint}")))
}

/// A workflow as lines for a terminal.
fn list_lines(file: &OrganismFile, workflow: &Spec) -> Vec<String> {
    let own = file.composition.listeners.values().find(|one| one.name.as_str() == workflow.name);
    let takes = own.map(|own| super::check::request_names(own).join(", ")).unwrap_or_default();
    let mut lines = vec![format!("{}: takes {takes}, gives {}", workflow.name, workflow.returns.local)];
    if let Some(description) = &workflow.description {
        lines.extend(wrapped("  ", 2, &plain(description)));
    }
    for StepSentence { number, depth, text, .. } in write_sentences(workflow) {
        // Deeply nested steps keep room for their words.
        let lead = format!("{}{number}. ", "  ".repeat(depth.min(10).saturating_add(1)));
        lines.extend(wrapped(&lead, lead.len(), &plain(&text)));
    }
    lines
}

fn as_json(workflow: &Spec) -> Value {
    let steps: Vec<Value> = write_sentences(workflow)
        .into_iter()
        .map(|one| json!({"number": one.number, "id": one.id, "text": one.text}))
        .collect();
    json!({"workflow": workflow.name, "description": workflow.description, "steps": steps})
}
