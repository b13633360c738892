//! `systole run`: its output at the start, its errors if it cannot start, and how it stops.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use systole_core::types::ids::Digest;

use crate::http::{HOUSE, house};
use crate::log_records::read_all;
use crate::organism::{ECHO_XSD, folder, say};
use crate::program::{Ran, Running, ask, run_file, systole};
use crate::terminal::Terminal;

fn refused(folder: &Path, arguments: &[&str], code: i32, words: &[&str]) -> Ran {
    let ran = systole(folder, arguments);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    for wanted in words {
        assert!(ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
    }
    ran
}

#[test]
fn it_says_what_runs_where_and_on_which_log_and_never_the_token() {
    let folder = house();
    let mut organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    assert_eq!(run.pid, organism.pid());
    ask(&run, "POST", "/v1/messages", &[], &say("hello"));
    organism.shows("echo -> operator <said>");
    let ran = organism.interrupt();
    assert_eq!(ran.code, Some(130));
    for wanted in ["hello runs as process", &run.address.to_string(), "hello.db.run", "its log is", "stopped"]
    {
        assert!(ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
    }
    assert!(ran.stdout.contains("echo is ready"), "{ran:?}");
    assert!(ran.stdout.contains("operator -> echo <say>"), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "no colour without a terminal: {ran:?}");
    assert!(!ran.stderr.contains(run.token.secret()) && !ran.stdout.contains(run.token.secret()));
    assert!(!folder.path().join("hello.db.run").exists());
}

/// The organism of the first guide, whose request has a value that is marked as sensitive.
const HELD_VALUE: &str = r#"organism: {name: hello}
payloads: {order: {what: text, card: sensitive text}, placed: {what: text}}
listeners:
  desk: {run: [python3, desk.py], accepts: [order], returns: [placed], entry: true}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;

#[test]
fn it_shows_no_payload_unless_it_is_asked_to_and_no_sensitive_value_ever() {
    let desk = crate::organism::ECHO_PY
        .replace("ns/echo/", "ns/hello/")
        .replace("said", "placed")
        .replace("\"text\"", "\"what\"");
    let folder = folder(&[("organism.yaml", HELD_VALUE), ("desk.py", &desk)]);
    let run = |options: &[&str]| {
        let mut organism = Running::start(folder.path(), &[&["run"], options].concat());
        organism.shows("desk");
        let sent = systole(folder.path(), &["send", "order", "what=three-lamps", "card=4711-0815"]);
        assert_eq!(sent.code, Some(0), "{sent:?}");
        let refused = systole(
            folder.path(),
            &["send", "order", "what=three-lamps", "card=4711-0815", "cart=4711-0815"],
        );
        assert_ne!(refused.code, Some(0), "{refused:?}");
        organism.shows(if options.contains(&"--json") { "\"final\"" } else { "desk -> operator <placed>" });
        organism.interrupt().stdout
    };
    for options in [&[][..], &["--json"]] {
        let shown = run(options);
        assert!(!shown.contains("lamps") && !shown.contains("4711"), "{shown}");
        assert!(shown.contains("order") && shown.contains("placed"), "the elements are: {shown}");
    }
    for options in [&["--show"][..], &["--json", "--show"]] {
        let shown = run(options);
        assert!(shown.contains("three-lamps") && shown.contains("[sensitive]"), "{shown}");
        assert!(!shown.contains("4711"), "{shown}");
    }
    refused(
        folder.path(),
        &["run", "--role", "listeners", "--show"],
        2,
        &["--show", "a host records nothing"],
    );
}

#[test]
fn with_json_every_line_is_a_value() {
    let folder = house();
    let mut organism = Running::start(folder.path(), &["run", "--json"]);
    let started = organism.shows("listen");
    ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("hello"));
    organism.shows("\"final\"");
    let ran = organism.interrupt();
    let started: serde_json::Value = serde_json::from_str(&started).unwrap();
    assert_eq!(started["organism"], "hello");
    for line in ran.stdout.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
}

#[test]
fn a_refused_file_is_shown_as_the_loader_words_it() {
    let folder = folder(&[("organism.yaml", "organism: {name: hello}\nlistenrs: {}\n")]);
    refused(
        folder.path(),
        &["run"],
        3,
        &["config.unknown-key", "organism.yaml:2:1", "listenrs: {}", "listeners"],
    );
    refused(folder.path(), &["run", "-f", "nowhere.yaml"], 3, &["nowhere.yaml", "no such file"]);
}

#[test]
fn an_address_in_use_is_named_with_the_key_that_changes_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = house();
    let yaml = HOUSE.replace("127.0.0.1:0", &address);
    std::fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    refused(folder.path(), &["run"], 5, &[&address, "console.listen"]);
    assert!(!folder.path().join("hello.db").exists(), "nothing was started before");
}

