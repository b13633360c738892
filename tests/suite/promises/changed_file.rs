//! The organism's file changes while work is open: work without a listener is reported, and no approval of it is
//! accepted.

use std::path::Path;

use super::cast::{ECHO, Part, cast, say};
use crate::program::{Ran, Running, systole};

const GUARD: [Part<'_>; 1] = [("guard", "entry: true, approval: {when: always}", ECHO)];

fn send(folder: &Path) -> Ran {
    std::fs::write(folder.join("say.xml"), say("guard", "drop the table")).unwrap();
    systole(folder, &["send", "--file", "say.xml", "--key", "k"])
}

/// Changes the organism's file, and returns its earlier text.
fn change(folder: &Path, from: &str, to: &str) -> String {
    let file = folder.join("organism.yaml");
    let was = std::fs::read_to_string(&file).unwrap();
    assert!(was.contains(from), "{was}");
    std::fs::write(file, was.replace(from, to)).unwrap();
    was
}

#[track_caller]
fn says(ran: &Ran, code: i32, words: &[&str]) {
    let flat = [ran.stdout.as_str(), &ran.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for words in words {
        assert!(flat.contains(words), "no {words:?} in\n{}{}", ran.stdout, ran.stderr);
    }
}

fn is_undecided(at: &Path) {
    let log = systole(at, &["log", "@last"]);
    assert!(!log.stdout.contains("is approved") && !log.stdout.contains("is amended"), "{log:?}");
    says(&systole(at, &["approve"]), 0, &["a1 <say> to guard, from operator"]);
}

/// Every answer but no is refused, with the reason, and nothing is decided.
fn refuses_the_approval(at: &Path, why: &str) {
    let waits = format!("approval a1 waits for guard, which {why}");
    let try_ = "try put guard back into the file as it was, or systole reject a1 --note WHY";
    says(&systole(at, &["approve", "a1"]), 4, &["refused: route.unavailable", &waits, try_]);
    says(&systole(at, &["amend", "a1", "--file", "say.xml"]), 4, &["refused: route.unavailable", &waits]);
    is_undecided(at);
}

#[test]
fn g4_an_approval_is_refused_while_the_file_no_longer_has_its_listener() {
    for (from, to, why) in [
        ("  guard: {", "  warden: {", "the organism's file no longer has"),
        ("accepts: [say]", "accepts: [said]", "no longer takes <say>"),
    ] {
        let folder = cast(&GUARD);
        let at = folder.path();
        assert_eq!(send(at).code, Some(6));
        let was = change(at, from, to);
        let waits = format!("(approval a1) waits for guard, which {why}");
        says(
            &systole(at, &["doctor"]),
            0,
            &["note open work: call 1 of sess-", &waits, "try: put guard back"],
        );
        refuses_the_approval(at, why);

        let mut organism = Running::organism(at);
        let told = organism.says("call 1 of sess-");
        assert!(told.contains(&waits), "{told}");
        organism.says("try: put guard back into the file as it was, or systole reject a1 --note WHY");
        refuses_the_approval(at, why);
        organism.interrupt();

        // With the listener back, the same approval works.
        std::fs::write(at.join("organism.yaml"), was).unwrap();
        says(&systole(at, &["approve", "a1"]), 0, &["approval a1 is approved"]);
        says(&send(at), 0, &["guard heard drop the table"]);
    }
}

/// A workflow that waits for a person before it calls the bank.
const REFUND: &str = "organism: {name: hello}
payloads: {pay: text, paid: text}
listeners:
  bank: {run: [/bin/sh, -c, 'cat >/dev/null; echo \"<paid xmlns=\\\"https://xml-pipeline.org/ns/hello/v1\\\">done</paid>\"'], mode: once, accepts: [pay], returns: [paid]}
workflows:
  refund:
    returns: [paid]
    goals:
      - gate: {ask: Pay it?, choices: [go, stop]}
      - pay: {call: pay, to: bank, with: {.: request}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

#[test]
fn g4_a_run_that_waits_goes_on_if_the_listener_that_it_calls_next_is_back() {
    let folder = crate::organism::folder(&[("organism.yaml", REFUND)]);
    let at = folder.path();
    says(&systole(at, &["ask", "Two."]), 6, &[]);
    let renamed = REFUND.replace("  bank: {", "  till: {").replace("to: bank", "to: till");
    std::fs::write(at.join("organism.yaml"), renamed).unwrap();
    let open = "is open, and refund may call bank, which the organism's file no longer has";
    says(&systole(at, &["doctor"]), 0, &["note open work: call 1 of sess-", open, "try: put bank back"]);
    let mut organism = Running::organism(at);
    assert!(organism.says("call 1 of sess-").contains(open));
    organism.says("try: put bank back into the file as it was, or systole cancel sess-");
    organism.interrupt();
    std::fs::write(at.join("organism.yaml"), REFUND).unwrap();
    let doctor = systole(at, &["doctor"]);
    assert!(!doctor.stdout.contains("open work"), "{doctor:?}");
    says(&systole(at, &["choose", "a1", "go"]), 0, &[]);
    let mut organism = Running::organism(at);
    organism.shows("operator <paid>");
    organism.interrupt();
}

#[test]
fn g4_a_request_to_a_removed_listener_can_be_rejected() {
    let folder = cast(&GUARD);
    let at = folder.path();
    assert_eq!(send(at).code, Some(6));
    change(at, "  guard: {", "  warden: {");
    says(&systole(at, &["reject", "a1", "--note", "it is gone"]), 0, &["a1 is rejected"]);
    let doctor = systole(at, &["doctor"]);
    assert!(!doctor.stdout.contains("open work"), "{doctor:?}");
}
