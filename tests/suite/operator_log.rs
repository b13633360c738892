//! What the operator reads on stderr of an organism that runs: each thing that fails is one line, with what, where and
//! the fix. The troubles of a full disk are in `disk.rs`, and the form of a line in `src/cli/operator_log.rs`.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};

use crate::http::house;
use crate::organism::say;
use crate::program::{Events, Running, ask, connect, run_file, systole};
use crate::tidy::sources;

/// The fields that an event may have besides its message. None of them holds a payload or a secret.
const FIELDS: [&str; 4] = ["why", "fix", "listener", "signal"];

/// The events in our sources: the file, the level, and what is written between its brackets.
fn events() -> Vec<(String, &'static str, String)> {
    let mut found = Vec::new();
    let is_ours = |path: &str| path.starts_with("src/") || path.starts_with("crates/");
    for source in sources().into_iter().filter(|source| is_ours(&source.path)) {
        for level in ["error", "warn", "info", "debug", "trace"] {
            let begins = format!("tracing::{level}!(");
            for (at, _) in source.text.match_indices(&begins) {
                let rest = source.text.get(at + begins.len()..).unwrap();
                let inside = rest.split(");").next().unwrap_or_default();
                found.push((
                    source.path.clone(),
                    level,
                    inside.split_whitespace().collect::<Vec<_>>().join(" "),
                ));
            }
        }
    }
    found
}

#[test]
fn every_error_and_warning_for_the_operator_names_its_fix_and_no_payload() {
    let all = events();
    assert!(all.len() >= 28, "{all:?}");
    for (file, level, inside) in all.iter().filter(|(file, ..)| file != "src/cli/operator_log.rs") {
        let before = inside.split('"').next().unwrap_or_default();
        let fields =
            before.split(", ").map(|field| field.trim_end_matches(',').trim()).filter(|f| !f.is_empty());
        let names: Vec<&str> = fields
            .map(|field| field.split('=').next().unwrap_or(field).trim().trim_start_matches(['%', '?']))
            .collect();
        assert!(names.iter().all(|name| FIELDS.contains(name)), "{file}: {inside}");
        let needs_fix = ["error", "warn"].contains(level);
        assert!(!needs_fix || inside.contains("fix"), "{file}: no `fix`: {inside}");
    }
}

#[test]
fn what_cannot_be_read_for_a_client_is_a_line_for_the_operator() {
    let folder = house();
    let mut organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let wait = || {
        ask(&run, "POST", "/v1/messages", &[("Systole-Wait", "60"), ("Idempotency-Key", "k1")], &say("hello"))
    };
    let thread = wait().json["thread"].as_str().unwrap().to_owned();
    let log = rusqlite::Connection::open(folder.path().join("hello.db")).unwrap();
    let edit = "UPDATE record SET body = CAST('<other/>' AS BLOB) WHERE seq = 2 AND thread = (SELECT id FROM thread WHERE text = ?1)";
    assert_eq!(log.execute(edit, [&thread]).unwrap(), 1);

    // An outcome and a page of records.
    assert_eq!(wait().json["result"]["code"], "thread.damaged");
    let line = organism.says("an outcome cannot be read for the sender that waits for it: ");
    assert!(line.contains(" error: ") && line.contains("hello.db is damaged at position "), "{line}");
    assert!(
        line.ends_with("; try: systole doctor, where the log is\n") && !line.contains("<other/>"),
        "{line}"
    );
    let read = ask(&run, "GET", &format!("/v1/threads/{thread}/records"), &[], "");
    assert_eq!(read.status, 503, "{read:?}");
    organism.says("the log cannot be read for a client: ");

    drop(organism);
}

