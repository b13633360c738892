//! `systole listener try`: one request to one listener, without an organism and without a log. The program is started
//! as an organism would start it, and its output is judged as an organism would judge it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use systole_kit::envelope::OutsideDocument;
use systole_kit::schema::{SchemaModel, find_nearest};
use systole_kit::{DocumentLimits, namespaces};

use super::trial_output;
use crate::cli::exit::CommandExit;
use crate::cli::local_organism;
use crate::cli::payload_from_fields;
use crate::cli::place::Place;
use crate::cli::refusal_text;
use crate::cli::screen::Screen;
use crate::cli::send::{parse_duration, read_document};
use crate::cli::signals::Signals;
use crate::cli::system_faults;
use systole_api::types::ApiRefusal;
use systole_config as config;
use systole_core::types::composition::Composition;
use systole_core::types::ids::Name;
use systole_organism::trying::{self, TrialFault};

/// Sends one request to a listener alone, and judges what it says.
///
/// Needs no running organism and writes no log. The program is started as an organism would start it; its
/// reply is shown item by item, with what an organism would make of it. A call to a peer is shown, not made.
#[derive(Args, Debug)]
pub(in crate::cli) struct TrialCommand {
    #[command(flatten)]
    place: Place,
    /// A listener of the organism's file; or a program, with its path or with arguments
    #[arg(value_name = "NAME|PROGRAM", required = true)]
    what: Vec<String>,
    /// The request: an element, and its fields as NAME=VALUE; a text alone
    #[arg(long, value_name = "ELEMENT", num_args = 1.., conflicts_with = "file")]
    send: Vec<String>,
    /// The request in a file; `-` is stdin, and so is nothing
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The schema of a program's elements, if they are not those of talk
    #[arg(long, value_name = "FILE.xsd")]
    schema: Option<PathBuf>,
    /// The program is started once for each request
    #[arg(long)]
    once: bool,
    /// How the program's documents follow one another
    #[arg(long, value_name = "FRAMING", value_parser = ["lines", "length"], default_value = "lines")]
    framing: String,
    /// The longest to wait for the reply, such as 5s
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    timeout: Option<Duration>,
}

