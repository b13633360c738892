//! The kinds of built-in listeners: each has a key below `listeners.NAME` that stands in place of a program.
//!
//! A kind is one file in the folder of its listener: its keys with their rows, its schemas, its codes, what holds without
//! a key, how its keys are read, and what its program needs. The others walk `KINDS` and name no kind.

/// Codes of a listener, each with its meaning and the fix.
#[macro_export]
macro_rules! listener_codes {
    ($($code:literal $meaning:literal try $fix:literal;)*) => { &[$(($code, $meaning, $fix),)*] };
}

mod on_folder;

// The sections of the listeners: each is in the folder of its listener, and a module of this crate.
#[path = "../../../../listeners/code/section.rs"]
mod code;
#[path = "../../../../listeners/mcp/section/mod.rs"]
mod mcp;
#[path = "../../../../listeners/workspace/section.rs"]
mod workspace;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use systole_core::types::composition::{Listener, ListenerProgram, OnUnknown, ProgramSandbox, Reach, Schema};
use systole_core::types::ids::Name;
use systole_workspace::CommandStart;

use super::delivery::UnknownOutcome;
use super::diagnostics::Diagnostics;
use super::forms::WordOf;
use super::key::{ConfigKey, TIME_UNITS, show_measure};
use super::schemas::Shelf;
use super::section::{Form, section};
use super::tree::Span;
use super::value::At;
use crate::limits;

use mcp::McpServerKeys;
pub use mcp::{RECORD, SERVERS, install_folder, lock_file, pin_file};
pub(super) use on_folder::{STATE_FOLDER, own_folder_in};

section! {
    /// The keys of all kinds, in the order of the table of keys.
    pub(super) KindKeys with own {
        mcp: same(&[]) <mcp::McpKeys> "";
        code: same(&[]) <code::CodeKeys> "";
        folder: same(&[]) <on_folder::FolderKeys> "";
        workspace: same(&[]) <workspace::WorkspaceKeys> "";
    }
}

/// Every kind. If a listener has the keys of several, it is of the first.
pub(super) const KINDS: [&BuiltInKind; 3] = [&mcp::KIND, &code::KIND, &workspace::KIND];

/// A kind of built-in listeners.
pub(super) struct BuiltInKind {
    /// Its key below `listeners.NAME`, which is also the first word of its program.
    pub(super) key: &'static str,
    /// Its vocabularies. Their elements cannot be named in a file: its listeners have them anyway.
    pub(super) schemas: &'static [BuiltInSchema],
    /// What each of its listeners accepts and returns: vocabularies with the names of elements.
    pub(super) accepts: &'static [VocabularyElements],
    pub(super) returns: &'static [VocabularyElements],
    /// The codes of its failures and remarks, each with its meaning and the fix.
    pub(super) codes: &'static [(&'static str, &'static str, &'static str)],
    pub(super) defaults: KindDefaults,
    /// What it does with the folder that its key names, if it names one.
    pub(super) folder: Option<FolderUse>,
    /// Whether it sends messages to itself, which a person can hold.
    pub(super) calls_itself: bool,
    /// Makes a schema for each of its listeners, with a namespace below that of the kind.
    pub(super) make_schema: Option<SchemaMaker>,
    /// Keys of other listeners that it does not have, why, the fix, and what its own key then is to a reader.
    pub(super) unfit: &'static [&'static str],
    unfit_why: &'static str,
    unfit_fix: &'static str,
    unfit_shown: &'static str,
    /// Reads the keys of the listener with this name.
    read: fn(&mut Diagnostics, &KindKeys, At<&str>) -> KindPart,
    /// Reports keys that only it has, at a listener of another kind or of none.
    refuse: fn(&mut Diagnostics, &KindKeys),
    /// The words of its program behind its key. Opens in the sandbox what it needs.
    pub(super) words: fn(&KindPart, &KindStart<'_>, Option<&mut ProgramSandbox>) -> Vec<String>,
    /// Is its program, with these words. `None` if they fit no listener.
    serve: fn(&[&str], &CommandParts) -> Option<ServeResult>,
}

/// A schema that is part of this program: its name, which ends in a slash, so that no file has it, and its text.
pub type BuiltInSchema = (&'static str, &'static [u8]);

