//! The kit that judges workers, judged by workers: good ones pass, each planted fault is found by its check alone, and a
//! program that does nothing passes nothing that matters.
#![cfg(test)]

mod faults;
mod landed;
mod page;
mod workers;

use std::path::PathBuf;
use std::sync::{Condvar, Mutex};

use clap::Parser;
use serde_json::{Value, json};
use systole_config as config;
use systole_conform::{ConformArguments, PrintedJudgement};

/// The command line as tests give it.
#[derive(Parser)]
struct TestLine {
    #[command(flatten)]
    order: ConformArguments,
}

/// A file of the workspace.
pub(crate) fn find_file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A worker of the tests.
pub(crate) fn find_worker(name: &str) -> String {
    find_file(&format!("listeners/conform/tests/workers/{name}")).to_str().unwrap().to_owned()
}

/// The variables of the tests, with the tools that they pinned.
fn list_variables() -> systole_carriers::InheritedVariables {
    let mut around: systole_carriers::InheritedVariables = std::env::vars_os().collect();
    let tools = std::path::absolute(find_file("target/tools")).unwrap();
    let path = around.get(std::ffi::OsStr::new("PATH")).cloned().unwrap_or_default();
    let path = std::env::join_paths([tools.clone()].into_iter().chain(std::env::split_paths(&path))).unwrap();
    around.insert("PATH".into(), path);
    let sdk = std::path::absolute(find_file("listeners/sdk/python")).unwrap();
    let python = [tools.join("python"), sdk.join("tests"), sdk];
    around.insert("PYTHONPATH".into(), std::env::join_paths(python).unwrap());
    around
}

/// A listener of a file with tasks, or with questions.
pub(crate) fn describe_listener(run: &[&str], more: Value) -> Value {
    let schema = std::path::absolute(find_file("schemas/conform.xsd")).unwrap();
    let mut listener = json!({
        "run": run, "schema": schema, "accepts": ["task"], "returns": ["done", "remark"], "turns": 3,
        "in_flight": 4, "pass": ["PYTHONPATH", "PERL5LIB"],
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        if value.is_null() {
            listener.as_object_mut().unwrap().remove(key);
        } else {
            listener[key] = value.clone();
        }
    }
    listener
}

/// How many judgements there are at a time. Each has eight checks at once with a program for each, and waits that a machine
/// with more programs than it can run would not keep.
const AT_ONCE: usize = 3;
static JUDGING: Mutex<usize> = Mutex::new(0);
static JUDGED: Condvar = Condvar::new();

/// A judgement that goes on, and how many it counts for.
struct OpenJudgement(usize);

impl OpenJudgement {
    fn begin(weight: usize) -> OpenJudgement {
        let judging = JUDGING.lock().unwrap();
        *JUDGED.wait_while(judging, |judging| *judging + weight > AT_ONCE).unwrap() += weight;
        OpenJudgement(weight)
    }
}

impl Drop for OpenJudgement {
    fn drop(&mut self) {
        *JUDGING.lock().unwrap() -= self.0;
        JUDGED.notify_all();
    }
}

/// Judges a listener of an organism's file.
pub(crate) fn judge_listener(listener: &Value, arguments: &[&str]) -> PrintedJudgement {
    let _open = OpenJudgement::begin(1);
    judge(listener, arguments)
}

/// The same with no other judgement beside it.
pub(crate) fn judge_alone(listener: &Value, arguments: &[&str]) -> PrintedJudgement {
    let _open = OpenJudgement::begin(AT_ONCE);
    judge(listener, arguments)
}

fn judge(listener: &Value, arguments: &[&str]) -> PrintedJudgement {
    let text = json!({"organism": {"name": "judged"}, "listeners": {"worker": listener}}).to_string();
    let composition = config::load_text(&find_file("organism.yaml"), &text).unwrap().composition;
    let line = ["conform", "worker"].iter().chain(arguments);
    let order = TestLine::try_parse_from(line).unwrap().order;
    let subject = order.find_subject(Some(composition), list_variables()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(order.judge(subject)).unwrap_or_else(|(words, fix)| panic!("{words}; {fix}"))
}

/// The ids with an outcome.
pub(crate) fn list_ids(judged: &PrintedJudgement, outcome: &str) -> Vec<String> {
    let checks = judged.value["checks"].as_array().unwrap();
    let with = checks.iter().filter(|check| check["outcome"] == outcome);
    with.map(|check| check["id"].as_str().unwrap().to_owned()).collect()
}

/// The ids of what failed. On a busy machine a worker may renew later than within two seconds, so what fails unexpectedly
/// beside other judgements is judged again, alone. It is left out only if it passes then.
pub(crate) fn list_failures(
    judged: &PrintedJudgement,
    listener: &Value,
    arguments: &[&str],
    expected: &[&str],
) -> Vec<String> {
    let failed = list_ids(judged, "failed");
    let odd: Vec<&str> = failed.iter().map(String::as_str).filter(|id| !expected.contains(id)).collect();
    if odd.is_empty() {
        return failed;
    }
    println!("judged again, alone:\n{}", show_failures(judged));
    let only = odd.iter().flat_map(|id| ["--only", id]);
    let again = judge_alone(listener, &arguments.iter().copied().chain(only).collect::<Vec<_>>());
    println!("{}", show_failures(&again));
    let passes = list_ids(&again, "passed");
    failed.into_iter().filter(|id| expected.contains(&id.as_str()) || !passes.contains(id)).collect()
}

/// What a person reads of a judgement that went wrong.
pub(crate) fn show_failures(judged: &PrintedJudgement) -> String {
    judged
        .lines
        .iter()
        .filter(|line| !line.starts_with("passed") && !line.starts_with("not"))
        .cloned()
        .collect::<Vec<_>>()
        .join("\n")
}
