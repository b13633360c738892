//! Every command shows a pause, and `resume` reports what is still paused.

use std::path::Path;

use serde_json::{Value, json};

use super::cast::{ECHO, cast, say};
use crate::program::{Ran, Running, ask, run_file, systole};

fn send(folder: &Path, arguments: &[&str]) -> Ran {
    std::fs::write(folder.join("say.xml"), say("echo", "hello")).unwrap();
    systole(folder, &[&["send", "--file", "say.xml"], arguments].concat())
}

/// Checks the end of a command and that its output has all of these texts, with any line breaks.
#[track_caller]
fn says(ran: &Ran, words: &[&str]) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let flat = [ran.stdout.as_str(), &ran.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ");
    for words in words {
        assert!(flat.contains(words), "no {words:?} in\n{}{}", ran.stdout, ran.stderr);
    }
}

#[track_caller]
fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    let ran = systole(folder, &[arguments, &["--json"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Its own pause shows in `ps`, `why` and `tree`.
fn shows_its_own(at: &Path) {
    says(&systole(at, &["ps"]), &["paused", "by operator: lunch; <said> text="]);
    let why = systole(at, &["why", "@last"]);
    says(&why, &["is paused since ", "by operator: lunch", "next: systole resume sess-"]);
    assert!(!why.stdout.contains("the next message continues it"), "{why:?}");
    says(&systole(at, &["tree", "@last"]), &["paused opened", "by operator: lunch; systole resume sess-"]);
    for command in [&["why", "@last"][..], &["tree", "@last"]] {
        let told = json_of(at, command);
        assert_eq!(
            (&told["state"], &told["paused"]["note"]),
            (&json!("paused"), &json!("lunch")),
            "{told:#}"
        );
    }
    let told = json_of(at, &["ps"]);
    let thread = &told["threads"][0];
    assert_eq!(
        (&thread["state"], &thread["paused"]["by"]),
        (&json!("paused"), &json!("operator")),
        "{told:#}"
    );
    assert_eq!(thread["paused"]["thread"], thread["thread"], "{told:#}");
}

#[test]
fn f4_a_pause_is_seen_with_who_since_when_and_why() {
    let folder = cast(&[("echo", "entry: true", ECHO)]);
    let at = folder.path();
    let organism = Running::organism(at);
    assert_eq!(send(at, &["--key", "k"]).code, Some(0));
    says(&systole(at, &["pause", "@last", "--note", "lunch"]), &["is paused"]);
    shows_its_own(at);
    assert_eq!(json_of(at, &["ps"])["paused"], Value::Null);
    // The next message waits, and so does its sender.
    let sent = send(at, &["--thread", "@last", "--key", "k2"]);
    assert_eq!(sent.code, Some(6), "{sent:?}");
    says(&systole(at, &["ps"]), &["paused", "by operator: lunch; echo: waits"]);
    says(
        &systole(at, &["why", "@last"]),
        &["is paused since ", "echo attempt 1 of ", "next: systole resume sess-"],
    );
    says(&systole(at, &["resume", "@last"]), &["goes on"]);
    assert_eq!(send(at, &["--thread", "@last", "--key", "k2"]).code, Some(0));
    says(&systole(at, &["why", "@last"]), &["rests since", "the next message continues it"]);
    organism.interrupt();
}

/// Everything is paused, and one thread is also paused by itself: resuming that thread does not let
/// it continue.
fn resuming_one_is_honest(at: &Path) {
    says(&systole(at, &["pause", "--all", "--note", "moving house"]), &["everything is paused"]);
    let paused = [
        "is paused, with all below it, and everything is still paused by operator since ",
        ": moving house",
        "then systole resume --all",
    ];
    says(&systole(at, &["pause", "@last", "--note", "lunch"]), &paused);
    shows_its_own(at);
    assert_eq!(json_of(at, &["ps"])["paused"]["note"], "moving house");
    let everything =
        ["everything is paused since ", "by operator: moving house; end it with: systole resume --all"];
    says(&systole(at, &["ps"]), &everything);
    says(&systole(at, &["why"]), &everything);
    let held = [
        "does not go on: everything is still paused by operator since ",
        ": moving house",
        "try: systole resume --all",
    ];
    says(&systole(at, &["resume", "@last"]), &held);
    says(&systole(at, &["resume", "@last"]), &held);
    let told = json_of(at, &["resume", "@last"]);
    assert_eq!((&told["paused"], &told["held"]["note"]), (&json!(false), &json!("moving house")), "{told:#}");
    says(
        &systole(at, &["why", "@last"]),
        &["is paused since", "with everything by operator: moving house", "next: systole resume --all"],
    );
    says(
        &systole(at, &["tree", "@last"]),
        &["with everything by operator: moving house; systole resume --all"],
    );
    says(&systole(at, &["ps"]), &["paused", "with everything by operator: moving house; <said> text="]);
}

#[test]
fn f4_who_resumes_one_thread_hears_that_everything_is_still_paused() {
    let folder = cast(&[("echo", "entry: true", ECHO)]);
    let at = folder.path();
    assert_eq!(send(at, &["--key", "k"]).code, Some(0));
    // If no organism runs.
    let all = "everything goes on; threads that were paused one by one stay paused";
    for (what, words) in [("@last", "the thread is not paused"), ("--all", "no pause of everything")] {
        let refused = systole(at, &["resume", what]);
        assert!(refused.code == Some(4) && refused.stderr.contains(words), "{refused:?}");
    }
    let told = systole(at, &["ps"]);
    assert!(!told.stdout.contains("paused") && !told.stderr.contains("paused"), "{told:?}");
    resuming_one_is_honest(at);
    says(&systole(at, &["resume", "--all"]), &[all]);
    // If an organism runs: the command asks it.
    let organism = Running::organism(at);
    resuming_one_is_honest(at);
    let thread = json_of(at, &["ps"])["threads"][0]["thread"].as_str().unwrap().to_owned();
    let answer = ask(&run_file(at), "POST", &format!("/v1/threads/{thread}/resume"), &[], "");
    assert_eq!((answer.status, &answer.json["held"]["thread"]), (200, &Value::Null), "{answer:?}");
    assert_eq!(answer.json["held"]["by"], "operator", "{answer:?}");
    says(&systole(at, &["resume", "--all"]), &[all]);
    organism.interrupt();
}
