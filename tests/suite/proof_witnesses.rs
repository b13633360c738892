//! Organisms that sign checkpoints while they run: real witnesses cosign them, one of our own and one of another author,
//! and places that are away, slow or hostile stop nothing.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use crate::broker::NatsServer;
use crate::log_evidence::{house, number, rewrite, thread};
use crate::program::{PATIENCE, Ran, Running, ask, run_file, systole};
use crate::pumps::{asked, machine};

const FIRST: &str = "SELECT text FROM thread WHERE text LIKE 'sess-%' ORDER BY id";

/// The witness of another author, behind a server of Python. The first line is its address and its key.
const THEIRS: &str = r#"import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import time
from witness_log import WitnessService
service = WitnessService.new("example.com/theirs", bytes(range(32)))
service.add_log(sys.argv[1], sys.argv[2])
class Door(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        status, kind, said = service.handle_add_checkpoint_http(body, int(time.time()))
        said = said.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *words):
        print(*words, file=sys.stderr, flush=True)
server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
print(server.server_port, service.vkey(), flush=True)
server.serve_forever()
"#;

#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

fn json(at: &Path, arguments: &[&str]) -> Value {
    systole(at, &[arguments, &["--json"]].concat()).json_lines().remove(0)
}

fn records(at: &Path) -> i64 {
    number(at, "SELECT max(pos) FROM record")
}

/// The key of the log `example.org/house`, in `house.key`. Returns the public key.
pub(crate) fn log_key(at: &Path) -> String {
    let key = systole(at, &["keygen", "--origin", "example.org/house", "-o", "house.key"]);
    done(key).trim_end().to_owned()
}

/// Adds the section to the organism's file.
pub(crate) fn with_proof(at: &Path, rest: &str) {
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.split("proof: ").next().unwrap().to_owned();
    std::fs::write(&file, format!("{text}proof: {{key: house.key, origin: example.org/house{rest}}}\n"))
        .unwrap();
}

/// Our witness in its process, with its address and its key.
pub(crate) fn ours(at: &Path, log: &str) -> (Running, String, String) {
    let mut running = Running::start(at, &["witness", "serve", "--key", "w.key", "--add", log, "--json"]);
    let said: Value = serde_json::from_str(&running.shows("listen")).unwrap();
    let text = |name: &str| said[name].as_str().unwrap().to_owned();
    let (address, key) = (format!("http://{}", text("listen")), text("key"));
    (running, address, key)
}

/// The witness of another author in its process, with its address and its key.
fn theirs(at: &Path, log: &str) -> (Running, String, String) {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/witness");
    let mut python = Command::new("python3");
    python.args(["-c", THEIRS, "example.org/house", log]).current_dir(at);
    if tools.is_dir() {
        python.env("PYTHONPATH", tools);
    }
    python.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::of(python.spawn().unwrap());
    let line = running.shows("example.com/theirs");
    let (port, key) = line.trim_end().split_once(' ').unwrap();
    (running, format!("http://127.0.0.1:{port}"), key.to_owned())
}

/// The messages of the log that say that a checkpoint is not where it should be.
fn unproved(at: &Path) -> Vec<String> {
    let log = systole(at, &["log", "sys", "--json"]);
    let of_code = |record: &Value| record["code"] == "proof.missing";
    let all = log.json_lines();
    all.iter().filter(|record| of_code(record)).map(|record| record["body"].to_string()).collect()
}

