//! Reloads of real processes: clients go on, the log says which configuration counts, and what cannot go on is refused
//! or leaves the one before.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::Value;
use systole_log::sqlite;
use systole_organism::runfile::RunFile;

use crate::broker::NatsServer;
use crate::cli_run::{answer_late, start_held};
use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{Ran, Running, ask, ask_as, run_file, systole, systole_with};

const FILE: &str = "organism: {name: hello}
listeners:
  echo: {run: [python3, echo.py], schema: echo.xsd, accepts: [say], returns: [said], entry: true}
clients:
  ann: {token_env: ANN_TOKEN}
  ops: {token_env: OPS_TOKEN, roles: [operate]}
limits: {message: 32KiB}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
const ANN: &str = "ann-token-0123456789";
const OPS: &str = "ops-token-0123456789";
const TOKENS: [(&str, &str); 2] = [("ANN_TOKEN", ANN), ("OPS_TOKEN", OPS)];

fn house() -> tempfile::TempDir {
    folder(&[("organism.yaml", FILE), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO_PY)])
}

/// Replaces a text of the organism's file.
fn edit(at: &Path, before: &str, after: &str) {
    let file = at.join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(before), "{text}");
    std::fs::write(file, text.replace(before, after)).unwrap();
}

fn reload(at: &Path, options: &[&str]) -> Ran {
    systole(at, &[&["reload", "--yes"], options].concat())
}

/// The configuration that runs.
fn read_running(at: &Path) -> String {
    let run = run_file(at);
    let bearer = format!("Bearer {}", run.token.secret());
    let status = ask_as(&run, "GET", "/v1/status", &[("Authorization", &bearer)], "");
    status.json["config"].as_str().unwrap().to_owned()
}

/// The core's records of the log's own thread with that element.
fn list_told(at: &Path, element: &str) -> Vec<String> {
    let records = systole(at, &["log", "sys", "-n", "0", "--json"]).json_lines();
    let bodies = records.iter().map(|record| record["body"].as_str().unwrap_or_default().to_owned());
    bodies.filter(|body| body.starts_with(&format!("<{element} "))).collect()
}

/// Sends messages until the end. Returns their keys, and how many of them the door did not take at first.
fn send_on(at: &Path, name: usize, is_over: &AtomicBool) -> (Vec<String>, usize) {
    let run = run_file(at);
    let bearer = format!("Bearer {ANN}");
    let (mut keys, mut again) = (Vec::new(), 0);
    while !is_over.load(Ordering::Relaxed) {
        let key = format!("{name}-{}", keys.len());
        let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", &key)];
        loop {
            let answer = ask_as(&run, "POST", "/v1/messages", &headers, &say(&key));
            match answer.status {
                202 => break,
                503 => again += 1,
                _ => panic!("{answer:?}"),
            }
        }
        keys.push(key);
    }
    (keys, again)
}

#[test]
fn d9_a_reload_keeps_every_message_and_every_connection_of_clients_that_go_on() {
    const RELOADS: usize = 8;
    let folder = house();
    let at = folder.path();
    let running = Running::organism_with(at, &TOKENS);
    let is_over = AtomicBool::new(false);
    let (mut keys, mut again) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        let senders: Vec<_> = (0..3).map(|name| scope.spawn(move || send_on(at, name, is_over))).collect();
        for turn in 0..RELOADS {
            let sizes = ["limits: {message: 32KiB}", "limits: {message: 48KiB}"];
            edit(at, sizes[turn % 2], sizes[1 - turn % 2]);
            let before = read_running(at);
            let reloaded = reload(at, &[]);
            assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
            assert_ne!(read_running(at), before);
        }
        is_over.store(true, Ordering::Relaxed);
        for sender in senders {
            let (sent, asked) = sender.join().unwrap();
            keys.extend(sent);
            again += asked;
        }
    });
    println!("{} messages, {again} of them asked for again", keys.len());
    assert!(keys.len() > RELOADS, "{}", keys.len());
    let last = run_file(at);
    let headers =
        [("Authorization", format!("Bearer {ANN}")), ("Systole-Wait", "240".to_owned())].map(|(n, v)| (n, v));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(ask_as(&last, "POST", "/v1/messages", &headers, &say("last")).status, 200);
    let ran = running.interrupt();
    assert_eq!(ran.stderr.matches("reloaded: ").count(), RELOADS, "{}", ran.stderr);
    let records = systole(at, &["log", "-n", "0", "--json"]).json_lines();
    let bound: Vec<&str> = records
        .iter()
        .filter(|record| record["from"] == "ann" && record["seq"] == 1)
        .filter_map(|record| record["key"].as_str())
        .filter(|key| keys.iter().any(|one| one == key))
        .collect();
    assert_eq!(bound.len(), keys.len(), "each message opened one thread");
    let answers = records.iter().filter(|record| record["to"] == "ann" && record["from"] == "echo").count();
    assert!(answers <= bound.len() + 1, "{answers}");
    assert_eq!(systole(at, &["verify"]).code, Some(0));
    assert_eq!(list_told(at, "reloaded").len(), RELOADS);
}

