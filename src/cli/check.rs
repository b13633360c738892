//! `systole check`: every mistake in an organism file, or a summary of the organism. The check is that of
//! the loader, the same as for `run`. It starts nothing, and reads neither the environment nor the log.

use clap::Args;
use serde_json::{Value, json};

use super::exit::CommandExit;
use super::place::Place;
use super::screen::Screen;
use systole_agent::spec::{AgentSpec, Dialect};

use systole_config::workflow_limits;
use systole_config::{
    Diagnostic, FolderUse, ORGANISM_JSON_SCHEMA, OrganismFile, count_mistakes, find_work_folder, page,
};
use systole_core::types::composition::{ElementSchema, Listener, ViewScope};
use systole_core::types::time::spell_stretch;
use systole_kit::namespaces;
use systole_show::columns::{self, plain, wrapped};

/// Checks the organism's file.
///
/// Shows every mistake at once, each with its place and the fix, or a few lines about the organism
/// itself. `run` refuses exactly what this refuses. A warning does not refuse the file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole check
  systole check --strict
  systole check --schema")]
pub(super) struct CheckCommand {
    #[command(flatten)]
    place: Place,
    /// Take a warning for a mistake
    #[arg(long)]
    strict: bool,
    /// Print the JSON Schema of the file, for editors, and check nothing
    #[arg(long)]
    schema: bool,
}

impl CheckCommand {
    pub(super) fn run(self) -> CommandExit {
        let screen = self.place.screen();
        if self.schema {
            screen.show_drawn(ORGANISM_JSON_SCHEMA.trim_end());
            return CommandExit::Done;
        }
        match self.place.load().and_then(OrganismFile::with_log_folder) {
            Err(refused) => {
                print_all(screen, &refused.0);
                CommandExit::Configuration
            }
            Ok(file) => {
                if !file.warnings.is_empty() {
                    print_all(screen, &file.warnings);
                }
                if screen.json {
                    screen.show_value(&describe_file(&file));
                } else {
                    write_summary(&file).iter().for_each(|line| screen.show_drawn(line));
                }
                if self.strict && !file.warnings.is_empty() {
                    CommandExit::Configuration
                } else {
                    CommandExit::Done
                }
            }
        }
    }
}

/// Prints mistakes and warnings.
pub(super) fn print_all(screen: Screen, all: &[Diagnostic]) {
    if screen.json {
        all.iter().for_each(|one| screen.show_value(&as_json(one)));
        return;
    }
    screen.show_drawn(page(all, screen.colour).trim_end());
    let mut codes: Vec<&str> = all.iter().map(|one| one.code.as_str()).collect();
    codes.dedup();
    if let [code] = codes.as_slice() {
        screen.say(format!("systole explain {code} says more"));
    } else {
        screen.say("systole explain CODE says more of each");
    }
}

fn as_json(one: &Diagnostic) -> Value {
    let (code, severity) = (one.code.as_str(), one.severity().as_str());
    let mut told = json!({"code": code, "severity": severity, "message": one.message, "fix": one.fix});
    let place = |place: &systole_config::FilePlace| {
        // A file as a whole has no line.
        let known = |number: usize| (place.line > 0).then_some(number);
        let end = place.column + place.span.chars().count();
        json!({"file": place.file, "line": known(place.line), "column": known(place.column),
               "end": known(end), "text": known(0).map(|_| &place.text)})
    };
    let second = one.second.as_ref().map(|second| {
        let mut told = place(&second.place);
        merge_json(&mut told, json!({"words": second.words}));
        told
    });
    merge_json(&mut told, place(&one.place));
    merge_json(&mut told, json!({"second": second}));
    told
}

