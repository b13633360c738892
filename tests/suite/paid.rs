//! A started model call is never silently paid twice: real processes, a "model" that counts its requests, and
//! kills of the listener and of the organism at every point of a call.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use systole_core::types::ids::Digest;
use systole_core::types::ports::LogReader as _;
use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_log::sqlite;

use crate::log_records::read_all;
use crate::organism::{ECHO_XSD, folder, say};
use crate::program::{PATIENCE, Ran, Running, ask, run_file, systole};

/// Calls a model for every message, and follows the journal: it uses what an earlier attempt bought, and
/// begins a call with an unknown outcome again, since the organism decides whether that is allowed.
const PROGRAM: &str = r#"
import hashlib, os, socket, sys
import xml.etree.ElementTree as ET

L = "{urn:systole:listener:v1}"

def visit(word):
    with socket.create_connection(("127.0.0.1", int(os.environ["MODEL"]))) as model:
        model.sendall(f"{word} {os.getpid()}\n".encode())
        heard = model.makefile().readline()
    return heard.strip() or sys.exit("the model is gone")

def tell(name, children=(), text=None, **attributes):
    word = ET.Element(L + name, attributes)
    word.text = text
    word.extend(children)
    print(ET.tostring(word, encoding="unicode"), flush=True)

def answered():
    answer = ET.fromstring(sys.stdin.readline())
    assert answer.tag == L + "answer", answer.tag
    return answer

def bought(stamp, prompt):
    if stamp.get("journal") is None:
        return None
    tell("ask", [ET.Element(L + "journal")], id="1", delivery=stamp.get("delivery"))
    past = answered()[0]
    assert len(past) == int(stamp.get("journal"))
    starts = {(e.get("attempt"), e.get("id")) for e in past if e.get("prompt") == prompt}
    found = [e.text for e in past if (e.get("attempt"), e.get("of")) in starts]
    return found[0] if found else None

def put(delivery, text):
    blob = ET.Element(L + "put-blob")
    blob.text = text
    tell("ask", [blob], id="4", delivery=delivery)
    return answered()[0].get("hash")

def buy(delivery, prompt, text):
    assert put(delivery, text) == prompt
    visit("put")
    tell("journal", id="2", delivery=delivery, kind="model-started", model="counting", prompt=prompt)
    assert len(answered()) == 0
    visit("started")
    words = visit("call")
    visit("called")
    used = {"in": "9", "out": "2"}
    tell("journal", text=words, id="3", delivery=delivery, kind="model-result", of="2", stop="end", **used)
    assert len(answered()) == 0
    visit("journaled")
    return words

while line := sys.stdin.readline():
    message = ET.fromstring(line)
    stamp = message.find(".//{urn:systole:stamp:v1}stamp")
    text = ET.tostring(message[1], encoding="unicode")
    prompt = hashlib.sha256(text.encode()).hexdigest()
    words = bought(stamp, prompt) or buy(stamp.get("delivery"), prompt, text)
    said = ET.Element("{https://xml-pipeline.org/ns/echo/v1}said")
    ET.SubElement(said, "{https://xml-pipeline.org/ns/echo/v1}text").text = words
    tell("reply", [said], delivery=stamp.get("delivery"))
"#;

fn house(policy: &str, model: u16) -> tempfile::TempDir {
    let yaml = format!(
        r#"organism: {{name: hello}}
listeners:
  echo:
    run: [python3, thinks.py]
    schema: echo.xsd
    accepts: [say]
    returns: [said]
    entry: true
    env: {{MODEL: "{model}"}}
    retry: {{attempts: 3, backoff: 1ms..1ms}}
    on_unknown: {policy}
budgets: {{tokens: 200k}}
log: {{path: ./hello.db}}
console: {{listen: "127.0.0.1:0"}}
"#
    );
    folder(&[
        ("organism.yaml", &yaml),
        ("echo.xsd", ECHO_XSD),
        ("thinks.py", PROGRAM),
        ("say.xml", &say("hello")),
    ])
}

/// The process that is killed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Victim {
    Listener,
    Organism,
}

/// A model that counts, and kills once.
struct Model {
    port: u16,
    calls: Arc<Mutex<u32>>,
    organism: Arc<Mutex<Option<u32>>>,
    struck: Receiver<()>,
}

