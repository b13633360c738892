//! Tasks by the stock libraries: asked, answered, decided, listed and cancelled, over both bindings; and what a task is
//! after a restart.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::agent::{Agent, BINDINGS, LIBRARIES, answer, message, request, say, say_to, state};
use crate::file_senders::{DRAWN, make_copies_with, to_hex};
use crate::mcp::doors_house::{SUITE, doors_house, run_doors};
use crate::program::{Running, systole};

fn text(id: &str, text: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]})
}

/// The steps of one library over one binding. Its messages have ids of their own.
fn write_steps(mark: &str) -> Value {
    let id = |n: u64| format!("{mark}-{n}");
    let data =
        |n: u64, data: Value| json!({"messageId": id(n), "role": "ROLE_USER", "parts": [{"data": data}]});
    let with = |mut message: Value, key: &str, value: &str| {
        message[key] = json!(value);
        message
    };
    json!([
        {"card": true},
        {"extended": true},
        {"send": with(text(&id(1), "hello"), "contextId", mark)},
        {"stream": with(text(&id(2), "hello again"), "contextId", mark)},
        {"list": {"contextId": mark, "includeArtifacts": true}},
        {"send": data(3, json!({"book": {"name": "Ada"}}))},
        {"send": with(text(&id(4), "door"), "taskId", "$TASK")},
        {"send": data(5, json!({"pay": {"to": "bob", "cents": 5}}))},
        {"send": with(data(6, json!({"request": "$REQUEST", "approved": true})), "taskId", "$TASK")},
        {"get": "$TASK"},
        {"send": data(7, json!({"pay": {"to": "eve", "cents": 6}}))},
        {"cancel": "$TASK"},
        {"cancel": "$TASK"},
        {"subscribe": "$TASK"},
        {"get": "nothing"},
    ])
}

fn judge_steps(said: &[Value], mark: &str) {
    let [
        card,
        extended,
        first,
        second,
        listed,
        asked,
        door,
        waits,
        paid,
        read,
        eve,
        cancelled,
        again,
        over,
        unknown,
    ] = said
    else {
        panic!("{said:?}")
    };
    assert_eq!(card["skills"].as_array().map(Vec::len), Some(1), "{card}");
    assert_eq!(card["supportedInterfaces"].as_array().map(Vec::len), Some(2), "{card}");
    let skills = extended["skills"].as_array().unwrap_or_else(|| panic!("{extended}"));
    assert!(skills.iter().any(|skill| skill["id"] == "pay"), "{extended}");
    assert_eq!((state(&first["task"]), answer(&first["task"])), ("COMPLETED", &json!({"text": "hello"})));
    assert_eq!(first["task"]["contextId"], mark);
    let updates = second.as_array().unwrap_or_else(|| panic!("{second}"));
    assert!(updates[0].get("task").is_some(), "{second}");
    assert_eq!(super::agent::join_answer(updates), "hello again");
    // What is over already when it begins to be followed comes as the task alone.
    let last = updates.last().unwrap();
    assert!(["statusUpdate", "task"].iter().any(|kind| state(&last[kind]) == "COMPLETED"), "{second}");
    let tasks = listed["tasks"].as_array().unwrap();
    let answers: Vec<&Value> = tasks.iter().map(answer).collect();
    assert_eq!(answers, [&json!({"text": "hello again"}), &json!({"text": "hello"})], "{listed}");
    assert_eq!(
        (state(&asked["task"]), state(&door["task"])),
        ("INPUT_REQUIRED", "COMPLETED"),
        "{asked} {door}"
    );
    assert_eq!(answer(&door["task"])["text"], "chosen: door");
    assert_eq!(
        (state(&waits["task"]), state(&paid["task"])),
        ("AUTH_REQUIRED", "COMPLETED"),
        "{waits} {paid}"
    );
    assert_eq!((answer(read), &read["id"]), (answer(&paid["task"]), &waits["task"]["id"]), "{read}");
    assert_eq!((state(&eve["task"]), state(cancelled)), ("AUTH_REQUIRED", "CANCELED"), "{cancelled}");
    for (fault, kind) in [
        (again, "TaskNotCancelableError"),
        (over, "UnsupportedOperationError"),
        (unknown, "TaskNotFoundError"),
    ] {
        let told = fault["error"]["kind"].as_str().unwrap_or_else(|| panic!("{fault}"));
        assert_eq!(told, kind, "{fault}");
    }
}

