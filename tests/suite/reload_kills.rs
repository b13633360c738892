//! Reloads under load, while the organism is killed around their stops and starts: no call is lost or answered twice, and
//! each is answered by the program of the configuration that ran then.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::process::Signal;
use systole_core::types::ports::Clock as _;
use systole_organism::runfile::RunFile;
use systole_system::clock::WallClock;

use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{PATIENCE, Running, command, head, systole};

const FILE: &str = "organism: {name: hello}
listeners:
  echo: {run: [python3, echo.py, v0], schema: echo.xsd, accepts: [say], returns: [said], entry: true,
    retry: {attempts: 9, backoff: 10ms..50ms}, on_unknown: retry, timeout: 60s}
clients:
  ann: {token_env: ANN_TOKEN}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
/// How long a message may wait before that counts as lost.
const WAIT_MS: u64 = 240_000;
const ANN: &str = "ann-token-0123456789";

/// Writes the file of a version.
fn write_version(at: &Path, version: usize) {
    std::fs::write(at.join("organism.yaml"), FILE.replace("v0", &format!("v{version}"))).unwrap();
}

/// The status of the answer to a message; `None` if no organism answered.
fn try_send(at: &Path, key: &str) -> Option<u16> {
    let run = RunFile::find_running(&at.join("hello.db"))?;
    let mut stream = std::net::TcpStream::connect(run.address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (bearer, body) = (format!("Bearer {ANN}"), say(key));
    let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key), ("Systole-Wait", "60")];
    let head = head("POST", "/v1/messages", &headers, &body.len().to_string());
    stream.write_all((head + &body).as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

/// Sends messages until the end, each again until it is answered. Returns their keys, and the milliseconds of the one
/// that took longest.
fn send_on(at: &Path, name: usize, (answered, is_over): (&AtomicUsize, &AtomicBool)) -> (Vec<String>, u64) {
    let (mut keys, mut longest) = (Vec::new(), 0);
    while !is_over.load(Ordering::Relaxed) {
        let (key, begun) = (format!("{name}-{}", keys.len()), WallClock.ticks());
        while try_send(at, &key) != Some(200) {
            assert!(WallClock.ticks() < begun.add_ms(WAIT_MS), "{key} is never answered");
            std::thread::yield_now();
        }
        longest = longest.max(WallClock.ticks().count_since(begun));
        keys.push(key);
        answered.fetch_add(1, Ordering::Relaxed);
    }
    (keys, longest)
}

/// Orders a reload, and kills the organism at one of the moments of it. Another one starts.
fn kill_in_reload(at: &Path, mut running: Running, moment: usize) -> Running {
    let mut ordered = command(at, &["reload", "--yes"]);
    let mut ordered = ordered.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let posted = at.join("hello.db.run");
    let is_between = || std::fs::read_to_string(&posted).is_ok_and(|text| text.contains("\"reloading\""));
    match moment {
        0 => drop(running.says("reloads configuration")),
        1 => while !is_between() && ordered.try_wait().unwrap().is_none() {},
        _ => drop(running.says("reloaded: ")),
    }
    running.signal(Signal::KILL);
    running.end();
    // It would wait for a new start.
    drop(ordered.kill());
    ordered.wait().unwrap();
    Running::organism_with(at, &[("ANN_TOKEN", ANN)])
}

/// The version that a configuration of the log starts.
fn read_version(at: &Path, config: &str) -> String {
    let source = systole(at, &["blob", config]).stdout;
    let (_, version) = source.split_once("echo.py, ").unwrap();
    version.split(']').next().unwrap().to_owned()
}

/// Checks that each message has one thread with one answer, from the version that was started last.
fn check_answers(at: &Path, keys: &[String]) {
    let records = systole(at, &["log", "-n", "0", "--json"]).json_lines();
    let (mut versions, mut runs) = (BTreeMap::new(), String::new());
    let mut answers: BTreeMap<String, usize> = keys.iter().map(|key| (key.clone(), 0)).collect();
    for record in &records {
        let body = record["body"].as_str().unwrap_or_default();
        if body.starts_with("<boot ") {
            let (_, config) = body.split_once("config=\"").unwrap();
            let config = config.split('"').next().unwrap();
            runs = versions.entry(config.to_owned()).or_insert_with(|| read_version(at, config)).clone();
        } else if record["from"] == "echo" && record["to"] == "ann" {
            let (_, said) = body.split_once("<text>").or_else(|| body.split_once(":text>")).unwrap();
            let (version, key) = said.split('<').next().unwrap().split_once(' ').unwrap();
            assert_eq!(version, runs, "{record}");
            *answers.get_mut(key).unwrap() += 1;
        }
    }
    let unlike: Vec<_> = answers.iter().filter(|(_, count)| **count != 1).collect();
    assert!(unlike.is_empty(), "{unlike:?}");
    assert_eq!(systole(at, &["verify"]).code, Some(0));
}

fn reload_and_kill(reloads: usize) {
    let program = ECHO_PY.replace("= message[1]", "= sys.argv[1] + ' ' + message[1]");
    let folder = folder(&[("organism.yaml", FILE), ("echo.xsd", ECHO_XSD), ("echo.py", &program)]);
    let at = folder.path();
    let running = Running::organism_with(at, &[("ANN_TOKEN", ANN)]);
    let (answered, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (mut keys, mut longest) = (Vec::new(), 0);
    let running = std::thread::scope(|scope| {
        let (watched, mut running) = ((&answered, &is_over), running);
        let senders: Vec<_> = (0..3).map(|name| scope.spawn(move || send_on(at, name, watched))).collect();
        for turn in 1..=reloads {
            // Between two reloads some are answered.
            let enough = answered.load(Ordering::Relaxed) + 30;
            while answered.load(Ordering::Relaxed) < enough && !senders.iter().any(|one| one.is_finished()) {
                std::thread::yield_now();
            }
            write_version(at, turn);
            if turn % 4 == 0 {
                running = kill_in_reload(at, running, turn / 4 % 3);
                continue;
            }
            let reloaded = systole(at, &["reload", "--yes"]);
            assert_eq!(reloaded.code, Some(0), "{reloaded:?}");
        }
        is_over.store(true, Ordering::Relaxed);
        for sender in senders {
            let (sent, waited) = sender.join().unwrap();
            keys.extend(sent);
            longest = longest.max(waited);
        }
        running
    });
    println!("{} messages, {reloads} reloads, the longest until one was answered: {longest} ms", keys.len());
    running.interrupt();
    check_answers(at, &keys);
}

#[test]
fn d9_reloads_with_kills_under_load_lose_no_call_and_mix_no_versions() {
    reload_and_kill(13);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn d9_two_hundred_reloads_with_kills_under_load_lose_no_call_and_mix_no_versions() {
    reload_and_kill(200);
}
