//! A broker that the organism starts itself: it begins and ends with the organism, however that ends; a new start
//! finds it, restarts it and reads its output; and each obstacle is one clear error. Every process here is real.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use systole_kit::nats::Worker;
use tokio::time::Instant;

use crate::broker::{path, python};
use crate::over_nats::{Ends, answered};
use crate::program::{Ran, Running, systole, systole_with};
use crate::stage::{alive, until};
use crate::workers::{Serving, answer, gate, looks};

/// An organism of two listeners with its own broker.
pub(crate) fn house() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = "organism: {name: shop, entry: echo}\nbus: {nats: managed}\nlisteners:\n  \
                echo: {nats: true, accepts: [ask], returns: [answer], entry: true}\n  \
                other: {nats: true, accepts: [ask], returns: [answer], entry: true}\n\
                log: {path: hello.db}\nconsole: {listen: \"127.0.0.1:0\"}\n";
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

fn of_broker(folder: &Path, file: &str) -> PathBuf {
    folder.join("hello.db.nats").join(file)
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(of_broker(folder, file)).unwrap().trim().to_owned()
}

pub(crate) fn start(folder: &Path) -> Running {
    let mut running = Running::organism_with(folder, &[("PATH", &path())]);
    running.shows("echo is ready");
    running
}

fn run(folder: &Path, arguments: &[&str]) -> Ran {
    systole_with(folder, arguments, &[("PATH", &path())])
}

/// The Python listener unchanged, with its key.
fn echo(folder: &Path) -> Ends {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py");
    let key = of_broker(folder, "keys/echo.nk");
    let mut python = python();
    python.arg(program).args([&text(folder, "address"), "shop", "echo", key.to_str().unwrap()]);
    // It prints a line each time that it is cut off.
    Ends(python.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// A client with the key of `echo`.
pub(crate) async fn client(folder: &Path) -> Client {
    client_of(folder, "echo", "_INBOX_echo").await
}

/// A client with that key.
async fn client_of(folder: &Path, key: &str, inbox: &str) -> Client {
    let key = text(folder, &format!("keys/{key}.nk"));
    let options = ConnectOptions::with_nkey(key).custom_inbox_prefix(inbox);
    options.connect(text(folder, "address")).await.unwrap()
}

/// The records about the broker in `sys`, each as code and text.
fn told(folder: &Path) -> Vec<(String, String)> {
    let ran = systole(folder, &["log", "sys", "--json"]);
    let told = ran.stdout.lines().filter_map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let code = record["code"].as_str()?.to_owned();
        let words = record["body"].as_str()?.split_once("message=\"")?.1.split('"').next()?.to_owned();
        code.starts_with("bus.").then_some((code, words))
    });
    told.collect()
}

