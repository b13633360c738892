//! Traces: a collector with the messages of another author gets a span for each turn and each request to a model. What
//! it gets is compared with a count of the records that `systole log` prints.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use systole_core::types::time::Millis;

use crate::followers::{Receiver, counts, read_list, wait_for};
use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Running, ask, run_file, systole};

/// A collector: it reads each message with the library of another author, prints its spans, and answers as the file
/// `answer` says: a status, or `partial`, with which it takes a message and rejects a span.
const COLLECTOR: &str = r#"import json, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
one_line = threading.Lock()
def value(any):
    kind = any.WhichOneof("value")
    return [value(one) for one in any.array_value.values] if kind == "array_value" else getattr(any, kind)
def attributes(of):
    return {one.key: value(one.value) for one in of.attributes}
def span(one):
    return {"trace": one.trace_id.hex(), "id": one.span_id.hex(), "parent": one.parent_span_id.hex(),
        "name": one.name, "kind": one.kind, "start": one.start_time_unix_nano, "end": one.end_time_unix_nano,
        "links": [[link.trace_id.hex(), link.span_id.hex()] for link in one.links],
        "error": one.status.message if one.status.code == 2 else None, "attributes": attributes(one)}
class Door(BaseHTTPRequestHandler):
    def do_POST(self):
        message = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
        said = open("answer").read() if os.path.exists("answer") else "200"
        ofs = message.resource_spans
        [service] = [json.loads(one) for one in {json.dumps(attributes(of.resource)) for of in ofs}]
        scopes = [scope for of in ofs for scope in of.scope_spans]
        [name] = {scope.scope.name for scope in scopes}
        got = {"path": self.path, "type": self.headers["Content-Type"], "said": said,
            "service": service, "scope": name, "spans": [span(one) for scope in scopes for one in scope.spans]}
        with one_line:
            print(json.dumps(got), flush=True)
        answer = ExportTraceServiceResponse()
        if said == "partial":
            answer.partial_success.rejected_spans, answer.partial_success.error_message = 1, "no room"
        body = answer.SerializeToString()
        self.send_response(200 if said == "partial" else int(said))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
class Server(ThreadingHTTPServer):
    allow_reuse_address = True
server = Server(("127.0.0.1", int(sys.argv[1])), Door)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// Repeats the text of its request. Named `broken`, it fails until its key is renewed; named `wrong`, its answer is not
/// valid.
const TOOL: &str = r#"import os, sys, xml.etree.ElementTree as ET
E, S, L, N = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/hello/v1}"
me = os.environ["SYSTOLE_LISTENER"]
for line in sys.stdin:
    if not line.startswith("<message"): continue
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    if me == "broken" and not os.path.exists("renewed"):
        ET.SubElement(reply, L + "failure", code="key-expired", retry="false").text = "hush: the key has expired"
    else:
        said = ET.SubElement(reply, N + "said")
        if me != "wrong":
            ET.SubElement(said, N + "text").text = message[1].findtext(N + "text")
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

const REPLIES: &str = r#"
writer:
  - {if: '<current-goal id="pick">', say: '{"item": ["hush", "b", "c"]}', times: always, usage: {in: 100, out: 10}}
  - {if: '<current-goal id="part">', say: A hush part., times: always, usage: {in: 50, out: 5}}
  - {if: '<current-goal id="answer">', say: All hush., times: always}
clerk:
  - {call: {say: {text: hush}}, usage: {in: 20, out: 2}}
  - {say: Done., usage: {in: 30, out: 3}}
"#;

fn house(port: u16) -> tempfile::TempDir {
    let text = format!(
        r#"organism: {{name: hello, entry: clerk}}
log: {{path: hello.db}}
console: {{listen: "127.0.0.1:0"}}
models:
  main: {{provider: script, file: replies.yaml}}
payloads: {{say: {{text: text}}, said: {{text: text}}, list: [word, 1..40]}}
agents:
  clerk: {{model: main, dialect: native, peers: [echo], on_unknown: retry, prompt: {{identity: You reckon.}}}}
  writer: {{model: main, on_unknown: retry, in_flight: 8, prompt: {{identity: You write.}}}}
workflows:
  story:
    by: writer
    goals:
      - pick: {{do: List the parts., gives: list}}
      - part: {{each: pick/item, at_once: 2, do: Write this part.}}
      - told: {{call: say, to: echo, with: {{text: {{text: hush}}}}}}
      - answer: Say what came of it.
listeners:
  echo: {{run: [python3, tool.py], accepts: [say], returns: [said], entry: true, in_flight: 4}}
  broken: {{run: [python3, tool.py], accepts: [say], returns: [said], entry: true}}
  wrong: {{run: [python3, tool.py], accepts: [say], returns: [said], entry: true}}
limits: {{outage: 0s}}
follow:
  traces: {{otlp: "http://127.0.0.1:{port}"}}
"#
    );
    folder(&[("organism.yaml", &text), ("tool.py", TOOL), ("replies.yaml", REPLIES)])
}

