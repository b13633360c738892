//! Converts an Agentfile, a flat list of goals in its own language, into an organism's file with a workflow.
//!
//! Input: the text of an Agentfile. Output: the text of an organism.yaml, with a note about each line that was left
//! out or changed, or whose agent needs tools. Other files are read through the caller's `ConversionServices`. This module writes nothing and reads no
//! log.

mod assemble;
mod declarations;
mod labels;
mod needs;
mod statements;
mod steps;
mod tokens;
mod variables;
mod yaml_text;

use systole_kit::writer::make_visible;

/// A line that was left out or changed, or whose agent needs tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConversionNote {
    /// The line, from 1.
    pub line: usize,
    /// Its beginning.
    pub written: String,
    /// Why.
    pub why: String,
}

/// The result of a conversion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConversionResult {
    /// The text of an organism.yaml.
    pub text: String,
    /// The name of the workflow in it.
    pub workflow: String,
    /// The lines that were left out or changed, or whose agents need tools, in order.
    pub notes: Vec<ConversionNote>,
}

/// Why nothing was converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotConverted {
    /// The reason.
    pub why: String,
    /// The lines that were left out before the conversion failed.
    pub notes: Vec<ConversionNote>,
}

/// The services that the conversion needs from its caller.
pub trait ConversionServices {
    /// The text of a file or a skill that the Agentfile names.
    ///
    /// # Errors The reason why it cannot be read.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The model for agents, in the syntax of the organism's file.
    fn model(&self) -> String;
}

/// Converts a text.
///
/// # Errors If no goal can become a step.
pub fn convert(text: &str, surroundings: &dyn ConversionServices) -> Result<ConversionResult, NotConverted> {
    let mut notes = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let statements = statements::read(&make_visible(&text), &mut notes);
    let declared = declarations::Declared::of(statements, surroundings, &mut notes);
    if declared.goals.is_empty() {
        notes.sort_by_key(|note| note.line);
        let why = "it has no GOAL and no CONVERGE, so there is nothing to convert".to_owned();
        return Err(NotConverted { why, notes });
    }
    let planned = steps::plan(&declared, &mut notes);
    let names = assemble::Names::of(&declared, &planned);
    needs::tools(&declared, |statement| names.of_statement(statement), &mut notes);
    notes.sort_by_key(|note| note.line);
    notes.dedup();
    let text = assemble::organism(&declared, &planned, &names, &notes, &surroundings.model());
    Ok(ConversionResult { text, workflow: planned.workflow, notes })
}

/// The beginning of a text, with `…` if there is more.
fn short(text: &str, columns: usize) -> String {
    match text.char_indices().nth(columns) {
        // The width is fixed, so the result does not depend on the screen.
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
