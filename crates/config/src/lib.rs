//! organism.yaml: from the file's text to a checked `Composition`, or to all mistakes at once.
//!
//! `load` reads a file and the schemas it names. `read_source` reads the same composition back from the
//! self-contained text that is stored with a log. Both run the same checks. This crate starts nothing, searches
//! for no programs and reads no environment: whether a program can run shows when it is started.
//! `serve_listener` is apart from that: it is the program of a built-in listener, in a process of its own.

mod add_entry;
mod agent_configs;
mod agent_keys;
pub mod agentfile;
mod agents;
mod approval;
mod broadcast;
mod budgets;
mod bus;
mod changes;
mod client_rights;
mod clients;
mod completion;
mod compose;
mod delivery;
mod diagnostic;
mod diagnostics;
mod doors;
mod drawing;
mod eject;
mod era;
mod file_sections;
mod folder;
mod folders;
mod followers;
mod forms;
mod hidden_sdk;
mod key;
mod keys;
mod kinds;
mod limits;
pub mod listener_codes;
mod listener_keys;
mod listeners;
mod log_kept;
mod log_path;
mod lookup;
mod meaning;
mod measure;
mod model_warnings;
mod models;
mod names;
mod note_schemas;
mod organism_parts;
mod params;
mod party;
mod payloads;
mod pinning;
mod programs;
mod prompt;
mod prompt_checks;
mod proof;
mod prove;
mod reach;
pub mod rehearsal;
mod sandbox_paths;
mod sandboxes;
mod schedules;
mod schemas;
mod secrets;
mod section;
mod sections;
mod settings;
mod shared_folders;
mod source;
mod stretch;
mod tools;
mod traps;
mod tree;
mod value;
mod windows;
pub mod workflow_limits;
mod workflows;
mod written_payloads;
mod yaml;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use systole_agent::spec::{AgentSpec, ModelSpec};
use systole_workflow::spec::Workflow;

use diagnostics::{Diagnostics, Given, about_file};
use era::Era;
use file_sections::Declared;
use schemas::Shelf;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, ListenerSection};
use systole_core::types::ids::{Digest, Name};
use systole_core::types::public_origin::PublicOrigin;
use systole_follow::FollowerSettings;
use tree::{Node, Span};
use value::At;

pub use add_entry::add_entry;
pub use bus::{BusKey, BusKeyFault, named_key};
pub use changes::{ConfigChange, list_changes, needs_restart};
pub use client_rights::TokenSource;
pub use completion::{ORGANISM_JSON_SCHEMA, TEST_JSON_SCHEMA, organism_json_schema, test_json_schema};
pub use diagnostic::{Diagnostic, FileMistakes, FilePlace, SecondPlace, Severity};
pub use drawing::{count_mistakes, page};
pub use eject::{EjectedTexts, NotEjected, eject};
pub use file_sections::DEFAULT_LISTEN;
pub use folder::{CORE_XSD, ENVELOPE_XSD, TALK_XSD, WORKFLOW_XSD};
pub use key::{ConfigKey, KeyForm};
pub use keys::KEYS;
pub use kinds::{
    BuiltInSchema, CommandParts, FolderUse, OpenResult, RECORD, SERVERS, ServeResult, find_work_folder,
    install_folder, list_codes, list_schemas, lock_file, pin_file, serve_listener,
};
pub use log_kept::{Durability, LogKept};
pub use pinning::{McpServer, mcp_servers};
pub use programs::work_on_copy;
pub use proof::ProofSettings;
pub use schedules::ScheduleSettings;
pub use schemas::PAYLOADS;
pub use workflows::bounds;
pub(crate) use workflows::taken_ids;

