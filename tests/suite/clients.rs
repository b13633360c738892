//! Clients at the HTTP door of the real program: their credentials, receivers and roles, and how much of
//! a refused message is reported.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use systole_organism::runfile::RunFile;
use systole_system::descriptors;
use tokio::time::Instant;

use crate::console::Browser;
use crate::http::HOUSE;
use crate::log_records::read_all;
use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{
    Answer, PATIENCE, Running, answer, ask, ask_as, connect, head, kept_from_events, run_file, systole,
};

const ALICE: &str = "alice-token-0123456789";
const BOB: &str = "bob-token-0123456789";
const CAROL: &str = "carol-token-0123456789";
const TOKENS: [(&str, &str); 3] = [("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB), ("CAROL_TOKEN", CAROL)];

/// alice may send only to echo; bob operates and reads; carol decides.
const CLIENTS: &str =
    "  shy: {run: [python3, echo.py], schema: shy.xsd, accepts: [say], returns: [said], entry: true}
  hidden: {run: [python3, echo.py], schema: hidden.xsd, accepts: [say], returns: [said]}
  guarded: {run: [python3, echo.py], schema: guarded.xsd, accepts: [say], returns: [said], entry: true, approval: {when: always}}
clients:
  alice: {token_env: ALICE_TOKEN, may: [echo]}
  bob: {token_env: BOB_TOKEN, roles: [read, operate]}
  carol: {token_env: CAROL_TOKEN, roles: [approve]}
";

fn house() -> tempfile::TempDir {
    let file = HOUSE.replace("log: {", &format!("{CLIENTS}log: {{"));
    let schema = |name: &str| ECHO_XSD.replace("ns/echo/v1", &format!("ns/{name}/v1"));
    let (shy, hidden, guarded) = (schema("shy"), schema("hidden"), schema("guarded"));
    folder(&[
        ("organism.yaml", &file),
        ("echo.xsd", ECHO_XSD),
        ("shy.xsd", &shy),
        ("hidden.xsd", &hidden),
        ("guarded.xsd", &guarded),
        ("echo.py", ECHO_PY),
    ])
}

fn asks(folder: &Path, token: &str, method: &str, path: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    ask_as(&run_file(folder), method, path, &[("Authorization", &bearer)], body)
}

fn sends(folder: &Path, token: &str, query: &str, body: &str) -> Answer {
    asks(folder, token, "POST", &format!("/v1/messages{query}"), body)
}

fn text<'a>(json: &'a Value, field: &str) -> &'a str {
    json[field].as_str().unwrap_or_else(|| panic!("no {field} in {json}"))
}

fn stored(folder: &Path) -> Vec<(String, String, String, String)> {
    let parts = |record: &systole_core::types::record::Record| {
        let h = &record.header;
        let body = String::from_utf8_lossy(&record.body).into_owned();
        let to = h.to.as_ref().map_or("", |to| to.as_str()).to_owned();
        (h.thread.to_string(), to, h.code.map_or("", |code| code.as_str()).to_owned(), body)
    };
    read_all(&folder.join("hello.db")).iter().map(parts).collect()
}

#[test]
fn a6_each_client_sends_under_its_own_name_and_to_whom_it_may() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    for (token, sender) in [(ALICE, "alice"), (BOB, "bob")] {
        let taken = sends(folder.path(), token, "", &say("hello"));
        assert_eq!((taken.status, text(&taken.json, "sender")), (202, sender));
    }
    let operator = ask(&run_file(folder.path()), "POST", "/v1/messages", &[], &say("hello"));
    assert_eq!(text(&operator.json, "sender"), "operator", "the run file's token stays the operator's");

    let shy = say("hello").replace("ns/echo/v1", "ns/shy/v1");
    assert_eq!(sends(folder.path(), BOB, "", &shy).status, 202, "without `may`: every open listener");
    // A listener that alice may not address, one that is closed, and one that does not exist.
    let told = ["shy", "hidden", "ghost"].map(|name| {
        let other = say("hello").replace("ns/echo/v1", &format!("ns/{name}/v1"));
        let refused = sends(folder.path(), ALICE, "", &other);
        assert_eq!((refused.status, text(&refused.json, "code")), (422, "route.not-a-peer"));
        let told = refused.json.to_string().replace(&format!("ns/{name}/v1"), "ns/X/v1");
        told.replace(text(&refused.json, "hash"), "HASH")
    });
    assert!(told.iter().all(|words| *words == told[0]), "{told:#?}");
    organism.interrupt();
}

