//! `systole run --detach` and `systole stop`: an organism in the background, its end, and the processes that `stop`
//! never ends. Also two organisms that want one port.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, getsid, kill_process};
use systole_organism::runfile::RunFile;
use tokio::time::Instant;

use crate::http::{HOUSE, house};
use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{PATIENCE, Ran, Running, run_file, systole};

/// Kills the background organism of a folder at the end of the test.
struct Background<'a>(&'a Path);

impl Drop for Background<'_> {
    fn drop(&mut self) {
        if let Some(run) = RunFile::find_running(&self.0.join("hello.db")) {
            kill(run.pid);
        }
    }
}

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.cast_signed()).unwrap()
}

fn kill(number: u32) {
    // A process that has already ended is fine.
    let _ended = kill_process(pid(number), Signal::KILL);
}

fn is(ran: &Ran, code: i32, words: &[&str]) {
    let said = ran.stdout.clone() + &ran.stderr;
    assert!(ran.code == Some(code) && words.iter().all(|words| said.contains(words)), "{words:?}: {ran:?}");
}

fn sends(folder: &Path) {
    std::fs::write(folder.join("say.xml"), say("hello")).unwrap();
    is(&systole(folder, &["send", "--file", "say.xml"]), 0, &[">hello<"]);
}

#[test]
fn an_organism_in_the_background_is_reached_when_the_command_returns_and_ends_when_it_is_stopped() {
    let folder = house();
    let at = folder.path();
    let background = Background(at);
    let started = systole(at, &["run", "--detach"]);
    let run = run_file(at);
    let (runs, listens) = (format!("as process {}", run.pid), format!("http://{}", run.address));
    is(&started, 0, &["hello runs in the background", &runs, &listens, "systole stop", "hello.db.out"]);
    assert_eq!(getsid(Some(pid(run.pid))).unwrap(), pid(run.pid), "it has a session of its own");
    sends(at);
    is(&systole(at, &["run", "--detach"]), 5, &["is in use by process"]);
    assert_eq!(run_file(at).pid, run.pid, "the first one goes on");

    is(&systole(at, &["stop"]), 0, &["hello has stopped"]);
    assert!(RunFile::find_running(&at.join("hello.db")).is_none() && !at.join("hello.db.run").exists());
    let output = std::fs::read_to_string(at.join("hello.db.out")).unwrap();
    assert!(
        output.contains("its log is")
            && output.contains("<said>")
            && !output.contains("<said> hello")
            && output.ends_with("stopped\n")
    );
    let log = systole(at, &["log", "--json"]).stdout;
    assert!(log.lines().last().unwrap().contains("mode=\\\"drained\\\""), "{log}");
    is(&systole(at, &["stop"]), 0, &["no organism runs on "]);
    let stopped = systole(at, &["stop", "--json"]);
    assert_eq!(stopped.stdout, "{\"stopped\":false}\n");

    let started = systole(at, &["run", "--detach", "--json"]);
    let started: serde_json::Value = serde_json::from_str(&started.stdout).unwrap();
    assert_eq!(started["pid"], run_file(at).pid, "{started}");
    let before = std::fs::read_to_string(at.join("hello.db.out.before")).unwrap();
    assert_eq!(before, output, "the output of the run before is kept");
    let stopped = systole(at, &["stop", "--now", "--json"]);
    let stopped: serde_json::Value = serde_json::from_str(&stopped.stdout).unwrap();
    assert_eq!((&stopped["stopped"], &stopped["pid"]), (&true.into(), &started["pid"]));
    drop(background);
}

