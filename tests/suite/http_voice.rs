//! Progress of listeners, over the HTTP door of the real program: a client that asks for it gets it, only for threads
//! that it may read, and a client that does not read blocks no other.

use std::path::Path;

use serde_json::Value;

use crate::http::HOUSE;
use crate::organism::{ECHO_XSD, folder, say};
use crate::program::{Answer, Events, Running, ask, ask_as, kept_from_events, run_file};

const ALICE: &str = "alice-token-0123456789";
const BOB: &str = "bob-token-0123456789";
const TOKENS: [(&str, &str); 2] = [("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB)];

/// alice has no role; bob reads everything.
const CLIENTS: &str =
    "clients:\n  alice: {token_env: ALICE_TOKEN}\n  bob: {token_env: BOB_TOKEN, roles: [read]}\n";

/// Reports progress before it answers, in the requested number and length.
const TALKER: &str = r#"import sys, xml.etree.ElementTree as ET
E, S, L, N = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/echo/v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    delivery = message.find(f"{E}meta/{S}stamp").get("delivery")
    text = message[1].findtext(N + "text")
    times, size, who = (text.split() + ["1", "1", "nobody"])[:3] if text[0].isdigit() else ("2", "1", text)
    for n in range(int(times)):
        progress = ET.Element(L + "progress", delivery=delivery)
        progress.text = f"{n} for {who}" + " " * (int(size) - 1)
        print(ET.tostring(progress, encoding="unicode"), flush=True)
    reply = ET.Element(L + "reply", delivery=delivery)
    ET.SubElement(ET.SubElement(reply, N + "said"), N + "text").text = who
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

fn house() -> tempfile::TempDir {
    let file = HOUSE.replace("log: {", &format!("{CLIENTS}log: {{"));
    folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", TALKER)])
}

fn sends(folder: &Path, token: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let taken = ask_as(&run_file(folder), "POST", "/v1/messages", &[("Authorization", &bearer)], &say(body));
    assert_eq!(taken.status, 202, "{taken:?}");
    taken
}

fn text<'a>(json: &'a Value, field: &str) -> &'a str {
    json[field].as_str().unwrap_or_else(|| panic!("no {field} in {json}"))
}

/// Reads until this many progress events and finals have come, and returns the progress events.
fn until(events: &mut Events, words: usize, mut finals: usize) -> Vec<Value> {
    let mut heard = Vec::new();
    while heard.len() < words || finals > 0 {
        let (id, name, data) = events.heard().expect("more words, or a final");
        assert_eq!(id.is_none(), name == "spoken", "words alone have no place in the log: {data}");
        match id {
            None => heard.push(data),
            Some(_) => finals -= usize::from(data["code"] == "final"),
        }
    }
    heard
}

fn words(heard: &[Value]) -> Vec<&str> {
    heard.iter().map(|one| text(one, "words")).collect()
}

#[test]
fn b18_progress_text_is_streamed_between_records_on_request_and_has_no_log_position() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let run = run_file(folder.path());
    let mut before = Events::open(&run, "?from=0&voice=true", &[]);
    let first = sends(folder.path(), ALICE, "me");
    let heard = until(&mut before, 2, 1);
    assert_eq!(words(&heard), ["0 for me", "1 for me"]);
    for one in &heard {
        assert_eq!((text(one, "listener"), text(one, "call")), ("echo", "1"));
        assert_eq!(one["whole"], true, "what a program says stands for itself");
        assert_eq!(text(one, "thread"), text(&first.json, "thread"));
    }

    // A client that comes a little late still gets the beginning; a client that reconnects does not get it twice.
    let (thread, position) = (text(&first.json, "thread"), first.json["position"].as_u64().unwrap());
    let mut late = Events::open(&run, &format!("?from={position}&thread={thread}&voice=true"), &[]);
    assert_eq!(words(&until(&mut late, 2, 1)), ["0 for me", "1 for me"]);
    let last = (position - 1).to_string();
    let mut again = Events::open(&run, "?from=0&voice=true", &[("Last-Event-ID", &last)]);
    let mut now = Events::open(&run, "?voice=true", &[]);
    let mut silent = Events::open(&run, "?from=0", &[]);
    assert_eq!(until(&mut again, 0, 1).len(), 0, "they were heard before");
    sends(folder.path(), ALICE, "you");
    assert_eq!(words(&until(&mut again, 2, 1)), ["0 for you", "1 for you"]);
    assert_eq!(words(&until(&mut now, 2, 1)), ["0 for you", "1 for you"]);
    assert_eq!(until(&mut silent, 0, 2).len(), 0, "who does not ask for words hears none");
    let bad = ask(&run, "GET", "/v1/events?voice=loud", &[], "");
    assert_eq!((bad.status, text(&bad.json, "code")), (400, "payload.invalid"));
    assert!(text(&bad.json, "message").contains("voice is true or false"), "{bad:?}");
    organism.interrupt();
}

#[test]
fn a12_a_client_without_the_role_learns_nothing_about_foreign_threads() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let run = run_file(folder.path());
    let own = sends(folder.path(), ALICE, "alice");
    let own = text(&own.json, "thread");
    let mut hers = Events::open_as(&run, ALICE, &format!("?from=0&thread={own}&voice=true"));
    let mut all = Events::open_as(&run, BOB, "?from=0&voice=true");
    assert_eq!(words(&until(&mut hers, 2, 1)), ["0 for alice", "1 for alice"]);
    let other = sends(folder.path(), BOB, "secret");
    assert_eq!(until(&mut all, 4, 2).len(), 4, "who may read everything hears everything");
    let other = text(&other.json, "thread");

    let whole = kept_from_events(&run, ALICE, "?from=0&voice=true");
    assert_eq!((whole.status, text(&whole.json, "code")), (403, "ingress.forbidden"));
    let told = [other, "sess-0123456789ab"].map(|thread| {
        let kept = kept_from_events(&run, ALICE, &format!("?from=0&thread={thread}&voice=true"));
        (kept.status, kept.json.to_string())
    });
    assert_eq!(told[0], told[1], "another client's thread is reported as not found");
    assert_eq!(told[0].0, 422);

    // The next event in her thread comes next: nothing of the other thread came between.
    let bearer = format!("Bearer {ALICE}");
    let path = format!("/v1/messages?thread={own}");
    let goes_on = ask_as(&run, "POST", &path, &[("Authorization", &bearer)], &say("again"));
    assert_eq!(goes_on.status, 202, "{goes_on:?}");
    assert_eq!(words(&until(&mut hers, 2, 1)), ["0 for again", "1 for again"]);
    organism.interrupt();
}

#[test]
fn a_client_that_does_not_read_progress_delays_no_other_client() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let run = run_file(folder.path());
    let slow = Events::open(&run, "?from=0&voice=true", &[]);
    let mut quick = Events::open(&run, "?from=0", &[]);
    // More than socket buffers and everything in between can hold.
    sends(folder.path(), ALICE, "1500 10000 flood");
    until(&mut quick, 0, 1);
    // When the slow client reads, it gets every record, and only part of the progress.
    let mut slow = slow;
    let heard = until(&mut slow, 1, 1);
    assert!(heard.len() < 1500, "{} words were kept for a client that did not read", heard.len());
    assert_eq!(organism.interrupt().code, Some(130));
}
