//! `systole open`: a log without an organism, shown read-only, and what it refuses.

use crate::console::house;
use crate::organism::say;
use crate::program::{Running, ask, run_file, systole};
use systole::runtime::runfile::{Credential, RunFile};

#[test]
fn h13_open_shows_a_log_read_only_and_changes_nothing() {
    let folder = house();
    let at = folder.path();
    let organism = crate::console::running(at);
    crate::console::sent(at, "echo", true);
    let runs = systole(at, &["open", "hello.db", "--no-browser"]);
    assert_eq!(runs.code, Some(5), "{runs:?}");
    assert!(
        runs.stderr.contains("runs an organism on") && runs.stderr.contains("its console is http://"),
        "{runs:?}"
    );
    let served = run_file(at);
    organism.interrupt();

    let before = std::fs::read(at.join("hello.db")).unwrap();
    let mut open = Running::start(at, &["open", "hello.db", "--no-browser"]);
    let verdict = open.shows("Verdict: ");
    assert!(verdict.contains("every hash fits"), "{verdict}");
    let printed = open.shows("http://127.0.0.1:");
    let (address, secret) = printed.trim().strip_prefix("http://").unwrap().split_once("/#").unwrap();
    let address = address.parse().unwrap();
    let of_organism = RunFile { address, ..served };
    let own: Credential = serde_json::from_value(secret.into()).unwrap();
    let run = RunFile { token: own, ..of_organism.clone() };
    assert_eq!(ask(&run, "GET", "/v1/threads", &[], "").status, 200);
    assert_eq!(ask(&of_organism, "GET", "/v1/threads", &[], "").status, 401);
    let changed = ask(&run, "POST", "/v1/messages", &[], &say("more"));
    assert_eq!(
        (changed.status, changed.json["code"].as_str()),
        (403, Some("ingress.forbidden")),
        "{changed:?}"
    );
    assert_eq!(open.interrupt().code, Some(130));
    assert_eq!(std::fs::read(at.join("hello.db")).unwrap(), before);
}
