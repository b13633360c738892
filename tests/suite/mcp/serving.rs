//! The organism as an MCP server over HTTP: its tools, its calls and its tasks, and what it refuses.

use rmcp::model::{
    CallToolResult, CreateTaskResult, DiscoverResult, GetTaskResult, InitializeResult, ListToolsResult,
};
use serde_json::json;

use super::host::{
    ALICE, BOB, ModelHost, STATELESS, TOKENS, error, guest, house, is_read_as, messages, result, running,
};
use crate::log_records::read_all;
use crate::program::{PATIENCE, Running, ask_as, run_file, systole};

#[test]
fn g3_the_tools_are_the_elements_that_a_client_may_send() {
    let folder = house();
    let organism = running(folder.path());
    let names = |token: &str| -> Vec<String> {
        let listed = result(&ModelHost::new(folder.path(), token).asks("tools/list", &json!({})));
        listed["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&guest(folder.path())), ["say", "ask"], "what is closed is no tool");
    assert_eq!(names(ALICE), ["say"], "what alice may not address is no tool for her");
    let listed = result(&ModelHost::guest(folder.path()).states("tools/list", &json!({})));
    is_read_as::<ListToolsResult>(&listed);
    let [say, ask] = [&listed["tools"][0], &listed["tools"][1]];
    for (element, schema) in [("say", &say["inputSchema"]), ("said", &say["outputSchema"])] {
        let drawn = systole(
            folder.path(),
            &["schema", "json", &format!("{{https://xml-pipeline.org/ns/echo/v1}}{element}")],
        );
        assert_eq!(*schema, serde_json::from_str::<serde_json::Value>(&drawn.stdout).unwrap());
    }
    assert_eq!(say["description"], "Goes to echo.");
    assert_eq!(ask["description"], "Goes to guarded. A person approves each call before it runs.");
    assert_eq!((&listed["resultType"], &listed["cacheScope"]), (&json!("complete"), &json!("private")));
    organism.interrupt();
}

#[test]
fn g12_hosts_of_every_revision_since_2024_11_05_are_answered() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path());
    // Each older revision is answered in its own, and an unknown one in the newest that has a handshake.
    let begins = |version: &str| result(&host.asks("initialize", &json!({"protocolVersion": version})));
    for version in ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] {
        assert_eq!(begins(version)["protocolVersion"], version);
        let older = ModelHost::guest(folder.path()).header("MCP-Protocol-Version", version);
        assert!(result(&older.asks("tools/list", &json!({})))["tools"].is_array(), "{version}");
    }
    let began = begins("2099-01-01");
    assert_eq!(began["protocolVersion"], "2025-11-25");
    let found = result(&host.states("server/discover", &json!({})));
    is_read_as::<DiscoverResult>(&found);
    is_read_as::<InitializeResult>(&began);
    assert_eq!(
        found["supportedVersions"],
        json!([STATELESS, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
    );
    assert!(found["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    organism.interrupt();
}

#[test]
fn g3_a_call_in_either_revision_is_a_message_of_the_client() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path());
    let call = json!({"name": "say", "arguments": {"text": "a < b"}});
    let old = host.asks("tools/call", &call);
    let new = host.states("tools/call", &call);
    for (answer, kind) in [(&old, json!(null)), (&new, json!("complete"))] {
        let told = result(answer);
        assert_eq!((&told["isError"], &told["resultType"]), (&json!(false), &kind), "{told}");
        assert_eq!(told["structuredContent"], json!({"text": "a < b"}));
        assert!(told["content"][0]["text"].as_str().unwrap().contains("a &lt; b"), "{told}");
        assert!(told["_meta"]["systole/record"].is_string());
    }
    let whole = host.header("Accept", "application/json").asks("tools/call", &call);
    assert_eq!(
        whole.json["result"]["structuredContent"],
        json!({"text": "a < b"}),
        "without a stream it is one answer"
    );
    let stored = read_all(&folder.path().join("hello.db"));
    let asked: Vec<_> = stored.iter().filter(|one| one.header.from.as_str() == "mcp").collect();
    assert_eq!(asked.len(), 3, "the sender is the client of the token");
    organism.interrupt();
}

#[test]
fn g3_a_key_joins_calls_and_a_thread_goes_on() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path());
    let call = |text: &str, meta| json!({"name": "say", "arguments": {"text": text}, "_meta": meta});
    let first = result(&host.asks("tools/call", &call("one", json!({"systole/key": "k1"}))));
    let again = result(&host.states("tools/call", &call("one", json!({"systole/key": "k1"}))));
    let thread = &first["_meta"]["systole/thread"];
    assert_eq!((&again["_meta"], &again["content"]), (&first["_meta"], &first["content"]));
    let other = result(&host.asks("tools/call", &call("two", json!({"systole/key": "k1"}))));
    assert_eq!(other["isError"], true);
    assert!(other["content"][0]["text"].as_str().unwrap().contains("payload.id-conflict"), "{other}");

    let meta = json!({"systole/thread": thread});
    let next = result(&host.asks("tools/call", &call("three", meta.clone())));
    assert_eq!((&next["_meta"]["systole/thread"], &next["isError"]), (thread, &json!(false)));
    // The thread of another client is one that never was.
    let strange = result(&ModelHost::new(folder.path(), BOB).asks("tools/call", &call("four", meta)));
    assert!(strange["content"][0]["text"].as_str().unwrap().contains("there is no such thread"), "{strange}");
    for meta in [
        json!({"systole/key": 7}),
        json!({"systole/key": ""}),
        json!({"systole/kye": "k1"}),
        json!({"systole/thread": {}}),
        json!({"progressToken": 1.5}),
    ] {
        assert_eq!(error(&host.asks("tools/call", &call("x", meta))).1, -32602);
    }
    organism.interrupt();
}

