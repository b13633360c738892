//! `systole schema grammar`: what a server that holds answers to a grammar lets a model write for an element.
//!
//! An element comes in by name. Its grammar in GBNF goes to stdout, and each rule of the schema that it leaves open
//! goes to stderr, one per line.

use clap::Args;
use serde_json::json;

use super::find_schema::{DeclaredElement, FoundSchemas};
use crate::cli::exit::CommandExit;
use crate::cli::place::Place;
use systole_kit::schema::Grammar;

/// Which element is wanted as a grammar.
#[derive(Args, Debug)]
pub(super) struct AsGrammar {
    #[command(flatten)]
    place: Place,
    /// The element, or {namespace}element
    element: String,
}

impl AsGrammar {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let schemas = FoundSchemas::read_schemas(&self.place, screen)?;
        let DeclaredElement { model, local, .. } = schemas.find_declaring(screen, &self.element)?;
        let mut grammar = Grammar::default();
        let Some(written) = model.add_to_grammar(&mut grammar, &local, &[]) else {
            return Err(schemas.report_unknown(screen, &self.element));
        };
        let root = written.map_err(|none| {
            screen.refuse(none.to_string(), "an element of its own for each thing that may stand there")
        })?;
        if screen.json {
            let (text, open) = (grammar.write_text(&root), grammar.open);
            screen.show_value(&json!({"element": local, "grammar": text, "open": open}));
            return Ok(CommandExit::Done);
        }
        screen.show_document(grammar.write_text(&root).as_bytes());
        if !grammar.open.is_empty() {
            screen.say("The grammar does not hold these rules; they are checked when the answer comes:");
            grammar.open.iter().for_each(|line| screen.say(format!("  {line}")));
        }
        Ok(CommandExit::Done)
    }
}
