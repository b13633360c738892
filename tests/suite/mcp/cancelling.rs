//! How a host of models cancels a call of the organism, in each revision.

use std::io::{Read as _, Write as _};

use serde_json::json;

use super::host::{ModelHost, STATELESS, error, guest, house, result, running};
use crate::program::{PATIENCE, connect, head, run_file, systole};

#[test]
fn g3_a_client_cancels_its_task() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path()).with_tasks();
    let task = result(&host.states("tools/call", &json!({"name": "ask", "arguments": {"text": "x"}})));
    let id = json!({"taskId": task["taskId"]});
    assert_eq!(result(&host.states("tasks/cancel", &id))["resultType"], "complete");
    assert_eq!(result(&host.states("tasks/get", &id))["status"], "cancelled");
    assert_eq!(
        result(&host.states("tasks/cancel", &id))["resultType"],
        "complete",
        "a second time changes nothing"
    );
    organism.interrupt();
}

/// Begins a call of `say`, which waits for the file `go`, or of `ask`, which waits for a person. Returns its connection,
/// which has answered so far with the head of a stream: then the call is on record.
fn begun(folder: &std::path::Path, tool: &str, session: &str, revision: &str) -> std::net::TcpStream {
    begun_in(folder, tool, session, revision, None)
}

/// The same in a thread of the host.
fn begun_in(
    folder: &std::path::Path,
    tool: &str,
    session: &str,
    revision: &str,
    thread: Option<&str>,
) -> std::net::TcpStream {
    let mut meta = json!({"progressToken": 1, "systole/key": session.trim_end_matches("-again")});
    if let Some(thread) = thread {
        meta["systole/thread"] = json!(thread);
    }
    let bearer = format!("Bearer {}", guest(folder));
    let mut params = json!({"name": tool, "arguments": {"text": "wait"}, "_meta": meta});
    let mut headers = vec![
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", session),
    ];
    if revision == STATELESS {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        headers.extend([
            ("Mcp-Protocol-Version", STATELESS),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ]);
    }
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).to_string();
    let mut stream = connect(&run_file(folder));
    stream.write_all(head("POST", "/mcp", &headers, &body.len().to_string()).as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut seen = String::new();
    let mut piece = [0; 512];
    let wanted = if tool == "ask" { "waits for a" } else { "\r\n\r\n" };
    while !seen.contains(wanted) {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    stream
}

#[test]
fn g3_a_call_is_cancelled_as_its_revision_says() {
    let folder = house();
    let organism = running(folder.path());
    let waiting = || systole(folder.path(), &["log", "--json"]).kinds();
    let until_cancelled = |count: usize| {
        let end = tokio::time::Instant::now() + PATIENCE;
        while waiting().iter().filter(|kind| *kind == "outcome/thread.cancelled").count() < count {
            assert!(tokio::time::Instant::now() < end, "it is not cancelled: {:?}", waiting());
        }
    };
    let host = ModelHost::guest(folder.path());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        .to_string();
    // In 2025-11-25 a closed stream means nothing, and a message of the same session cancels.
    let kept = begun(folder.path(), "say", "s1", "2025-11-25");
    let call =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "say"}}).to_string();
    let reused = host.raw("POST", &call, &[("Mcp-Session-Id", "s1")]);
    assert!(error(&reused).2.contains("still being answered"), "{reused:?}");
    assert_eq!(host.raw("POST", &cancel, &[("Mcp-Session-Id", "s2")]).status, 202);
    assert_eq!(host.raw("POST", &cancel, &[]).status, 202);
    drop(begun(folder.path(), "say", "s3", "2025-11-25"));
    assert!(!waiting().iter().any(|kind| kind.starts_with("terminal/")), "{:?}", waiting());
    assert_eq!(host.raw("POST", &cancel, &[("Mcp-Session-Id", "s1")]).status, 202);
    until_cancelled(1);
    drop(kept);
    // In 2026-07-28 a closed stream cancels, unless another connection has joined the call by its key.
    let mut joined = begun(folder.path(), "say", "s4-again", STATELESS);
    let first = begun(folder.path(), "say", "s4", STATELESS);
    drop(first);
    drop(begun(folder.path(), "say", "s5", STATELESS));
    until_cancelled(2);
    std::fs::write(folder.path().join("go"), "").unwrap();
    let mut answered = String::new();
    joined.read_to_string(&mut answered).unwrap();
    assert!(
        answered.contains("\"resultType\":\"complete\"") && !answered.contains("cancelled"),
        "{answered}"
    );
    assert!(!waiting().iter().any(|kind| kind.starts_with("terminal/")), "threads go on: {:?}", waiting());
    organism.interrupt();
}

