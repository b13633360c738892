//! G4: what needs a person waits for one, seen from outside: real programs, the real commands, the door.

use std::path::Path;

use serde_json::{Value, json};

use super::cast::{BOSS, ECHO, Part, PlanHouse, body, cast, code, say};
use crate::program::{Answer, Ran, Running, ask, page, run_file, systole};

/// A boss that asks a listener whose messages all need an approval, and a listener that is notified.
const PARTS: [Part<'_>; 3] = [
    ("boss", "peers: [guard], turns: 9, entry: true", BOSS),
    ("guard", "entry: true, approval: {when: always, expires: 55m, tell: [watch]}", ECHO),
    ("watch", "", ECHO),
];

const PLAN: &str = "[[say('guard', 'drop the table')], everything]";

fn send(folder: &Path, key: &str, document: &str) -> Ran {
    std::fs::write(folder.join("say.xml"), document).unwrap();
    systole(folder, &["send", "--file", "say.xml", "--key", key])
}

fn said(ran: &Ran) -> String {
    [ran.stdout.as_str(), &ran.stderr].concat()
}

fn post(folder: &Path, path: &str, body: &Value) -> Answer {
    ask(&run_file(folder), "POST", path, &[("Content-Type", "application/json")], &body.to_string())
}

#[test]
fn g4_a_person_sees_what_waits_and_approves_it_by_id_and_hash() {
    let folder = cast(&PARTS);
    let at = folder.path();
    let organism = Running::organism(at);
    let sent = send(at, "k", &say("boss", PLAN));
    assert_eq!(sent.code, Some(6), "{sent:?}");
    assert!(sent.stderr.contains("waits for a person: approval a1 (say, guard)"), "{sent:?}");

    let why = systole(at, &["why"]);
    let flat = why.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("for a person: approval a1 (say, guard), expires in 5"), "{flat}");
    assert!(flat.ends_with("systole approve a1"), "{flat}");
    let why = systole(at, &["why", "@last"]);
    assert!(why.stdout.ends_with("next: systole approve a1, amend a1 or reject a1\n"), "{why:?}");
    assert_eq!(why.stdout.matches("approve a1").count(), 1, "it is said once: {why:?}");
    assert_eq!(why.stdout.matches("expires").count(), 1, "it is said once: {why:?}");
    let tree = systole(at, &["tree", "@last"]);
    assert!(tree.stdout.contains("waits for a person: approval a1"), "{tree:?}");
    let ps = systole(at, &["ps"]);
    assert!(ps.stdout.contains("guard: waits for a person: approval a1"), "{ps:?}");

    let listed = systole(at, &["approve", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let one = &listed["approvals"][0];
    assert_eq!((one["id"].as_str(), one["caller"].as_str()), (Some("a1"), Some("boss")), "{listed}");
    assert!(one["payload"].as_str().unwrap().contains("drop the table"), "{listed}");
    let shown = systole(at, &["approve"]);
    assert!(
        shown.stdout.contains("a1  <say> to guard, from boss") && shown.stdout.contains("drop the table"),
        "{shown:?}"
    );

    let other = systole(at, &["approve", "a1", "--hash", &"0".repeat(64)]);
    assert!(other.code == Some(4) && other.stderr.contains("refused: approval.mismatch"), "{other:?}");
    let hash = one["hash"].as_str().unwrap();
    let approved = systole(at, &["approve", "a1", "--hash", hash, "--note", "after dark", "--json"]);
    assert_eq!(approved.code, Some(0), "{approved:?}");
    assert!(approved.stdout.contains(r#""outcome":"approved""#), "{approved:?}");
    let again = systole(at, &["approve", "a1"]);
    assert!(again.code == Some(4) && again.stderr.contains("refused: approval.decided"), "{again:?}");
    let never = systole(at, &["reject", "a9", "--note", "no"]);
    assert!(never.code == Some(4) && never.stderr.contains("refused: approval.unknown"), "{never:?}");

    let answer = send(at, "k", &say("boss", PLAN));
    assert!(answer.code == Some(0) && answer.stdout.contains("guard heard drop the table"), "{answer:?}");
    let log = systole(at, &["log", "@last"]);
    assert!(log.stdout.contains("approval a1 is approved by operator"), "{log:?}");
    let tree = systole(at, &["tree", "@last"]);
    assert!(tree.stdout.contains("approved by operator"), "{tree:?}");
    organism.interrupt();
}

#[test]
fn g4_rejecting_and_amending_need_no_running_organism_and_send_nothing_themselves() {
    let folder = cast(&PARTS);
    let at = folder.path();
    let sent = send(at, "k", &say("boss", PLAN));
    assert_eq!(sent.code, Some(6), "it runs here until only a person can go on: {sent:?}");
    let no_note = systole(at, &["reject", "a1"]);
    assert_eq!(no_note.code, Some(2), "{no_note:?}");
    let rejected = systole(at, &["reject", "a1", "--note", "not on a Friday"]);
    assert_eq!(rejected.code, Some(0), "{rejected:?}");
    let answer = send(at, "k", &say("boss", PLAN));
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("approval.rejected"), "{answer:?}");
    assert!(answer.stdout.contains("operator rejected it: not on a Friday"), "{answer:?}");

    let sent = send(at, "k2", &say("guard", "format the disk"));
    assert_eq!(sent.code, Some(6), "{sent:?}");
    std::fs::write(at.join("wrong.xml"), say("guard", "x").replace("text>", "txt>")).unwrap();
    let wrong = systole(at, &["amend", "a2", "--file", "wrong.xml"]);
    assert!(wrong.code == Some(4) && wrong.stderr.contains("refused: payload.invalid"), "{wrong:?}");
    std::fs::write(at.join("other.xml"), say("watch", "x")).unwrap();
    let other = systole(at, &["amend", "a2", "--file", "other.xml"]);
    assert!(other.code == Some(4) && other.stderr.contains("refused: route.not-a-peer"), "{other:?}");
    std::fs::write(at.join("mild.xml"), say("guard", "look at the disk")).unwrap();
    let amended = systole(at, &["amend", "a2", "--file", "mild.xml"]);
    assert_eq!(amended.code, Some(0), "{amended:?}");
    assert!(said(&amended).contains("goes on when the organism runs"), "{amended:?}");
    let answer = send(at, "k2", &say("guard", "format the disk"));
    assert!(answer.code == Some(0) && answer.stdout.contains("guard heard look at the disk"), "{answer:?}");
    let none = systole(at, &["approve"]);
    assert!(none.code == Some(0) && none.stderr.contains("nothing waits for a person"), "{none:?}");
}

/// A message that was decided while nothing ran was never sent, and the log of the thread says the same.
#[test]
fn g4_what_an_order_alone_let_go_is_a_first_attempt_at_the_next_start() {
    let folder = cast(&[("guard", "entry: true, approval: {when: always}", ECHO)]);
    let at = folder.path();
    let asked = say("guard", "drop the table");
    assert_eq!(send(at, "k", &asked).code, Some(6));
    assert_eq!(systole(at, &["approve", "a1"]).code, Some(0));
    // Another order in between does not change that.
    assert_eq!(systole(at, &["pause", "@last"]).code, Some(0));
    assert_eq!(systole(at, &["resume", "@last"]).code, Some(0));
    let sent = send(at, "k", &asked);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    assert!(sent.stdout.contains("drop the table"), "{sent:?}");
    let log = systole(at, &["log", "@last"]);
    assert!(log.stdout.contains("approval a1 is approved") && !log.stdout.contains("attempt"), "{log:?}");
}

#[test]
fn g4_over_http_the_word_of_the_client_counts_once() {
    let folder = cast(&PARTS);
    let at = folder.path();
    let organism = Running::organism(at);
    assert_eq!(send(at, "k", &say("guard", "one")).code, Some(6));
    for (path, body, status) in [
        ("/v1/approvals/a1", json!({"outcome": "perhaps"}), 400),
        ("/v1/approvals/a1", json!({"outcome": "rejected"}), 400),
        ("/v1/approvals/a1", json!({"outcome": "amended"}), 400),
        ("/v1/approvals/a1", json!({"outcome": "approved", "payload": "<a/>"}), 400),
        ("/v1/approvals/a1", json!({"outcome": "approved", "by": "alice"}), 400),
        ("/v1/approvals/first", json!({"outcome": "approved"}), 400),
        ("/v1/approvals/a2", json!({"outcome": "approved"}), 404),
        ("/v1/approvals/a1", json!({"outcome": "approved", "hash": "0".repeat(64)}), 409),
        ("/v1/approvals/a1", json!({"outcome": "amended", "payload": "<a xmlns='urn:a'/>"}), 422),
        ("/v1/approvals/a1", json!({"outcome": "amended", "payload": say("guard", "two")}), 200),
        ("/v1/approvals/a1", json!({"outcome": "approved"}), 409),
    ] {
        let answer = post(at, path, &body);
        assert_eq!(answer.status, status, "{path} {body}: {answer:?}");
    }
    let answer = send(at, "k", &say("guard", "one"));
    assert!(answer.stdout.contains("guard heard two"), "{answer:?}");
    organism.interrupt();
}

#[tokio::test]
async fn g4_a_notified_listener_reads_the_request_and_delays_nothing() {
    let house = PlanHouse::open(&PARTS).await;
    let receipt = house.send("k", &say("guard", "one"), None, None).await.unwrap();
    let told = house
        .until("the notified listener answers", |r| code(r) == "final" && r.header.from.as_str() == "watch");
    assert_eq!(told.await.header.thread, receipt.thread);
    let tell = house.until("a request for the notified listener", |r| code(r) == "tell").await;
    super::valid_under_core(&tell.body);
    assert!(body(&tell).contains("id=\"a1\"") && body(&tell).contains("element=\"say\""), "{}", body(&tell));
    house.close().await;
}

/// A schema whose one request is marked as dangerous, and whose payload may say so itself.
const MARKED: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:systole="urn:systole:schema:v1"
    targetNamespace="https://xml-pipeline.org/ns/guard/v1" elementFormDefault="qualified">
  <xs:element name="say" MARK><xs:complexType>
    <xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence>
    <xs:attribute name="is_dangerous" type="xs:boolean"/>
  </xs:complexType></xs:element>
  <xs:element name="said"><xs:complexType><xs:sequence><xs:element name="text" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
</xs:schema>"#;

#[tokio::test]
async fn g4_what_schema_or_sender_marks_as_dangerous_waits_by_default() {
    for (mark, attribute, waits) in [
        ("", "", false),
        ("", "is_dangerous=\"false\"", false),
        ("", "is_dangerous=\"true\"", true),
        ("", "is_dangerous=\" &#49; \"", true),
        ("systole:dangerous=\"true\"", "", true),
        ("systole:dangerous=\"true\"", "is_dangerous=\"false\"", true),
        ("systole:dangerous=\"false\"", "", false),
    ] {
        let folder = cast(&[("guard", "schema: marked.xsd, entry: true", ECHO)]);
        std::fs::write(folder.path().join("marked.xsd"), MARKED.replace("MARK", mark)).unwrap();
        let house = PlanHouse::in_folder(folder).await;
        let document = say("guard", "x").replacen("<say ", &format!("<say {attribute} "), 1);
        house.send("k", &document, None, None).await.unwrap();
        let next = house
            .until("what follows", |r| !r.header.thread.is_sys() && matches!(code(r), "requested" | "final"));
        assert_eq!(code(&next.await) == "requested", waits, "{mark} {attribute}");
        house.close().await;
    }
}

#[test]
fn f4_a_pause_survives_restarts_says_so_and_ends_by_order_only() {
    let folder = cast(&[("echo", "entry: true", ECHO)]);
    let at = folder.path();
    let all = systole(at, &["pause", "--all", "--note", "lunch"]);
    assert_eq!(all.code, Some(0), "{all:?}");
    let organism = Running::organism(at);
    std::fs::write(at.join("say.xml"), say("echo", "hello")).unwrap();
    let sent = systole(at, &["send", "--file", "say.xml", "--key", "k", "--no-wait"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let waits = systole(at, &["send", "--file", "say.xml", "--key", "k", "--json"]);
    assert!(waits.code == Some(6) && waits.stdout.contains(r#""outcome":"waits""#), "{waits:?}");
    let why = systole(at, &["why", "@last"]);
    assert!(why.stdout.contains(", with everything by"), "{why:?}");
    assert_eq!(why.stdout.matches("paused").count(), 1, "it is said once: {why:?}");
    assert_eq!(why.stdout.matches("systole resume --all").count(), 1, "it is said once: {why:?}");
    organism.interrupt();

    let organism = Running::organism(at);
    let resumed = systole(at, &["resume", "--all", "--json"]);
    assert!(resumed.code == Some(0) && resumed.stdout.contains(r#""paused":false"#), "{resumed:?}");
    let answer = systole(at, &["send", "--file", "say.xml", "--key", "k"]);
    assert!(answer.code == Some(0) && answer.stdout.contains("echo heard hello"), "{answer:?}");

    let one = systole(at, &["pause", "@last"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    let more = ["send", "--file", "say.xml", "--thread", "@last", "--key", "k2"];
    let sent = systole(at, &[&more[..], &["--no-wait"]].concat());
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let why = systole(at, &["why", "@last"]);
    assert!(why.stdout.contains("is paused since ") && why.stdout.contains("resume sess-"), "{why:?}");
    let resumed = systole(at, &["resume", "@last"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let answer = systole(at, &more);
    assert!(answer.code == Some(0) && answer.stdout.contains("echo heard hello"), "{answer:?}");
    let usage = systole(at, &["pause"]);
    assert_eq!(usage.code, Some(2), "{usage:?}");
    organism.interrupt();
}

#[test]
fn g4_a_person_decides_on_the_page_about_exactly_what_it_shows() {
    let folder = cast(&PARTS);
    let at = folder.path();
    let organism = Running::organism(at);
    let run = run_file(at);
    assert_eq!(send(at, "k", &say("boss", PLAN)).code, Some(6));

    let shown = page(&run, "GET", "/approvals", "text/html", &[]);
    assert_eq!(shown.status, 200, "{shown:?}");
    let listed = page(&run, "GET", "/approvals", "application/json", &[]).json;
    let one = &listed["approvals"][0];
    let (hash, thread) = (one["hash"].as_str().unwrap(), one["thread"].as_str().unwrap());
    for part in ["(1) ", "drop the table", hash, thread, "systole approve a1", "action=\"/approvals/a1\""] {
        assert!(shown.body.contains(part), "{part} is missing: {}", shown.body);
    }
    assert_eq!(one["payload"], ask(&run, "GET", "/v1/approvals", &[], "").json["approvals"][0]["payload"]);

    let decide = |outcome: &str, hash: &str, note: &str, accept: &str| {
        let form = [("outcome", outcome), ("hash", hash), ("note", note)];
        page(&run, "POST", "/approvals/a1", accept, &form)
    };
    let json = "application/json";
    let other = decide("approved", &"0".repeat(64), "", json);
    assert_eq!((other.status, &other.json["code"]), (409, &json!("approval.mismatch")), "{other:?}");
    let unbound = page(&run, "POST", "/approvals/a1", json, &[("outcome", "approved")]);
    assert!(unbound.status == 400 && unbound.body.contains("hash is missing"), "{unbound:?}");
    let wordless = decide("rejected", hash, " ", "text/html");
    assert!(wordless.status == 400 && wordless.body.contains("a rejection needs a note"), "{wordless:?}");
    assert!(page(&run, "GET", "/approvals", json, &[]).json["decided"].as_array().unwrap().is_empty());

    let position = page(&run, "GET", "/v1/status", json, &[]).json["position"].as_u64().unwrap();
    let approved = decide("approved", hash, "after <b>dark</b>", "text/html");
    assert_eq!((approved.status, approved.header("location")), (303, Some("/approvals?done=a1")));
    let again = decide("approved", hash, "", json);
    assert_eq!((again.status, &again.json["code"]), (409, &json!("approval.decided")), "{again:?}");

    let after = page(&run, "GET", "/approvals?done=a1", "text/html", &[]).body;
    assert!(
        after.contains("Nothing waits for a person.") && after.contains("approved by operator"),
        "{after}"
    );
    assert!(after.contains("after &#60;b&#62;dark&#60;/b&#62;"), "a note is text: {after}");
    let decided = page(&run, "GET", "/approvals?one=a1", json, &[]).json["decided"][0].clone();
    assert_eq!((&decided["outcome"], &decided["by"]), (&json!("approved"), &json!("operator")));
    let log = systole(at, &["log", "@last"]);
    assert!(log.stdout.contains("approval a1 is approved by operator"), "{log:?}");

    let past = format!("/approvals?at={position}");
    let then = page(&run, "GET", &past, json, &[]).json;
    assert_eq!((&then["approvals"][0]["hash"], then["decided"].as_array().unwrap().len()), (&json!(hash), 0));
    let then = page(&run, "GET", &past, "text/html", &[]).body;
    assert!(then.contains("drop the table") && !then.contains("action=\"/approvals/a1\""), "{then}");
    organism.interrupt();
}
