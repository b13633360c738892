//! File descriptors: silent connections take none from clients and programs, a program that cannot start for lack of
//! descriptors costs no attempt, and programs have the limit that the organism was started with. Every process here
//! is real and has a low `ulimit -n`.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use systole_organism::runfile::RunFile;

use crate::organism::folder;
use crate::program::{Events, Running, ask, connect, run_file, systole};

/// `once` starts for each message, and `stay` once; both report their limit of open files.
fn house() -> tempfile::TempDir {
    let answer = "echo \"<answer xmlns=\\\"https://xml-pipeline.org/ns/talk/v1\\\">$(ulimit -n)</answer>\"";
    let once = format!("read -r line\n{answer}\n");
    let stay = "import os, resource, sys\nimport xml.etree.ElementTree as ET\nopen('stay.pid', 'w').write(str(os.getpid()))\n\
        for line in sys.stdin:\n    delivery = ET.fromstring(line).find('.//{urn:systole:stamp:v1}stamp').get('delivery')\n    \
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]\n    \
        print(f'<reply xmlns=\"urn:systole:listener:v1\" delivery=\"{delivery}\"><answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{limit}</answer></reply>', flush=True)\n";
    let file = "organism: {name: shop, entry: once}\nlisteners:\n  \
        once: {run: [sh, once.sh], mode: once, accepts: [ask], returns: [answer], entry: true}\n  \
        stay: {run: [python3, stay.py], accepts: [ask], returns: [answer], entry: true}\n\
        log: {path: hello.db}\nconsole: {listen: \"127.0.0.1:0\"}\n";
    folder(&[("organism.yaml", file), ("once.sh", &once), ("stay.py", stay)])
}

/// Starts the organism under that limit, as `ulimit` sets it.
fn limited(folder: &Path, limit: &str) -> Running {
    let mut running = Running::under(folder, &format!("ulimit {limit}"), &["run"]);
    running.says("its log is");
    running
}

/// Sends a question to a listener and returns its thread.
fn sends(run: &RunFile, listener: &str) -> String {
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hi</ask>";
    let sent = ask(run, "POST", &format!("/v1/messages?to={listener}"), &[], body);
    assert_eq!(sent.status, 202, "{sent:?}");
    sent.json["thread"].as_str().unwrap().to_owned()
}

/// The answer in a thread. Fails if the thread contains anything else.
fn answered(events: &mut Events, thread: &str) -> String {
    next_answer(events, &[thread]).1
}

/// The next answer in one of these threads, and its thread. Fails if one of them contains anything else.
fn next_answer(events: &mut Events, threads: &[&str]) -> (String, String) {
    let mut records = std::iter::from_fn(|| events.next()).map(|(_, _, record)| record);
    let is_of = |one: &serde_json::Value| threads.iter().any(|thread| one["thread"] == *thread);
    let record = records.find(|one| is_of(one) && one["code"] != "request").unwrap();
    assert_eq!(record["code"], "final", "{record}");
    let body = record["body"].as_str().unwrap();
    let text = body.split_once('>').unwrap().1.split('<').next().unwrap();
    (record["thread"].as_str().unwrap().to_owned(), text.to_owned())
}

#[test]
fn d5_connections_that_say_nothing_keep_neither_a_client_nor_a_program_from_its_descriptors() {
    let folder = house();
    let running = limited(folder.path(), "-n 200");
    let run = run_file(folder.path());
    let mut events = Events::open(&run, "", &[]);
    let mut strangers: Vec<TcpStream> = (0..400).map(|_| connect(&run)).collect();
    let thread = sends(&run, "once");
    assert_eq!(answered(&mut events, &thread), "200");
    // The oldest were closed in favour of the newer ones, each with an answer, and none was reset.
    for stranger in strangers.iter_mut().take(300) {
        let told = last_answer(stranger);
        assert!(told.starts_with("HTTP/1.1 503 ") && told.contains("\r\nretry-after: 1\r\n"), "{told}");
        assert!(told.contains("shown no token yet"), "{told}");
    }
    drop(running);
}

