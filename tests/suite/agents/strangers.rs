//! Strangers at every door: they have a token of their own, and ids, names, cursors and requests of another client. Nothing of
//! that client shows, and what is its own is answered as what never was.

use std::collections::HashSet;
use std::path::Path;

use serde_json::{Value, json};
use systole_organism::runfile::RunFile;

use crate::mcp::doors_house::{SUITE, TOKENS, doors_house};
use crate::program::{Answer, Running, ask_as, run_file, systole};

/// What another client said, and got back.
const SECRET: &str = "The vault opens at nine.";

/// A method, a path and a body. ID stands for what is of another client, or never was; WHOLE for the hash of what waits there for
/// approval, HASH for how doors show it, and META for what a host of MCP says of itself.
type Knock = (&'static str, &'static str, &'static str);

/// The roles of strangers.
const ROLES: [&str; 3] = ["", "answer", "approve-own"];

const THREADS: [Knock; 33] = [
    ("GET", "/v1/threads/ID", ""),
    ("GET", "/v1/threads/ID/records", ""),
    ("POST", "/v1/threads/ID/cancel", ""),
    ("POST", "/v1/threads/ID/cancel?call=1", ""),
    ("POST", "/v1/threads/ID/end", ""),
    ("POST", "/v1/threads/ID/pause", ""),
    ("POST", "/v1/threads/ID/resume", ""),
    ("POST", "/v1/threads/ID/retry", ""),
    ("POST", "/v1/messages?thread=ID", "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hello</ask>"),
    ("GET", "/v1/events?thread=ID", ""),
    ("GET", "/v1/events?thread=ID&voice=true", ""),
    ("GET", "/t/ID", ""),
    ("GET", "/t/ID/1", ""),
    ("GET", "/t/ID/1/bytes", ""),
    ("GET", "/t/ID/1/files/1", ""),
    ("GET", "/t/ID/export", ""),
    ("GET", "/t/ID/time", ""),
    ("GET", "/t/ID/anew", ""),
    ("POST", "/t/ID/cancel", ""),
    ("POST", "/t/ID/steer", "text=hello"),
    ("GET", "/find?thread=ID", ""),
    ("GET", "/find?q=vault&thread=ID", ""),
    ("POST", "/ag-ui/plain", RUN),
    ("GET", "/ag-ui/plain/threads/ID", ""),
    ("POST", "/ag-ui/plain/threads/ID/stop", ""),
    (
        "POST",
        "/a2a/message:send",
        r#"{"message": {"messageId": "m", "contextId": "ID", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}"#,
    ),
    ("GET", "/a2a/tasks?contextId=ID", ""),
    (
        "POST",
        "/mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "systole://thread/ID"}}"#,
    ),
    (
        "POST",
        "/acp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": {"sessionId": "ID", "cwd": "/", "mcpServers": []}}"#,
    ),
    (
        "POST",
        "/acp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "session/resume", "params": {"sessionId": "ID", "cwd": "/", "mcpServers": []}}"#,
    ),
    (
        "POST",
        "/acp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"sessionId": "ID", "prompt": [{"type": "text", "text": "hi"}]}}"#,
    ),
    (
        "POST",
        "/acp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "session/close", "params": {"sessionId": "ID"}}"#,
    ),
    ("POST", "/acp", r#"{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "ID"}}"#),
];

const RUN: &str = r#"{"threadId": "ID", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "hi"}], "tools": [], "context": [], "state": {}, "forwardedProps": {}}"#;

const RESPONSES: [Knock; 5] = [
    ("GET", "/openai/v1/responses/ID", ""),
    ("GET", "/openai/v1/responses/ID?stream=true&starting_after=0", ""),
    ("GET", "/openai/v1/responses/ID/input_items", ""),
    ("POST", "/openai/v1/responses/ID/cancel", ""),
    ("POST", "/openai/v1/responses", r#"{"model": "plain", "input": "hi", "previous_response_id": "ID"}"#),
];

const TASKS: [Knock; 13] = [
    ("GET", "/a2a/tasks/ID", ""),
    ("POST", "/a2a/tasks/ID:cancel", ""),
    ("GET", "/a2a/tasks/ID:subscribe", ""),
    (
        "POST",
        "/a2a/message:send",
        r#"{"message": {"messageId": "m", "taskId": "ID", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}"#,
    ),
    ("POST", "/a2a", r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "ID"}}"#),
    ("POST", "/a2a", r#"{"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": {"id": "ID"}}"#),
    ("POST", "/a2a", r#"{"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": "ID"}}"#),
    (
        "POST",
        "/mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "ID", META}}"#,
    ),
    (
        "POST",
        "/mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"taskId": "ID", META}}"#,
    ),
    (
        "POST",
        "/mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {"to": "bob", "cents": 4}, "requestState": "ID", META}}"#,
    ),
    (
        "POST",
        "/mcp",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {"to": "bob", "cents": 4}, "requestState": "ID", "inputResponses": {"a1.HASH": {"action": "accept", "content": {"approved": true}}}, META}}"#,
    ),
    (
        "POST",
        "/a2a/message:send",
        r#"{"message": {"messageId": "m", "taskId": "ID", "role": "ROLE_USER", "parts": [{"data": {"request": "a1.HASH", "approved": true}}]}}"#,
    ),
    (
        "POST",
        "/openai/v1/responses",
        r#"{"model": "plain", "previous_response_id": "resp_ID", "input": [{"type": "mcp_approval_response", "approval_request_id": "a1.HASH", "approve": true}]}"#,
    ),
];

/// What waits for a person.
const REQUESTS: [Knock; 7] = [
    ("POST", "/v1/approvals/ID", r#"{"outcome": "approved"}"#),
    ("POST", "/v1/approvals/ID", r#"{"outcome": "rejected", "note": "no"}"#),
    ("GET", "/approvals/ID", ""),
    ("GET", "/approvals/ID/amend", ""),
    ("POST", "/approvals/ID", "outcome=approved&hash=WHOLE"),
    (
        "POST",
        "/ag-ui/plain",
        r#"{"threadId": "own", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {}, "resume": [{"interruptId": "ID.HASH", "status": "resolved", "payload": {"approved": true}}]}"#,
    ),
    (
        "POST",
        "/openai/v1/chat/completions",
        r#"{"model": "plain", "messages": [{"role": "user", "content": "/approve ID"}]}"#,
    ),
];

const META: &str = r#""_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}"#;

/// What the client has that is of no other client.
struct Owned {
    thread: String,
    response: String,
    task: String,
    /// The hash of what waits for approval.
    hash: String,
}

impl Owned {
    /// A text of a request for this id.
    fn fill(&self, text: &str, id: &str) -> String {
        let hashed = text.replace("META", META).replace("WHOLE", &self.hash);
        hashed.replace("HASH", &self.hash[..16]).replace("ID", id)
    }
}

fn knock(run: &RunFile, token: &str, (method, path, body): (&str, &str, &str)) -> Answer {
    let (bearer, begin) = (format!("Bearer {token}"), body.chars().next());
    let kind = match begin {
        Some('{') => "application/json",
        Some('<') => "application/xml",
        _ => "application/x-www-form-urlencoded",
    };
    let mut headers =
        vec![("Authorization", bearer.as_str()), ("Content-Type", kind), ("A2A-Version", "1.0")];
    if path == "/mcp" {
        headers.push(("Accept", "application/json, text/event-stream"));
    }
    let sent: Value = serde_json::from_str(body).unwrap_or_default();
    if let Some(rpc_method) = sent["method"].as_str().filter(|_| body.contains(META)) {
        let named = ["taskId", "name"].iter().find_map(|field| sent["params"][*field].as_str());
        headers.extend([("Mcp-Protocol-Version", "2026-07-28"), ("Mcp-Method", rpc_method)]);
        headers.push(("Mcp-Name", named.unwrap()));
    }
    ask_as(run, method, path, &headers, body)
}

/// The client says its secret at each door.
fn say_secrets(run: &RunFile) -> Owned {
    let post = |path: &'static str, body: &str| {
        let answer = knock(run, SUITE, ("POST", path, body));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json
    };
    let response = post("/openai/v1/responses", &json!({"model": "plain", "input": SECRET}).to_string());
    assert!(response.to_string().contains(SECRET), "{response}");
    let send = |id: &str, part: Value| {
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [part]});
        let now = json!({"returnImmediately": true});
        post("/a2a/message:send", &json!({"message": message, "configuration": now}).to_string())
    };
    post("/ag-ui/plain", &RUN.replace("ID", "tab").replace("hi", SECRET));
    let task = send("m1", json!({"data": {"pay": {"to": SECRET, "cents": 5}}}))["task"].clone();
    let waiting = knock(run, SUITE, ("GET", "/v1/approvals", "")).json["approvals"][0].clone();
    assert_eq!(waiting["id"], "a1");
    Owned {
        thread: task["contextId"].as_str().unwrap().to_owned(),
        response: response["id"].as_str().unwrap().to_owned(),
        task: task["id"].as_str().unwrap().to_owned(),
        hash: waiting["hash"].as_str().unwrap().to_owned(),
    }
}

