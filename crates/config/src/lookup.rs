//! Finds the declaration of an element that a listener accepts or returns. It looks in the listener's own schema, the
//! payloads of the file, the shared schemas and the built-in vocabularies, and takes the first match.
//!
//! Input: local names. Output: elements, each with the schema that judges it. An element that two schemas of the same
//! rank declare is rejected as ambiguous.

use std::sync::Arc;

use systole_kit::QName;
use systole_kit::schema::{SchemaModel, find_nearest};

use super::diagnostic::Diagnostic;
use super::diagnostics::Diagnostics;
use super::file_sections::Declared;
use super::kinds::list_schemas;
use super::names::one_of;
use super::note_schemas;
use super::party::Party;
use super::schemas::{Collected, Outline, PAYLOADS, Shelf, outline_model};
use super::value::At;
use super::workflows;
use systole_core::types::codes::Code;
use systole_core::types::composition::{ElementSchema, Listener, Schema, SchemaId};

/// A built-in vocabulary. It joins the composition when it is used.
struct Vocabulary {
    schema: Schema,
    outline: Outline,
}

impl Vocabulary {
    /// Whether listeners may name its elements. Those of workflows and of built-in listeners cannot be named: their
    /// listeners have them anyway.
    fn is_named(&self) -> bool {
        let mut of_kinds = list_schemas().map(|(_, (name, _))| name);
        self.schema.name != workflows::VOCABULARY && of_kinds.all(|name| self.schema.name != name)
    }
}

/// An element of a built-in vocabulary.
pub(super) struct Shipped {
    pub(super) vocabulary: Arc<str>,
    pub(super) local: Arc<str>,
}

/// The declarations that every listener of a file may name.
pub(super) struct Lookup {
    collected: Collected,
    /// The names of the shared schemas, in file order.
    shared: Vec<String>,
    vocabularies: Vec<Vocabulary>,
    /// The payloads of the file, if they have mistakes: their names are known although their schema is not.
    unread: Vec<String>,
    /// Whether at least the names of every shared schema could be read.
    is_whole: bool,
}

impl Lookup {
    pub(super) fn new(collected: Collected, declared: &Declared, shelf: &dyn Shelf) -> Lookup {
        let shared: Vec<String> =
            declared.keys.schemas.value.iter().map(|schema| schema.value.clone()).collect();
        let texts = shelf.vocabularies();
        let among: Vec<(&str, &[u8])> = texts.iter().map(|one| (one.name.as_str(), &*one.text)).collect();
        let read = |schema: &Schema| {
            // Built-in vocabularies are readable, which a test checks.
            let outline = outline_model(&SchemaModel::read_among(&schema.text, &among).ok()?, SchemaId::CORE);
            Some(Vocabulary { schema: schema.clone(), outline })
        };
        let vocabularies = texts.iter().filter_map(read).collect();
        let section = declared.payloads().filter(|_| collected.outline(PAYLOADS).is_none());
        let names = section.map_or(Some(Vec::new()), |section| section.names());
        let is_whole = names.is_some() && shared.iter().all(|name| collected.outline(name).is_some());
        let unread = names.unwrap_or_default().into_iter().map(str::to_owned).collect();
        Lookup { collected, shared, vocabularies, unread, is_whole }
    }

    /// The schemas of the composition, with the places that named them, and the built-in elements that a listener
    /// names and the file does not declare.
    pub(super) fn into_parts(self) -> (Collected, Vec<Shipped>) {
        let of = |vocabulary: &Vocabulary| {
            let name: Arc<str> = vocabulary.schema.name.trim_end_matches('/').into();
            let shipped = |element: &Arc<str>| Shipped { vocabulary: name.clone(), local: element.clone() };
            vocabulary.outline.elements.iter().map(shipped).collect::<Vec<_>>()
        };
        let shipped = self.vocabularies.iter().filter(|one| one.is_named()).flat_map(of).collect();
        (self.collected, shipped)
    }

    /// The outline of a schema of the file.
    pub(super) fn outline(&self, name: &str) -> Option<&Outline> {
        self.collected.outline(name)
    }

    /// Resolves the elements that a listener names under `path`.
    pub(super) fn elements(
        &mut self,
        diagnostics: &mut Diagnostics,
        party: &Party,
        named: &[At<String>],
        path: &str,
    ) -> Vec<At<ElementSchema>> {
        named.iter().filter_map(|one| self.element(diagnostics, party, one, path)).collect()
    }

    fn element(
        &mut self,
        diagnostics: &mut Diagnostics,
        party: &Party,
        named: &At<String>,
        path: &str,
    ) -> Option<At<ElementSchema>> {
        let own = party.schema.as_ref();
        let own_outline = own.and_then(|own| self.collected.outline(&own.value));
        let is_own_read = own.is_none() || own_outline.is_some();
        let found = own_outline.and_then(|outline| declared_in(outline, &named.value));
        let found = found.or_else(|| {
            self.collected.outline(PAYLOADS).and_then(|outline| declared_in(outline, &named.value))
        });
        if let Some(value) = found.or_else(|| self.find_shared(diagnostics, named, path)) {
            return Some(At { at: named.at, value });
        }
        if let Some(value) = self.find_shipped(&named.value, Vocabulary::is_named) {
            return Some(At { at: named.at, value });
        }
        // If a schema could not be read, it may declare the element.
        if self.is_whole && is_own_read && !self.unread.contains(&named.value) {
            self.report_unknown(diagnostics, own, named, path);
        }
        None
    }

