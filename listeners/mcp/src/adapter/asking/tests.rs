//! Calls that wait for a person at a server that runs on: which of them are given up, and when.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::json;
use systole_kit::DocumentLimits;
use systole_kit::envelope::EnvelopeStamp;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;

use super::*;
use crate::client::{McpConnection, Revision, ToolCallEnd};
use crate::limits;

/// What a server heard, in its order.
type Heard = RefCell<Vec<Value>>;

/// A server that asks a person in every call, and ends a call by itself only if `ends` says so.
async fn server(stream: DuplexStream, heard: &Heard, ends: bool) {
    let (input, mut output) = tokio::io::split(stream);
    let mut lines = BufReader::new(input).lines();
    let mut call = Value::Null;
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let said = match message["method"].as_str() {
            Some("initialize") => json!({"id": message["id"], "result": {"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}}, "serverInfo": {"name": "asker", "version": "1"}}}),
            Some("tools/call") => {
                call = message["id"].clone();
                json!({"id": "question", "method": "elicitation/create", "params": {"message": "Who?",
                    "requestedSchema": {"type": "object", "properties": {}}}})
            }
            None if ends => json!({"id": call, "result": {"content": []}}),
            _ => Value::Null,
        };
        heard.borrow_mut().push(message);
        if let Value::Object(mut said) = said {
            said.insert("jsonrpc".to_owned(), json!("2.0"));
            output.write_all(format!("{}\n", Value::Object(said)).as_bytes()).await.unwrap();
        }
    }
}

fn delivered(thread: &str, call: &str) -> Delivered {
    let payload = Payload::parse(b"<ask xmlns='u'/>", &DocumentLimits::default()).unwrap();
    let stamp = EnvelopeStamp { call: call.to_owned(), turn: 1, ..EnvelopeStamp::default() };
    Delivered { from: "a".to_owned(), to: None, thread: thread.to_owned(), stamp, payload }
}

/// A call that is open at its server, which asks a person.
async fn asked(connection: &McpConnection) -> AskedCall {
    let sent = connection.send_call(CallToolRequestParams::new("ask")).await.unwrap();
    match connection.wait_for_result(sent, mpsc::channel(1).0, std::future::pending()).await.unwrap() {
        ToolCallEnd::Asked(call) => *call,
        other => panic!("{other:?}"),
    }
}

fn required() -> InputRequiredResult {
    serde_json::from_value(json!({"resultType": "input_required", "inputRequests": {"who": {
        "method": "elicitation/create", "params": {"mode": "form", "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {}}}}}}))
    .unwrap()
}

/// What the server of one open call hears after that call waits in thread `t`, call `1`, and `then` was done.
async fn heard_after(ends: bool, then: impl AsyncFnOnce(&WaitingCalls)) -> Vec<String> {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (input, output) = tokio::io::split(ours);
    let heard = Heard::default();
    let doing = async {
        let connection = McpConnection::connect_over(input, output, Revision::Legacy).await.unwrap();
        let waiting = WaitingCalls::default();
        let form = waiting.ask_in(&delivered("t", "1"), "own", "ask", asked(&connection).await).await;
        assert!(matches!(form, ReplyContent::Items(_)), "{form:?}");
        then(&waiting).await;
        // Long enough for a server that ends its calls by itself to get a cancel that it should not get.
        tokio::time::sleep(Duration::from_millis(400)).await;
    };
    tokio::select! {
        () = server(theirs, &heard, ends) => panic!("the connection ended"),
        () = doing => {}
    }
    let after_call = heard.into_inner().into_iter().skip_while(|message| message["method"] != "tools/call");
    let words = |message: Value| match message["method"].as_str() {
        Some(method) => method.to_owned(),
        None => message["result"]["action"].as_str().unwrap_or("error").to_owned(),
    };
    after_call.skip(1).map(words).collect()
}

#[tokio::test]
async fn g3_a_call_for_whose_question_there_is_no_room_is_cancelled_at_its_server() {
    let crowd = async |waiting: &WaitingCalls| {
        for number in 0..limits::WAITING_CALLS {
            let params = CallToolRequestParams::new("book");
            let asked = delivered(&format!("t{number}"), "1");
            waiting.ask(&asked, "own", &params, required()).await;
        }
    };
    assert_eq!(heard_after(false, crowd).await, ["cancel", "notifications/cancelled"]);
    // A server that ends the call after the answer is not told twice.
    assert_eq!(heard_after(true, crowd).await, ["cancel"]);
}

#[tokio::test]
async fn g3_a_question_of_an_earlier_call_in_a_thread_is_given_up() {
    let later = async |waiting: &WaitingCalls| waiting.give_up_before(&delivered("t", "2/1.0")).await;
    assert_eq!(heard_after(false, later).await, ["cancel", "notifications/cancelled"]);
    let others = async |waiting: &WaitingCalls| {
        waiting.give_up_before(&delivered("t", "1/1.0")).await;
        waiting.give_up_before(&delivered("u", "2")).await;
    };
    assert_eq!(heard_after(false, others).await, [""; 0]);
}

#[tokio::test]
async fn g3_a_second_question_of_the_same_call_takes_the_place_of_the_first() {
    let again = async |waiting: &WaitingCalls| {
        let params = CallToolRequestParams::new("book");
        waiting.ask(&delivered("t", "1"), "own", &params, required()).await;
    };
    assert_eq!(heard_after(false, again).await, ["cancel", "notifications/cancelled"]);
}