#[test]
fn g3_arguments_that_do_not_fit_are_refused_with_all_that_a_model_needs() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path());
    let told = result(&host.asks("tools/call", &json!({"name": "say", "arguments": {"txt": "hi"}})));
    assert_eq!(told["isError"], true);
    let words = told["content"][0]["text"].as_str().unwrap();
    for wanted in
        ["payload.invalid", "path=\"/say/txt\"", "did you mean text", "text is missing", "<try>write text"]
    {
        assert!(words.contains(wanted), "wanted {wanted}: {words}");
    }
    let log = systole(folder.path(), &["log", "--json"]);
    assert!(log.kinds().contains(&"refusal/payload.invalid".to_owned()), "a refusal is a record: {log:?}");
    for arguments in [json!("text"), json!([1]), json!({"text": {"a": 1}}), json!({"text": "a\u{1}b"})] {
        let told = result(&host.asks("tools/call", &json!({"name": "say", "arguments": arguments})));
        assert_eq!(told["isError"], true, "{arguments}");
    }
    let (_, code, words) = error(&host.asks("tools/call", &json!({"name": "sey"})));
    assert!(code == -32602 && words.contains("did you mean say?"), "{words}");
    let (_, _, words) = error(&host.asks("tools/call", &json!({"name": "peek"})));
    assert!(words.contains("there are say, ask"), "a closed listener is not named: {words}");
    assert!(error(&host.asks("tools/call", &json!({}))).2.contains("params.name"));
    organism.interrupt();
}

#[test]
fn g3_a_held_call_becomes_a_task_that_only_its_client_sees_and_a_person_approves() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path()).with_tasks();
    let call = json!({"name": "ask", "arguments": {"text": "go"}, "_meta": {"progressToken": "p1"}});
    let answer = host.states("tools/call", &call);
    let seen = messages(&answer);
    assert_eq!(seen[0]["method"], "notifications/progress");
    assert_eq!(seen[0]["params"]["progressToken"], "p1");
    assert!(seen[0]["params"]["message"].as_str().unwrap().contains("waits for a1"), "{seen:?}");
    let task = result(&answer);
    is_read_as::<CreateTaskResult>(&task);
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    let id = task["taskId"].as_str().unwrap();
    let task = host.task(id);
    is_read_as::<GetTaskResult>(&task);
    assert!(task["statusMessage"].as_str().unwrap().contains("waits for a1"));

    let bare = ModelHost::guest(folder.path()).states("tasks/get", &json!({"taskId": id}));
    assert_eq!(error(&bare).1, -32021, "a client that does not name the extension knows no tasks");
    let bob = ModelHost::new(folder.path(), BOB).with_tasks();
    let other = id.replace(".1.", ".2.");
    let told = [(&bob, id), (&bob, "x"), (&host, other.as_str())].map(|(host, id)| {
        ["tasks/get", "tasks/cancel", "tasks/update"]
            .map(|method| error(&host.states(method, &json!({"taskId": id}))))
    });
    assert!(told.iter().flatten().all(|told| told.2 == "there is no such task"), "{told:?}");

    // The host cannot decide: it has no such tool, no input to give, and no role.
    let given = host.states("tasks/update", &json!({"taskId": id, "inputResponses": {"a1": {}}}));
    assert!(error(&given).2.contains("none of these answers names a form"), "{given:?}");
    let bearer = format!("Bearer {}", guest(folder.path()));
    let path = "/v1/approvals/a1";
    let forbidden = ask_as(
        &run_file(folder.path()),
        "POST",
        path,
        &[("Authorization", &bearer)],
        r#"{"outcome": "approved"}"#,
    );
    assert_eq!((forbidden.status, &forbidden.json["code"]), (403, &json!("ingress.forbidden")));
    assert_eq!(host.task(id)["status"], "working");

    assert_eq!(systole(folder.path(), &["approve", "a1"]).code, Some(0));
    let done = host.task_when(id, "completed");
    is_read_as::<GetTaskResult>(&done);
    is_read_as::<CallToolResult>(&done["result"]);
    assert_eq!(done["result"]["structuredContent"], json!({"text": "go"}), "{done}");
    organism.interrupt();
}

