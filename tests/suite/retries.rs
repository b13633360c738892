//! Failed threads that are tried again, in whole organisms: what is done stays done, through kills of the organism, and
//! who asked gets the new outcome.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use systole_core::types::record::Record;

use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Answer, Running, ask, command, page, run_file, systole};

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

const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">when</ask>";

/// Asks `flaky` under that key, and waits for the outcome.
fn post(folder: &Path, key: &str) -> Answer {
    let headers = [("Idempotency-Key", key), ("Systole-Wait", "240")];
    ask(&run_file(folder), "POST", "/v1/messages?to=flaky", &headers, ASK)
}

/// So many threads that failed, the oldest first.
fn fail(folder: &Path, number: usize) -> Vec<String> {
    let failed = |n| {
        let answer = post(folder, &format!("k{n}"));
        assert_eq!(answer.json["result"]["outcome"], "failed", "{answer:?}");
        answer.json["thread"].as_str().unwrap().to_owned()
    };
    (0..number).map(failed).collect()
}

/// The list of failed threads, and up to where it was read.
fn failed_list(folder: &Path) -> (Vec<String>, Value) {
    let mut listed = ask(&run_file(folder), "GET", "/v1/threads?state=failed", &[], "").json;
    let threads = listed["threads"].as_array().unwrap().iter();
    let ids = threads.map(|thread| thread["thread"].as_str().unwrap().to_owned()).collect();
    (ids, listed["index"]["position"].take())
}

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
    std::fs::write(folder.join("ask.xml"), ASK).unwrap();
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

#[test]
fn d10_a_sender_that_waits_gets_the_outcome_of_the_retry() {
    let house = house();
    let folder = house.path();
    let organism = Running::organism(folder);
    let thread = fail(folder, 1).remove(0);
    std::fs::write(folder.join("renewed"), "").unwrap();
    let path = format!("/v1/threads/{thread}/retry");
    assert_eq!(ask(&run_file(folder), "POST", &path, &[], "").json["retried"], thread.as_str());
    // It may be at work still, and then it has ended.
    for _ in 0..2 {
        let again = post(folder, "k0");
        assert_eq!(again.status, 200, "{again:?}");
        let result = &again.json["result"];
        assert_eq!((&again.json["repeated"], &result["outcome"]), (&true.into(), &"answered".into()));
        assert!(result["payload"].as_str().unwrap().contains("flaky heard when"), "{again:?}");
    }
    organism.interrupt();
}

