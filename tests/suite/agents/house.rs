//! The setup of these tests: an organism with an agent `helper`, its peers (a program `search` and a second agent
//! `critic`), and the mock that answers for both models. It asserts nothing about the agents: tests do.

use std::path::Path;

use serde_json::Value;
use systole_core::types::record::Record;
use systole_kit::journal::{EarlierEntry, JournalEntry, ModelCallOutcome, ModelStarted};
use systole_log::sqlite;
use systole_mock_model::{MockModel, MockOptions, MockScript, SeenRequest};

use super::nonce;
use super::strait::Strait;
use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Ran, Running, systole_with};

/// The key of the models. It may appear only in the head of a request.
pub(super) const KEY: &str = "sk-very-secret-key-1234";

const SEARCH: &str = r#"
import os, socket, sys
import xml.etree.ElementTree as ET
E, S, L, N = "{https://xml-pipeline.org/ns/envelope/v1}", "{urn:systole:stamp:v1}", "{urn:systole:listener:v1}", "{https://xml-pipeline.org/ns/hello/v1}"
for line in sys.stdin:
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    query = message[1].findtext(N + "query")
    if "DOOR" in os.environ:
        with socket.create_connection(("127.0.0.1", int(os.environ["DOOR"]))) as door:
            door.makefile().readline()
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    found = "FOUND " + query
    if query.startswith("long "):
        found = "".join(f"line {n} of what was found\n" for n in range(int(query[5:])))
    if query == "broken":
        found = ""
    ET.SubElement(reply, N + "found").text = found
    print(ET.tostring(reply, encoding="unicode").replace("\n", "&#10;"), flush=True)
"#;

/// The provider APIs, by their names in the file.
pub(super) const FORMS: [&str; 5] = ["openai", "openai-responses", "anthropic", "ollama", "gemini"];

/// The settings in which the organisms of the tests differ.
pub(super) struct AgentPlan<'a> {
    /// The provider.
    pub(super) form: &'a str,
    /// How the agent acts.
    pub(super) dialect: &'a str,
    /// The answers of `helper`'s model: a list of the mock's script, in YAML.
    pub(super) replies: &'a str,
    /// Further keys of `helper`, with a leading comma.
    pub(super) agent: &'a str,
    /// Further keys of its model, with a leading comma.
    pub(super) model: &'a str,
    /// The second agent, `critic`.
    pub(super) critic: Critic<'a>,
    /// Further keys of the organism, one on each line.
    pub(super) rest: &'a str,
    /// Further variables of `search`, as a map in YAML.
    pub(super) env: &'a str,
    /// The peers of `helper`.
    pub(super) peers: &'a str,
    /// The most tokens that the mock accepts.
    pub(super) window: Option<u64>,
    /// The strait that its requests pass, if any.
    pub(super) strait: Option<&'a Strait>,
}

/// The settings of the second agent.
#[derive(Clone, Copy)]
pub(super) struct Critic<'a> {
    /// The answers of its model.
    pub(super) replies: &'a str,
    /// How it acts, and its further keys.
    pub(super) acts: &'a str,
    /// Further keys of its model, with a leading comma.
    pub(super) model: &'a str,
}

impl<'a> Critic<'a> {
    /// An agent that gives its whole answer as the result.
    pub(super) const fn says(replies: &'a str) -> Self {
        Critic { replies, acts: "dialect: plain", model: "" }
    }
}

impl Default for AgentPlan<'_> {
    fn default() -> Self {
        AgentPlan {
            form: "openai",
            dialect: "native",
            replies: "[]",
            agent: "",
            model: "",
            critic: Critic::says("[]"),
            rest: "",
            env: "{}",
            peers: "[search, critic]",
            window: None,
            strait: None,
        }
    }
}

/// An organism in its own folder, and the mock of its models.
pub(super) struct AgentHouse {
    folder: tempfile::TempDir,
    pub(super) mock: MockModel,
}

impl AgentHouse {
    pub(super) fn build(plan: &AgentPlan<'_>) -> AgentHouse {
        let list = |replies: &str| {
            let flow = replies.trim_start().starts_with('[');
            if flow { format!(" {replies}\n") } else { format!("\n{replies}\n") }
        };
        let script =
            format!("main-model:{}second-model:{}", list(plan.replies.trim_end()), list(plan.critic.replies));
        let script = MockScript::parse(&script).unwrap_or_else(|bad| panic!("{bad}\n{script}"));
        let options =
            MockOptions { window: plan.window, key: Some(KEY.to_owned()), ..MockOptions::default() };
        // Ollama needs no key.
        let options = if plan.form == "ollama" { MockOptions { key: None, ..options } } else { options };
        let mock = MockModel::start(script, options).unwrap();
        let url = match plan.dialect {
            "xml-final" => format!("http://{}", nonce::between(mock.address())),
            _ => plan.strait.map_or(mock.url(), |strait| format!("http://{}", strait.before(mock.address()))),
        };
        let yaml = Self::file(plan, &url);
        AgentHouse { folder: folder(&[("organism.yaml", &yaml), ("search.py", SEARCH)]), mock }
    }