/// A vocabulary and the names of some of its elements.
pub(super) type VocabularyElements = (&'static str, &'static [&'static str]);

/// What holds for a listener whose keys say nothing else.
pub(super) struct KindDefaults {
    pub(super) turns: u32,
    pub(super) timeout_ms: u64,
    pub(super) in_flight: usize,
    pub(super) on_unknown: OnUnknown,
}

impl KindDefaults {
    /// Those of a program.
    pub(super) const OF_PROGRAM: KindDefaults = KindDefaults {
        turns: 1,
        timeout_ms: 30 * limits::SECOND,
        in_flight: 1,
        on_unknown: OnUnknown::Retry,
    };
}

/// What a listener does with its folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolderUse {
    /// It searches it.
    Searches,
    /// It changes its files.
    Changes,
}

/// The end of a listener's program, or why it cannot work.
pub type ServeResult = Result<ExitCode, String>;
/// What starts commands, or why nothing does.
pub type OpenResult = Result<Arc<dyn CommandStart>, String>;

/// What the program of a kind can start commands with.
pub struct CommandParts {
    /// The word before the sandbox of the commands.
    pub word: &'static str,
    /// Starts commands, in this sandbox if there is one.
    pub open: fn(Option<&str>) -> OpenResult,
}

/// A built-in listener of the file.
pub(super) struct BuiltInListener {
    pub(super) kind: &'static BuiltInKind,
    /// The place of the value of its key.
    pub(super) at: Span,
    pub(super) part: KindPart,
}

impl BuiltInListener {
    /// The folder that it changes, as agents know it, if it is a workspace.
    pub(super) fn find_workspace(&self) -> Option<&str> {
        let changes = matches!(self.kind.folder, Some(FolderUse::Changes));
        changes.then(|| self.part.seen_as.as_deref().unwrap_or(self.part.root()))
    }
}

/// What the keys of a kind say about one listener.
#[derive(Default)]
pub(super) struct KindPart {
    /// The folder that it works on.
    pub(super) folder: Option<At<String>>,
    /// The folder as agents know it, if that is another path.
    seen_as: Option<String>,
    /// The vocabulary of its kind that it does not take.
    pub(super) left_out: Option<&'static str>,
    /// Its rules, as the last words of its program: a key and a pattern, again and again.
    rules: Vec<String>,
    /// The program of someone else that it stands in front of.
    pub(super) run: Vec<String>,
    /// The environment variables that its program gets.
    pub(super) pass: Vec<String>,
    /// Files and folders that only its program may read: what each is, and its path from the organism's folder.
    pub(super) files: Vec<(String, String)>,
    /// The MCP server.
    pub(super) server: Option<McpServerKeys>,
}

impl KindPart {
    fn root(&self) -> &str {
        self.folder.as_ref().map_or(".", |folder| &folder.value)
    }
}

/// Where and how the program of a built-in listener starts.
pub(super) struct KindStart<'s> {
    pub(super) listener: &'s str,
    /// The folder of the organism's file.
    pub(super) directory: &'s Path,
    /// The log, from that folder.
    pub(super) log: &'s str,
    pub(super) timeout_ms: u64,
}

/// Makes the schema of a listener with a key at this place. `None` after a mistake was reported.
type SchemaMaker = fn(&KindPart, &mut Diagnostics, &dyn Shelf, At<&str>) -> Option<Arc<[u8]>>;

/// The beginning of the name of every schema that is made for a listener.
pub(super) const PINNED: &str = "pinned/";

/// The name of the schema that is made for a listener.
pub(super) fn name_schema(listener: &str) -> String {
    format!("{PINNED}{listener}/")
}

const TWO_FOLDERS: &str = "a listener either searches a folder or changes it";

/// The kind of a listener with these keys, and the place of the value of its key.
pub(super) fn find_named(keys: &KindKeys) -> Option<(&'static BuiltInKind, Span)> {
    KINDS.into_iter().find_map(|kind| Some((kind, keys.own.value_place(kind.key)?)))
}

