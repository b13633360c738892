//! LangChain with an entry of an organism as its model.

use serde_json::json;

use super::chats::{ChatClient, OPEN, house};
use crate::program::{ask, run_file};

#[test]
fn g10_langchain_has_an_entry_as_its_model() {
    let replies = [
        "{say: One.}",
        "{say: Two in pieces., chunk: 4}",
        "{say: Three., chunk: 3}",
        "{say: Four.}",
        "{say: Five.}",
        "{say: Six.}",
    ];
    let house = house(&replies, OPEN);
    let organism = house.run();
    let run = run_file(house.path());
    let program = include_str!("langchain_client.py");
    let client = ChatClient::start_program(house.path(), run.token.secret(), program);
    let first = client.read_line();
    assert_eq!((&first["text"], &first["finish"]), (&json!("One."), &json!("stop")));
    assert!(first["tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{first}");
    let second = client.read_line();
    assert_eq!(second["text"], "Two in pieces.");
    assert!(second["pieces"].as_u64().is_some_and(|pieces| pieces > 1), "{second}");
    assert_eq!(client.read_line()["text"], "Three.");
    assert_eq!(client.read_line()["text"], "Four.");
    assert_eq!(client.read_line()["text"], "Five.");
    assert_eq!(client.read_line()["text"], "Six.", "a tool that is offered need not be called");
    let refused = client.read_line();
    assert!(refused["unknown"].as_str().unwrap().contains("did you mean helper?"), "{refused}");
    assert!(
        refused["tools"].as_str().unwrap().contains("a listener of the organism does such work"),
        "{refused}"
    );
    // The history that it sends again is one chat; the responses and the new question have threads of their own.
    let chats = ask(&run, "GET", "/v1/threads?name=chat.", &[], "").json;
    assert_eq!(chats["threads"].as_array().map(Vec::len), Some(2), "{chats}");
    let asked: Vec<String> = house.asked().iter().map(|asked| asked.body.to_string()).collect();
    assert_eq!(asked.len(), 6, "a refused request asks no model");
    assert!(asked[2].contains("first?") && asked[2].contains("Be short.") && asked[4].contains("fourth?"));
    assert!(!asked[4].contains("first?"));
    organism.interrupt();
}
