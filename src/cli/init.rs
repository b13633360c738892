//! `systole init`: an organism that runs and answers, written into a folder, from one of the templates. It overwrites
//! nothing: if a file exists already, it is named and nothing is written. Only a `.gitignore` that exists gets lines
//! added.

mod dialect;
pub(super) mod provider;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use systole_kit::writer::visible;

use super::examples::{AGENT, EXAMPLES, Example, FIRST, TEAM, TEMPLATES, WORKFLOWS};
use super::exit::CommandExit;
use super::fresh::{self, Fresh};
use super::hindered;
use super::place::quoted;
use super::screen::Screen;
use crate::config::ORGANISM_JSON_SCHEMA;
use provider::Choice;
use systole_agent::spec::Provider;
use systole_core::types::ids::Name;

/// Write an organism that runs and answers.
///
/// Into a new folder NAME, or into the current one. It overwrites nothing. Without a template it is
/// one shell script that answers; --list shows the others.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  systole init my-organism
  systole init my-agent --agent
  systole init --list")]
pub(super) struct Init {
    /// The folder, and the organism's name; without it the current folder
    #[arg(value_name = "NAME")]
    name: Option<PathBuf>,
    /// An agent with a tool; uses an API key of the environment, if any
    #[arg(long, group = "template")]
    agent: bool,
    /// Three agents, a search and a board, with rehearsed models
    #[arg(long, group = "template")]
    team: bool,
    /// A workflow to build on, with rehearsed models
    #[arg(long, group = "template", value_name = "WORKFLOW", value_parser = PossibleValuesParser::new(WORKFLOWS.iter().map(|e| e.name)))]
    workflow: Option<String>,
    /// An example to read and try
    #[arg(long, group = "template", value_name = "EXAMPLE", value_parser = PossibleValuesParser::new(EXAMPLES.iter().map(|e| e.name)))]
    example: Option<String>,
    /// Whose model the agent has, whatever keys are set
    #[arg(long, requires = "agent", conflicts_with_all = ["team", "workflow", "example"], value_parser = PossibleValuesParser::new(provider::words()))]
    provider: Option<String>,
    /// List the templates and examples, and write nothing
    #[arg(long, conflicts_with_all = ["name", "template", "provider"])]
    list: bool,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl Init {
    pub(super) fn run(self) -> CommandExit {
        let screen = Screen::of_process(self.json);
        if self.list {
            return list(screen);
        }
        self.write(screen).unwrap_or_else(|exit| exit)
    }

    fn example(&self) -> &'static Example {
        let named = EXAMPLES.iter().chain(WORKFLOWS);
        match self.example.as_ref().or(self.workflow.as_ref()) {
            _ if self.agent => AGENT,
            _ if self.team => TEAM,
            Some(name) => named.copied().find(|example| example.name == name).unwrap_or(FIRST),
            None => FIRST,
        }
    }

    fn write(&self, screen: Screen) -> Result<CommandExit, CommandExit> {
        let example = self.example();
        let folder = self.name.clone().unwrap_or_default();
        printable(screen, &folder)?;
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let wanted = self.provider.as_deref().and_then(Provider::named);
        let model = self.agent.then(|| provider::choose(wanted, is_set));
        let files = files(example, name(&folder).as_deref(), model.as_ref());
        fresh::write(screen, &folder, &files)?;
        let is_added = keep_from_git(screen, &folder)?;
        let place = folder.file_name().map(|_| quoted(&folder));
        let enter = place.as_ref().map(|place| format!("cd {place} && ")).unwrap_or_default();
        let next = format!("{enter}{}", example.next);
        if screen.json {
            let mut written: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.path)).collect();
            written.extend(is_added.then(|| folder.join(IGNORE_FILE)));
            screen.value(&json!({"example": example.name, "written": written, "next": next}));
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
            model.told("systole init NAME --agent").iter().for_each(|line| screen.say(line));
        }
        screen.say(format!("next: {next}"));
        Ok(CommandExit::Done)
    }
}

/// Prints the templates and examples, each with the command that writes it.
fn list(screen: Screen) -> CommandExit {
    let is_first = |one: &Example| one.name == FIRST.name;
    let option = |one: &Example| if is_first(one) { String::new() } else { format!(" --{}", one.name) };
    let templates = TEMPLATES.iter().map(|one| (one, option(one)));
    let examples = EXAMPLES.iter().map(|one| (one, format!(" --example {}", one.name)));
    let workflows = WORKFLOWS.iter().map(|one| (one, format!(" --workflow {}", one.name)));
    for (example, option) in templates.chain(workflows).chain(examples) {
        let command = format!("systole init NAME{option}");
        if screen.json {
            screen.value(&json!({"example": example.name, "about": example.about, "command": command}));
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
    let told = |error| hindered::unwritten(screen, &path, "the list of what git leaves out", &error);
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
fn printable(screen: Screen, folder: &Path) -> Result<(), CommandExit> {
    let text = folder.to_string_lossy();
    // `visible` lets line breaks and tabs through.
    let shown = visible(&text).replace('\n', "\\u{a}").replace('\t', "\\u{9}");
    if folder.to_str() == Some(&shown) {
        return Ok(());
    }
    screen.say_drawn(&format!("error: the name `{shown}` has characters that a screen cannot show"));
    screen.say("  try: a name of letters, digits, - and _");
    Err(CommandExit::Usage)
}

/// The name of an organism in that folder: the folder's name, if it is a valid name.
fn name(folder: &Path) -> Option<String> {
    let whole = std::path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_owned());
    let last = whole.file_name().map(|last| last.to_string_lossy().into_owned()).unwrap_or_default();
    (Name::parse(&last).is_ok() && !last.contains('.')).then_some(last)
}

/// The files of a template. A template to build on takes the name of its folder; the others keep theirs.
fn files(example: &Example, name: Option<&str>, model: Option<&Choice>) -> Vec<Fresh> {
    let file = |(path, text): &(&str, &str)| {
        if *path != "organism.yaml" {
            return Fresh::new(path, (*text).to_owned());
        }
        let mut text = format!("{FOR_EDITORS}{text}");
        if let Some(name) = name.filter(|_| example.is_to_build_on) {
            text = text.replacen(&format!("name: {}", example.name), &format!("name: {name}"), 1);
        }
        if let Some(model) = model {
            text = text.replacen(REHEARSED, &model.in_file(), 1);
            if model.provider != Provider::Script {
                text = dialect::written(&text);
            }
        }
        Fresh::new(path, text)
    };
    // An editor finds it beside the file, without a network.
    let schema = Fresh::new("organism.schema.json", ORGANISM_JSON_SCHEMA.to_owned());
    example.files.iter().map(file).chain([schema]).collect()
}

/// The first line of an organism file, which tells editors its keys.
const FOR_EDITORS: &str = "# yaml-language-server: $schema=organism.schema.json\n";
/// The agent's model as written in the template.
const REHEARSED: &str = "{provider: script, file: replies.yaml}";
