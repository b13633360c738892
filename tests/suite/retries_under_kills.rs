//! Failed threads of several causes, tried again by several shells at once while the organism is killed; and those that
//! failed in a log of an older format.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use systole_soak::dice::SeededDice;

use crate::log_records::read_all;
use crate::organism::{copy_house, folder};
use crate::program::{Running, ask, command, run_file, systole};

/// Fails in the way that the request names, until the file `renewed` is there.
const CAUSES: &str = r#"
import os, sys
import xml.etree.ElementTree as ET
T, L, S, E = "{https://xml-pipeline.org/ns/talk/v1}", "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}", "{https://xml-pipeline.org/ns/envelope/v1}"
for line in sys.stdin:
    if not line.startswith("<message"): continue
    message = ET.fromstring(line)
    reply = ET.Element(L + "reply", delivery=message.find(f"{E}meta/{S}stamp").get("delivery"))
    cause = message[1].text
    if os.path.exists("renewed"): ET.SubElement(reply, T + "answer").text = "heard " + cause
    elif cause == "exit": sys.exit(3)
    elif cause == "silent": continue
    elif cause == "odd": ET.SubElement(reply, "{urn:odd}odd")
    else: ET.SubElement(reply, L + "failure", code=cause, retry="false").text = "not now"
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

const FILE: &str = "organism: {name: hello}
listeners:
  flaky: {run: [python3, causes.py], accepts: [ask], returns: [answer], entry: true, timeout: 1s, on_unknown: retry,
    retry: {attempts: 1}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

/// The words of a request, and the code that its thread fails with first.
const FAILURES: [(&str, &str); 6] = [
    ("key-expired", "key-expired"),
    ("no-stock", "no-stock"),
    ("no-room", "no-room"),
    ("exit", "listener.failed"),
    ("silent", "listener.timeout"),
    SETTLED,
];

/// A reply that was taken, and is what failed: it cannot be given again.
const SETTLED: (&str, &str) = ("odd", "listener.failed");

/// Failed roots. `SYSTOLE_RETRY_ROOTS=N` makes N.
const ROOTS: usize = 18;

/// Kills while orders are given. A turn that is out when its organism dies for the fifth time is given up.
const KILLS: u64 = 4;

fn post(folder: &Path, key: usize) -> serde_json::Value {
    let (cause, _) = FAILURES[key % FAILURES.len()];
    let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{cause}</ask>");
    let key = format!("k{key}");
    let headers = [("Idempotency-Key", &*key), ("Systole-Wait", "240")];
    ask(&run_file(folder), "POST", "/v1/messages?to=flaky", &headers, &body).json
}

fn count(folder: &Path, code: &str) -> usize {
    let records = read_all(&folder.join("hello.db"));
    records.iter().filter(|one| one.header.code.is_some_and(|own| own.as_str() == code)).count()
}

#[test]
fn d10_roots_that_failed_for_five_causes_are_each_reopened_once_by_three_shells_under_kills() {
    let house = folder(&[("organism.yaml", FILE), ("causes.py", CAUSES)]);
    let folder = house.path();
    let roots = std::env::var("SYSTOLE_RETRY_ROOTS").map_or(ROOTS, |number| number.parse().unwrap());
    let organism = Running::organism(folder);
    let mut failed = BTreeSet::new();
    for key in 0..roots {
        let told = post(folder, key);
        assert_eq!(told["result"]["outcome"], "failed", "{told}");
        if FAILURES[key % FAILURES.len()] != SETTLED {
            failed.insert(told["thread"].as_str().unwrap().to_owned());
        }
    }
    for (_, code) in FAILURES {
        let listed = ask(&run_file(folder), "GET", &format!("/v1/threads?state=failed&code={code}"), &[], "");
        assert!(!listed.json["threads"].as_array().unwrap().is_empty(), "{code}: {listed:?}");
    }
    organism.interrupt();
    fs::write(folder.join("renewed"), "").unwrap();

    let seed = u64::from(std::process::id());
    println!("the dice: {seed}");
    let mut dice = SeededDice::new(seed);
    let (mut given, mut reopened) = (Vec::new(), 0);
    for _ in 0..KILLS {
        let organism = Running::organism(folder);
        let shell =
            || Running::of(command(folder, &["retry", "--failed", "--yes", "--json"]).spawn().unwrap());
        let shells = [shell(), shell(), shell()];
        reopened += usize::try_from(dice.between(1, 3)).unwrap();
        while count(folder, "reopened") < reopened.min(failed.len()) {}
        organism.signal(Signal::KILL);
        organism.end();
        let lines = shells.into_iter().flat_map(|shell| shell.end().json_lines());
        given.extend(lines.filter_map(|line| line["retried"].as_str().map(str::to_owned)));
    }
    let organism = Running::organism(folder);
    let listed = ask(&run_file(folder), "GET", "/v1/threads?state=failed", &[], "").json;
    let order = json!({"at": listed["index"]["position"], "filter": {}}).to_string();
    let told = ask(&run_file(folder), "POST", "/v1/retry", &[], &order).json;
    given.extend(told["retried"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()));
    let told = systole(folder, &["retry", "--failed", "--yes", "--json"]);
    let refused = told.json_lines();
    let is_settled =
        |line: &serde_json::Value| line["retried"].is_string() || line["code"] == "retry.settled";
    assert!(refused.iter().all(is_settled), "{told:?}");
    given.extend(told.json_lines().iter().filter_map(|line| line["retried"].as_str().map(str::to_owned)));
    for key in 0..roots {
        let told = post(folder, key);
        let is_settled = FAILURES[key % FAILURES.len()] == SETTLED;
        assert_eq!(told["result"]["outcome"], if is_settled { "failed" } else { "answered" }, "{told}");
    }
    organism.interrupt();
    assert_eq!(count(folder, "reopened"), failed.len(), "each once");
    // An order may be on record though its answer was lost with the organism, and no answer came twice.
    let distinct: BTreeSet<&String> = given.iter().collect();
    assert_eq!(distinct.len(), given.len(), "{given:?}");
    assert!(distinct.into_iter().all(|thread| failed.contains(thread)), "{given:?}");
    for judged in [&["verify", "--state"][..], &["replay"]] {
        let ran = systole(folder, judged);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn d10_what_failed_in_a_log_of_format_6_goes_on_in_place() {
    let copy = copy_house("organism-v6");
    let folder = copy.path();
    fs::write(folder.join("renewed"), "").unwrap();
    let replies = fs::read_to_string(folder.join("replies.yaml")).unwrap();
    let more = "  - {if: 'current-goal id=\"two\"', say: The second., times: always}\n";
    fs::write(folder.join("replies.yaml"), format!("{replies}{more}")).unwrap();
    let organism = Running::organism(folder);
    let ran = systole(folder, &["retry", "--failed", "--yes", "--wait"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(4), &*"flaky heard when\n".repeat(3)), "{ran:?}");
    assert!(ran.stderr.contains("refused: retry.effects"), "its agent may have begun something: {ran:?}");
    let ran = systole(folder, &["retry", "--failed", "--yes", "--wait", "--again-with-effects"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "The second.\n"), "{ran:?}");
    organism.interrupt();
    assert_eq!(count(folder, "reopened"), 4);
    // A replay differs: the words of a failure say more today than those of its time.
    let ran = systole(folder, &["verify", "--state"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
