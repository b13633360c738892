//! The HTTP door of the real program, over real sockets.

use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::log_records::read_all;
use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{Answer, Events, Running, answer, ask, ask_as, connect, head, run_file};

/// An organism whose echo answers, with a door on a free port.
pub(crate) fn house() -> tempfile::TempDir {
    folder(&[("organism.yaml", HOUSE), ("echo.xsd", ECHO_XSD), ("echo.py", ECHO_PY)])
}

pub(crate) const HOUSE: &str = r#"organism: {name: hello}
listeners:
  echo:
    run: [python3, echo.py]
    schema: echo.xsd
    accepts: [say]
    returns: [said]
    entry: true
    retry: {attempts: 1}
log: {path: ./hello.db}
console: {listen: "127.0.0.1:0"}
"#;

fn post(folder: &Path, key: &str, document: &str) -> Answer {
    ask(&run_file(folder), "POST", "/v1/messages", &[("Idempotency-Key", key)], document)
}

fn text<'a>(json: &'a Value, field: &str) -> &'a str {
    json[field].as_str().unwrap_or_else(|| panic!("no {field} in {json}"))
}

/// Every record of a log without a running organism: kind, code and body.
fn stored(folder: &Path) -> Vec<(String, String, String)> {
    let parts = |record: &systole_core::types::record::Record| {
        let code = record.header.code.map_or("", |code| code.as_str());
        let body = String::from_utf8_lossy(&record.body).into_owned();
        (record.header.kind.as_str().to_owned(), code.to_owned(), body)
    };
    read_all(&folder.join("hello.db")).iter().map(parts).collect()
}

#[test]
fn a_receipt_names_message_thread_and_position() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let taken = ask(&run, "POST", "/v1/messages", &[], &say("hello"));
    assert_eq!(taken.status, 202, "{taken:?}");
    assert_eq!((text(&taken.json, "sender"), text(&taken.json, "call")), ("operator", "1"));
    assert_eq!(text(&taken.json, "key").len(), 32, "the organism makes a key and returns it");
    assert_eq!(taken.json["repeated"], false);
    assert!(taken.json.get("claimed").is_none());

    let from = taken.json["position"].as_u64().unwrap() - 1;
    let mut everything = Events::open(&run, &format!("?from={from}"), &[]);
    let thread = text(&taken.json, "thread");
    let mut events = Events::open(&run, &format!("?from={from}&thread={thread}"), &[]);
    let (id, kind, record) = events.next().unwrap();
    assert_eq!((id, kind.as_str()), (from + 1, "message"));
    assert_eq!(text(&record, "id"), text(&taken.json, "id"));
    assert_eq!(text(&record, "thread"), text(&taken.json, "thread"));
    assert_eq!(text(&record, "body"), say("hello"));
    let (_, _, answered) = events.next().unwrap();
    assert_eq!((text(&answered, "code"), text(&answered, "from")), ("final", "echo"));
    assert_eq!(organism.interrupt().code, Some(130));
    assert!(events.next().is_none(), "the stream ends with the organism");
    let last = std::iter::from_fn(|| everything.next()).last().unwrap();
    assert!(text(&last.2, "body").contains("<shutdown"), "and not before: {last:?}");
    assert!(!folder.path().join("hello.db-wal").exists(), "a log that is closed in peace is one file");
}

#[test]
fn c11_rows_27_and_28_a_key_is_taken_once() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let first = post(folder.path(), "k1", &say("hello"));
    let again = post(folder.path(), "k1", &say("hello"));
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!(again.json["repeated"], true);
    for field in ["id", "thread", "seq", "position", "call", "key"] {
        assert_eq!(again.json[field], first.json[field], "{field}");
    }
    let other = post(folder.path(), "k1", &say("other"));
    assert_eq!((other.status, text(&other.json, "code")), (409, "payload.id-conflict"));
    assert_eq!(other.json["retry_allowed"], false);
    organism.interrupt();
    assert_eq!(stored(folder.path()).iter().filter(|(_, code, _)| code == "request").count(), 1);
}

