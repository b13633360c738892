//! The file for GitHub: its steps run here as they run there, in a folder with an organism, its tests and recorded
//! threads.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::export::done;
use crate::export_replayed::change;
use crate::program::systole;
use crate::replay::agent;

const FILE: &str = include_str!("../../config/github.yml");

/// Runs a step as GitHub does, and returns its exit code.
fn step(at: &Path, name: &str) -> Option<i32> {
    let file: Value = serde_saphyr::from_str(FILE).unwrap();
    let steps = file["jobs"]["test"]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["name"] == name).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_systole")).parent().unwrap().to_str().unwrap();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", step["run"].as_str().unwrap()]).current_dir(at).env("PATH", path);
    shell.output().unwrap().status.code()
}

#[test]
fn c6_the_file_for_github_plays_tests_and_replays_recorded_threads() {
    assert!(FILE.lines().count() <= 40);
    let folder = agent();
    let at = folder.path();
    done(systole(at, &["export", "@last", "-o", "case.test.zip"]));
    done(systole(at, &["export", "@last", "--redact", "sensitive", "-o", "redacted.zip"]));
    std::fs::create_dir(at.join("recorded")).unwrap();
    std::fs::copy(at.join("case.test.zip"), at.join("recorded/case.zip")).unwrap();
    let all = || ["check", "test", "replay"].map(|name| step(at, name));
    assert_eq!(all(), [Some(0); 3]);

    // Another prompt: the recorded thread would differ under the file, and is still what it was.
    change(at, "in one sentence", "in two sentences");
    assert_eq!(all(), [Some(0), Some(1), Some(0)]);

    // A recorded thread that cannot be replayed fails the step, and so does a mistake in the file.
    std::fs::copy(at.join("redacted.zip"), at.join("recorded/a.zip")).unwrap();
    change(at, "entry: assistant", "entry: asistant");
    assert_eq!(all(), [Some(3), Some(3), Some(5)]);
}
