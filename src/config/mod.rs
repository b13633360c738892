//! organism.yaml: from the text a composer wrote to a checked `Composition`, or to every mistake at once.
//!
//! `load` reads a file and the schemas it names; `read_source` reads the same composition back from the
//! self-contained text that is stored with a log. Both run the same checks. This room starts nothing,
//! looks for no program and reads no environment: whether a program can be run is said when it is started.

mod agents;
mod approval;
mod broadcast;
mod budgets;
mod bus;
mod clients;
mod completion;
mod compose;
mod declared;
mod desk;
mod diagnostic;
mod drawing;
mod eject;
mod folder;
mod grown;
mod keys;
mod log_kept;
mod log_path;
mod lookup;
mod meaning;
mod measure;
mod minds;
mod models;
mod notes;
mod params;
mod payloads;
mod prompt;
mod prove;
mod reach;
pub mod rehearsal;
mod schemas;
mod secrets;
mod sections;
mod settings;
mod source;
mod stretch;
mod traps;
mod value;
mod windows;
mod workflows;
mod yaml;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use systole_agent::spec::{Agent, Model};
use systole_workflow::spec::Workflow;

use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Section};
use systole_core::types::ids::{Digest, Name};
use desk::{Desk, Given, about_file};
use schemas::Shelf;
use source::Era;

pub use bus::{BusKey, Keyless, named_key};
pub use clients::TokenSource;
pub use completion::{ORGANISM_JSON_SCHEMA, TEST_JSON_SCHEMA, organism_json_schema, test_json_schema};
pub use declared::DEFAULT_LISTEN;
pub use diagnostic::{Diagnostic, Place, Refused, Second, Severity};
pub use drawing::{counted, page};
pub use eject::{Ejected, NotEjected, eject};
pub use folder::{CORE_XSD, ENVELOPE_XSD, TALK_XSD, WORKFLOW_XSD};
pub use grown::grown;
pub use keys::{Form, KEYS, Key};
pub use log_kept::{Durability, LogKept};
pub use schemas::PAYLOADS;
pub use workflows::bounds;
pub(super) use workflows::taken_ids;

/// An organism's file, read and checked: what the pump runs, and what the house around it needs.
#[derive(Clone, Debug)]
pub struct OrganismFile {
    /// What the pump runs.
    pub composition: Composition,
    /// The agents, whose listeners the composition has as values that are given.
    pub agents: Vec<Agent>,
    /// The workflows, whose listeners the composition has as values that are given.
    pub workflows: Vec<Workflow>,
    /// The models that they may ask.
    pub models: Vec<Model>,
    /// What the organism is for, in its composer's words.
    pub description: Option<String>,
    /// Where the log, or the copy of one in NATS, lies: beside the file, unless the file gives an absolute path.
    pub log: PathBuf,
    /// How the log is kept at the broker, where it is.
    pub log_kept: Option<LogKept>,
    /// Where the HTTP door listens, if the file says so. Otherwise on the default address, or on a free port.
    pub listen: Option<SocketAddr>,
    /// The address of the broker, where the file names one.
    pub bus: Option<String>,
    /// Whether the organism starts a broker of its own instead.
    pub managed: bool,
    /// The variable that holds what lets the pump in there.
    pub bus_key: Option<BusKey>,
    /// Where the credentials of its clients are to be found.
    pub tokens: Vec<TokenSource>,
    /// What does not hinder it, and may not be what its composer meant.
    pub warnings: Vec<Diagnostic>,
}

/// Reads and checks an organism's file and the schemas it names.
pub fn load(path: &Path) -> Result<OrganismFile, Refused> {
    load_set(path, &[])
}

/// The same with what is set besides, each as `PATH=VALUE`, in place of what the file says there.
pub fn load_set(path: &Path, settings: &[String]) -> Result<OrganismFile, Refused> {
    whole(path, settings, &[], Reads::All)
}

/// The same for a test that has the answers of all models itself: no script is looked for.
fn load_rehearsed(path: &Path, settings: &[String]) -> Result<OrganismFile, Refused> {
    whole(path, settings, &[], Reads::NoScripts)
}