#[test]
fn d2_a_managed_broker_starts_and_ends_with_the_organism_and_is_found_again() {
    let folder = house();
    let mut running = Running::organism_with(folder.path(), &[("PATH", &path())]);
    running.shows("echo is ready");
    let (address, pid) = (text(folder.path(), "address"), text(folder.path(), "lock"));
    assert!(address.starts_with("nats://127.0.0.1:") && alive(&pid), "{address} {pid}");
    // Signals of a terminal to the organism's group do not reach it.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert_eq!(stat.rsplit_once(')').unwrap().1.split_whitespace().nth(2), Some(pid.as_str()), "{stat}");
    let key = text(folder.path(), "keys/echo.nk");
    for (file, mode) in [("", 0o700), ("keys", 0o700), ("keys/echo.nk", 0o600), ("nats.conf", 0o600)] {
        let found = std::fs::metadata(of_broker(folder.path(), file)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{file}");
    }
    let configuration = text(folder.path(), "nats.conf");
    assert!(
        configuration.contains("store_dir")
            && !configuration.contains("sync_interval")
            && !configuration.contains(&key)
    );
    let _echo = echo(folder.path());
    answered(&run(folder.path(), &["ask", "Who is there?"]), "You said: Who is there?");
    let ran = running.interrupt();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let listens = format!("its broker listens on {address}, which is written in ");
    let file = of_broker(folder.path(), "keys/echo.nk");
    let enters = format!("  echo: the key {}, the inbox prefix _INBOX_echo\n", file.to_str().unwrap());
    assert!(ran.stderr.contains(&listens) && ran.stderr.contains(&enters), "{ran:?}");
    assert!(!ran.stderr.contains(&key) && !ran.stdout.contains(&key), "a secret was shown");
    assert!(!alive(&pid), "it lives on without its organism");
    // If no organism runs, an organism that is started for a question also starts the broker; the listener reconnects
    // by itself.
    answered(&run(folder.path(), &["ask", "And now?"]), "You said: And now?");
    assert_eq!((text(folder.path(), "address"), text(folder.path(), "keys/echo.nk")), (address, key));
    assert!(!alive(&text(folder.path(), "lock")), "it lives on without its organism");
}

#[tokio::test]
async fn b21_a_worker_has_time_to_come_back_to_the_broker_that_a_command_starts() {
    let folder = house();
    assert_eq!(start(folder.path()).interrupt().code, Some(130));
    let asked = Running::start_with(folder.path(), &["ask", "Are you back?"], &[("PATH", &path())]);
    let waits = || systole(folder.path(), &["log", "--json"]).kinds().contains(&"attempt/waits".to_owned());
    until("the call waits", waits).await;
    // A client tries again every two to four seconds.
    let late = Instant::now() + Duration::from_secs(3);
    until("it has waited for a while", || waits() && Instant::now() > late).await;
    let _echo = echo(folder.path());
    answered(&asked.end(), "You said: Are you back?");
}

#[test]
fn a_start_says_how_many_workers_answer_and_when_a_first_one_comes() {
    let folder = house();
    let mut running = start(folder.path());
    // In any order of readiness.
    let said = [(); 2].map(|()| running.says(": no worker answers yet; waiting for a first worker"));
    for name in ["echo: ", "other: "] {
        assert!(said.iter().any(|line| line.starts_with(name)), "{said:?}");
    }
    let _echo = echo(folder.path());
    running.says("echo: 1 worker answers");
    let ran = running.interrupt();
    assert!(ran.stdout.contains("echo is ready for workers"), "{ran:?}");
    assert!(!ran.stderr.contains("other: 1 worker"), "{ran:?}");
}

#[tokio::test]
async fn d7_a_broker_of_its_own_ends_with_an_organism_that_is_killed() {
    let folder = house();
    let running = start(folder.path());
    let (address, pid) = (text(folder.path(), "address"), text(folder.path(), "lock"));
    running.signal(Signal::KILL);
    until("the broker ends", || !alive(&pid)).await;
    drop(running);
    let running = start(folder.path());
    assert_eq!(text(folder.path(), "address"), address);
    assert_eq!(running.interrupt().code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_after_a_restart_with_its_broker_a_long_call_is_one_attempt() {
    let folder = house();
    // Each question, as often as it was asked.
    let (gate, door) = gate();
    let mut running = start(folder.path());
    let worker = Worker::new(&text(folder.path(), "address"), "shop", "echo");
    let worker = Serving::of(worker.key_file(of_broker(folder.path(), "keys/echo.nk")), move |turn| {
        door.pass(turn);
        answer("done")
    });
    for words in ["first", "after a restart"] {
        let pump = client_of(folder.path(), "_pump", "_INBOX_pump_shop").await;
        let other = client_of(folder.path(), "other", "_INBOX_other").await;
        let asked = Running::start(folder.path(), &["ask", words]);
        assert_eq!(gate.comes(), words);
        looks(&pump, &other, "other").await;
        gate.opens();
        answered(&asked.end(), "done");
        let told = run(folder.path(), &["log", "@last", "--json"]);
        assert_eq!(told.stdout.lines().count(), 2, "a request and a final: {told:?}");
        assert_eq!(running.interrupt().code, Some(130));
        running = start(folder.path());
    }
    worker.stops().await;
    assert_eq!(running.interrupt().code, Some(130));
}

/// A broker on the folder, as left by an organism that could not end it.
fn left_behind(folder: &Path) -> Ends {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command.arg("-become-broker").arg(std::process::id().to_string()).arg(of_broker(folder, "lock"));
    command.args(["nats-server", "-c"]).arg(of_broker(folder, "nats.conf")).env("PATH", path());
    Ends(command.stderr(Stdio::null()).spawn().unwrap())
}

#[tokio::test]
async fn d7_a_broker_that_was_left_behind_is_ended_and_does_not_hinder_the_next() {
    let folder = house();
    assert_eq!(start(folder.path()).interrupt().code, Some(130));
    let left = left_behind(folder.path());
    let pid = left.0.id().to_string();
    let address = text(folder.path(), "address").replace("nats://", "");
    until("it listens", || std::net::TcpStream::connect(&address).is_ok()).await;
    assert_eq!(text(folder.path(), "lock"), pid);
    let running = start(folder.path());
    assert!(!alive(&pid) && text(folder.path(), "lock") != pid);
    assert_eq!(running.interrupt().code, Some(130));
}

#[test]
fn d7_a_process_that_is_no_broker_of_ours_is_never_ended() {
    let folder = house();
    assert_eq!(start(folder.path()).interrupt().code, Some(130));
    // The lock has the process id of the bystander, as after the broker is gone, and another process holds the lock.
    let bystander = Ends(Command::new("sleep").arg("600").spawn().unwrap());
    std::fs::write(of_broker(folder.path(), "lock"), bystander.0.id().to_string()).unwrap();
    let held = File::open(of_broker(folder.path(), "lock")).unwrap();
    flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
    refused(&run(folder.path(), &["run"]), "bus.down", "is held by a process that is not");
    assert!(alive(&bystander.0.id().to_string()));
    flock(&held, FlockOperation::Unlock).unwrap();
    assert_eq!(start(folder.path()).interrupt().code, Some(130));
    assert!(alive(&bystander.0.id().to_string()));
}

#[test]
fn d7_a_managed_broker_that_dies_is_restarted_and_reported() {
    let folder = house();
    let mut running = start(folder.path());
    let _echo = echo(folder.path());
    answered(&run(folder.path(), &["ask", "before"]), "You said: before");
    let pid = text(folder.path(), "lock");
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    running
        .shows("bus.down the broker of this organism died, and is started again: it was killed by signal 9");
    answered(&run(folder.path(), &["ask", "after"]), "You said: after");
    assert_ne!(text(folder.path(), "lock"), pid);
    assert_eq!(running.interrupt().code, Some(130));
    assert_eq!(told(folder.path()).len(), 1, "{:?}", told(folder.path()));
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_broker_refusals_are_reported_as_a_count_without_secrets() {
    let folder = house();
    let mut running = start(folder.path());
    let echo = client(folder.path()).await;
    let publish = async |subject: &'static str| {
        echo.publish(subject, "x".into()).await.unwrap();
        echo.flush().await.unwrap();
    };
    publish("o.shop.in.other.0").await;
    running.shows("bus.violation echo tried to publish to a forbidden subject");
    for _ in 0..50 {
        publish("o.shop.in.other.1").await;
    }
    let _nothing = echo.subscribe("o.>").await.unwrap();
    running.shows("bus.violation echo tried to hear a forbidden subject, and the broker refused it: o.>");
    let stranger = ConnectOptions::with_user_and_password("open".into(), "sesame".into());
    assert!(stranger.connect(text(folder.path(), "address")).await.is_err());
    running.shows("bus.violation the broker refused a login");
    let ran = running.interrupt();
    assert_eq!(ran.code, Some(130));
    let told = told(folder.path());
    let words: Vec<&str> = told.iter().map(|(_, words)| words.as_str()).collect();
    let publishes = "echo tried to publish to a forbidden subject, and the broker refused it";
    let wanted = [
        format!("{publishes}: o.shop.in.other.0"),
        "echo tried to hear a forbidden subject, and the broker refused it: o.&gt;".to_owned(),
        "the broker refused a login without a key, or with one that it does not know".to_owned(),
        format!("{publishes}, 50 times since this was last reported: o.shop.in.other.1"),
    ];
    assert_eq!(words, wanted);
    assert!(told.iter().all(|(code, _)| code == "bus.violation"), "{told:?}");
    let key = text(folder.path(), "keys/echo.nk");
    assert!(["sesame", &key].iter().all(|secret| !ran.stdout.contains(secret)), "{ran:?}");
}

/// One clear error, with its fix.
fn refused(ran: &Ran, code: &str, words: &str) {
    let begin = format!("error: {code}: ");
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.starts_with(&begin) && ran.stderr.contains(words), "{ran:?}");
    let mut lines = ran.stderr.lines().skip(1);
    assert!(lines.next().is_some_and(|line| line.starts_with("  try: ")), "{ran:?}");
    assert_eq!(lines.next(), None, "{ran:?}");
}

/// A fake nats-server that runs this script.
fn stands_for(folder: &Path, script: &str) -> String {
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("nats-server");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    bin.to_str().unwrap().to_owned()
}

#[test]
fn what_hinders_a_broker_of_its_own_is_one_clear_error() {
    let folder = house();
    let with = |path: &str| systole_with(folder.path(), &["run"], &[("PATH", path)]);
    refused(
        &with("/nowhere:/neither"),
        "bus.down",
        "no nats-server to start: looked for in /nowhere:/neither",
    );
    assert!(!of_broker(folder.path(), "").exists(), "nothing is made where nothing can be started");
    let old = stands_for(folder.path(), "echo 'nats-server: v2.9.10'");
    refused(&with(&old), "bus.unfit", "bin/nats-server is nats-server 2.9.10, at least 2.12 is needed");
    refused(&with(&stands_for(folder.path(), "echo nginx")), "bus.unfit", "it said \"nginx\"");
    let ends = "case $1 in --version) echo 'nats-server: v2.15.1';; *) echo 'no room' >&2; exit 7;; esac";
    let ended = with(&stands_for(folder.path(), ends));
    refused(&ended, "bus.down", "ended before it was ready: it exited 7; it said: no room");

    let address = text(folder.path(), "address");
    let taken = TcpListener::bind(address.strip_prefix("nats://").unwrap()).unwrap();
    refused(&run(folder.path(), &["run"]), "bus.down", "is taken by another program");
    drop(taken);
    for wrong in ["nats://0.0.0.0:4222", "4222", "nats://127.0.0.1:0", ""] {
        std::fs::write(of_broker(folder.path(), "address"), wrong).unwrap();
        refused(&run(folder.path(), &["run"]), "bus.down", "holds no address of the broker");
    }
    std::fs::write(of_broker(folder.path(), "address"), address).unwrap();
    std::fs::write(of_broker(folder.path(), "keys/echo.nk"), "no key").unwrap();
    refused(&run(folder.path(), &["run"]), "bus.down", "keys/echo.nk: it does not hold the seed");
    std::fs::remove_file(of_broker(folder.path(), "keys/echo.nk")).unwrap();
    assert_eq!(start(folder.path()).interrupt().code, Some(130));
}

#[test]
fn a_broker_that_no_listener_needs_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = "organism: {name: shop}\nbus: {nats: managed}\nlisteners:\n  \
                echo: {run: [cat], accepts: [ask], returns: [answer], entry: true}\n\
                log: {path: hello.db}\nconsole: {listen: \"127.0.0.1:0\"}\n";
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    let running = Running::organism_with(folder.path(), &[("PATH", "/nowhere:/bin:/usr/bin")]);
    assert_eq!(running.interrupt().code, Some(130));
    assert!(!of_broker(folder.path(), "").exists());
}

#[test]
fn a_start_is_reported_as_data_with_its_broker() {
    let folder = house();
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command.args(["run", "--json"]).current_dir(folder.path()).env("PATH", path());
    let mut child: Child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let line = crate::program::lines(child.stdout.take().unwrap()).recv_timeout(crate::program::PATIENCE);
    let ends = Ends(child);
    let told: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
    assert_eq!(told["broker"]["address"], text(folder.path(), "address"));
    let entrance = &told["broker"]["listeners"][1];
    assert_eq!((&entrance["listener"], &entrance["inbox"]), (&"other".into(), &"_INBOX_other".into()));
    assert_eq!(entrance["key"], of_broker(folder.path(), "keys/other.nk").to_str().unwrap());
    drop(ends);
}