fn collector(at: &Path, port: u16) -> Receiver {
    Receiver::start_program(at, (COLLECTOR, "otlp"), &[&port.to_string()])
}

/// Sends a message, and returns its thread.
fn sent(at: &Path, to: &str) -> String {
    let body = match to {
        "story" | "clerk" => "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hush</ask>",
        _ => "<say xmlns=\"https://xml-pipeline.org/ns/hello/v1\"><text>hush</text></say>",
    };
    let taken = ask(&run_file(at), "POST", &format!("/v1/messages?to={to}"), &[], body);
    assert!(matches!(taken.status, 200 | 202), "{taken:?}");
    taken.json["thread"].as_str().unwrap().to_owned()
}

fn send_all(at: &Path) -> String {
    for to in ["story", "clerk", "echo", "wrong"] {
        sent(at, to);
    }
    sent(at, "broken")
}

/// Waits until no thread has work or waits.
fn wait_for_rest(at: &Path) {
    loop {
        let listed = ask(&run_file(at), "GET", "/v1/threads?limit=200", &[], "");
        let is_over = |thread: &Value| thread["state"] == "answered" || thread["state"] == "failed";
        if listed.json["threads"].as_array().unwrap().iter().all(is_over) {
            return;
        }
    }
}

/// Waits until no thread has work and the collector has everything.
fn settle(at: &Path) {
    wait_for_rest(at);
    wait_for(at, |one| one["behind"] == 0);
}

/// The spans by their ids. One that comes twice is the same.
fn collect_spans(got: &[Value]) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for message in got {
        assert_eq!(
            (&message["path"], &message["type"], &message["service"], &message["scope"]),
            (
                &json!("/v1/traces"),
                &json!("application/x-protobuf"),
                &json!({"service.name": "hello"}),
                &json!("systole")
            )
        );
        for span in message["spans"].as_array().unwrap() {
            let before = all.insert(span["id"].as_str().unwrap().to_owned(), span.clone());
            assert!(before.as_ref().is_none_or(|before| before == span), "{before:?}\n{span}");
        }
    }
    all
}

/// A turn as the log's records tell it.
struct CountedTurn {
    thread: String,
    call: String,
    turn: u64,
    /// The position of the record that ends it.
    position: u64,
    id: String,
    start: String,
    error: Option<String>,
}

/// The count: it reads records in order, and knows nothing of how spans are made.
struct SpanCount {
    records: Vec<Value>,
    leaves: HashMap<u64, String>,
    turns: Vec<CountedTurn>,
}

fn text(record: &Value, field: &str) -> String {
    record[field].as_str().unwrap_or_default().to_owned()
}

fn attribute(body: &str, name: &str) -> Option<String> {
    let value = body.split_once(&format!(" {name}=\""))?.1;
    Some(value.split_once('"')?.0.to_owned())
}

impl SpanCount {
    fn read(at: &Path) -> SpanCount {
        let log = systole(at, &["log", "--json", "-n", "0"]);
        let leaves = read_all(&at.join("hello.db"));
        let leaves = (1..).zip(leaves.iter().map(|record| record.leaf.to_string())).collect();
        let mut count = SpanCount { records: log.json_lines(), leaves, turns: Vec::new() };
        count.turns = count.list_turns();
        count
    }

    fn leaf(&self, record: &Value) -> &str {
        &self.leaves[&record["position"].as_u64().unwrap()]
    }

