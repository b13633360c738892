//! `systole schema json`: the JSON form of an element's payloads, and the rules that JSON Schema leaves open.
//!
//! An element comes in by name. Its JSON Schema goes to stdout, and each rule that it cannot express goes to
//! stderr, one per line.

use clap::Args;
use serde_json::json;

use super::find_schema::{DeclaredElement, FoundSchemas};
use crate::cli::exit::CommandExit;
use crate::cli::place::Place;

/// Which element is wanted as JSON Schema.
#[derive(Args, Debug)]
pub(super) struct AsJson {
    #[command(flatten)]
    place: Place,
    /// The element, or {namespace}element
    element: String,
}

impl AsJson {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let schemas = FoundSchemas::read_schemas(&self.place, screen)?;
        let DeclaredElement { model, local, .. } = schemas.find_declaring(screen, &self.element)?;
        let Some(drawn) = model.json_schema(&local) else {
            return Err(schemas.report_unknown(screen, &self.element));
        };
        if screen.json {
            let namespace = model.target_namespace();
            let (schema, open) = (drawn.schema, drawn.open);
            screen.show_value(
                &json!({"element": local, "namespace": namespace, "schema": schema, "open": open}),
            );
            return Ok(CommandExit::Done);
        }
        screen.show_document(format!("{:#}\n", drawn.schema).as_bytes());
        screen.say("JSON Schema cannot express these rules; they are checked when the payload is built:");
        for line in &drawn.open {
            screen.say(format!("  {line}"));
        }
        Ok(CommandExit::Done)
    }
}