#[test]
fn d9_after_a_crash_the_reload_counts_and_take_file_takes_the_file() {
    let folder = house();
    let at = folder.path();
    let crash = |running: Running| {
        running.signal(Signal::KILL);
        running.end();
    };
    let running = Running::organism_with(at, &TOKENS);
    let first = read_running(at);
    std::fs::write(at.join("other.yaml"), FILE.replace("32KiB", "48KiB")).unwrap();
    let reloaded = reload(at, &["-f", "other.yaml"]);
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let second = read_running(at);
    assert_ne!(first, second);
    crash(running);
    // A command that runs for a moment is no stop, and the file is still the first one.
    std::fs::write(at.join("say.xml"), say("while it is down")).unwrap();
    let sent = systole_with(at, &["send", "--file", "say.xml"], &TOKENS);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.stderr.contains(&second), "{sent:?}");
    let paused = systole_with(at, &["pause", "--all"], &TOKENS);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    assert_eq!(systole_with(at, &["resume", "--all"], &TOKENS).code, Some(0));
    let running = Running::organism_with(at, &TOKENS);
    assert_eq!(read_running(at), second);
    crash(running);
    let running = Running::organism_set(at, &["--take-file"], &TOKENS);
    assert_eq!(read_running(at), first);
    crash(running);
    let running = Running::organism_with(at, &TOKENS);
    assert_eq!(read_running(at), first, "the file was taken on purpose");
    // Away from the file that stands there, and a stop in order does not bring it back.
    edit(at, "32KiB", "64KiB");
    assert_eq!(reload(at, &[]).code, Some(0));
    let third = read_running(at);
    let back = reload(at, &["--back"]);
    assert_eq!((back.code, read_running(at)), (Some(0), first.clone()), "{back:?}");
    let ran = running.interrupt();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let running = Running::organism_with(at, &TOKENS);
    assert_eq!(read_running(at), first);
    let ran = running.interrupt();
    assert!(ran.stderr.contains("turned away from this file"), "{}", ran.stderr);
    edit(at, "64KiB", "65KiB");
    let running = Running::organism_with(at, &TOKENS);
    assert!(![&first, &second, &third].contains(&&read_running(at)), "another file counts after a stop");
    running.interrupt();
    assert_eq!(list_told(at, "reloaded").len(), 3);
}

