//! `systole init`: an organism that runs and answers, written into a folder, from one of the templates. It overwrites
//! nothing: if a file exists already, it is named and nothing is written. Only a `.gitignore` that exists gets lines
//! added.

mod dialect;
mod ollama;
pub(super) mod provider;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser as _};
use serde_json::json;
use systole_kit::writer::make_visible;

use super::examples::{AGENT, EXAMPLES, Example, FIRST, REPLACED, TEAM, TEMPLATES, WORKFLOWS};
use super::exit::CommandExit;
use super::fresh::{self, NewFile};
use super::place::quote_path;
use super::screen::Screen;
use super::system_faults;
use ollama::LocalOllama;
use provider::ModelChoice;
use systole_agent::spec::Provider;
use systole_config::ORGANISM_JSON_SCHEMA;
use systole_core::types::ids::Name;

/// Write an organism that runs and answers.
///
/// Into a new folder NAME, or into the current one. It overwrites nothing. Without a template it is
/// one shell script that answers; --list shows the others. Agents use the model of an API key in the
/// environment, or of a local Ollama; without either, a script answers in place of a model.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole init my-organism
  systole init my-agent --agent
  systole init review --workflow review --provider ollama
  systole init --list")]
pub(super) struct InitCommand {
    /// The folder, and the organism's name; without it the current folder
    #[arg(value_name = "NAME")]
    name: Option<PathBuf>,
    /// An agent with a tool
    #[arg(long, group = "template")]
    agent: bool,
    /// Three agents, a search and a board
    #[arg(long, group = "template")]
    team: bool,
    /// A workflow to build on
    #[arg(long, group = "template", value_name = "WORKFLOW", value_parser = list_names(WORKFLOWS).try_map(check_replaced))]
    workflow: Option<String>,
    /// An example to read and try
    #[arg(long, group = "template", value_name = "EXAMPLE", value_parser = list_names(EXAMPLES).try_map(check_replaced))]
    example: Option<String>,
    #[arg(
        long,
        value_parser = PossibleValuesParser::new(provider::list_words()),
        hide_possible_values = true,
        help = provider::OF_WORDS,
        long_help = provider::describe_words(),
    )]
    provider: Option<String>,
    /// The model's name at its provider, instead of a fast and cheap one
    #[arg(long, value_name = "MODEL", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// List the templates and examples, and write nothing
    #[arg(long, conflicts_with_all = ["name", "template", "provider", "model"])]
    list: bool,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

/// The names that an option reads. Those of replaced templates are in no list.
fn list_names(list: &[&Example]) -> PossibleValuesParser {
    let replaced = REPLACED.iter().map(|(name, _)| PossibleValue::new(*name).hide(true));
    PossibleValuesParser::new(list.iter().map(|example| example.name.into()).chain(replaced))
}

/// Says what took the place of a template that is no longer written.
fn check_replaced(name: String) -> Result<String, String> {
    match REPLACED.iter().find(|(replaced, _)| *replaced == name) {
        Some((_, instead)) => Err(format!("it is no longer written; {instead}")),
        None => Ok(name),
    }
}

impl InitCommand {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = Screen::new(self.json);
        if self.list { Ok(list_templates(screen)) } else { self.write_template(screen) }
    }

    fn find_example(&self) -> &'static Example {
        let named = EXAMPLES.iter().chain(WORKFLOWS);
        match self.example.as_ref().or(self.workflow.as_ref()) {
            _ if self.agent => AGENT,
            _ if self.team => TEAM,
            Some(name) => named.copied().find(|example| example.name == name).unwrap_or(FIRST),
            None => FIRST,
        }
    }

    /// The model of its agents. `None` if it has no agents; then nothing may be asked for.
    fn choose_model(&self, screen: Screen, example: &Example) -> Result<Option<ModelChoice>, CommandExit> {
        if !example.files.iter().any(|(_, text)| text.contains(REHEARSED)) {
            let options = [("--provider", self.provider.is_some()), ("--model", self.model.is_some())];
            let Some((option, _)) = options.into_iter().find(|(_, is_given)| *is_given) else {
                return Ok(None);
            };
            let words = format!("{option}: {} has no agent, so it needs no model", example.name);
            let fix = "--agent, or another template with agents; systole init --list shows them";
            return Err(screen.refuse(words, fix));
        }
        let wanted = self.provider.as_deref().and_then(Provider::from_word);
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let local = || LocalOllama::find_at(&std::env::var(ollama::HOST).unwrap_or_default());
        let chosen = provider::choose_model(wanted, is_set, local);
        let Some(model) = &self.model else { return Ok(Some(chosen)) };
        let named = chosen.with_model(model).ok_or_else(|| {
            let words = format!("--model: it is not known whose model {model} is");
            screen.refuse(words, format!("{} beside it", provider::list_hosted().join(" or ")))
        });
        named.map(Some)
    }

    fn write_template(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        let example = self.find_example();
        let mut folder = self.name.clone().unwrap_or_default();
        if example.is_beside && folder.file_name().is_none() {
            folder.push(example.name);
        }
        check_printable(screen, &folder)?;
        let model = self.choose_model(screen, example)?;
        let files = build_files(example, derive_name(&folder).as_deref(), model.as_ref());
        fresh::write_files(screen, &folder, &files)?;
        let is_added = keep_from_git(screen, &folder)?;
        let place = folder.file_name().map(|_| quote_path(&folder));
        let enter = place.as_ref().map(|place| format!("cd {place} && ")).unwrap_or_default();
        let next = format!("{enter}{}", example.next);
        if screen.json {
            let mut written: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.path)).collect();
            written.extend(is_added.then(|| folder.join(IGNORE_FILE)));
            screen.show_value(&json!({"example": example.name, "written": written, "next": next}));
            return Ok(CommandExit::Done);
        }
        for file in &files {
            screen.say(format!("wrote {}", folder.join(&file.path).display()));
        }
        if is_added {
            screen.say(format!("wrote {}", folder.join(IGNORE_FILE).display()));
        }
        screen.say(format!("{}: {}", example.name, example.about));
        if let Some(model) = &model {
            let again = format!("systole init NAME{}", write_option(example));
            model.describe_choice(&again).iter().for_each(|line| screen.say(line));
        }
        screen.say(format!("next: {next}"));
        Ok(CommandExit::Done)
    }
}

