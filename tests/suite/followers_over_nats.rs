//! Followers of a log in NATS: their cursors are at the broker, so the pump that takes over goes on where the one before
//! it was, and a person moves them from any machine.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use crate::broker::NatsServer;
use crate::followers::{
    Receiver, VARIABLES, began, counts, everything, house, list_expected, list_firsts, sent, wait_for,
};
use crate::organism::say;
use crate::program::{PATIENCE, Running, ask, run_file, systole, systole_with};

/// A machine with a pump of the organism.
fn machine(server: &NatsServer, port: u16) -> tempfile::TempDir {
    let folder = house(&everything(port));
    let file = folder.path().join("organism.yaml");
    let log = format!("log: {{nats: \"{}\", durability: relaxed, path: hello.db}}", server.url());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("log: {path: hello.db}", &log)).unwrap();
    folder
}

fn is_answer(words: &str) -> impl Fn(&Value) -> bool {
    move |got| {
        let data = &got["said"]["data"];
        got["said"]["type"] == "answered" && data["body"].as_str().is_some_and(|body| body.contains(words))
    }
}

/// All of it is signed, and what came first of each event is what the log has, in its order.
#[track_caller]
fn check(at: &Path, got: &[Value]) {
    assert!(got.iter().all(|got| got["proof"] == "valid"));
    let (firsts, wanted) = (list_firsts(got), list_expected(at, began(at)));
    assert!(!firsts.is_empty() && wanted.starts_with(&firsts), "{firsts:?}\n{wanted:?}");
}

#[test]
fn h15_the_pump_that_takes_over_goes_on_where_the_one_before_it_was() {
    let at = tempfile::tempdir().unwrap();
    let (server, receiver) = (NatsServer::start(), Receiver::start(at.path(), 0));
    let houses = [machine(&server, receiver.port), machine(&server, receiver.port)];
    let stand_by = |which: usize| {
        let mut pump = Running::start_with(houses[which].path(), &["run"], &VARIABLES);
        pump.says("stands by: ");
        pump
    };
    let mut got = Vec::new();
    let mut writes = Running::organism_with(houses[0].path(), &VARIABLES);
    for turn in 0..5 {
        let (which, other) = (turn % 2, 1 - turn % 2);
        let mut next = stand_by(other);
        for n in 0..4 {
            sent(houses[which].path(), "echo", &format!("{turn} and {n}"));
        }
        // Each pump ends after another number of events.
        for _ in 0..turn {
            got.push(receiver.next());
        }
        // One that is suspended comes back with its old cursor, and stands by.
        let is_held = turn % 2 == 1;
        writes.signal(if is_held { Signal::STOP } else { Signal::KILL });
        next.says("listens on");
        if is_held {
            writes.signal(Signal::CONT);
            writes.says("stands by: ");
        }
        drop(writes.interrupt());
        writes = next;
    }
    sent(houses[1].path(), "echo", "the last one");
    got.extend(receiver.until(is_answer("the last one")));
    drop(writes.interrupt());
    check(houses[1].path(), &got);
    // Most of it came once: a pump that began anew each time would have sent all of it again.
    assert!(got.len() < 2 * list_firsts(&got).len(), "{} of {}", got.len(), list_firsts(&got).len());
}