/// The id with another digit at one place.
fn change_digit(id: &str, at: usize) -> String {
    let digit =
        id.chars().nth(at).and_then(|digit| digit.to_digit(16)).unwrap_or_else(|| panic!("{id}, {at}"));
    format!("{}{:x}{}", &id[..at], (digit + 1) % 16, &id[at + 1..])
}

/// Ids like this one that never were: another thread, and the same thread with something else at the end.
fn list_unknown(id: &str) -> [String; 2] {
    match id.find("sess-") {
        Some(at) => [change_digit(id, at + 6), change_digit(id, id.len() - 1)],
        None => ["a7".to_owned(), "a8".to_owned()],
    }
}

/// Strangers, each with a few requests to spend: who is refused often is only counted.
struct Strangers {
    tokens: Vec<String>,
    sent: usize,
}

impl Strangers {
    /// Writes so many clients into the file.
    fn join(folder: &Path, count: usize) -> Strangers {
        let file = folder.join("organism.yaml");
        let clients = (0..count).map(|number| {
            let roles = ROLES[number % ROLES.len()];
            format!("  stranger-{number}: {{token_env: STRANGER_{number}, roles: [{roles}]}}\n")
        });
        let yaml = std::fs::read_to_string(&file).unwrap() + &clients.collect::<String>();
        std::fs::write(&file, yaml).unwrap();
        let tokens = (0..count).map(|number| format!("stranger-{number:02}-token-0123456789"));
        Strangers { tokens: tokens.collect(), sent: 0 }
    }

