//! The cost of an agent's turn in the log: the closed log's file after threads of several lengths, minus the file of
//! a thread with one turn, next to the new text of a turn. Prompts are part of it, as links of their chains.

use std::path::Path;
use std::process::Command;

use crate::report::Table;

/// The lengths of the measured threads, in turns.
const TURNS: [usize; 3] = [10, 100, 400];

const FILE: &str = r"
organism: {name: bench, entry: helper}
payloads: {search: {query: text}, found: text}
models:
  main: {provider: script, window: 1000000, max_output: 1000}
listeners:
  search: {run: [/bin/sh, search.sh], accepts: [search], returns: [found]}
agents:
  helper: {model: main, dialect: xml, turns: 500, peers: [search], prompt: {identity: You find things.}}
log: {path: ./bench.db}
";

/// Answers every request with about four hundred bytes.
const SEARCH: &str = r#"
text=$(printf 'a line of what was found, with its words; %.0s' 1 2 3 4 5 6 7 8 9 10)
while read -r line; do
    delivery=${line#*delivery=\"}
    printf '<reply xmlns="urn:systole:listener:v1" delivery="%s"><found xmlns="https://xml-pipeline.org/ns/bench/v1">%s</found></reply>\n' "${delivery%%\"*}" "$text"
done
"#;

/// The model's text of a turn: about three hundred bytes.
fn said(turn: usize) -> String {
    let thought = format!("In turn {turn:03} I look for more of it. ").repeat(7);
    format!("<thinking>{thought}</thinking><search><query>thing {turn:03}</query></search>")
}

/// A conversation of that many turns in its own log; returns the file's size, and the mean size of a turn's new text.
fn conversation(folder: &Path, turns: usize) -> (f64, f64) {
    let done = "<thinking>So.</thinking><attempt_completion><result>Done.</result></attempt_completion>";
    let says: Vec<String> = (1..turns).map(said).chain([done.to_owned()]).collect();
    let replies: String = says.iter().map(|say| format!("  - say: {say}\n")).collect();
    std::fs::write(folder.join("organism.yaml"), FILE).unwrap();
    std::fs::write(folder.join("search.sh"), SEARCH).unwrap();
    std::fs::write(folder.join("replies.yaml"), format!("helper:\n{replies}")).unwrap();
    let mut ask = Command::new(env!("CARGO_BIN_EXE_systole"));
    let ran = ask.args(["ask", "Where is it all?"]).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let found = "a line of what was found, with its words; ".len() * 10;
    let words: usize = says.iter().map(String::len).sum::<usize>() + (turns - 1) * found;
    let file = std::fs::metadata(folder.join("bench.db")).unwrap().len();
    (file as f64, words as f64 / turns as f64)
}

/// Bytes of the log per turn, at several lengths of a thread.
pub(crate) fn of_turns(table: &mut Table) {
    let folder = || tempfile::tempdir_in("target").unwrap();
    let (empty, _) = conversation(folder().path(), 1);
    for turns in TURNS {
        // The same text gives the same file except for random ids, so one run is enough.
        let (file, words) = conversation(folder().path(), turns);
        let pair = ((file - empty) / (turns - 1) as f64, words);
        table.add(&format!("a turn of an agent on disk, of {turns}"), "B", "linear", &[pair]);
    }
}
