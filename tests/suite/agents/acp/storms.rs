//! An editor through storms: `systole acp` goes on behind each place where its answer was cut off or its organism killed.

use std::cell::RefCell;

use serde_json::{Value, json};
use systole_organism::runfile::RunFile;

use super::super::chats::WEB;
use super::super::door_storms::{EnduringClient, Storm, weather};
use super::super::house::AgentHouse;
use super::super::relay::Relay;
use super::editor::{Editor, join_answer, join_texts, reason};

/// The client of the storms, for an editor.
const DOORS: &str = "clients: {web: {token_env: WEB_TOKEN, doors: [acp], roles: [approve-own]}}";
/// What stands before a text that comes in the place of one that does not count.
const ANEW: &str = "Another answer:\n\n";

struct EnduringEditor {
    editor: RefCell<Editor>,
    prompt: u64,
    heard: RefCell<Vec<Value>>,
    answers: RefCell<Vec<String>>,
}

impl EnduringEditor {
    fn start(house: &AgentHouse, _address: &str) -> EnduringEditor {
        let arguments = ["acp", "--client", "web"];
        let mut editor = Editor::start_with(house.path(), &arguments, &[("WEB_TOKEN", WEB)], &json!({}));
        editor.begin_session(house.path());
        EnduringEditor {
            editor: RefCell::new(editor),
            prompt: 0,
            heard: RefCell::default(),
            answers: RefCell::default(),
        }
    }
}

impl EnduringClient for EnduringEditor {
    fn come_by(&self, house: &AgentHouse, relay: &Relay) {
        let path = RunFile::find_path(&house.path().join("hello.db"));
        let mut run: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        run["address"] = json!(relay.address.to_string());
        std::fs::write(&path, run.to_string()).unwrap();
    }

    fn ask(&mut self, round: u64) {
        self.heard.borrow_mut().clear();
        self.prompt = self.editor.borrow_mut().prompt(&format!("Question {round}?"));
    }

    fn hear_up_to(&self, pieces: u64) -> Option<Value> {
        for _ in 0..pieces {
            let message = self.editor.borrow().read();
            if message["method"].is_null() {
                return Some(message);
            }
            self.heard.borrow_mut().push(message);
        }
        None
    }

    fn end(&self) -> Value {
        let (rest, end) = self.editor.borrow().end(self.prompt);
        self.heard.borrow_mut().extend(rest);
        end
    }

    fn judge(&self, round: u64, end: &Value) {
        assert_eq!(reason(end), "end_turn", "{round}: {end}");
        let heard = self.heard.borrow();
        let all = join_answer(&heard);
        let answer = all.rsplit(ANEW).next().unwrap();
        assert!(answer.starts_with("Answer ") && answer.ends_with(" does."), "{round}: {all:?}");
        self.answers.borrow_mut().push(answer.to_owned());
    }

    fn judge_record(&mut self, rounds: u64) {
        let editor = self.editor.get_mut();
        let load = json!({"sessionId": editor.session, "cwd": "/", "mcpServers": []});
        let load = editor.send("session/load", &load);
        let (read, _) = editor.end(load);
        let asked: String = (0..rounds).map(|round| format!("Question {round}?")).collect();
        assert_eq!(join_texts(&read, "user_message_chunk"), asked);
        assert_eq!(join_answer(&read), self.answers.borrow().concat(), "the editor has what is on record");
    }
}

#[test]
fn g13_what_an_editor_has_after_a_storm_is_what_is_on_record() {
    weather("a squall", Storm { rounds: 4, cuts: 14 }, DOORS, EnduringEditor::start);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn g13_what_an_editor_has_after_thirty_kills_and_a_hundred_cuts_is_what_is_on_record() {
    weather("a storm", Storm { rounds: 30, cuts: 130 }, DOORS, EnduringEditor::start);
}
