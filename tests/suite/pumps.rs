//! Several pumps of one organism whose log is in NATS: real processes over a real broker. One of them writes while
//! the others stand by. Pumps are killed, stopped and suspended; none of them repeats what another has undone.

use std::path::Path;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::broker::NatsServer;
use crate::program::{Answer, PATIENCE, Ran, Running, ask, run_file, systole};
use crate::proxy::{Proxy, Way};

const ECHO: &str = "#!/bin/sh
while read -r line; do
  delivery=$(printf '%s' \"$line\" | sed 's/.*delivery=\"\\([^\"]*\\)\".*/\\1/')
  printf '<reply xmlns=\"urn:systole:listener:v1\" delivery=\"%s\"><answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">heard</answer></reply>\\n' \"$delivery\"
done
";

/// A machine with a pump of the organism.
pub(crate) fn machine(server: &NatsServer, more: &str) -> tempfile::TempDir {
    machine_at(&server.url(), more)
}

/// The same with these keys for the place of the log.
pub(crate) fn machine_at(nats: &str, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "organism: {{name: shop, entry: echo}}\nlisteners:\n  echo: {{run: [sh, echo.sh], accepts: [ask], returns: [answer], entry: true}}\nlog: {{nats: {nats}, {more}, path: hello.db}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"
    );
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    std::fs::write(folder.path().join("echo.sh"), ECHO).unwrap();
    folder
}

/// Sends a question with a key, and waits for its receipt.
pub(crate) fn question(folder: &Path, key: &str) -> Answer {
    question_of(folder, key, "hello")
}

fn question_of(folder: &Path, key: &str, words: &str) -> Answer {
    let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>");
    ask(&run_file(folder), "POST", "/v1/messages?to=echo", &[("Idempotency-Key", key)], &body)
}

/// Sends it until it is accepted, and returns its id.
pub(crate) fn until_taken(folder: &Path, key: &str) -> serde_json::Value {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        let answer = question(folder, key);
        if answer.status < 300 {
            return answer.json["id"].clone();
        }
        assert_eq!(answer.status, 503, "{answer:?}");
    }
    panic!("it is never taken")
}

pub(crate) fn asked(folder: &Path) -> Ran {
    systole(folder, &["ask", "hello"])
}

/// Every thread of the log with its state, from the copy in that folder.
fn threads(folder: &Path) -> String {
    systole(folder, &["ps", "--json"]).stdout
}

#[test]
fn d8_a_second_pump_continues_after_a_killed_one_and_a_suspended_pump_has_no_effect() {
    let server = NatsServer::start();
    let (first, second) = (machine(&server, "durability: relaxed"), machine(&server, "durability: relaxed"));
    let one = Running::organism(first.path());
    assert_eq!(asked(first.path()).stdout, "heard\n");
    let mut two = Running::start(second.path(), &["run"]);
    let told = two.says("stands by: ");
    assert!(told.contains(&format!("process {} on ", one.pid())), "{told}");
    // A standby pump accepts no messages.
    let refused = asked(second.path());
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    let named = [&format!("process {} stands by on ", two.pid()), &format!(": process {} on ", one.pid())];
    assert!(named.iter().all(|words| refused.stderr.contains(*words)), "{}", refused.stderr);

    let before = question(first.path(), "k-1");
    one.signal(Signal::KILL);
    one.end();
    two.says("listens on");
    // The second pump knows the key that the first one acknowledged, and has its answer.
    let again = question(second.path(), "k-1");
    assert_eq!((&before.json["id"], &again.json["repeated"]), (&again.json["id"], &true.into()));
    assert_eq!(asked(second.path()).stdout, "heard\n");

    // Suspended for longer than it may be silent, while work comes in: the first machine has a pump again, which
    // takes over.
    let mut three = Running::start(first.path(), &["run"]);
    three.says("stands by: ");
    two.signal(Signal::STOP);
    three.says("listens on");
    assert_eq!(asked(first.path()).stdout, "heard\n");
    two.signal(Signal::CONT);
    two.says("was taken over by ");
    two.says("stands by: ");
    assert_eq!(asked(first.path()).stdout, "heard\n");
    three.signal(Signal::TERM);
    assert_eq!(three.end().code, Some(0));
    // It released the log, so the suspended one is next, and has all of it.
    two.says("listens on");
    two.signal(Signal::TERM);
    assert_eq!(two.end().code, Some(0));
    let seen = threads(second.path());
    assert_eq!(seen.matches("<answer> heard").count(), 5, "{seen}");
}

#[test]
fn d7_a_broker_that_may_lose_commits_is_refused_unless_the_file_says_so() {
    let synced = NatsServer::with("http: \"127.0.0.1:-1\"\n");
    let page = synced.monitor();
    let folder = machine(&synced, &format!("monitor: \"http://{page}\""));
    assert_eq!(asked(folder.path()).stdout, "heard\n");

    let lazy = NatsServer::whole(
        "jetstream { store_dir: \"STORE\" }\nhttp: \"127.0.0.1:-1\"\nlisten: \"127.0.0.1:-1\"\n",
    );
    let folder = machine(&lazy, &format!("monitor: \"http://{}\"", lazy.monitor()));
    let refused = asked(folder.path());
    assert_eq!(refused.code, Some(5));
    assert!(refused.stderr.contains("confirms a commit before it is on disk"), "{}", refused.stderr);
    assert!(refused.stderr.contains("sync_interval: always"), "{}", refused.stderr);
    let folder = machine(&lazy, &format!("monitor: \"http://{page}\""));
    let other = asked(folder.path());
    assert!(other.stderr.contains("it is of another server than the one at"), "{}", other.stderr);
    let folder = machine(&lazy, "monitor: \"http://127.0.0.1:1\"");
    let absent = asked(folder.path());
    assert!(absent.stderr.contains("bus.unreachable") && absent.code == Some(5), "{}", absent.stderr);
    let folder = machine(&lazy, "durability: relaxed");
    assert_eq!(asked(folder.path()).stdout, "heard\n");
}