#[test]
fn g14_the_stock_libraries_ask_answer_approve_list_and_cancel_over_both_bindings() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    for library in LIBRARIES {
        for binding in BINDINGS {
            let mark = format!("{library:?}-{}", &binding[..4]);
            let said = library.run(folder.path(), (SUITE, binding), &write_steps(&mark));
            judge_steps(&said.expect("no step ends it"), &mark);
        }
    }
    organism.interrupt();
}

#[test]
fn g14_a_task_outlives_its_agent_and_a_killed_organism() {
    let folder = doors_house();
    for library in LIBRARIES {
        let organism = run_doors(folder.path());
        let mark = format!("{library:?}");
        let pay = json!({
            "messageId": mark, "contextId": mark, "role": "ROLE_USER",
            "parts": [{"data": {"pay": {"to": "bob", "cents": 5}}}],
        });
        let left = library.run(
            folder.path(),
            (SUITE, "JSONRPC"),
            &json!([{"stream": pay, "leave": 2, "then": "exit"}]),
        );
        assert!(left.is_none(), "{left:?}");
        drop(organism);
        let organism = run_doors(folder.path());
        let approve = json!({
            "messageId": format!("{mark}-2"), "taskId": "$TASK", "role": "ROLE_USER",
            "parts": [{"data": {"request": "$REQUEST", "approved": true}}],
        });
        // The same message again is no second one.
        let said = library.run(
            folder.path(),
            (SUITE, "JSONRPC"),
            &json!([
                {"send": pay},
                {"subscribe": "$TASK", "leave": 1},
                {"send": approve},
                {"send": approve},
                {"list": {"contextId": mark}},
            ]),
        );
        let said = said.expect("no step ends it");
        assert_eq!(state(&said[0]["task"]), "AUTH_REQUIRED", "{said:?}");
        assert_eq!(said[1][0]["task"]["id"], said[0]["task"]["id"], "{said:?}");
        assert_eq!((state(&said[2]["task"]), &said[2]), ("COMPLETED", &said[3]), "{said:?}");
        assert_eq!(said[4]["tasks"].as_array().map(Vec::len), Some(1), "{said:?}");
        organism.interrupt();
    }
}

#[test]
fn g14_tasks_are_listed_a_page_at_a_time_by_their_status() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    for n in 0..3 {
        agent.send(&say(&format!("m{n}"), &format!("number {n}")));
    }
    let waits =
        agent.send(&super::agent::message("pay", &json!({"data": {"pay": {"to": "bob", "cents": 5}}})));
    let list = |params: &Value| agent.result("ListTasks", params);
    let all = list(&json!({"includeArtifacts": true}));
    let asked = |task: &Value| task["history"][0]["parts"][0].clone();
    let texts: Vec<Value> = all["tasks"].as_array().unwrap().iter().map(asked).collect();
    let pay = json!({"data": {"pay": {"to": "bob", "cents": 5}}});
    assert_eq!(
        texts,
        [pay, json!({"text": "number 2"}), json!({"text": "number 1"}), json!({"text": "number 0"})]
    );
    assert_eq!((&all["totalSize"], &all["nextPageToken"]), (&json!(4), &json!("")));
    let mut pages = Vec::new();
    let mut token = json!("");
    loop {
        let page = list(&json!({"pageSize": 3, "pageToken": token, "includeArtifacts": true}));
        pages.extend(page["tasks"].as_array().unwrap().clone());
        token = page["nextPageToken"].clone();
        if token == "" {
            break;
        }
    }
    assert_eq!(json!(pages), all["tasks"]);
    // A decision gives a task the newest status.
    let approve = json!({"data": {"request": request(&waits), "approved": false, "note": "too much"}});
    let rejected = agent.send(&say_to("no", &waits, &approve));
    assert_eq!(state(&rejected), "REJECTED", "{rejected}");
    let only = list(&json!({"status": "TASK_STATE_COMPLETED", "historyLength": 0}));
    assert_eq!(
        (only["tasks"].as_array().map(Vec::len), &only["tasks"][0]["history"]),
        (Some(3), &Value::Null)
    );
    assert_eq!(only["tasks"][0]["artifacts"], Value::Null, "{only}");
    let since = list(&json!({"statusTimestampAfter": rejected["status"]["timestamp"]}));
    assert_eq!(since["tasks"][0]["id"], waits["id"], "{since}");
    let far = list(&json!({"statusTimestampAfter": "2999-01-01T00:00:00Z"}));
    assert_eq!(far["totalSize"], 0, "{far}");
    let context = list(&json!({"contextId": waits["contextId"]}));
    assert_eq!(context["totalSize"], 1, "{context}");
    agent.judge();
    let own = systole(folder.path(), &["ps"]).stdout.matches("sess-").count();
    assert!(own >= 4, "each message without a context has a thread of its own");
    organism.interrupt();
}