/// An organism's file, read and checked: the data for the pump, and for the program around it.
#[derive(Clone, Debug)]
pub struct OrganismFile {
    /// The data for the pump.
    pub composition: Composition,
    /// The agents. In the composition, their listeners are Rust values.
    pub agents: Vec<AgentSpec>,
    /// The workflows. In the composition, their listeners are Rust values.
    pub workflows: Vec<Workflow>,
    /// The models that the agents may call.
    pub models: Vec<ModelSpec>,
    /// The purpose of the organism, in its author's words.
    pub description: Option<String>,
    /// The path of the log, or of the local copy of one in NATS: next to the file, unless the file gives an
    /// absolute path.
    pub log: PathBuf,
    /// How the broker stores the log, if it does.
    pub log_kept: Option<LogKept>,
    /// The address of the HTTP door, if the file sets it. Otherwise the default address or a free port is used.
    pub listen: Option<SocketAddr>,
    /// The address of its pages behind a TLS proxy, if there is one.
    pub public: Option<PublicOrigin>,
    /// Whether everyone who reaches the HTTP door may read the numbers for monitoring.
    pub are_metrics_open: bool,
    /// The address of the broker, if the file names one.
    pub bus: Option<String>,
    /// Whether the organism starts its own broker instead.
    pub managed: bool,
    /// The variable with the pump's credentials for the broker.
    pub bus_key: Option<BusKey>,
    /// The sources of the clients' credentials.
    pub tokens: Vec<TokenSource>,
    /// Who signs checkpoints of the log and where they go, if the file says so.
    pub proof: Option<ProofSettings>,
    /// Who gets the events of the log.
    pub followers: Vec<FollowerSettings>,
    /// What is sent at which times.
    pub schedules: Vec<ScheduleSettings>,
    /// Warnings: they do not prevent a run.
    pub warnings: Vec<Diagnostic>,
    /// The mistake if the folder of the log is missing.
    pub no_log_folder: Option<Diagnostic>,
}

impl OrganismFile {
    /// The address of the first page on which the broker shows that it syncs the log, if pages are read.
    pub fn find_monitor(&self) -> Option<&str> {
        self.log_kept.as_ref()?.first_page()
    }

    /// The same, for a command that needs the log or checks the whole file.
    pub fn with_log_folder(mut self) -> Result<OrganismFile, FileMistakes> {
        match self.no_log_folder.take() {
            Some(mistake) => Err(FileMistakes(vec![mistake])),
            None => Ok(self),
        }
    }
}

/// Reads and checks an organism's file and the schemas it names.
pub fn load(path: &Path) -> Result<OrganismFile, FileMistakes> {
    load_set(path, &[])
}

/// Like `load`, with settings of the form `PATH=VALUE` that replace values of the file.
pub fn load_set(path: &Path, settings: &[String]) -> Result<OrganismFile, FileMistakes> {
    whole(path, settings, &[], Reads::All)
}

/// Like `load_set`, for a test or a replay that has the answers of all models: no script is read.
pub fn load_rehearsed(path: &Path, settings: &[String]) -> Result<OrganismFile, FileMistakes> {
    whole(path, settings, &[], Reads::NoScripts)
}

/// The log path of a file, for commands that only read the log. All mistakes are reported, but schemas are not
/// compiled.
pub fn log_of(path: &Path, settings: &[String]) -> Result<PathBuf, FileMistakes> {
    whole(path, settings, &[], Reads::NoProof).map(|organism| organism.log)
}

/// The log path of a file that has mistakes, from its section `log` alone. `None` if not even that can be read.
pub fn log_alone(path: &Path) -> Option<PathBuf> {
    let text = folder::organism_text(path).ok()?;
    // What else is wrong with the file is reported by those who read all of it.
    let mut unheard = Diagnostics::new("", &text, &[], Given::Any, keys::is_required);
    let stretch = unheard.file();
    let root = yaml::read(&mut unheard, stretch)?;
    let log = file_sections::log_path(&root)?;
    let directory = std::path::absolute(path.parent().unwrap_or(Path::new("")).join(".")).ok()?;
    Some(plain(&directory.join(log)))
}

/// Like `load`, for a program that supplies some listeners as Rust values. These need no `run`.
pub fn load_given(path: &Path, given: &[&str]) -> Result<OrganismFile, FileMistakes> {
    whole(path, &[], given, Reads::All)
}

/// What to read, apart from the file itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    All,
    /// Schemas are not compiled.
    NoProof,
    /// The scripts of models are not read.
    NoScripts,
}

fn whole(
    path: &Path,
    settings: &[String],
    given: &[&str],
    reads: Reads,
) -> Result<OrganismFile, FileMistakes> {
    let given = Given::These(given.iter().map(|name| (*name).to_owned()).collect());
    let text = folder::organism_text(path)?;
    let file = path.display().to_string();
    let (shelf, directory) = open_folder(path, reads == Reads::NoProof);
    let has_scripts = reads != Reads::NoScripts;
    check(
        Page { file: &file, text, settings, lies: Some(path), has_scripts },
        &shelf,
        &directory,
        given,
        Era::NOW,
    )
}

