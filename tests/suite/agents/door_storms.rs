//! Runs over a door through storms: answers are cut off at random bytes, organisms are killed in mid-answer, and a third of
//! the first attempts are refused. What the client has in the end is what is on record, and nothing was asked twice.

use std::cell::RefCell;

use serde_json::{Value, json};
use systole_core::types::record::{MessageRole, Record, RecordCode};
use systole_organism::runfile::draw_hex;
use systole_soak::dice::SeededDice;

use super::ag_ui::{ALL, WebApp};
use super::chats::{ChatClient, DECIDES, WEB, run_with_web};
use super::house::{AgentHouse, AgentPlan};
use super::relay::Relay;
use crate::program::run_file;

/// More replies than any storm has.
const MOST_REPLIES: u64 = 1000;

/// How bad the weather is.
pub(super) struct Storm {
    pub(super) rounds: u64,
    pub(super) cuts: u64,
}

/// Answers that are all different, in small pieces. Every third one breaks off and is refused.
fn write_replies(count: u64) -> String {
    let reply = |n: u64| {
        let cut = if n.is_multiple_of(3) { ", cut: true" } else { "" };
        let words =
            format!("Answer {n} comes in many small pieces, and no other answer begins as number {n} does.");
        format!("- {{thinking: {}, say: \"{words}\", chunk: 4, delay: 3ms{cut}}}\n", write_thought(n))
    };
    (0..count).map(reply).collect()
}

fn write_thought(n: u64) -> String {
    format!("I think about number {n} for a while.")
}

/// Whether all thoughts that the client has were thought, and none is there twice.
fn are_thoughts(messages: &[Value]) -> bool {
    let thoughts = messages.iter().filter(|one| one[0] == "reasoning").map(|one| one[1].as_str().unwrap());
    thoughts.into_iter().all(|one| (0..MOST_REPLIES).any(|n| write_thought(n).starts_with(one)))
}

fn is_request(record: &Record) -> bool {
    record.header.code == Some(RecordCode::Role(MessageRole::Request)) && record.header.from.as_str() == "web"
}

/// A client that goes on where its stream broke off.
pub(super) trait EnduringClient {
    /// Comes by the relay to an organism that has just started, if it would find another way.
    fn come_by(&self, _house: &AgentHouse, _relay: &Relay) {}
    /// Asks the question of a round.
    fn ask(&mut self, round: u64);
    /// Hears up to so many pieces of the answer. What the client has if the run is over before.
    fn hear_up_to(&self, pieces: u64) -> Option<Value>;
    /// What the client has once the run is over.
    fn end(&self) -> Value;
    /// Judges that.
    fn judge(&self, round: u64, said: &Value);
    /// Judges what is on record after all rounds.
    fn judge_record(&mut self, rounds: u64);
}

impl EnduringClient for WebApp {
    fn ask(&mut self, round: u64) {
        self.send(&json!({"say": format!("Question {round}?"), "run": format!("r{round}")}));
    }

    fn hear_up_to(&self, pieces: u64) -> Option<Value> {
        self.hear_up_to(pieces)
    }

    fn end(&self) -> Value {
        self.end()
    }

    fn judge(&self, round: u64, said: &Value) {
        assert_eq!((&said["thrown"], &said["errors"]), (&Value::Null, &json!([])), "{round}: {said}");
        let mut messages = said["messages"].as_array().unwrap().clone();
        assert!(are_thoughts(&messages), "{round}: {said}");
        messages.retain(|one| one[0] != "reasoning");
        assert_eq!(messages.last().unwrap()[1], said["result"], "{round}: {said}");
        assert_eq!(messages.len() as u64, 2 * (round + 1), "{round}: {said}");
    }

    fn judge_record(&mut self, rounds: u64) {
        let has = self.run(&json!({"run": format!("r{}", rounds - 1)}))["messages"].clone();
        let has: Vec<&Value> = has.as_array().unwrap().iter().filter(|one| one[0] != "reasoning").collect();
        let read = self.run(&json!({"show": true}))["messages"].clone();
        assert_eq!(json!(has), read, "the client has what is on record");
    }
}

/// The library of OpenAI, and a conversation.
struct Conversation {
    client: ChatClient,
    id: Value,
    answers: RefCell<Vec<Value>>,
}

impl Conversation {
    fn start(address: &str) -> Conversation {
        let url = format!("http://{address}/openai/v1");
        let mut client = ChatClient::start_at(&url, WEB, include_str!("response_client.py"));
        client.send(&json!({"converse": true}));
        let id = client.read_line()["said"]["id"].clone();
        Conversation { client, id, answers: RefCell::default() }
    }
}