#[test]
fn h15_a_cursor_at_the_broker_is_shown_and_moved_by_a_person_also_while_no_organism_runs() {
    let at = tempfile::tempdir().unwrap();
    let (mut server, receiver) = (NatsServer::start(), Receiver::start(at.path(), 0));
    let folder = machine(&server, receiver.port);
    let at = folder.path();
    let organism = Running::organism_with(at, &VARIABLES);
    let began = began_soon(at);
    sent(at, "echo", "the first one");
    let got = receiver.until(is_answer("the first one"));
    let follows = wait_for(at, |one| one["behind"] == 0);
    assert_eq!(follows["state"], "follows", "{follows}");
    // A running follower notices it.
    let moved = systole(at, &["follow", "siem", "--from", &(began + 1).to_string()]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let first = got[0]["id"].clone();
    let sent_again = |again: Vec<Value>| {
        // What came behind the answer before it was moved.
        let at_begin = |got: &Value| got["id"] == first;
        list_firsts(&again.into_iter().skip_while(|got| !at_begin(got)).collect::<Vec<_>>())
    };
    assert_eq!(sent_again(receiver.until(is_answer("the first one"))), list_firsts(&got));
    drop(organism.interrupt());
    let resting = wait_for(at, |one| one["state"] == "waits");
    assert!(resting["position"].as_u64().unwrap() > began, "{resting}");
    let moved = systole(at, &["follow", "siem", "--from", &(began + 1).to_string()]);
    assert!(moved.stderr.contains(&format!("siem goes on after position {began}")), "{moved:?}");
    assert_eq!(wait_for(at, |_| true)["position"], began);
    let organism = Running::organism_with(at, &VARIABLES);
    assert_eq!(sent_again(receiver.until(is_answer("the first one"))), list_firsts(&got));
    drop(organism.interrupt());
    // Without the broker nothing is known, and nothing is moved.
    server.kill();
    for arguments in [&["follow"][..], &["follow", "siem", "--from", "now"]] {
        let refused = systole_with(at, arguments, &VARIABLES);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        assert!(refused.stderr.contains("try: start nats-server there"), "{refused:?}");
    }
}

/// Sends it until it is taken.
fn send_once_the_broker_is_back(at: &Path, text: &str) {
    let end = Instant::now() + PATIENCE;
    while ask(&run_file(at), "POST", "/v1/messages?to=echo", &[], &say(text)).status >= 300 {
        assert!(Instant::now() < end, "it is never taken");
    }
}

/// Where a follower began, once the log says it.
fn began_soon(at: &Path) -> u64 {
    wait_for(at, |one| one["behind"] == 0);
    began(at)
}

#[tokio::test(flavor = "multi_thread")]
async fn h15_a_cursor_that_the_broker_lost_stops_the_follower_until_a_person_says_where_it_goes_on() {
    let at = tempfile::tempdir().unwrap();
    let (mut server, receiver) = (NatsServer::start(), Receiver::start(at.path(), 0));
    let folder = machine(&server, receiver.port);
    let at = folder.path();
    let organism = Running::organism_with(at, &VARIABLES);
    sent(at, "echo", "the first one");
    receiver.until(is_answer("the first one"));
    wait_for(at, |one| one["behind"] == 0);
    // The broker is away for a while: the follower goes on by itself.
    server.kill();
    server.start_again();
    send_once_the_broker_is_back(at, "after the broker");
    receiver.until(is_answer("after the broker"));
    drop(organism.interrupt());
    let of_siem = r#"{"filter":"o.hello.dlv._follower_siem"}"#;
    let client = server.client().await;
    let purged = client.request("$JS.API.STREAM.PURGE.SYSTOLE_hello_BUS", of_siem.into()).await.unwrap();
    // Older ones are removed with each step.
    assert!(String::from_utf8_lossy(&purged.payload).contains("\"purged\":1"), "{purged:?}");
    let mut organism = Running::start_with(at, &["run"], &VARIABLES);
    let said = organism.says("the follower siem is stopped");
    assert!(
        said.contains("its cursor is gone: there is no o.hello.dlv._follower_siem at 127.0.0.1"),
        "{said}"
    );
    wait_for(at, |one| one["state"] == "stopped");
    assert_eq!(counts(at, "<follower-stopped "), 1);
    let moved = systole(at, &["follow", "siem", "--from", "now"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    wait_for(at, |one| one["state"] == "follows");
    sent(at, "echo", "after it stopped");
    receiver.until(is_answer("after it stopped"));
    drop(organism.interrupt());
}