#[test]
fn a_stream_that_ends_and_a_search_without_its_file_are_lines_for_the_operator() {
    let folder = house();
    let first = Running::organism(folder.path());
    let sent =
        ask(&run_file(folder.path()), "POST", "/v1/messages", &[("Systole-Wait", "60")], &say("hello"));
    assert_eq!(sent.status, 200, "{sent:?}");
    first.signal(Signal::TERM);
    assert_eq!(first.end().code, Some(0));
    // An organism that starts anew has the records on disk only.
    let mut organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    fs::create_dir(folder.path().join("hello.db.find")).unwrap();
    let found = ask(&run, "GET", "/v1/find?q=hello", &[], "");
    assert!(found.status == 200 && found.json.to_string().contains("hello"), "{found:?}");
    let line = organism.says("a search of a client takes longer than it has to: ");
    assert!(line.contains(" warning: ") && line.contains("hello.db.find: "), "{line}");
    assert!(line.contains("; try: the right to write beside the log"), "{line}");

    let log = rusqlite::Connection::open(folder.path().join("hello.db")).unwrap();
    let edit = "UPDATE record SET body = CAST('<other/>' AS BLOB) WHERE seq = 2 AND thread = (SELECT id FROM thread WHERE text = ?1)";
    assert_eq!(log.execute(edit, [sent.json["thread"].as_str().unwrap()]).unwrap(), 1);
    let mut events = Events::open(&run, "?from=0", &[]);
    let told = std::iter::from_fn(|| events.heard()).find(|(id, ..)| id.is_none());
    let (_, name, refusal) = told.expect("the stream says why it ends");
    assert_eq!((name.as_str(), &refusal["code"]), ("fault", &"thread.damaged".into()), "{refusal}");
    assert_eq!(events.heard(), None);
    let line = organism.says("a stream of events ended: the log cannot be read: ");
    assert!(line.contains(" error: ") && !line.contains("<other/>"), "{line}");
    drop(organism);
}

#[test]
fn a_door_without_descriptors_is_said_once_and_when_it_takes_connections_again() {
    let folder = house();
    let mut organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let pid = Pid::from_raw(i32::try_from(organism.pid()).unwrap());
    let open = fs::read_dir(format!("/proc/{}/fd", organism.pid())).unwrap().count() as u64;
    let few = Rlimit { current: Some(open), ..getrlimit(Resource::Nofile) };
    let before = prlimit(pid, Resource::Nofile, few).unwrap();
    let waiting: Vec<_> = (0..20).map(|_| connect(&run)).collect();
    let line = organism.says("the HTTP door cannot take a connection: ");
    assert!(line.contains(" error: ") && line.contains("; try: a higher limit: ulimit -n, "), "{line}");
    prlimit(pid, Resource::Nofile, before).unwrap();
    drop(waiting);
    // Single connections that are taken between others that are not do not end it.
    assert!(Command::new("sleep").arg("4").status().unwrap().success());
    assert_eq!(ask(&run, "GET", "/v1/status", &[], "").status, 200);
    organism.says(" note: the HTTP door takes connections again");
    organism.signal(Signal::TERM);
    let ran = organism.end();
    assert_eq!(ran.stderr.matches("the HTTP door").count(), 2, "{}", ran.stderr);
}

#[test]
fn the_form_of_a_line_is_a_choice_and_an_unknown_one_is_named() {
    let folder = house();
    let ran = systole_with_log(folder.path(), "verbose");
    assert!(ran.contains("note: SYSTOLE_LOG: `verbose` is not known and is not used"), "{ran}");
    assert!(ran.contains("  try: debug, json, or both"), "{ran}");
    assert!(!systole_with_log(folder.path(), "debug,json").contains("SYSTOLE_LOG"));
    let mut organism = Running::organism_with(folder.path(), &[("SYSTOLE_LOG", "json")]);
    fs::create_dir(folder.path().join("hello.db.notes")).unwrap();
    ask(&run_file(folder.path()), "GET", "/proof", &[("Accept", "application/json")], "");
    let line = organism.says("the checkpoints beside the log cannot be read for a client");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&line["level"], &line["fix"]),
        (&"ERROR".into(), &"the path of a file in it".into()),
        "{line}"
    );
    drop(organism);
    assert_eq!(systole(folder.path(), &["check"]).code, Some(0));
}

#[test]
fn under_systemd_an_error_begins_with_its_level() {
    let folder = house();
    let journal = "export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2)";
    let ran = Running::under(folder.path(), journal, &["ps"]).end();
    assert!(ran.code == Some(5) && ran.stderr.starts_with("<3>error: "), "{ran:?}");
    let mut organism = Running::under(folder.path(), journal, &["run"]);
    organism.says("its log is");
    fs::create_dir(folder.path().join("hello.db.notes")).unwrap();
    ask(&run_file(folder.path()), "GET", "/proof", &[("Accept", "application/json")], "");
    let line = organism.says("the checkpoints beside the log cannot be read");
    assert!(line.starts_with("<3>error: the checkpoints beside the log"), "{line}");
    drop(organism);
}

fn systole_with_log(folder: &std::path::Path, choice: &str) -> String {
    crate::program::systole_with(folder, &["check"], &[("SYSTOLE_LOG", choice)]).stderr
}
