//! Chat windows with the entries of an organism as their models: what they sent was recorded when a person used them, and is
//! sent again here. Of the tools that Open WebUI offers, two are kept.

use std::io::{Read as _, Write as _};

use serde_json::Value;
use tokio::time::Instant;

use super::chats::{HELD, OPEN, house};
use crate::program::{Answer, PATIENCE, ask, connect, head, run_file};
use systole_organism::runfile::RunFile;

const PATH: &str = "/openai/v1/chat/completions";

/// The requests of a chat window.
struct ChatWindow {
    recorded: Value,
    run: RunFile,
}

impl ChatWindow {
    fn find(&self, name: &str) -> (Vec<(&str, &str)>, String) {
        let request = &self.recorded["requests"][name];
        let headers = request["headers"].as_object().unwrap();
        let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        (headers, request["body"].to_string())
    }

    fn send(&self, name: &str) -> Answer {
        let (headers, body) = self.find(name);
        ask(&self.run, "POST", PATH, &headers, &body)
    }

    /// The text of the answer, whole or in pieces, and its thread.
    fn read(&self, name: &str) -> (String, String) {
        let answer = self.send(name);
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        let offers = self.recorded["requests"][name]["body"].get("tools").is_some();
        let ignored = answer.header("systole-ignored").unwrap_or_default();
        assert_eq!(ignored.split(", ").any(|key| key == "tools"), offers, "{name}: {ignored}");
        let thread = answer.header("systole-thread").unwrap().to_owned();
        if let Some(text) = answer.json["choices"][0]["message"]["content"].as_str() {
            return (text.to_owned(), thread);
        }
        let pieces = answer.body.lines().filter_map(|line| line.strip_prefix("data: {"));
        let pieces = pieces.map(|line| serde_json::from_str::<Value>(&format!("{{{line}")).unwrap());
        let text = pieces.filter_map(|one| Some(one["choices"][0]["delta"]["content"].as_str()?.to_owned()));
        (text.collect(), thread)
    }
}

/// A first question with what the window asks beside it, a second one, its answer again, the first one edited, and a picture.
fn use_window(recorded: &str, beside: &[&str]) {
    let mut replies = vec!["{say: A title.}", "{say: Mount Everest.}"];
    replies.extend(beside.iter().map(|_| "{say: Beside.}"));
    replies.extend(["{say: K2.}", "{say: K2 once more.}", "{say: Elbrus.}", HELD]);
    let house = house(&replies, OPEN);
    let organism = house.run();
    let window =
        ChatWindow { recorded: serde_json::from_str(recorded).unwrap(), run: run_file(house.path()) };
    let (title, of_title) = window.read("title");
    let (first, chat) = window.read("chat");
    assert_eq!((title.as_str(), first.as_str()), ("A title.", "Mount Everest."));
    let mut threads = vec![of_title];
    for name in beside {
        let (text, thread) = window.read(name);
        assert_eq!(text, "Beside.");
        threads.push(thread);
    }
    let (second, same) = window.read("second");
    assert_eq!((second.as_str(), &same), ("K2.", &chat), "the history finds its thread");
    for (name, wanted) in [("again", "K2 once more."), ("edited", "Elbrus.")] {
        let (text, thread) = window.read(name);
        assert_eq!(text, wanted);
        threads.push(thread);
    }
    threads.push(chat.clone());
    let count = threads.len();
    threads.sort();
    threads.dedup();
    assert_eq!(threads.len(), count, "what is asked beside, again or in other words is in no chat");
    let asked: Vec<String> = house.asked().iter().map(|asked| asked.body.to_string()).collect();
    let again = &asked[asked.len() - 2];
    assert!(again.contains("What the client reports of the chat") && again.contains("Mount Everest."));
    let refused = window.send("image");
    assert_eq!(refused.status, 422, "{refused:?}");
    let words = refused.json["error"]["message"].as_str().unwrap();
    assert!(words.contains("helper takes no files"), "{words}");
    assert_eq!(house.asked().len(), asked.len());
    // The stop button closes the connection. The run goes on, and its answer is on record.
    let (mut headers, body) = window.find("again");
    let bearer = format!("Bearer {}", window.run.token.secret());
    headers.push(("authorization", &bearer));
    let mut stream = connect(&window.run);
    stream.write_all(head("POST", PATH, &headers, &body.len().to_string()).as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let (mut came, mut part) = (String::new(), [0; 4096]);
    while !came.contains("words") {
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "{came}");
        came.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    drop(stream);
    house.mock.release();
    let is_whole = || {
        house.records().iter().any(|one| String::from_utf8_lossy(&one.body).contains("And then the rest."))
    };
    let end = Instant::now() + PATIENCE;
    while !is_whole() {
        assert!(Instant::now() < end, "{}", house.told());
    }
    organism.interrupt();
}

#[test]
fn g10_open_webui_chats_with_an_entry() {
    let recorded = include_str!("../../fixtures/chat-windows/open-webui.json");
    use_window(recorded, &["follow-up", "tags"]);
}

#[test]
fn g10_librechat_chats_with_an_entry() {
    use_window(include_str!("../../fixtures/chat-windows/librechat.json"), &[]);
}