#[test]
fn a12_a_client_without_roles_sees_and_ends_only_its_own_threads() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let own = sends(folder.path(), ALICE, "", &say("hello"));
    let own = text(&own.json, "thread").to_owned();
    let other = sends(folder.path(), BOB, "", &say("hello"));
    let other = text(&other.json, "thread").to_owned();

    let whole = kept_from_events(&run_file(folder.path()), ALICE, "?from=0");
    assert_eq!((whole.status, text(&whole.json, "code")), (403, "ingress.forbidden"));
    let told = [other.as_str(), "sess-0123456789ab"].map(|thread| {
        let query = format!("?from=0&thread={thread}");
        let events = kept_from_events(&run_file(folder.path()), ALICE, &query);
        let cancel = asks(folder.path(), ALICE, "POST", &format!("/v1/threads/{thread}/cancel"), "");
        let goes_on = sends(folder.path(), ALICE, &format!("?thread={thread}"), &say("me too"));
        let hash = text(&goes_on.json, "hash");
        [&events, &cancel, &goes_on].map(|a| (a.status, a.json.to_string().replace(hash, "HASH")))
    });
    assert_eq!(told[0], told[1], "another client's thread is reported as not found");
    assert!(told[0].iter().all(|(status, _)| *status == 422), "{told:?}");

    let mut events =
        crate::program::Events::open_as(&run_file(folder.path()), ALICE, &format!("?from=0&thread={own}"));
    assert_eq!(text(&events.next().unwrap().2, "from"), "alice");
    let cancel =
        |token, thread: &str| asks(folder.path(), token, "POST", &format!("/v1/threads/{thread}/cancel"), "");
    assert_eq!(cancel(ALICE, &own).status, 200);
    let theirs = sends(folder.path(), ALICE, "", &say("again"));
    assert_eq!(cancel(BOB, text(&theirs.json, "thread")).status, 200, "bob operates threads of others");
    organism.interrupt();
    let ends: Vec<_> = stored(folder.path()).into_iter().filter(|r| r.0 == other && r.1 == "alice").collect();
    assert!(ends.is_empty(), "no refusal for alice is in bob's thread: {ends:?}");
}

/// Waits until a thread has its answer.
fn rests(folder: &Path, token: &str, thread: &str) {
    let query = format!("?from=0&thread={thread}");
    let mut events = crate::program::Events::open_as(&run_file(folder), token, &query);
    while text(&events.next().expect("it is answered").2, "code") != "final" {}
}

#[test]
fn a12_an_order_about_a_thread_of_others_is_refused_as_for_one_that_never_was() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let opens = |token| {
        let thread = text(&sends(folder.path(), token, "", &say("hello")).json, "thread").to_owned();
        rests(folder.path(), token, &thread);
        thread
    };
    let (own, other) = (opens(ALICE), opens(BOB));
    let order = |token, thread: &str, order: &str| {
        let answer = asks(folder.path(), token, "POST", &format!("/v1/threads/{thread}/{order}"), "");
        (answer.status, answer.json.to_string())
    };
    for word in ["end", "cancel", "pause", "resume", "retry"] {
        let told = order(ALICE, &other, word);
        assert_eq!(told, order(ALICE, "sess-0123456789ab", word), "{word}");
        assert!(told.0 == 422 && told.1.contains("thread.unknown"), "{told:?}");
    }
    assert_eq!(order(ALICE, &own, "end").0, 200, "her own");
    assert_eq!(order(BOB, &other, "end").0, 200);
    organism.interrupt();
    let hers: Vec<_> = stored(folder.path()).into_iter().filter(|r| r.0 == other && r.1 == "alice").collect();
    assert!(hers.is_empty(), "no refusal for alice is in bob's thread: {hers:?}");
}