/// The log of a file, for whoever reads that alone. Every mistake is told, but nobody tries what nobody
/// compiles.
pub fn log_of(path: &Path, settings: &[String]) -> Result<PathBuf, Refused> {
    whole(path, settings, &[], Reads::NoProof).map(|organism| organism.log)
}

/// The same for a program that brings some of the listeners itself, as Rust values: those need no `run`.
pub fn load_given(path: &Path, given: &[&str]) -> Result<OrganismFile, Refused> {
    whole(path, &[], given, Reads::All)
}

/// What is read beside the file itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    All,
    /// Schemas are not compiled.
    NoProof,
    /// Scripts of models are not looked for.
    NoScripts,
}

fn whole(path: &Path, settings: &[String], given: &[&str], reads: Reads) -> Result<OrganismFile, Refused> {
    let given = Given::These(given.iter().map(|name| (*name).to_owned()).collect());
    let text = folder::organism_text(path)?;
    let file = path.display().to_string();
    let as_typed = path.parent().unwrap_or(Path::new("")).to_owned();
    // Programs are started there later; a relative folder would then mean another one.
    let directory = std::path::absolute(as_typed.join(".")).unwrap_or_else(|_| as_typed.clone());
    let is_only_read = reads == Reads::NoProof;
    let shelf = folder::Folder { path: directory.clone(), as_typed, is_only_read };
    let has_scripts = reads != Reads::NoScripts;
    check(
        Page { file: &file, text, settings, lies: Some(path), has_scripts },
        &shelf,
        &directory,
        given,
        Era::NOW,
    )
}

/// Reads and checks a text as if it stood in that file: for an organism that lies nowhere.
pub fn load_text(path: &Path, text: &str) -> Result<OrganismFile, Refused> {
    let file = path.display().to_string();
    let as_typed = path.parent().unwrap_or(Path::new("")).to_owned();
    let directory = std::path::absolute(as_typed.join(".")).unwrap_or_else(|_| as_typed.clone());
    let shelf = folder::Folder { path: directory.clone(), as_typed, is_only_read: false };
    let page = Page { file: &file, text: text.into(), settings: &[], lies: None, has_scripts: true };
    check(page, &shelf, &directory, Given::These(Vec::new()), Era::NOW)
}

/// Reads a composition back from its source. A source knows no folder, because the same organism may
/// lie in different ones: `directory` is that of the organism that runs now.
pub fn read_source(source: &[u8], directory: &Path) -> Result<Composition, Refused> {
    let stored = source::read(source).map_err(|why| stored_badly(&why))?;
    let page = Page {
        file: "stored configuration",
        text: Arc::clone(&stored.file),
        settings: &stored.settings,
        lies: None,
        has_scripts: true,
    };
    check(page, &stored, directory, Given::Any, stored.era).map(|whole| whole.composition)
}

fn stored_badly(why: &str) -> Refused {
    let mend = Some("the version that wrote it, or a backup of the log");
    Refused(vec![about_file("stored configuration", Code::ConfigSource, why, mend)])
}

fn empty(file: &str) -> Refused {
    let mend = Some("organism: {name: hello} and a listener below `listeners:`");
    Refused(vec![about_file(file, Code::ConfigMissing, "the file is empty", mend)])
}

/// The path without the `.` that it may hold: people read it.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// What is read: the file's name and text, and what was set besides.
struct Page<'p> {
    file: &'p str,
    text: Arc<str>,
    settings: &'p [String],
    /// Where the file lies, beside which its log is to be; none for a text that lies nowhere and runs nowhere.
    lies: Option<&'p Path>,
    /// Whether the scripts of models are read.
    has_scripts: bool,
}

