//! The reading routes of the HTTP door, held to their description in `schemas/openapi.json`, over real sockets.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use systole_core::types::ports::Clock as _;
use systole_doors::routes;
use systole_system::clock::WallClock;

use crate::organism::{ECHO_PY, ECHO_XSD, folder, say};
use crate::program::{Answer, Events, Running, ask_as, run_file};

pub(crate) const ALICE: &str = "alice-token-0123456789";
pub(crate) const BOB: &str = "bob-token-0123456789";
pub(crate) const CAROL: &str = "carol-token-0123456789";
pub(crate) const DAN: &str = "dan-token-0123456789";
pub(crate) const TOKENS: [(&str, &str); 4] =
    [("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB), ("CAROL_TOKEN", CAROL), ("DAN_TOKEN", DAN)];

/// helper is an agent with a thread below it, vault waits for a person, alice has no role, bob reads, carol decides,
/// and dan does everything.
const FILE: &str = "organism: {name: hello}
models:
  main: {provider: script, model: some-model, price: {in: 3, out: 15, per: 1M, currency: USD}}
agents:
  helper: {model: main, dialect: native, actions: many, peers: [echo], prompt: {identity: You help.}}
listeners:
  echo: {run: [python3, echo.py], schema: echo.xsd, accepts: [say], returns: [said], entry: true}
  vault: {run: [python3, echo.py], schema: vault.xsd, accepts: [say], returns: [said], entry: true,
    approval: {when: always}}
follow:
  away: {webhook: \"http://127.0.0.1:1/in\", form: slack, on: [budget]}
clients:
  alice: {token_env: ALICE_TOKEN}
  bob: {token_env: BOB_TOKEN, roles: [read]}
  carol: {token_env: CAROL_TOKEN, roles: [approve]}
  dan: {token_env: DAN_TOKEN, roles: [read, operate, approve]}
schedules:
  beat: {cron: 0 0 29 2 *, to: echo, send: {say: {text: Tick}}}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

const REPLIES: &str = "helper:
  - call: {todo_until: {condition: it is done, steps: [{done: true, text: look}, {done: true, text: tell}]}}
    usage: {in: 1000, out: 100}
  - call: {spawn_thread: {label: first, tool: say, arguments: {text: below}}}
    usage: {in: 1000, out: 100}
  - call: {await_threads: {mode: all}}
    usage: {in: 1000, out: 100}
  - say: It is done.
    usage: {in: 1000, out: 100}
";

const ASK: &str = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">What is smaller?</ask>";

fn vaulted(text: &str) -> String {
    say(text).replace("ns/echo/v1", "ns/vault/v1")
}

/// An organism with something to read: a thread of the operator with a child, one of alice that waits for a person,
/// and one of bob that rests.
pub(crate) struct ReadStage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) organism: Running,
    pub(crate) asked: String,
    pub(crate) waits: String,
    pub(crate) rests: String,
}

impl ReadStage {
    pub(crate) fn start() -> ReadStage {
        let vault = ECHO_XSD.replace("ns/echo/v1", "ns/vault/v1");
        let fails = "    if 'break down' in line: raise SystemExit(3)\n    stamp =";
        let echo = ECHO_PY.replace("    stamp =", fails);
        let folder = folder(&[
            ("organism.yaml", FILE),
            ("replies.yaml", REPLIES),
            ("echo.xsd", ECHO_XSD),
            ("vault.xsd", &vault),
            ("echo.py", &echo),
        ]);
        let organism = Running::organism_with(folder.path(), &TOKENS);
        let mut stage =
            ReadStage { folder, organism, asked: String::new(), waits: String::new(), rests: String::new() };
        stage.asked = stage.sends(&stage.operator(), ASK, 200);
        stage.rests = stage.sends(BOB, &say("hello of bob"), 200);
        let sent = stage.asks(ALICE, "POST", "/v1/messages", &[], &vaulted("hello of alice"));
        assert_eq!(sent.status, 202, "{sent:?}");
        stage.waits = text(&sent.json, "thread").to_owned();
        stage.until(|stage| stage.gets("/v1/approvals").json["approvals"][0]["id"] == "a1");
        stage
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn operator(&self) -> String {
        run_file(self.path()).token.secret().to_owned()
    }

    pub(crate) fn asks(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let bearer = format!("Bearer {token}");
        let all = [&[("Authorization", bearer.as_str())][..], headers].concat();
        ask_as(&run_file(self.path()), method, path, &all, body)
    }

    fn gets(&self, path: &str) -> Answer {
        self.asks(&self.operator(), "GET", path, &[], "")
    }

    /// Sends a message, waits for its outcome, and returns its thread.
    pub(crate) fn sends(&self, token: &str, document: &str, status: u16) -> String {
        let sent = self.asks(token, "POST", "/v1/messages", &[("Systole-Wait", "240")], document);
        assert_eq!(sent.status, status, "{sent:?}");
        text(&sent.json, "thread").to_owned()
    }

    fn until(&self, is_so: impl Fn(&ReadStage) -> bool) {
        let end = WallClock.now().add_ms(240_000);
        while !is_so(self) {
            assert!(WallClock.now() < end, "it does not come about");
            std::thread::yield_now();
        }
    }

    pub(crate) fn last(&self) -> u64 {
        self.gets("/v1/status").json["position"].as_u64().unwrap()
    }

    /// The routes that read, as their description names them and as they are asked.
    fn reads(&self) -> Vec<(&'static str, String)> {
        let ReadStage { asked, waits, .. } = self;
        let config = text(&self.gets("/v1/status").json, "config").to_owned();
        vec![
            ("/v1/threads", "/v1/threads?children=true&limit=2".to_owned()),
            ("/v1/threads/{thread}", format!("/v1/threads/{waits}")),
            ("/v1/threads/{thread}/records", format!("/v1/threads/{asked}/records?from=2&limit=3")),
            ("/v1/threads/{thread}/records/{seq}", format!("/v1/threads/{asked}/records/1")),
            ("/v1/threads/{thread}/records/{seq}/bytes", format!("/v1/threads/{asked}/records/1/bytes")),
            ("/v1/threads/{thread}/tree", format!("/v1/threads/{asked}/tree")),
            ("/v1/threads/{thread}/why", format!("/v1/threads/{waits}/why")),
            ("/v1/threads/{thread}/todo", format!("/v1/threads/{asked}/todo")),
            ("/v1/threads/{thread}/context", format!("/v1/threads/{asked}/context")),
            ("/v1/threads/{thread}/cost", format!("/v1/threads/{asked}/cost")),
            ("/v1/threads/{thread}/trail", format!("/v1/threads/{asked}/trail")),
            ("/v1/why", "/v1/why".to_owned()),
            ("/v1/approvals", "/v1/approvals".to_owned()),
            ("/v1/decisions", "/v1/decisions?since=1h&limit=2".to_owned()),
            ("/v1/cost", "/v1/cost?by=client".to_owned()),
            ("/v1/slow", "/v1/slow?since=2h".to_owned()),
            ("/v1/schedules", "/v1/schedules?schedule=beat".to_owned()),
            ("/v1/find", "/v1/find?q=hello".to_owned()),
            ("/v1/configurations", "/v1/configurations".to_owned()),
            ("/v1/configurations/{hash}", format!("/v1/configurations/{config}")),
            ("/v1/documents/{hash}", format!("/v1/documents/{config}")),
            ("/v1/graph", "/v1/graph".to_owned()),
            ("/v1/log", "/v1/log".to_owned()),
            ("/v1/log/threads", "/v1/log/threads?like=sess-&limit=2".to_owned()),
            ("/v1/log/records", format!("/v1/log/records?thread={asked}&from=2&limit=3")),
        ]
    }
}

fn text<'a>(json: &'a Value, field: &str) -> &'a str {
    json[field].as_str().unwrap_or_else(|| panic!("no {field} in {json}"))
}