    /// The turns: each ends with the first item of its reply, or with the outcome of a call whose delivery is dead.
    fn list_turns(&self) -> Vec<CountedTurn> {
        let times: HashMap<String, String> =
            self.records.iter().map(|record| (text(record, "id"), text(record, "time"))).collect();
        let (mut turns, mut dead, mut reopened) = (Vec::<CountedTurn>::new(), HashMap::new(), HashMap::new());
        for record in &self.records {
            let place = (text(record, "thread"), text(record, "call"));
            let (kind, code, turn) = (text(record, "kind"), text(record, "code"), record["turn"].as_u64());
            let last = turns.iter_mut().rev().find(|one| (&one.thread, &one.call) == (&place.0, &place.1));
            let (turn, error) = match (&*kind, &*code) {
                ("steer", "reopened") => {
                    reopened.insert(place, text(record, "time"));
                    continue;
                }
                ("outcome", "dead-letter") => {
                    dead.insert(place, turn.unwrap());
                    continue;
                }
                ("outcome", "handled") => (turn.unwrap(), None),
                ("outcome", code) => match (dead.remove(&place), last) {
                    (Some(turn), _) => (turn, Some(code.to_owned())),
                    (None, Some(last)) => {
                        last.error = Some(code.to_owned());
                        continue;
                    }
                    (None, None) => panic!("an outcome without a turn: {record}"),
                },
                _ if record["ordinal"].is_null() || turn.is_none() => continue,
                _ if last.is_some_and(|last| last.turn == turn.unwrap() && last.error.is_none()) => continue,
                _ => (turn.unwrap(), None),
            };
            let start = reopened.remove(&place).unwrap_or_else(|| times[&text(record, "cause")].clone());
            turns.push(CountedTurn {
                thread: place.0,
                call: place.1,
                turn,
                position: record["position"].as_u64().unwrap(),
                id: self.leaf(record)[..16].to_owned(),
                start,
                error,
            });
        }
        turns
    }

    /// The last turn of a call with that number before a position.
    fn find_turn(&self, thread: &str, call: &str, turn: u64) -> &CountedTurn {
        let is_it = |one: &&CountedTurn| (&*one.thread, &*one.call, one.turn) == (thread, call, turn);
        self.turns.iter().rev().find(is_it).unwrap()
    }

    /// The turn that made a call: that of the item, or of the item that spawned the thread.
    fn find_caller(&self, one: &CountedTurn) -> Option<&CountedTurn> {
        if let Some((caller, item)) = one.call.rsplit_once('/') {
            return Some(self.find_turn(&one.thread, caller, item.split_once('.')?.0.parse().unwrap()));
        }
        let begin = self.records.iter().find(|record| text(record, "thread") == one.thread)?;
        let origin = begin["origin"].as_str()?;
        let spawning = self.records.iter().find(|record| self.leaf(record) == origin).unwrap();
        let (thread, call) = (text(spawning, "thread"), text(spawning, "call"));
        Some(self.find_turn(&thread, &call, spawning["turn"].as_u64().unwrap()))
    }

    fn find_listener(&self, one: &CountedTurn) -> String {
        let opens = |record: &&Value| {
            let call = text(record, "call");
            let opened = match &*text(record, "code") {
                "request" | "begin" => call,
                "call" => format!("{call}/{}.{}", record["turn"], record["ordinal"]),
                _ => return false,
            };
            text(record, "thread") == one.thread && opened == one.call
        };
        text(self.records.iter().find(opens).unwrap(), "to")
    }

    fn find_trace(&self, thread: &str) -> &str {
        let root = thread.split('.').next().unwrap();
        let first = self.records.iter().find(|record| text(record, "thread") == root).unwrap();
        &self.leaf(first)[..32]
    }

    /// What each span has to say: that of each turn, and that of each request.
    fn list_spans(&self) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for one in &self.turns {
            let listener = self.find_listener(one);
            let operation = match &*listener {
                "clerk" | "writer" => "invoke_agent",
                "story" => "invoke_workflow",
                _ => "execute_tool",
            };
            let is_same = |other: &&CountedTurn| (&other.thread, &other.call) == (&one.thread, &one.call);
            let first = self.turns.iter().find(is_same).filter(|first| first.id != one.id);
            let parent = self.find_caller(one).or(first).map_or("", |parent| &parent.id);
            let end = self.records.iter().find(|record| record["position"] == one.position).unwrap();
            let trace = self.find_trace(&one.thread);
            let links: Vec<[&str; 2]> = first.iter().map(|first| [trace, &first.id]).collect();
            let name = format!("{operation} {listener}");
            let times = [count_nanos(&one.start), count_nanos(&text(end, "time"))];
            let span = json!([trace, parent, name, times, links, one.error, null]);
            all.insert(one.id.clone(), span);
        }
        let journal =
            |kind: &'static str| self.records.iter().filter(move |record| text(record, "code") == kind);
        for started in journal("model-started") {
            let entry = |record: &Value, number: &str| {
                let place = ["thread", "call"].map(|field| text(record, field));
                let body = text(record, "body");
                (place, record["turn"].clone(), attribute(&body, "attempt"), attribute(&body, number))
            };
            let result = journal("model-result").find(|result| entry(result, "of") == entry(started, "id"));
            let ended = self.turns.iter().find(|one| {
                (&*one.thread, &*one.call, json!(one.turn))
                    == (&*text(started, "thread"), &*text(started, "call"), started["turn"].clone())
                    && one.position > started["position"].as_u64().unwrap()
            });
            let ended = ended.unwrap();
            let end = self.records.iter().find(|record| record["position"] == ended.position);
            let times = [started, result.or(end).unwrap()].map(|record| count_nanos(&text(record, "time")));
            let tokens = result.map_or([None, None], |result| {
                ["in", "out"]
                    .map(|name| Some(attribute(&text(result, "body"), name)?.parse::<u64>().unwrap()))
            });
            let name = format!("chat {}", attribute(&text(started, "body"), "model").unwrap());
            let error = result.is_none().then_some("model.unknown-outcome");
            let trace = self.find_trace(&ended.thread);
            let span = json!([trace, ended.id, name, times, [], error, tokens]);
            all.insert(self.leaf(started)[..16].to_owned(), span);
        }
        all
    }
}

