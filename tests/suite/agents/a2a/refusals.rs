//! What another agent may not, or cannot: each is the protocol's own error, with what to do, and nothing is half done.

use std::io::Write as _;

use serde_json::{Value, json};

use super::super::chats::{WEB, house};
use super::super::house::KEY;
use super::agent::{Agent, BINDINGS, message, say, state};
use crate::mcp::doors_house::{DESK, SUITE, doors_house, run_doors};
use crate::program::{Running, answer as read_answer, ask_as, connect, head, run_file, systole};

#[test]
fn g14_bad_messages_are_errors_that_say_what_to_do() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    let with = |key: &str, value: Value| {
        let mut message = say("m1", "hello");
        message[key] = value;
        message
    };
    let part = |part: Value| message("m1", &part);
    let long = "a".repeat(59);
    let nested = |depth: usize| (0..depth).fold(json!(1), |inside, _| json!({"in": inside}));
    for (message, number, words) in [
        (with("messageId", json!("")), -32602, "messageId is missing"),
        (with("parts", json!([])), -32602, "no words"),
        (with("parts", json!([{"text": " "}])), -32602, "no words"),
        (with("parts", json!([{}])), -32602, "parts[0] has none of text, raw and data"),
        (with("role", json!("ROLE_AGENT")), -32602, "ROLE_USER"),
        (with("contextId", json!("a b")), -32602, "at most 58 visible"),
        (with("contextId", json!(long)), -32602, "at most 58 visible"),
        (with("contextId", json!("sess-0123456789ab")), -32602, "no such context"),
        (with("taskId", json!("nothing")), -32001, "no such task"),
        (
            with("taskId", json!("sess-0123456789ab.1.01a1f850-0000-7000-8000-000000000001")),
            -32001,
            "no such task",
        ),
        (part(json!({"url": "http://127.0.0.1/x"})), -32005, "not fetched"),
        (part(json!({"text": "a", "data": {"pay": {}}})), -32602, "parts[0] has several of text, raw"),
        (part(json!({"raw": "?"})), -32602, "not base64"),
        (part(json!({"data": nested(129)})), -32602, "parts[0].data is nested deeper than 128"),
        (part(json!({"raw": "AAAA"})), -32005, "plain takes no files"),
        (part(json!({"data": 7})), -32602, "one key, the name of a skill"),
        (part(json!({"data": {"pey": {}}})), -32602, "as {\"data\":{\"pay\":{\"cents\":1,\"to\":\"a\"}}}"),
        (part(json!({"data": {"pay": {"to": "bob"}}})), -32602, "cents is missing"),
    ] {
        let (found, told) = agent.fault("SendMessage", &json!({"message": message}));
        assert!(found == number && told.contains(words), "{message}: {found} {told}");
        let answer = agent.request("POST", "/a2a/message:send", &json!({"message": message}).to_string());
        let error = &answer.json["error"];
        assert_eq!(
            (json!(answer.status), error["message"].as_str()),
            (error["code"].clone(), Some(told.as_str()))
        );
        assert_eq!(error["details"][0]["domain"], "a2a-protocol.org", "{error}");
    }
    let configured =
        |configuration: Value| json!({"message": say("m1", "hello"), "configuration": configuration});
    let push = json!({"taskPushNotificationConfig": {"url": "http://127.0.0.1/x"}});
    for (params, number, words) in [
        (json!({}), -32602, "message is missing"),
        (configured(push), -32003, "SubscribeToTask"),
        (configured(json!({"acceptedOutputModes": ["image/png"]})), -32005, "text/plain"),
        (configured(json!({"historyLength": -1})), -32602, "historyLength"),
        (json!({"tenant": "x", "message": say("m1", "hello")}), -32602, "no tenants"),
    ] {
        let (found, told) = agent.fault("SendMessage", &params);
        assert!(found == number && told.contains(words), "{params}: {found} {told}");
    }
    let (run, bearer) = (run_file(folder.path()), format!("Bearer {SUITE}"));
    let headers = [("Authorization", bearer.as_str()), ("A2A-Version", "1.0")];
    let mut large = connect(&run);
    let announced = head("POST", "/a2a/message:send", &headers, &(9 << 20).to_string());
    large.write_all(announced.as_bytes()).unwrap();
    let refused = read_answer(large).body;
    assert!(refused.contains("larger than 8388608 bytes"), "{refused}");
    assert_eq!(agent.result("ListTasks", &json!({}))["totalSize"], 0, "nothing was begun");
    organism.interrupt();
}