fn described() -> Value {
    serde_json::from_str(&std::fs::read_to_string("schemas/openapi.json").unwrap()).unwrap()
}

/// A description that judges answers, and counts which routes it has seen.
struct ApiJudge {
    description: Value,
    seen: BTreeSet<(String, String)>,
}

impl ApiJudge {
    fn new() -> ApiJudge {
        ApiJudge { description: described(), seen: BTreeSet::new() }
    }

    fn schema(&self, schema: &Value) -> jsonschema::Validator {
        let components = &self.description["components"];
        jsonschema::draft202012::new(&json!({"allOf": [schema], "components": components})).unwrap()
    }

    fn fits(&self, schema: &Value, value: &Value, place: &str) {
        let errors: Vec<String> = self
            .schema(schema)
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{place}: {errors:#?}\n{value:#}");
    }

    /// Holds an answer to the description of its route.
    fn judge(&mut self, method: &str, path: &str, answer: &Answer) {
        let place = format!("{method} {path} {}", answer.status);
        let mut response = &self.description["paths"][path][method]["responses"][answer.status.to_string()];
        if let Some(shared) = response["$ref"].as_str() {
            response = self.description.pointer(shared.trim_start_matches('#')).unwrap();
        }
        assert!(response.is_object(), "{place} is not described: {answer:?}");
        let Some(contents) = response["content"].as_object() else {
            assert!(answer.body.is_empty(), "{place}: {answer:?}");
            return;
        };
        let kind = answer.header("content-type").unwrap_or_default();
        let content = contents.get(kind).unwrap_or_else(|| panic!("{place}: {kind} is not described"));
        if kind == "application/json" {
            self.fits(&content["schema"], &answer.json, &place);
        }
        if answer.status < 300 {
            self.seen.insert((method.to_owned(), path.to_owned()));
        }
    }
}

#[test]
fn h5_the_description_names_every_route_and_only_those() {
    let built: BTreeSet<(String, String)> =
        routes::list_methods_and_paths().map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    let description = described();
    assert!(text(&description, "openapi").starts_with("3.1."));
    let mut named = BTreeSet::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            named.insert((method.clone(), path.clone()));
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            for part in path.split('/').filter_map(|part| part.strip_prefix('{')) {
                let name = part.trim_end_matches('}');
                let is_it = |one: &Value| one["name"] == name && one["in"] == "path";
                assert!(parameters.iter().any(is_it), "{method} {path} does not describe {name}");
            }
        }
    }
    assert_eq!(named, built);
    let judge = ApiJudge::new();
    for (name, schema) in description["components"]["schemas"].as_object().unwrap() {
        judge.schema(&json!({"$ref": format!("#/components/schemas/{name}")}));
        let is_open = schema["type"] == "object" && schema["additionalProperties"] != false;
        assert!(!is_open, "{name} allows fields that it does not name");
    }
}