#[tokio::test]
async fn c2_a_running_organism_is_cosigned_by_two_witnesses_and_both_refuse_another_history() {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    done(systole(at, &["keygen", "--origin", "example.net/ours", "--witness", "-o", "w.key"]));
    let (witness, first, first_key) = ours(at, &log);
    let (stranger, second, second_key) = theirs(at, &log);
    let policy = format!(
        "log {log}\nwitness ours {first_key}\nwitness theirs {second_key}\ngroup both all ours theirs\nquorum both\n"
    );
    std::fs::write(at.join("house.policy"), policy).unwrap();
    with_proof(at, &format!(", to: [\"{first}\", \"{second}/\", ./kept], policy: house.policy"));
    assert_eq!(systole(at, &["check"]).code, Some(0));

    let ran = Running::organism(at).interrupt();
    assert!(!ran.stderr.contains("not at"), "{ran:?}");
    let whole = records(at);
    let trusted = ["verify", "--policy", "house.policy"];
    let verdict = json(at, &trusted)["verdict"].clone();
    assert_eq!(verdict, format!("witnessed by 2 of 2 up to #{whole}"), "the stop is signed too");
    // The folder has what both cosigned, and a log that lost its notes is still shown by it.
    std::fs::rename(at.join("hello.db.notes"), at.join("notes")).unwrap();
    let kept = json(at, &["verify", "--policy", "house.policy", "--against", "kept/checkpoint"]);
    assert_eq!(kept["verdict"], format!("witnessed by 2 of 2 up to #{whole}"));

    // A command brings another checkpoint there; it does not know what the witnesses have.
    std::fs::rename(at.join("notes"), at.join("hello.db.notes")).unwrap();
    let now = json(at, &["checkpoint", "--now"]);
    assert_eq!((&now["size"], now["missing"].as_array().unwrap().len()), (&Value::from(whole), 0), "{now}");
    assert_eq!(now["note"].as_str().unwrap().matches('\u{2014}').count(), 3, "{now}");

    // Someone writes a thread anew. The notes beside the log refuse the start.
    std::fs::copy(at.join("hello.db"), at.join("true.db")).unwrap();
    let root = thread(at, FIRST);
    rewrite(at, &root, 2, "<other/>");
    let signed = std::fs::read(at.join("hello.db.notes")).unwrap();
    let ran = systole(at, &["run"]);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("the last checkpoint of example.org/house has {whole} records")),
        "{ran:?}"
    );
    assert_eq!((records(at), std::fs::read(at.join("hello.db.notes")).unwrap()), (whole, signed));
    // Without them both witnesses refuse, and the organism goes on.
    std::fs::remove_file(at.join("hello.db.notes")).unwrap();
    let mut running = Running::organism(at);
    running.shows("422");
    running.shows("422");
    let ran = running.interrupt();
    assert!(ran.code == Some(130) && ran.stderr.contains("422"), "{ran:?}");
    let said = unproved(at);
    assert_eq!(said.len(), 3, "each place once, however often it is tried: {said:?}");
    for place in [&first, &second] {
        assert!(
            said.iter().any(|said| said.contains(place.as_str()) && said.contains("status 422")),
            "{said:?}"
        );
    }
    assert!(said.iter().any(|said| said.contains("kept")), "{said:?}");
    let verdict = json(at, &["verify", "--policy", "house.policy", "--against", "kept/checkpoint"]);
    let words = verdict["verdict"].as_str().unwrap();
    assert!(words.starts_with("contradicted between #1 and "), "{verdict}");

    // What the witness has cosigned is stored: it refuses after a new start too.
    assert_eq!(witness.interrupt().code, Some(130));
    let (witness, again, _) = ours(at, &log);
    let refused =
        systole(at, &["checkpoint", "--key", "house.key", "--policy", "house.policy", "--to", &again]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("422"), "{refused:?}");
    std::fs::copy(at.join("true.db"), at.join("hello.db")).unwrap();
    std::fs::remove_file(at.join("hello.db.tip")).unwrap();
    std::fs::remove_file(at.join("hello.db.notes")).unwrap();
    let taken =
        systole(at, &["checkpoint", "--key", "house.key", "--policy", "house.policy", "--to", &again]);
    assert!(taken.code == Some(0) && taken.stdout.contains("example.net/ours"), "{taken:?}");
    drop((witness, stranger));
}

