//! Where an element that a listener accepts or returns is declared: in its own schema, among the payloads
//! of the file, in the schemas that all share, in the vocabularies of the house; the first that has it.
//!
//! In come local names, out come elements with the schema that judges each. What stands in two schemas of
//! one rank is refused: nobody could tell which is meant.

use std::sync::Arc;

use systole_kit::QName;
use systole_kit::schema::{Model, nearest};

use super::compose::one_of;
use super::declared::{Declared, Party};
use super::desk::Desk;
use super::diagnostic::Diagnostic;
use super::notes;
use super::schemas::{Collected, Outline, PAYLOADS, Shelf, outlined};
use super::value::At;
use super::workflows;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Element, Listener, Schema, SchemaId};

/// A vocabulary of the house, which joins the composition once it is used.
struct Vocabulary {
    schema: Schema,
    outline: Outline,
}

impl Vocabulary {
    /// Whether listeners may name its elements. Those of workflows come with being one, or with its goals.
    fn is_named(&self) -> bool {
        self.schema.name != workflows::VOCABULARY
    }
}

/// An element of a vocabulary of the house.
pub(super) struct Shipped {
    pub(super) vocabulary: Arc<str>,
    pub(super) local: Arc<str>,
}

/// The declarations that every listener of a file may name.
pub(super) struct Lookup {
    collected: Collected,
    /// The names of the schemas that all share, in order of the file.
    shared: Vec<String>,
    vocabularies: Vec<Vocabulary>,
    /// The payloads of the file if they have mistakes: their names are known although their schema is not.
    unread: Vec<String>,
    /// Whether every schema that all may name could be read, at least its names.
    is_whole: bool,
}

impl Lookup {
    pub(super) fn new(collected: Collected, declared: &Declared, shelf: &dyn Shelf) -> Lookup {
        let shared: Vec<String> = declared.schemas.iter().map(|schema| schema.value.clone()).collect();
        let vocabularies = shelf.vocabularies().into_iter().filter_map(|schema| {
            // The house's own can be read, which a test holds.
            let outline = outlined(&Model::read(&schema.text).ok()?, SchemaId::CORE);
            Some(Vocabulary { schema, outline })
        });
        let vocabularies = vocabularies.collect();
        let section = declared.payloads.as_ref().filter(|_| collected.outline(PAYLOADS).is_none());
        let names = section.map_or(Some(Vec::new()), |section| section.names());
        let is_whole = names.is_some() && shared.iter().all(|name| collected.outline(name).is_some());
        let unread = names.unwrap_or_default().into_iter().map(str::to_owned).collect();
        Lookup { collected, shared, vocabularies, unread, is_whole }
    }

    /// The schemas that the composition holds in the end, where each was named, and the elements of the
    /// house that a listener names where the file has none of that name.
    pub(super) fn into_parts(self) -> (Collected, Vec<Shipped>) {
        let of = |vocabulary: &Vocabulary| {
            let name: Arc<str> = vocabulary.schema.name.trim_end_matches('/').into();
            let shipped = |element: &Arc<str>| Shipped { vocabulary: name.clone(), local: element.clone() };
            vocabulary.outline.elements.iter().map(shipped).collect::<Vec<_>>()
        };
        let shipped = self.vocabularies.iter().filter(|one| one.is_named()).flat_map(of).collect();
        (self.collected, shipped)
    }

    /// Resolves what a listener names under `path`.
    pub(super) fn elements(
        &mut self,
        desk: &mut Desk,
        party: &Party,
        named: &[At<String>],
        path: &str,
    ) -> Vec<At<Element>> {
        named.iter().filter_map(|one| self.element(desk, party, one, path)).collect()
    }

    fn element(
        &mut self,
        desk: &mut Desk,
        party: &Party,
        named: &At<String>,
        path: &str,
    ) -> Option<At<Element>> {
        let own = party.schema.as_ref();
        let own_outline = own.and_then(|own| self.collected.outline(&own.value));
        let is_own_read = own.is_none() || own_outline.is_some();
        let found = own_outline.and_then(|outline| declared_in(outline, &named.value));
        let found = found.or_else(|| {
            self.collected.outline(PAYLOADS).and_then(|outline| declared_in(outline, &named.value))
        });
        if let Some(value) = found.or_else(|| self.shared(desk, named, path)) {
            return Some(At { at: named.at, value });
        }
        if let Some(value) = self.shipped(&named.value, Vocabulary::is_named) {
            return Some(At { at: named.at, value });
        }
        // If a schema could not be read, the element may be declared there.
        if self.is_whole && is_own_read && !self.unread.contains(&named.value) {
            self.unknown(desk, own, named, path);
        }
        None
    }