#[test]
fn h5_every_answer_has_the_form_that_the_description_says() {
    let stage = ReadStage::start();
    let mut judge = ApiJudge::new();
    let operator = stage.operator();
    for (path, asked) in stage.reads() {
        let answer = stage.gets(&asked);
        assert_eq!(answer.status, 200, "{asked}: {answer:?}");
        judge.judge("get", path, &answer);
        let unknown =
            stage.gets(&format!("{asked}{}colour=red", if asked.contains('?') { '&' } else { '?' }));
        assert_eq!(unknown.status, 400, "{asked}: {unknown:?}");
        assert!(text(&unknown.json, "message").starts_with("colour: "), "{unknown:?}");
        judge.judge("get", path, &unknown);
        let stranger = ask_as(&run_file(stage.path()), "GET", &asked, &[], "");
        judge.judge("get", path, &stranger);
    }
    for path in ["/v1/status", "/v1/workers", "/v1/followers", "/v1/openapi.json", "/v1/reload"] {
        judge.judge("get", path, &stage.gets(path));
    }
    assert_eq!(stage.gets("/v1/openapi.json").json, described());
    assert_eq!(stage.gets("/v1/status").header("cache-control"), Some("no-store"));
    // A question of wrong form names its place.
    for (path, asked, status) in [
        ("/v1/threads", "/v1/threads?limit=0".to_owned(), 400),
        ("/v1/threads", "/v1/threads?limit=1001".to_owned(), 400),
        ("/v1/threads", "/v1/threads?state=asleep".to_owned(), 400),
        ("/v1/threads", "/v1/threads?limit=1&limit=2".to_owned(), 400),
        ("/v1/threads", "/v1/threads?at=0".to_owned(), 400),
        ("/v1/threads", "/v1/threads?at=99999999".to_owned(), 400),
        ("/v1/threads", "/v1/threads?after=sess-0123456789ab".to_owned(), 422),
        ("/v1/threads/{thread}", "/v1/threads/sess-0123456789ab".to_owned(), 422),
        ("/v1/threads/{thread}/records/{seq}", format!("/v1/threads/{}/records/99", stage.asked), 404),
        ("/v1/threads/{thread}/records/{seq}", format!("/v1/threads/{}/records/one", stage.asked), 404),
        ("/v1/threads/{thread}/context", format!("/v1/threads/{}/context", stage.rests), 404),
        ("/v1/documents/{hash}", "/v1/documents/12".to_owned(), 400),
        ("/v1/documents/{hash}", format!("/v1/documents/{}", "0".repeat(64)), 404),
        ("/v1/log/records", "/v1/log/records?from=2".to_owned(), 400),
        ("/v1/log/records", format!("/v1/log/records?thread={}&after=2", stage.asked), 400),
        ("/v1/log/records", "/v1/log/records?thread=nothing".to_owned(), 422),
        ("/v1/log/threads", "/v1/log/threads?limit=0".to_owned(), 400),
        ("/v1/find", "/v1/find".to_owned(), 400),
        ("/v1/find", "/v1/find?kind=mesage".to_owned(), 400),
        ("/v1/cost", "/v1/cost?since=1h&until=2h".to_owned(), 400),
        ("/v1/decisions", "/v1/decisions?since=1h&until=2h".to_owned(), 400),
        ("/v1/decisions", "/v1/decisions?before=17".to_owned(), 400),
        ("/v1/log/records", format!("/v1/log/records?thread={}&from=0", stage.asked), 400),
        ("/v1/threads/{thread}/records", format!("/v1/threads/{}/records?from=0", stage.asked), 400),
    ] {
        let answer = stage.gets(&asked);
        assert_eq!(answer.status, status, "{asked}: {answer:?}");
        assert!(answer.json["try"].is_string(), "{asked} has no fix: {answer:?}");
        judge.judge("get", path, &answer);
    }
    orders(&stage, &mut judge, &operator);
    let mut events = Events::open(&run_file(stage.path()), "?from=0", &[]);
    for _ in 0..stage.last() {
        let (_, _, data) = events.next().unwrap();
        judge.fits(&json!({"$ref": "#/components/schemas/Record"}), &data, "/v1/events");
    }
    judge.seen.insert(("get".to_owned(), "/v1/events".to_owned()));
    let seen: Vec<_> = judge.seen.iter().map(|(method, path)| (method.as_str(), path.as_str())).collect();
    let all: BTreeSet<_> = routes::list_methods_and_paths().collect();
    assert_eq!(seen, all.into_iter().collect::<Vec<_>>(), "routes whose answers were judged");
    stage.organism.interrupt();
}