#[test]
fn g4_a_client_without_the_role_decides_nothing_and_does_not_learn_whether_anything_waits() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let guarded = |words: &str| say(words).replace("ns/echo/v1", "ns/guarded/v1");
    let held = sends(folder.path(), BOB, "", &guarded("drop it"));
    assert_eq!(held.status, 202);
    let rules = |token, id: &str, ruling: &Value| {
        let path = format!("/v1/approvals/{id}");
        let answer = asks(folder.path(), token, "POST", &path, &ruling.to_string());
        (answer.status, answer.json.to_string())
    };
    for ruling in [
        json!({"outcome": "approved"}),
        json!({"outcome": "approved", "hash": "0".repeat(64)}),
        json!({"outcome": "rejected", "note": "no"}),
        json!({"outcome": "amended", "payload": guarded("keep it")}),
        json!({"outcome": "amended", "payload": "<a xmlns='urn:a'/>"}),
    ] {
        for token in [ALICE, BOB] {
            let told = rules(token, "a1", &ruling);
            assert_eq!(told, rules(token, "a2", &ruling), "{ruling}");
            assert!(told.0 == 403 && told.1.contains("ingress.forbidden"), "{told:?}");
        }
    }
    let listed = |token| {
        let answer = asks(folder.path(), token, "GET", "/v1/approvals", "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json["approvals"].as_array().unwrap().clone()
    };
    assert_eq!(listed(ALICE), Vec::<Value>::new(), "what waits in the thread of another client is not shown");
    for token in [BOB, CAROL] {
        let all = listed(token);
        assert_eq!((all.len(), text(&all[0], "id")), (1, "a1"));
        assert_eq!((&all[0]["may"], text(&all[0]["request"], "by")), (&json!(["operator", "carol"]), "bob"));
    }
    assert_eq!(rules(CAROL, "a2", &json!({"outcome": "approved"})).0, 404);
    assert_eq!(rules(CAROL, "a1", &json!({"outcome": "approved"})).0, 200);
    organism.interrupt();
    let thread = text(&held.json, "thread");
    let refused = stored(folder.path()).into_iter().filter(|r| r.2 == "ingress.forbidden");
    assert!(refused.map(|r| r.0).all(|place| place != thread), "the refusals are in sys");
}

#[test]
fn g4_a_client_that_decides_in_its_own_threads_sees_and_decides_no_other() {
    let folder = house();
    let file = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    let file = file.replace("may: [echo]}", "may: [echo, guarded], roles: [approve-own]}");
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let guarded = |words: &str| say(words).replace("ns/echo/v1", "ns/guarded/v1");
    let held = [BOB, ALICE].map(|token| sends(folder.path(), token, "", &guarded("drop it")));
    let listed = |token| {
        let answer = asks(folder.path(), token, "GET", "/v1/approvals", "");
        answer.json["approvals"].as_array().unwrap().clone()
    };
    let own = listed(ALICE);
    assert_eq!((own.len(), text(&own[0], "id"), &own[0]["may"]), (1, "a2", &json!(["alice"])));
    let all = listed(BOB);
    assert_eq!(all[0]["may"], json!(["operator", "carol"]));
    assert_eq!(all[1]["may"], json!(["operator", "carol", "alice"]));
    let rules = |id: &str, hash: &str| {
        let ruling = json!({"outcome": "approved", "hash": hash});
        asks(folder.path(), ALICE, "POST", &format!("/v1/approvals/{id}"), &ruling.to_string())
    };
    let foreign = rules("a1", text(&all[0], "hash"));
    assert_eq!((foreign.status, text(&foreign.json, "code")), (404, "approval.unknown"));
    let never = rules("a9", text(&all[0], "hash"));
    assert_eq!(foreign.json.to_string().replace("a1", "aN"), never.json.to_string().replace("a9", "aN"));
    let other = rules("a2", &"0".repeat(64));
    assert_eq!((other.status, text(&other.json, "code")), (409, "approval.mismatch"));
    assert_eq!(rules("a2", text(&own[0], "hash")).status, 200);
    assert_eq!(listed(ALICE), Vec::<Value>::new());
    let page = asks(folder.path(), ALICE, "GET", "/approvals", "");
    assert_eq!(page.json["approvals"], json!([]), "{page:?}");
    assert_ne!(text(&held[0].json, "thread"), text(&held[1].json, "thread"));
    organism.interrupt();
}