    fn find_shared(
        &self,
        diagnostics: &mut Diagnostics,
        named: &At<String>,
        path: &str,
    ) -> Option<ElementSchema> {
        let all = self.shared.iter().filter_map(|name| Some((name, self.collected.outline(name)?)));
        let mut found = all.filter_map(|(name, outline)| Some((name, declared_in(outline, &named.value)?)));
        let (first_name, first) = found.next()?;
        if let Some((second, _)) = found.find(|(name, _)| *name != first_name) {
            let message = format!("{path}: `{}` is declared in {first_name} and in {second}", named.value);
            let fix = format!("schema: {first_name}, or the other, on this listener");
            let message =
                Diagnostic::new(Code::ConfigOverlap, diagnostics.place(named.at), &message, Some(&fix));
            let other =
                self.collected.outline(second).and_then(|outline| outline.find_declared(&named.value));
            let message = other
                .cloned()
                .into_iter()
                .fold(message, |message, place| message.seeing(place, "the other one"));
            diagnostics.tell_at(named.at.start, message);
        }
        Some(first)
    }

    /// An element that is accepted or returned although the file does not name it: always the one of this vocabulary,
    /// even if others have the same name.
    pub(super) fn of_vocabulary(
        &mut self,
        vocabulary: &str,
        named: &At<String>,
    ) -> Option<At<ElementSchema>> {
        let meant = |one: &Vocabulary| one.schema.name == vocabulary;
        self.find_shipped(&named.value, meant).map(|value| At { at: named.at, value })
    }

    fn find_shipped(&mut self, local: &str, is_meant: impl Fn(&Vocabulary) -> bool) -> Option<ElementSchema> {
        let meant = self.vocabularies.iter().filter(|vocabulary| is_meant(vocabulary));
        let (vocabulary, mut element) =
            meant.filter_map(|one| Some((one, declared_in(&one.outline, local)?))).next()?;
        element.schema = self.collected.ship(&vocabulary.schema);
        Some(element)
    }

    /// The schema that declares the root tag of a listener's own notes.
    pub(super) fn note(
        &mut self,
        diagnostics: &mut Diagnostics,
        shelf: &dyn Shelf,
        party: &Party,
    ) -> Option<SchemaId> {
        let name = party.name.as_ref()?;
        let tag = QName { ns: Listener::namespace_of(name).into(), local: name.as_str().into() };
        if party.agent_config.is_none() && party.workflow.is_none() {
            return self.declarer(party, &tag).map(|(_, outline)| outline.id);
        }
        let section = if party.agent_config.is_some() { "agents" } else { "workflows" };
        // A name that was free in an earlier version must stay readable in its log.
        if note_schemas::HOUSE.contains(&name.as_str()) && !diagnostics.is_stored() {
            let message =
                format!("{section}: the notes of `{name}` would be in {}, which belongs to Systole", tag.ns);
            diagnostics.report_value(party.key.at, &message, "another name");
            return None;
        }
        if let Some((file, outline)) = self.declarer(party, &tag) {
            let file = if file == PAYLOADS { "payloads" } else { file };
            let message =
                format!("{}: `{}` of {file} is the root tag of its own notes", party.path(), tag.local);
            let fix = "another name for the element, another namespace, or another name for the party";
            let message =
                Diagnostic::new(Code::ConfigOverlap, diagnostics.place(party.key.at), &message, Some(fix));
            let place = outline.find_declared(&tag.local).cloned();
            let message =
                place.into_iter().fold(message, |message, place| message.seeing(place, "declared here"));
            diagnostics.tell_at(party.key.at.start, message);
            return None;
        }
        self.no_import(diagnostics, party, &tag);
        let stored = shelf.find_made(&note_schemas::name_of(name));
        let make = if party.agent_config.is_some() {
            note_schemas::make_schema
        } else {
            note_schemas::made_for_workflow
        };
        let schema =
            stored.map_or_else(|| make(name), |text| Schema { name: note_schemas::name_of(name), text });
        Some(self.collected.ship(&schema))
    }

    fn declarer(&self, party: &Party, tag: &QName) -> Option<(&str, &Outline)> {
        let own = party.schema.as_ref().map(|own| own.value.as_str());
        let names = own.into_iter().chain([PAYLOADS]).chain(self.shared.iter().map(String::as_str));
        // Another listener's own schema does not count for this listener.
        let found = self.collected.outlines().filter(|(_, outline)| outline.namespace == tag.ns);
        let found: Vec<(&str, &Outline)> = found.collect();
        names.into_iter().find_map(|name| {
            found
                .iter()
                .find(|(known, outline)| *known == name && outline.element(&tag.local).is_some())
                .copied()
        })
    }

