//! `systole init`: an organism that runs and answers, written into a folder; or an example. It writes over nothing: what
//! is there already is named, and then nothing is written at all.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::json;
use systole_kit::writer::visible;

use super::examples::{ALL, Example, FIRST};
use super::exit::Exit;
use super::fresh::{self, Fresh};
use super::place::quoted;
use super::screen::Screen;
use crate::organism::file::ORGANISM_JSON_SCHEMA;
use crate::words::ids::Name;

/// Writes an organism that runs and answers, without a model.
///
/// Into a new folder NAME, or into the current one. Nothing that is there is written over.
#[derive(Args, Debug)]
pub(super) struct Init {
    /// The folder, and the organism's name; without it the current folder
    #[arg(value_name = "NAME")]
    name: Option<PathBuf>,
    /// Write this example instead
    #[arg(long, value_name = "EXAMPLE", value_parser = PossibleValuesParser::new(ALL.iter().map(|e| e.name)))]
    example: Option<String>,
    /// Print data as JSON
    #[arg(long)]
    json: bool,
}

impl Init {
    pub(super) fn run(self) -> Exit {
        let screen = Screen::of_process(self.json);
        self.write(screen).unwrap_or_else(|exit| exit)
    }

    fn write(&self, screen: Screen) -> Result<Exit, Exit> {
        let example = ALL.iter().find(|e| self.example.as_deref() == Some(e.name)).copied().unwrap_or(FIRST);
        let folder = self.name.clone().unwrap_or_default();
        printable(screen, &folder)?;
        let files = files(example, &name(&folder));
        fresh::write(screen, &folder, &files)?;
        let enter =
            folder.file_name().map(|_| ["cd ", &quoted(&folder), " && "].concat()).unwrap_or_default();
        let next = [&enter, example.next].concat();
        if screen.json {
            let written: Vec<PathBuf> = files.iter().map(|file| folder.join(&file.path)).collect();
            screen.value(&json!({"example": example.name, "written": written, "next": next}));
        } else {
            for file in &files {
                screen.say(["wrote ", &folder.join(&file.path).display().to_string()].concat());
            }
            screen.say([example.name, ": ", example.about].concat());
            screen.say(["next: ", &next].concat());
        }
        Ok(Exit::Done)
    }
}

/// Refuses a name that would be another one where it is printed: nobody could go there by what is shown.
fn printable(screen: Screen, folder: &Path) -> Result<(), Exit> {
    let text = folder.to_string_lossy();
    // Line breaks and tabs are let through where a text is shown.
    let shown = visible(&text).replace('\n', "\\u{a}").replace('\t', "\\u{9}");
    if folder.to_str() == Some(&shown) {
        return Ok(());
    }
    screen.say_drawn(&["error: the name `", &shown, "` holds what no screen shows as it is"].concat());
    screen.say("  try: a name of letters, digits, - and _");
    Err(Exit::Usage)
}

/// What an organism in that folder is called: as the folder, where that is a name.
fn name(folder: &Path) -> String {
    let whole = std::path::absolute(Path::new(".").join(folder)).unwrap_or_else(|_| folder.to_owned());
    let last = whole.file_name().map(|last| last.to_string_lossy().into_owned()).unwrap_or_default();
    let fits = Name::parse(&last).is_ok() && !last.contains('.');
    if fits { last } else { FIRST.name.to_owned() }
}

/// The files of an example. Its own name is that of the example; the first one takes the name of its folder.
fn files(example: &Example, name: &str) -> Vec<Fresh> {
    let named = |path: &str, text: &str| {
        let ours = example.name == FIRST.name && path == "organism.yaml";
        let from = ["name: ", FIRST.name].concat();
        if ours { text.replacen(&from, &["name: ", name].concat(), 1) } else { text.to_owned() }
    };
    let files = example.files.iter().map(|(path, text)| {
        let text = named(path, text);
        let known = if *path == "organism.yaml" { [FOR_EDITORS, &text].concat() } else { text };
        Fresh::new(path, known)
    });
    // An editor looks for it beside the file, without a network.
    let schema = Fresh::new("organism.schema.json", ORGANISM_JSON_SCHEMA.to_owned());
    files.chain([schema]).collect()
}

/// The first line of an organism's file, by which editors know its keys.
const FOR_EDITORS: &str = "# yaml-language-server: $schema=organism.schema.json\n";