#[test]
fn a_refusal_says_where_what_and_the_fix() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let wrong = "<say xmlns=\"https://xml-pipeline.org/ns/echo/v1\">\n  <txt>hello</txt></say>";
    let refused = post(folder.path(), "k1", wrong);
    assert_eq!((refused.status, text(&refused.json, "code")), (422, "payload.invalid"));
    assert_eq!((&refused.json["line"], &refused.json["column"]), (&2.into(), &3.into()));
    assert_eq!(text(&refused.json, "try"), "<text>hello</text>");
    assert_eq!(refused.json["retry_allowed"], true);
    let told = text(&refused.json, "told");
    assert!(told.starts_with("<system-error ") && told.contains("code=\"payload.invalid\""), "{told}");
    assert_eq!(text(&refused.json, "hash").len(), 64);

    let run = run_file(folder.path());
    let unknown = ask(&run, "POST", "/v1/messages?thread=sess-0123456789ab", &[], &say("hello"));
    assert_eq!((unknown.status, text(&unknown.json, "code")), (422, "thread.unknown"));
    let path_like = ask(&run, "POST", "/v1/messages?thread=..%2F..%2Fetc", &[], &say("hello"));
    assert_eq!((path_like.status, text(&path_like.json, "code")), (422, "thread.unknown"));
    let bad_key = ask(&run, "POST", "/v1/messages", &[("Idempotency-Key", "a b")], &say("hello"));
    assert_eq!(bad_key.status, 400);
    let nowhere = ask(&run, "GET", "/v1/nowhere", &[], "");
    assert_eq!(nowhere.status, 404);
    organism.interrupt();
    let told_of = stored(folder.path()).into_iter().filter(|(kind, ..)| kind == "refusal").count();
    assert_eq!(told_of, 3, "each refusal of a payload is recorded, and none of a request");
}

#[test]
fn a_sender_that_waits_gets_the_outcome_with_its_receipt() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let wait = |seconds: &str, key: &str, document: &str| {
        ask(&run, "POST", "/v1/messages", &[("Systole-Wait", seconds), ("Idempotency-Key", key)], document)
    };
    let first = wait("60", "k1", &say("hello"));
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(
        (text(&first.json, "sender"), text(&first.json["result"], "outcome")),
        ("operator", "answered")
    );
    assert!(text(&first.json["result"], "payload").contains("hello"), "{first:?}");
    let again = wait("60", "k1", &say("hello"));
    assert_eq!((again.status, &again.json["repeated"]), (200, &true.into()));
    assert_eq!(again.json["result"], first.json["result"]);
    for seconds in ["soon", "301", "0", "-1", ""] {
        let refused = wait(seconds, "k2", &say("hello"));
        assert_eq!((refused.status, text(&refused.json, "code")), (400, "payload.invalid"), "{seconds}");
        assert!(!text(&refused.json, "try").contains("schema"), "a header has no schema: {refused:?}");
    }
    assert_eq!(wait("60", "k3", "<say").status, 422);
    assert_eq!(ask(&run, "POST", "/v1/pause", &[], "").status, 200);
    let open = wait("1", "k4", &say("hello"));
    assert_eq!((open.status, text(&open.json["result"], "outcome")), (202, "open"), "{open:?}");
    let waiting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| wait("300", "k5", &say("hello")));
        let mut events = Events::open(&run, "?from=0", &[]);
        while events.next().is_some_and(|(_, _, record)| record["key"] != "k5") {}
        organism.interrupt();
        waiting.join().unwrap()
    });
    assert_eq!(
        text(&waiting.json["result"], "outcome"),
        "open",
        "the wait ends with the organism: {waiting:?}"
    );
}

#[test]
fn who_waits_again_for_a_call_that_ended_long_ago_gets_its_outcome() {
    let folder = house();
    let wait = |key: &str, path: &str| {
        let headers = [("Systole-Wait", "60"), ("Idempotency-Key", key)];
        ask(&run_file(folder.path()), "POST", path, &headers, &say(key))
    };
    let organism = Running::organism(folder.path());
    let first = wait("k0", "/v1/messages");
    let thread = format!("/v1/messages?thread={}", text(&first.json, "thread"));
    // In its own thread come more records than are read at once, and others between them.
    for n in 1..=40 {
        assert_eq!(wait(&format!("k{n}"), &thread).status, 200);
        assert_eq!(post(folder.path(), &format!("other-{n}"), &say("hello")).status, 202);
    }
    assert_eq!(organism.interrupt().code, Some(130));
    let organism = Running::organism(folder.path());
    for n in [0, 20, 40] {
        let again = wait(&format!("k{n}"), if n == 0 { "/v1/messages" } else { &thread });
        assert_eq!((again.status, &again.json["repeated"]), (200, &true.into()), "{again:?}");
        assert!(text(&again.json["result"], "payload").contains(&format!("k{n}")), "{again:?}");
    }
    drop(organism);
}