#[test]
fn g14_bad_requests_are_errors_of_their_binding() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    for (method, params, number, words) in [
        ("GetTask", json!({}), -32602, "id, the task, is missing"),
        ("GetTask", json!({"id": 7}), -32602, "params of GetTask"),
        ("GetTask", json!({"id": "x", "historyLength": -1}), -32602, "historyLength"),
        ("CancelTask", json!({"id": "x"}), -32001, "no such task"),
        ("SubscribeToTask", json!({"id": "x"}), -32001, "no such task"),
        ("ListTasks", json!({"pageSize": 0}), -32602, "1 to 100"),
        ("ListTasks", json!({"pageSize": 101}), -32602, "1 to 100"),
        ("ListTasks", json!({"pageToken": "x"}), -32602, "nextPageToken"),
        ("ListTasks", json!({"status": "DONE"}), -32602, "TASK_STATE_WORKING"),
        ("ListTasks", json!({"statusTimestampAfter": "yesterday"}), -32602, "2026-01-31T09"),
        ("CreateTaskPushNotificationConfig", json!({"taskId": "x"}), -32003, "SubscribeToTask"),
        ("message/send", json!({}), -32601, "no method \"message/send\""),
    ] {
        let (found, told) = agent.fault(method, &params);
        assert!(found == number && told.contains(words), "{method} {params}: {found} {told}");
    }
    for (body, number) in [
        ("[]", -32600),
        ("{", -32700),
        (r#"{"jsonrpc": "2.0", "method": "GetTask"}"#, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#, -32600),
    ] {
        let answer = agent.request("POST", "/a2a", body);
        assert_eq!((answer.status, &answer.json["error"]["code"]), (200, &json!(number)), "{body}");
    }
    for (method, path, status, words) in [
        ("GET", "/a2a", 404, "JSON-RPC"),
        ("GET", "/a2a/nothing", 404, "message:send"),
        ("GET", "/a2a/message:send", 404, "message:stream"),
        ("DELETE", "/a2a/tasks/x", 404, "tasks/ID"),
        ("GET", "/a2a/tasks/x", 404, "no such task"),
        ("POST", "/a2a/tasks/x:cancel", 404, "no such task"),
        ("GET", "/a2a/tasks/x:subscribe", 404, "no such task"),
        ("POST", "/a2a/tasks/x:fly", 404, "tasks/ID:cancel"),
        ("POST", "/a2a/tasks/x/pushNotificationConfigs", 400, "SubscribeToTask"),
        ("GET", "/a2a/tasks?pageSize=x", 400, "whole number"),
        ("POST", "/a2a/message:send", 400, "no message"),
        ("GET", "/a2a/x/tasks", 404, "there are"),
    ] {
        let answer = agent.request(method, path, if method == "POST" { "{" } else { "" });
        let told = answer.json["error"]["message"].as_str().unwrap_or_else(|| panic!("{}", answer.body));
        assert!(answer.status == status && told.contains(words), "{method} {path}: {} {told}", answer.status);
    }
    let bearer = format!("Bearer {SUITE}");
    for version in ["", "0.3", "2.0", "1.05", "x"] {
        let headers = [("Authorization", bearer.as_str()), ("A2A-Version", version)];
        let answer = ask_as(&run_file(folder.path()), "GET", "/a2a/tasks", &headers, "");
        assert_eq!(answer.json["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED", "{}", answer.body);
    }
    for (path, version) in [("/a2a/tasks", "1.0.2"), ("/a2a/tasks?A2A-Version=1.0", "")] {
        let headers = [("Authorization", bearer.as_str()), ("A2A-Version", version)];
        let headers = if version.is_empty() { &headers[..1] } else { &headers[..] };
        assert_eq!(ask_as(&run_file(folder.path()), "GET", path, headers, "").status, 200, "{path}");
    }
    organism.interrupt();
}

#[test]
fn g14_a_task_of_another_client_is_one_that_never_was() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let (own, other) = (Agent::new(folder.path(), SUITE), Agent::new(folder.path(), DESK));
    let mut named = say("m1", "mine");
    named["contextId"] = json!("shared");
    let task = own.send(&named);
    let unknown = other.fault("GetTask", &json!({"id": "nothing"}));
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        assert_eq!(other.fault(method, &json!({"id": task["id"]})), unknown, "{method}");
    }
    let mut to = say("m2", "theirs");
    to["taskId"] = task["id"].clone();
    assert_eq!(other.fault("SendMessage", &json!({"message": to})), unknown);
    assert_eq!(other.result("ListTasks", &json!({"contextId": "shared"}))["totalSize"], 0);
    // The same name is another context of another client, and its thread is none at all.
    named["parts"] = json!([{"text": "theirs"}]);
    let theirs = other.send(&named);
    assert_ne!(theirs["id"], task["id"]);
    let thread = task["id"].as_str().unwrap().split('.').next().unwrap();
    let mut into = say("m3", "theirs");
    into["contextId"] = json!(thread);
    let (number, told) = other.fault("SendMessage", &json!({"message": into}));
    assert!(number == -32602 && told.contains("no such context"), "{told}");
    // By its id the thread is the context of the client that named it.
    into["messageId"] = json!("m4");
    assert_eq!(own.send(&into)["contextId"], "shared");
    assert_eq!(own.result("ListTasks", &json!({"contextId": "shared"}))["totalSize"], 2);
    organism.interrupt();
}