#[test]
fn a_second_organism_on_a_log_is_refused_with_the_pid_of_the_first() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let words = format!("is in use by process {}", organism.pid());
    refused(folder.path(), &["run"], 5, &["hello.db", &words]);

    // The same if both want the same address. A person sees this after starting it twice.
    let yaml = HOUSE.replace("127.0.0.1:0", &run_file(folder.path()).address.to_string());
    std::fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    refused(folder.path(), &["run"], 5, &["hello.db", &words]);
    assert_eq!(run_file(folder.path()).pid, organism.pid(), "the first one's run file is still there");
    organism.interrupt();
}

#[test]
fn a_log_that_cannot_be_trusted_is_refused_with_its_place() {
    let folder = house();
    std::fs::write(folder.path().join("other.db"), "notes").unwrap();
    refused(folder.path(), &["run", "--log", "other.db"], 7, &["other.db is not a Systole log"]);

    let organism = Running::organism(folder.path());
    ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("hello"));
    organism.interrupt();
    let log = rusqlite::Connection::open(folder.path().join("hello.db")).unwrap();
    log.execute("UPDATE record SET body = CAST('<forged/>' AS BLOB) WHERE pos = 3", []).unwrap();
    drop(log);
    refused(folder.path(), &["run"], 7, &["hello.db is damaged at position 3"]);
}

#[test]
fn a_program_that_does_not_start_is_reported_at_once_with_its_output() {
    let yaml = HOUSE.replace("[python3, echo.py]", "[no-such-program-here]");
    let folder = folder(&[("organism.yaml", &yaml), ("echo.xsd", ECHO_XSD)]);
    let mut organism = Running::start(folder.path(), &["run"]);
    let told = organism.says("echo: ");
    assert!(told.contains("no-such-program-here"), "{told}");
    organism.interrupt();
}

#[test]
fn row_20_hostile_text_is_shown_and_not_obeyed() {
    let folder = house();
    let mut organism = Running::organism_set(folder.path(), &["--show"], &[]);
    ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("\u{202e}txt.exe \u{9b}2J"));
    let shown = organism.shows("echo -> operator");
    assert!(shown.contains("\\u{202e}txt.exe \\u{9b}2J"), "{shown}");
    organism.interrupt();
}

/// Opens the pipe `asked` when it is asked, and answers when something is written into the pipe
/// `gate`.
const SLOW_PY: &str = r#"import sys, xml.etree.ElementTree as ET
E, S, L, N = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/echo/v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    open("asked", "w").close()
    text = open("gate").read()
    stamp = message.find(f"{E}meta/{S}stamp")
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    ET.SubElement(ET.SubElement(reply, N + "said"), N + "text").text = text
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

/// An organism with one message, whose listener waits in the middle of its work.
pub(crate) fn start_held() -> (tempfile::TempDir, Running) {
    let folder = house();
    std::fs::write(folder.path().join("echo.py"), SLOW_PY).unwrap();
    for pipe in ["gate", "asked"] {
        assert!(Command::new("mkfifo").arg(folder.path().join(pipe)).status().unwrap().success());
    }
    let mut organism = Running::as_service(folder.path(), &["run"], &[]);
    organism.says("its log is");
    ask(&run_file(folder.path()), "POST", "/v1/messages", &[("Idempotency-Key", "k1")], &say("hello"));
    // Opening blocks until the listener has the message and opens the other end.
    drop(std::fs::File::open(folder.path().join("asked")).unwrap());
    (folder, organism)
}

/// Lets the listener of `start_held` continue.
pub(crate) fn answer_late(folder: &Path) {
    let mut gate = std::fs::File::options().write(true).open(folder.join("gate")).unwrap();
    gate.write_all(b"late").unwrap();
}

#[test]
fn ctrl_c_lets_replies_land() {
    let (folder, mut organism) = start_held();
    organism.signal(Signal::INT);
    organism.says("stopping");
    answer_late(folder.path());
    organism.shows("echo -> operator <said>");
    let ran = organism.end();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.contains("stopped") && !ran.stderr.contains("still out"), "{ran:?}");
}

#[test]
fn term_is_a_stop_that_went_well() {
    let folder = house();
    let organism = Running::organism(folder.path());
    organism.signal(Signal::TERM);
    let ran = organism.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn an_organism_stops_in_order_when_its_terminal_is_closed() {
    let folder = house();
    let mut terminal = Terminal::start(folder.path(), &["run"], &[]);
    terminal.shows("its log is");
    let mut log = Running::start(folder.path(), &["log", "--follow"]);
    log.shows("<boot>");
    drop(terminal);
    log.shows("mode=drained");
    log.interrupt();
}

#[test]
fn started_by_nohup_an_organism_ignores_hup() {
    let folder = house();
    let mut organism = Running::under(folder.path(), "trap '' HUP", &["run"]);
    organism.says("its log is");
    organism.signal(Signal::HUP);
    organism.signal(Signal::HUP);
    ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("hello"));
    organism.shows("echo -> operator <said>");
    let ran = organism.interrupt();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(ran.stderr.matches("stopping").count(), 1, "{ran:?}");
}