#[test]
fn d9_a_configuration_that_does_not_start_leaves_the_one_before() {
    let folder = house();
    let at = folder.path();
    let running = Running::organism_with(at, &TOKENS);
    let first = read_running(at);
    edit(at, "run: [python3, echo.py]", "run: [sh, -c, 'echo no engine >&2; exit 7']");
    let failed = reload(at, &[]);
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert!(failed.stderr.contains("echo: exited 7"), "{failed:?}");
    assert!(failed.stderr.contains("no engine"), "{failed:?}");
    assert_eq!(read_running(at), first);
    let sent = systole(at, &["send", "--file", "say.xml"]);
    assert_ne!(sent.code, Some(0), "there is no such file yet: {sent:?}");
    std::fs::write(at.join("say.xml"), say("still here")).unwrap();
    let sent = systole(at, &["send", "--file", "say.xml"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let told = list_told(at, "reload-failed");
    assert!(told.len() == 1 && told[0].contains("exited 7") && !told[0].contains(&first), "{told:?}");
    assert_eq!(list_told(at, "reloaded"), Vec::<String>::new());
    running.interrupt();
}

#[test]
fn d9_what_cannot_be_reloaded_is_refused_and_nothing_changes() {
    let folder = house();
    let at = folder.path();
    let running = Running::organism_with(at, &TOKENS);
    let (first, run) = (read_running(at), run_file(at));
    let asks = |token: &str, method: &str, path: &str| {
        ask_as(&run, method, path, &[("Authorization", &format!("Bearer {token}"))], "")
    };
    for method in ["GET", "POST"] {
        let refused = asks(ANN, method, "/v1/reload");
        assert_eq!((refused.status, &refused.json["code"]), (403, &"ingress.forbidden".into()), "{method}");
    }
    let refused = asks(OPS, "POST", "/v1/reload?file=/etc/organism.yaml");
    assert_eq!((refused.status, &refused.json["code"]), (403, &"ingress.forbidden".into()));
    for (query, place) in [
        ("drain=0s", "drain"),
        ("drain=2d", "drain"),
        ("approved=12", "approved"),
        ("back=perhaps", "back"),
        ("colour=red", "file"),
    ] {
        let refused = asks(OPS, "POST", &format!("/v1/reload?{query}"));
        assert_eq!(refused.status, 400, "{query}: {refused:?}");
        assert!(refused.body.contains(place), "{query}: {refused:?}");
    }
    let back = asks(OPS, "POST", "/v1/reload?back=true");
    assert_eq!((back.status, &back.json["code"]), (422, &"reload.unfit".into()), "nothing ran before");
    edit(at, "32KiB", "48KiB");
    let other = asks(OPS, "POST", &format!("/v1/reload?approved={}", "0".repeat(64)));
    assert_eq!((other.status, &other.json["code"]), (422, &"reload.changed".into()), "{other:?}");
    for (before, after, words) in [
        ("name: hello", "name: other", "organism.name"),
        ("./hello.db", "./other.db", "log.path"),
        ("127.0.0.1:0", "127.0.0.1:1", "console.listen"),
        ("clients:\n", "clients:\n  bob: {token_env: BOB_TOKEN}\n", "BOB_TOKEN is not set"),
        ("limits: {", "limts: {", "line 7"),
    ] {
        edit(at, before, after);
        let refused = asks(OPS, "POST", "/v1/reload");
        assert_eq!((refused.status, &refused.json["code"]), (422, &"reload.unfit".into()), "{after}");
        assert!(refused.body.contains(words), "{after}: {refused:?}");
        assert!(refused.json["try"].is_string(), "{after}: {refused:?}");
        let typed = reload(at, &[]);
        assert!(matches!(typed.code, Some(3 | 4)), "{after}: {typed:?}");
        edit(at, after, before);
    }
    let shown = asks(OPS, "POST", "/v1/reload?show=true");
    assert_eq!((shown.status, &shown.json["reload"]), (200, &serde_json::json!(["limits.message"])));
    assert_eq!((read_running(at), list_told(at, "shutdown").len()), (first, 0));
    let began = asks(OPS, "GET", "/v1/reload").json;
    assert_eq!((&began["reloaded"], &began["failed"]), (&Value::Null, &Value::Null));
    running.interrupt();
    let alone = reload(at, &[]);
    assert_eq!(alone.code, Some(5), "{alone:?}");
}

#[test]
fn d9_a_stop_while_a_reload_waits_is_a_stop_and_the_file_counts_afterwards() {
    let (folder, mut organism) = start_held();
    let at = folder.path();
    let file = std::fs::read_to_string(at.join("organism.yaml")).unwrap();
    answer_late(at);
    organism.shows("echo -> operator <said>");
    std::fs::write(at.join("other.yaml"), file.replace("name: hello", "name: hello, description: Other"))
        .unwrap();
    assert_eq!(reload(at, &["-f", "other.yaml"]).code, Some(0));
    ask(&run_file(at), "POST", "/v1/messages", &[("Idempotency-Key", "k2")], &say("more"));
    drop(std::fs::File::open(at.join("asked")).unwrap());
    organism.signal(Signal::HUP);
    organism.says("reloads configuration");
    organism.signal(Signal::TERM);
    organism.says("stopping");
    answer_late(at);
    let ran = organism.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let again = Running::organism(at);
    let ran = again.interrupt();
    assert!(!ran.stderr.contains("which operator reloaded"), "the file counts: {ran:?}");
}

/// A new program is tried for a while, and no process has the log then.
#[test]
fn d9_a_stop_between_the_end_and_the_start_of_a_reload_stops_the_organism() {
    let folder = house();
    let at = folder.path();
    let running = Running::organism_with(at, &TOKENS);
    edit(at, "32KiB", "48KiB");
    assert_eq!(reload(at, &[]).code, Some(0));
    let earlier = read_running(at);
    edit(at, "run: [python3, echo.py]", "run: [python3, -u, echo.py]");
    let ended = std::thread::scope(|scope| {
        let reloading = scope.spawn(|| reload(at, &[]));
        let (log, posted) = (at.join("hello.db"), at.join("hello.db.run"));
        let is_between = || std::fs::read_to_string(&posted).is_ok_and(|text| text.contains("\"reloading\""));
        while !is_between() || sqlite::find_holder(&log) != Ok(None) {
            assert!(!reloading.is_finished(), "it was never seen between its end and its start");
            std::thread::yield_now();
        }
        let stopped = systole(at, &["stop"]);
        assert_eq!(stopped.code, Some(0), "{stopped:?}");
        assert!(!stopped.stderr.contains("no organism runs"), "{stopped:?}");
        running.end()
    });
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let running = Running::organism_with(at, &TOKENS);
    assert_ne!(read_running(at), earlier, "the file counts after a stop");
    let ran = running.interrupt();
    assert!(!ran.stderr.contains("which operator reloaded"), "{ran:?}");
}

#[test]
fn d9_a_reload_without_its_broker_waits_for_it_and_keeps_those_who_wait_at_the_door() {
    let mut server = NatsServer::start();
    let far = format!(
        "bus: {{nats: \"{}\"}}\nlisteners:\n  far: {{nats: true, schema: echo.xsd, accepts: [say], returns: [said]}}\n",
        server.url()
    );
    let file = FILE.replace("listeners:\n", &far);
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO_PY)]);
    let at = folder.path();
    let mut running = Running::organism_with(at, &TOKENS);
    let first = read_running(at);
    server.kill();
    edit(at, "32KiB", "48KiB");
    std::thread::scope(|scope| {
        let reloading = scope.spawn(|| reload(at, &[]));
        running.says("waits for its broker");
        let waiting = scope.spawn(|| read_running(at));
        server.begin();
        running.says("reloaded: ");
        let reloaded = reloading.join().unwrap();
        assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
        assert_ne!(waiting.join().unwrap(), first);
    });
    running.interrupt();
    assert_eq!((list_told(at, "reloaded").len(), list_told(at, "reload-failed").len()), (1, 0));
}

