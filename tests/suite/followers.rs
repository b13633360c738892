//! Followers: receivers outside get the events of the log in order and at least once, signed so that the library of
//! another author verifies them, through kills, refusals, and logs that were put back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use systole_core::rules::follower_payload;
use systole_core::types::ports::{LogReader, Position};
use systole_log::sqlite;

use crate::browser::node;
use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{PATIENCE, Ran, Running, ask, ask_as, lines, run_file, systole, systole_with};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TOKEN: &str = "alice-token-0123456789";
pub(crate) const VARIABLES: [(&str, &str); 2] = [("HOOK", SECRET), ("ALICE_TOKEN", TOKEN)];

/// A receiver: it verifies each signature with the library of another author, prints what it got, and answers as the
/// file `answer` says, with 200 if there is none.
const RECEIVER: &str = r#"import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from standardwebhooks import Webhook
hook, one_line = Webhook(sys.argv[1]), threading.Lock()
class Door(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        said = json.loads(body)
        if self.path.startswith("/slack"):
            proof = "none" if "webhook-signature" not in self.headers else "signed"
        else:
            try:
                hook.verify(body, dict(self.headers))
                proof = "valid"
            except Exception as why:
                proof = repr(why)
        status = int(open("answer").read()) if os.path.exists("answer") else 200
        got = {"body": body.decode(), "at": self.headers.get("webhook-timestamp"), "signature": self.headers.get("webhook-signature"), "path": self.path, "id": self.headers.get("webhook-id"), "proof": proof, "status": status, "said": said}
        with one_line:
            print(json.dumps(got), flush=True)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *words):
        pass
class Server(ThreadingHTTPServer):
    allow_reuse_address = True
server = Server(("127.0.0.1", int(sys.argv[2])), Door)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// Verifies each event that comes in as a line with the library of another author in JavaScript, and prints what it says.
const VERIFIER: &str = r#"const { Webhook } = require(process.argv[1]);
const hook = new Webhook(process.argv[2]);
for (const line of require('fs').readFileSync(0, 'utf8').trim().split('\n')) {
  const got = JSON.parse(line);
  const headers = { 'webhook-id': got.id, 'webhook-timestamp': got.at, 'webhook-signature': got.signature };
  try { hook.verify(got.body, headers); console.log('valid'); } catch (why) { console.log(String(why)); }
}
"#;

