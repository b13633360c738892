//! Test files (`*.test.yaml`): from the text to runnable tests, or to all mistakes at once.
//!
//! The organism of each test is loaded here with the test's settings, and each payload is built with the schemas of
//! that organism. So a wrong name or field is reported with its place before anything starts. This module starts
//! nothing.

mod answers;
mod exports;
mod steps;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use systole_agent::model::script::{Script, ScriptError};
use systole_agent::spec::Provider;

use super::diagnostic::{FileMistakes, FilePlace};
use super::diagnostics::{Diagnostics, Given, SET};
use super::keys;
use super::section::SectionKeys;
use super::tree::{Node, Span, Value};
use super::value::{At, join_path, wrong_kind};
use super::yaml;
use super::{OrganismFile, folder, load_rehearsed, load_set};
use systole_core::types::codes::Code;
use systole_core::types::composition::Reach;
use systole_core::types::ids::Name;

pub use crate::written_payloads::{ExactPayload, ExpectedPayload};
pub use answers::{StandIn, StandInAnswer};
pub use exports::ExpectedReplay;
pub use steps::{ExpectedFailure, PlacedText, REPORT, TestDecision, TestMessage, TestQuestion, TestStep};
pub use table::{TEST_KEYS, TOP};
use table::{TestCaseKeys, TestFileKeys};

/// The default file name of an organism.
const ORGANISM: &str = "organism.yaml";

/// The tests of one file.
pub struct TestFile {
    /// The tests, in the order of the file.
    pub tests: Vec<Arc<Rehearsal>>,
}

/// One test.
pub struct Rehearsal {
    /// Its description.
    pub name: String,
    /// Its place.
    pub place: FilePlace,
    /// The organism with the test's settings.
    pub organism: OrganismFile,
    /// The folder of the organism's file.
    pub directory: PathBuf,
    /// The script of all models, if the test file gives one.
    pub replies: Option<TestScript>,
    /// The answers in place of listeners.
    pub stand_ins: BTreeMap<Name, StandIn>,
    /// The steps.
    pub steps: Vec<TestStep>,
    /// The export that is replayed in place of steps.
    pub export: Option<ExpectedReplay>,
}

/// A script from a test file.
#[derive(Clone)]
pub struct TestScript {
    /// The file that contains it.
    pub file: PathBuf,
    /// The script.
    pub script: Arc<Script>,
    /// Whether it belongs to only one test.
    pub is_own: bool,
}

/// The keys that a file and a test share.
struct Setup {
    settings: Vec<At<String>>,
    replies: Option<TestScript>,
    stand_ins: Vec<answers::Written>,
    /// Whether all settings and replies could be read, so that the organism is the intended one.
    is_read: bool,
}

/// Reads and checks a test file, with the organisms that it names.
pub fn load(path: &Path) -> Result<TestFile, FileMistakes> {
    let text = folder::organism_text(path).map_err(|mut refused| {
        for one in &mut refused.0 {
            one.fix = Some("a test file: UTF-8, YAML, and not too large".to_owned());
        }
        refused
    })?;
    let mut diagnostics = Diagnostics::new(
        &path.display().to_string(),
        &text,
        &[],
        Given::These(Vec::new()),
        keys::is_required,
    );
    let stretch = diagnostics.file();
    let Some(root) = yaml::read(&mut diagnostics, stretch) else {
        if diagnostics.is_clean() {
            diagnostics.report(Code::ConfigMissing, stretch, "the file is empty", "tests: with a first test");
        }
        return Err(diagnostics.into_mistakes());
    };
    let reader = Reader { path, folder: path.parent().unwrap_or(Path::new("")).to_owned() };
    let tests = reader.tests(&mut diagnostics, &root);
    if diagnostics.is_clean() { Ok(TestFile { tests }) } else { Err(diagnostics.into_mistakes()) }
}

/// Reads one file.
struct Reader<'p> {
    path: &'p Path,
    folder: PathBuf,
}

/// An unresolved test.
struct Written {
    name: At<String>,
    setup: Setup,
    steps: Vec<steps::Written>,
    export: Option<ExpectedReplay>,
}

