//! Converts an Agentfile, a flat list of goals in a language of its own, into an organism's file with a workflow.
//!
//! The text of an Agentfile comes in, the text of an organism.yaml goes out, with a note about each line that was left out
//! or changed. Other files are read through what the caller gives; nothing is written here, and nothing is looked up in a
//! log.

mod assemble;
mod declared;
mod labels;
mod statements;
mod steps;
mod tokens;
mod variables;
mod yaml_text;

use systole_kit::writer::visible;

/// A line that was left out or changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The line, from 1.
    pub line: usize,
    /// How it begins.
    pub written: String,
    /// Why.
    pub why: String,
}

/// What an Agentfile becomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Converted {
    /// The text of an organism.yaml.
    pub text: String,
    /// The name of the workflow in it.
    pub workflow: String,
    /// What was left out or changed, in the order of the lines.
    pub notes: Vec<Note>,
}

/// Why nothing was converted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotConverted {
    /// Why.
    pub why: String,
    /// What was left out before that was known.
    pub notes: Vec<Note>,
}

/// What the conversion asks its caller for.
pub trait Surroundings {
    /// The text of a file or of a skill that the Agentfile names, or why there is none.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    fn read(&self, path: &str) -> Result<String, String>;

    /// The model that agents get, as the organism's file writes it.
    fn model(&self) -> String;
}

/// Converts a text.
///
/// # Errors
/// When it has no goal that could become a step.
pub fn convert(text: &str, surroundings: &dyn Surroundings) -> Result<Converted, NotConverted> {
    let mut notes = Vec::new();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let statements = statements::read(&visible(&text), &mut notes);
    let declared = declared::Declared::of(statements, surroundings, &mut notes);
    if declared.goals.is_empty() {
        notes.sort_by_key(|note| note.line);
        let why = "it has no GOAL and no CONVERGE, so there is nothing to convert".to_owned();
        return Err(NotConverted { why, notes });
    }
    let planned = steps::plan(&declared, &mut notes);
    notes.sort_by_key(|note| note.line);
    notes.dedup();
    let text = assemble::organism(&declared, &planned, &notes, &surroundings.model());
    Ok(Converted { text, workflow: planned.workflow, notes })
}

/// The beginning of a text, with `…` if there is more of it.
fn short(text: &str, columns: usize) -> String {
    match text.char_indices().nth(columns) {
        // The result is the same on every screen.
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
