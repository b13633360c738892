//! `systole trail` over the less common ways in which one record causes another, each in its own organism.

use std::path::Path;

use serde_json::Value;
use systole_core::types::ids::{Key, Name, ThreadId};

use super::audit_stage::{Actor, cast, flat, payload};
use super::trail::{links, pairs, told, values};
use crate::program::{Running, systole};

/// The thread that the first message under a key opens.
fn root(key: &str) -> ThreadId {
    let name = |text: &str| Name::parse(text).unwrap();
    ThreadId::new_root(&name("hello"), &name("operator"), &Key::parse(key).unwrap(), 12)
}

fn sends(folder: &Path, element: &str, key: &str) -> i32 {
    std::fs::write(folder.join("sent.xml"), payload(element, "x")).unwrap();
    systole(folder, &["send", "--file", "sent.xml", "--key", key]).code.unwrap()
}

/// Adds keys to the organism's file.
fn with(folder: &Path, keys: &str) {
    let file = folder.join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{yaml}\n{keys}\n")).unwrap();
}

/// The records of a thread.
fn records(folder: &Path, thread: &str) -> Vec<Value> {
    systole(folder, &["log", thread, "--json"]).json_lines()
}

/// The place of the first record of a thread with that code.
#[track_caller]
fn place(folder: &Path, thread: &str, code: &str) -> String {
    let all = records(folder, thread);
    let found = all.iter().find(|record| record["code"] == code);
    format!("{thread}@{}", found.unwrap_or_else(|| panic!("no {code} in {all:#?}"))["seq"])
}

/// A planner that sends these in its turns, in order.
fn turns(said: &[&str]) -> String {
    let said: Vec<String> = (1..).zip(said).map(|(turn, said)| format!("TURN_{turn}: '{said}'")).collect();
    format!("env: {{{}}}", said.join(", "))
}

#[test]
fn c12_a_word_to_a_child_and_its_end_lead_to_the_items_of_the_thread_above() {
    let child = root("k1").make_child("deep").unwrap();
    let dig = payload("search", "more");
    let env = turns(&[
        "<spawn-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\" suggested_sub_id=\"deep\"><initial-payload><search xmlns=\"urn:t\">first</search></initial-payload></spawn-thread>",
        &format!(
            "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><thread>{child}</thread></meta>{dig}</message>"
        ),
        &format!("<cancel-thread xmlns=\"https://xml-pipeline.org/ns/core/v1\" id=\"{child}\"/>"),
        "<planned xmlns=\"urn:t\">done</planned>",
    ]);
    let folder = cast(&[
        Actor("planner", "plan", "planned", &["peers: [search]", "turns: 6", &env]),
        Actor("search", "search", "found", &["turns: 4"]),
    ]);
    assert_eq!(sends(folder.path(), "plan", "k1"), 0);
    let (root, child) = (root("k1").to_string(), child.to_string());
    let steered = values(folder.path(), &[&place(folder.path(), &child, "steered")]);
    assert_eq!((&steered[0]["why"], &steered[1]["record"]["code"]), (&"steered".into(), &"steer".into()));
    assert_eq!(steered[1]["record"]["thread"], *root);
    let ended = values(folder.path(), &[child.as_str()]);
    assert_eq!((&ended[0]["record"]["kind"], &ended[0]["why"]), (&"terminal".into(), &"cancelled".into()));
    assert_eq!(ended[1]["place"], place(folder.path(), &root, "cancel-thread"));
    assert_eq!(ended.last().unwrap()["door"]["key"], "k1");
    // The news of that end, which the planner saw, is due to the end.
    let news = links(folder.path(), &[&place(folder.path(), &root, "inbox")]);
    assert_eq!([&*news[0].1, &*news[1].1], ["ended", "cancelled"]);
    let words = flat(&told(folder.path(), &[&child]));
    assert!(words.contains("↑ because the thread was cancelled with"), "{words}");
}

