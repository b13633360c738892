//! Finds the agents whose words ask for files, commands or the web, which the tool of an Agentfile gives to every agent
//! and an organism only to those that have a peer for it.
//!
//! Input: an Agentfile and the names of its agents in the organism's file. Output: a note for the first statement with
//! such a need of an agent. It guesses by words, so it only says what may be missing and adds nothing.

use std::collections::BTreeSet;

use super::ConversionNote;
use super::declarations::{Declared, note};
use super::statements::Statement;
use crate::limits;

/// What an agent lacks, and the lines that give it.
const FILES: &str =
    "files or commands: give it `peers: [hands]`, and add `listeners: {hands: {workspace: ./FOLDER}}`";
const WEB: &str = "the web: give it a peer for that, such as a listener with `mcp:`";

/// Activities, the objects that make them need something, and what that is.
const NEEDS: [(&str, &str, &str); 4] = [
    (
        "read write create edit modify delete save open list scan search explore analyze analyse inspect examine find load \
         rename move update",
        "file files directory directories folder folders codebase repository repo disk workspace",
        FILES,
    ),
    (
        "read review refactor fix implement change analyze analyse explore examine understand inspect edit modify",
        "codebase code source project repository repo tests",
        FILES,
    ),
    (
        "run rerun execute install",
        "command commands test tests script scripts build linter suite program git package packages dependencies",
        FILES,
    ),
    ("search browse fetch visit query", "web internet online url urls website websites", WEB),
];

/// Names of tools and programs that need no object.
const PROGRAMS: [&str; 12] =
    ["bash", "grep", "glob", "shell", "git", "npm", "pip", "pytest", "cargo", "curl", "docker", "webfetch"];

/// Endings of the names of files.
const ENDINGS: [&str; 14] = [
    ".md", ".py", ".rs", ".js", ".ts", ".go", ".json", ".yaml", ".yml", ".toml", ".txt", ".csv", ".html",
    ".sh",
];

/// Adds the notes. `named` gives the agents of a goal or an agent, as the organism's file names them.
pub(super) fn tools(
    declared: &Declared,
    named: impl Fn(&Statement) -> Vec<String>,
    notes: &mut Vec<ConversionNote>,
) {
    let mut known = BTreeSet::new();
    for statement in declared.agents.iter().chain(&declared.goals) {
        let Some((words, need)) = statement.text.as_deref().and_then(need) else { continue };
        let mut agents = named(statement);
        agents.retain(|agent| known.insert((agent.clone(), need)));
        if agents.is_empty() {
            continue;
        }
        let (agents, words) = (agents.join(", "), super::short(&words, 40));
        note(notes, statement, format!("{agents} may need tools (\"{words}\") for {need}"));
    }
}

/// The words of a text that need something, and what that is.
fn need(text: &str) -> Option<(String, &'static str)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let plain: Vec<String> = words.iter().map(|word| plain(word)).collect();
    for (at, word) in plain.iter().enumerate() {
        let written = words.get(at).copied().unwrap_or_default();
        if PROGRAMS.contains(&word.as_str()) || ENDINGS.iter().any(|ending| word.ends_with(ending)) {
            return Some((written.to_owned(), FILES));
        }
        for (activities, objects, need) in NEEDS {
            if !is_among(word, activities) {
                continue;
            }
            let end =
                plain.iter().skip(at + 1).take(limits::NEED_WORDS).position(|other| is_among(other, objects));
            if let Some(found) = end.and_then(|end| words.get(at..=at + 1 + end)) {
                return Some((found.join(" "), need));
            }
        }
    }
    None
}

/// A word without the signs around it.
fn plain(word: &str) -> String {
    let is_edge = |c: char| !c.is_alphanumeric();
    let begun = word.trim_start_matches(|c: char| is_edge(c) && c != '.');
    begun.trim_end_matches(is_edge).to_lowercase()
}

/// Whether a word, or a part of a name such as `test_command`, is in a list.
fn is_among(word: &str, list: &str) -> bool {
    word.split(['_', '-', '/']).any(|part| list.split_whitespace().any(|one| one == part))
}
