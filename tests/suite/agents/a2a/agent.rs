//! Another agent: the stock libraries of A2A, and messages one by one, of which each answer is judged by the library for
//! Python.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use systole_organism::runfile::RunFile;

use super::super::chats::{ChatClient, library};
use crate::program::{Answer, ask_as, connect, head, run_file};

/// How long a script of a library may take.
const SCRIPT_SECONDS: u64 = 60;

/// The two bindings.
pub(super) const BINDINGS: [&str; 2] = ["JSONRPC", "HTTP+JSON"];

/// A library of the protocol's authors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum A2aLibrary {
    Python,
    Javascript,
}

pub(super) const LIBRARIES: [A2aLibrary; 2] = [A2aLibrary::Python, A2aLibrary::Javascript];

impl A2aLibrary {
    /// Runs steps with the library. `None` if a step ended the program.
    pub(super) fn run(
        self,
        folder: &Path,
        (token, binding): (&str, &str),
        steps: &Value,
    ) -> Option<Vec<Value>> {
        let script = folder.join("a2a-script.json");
        let wanted = json!({"token": token, "binding": binding, "steps": steps, "timeout": SCRIPT_SECONDS});
        std::fs::write(&script, wanted.to_string()).unwrap();
        let url = format!("http://{}", run_file(folder).address);
        let mut command = match self {
            A2aLibrary::Python => {
                let mut python = Command::new("python3");
                python.args(["-c", include_str!("agent.py")]).env("PYTHONPATH", library());
                python
            }
            A2aLibrary::Javascript => ChatClient::find_node(folder, ("agent.mjs", include_str!("agent.mjs"))),
        };
        let ran = command.arg(&script).arg(url).output().unwrap();
        if ran.status.code() == Some(9) {
            return None;
        }
        let (said, wrong) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{self:?} over {binding}: {said}{wrong}");
        let said: Value = serde_json::from_str(&said).unwrap_or_else(|bad| panic!("{bad}: {said}{wrong}"));
        Some(said["steps"].as_array().unwrap().clone())
    }
}

/// An agent that writes its messages itself.
pub(super) struct Agent {
    run: RunFile,
    token: String,
    judged: RefCell<Vec<Value>>,
}

impl Agent {
    pub(super) fn new(folder: &Path, token: &str) -> Agent {
        Agent { run: run_file(folder), token: token.to_owned(), judged: RefCell::default() }
    }

    /// The same agent at the organism that runs now.
    pub(super) fn come_again(&mut self, folder: &Path) {
        self.run = run_file(folder);
    }

    /// A request with a body, over HTTP with JSON.
    pub(super) fn request(&self, method: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Authorization", bearer.as_str()), ("A2A-Version", "1.0")];
        ask_as(&self.run, method, path, &headers, body)
    }