#[test]
fn who_waits_for_an_outcome_that_is_damaged_is_told_so() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let wait = || {
        let headers = [("Systole-Wait", "60"), ("Idempotency-Key", "k1")];
        ask(&run_file(folder.path()), "POST", "/v1/messages", &headers, &say("hello"))
    };
    let thread = text(&wait().json, "thread").to_owned();
    let log = rusqlite::Connection::open(folder.path().join("hello.db")).unwrap();
    let edit = "UPDATE record SET body = CAST('<other/>' AS BLOB) WHERE seq = 2 AND thread = (SELECT id FROM thread WHERE text = ?1)";
    assert_eq!(log.execute(edit, [&thread]).unwrap(), 1);
    let again = wait();
    assert_eq!((again.status, text(&again.json["result"], "outcome")), (202, "open"), "{again:?}");
    assert_eq!(text(&again.json["result"], "code"), "thread.damaged", "{again:?}");
    drop(organism);
}

#[test]
fn a_client_of_the_whole_log_gets_each_record_once_and_in_order() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let mut everything = Events::open(&run, "?from=0", &[]);
    let mut late = Events::open(&run, "?from=0", &[]);
    for n in 0..30 {
        assert_eq!(post(folder.path(), &format!("k{n}"), &say("hello")).status, 202);
    }
    assert_eq!(organism.interrupt().code, Some(130));
    for events in [&mut everything, &mut late] {
        let positions: Vec<u64> = std::iter::from_fn(|| events.next()).map(|(id, ..)| id).collect();
        let all: Vec<u64> = (1..=stored(folder.path()).len() as u64).collect();
        assert_eq!(positions, all);
    }
}

#[test]
fn strangers_are_counted_and_told_once() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    for shown in
        [None, Some("Bearer 0123456789abcdef0123456789abcdef"), Some("Basic b3BlcmF0b3I6"), Some("Bearer ")]
    {
        let headers: Vec<_> = shown.map(|shown| ("Authorization", shown)).into_iter().collect();
        for (method, path) in
            [("POST", "/v1/messages"), ("GET", "/v1/events"), ("GET", "/v1/status"), ("GET", "/x")]
        {
            let kept_out = ask_as(&run, method, path, &headers, &say("hello"));
            assert_eq!((kept_out.status, text(&kept_out.json, "code")), (401, "ingress.unauthorized"));
        }
    }
    organism.interrupt();
    let stored = stored(folder.path());
    assert!(!stored.iter().any(|(_, code, _)| code == "request"), "{stored:?}");
    let told: Vec<_> = stored.iter().filter(|(_, code, _)| code == "ingress.unauthorized").collect();
    assert_eq!(told.len(), 2, "one at once, one with the count at the end: {told:?}");
    assert!(told[0].2.contains("127.0.0.1 came once without a valid credential"), "{told:?}");
    assert!(told[1].2.contains("127.0.0.1 came 15 times without a valid credential"), "{told:?}");
}