#[test]
fn a_second_signal_stops_at_once_and_nothing_is_lost() {
    let (folder, mut organism) = start_held();
    organism.signal(Signal::INT);
    organism.says("stopping");
    organism.signal(Signal::INT);
    let ran = organism.end();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stderr.contains("stopped at once"), "{ran:?}");
    assert!(!ran.stderr.contains("panicked"), "what goes down with the process has nothing to say: {ran:?}");

    std::fs::write(folder.path().join("echo.py"), crate::organism::ECHO_PY).unwrap();
    let yaml = HOUSE.replace("attempts: 1", "attempts: 3");
    std::fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    let mut organism = Running::organism(folder.path());
    organism.shows("echo -> operator <said>");
    organism.interrupt();
}

#[test]
fn why_says_each_thing_of_a_failing_program_once() {
    let dies = "run: [sh, -c, \"echo boom-$((1+1)) >&2; exit 4\"]";
    let file = format!(
        "organism: {{name: hello, entry: dies}}\nlisteners:\n  dies: {{{dies}, accepts: [ask], returns: [answer], entry: true, \
         retry: {{attempts: 3, backoff: 1h..1h}}}}\nlog: {{path: ./hello.db}}\nconsole: {{listen: '127.0.0.1:0'}}\n"
    );
    let folder = folder(&[("organism.yaml", &file)]);
    let mut organism = Running::organism(folder.path());
    let sent = systole(folder.path(), &["send", "ask", "Who?", "--no-wait"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    organism.shows("attempt 2");
    let why = systole(folder.path(), &["why", "@last"]).stdout;
    assert!(why.contains("attempt 2 of 3 in back-off"), "{why}");
    assert_eq!(why.matches("boom-2").count(), 1, "{why}");
    organism.interrupt();
}

#[test]
fn a_mistake_in_the_file_hides_no_organism_that_runs_from_it() {
    let folder = house();
    let (file, backup) = (folder.path().join("organism.yaml"), folder.path().join("backup.db"));
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let sent = ask(&run, "POST", "/v1/messages", &[("Systole-Wait", "60")], &say("hello"));
    let (thread, backup) = (sent.json["thread"].as_str().unwrap(), backup.to_str().unwrap());
    std::fs::write(&file, HOUSE.to_owned() + "mode: onec\n").unwrap();
    for arguments in [
        &["ps"][..],
        &["why"],
        &["log"],
        &["tree", thread],
        &["cost"],
        &["find", "hello"],
        &["approve"],
        &["graph"],
        &["pause", "--all"],
        &["resume", "--all"],
        &["backup", "-o", backup],
    ] {
        let ran = systole(folder.path(), arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let note = "runs with the file as it was when it started; this uses its log";
        assert_eq!(ran.stderr.matches(note).count(), 1, "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains("organism.yaml:"), "{arguments:?}: {ran:?}");
    }
    let judged = systole(folder.path(), &["doctor"]);
    assert!(judged.code == Some(3) && judged.stdout.contains("hello.db, format"), "{judged:?}");
    assert_eq!(systole(folder.path(), &["check"]).code, Some(3));
    // Not even YAML: the run file beside it names the log.
    std::fs::write(&file, "organism: [\n").unwrap();
    assert_eq!(systole(folder.path(), &["stop"]).code, Some(0));
    assert_eq!(organism.end().code, Some(0));
    // Without an organism that runs, there is nothing to go by.
    let ran = systole(folder.path(), &["ps"]);
    assert!(ran.code == Some(3) && ran.stderr.contains("--log PATH"), "{ran:?}");

    // A log in another folder is found by the section `log` alone.
    std::fs::create_dir(folder.path().join("logs")).unwrap();
    let elsewhere = HOUSE.replace("./hello.db", "./logs/hello.db");
    std::fs::write(&file, &elsewhere).unwrap();
    let organism = Running::organism(folder.path());
    std::fs::write(&file, elsewhere + "mode: onec\n").unwrap();
    assert_eq!(systole(folder.path(), &["ps"]).code, Some(0));
    assert_eq!(systole(folder.path(), &["stop"]).code, Some(0));
    assert_eq!(organism.end().code, Some(0));
}

#[test]
fn c2_the_start_of_an_organism_has_the_hash_of_its_program() {
    let folder = house();
    let program = folder.path().join("stripped");
    // A debug build is too large to be hashed at each start.
    let strip = Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_systole")).status();
    assert!(strip.unwrap().success());
    std::fs::write(folder.path().join("say.xml"), say("hello")).unwrap();
    let sent = Command::new(&program).args(["send", "--file", "say.xml"]).current_dir(folder.path()).output();
    assert_eq!(sent.unwrap().status.code(), Some(0));
    let records = read_all(&folder.path().join("hello.db"));
    let boot = records.iter().find(|record| record.body.starts_with(b"<boot ")).unwrap();
    let hash = Digest::hash_bytes(&std::fs::read(&program).unwrap());
    assert!(String::from_utf8_lossy(&boot.body).contains(&format!(" program=\"{hash}\"")), "{boot:?}");
}