    fn run(&self, folder: &Path) -> Running {
        let names: Vec<String> = (0..self.tokens.len()).map(|number| format!("STRANGER_{number}")).collect();
        let own = names.iter().zip(&self.tokens).map(|(name, token)| (name.as_str(), token.as_str()));
        Running::organism_with(folder, &TOKENS.into_iter().chain(own).collect::<Vec<_>>())
    }

    /// Each role sends a request with the id of another client, and with ids that never were. Returns what shows a difference.
    fn compare(
        &mut self,
        run: &RunFile,
        owned: &Owned,
        id: &str,
        (method, path, body): Knock,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        for _ in ROLES {
            let token = &self.tokens[self.sent / 3 % self.tokens.len()];
            let [first, second] = list_unknown(id);
            let answers = [id, &first, &second].map(|id| {
                let fill = |text: &str| owned.fill(text, id);
                let answer = knock(run, token, (method, &fill(path), &fill(body)));
                assert!(answer.status < 500, "{method} {path} {body}: {}", answer.body);
                (answer.status, answer.body.replace(id, "ID"))
            });
            self.sent += answers.len();
            if answers.iter().any(|(_, body)| body.contains(SECRET)) {
                wrong.push(format!("{method} {path} {body} shows it: {answers:?}"));
            }
            if HashSet::from(answers.clone()).len() > 1 {
                wrong.push(format!("{method} {path} {body} differs: {answers:#?}"));
            }
        }
        wrong
    }
}

#[test]
fn g14_what_is_of_another_client_is_answered_at_each_door_as_what_never_was() {
    let folder = doors_house();
    let mut strangers = Strangers::join(folder.path(), 33);
    let organism = strangers.run(folder.path());
    let run = run_file(folder.path());
    let owned = say_secrets(&run);
    let before = systole(folder.path(), &["log", &owned.thread]).stdout;
    let all = [
        (&THREADS[..], owned.thread.as_str()),
        (&RESPONSES, &owned.response),
        (&TASKS, &owned.task),
        (&REQUESTS, "a1"),
    ];
    let mut wrong = Vec::new();
    for (knocks, id) in all {
        for one in knocks {
            wrong.extend(strangers.compare(&run, &owned, id, *one));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(strangers.sent > 300, "{}", strangers.sent);
    assert_eq!(systole(folder.path(), &["log", &owned.thread]).stdout, before, "nothing was done to it");
    let waiting = knock(&run, SUITE, ("GET", "/v1/approvals", "")).json;
    assert_eq!(waiting["approvals"][0]["id"], "a1", "{waiting}");
    organism.interrupt();
}

#[test]
fn g14_a_name_or_a_cursor_of_another_client_is_one_of_their_own() {
    let folder = doors_house();
    let strangers = Strangers::join(folder.path(), 1);
    let organism = strangers.run(folder.path());
    let run = run_file(folder.path());
    let a2a = r#"{"message": {"messageId": "m", "contextId": "tab", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}"#;
    let conversation = r#"{"model": "plain", "input": "hi", "conversation": "conv_tab"}"#;
    let ask = r#"<ask xmlns="https://xml-pipeline.org/ns/talk/v1">hi</ask>"#;
    let run_here = &RUN.replace("ID", "tab");
    let all = [
        ("/v1/messages?thread=@tab&to=plain", ask),
        ("/ag-ui/plain", run_here),
        ("/openai/v1/responses", conversation),
        ("/a2a/message:send", a2a),
    ];
    let mut cursors = Vec::new();
    for (token, words) in [(SUITE, SECRET), (&strangers.tokens[0], "Good evening.")] {
        for (path, body) in all {
            let answer = knock(&run, token, ("POST", path, &body.replace("hi", words)));
            assert!([200, 202].contains(&answer.status), "{path}: {}", answer.body);
            assert!(token == SUITE || !answer.body.contains(SECRET), "{path}: {}", answer.body);
            let last = answer.body.lines().rfind(|line| line.starts_with("id: "));
            cursors.extend(last.map(|line| line["id: ".len()..].to_owned()));
        }
    }
    for path in
        ["/ag-ui/plain/threads/tab", "/openai/v1/conversations/conv_tab/items", "/a2a/tasks?contextId=tab"]
    {
        let body = knock(&run, &strangers.tokens[0], ("GET", path, "")).body;
        assert!(
            !body.contains(SECRET) && (body.contains("Good evening.") || path.starts_with("/ag-ui")),
            "{body}"
        );
    }
    let bearer = format!("Bearer {}", strangers.tokens[0]);
    let own = run_here.replace("hi", "Good evening.");
    let again = |cursor: &str| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Last-Event-ID", cursor),
            ("Content-Type", "application/json"),
        ];
        let answer = ask_as(&run, "POST", "/ag-ui/plain", &headers, &own);
        (answer.status, answer.body.replace(cursor, "CURSOR"))
    };
    let [foreign, known] = &cursors[..] else { panic!("{cursors:?}") };
    assert_eq!(again(known).0, 200);
    let (status, told) = again(foreign);
    assert_eq!(status, 400, "{told}");
    assert_eq!(again("2.90000.0.811c9dc5"), (status, told));
    organism.interrupt();
}