#[test]
fn d10_failed_threads_are_tried_again_by_the_filter_of_ps() {
    let house = house();
    let folder = house.path();
    let organism = Running::organism(folder);
    let retry = |arguments: &[&str]| systole(folder, &[&["retry"], arguments].concat());
    let nothing = retry(&["--failed"]);
    assert_eq!(nothing.code, Some(1), "{nothing:?}");
    assert!(nothing.stderr.contains("no thread that failed fits the filter"), "{nothing:?}");
    assert_eq!(retry(&["--failed", "@last"]).code, Some(2));
    assert_eq!(retry(&["@last", "--since", "3d"]).code, Some(2));
    assert_eq!(retry(&["--code", "key-expired"]).code, Some(2), "only with --failed");
    let threads = fail(folder, 3);
    assert_eq!(systole(folder, &["ask", "--to", "work", "when"]).code, Some(1));
    let shown = retry(&["--failed"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("4 threads: 3 go on where they failed; 1 starts "), "{shown:?}");
    for arguments in [&["--code", "model.refused"][..], &["--listener", "first"], &["--client", "ann"]] {
        assert_eq!(retry(&[&["--failed"], arguments].concat()).code, Some(1), "{arguments:?}");
    }
    std::fs::write(folder.join("renewed"), "").unwrap();
    let arguments =
        ["--failed", "--code", "key-expired", "--listener", "flaky", "--since", "1h", "--yes", "--wait"];
    let ran = retry(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "flaky heard when\n".repeat(3), "{ran:?}");
    let order: Vec<&str> = ran.stderr.lines().filter_map(|line| line.strip_suffix(" goes on")).collect();
    assert_eq!(order, threads, "the oldest first");
    assert_eq!((count(folder, "reopened"), failed_list(folder).0.len()), (3, 1));
    let ran = retry(&["--failed", "--yes", "--wait"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "first heard flaky heard first heard when\n"), "{ran:?}");
    organism.interrupt();
}

#[test]
fn d10_an_order_by_a_filter_leaves_what_has_gone_on_since_the_list() {
    let house = house();
    let folder = house.path();
    let organism = Running::organism(folder);
    let order = |body: Value| ask(&run_file(folder), "POST", "/v1/retry", &[], &body.to_string());
    let threads = fail(folder, 2);
    let (listed, at) = failed_list(folder);
    assert_eq!(listed, [&*threads[1], &*threads[0]]);
    // One fails again after the list, and one more fails.
    let again = ask(&run_file(folder), "POST", &format!("/v1/threads/{}/retry", threads[0]), &[], "");
    assert_eq!(again.status, 200);
    assert_eq!(post(folder, "k0").json["result"]["outcome"], "failed");
    post(folder, "k2");
    for unfit in [
        json!({}),
        json!({"at": 1, "filter": {"state": "failed"}}),
        json!({"at": 1, "filter": {"since": "x"}}),
    ] {
        assert_eq!(order(unfit).status, 400);
    }
    let elsewhere = order(json!({"at": at, "filter": {"listener": "first"}}));
    assert_eq!(elsewhere.json, json!({"retried": [], "refused": [], "next": null}), "{elsewhere:?}");
    let given = order(json!({"at": at, "filter": {"code": "key-expired"}, "note": "renewed"}));
    assert_eq!(given.json["retried"], json!([threads[1]]), "{given:?}");
    let refused = given.json["refused"].as_array().unwrap();
    assert_eq!(refused.len(), 2, "{given:?}");
    assert!(refused.iter().all(|one| one["refusal"]["code"] == "retry.moved"), "{given:?}");
    organism.interrupt();
}

#[test]
fn d10_orders_of_two_shells_and_the_console_at_once_open_each_thread_once() {
    let house = house();
    let folder = house.path();
    let organism = Running::organism(folder);
    let threads =
        fail(folder, std::env::var("SYSTOLE_RETRY_ROOTS").map_or(12, |number| number.parse().unwrap()));
    std::fs::write(folder.join("renewed"), "").unwrap();
    let at = failed_list(folder).1;
    let shell = || Running::of(command(folder, &["retry", "--failed", "--yes", "--json"]).spawn().unwrap());
    let shells = [shell(), shell()];
    let given = ask(&run_file(folder), "POST", "/v1/retry", &[], &json!({"at": at}).to_string()).json;
    let mut done: Vec<String> =
        given["retried"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect();
    for shell in shells {
        let ran = shell.end();
        assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}");
        for line in ran.json_lines() {
            match line["retried"].as_str() {
                Some(id) => done.push(id.to_owned()),
                None => assert!(
                    // Who comes too late for very many has the last refusals only counted.
                    matches!(
                        line["code"].as_str(),
                        Some("retry.not-failed" | "retry.moved" | "ingress.throttled")
                    ),
                    "{line}"
                ),
            }
        }
    }
    done.sort_unstable();
    let mut all = threads.clone();
    all.sort_unstable();
    assert_eq!(done, all, "each has one order that was carried out");
    assert_eq!(count(folder, "reopened"), threads.len());
    for n in 0..threads.len() {
        assert_eq!(post(folder, &format!("k{n}")).json["result"]["outcome"], "answered");
    }
    organism.interrupt();
    assert_eq!(systole(folder, &["verify", "--state"]).code, Some(0));
}

#[test]
fn d10_the_pages_of_a_failed_thread_and_of_the_list_try_it_again() {
    let house = house();
    let folder = house.path();
    let organism = Running::organism(folder);
    let threads = fail(folder, 2);
    let shows = |path: &str| page(&run_file(folder), "GET", path, "text/html", &[]).body;
    let own = format!("/t/{}", threads[0]);
    assert!(shows(&own).contains(&format!("href=\"{own}/retry\"")), "{}", shows(&own));
    assert!(shows(&format!("{own}/retry")).contains("flaky goes on in turn 1"));
    let preview = shows("/threads/order?order=retry&state=failed");
    assert!(preview.contains("key-expired; flaky goes on in turn 1"), "{preview}");
    std::fs::write(folder.join("renewed"), "").unwrap();
    let seen = ask(&run_file(folder), "GET", &format!("{own}/retry"), &[], "").json["seen"].take();
    let give = |path: &str, fields: &[(&str, &str)]| {
        page(&run_file(folder), "POST", path, "application/json", fields)
    };
    let done = give(&format!("{own}/retry"), &[("seen", seen.as_str().unwrap()), ("note", "renewed")]);
    assert_eq!(done.json["retried"], threads[0].as_str(), "{done:?}");
    assert_eq!(post(folder, "k0").json["result"]["outcome"], "answered");
    assert!(shows(&own).contains(", 1 retry"), "{}", shows(&own));
    assert!(!shows(&own).contains("/retry\""));
    let again = give(&format!("{own}/retry"), &[]);
    assert_eq!((again.status, &again.json["code"]), (422, &"retry.not-failed".into()), "{again:?}");
    // The head of another preview is refused, that of this one is not.
    let value = |seen: &str| format!("resting {} {seen}", threads[1]);
    let other = give("/threads/order", &[("order", "retry"), ("thread", &value(&"0".repeat(64)))]);
    assert!(other.json["results"][0]["words"].as_str().unwrap().contains("has gone on since"), "{other:?}");
    let listed = ask(&run_file(folder), "GET", "/threads/order?order=retry&state=failed", &[], "").json;
    let seen = listed["threads"][0]["seen"].as_str().unwrap();
    let done = give("/threads/order", &[("order", "retry"), ("thread", &value(seen))]);
    assert_eq!(done.json["results"][0]["words"], "retried", "{done:?}");
    assert_eq!(post(folder, "k1").json["result"]["outcome"], "answered");
    organism.interrupt();
}
