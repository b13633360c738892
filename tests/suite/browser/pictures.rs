//! The pictures of the console in `docs/pictures`. Stories play the same questions to templates each time, and tell what
//! the pages say, without ids, times and numbers. That text must be the one that is kept beside the pictures.
//! `tools/pictures` writes both again.

use std::fs;
use std::path::Path;

use serde_json::json;
use systole_organism::runfile::RunFile;

use super::Story;
use super::house::runs;
use crate::golden::{difference, is_rewritten};
use crate::program::{Running, systole};

const FOLDER: &str = "docs/pictures";
const TEXT: &str = "pages.txt";
/// Each pin waits for a person, for longer than any story lasts.
const OPTIONS: [&str; 6] = [
    "--set",
    "console.listen=127.0.0.1:0",
    "--set",
    "listeners.board.approval.when=always",
    "--set",
    "listeners.board.approval.expires=8h",
];

#[test]
fn h4_the_pictures_of_the_pages_are_current() {
    let Some(story) = Story::named("pictures") else { return };
    let home = tempfile::tempdir().unwrap();
    let made = systole(home.path(), &["init", "team", "--team"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let folder = home.path().join("team");
    let running = Running::organism_set(&folder, &OPTIONS, &[]);

    let run = RunFile::find_running(&folder.join("team.db")).expect("it runs");
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let facts = json!({
        "address": format!("http://{}", run.address),
        "token": run.token.secret(),
        "pictures": is_rewritten().then_some(&pictures),
    });
    let mut found = None;
    story.play_with(&facts, |asked| match asked["what"].as_str() {
        Some("compare") => {
            found = asked["text"].as_str().map(str::to_owned);
            json!({})
        }
        _ => runs(&folder, asked),
    });
    running.interrupt();

    is_as_kept(TEXT, &found.expect("the story told what its pages say"));
}

/// What the pages say must be what is kept beside the pictures.
fn is_as_kept(name: &str, found: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(name);
    if is_rewritten() {
        fs::write(&file, found).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == found,
        "the pages are not as they are in {FOLDER}: {name} {}; tools/pictures makes the pictures again",
        difference(&kept, found)
    );
}

/// A run whose page is looked at: its template, a change of its file, what is sent, and what a person decides. Without a
/// person it is looked at as it was when its last step began.
struct PicturedRun {
    name: &'static str,
    template: &'static [&'static str],
    change: (&'static str, &'static str),
    sends: &'static [&'static str],
    decides: Option<&'static [&'static str]>,
}

const RUNS: [PicturedRun; 3] = [
    PicturedRun {
        name: "release",
        template: &["--workflow", "release"],
        change: ("wait: 10m", "wait: 1s"),
        sends: &["release-request", "service=billing"],
        decides: Some(&["choose", "a1", "go"]),
    },
    PicturedRun {
        name: "review",
        template: &["--workflow", "review"],
        change: ("", ""),
        sends: &["ask", "Review the change."],
        decides: None,
    },
    PicturedRun {
        name: "team",
        template: &["--team"],
        change: ("", ""),
        sends: &["ask", "What makes a heart beat?"],
        decides: Some(&["approve", "a1"]),
    },
];

#[test]
fn f10_the_pictures_of_the_pages_of_runs_are_current() {
    let mut parts = Vec::new();
    for run in &RUNS {
        let Some(story) = Story::named("runs") else { return };
        let home = tempfile::tempdir().unwrap();
        let made = systole(home.path(), &[&["init", run.name], run.template].concat());
        assert_eq!(made.code, Some(0), "{made:?}");
        let folder = home.path().join(run.name);
        let file = folder.join("organism.yaml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace(run.change.0, run.change.1)).unwrap();
        // What a review finds around its own folder.
        fs::write(home.path().join("pulse.py"), "def pulse(beats, minutes):\n    return beats / minutes\n")
            .unwrap();
        let is_team = run.name == "team";
        let running = Running::organism_set(&folder, &OPTIONS[..if is_team { 6 } else { 2 }], &[]);
        let found = RunFile::find_running(&folder.join(format!("{}.db", run.name))).expect("it runs");
        let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
        let facts = json!({
            "address": format!("http://{}", found.address),
            "token": found.token.secret(),
            "pictures": is_rewritten().then_some(&pictures),
            "run": {"name": run.name, "sends": run.sends, "decides": run.decides},
        });
        story.play_with(&facts, |asked| match asked["what"].as_str() {
            Some("compare") => {
                parts.push(asked["text"].as_str().unwrap().to_owned());
                json!({})
            }
            _ => runs(&folder, asked),
        });
        running.interrupt();
    }
    assert_eq!(parts.len(), RUNS.len(), "each story told what its page says");
    is_as_kept("runs.txt", &format!("{}\n", parts.join("\n\n")));
}