#[test]
fn c12_an_item_for_several_takers_is_due_to_the_turn_of_its_sender_and_each_answer_to_its_own() {
    let dug = |text: &str| turns(&[&payload("dug", text)]);
    let plan = turns(&[&payload("dig", "here"), &payload("planned", "done")]);
    let folder = cast(&[
        Actor("planner", "plan", "planned", &["peers: [north, south]", "turns: 3", &plan]),
        Actor("north", "dig", "dug", &[&dug("one")]),
        Actor("south", "dig", "dug", &[&dug("two")]),
    ]);
    with(folder.path(), "broadcast: {dig: all}");
    assert_eq!(sends(folder.path(), "plan", "k1"), 0);
    // Two records for the item, two answers in order of arrival, and the answer to the plan.
    let all = records(folder.path(), "@last");
    let last = values(folder.path(), &[]);
    let answers: Vec<String> = [4, 5].iter().map(|seq| format!("{}@{seq}", root("k1"))).collect();
    assert_eq!(
        (&last[0]["because"], &last[0]["shown"]),
        (&answers[1].clone().into(), &serde_json::json!([answers[0]]))
    );
    let opened = last[1]["because"].as_str().unwrap();
    let opening = all.iter().find(|record| opened.ends_with(&format!("@{}", record["seq"]))).unwrap();
    assert_eq!((&opening["to"], &opening["call"]), (&last[1]["record"]["from"], &last[1]["record"]["call"]));
    assert_eq!((last.len(), &last[2]["why"], &last[2]["of"]["call"]), (4, &"turn".into(), &"1".into()));
}

const FLAKY: &str = "cat > /dev/null\n\
    if [ -f seen ]; then echo '<dug xmlns=\"urn:t\">gold</dug>'; else touch seen; exit 1; fi\n";

#[test]
fn c12_the_attempt_that_gave_an_answer_is_reported() {
    let keys = ["run: [sh, flaky.sh]", "mode: once", "retry: {attempts: 2, backoff: 10ms..10ms}"];
    let folder = cast(&[Actor("dig", "dig", "dug", &keys)]);
    std::fs::write(folder.path().join("flaky.sh"), FLAKY).unwrap();
    assert_eq!(sends(folder.path(), "dig", "k1"), 0);
    assert_eq!(links(folder.path(), &[]), pairs(&[("@3", "turn"), ("@1", "door")]));
    assert_eq!(values(folder.path(), &[])[0]["of"]["attempt"], 2);
    assert!(told(folder.path(), &[]).contains("  ↑ in turn 1 of call 1, attempt 2, opened by\n"));
    // The core recorded the failed attempt itself, because of what was due.
    assert_eq!(links(folder.path(), &["@last@2"]), pairs(&[("@2", "core"), ("@1", "door")]));
}

#[test]
fn c12_what_a_person_put_in_the_place_of_a_payload_is_named() {
    let keys = ["approval: {when: always}", "env: {TURN_1: '<dug xmlns=\"urn:t\">gold</dug>'}"];
    let folder = cast(&[Actor("dig", "dig", "dug", &keys)]);
    std::fs::write(folder.path().join("other.xml"), payload("dig", "elsewhere")).unwrap();
    std::fs::write(folder.path().join("sent.xml"), payload("dig", "here")).unwrap();
    let organism = Running::organism(folder.path());
    let sent = systole(folder.path(), &["send", "--no-wait", "--file", "sent.xml"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let amended = systole(folder.path(), &["amend", "a1", "--file", "other.xml"]);
    assert_eq!(amended.code, Some(0), "{amended:?}");
    let mut follow = Running::start(folder.path(), &["log", "@last", "--follow"]);
    follow.shows("gold");
    assert_eq!(links(folder.path(), &[]), pairs(&[("@5", "turn"), ("@4", "person"), ("@1", "door")]));
    let words = flat(&told(folder.path(), &[]));
    assert!(
        words.contains("the other payload: #3 <dig> from operator ↑ about this, which needed"),
        "{words}"
    );
    assert_eq!(links(folder.path(), &["@last@3"]), pairs(&[("@3", "person"), ("@1", "door")]));
    // Each of the two payloads is found, including the one that was never delivered.
    assert_eq!(values(folder.path(), &["--text", "here"])[1]["record"]["seq"], 1);
    assert_eq!(values(folder.path(), &["--text", "elsewhere"])[1]["record"]["seq"], 3);
    drop(organism);
}