/// Tries threads again, one that did not fail and one that did, and holds the answers to the description.
fn retry_orders(stage: &ReadStage, judge: &mut ApiJudge, operator: &str) {
    let posts =
        |path: &str, headers: &[(&str, &str)], body: &str| stage.asks(operator, "POST", path, headers, body);
    let rests = &stage.rests;
    let retry = format!("/v1/threads/{rests}/retry");
    for (method, answer) in
        [("get", stage.asks(operator, "GET", &retry, &[], "")), ("post", posts(&retry, &[], ""))]
    {
        assert_eq!((answer.status, text(&answer.json, "code")), (422, "retry.not-failed"), "{answer:?}");
        judge.judge(method, "/v1/threads/{thread}/retry", &answer);
    }
    let failed = stage.sends(operator, &say("break down"), 200);
    let retry = format!("/v1/threads/{failed}/retry");
    for (method, answer) in
        [("get", stage.asks(operator, "GET", &retry, &[], "")), ("post", posts(&retry, &[], ""))]
    {
        assert_eq!(answer.status, 200, "{answer:?}");
        judge.judge(method, "/v1/threads/{thread}/retry", &answer);
    }
    let failed = stage.sends(operator, &say("break down"), 200);
    for word in ["show", "send"] {
        let path = format!("/v1/threads/{failed}/retry?anew={word}");
        let answer = posts(&path, &[("Content-Type", "application/json")], "[]");
        assert_eq!(answer.status, 200, "{answer:?}");
        judge.judge("post", "/v1/threads/{thread}/retry", &answer);
    }
    for (body, status) in [
        ("{\"at\": 1, \"filter\": {\"since\": \"3d\"}}", 200),
        ("{\"filter\": {\"state\": \"failed\"}, \"at\": 1}", 400),
    ] {
        let answer = posts("/v1/retry", &[], body);
        assert_eq!(answer.status, status, "{answer:?}");
        judge.judge("post", "/v1/retry", &answer);
    }
}