#[test]
fn g14_a_message_is_the_same_in_any_order_of_its_keys() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    let send = |parts: &str| {
        let body = format!(r#"{{"message": {{"messageId": "m1", "role": "ROLE_USER", "parts": {parts}}}}}"#);
        let answer = agent.request("POST", "/a2a/message:send", &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json["task"]["id"].clone()
    };
    for [one, other, third] in [
        [
            r#"[{"data": {"pay": {"to": "bob", "cents": 5}}}]"#,
            r#"[{"data": {"pay": {"cents": 5, "to": "bob"}}}]"#,
            r#"[{"data": {"pay": {"cents": 6, "to": "bob"}}}]"#,
        ],
        [
            r#"[{"text": "sum"}, {"data": {"a": 1, "b": 2}}]"#,
            r#"[{"text": "sum"}, {"data": {"b": 2, "a": 1}}]"#,
            r#"[{"text": "sum"}, {"data": {"b": 2, "a": 3}}]"#,
        ],
    ] {
        let first = send(one);
        assert_eq!(send(other), first, "{other}");
        assert_ne!(send(third), first, "{third}");
    }
    organism.interrupt();
}

#[test]
fn g14_the_files_of_an_answer_come_with_their_bytes() {
    let folder = make_copies_with("doors: {a2a: true}\n");
    let organism = Running::organism_with(
        folder.path(),
        &[("ALICE", "a-token-of-alice"), ("BOB", "a-token-of-bob-too")],
    );
    let agent = Agent::new(folder.path(), "a-token-of-alice");
    let keep = |id: &str| {
        let note = format!("put {}", to_hex(DRAWN));
        message(id, &json!({"data": {"keep": {"note": note}}}))
    };
    let done = agent.send(&keep("m1"));
    assert_eq!(state(&done), "COMPLETED", "{done}");
    let parts = done["artifacts"][0]["parts"].as_array().unwrap();
    let [data, file] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(
        (&file["raw"], &file["mediaType"]),
        (&json!(BASE64_STANDARD.encode(DRAWN)), &json!("application/pdf"))
    );
    assert_eq!(file["filename"], "drawn.pdf");
    assert_eq!(file["metadata"]["sha256"], data["data"]["picture"]["sha256"], "{data}");
    assert_eq!(agent.get(&done), done, "and each time");
    let streamed: Vec<Value> =
        agent.stream("SendStreamingMessage", &json!({"message": keep("m2")})).collect();
    // What is over before it is followed comes as the task alone.
    let sent = streamed.iter().find_map(|update| update.get("artifactUpdate")).map(|sent| &sent["artifact"]);
    assert_eq!(sent.unwrap_or(&streamed[0]["task"]["artifacts"][0])["parts"], json!(parts));
    let listed = agent.result("ListTasks", &json!({"includeArtifacts": true}));
    assert_eq!(listed["tasks"][0]["artifacts"][0]["parts"], json!([data]), "a list has references alone");
    agent.judge();
    organism.interrupt();
}

#[test]
fn g14_data_beside_a_text_comes_as_it_was_sent() {
    let folder = doors_house();
    let organism = run_doors(folder.path());
    let agent = Agent::new(folder.path(), SUITE);
    let send = |data: &str| {
        let message = format!(
            r#"{{"messageId": "m1", "role": "ROLE_USER", "parts": [{{"text": "Look:"}}, {{"data": {data}}}]}}"#
        );
        agent.request("POST", "/a2a/message:send", &format!(r#"{{"message": {message}}}"#))
    };
    let text = |data: &str| {
        let answered = send(data);
        assert_eq!(answered.status, 200, "{}", answered.body);
        (answer(&answered.json["task"])["text"].clone(), answered.json["task"]["id"].clone())
    };
    // Numbers that no double has are not rounded, and are other messages.
    let [one, other] = ["1234567890123456789012", "1234567890123456789013"].map(|number| {
        let (said, id) = text(&format!(r#"{{"n": {number}, "a": [1e999, "\u0041"]}}"#));
        assert_eq!(said, json!(format!("Look:\n\n```json\n{{\"a\":[1e999,\"A\"],\"n\":{number}}}\n```")));
        id
    });
    assert_ne!(one, other);
    let again = text(r#"{"a": [1e999, "A"], "n": 1234567890123456789012}"#);
    assert_eq!(again.1, one, "the same in another order");
    let refused = send(r#"{"n": "\ud800"}"#);
    let told = refused.json["error"]["message"].as_str().unwrap();
    assert!(refused.status == 400 && told.contains("parts[1].data cannot be read"), "{told}");
    organism.interrupt();
}