    /// The answer to a method over JSON-RPC.
    pub(super) fn call(&self, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self.request("POST", "/a2a", &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json
    }

    /// The result of a method.
    pub(super) fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.call(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        let kind = match method {
            "SendMessage" => "SendMessageResponse",
            "ListTasks" => "ListTasksResponse",
            "GetExtendedAgentCard" => "AgentCard",
            _ => "Task",
        };
        self.judge_later(kind, &answer["result"]);
        answer["result"].clone()
    }

    /// The number and the words of an error.
    pub(super) fn fault(&self, method: &str, params: &Value) -> (i64, String) {
        let answer = self.call(method, params);
        let error = &answer["error"];
        let number = error["code"].as_i64().unwrap_or_else(|| panic!("{method} {params}: {answer}"));
        assert_eq!(error["data"][0]["domain"], "a2a-protocol.org", "{answer}");
        (number, error["message"].as_str().unwrap().to_owned())
    }

    /// Sends a message, and gets its task.
    pub(super) fn send(&self, message: &Value) -> Value {
        self.result("SendMessage", &json!({"message": message}))["task"].clone()
    }

    /// The same without waiting.
    pub(super) fn send_only(&self, message: &Value) -> Value {
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        self.result("SendMessage", &params)["task"].clone()
    }

    pub(super) fn get(&self, task: &Value) -> Value {
        self.result("GetTask", &json!({"id": task["id"]}))
    }

    /// Follows a method as a stream.
    pub(super) fn stream(&self, method: &str, params: &Value) -> Updates<'_> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Authorization", bearer.as_str()), ("A2A-Version", "1.0")];
        let mut stream = connect(&self.run);
        stream.write_all(head("POST", "/a2a", &headers, &body.len().to_string()).as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        Updates { agent: self, lines: BufReader::new(stream) }
    }

    /// Follows a task until it asks.
    pub(super) fn wait_for_question(&self, task: &Value) {
        let mut told = self.stream("SubscribeToTask", &json!({"id": task["id"]}));
        let is_asked =
            |update: Value| state(update.get("statusUpdate").unwrap_or(&update["task"])) == "INPUT_REQUIRED";
        assert!(told.any(is_asked));
    }

    fn judge_later(&self, kind: &str, sent: &Value) {
        self.judged.borrow_mut().push(json!({"type": kind, "json": sent}));
    }

    /// Has the library judge all that came.
    pub(super) fn judge(&self) {
        let all = self.judged.take();
        assert!(!all.is_empty());
        let mut python = Command::new("python3");
        python.args(["-c", include_str!("judge.py")]).env("PYTHONPATH", library());
        let piped = python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut judge = piped.spawn().unwrap();
        let lines: String = all.iter().map(|one| format!("{one}\n")).collect();
        judge.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
        let judged = judge.wait_with_output().unwrap();
        let (said, wrong) =
            (String::from_utf8_lossy(&judged.stdout), String::from_utf8_lossy(&judged.stderr));
        assert_eq!(said.trim(), "ok", "{wrong}");
    }
}

/// The updates of a stream.
pub(super) struct Updates<'a> {
    agent: &'a Agent,
    lines: BufReader<TcpStream>,
}

impl Iterator for Updates<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let Some(data) = line.strip_prefix("data: ") else { continue };
            let sent: Value = serde_json::from_str(data).unwrap();
            let update = sent["result"].clone();
            assert!(update.is_object(), "{sent}");
            self.agent.judge_later("StreamResponse", &update);
            return Some(update);
        }
    }
}

/// A message with one part.
pub(super) fn message(id: &str, part: &Value) -> Value {
    json!({"messageId": id, "role": "ROLE_USER", "parts": [part]})
}

/// A message with a text.
pub(super) fn say(id: &str, text: &str) -> Value {
    message(id, &json!({"text": text}))
}

/// A message for a task.
pub(super) fn say_to(id: &str, task: &Value, part: &Value) -> Value {
    let mut message = message(id, part);
    message["taskId"] = task["id"].clone();
    message
}

/// The state of a task.
pub(super) fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().and_then(|state| state.strip_prefix("TASK_STATE_")).unwrap_or("?")
}

/// The answer of a task.
pub(super) fn answer(task: &Value) -> &Value {
    &task["artifacts"][0]["parts"][0]
}

/// What is said of a task's state, and the request in it.
pub(super) fn request(task: &Value) -> &Value {
    let parts = task["status"]["message"]["parts"].as_array().unwrap_or_else(|| panic!("{task}"));
    parts.iter().map(|part| &part["data"]["request"]).find(|one| one.is_string()).unwrap_or(&Value::Null)
}

/// The text of the answer that a client has after these updates.
pub(super) fn join_answer(updates: &[Value]) -> String {
    let mut text = String::new();
    for update in updates {
        if let Some(task) = update.get("task") {
            text = answer(task)["text"].as_str().unwrap_or_default().to_owned();
        }
        let Some(sent) = update.get("artifactUpdate") else { continue };
        if sent["append"] != json!(true) {
            text.clear();
        }
        for part in sent["artifact"]["parts"].as_array().unwrap() {
            text.push_str(part["text"].as_str().unwrap_or_default());
        }
    }
    text
}

/// The states and words that updates of a status have.
pub(super) fn list_states(updates: &[Value]) -> Vec<(String, String)> {
    let told = updates.iter().filter_map(|update| update.get("statusUpdate"));
    told.map(|told| {
        let words = told["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
        (state(told).to_owned(), words.to_owned())
    })
    .collect()
}