fn merge_json(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

fn describe_file(file: &OrganismFile) -> Value {
    let composition = &file.composition;
    let names =
        |all: &[ElementSchema]| all.iter().map(|element| element.name.to_string()).collect::<Vec<_>>();
    let listeners: Vec<Value> = (composition.listeners.values())
        .map(|one| {
            let agent = find_agent(file, one);
            let mut listener = json!({"name": one.name.as_str(), "accepts": names(&one.accepts), "returns": names(&one.returns),
                   "peers": one.peers.iter().map(|peer| peer.as_str()).collect::<Vec<_>>(),
                   "turns": one.turns, "entry": one.entry});
            if let Some((kind, root, _)) = find_work_folder(one) {
                merge_json(&mut listener, json!({kind: root}));
            }
            if is_workflow(file, one) {
                merge_json(&mut listener, json!({"workflow": true, "turns": null}));
            }
            if let Some(agent) = agent {
                let sees = if one.sees == ViewScope::Thread { "thread" } else { "call" };
                let thinks = json!({"model": agent.model, "dialect": name_dialect(agent.dialect), "sees": sees});
                merge_json(&mut listener, thinks);
            }
            listener
        })
        .collect();
    json!({"organism": composition.organism.as_str(), "hash": composition.hash.to_string(),
           "listeners": listeners, "workflows": workflow_limits::as_json(file), "log": file.log, "warnings": file.warnings.len()})
}

/// A summary of the organism, in a few lines.
fn write_summary(file: &OrganismFile) -> Vec<String> {
    let composition = &file.composition;
    let others = file.agents.len() + file.workflows.len();
    let programs = composition.listeners.len().saturating_sub(others);
    let counts = [(programs, "listener"), (file.agents.len(), "agent"), (file.workflows.len(), "workflow")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let count = counts.map(|(count, noun)| columns::counted(count, noun)).collect::<Vec<_>>().join(", ");
    let found =
        if file.warnings.is_empty() { "nothing is wrong".into() } else { count_mistakes(&file.warnings) };
    let mut lines = vec![format!("{}: {count}; {found}", composition.organism.as_str())];
    if let Some(description) = &file.description {
        lines.extend(wrapped("  ", 2, &plain(description)));
    }
    let width = composition.listeners.keys().map(|name| name.as_str().len()).max().unwrap_or(0).min(24);
    for one in composition.listeners.values() {
        let blank = " ".repeat(width.saturating_sub(one.name.as_str().len()));
        let lead = format!("  {}{blank}  ", one.name.as_str());
        lines.extend(wrapped(&lead, lead.len(), &describe_listener(file, one)));
    }
    lines.extend(workflow_limits::list_lines(file));
    if file.managed && composition.uses_broker() {
        lines.push("  it starts its own broker: nats-server 2.12 or newer, from PATH".to_owned());
    }
    if let Some(budgets) = &composition.budgets {
        let mut parts = vec![
            format!("{} calls and spawns", budgets.messages),
            format!("{} deep", budgets.depth),
            format!("{} children", budgets.children),
        ];
        parts.extend(budgets.wall_ms.map(|ms| format!("{} of work", spell_stretch(ms))));
        parts.extend(budgets.requests.map(|requests| format!("{requests} model requests")));
        parts.extend(budgets.tokens.map(|tokens| format!("{tokens} tokens")));
        parts.extend(budgets.money.map(|money| money.to_string()));
        lines.extend(wrapped("  a message from outside may use ", 4, &parts.join(", ")));
    }
    lines.extend(wrapped("  log ", 4, &plain(&file.log.display().to_string())));
    if let Some(proof) = &file.proof {
        let every = u64::try_from(proof.every.as_millis()).map_or_else(|_| String::new(), spell_stretch);
        let to: Vec<String> = proof.to.iter().map(ToString::to_string).collect();
        let to = if to.is_empty() { String::new() } else { format!("; they go to {}", to.join(", ")) };
        let words = format!("signs checkpoints as {}, every {every}{to}", proof.origin);
        lines.extend(wrapped("  ", 4, &plain(&words)));
        if proof.key.is_none() {
            let words = format!("its key {} is not here, and systole run needs it", proof.file.display());
            lines.extend(wrapped("  ", 4, &plain(&words)));
        }
    }
    lines
}

/// The agent behind that listener, if it is one.
fn find_agent<'f>(file: &'f OrganismFile, one: &Listener) -> Option<&'f AgentSpec> {
    file.agents.iter().find(|agent| agent.name == one.name.as_str())
}

