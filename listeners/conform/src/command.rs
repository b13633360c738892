//! The command line of `systole listener conform`, without what all commands share.
//!
//! In: arguments, and the organism's file if a name is given. Out: the worker to judge, and what is printed.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use systole_carriers::InheritedVariables;
use systole_config as config;
use systole_core::types::composition::{Composition, Reach};
use systole_core::types::ids::Name;
use systole_kit::schema::SchemaModel;
use systole_kit::{DocumentLimits, Payload};

use crate::judging::{JudgementOrder, judge_worker};
use crate::list::find_list;
use crate::report;
use crate::subject::ConformSubject;

/// Which worker is judged, and how.
#[derive(Args, Debug)]
pub struct ConformArguments {
    /// A listener of the organism's file
    #[arg(value_name = "NAME", required_unless_present = "schema")]
    name: Option<String>,
    /// Without a name: the schema of its elements, of which the first is the request
    #[arg(long, value_name = "FILE.xsd")]
    schema: Option<PathBuf>,
    /// Over NATS, on a nats-server that is started for it
    #[arg(long)]
    nats: bool,
    /// The program is started once for each request
    #[arg(long, conflicts_with = "nats")]
    once: bool,
    /// A request in place of the smallest example: an element, and its fields as NAME=VALUE
    #[arg(long, value_name = "ELEMENT", num_args = 1..)]
    send: Vec<String>,
    /// The list of checks
    #[arg(long, value_name = "LIST", default_value = "1.0")]
    list: String,
    /// Only these checks, as text.escape or text.*
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    only: Vec<String>,
    /// A check that should pass must pass
    #[arg(long)]
    strict: bool,
    /// Write the outcome as JUnit's XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Do real work: the program gets payloads that a person would have to approve
    #[arg(long)]
    yes: bool,
    /// The program and its arguments, if not those of the file
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What a judgement came to.
pub struct PrintedJudgement {
    /// The lines for people.
    pub lines: Vec<String>,
    /// The same as JSON.
    pub value: Value,
    /// Whether a check failed that has to pass.
    pub has_failed: bool,
}

/// What is wrong, and the fix.
type Refusal = (String, String);

impl ConformArguments {
    /// Whether the organism's file says what is judged.
    pub fn reads_file(&self) -> bool {
        self.schema.is_none()
    }

    /// The worker, by the composition of the organism's file, or by a schema alone.
    ///
    /// # Errors
    /// What is wrong, and the fix.
    pub fn find_subject(
        &self,
        composition: Option<Composition>,
        around: InheritedVariables,
    ) -> Result<ConformSubject, Refusal> {
        let composition = match (composition, &self.schema) {
            (Some(composition), _) => composition,
            (None, Some(schema)) => self.compose_program(schema)?,
            (None, None) => {
                return Err(refuse("no listener is named", "the name of a listener, or --schema"));
            }
        };
        let name = match &self.name {
            Some(name) => Name::parse(name).map_err(|_| {
                refuse(&format!("{name:?} is no name of a listener"), "small letters, digits and -")
            })?,
            None => Name::parse("worker").map_err(|_| refuse("no name", "a name"))?,
        };
        let models = list_models(&composition, &name);
        if !self.yes
            && let Some(dangerous) =
                models.iter().find_map(|(model, element)| model.is_dangerous(element).then_some(element))
        {
            let words = format!("<{dangerous}> is dangerous, and the program would do real work");
            return Err(refuse(&words, "--yes, with a program that may do it"));
        }
        let request = self.build_request(&models)?;
        ConformSubject::new(composition, &name, &self.command, request, around)
    }

