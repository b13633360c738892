//! `systole schema diff`: what a change of schemas does to payloads, by their models and by the messages of a log.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use systole_kit::schema::{ElementChange, ElementDiff, PartChange, SchemaModel};

use super::past;
use super::side::SchemaSide;
use crate::cli::exit::CommandExit;
use crate::cli::looking::Looking;
use crate::cli::place::Place;
use crate::cli::screen::Screen;
use systole_show::columns::wrapped;
use systole_show::layout::{TextTone, paint};

/// Says what a change of schemas does to payloads.
///
/// Each global element is the same, compatible (every old payload is still valid), narrower or
/// incompatible. Then every message of the log is judged by the new schemas.
#[derive(Args, Debug)]
pub(super) struct SchemaDiff {
    #[command(flatten)]
    place: Place,
    /// The schema before: an XSD, an organism's file, or a folder
    old: PathBuf,
    /// The schema after
    new: PathBuf,
}

/// A namespace that one side or both declare.
struct NamespaceDiff {
    namespace: String,
    /// The files of both sides; empty for the side that has none.
    files: (String, String),
    elements: Vec<ElementDiff>,
}

impl SchemaDiff {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let (old, new) =
            (SchemaSide::read_side(screen, &self.old)?, SchemaSide::read_side(screen, &self.new)?);
        let found = compare_sides(&old, &new);
        let past = match self.open_log(screen) {
            Some(looking) => {
                let looking = looking?;
                let past = past::judge_messages(&looking, &old, &new)?;
                Some((looking, past))
            }
            None => None,
        };
        if screen.json {
            let log = past.as_ref().map(|(looking, past)| past.as_json(&looking.log));
            let elements: Vec<Value> = found.iter().flat_map(as_json).collect();
            screen.show_value(&json!({"elements": elements, "log": log}));
        } else {
            list_lines(&found).iter().for_each(|line| screen.show_drawn(line));
            match &past {
                Some((looking, past)) => {
                    past.list_lines(&looking.log).iter().for_each(|line| screen.show_drawn(line))
                }
                None => screen.say("no log was looked at; --log PATH names one"),
            }
        }
        let refused = past.is_some_and(|(_, past)| past.refused > 0);
        Ok(if refused { CommandExit::Failed } else { CommandExit::Done })
    }

    /// The named log, or that of the organism's file if there is one already.
    fn open_log(&self, screen: Screen) -> Option<Result<Looking, CommandExit>> {
        let is_there = match self.place.given_log().is_some() || !self.place.has_file() {
            true => Ok(self.place.given_log().is_some()),
            false => self.place.log(screen).map(|log| log.exists()),
        };
        match is_there {
            Ok(is_there) => is_there.then(|| Looking::open(&self.place)),
            Err(exit) => Some(Err(exit)),
        }
    }
}

/// Compares the namespaces of both sides.
fn compare_sides(old: &SchemaSide, new: &SchemaSide) -> Vec<NamespaceDiff> {
    let mut found = Vec::new();
    let nothing = SchemaModel::new_empty();
    for (before, source) in old.models.iter().zip(&old.sources) {
        let after = new.find_schema(before.target_namespace());
        let (model, xsd, file) = match after {
            Some((model, source)) => (model, source.xsd.as_slice(), source.name.clone()),
            None => (&nothing, &b""[..], String::new()),
        };
        found.push(NamespaceDiff {
            namespace: before.target_namespace().to_owned(),
            files: (source.name.clone(), file),
            elements: before.compare_with(&source.xsd, model, xsd),
        });
    }
    for (after, source) in new.models.iter().zip(&new.sources) {
        if old.find_schema(after.target_namespace()).is_none() {
            found.push(NamespaceDiff {
                namespace: after.target_namespace().to_owned(),
                files: (String::new(), source.name.clone()),
                elements: nothing.compare_with(b"", after, &source.xsd),
            });
        }
    }
    found
}

fn choose_tone(change: ElementChange) -> TextTone {
    match change {
        ElementChange::Same | ElementChange::Added | ElementChange::Compatible => TextTone::Good,
        ElementChange::Removed | ElementChange::Narrower | ElementChange::Incompatible => TextTone::Bad,
    }
}

fn list_lines(found: &[NamespaceDiff]) -> Vec<String> {
    let mut lines = Vec::new();
    for space in found {
        for diff in &space.elements {
            let change = paint(choose_tone(diff.change), diff.change.as_str());
            let name = format!("{{{}}}{}", space.namespace, diff.element);
            lines.extend(wrapped("", 4, &format!("{change}  {name}")));
            lines.extend(diff.parts.iter().flat_map(|part| wrapped("  ", 6, &describe_change(space, part))));
        }
    }
    lines
}

/// A change with its places: `/order/n: the largest value was 9 and is 5 (old.xsd:3, new.xsd:4)`.
fn describe_change(space: &NamespaceDiff, part: &PartChange) -> String {
    let place = |file: &String, line: Option<u64>| line.map(|line| format!("{file}:{line}"));
    let places = [place(&space.files.0, part.old_line), place(&space.files.1, part.new_line)];
    let places: Vec<String> = places.into_iter().flatten().collect();
    let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
    format!("{}: {}{places}", part.path, part.words)
}

fn as_json(space: &NamespaceDiff) -> Vec<Value> {
    let part = |part: &PartChange| {
        json!({
            "path": part.path, "change": part.words, "narrower": part.effect.narrower,
            "wider": part.effect.wider, "old_line": part.old_line, "new_line": part.new_line,
        })
    };
    let one = |diff: &ElementDiff| {
        let parts: Vec<Value> = diff.parts.iter().map(part).collect();
        json!({
            "namespace": space.namespace, "element": diff.element, "change": diff.change.as_str(),
            "parts": parts,
        })
    };
    space.elements.iter().map(one).collect()
}