impl Model {
    /// A model that kills the victim when a listener first reaches that point.
    fn start(point: &'static str, victim: Victim) -> Model {
        let door = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = door.local_addr().unwrap().port();
        let (calls, organism) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(None::<u32>)));
        let (counted, owner) = (calls.clone(), organism.clone());
        // There is only one kill.
        let (strikes, struck) = sync_channel(1);
        std::thread::spawn(move || {
            let mut left = Some(strikes);
            for visitor in door.incoming() {
                let Ok(mut visitor) = visitor else { return };
                let mut line = String::new();
                if BufReader::new(visitor.try_clone().unwrap()).read_line(&mut line).is_err() {
                    continue;
                }
                let Some((word, pid)) = line.trim().split_once(' ') else { continue };
                if word == "call" {
                    *counted.lock().unwrap() += 1;
                }
                if word == point
                    && let Some(strikes) = left.take()
                {
                    let listener = pid.parse().unwrap();
                    kill(if victim == Victim::Listener { listener } else { owner.lock().unwrap().unwrap() });
                    strikes.send(()).unwrap();
                    continue;
                }
                // A caller that was killed hears nothing.
                let _heard = visitor.write_all(b"forty-two\n");
            }
        });
        Model { port, calls, organism, struck }
    }

    fn runs(&self, folder: &Path) -> Running {
        let organism = Running::organism(folder);
        *self.organism.lock().unwrap() = Some(organism.pid());
        organism
    }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

fn send(folder: &Path) -> Ran {
    systole(folder, &["send", "--file", "say.xml", "--key", "k1"])
}

/// How often each code is in the log of a folder.
fn codes(folder: &Path) -> BTreeMap<String, u32> {
    let mut codes = BTreeMap::new();
    for record in read_all(&folder.join("hello.db")) {
        *codes.entry(record.header.code.map_or("-", |code| code.as_str()).to_owned()).or_default() += 1;
    }
    codes
}

/// The result of one kill.
struct Came {
    calls: u32,
    codes: BTreeMap<String, u32>,
    ran: Ran,
}

impl Came {
    fn count(&self, code: &str) -> u32 {
        self.codes.get(code).copied().unwrap_or(0)
    }
}

/// Kills the victim at that point of a message's one model call, and waits for the result.
fn trial(policy: &str, point: &'static str, victim: Victim) -> Came {
    let model = Model::start(point, victim);
    let folder = house(policy, model.port);
    let mut organism = model.runs(folder.path());
    let run = run_file(folder.path());
    let receipt = ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", "k1")], &say("hello"));
    assert_eq!(receipt.status, 202, "{receipt:?}");
    model.struck.recv_timeout(PATIENCE).expect("no call came to that point");
    if victim == Victim::Organism {
        let dead = organism.end();
        assert_eq!(dead.code, None, "{dead:?}");
        organism = model.runs(folder.path());
    }
    let mut ran = send(folder.path());
    if ran.code == Some(6) {
        let why = systole(folder.path(), &["why"]);
        assert!(why.stdout.contains("approval a1 (say, echo)"), "{why:?}");
        let why = systole(folder.path(), &["why", "@last"]);
        let one_line = why.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains("what is unknown: attempt 1: "), "{why:?}");
        assert!(one_line.contains("of 200000 tokens used or kept"), "{why:?}");
        let log = systole(folder.path(), &["log", "@last"]);
        assert!(log.stdout.contains("calls model counting in attempt 1, entry 2"), "{log:?}");
        assert!(log.stdout.contains("unknown: attempt 1: "), "{log:?}");
        let unknown = if point == "journaled" { "listener.lost" } else { "model.unknown-outcome" };
        let told = systole(folder.path(), &["approve"]);
        assert!(told.stdout.contains(&format!("attempt 1: {unknown}")), "{told:?}");
        let approved = systole(folder.path(), &["approve", "a1"]);
        assert_eq!(approved.code, Some(0), "{approved:?}");
        ran = send(folder.path());
    }
    organism.interrupt();
    judged(&folder.path().join("hello.db"));
    prompts_are_kept(&folder.path().join("hello.db"));
    let calls = *model.calls.lock().unwrap();
    Came { calls, codes: codes(folder.path()), ran }
}

/// Checks that the separate checker finds nothing wrong with the log.
fn judged(log: &Path) {
    let log = systole_checker::log::LogSnapshot::open_file(log).unwrap();
    let terms =
        systole_checker::RunSettings { tokens: Some(200_000), ..systole_checker::RunSettings::default() };
    let report = systole_checker::check_under(&log, &[], &terms);
    assert!(report.is_clean(), "{report}");
}