/// Reads and checks a text as if it were in this file. For an organism that is not stored in a file.
pub fn load_text(path: &Path, text: &str) -> Result<OrganismFile, FileMistakes> {
    let file = path.display().to_string();
    let (shelf, directory) = open_folder(path, false);
    let page = Page { file: &file, text: text.into(), settings: &[], lies: None, has_scripts: true };
    check(page, &shelf, &directory, Given::These(Vec::new()), Era::NOW)
}

/// Reads a composition back from its source. A source stores no folder, because the same organism may be in
/// different ones: `directory` is the folder of the organism that runs now.
pub fn read_source(source: &[u8], directory: &Path) -> Result<Composition, FileMistakes> {
    read_stored(source, directory).map(|whole| whole.composition)
}

/// The same, with the agents and workflows. A source leaves out the JSON Schema of an agent's output.
pub fn read_stored(source: &[u8], directory: &Path) -> Result<OrganismFile, FileMistakes> {
    let stored = source::read(source).map_err(|why| stored_badly(&why))?;
    let page = Page {
        file: "stored configuration",
        text: Arc::clone(&stored.file),
        settings: &stored.settings,
        lies: None,
        has_scripts: true,
    };
    let mut whole = check(page, &stored, directory, Given::Any, stored.era)?;
    // Records name it by this hash, also if an older version wrote it.
    (whole.composition.hash, whole.composition.source) = (Digest::hash_bytes(source), source.into());
    Ok(whole)
}

/// Reads a stored source to start it again in the place of this file: the log, scripts and other files that a source
/// does not store are those of its folder.
pub fn load_stored(source: &[u8], path: &Path) -> Result<OrganismFile, FileMistakes> {
    let stored = source::read(source).map_err(|why| stored_badly(&why))?;
    let (folder, directory) = open_folder(path, false);
    let (text, settings, era) = (Arc::clone(&stored.file), stored.settings.clone(), stored.era);
    let shelf = source::StoredInFolder { stored, folder };
    let page =
        Page { file: "stored configuration", text, settings: &settings, lies: Some(path), has_scripts: true };
    let mut whole = check(page, &shelf, &directory, Given::These(Vec::new()), era)?;
    (whole.composition.hash, whole.composition.source) = (Digest::hash_bytes(source), source.into());
    Ok(whole)
}

/// The folder of an organism's file, and its absolute path: programs are started there later, when a relative path could
/// mean another folder.
fn open_folder(path: &Path, is_only_read: bool) -> (folder::Folder, PathBuf) {
    let as_typed = path.parent().unwrap_or(Path::new("")).to_owned();
    let directory = std::path::absolute(as_typed.join(".")).unwrap_or_else(|_| as_typed.clone());
    (folder::Folder { path: directory.clone(), as_typed, is_only_read }, directory)
}

fn stored_badly(why: &str) -> FileMistakes {
    let fix = Some("the version that wrote it, or a backup of the log");
    FileMistakes(vec![about_file("stored configuration", Code::ConfigSource, why, fix)])
}

fn empty(file: &str) -> FileMistakes {
    let fix = Some("organism: {name: hello} and a listener below `listeners:`");
    FileMistakes(vec![about_file(file, Code::ConfigMissing, "the file is empty", fix)])
}

/// The path for people, without `.` parts.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// The input: the file's name and text, and the settings.
struct Page<'p> {
    file: &'p str,
    text: Arc<str>,
    settings: &'p [String],
    /// The file's path, next to which the log is stored. `None` for a text that is not in a file and does not
    /// run.
    lies: Option<&'p Path>,
    /// Whether to read the scripts of models.
    has_scripts: bool,
}

/// Reads the text with the settings over it. `None` if it has mistakes or says nothing.
fn read_declared(diagnostics: &mut Diagnostics, era: Era) -> Option<(Node, Declared)> {
    let stretch = diagnostics.file();
    let mut root = yaml::read(diagnostics, stretch)?;
    settings::apply(diagnostics, &mut root);
    if root.is_empty() && diagnostics.is_clean() {
        return None;
    }
    let mut declared = file_sections::read(diagnostics, &root)?;
    let by_default = |value| At { at: Span::default(), value };
    declared.keys.limits.outage.get_or_insert(by_default(era.outage_ms));
    for party in &mut declared.parties {
        party.delivery.approval.expires.get_or_insert(by_default(era.approval_ms));
        if party.agent_config.is_some() {
            party.on_unknown.get_or_insert(era.agents_on_unknown);
        }
    }
    Some((root, declared))
}