#[test]
fn d9_a_fork_of_a_log_with_a_reload_takes_its_own_file() {
    let folder = house();
    let at = folder.path();
    let running = Running::organism_with(at, &TOKENS);
    std::fs::write(at.join("other.yaml"), FILE.replace("32KiB", "48KiB")).unwrap();
    assert_eq!(reload(at, &["-f", "other.yaml"]).code, Some(0));
    let second = read_running(at);
    std::fs::write(at.join("say.xml"), say("fork me")).unwrap();
    assert_eq!(systole(at, &["send", "--file", "say.xml"]).code, Some(0));
    running.interrupt();
    let forked = systole(at, &["fork", "@last@1", "-o", "fork.db"]);
    assert_eq!(forked.code, Some(0), "{forked:?}");
    assert_eq!(systole(at, &["verify", "--log", "fork.db"]).code, Some(0));
    edit(at, "./hello.db", "./fork.db");
    let running = Running::organism_with(at, &TOKENS);
    let run = RunFile::find_running(&at.join("fork.db")).unwrap();
    let bearer = format!("Bearer {}", run.token.secret());
    let status = ask_as(&run, "GET", "/v1/status", &[("Authorization", &bearer)], "");
    assert_ne!(status.json["config"], second.as_str(), "{status:?}");
    running.interrupt();
}