    /// An organism around a program, whose schema says what it takes and returns.
    fn compose_program(&self, schema: &Path) -> Result<Composition, Refusal> {
        if self.command.is_empty() {
            return Err(refuse("no program is named", "-- and the program, with its arguments"));
        }
        let shown = schema.display();
        let xsd = std::fs::read(schema)
            .map_err(|error| refuse(&format!("{shown}: {error}"), "--schema with a file that can be read"))?;
        let model = SchemaModel::from_xsd(&xsd).map_err(|unfit| {
            let first = unfit.first().map(|first| format!("line {}: {}", first.line, first.message));
            refuse(&format!("{shown}: {}", first.unwrap_or_default()), "systole schema check says more")
        })?;
        let mut elements: Vec<&str> = model.elements().collect();
        if elements.is_empty() {
            return Err(refuse(&format!("{shown} has no element"), "a schema with a request and an answer"));
        }
        // The request is the element that comes first in the document.
        elements.sort_by_key(|element| model.declared_at(&xsd, element));
        let returns = elements.split_off(1);
        let in_flight = if self.nats { 4 } else { 1 };
        let worker = json!({
            "run": self.command, "accepts": elements, "returns": returns, "schema": schema,
            "mode": if self.once { "once" } else { "stay" }, "in_flight": in_flight, "turns": 3,
        });
        let text = json!({"organism": {"name": "conform"}, "listeners": {"worker": worker}});
        // JSON is YAML, and needs no special quoting for a program's name.
        let loaded = config::load_text(Path::new("conform"), &text.to_string());
        loaded.map(|file| file.composition).map_err(|mistakes| {
            refuse(mistakes.to_string().trim_end(), "-- and the program, with its arguments")
        })
    }

    fn build_request(&self, models: &[(SchemaModel, String)]) -> Result<Option<Payload>, Refusal> {
        let Some((element, fields)) = self.send.split_first() else { return Ok(None) };
        let known = models.iter().find(|(_, known)| known == element);
        let Some((model, _)) = known else {
            let names: Vec<&str> = models.iter().map(|(_, name)| name.as_str()).collect();
            return Err(refuse(&format!("it does not take <{element}>"), &names.join(", ")));
        };
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let bytes = match model.from_fields(element, &fields) {
            Some(Ok(bytes)) => bytes,
            Some(Err(slips)) => {
                let first = slips.first().map(|slip| (slip.message.clone(), slip.fix.clone()));
                return Err(first.unwrap_or_else(|| refuse("the fields do not fit", "systole schema show")));
            }
            None => {
                return Err(refuse(&format!("<{element}> cannot be written from fields"), "another element"));
            }
        };
        Payload::parse(&bytes, &DocumentLimits::default())
            .map(Some)
            .map_err(|fault| refuse(&fault.to_string(), "other values"))
    }

    /// Judges a worker.
    ///
    /// # Errors
    /// What is wrong, and the fix.
    pub async fn judge(&self, subject: ConformSubject) -> Result<PrintedJudgement, Refusal> {
        let Some(rows) = find_list(&self.list) else {
            return Err(refuse(&format!("there is no list {}", self.list), "--list 1.0"));
        };
        let order = JudgementOrder { over_nats: self.nats, once: self.once, only: self.only.clone() };
        let listener = subject.listener.clone();
        let results = judge_worker(subject, rows, &order).await?;
        if results.is_empty() {
            let words = format!("no check is called {}", self.only.join(", "));
            return Err(refuse(&words, "a check or a group of docs/reference/conform.md, as text.*"));
        }
        if let Some(path) = &self.junit {
            let junit = report::write_junit(listener.as_str(), &results);
            std::fs::write(path, junit).map_err(|error| {
                refuse(&format!("{}: {error}", path.display()), "--junit with a file that can be written")
            })?;
        }
        let count = report::count_results(&results);
        let has_failed = count.failed_must > 0 || (self.strict && count.failed_should > 0);
        let value = report::build_json(&self.list, &results);
        Ok(PrintedJudgement { lines: report::write_lines(&results), value, has_failed })
    }
}

fn refuse(words: &str, fix: &str) -> Refusal {
    (words.to_owned(), fix.to_owned())
}

/// What a listener takes: the model of each schema, and the element.
fn list_models(composition: &Composition, listener: &Name) -> Vec<(SchemaModel, String)> {
    let Some(found) = composition.find_listener(listener) else { return Vec::new() };
    if matches!(found.reach, Reach::Inline) {
        return Vec::new();
    }
    let sources: Vec<(&str, &[u8])> =
        composition.schemas.iter().map(|schema| (schema.name.as_str(), &*schema.text)).collect();
    let model = |element: &systole_core::types::composition::ElementSchema| {
        let text = &composition.schemas.get(element.schema.0)?.text;
        Some((SchemaModel::read_among(text, &sources).ok()?, element.name.local.to_string()))
    };
    found.accepts.iter().filter_map(model).collect()
}
