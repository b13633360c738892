//! Failed threads that are tried again, in whole organisms: what is done stays done, through kills of the organism, and
//! who asked gets the new outcome.

use std::path::Path;

use rustix::process::Signal;
use systole_core::types::record::Record;

use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Running, systole};

/// Answers, and writes down each request.
const COUNTER: &str = r#"
import os, sys
import xml.etree.ElementTree as ET
T, L, S, E = "{https://xml-pipeline.org/ns/talk/v1}", "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}", "{https://xml-pipeline.org/ns/envelope/v1}"
me = os.environ["SYSTOLE_LISTENER"]
for line in sys.stdin:
    if not line.startswith("<message"): continue
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    open(me + ".done", "a").write(stamp.get("key") + " " + stamp.get("attempt") + "\n")
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    if me == "flaky" and not os.path.exists("renewed"):
        failure = ET.SubElement(reply, L + "failure", code="key-expired", retry="false")
        failure.text = "the key has expired"
    else:
        ET.SubElement(reply, T + "answer").text = me + " heard " + (message[1].text or "")
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

const FILE: &str = "organism: {name: hello}
listeners:
  first: {run: [python3, counter.py], accepts: [ask], returns: [answer]}
  flaky: {run: [python3, counter.py], accepts: [ask], returns: [answer], entry: true}
  beside: {run: [python3, counter.py], accepts: [ask], returns: [answer]}
workflows:
  work:
    accepts: [ask]
    returns: [answer]
    goals:
      - one: {call: ask, to: first, with: request}
      - both:
          parallel:
            - two: {call: ask, to: flaky, with: one}
            - other: {call: ask, to: beside, with: one}
      - three: {call: ask, to: first, with: two}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

fn house() -> tempfile::TempDir {
    folder(&[("organism.yaml", FILE), ("counter.py", COUNTER)])
}

/// The requests that a listener got, with the attempt of each.
fn done(folder: &Path, who: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(format!("{who}.done"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn records(folder: &Path) -> Vec<Record> {
    read_all(&folder.join("hello.db"))
}

fn count(folder: &Path, code: &str) -> usize {
    let has = |record: &&Record| record.header.code.is_some_and(|own| own.as_str() == code);
    records(folder).iter().filter(has).count()
}

#[test]
fn d10_a_failed_thread_goes_on_in_place_and_its_key_gets_the_new_outcome() {
    let house = house();
    let folder = house.path();
    let organism = Running::organism(folder);
    std::fs::write(folder.join("ask.xml"), "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">when</ask>")
        .unwrap();
    let sent = || systole(folder, &["send", "--file", "ask.xml", "--to", "flaky", "--key", "k"]);
    assert_eq!(sent().code, Some(1));
    let shown = systole(folder, &["retry", "@last"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("flaky goes on in turn 1"), "{shown:?}");
    assert!(shown.stderr.contains("--yes, which does it"), "without a terminal it only shows: {shown:?}");
    assert_eq!(count(folder, "reopened"), 0);
    std::fs::write(folder.join("renewed"), "").unwrap();
    let ran = systole(folder, &["retry", "@last", "--yes", "--wait", "--note", "the key is renewed"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "flaky heard when"), "{ran:?}");
    let done = done(folder, "flaky");
    let (first, second) = (done[0].rsplit_once(' ').unwrap(), done[1].rsplit_once(' ').unwrap());
    assert_eq!((first.0, first.1, second.1), (second.0, "1", "2"), "the same work, the next attempt");
    let again = sent();
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("flaky heard when") && again.stderr.contains("taken before"), "{again:?}");
    let twice = systole(folder, &["retry", "@last", "--yes"]);
    assert_eq!(twice.code, Some(4));
    assert!(twice.stderr.contains("retry.not-failed"), "{twice:?}");
    assert!(systole(folder, &["log", "@last"]).stdout.contains("reopened by operator"));
    organism.interrupt();
    let replayed = systole(folder, &["replay", "@last"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert_eq!(systole(folder, &["verify", "--state"]).code, Some(0));
}

#[test]
fn d10_a_run_starts_again_what_failed_and_nothing_that_is_done_though_the_organism_is_killed() {
    let house = house();
    let folder = house.path();
    let organism = Running::organism(folder);
    let asked = systole(folder, &["ask", "--to", "work", "when"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    let shown = systole(folder, &["retry", "@last"]);
    assert!(shown.stderr.contains("the run of work starts again:"), "{shown:?}");
    assert!(shown.stderr.contains("two (failed)"), "{shown:?}");
    organism.signal(Signal::KILL);
    organism.end();
    std::fs::write(folder.join("renewed"), "").unwrap();
    let ran = systole(folder, &["retry", "@last", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("as soon as the organism runs"), "{ran:?}");
    let organism = Running::organism(folder);
    while count(folder, "final") < 5 {}
    organism.interrupt();
    assert_eq!(done(folder, "first").len(), 2, "step one is done once, and step three");
    assert_eq!(done(folder, "flaky").len(), 2);
    let last = records(folder)
        .into_iter()
        .rev()
        .find(|one| one.header.to.as_ref().is_some_and(|to| to.as_str() == "operator"));
    let said = String::from_utf8(last.unwrap().body.to_vec()).unwrap();
    assert!(said.contains("first heard flaky heard first heard when"), "{said}");
    let keys = done(folder, "flaky");
    assert_ne!(keys[0], keys[1], "the new child has its own key");
    assert_eq!(systole(folder, &["replay", "@last"]).code, Some(0));
}