#[test]
fn a_request_that_others_could_read_differently_is_refused_with_a_body() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let bearer = format!("Authorization: Bearer {}", run.token.secret());
    let (body, length) = (say("hello"), format!("Content-Length: {}", say("hello").len()));
    let post = "POST /v1/messages HTTP/1.1";
    let long = format!("X: {}", "a".repeat(600_000));
    let whole = [post, "Host: localhost", &bearer, &length, "Connection: close"];
    let (in_lf, half) = (whole.join("\n") + "\n\n", whole.join("\r\n") + "\n\r\n");
    let crlf = |lines: &[&str]| lines.join("\r\n") + "\r\n\r\n";
    for (head, status, words) in [
        (in_lf, 400, "ends in LF alone"),
        (half, 400, "ends in LF alone"),
        (crlf(&[post, &bearer, &length, "Connection: close"]), 400, "the header Host is missing"),
        (
            crlf(&[post, "Host: a", &bearer, &length, "Connection: close", "Content-Encoding: gzip"]),
            415,
            "Content-Encoding: \"gzip\"",
        ),
        (crlf(&["POST /v1/messages HTTP/9.9", "Host: a", &bearer]), 400, "cannot be read as HTTP/1.1"),
        (crlf(&[post, "Host: a", "no colon here", &bearer]), 400, "cannot be read as HTTP/1.1"),
        (crlf(&[post, "Host: a", &bearer, "Content-Length: five"]), 400, "cannot be read as HTTP/1.1"),
        (crlf(&[post, "Host: a", &bearer, &long]), 431, "too many, or too long"),
    ] {
        let mut stream = connect(&run);
        // The answer may come before a long head is sent.
        let _sent = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        let told = answer(stream);
        assert_eq!(told.status, status, "{words}: {told:?}");
        assert!(text(&told.json, "message").contains(words), "{words}: {told:?}");
    }
    // The same in order, after another request on the same connection.
    let (mut stream, get) = (connect(&run), crlf(&["GET /v1/status HTTP/1.1", "Host: a", &bearer]));
    stream.write_all([get, crlf(&whole), body.clone()].concat().as_bytes()).unwrap();
    let told = answer(stream);
    assert!(told.body.contains("\r\n\r\n{") && told.body.contains("HTTP/1.1 202 "), "{told:?}");
    // A line feed behind a whole request is a request of its own: it takes no answer away.
    let (mut stream, waits) = (connect(&run), [post, "Host: a", &bearer, &length, "Systole-Wait: 60"]);
    stream.write_all([crlf(&waits), body, "\n".to_owned()].concat().as_bytes()).unwrap();
    let told = answer(stream);
    assert_eq!(told.status, 200, "{told:?}");
    assert!(told.body.contains("HTTP/1.1 400 ") && told.body.contains("ends in LF alone"), "{told:?}");
    organism.interrupt();
    let taken = stored(folder.path()).into_iter().filter(|(_, code, _)| code == "request").count();
    assert_eq!(taken, 2, "only the last two are messages");
}

#[test]
fn h4_text_is_compressed_for_clients_that_take_gzip() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    ask(&run, "POST", "/v1/messages", &[("Systole-Wait", "60")], &say("hello"));
    let script = r#"
import gzip, json, re, sys, urllib.request
url, token = sys.argv[1:]
def asked(path, coding):
    headers = {"Authorization": "Bearer " + token, "Accept": "text/html,*/*"}
    if coding: headers["Accept-Encoding"] = coding
    with urllib.request.urlopen(urllib.request.Request(url + path, headers=headers)) as answer:
        return answer.headers, b"" if "stream" in answer.headers["Content-Type"] else answer.read()
style = re.search(rb'/assets/[^"]*\.css', asked("/", None)[1]).group().decode()
for path in ["/v1/openapi.json", "/map.svg", "/send", style]:
    plain, whole = asked(path, None)
    packed, small = asked(path, "br, gzip")
    assert plain["Content-Encoding"] is None and packed["Content-Encoding"] == "gzip", path
    assert "Accept-Encoding" in plain["Vary"] and "Accept-Encoding" in packed["Vary"], path
    same = re.compile(rb"\d+")
    assert same.sub(b"", gzip.decompress(small)) == same.sub(b"", whole), path
    assert int(packed["Content-Length"]) == len(small) < len(whole), path
    assert asked(path, "gzip;q=0")[0]["Content-Encoding"] is None, path
for path in ["/v1/events", "/v1/threads"]:
    assert asked(path, "gzip")[0]["Content-Encoding"] is None, path
"#;
    let ran = std::process::Command::new("python3")
        .args(["-c", script, &format!("http://{}", run.address), run.token.secret()])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    drop(organism);
}

#[test]
fn row_13_a_body_over_the_limit_is_refused_before_it_is_read() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let large = post(folder.path(), "k1", &say(&"x".repeat(900_000)));
    assert_eq!(large.status, 202, "{:?}", large.json);

    let bearer = format!("Bearer {}", run.token.secret());
    let mut stream = connect(&run);
    let announced = head("POST", "/v1/messages", &[("Authorization", &bearer)], "1153434");
    stream.write_all(announced.as_bytes()).unwrap();
    let refused = answer(stream);
    assert_eq!(
        (refused.status, text(&refused.json, "code")),
        (413, "payload.too-large"),
        "no byte was needed"
    );

    let mut stream = connect(&run);
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: {bearer}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b'x'; 0x10000], b"\r\n"].concat();
    let mut written = 0_u64;
    while written < 1 << 30 && stream.write_all(&chunk).is_ok() {
        written += chunk.len() as u64;
    }
    assert!(written < 64 << 20, "{written} bytes were taken of a stream without end");
    organism.interrupt();
    let too_large: Vec<_> =
        stored(folder.path()).into_iter().filter(|(_, code, _)| code == "payload.too-large").collect();
    assert_eq!(too_large.len(), 2, "both are recorded");
}

