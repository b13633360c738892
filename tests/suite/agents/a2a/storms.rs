//! Another agent through storms: it follows its task again wherever a stream was cut off or the organism was killed.

use std::cell::RefCell;

use serde_json::{Value, json};

use super::super::chats::{ChatClient, WEB};
use super::super::door_storms::{EnduringClient, Storm, weather};
use super::super::house::AgentHouse;
use super::streams::ALL;

/// The library for Python, which asks again.
struct EnduringAgent {
    client: ChatClient,
    answers: RefCell<Vec<Value>>,
}

impl EnduringAgent {
    fn start(_house: &AgentHouse, address: &str) -> EnduringAgent {
        let url = format!("http://{address}");
        let client = ChatClient::start_at(&url, WEB, include_str!("enduring.py"));
        EnduringAgent { client, answers: RefCell::default() }
    }
}

impl EnduringClient for EnduringAgent {
    fn ask(&mut self, round: u64) {
        self.client.send(&json!({"say": format!("Question {round}?"), "id": format!("r{round}")}));
    }

    fn hear_up_to(&self, pieces: u64) -> Option<Value> {
        let lines = (0..pieces).map(|_| self.client.read_line());
        lines.into_iter().find(|line| line.get("event").is_none())
    }

    fn end(&self) -> Value {
        std::iter::repeat_with(|| self.client.read_line()).find(|line| line.get("event").is_none()).unwrap()
    }

    fn judge(&self, round: u64, said: &Value) {
        assert_eq!(said["state"], "TASK_STATE_COMPLETED", "{round}: {said}");
        let text = said["text"].as_str().unwrap_or_else(|| panic!("{round}: {said}"));
        assert!(text.starts_with("Answer ") && text.ends_with(" does."), "{round}: {said}");
        assert_eq!(said["text"], said["read"], "{round}: the agent has what is on record");
        self.answers.borrow_mut().push(said["text"].clone());
    }

    fn judge_record(&mut self, rounds: u64) {
        self.client.send(&json!({"list": true}));
        let said = self.client.read_line();
        let mut tasks = said["tasks"].as_array().unwrap().clone();
        tasks.reverse();
        let asked: Vec<Value> = (0..rounds).map(|round| json!(format!("Question {round}?"))).collect();
        let wanted: Vec<Value> =
            asked.into_iter().zip(self.answers.borrow().iter()).map(|(q, a)| json!([q, a])).collect();
        assert_eq!(tasks, wanted);
    }
}

#[test]
fn g14_what_an_agent_has_after_a_storm_is_what_is_on_record() {
    weather("a squall", Storm { rounds: 4, cuts: 14 }, ALL, EnduringAgent::start);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn g14_what_an_agent_has_after_thirty_kills_and_a_hundred_cuts_is_what_is_on_record() {
    weather("a storm", Storm { rounds: 30, cuts: 130 }, ALL, EnduringAgent::start);
}