fn count_nanos(time: &str) -> u64 {
    Millis::parse(time).unwrap().0 * 1_000_000
}

/// What a span says, in the form of the count.
fn show_span(span: &Value) -> Value {
    let said = &span["attributes"];
    let tokens =
        span["name"].as_str().unwrap().starts_with("chat ").then(|| {
            ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"].map(|name| said[name].clone())
        });
    let times = [&span["start"], &span["end"]];
    json!([span["trace"], span["parent"], span["name"], times, span["links"], span["error"], tokens])
}

#[test]
fn h6_spans_equal_a_count_of_the_log_through_kills_of_the_organism_and_of_the_collector() {
    let at_collector = tempfile::tempdir().unwrap();
    let mut receiver = collector(at_collector.path(), 0);
    let port = receiver.port;
    let folder = house(port);
    let at = folder.path();
    let kills: usize = std::env::var("SYSTOLE_KILLS").map_or(6, |kills| kills.parse().unwrap());
    let mut got = Vec::new();
    for n in 0..kills {
        let organism = Running::organism(at);
        // So no delivery dies more than once.
        wait_for_rest(at);
        send_all(at);
        // Each life is killed after another number of spans, and every third time the collector is killed too.
        let mut spans = 0;
        while spans < n % 5 {
            let message = receiver.next();
            spans += message["spans"].as_array().unwrap().len();
            got.push(message);
        }
        if n % 3 == 2 {
            got.extend(receiver.kill());
            send_all(at);
            wait_for(at, |one| one["error"].as_str().is_some_and(|why| why.contains("no connection")));
            receiver = collector(at_collector.path(), port);
        }
        organism.signal(Signal::KILL);
        drop(organism.end());
        got.extend(receiver.rest());
    }
    let organism = Running::organism(at);
    let failed = send_all(at);
    settle(at);
    std::fs::write(at.join("renewed"), "").unwrap();
    let again = systole(at, &["retry", &failed, "--yes", "--wait"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    settle(at);
    let shown = systole(at, &["follow"]);
    assert!(shown.stdout.starts_with("traces  follows  at "), "{shown:?}");
    assert!(shown.stdout.contains(&format!("traces to http://127.0.0.1:{port}\n")), "{shown:?}");
    drop(organism.interrupt());
    got.extend(receiver.kill());
    let spans = collect_spans(&got);
    let shown: BTreeMap<String, Value> =
        spans.iter().map(|(id, span)| (id.clone(), show_span(span))).collect();
    let counted = SpanCount::read(at).list_spans();
    for (id, span) in &counted {
        assert_eq!(shown.get(id), Some(span), "{id}: {:#?}", spans.get(id));
    }
    assert_eq!(shown.len(), counted.len());
    assert!(!json!(got).to_string().contains("hush"), "a payload is in a span");
    // A span that is named is there, and in the same trace.
    for span in spans.values() {
        let named = span["links"].as_array().unwrap().iter().map(|link| &link[1]).chain([&span["parent"]]);
        for id in named.map(|id| id.as_str().unwrap()).filter(|id| !id.is_empty()) {
            assert_eq!(spans[id]["trace"], span["trace"], "{span}");
        }
    }
    for name in ["invoke_agent clerk", "invoke_workflow story", "execute_tool wrong", "chat main"] {
        assert!(spans.values().any(|span| span["name"] == name), "{name}");
    }
    let errors = spans.values().filter(|span| span["error"] == "listener.failed").count();
    assert!(errors > 2 * kills, "{errors}");
    // Another process makes the same spans of the same log.
    let moved = systole(at, &["follow", "traces", "--from", "1"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    let receiver = collector(at_collector.path(), port);
    let organism = Running::organism(at);
    settle(at);
    drop(organism.interrupt());
    assert_eq!(collect_spans(&receiver.kill()), spans);
}

#[test]
fn h6_a_span_has_the_names_of_the_conventions_and_codes_numbers_and_ids_beside_them() {
    let at_collector = tempfile::tempdir().unwrap();
    let receiver = collector(at_collector.path(), 0);
    let folder = house(receiver.port);
    let at = folder.path();
    let organism = Running::organism(at);
    let (thread, failed) = (sent(at, "clerk"), sent(at, "broken"));
    settle(at);
    drop(organism.interrupt());
    let spans = collect_spans(&receiver.kill());
    let of = |name: &str, turn: Value| {
        let is_it = |span: &&Value| span["name"] == name && span["attributes"]["systole.turn"] == turn;
        spans.values().find(is_it).unwrap_or_else(|| panic!("{name}: {spans:#?}")).clone()
    };
    let agent = of("invoke_agent clerk", json!(2));
    assert_eq!(
        agent["attributes"],
        json!({
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk",
            "gen_ai.conversation.id": thread, "systole.thread": thread, "systole.call": "1",
            "systole.turn": 2, "systole.record": agent["attributes"]["systole.record"],
        })
    );
    assert_eq!((&agent["kind"], &agent["error"]), (&json!(1), &Value::Null));
    let chat = spans.values().find(|span| span["parent"] == agent["id"]).unwrap();
    assert_eq!(
        chat["attributes"],
        json!({
            "gen_ai.operation.name": "chat", "gen_ai.request.model": chat["attributes"]["gen_ai.request.model"],
            "gen_ai.conversation.id": thread, "gen_ai.usage.input_tokens": 30,
            "gen_ai.usage.output_tokens": 3, "gen_ai.response.finish_reasons": ["end"],
        })
    );
    assert_eq!((&chat["kind"], &chat["error"]), (&json!(3), &Value::Null));
    let tool = of("execute_tool echo", json!(1));
    let first = of("invoke_agent clerk", json!(1));
    assert_eq!((&tool["attributes"]["gen_ai.tool.name"], &tool["parent"]), (&json!("echo"), &first["id"]));
    let broken = of("execute_tool broken", json!(1));
    assert_eq!(
        broken["attributes"],
        json!({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "broken",
            "gen_ai.conversation.id": failed, "systole.thread": failed, "systole.call": "1",
            "systole.turn": 1, "systole.record": broken["attributes"]["systole.record"],
            "error.type": "listener.failed", "systole.first_code": "key-expired",
        })
    );
    assert_eq!(broken["error"], "listener.failed");
}

#[test]
fn h6_a_collector_that_rejects_spans_or_refuses_them_is_on_record_and_gets_the_next_ones() {
    let at_collector = tempfile::tempdir().unwrap();
    let receiver = collector(at_collector.path(), 0);
    let folder = house(receiver.port);
    let at = folder.path();
    let answer = at_collector.path().join("answer");
    std::fs::write(&answer, "partial").unwrap();
    let organism = Running::organism(at);
    sent(at, "echo");
    receiver.next();
    wait_for(at, |_| counts(at, "<follow-skipped ") == 1);
    let log = systole(at, &["log", "sys"]);
    assert!(log.stdout.contains("1 spans are rejected: no room"), "{log:?}");
    std::fs::write(&answer, "503").unwrap();
    sent(at, "echo");
    let first = receiver.until(|got| got["said"] == "503").remove(0);
    std::fs::remove_file(&answer).unwrap();
    let taken = receiver.until(|got| got["said"] == "200");
    assert!(taken.iter().all(|got| got["spans"] == first["spans"]), "{taken:?}");
    std::fs::write(&answer, "410").unwrap();
    sent(at, "echo");
    wait_for(at, |one| one["state"] == "stopped");
    assert!(read_list(at)["error"].as_str().unwrap().contains("wants no more events: 410"));
    drop(organism.interrupt());
    assert_eq!(counts(at, "<follow-skipped "), 1);
}
