//! `systole blame`: who wrote a line of a file in a workspace, or each of its lines. It reads the file and the log, and writes nothing.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::exit::CommandExit;
use super::looking::{Looking, PastPosition, read_composition};
use super::place::Place;
use super::screen::Screen;
use systole_config::{FolderUse, find_work_folder};
use systole_core::types::composition::{Listener, Reach};
use systole_core::types::ids::{Digest, Name};
use systole_queries::blame::{BlameRequest, blame, blame_file, text_at};
use systole_system::system::describe_error;

/// Which line, or which file.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole blame project/sums.py:3
  systole blame project/sums.py
  systole blame project/sums.py:3 --at 120"#)]
pub(super) struct BlameLine {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// FILE:LINE, a path from here and a line from 1; FILE alone lists all
    #[arg(value_name = "FILE:LINE")]
    spot: String,
}

impl BlameLine {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let (file, line) = split_spot(&self.spot);
        if file.is_empty() || line == Some(0) {
            let words = format!("{} names no line", self.spot);
            return Err(screen.refuse(words, "FILE:LINE, as project/sums.py:3"));
        }
        if !std::fs::metadata(file).map_or(true, |found| found.is_file()) {
            return Err(screen.refuse(format!("{file} is no file"), "a file of a workspace, and a line"));
        }
        let bytes = std::fs::read(file).map_err(|error| {
            let words = format!("{file} cannot be read: {}", describe_error(&error));
            screen.refuse(words, "a file of a workspace, and a line")
        })?;
        let composition = read_composition(&self.place, screen)?;
        let roots: Vec<(Name, PathBuf)> = composition.listeners.values().filter_map(root).collect();
        let Some((workspace, path)) = inside(&roots, Path::new(file)) else {
            let known: Vec<String> = roots.iter().map(|(_, root)| root.display().to_string()).collect();
            return Err(match known.is_empty() {
                true => {
                    screen.refuse("the organism has no workspace", "listeners: {hands: {workspace: ./src}}")
                }
                false => {
                    let fix = format!("a file below {}", known.join(", "));
                    screen.refuse(format!("{file} is in no workspace"), fix)
                }
            });
        };
        let looking = Looking::open(&self.place)?.show_at(self.past)?;
        let (mut text, mut hash) = (String::from_utf8_lossy(&bytes).into_owned(), Digest::hash_bytes(&bytes));
        if let Some(at) = looking.at {
            let logs = (&*looking.reader, &*looking.view);
            let then =
                text_at(logs, (&workspace, &path), (&text, hash)).map_err(|fault| looking.fault(&fault))?;
            let then = then.map_err(|why| {
                screen.refuse(format!("{file} at position {}: {why}", at.0), "a later position")
            })?;
            // Bytes that are no text stay as they are if nothing was taken back.
            if then != text {
                hash = Digest::hash_bytes(then.as_bytes());
                text = then;
            }
        }
        let Some(line) = line else {
            let found = blame_file(&*looking.view, (&workspace, &path), (&text, hash));
            let found = found.map_err(|fault| looking.fault(&fault))?;
            return Ok(print(screen, || found.as_json(), || found.lines(looking.now)));
        };
        let Some(words) = text.lines().nth(line - 1) else {
            let count = text.lines().count();
            let then = looking.at.map(|at| format!(" at position {}", at.0)).unwrap_or_default();
            let words = format!("{file} has {count} lines{then}, and no line {line}");
            return Err(screen.refuse(words, format!("{file}:{}", count.max(1))));
        };
        let asked = BlameRequest { workspace: &workspace, path: &path, line, text: words, hash };
        let found = blame(&*looking.view, &asked).map_err(|fault| looking.fault(&fault))?;
        Ok(print(screen, || found.as_json(), || found.lines(looking.now)))
    }
}

/// The file and the line of `FILE:LINE`, or a file alone.
fn split_spot(spot: &str) -> (&str, Option<usize>) {
    let parts = spot.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<usize>().ok()?)));
    parts.map_or((spot, None), |(file, line)| (file, Some(line)))
}

fn print(screen: Screen, json: impl Fn() -> Value, lines: impl Fn() -> Vec<String>) -> CommandExit {
    if screen.json {
        screen.show_value(&json());
    } else {
        lines().iter().for_each(|line| screen.show_drawn(line));
    }
    CommandExit::Done
}

/// The folder of a workspace.
fn root(listener: &Listener) -> Option<(Name, PathBuf)> {
    let (_, root, FolderUse::Changes) = find_work_folder(listener)? else { return None };
    let Reach::Process(program) = &listener.reach else { return None };
    Some((listener.name.clone(), program.directory.join(root)))
}

/// The workspace that a file is in, and its path there.
fn inside(roots: &[(Name, PathBuf)], file: &Path) -> Option<(Name, String)> {
    let file = file.canonicalize().ok()?;
    roots.iter().find_map(|(name, root)| {
        let path = file.strip_prefix(root.canonicalize().ok()?).ok()?;
        Some((name.clone(), path.to_str()?.to_owned()))
    })
}