#[test]
fn g14_without_a_token_or_by_another_name_nothing_is_learned() {
    let folder = doors_house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let run = run_file(folder.path());
    let owned = say_secrets(&run);
    let get_task = r#"{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "RUN"}}"#;
    let load = r#"{"jsonrpc": "2.0", "id": 1, "method": "session/load", "params": {"sessionId": "THREAD", "cwd": "/", "mcpServers": []}}"#;
    let knocks = [
        ("GET", "/v1/threads/THREAD/records", ""),
        ("GET", "/t/THREAD/1", ""),
        ("GET", "/ag-ui/plain/threads/THREAD", ""),
        ("GET", "/openai/v1/responses/RESPONSE", ""),
        ("POST", "/a2a", get_task),
        ("GET", "/a2a/tasks/RUN", ""),
        ("GET", "/a2a/extendedAgentCard", ""),
        ("POST", "/mcp", r#"{"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {}}"#),
        ("POST", "/acp", load),
        ("POST", "/v1/approvals/a1", r#"{"outcome": "approved"}"#),
    ];
    let whole = format!("Bearer {SUITE}");
    let cut = &whole[..whole.len() - 1];
    let (upper, basic) = (whole.to_uppercase(), format!("Basic {SUITE}"));
    let twice = format!("{whole}, {whole}");
    let by_another_name = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80"]
        .map(|host| [("Host", host), ("Authorization", &whole)]);
    let by_a_page = ["https://evil.example", "null", "http://localhost.evil.example"]
        .map(|origin| [("Origin", origin), ("Authorization", &whole)]);
    let without =
        ["", "Bearer ", cut, &upper, &basic, &twice].map(|shown| [("Cookie", cut), ("Authorization", shown)]);
    let (mut sent, mut wrong) = (0, Vec::new());
    for (method, path, body) in knocks {
        // A program with a token comes to the first doors under any name: no page can have its token.
        let is_for_programs = ["/v1/", "/t/"].iter().any(|door| path.starts_with(door));
        let of_pages = by_another_name.iter().chain(&by_a_page).filter(|_| !is_for_programs);
        for strange in of_pages.chain(&without) {
            let fill = |text: &str| {
                text.replace("THREAD", &owned.thread)
                    .replace("RESPONSE", &owned.response)
                    .replace("RUN", &owned.task)
            };
            let headers = strange.iter().copied().chain([
                ("Content-Type", "application/json"),
                ("A2A-Version", "1.0"),
                ("Accept", "application/json, text/event-stream"),
            ]);
            let headers: Vec<_> = headers.filter(|(_, value)| !value.is_empty()).collect();
            let answer = ask_as(&run, method, &fill(path), &headers, &fill(body));
            if !(400..500).contains(&answer.status) || answer.body.contains(SECRET) {
                wrong.push(format!("{method} {path} {strange:?}: {} {}", answer.status, answer.body));
            }
            sent += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(sent, 102);
    let waiting = knock(&run, SUITE, ("GET", "/v1/approvals", "")).json;
    assert_eq!(waiting["approvals"][0]["id"], "a1", "{waiting}");
    organism.interrupt();
}