/// What the library says of each event.
fn verify_in_node(got: &[Value]) -> Vec<String> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let library = tools.join("webhooks-npm/node_modules/standardwebhooks");
    let mut node = Command::new(node());
    node.args(["--eval", VERIFIER]).arg(library).arg(SECRET);
    let mut child = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = got.iter().map(|got| format!("{got}\n")).collect();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    let said = child.wait_with_output().unwrap();
    String::from_utf8(said.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// A receiver in its process.
pub(crate) struct Receiver {
    child: std::process::Child,
    lines: std::sync::mpsc::Receiver<String>,
    pub(crate) port: u16,
}

impl Receiver {
    /// At a free port, or at one that it had before.
    pub(crate) fn start(at: &Path, port: u16) -> Receiver {
        Receiver::start_program(at, (RECEIVER, "webhooks"), &[SECRET, &port.to_string()])
    }

    /// One that is a program in Python, with the folder of tools that it imports from. It prints its port, and then a
    /// line for each thing that it gets.
    pub(crate) fn start_program(at: &Path, (program, tools): (&str, &str), arguments: &[&str]) -> Receiver {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools").join(tools);
        let mut python = Command::new("python3");
        python.args(["-c", program]).args(arguments).current_dir(at);
        if tools.is_dir() {
            python.env("PYTHONPATH", tools);
        }
        let mut child = python.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        let port = lines.recv_timeout(PATIENCE).expect("the receiver starts").trim().parse().unwrap();
        Receiver { child, lines, port }
    }

    /// The next thing that it got.
    #[track_caller]
    pub(crate) fn next(&self) -> Value {
        serde_json::from_str(&self.lines.recv_timeout(PATIENCE).expect("an event comes")).unwrap()
    }

    /// What it gets until one fits.
    #[track_caller]
    pub(crate) fn until(&self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut all = Vec::new();
        while !all.last().is_some_and(&fits) {
            all.push(self.next());
        }
        all
    }

    /// What it gets until each of these is among that.
    #[track_caller]
    fn until_all(&self, wanted: &[&dyn Fn(&Value) -> bool]) -> Vec<Value> {
        let mut all = Vec::new();
        while !wanted.iter().all(|fits| all.iter().any(fits)) {
            all.push(self.next());
        }
        all
    }

    /// What it got and no test looked at yet.
    pub(crate) fn rest(&self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Ok(line) = self.lines.try_recv() {
            all.push(serde_json::from_str(&line).unwrap());
        }
        all
    }
}

impl Receiver {
    /// Kills it, and returns what it got and no test looked at yet. It answers only after the whole line.
    pub(crate) fn kill(mut self) -> Vec<Value> {
        self.child.kill().unwrap();
        self.lines.iter().filter_map(|line| serde_json::from_str(&line).ok()).collect()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// An organism with an echo, one whose messages a person approves, and one that fails; with these followers.
pub(crate) fn house(follow: &str) -> tempfile::TempDir {
    let guarded = ECHO_XSD.replace("ns/echo/v1", "ns/guarded/v1");
    let broken = ECHO_XSD.replace("ns/echo/v1", "ns/broken/v1");
    let text = format!(
        "organism: {{name: hello}}\nlog: {{path: hello.db}}\nconsole: {{listen: \"127.0.0.1:0\"}}\nlisteners:\n  \
         echo: {{run: [python3, echo.py], schema: echo.xsd, accepts: [say], returns: [said], entry: true}}\n  \
         guarded: {{run: [python3, echo.py], schema: guarded.xsd, accepts: [say], returns: [said], entry: true, approval: {{when: always}}}}\n  \
         broken: {{run: [\"false\"], schema: broken.xsd, accepts: [say], returns: [said], entry: true}}\n\
         clients:\n  alice: {{token_env: ALICE_TOKEN}}\nlimits: {{outage: 0s}}\nfollow:\n{follow}"
    );
    folder(&[
        ("organism.yaml", &text),
        ("echo.xsd", ECHO_XSD),
        ("guarded.xsd", &guarded),
        ("broken.xsd", &broken),
        ("echo.py", ECHO_PY),
    ])
}

/// A follower of everything, with the payloads.
pub(crate) fn everything(port: u16) -> String {
    format!(
        "  siem: {{webhook: \"http://127.0.0.1:{port}/in\", secret_env: HOOK, on: everything, content: whole}}\n"
    )
}

pub(crate) fn sent(at: &Path, listener: &str, text: &str) -> String {
    let document = say(text).replace("ns/echo/v1", &format!("ns/{listener}/v1"));
    let taken = ask(&run_file(at), "POST", &format!("/v1/messages?to={listener}"), &[], &document);
    assert!(matches!(taken.status, 200 | 202), "{taken:?}");
    taken.json["thread"].as_str().unwrap().to_owned()
}

/// The ids and positions of all events that a follower of everything sends, from the record after a position on.
pub(crate) fn list_expected(at: &Path, after: u64) -> Vec<(String, u64)> {
    let log = sqlite::open_reading(&at.join("hello.db")).unwrap();
    let log: &dyn LogReader = &log;
    let records = log.records_after(Position(after)).map(|placed| placed.unwrap());
    let kept = records.filter(|(_, record)| follower_payload::read_news(&record.body).is_none());
    kept.map(|(position, record)| (record.leaf.to_string()[..32].to_owned(), position.0)).collect()
}

fn position_of(got: &Value) -> u64 {
    got["said"]["data"]["position"].as_u64().unwrap()
}

/// The ids and positions of what a receiver got, in the order in which each came for the first time.
pub(crate) fn list_firsts(got: &[Value]) -> Vec<(String, u64)> {
    let mut seen = BTreeSet::new();
    let all = got.iter().map(|got| (got["id"].as_str().unwrap().to_owned(), position_of(got)));
    all.filter(|(id, _)| seen.insert(id.clone())).collect()
}

/// Where a follower began, as the log says.
pub(crate) fn began(at: &Path) -> u64 {
    let log = systole(at, &["log", "sys", "--json"]);
    let all = log.json_lines();
    let body = all.iter().map(|record| record["body"].as_str().unwrap());
    let news = body.filter(|body| body.starts_with("<follower-began "));
    let positions: Vec<u64> =
        news.map(|body| follower_payload::read_news(body.as_bytes()).unwrap().position.0).collect();
    assert_eq!(positions.len(), 1, "{log:?}");
    positions[0]
}

pub(crate) fn read_list(at: &Path) -> Value {
    systole(at, &["follow", "--json"]).json_lines().remove(0)["followers"][0].clone()
}

/// Waits until a follower is in a state.
pub(crate) fn wait_for(at: &Path, fits: impl Fn(&Value) -> bool) -> Value {
    let end = tokio::time::Instant::now() + PATIENCE;
    loop {
        let one = read_list(at);
        if fits(&one) {
            return one;
        }
        assert!(tokio::time::Instant::now() < end, "{one}");
    }
}

pub(crate) fn counts(at: &Path, element: &str) -> usize {
    let log = systole(at, &["log", "sys", "--json"]);
    log.json_lines().iter().filter(|record| record["body"].as_str().unwrap().starts_with(element)).count()
}

#[test]
fn h15_what_waits_for_too_long_is_an_event_once_also_over_a_restart() {
    let at = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(at.path(), 0);
    let follow = format!(
        "  oncall: {{webhook: \"http://127.0.0.1:{0}/slack/x\", form: slack, on: stuck}}\n  \
         desk: {{webhook: \"http://127.0.0.1:{0}/in\", secret_env: HOOK, on: [stuck]}}\n",
        receiver.port
    );
    let folder = house(&follow);
    let file = folder.path().join("organism.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("{outage: 0s}", "{outage: 0s, stuck: 1s}")).unwrap();
    // On a machine with much to do, an attempt may be out for that long too.
    let is_told = |got: &Value| got["said"]["data"]["stuck"]["cause"] == "paused";
    let is_text = |got: &Value| got["said"]["text"].as_str().is_some_and(|text| text.contains("(paused)"));
    let both = || {
        let got = receiver.until_all(&[&is_told, &is_text]);
        let text = got.iter().find(|got| is_text(got)).unwrap()["said"]["text"].as_str().unwrap().to_owned();
        (got.iter().find(|got| is_told(got)).unwrap()["said"].clone(), text)
    };
    let organism = Running::organism_with(folder.path(), &VARIABLES);
    // A person may take time, and what is answered at once waits for nothing.
    sent(folder.path(), "guarded", "may I?");
    sent(folder.path(), "echo", "at once");
    let paused = systole(folder.path(), &["pause", "--all"]);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    let threads = ["first", "second"].map(|text| sent(folder.path(), "echo", text));
    let (told, text) = both();
    let stuck = told["data"]["stuck"].clone();
    assert_eq!((&told["type"], &told["data"]["thread"]), (&"stuck".into(), &"sys".into()), "{told}");
    let is_one_of_them = |thread: &Value| threads.iter().any(|one| *thread == one.as_str());
    assert!(stuck["listener"] == "echo" && stuck["cause"] == "paused", "{told}");
    assert!(is_one_of_them(&stuck["thread"]), "{told}");
    let thread = stuck["thread"].as_str().unwrap();
    assert!(text.starts_with("hello: stuck at echo (paused)"), "{text}");
    assert!(text.ends_with(&format!("\nsystole why {thread}")), "{text}");
    // The second one may have been too young at that look.
    if stuck["calls"] == 1 {
        assert_eq!(both().0["data"]["stuck"]["calls"], 1);
    } else {
        assert_eq!(stuck["calls"], 2);
    }
    drop(organism.interrupt());
    let organism = Running::organism_with(folder.path(), &VARIABLES);
    let third = sent(folder.path(), "echo", "third");
    let stuck = both().0["data"]["stuck"].clone();
    assert_eq!((&stuck["thread"], &stuck["calls"]), (&Value::from(third), &1.into()), "{stuck}");
    drop(organism.interrupt());
}

#[test]
fn h15_each_record_reaches_its_receiver_in_order_and_the_library_of_others_verifies_each() {
    let at = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(at.path(), 0);
    let folder = house(&everything(receiver.port));
    let at = folder.path();
    let organism = Running::organism_with(at, &VARIABLES);
    for n in 0..5 {
        sent(at, "echo", &format!("number {n} &amp; &lt;more&gt;"));
    }
    let ran = organism.interrupt();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    // What a stop leaves is sent after the next start.
    let organism = Running::organism_with(at, &VARIABLES);
    sent(at, "echo", "the last one");
    let mut got = receiver.until(|got| {
        got["said"]["type"] == "answered"
            && got["said"]["data"]["body"].as_str().unwrap().contains("the last one")
    });
    let ran = organism.interrupt();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    got.extend(receiver.rest());
    assert!(got.iter().all(|got| got["proof"] == "valid" && got["path"] == "/in"), "{got:?}");
    assert_eq!(verify_in_node(&got), vec!["valid"; got.len()]);
    let mut forged = got[0].clone();
    forged["body"] = got[1]["body"].clone();
    assert!(verify_in_node(&[forged])[0].contains("No matching signature found"));
    // A stop may come between the answer of the receiver and the cursor.
    let ids = list_firsts(&got);
    let wanted = list_expected(at, began(at));
    assert!(ids.len() >= 15 && wanted.starts_with(&ids), "{ids:?}\n{wanted:?}");
    let words: BTreeSet<&str> = got.iter().map(|got| got["said"]["type"].as_str().unwrap()).collect();
    assert_eq!(words, BTreeSet::from(["answered", "record"]));
    let one = got.iter().find(|got| got["said"]["type"] == "answered").unwrap();
    assert_eq!(one["said"]["data"]["from"], "echo", "{one}");
    // Without an organism its cursor says where it is.
    let one = read_list(at);
    assert_eq!((&one["state"], &one["name"]), (&Value::from("waits"), &Value::from("siem")), "{one}");
}

#[test]
fn h15_kills_of_the_organism_and_its_receiver_lose_no_event_and_keep_their_order() {
    let at = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::start(at.path(), 0);
    let port = receiver.port;
    let folder = house(&everything(port));
    let kills: usize = std::env::var("SYSTOLE_KILLS").map_or(6, |kills| kills.parse().unwrap());
    let mut got = Vec::new();
    for n in 0..kills {
        let organism = Running::organism_with(folder.path(), &VARIABLES);
        for m in 0..4 {
            sent(folder.path(), "echo", &format!("{n} and {m}"));
        }
        // Each life is killed after another number of events, and every third time there is no receiver.
        for _ in 0..n % 5 {
            got.push(receiver.next());
        }
        organism.signal(Signal::KILL);
        drop(organism.end());
        got.extend(receiver.rest());
        if n % 3 == 2 {
            drop(receiver);
            let organism = Running::organism_with(folder.path(), &VARIABLES);
            sent(folder.path(), "echo", "no one hears it now");
            wait_for(folder.path(), |one| {
                one["error"].as_str().is_some_and(|why| why.contains("no connection"))
            });
            organism.signal(Signal::KILL);
            drop(organism.end());
            receiver = Receiver::start(at.path(), port);
        }
    }
    let organism = Running::organism_with(folder.path(), &VARIABLES);
    sent(folder.path(), "echo", "the last one");
    got.extend(receiver.until(|got| {
        got["said"]["type"] == "answered"
            && got["said"]["data"]["body"].as_str().unwrap().contains("the last one")
    }));
    drop(organism.interrupt());
    assert!(got.iter().all(|got| got["proof"] == "valid"));
    let firsts = list_firsts(&got);
    let wanted = list_expected(folder.path(), began(folder.path()));
    assert!(wanted.starts_with(&firsts), "{firsts:?}\n{wanted:?}");
    let last = firsts.last().unwrap().1;
    assert_eq!(firsts.len(), wanted.iter().filter(|(_, position)| *position <= last).count());
}

#[test]
fn h15_a_follower_sends_the_events_that_it_names_and_no_payload_unless_it_is_asked_to() {
    let at = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(at.path(), 0);
    let folder = house(&format!(
        "  oncall: {{webhook: \"http://127.0.0.1:{0}/slack/x\", form: slack, on: [person, failed]}}\n  \
         desk: {{webhook: \"http://localhost:{0}/in\", secret_env: HOOK, on: [person, failed, answered, refused]}}\n",
        receiver.port
    ));
    let at = folder.path();
    let organism = Running::organism_with(at, &VARIABLES);
    let failed = sent(at, "broken", "a secret word");
    let is_of = |path: &'static str, kind: &'static str| {
        move |got: &Value| got["path"] == path && got["said"].to_string().contains(kind)
    };
    let mut got = receiver.until_all(&[&is_of("/in", "\"failed\""), &is_of("/slack/x", "failed (")]);
    let asked = sent(at, "guarded", "a secret word");
    got.extend(receiver.until_all(&[&is_of("/in", "\"person\""), &is_of("/slack/x", "waits for")]));
    sent(at, "echo", "a secret word");
    got.extend(receiver.until(is_of("/in", "\"answered\"")));
    let refused = ask(&run_file(at), "POST", "/v1/messages?to=echo", &[], "<say xmlns='urn:other'/>");
    assert!(refused.status >= 400, "{refused:?}");
    got.extend(receiver.until(is_of("/in", "\"refused\"")));
    drop(organism.interrupt());
    got.extend(receiver.rest());
    let text = Value::from(got.clone()).to_string();
    assert!(!text.contains("a secret word"), "{text}");
    let of = |path: &str| got.iter().filter(|got| got["path"] == path).collect::<Vec<_>>();
    let kinds: Vec<&str> = of("/in").iter().map(|got| got["said"]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["failed", "person", "answered", "refused"]);
    assert!(of("/in").iter().all(|got| got["proof"] == "valid"));
    assert_eq!(of("/in")[0]["said"]["data"]["thread"], failed.as_str());
    let slack: Vec<&str> = of("/slack/x").iter().map(|got| got["said"]["text"].as_str().unwrap()).collect();
    assert_eq!(slack.len(), 2, "{slack:?}");
    assert!(slack[0].starts_with("hello: failed (") && slack[0].ends_with(&format!("systole why {failed}")));
    assert!(slack[1].starts_with("hello: waits for a person: ") && slack[1].contains(&asked), "{slack:?}");
    assert!(of("/slack/x").iter().all(|got| got["proof"] == "none" && got["id"].is_null()));
}

#[test]
fn h15_a_receiver_that_is_gone_stops_its_follower_until_a_person_says_where_it_goes_on() {
    let at = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(at.path(), 0);
    let folder = house(&everything(receiver.port));
    fs::write(at.path().join("answer"), "410").unwrap();
    let at_receiver = at.path();
    let at = folder.path();
    let mut organism = Running::start_with(at, &["run"], &VARIABLES);
    assert!(organism.says("the follower siem is stopped").contains("410"));
    let one = wait_for(at, |one| one["state"] == "stopped");
    assert!(one["error"].as_str().unwrap().contains("wants no more events: 410"), "{one}");
    let thread = sent(at, "echo", "while it is stopped");
    let doctor = systole_with(at, &["doctor"], &VARIABLES);
    let words = "problem follower: the follower siem is stopped: its receiver wants no more events";
    let said = doctor.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(words), "{doctor:?}");
    let why = systole(at, &["why"]);
    let all = format!("{}{}", why.stdout, why.stderr);
    assert!(all.contains("the follower siem is stopped"), "{why:?}");
    assert_eq!(receiver.rest().len(), 1, "a stopped follower sends nothing");
    fs::remove_file(at_receiver.join("answer")).unwrap();
    let moved = systole(at, &["follow", "siem", "--from", "now"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let later = sent(at, "echo", "afterwards");
    let got = receiver
        .until(|got| got["said"]["type"] == "answered" && got["said"]["data"]["thread"] == later.as_str());
    assert!(got.iter().all(|got| got["said"]["data"]["thread"] != thread.as_str()), "{got:?}");
    wait_for(at, |one| one["state"] == "follows" && one["error"].is_null());
    // What happened before is sent again, under the same ids.
    let again = systole(at, &["follow", "siem", "--since", "1h"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let got = receiver
        .until(|got| got["said"]["type"] == "answered" && got["said"]["data"]["thread"] == later.as_str());
    // What was on its way when the cursor was moved came before.
    let ids: Vec<(String, u64)> = got
        .iter()
        .map(|got| (got["id"].as_str().unwrap().to_owned(), position_of(got)))
        .skip_while(|(_, position)| *position > 1)
        .collect();
    assert!(!ids.is_empty());
    assert!(list_expected(at, 0).starts_with(&ids), "{ids:?}");
    drop(organism.interrupt());
    assert_eq!(counts(at, "<follower-stopped "), 1);
    assert!(counts(at, "<follower-began ") >= 2);
}

#[test]
fn h15_a_log_that_was_put_back_and_a_cursor_that_is_gone_stop_the_follower() {
    let at = tempfile::tempdir().unwrap();
    let mut receiver = Receiver::start(at.path(), 0);
    let folder = house(&everything(receiver.port));
    let at = folder.path();
    let organism = Running::organism_with(at, &VARIABLES);
    sent(at, "echo", "first");
    receiver.until(|got| got["said"]["type"] == "answered");
    drop(organism.interrupt());
    let backup = systole(at, &["backup", "-o", "older.db"]);
    assert_eq!(backup.code, Some(0), "{backup:?}");
    let organism = Running::organism_with(at, &VARIABLES);
    sent(at, "echo", "second");
    receiver.until(|got| got["said"]["type"] == "answered");
    drop(organism.interrupt());
    for ending in ["-wal", "-shm", ".tip", ""] {
        let _gone = fs::remove_file(at.join(format!("hello.db{ending}")));
    }
    fs::copy(at.join("older.db"), at.join("hello.db")).unwrap();
    // Another receiver has nothing left of what was sent before.
    let port = receiver.port;
    drop(receiver);
    receiver = Receiver::start(at, port);
    let mut organism = Running::start_with(at, &["run"], &VARIABLES);
    organism.says("the follower siem is stopped");
    let one = wait_for(at, |one| one["state"] == "stopped");
    assert!(one["error"].as_str().unwrap().contains("it is an older copy or another log"), "{one}");
    drop(organism.interrupt());
    let cursor = at.join("hello.db.follow/siem");
    fs::remove_file(&cursor).unwrap();
    let mut organism = Running::start_with(at, &["run"], &VARIABLES);
    organism.says("the follower siem is stopped");
    let one = wait_for(at, |one| one["state"] == "stopped");
    assert!(one["error"].as_str().unwrap().contains("its cursor is gone"), "{one}");
    drop(organism.interrupt());
    fs::write(&cursor, b"no cursor").unwrap();
    let mut organism = Running::start_with(at, &["run"], &VARIABLES);
    assert!(organism.says("the follower siem is stopped").contains("is corrupt"));
    assert!(receiver.rest().is_empty(), "it guesses where it was");
    // While no organism runs a cursor is moved too.
    drop(organism.interrupt());
    let moved = systole(at, &["follow", "siem", "--from", "1"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let organism = Running::organism_with(at, &VARIABLES);
    let got = receiver.next();
    assert_eq!((position_of(&got), got["id"].as_str().unwrap()), (1, &*list_expected(at, 0)[0].0), "{got}");
    drop(organism.interrupt());
}

#[test]
fn h15_a_redirect_is_not_followed_and_an_event_is_tried_until_it_is_taken() {
    let at = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(at.path(), 0);
    let folder = house(&everything(receiver.port));
    fs::write(at.path().join("answer"), "302").unwrap();
    let mut organism = Running::start_with(folder.path(), &["run"], &VARIABLES);
    assert!(organism.says("the follower siem does not reach").contains("302: no redirect is followed"));
    let first = receiver.next();
    fs::write(at.path().join("answer"), "503").unwrap();
    let second = receiver.until(|got| got["status"] == 503);
    fs::remove_file(at.path().join("answer")).unwrap();
    let third = receiver.until(|got| got["status"] == 200);
    let all = [&[first][..], &second, &third].concat();
    assert!(all.iter().all(|got| got["id"] == all[0]["id"] && got["path"] == "/in"), "{all:?}");
    assert!(all.iter().all(|got| got["proof"] == "valid"), "{all:?}");
    drop(organism.interrupt());
}

#[test]
fn h15_only_who_may_read_everything_sees_the_followers_and_no_one_their_paths() {
    let at = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(at.path(), 0);
    let folder = house(&everything(receiver.port));
    let at = folder.path();
    let organism = Running::organism_with(at, &VARIABLES);
    let run = run_file(at);
    let bearer = format!("Bearer {TOKEN}");
    let refused = ask_as(&run, "GET", "/v1/followers", &[("Authorization", &bearer)], "");
    assert_eq!(
        (refused.status, &refused.json["code"]),
        (403, &Value::from("ingress.forbidden")),
        "{refused:?}"
    );
    let listed = ask(&run, "GET", "/v1/followers", &[], "");
    assert_eq!(listed.status, 200, "{listed:?}");
    let one = &listed.json["followers"][0];
    assert_eq!(one["to"], format!("http://127.0.0.1:{}", receiver.port), "{one}");
    assert_eq!((&one["name"], &one["on"][0]), (&Value::from("siem"), &Value::from("everything")), "{one}");
    let shown = systole(at, &["follow"]);
    assert!(shown.stdout.starts_with("siem  follows  at "), "{shown:?}");
    assert!(!shown.stdout.contains("/in"), "{shown:?}");
    drop(organism.interrupt());
}

#[test]
fn h15_a_wrong_command_or_secret_is_refused_with_its_place_and_the_fix() {
    let folder = house(&everything(1));
    let at = folder.path();
    for (secret, words) in [
        (None, "follow.siem.secret_env: HOOK: it is not set in the environment"),
        (Some(""), "follow.siem.secret_env: HOOK: it is not set in the environment"),
        (Some("abc"), "follow.siem.secret_env: HOOK: it does not begin with whsec_"),
        (Some("whsec_*"), "follow.siem.secret_env: HOOK: what follows whsec_ is not base64"),
        (Some("whsec_YWJj"), "follow.siem.secret_env: HOOK: it has fewer than 16 bytes, or more than 64"),
    ] {
        let mut variables = vec![("ALICE_TOKEN", TOKEN)];
        variables.extend(secret.map(|secret| ("HOOK", secret)));
        let ran = systole_with(at, &["run"], &variables);
        assert!(ran.code == Some(3) && ran.stderr.contains(words), "{ran:?}");
        assert!(ran.stderr.contains("  try: export HOOK=whsec_"), "{ran:?}");
    }
    drop(Running::organism_with(at, &VARIABLES).interrupt());
    let fails = |arguments: &[&str], words: &str, fix: &str| {
        let ran: Ran = systole(at, arguments);
        assert!(ran.code == Some(2) && ran.stderr.contains(words), "{ran:?}");
        assert!(ran.stderr.contains(&format!("try: {fix}")), "{ran:?}");
    };
    fails(&["follow", "sien"], "there is no follower `sien`", "systole follow siem");
    fails(&["follow", "xxxxxx"], "there is no follower `xxxxxx`", "one of siem");
    for from in ["0", "-1", "99999999", "soon"] {
        let from = format!("--from={from}");
        fails(&["follow", "siem", &from], "the log has the positions 1 to", "--from with one of them");
    }
    fails(&["follow", "siem", "--since", "soon"], "--since `soon`: this is not a time", "--since 10m");
}