/// Ctrl-C, a terminal that closes and the file's own signal stay apart: see `cli_run`.
#[test]
fn d9_a_hangup_without_a_terminal_reloads_the_file() {
    let (folder, mut organism) = start_held();
    let at = folder.path();
    edit(at, "organism: {name: hello}", "organism: {name: hello, description: A changed one}");
    organism.signal(Signal::HUP);
    organism.says("reloads configuration");
    // Messages are taken meanwhile, and a second hangup takes the place of the first one.
    organism.signal(Signal::HUP);
    let headers = [("Idempotency-Key", "k2")];
    assert_eq!(ask(&run_file(at), "POST", "/v1/messages", &headers, &say("meanwhile")).status, 202);
    assert_eq!(list_told(at, "shutdown").len(), 0, "the first one is still out");
    answer_late(at);
    organism.says("reloaded: ");
    drop(std::fs::File::open(at.join("asked")).unwrap());
    answer_late(at);
    organism.shows("echo -> operator <said>");
    organism.shows("echo -> operator <said>");
    edit(at, "organism: {", "organism: {nam: other, ");
    organism.signal(Signal::HUP);
    organism.says("not reloaded: ");
    organism.says("try: ");
    edit(at, "nam: other, ", "");
    let ran = organism.interrupt();
    assert_eq!((ran.code, ran.stderr.matches("reloads configuration").count()), (Some(130), 2), "{ran:?}");
    assert_eq!(list_told(at, "reloaded").len(), 1, "the newest order counts");
}

#[test]
fn d9_the_configurations_are_listed_with_their_open_threads_and_two_are_compared() {
    let folder = house();
    let at = folder.path();
    let running = Running::organism_with(at, &TOKENS);
    let first = read_running(at);
    assert_eq!(systole(at, &["pause", "--all"]).code, Some(0));
    std::fs::write(at.join("say.xml"), say("from before")).unwrap();
    let sent = systole(at, &["send", "--file", "say.xml", "--no-wait", "--json"]);
    let thread = sent.json_lines()[0]["receipt"]["thread"].as_str().unwrap().to_owned();
    edit(at, "32KiB", "48KiB");
    assert_eq!(reload(at, &[]).code, Some(0));
    let second = read_running(at);
    let list = || systole(at, &["config", "--json"]).json_lines().remove(0);
    let listed = list();
    assert_eq!(listed["running"], *second);
    let told: Vec<_> = listed["configurations"].as_array().unwrap().iter().collect();
    let found = told.iter().map(|one| (one["config"].as_str().unwrap(), &one["starts"], &one["threads"]));
    let none = serde_json::json!([]);
    let open = serde_json::json!([thread]);
    assert_eq!(found.collect::<Vec<_>>(), [(&*second, &1.into(), &none), (&*first, &1.into(), &open)]);
    let (run, bearer) = (run_file(at), format!("Bearer {}", run_file(at).token.secret()));
    let page = |path: &str| ask_as(&run, "GET", path, &[("Authorization", &bearer)], "");
    assert_eq!(page("/config").json["configurations"], listed["configurations"]);
    assert_eq!(page(&format!("/config/{first}")).json["threads"], open);
    let (short, other) = (&first[..12], &second[..12]);
    let lines = systole(at, &["config"]).stdout;
    assert!(lines.starts_with(&format!("* {other}  1 start  last ")), "{lines}");
    assert!(lines.contains(&format!("  {short}  1 start  last ")), "{lines}");
    assert!(lines.ends_with(&format!("1 open thread: {thread}\n")), "{lines}");
    let differs = systole(at, &["config", "diff", short]).stdout;
    assert!(
        differs.starts_with(&format!("from {short} to {other}\n  reload   limits.message\n")),
        "{differs}"
    );
    for line in ["  - limits: {message: 32KiB}\n", "  + limits: {message: 48KiB}\n"] {
        assert!(differs.contains(line), "{differs}");
    }
    let back = systole(at, &["config", "diff", other, short, "--json"]).json_lines().remove(0);
    assert_eq!(back["keys"], serde_json::json!([{"what": "limits.message", "needs_restart": false}]));
    let shown = systole(at, &["config", "show", short]).stdout;
    assert!(shown.contains("== organism file\n") && shown.contains("32KiB"), "{shown}");
    assert!(shown.contains("\n== echo.xsd\n"), "{shown}");
    for typed in [&first[..7], "organism", ""] {
        let refused = systole(at, &["config", "show", typed]);
        assert_eq!(refused.code, Some(2), "{typed}: {refused:?}");
        assert!(refused.stderr.contains("try: 8 digits or more of a hash"), "{refused:?}");
    }
    assert_eq!(systole(at, &["cancel", &thread]).code, Some(0));
    assert_eq!(list()["configurations"][1]["threads"], none);
    running.interrupt();
}