#[test]
fn one_that_does_not_start_in_the_background_says_why_with_its_own_exit() {
    let folder = house();
    std::fs::write(folder.path().join("organism.yaml"), HOUSE.replace("[say]", "[sya]")).unwrap();
    is(&systole(folder.path(), &["run", "--detach"]), 3, &["config.unknown-element", "try: say"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    std::fs::write(folder.path().join("organism.yaml"), HOUSE.replace("127.0.0.1:0", &address)).unwrap();
    let ran = systole(folder.path(), &["run", "--detach"]);
    is(&ran, 5, &[&address, "in use by another program", "console.listen"]);
    assert_eq!(ran.stderr.matches("in use").count(), 1, "{ran:?}");
    std::fs::write(folder.path().join("organism.yaml"), HOUSE).unwrap();
    std::fs::write(folder.path().join("other.db"), "notes").unwrap();
    is(&systole(folder.path(), &["run", "--detach", "--log", "other.db"]), 7, &["is not a Systole log"]);
    is(&systole(folder.path(), &["run", "--detach", "--role", "listeners"]), 2, &["--detach", "has none"]);
}

#[test]
fn after_a_kill_nothing_runs_and_the_next_start_goes_on() {
    let folder = house();
    let at = folder.path();
    let _background = Background(at);
    is(&systole(at, &["run", "--detach"]), 0, &[]);
    let killed = run_file(at).pid;
    kill(killed);
    // The kernel releases the lock with the last thread of the process.
    while RunFile::find_running(&at.join("hello.db")).is_some() {
        std::thread::yield_now();
    }
    assert!(at.join("hello.db.run").exists(), "it was left behind");
    is(&systole(at, &["stop"]), 0, &["no organism runs on "]);
    is(&systole(at, &["run", "--detach"]), 0, &["hello runs in the background"]);
    assert_ne!(run_file(at).pid, killed);
    sends(at);
    is(&systole(at, &["stop"]), 0, &["hello has stopped"]);
}

/// A process that does nothing until its stdin closes.
struct Bystander(Child);

impl Bystander {
    fn start() -> Bystander {
        Bystander(Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn stop_ends_no_process_that_only_has_the_number_of_an_organism() {
    let folder = house();
    let at = folder.path();
    let organism = Running::organism(at);
    let path = at.join("hello.db.run");
    let left = std::fs::read_to_string(&path).unwrap();
    organism.signal(Signal::KILL);
    let number = organism.pid();
    organism.end();
    let mut other = Bystander::start();
    let again = other.0.id().to_string();
    std::fs::write(&path, left.replacen(&number.to_string(), &again, 1)).unwrap();
    // The lock names it too, as it would if the number were assigned again.
    std::fs::write(at.join("hello.db.lock"), &again).unwrap();
    // A warden that was being started may hold the dead organism's files for a moment.
    let end = Instant::now() + PATIENCE;
    while RunFile::find_running(&at.join("hello.db")).is_some() {
        assert!(Instant::now() < end, "it does not hold the log");
    }
    for arguments in [&["stop"][..], &["stop", "--now"]] {
        is(&systole(at, arguments), 0, &["no organism runs on "]);
    }
    assert!(other.lives());
    sends(at);
}

#[test]
fn stop_leaves_a_command_alone_that_only_answers_a_question() {
    let slow = "#!/bin/sh\ntouch began\nread line < go\necho '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Hello</answer>'\n";
    let file = "organism: {name: hello, entry: slow}\nlisteners: {slow: {run: [sh, ./slow.sh], mode: once, accepts: [ask], \
         returns: [answer], entry: true}}\nlog: {path: ./hello.db}\nconsole: {listen: '127.0.0.1:0'}\n";
    let folder = folder(&[("organism.yaml", file), ("slow.sh", slow)]);
    let at = folder.path();
    assert!(Command::new("mkfifo").arg(at.join("go")).status().unwrap().success());
    let asking = Running::start(at, &["ask", "Who?"]);
    while !at.join("began").exists() {
        std::thread::yield_now();
    }
    is(&systole(at, &["stop"]), 5, &["is not a running organism"]);
    std::fs::write(at.join("go"), "go\n").unwrap();
    is(&asking.end(), 0, &["Hello\n"]);
}

#[test]
fn two_organisms_take_free_ports_and_a_configured_port_in_use_names_its_owner() {
    let unnamed = HOUSE.replace("console: {listen: \"127.0.0.1:0\"}\n", "");
    let files = |file: &str| folder(&[("organism.yaml", file), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO_PY)]);
    let (one, two) = (files(&unnamed), files(&unnamed.replace("name: hello", "name: second")));
    let first = Running::organism(one.path());
    let second = Running::organism(two.path());
    let (a, b) = (run_file(one.path()), run_file(two.path()));
    assert_ne!(a.address, b.address);
    sends(one.path());
    sends(two.path());
    let second = second.interrupt();
    assert!(
        second.stderr.contains("127.0.0.1:7474 is in use by "),
        "one of two at least has another: {second:?}"
    );
    assert!(second.stderr.contains("so this organism takes a free port"), "{second:?}");

    let named = files(&HOUSE.replace("127.0.0.1:0", &a.address.to_string()));
    let place = one.path().canonicalize().unwrap().display().to_string();
    let who = format!("{} is in use by the organism hello in {place} (process {})", a.address, a.pid);
    let stop = format!("systole stop -f {place}/organism.yaml");
    is(&systole(named.path(), &["run"]), 5, &[&who, &stop]);
    let doctor = systole(named.path(), &["doctor"]);
    let flat: String = doctor.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&format!("is in use by the organism hello in {place}")), "{doctor:?}");
    first.interrupt();
}