/// Whether that listener is a workflow.
fn is_workflow(file: &OrganismFile, one: &Listener) -> bool {
    file.workflows.iter().any(|workflow| workflow.name == one.name.as_str())
}

/// The requests that others can send to a workflow.
pub(super) fn request_names(workflow: &Listener) -> Vec<&str> {
    let own = |element: &&ElementSchema| *element.name.ns != *systole_kit::namespaces::WORKFLOW;
    workflow.accepts.iter().filter(own).map(|element| &*element.name.local).collect()
}

/// A dialect as written in the file.
fn name_dialect(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Xml => "xml",
        Dialect::Native => "native",
        Dialect::XmlFinal => "xml-final",
        Dialect::Plain => "plain",
    }
}

/// The requests that a listener takes. What a workspace or the listener of an MCP server sends itself is of no interest
/// to others.
fn list_for_others(all: &[ElementSchema]) -> Vec<ElementSchema> {
    all.iter().filter(|element| !element.is_for_itself()).cloned().collect()
}

/// A listener in a few words.
fn describe_listener(file: &OrganismFile, one: &Listener) -> String {
    let is_workflow = is_workflow(file, one);
    let local =
        |all: &[ElementSchema]| all.iter().map(|q| q.name.local.to_string()).collect::<Vec<_>>().join(", ");
    let thinks =
        |agent: &AgentSpec| format!("thinks with {} in {}", agent.model, name_dialect(agent.dialect));
    let mut parts: Vec<String> = find_agent(file, one).map(thinks).into_iter().collect();
    if is_workflow {
        // A workflow's messages to itself are of no interest to others.
        parts.push(format!("takes {}", request_names(one).join(", ")));
        let workflow = file.workflows.iter().find(|workflow| workflow.name == one.name.as_str());
        parts.extend(workflow.map(|workflow| format!("gives {}", workflow.returns.local)));
        let peers = one.peers.iter().filter(|peer| **peer != one.name);
        let peers: Vec<&str> = peers.map(|peer| peer.as_str()).collect();
        parts.push(format!("follows goals with {}", peers.join(", ")));
    } else {
        parts.push(format!("takes {}", local(&list_for_others(&one.accepts))));
    }
    let folder = find_work_folder(one);
    parts.extend(folder.map(|(_, root, usage)| match usage {
        FolderUse::Searches => format!("searches {}", plain(root)),
        FolderUse::Changes => format!("changes {}", plain(root)),
    }));
    if !one.returns.is_empty() && !is_workflow {
        parts.push(format!("gives {}", local(&list_for_others(&one.returns))));
    }
    let is_form = |element: &ElementSchema| element.name.is_named(namespaces::MCP, "input-form");
    let asks_persons = one.accepts.iter().any(is_form);
    if !is_workflow && !asks_persons && folder.is_none() && !one.peers.is_empty() {
        let peers: Vec<&str> = one.peers.iter().map(|peer| peer.as_str()).collect();
        let turns = format!(" in up to {} turns", one.turns);
        parts.push(format!("calls {}{turns}", peers.join(", ")));
    }
    parts.extend(one.reach.traits().remark.map(str::to_owned));
    if one.reach.traits().program.is_some_and(|program| program.sandbox.is_some()) {
        parts.push("runs in a sandbox".to_owned());
    }
    if one.entry {
        parts.push("open to the outside".to_owned());
    }
    if one.sees == ViewScope::Thread {
        parts.push("sees its whole thread".to_owned());
    }
    if one.approval.always {
        parts.push("a person approves everything".to_owned());
    }
    parts.join("; ")
}
