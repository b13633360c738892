//! Test files (`*.test.yaml`): from the text to tests that can be run, or to every mistake in it at once.
//!
//! The organism of each test is loaded here with what the test sets, and each payload is built by the schemas of that
//! organism. So a wrong name or field is reported with its place before anything starts. Nothing is started here.

mod answers;
mod payload;
mod steps;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use systole_agent::model::script::Script;
use systole_agent::spec::Provider;

use super::desk::{Desk, Given, SET};
use super::diagnostic::{Place, Refused};
use super::value::{At, Fields, fields, text, wrong_kind};
use super::yaml::{self, Node, Span, Value};
use super::{OrganismFile, folder, load_rehearsed, load_set};
use systole_core::types::codes::Code;
use systole_core::types::composition::Reach;
use systole_core::types::ids::Name;

pub use answers::{StandIn, StandInAnswer};
pub use payload::{Exact, Expected};
pub use steps::{Decision, Failure, Question, REPORT, Sending, Step, Text};
pub use table::{TEST_KEYS, TOP};

/// The file name of an organism that a test does not name.
const ORGANISM: &str = "organism.yaml";

/// The tests of one file.
pub struct TestFile {
    /// The tests, in the order of the file.
    pub tests: Vec<Rehearsal>,
}

/// One test.
pub struct Rehearsal {
    /// What it shows.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// The organism, as the test sets it.
    pub organism: OrganismFile,
    /// The folder of the organism's file.
    pub directory: PathBuf,
    /// The script of all models, if the test file gives one.
    pub replies: Option<Replies>,
    /// What answers in place of listeners.
    pub stand_ins: BTreeMap<Name, StandIn>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// A script that a test file gives.
#[derive(Clone)]
pub struct Replies {
    /// The file that it is in.
    pub file: PathBuf,
    /// The script.
    pub script: Arc<Script>,
    /// Whether it belongs to one test alone.
    pub is_own: bool,
}

/// What a file and a test both may say.
struct Setup {
    settings: Vec<At<String>>,
    replies: Option<Replies>,
    stand_ins: Vec<answers::Written>,
    /// Whether all settings and replies could be read, so that the organism is the one that is meant.
    is_read: bool,
}

/// Reads and checks a test file, with the organisms that it names.
pub fn load(path: &Path) -> Result<TestFile, Refused> {
    let text = folder::organism_text(path).map_err(|mut refused| {
        for one in &mut refused.0 {
            one.mend = Some("a test file: UTF-8, YAML, and not too large".to_owned());
        }
        refused
    })?;
    let mut desk = Desk::new(&path.display().to_string(), &text, &[], Given::These(Vec::new()));
    let stretch = desk.file();
    let Some(root) = yaml::read(&mut desk, stretch) else {
        if desk.is_clean() {
            desk.tell(Code::ConfigMissing, stretch, "the file is empty", Some("tests: with a first test"));
        }
        return Err(desk.refused());
    };
    let reader = Reader { path, folder: path.parent().unwrap_or(Path::new("")).to_owned() };
    let tests = reader.tests(&mut desk, &root);
    if desk.is_clean() { Ok(TestFile { tests }) } else { Err(desk.refused()) }
}

/// Reads one file.
struct Reader<'p> {
    path: &'p Path,
    folder: PathBuf,
}

/// A test as it is written.
struct Written {
    name: At<String>,
    setup: Setup,
    steps: Vec<steps::Written>,
}

