//! `systole workflow from`: converts an Agentfile into an organism file with a workflow, and prints it.
//!
//! It reads the Agentfile and the texts that it names, and writes nothing. Each omitted or changed line is reported
//! with its number and the reason. The output was checked like `systole check` does.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use systole_agent::spec::Provider;
use systole_kit::writer::make_visible;

use crate::cli::exit::CommandExit;
use crate::cli::init::provider::{self, ModelChoice};
use crate::cli::screen::Screen;
use crate::cli::system_faults;
use crate::limits;
use systole_config as config;
use systole_config::agentfile::{
    ConversionNote, ConversionResult, ConversionServices, NotConverted, convert,
};
use systole_system::system::describe_error;

/// Convert an Agentfile into an organism's file, and print it.
///
/// The lines that cannot be converted, and those whose agents need tools, go to stderr with their numbers, and stand as
/// comments at the top of the result. Then the exit is 1.
#[derive(Args, Debug)]
pub(in crate::cli) struct FromCommand {
    /// The Agentfile
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl FromCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = Screen::new(self.json);
        let unread = |error| {
            system_faults::report_unread(screen, CommandExit::Usage, &self.path, "the Agentfile", &error)
        };
        let text = read_bounded(&self.path).map_err(unread)?;
        let folder = self.path.parent().unwrap_or(Path::new("")).join(".");
        let surroundings = BesideFiles { folder, model: choose_model() };
        let made = convert(&text, &surroundings).map_err(|refused| self.report_refusal(screen, &refused))?;
        let refused = config::load_text(Path::new("organism.yaml"), &made.text).err();
        if screen.json {
            screen.show_value(&json!({
                "workflow": made.workflow,
                "organism": made.text,
                "notes": made.notes.iter().map(as_json).collect::<Vec<_>>(),
                "problems": refused.iter().flat_map(|all| &all.0).map(|one| &one.message).collect::<Vec<_>>(),
            }));
        } else {
            screen.show_document(made.text.as_bytes());
            self.report_result(screen, &made, &surroundings.model);
        }
        if let Some(refused) = refused {
            screen.say_drawn(refused.to_string().trim_end());
            screen.say("the result needs these changes before it runs");
            return Ok(CommandExit::Configuration);
        }
        Ok(if made.notes.is_empty() { CommandExit::Done } else { CommandExit::Failed })
    }

    fn report_refusal(&self, screen: Screen, refused: &NotConverted) -> CommandExit {
        self.say_notes(screen, &refused.notes);
        let exit = screen.fail(CommandExit::Usage, format!("{}: {}", self.path.display(), refused.why));
        screen
            .say("  try: a file with lines such as GOAL report \"Write a report\"; other tools use the name");
        screen.say("  Agentfile for other formats");
        exit
    }

    fn say_notes(&self, screen: Screen, notes: &[ConversionNote]) {
        for note in notes {
            // The text of the file was made visible when it was read.
            let path = self.path.display().to_string();
            screen.say_drawn(&format!(
                "{}:{}: {}: {}",
                make_visible(&path),
                note.line,
                note.written,
                note.why
            ));
        }
    }

    fn report_result(&self, screen: Screen, made: &ConversionResult, model: &ModelChoice) {
        self.say_notes(screen, &made.notes);
        let lines: BTreeSet<usize> = made.notes.iter().map(|note| note.line).collect();
        let count = match lines.len() {
            0 => "every line is converted".to_owned(),
            1 => "1 line was left out or changed, or needs tools".to_owned(),
            many => format!("{many} lines were left out or changed, or need tools"),
        };
        screen.say(format!("workflow {}: {count}", made.workflow));
        screen.say(model.in_one_line());
    }
}

/// The model whose key is in the environment, otherwise one that needs a key.
fn choose_model() -> ModelChoice {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let found = provider::choose_model(None, is_set, || None);
    match found.provider {
        Provider::Script => provider::choose_model(Some(Provider::Anthropic), is_set, || None),
        _ => found,
    }
}

fn as_json(note: &ConversionNote) -> Value {
    json!({"line": note.line, "text": note.written, "why": note.why})
}

/// The files beside the Agentfile.
struct BesideFiles {
    folder: PathBuf,
    model: ModelChoice,
}

impl ConversionServices for BesideFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        // A foreign Agentfile must not include unrelated files.
        let is_inside =
            Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let outside = || "only files below the folder of the Agentfile are read".to_owned();
        if !is_inside {
            return Err(outside());
        }
        let words = |error: &Error| match error.kind() {
            ErrorKind::NotFound => "there is no such file below the folder of the Agentfile".to_owned(),
            _ => describe_error(error),
        };
        let found = self.folder.join(path);
        let found = if found.is_dir() { found.join("SKILL.md") } else { found };
        let real = found.canonicalize().map_err(|error| words(&error))?;
        let folder = self.folder.canonicalize().map_err(|error| words(&error))?;
        if !real.starts_with(&folder) {
            return Err(outside());
        }
        let text = read_bounded(&real).map_err(|error| words(&error))?;
        Ok(without_front_matter(&text).to_owned())
    }

    fn model(&self) -> String {
        self.model.in_file()
    }
}

/// The text after the front matter of a skill, which is between `---` lines.
fn without_front_matter(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let behind = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    behind.map_or(text, |(_, rest)| rest)
}

/// The text of a file that is not too large.
fn read_bounded(path: &Path) -> Result<String, Error> {
    if path.metadata()?.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !path.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limits::WORKFLOW_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limits::WORKFLOW_BYTES {
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {} KiB", limits::WORKFLOW_BYTES / 1024),
        ));
    }
    let text = String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))?;
    if text.contains('\0') {
        return Err(Error::new(ErrorKind::InvalidData, "it is not a text"));
    }
    Ok(text)
}