impl EnduringClient for Conversation {
    fn ask(&mut self, round: u64) {
        let asked = json!({"input": format!("Question {round}?"), "conversation": self.id});
        self.client.send(&json!({"endure": asked, "key": format!("r{round}")}));
    }

    fn hear_up_to(&self, pieces: u64) -> Option<Value> {
        let lines = (0..pieces).map(|_| self.client.read_line());
        lines.into_iter().find(|line| line.get("event").is_none())
    }

    fn end(&self) -> Value {
        std::iter::repeat_with(|| self.client.read_line()).find(|line| line.get("event").is_none()).unwrap()
    }

    fn judge(&self, round: u64, said: &Value) {
        let text = &said["said"]["final"]["text"];
        assert_eq!(said["said"]["texts"], json!([text]), "{round}: {said}");
        assert!(text.as_str().is_some_and(|text| text.starts_with("Answer")), "{round}: {said}");
        self.answers.borrow_mut().push(text.clone());
    }

    fn judge_record(&mut self, rounds: u64) {
        self.client.send(&json!({"items": self.id}));
        let said = self.client.read_line();
        let answers = self.answers.borrow();
        let turns = (0..rounds).zip(answers.iter());
        let wanted: Vec<Value> = turns
            .flat_map(|(round, answer)| {
                [json!(["user", format!("Question {round}?")]), json!(["assistant", answer])]
            })
            .collect();
        assert_eq!(said["said"], json!(wanted), "the client has what is on record");
    }
}

pub(super) fn weather<C: EnduringClient>(
    name: &str,
    Storm { rounds, cuts }: Storm,
    doors: &str,
    start: impl Fn(&AgentHouse, &str) -> C,
) {
    let seed = match std::env::var("SYSTOLE_AGENT_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => u64::from_str_radix(&draw_hex().unwrap()[..16], 16).unwrap(),
    };
    println!("{name}: SYSTOLE_AGENT_SEED={seed}, {rounds} kills, {cuts} cuts");
    let mut dice = SeededDice::new(seed);
    let plan = AgentPlan {
        replies: &write_replies(rounds * 4 + 8),
        agent: ", on_unknown: retry, turns: 20, attempts: 20",
        rest: doors,
        ..AgentPlan::default()
    };
    let house = AgentHouse::build(&plan);
    let mut organism = run_with_web(&house);
    let relay = Relay::new(run_file(house.path()).address);
    let mut client = start(&house, &relay.address.to_string());
    client.come_by(&house, &relay);
    let mut left = cuts;
    for round in 0..rounds {
        let now = left / (rounds - round);
        left -= now;
        relay.cut_after((0..now).map(|_| usize::try_from(dice.between(1, 2500)).unwrap()));
        client.ask(round);
        // The organism dies where the client has heard so many pieces, if there are so many.
        let heard = client.hear_up_to(dice.below(25));
        drop(organism);
        organism = run_with_web(&house);
        relay.lead_to(run_file(house.path()).address);
        client.come_by(&house, &relay);
        let said = heard.unwrap_or_else(|| client.end());
        client.judge(round, &said);
    }
    client.judge_record(rounds);
    let records = house.records();
    assert_eq!(records.iter().filter(|record| is_request(record)).count() as u64, rounds);
    let (started, asked) = (house.started("helper").len(), house.asked().len());
    // A kill may fall between a record and the request of which it says that it begins.
    assert!(asked <= started, "no model was asked beside the log: {asked} of {started}");
    assert!((started - asked) as u64 <= rounds, "{asked} of {started} were asked");
    println!("{name}: {} answers were cut", relay.count_cuts());
    organism.interrupt();
}

fn start_app(house: &AgentHouse, address: &str) -> WebApp {
    WebApp::start_at(house, address, WEB)
}

#[test]
fn g11_what_a_client_has_after_a_storm_is_what_is_on_record() {
    weather("a squall", Storm { rounds: 4, cuts: 14 }, ALL, start_app);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn g11_what_a_client_has_after_thirty_kills_and_a_hundred_cuts_is_what_is_on_record() {
    weather("a storm", Storm { rounds: 30, cuts: 130 }, ALL, start_app);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn g10_what_a_conversation_has_after_thirty_kills_and_a_hundred_cuts_is_what_is_on_record() {
    weather("a storm", Storm { rounds: 30, cuts: 130 }, DECIDES, |_, address| Conversation::start(address));
}