/// Checks that the whole log verifies, and contains every prompt that its journal names.
fn prompts_are_kept(path: &Path) {
    sqlite::verify_all(path).unwrap();
    let log = sqlite::open_reading(path).unwrap();
    for record in read_all(path) {
        if let Ok(EarlierEntry { entry: JournalEntry::Started(started), .. }) =
            EarlierEntry::from_body(&record.body)
        {
            let prompt = log.read_document(Digest::parse(&started.prompt).unwrap()).unwrap();
            let prompt = prompt.expect("the prompt was put before the start");
            assert!(String::from_utf8_lossy(&prompt).contains("hello"), "{prompt:?}");
        }
    }
}

/// Every point of a call.
const POINTS: [&str; 4] = ["started", "call", "called", "journaled"];

/// A point of each kind. The log of the organism is the same at "started", "call" and "called": a call has begun, and
/// its result is unknown.
const KINDS: [&str; 2] = ["call", "journaled"];

/// Kills each of the two processes at each of these points.
fn each(policy: &str, points: &[&'static str], judge: fn(&str, Came)) {
    // A trial mostly waits, so two run in parallel.
    std::thread::scope(|scope| {
        for victim in [Victim::Listener, Victim::Organism] {
            scope.spawn(move || {
                for point in points {
                    let came = trial(policy, point, victim);
                    let starts = came.count("model-started");
                    let words = format!("{policy}, {victim:?} at {point}: {:?} {:?}", came.codes, came.ran);
                    assert!(came.calls <= starts, "{} calls: {words}", came.calls);
                    assert!(came.calls <= 1 || came.count("model.unknown-outcome") > 0, "silently: {words}");
                    judge(point, came);
                }
            });
        }
    });
}

#[test]
fn e18_eight_kills_and_what_was_bought_is_not_bought_again() {
    each("retry", &POINTS, |point, came| {
        assert_eq!(came.ran.code, Some(0), "{point}: {:?}", came.ran);
        assert!(came.ran.stdout.contains(">forty-two<"), "{:?}", came.ran);
        // Only a call without a recorded result is made again, and then the thread says so.
        let again = u32::from(point != "journaled");
        assert_eq!(came.count("model-started"), 1 + again, "{point}");
        assert_eq!(came.count("model.unknown-outcome"), again, "{point}");
        let paid = if point == "call" || point == "called" { 2 } else { 1 };
        assert_eq!(came.calls, paid, "{point}");
    });
}

#[test]
fn e18_four_kills_and_nothing_is_begun_twice_where_unknown_outcomes_fail() {
    each("fail", &KINDS, |point, came| {
        assert_eq!(came.ran.code, Some(1), "{point}: {:?}", came.ran);
        assert_eq!(came.count("model-started"), 1, "{point}");
        let unknown = if point == "journaled" { "listener.lost" } else { "model.unknown-outcome" };
        assert!(came.ran.stderr.contains(unknown) || came.ran.stdout.contains(unknown), "{:?}", came.ran);
    });
}

#[test]
fn e18_four_kills_and_a_person_says_whether_it_is_begun_again() {
    each("ask", &KINDS, |point, came| {
        assert_eq!(came.ran.code, Some(0), "{point}: {:?}", came.ran);
        assert_eq!((came.count("requested"), came.count("approved")), (2, 1), "{point}");
        if point == "journaled" {
            assert_eq!(came.calls, 1, "what was bought is used");
        }
    });
}

#[test]
fn e18_a_death_between_a_prompt_and_the_start_that_names_it_costs_nothing() {
    for policy in ["retry", "fail"] {
        for victim in [Victim::Listener, Victim::Organism] {
            let came = trial(policy, "put", victim);
            let words = format!("{policy}, {victim:?}: {:?} {:?}", came.codes, came.ran);
            assert_eq!(came.count("model.unknown-outcome"), 0, "{words}");
            let answered = came.ran.code == Some(0);
            // If attempts are not repeated the call fails, but as a call in which no model was called.
            assert_eq!(answered, policy == "retry", "{words}");
            assert_eq!(
                (came.calls, came.count("model-started")),
                if answered { (1, 1) } else { (0, 0) },
                "{words}"
            );
        }
    }
}
