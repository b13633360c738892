//! What pages say is so: rates, counts that lead to what they count, consequences, commands that show the same, and
//! buttons only for orders that a client may give.

use serde_json::json;

use crate::console::{Browser, text_of};
use crate::organism::folder;
use crate::program::{Running, ask, run_file, systole};
use crate::reading::{ALICE, BOB};

/// helper's model says what no one can use, and fails starts and ends at once.
const FILE: &str = "organism: {name: hello, entry: helper}
models:
  main: {provider: script, model: some-model}
agents:
  helper: {model: main, dialect: xml, peers: [fails], prompt: {identity: You help.}, attempts: 2}
listeners:
  fails: {run: [sh, -c, exit 1], schema: fails.xsd, accepts: [say], returns: [said], entry: true, mode: once,
    retry: {attempts: 2, backoff: 1ms..2ms}}
clients:
  alice: {token_env: ALICE_TOKEN}
  bob: {token_env: BOB_TOKEN, roles: [read]}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";
const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">What is smaller?</ask>";

#[test]
fn h4_pages_say_what_is_so() {
    let schema = crate::organism::ECHO_XSD.replace("ns/echo/v1", "ns/fails/v1");
    let replies = "helper:\n  - {say: I would rather talk., times: always}\n";
    let folder = folder(&[("organism.yaml", FILE), ("fails.xsd", &schema), ("replies.yaml", replies)]);
    let at = folder.path();
    let organism = Running::organism_with(at, &[("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB)]);
    let run = run_file(at);
    let sent = |to: &str, body: &str| {
        let path = format!("/v1/messages?to={to}");
        let sent = ask(&run, "POST", &path, &[("Systole-Wait", "240")], body);
        assert_eq!(sent.status, 200, "{sent:?}");
        sent.json["thread"].as_str().unwrap().to_owned()
    };
    (0..2).for_each(|_| drop(sent("helper", ASK)));
    let failing = crate::organism::say("hello").replace("ns/echo/v1", "ns/fails/v1");
    let (one, other) = (sent("fails", &failing), sent("fails", &failing));

    // An answer without an item is a first try that failed; what the pump reports in its place is none.
    let tables = ask(&run, "GET", "/refused", &[], "").json;
    let first = json!({"tries": 2, "valid": 0, "rate": "0%"});
    assert_eq!(tables["models"], json!([{"model": "main", "element": "?", "first": first}]), "{tables}");

    // Each count leads to as many records.
    let mut browser = Browser::new(at);
    browser.sign_in(run.token.secret());
    let attention = browser.get("/").body;
    let cells: Vec<&str> = attention.split("data-label=\"times\"><a href=\"").skip(1).collect();
    assert!(cells.len() >= 3, "{attention}");
    for cell in cells {
        let (href, rest) = cell.split_once("\">").unwrap();
        let count: usize = rest.split('<').next().unwrap().parse().unwrap();
        let found = ask(&run, "GET", &href.replace("&#38;", "&").replace("&amp;", "&"), &[], "");
        assert_eq!(found.json["hits"].as_array().map(Vec::len), Some(count), "{href}: {found:?}");
    }

    // Two runs differ on the page exactly if they differ for the command. The due time of an attempt is no difference;
    // the words of the program that failed may have a time.
    let pair = format!("/diff/{one}/{other}");
    let rows = ask(&run, "GET", &pair, &[], "").json;
    assert!(rows["rows"].to_string().contains("attempt 2"), "{rows}");
    let is_equal = systole(at, &["diff", &one, &other]).code == Some(0);
    assert_eq!(rows["differences"] == 0, is_equal, "{rows}");

    // A command is named only if it shows the same.
    for (path, command) in [
        ("/threads", Some("systole ps -n 100")),
        ("/threads?state=working&sort=cost", Some("systole ps -n 100 --state working --sort cost")),
        ("/refused", None),
        ("/cost", Some("systole cost --by agent")),
        ("/cost?since=2h&agent=helper", Some("systole cost --since 2h --agent helper")),
        ("/cost?by=model", Some("systole cost --by model")),
        ("/cost?client=alice&by=day", Some("systole cost --client alice --by day")),
        ("/config", Some("systole config")),
        (&format!("/t/{one}/time"), None),
        (&pair, Some(&format!("systole diff {one} {other}"))),
        (&format!("{pair}?at=9"), None),
        ("/find?kind=refusal&since=1h", Some("systole find --kind refusal --since 1h")),
        ("/find?q=-foo", Some("systole find -- -foo")),
    ] {
        let body = browser.get(path).body;
        let shown = body
            .split_once("<code data-copy>")
            .map(|(_, rest)| text_of(rest.split("</code>").next().unwrap()));
        let shown = shown.filter(|_| body.contains("class=\"same\""));
        assert_eq!(shown.as_deref(), command, "{path}");
        if let Some(command) = command.filter(|command| !command.starts_with("systole diff")) {
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            let ran = systole(at, &words);
            let is_none = ran.code == Some(1) && command.ends_with("-foo");
            assert!(ran.code == Some(0) || is_none, "{command}: {ran:?}");
        }
    }

    // Who may order no thread that is shown has no button for it, and an order says why.
    let mut bob = Browser::new(at);
    bob.sign_in(BOB);
    let (listed, all) = (bob.get("/threads").body, browser.get("/threads").body);
    assert!(listed.contains(&one) && !listed.contains("/threads/order"), "{listed}");
    assert!(all.contains("action=\"/threads/order\""), "{all}");
    let preview = text_of(&bob.get("/threads/order?order=end").body);
    assert!(preview.contains("fits no thread") && preview.contains("another client's"), "{preview}");
    organism.interrupt();
}