#[test]
fn a6_a_token_counts_only_at_the_doors_of_its_client() {
    let folder = house();
    let file = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    let file = file.replace("may: [echo]}", "may: [echo], doors: [mcp]}");
    let file = file.replace("roles: [read, operate]}", "roles: [read, operate], doors: [v1]}");
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let knocks = |token| {
        let v1 = asks(folder.path(), token, "GET", "/v1/status", "").status;
        let metrics = asks(folder.path(), token, "GET", "/metrics", "").status;
        let pages = asks(folder.path(), token, "GET", "/threads", "").status;
        let mcp = asks(folder.path(), token, "POST", "/mcp", ping).status;
        let browser = Browser::new(folder.path());
        let signed = browser.post("/session", &format!("code={token}")).status;
        [v1, metrics, pages, mcp, signed]
    };
    let seen = [ALICE, BOB, CAROL].map(knocks);
    for (token, doors) in [ALICE, BOB, CAROL].iter().zip(seen) {
        println!("{token} {doors:?}");
    }
    let is_out = |status: u16| status == 401;
    assert_eq!(seen[0].map(is_out), [true, true, true, false, true]);
    assert_eq!(seen[1].map(is_out), [false, false, true, true, true]);
    assert_eq!(seen[2].map(is_out), [false, false, false, false, false]);
    organism.interrupt();
}

#[test]
fn without_a_clients_token_the_organism_does_not_start_and_names_the_place_and_variable() {
    let folder = house();
    let ran = {
        // Neither variable is set here.
        systole(folder.path(), &["run"])
    };
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for told in
        ["clients.alice.token_env", "clients.bob.token_env", "ALICE_TOKEN", "organism.yaml:", "openssl rand"]
    {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert!(!folder.path().join("hello.db").exists(), "nothing was started");
}

#[test]
fn a_client_with_many_refusals_must_wait_and_the_log_has_a_count() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let wrong = "<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\"><txt>x</txt></say>";
    let answers: Vec<Answer> = (0..60).map(|_| sends(folder.path(), ALICE, "", wrong)).collect();
    let throttled: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 429).collect();
    let told = answers.len() - throttled.len();
    assert!(answers[..20].iter().all(|answer| answer.status == 422), "the first twenty are refused each");
    assert!(!throttled.is_empty(), "sixty came faster than one a second");
    for answer in &throttled {
        assert_eq!(text(&answer.json, "code"), "ingress.throttled");
        assert!(text(&answer.json, "message").contains("payload.invalid"), "{answer:?}");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(sends(folder.path(), ALICE, "", &say("in order")).status, 202, "what is in order is taken");
    assert_eq!(sends(folder.path(), BOB, "", wrong).status, 422, "bob's bucket is his own");
    organism.interrupt();

    let to_alice = |code: &'static str| {
        stored(folder.path()).into_iter().filter(move |r| r.1 == "alice" && r.2 == code).collect::<Vec<_>>()
    };
    assert_eq!(to_alice("payload.invalid").len(), told);
    let counts: u64 = to_alice("ingress.throttled")
        .iter()
        .map(|(thread, _, _, body)| {
            assert_eq!(thread, "sys");
            count_of(body)
        })
        .sum();
    assert_eq!(counts, throttled.len() as u64, "none was lost on the way");
}

/// Senders of one client that may wait at once.
const WAITING: u64 = 5_000;

/// Sends a message whose sender waits, and leaves its connection open.
fn waits(run: &RunFile, token: &str, seconds: &str) -> std::net::TcpStream {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), ("Systole-Wait", seconds)];
    let document = say("waits");
    let mut stream = connect(run);
    let head = head("POST", "/v1/messages", &headers, &document.len().to_string());
    stream.write_all((head + &document).as_bytes()).unwrap();
    stream
}