impl Reader<'_> {
    fn tests(&self, diagnostics: &mut Diagnostics, root: &Node) -> Vec<Arc<Rehearsal>> {
        let Some(keys) = TestFileKeys::read_at(diagnostics, root, root.span, "") else { return Vec::new() };
        let setup = self.setup(diagnostics, "", [&keys.set, &keys.replies, &keys.stand_ins], false);
        let organism = self.organism(diagnostics, keys.organism, root.span);
        let written =
            keys.tests.map(|tests| self.read_written(diagnostics, &tests.value)).unwrap_or_default();
        let Some(organism) = organism.filter(|_| setup.is_read) else { return Vec::new() };
        let (mut tests, mut elsewhere) = (Vec::new(), Vec::new());
        for test in written.into_iter().filter(|test| test.setup.is_read) {
            match self.test(diagnostics, &organism, &setup, test) {
                Ok(test) => tests.push(Arc::new(test)),
                // The tests of a file often share one organism and its mistakes.
                Err(refused) => {
                    let new: Vec<_> = refused.0.into_iter().filter(|one| !elsewhere.contains(one)).collect();
                    elsewhere.extend(new);
                }
            }
        }
        elsewhere.into_iter().for_each(|one| diagnostics.tell_at(root.span.start, one));
        tests
    }

    /// The organism's file: the named one, or the nearest one in a folder above.
    fn organism(
        &self,
        diagnostics: &mut Diagnostics,
        named: Option<At<String>>,
        at: Span,
    ) -> Option<PathBuf> {
        if let Some(named) = named {
            return Some(self.folder.join(named.value));
        }
        let start = std::path::absolute(self.folder.join(".")).unwrap_or_else(|_| self.folder.clone());
        let found = start.ancestors().position(|folder| folder.join(ORGANISM).is_file());
        if found.is_none() {
            let message = "there is no organism.yaml in the folder of this file, nor above it";
            diagnostics.report(
                Code::ConfigMissing,
                at,
                message,
                "organism: PATH, from the folder of this file",
            );
        }
        // People read the path, so it is as short as possible.
        found.map(|up| self.folder.join("../".repeat(up)).join(ORGANISM))
    }

    fn read_written(&self, diagnostics: &mut Diagnostics, node: &Node) -> Vec<Written> {
        let items = list(diagnostics, node, "tests", "a list of tests, each with `name` and `steps`");
        if matches!(&node.value, Value::List(none) if none.is_empty()) {
            diagnostics.report(
                Code::ConfigMissing,
                node.span,
                "`tests` has no test",
                "- name: and steps: below it",
            );
        }
        let mut tests = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let path = format!("tests[{}]", number + 1);
            let Some(keys) = TestCaseKeys::read_at(diagnostics, item, item.span, &path) else { continue };
            let setup = self.setup(diagnostics, &path, [&keys.set, &keys.replies, &keys.stand_ins], true);
            let export = exports::read(diagnostics, &keys, &self.folder);
            if !keys.own.has("export") {
                let fix = "steps: with a list of steps, as - send: {ask: Hello}; or export: T.zip";
                keys.own.report_missing(diagnostics, "steps", fix);
            }
            let path = format!("{path}.steps");
            let steps = keys.steps.map(|steps| steps::read(diagnostics, &steps.value, &path, &self.folder));
            let name = keys.name;
            let Some(name) = name.filter(|_| steps.is_some() || export.is_some()) else { continue };
            tests.push(Written { name, setup, steps: steps.unwrap_or_default(), export });
        }
        tests
    }

    fn setup(
        &self,
        diagnostics: &mut Diagnostics,
        path: &str,
        [set, replies, stand_ins]: [&Option<At<Node>>; 3],
        is_own: bool,
    ) -> Setup {
        let path = |key: &str| join_path(path, key);
        let mistakes = diagnostics.mistakes();
        let settings = set.as_ref().map(|set| settings(diagnostics, &set.value, &path("set")));
        let replies =
            replies.as_ref().and_then(|one| self.replies(diagnostics, &one.value, &path("replies"), is_own));
        let is_read = diagnostics.mistakes() == mistakes;
        let stand_ins = stand_ins
            .as_ref()
            .map(|all| answers::read(diagnostics, &all.value, &path("stand_ins"), &self.folder));
        let (settings, stand_ins) = (settings.unwrap_or_default(), stand_ins.unwrap_or_default());
        Setup { settings, replies, stand_ins, is_read }
    }

    /// A script: a file, or answers by agent in this file. Mistakes are reported with their line here.
    fn replies(
        &self,
        diagnostics: &mut Diagnostics,
        node: &Node,
        path: &str,
        is_own: bool,
    ) -> Option<TestScript> {
        let fix = "a file of answers, or answers by agent, as docs/reference/script.md has them";
        let (file, text) = match &node.value {
            Value::Map(_) => (self.path.to_owned(), alone(&diagnostics.text(), node.span)),
            Value::Text { text, .. } if !text.is_empty() => {
                let file = self.folder.join(text);
                match std::fs::read_to_string(&file) {
                    Ok(text) => (file, text),
                    Err(error) => {
                        let message =
                            format!("{path}: {text}: {}", systole_system::system::describe_error(&error));
                        diagnostics.report(Code::ConfigUnreadable, node.span, &message, fix);
                        return None;
                    }
                }
            }
            _ => {
                wrong_kind(diagnostics, node, path, "a file or a map", fix);
                return None;
            }
        };
        match Script::from_text(&text) {
            Ok(script) => Some(TestScript { file, script: Arc::new(script), is_own }),
            // Answers in the test file itself are at the same place in it.
            Err(ScriptError { place: Some(place), words }) if matches!(node.value, Value::Map(_)) => {
                let message = format!("{path}: {words}");
                diagnostics.report(Code::ConfigUnreadable, diagnostics.span_at(place), &message, fix);
                None
            }
            Err(unusable) => {
                let message = format!("{path}: {}: {unusable}", file.display());
                diagnostics.report(Code::ConfigUnreadable, node.span, &message, fix);
                None
            }
        }
    }

    /// A test with its organism, in which names and payloads are looked up.
    fn test(
        &self,
        diagnostics: &mut Diagnostics,
        file: &Path,
        shared: &Setup,
        test: Written,
    ) -> Result<Rehearsal, FileMistakes> {
        let set: Vec<&At<String>> = shared.settings.iter().chain(&test.setup.settings).collect();
        let settings: Vec<String> = set.iter().map(|one| one.value.clone()).collect();
        let replies = test.setup.replies.or_else(|| shared.replies.clone());
        // The journal of an export has the answers of rehearsed models, too.
        let load = if replies.is_some() || test.export.is_some() { load_rehearsed } else { load_set };
        let mut organism = load(file, &settings).map_err(|mut refused| {
            // A mistake in a setting is reported at its place in the test.
            for one in refused.0.iter_mut().filter(|one| one.place.file == SET) {
                let found = one.place.line.checked_sub(1).and_then(|line| set.get(line));
                one.place = found.map_or_else(|| one.place.clone(), |set| diagnostics.place(set.at));
            }
            refused
        })?;
        let place = diagnostics.place(test.name.at);
        let directory = file.parent().unwrap_or(Path::new("")).join(".");
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let name = test.name.value;
        if test.export.is_some() {
            let (replies, stand_ins, steps, export) = (None, BTreeMap::new(), Vec::new(), test.export);
            return Ok(Rehearsal { name, place, organism, directory, replies, stand_ins, steps, export });
        }
        let written = shared.stand_ins.iter().chain(&test.setup.stand_ins);
        let mut stand_ins = answers::resolve(diagnostics, &organism.composition, written);
        if let Some(replies) = &replies {
            for model in &mut organism.models {
                (model.provider, model.file) = (Provider::Script, Some(replies.file.clone()));
            }
            organism.agents.iter_mut().for_each(|agent| agent.is_rehearsed = true);
        }
        for (name, why) in not_started(&organism) {
            stand_ins.entry(name).or_insert(StandIn { answers: Vec::new(), why: Some(why) });
        }
        organism.agents.retain(|agent| !stand_ins.keys().any(|name| name.as_str() == agent.name));
        for listener in organism.composition.listeners.values_mut() {
            if stand_ins.contains_key(&listener.name) {
                listener.reach = Reach::Inline;
            }
        }
        let steps = steps::resolve(diagnostics, &organism.composition, test.steps);
        Ok(Rehearsal { name, place, organism, directory, replies, stand_ins, steps, export: None })
    }
}