/// What agents need of their prompts, windows and models, beyond what a stored configuration needs.
fn check_agents(diagnostics: &mut Diagnostics, declared: &Declared, thinking: &mut agent_configs::Thinking) {
    prompt_checks::check(diagnostics, declared, &thinking.agents);
    windows::check(diagnostics, declared, thinking);
    let warned = model_warnings::warnings(diagnostics, declared, thinking);
    thinking.warnings.extend(warned);
}

/// The checks that loading, `check` and reading back share.
fn check(
    Page { file, text, settings, lies, has_scripts }: Page<'_>,
    shelf: &dyn Shelf,
    directory: &Path,
    given: Given,
    era: Era,
) -> Result<OrganismFile, FileMistakes> {
    let (is_stored, scripts) = (matches!(given, Given::Any), (shelf, has_scripts));
    let mut diagnostics = Diagnostics::new(file, &text, settings, given, keys::is_required);
    let Some((root, mut declared)) = read_declared(&mut diagnostics, era) else {
        return Err(if diagnostics.is_clean() { empty(file) } else { diagnostics.into_mistakes() });
    };
    let prompts = prompt_checks::fetch(&mut diagnostics, &mut declared, shelf);
    workflows::adapt(&mut diagnostics, &mut declared);
    let mut composed = compose::compose(&mut diagnostics, &declared, shelf, directory);
    let warnings = check_paths(&mut diagnostics, &declared, &mut composed, lies, directory);
    let (followers, timed) = resolve_running(&mut diagnostics, &declared, lies);
    // A stored configuration signs nothing.
    let signed = lies.and(declared.keys.proof.as_ref()).map(|of| (&of.value, declared.log_kept.as_ref()));
    let proof = signed.and_then(|of| proof::resolve(&mut diagnostics, of, directory, shelf.is_proved()));
    let mut thinking = agent_configs::resolve(&mut diagnostics, &declared, &composed, scripts, era);
    let mut following = workflows::resolve(&mut diagnostics, &declared, &composed, era);
    thinking.warnings.extend(warnings.into_iter().chain(following.warnings.drain(..)));
    let bounds = workflows::check_circles(&mut diagnostics, &declared, &following.workflows);
    // A stored configuration was accepted before and must stay readable.
    if !is_stored && diagnostics.is_clean() {
        check_agents(&mut diagnostics, &declared, &mut thinking);
        workflows::check(&mut diagnostics, &declared, &thinking, &following.workflows, &bounds);
    }
    let (Some(organism), true) = (declared.name().cloned(), diagnostics.is_clean()) else {
        return Err(diagnostics.into_mistakes());
    };
    let no_log_folder = lies.and_then(|_| log_path::missing_folder(&diagnostics, &declared, directory));
    let warnings = meaning::warnings(&diagnostics, &declared, &composed, thinking.warnings);
    let source = source::write(&text, settings, &[&composed.collected.schemas, &prompts]);
    let composition = Composition {
        organism,
        hash: Digest::hash_bytes(&source),
        source: source.into(),
        entry: composed.entry,
        listeners: composed.listeners,
        schemas: composed.collected.schemas,
        message_bytes: usize::try_from(declared.keys.limits.message.value).unwrap_or(limits::MESSAGE_BYTES),
        outage_ms: declared.keys.limits.outage.as_ref().map_or(0, |outage| outage.value),
        stuck_ms: declared.keys.limits.stuck.value,
        queue_calls: declared.keys.limits.queue.value,
        budgets: era.has_budgets.then(|| workflows::allow(&declared, &thinking.agents, &bounds, era)),
        loops: era.has_budgets.then(|| declared.keys.loops.limits()),
        broadcasts: composed.broadcasts,
        clients: composed.clients,
        doors: declared.keys.doors.settings(),
        sections: sections_of(&root, &following.workflows),
    };
    let schedules = schedules::make_payloads(&mut diagnostics, timed, &composition, !shelf.is_proved());
    if !diagnostics.is_clean() {
        return Err(diagnostics.into_mistakes());
    }
    let ((bus, managed, bus_key), log_kept) = split_log(declared.log_kept, declared.keys.bus);
    Ok(OrganismFile {
        composition,
        agents: thinking.agents,
        workflows: following.workflows,
        models: thinking.models,
        description: declared.organism.description.map(|description| description.value),
        log: plain(&directory.join(&declared.keys.log.path.value)),
        listen: declared.keys.console.listen.map(|listen| listen.value),
        public: declared.keys.console.public.map(|public| public.value),
        are_metrics_open: declared.keys.console.metrics.is_some(),
        bus,
        managed,
        bus_key,
        log_kept,
        tokens: composed.tokens,
        proof,
        followers,
        schedules,
        warnings,
        no_log_folder,
    })
}

