//! `systole stop --drain`: a stop that also waits for what workers over NATS have, and for programs longer than usual.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tokio::time::{Duration, Instant};

use crate::broker::NatsServer;
use crate::organism::folder;
use crate::over_nats::{HandWorker, folder_at, runs, stored, told};
use crate::over_nats_restart::posts;
use crate::program::{Ran, Running, systole};

const ONE: &str = ", in_flight: 1, timeout: 60s, retry: {backoff: 1ms..1ms}";

/// How each life of the organism ended, as its log says.
fn ends(folder: &Path) -> Vec<String> {
    let sys = systole(folder, &["log", "sys"]).stdout;
    sys.lines().filter_map(|line| line.split_once("<shutdown>  ")).map(|(_, end)| end.to_owned()).collect()
}

fn is(ran: &Ran, code: i32, words: &[&str]) {
    assert!(
        ran.code == Some(code) && words.iter().all(|words| ran.stderr.contains(words)),
        "{words:?}: {ran:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_a_stop_that_drains_takes_what_a_worker_answers_and_hands_out_nothing_more() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ONE);
    let mut running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "one");
    posts(folder.path(), "two");
    let held = worker.pulls().await;
    // Longer than any test waits.
    let stop = Running::start(folder.path(), &["stop", "--drain", "1h"]);
    running.says("stopping: waits up to 1 h for replies, also of workers over NATS");
    is(
        &systole(folder.path(), &["send", "ask", "three"]),
        5,
        &["stops, and waits for what is out", "next start"],
    );
    assert!(systole(folder.path(), &["doctor"]).stdout.contains("stops, and waits for what is out"));
    assert!(worker.says(&held, "done").await.ends_with("/>"));
    is(&stop.end(), 0, &["shop has stopped\nnothing is out\n"]);
    is(&running.end(), 0, &["stopped\n"]);
    assert_eq!(ends(folder.path()), ["mode=drained"]);
    held.message.double_ack().await.unwrap();
    assert_eq!(stored(&worker).await, 0, "the second one waits for the next start");
    let _running = runs(folder.path());
    let held = worker.pulls().await;
    let shown = String::from_utf8_lossy(&held.message.payload).into_owned();
    assert!(shown.contains(">two<") && shown.contains(" attempt=\"1\""), "{shown}");
    assert!(worker.says(&held, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_a_stop_that_drains_ends_at_its_time_and_says_what_is_left() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ONE);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    let begun = Instant::now();
    let stopped = systole(folder.path(), &["stop", "--drain", "2s", "--json"]);
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let stopped = &stopped.json_lines()[0];
    assert_eq!((&stopped["drained"], &stopped["out"]), (&true.into(), &1.into()), "{stopped}");
    is(&running.end(), 0, &["1 delivery was still out"]);
    assert_eq!(ends(folder.path()), ["mode=drained out=1"]);
    let running = runs(folder.path());
    let words = "1 delivery is still with the broker or a worker; it goes on at the next start";
    is(&systole(folder.path(), &["stop", "--drain", "1s"]), 0, &[words]);
    drop(running.end());
    let _running = runs(folder.path());
    assert!(worker.says(&held, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_a_second_signal_or_stop_ends_a_drain_at_once() {
    let server = NatsServer::start();
    for again in [None, Some(["stop"].as_slice()), Some(["stop", "--drain", "1h"].as_slice())] {
        let folder = folder_at(&server.url(), ONE);
        let mut running = runs(folder.path());
        let worker = HandWorker::of(&server).await;
        posts(folder.path(), "hi");
        let held = worker.pulls().await;
        let stop = Running::start(folder.path(), &["stop", "--drain", "1h"]);
        running.says("stopping: waits up to 1 h");
        match again {
            None => running.signal(Signal::TERM),
            Some(again) => is(&systole(folder.path(), again), 0, &["shop has stopped"]),
        }
        is(&running.end(), 130, &["stopped at once"]);
        // The pump may still get to record what is out before the process is gone.
        let (stopped, ended) = (stop.end(), ends(folder.path()));
        let left = match ended.as_slice() {
            [] => "note: it is not known what is still out",
            [end] if end == "mode=drained out=1" => "1 delivery is still with the broker or a worker",
            _ => panic!("{ended:?}"),
        };
        is(&stopped, 0, &[&format!("shop has stopped\n{left}")]);
        let running = runs(folder.path());
        assert!(worker.says(&held, "done").await.ends_with("/>"));
        held.message.double_ack().await.unwrap();
        assert_eq!(told(folder.path()), ["message/request", "message/final"]);
        // What was asked of the life before does not hold for this one.
        is(&systole(folder.path(), &["stop"]), 0, &["shop has stopped\n"]);
        is(&running.end(), 0, &["stopping: waits 5 s for replies"]);
    }
}

/// An attempt ends at its time also then, so a worker that hangs holds up the stop for no longer.
#[tokio::test(flavor = "multi_thread")]
async fn b20_a_stop_that_drains_waits_for_no_attempt_beyond_its_timeout() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", in_flight: 1, timeout: 3s, retry: {backoff: 1ms..1ms}");
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let _held = worker.pulls().await;
    is(&systole(folder.path(), &["stop", "--drain", "1h"]), 0, &["shop has stopped\nnothing is out\n"]);
    drop(running.end());
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.timeout"]);
    assert_eq!(ends(folder.path()), ["mode=drained"]);
}

#[test]
fn b20_a_stop_that_drains_waits_as_long_for_programs() {
    let file = "organism: {name: hello, entry: slow}\nlisteners: {slow: {run: [sh, ./slow.sh], mode: once, accepts: [ask], \
         returns: [answer], entry: true}}\nlog: {path: ./hello.db}\nconsole: {listen: '127.0.0.1:0'}\n";
    // Longer than an ordinary stop waits.
    let slow =
        "touch began\nsleep 8\necho '<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">Hello</answer>'\n";
    let folder = folder(&[("organism.yaml", file), ("slow.sh", slow)]);
    let at = folder.path();
    let running = Running::organism(at);
    is(&systole(at, &["send", "ask", "Who?", "--no-wait"]), 0, &[]);
    while !at.join("began").exists() {
        std::thread::yield_now();
    }
    is(&systole(at, &["stop", "--drain", "1h"]), 0, &["hello has stopped\nnothing is out\n"]);
    is(&running.end(), 0, &["stopped\n"]);
    assert_eq!(told(at), ["message/request", "message/final"]);
    // One that takes too long is cut short, and that is said.
    std::fs::remove_file(at.join("began")).unwrap();
    assert!(Command::new("mkfifo").arg(at.join("go")).status().unwrap().success());
    std::fs::write(at.join("slow.sh"), "touch began\nread line < go\n").unwrap();
    let running = Running::organism(at);
    is(&systole(at, &["send", "ask", "Who?", "--no-wait"]), 0, &[]);
    while !at.join("began").exists() {
        std::thread::yield_now();
    }
    is(&systole(at, &["stop", "--drain", "1s"]), 0, &["note: work on this machine was cut short"]);
    drop(running.end());
    assert_eq!(ends(at), ["mode=drained", "mode=drain"]);
}

#[test]
fn b20_a_bad_time_for_a_drain_is_refused() {
    let folder = folder_at("nats://127.0.0.1:1", ONE);
    let stops = |arguments: &[&str]| systole(folder.path(), &[&["stop"], arguments].concat());
    for time in ["", "0s", "999ms", "61m", "2h", "60", "soon", "1.5s", "99999999999999999999h"] {
        is(&stops(&["--drain", time]), 2, &["'--drain <TIME>'", "as in 60s"]);
    }
    is(&stops(&["--drain"]), 2, &["'--drain <TIME>'"]);
    is(&stops(&["--drain", "1s", "--now"]), 2, &["cannot be used with"]);
    for time in ["1s", "1000ms", "90s", "60m", "1h"] {
        is(&stops(&["--drain", time]), 0, &["no organism runs on "]);
    }
}