/// A place that answers each request with these bytes, or never.
pub(crate) fn answering(bytes: Option<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let Some(bytes) = bytes.clone() else {
                held.push(stream);
                continue;
            };
            std::thread::spawn(move || {
                let _request = stream.read(&mut [0; 64 << 10]);
                // A client that has had enough closes the connection.
                let _sent = stream.write_all(&bytes);
            });
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn c2_a_place_that_is_away_slow_or_hostile_is_told_and_stops_nothing() {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    let witness = done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    std::fs::write(at.join("house.policy"), format!("log {log}\nwitness w {witness}quorum w\n")).unwrap();
    let answer = |status: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
        answering(Some([head.as_bytes(), body].concat()))
    };
    let away = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let signed = format!("\u{2014} example.net/w {}\n", "A".repeat(104));
    let places = [
        (away, "no answer: no connection"),
        (answering(None), "nothing came in time"),
        (answer("200", &vec![b'\n'; 70 << 10]), "it has more than 65536 bytes"),
        (answer("200", b"<html>"), "its answer is refused: line 6"),
        (answer("200", signed.as_bytes()), "its answer is refused: no signature"),
        (answer("409", b"99999\n"), "it has a checkpoint of 99999 records"),
        (answer("409", b"0\n"), "changes its mind"),
        (answer("409", b"-1\n"), "409 without a size"),
        (answer("500", b"\x1b[31mred\n\n and more"), "status 500: [31mred and more"),
        (answering(Some(b"SSH-2.0-x\r\n".to_vec())), "no answer: "),
        ("./house.policy".to_owned(), "house.policy is a file"),
    ];
    let named: Vec<String> = places.iter().map(|(place, _)| format!("\"{place}\"")).collect();
    with_proof(at, &format!(", to: [{}], policy: house.policy", named.join(", ")));
    let running = Running::organism(at);
    // It answers while its witnesses do not.
    std::fs::write(at.join("say.xml"), crate::audit_stage::payload("search", "near")).unwrap();
    let ran = systole(at, &["send", "--file", "say.xml", "--key", "k9"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = running.interrupt();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    for (place, words) in &places {
        let place = place.trim_start_matches("./");
        let is_told = |line: &str| line.contains(place) && line.contains(words);
        assert!(ran.stderr.lines().any(is_told), "{place}: {words}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    // The checkpoints are signed all the same.
    let size = records(at);
    let anchored = json(at, &["verify", "--key", &log])["verdict"].clone();
    assert_eq!(anchored, format!("anchored up to #{size}"));
}

#[tokio::test]
async fn c2_a_checkpoint_is_signed_whenever_the_log_grew_and_a_broken_place_is_recorded_once() {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    std::fs::write(at.join("taken"), "").unwrap();
    with_proof(at, ", every: 1s, to: [./taken]");
    let mut running = Running::organism(at);
    running.shows("proof.missing");
    // The refusal itself is signed in the next interval, and then nothing grows.
    let end = Instant::now() + PATIENCE;
    while json(at, &["verify", "--key", &log])["verdict"] != format!("anchored up to #{}", records(at)) {
        assert!(Instant::now() < end, "the log is signed when it grew");
    }
    let ran = running.interrupt();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(unproved(at).len(), 1);
}

#[tokio::test]
async fn c2_a_witness_is_one_process_and_believes_only_what_it_signed_itself() {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    let key = done(systole(at, &["keygen", "--origin", "example.net/w", "--witness", "-o", "w.key"]));
    std::fs::write(at.join("house.policy"), format!("log {log}\nwitness w {key}quorum w\n")).unwrap();
    let serve = |add: &str| systole(at, &["witness", "serve", "--key", "w.key", "--add", add]);
    let refused = |ran: Ran, code: i32, words: &str| {
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains("  try: "), "{words}: {ran:?}");
    };
    let (witness, address, _) = ours(at, &log);
    refused(serve(&log), 5, "another witness uses it");
    let to = ["checkpoint", "--key", "house.key", "--policy", "house.policy", "--to", &address];
    done(systole(at, &to));
    // A stranger gets the words of the protocol, and the witness goes on.
    let port = address.rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    let asked = |request: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    };
    let post = |body: &str| {
        let head = "POST /add-checkpoint HTTP/1.1\r\nHost: w\r\nConnection: close\r\nContent-Length";
        asked(&format!("{head}: {}\r\n\r\n{body}", body.len()))
    };
    assert!(post("").starts_with("HTTP/1.1 400"));
    assert!(post("old 0\n\nexample.org/other\n1\n").starts_with("HTTP/1.1 400"));
    let note = std::fs::read_to_string(at.join("hello.db.notes")).unwrap();
    let first = note.split_inclusive('\n').take(5).collect::<String>();
    let conflict = post(&format!("old 0\n\n{first}"));
    let size = records(at);
    assert!(conflict.starts_with("HTTP/1.1 409") && conflict.contains("text/x.tlog.size"), "{conflict}");
    assert!(conflict.ends_with(&format!("\r\n\r\n{size}\n")), "{conflict}");
    let unknown = first.replace("example.org/house", "example.org/other");
    assert!(post(&format!("old 0\n\n{unknown}")).starts_with("HTTP/1.1 404"));
    let forged = first.replace(&format!("\n{size}\n"), &format!("\n{}\n", size + 1));
    assert!(post(&format!("old {size}\n\n{forged}")).starts_with("HTTP/1.1 403"));
    assert!(post(&"x".repeat(600 << 10)).starts_with("HTTP/1.1 400"));
    assert!(asked("GET / HTTP/1.1\r\nHost: w\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 404"));
    done(systole(at, &to));
    witness.interrupt();

    let state = at.join("w.key.cosigned");
    let kept = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, &first).unwrap();
    refused(serve(&log), 5, "did not cosign this checkpoint");
    std::fs::write(&state, kept.replace(&format!("\n{size}\n"), "\n1\n")).unwrap();
    refused(serve(&log), 5, "w.key.cosigned:1: ");
    std::fs::write(&state, "old 0\n").unwrap();
    refused(serve(&log), 5, "w.key.cosigned:1: ");
    refused(systole(at, &["witness", "serve", "--key", "house.key", "--add", &log]), 2, "the key of a log");
    refused(serve(key.trim_end()), 2, "the key of a witness, and not of a log");
    refused(serve("acme"), 2, "--add: ");
    std::fs::write(&state, &kept).unwrap();
    let held = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let ran = systole(at, &["witness", "serve", "--key", "w.key", "--add", &log, "--listen", &taken]);
    refused(ran, 5, "is in use by another program");
}

#[test]
fn c2_over_nats_only_the_pump_that_leads_signs_and_every_copy_of_the_log_is_anchored() {
    let server = NatsServer::with("http: \"127.0.0.1:-1\"\n");
    let kept = format!("monitor: 'http://{}'", server.monitor());
    let machines = [(); 3].map(|()| machine(&server, &kept));
    let [first, second, auditor] = machines.each_ref().map(|folder| folder.path());
    let log = log_key(first);
    std::fs::copy(first.join("house.key"), second.join("house.key")).unwrap();
    for at in [first, second] {
        with_proof(at, ", every: 1s");
    }
    let anchored = |at: &Path, notes: &Path| {
        let notes = notes.join("hello.db.notes");
        let said = json(at, &["verify", "--key", &log, "--against", notes.to_str().unwrap()]);
        said["verdict"].as_str().unwrap().to_owned()
    };
    let one = Running::organism(first);
    assert_eq!(asked(first).stdout, "heard\n");
    let mut two = Running::start(second, &["run"]);
    two.says("stands by: ");
    let end = Instant::now() + PATIENCE;
    while !first.join("hello.db.notes").exists() || !anchored(first, first).starts_with("anchored up to #") {
        assert!(Instant::now() < end, "the pump that leads signs");
    }
    one.signal(Signal::KILL);
    one.end();
    let signed = std::fs::read_to_string(first.join("hello.db.notes")).unwrap();
    assert!(!second.join("hello.db.notes").exists(), "a pump that stands by signs nothing");
    two.says("listens on");
    assert_eq!(asked(second).stdout, "heard\n");
    two.signal(Signal::TERM);
    assert_eq!(two.end().code, Some(0));

    // The machine that was killed has signed the beginning, the other one all of it, and the copies fit both.
    let whole = format!("anchored up to #{}", records(second));
    assert_eq!(anchored(second, second), whole);
    done(systole(auditor, &["copy"]));
    assert_eq!(anchored(auditor, second), whole);
    assert!(anchored(auditor, first).starts_with("anchored up to #"));
    // A copy of another history is contradicted by what either of them signed.
    let text = thread(auditor, FIRST);
    rewrite(auditor, &text, 2, "<other/>");
    for notes in [first, second] {
        assert!(anchored(auditor, notes).starts_with("contradicted "), "{}", anchored(auditor, notes));
    }
    assert_eq!(std::fs::read_to_string(first.join("hello.db.notes")).unwrap(), signed);
}

#[tokio::test]
async fn h4_the_first_page_says_how_far_the_log_is_signed_and_which_witness_is_away() {
    let folder = house().await;
    let at = folder.path();
    let log = log_key(at);
    done(systole(at, &["keygen", "--origin", "example.net/ours", "--witness", "-o", "w.key"]));
    let other = done(systole(at, &["keygen", "--origin", "example.net/other", "--witness", "-o", "o.key"]));
    let (witness, first, first_key) = ours(at, &log);
    let away = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let policy = format!(
        "log {log}\nwitness near {first_key}\nwitness far {other}group one any near far\nquorum one\n"
    );
    std::fs::write(at.join("house.policy"), policy).unwrap();
    with_proof(at, &format!(", to: [\"{first}\", \"{away}\"], policy: house.policy"));
    let running = Running::organism(at);
    let page = |path: &str| {
        let asked = crate::program::page(&run_file(at), "GET", path, "text/html", &[]);
        assert_eq!(asked.status, 200, "{asked:?}");
        asked.body
    };
    let end = Instant::now() + PATIENCE;
    let standing = loop {
        let asked = ask(&run_file(at), "GET", "/", &[], "");
        let standing = asked.json["proof"]["checkpoint"].clone();
        if standing["is_quorum"] == true {
            break standing;
        }
        assert!(Instant::now() < end, "{asked:?}");
    };
    let size = standing["size"].as_u64().unwrap();
    assert_eq!(standing["signer"], "example.org/house");
    assert_eq!(
        (&standing["witnesses"][0]["name"], &standing["witnesses"][0]["size"]),
        (&"near".into(), &size.into())
    );
    assert_eq!(
        (&standing["witnesses"][1]["name"], &standing["witnesses"][1]["size"]),
        (&"far".into(), &Value::Null)
    );
    for path in ["/", "/proof"] {
        let shown = page(path);
        for words in [
            format!("is signed by example.org/house and ends at position {size}"),
            "The witness near cosigned it".to_owned(),
            "The witness far is away: it cosigned none of the newest checkpoints.".to_owned(),
        ] {
            assert!(shown.contains(&words), "{path}: {words}\n{shown}");
        }
    }
    // Before the checkpoint there was none.
    assert!(page("/?at=1").contains("No valid checkpoint is stored beside the log."));
    // Verifying counts the keys that the organism's file names.
    let verified = page("/proof?verify=now");
    assert!(verified.contains("witnessed by 1 of 2 up to"), "{verified}");
    // Something else beside the log is told.
    let mut notes = std::fs::OpenOptions::new().append(true).open(at.join("hello.db.notes")).unwrap();
    notes.write_all(b"\nno checkpoint\n").unwrap();
    assert!(page("/").contains("A checkpoint cannot be read: "));
    drop((running, witness));
}