#[test]
fn g14_the_door_and_its_card_are_closed_unless_the_file_opens_them() {
    let closed = house(&[], "");
    let organism = closed.run();
    let run = run_file(closed.path());
    let card = ask_as(&run, "GET", "/.well-known/agent-card.json", &[], "");
    assert!(card.status == 404 && card.body.contains("doors: {a2a: true}"), "{}", card.body);
    let bearer = format!("Bearer {}", run.token.secret());
    let answer = ask_as(&run, "POST", "/a2a", &[("Authorization", &bearer)], "{}");
    assert!(answer.status == 404 && answer.body.contains("doors: {a2a: true}"), "{}", answer.body);
    organism.interrupt();
    let open =
        house(&["{say: One.}"], "doors: {a2a: true}\nclients: {web: {token_env: WEB_TOKEN, doors: [v1]}}");
    let organism = Running::organism_with(open.path(), &[("MODEL_KEY", KEY), ("WEB_TOKEN", WEB)]);
    let run = run_file(open.path());
    assert_eq!(ask_as(&run, "GET", "/.well-known/agent-card.json", &[], "").json["name"], "hello");
    let bearer = format!("Bearer {WEB}");
    assert_eq!(
        ask_as(&run, "POST", "/a2a", &[("Authorization", &bearer)], "{}").status,
        401,
        "its token counts elsewhere"
    );
    let operator = Agent::new(open.path(), run.token.secret());
    let bearer = format!("Bearer {}", run.token.secret());
    let page =
        [("Authorization", bearer.as_str()), ("Origin", "https://evil.example"), ("A2A-Version", "1.0")];
    assert_eq!(ask_as(&run, "GET", "/a2a/tasks", &page, "").status, 403);
    assert_eq!(state(&operator.send(&say("m1", "hello"))), "COMPLETED");
    organism.interrupt();
}

#[test]
fn g14_the_card_says_where_each_binding_is() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let run = run_file(folder.path());
    let card = ask_as(&run, "GET", "/.well-known/agent-card.json", &[], "").json;
    let url = format!("http://{}/a2a", run.address);
    for (interface, binding) in card["supportedInterfaces"].as_array().unwrap().iter().zip(BINDINGS) {
        assert_eq!(*interface, json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}));
    }
    let text = card.to_string();
    assert!(!text.contains("pay") && !text.contains("bank"), "a stranger learns of no listener: {text}");
    organism.interrupt();
    let file = folder.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    let public = yaml.replace("console: {", "console: {public: \"https://acme.example\", ");
    std::fs::write(&file, public).unwrap();
    let organism = run_doors(folder.path());
    let card = ask_as(&run_file(folder.path()), "GET", "/.well-known/agent-card.json", &[], "").json;
    assert_eq!(card["supportedInterfaces"][0]["url"], "https://acme.example/a2a");
    organism.interrupt();
}

#[test]
fn g14_a_client_that_may_not_address_the_entry_sends_an_element() {
    let folder = doors_house();
    let file = folder.path().join("organism.yaml");
    let yaml = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        yaml.replace("{token_env: GUEST_TOKEN}", "{token_env: GUEST_TOKEN, may: [booking]}"),
    )
    .unwrap();
    let organism = run_doors(folder.path());
    let guest = Agent::new(folder.path(), crate::mcp::doors_house::GUEST);
    let (number, told) = guest.fault("SendMessage", &json!({"message": say("m1", "hello")}));
    assert!(number == -32602 && told.contains("a part with data"), "{told}");
    let (_, told) =
        guest.fault("SendMessage", &json!({"message": message("m2", &json!({"data": {"pay": {}}}))}));
    assert!(told.contains("no skill is called \"pay\""), "{told}");
    let asked = guest.send_only(&message("m3", &json!({"data": {"book": {"name": "Ada"}}})));
    assert!(["WORKING", "AUTH_REQUIRED"].contains(&state(&asked)), "{asked}");
    let skills = guest.result("GetExtendedAgentCard", &json!({}))["skills"].clone();
    assert!(skills.as_array().unwrap().iter().all(|skill| skill["tags"] == json!(["booking"])), "{skills}");
    guest.judge();
    assert_eq!(systole(folder.path(), &["ps"]).stdout.matches("sess-").count(), 1);
    organism.interrupt();
}