/// Reads the keys of a built-in listener. `None` if the listener is none.
pub(super) fn read_kind(
    diagnostics: &mut Diagnostics,
    keys: &KindKeys,
    listener: &str,
) -> Option<BuiltInListener> {
    let found = find_named(keys);
    // A stored file was accepted before.
    let is_stored = diagnostics.is_stored();
    let is_other = |kind: &&BuiltInKind| !is_stored && found.is_none_or(|(found, _)| found.key != kind.key);
    let others: Vec<&BuiltInKind> = KINDS.into_iter().filter(is_other).collect();
    others.iter().for_each(|other| (other.refuse)(diagnostics, keys));
    if !is_stored && found.is_none_or(|(kind, _)| kind.folder.is_none()) {
        on_folder::refuse_deny(diagnostics, keys);
    }
    let (kind, at) = found?;
    let mut beside = |key: &str, why: &str, fix: &str, shown: &'static str| {
        if let Some(second) = keys.own.value_place(key) {
            let message = format!("{}.{key}: {why}", keys.own.path);
            diagnostics.report_value_beside(second, &message, fix, (at, shown));
        }
    };
    let (why, fix, shown) = (kind.unfit_why, kind.unfit_fix, kind.unfit_shown);
    kind.unfit.iter().for_each(|key| beside(key, why, fix, shown));
    for other in others {
        let (why, fix, shown) = match kind.folder.and(other.folder) {
            Some(_) => (TWO_FOLDERS, "two listeners", "it searches this one"),
            None => (why, fix, shown),
        };
        beside(other.key, why, fix, shown);
    }
    let part = (kind.read)(diagnostics, keys, At { at, value: listener });
    Some(BuiltInListener { kind, at, part })
}

/// The kind with this key.
pub(super) fn find_kind(key: &str) -> Option<&'static BuiltInKind> {
    KINDS.into_iter().find(|kind| kind.key == key)
}

/// The built-in schemas, each with the key of its kind.
pub fn list_schemas() -> impl Iterator<Item = (&'static str, BuiltInSchema)> {
    KINDS.into_iter().flat_map(|kind| kind.schemas.iter().map(|schema| (kind.key, *schema)))
}

/// The codes of the built-in listeners, each with its meaning and the fix.
pub fn list_codes() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    KINDS.into_iter().flat_map(|kind| kind.codes.iter().copied())
}

/// The folder that a built-in listener works on, from that of the organism's file, with the key of its kind and what it
/// does there.
pub fn find_work_folder(listener: &Listener) -> Option<(&'static str, &str, FolderUse)> {
    let Reach::Process(ListenerProgram { run, adapter, .. }) = &listener.reach else { return None };
    let [key, root, ..] = adapter.as_slice() else { return None };
    let kind = find_kind(key).filter(|_| run.is_empty())?;
    Some((kind.key, root, kind.folder?))
}

/// Is the program of a built-in listener. The words are those with which it was started. Returns at its end, or why it
/// cannot work.
pub fn serve_listener(words: &[&str], commands: &CommandParts) -> ServeResult {
    let done = words.split_first().and_then(|(key, rest)| (find_kind(key)?.serve)(rest, commands));
    done.unwrap_or_else(|| Err(format!("-listen-as: these words name no listener: {}", words.join(" "))))
}

/// Prefix of the namespaces of listeners and organisms. Those of reserved names are built-in.
const NAMESPACES: &str = "https://xml-pipeline.org/ns/";
/// Names of the vocabularies that belong to no kind, in addition to the reserved names.
const VOCABULARIES: [&str; 4] = ["envelope", "meta", "talk", "workflow"];
const HOUSE_URN: &str = "urn:systole:";

/// Whether a namespace is reserved for built-in schemas, in any version.
pub(super) fn belongs_to_house(namespace: &str) -> bool {
    let Some(rest) = namespace.strip_prefix(NAMESPACES) else { return namespace.starts_with(HOUSE_URN) };
    let name = rest.split('/').next().unwrap_or_default();
    let is_of = |kind: &&BuiltInKind| {
        let mut names = kind.schemas.iter().map(|(name, _)| name.trim_end_matches('/'));
        // Below the kind's name each made schema has a namespace; those of its own schemas are versions.
        names.any(|own| own == name && (kind.make_schema.is_none() || rest.starts_with(&format!("{own}/v"))))
    };
    KINDS.iter().any(is_of)
        || VOCABULARIES.contains(&name)
        || Name::parse(name).is_ok_and(|name| name.is_reserved())
}