    fn shared(&self, desk: &mut Desk, named: &At<String>, path: &str) -> Option<Element> {
        let all = self.shared.iter().filter_map(|name| Some((name, self.collected.outline(name)?)));
        let mut found = all.filter_map(|(name, outline)| Some((name, declared_in(outline, &named.value)?)));
        let (first_name, first) = found.next()?;
        if let Some((second, _)) = found.find(|(name, _)| *name != first_name) {
            let told = format!("{path}: `{}` stands in {first_name} and in {second}", named.value);
            let mend = format!("schema: {first_name}, or the other, on this listener");
            let told = Diagnostic::new(Code::ConfigOverlap, desk.place(named.at), &told, Some(&mend));
            let other = self.collected.outline(second).and_then(|outline| outline.declared(&named.value));
            let told =
                other.cloned().into_iter().fold(told, |told, place| told.seeing(place, "the other one"));
            desk.tell_at(named.at.start, told);
        }
        Some(first)
    }

    /// What is taken or given although the file does not name it: an element of that vocabulary, whatever else has its
    /// name.
    pub(super) fn of_vocabulary(&mut self, vocabulary: &str, named: &At<String>) -> Option<At<Element>> {
        let meant = |one: &Vocabulary| one.schema.name == vocabulary;
        self.shipped(&named.value, meant).map(|value| At { at: named.at, value })
    }

    fn shipped(&mut self, local: &str, is_meant: impl Fn(&Vocabulary) -> bool) -> Option<Element> {
        let meant = self.vocabularies.iter().filter(|vocabulary| is_meant(vocabulary));
        let (vocabulary, mut element) =
            meant.filter_map(|one| Some((one, declared_in(&one.outline, local)?))).next()?;
        element.schema = self.collected.ship(&vocabulary.schema);
        Some(element)
    }

    /// The schema that declares the root tag of a listener's own notes.
    pub(super) fn note(&mut self, desk: &mut Desk, shelf: &dyn Shelf, party: &Party) -> Option<SchemaId> {
        let name = party.name.as_ref()?;
        let tag = QName { ns: Listener::namespace_of(name).into(), local: name.as_str().into() };
        if party.mind.is_none() && party.workflow.is_none() {
            return self.declarer(party, &tag).map(|(_, outline)| outline.id);
        }
        let section = if party.mind.is_some() { "agents" } else { "workflows" };
        if notes::HOUSE.contains(&name.as_str()) {
            let told = format!(
                "{section}: the notes of `{name}` would stand in {}, which belongs to the house",
                tag.ns
            );
            desk.tell(Code::ConfigValue, party.key.at, &told, Some("another name"));
            return None;
        }
        if let Some((file, outline)) = self.declarer(party, &tag) {
            let file = if file == PAYLOADS { "payloads" } else { file };
            let told = [&party.path(), ": `", &tag.local, "` of ", file, " is the root tag of its own notes"];
            let mend = "another name for the element, another namespace, or another name for the party";
            let told =
                Diagnostic::new(Code::ConfigOverlap, desk.place(party.key.at), &told.concat(), Some(mend));
            let place = outline.declared(&tag.local).cloned();
            let told = place.into_iter().fold(told, |told, place| told.seeing(place, "declared here"));
            desk.tell_at(party.key.at.start, told);
            return None;
        }
        self.no_import(desk, party, &tag);
        let stored = shelf.note(&notes::name_of(name));
        let make = if party.mind.is_some() { notes::made } else { notes::made_for_workflow };
        let schema = stored.map_or_else(|| make(name), |text| Schema { name: notes::name_of(name), text });
        Some(self.collected.ship(&schema))
    }

    fn declarer(&self, party: &Party, tag: &QName) -> Option<(&str, &Outline)> {
        let own = party.schema.as_ref().map(|own| own.value.as_str());
        let names = own.into_iter().chain([PAYLOADS]).chain(self.shared.iter().map(String::as_str));
        // What another listener's own schema declares is no word of this one.
        let found = self.collected.outlines().filter(|(_, outline)| outline.namespace == tag.ns);
        let found: Vec<(&str, &Outline)> = found.collect();
        names.into_iter().find_map(|name| {
            found
                .iter()
                .find(|(known, outline)| *known == name && outline.element(&tag.local).is_some())
                .copied()
        })
    }