/// Gives every order once, and holds its answer to the description.
fn orders(stage: &ReadStage, judge: &mut ApiJudge, operator: &str) {
    let posts =
        |path: &str, headers: &[(&str, &str)], body: &str| stage.asks(operator, "POST", path, headers, body);
    judge.judge("post", "/v1/messages", &posts("/v1/messages", &[], &say("one more")));
    judge.judge("post", "/v1/messages", &posts("/v1/messages", &[("Systole-Wait", "240")], &say("two more")));
    judge.judge("post", "/v1/messages", &posts("/v1/messages", &[], "<say>"));
    judge.judge("post", "/v1/files", &posts("/v1/files", &[], "%PDF-1.7"));
    judge.judge("post", "/v1/files", &posts("/v1/files", &[], "no file that a model takes"));
    let json = [("Content-Type", "application/json"), ("Systole-Wait", "240")];
    for (asked, body, status) in [
        ("/v1/messages?to=echo&element=say", "{\"text\": \"in <JSON>\"}", 200),
        ("/v1/messages?to=echo&element=say", "{\"txet\": \"in JSON\"}", 422),
        ("/v1/messages?to=echo&element=said", "{\"text\": \"in JSON\"}", 422),
        ("/v1/messages?to=echo", "{\"text\": \"in JSON\"}", 422),
    ] {
        let answer = posts(asked, &json, body);
        assert_eq!(answer.status, status, "{asked} {body}: {answer:?}");
        judge.judge("post", "/v1/messages", &answer);
    }
    let sent = posts("/v1/messages?element=say", &[], &say("in XML"));
    assert_eq!(sent.status, 400, "an element is named for JSON only: {sent:?}");
    let ReadStage { waits, rests, asked, .. } = stage;
    retry_orders(stage, judge, operator);
    for (path, concrete) in [
        ("/v1/pause", "/v1/pause?note=lunch".to_owned()),
        ("/v1/listeners/{listener}/cancel", "/v1/listeners/echo/cancel".to_owned()),
        ("/v1/threads/{thread}/pause", format!("/v1/threads/{waits}/pause")),
        ("/v1/threads/{thread}/resume", format!("/v1/threads/{waits}/resume")),
        ("/v1/resume", "/v1/resume".to_owned()),
        ("/v1/threads/{thread}/end", format!("/v1/threads/{rests}/end")),
    ] {
        let answer = posts(&concrete, &[], "");
        assert_eq!(answer.status, 200, "{concrete}: {answer:?}");
        judge.judge("post", path, &answer);
        // The states and pauses of threads in between have the same form.
        for (path, asked) in [("/v1/threads", "/v1/threads"), ("/v1/why", "/v1/why")] {
            judge.judge("get", path, &stage.gets(asked));
        }
    }
    for order in ["pause", "resume", "fire"] {
        for (name, status) in [("meat", 422), ("beat", 200)] {
            let answer = posts(&format!("/v1/schedules/{name}/{order}"), &[], "");
            assert_eq!(answer.status, status, "{answer:?}");
            judge.judge("post", &format!("/v1/schedules/{{schedule}}/{order}"), &answer);
        }
    }
    for (query, status) in [("?show=true", 200), ("?back=true", 422), ("?drain=0s", 400)] {
        let answer = posts(&format!("/v1/reload{query}"), &[], "");
        assert_eq!(answer.status, status, "{answer:?}");
        judge.judge("post", "/v1/reload", &answer);
    }
    let decided = posts("/v1/approvals/a1", &[], "{\"outcome\": \"approved\"}");
    judge.judge("post", "/v1/approvals/{id}", &decided);
    let listed = stage.gets("/v1/decisions");
    assert_eq!(listed.json["decisions"][0]["outcome"], "approved", "{listed:?}");
    judge.judge("get", "/v1/decisions", &listed);
    judge.judge("post", "/v1/approvals/{id}", &posts("/v1/approvals/a9", &[], "{\"outcome\": \"approved\"}"));
    judge.judge(
        "post",
        "/v1/threads/{thread}/cancel",
        &posts(&format!("/v1/threads/{asked}/cancel"), &[], ""),
    );
    judge.judge("get", "/v1/threads/{thread}/tree", &stage.gets(&format!("/v1/threads/{asked}/tree")));
    let code = posts("/v1/session-codes", &[], "");
    assert_eq!(code.status, 201, "{code:?}");
    judge.judge("post", "/v1/session-codes", &code);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let json = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    judge.judge("post", "/mcp", &posts("/mcp", &json, &hello));
    judge.judge("post", "/mcp", &posts("/mcp", &json[1..], &hello));
    judge.judge("post", "/mcp", &posts("/mcp", &json[..1], &hello));
}