#[test]
fn five_thousand_senders_of_a_client_wait_and_leave_the_others_their_places() {
    descriptors::raise_limit();
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let run = run_file(folder.path());
    assert_eq!(asks(folder.path(), BOB, "POST", "/v1/pause", "").status, 200);
    let position = || asks(folder.path(), BOB, "GET", "/v1/status", "").json["position"].as_u64().unwrap();
    // The start, its four programs and the pause are recorded.
    let end = Instant::now() + PATIENCE;
    while position() < 6 {
        assert!(Instant::now() < end, "a program does not start");
    }
    let (began, before) = (position(), memory(&organism));
    let mut waiting = Vec::new();
    while (waiting.len() as u64) < WAITING {
        waiting.extend((0..100).map(|_| waits(&run, ALICE, "300")));
        // A connection may wait for its turn, but not for long without a token.
        let end = Instant::now() + PATIENCE;
        while position() < began + waiting.len() as u64 {
            assert!(Instant::now() < end, "{} of {} are taken", position() - began, waiting.len());
        }
    }
    let grown = memory(&organism).saturating_sub(before);
    assert!(grown < (WAITING * 48) << 10, "{grown} bytes for {WAITING} that wait");

    let first = answer(waits(&run, ALICE, "300"));
    assert_eq!((first.status, text(&first.json, "code")), (503, "ingress.unavailable"), "one too many");
    assert!(text(&first.json, "message").starts_with("5000 senders of alice wait"), "{first:?}");
    assert_eq!(answer(waits(&run, BOB, "1")).status, 202, "bob's places are his own");
    assert_eq!(sends(folder.path(), ALICE, "", &say("does not wait")).status, 202);
    assert_eq!(position(), began + WAITING + 2, "nothing is recorded of the one that was refused");

    assert_eq!(asks(folder.path(), BOB, "POST", "/v1/resume", "").status, 200);
    for stream in waiting {
        let answer = answer(stream);
        assert!(answer.status == 200 && answer.body.contains(">waits<"), "{answer:?}");
    }
    organism.interrupt();
}

/// The resident memory of a process.
fn memory(organism: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", organism.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Names ten thousand foreign deliveries, then answers.
const FLOODS: &str = r#"import re, sys
for line in sys.stdin:
    ours = re.search(r'delivery="([^"]*)"', line).group(1)
    reply = '<reply xmlns="urn:systole:listener:v1" delivery="%s">%s</reply>\n'
    flood = ''.join(reply % ('nobody-%d' % n, '') for n in range(10000))
    said = '<said xmlns="https://xml-pipeline.org/ns/echo/v1"><text>done</text></said>'
    sys.stdout.write(flood + reply % (ours, said))
    sys.stdout.flush()
"#;

#[tokio::test]
async fn a_listener_that_floods_is_counted_and_its_own_answer_still_comes() {
    let folder = folder(&[("organism.yaml", HOUSE), ("echo.xsd", ECHO_XSD), ("echo.py", FLOODS)]);
    let organism = crate::organism::start(folder.path()).await;
    let receipt = crate::organism::ask(&organism, "k1", &say("flood"), None).await.unwrap();
    let answer = crate::organism::outcome(&organism, &receipt).await;
    assert!(String::from_utf8_lossy(&answer.body).contains("done"));
    organism.stop(std::time::Duration::ZERO).await;
    let records = stored(folder.path());
    let strays = records.iter().filter(|r| r.1 == "echo" && r.2 == "reply.stale-lease").count();
    let counts: u64 = records.iter().filter(|r| r.2 == "listener.throttled").map(|r| count_of(&r.3)).sum();
    assert_eq!(strays as u64 + counts, 10_000, "each is in a record or in a count");
    assert!((20..200).contains(&strays), "{strays} of them were recorded one by one");
}

fn count_of(body: &str) -> u64 {
    let (_, count) = body.split_once("count=\"").unwrap();
    count.split('"').next().unwrap().parse().unwrap()
}