/// The built-in schemas as a composition has them.
pub(super) fn copy_schemas() -> impl Iterator<Item = Schema> {
    list_schemas().map(|(_, (name, text))| Schema { name: name.to_owned(), text: text.into() })
}

/// Their keys as a sentence lists them: those that work on a folder first.
pub(super) fn list_kind_keys() -> Vec<&'static str> {
    let (folders, others): (Vec<_>, Vec<_>) = KINDS.into_iter().partition(|kind| kind.folder.is_some());
    folders.into_iter().chain(others).map(|kind| kind.key).collect()
}

/// Writes the kinds into the texts of a key: `{each kind}` and `{any kind}` list them, and `{kinds}` is what holds without
/// the key for those that differ from a program.
pub(super) fn fill_texts(key: &mut ConfigKey) {
    let name = key.path.rsplit('.').next().unwrap_or_default();
    for text in [&mut key.default, &mut key.meaning] {
        if text.contains(" kind}") || text.contains("{kinds}") {
            let keys = list_kind_keys();
            let filled = text
                .replace("{each kind}", &join_keys(&keys, "and"))
                .replace("{any kind}", &join_keys(&keys, "or"))
                .replace("{kinds}", &show_defaults(name));
            // The table of keys lives as long as the program.
            *text = filled.leak();
        }
    }
}

fn join_keys(keys: &[&str], word: &str) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    match quoted.as_slice() {
        [others @ .., last] if !others.is_empty() => format!("{} {word} {last}", others.join(", ")),
        _ => quoted.join(""),
    }
}

/// The defaults of the kinds for a key, such as ", 4 with `workspace`, or 10 with `mcp`". The smallest comes first.
fn show_defaults(key: &str) -> String {
    let value = |of: &KindDefaults| match key {
        "turns" => (u64::from(of.turns), of.turns.to_string()),
        "timeout" => (of.timeout_ms, show_time(of.timeout_ms)),
        "in_flight" => (of.in_flight as u64, of.in_flight.to_string()),
        "on_unknown" => (of.on_unknown as u64, <WordOf<UnknownOutcome>>::show(&of.on_unknown)),
        _ => (0, "{}".to_owned()),
    };
    let mut groups: BTreeMap<(u64, String), Vec<&str>> = BTreeMap::new();
    for kind in KINDS {
        groups.entry(value(&kind.defaults)).or_default().push(kind.key);
    }
    if key != "sandbox" {
        groups.remove(&value(&KindDefaults::OF_PROGRAM));
    }
    let last = groups.len();
    let part = |(at, ((_, text), keys)): (usize, ((u64, String), Vec<&str>))| {
        let or = if at + 1 == last { "or " } else { "" };
        format!(", {or}{text} with {}", join_keys(&keys, "and"))
    };
    groups.into_iter().enumerate().map(part).collect()
}

/// A time in seconds, if it is no longer than a minute.
fn show_time(ms: u64) -> String {
    if ms <= limits::MINUTE { format!("{}s", ms / limits::SECOND) } else { show_measure(ms, TIME_UNITS) }
}

#[cfg(test)]
mod tests {
    use super::super::key::KeyRow;
    use super::super::section::SectionKeys;
    use super::*;
    use systole_kit::schema::SchemaModel;

    fn has_row(rows: &[KeyRow], key: &str) -> bool {
        rows.iter().any(|row| row.name == key || row.name.is_empty() && has_row(row.below, key))
    }

    #[test]
    fn no_two_kinds_share_a_key_a_schema_or_a_code() {
        let keys = KINDS.iter().map(|kind| kind.key);
        let schemas = list_schemas().map(|(_, (name, _))| name);
        for all in
            [keys.collect::<Vec<_>>(), schemas.collect(), list_codes().map(|(code, ..)| code).collect()]
        {
            for (at, one) in all.iter().enumerate() {
                assert!(!all[..at].contains(one), "`{one}` stands twice in KINDS: give one another name");
            }
        }
    }