/// The option that chooses an example, after a blank. The first one needs none.
fn write_option(example: &Example) -> String {
    let name = example.name;
    let is_in = |list: &[&Example]| list.iter().any(|one| one.name == name);
    match name {
        name if name == FIRST.name => String::new(),
        name if is_in(WORKFLOWS) => format!(" --workflow {name}"),
        name if is_in(EXAMPLES) => format!(" --example {name}"),
        name => format!(" --{name}"),
    }
}

/// Prints the templates and examples, each with the command that writes it.
fn list_templates(screen: Screen) -> CommandExit {
    for example in TEMPLATES.iter().chain(WORKFLOWS).chain(EXAMPLES) {
        let command = format!("systole init NAME{}", write_option(example));
        if screen.json {
            screen.show_value(&json!({"example": example.name, "about": example.about, "command": command}));
        } else {
            screen.show(&format!("{command}\n  {}", example.about));
        }
    }
    CommandExit::Done
}

/// The file that tells git what to ignore, and its content.
const IGNORE_FILE: &str = ".gitignore";
const IGNORED: &str = include_str!("init/gitignore");

/// Makes git ignore the log and secrets: writes a `.gitignore`, or adds the missing lines to an existing one. Returns
/// whether it wrote anything.
fn keep_from_git(screen: Screen, folder: &Path) -> Result<bool, CommandExit> {
    let path = folder.join(IGNORE_FILE);
    let told =
        |error| system_faults::report_unwritten(screen, &path, "the list of what git leaves out", &error);
    let there = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(told(error)),
    };
    let lacks = |line: &&str| !there.lines().any(|own| own.trim() == *line);
    if !IGNORED.lines().filter(|line| !line.starts_with('#')).any(|line| lacks(&line)) {
        return Ok(false);
    }
    let break_off = if there.is_empty() || there.ends_with('\n') { "" } else { "\n" };
    let added: String = IGNORED.lines().filter(lacks).map(|line| format!("{line}\n")).collect();
    let mut file = OpenOptions::new().append(true).create(true).open(&path).map_err(told)?;
    file.write_all(format!("{break_off}{added}").as_bytes()).map_err(told)?;
    Ok(true)
}

/// Refuses a name that looks like another one when it is printed: the reader could not find the folder.
fn check_printable(screen: Screen, folder: &Path) -> Result<(), CommandExit> {
    let text = folder.to_string_lossy();
    // `visible` lets line breaks and tabs through.
    let shown = make_visible(&text).replace('\n', "\\u{a}").replace('\t', "\\u{9}");
    if folder.to_str() == Some(&shown) {
        return Ok(());
    }
    screen.say_drawn(&format!("error: the name `{shown}` has characters that a screen cannot show"));
    screen.say("  try: a name of letters, digits, - and _");
    Err(CommandExit::Usage)
}

/// The name of an organism in that folder: the folder's name, if it is a valid name.
fn derive_name(folder: &Path) -> Option<String> {
    let whole = std::path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_owned());
    let last = whole.file_name().map(|last| last.to_string_lossy().into_owned()).unwrap_or_default();
    (Name::parse(&last).is_ok() && !last.contains('.')).then_some(last)
}

/// The files of a template. A template to build on takes the name of its folder; the others keep theirs.
fn build_files(example: &Example, name: Option<&str>, model: Option<&ModelChoice>) -> Vec<NewFile> {
    let file = |(path, text): &(&str, &str)| {
        if *path != "organism.yaml" {
            return NewFile::new(path, (*text).to_owned());
        }
        let mut text = format!("{FOR_EDITORS}{text}");
        if let Some(name) = name.filter(|_| example.is_to_build_on) {
            text = text.replacen(&format!("name: {}", example.name), &format!("name: {name}"), 1);
        }
        if let Some(model) = model {
            text = text.replacen(REHEARSED, &model.in_file(), 1);
            if model.provider != Provider::Script {
                text = dialect::with_dialects(&text);
            }
        }
        NewFile::new(path, text)
    };
    // An editor finds it beside the file, without a network.
    let schema = NewFile::new("organism.schema.json", ORGANISM_JSON_SCHEMA.to_owned());
    example.files.iter().map(file).chain([schema]).collect()
}

/// The first line of an organism file, which tells editors its keys.
const FOR_EDITORS: &str = "# yaml-language-server: $schema=organism.schema.json\n";
/// The model of agents as written in a template.
const REHEARSED: &str = "{provider: script, file: replies.yaml}";