#[test]
fn a_connection_that_sends_no_whole_head_is_closed_in_time_and_one_with_a_token_stays() {
    let folder = house();
    let running = limited(folder.path(), "-n 200");
    let run = run_file(folder.path());
    let mut known = knows(&run);
    let (mut silent, mut half) = (connect(&run), connect(&run));
    half.write_all(b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bea").unwrap();
    for stranger in [&mut silent, &mut half] {
        let told = last_answer(stranger);
        assert!(told.starts_with("HTTP/1.1 408 ") && told.contains("came in time"), "{told}");
    }
    asks_status(&mut known, &run);
    drop(running);
}

/// What a connection gets before it is closed in order.
fn last_answer(stream: &mut TcpStream) -> String {
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    told
}

/// A connection of a client that has shown a token.
fn knows(run: &RunFile) -> TcpStream {
    let mut stream = connect(run);
    asks_status(&mut stream, run);
    stream
}

fn asks_status(stream: &mut TcpStream, run: &RunFile) {
    let head = format!(
        "GET /v1/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n",
        run.token.secret()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 4096];
    let many = stream.read(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer[..many]));
}

#[test]
fn d5_a_start_without_free_descriptors_is_retried_and_does_not_count_as_an_attempt() {
    let folder = house();
    let running = limited(folder.path(), "-n 120");
    let run = run_file(folder.path());
    let mut events = Events::open(&run, "", &[]);
    // Both are running.
    for listener in ["once", "stay"] {
        let thread = sends(&run, listener);
        assert_eq!(answered(&mut events, &thread), "120");
    }
    // All but one are taken. The end of `stay` gives four back, too few for a start.
    let open = std::fs::read_dir(format!("/proc/{}/fd", running.pid())).unwrap();
    let open: BTreeSet<u64> =
        open.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    let few = (0..).filter(|number| !open.contains(number)).nth(1).unwrap();
    let allow = |files: u64| {
        let limit = Rlimit { current: Some(files), maximum: Some(120) };
        prlimit(Pid::from_raw(running.pid().try_into().unwrap()), Resource::Nofile, limit).unwrap();
    };
    allow(few);
    let pid = std::fs::read_to_string(folder.path().join("stay.pid")).unwrap();
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    let left = |events: &mut Events, listener: &str| {
        let of = format!("<listener-left xmlns=\"https://xml-pipeline.org/ns/core/v1\" name=\"{listener}\"");
        let mut records = std::iter::from_fn(|| events.next()).map(|(_, _, record)| record);
        records.find(|record| {
            let body = record["body"].as_str().unwrap();
            body.starts_with(&of) && body.contains("tried again as soon as there is room")
        })
    };
    left(&mut events, "stay").unwrap();
    let stays = sends(&run, "stay");
    let once = sends(&run, "once");
    left(&mut events, "once").unwrap();
    for (thread, program) in [(&stays, "python3"), (&once, "sh")] {
        let why = systole(folder.path(), &["why", thread]);
        let words = why.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("listener: cannot start {program}")), "{why:?}");
        assert!(words.contains("it is tried again as soon as there is room"), "{why:?}");
    }
    allow(120);
    // Whichever starts first.
    let mut waiting = vec![stays.as_str(), &once];
    while !waiting.is_empty() {
        let (thread, limit) = next_answer(&mut events, &waiting);
        assert_eq!(limit, "120");
        waiting.retain(|one| *one != thread);
    }
    for thread in [&stays, &once] {
        let why = systole(folder.path(), &["why", thread]);
        assert!(!why.stdout.contains("cannot start"), "{why:?}");
    }
}

#[test]
fn an_organism_takes_more_descriptors_than_it_was_started_with_and_its_programs_do_not() {
    let folder = house();
    let running = limited(folder.path(), "-S -n 150");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", running.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let [soft, hard] = [3, 4].map(|at| line.split_whitespace().nth(at).unwrap());
    let hard = hard.parse::<u64>().unwrap_or(u64::MAX);
    assert_eq!(soft.parse::<u64>().unwrap(), hard.min(65_536), "{line}");
    let run = run_file(folder.path());
    let mut events = Events::open(&run, "", &[]);
    for listener in ["once", "stay"] {
        let thread = sends(&run, listener);
        assert_eq!(answered(&mut events, &thread), "150", "{listener}");
    }
    drop(running);
}