#[test]
fn h5_a_client_without_read_sees_only_its_own() {
    let stage = ReadStage::start();
    let alice = |path: &str| stage.asks(ALICE, "GET", path, &[], "");
    let listed = alice("/v1/threads?children=true").json;
    let threads: Vec<&str> =
        listed["threads"].as_array().unwrap().iter().map(|thread| text(thread, "thread")).collect();
    assert_eq!(threads, [stage.waits.as_str()], "{listed}");
    assert_eq!(alice(&format!("/v1/threads/{}", stage.waits)).status, 200);
    let waits = alice("/v1/why").json;
    assert!(waits["waits"].as_array().unwrap().iter().all(|wait| wait["thread"] == stage.waits.as_str()));
    // Another client's thread, and one that does not exist, are refused alike.
    for (_, asked) in stage.reads().iter().filter(|(path, _)| path.contains("{thread}")) {
        let at = asked.find("sess-").unwrap();
        let id = asked[at..].split(['/', '?']).next().unwrap();
        let told = [stage.rests.as_str(), "sess-0123456789ab"].map(|other| {
            let answer = alice(&asked.replace(id, other));
            (answer.status, answer.body)
        });
        assert_eq!((told[0].0, &told[0]), (422, &told[1]), "{asked}");
    }
    for path in ["/v1/cost", "/v1/decisions", "/v1/configurations", "/v1/graph"] {
        let refused = alice(path);
        assert_eq!((refused.status, text(&refused.json, "code")), (403, "ingress.forbidden"), "{path}");
        assert!(text(&refused.json, "try").contains("roles: [read]"), "{refused:?}");
    }
    let config = text(&stage.gets("/v1/status").json, "config").to_owned();
    assert_eq!(alice(&format!("/v1/documents/{config}")).status, 403);
    let texts = |answer: Answer| -> Vec<String> {
        let hits = answer.json["hits"].as_array().unwrap_or_else(|| panic!("{answer:?}")).clone();
        hits.iter().map(|hit| text(&hit["record"], "thread").to_owned()).collect()
    };
    let own = texts(alice("/v1/find?q=hello"));
    assert!(!own.is_empty() && own.iter().all(|thread| *thread == stage.waits), "{own:?}");
    assert_eq!(texts(alice(&format!("/v1/find?q=hello&thread={}", stage.rests))), [""; 0]);
    assert_eq!(texts(alice("/v1/find?q=hello&client=bob")), [""; 0]);
    assert!(texts(stage.asks(BOB, "GET", "/v1/find?q=hello", &[], "")).contains(&stage.rests));
    assert_eq!(alice("/v1/approvals").json["approvals"].as_array().unwrap().len(), 1, "it is her own");
    assert_eq!(stage.asks(BOB, "GET", "/v1/cost", &[], "").status, 200);
    stage.organism.interrupt();
}