/// The one check that loading, `check` and reading back share.
fn check(
    Page { file, text, settings, lies, has_scripts }: Page<'_>,
    shelf: &dyn Shelf,
    directory: &Path,
    given: Given,
    era: Era,
) -> Result<OrganismFile, Refused> {
    let is_stored = matches!(given, Given::Any);
    let mut desk = Desk::new(file, &text, settings, given);
    let stretch = desk.file();
    let Some(mut root) = yaml::read(&mut desk, stretch) else {
        return Err(if desk.is_clean() { empty(file) } else { desk.refused() });
    };
    settings::apply(&mut desk, &mut root);
    if root.is_empty() && desk.is_clean() {
        return Err(empty(file));
    }
    let Some(mut declared) = declared::read(&mut desk, &root) else { return Err(desk.refused()) };
    let prompts = prompt::fetch(&mut desk, &mut declared, shelf);
    workflows::adapt(&mut desk, &mut declared);
    let composed = compose::compose(&mut desk, &declared, shelf, directory);
    if let Some(lies) = lies {
        log_path::check(&mut desk, &declared, &composed.collected, lies, directory);
    }
    bus::check(&mut desk, &declared);
    log_kept::check(&mut desk, declared.bus_at, declared.log_kept.as_ref());
    let mut thinking = minds::resolve(&mut desk, &declared, &composed, shelf, has_scripts);
    let mut following = workflows::resolve(&mut desk, &declared, &composed);
    thinking.warnings.append(&mut following.warnings);
    let is_finite = workflows::no_circle(&mut desk, &declared);
    let bounds = if is_finite { workflows::bounds(&following.workflows) } else { Vec::new() };
    // What was taken once is read back as it is.
    if !is_stored && desk.is_clean() {
        prompt::check(&mut desk, &declared, &thinking.agents);
        windows::check(&mut desk, &declared, &thinking);
        workflows::check(&mut desk, &declared, &thinking, &following.workflows, &bounds);
    }
    let (Some(organism), true) = (declared.name.clone(), desk.is_clean()) else {
        return Err(desk.refused());
    };
    let warnings = meaning::warnings(&desk, &declared, &composed, thinking.warnings);
    let source = source::write(&text, settings, &[&composed.collected.schemas, &prompts]);
    let composition = Composition {
        organism,
        hash: Digest::of(&source),
        source: source.into(),
        entry: composed.entry,
        listeners: composed.listeners,
        schemas: composed.collected.schemas,
        message_bytes: declared.message_bytes,
        budgets: era.has_budgets.then(|| workflows::allow(&declared, &bounds)),
        loops: era.has_budgets.then_some(declared.loops),
        broadcasts: composed.broadcasts,
        clients: composed.clients,
        sections: sections_of(&root, &following.workflows),
    };
    let (broker, log_kept) = match declared.log_kept {
        Some(kept) => (Some(kept.broker), kept.kept),
        None => (declared.bus, None),
    };
    let (bus, managed, bus_key) = reached(broker);
    Ok(OrganismFile {
        composition,
        agents: thinking.agents,
        workflows: following.workflows,
        models: thinking.models,
        description: declared.description,
        log: plain(&directory.join(declared.log)),
        listen: declared.listen,
        bus,
        managed,
        bus_key,
        log_kept,
        tokens: composed.tokens,
        warnings,
    })
}

/// The address of a broker, whether the organism starts it, and what lets the pump in.
fn reached(broker: Option<bus::Declaration>) -> (Option<String>, bool, Option<BusKey>) {
    match broker.map(|broker| (broker.at, broker.key)) {
        Some((Some(bus::At::Managed), _)) => (None, true, None),
        Some((Some(bus::At::Url(url)), key)) => (Some(url), false, key),
        Some((None, key)) => (None, false, key),
        None => (None, false, None),
    }
}

/// What the file says of each listener. The listener of a workflow reads the workflow again from it.
fn sections_of(root: &yaml::Node, workflows: &[Workflow]) -> BTreeMap<Name, Section> {
    let section = |workflow: &Workflow| {
        let name = Name::parse(&workflow.name).ok()?;
        let text = workflow.to_text().ok()?;
        Some((name, Section { path: format!("workflows.{}", workflow.name), text }))
    };
    let mut all = sections::of_listeners(root);
    all.extend(workflows.iter().filter_map(section));
    all
}
