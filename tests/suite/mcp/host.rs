//! An organism that hosts of models call over HTTP: what a request says in each revision, and what comes back.

use std::io::Write as _;
use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use systole_organism::runfile::RunFile;
use tokio::time::Instant;

use crate::organism::{ECHO_XSD, PATIENT_PY, folder};
use crate::program::{Answer, PATIENCE, Running, answer, ask_as, connect, head, run_file};

pub(super) const ALICE: &str = "alice-token-0123456789";
pub(super) const BOB: &str = "bob-token-0123456789";
pub(super) const TOKENS: [(&str, &str); 2] = [("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB)];
pub(super) const STATELESS: &str = "2026-07-28";

const FILE: &str = "organism: {name: hello}
listeners:
  echo: {run: [python3, echo.py], schema: echo.xsd, accepts: [say], returns: [said], entry: true, retry: {attempts: 1}}
  guarded: {run: [python3, echo.py], schema: guarded.xsd, accepts: [ask], returns: [said], entry: true, approval: {when: always}}
  hidden: {run: [python3, echo.py], schema: hidden.xsd, accepts: [peek], returns: [said]}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
clients:
  alice: {token_env: ALICE_TOKEN, may: [echo]}
  bob: {token_env: BOB_TOKEN}
";

/// A folder with that organism.
pub(super) fn house() -> tempfile::TempDir {
    let schema = |name: &str, element: &str| {
        let xsd = ECHO_XSD.replace("ns/echo/v1", &format!("ns/{name}/v1"));
        xsd.replace("name=\"say\"", &format!("name=\"{element}\""))
    };
    folder(&[
        ("organism.yaml", FILE),
        ("echo.xsd", ECHO_XSD),
        ("guarded.xsd", &schema("guarded", "ask")),
        ("hidden.xsd", &schema("hidden", "peek")),
        ("echo.py", PATIENT_PY),
    ])
}

/// The same, running.
pub(super) fn running(folder: &Path) -> Running {
    Running::organism_with(folder, &TOKENS)
}

/// The token of the client `mcp`.
pub(super) fn guest(folder: &Path) -> String {
    run_file(folder).guests.mcp.expect("a client `mcp`").secret().to_owned()
}

/// A host of models.
pub(super) struct ModelHost {
    run: RunFile,
    token: String,
    /// What it sends beside the usual headers, or in their place.
    pub(super) headers: Vec<(&'static str, String)>,
    /// The extensions that it names.
    pub(super) extensions: Value,
    /// Whether it shows forms.
    shows_forms: bool,
}

impl ModelHost {
    /// A host that calls the organism of a folder with this token.
    pub(super) fn new(folder: &Path, token: &str) -> ModelHost {
        let (run, token) = (run_file(folder), token.to_owned());
        ModelHost { run, token, headers: Vec::new(), extensions: json!({}), shows_forms: false }
    }

    /// The same without roles.
    pub(super) fn guest(folder: &Path) -> ModelHost {
        ModelHost::new(folder, &guest(folder))
    }

    /// The same with the extension for tasks.
    pub(super) fn with_tasks(mut self) -> ModelHost {
        self.extensions = json!({"io.modelcontextprotocol/tasks": {}});
        self
    }

    /// The same, with a person who fills in forms.
    pub(super) fn with_forms(mut self) -> ModelHost {
        self.shows_forms = true;
        self
    }

    /// The same with a header.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> ModelHost {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Sends these bytes.
    pub(super) fn raw(&self, method: &str, body: &str, more: &[(&str, &str)]) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let usual = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let own = || self.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let is_own = |name: &str| own().any(|(other, _)| other == name);
        let all = usual.iter().chain(more).copied().filter(|(name, _)| !is_own(name));
        // A header without a value is left out.
        let headers: Vec<_> = all.chain(own()).filter(|(_, value)| !value.is_empty()).collect();
        ask_as(&self.run, method, "/mcp", &headers, body)
    }

    /// A request that only says how long its body would be: it must be answered before a byte of it comes.
    pub(super) fn announces(&self, length: usize) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let mut stream = connect(&self.run);
        stream.write_all(head("POST", "/mcp", &headers, &length.to_string()).as_bytes()).unwrap();
        answer(stream)
    }

    /// A request of 2025-11-25.
    pub(super) fn asks(&self, method: &str, params: &Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.raw("POST", &message.to_string(), &[])
    }

    /// A request of 2026-07-28.
    pub(super) fn states(&self, method: &str, params: &Value) -> Answer {
        let mut params = params.clone();
        let mut capabilities = json!({"extensions": self.extensions});
        if self.shows_forms {
            capabilities["elicitation"] = json!({});
        }
        let own = [("protocolVersion", json!(STATELESS)), ("clientCapabilities", capabilities)];
        for (key, value) in own {
            params["_meta"][format!("io.modelcontextprotocol/{key}")] = value;
        }
        let name = ["taskId", "name", "uri"].iter().find_map(|field| params[*field].as_str());
        let name = name.unwrap_or("").to_owned();
        let headers =
            [("Mcp-Protocol-Version", STATELESS), ("Mcp-Method", method), ("Mcp-Name", name.as_str())];
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.raw("POST", &message.to_string(), &headers)
    }

    /// The task that a call became.
    pub(super) fn task(&self, id: &str) -> Value {
        result(&self.states("tasks/get", &json!({"taskId": id})))
    }

    /// The same once it has this status.
    pub(super) fn task_when(&self, id: &str, status: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let task = self.task(id);
            if task["status"] == status {
                return task;
            }
            assert!(Instant::now() < end, "it does not become {status}: {task}");
        }
    }
}

/// The messages of an answer: one, or those of a stream.
pub(super) fn messages(answer: &Answer) -> Vec<Value> {
    if !answer.json.is_null() {
        return vec![answer.json.clone()];
    }
    let lines = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The result of a request.
pub(super) fn result(answer: &Answer) -> Value {
    let messages = messages(answer);
    let last = messages.last().unwrap_or_else(|| panic!("no message: {answer:?}"));
    assert!(last["error"].is_null(), "{last}");
    last["result"].clone()
}

/// Whether the library of the protocol reads this as what it should be, and keeps every field.
pub(super) fn is_read_as<T: DeserializeOwned + Serialize>(value: &Value) {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    let written = serde_json::to_value(read).unwrap();
    for field in value.as_object().unwrap().keys() {
        assert!(!written[field].is_null() || value[field].is_null(), "{field} of {value} is not read");
    }
}

/// The code and the words of an error.
pub(super) fn error(answer: &Answer) -> (u16, i64, String) {
    let error = &answer.json["error"];
    let words = error["message"].as_str().unwrap_or_else(|| panic!("no error: {answer:?}")).to_owned();
    (answer.status, error["code"].as_i64().unwrap(), words)
}