    fn file(plan: &AgentPlan<'_>, url: &str) -> String {
        let AgentPlan { form, dialect, agent, model, rest, env, peers, .. } = plan;
        let Critic { acts, model: second, .. } = plan.critic;
        format!(
            r#"organism: {{name: hello, entry: helper}}
payloads: {{search: {{query: text, "limit?": int 1..100}}, found: text}}
models:
  main: {{provider: {form}, model: main-model, url: "{url}", key_env: MODEL_KEY,
         price: {{in: 3, out: 15, cached: 0.3, per: 1M, currency: USD}}, retry: {{attempts: 3, backoff: 1ms..2ms}}{model}}}
  second: {{provider: {form}, model: second-model, url: "{url}", key_env: MODEL_KEY, retry: {{attempts: 3, backoff: 1ms..2ms}}{second}}}
listeners:
  search: {{run: [python3, search.py], accepts: [search], returns: [found], env: {env}}}
agents:
  helper: {{model: main, dialect: {dialect}, peers: {peers}, prompt: {{identity: You help.}}{agent}}}
  critic: {{model: second, {acts}, entry: false, prompt: {{identity: You doubt.}}}}
log: {{path: ./hello.db}}
console: {{listen: "127.0.0.1:0"}}
{rest}
"#
        )
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command with the key of the models in its environment.
    pub(super) fn systole(&self, arguments: &[&str]) -> Ran {
        systole_with(self.path(), arguments, &[("MODEL_KEY", KEY)])
    }

    /// Asks `helper`, through the running organism or in process.
    pub(super) fn ask(&self, question: &str) -> Ran {
        self.systole(&["ask", question])
    }

    /// Runs the organism in its own process.
    pub(super) fn run(&self) -> Running {
        Running::organism_with(self.path(), &[("MODEL_KEY", KEY)])
    }

    /// The requests that the model of `helper` got, in order.
    pub(super) fn asked(&self) -> Vec<SeenRequest> {
        self.mock.seen().into_iter().filter(|seen| seen.model.as_deref() == Some("main-model")).collect()
    }

    /// All records of the log, in order.
    pub(super) fn records(&self) -> Vec<Record> {
        read_all(&self.path().join("hello.db"))
    }

    /// The log as text, for the message of a failed test.
    pub(super) fn told(&self) -> String {
        let log = self.systole(&["log", "@last"]);
        [log.stdout, log.stderr].concat()
    }

    /// The codes of the log that begin with this, in order.
    pub(super) fn codes(&self, begin: &str) -> Vec<String> {
        let records = self.records();
        let codes =
            records.iter().filter_map(|record| Some(record.header.code.as_ref()?.as_str().to_owned()));
        codes.filter(|code| code.starts_with(begin)).collect()
    }

    /// The starts in the journal of an agent, in order.
    pub(super) fn started(&self, agent: &str) -> Vec<ModelStarted> {
        self.journal(agent)
            .into_iter()
            .filter_map(|entry| match entry {
                JournalEntry::Started(started) => Some(started),
                JournalEntry::Result(_) => None,
            })
            .collect()
    }

    /// The outcomes in the journal of an agent, in order.
    pub(super) fn outcomes(&self, agent: &str) -> Vec<ModelCallOutcome> {
        self.journal(agent)
            .into_iter()
            .filter_map(|entry| match entry {
                JournalEntry::Result(outcome) => Some(outcome),
                JournalEntry::Started(_) => None,
            })
            .collect()
    }

    fn journal(&self, agent: &str) -> Vec<JournalEntry> {
        let records = self.records();
        let own = records.iter().filter(|record| record.header.from.as_str() == agent);
        own.filter_map(|record| Some(EarlierEntry::from_body(&record.body).ok()?.entry)).collect()
    }

    /// The prompt of the newest model call in the newest thread, as `context` prints it.
    pub(super) fn context(&self, which: &str) -> Value {
        let ran = self.systole(&["context", "--json", which]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }

    /// Checks that the separate checker finds nothing wrong with the log, and that the key is nowhere in the folder.
    pub(super) fn judged(&self) {
        let path = self.path().join("hello.db");
        sqlite::verify_all(&path).unwrap();
        let log = systole_checker::log::LogSnapshot::open_file(&path).unwrap();
        let report = systole_checker::check_under(&log, &[], &systole_checker::RunSettings::default());
        assert!(report.is_clean(), "{report}\n{}", self.told());
        for file in std::fs::read_dir(self.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "a key was written");
        }
    }
}
