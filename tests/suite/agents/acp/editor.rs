//! An editor at `systole acp`, message by message. The schema of the protocol's authors judges all that it is sent.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::super::chats::{ChatClient, library};
use crate::organism::folder;
use crate::program::{PATIENCE, command, lines};

/// The schema that goes with the library for JavaScript.
fn schema() -> Value {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/clients-npm");
    let path = tools.join("node_modules/@agentclientprotocol/sdk/schema/v1/schema.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// An editor in this process.
pub(super) struct Editor {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    types: Value,
    /// The methods of the requests that were sent, by their ids.
    sent: HashMap<u64, String>,
    pub(super) session: String,
}

impl Editor {
    /// Starts the program, with these capabilities of the editor.
    pub(super) fn start(folder: &Path, capabilities: &Value) -> Editor {
        Editor::start_with(folder, &["acp"], &[], capabilities)
    }

    pub(super) fn start_with(
        folder: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
        capabilities: &Value,
    ) -> Editor {
        let mut command = command(folder, arguments);
        let command = command.envs(variables.iter().copied()).stdin(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (input, lines) = (child.stdin.take().unwrap(), lines(child.stdout.take().unwrap()));
        let (sent, session) = (HashMap::new(), String::new());
        let mut editor = Editor { child, input, lines, types: schema()["$defs"].take(), sent, session };
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities});
        assert_eq!(editor.ask("initialize", &hello)["result"]["protocolVersion"], 1);
        editor
    }

    /// The same with a session in that folder.
    pub(super) fn in_session(folder: &Path, capabilities: &Value) -> Editor {
        let mut editor = Editor::start(folder, capabilities);
        editor.begin_session(folder);
        editor
    }

    pub(super) fn begin_session(&mut self, cwd: &Path) {
        let begun = self.ask("session/new", &json!({"cwd": cwd, "mcpServers": []}));
        let session = begun["result"]["sessionId"].as_str();
        self.session = session.unwrap_or_else(|| panic!("no session: {begun}")).to_owned();
    }

    pub(super) fn write_line(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Sends a request. Returns its id.
    pub(super) fn send(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.sent.len() as u64;
        self.sent.insert(id, method.to_owned());
        self.write_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        id
    }

    pub(super) fn prompt(&mut self, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", &json!({"sessionId": self.session, "prompt": prompt}))
    }

    pub(super) fn cancel(&mut self) {
        let params = json!({"sessionId": self.session});
        self.write_line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}).to_string());
    }

    /// Answers a request of the organism.
    pub(super) fn answer(&mut self, asked: &Value, result: &Value) {
        self.write_line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string());
    }

    /// Answers a permission with an option.
    pub(super) fn choose(&mut self, asked: &Value, option: &str) {
        self.answer(asked, &json!({"outcome": {"outcome": "selected", "optionId": option}}));
    }

    /// The next message.
    pub(super) fn read(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the organism says something");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.judge(&message);
        message
    }

    /// Whether a message is one that the schema has.
    fn judge(&self, message: &Value) {
        let find = |side: &str, kind: &str, method: &str| {
            let types = self.types.as_object().unwrap();
            let named = types.iter().find(|(name, one)| {
                name.ends_with(kind) && one["x-side"] == side && one["x-method"] == method
            });
            named.map(|(name, _)| name.clone()).unwrap_or_else(|| panic!("no {kind} {method}: {message}"))
        };
        let (name, value) = match message["method"].as_str() {
            Some("$/cancel_request") => ("CancelRequestNotification".to_owned(), &message["params"]),
            Some(method) => {
                let kind = if message["id"].is_null() { "Notification" } else { "Request" };
                (find("client", kind, method), &message["params"])
            }
            None if message["error"].is_object() => ("Error".to_owned(), &message["error"]),
            None => {
                let method = &self.sent[&message["id"].as_u64().expect("an id")];
                (find("agent", "Response", method), &message["result"])
            }
        };
        let schema = json!({"$ref": format!("#/$defs/{name}"), "$defs": self.types});
        let judge = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = judge.iter_errors(value).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:?} in {message}");
    }

    /// The next request of the organism, with what came before it.
    pub(super) fn next_request(&self) -> (Vec<Value>, Value) {
        self.read_until(|message| message["method"].is_string() && !message["id"].is_null())
    }

    /// The answer to a request, with what came before it.
    pub(super) fn end(&self, id: u64) -> (Vec<Value>, Value) {
        self.read_until(|message| message["method"].is_null() && message["id"] == id)
    }

    pub(super) fn read_until(&self, is_it: impl Fn(&Value) -> bool) -> (Vec<Value>, Value) {
        let mut before = Vec::new();
        loop {
            let message = self.read();
            if is_it(&message) {
                return (before, message);
            }
            before.push(message);
        }
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.end(id).1
    }

    /// Closes stdin, and waits for the program to end.
    pub(super) fn leave(self) -> Option<i32> {
        let Editor { mut child, input, .. } = self;
        drop(input);
        child.wait().unwrap().code()
    }

    /// Ends at once, as an editor that dies.
    pub(super) fn die(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The updates of these messages with that name.
pub(super) fn updates<'m>(messages: &'m [Value], kind: &str) -> Vec<&'m Value> {
    let all = messages.iter().map(|message| &message["params"]["update"]);
    all.filter(|update| update["sessionUpdate"] == kind).collect()
}

/// The text of all pieces of that kind.
pub(super) fn join_texts(messages: &[Value], kind: &str) -> String {
    updates(messages, kind).iter().map(|update| update["content"]["text"].as_str().unwrap()).collect()
}

/// What the organism answered.
pub(super) fn join_answer(messages: &[Value]) -> String {
    join_texts(messages, "agent_message_chunk")
}

/// The reason why a prompt has ended.
pub(super) fn reason(end: &Value) -> &str {
    end["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("no reason: {end}"))
}

/// The libraries of the protocol's authors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Library {
    JavaScript,
    Python,
}

impl Library {
    pub(super) const BOTH: [Library; 2] = [Library::JavaScript, Library::Python];

    /// Plays a script in an editor that is made with the library. Returns its exit code, and what it saw.
    pub(super) fn play(self, organism: &Path, script: &Value) -> (Option<i32>, Value) {
        let own = folder(&[("script.json", &script.to_string())]);
        let mut editor = match self {
            Library::JavaScript => {
                ChatClient::find_node(own.path(), ("editor.mjs", include_str!("editor.mjs")))
            }
            Library::Python => {
                let program = own.path().join("editor.py");
                std::fs::write(&program, include_str!("editor.py")).unwrap();
                let mut python = Command::new("python3");
                python.arg(program).env("PYTHONPATH", library());
                python
            }
        };
        let program = env!("CARGO_BIN_EXE_systole");
        editor.arg(own.path().join("script.json")).args([program, "acp"]).current_dir(organism);
        let ran = editor.envs(crate::program::NO_MODEL).output().unwrap();
        let words = String::from_utf8(ran.stderr).unwrap();
        let seen = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| json!({"said": words}));
        (ran.status.code(), seen)
    }
}