#[test]
fn a_reader_goes_on_where_it_was_across_a_restart() {
    let folder = house();
    let organism = Running::organism(folder.path());
    post(folder.path(), "k1", &say("one"));
    let mut events = Events::open(&run_file(folder.path()), "?from=0", &[]);
    let mut seen = Vec::new();
    while let Some((id, _, record)) = events.next() {
        seen.push((id, text(&record, "head").to_owned()));
        if record["code"] == "final" {
            break;
        }
    }
    organism.interrupt();

    let organism = Running::organism(folder.path());
    let last = seen.last().unwrap().0.to_string();
    post(folder.path(), "k2", &say("two"));
    // The header wins over the query: a browser sends it on a reconnect.
    let mut events = Events::open(&run_file(folder.path()), "?from=0", &[("Last-Event-ID", &last)]);
    let mut finals = 0;
    while let Some((id, _, record)) = events.next() {
        seen.push((id, text(&record, "head").to_owned()));
        if record["code"] == "final" {
            finals += 1;
            break;
        }
    }
    organism.interrupt();
    assert_eq!(finals, 1);
    let ids: Vec<u64> = seen.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>(), "none missing, none twice");
    let stored = read_all(&folder.path().join("hello.db"));
    for ((_, head), record) in seen.iter().zip(&stored) {
        assert_eq!(*head, record.head.to_string(), "what was shown is what is stored");
    }
}

#[test]
fn one_thread_can_be_followed_alone() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let first = post(folder.path(), "k1", &say("one"));
    let second = post(folder.path(), "k2", &say("two"));
    let thread = text(&second.json, "thread");
    assert_ne!(thread, text(&first.json, "thread"));
    let mut events = Events::open(&run, &format!("?from=0&thread={thread}"), &[]);
    for code in ["request", "final"] {
        let (_, _, record) = events.next().unwrap();
        assert_eq!((text(&record, "thread"), text(&record, "code")), (thread, code));
    }
    let bad = ask(&run, "GET", "/v1/events?from=x", &[], "");
    assert_eq!(bad.status, 400);
    organism.interrupt();
}

#[test]
fn a_client_that_does_not_read_delays_no_other_client() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let slow = Events::open(&run_file(folder.path()), "?from=0", &[]);
    // More than socket buffers and everything in between can hold.
    for n in 0..24 {
        let taken = post(folder.path(), &format!("k{n}"), &say(&"x".repeat(700_000)));
        assert_eq!(taken.status, 202, "{:?}", taken.json);
    }
    let mut quick = Events::open(&run_file(folder.path()), "?from=0", &[]);
    let mut finals = 0;
    while finals < 24 {
        let (_, _, record) = quick.next().unwrap();
        finals += usize::from(record["code"] == "final");
    }
    assert_eq!(organism.interrupt().code, Some(130), "nor does it keep the organism from stopping");
    drop(slow);
}

#[test]
fn a_thread_is_ended_and_the_status_told() {
    let folder = house();
    let organism = Running::organism(folder.path());
    let run = run_file(folder.path());
    let taken = post(folder.path(), "k1", &say("hello"));
    let path = format!("/v1/threads/{}/cancel", text(&taken.json, "thread"));
    let ended = ask(&run, "POST", &path, &[], "");
    assert_eq!((ended.status, &ended.json["cancelled"]), (200, &taken.json["thread"]));
    let again = ask(&run, "POST", &path, &[], "");
    assert_eq!((again.status, text(&again.json, "code")), (422, "thread.ended"));
    let unknown = ask(&run, "POST", "/v1/threads/..%2Fx/cancel", &[], "");
    assert_eq!((unknown.status, text(&unknown.json, "code")), (422, "thread.unknown"));

    let status = ask(&run, "GET", "/v1/status", &[], "");
    assert_eq!(status.status, 200);
    assert_eq!(text(&status.json, "organism"), "hello");
    assert_eq!(status.json["pid"], organism.pid());
    assert_eq!(text(&status.json, "version"), env!("CARGO_PKG_VERSION"));
    assert!(status.json["position"].as_u64() > taken.json["position"].as_u64());
    organism.interrupt();
}