#[test]
fn g3_a_host_that_gives_up_ends_nothing_while_a_person_decides() {
    let folder = house();
    let organism = running(folder.path());
    let host = ModelHost::guest(folder.path());
    let waits = begun(folder.path(), "ask", "s1", "2025-11-25");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(host.raw("POST", &cancel.to_string(), &[("Mcp-Session-Id", "s1")]).status, 202);
    drop(waits);
    drop(begun(folder.path(), "ask", "s2", STATELESS));
    // The person who reads meanwhile decides, and the host gets the answer by its key.
    let call = json!({"name": "ask", "arguments": {"text": "wait"}, "_meta": {"systole/key": "s1"}});
    std::fs::write(folder.path().join("go"), "").unwrap();
    for id in ["a1", "a2"] {
        assert_eq!(systole(folder.path(), &["approve", id]).code, Some(0));
    }
    assert_eq!(result(&host.asks("tools/call", &call))["structuredContent"], json!({"text": "wait"}));
    organism.interrupt();
}

#[test]
fn g3_a_host_that_asks_again_while_a_failed_call_is_tried_again_gets_the_new_answer() {
    let folder = house();
    let at = folder.path();
    let worker = std::fs::read_to_string(at.join("echo.py")).unwrap();
    let failing = worker.replace(
        "    reply = ET.Element(L + \"reply\", delivery=stamp.get(\"delivery\"))\n",
        "    reply = ET.Element(L + \"reply\", delivery=stamp.get(\"delivery\"))\n    \
         if os.path.exists(\"broken\"):\n        \
         ET.SubElement(reply, L + \"failure\", code=\"broken\").text = \"no luck\"\n        \
         print(ET.tostring(reply, encoding=\"unicode\"), flush=True)\n        \
         continue\n",
    );
    std::fs::write(at.join("echo.py"), failing).unwrap();
    for file in ["go", "broken"] {
        std::fs::write(at.join(file), "").unwrap();
    }
    let organism = running(at);
    let call = json!({"name": "say", "arguments": {"text": "wait"}, "_meta": {"systole/key": "k"}});
    let host = ModelHost::guest(at);
    let failed = result(&host.asks("tools/call", &call));
    assert!(failed["content"][0]["text"].as_str().unwrap().contains("no luck"), "{failed}");
    for file in ["go", "broken"] {
        std::fs::remove_file(at.join(file)).unwrap();
    }
    let meta = &failed["_meta"];
    let task = json!({"taskId": format!(
        "{}.1.{}",
        meta["systole/thread"].as_str().unwrap(),
        meta["systole/record"].as_str().unwrap()
    )});
    let of_tasks = ModelHost::guest(at).with_tasks();
    assert_eq!(result(&of_tasks.states("tasks/get", &task))["status"], "completed");
    assert_eq!(systole(at, &["retry", "@last", "--yes"]).code, Some(0));
    assert_eq!(result(&of_tasks.states("tasks/get", &task))["status"], "working", "it is tried again");
    let mut again = begun(at, "say", "k-again", "2025-11-25");
    std::fs::write(at.join("go"), "").unwrap();
    let mut answered = String::new();
    again.read_to_string(&mut answered).unwrap();
    assert!(answered.contains("\"isError\":false") && !answered.contains("no luck"), "{answered}");
    organism.interrupt();
}

#[test]
fn g3_a_queued_call_is_cancelled_while_a_person_decides_about_the_one_before() {
    let folder = house();
    let at = folder.path();
    let organism = running(at);
    let host = ModelHost::guest(at);
    let mut first = begun(at, "ask", "s1", "2025-11-25");
    let records = || systole(at, &["log", "--json"]).json_lines();
    let thread = records().iter().find(|record| record["code"] == "request").unwrap()["thread"].clone();
    let queued = begun_in(at, "say", "s2", "2025-11-25", thread.as_str());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(host.raw("POST", &cancel.to_string(), &[("Mcp-Session-Id", "s2")]).status, 202);
    let end = tokio::time::Instant::now() + PATIENCE;
    let cancelled = loop {
        let found = records().into_iter().find(|record| record["code"] == "thread.cancelled");
        if let Some(found) = found {
            break found;
        }
        assert!(tokio::time::Instant::now() < end, "{:?}", records());
    };
    assert_eq!((&cancelled["call"], &cancelled["kind"]), (&json!("2"), &json!("outcome")), "{cancelled}");
    drop(queued);
    std::fs::write(at.join("go"), "").unwrap();
    assert_eq!(systole(at, &["approve", "a1"]).code, Some(0));
    let mut answered = String::new();
    first.read_to_string(&mut answered).unwrap();
    assert!(answered.contains("\"isError\":false"), "{answered}");
    organism.interrupt();
}