#[test]
fn c14_every_route_shows_the_organism_as_it_was() {
    let stage = ReadStage::start();
    let at = stage.last();
    let moment = |asked: &str| {
        let sign = if asked.contains('?') { '&' } else { '?' };
        let answer = stage.gets(&format!("{asked}{sign}at={at}"));
        assert_eq!(answer.status, 200, "{asked}: {answer:?}");
        answer.body
    };
    let before: Vec<(String, String)> =
        stage.reads().into_iter().map(|(_, asked)| (moment(&asked), asked)).map(|(a, b)| (b, a)).collect();
    // What shows no passing of time is the same as what is shown without a position.
    for end in ["/records?limit=9", "/tree", "/todo", "/context", "/cost", "/trail"] {
        let asked = format!("/v1/threads/{}{end}", stage.asked);
        assert_eq!(moment(&asked), stage.gets(&asked).body, "{asked}");
    }
    let operator = stage.operator();
    let approved = stage.asks(&operator, "POST", "/v1/approvals/a1", &[], "{\"outcome\": \"approved\"}");
    assert_eq!(approved.status, 200, "{approved:?}");
    stage.sends(BOB, &say("hello again"), 200);
    stage.asks(&operator, "POST", &format!("/v1/threads/{}/cancel", stage.asked), &[], "");
    stage.until(|stage| stage.gets(&format!("/v1/threads/{}", stage.waits)).json["life"] == "resting");
    assert!(stage.last() > at);
    for (asked, was) in &before {
        assert_eq!(moment(asked), *was, "{asked}");
    }
    assert_ne!(stage.gets("/v1/approvals").body, moment("/v1/approvals"), "it was decided since");
    let early = stage.gets("/v1/threads?at=1");
    assert_eq!((early.status, &early.json["threads"]), (200, &json!([])), "{early:?}");
    stage.organism.interrupt();
}

#[test]
fn h5_a_stream_resumes_after_its_last_event_also_after_a_restart() {
    let stage = ReadStage::start();
    let last = stage.last();
    let mut first = Events::open(&run_file(stage.path()), "?from=0", &[]);
    let mut seen: Vec<u64> = (0..5).map(|_| first.next().unwrap().0).collect();
    drop(first);
    let folder = stage.folder;
    stage.organism.interrupt();
    let again = Running::organism_with(folder.path(), &TOKENS);
    let id = seen.last().unwrap().to_string();
    let mut events = Events::open(&run_file(folder.path()), "", &[("Last-Event-ID", &id)]);
    while seen.last().is_some_and(|position| *position < last) {
        seen.push(events.next().unwrap().0);
    }
    assert_eq!(seen, (1..=last).collect::<Vec<u64>>(), "each record once, in order");
    again.interrupt();
}