    #[test]
    fn a_kind_has_its_key_in_the_file_and_its_elements_in_its_schemas() {
        let texts: Vec<(&str, &[u8])> = list_schemas().map(|(_, schema)| schema).collect();
        for kind in KINDS {
            assert!(has_row(KindKeys::ROWS, kind.key), "{}: no row of KindKeys declares it", kind.key);
            for code in kind.codes {
                let family = code.0.split('.').next();
                assert_eq!(family, Some(kind.key), "{}: the code begins with the key of its kind", code.0);
            }
            for (schema, names) in kind.accepts.iter().chain(kind.returns) {
                let (_, text) = texts.iter().find(|(name, _)| name == schema).expect(schema);
                let model = SchemaModel::read_among(text, &texts).unwrap();
                for name in *names {
                    assert!(model.elements().any(|one| one == *name), "{schema} declares no {name}");
                }
            }
        }
        for (key, (schema, _)) in list_schemas() {
            assert!(schema.ends_with('/'), "{key}: `{}` could be the name of a file", schema);
        }
    }

    /// An organism with a workspace that has these keys too.
    fn load_workspace(keys: &str) -> Result<crate::OrganismFile, crate::FileMistakes> {
        let text = format!(
            "organism: {{name: t, entry: coder}}\n\
             models: {{main: {{provider: openai, model: m, url: 'http://127.0.0.1:1/v1'}}}}\n\
             listeners: {{hands: {{workspace: ./work{keys}}}}}\n\
             agents: {{coder: {{model: main, peers: [hands]}}}}\n"
        );
        crate::load_text(Path::new("organism.yaml"), &text)
    }

    #[test]
    fn g2_a_vocabulary_of_a_workspace_is_what_it_takes_and_agents_are_told() {
        for (keys, has_commands, has_proposals) in [
            ("", true, true),
            (", vocabulary: both", true, true),
            (", vocabulary: commands", true, false),
            (", vocabulary: proposals", false, true),
        ] {
            let file = load_workspace(keys).unwrap_or_else(|wrong| panic!("{keys}: {wrong:?}"));
            let told: Vec<&str> =
                file.agents[0].peers[0].accepts.iter().map(|one| &*one.element.local).collect();
            assert_eq!(told.contains(&"str_replace"), has_commands, "{keys}: {told:?}");
            assert_eq!(told.contains(&"proposed_shell_command"), has_proposals, "{keys}: {told:?}");
            assert_eq!(told.contains(&"proposed_actions"), has_proposals, "{keys}: {told:?}");
            assert!(told.contains(&"undo") && told.contains(&"change-set"), "{told:?}");
        }
        assert!(format!("{:?}", load_workspace(", vocabulary: proposal")).contains("proposals"));
    }

    #[test]
    fn g2_the_folder_as_agents_know_it_is_an_absolute_path_and_is_what_they_are_told() {
        let file = load_workspace(", seen_as: /home/ubuntu/project").unwrap();
        assert_eq!(file.agents[0].folders, ["/home/ubuntu/project"]);
        let hands = file.composition.listeners.values().find(|one| one.name.as_str() == "hands").unwrap();
        let Reach::Process(ListenerProgram { adapter, .. }) = &hands.reach else { panic!("it is a program") };
        assert!(adapter.windows(2).any(|two| two == ["seen_as", "/home/ubuntu/project"]), "{adapter:?}");
        assert_eq!(load_workspace("").unwrap().agents[0].folders, ["./work"]);
        for wrong in ["project", "../project", "/home/../etc"] {
            let said = format!("{:?}", load_workspace(&format!(", seen_as: {wrong}")));
            assert!(said.contains("is no absolute path"), "{wrong}: {said}");
        }
        for key in ["seen_as: /x", "vocabulary: both"] {
            let text = format!("organism: {{name: t}}\nlisteners: {{a: {{code: ./src, {key}}}}}\n");
            let said = format!("{:?}", crate::load_text(Path::new("organism.yaml"), &text));
            assert!(said.contains("only a listener of `workspace`"), "{key}: {said}");
        }
    }
}
