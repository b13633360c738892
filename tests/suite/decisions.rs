//! What persons decided: the command, the route and the page tell an auditor who decided when about which payload, with
//! which outcome, and what ran.

use std::path::Path;

use serde_json::{Value, json};

use crate::approving::waits;
use crate::program::{Running, ask, page, run_file, systole};

const GRANT: &str = r#"<grant xmlns="urn:vault" who="alice" role="reader"><why>a page</why></grant>"#;
const AMENDED: &str = r#"<grant xmlns="urn:vault" who="alice" role="guest"><why>a page</why></grant>"#;

fn decisions(at: &Path, more: &[&str]) -> Vec<Value> {
    let ran = systole(at, &[&["decisions", "--json"], more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json_lines()[0]["decisions"].as_array().unwrap().clone()
}

/// The decisions, once every call that goes on has its end.
fn done(at: &Path) -> Vec<Value> {
    loop {
        let all = decisions(at, &[]);
        if all.iter().all(|one| one["ran"]["state"] != "open") {
            return all;
        }
    }
}

#[test]
fn g4_an_auditor_reads_all_decisions_with_what_ran_in_one_look() {
    let folder = waits(&[GRANT, GRANT, GRANT, GRANT]);
    let at = folder.path();
    assert_eq!(decisions(at, &[]), [json!(null); 0], "nothing is decided yet");
    let organism = Running::organism(at);
    std::fs::write(at.join("amended.xml"), AMENDED).unwrap();
    for order in [
        &["approve", "a1", "--note", "=1+1, fine"][..],
        &["reject", "a2", "--note", "not today"],
        &["amend", "a3", "--file", "amended.xml"],
    ] {
        let ran = systole(at, order);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    let all = done(at);
    let told: Vec<_> = all.iter().map(|one| (&one["id"], &one["outcome"], &one["by"])).collect();
    let by = json!("operator");
    let (a1, a2, a3) = (json!("a1"), json!("a2"), json!("a3"));
    let outcomes = [json!("amended"), json!("rejected"), json!("approved")];
    assert_eq!(told, [(&a3, &outcomes[0], &by), (&a2, &outcomes[1], &by), (&a1, &outcomes[2], &by)]);
    let [amended, rejected, approved] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((&approved["sent"], &approved["note"]), (&approved["hash"], &json!("=1+1, fine")));
    assert!(amended["sent"].is_string() && amended["sent"] != amended["hash"], "{amended}");
    assert!(amended["payload"].as_str().unwrap().contains("role=guest"), "what went out: {amended}");
    assert_eq!((&rejected["sent"], &rejected["ran"]), (&Value::Null, &Value::Null));
    for one in [approved, amended] {
        assert_eq!(
            (&one["ran"]["state"], &one["ran"]["what"]),
            (&json!("answered"), &json!("done")),
            "{one}"
        );
        let record = format!("{}@{}", one["thread"].as_str().unwrap(), one["ran"]["seq"]);
        let trail = systole(at, &["trail", &record]);
        assert!(trail.stdout.contains("<done>"), "the named record is the answer: {trail:?}");
    }

    // For a person, and for a spreadsheet.
    let lines = systole(at, &["decisions"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["a2 rejected by operator", "note: not today", "ran: nothing", "ran: vault answered <done>, #"]
    {
        assert!(lines.contains(words), "{words}: {lines}");
    }
    let csv = systole(at, &["decisions", "--csv"]).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows.len() == 4 && rows[0].starts_with("at,by,outcome,"), "{csv}");
    assert!(rows[3].contains(",operator,approved,,a1,approval,operator,vault,grant,"), "{csv}");
    assert!(rows[3].contains(",\"'=1+1, fine\","), "no spreadsheet runs a note: {csv}");

    // A period, a moment, and elsewhere.
    let since = approved["at"].as_str().unwrap();
    assert_eq!(decisions(at, &["--until", since]), [json!(null); 0]);
    assert!(decisions(at, &["--since", since]).contains(approved));
    assert_eq!(decisions(at, &["--since", "1h"]), all);
    let wrong = systole(at, &["decisions", "--since", "1h", "--until", "2h"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("--until is not after --since"), "{wrong:?}");
    let records = systole(at, &["log", "-n", "0", "--json"]).json_lines();
    let decided = records.iter().find(|record| record["code"] == "approved").unwrap();
    let then = decisions(at, &["--at", &decided["position"].to_string()]);
    assert_eq!((then.len(), &then[0]["id"], &then[0]["ran"]["state"]), (1, &a1, &json!("open")));

    route_and_page_show(at, &all);
    organism.interrupt();
}

/// The route, part by part, and the page show the same decisions.
fn route_and_page_show(at: &Path, all: &[Value]) {
    let run = run_file(at);
    let first = ask(&run, "GET", "/v1/decisions?limit=2", &[], "").json;
    // What still waits does not count.
    assert_eq!(first["decisions"].as_array().unwrap().len(), 2, "{first}");
    let next = format!("/v1/decisions?before={}", first["next"].as_str().unwrap());
    let rest = ask(&run, "GET", &next, &[], "").json;
    assert_eq!(rest["next"], Value::Null);
    let listed: Vec<Value> =
        [&first, &rest].iter().flat_map(|part| part["decisions"].as_array().unwrap().clone()).collect();
    assert_eq!(listed, all);
    let shown = page(&run, "GET", "/decisions?since=1h", "text/html", &[]);
    for words in [
        "systole decisions --since 1h<",
        "rejected by operator",
        "not today",
        "vault answered &#60;done&#62;",
    ] {
        assert!(shown.body.contains(words), "{words}: {}", shown.body);
    }
}