/// Checks the paths of the log, of searched folders and of sandboxes, and tells each sandbox what must stay outside. A text
/// that is in no file has none. Returns warnings.
fn check_paths(
    diagnostics: &mut Diagnostics,
    declared: &file_sections::Declared,
    composed: &mut compose::Composed,
    file: Option<&Path>,
    directory: &Path,
) -> Vec<(usize, Diagnostic)> {
    let Some(file) = file else { return Vec::new() };
    log_path::check(diagnostics, declared, &composed.collected, file, directory);
    let place = organism_parts::OrganismPlace { file, directory, schemas: &composed.collected.schemas };
    let mut warnings = folders::check(diagnostics, declared, place);
    let (outside, of_sandboxes) = sandbox_paths::check(diagnostics, declared, place);
    outside.keep_from_all(&mut composed.listeners);
    warnings.extend(of_sandboxes);
    warnings
}

/// Checks that what needs a broker has one, and that a log kept there has only one.
fn check_broker(diagnostics: &mut Diagnostics, declared: &file_sections::Declared) {
    let names_broker = declared.bus().is_some() || declared.log_kept.is_some();
    let over_nats = declared.parties.iter().filter_map(|party| Some((party.path(), party.nats?)));
    bus::check(diagnostics, names_broker, over_nats);
    log_kept::check(diagnostics, declared.keys.own.value_place("bus"), declared.log_kept.as_ref());
}

/// What only a file that runs has: followers, and schedules with the time zones of this machine. Checks the broker too.
fn resolve_running(
    diagnostics: &mut Diagnostics,
    declared: &Declared,
    lies: Option<&Path>,
) -> (Vec<FollowerSettings>, Vec<schedules::TimedSchedule>) {
    check_broker(diagnostics, declared);
    if lies.is_none() {
        return (Vec::new(), Vec::new());
    }
    let followers = followers::resolve(diagnostics, &declared.keys.follow.value, &declared.parties);
    (followers, schedules::resolve(diagnostics, &declared.keys.schedules.value, &declared.parties))
}

/// The broker, and how it stores the log, if it does.
fn split_log(
    kept: Option<log_kept::Kept>,
    bus: Option<value::At<Option<bus::BusDeclaration>>>,
) -> ((Option<String>, bool, Option<BusKey>), Option<LogKept>) {
    match kept {
        Some(kept) => (split_broker(Some(kept.broker)), kept.kept),
        None => (split_broker(bus.and_then(|bus| bus.value)), None),
    }
}

/// The address of a broker, whether the organism starts it, and the variable of the pump's key.
fn split_broker(broker: Option<bus::BusDeclaration>) -> (Option<String>, bool, Option<BusKey>) {
    match broker.map(|broker| (broker.at, broker.key)) {
        Some((Some(bus::BrokerPlace::Managed), _)) => (None, true, None),
        Some((Some(bus::BrokerPlace::Url(url)), key)) => (Some(url), false, key),
        Some((None, key)) => (None, false, key),
        None => (None, false, None),
    }
}

/// The section of each listener. The listener of a workflow parses the workflow from it again.
fn sections_of(root: &tree::Node, workflows: &[Workflow]) -> BTreeMap<Name, ListenerSection> {
    let section = |workflow: &Workflow| {
        let name = Name::parse(&workflow.name).ok()?;
        let text = workflow.to_text().ok()?;
        Some((name, ListenerSection { path: format!("workflows.{}", workflow.name), text }))
    };
    let mut all = sections::of_listeners(root);
    all.extend(workflows.iter().filter_map(section));
    all
}