    /// Tells of a schema that imports the namespace of an agent's notes: one more schema has it, so that nobody
    /// could say which is meant.
    fn no_import(&self, desk: &mut Desk, party: &Party, tag: &QName) {
        for (file, outline) in self.collected.outlines() {
            if outline.imports.contains(&tag.ns) {
                let told = format!("{file}: it imports {}, the namespace of the agent's own notes", tag.ns);
                let mend = "another targetNamespace for what is imported, or another name for the agent";
                let second = (outline.named, "named here");
                desk.tell_seeing(Code::ConfigOverlap, party.key.at, &told, Some(mend), second);
            }
        }
    }

    /// Tells of an element that nothing declares, with the nearest that something does: its own schema first.
    fn unknown(&self, desk: &mut Desk, own: Option<&At<String>>, named: &At<String>, path: &str) {
        let own_outline = own.and_then(|own| self.collected.outline(&own.value));
        let near: Vec<&str> = own_outline.iter().flat_map(|outline| names(outline)).collect();
        let everybodys: Vec<&str> = self.everybodys().flat_map(names).collect();
        let named_ones = || self.vocabularies.iter().filter(|vocabulary| vocabulary.is_named());
        let shipped = || named_ones().flat_map(|vocabulary| names(&vocabulary.outline));
        let others = || everybodys.iter().filter(|name| !near.contains(name));
        let unread = || self.unread.iter().map(String::as_str);
        let declared = || near.iter().chain(others()).copied().chain(unread());
        let told = match own {
            Some(own) => format!("{path}: `{}` is no root element of {}", named.value, own.value),
            None => format!("{path}: `{}` is declared by no schema and not in payloads", named.value),
        };
        let nearest = nearest(&named.value, near.iter().copied());
        let nearest =
            nearest.or_else(|| systole_kit::schema::nearest(&named.value, declared().chain(shipped())));
        let mend = nearest.map(str::to_owned).unwrap_or_else(|| match declared().next() {
            Some(_) => one_of(declared()),
            None => format!("payloads: {{{}: {{…}}}} at the top of the file, or a schema", named.value),
        });
        let mut told = Diagnostic::new(Code::ConfigUnknownElement, desk.place(named.at), &told, Some(&mend));
        let place = nearest.and_then(|near| {
            let outlines = own_outline.into_iter().chain(self.everybodys());
            outlines.into_iter().find_map(|outline| outline.declared(near).cloned())
        });
        if let Some(place) = place {
            told = told.seeing(place, "declared here");
        }
        desk.tell_at(named.at.start, told);
    }

    /// The schemas that every listener may name elements of, the payloads of the file first.
    fn everybodys(&self) -> impl Iterator<Item = &Outline> {
        let names = [PAYLOADS].into_iter().chain(self.shared.iter().map(String::as_str));
        names.filter_map(|name| self.collected.outline(name))
    }

    /// Tells of payloads that stand in a schema of the file as well.
    pub(super) fn declared_twice(&self, desk: &mut Desk, declared: &Declared) {
        let (Some(payloads), Some(section)) = (self.collected.outline(PAYLOADS), &declared.payloads) else {
            return;
        };
        let own = declared.parties.iter().filter_map(|party| party.schema.as_ref());
        let mut files: Vec<&str> = declared.schemas.iter().chain(own).map(|at| at.value.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        for element in &payloads.elements {
            let other = files.iter().find_map(|file| {
                let outline = self.collected.outline(file)?;
                outline.element(element).map(|element| (file, outline.declared(element)))
            });
            if let Some((file, second)) = other {
                let told = format!("payloads: `{element}` stands in {file} as well");
                let mend = "one of the two; a payload is declared in one place";
                let at = section.place_of(element);
                let told = Diagnostic::new(Code::ConfigDuplicate, desk.place(at), &told, Some(mend));
                let told = second.cloned().into_iter().fold(told, |told, place| told.seeing(place, "here"));
                desk.tell_at(at.start, told);
            }
        }
    }
}

fn names(outline: &Outline) -> impl Iterator<Item = &str> {
    outline.elements.iter().map(AsRef::as_ref)
}

fn declared_in(outline: &Outline, local: &str) -> Option<Element> {
    let local = Arc::clone(outline.element(local)?);
    Some(Element { name: QName { ns: Arc::clone(&outline.namespace), local }, schema: outline.id })
}