    /// Reports a schema that imports the namespace of an agent's notes. A second schema with this namespace would be
    /// ambiguous.
    fn no_import(&self, diagnostics: &mut Diagnostics, party: &Party, tag: &QName) {
        for (file, outline) in self.collected.outlines() {
            if outline.imports.contains(&tag.ns) {
                let message =
                    format!("{file}: it imports {}, the namespace of the agent's own notes", tag.ns);
                let fix = "another targetNamespace for what is imported, or another name for the agent";
                let second = (outline.named, "named here");
                diagnostics.report_beside(Code::ConfigOverlap, party.key.at, &message, fix, second);
            }
        }
    }

    /// Reports an undeclared element, with the most similar declared one. The listener's own schema comes first.
    fn report_unknown(
        &self,
        diagnostics: &mut Diagnostics,
        own: Option<&At<String>>,
        named: &At<String>,
        path: &str,
    ) {
        let own_outline = own.and_then(|own| self.collected.outline(&own.value));
        let near: Vec<&str> = own_outline.iter().flat_map(|outline| names(outline)).collect();
        let everybodys: Vec<&str> = self.everybodys().flat_map(names).collect();
        let named_ones = || self.vocabularies.iter().filter(|vocabulary| vocabulary.is_named());
        let shipped = || named_ones().flat_map(|vocabulary| names(&vocabulary.outline));
        let others = || everybodys.iter().filter(|name| !near.contains(name));
        let unread = || self.unread.iter().map(String::as_str);
        let declared = || near.iter().chain(others()).copied().chain(unread());
        let message = match own {
            Some(own) => format!("{path}: `{}` is not a root element of {}", named.value, own.value),
            None => format!("{path}: `{}` is not declared by a schema or in payloads", named.value),
        };
        let nearest = find_nearest(&named.value, near.iter().copied());
        let nearest =
            nearest.or_else(|| systole_kit::schema::find_nearest(&named.value, declared().chain(shipped())));
        let fix = nearest.map(str::to_owned).unwrap_or_else(|| match declared().next() {
            Some(_) => one_of(declared()),
            None => format!("payloads: {{{}: {{…}}}} at the top of the file, or a schema", named.value),
        });
        let mut message =
            Diagnostic::new(Code::ConfigUnknownElement, diagnostics.place(named.at), &message, Some(&fix));
        let place = nearest.and_then(|near| {
            let outlines = own_outline.into_iter().chain(self.everybodys());
            outlines.into_iter().find_map(|outline| outline.find_declared(near).cloned())
        });
        if let Some(place) = place {
            message = message.seeing(place, "declared here");
        }
        diagnostics.tell_at(named.at.start, message);
    }

    /// The schemas whose elements every listener may name, the payloads of the file first.
    fn everybodys(&self) -> impl Iterator<Item = &Outline> {
        let names = [PAYLOADS].into_iter().chain(self.shared.iter().map(String::as_str));
        names.filter_map(|name| self.collected.outline(name))
    }

    /// Reports payloads that a schema of the file also declares.
    pub(super) fn declared_twice(&self, diagnostics: &mut Diagnostics, declared: &Declared) {
        let (Some(payloads), Some(section)) = (self.collected.outline(PAYLOADS), declared.payloads()) else {
            return;
        };
        let own = declared.parties.iter().filter_map(|party| party.schema.as_ref());
        let mut files: Vec<&str> =
            declared.keys.schemas.value.iter().chain(own).map(|at| at.value.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        for element in &payloads.elements {
            let other = files.iter().find_map(|file| {
                let outline = self.collected.outline(file)?;
                outline.element(element).map(|element| (file, outline.find_declared(element)))
            });
            if let Some((file, second)) = other {
                let message = format!("payloads: `{element}` is declared in {file} as well");
                let fix = "one of the two; a payload is declared in one place";
                let at = section.place_of(element);
                let message =
                    Diagnostic::new(Code::ConfigDuplicate, diagnostics.place(at), &message, Some(fix));
                let message =
                    second.cloned().into_iter().fold(message, |message, place| message.seeing(place, "here"));
                diagnostics.tell_at(at.start, message);
            }
        }
    }
}

fn names(outline: &Outline) -> impl Iterator<Item = &str> {
    outline.elements.iter().map(AsRef::as_ref)
}

fn declared_in(outline: &Outline, local: &str) -> Option<ElementSchema> {
    let local = Arc::clone(outline.element(local)?);
    Some(ElementSchema { name: QName { ns: Arc::clone(&outline.namespace), local }, schema: outline.id })
}

/// A listener with resolved elements and the places that named them.
pub(super) struct Resolved<'d> {
    pub(super) party: &'d Party,
    pub(super) accepts: Vec<At<ElementSchema>>,
    pub(super) returns: Vec<At<ElementSchema>>,
    pub(super) note: Option<SchemaId>,
}