/// Listeners that a test does not start: a real model costs money and varies its answers, and some carriers need what
/// a test does not have. The test fails if one of them is called.
fn not_started(organism: &OrganismFile) -> Vec<(Name, String)> {
    let provider = |model: &str| organism.models.iter().find(|one| one.name == model);
    let mut found = Vec::new();
    for listener in organism.composition.listeners.values() {
        let name = &listener.name;
        let agent = organism.agents.iter().find(|agent| agent.name == name.as_str());
        let own = agent.and_then(|agent| provider(&agent.model));
        let others = own.iter().flat_map(|own| &own.fallback).filter_map(|other| provider(other));
        let real = own.into_iter().chain(others).find(|model| model.provider != Provider::Script);
        let why = match (real, listener.reach.traits().not_in_tests) {
            (Some(model), _) => format!(
                "{name} was asked, and a test asks no real model: give `replies`, or set models.{}.provider: script",
                model.name
            ),
            (None, Some(why)) => format!("{name} was asked, and {why}: give it an answer under `stand_ins`"),
            (None, None) => continue,
        };
        found.push((name.clone(), why));
    }
    found
}

/// The settings: each path with the text of its value, as written.
fn settings(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Vec<At<String>> {
    let mut settings = Vec::new();
    for entry in super::value::map(diagnostics, node, node.span, path).unwrap_or_default() {
        let whole = diagnostics.text();
        let written = whole.get(entry.value.span.start..entry.value.span.end).unwrap_or_default();
        if written.is_empty() || written.contains('\n') || written.starts_with(['|', '>']) {
            let message = format!("{path}.{}: a value on one line is needed here", entry.key);
            diagnostics.report(
                Code::ConfigKind,
                entry.at,
                &message,
                "PATH: VALUE, as models.main.provider: script",
            );
            continue;
        }
        let at = Span { start: entry.at.start, end: entry.value.span.end };
        settings.push(At { at, value: format!("{}={written}", entry.key) });
    }
    settings
}

/// A part of a text without the rest, at the same lines and columns.
fn alone(text: &str, at: Span) -> String {
    let before = text.get(..at.start).unwrap_or_default();
    let blank = |line: &str| " ".repeat(line.chars().count());
    let before: Vec<String> = before.split('\n').map(blank).collect();
    format!("{}{}", before.join("\n"), text.get(at.start..at.end).unwrap_or_default())
}

/// The items of a list.
fn list<'n>(diagnostics: &mut Diagnostics, node: &'n Node, path: &str, fix: &str) -> &'n [Node] {
    match &node.value {
        Value::List(items) => items,
        Value::Reported => &[],
        _ => {
            wrong_kind(diagnostics, node, path, "a list", fix);
            &[]
        }
    }
}
