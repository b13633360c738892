//! A log in NATS at brokers that cannot store it, through the program: each case is reported in one clear error with
//! its fix and its exit code, senders are refused at once, and no sender waits forever.

use std::path::Path;

use async_nats::jetstream;
use async_nats::jetstream::stream::Config;
use rustix::process::Signal;

use crate::broker::{KEY, NatsServer};
use crate::broker_fitness::pretender;
use crate::program::{Answer, Ran, Running, ask, run_file, systole, systole_with};
use crate::pumps;

/// A machine whose log is at that address.
fn machine(url: &str, more: &str) -> tempfile::TempDir {
    pumps::machine_at(url, &format!("durability: relaxed{more}"))
}

/// Checks for this exit code, and one error that has these words and this in its fix.
fn is_refused(ran: &Ran, code: i32, words: &str, fix: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(words), "wanted {words:?}: {}", ran.stderr);
    let told = ran.stderr.lines().find(|line| line.starts_with("  try: "));
    assert!(told.is_some_and(|told| told.contains(fix)), "wanted {fix:?}: {}", ran.stderr);
}

fn starts_refused(url: &str, more: &str, words: &str, fix: &str) {
    for command in [&["run"][..], &["ask", "hello"]] {
        is_refused(&systole(machine(url, more).path(), command), 5, words, fix);
    }
}

#[test]
fn a_log_at_a_broker_that_does_not_let_the_pump_in_is_refused() {
    let users = format!("authorization {{ users: [{{nkey: {}}}] }}", KEY.1);
    let server = NatsServer::with(&users);
    starts_refused(&server.url(), "", "bus.forbidden", "credentials of a user");
    let folder = machine(&server.url(), ", key_env: BUS_KEY");
    let other = "SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4";
    let refused = systole_with(folder.path(), &["run"], &[("BUS_KEY", other)]);
    is_refused(&refused, 5, "bus.forbidden", "credentials of a user");
    assert!(!refused.stderr.contains(other), "{}", refused.stderr);
    let asked = systole_with(folder.path(), &["ask", "hello"], &[("BUS_KEY", KEY.0)]);
    assert_eq!(asked.stdout, "heard\n", "{asked:?}");
}

