//! `systole schema`: the schema that judges an element, the model's view of it, and the way from the
//! compact form to a separate file. It reads the organism file; no log and no organism are needed.

mod as_grammar;
mod as_json;
mod diff;
mod eject;
mod find_schema;
mod past;
mod side;

use clap::{Args, Subcommand};
use serde_json::json;

use super::exit::CommandExit;
use super::place::Place;
use super::screen::Screen;
use find_schema::{DeclaredElement, FoundSchemas};
use systole_core::types::composition::Schema as Text;
use systole_core::types::ids::Digest;

/// What is wanted of a schema.
#[derive(Args, Debug)]
pub(super) struct SchemaCommand {
    #[command(subcommand)]
    what: SchemaAction,
}

#[derive(Subcommand, Debug)]
enum SchemaAction {
    /// Print the XSD that judges an element
    #[command(after_help = "Examples:
  systole schema show
  systole schema show answer")]
    Show(ShowCommand),
    /// Write what `payloads` means into a file, and name that instead
    #[command(after_help = "Examples:
  systole schema eject")]
    Eject(eject::EjectCommand),
    /// Print a smallest valid payload
    #[command(after_help = "Examples:
  systole schema example ask")]
    Example(SchemaElement),
    /// Print what a prompt says of a payload
    #[command(after_help = "Examples:
  systole schema prompt ask")]
    Prompt(SchemaElement),
    /// Print the form of its payloads in JSON, as JSON Schema
    #[command(after_help = "Examples:
  systole schema json ask")]
    Json(as_json::AsJson),
    /// Print the grammar that an answer with it is held to, in GBNF
    #[command(after_help = "Examples:
  systole schema grammar ask")]
    Grammar(as_grammar::AsGrammar),
    /// Say what a change of schemas does, also to past messages
    #[command(after_help = "Examples:
  systole schema diff old.xsd new.xsd
  systole schema diff organism.yaml changed/organism.yaml --log organism.db")]
    Diff(diff::SchemaDiff),
}

#[derive(Args, Debug)]
struct ShowCommand {
    #[command(flatten)]
    place: Place,
    /// An element, or a schema as the file names it, or talk, which comes
    /// with Systole; without one, what `payloads` means
    element: Option<String>,
}

#[derive(Args, Debug)]
struct SchemaElement {
    #[command(flatten)]
    place: Place,
    /// The element, or {namespace}element
    element: String,
}

impl SchemaCommand {
    pub(super) fn run(self) -> Result<CommandExit, CommandExit> {
        match &self.what {
            SchemaAction::Show(show) => show.run(),
            SchemaAction::Eject(eject) => eject.run(),
            SchemaAction::Example(of) => of.show_example(),
            SchemaAction::Prompt(of) => of.show_prompt(),
            SchemaAction::Json(json) => json.run(),
            SchemaAction::Grammar(grammar) => grammar.run(),
            SchemaAction::Diff(diff) => diff.run(),
        }
    }
}

impl ShowCommand {
    fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let schemas = FoundSchemas::read_schemas(&self.place, screen)?;
        let schema = match &self.element {
            Some(element) => schemas.find_meant(screen, element)?,
            None => schemas.payloads().ok_or_else(|| report_none(screen, &schemas))?,
        };
        let hash = Digest::hash_bytes(&schema.text).to_string();
        if screen.json {
            let xsd = String::from_utf8_lossy(&schema.text);
            screen.show_value(&json!({"schema": schema.name, "sha256": hash, "xsd": xsd}));
            return Ok(CommandExit::Done);
        }
        screen.say(format!("{}, SHA-256 {hash}", name_schema(schema)));
        screen.show_document(&schema.text);
        Ok(CommandExit::Done)
    }
}

fn report_none(screen: Screen, schemas: &FoundSchemas) -> CommandExit {
    let names = schemas.names();
    let which = if names.is_empty() { "an element".to_owned() } else { names.join(", ") };
    let told = format!("the file declares no payloads; name an element or a schema: {which}");
    screen.fail(CommandExit::Usage, told)
}

/// The name of a schema for people.
fn name_schema(schema: &Text) -> String {
    match schema.name.as_str() {
        "payloads/" => "made of payloads".to_owned(),
        "talk/" | "workflow/" => {
            format!("{}, which comes with the program", schema.name.trim_end_matches('/'))
        }
        file => file.to_owned(),
    }
}

impl SchemaElement {
    fn show_example(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let schemas = FoundSchemas::read_schemas(&self.place, screen)?;
        let DeclaredElement { model, local, .. } = schemas.find_declaring(screen, &self.element)?;
        let Some(example) = model.build_example(&local) else {
            let told = format!(
                "{local} has no example: no value is known for one of its patterns, or it contains itself"
            );
            return Err(screen.fail(CommandExit::Failed, told));
        };
        let text = String::from_utf8_lossy(&example);
        if screen.json {
            screen.show_value(
                &json!({"element": local, "namespace": model.target_namespace(), "example": text}),
            );
        } else {
            screen.show(&text);
        }
        Ok(CommandExit::Done)
    }

    fn show_prompt(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let schemas = FoundSchemas::read_schemas(&self.place, screen)?;
        let DeclaredElement { model, local, .. } = schemas.find_declaring(screen, &self.element)?;
        let prompt = model.prompt_entry(&local).unwrap_or_default();
        if screen.json {
            screen.show_value(
                &json!({"element": local, "namespace": model.target_namespace(), "prompt": prompt}),
            );
        } else {
            screen.show(&prompt);
        }
        Ok(CommandExit::Done)
    }
}