#[test]
fn g3_a_call_without_tasks_waits_until_a_person_decides() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path());
    let call = json!({"name": "ask", "arguments": {"text": "go"}, "_meta": {"progressToken": 1}});
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| host.asks("tools/call", &call));
        let end = tokio::time::Instant::now() + PATIENCE;
        while systole(folder.path(), &["reject", "a1", "--note", "not today"]).code != Some(0) {
            assert!(tokio::time::Instant::now() < end, "no approval waits");
        }
        let told = result(&waits.join().unwrap());
        assert_eq!(told["isError"], true);
        assert!(told["content"][0]["text"].as_str().unwrap().contains("not today"), "{told}");
    });
    organism.interrupt();
}

#[test]
fn g3_a_task_outlives_a_killed_organism() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path()).with_tasks();
    let task = result(&host.states("tools/call", &json!({"name": "say", "arguments": {"text": "wait"}})));
    let id = task["taskId"].as_str().unwrap();
    organism.signal(rustix::process::Signal::KILL);
    organism.end();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path()).with_tasks();
    assert_eq!(host.task(id)["createdAt"], task["createdAt"]);
    std::fs::write(folder.path().join("go"), "").unwrap();
    let done = host.task_when(id, "completed");
    // Whether the attempt that was killed did its work is not known; this listener is not tried again.
    assert!(done["result"]["isError"].is_boolean(), "{done}");
    organism.interrupt();
}

#[test]
fn g3_requests_from_elsewhere_and_messages_of_no_form_are_refused() {
    let folder = house();
    let organism = running(folder.path());
    let host = || ModelHost::guest(folder.path());
    for (name, value, status) in [
        ("Authorization", "Bearer nobody", 401),
        ("Authorization", "", 401),
        ("Origin", "http://evil.example", 403),
        ("Origin", "null", 403),
        ("Accept", "", 406),
        ("Accept", "text/html", 406),
        ("Content-Type", "text/plain", 415),
        ("MCP-Protocol-Version", "2024-10-07", 400),
    ] {
        let refused = host().header(name, value).asks("ping", &json!({}));
        assert_eq!(refused.status, status, "{name}: {value}: {refused:?}");
    }
    assert_eq!(host().header("Origin", "http://localhost:6274").asks("ping", &json!({})).status, 200);
    let get = host().raw("GET", "", &[]);
    assert_eq!((get.status, get.header("allow")), (405, Some("POST")));
    assert_eq!(host().raw("DELETE", "", &[]).status, 405);
    assert_eq!(host().announces(2 << 20).status, 413);
    for (body, status, code) in [
        ("", 400, -32700),
        ("{", 400, -32700),
        ("[]", 400, -32600),
        ("{\"jsonrpc\": \"1.0\", \"id\": 1, \"method\": \"ping\"}", 400, -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"params\": 7}", 400, -32602),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"completion/complete\"}", 200, -32601),
    ] {
        let (found, told, words) = error(&host().raw("POST", body, &[]));
        assert_eq!((found, told), (status, code), "{body}: {words}");
    }
    for gone in ["tasks/result", "initialize", "ping"] {
        let (status, code, words) = error(&host().states(gone, &json!({})));
        assert_eq!((status, code), (404, -32601), "{gone}: {words}");
    }
    let unknown = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}});
    let with_header = host().header("MCP-Protocol-Version", STATELESS).asks("tools/list", &unknown);
    assert_eq!(error(&with_header).1, -32020, "a wrong header is reported before an unknown revision");
    assert_eq!(error(&host().asks("tools/list", &unknown)).1, -32022);
    assert_eq!(
        error(&host().header("Mcp-Name", "ask").states("tools/call", &json!({"name": "say"}))).1,
        -32020
    );
    assert_eq!(error(&host().asks("tools/list", &json!({"cursor": "2"}))).1, -32602);
    organism.interrupt();
}

#[test]
fn g3_a_file_that_uses_the_name_mcp_lets_no_other_client_of_that_name_in() {
    let folder = house();
    let file = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    std::fs::write(
        folder.path().join("organism.yaml"),
        file.replace("  bob: {", "  mcp: {roles: [approve], "),
    )
    .unwrap();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    assert!(run_file(folder.path()).guests.mcp.is_none());
    let refused = systole(folder.path(), &["mcp"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("--client NAME"), "{refused:?}");
    organism.interrupt();
}
