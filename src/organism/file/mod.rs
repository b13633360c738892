//! organism.yaml: from the text a composer wrote to a checked `Composition`, or to every mistake at once.
//!
//! `load` reads a file and the schemas it names; `read_source` reads the same composition back from the
//! self-contained text that is stored with a log. Both run the same checks. This room starts nothing,
//! looks for no program and reads no environment: whether a program can be run is said when it is started.

mod approval;
mod broadcast;
mod budgets;
mod clients;
mod compose;
mod declared;
mod desk;
mod diagnostic;
mod eject;
mod folder;
mod keys;
mod lookup;
mod measure;
mod payloads;
mod schemas;
mod source;
mod stretch;
mod traps;
mod value;
mod yaml;

use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::words::codes::Code;
use crate::words::composition::{Composition, Schema};
use crate::words::ids::Digest;
use desk::{Desk, Given, about_file};
use schemas::Shelf;
use source::Era;

pub use clients::TokenSource;
pub use diagnostic::{Diagnostic, Place, Refused};
pub use folder::{CORE_XSD, ENVELOPE_XSD, TALK_XSD};
pub use keys::{KEYS, Key};
pub use schemas::PAYLOADS;

/// An organism's file, read and checked: what the pump runs, and what the house around it needs.
#[derive(Clone, Debug)]
pub struct OrganismFile {
    /// What the pump runs.
    pub composition: Composition,
    /// What the organism is for, in its composer's words.
    pub description: Option<String>,
    /// Where the log lies: beside the file, unless the file gives an absolute path.
    pub log: PathBuf,
    /// Where the HTTP door listens.
    pub listen: SocketAddr,
    /// Where the credentials of its clients are to be found.
    pub tokens: Vec<TokenSource>,
}

/// Reads and checks an organism's file and the schemas it names.
pub fn load(path: &Path) -> Result<OrganismFile, Refused> {
    load_given(path, &[])
}

/// The same for a program that brings some of the listeners itself, as Rust values: those need no `run`.
pub fn load_given(path: &Path, given: &[&str]) -> Result<OrganismFile, Refused> {
    let given = Given::These(given.iter().map(|name| (*name).to_owned()).collect());
    let text = folder::organism_text(path)?;
    let file = path.display().to_string();
    let as_typed = path.parent().unwrap_or(Path::new("")).to_owned();
    // Programs are started there later; a relative folder would then mean another one.
    let directory = std::path::absolute(as_typed.join(".")).unwrap_or_else(|_| as_typed.clone());
    check(&file, text, &folder::Folder { path: directory.clone(), as_typed }, &directory, given, Era::NOW)
}

/// Reads and checks a text as if it stood in that file: for an organism that lies nowhere.
pub fn load_text(path: &Path, text: &str) -> Result<OrganismFile, Refused> {
    let file = path.display().to_string();
    let as_typed = path.parent().unwrap_or(Path::new("")).to_owned();
    let directory = std::path::absolute(as_typed.join(".")).unwrap_or_else(|_| as_typed.clone());
    let shelf = folder::Folder { path: directory.clone(), as_typed };
    check(&file, text.into(), &shelf, &directory, Given::These(Vec::new()), Era::NOW)
}

/// What taking the payloads out of a file gives: two texts to be written down.
#[derive(Clone, Debug)]
pub struct Ejected {
    /// The schema, under the name that the file then has for it.
    pub schema: Schema,
    /// The file, without its payloads and with that schema.
    pub file: String,
    /// Comments that stood inside of the block, and are gone with it.
    pub comments: Vec<String>,
}

/// Why payloads are not taken out of a file.
#[derive(Clone, Debug)]
pub enum NotEjected {
    /// The file is refused.
    Refused(Refused),
    /// It declares none.
    Nothing,
    /// It is written in a way that only a person should edit. The schema is as it would be.
    ByHand(Schema),
}

/// Takes the payloads out of an organism's file. Writes nothing.
pub fn eject(path: &Path) -> Result<Ejected, NotEjected> {
    let organism = load(path).map_err(NotEjected::Refused)?.composition;
    let made = organism.schemas.iter().find(|schema| schema.name == PAYLOADS);
    let text = Arc::clone(&made.ok_or(NotEjected::Nothing)?.text);
    let schema = Schema { name: ["schemas/", organism.organism.as_str(), ".xsd"].concat(), text };
    let by_hand = || NotEjected::ByHand(schema.clone());
    let file = folder::organism_text(path).map_err(NotEjected::Refused)?;
    let mut desk = Desk::new("", Arc::clone(&file), Given::Any);
    let root = yaml::read(&mut desk).ok_or_else(by_hand)?;
    let edited = eject::edit(&file, &root, &schema.name).ok_or_else(by_hand)?;
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let folder = folder::Folder { path: directory.clone(), as_typed: directory.clone() };
    let shelf = eject::With { shelf: &folder, name: &schema.name, text: Arc::clone(&schema.text) };
    let again = check("", edited.text.as_str().into(), &shelf, &directory, Given::Any, Era::NOW);
    if !again.is_ok_and(|again| eject::mean_the_same(&organism, &again.composition)) {
        return Err(by_hand());
    }
    Ok(Ejected { schema, file: edited.text, comments: edited.comments })
}

/// Reads a composition back from its source. A source knows no folder, because the same organism may
/// lie in different ones: `directory` is that of the organism that runs now.
pub fn read_source(source: &[u8], directory: &Path) -> Result<Composition, Refused> {
    let stored = source::read(source)
        .map_err(|why| Refused(vec![about_file("stored configuration", Code::ConfigSource, &why, None)]))?;
    let text = Arc::clone(&stored.file);
    check("stored configuration", text, &stored, directory, Given::Any, stored.era)
        .map(|whole| whole.composition)
}

/// The path without the `.` that it may hold: people read it.
fn plain(path: &Path) -> PathBuf {
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// The one check that loading, `check` and reading back share.
fn check(
    file: &str,
    text: Arc<str>,
    shelf: &dyn Shelf,
    directory: &Path,
    given: Given,
    era: Era,
) -> Result<OrganismFile, Refused> {
    let mut desk = Desk::new(file, Arc::clone(&text), given);
    let Some(root) = yaml::read(&mut desk) else {
        if desk.is_clean() {
            let mend = Some("organism: {name: hello} and a listener below `listeners:`");
            return Err(Refused(vec![about_file(file, Code::ConfigMissing, "the file is empty", mend)]));
        }
        return Err(desk.refused());
    };
    let Some(declared) = declared::read(&mut desk, &root) else { return Err(desk.refused()) };
    let composed = compose::compose(&mut desk, &declared, shelf, directory);
    let (Some(organism), true) = (declared.name, desk.is_clean()) else { return Err(desk.refused()) };
    let source = source::write(&text, &composed.schemas);
    let composition = Composition {
        organism,
        hash: Digest::of(&source),
        source: source.into(),
        entry: composed.entry,
        listeners: composed.listeners,
        schemas: composed.schemas,
        message_bytes: declared.message_bytes,
        budgets: era.has_budgets.then_some(declared.budgets),
        loops: era.has_budgets.then_some(declared.loops),
        broadcasts: composed.broadcasts,
        clients: composed.clients,
    };
    Ok(OrganismFile {
        composition,
        description: declared.description,
        log: plain(&directory.join(declared.log)),
        listen: declared.listen,
        tokens: composed.tokens,
    })
}
