//! An organism with a workflow in a folder of its own, and the mock that answers for its agents. It judges nothing.

use std::path::Path;

use systole_core::types::record::Record;
use systole_kit::journal::{EarlierEntry, JournalEntry};
use systole_log::sqlite;
use systole_mock_model::{MockModel, MockOptions, MockScript};

use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Ran, Running, systole_with};

/// The key of the models.
const KEY: &str = "sk-very-secret-key-1234";

/// An organism with a workflow.
pub(super) struct WorkflowHouse {
    folder: tempfile::TempDir,
    pub(super) mock: MockModel,
}

impl WorkflowHouse {
    /// One whose file has these lines behind its models and agents; the mock answers all agents from one list.
    pub(super) fn build(rest: &str, replies: &str) -> WorkflowHouse {
        WorkflowHouse::with_agents("", rest, replies)
    }

    /// The same with another agent.
    pub(super) fn with_agents(agent: &str, rest: &str, replies: &str) -> WorkflowHouse {
        let script =
            MockScript::parse(&format!("main-model:\n{replies}")).unwrap_or_else(|bad| panic!("{bad}"));
        let mock =
            MockModel::start(script, MockOptions { key: Some(KEY.to_owned()), ..MockOptions::default() })
                .unwrap();
        let file = format!(
            r#"organism: {{name: hello}}
models:
  main: {{provider: anthropic, model: main-model, url: "{}", key_env: MODEL_KEY, window: 1M, at_once: 64, retry: {{attempts: 1, backoff: 1ms..2ms}}}}
agents:
  writer: {{model: main, on_unknown: retry, in_flight: 64, prompt: {{identity: You write.}}}}
  critic: {{model: main, on_unknown: retry, in_flight: 64, prompt: {{identity: You doubt.}}}}
  {agent}
log: {{path: ./hello.db}}
console: {{listen: "127.0.0.1:0"}}
{rest}
"#,
            mock.url()
        );
        WorkflowHouse { folder: folder(&[("organism.yaml", &file)]), mock }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn systole(&self, arguments: &[&str]) -> Ran {
        systole_with(self.path(), arguments, &[("MODEL_KEY", KEY)])
    }

    /// What a command prints on a wide screen.
    pub(super) fn wide(&self, arguments: &[&str]) -> String {
        systole_with(self.path(), arguments, &[("MODEL_KEY", KEY), ("COLUMNS", "400")]).stdout
    }

    /// The organism in a process of its own.
    pub(super) fn run(&self) -> Running {
        Running::organism_with(self.path(), &[("MODEL_KEY", KEY)])
    }

    /// All records of the log, in order.
    pub(super) fn records(&self) -> Vec<Record> {
        read_all(&self.path().join("hello.db"))
    }

    /// The payloads that begin so, in order of the log.
    pub(super) fn bodies(&self, begin: &str) -> Vec<String> {
        let records = self.records();
        let texts = records.iter().filter_map(|record| String::from_utf8(record.body.to_vec()).ok());
        texts.filter(|text| text.starts_with(begin)).collect()
    }

    /// The goals that agents were asked to pursue, each as the bytes that began its thread, in order of the log.
    pub(super) fn goals_in_order(&self) -> Vec<String> {
        self.bodies("<goal-request ")
    }

    /// The same in order of the bytes.
    pub(super) fn goals(&self) -> Vec<String> {
        let mut goals = self.goals_in_order();
        goals.sort_unstable();
        goals
    }

    /// The prompts of the model calls that began, and how many results there are.
    pub(super) fn started(&self) -> (Vec<String>, usize) {
        let (mut prompts, mut results) = (Vec::new(), 0);
        for record in self.records() {
            match EarlierEntry::from_body(&record.body).map(|recalled| recalled.entry) {
                Ok(JournalEntry::Started(started)) => prompts.push(started.prompt),
                Ok(JournalEntry::Result(_)) => results += 1,
                Err(_) => {}
            }
        }
        (prompts, results)
    }

    /// The judge of its own finds nothing wrong with the log.
    pub(super) fn judged(&self) {
        let path = self.path().join("hello.db");
        sqlite::verify_all(&path).unwrap();
        let log = systole_checker::log::LogSnapshot::open_file(&path).unwrap();
        let report = systole_checker::check_under(&log, &[], &systole_checker::RunSettings::default());
        assert!(report.is_clean(), "{report}");
    }
}