#[test]
fn d9_a_replay_before_a_reload_names_the_threads_that_would_go_another_way() {
    let folder = house();
    let at = folder.path();
    let running = Running::organism_with(at, &TOKENS);
    let first = read_running(at);
    let run = run_file(at);
    for n in 0..41 {
        let text = if n % 5 == 1 { "more than five" } else { "short" };
        let headers = [("Authorization", format!("Bearer {ANN}")), ("Systole-Wait", "240".to_owned())];
        let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
        assert_eq!(ask_as(&run, "POST", "/v1/messages", &headers, &say(text)).status, 200);
    }
    let text = "name=\"said\"><xs:complexType><xs:sequence><xs:element name=\"text\" type=\"xs:string\"/>";
    let narrow = text.replace(
        " type=\"xs:string\"/>",
        "><xs:simpleType><xs:restriction base=\"xs:string\"><xs:maxLength value=\"5\"/></xs:restriction>\
         </xs:simpleType></xs:element>",
    );
    assert!(ECHO_XSD.contains(text));
    std::fs::write(at.join("echo.xsd"), ECHO_XSD.replace(text, &narrow)).unwrap();
    let stopped = reload(at, &["--replay", "30d", "--stop-if", "differs"]);
    assert_eq!(stopped.code, Some(1), "{stopped:?}");
    let counts = "33 same, 0 differ, 8 refused by the new schema; first: sess-";
    assert!(stopped.stdout.contains(counts), "{stopped:?}");
    assert!(stopped.stdout.contains("at most 5 are allowed"), "{stopped:?}");
    assert!(stopped.stderr.contains("nothing is changed: threads would differ"), "{stopped:?}");
    assert_eq!(read_running(at), first);
    let reloaded = reload(at, &["--replay", "30d"]);
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    assert!(reloaded.stdout.contains(counts), "{reloaded:?}");
    assert_ne!(read_running(at), first);
    running.interrupt();
}

const THINKS: &str = "organism: {name: hello, entry: writer}
models: {main: {provider: script, file: replies.yaml}}
agents: {writer: {model: main, prompt: {identity: You write.}}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
const REPLIES: &str =
    "writer:\n  - say: <attempt_completion><result>Written.</result></attempt_completion>\n";

#[test]
fn d9_a_prompt_names_the_configuration_of_its_call_and_the_one_that_ran() {
    let folder = folder(&[("organism.yaml", THINKS), ("replies.yaml", REPLIES)]);
    let at = folder.path();
    let mut running = Running::organism(at);
    let first = read_running(at);
    assert_eq!(systole(at, &["pause", "--all"]).code, Some(0));
    let sent = systole(at, &["send", "ask", "Write", "--no-wait", "--json"]);
    let thread = sent.json_lines()[0]["receipt"]["thread"].as_str().unwrap().to_owned();
    edit(at, "You write.", "You write well.");
    let reloaded = reload(at, &[]);
    assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
    let second = read_running(at);
    assert_eq!(systole(at, &["resume", "--all"]).code, Some(0));
    running.shows("writer -> operator <answer>");
    let context = systole(at, &["context", &thread, "--json"]).json_lines().remove(0);
    assert_eq!((&context["config"], &context["running"]), (&first.clone().into(), &second.clone().into()));
    let shown = systole(at, &["context", &thread]).stdout;
    assert!(shown.contains("You write well."), "{shown}");
    let words = format!("configurations: the call began with {}, and {} ran", &first[..12], &second[..12]);
    assert!(shown.contains(&words), "{shown}");
    running.interrupt();
}