impl TrialCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        if self.what.first().is_some_and(String::is_empty) {
            return Err(self.report_unnamed(screen));
        }
        let (composition, listener, request) = match self.what.as_slice() {
            [one] if self.schema.is_none() && Name::parse(one).is_ok() => {
                let (composition, listener) = self.of_file(screen, one)?;
                let request = self.read_request(screen, |element, fields| {
                    let to = Some(&listener);
                    let built = payload_from_fields::build_message(screen, &composition, element, fields, to);
                    built.map(|(payload, _)| payload)
                })?;
                (composition, listener, request)
            }
            _ => {
                let request =
                    self.read_request(screen, |element, fields| self.build_request(screen, element, fields))?;
                let (composition, listener) = self.of_program(screen, &request)?;
                (composition, listener, request)
            }
        };
        let Some(tried) = composition.find_listener(&listener).cloned() else {
            return Err(screen.fail(CommandExit::Configuration, "the trial has no listener"));
        };
        let ear = Arc::new(trial_output::OutputEar::new(screen, tried));
        let trial = trying::ListenerTrial {
            composition,
            listener,
            document: request,
            timeout_ms: self.timeout.and_then(|timeout| u64::try_from(timeout.as_millis()).ok()),
            surroundings: std::env::vars_os().collect(),
            ear: ear.clone(),
        };
        local_organism::with_runtime(screen, async {
            let mut signals = Signals::listen(screen)?;
            tokio::select! {
                tried = Box::pin(trying::run_trial(trial)) => match tried {
                    Ok(tried) => Ok(trial_output::show_trial(screen, &tried, &ear)),
                    Err(untried) => Err(report_fault(screen, &untried)),
                },
                _ = signals.next() => Err(CommandExit::Stopped),
            }
        })
    }

    /// The request: made from fields, or read.
    fn read_request(
        &self,
        screen: Screen,
        made: impl FnOnce(&str, &[String]) -> Result<Vec<u8>, CommandExit>,
    ) -> Result<Vec<u8>, CommandExit> {
        match self.send.split_first() {
            Some((element, fields)) => made(element, fields),
            None => read_document(screen, self.file.as_deref()),
        }
    }

    /// The request to a program, made by its schema, or by the talk schema.
    fn build_request(
        &self,
        screen: Screen,
        element: &str,
        fields: &[String],
    ) -> Result<Vec<u8>, CommandExit> {
        let text = match &self.schema {
            Some(schema) => schema_text(screen, schema)?,
            None => config::TALK_XSD.to_vec(),
        };
        let model = SchemaModel::from_xsd(&text).map_err(|unfit| {
            let first = unfit.first().map(|first| format!("{}: {}", first.line, first.message));
            let words = format!("the schema cannot be read: line {}", first.unwrap_or_default());
            screen.fail(CommandExit::Configuration, words)
        })?;
        payload_from_fields::build_payload(screen, &model, element, fields)
    }

    /// A listener of the organism file, opened to the outside for the trial.
    fn of_file(&self, screen: Screen, name: &str) -> Result<(Composition, Name), CommandExit> {
        let file = self.place.organism(screen)?;
        let mut composition = file.composition;
        if let Some(listener) = composition.listeners.values_mut().find(|l| l.name.as_str() == name) {
            listener.entry = true;
            let name = listener.name.clone();
            return Ok((composition, name));
        }
        screen.say(format!("error: nothing in the organism's file is called {name}"));
        let known = || composition.listeners.keys().map(Name::as_str);
        let near =
            find_nearest(name, known()).map_or_else(|| known().collect::<Vec<_>>().join(", "), str::to_owned);
        screen.say(format!("  try: {near}; a program is named by its path, as ./{name}"));
        Err(CommandExit::Usage)
    }

    /// Reports that no listener was named, with the possible names.
    fn report_unnamed(&self, screen: Screen) -> CommandExit {
        let composition = match self.place.organism(screen) {
            Ok(organism) => organism.composition,
            Err(exit) => return exit,
        };
        let known: Vec<&str> = composition.listeners.keys().map(Name::as_str).collect();
        let fix = format!("{}; a program is named by its path, as ./NAME", known.join(", "));
        screen.refuse("the name of the listener is empty", fix)
    }

    /// A program that is in no file: an organism with one listener is made around it.
    fn of_program(&self, screen: Screen, request: &[u8]) -> Result<(Composition, Name), CommandExit> {
        let letter = OutsideDocument::parse(request, &DocumentLimits::default());
        let payload = letter.map(|letter| letter.payload).map_err(|fault| {
            let refusal = systole_core::rules::refusing::refusal_of(&fault);
            report_fault(screen, &TrialFault::Refused(Box::new(refusal)))
        })?;
        let accepts = payload.name().local.to_string();
        let returns = match &self.schema {
            Some(schema) => list_answers(screen, schema, &accepts)?,
            None if *payload.name().ns == *namespaces::TALK => vec!["answer".to_owned()],
            None => {
                let words = format!("nothing says what the program may answer to <{accepts}>");
                let fix = "--schema FILE.xsd, or the name of a listener in the organism's file";
                return Err(screen.refuse(words, fix));
            }
        };
        let mode = if self.once { "once" } else { "stay" };
        let mut tried = json!({
            "run": self.what, "accepts": [accepts], "returns": returns, "mode": mode, "framing": self.framing,
        });
        if let (Some(schema), Some(keys)) = (&self.schema, tried.as_object_mut()) {
            keys.insert("schema".to_owned(), json!(schema));
        }
        // JSON is YAML, and needs no special quoting for a program's name.
        let text = json!({"organism": {"name": "trial"}, "listeners": {"tried": tried}});
        let organism = config::load_text(Path::new("trial"), &text.to_string()).map_err(|refused| {
            screen.say_drawn(refused.to_string().trim_end());
            CommandExit::Configuration
        })?;
        let name = organism.composition.listeners.keys().next().cloned();
        let name =
            name.ok_or_else(|| screen.fail(CommandExit::Configuration, "the trial has no listener"))?;
        Ok((organism.composition, name))
    }
}

/// The root elements of a schema that may answer the request: all others.
fn list_answers(screen: Screen, schema: &Path, accepts: &str) -> Result<Vec<String>, CommandExit> {
    let text = schema_text(screen, schema)?;
    // Errors in the schema itself are reported with their place when the organism is read.
    let Ok(model) = SchemaModel::from_xsd(&text) else { return Ok(Vec::new()) };
    Ok(model.elements().filter(|element| *element != accepts).map(str::to_owned).collect())
}

fn schema_text(screen: Screen, schema: &Path) -> Result<Vec<u8>, CommandExit> {
    std::fs::read(schema).map_err(|error| {
        system_faults::report_unread(screen, CommandExit::Usage, schema, "the schema", &error)
    })
}

/// Reports why nothing was tried.
fn report_fault(screen: Screen, untried: &TrialFault) -> CommandExit {
    match untried {
        TrialFault::Refused(refusal) => {
            let refusal = ApiRefusal::from(&**refusal);
            if screen.json {
                screen.show_value(&json!({"refusal": refusal}));
            } else {
                refusal_text::say(screen, &refusal);
            }
            CommandExit::Payload
        }
        TrialFault::NoProgram(_) => screen.fail(CommandExit::Usage, untried),
        TrialFault::Machine(_) => screen.fail(CommandExit::Unavailable, untried),
    }
}
