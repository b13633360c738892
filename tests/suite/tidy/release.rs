//! Everything that the release workflow and the package recipes name exists: Makefile targets, scripts, files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::hold;

const WORKFLOW: &str = ".github/workflows/release.yml";

/// The commands of the workflow, step by step.
fn commands() -> Vec<String> {
    let text = fs::read_to_string(WORKFLOW).unwrap();
    let read: Value = serde_saphyr::from_str(&text).unwrap();
    let steps = read["jobs"]["packages"]["steps"].as_array().expect("the workflow has steps").clone();
    for step in &steps {
        assert!(step["run"].is_string() != step["uses"].is_string(), "a step runs or uses something: {step}");
    }
    steps.iter().filter_map(|step| step["run"].as_str()).map(str::to_owned).collect()
}

#[test]
fn the_release_workflow_names_targets_and_scripts_that_exist() {
    let makefile = fs::read_to_string("Makefile").unwrap();
    let mut breaches = Vec::new();
    let mut named = 0;
    for command in commands() {
        let words: Vec<&str> = command.split_whitespace().collect();
        if let ["make", target] = words[..] {
            named += 1;
            if !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))) {
                breaches.push(format!("make {target}"));
            }
        }
        for script in words.iter().filter(|word| word.starts_with("tools/")) {
            named += 1;
            if !Path::new(script).exists() {
                breaches.push((*script).to_owned());
            }
        }
    }
    assert!(named >= 2, "the workflow is read wrongly");
    hold("the release workflow names what is not there", &breaches);
}

/// Anyone with the sources must be able to build a release.
#[test]
fn the_release_workflow_needs_no_secret() {
    let text = fs::read_to_string(WORKFLOW).unwrap();
    assert!(!text.contains("secrets."), "only the token that the host makes for each run is allowed");
}