impl Reader<'_> {
    fn tests(&self, desk: &mut Desk, root: &Node) -> Vec<Rehearsal> {
        let Some(top) = fields(desk, root, root.span, TOP, "") else { return Vec::new() };
        let setup = self.setup(desk, &top, false);
        let organism = top.get("organism").and_then(|(node, path)| text(desk, node, &path));
        let organism = self.organism(desk, organism, root.span);
        let written = self.written(desk, &top);
        let Some(organism) = organism.filter(|_| setup.is_read) else { return Vec::new() };
        let (mut tests, mut elsewhere) = (Vec::new(), Vec::new());
        for test in written.into_iter().filter(|test| test.setup.is_read) {
            match self.test(desk, &organism, &setup, test) {
                Ok(test) => tests.push(test),
                // The tests of a file mostly share one organism, and with it its mistakes.
                Err(refused) => {
                    let new: Vec<_> = refused.0.into_iter().filter(|one| !elsewhere.contains(one)).collect();
                    elsewhere.extend(new);
                }
            }
        }
        elsewhere.into_iter().for_each(|one| desk.tell_at(root.span.start, one));
        tests
    }

    /// The organism's file: the one that is named, or the nearest above.
    fn organism(&self, desk: &mut Desk, named: Option<At<String>>, at: Span) -> Option<PathBuf> {
        if let Some(named) = named {
            return Some(self.folder.join(named.value));
        }
        let start = std::path::absolute(self.folder.join(".")).unwrap_or_else(|_| self.folder.clone());
        let found = start.ancestors().position(|folder| folder.join(ORGANISM).is_file());
        if found.is_none() {
            let told = "there is no organism.yaml in the folder of this file, nor above it";
            desk.tell(Code::ConfigMissing, at, told, Some("organism: PATH, from the folder of this file"));
        }
        // People read the path: as short as it can be.
        found.map(|up| self.folder.join("../".repeat(up)).join(ORGANISM))
    }

    fn written(&self, desk: &mut Desk, top: &Fields<'_>) -> Vec<Written> {
        let mend = "tests: with a list of tests, each with `name` and `steps`";
        let Some((node, path)) = top.need(desk, "tests", mend) else { return Vec::new() };
        let items = list(desk, node, &path, "a list of tests, each with `name` and `steps`");
        if matches!(&node.value, Value::List(none) if none.is_empty()) {
            desk.tell(
                Code::ConfigMissing,
                node.span,
                "`tests` has no test",
                Some("- name: and steps: below it"),
            );
        }
        let mut tests = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let path = format!("tests[{}]", number + 1);
            let Some(own) = fields(desk, item, item.span, "#test.tests", &path) else { continue };
            let name = own.need(desk, "name", "name: what the test shows");
            let name = name.and_then(|(node, path)| text(desk, node, &path));
            let setup = self.setup(desk, &own, true);
            let steps = own.need(desk, "steps", "steps: with a list of steps, as - send: {ask: Hello}");
            let steps = steps.map(|(node, path)| steps::read(desk, node, &path, &self.folder));
            if let (Some(name), Some(steps)) = (name, steps) {
                tests.push(Written { name, setup, steps });
            }
        }
        tests
    }

    fn setup(&self, desk: &mut Desk, own: &Fields<'_>, is_own: bool) -> Setup {
        let mistakes = desk.mistakes();
        let settings = own.get("set").map(|(node, path)| settings(desk, node, &path)).unwrap_or_default();
        let replies = own.get("replies").and_then(|(node, path)| self.replies(desk, node, &path, is_own));
        let is_read = desk.mistakes() == mistakes;
        let stand_ins = own.get("stand_ins");
        let stand_ins = stand_ins.map(|(node, path)| answers::read(desk, node, &path, &self.folder));
        Setup { settings, replies, stand_ins: stand_ins.unwrap_or_default(), is_read }
    }

    /// A script: a file, or answers by agent in this one. What is wrong with it is told with its line here.
    fn replies(&self, desk: &mut Desk, node: &Node, path: &str, is_own: bool) -> Option<Replies> {
        let mend = "a file of answers, or answers by agent, as docs/reference/script.md has them";
        let (file, text) = match &node.value {
            Value::Map(_) => (self.path.to_owned(), alone(&desk.text(), node.span)),
            Value::Text { text, .. } if !text.is_empty() => {
                let file = self.folder.join(text);
                match std::fs::read_to_string(&file) {
                    Ok(text) => (file, text),
                    Err(error) => {
                        let told = format!("{path}: {text}: {}", crate::edges::system::told(&error));
                        desk.tell(Code::ConfigUnreadable, node.span, &told, Some(mend));
                        return None;
                    }
                }
            }
            _ => {
                wrong_kind(desk, node, path, "a file or a map", mend);
                return None;
            }
        };
        match Script::read(&text) {
            Ok(script) => Some(Replies { file, script: Arc::new(script), is_own }),
            Err(unusable) => {
                let told = format!("{path}: {}: {unusable}", file.display());
                desk.tell(Code::ConfigUnreadable, node.span, &told, Some(mend));
                None
            }
        }
    }

    /// A test with its organism, in which its names and payloads are looked up.
    fn test(
        &self,
        desk: &mut Desk,
        file: &Path,
        shared: &Setup,
        test: Written,
    ) -> Result<Rehearsal, Refused> {
        let set: Vec<&At<String>> = shared.settings.iter().chain(&test.setup.settings).collect();
        let settings: Vec<String> = set.iter().map(|one| one.value.clone()).collect();
        let replies = test.setup.replies.or_else(|| shared.replies.clone());
        let load = if replies.is_some() { load_rehearsed } else { load_set };
        let mut organism = load(file, &settings).map_err(|mut refused| {
            // What is wrong with a setting is told where the test says it.
            for one in refused.0.iter_mut().filter(|one| one.place.file == SET) {
                let found = one.place.line.checked_sub(1).and_then(|line| set.get(line));
                one.place = found.map_or_else(|| one.place.clone(), |set| desk.place(set.at));
            }
            refused
        })?;
        let written = shared.stand_ins.iter().chain(&test.setup.stand_ins);
        let mut stand_ins = answers::resolve(desk, &organism.composition, written);
        if let Some(replies) = &replies {
            for model in &mut organism.models {
                (model.provider, model.file) = (Provider::Script, Some(replies.file.clone()));
            }
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
        let place = desk.place(test.name.at);
        let steps = steps::resolve(desk, &organism.composition, test.steps);
        let directory = file.parent().unwrap_or(Path::new("")).join(".");
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        Ok(Rehearsal { name: test.name.value, place, organism, directory, replies, stand_ins, steps })
    }
}

