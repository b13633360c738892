//! Answering questions that need no look into the log: the schemas of a listener and its peers, its section of the
//! organism's file, and bytes that it has kept. An answered question leaves no record. Questions for the view of a
//! call, and for documents that the view names, are answered where a recall is.

use std::sync::Arc;

use systole_wire::ask::{BytePage, ByteSource, StoredBlob};

use super::decision_builder::DecisionBuilder;
use super::turn::Turn;
use crate::rules::view_payload;
use crate::types::codes::Code;
use crate::types::composition::{ElementSchema, Listener, SchemaId};
use crate::types::ids::Name;
use crate::types::limits;
use crate::types::refusal::Refusal;

/// Keeps bytes, and answers with their hash. No record or view names them yet, so no one can ask for them. They are on
/// disk before this answer goes out; a record that names them, such as a journal entry, comes later.
pub(super) fn put_document(d: &mut DecisionBuilder<'_>, bytes: Vec<u8>) -> Arc<[u8]> {
    let total = bytes.len() as u64;
    let hash = d.keep_document(&Arc::from(bytes)).to_string();
    StoredBlob { hash, total }.to_payload().bytes().clone()
}

/// The listeners whose schemas a listener may see. It may be its own peer.
fn list_shown(own: &Listener) -> Vec<&str> {
    let others = own.peers.iter().filter(|peer| **peer != own.name);
    std::iter::once(&own.name).chain(others).map(Name::as_str).collect()
}

/// The schema of the listener itself or of a peer, in the configuration that the call began with. A name that does
/// not exist and a name that is no peer get the same refusal.
pub(super) fn show_schema(
    d: &DecisionBuilder<'_>,
    turn: &Turn<'_>,
    name: &str,
    element: Option<&str>,
    from: u64,
) -> Result<Arc<[u8]>, Refusal> {
    let (page, own) = (d.find_composition(turn.config), turn.listener);
    let is_shown =
        |it: &&Listener| own.is_some_and(|own| own.name == it.name || own.peers.contains(&it.name));
    let named = Name::parse(name).ok();
    let whose = page.zip(named).and_then(|(page, name)| page.find_listener(&name)).filter(is_shown);
    let Some((page, whose)) = page.zip(whose) else {
        let names: Vec<&str> = own.map(list_shown).unwrap_or_default();
        let words = "there is no schema of that name among your own and your peers'";
        return Err(Refusal::new(Code::NotAPeer, words).of_element("schema").with_expected(names.join(", ")));
    };
    let text =
        page.schemas.get(find_schema(whose, element)?.0).map(|schema| &schema.text[..]).unwrap_or_default();
    match BytePage::cut_page(text, from, limits::ANSWER_BYTES) {
        Some(page) => Ok(page.to_payload(ByteSource::Schema(whose.name.as_str())).bytes().clone()),
        None => Err(view_payload::past_the_end(from, text.len())),
    }
}

/// The section of the organism's file that describes the listener itself, in the configuration that the call began
/// with. The refusal is the same for every other path, whether that section exists or not.
pub(super) fn show_configuration(
    d: &DecisionBuilder<'_>,
    turn: &Turn<'_>,
    path: &str,
    from: u64,
) -> Result<Arc<[u8]>, Refusal> {
    let own = d.find_composition(turn.config).and_then(|page| page.sections.get(&turn.sender));
    let Some(section) = own.filter(|own| own.path == path) else {
        let words = "this is not the path of your own section of the organism's file";
        let refusal = Refusal::new(Code::NotAPeer, words).of_element("configuration");
        return Err(match own {
            Some(own) => refusal.with_expected(own.path.clone()),
            None => refusal,
        });
    };
    match BytePage::cut_page(section.text.as_bytes(), from, limits::ANSWER_BYTES) {
        Some(page) => Ok(page.to_payload(ByteSource::Configuration(&section.path)).bytes().clone()),
        None => Err(view_payload::past_the_end(from, section.text.len())),
    }
}

/// The schema that declares that element of a listener, or all its schemas if no element is named.
fn find_schema(whose: &Listener, element: Option<&str>) -> Result<SchemaId, Refusal> {
    let is_meant = |one: &&ElementSchema| element.is_none_or(|local| *one.name.local == *local);
    let all = || whose.accepts.iter().chain(&whose.returns);
    let mut found: Vec<SchemaId> = all().filter(is_meant).map(|one| one.schema).collect();
    found.sort_unstable();
    found.dedup();
    if let [only] = found.as_slice() {
        return Ok(*only);
    }
    let mut names: Vec<&str> = all().map(|one| &*one.name.local).collect();
    names.sort_unstable();
    names.dedup();
    let words = match found.as_slice() {
        [] => "it neither takes nor gives an element of that name",
        _ => "several schemas declare its elements; name the one that you mean",
    };
    let element = format!("element=\"{}\"", names.first().copied().unwrap_or_default());
    Err(Refusal::new(Code::NoSuchElement, words)
        .of_element("schema")
        .with_expected(format!("one of {}", names.join(", ")))
        .fixed_by(element))
}