#[test]
fn a_log_at_a_broker_that_cannot_keep_it_is_refused() {
    let bare = NatsServer::without_jetstream();
    starts_refused(&bare.url(), "", "has no JetStream", "jetstream { store_dir");
    for command in [&["run"][..], &["ask", "hello"]] {
        let old = format!("nats://{}", pretender("2.11.0"));
        let refused = systole(machine(&old, "").path(), command);
        is_refused(&refused, 5, "is nats-server 2.11.0, at least 2.12 is needed", "2.12 or newer");
    }
    // A command that runs the organism itself does not wait for a broker; `run` does.
    let asked = systole(machine("nats://127.0.0.1:1", "").path(), &["ask", "hello"]);
    is_refused(&asked, 5, "bus.unreachable", "start nats-server there");
    let alone = NatsServer::start();
    starts_refused(&alone.url(), ", replicas: 3", "is not kept in 3 copies", "log.replicas");
    // A stream that was made with one copy keeps it, and a file that asks for three is reported.
    assert_eq!(systole(machine(&alone.url(), "").path(), &["ask", "hello"]).stdout, "heard\n");
    starts_refused(&alone.url(), ", replicas: 3", "is not kept in 3 copies", "log.replicas");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_stream_made_by_another_program_is_refused_and_left_unchanged() {
    let server = NatsServer::start();
    let jetstream = jetstream::new(server.client().await);
    let config = |name: &str, subject: &str| Config {
        name: name.to_owned(),
        subjects: vec![subject.to_owned()],
        ..Default::default()
    };
    let named = config("SYSTOLE_shop_LOG", "theirs.*");
    jetstream.create_stream(named.clone()).await.unwrap();
    starts_refused(&server.url(), "", "it was not made by systole", "another name for the organism");
    let found = jetstream.get_stream("SYSTOLE_shop_LOG").await.unwrap();
    assert_eq!(found.cached_info().config.subjects, named.subjects);
    jetstream.delete_stream("SYSTOLE_shop_LOG").await.unwrap();
    jetstream.create_stream(config("THEIRS", "o.shop.log.>")).await.unwrap();
    starts_refused(&server.url(), "", "another stream takes o.shop.log.*", "another name for the organism");
}

/// A message with a body of that length.
fn sent(folder: &Path, bytes: usize, key: &str) -> Answer {
    let words = "x".repeat(bytes);
    let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>");
    ask(&run_file(folder), "POST", "/v1/messages?to=echo", &[("Idempotency-Key", key)], &body)
}

/// Fills the log until it accepts no more; returns the sender's refusal.
fn fill(folder: &Path) -> Answer {
    (0..200)
        .map(|n| sent(folder, 60_000, &n.to_string()))
        .find(|answer| answer.status != 202)
        .expect("it never fills")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_full_stream_senders_get_an_error_and_work_continues_when_there_is_room() {
    let server = NatsServer::start();
    let folder = machine(&server.url(), "");
    assert_eq!(systole(folder.path(), &["ask", "hello"]).stdout, "heard\n");
    let jetstream = jetstream::new(server.client().await);
    let mut config = jetstream.get_stream("SYSTOLE_shop_LOG").await.unwrap().cached_info().config.clone();
    config.max_bytes = 1_000_000;
    jetstream.update_stream(&config).await.unwrap();
    let running = Running::organism(folder.path());
    let full = fill(folder.path());
    assert_eq!((full.status, full.json["code"].as_str()), (503, Some("ingress.unavailable")), "{full:?}");
    assert!(full.json["message"].as_str().unwrap().contains("maximum bytes exceeded"), "{full:?}");
    // An organism that starts there reports it as well, and the running organism stops cleanly.
    config.max_bytes = -1;
    jetstream.update_stream(&config).await.unwrap();
    pumps::until_taken(folder.path(), "after");
    assert_eq!(systole(folder.path(), &["ask", "hello"]).stdout, "heard\n");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn a_log_at_a_broker_without_room_tells_senders_so() {
    let server = NatsServer::whole(
        "jetstream { store_dir: \"STORE\", sync_interval: always, max_file_store: 1000000 }\nlisten: \"127.0.0.1:-1\"\n",
    );
    let folder = machine(&server.url(), "");
    let running = Running::organism(folder.path());
    let full = fill(folder.path());
    assert_eq!((full.status, full.json["code"].as_str()), (503, Some("ingress.unavailable")), "{full:?}");
    let words = full.json["message"].as_str().unwrap();
    assert!(words.contains("resource"), "{full:?}");
    running.signal(Signal::KILL);
    running.end();
    let refused = systole(folder.path(), &["ask", "hello"]);
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("resource"), "{}", refused.stderr);
}

#[test]
fn a_log_at_a_broker_of_small_messages_keeps_large_ones_apart() {
    let server = NatsServer::with("max_payload: 64KB\n");
    let (folder, other) = (machine(&server.url(), ""), machine(&server.url(), ""));
    let running = Running::organism(folder.path());
    for (n, bytes) in [10, 63_000, 64_500, 66_000, 300_000].into_iter().enumerate() {
        let taken = sent(folder.path(), bytes, &n.to_string());
        assert_eq!(taken.status, 202, "{bytes}: {taken:?}");
    }
    assert_eq!(systole(folder.path(), &["ask", "hello"]).stdout, "heard\n");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
    assert_eq!(systole(other.path(), &["ask", "hello"]).stdout, "heard\n", "another copy has all of it");
    let seen = systole(other.path(), &["ps", "--json"]).stdout;
    assert_eq!(seen.matches("<answer> heard").count(), 7, "{seen}");
}