/// Listeners that a test does not start: a real model costs money and answers something else each time, and there is no
/// broker. The test fails if one of them is asked.
fn not_started(organism: &OrganismFile) -> Vec<(Name, String)> {
    let provider = |model: &str| organism.models.iter().find(|one| one.name == model);
    let mut found = Vec::new();
    for listener in organism.composition.listeners.values() {
        let name = &listener.name;
        let agent = organism.agents.iter().find(|agent| agent.name == name.as_str());
        let own = agent.and_then(|agent| provider(&agent.model));
        let others = own.iter().flat_map(|own| &own.fallback).filter_map(|other| provider(other));
        let real = own.into_iter().chain(others).find(|model| model.provider != Provider::Script);
        let why = match (real, &listener.reach) {
            (Some(model), _) => format!(
                "{name} was asked, and a test asks no real model: give `replies`, or set models.{}.provider: script",
                model.name
            ),
            (None, Reach::Nats | Reach::Hosted) => {
                format!("{name} was asked, and a test has no broker: give it an answer under `stand_ins`")
            }
            (None, _) => continue,
        };
        found.push((name.clone(), why));
    }
    found
}

/// What is set: each path with the text of its value, as it is written.
fn settings(desk: &mut Desk, node: &Node, path: &str) -> Vec<At<String>> {
    let mut settings = Vec::new();
    for entry in super::value::map(desk, node, node.span, path).unwrap_or_default() {
        let whole = desk.text();
        let written = whole.get(entry.value.span.start..entry.value.span.end).unwrap_or_default();
        if written.is_empty() || written.contains('\n') || written.starts_with(['|', '>']) {
            let told = format!("{path}.{}: a value on one line is needed here", entry.key);
            desk.tell(
                Code::ConfigKind,
                entry.at,
                &told,
                Some("PATH: VALUE, as models.main.provider: script"),
            );
            continue;
        }
        let at = Span { start: entry.at.start, end: entry.value.span.end };
        settings.push(At { at, value: format!("{}={written}", entry.key) });
    }
    settings
}

/// A part of a text alone, in the lines and columns in which it is.
fn alone(text: &str, at: Span) -> String {
    let before = text.get(..at.start).unwrap_or_default();
    let blank = |line: &str| " ".repeat(line.chars().count());
    let before: Vec<String> = before.split('\n').map(blank).collect();
    format!("{}{}", before.join("\n"), text.get(at.start..at.end).unwrap_or_default())
}

/// The items of a list.
fn list<'n>(desk: &mut Desk, node: &'n Node, path: &str, mend: &str) -> &'n [Node] {
    match &node.value {
        Value::List(items) => items,
        Value::Told => &[],
        _ => {
            wrong_kind(desk, node, path, "a list", mend);
            &[]
        }
    }
}