#[test]
fn d7_without_a_broker_senders_get_an_error_and_accepted_messages_are_written_later() {
    let mut server = NatsServer::start();
    let folder = machine(&server, "durability: relaxed");
    let one = Running::organism(folder.path());
    assert_eq!(asked(folder.path()).stdout, "heard\n");
    server.kill();
    // The first try finds out, and later ones are refused at once; the same key is accepted when the broker is back.
    for _ in 0..3 {
        let told = question(folder.path(), "k-2");
        assert_eq!((told.status, told.json["code"].as_str()), (503, Some("ingress.unavailable")), "{told:?}");
    }
    assert_eq!(asked(folder.path()).code, Some(5));
    // Known records can be read as before.
    assert!(threads(folder.path()).contains("<answer> heard"));
    server.start_again();
    let taken = (0..20_000).find_map(|_| {
        let again = question(folder.path(), "k-2");
        (again.status != 503).then_some(again.json)
    });
    assert_eq!(taken.expect("it is never taken again")["key"], "k-2");
    assert_eq!(asked(folder.path()).stdout, "heard\n");
    one.signal(Signal::TERM);
    assert_eq!(one.end().code, Some(0));
}

#[test]
fn a_log_that_its_broker_has_lost_is_not_begun_anew_beside_its_copy() {
    let mut server = NatsServer::start();
    let folder = machine(&server, "durability: relaxed");
    assert_eq!(asked(folder.path()).stdout, "heard\n");
    server.kill();
    server.loses_everything();
    server.start_again();
    let refused = asked(folder.path());
    assert_eq!(refused.code, Some(7), "{}", refused.stderr);
    assert!(refused.stderr.contains("the log SYSTOLE_shop_LOG has changed: it is not there any more"));
    assert!(refused.stderr.contains("try: the broker's store from a backup"), "{}", refused.stderr);
    assert!(threads(folder.path()).contains("<answer> heard"), "what was is read as ever");
    // For a fresh start the operator names another path.
    assert_eq!(systole(folder.path(), &["ask", "hello", "--set", "log.path=new.db"]).stdout, "heard\n");
}

#[test]
fn c11_the_same_key_meets_its_first_receipt_at_another_pump() {
    let server = NatsServer::start();
    let (first, second) = (machine(&server, "durability: relaxed"), machine(&server, "durability: relaxed"));
    let one = Running::organism(first.path());
    let taken = question(first.path(), "k-1");
    assert_eq!(taken.status, 202, "{taken:?}");
    one.signal(Signal::TERM);
    assert_eq!(one.end().code, Some(0));
    let _two = Running::organism(second.path());
    let again = question(second.path(), "k-1");
    assert_eq!((&again.json["id"], &again.json["repeated"]), (&taken.json["id"], &true.into()));
    let other = question_of(second.path(), "k-1", "something else");
    assert_eq!((other.status, other.json["code"].as_str()), (409, Some("payload.id-conflict")), "{other:?}");
}

#[test]
fn d7_a_pump_that_is_cut_off_has_no_effect_and_stands_by_when_it_is_back() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let far = machine_at(&proxy.url(), "durability: relaxed");
    let path = far.path().join("organism.yaml");
    let warned = format!("{}payloads: {{unused: text}}\n", std::fs::read_to_string(&path).unwrap());
    std::fs::write(path, warned).unwrap();
    let near = machine(&server, "durability: relaxed");
    let mut cut_off = Running::organism(far.path());
    assert_eq!(asked(far.path()).stdout, "heard\n");
    let mut other = Running::start(near.path(), &["run"]);
    other.says("stands by: ");
    // No data passes, and the connection shows no end.
    proxy.goes(Way::Stall);
    other.says("listens on");
    let told = question(far.path(), "k-1");
    assert_eq!((told.status, told.json["code"].as_str()), (503, Some("ingress.unavailable")), "{told:?}");
    // The message that the cut-off pump could not write is lost; the other pump accepts the same key as new.
    let taken = question(near.path(), "k-1");
    assert_eq!((taken.status, &taken.json["repeated"]), (202, &false.into()), "{taken:?}");
    assert_eq!(asked(near.path()).stdout, "heard\n");
    proxy.goes(Way::Pass);
    cut_off.says("was taken over by ");
    // It does not end if no server answers for a moment.
    proxy.goes(Way::Cut);
    cut_off.says("waits for its broker: ");
    proxy.goes(Way::Pass);
    cut_off.says("stands by: ");
    // While it stands by, its operator hears once that the broker does not answer, and when it does again.
    proxy.goes(Way::Cut);
    let line = cut_off.says("this pump stands by, and waits for the broker of the log: ");
    assert!(line.contains(" warning: ") && line.contains("; try: "), "{line}");
    proxy.goes(Way::Pass);
    cut_off.says(" note: the broker of the log answers again");
    other.signal(Signal::TERM);
    assert_eq!(other.end().code, Some(0));
    cut_off.says("listens on");
    let again = question(far.path(), "k-1");
    assert_eq!((&again.json["id"], &again.json["repeated"]), (&taken.json["id"], &true.into()), "{again:?}");
    cut_off.signal(Signal::TERM);
    let ended = cut_off.end();
    assert_eq!(ended.stderr.matches("1 warning: systole check").count(), 1, "{}", ended.stderr);
}
