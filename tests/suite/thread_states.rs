//! The states of threads: what failed, what waits and what was answered, the same for commands, routes and pages.

use serde_json::Value;

use crate::audit_stage::{Actor, cast};
use crate::console::running;
use crate::program::{ask, page, run_file, systole};

const REPORT: &str = "env: {TURN_1: '<final-report xmlns=\"https://xml-pipeline.org/ns/core/v1\" source=\"model\" \
                      outcome=\"failure\">I give up.</final-report>'}";
const TURNS: &str = "turns: 3";
const FAILS: &str = r#"run: [sh, -c, 'read -r line; id=$(printf "%s" "$line" | sed "s/.* delivery=\"\([^\"]*\)\".*/\1/"); printf "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"%s\"><failure code=\"till.empty\" first-code=\"bank.closed\">no coins</failure></reply>\n" "$id"; cat > /dev/null']"#;

fn states(folder: &std::path::Path, path: &str) -> Vec<(String, String)> {
    let told = ask(&run_file(folder), "GET", path, &[], "");
    assert_eq!(told.status, 200, "{told:?}");
    list(&told.json)
}

fn list(told: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    told["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["thread"]), text(&one["state"])))
        .collect()
}

#[test]
fn h14_a_thread_has_one_state_on_every_face_and_a_failure_is_never_answered() {
    let folder = cast(&[
        Actor("dig", "dig", "dug", &["env: {TURN_1: '<dug xmlns=\"urn:t\">gold</dug>'}"]),
        Actor("search", "search", "found", &[REPORT, TURNS]),
        Actor("scan", "scan", "scanned", &[FAILS]),
        Actor("plan", "plan", "planned", &["approval: {when: always}"]),
    ]);
    let at = folder.path();
    let organism = running(at);
    let send = |element: &str, exit: i32| {
        let sent = systole(at, &["send", element, "x", "--json"]);
        assert_eq!(sent.code, Some(exit), "{sent:?}");
        let told: Value = serde_json::from_str(sent.stdout.lines().last().unwrap()).unwrap();
        told["receipt"]["thread"].as_str().unwrap().to_owned()
    };
    let (answered, reported, failed) = (send("dig", 0), send("search", 1), send("scan", 1));
    let (waiting, cancelled) = (send("plan", 6), send("plan", 6));
    assert_eq!(systole(at, &["cancel", &cancelled]).code, Some(0));

    let all = [
        (cancelled, "cancelled"),
        (waiting.clone(), "waiting"),
        (failed.clone(), "failed"),
        (reported.clone(), "failed"),
        (answered.clone(), "answered"),
    ];
    let all = all.map(|(thread, state)| (thread, state.to_owned()));
    let ps = systole(at, &["ps", "--json"]);
    let ps: Value = serde_json::from_str(&ps.stdout).unwrap();
    assert_eq!(list(&ps), all);
    assert_eq!(states(at, "/v1/threads"), all);
    assert_eq!(states(at, "/threads"), all);
    for path in ["/v1/threads", "/threads"] {
        assert_eq!(states(at, &format!("{path}?state=failed")), all[2..4]);
        assert_eq!(states(at, &format!("{path}?state=waiting")), all[1..2]);
        assert_eq!(states(at, &format!("{path}?state=resting")), all[2..]);
        assert_eq!(states(at, &format!("{path}?state=ended")), all[..1]);
    }
    let wrong = ask(&run_file(at), "GET", "/v1/threads?state=broken", &[], "");
    assert_eq!(wrong.status, 400, "{wrong:?}");
    assert!(wrong.body.contains("failed"), "it names the states: {wrong:?}");

    // The first cause is the code that the listener named, not the code with which its call ended.
    let told = &ps["threads"][2]["failed"];
    assert_eq!((&told["code"], &told["words"]), (&"bank.closed".into(), &"no coins".into()), "{told}");
    assert_eq!(ps["threads"][3]["failed"]["code"], "final-report");
    let log = systole(at, &["log", &failed, "--json"]).stdout;
    assert!(log.contains("first-code=\\\"bank.closed\\\""), "{log}");
    for thread in [&failed, &reported] {
        let text = systole(at, &["tree", thread]).stdout;
        assert!(text.contains("  failed  opened ") && !text.contains("answered"), "{text}");
        let page = page(&run_file(at), "GET", &format!("/t/{thread}"), "text/html", &[]).body;
        assert!(page.contains("class=\"state failed\""), "{page}");
    }
    drop(organism);
}
