//! The schemas of an organism's file: fetched from a shelf, read into outlines, each once.
//!
//! Only the outline is looked at here, the namespace and the root elements; whether a payload fits is
//! for the judge. Nothing is ever fetched from elsewhere: a shelf is the file's folder or a stored source.
//!
//! First every text is taken, then all are read, since a schema may be read with the others at hand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use systole_kit::schema::{Model, Unfit};

use super::desk::Desk;
use super::diagnostic::{Diagnostic, Place};
use super::prove;
use super::value::At;
use super::yaml::Span;
use crate::edges::schemas::Source;
use crate::edges::schemas::trial::{Failed, Why};
use systole_core::types::codes::Code;
use systole_core::types::composition::{Schema, SchemaId};
use systole_core::types::ids::Name;

/// The name of the schema that is made of `payloads:`. A name that ends in a slash is no file's, so that
/// no schema which the organism's file names is ever called so.
pub const PAYLOADS: &str = "payloads/";

/// Where the namespaces of listeners and organisms begin. One of a name that nobody may bear is the house's.
const NAMESPACES: &str = "https://xml-pipeline.org/ns/";
/// What the house calls vocabularies of its own, beside the names that nobody may bear.
const VOCABULARIES: [&str; 4] = ["envelope", "meta", "talk", "workflow"];
const HOUSE_URN: &str = "urn:systole:";

/// Whether nobody but the house may give words to a namespace, in whatever version.
pub(super) fn belongs_to_house(namespace: &str) -> bool {
    let Some(rest) = namespace.strip_prefix(NAMESPACES) else { return namespace.starts_with(HOUSE_URN) };
    let name = rest.split('/').next().unwrap_or_default();
    VOCABULARIES.contains(&name) || Name::parse(name).is_ok_and(|name| name.is_reserved())
}

/// Why a schema cannot be had, and what to do about it.
pub(super) struct Absent {
    pub(super) why: String,
    pub(super) mend: Option<String>,
}

/// Where schema texts are found.
pub(super) trait Shelf {
    /// The house's own schemas, core payloads first, then the envelope.
    fn house(&self) -> [Schema; 2];
    /// The vocabularies that come with the house, under names that no file has.
    fn vocabularies(&self) -> Vec<Schema>;
    /// What was once made of `payloads:`. Where it is there it counts, not what would be made of it now.
    fn payloads(&self) -> Option<Arc<[u8]>>;
    /// What was once made for the notes of an agent. Where it is there it counts.
    fn note(&self, name: &str) -> Option<Arc<[u8]>>;
    /// Where a file lies that is read later than the organism's, once it is seen to be there.
    fn find(&self, name: &str) -> Result<PathBuf, Absent>;
    /// The text of a file that the pump knows nothing of; none where only what the pump runs is wanted.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Absent>;
    /// The text of a file with a section of a prompt.
    fn prompt(&self, name: &str) -> Result<Arc<[u8]>, Absent>;
    /// A schema's name as people find it.
    fn shown(&self, name: &str) -> String;
    /// The text of a schema that the organism's file names.
    fn take(&self, name: &str) -> Result<Arc<[u8]>, Absent>;
    /// Whether these schemas were proved to compile when they were stored.
    fn is_proved(&self) -> bool;
}

/// What the checks need to know of a schema.
pub(super) struct Outline {
    pub(super) id: SchemaId,
    pub(super) namespace: Arc<str>,
    pub(super) elements: Vec<Arc<str>>,
    /// The namespaces that it imports.
    pub(super) imports: Vec<Arc<str>>,
    /// Where the file names it, or what it stands for there.
    pub(super) named: Span,
    /// Where its root elements are declared.
    declared: BTreeMap<Arc<str>, Place>,
}

impl Outline {
    /// Where a root element is declared; none for a vocabulary of the house.
    pub(super) fn declared(&self, element: &str) -> Option<&Place> {
        self.declared.get(element)
    }

    /// The root element of that local name.
    pub(super) fn element(&self, local: &str) -> Option<&Arc<str>> {
        self.elements.iter().find(|element| &***element == local)
    }
}

/// The schemas of one composition.
pub(super) struct Collected {
    /// In the order in which the judge compiles them.
    pub(super) schemas: Vec<Schema>,
    /// By name; none for a schema that cannot be used, which has been told.
    outlines: BTreeMap<String, Option<Outline>>,
    /// Those whose text was taken and not yet read, with the place that names each.
    unread: Vec<(SchemaId, Span)>,
}

/// A schema whose text is at hand, as it is read.
struct Taken {
    /// Its name, and the place in the organism's file that stands for it.
    name: At<String>,
    /// The name as people find it.
    shown: String,
    id: SchemaId,
    text: Arc<[u8]>,
}

impl Collected {
    pub(super) fn new(shelf: &dyn Shelf) -> Collected {
        Collected { schemas: shelf.house().into(), outlines: BTreeMap::new(), unread: Vec::new() }
    }

    /// Takes a schema from the shelf, unless it was taken before.
    pub(super) fn add(&mut self, desk: &mut Desk, shelf: &dyn Shelf, name: &At<String>) {
        if self.outlines.contains_key(&name.value) {
            return;
        }
        match shelf.take(&name.value) {
            Ok(text) => self.put(&name.value, text, name.at),
            Err(Absent { why, mend }) => {
                desk.tell(Code::ConfigUnreadable, name.at, &why, mend.as_deref());
                self.miss(&name.value);
            }
        }
    }

    /// Adds a schema whose text is at hand; `at` is what it stands for in the organism's file.
    pub(super) fn put(&mut self, name: &str, text: Arc<[u8]>, at: Span) {
        let id = SchemaId(self.schemas.len());
        self.schemas.push(Schema { name: name.to_owned(), text });
        self.unread.push((id, at));
        self.miss(name);
    }

    /// Notes that there is no schema of this name that could be used.
    pub(super) fn miss(&mut self, name: &str) {
        self.outlines.insert(name.to_owned(), None);
    }

    /// Reads all that were taken, each among the others: one may import another. Before this process reads
    /// them, another one has.
    pub(super) fn read(&mut self, desk: &mut Desk, shelf: &dyn Shelf) {
        let taken: Vec<Taken> = std::mem::take(&mut self.unread)
            .into_iter()
            .filter_map(|(id, at)| {
                let Schema { name, text } = self.schemas.get(id.0)?.clone();
                Some(Taken { shown: shelf.shown(&name), name: At { at, value: name }, id, text })
            })
            .collect();
        if !shelf.is_proved()
            && let Some(unproved) = prove(&taken)
            && let Some(one) = taken.get(unproved.at)
        {
            let dies = !matches!(unproved.why, Why::Refused(_));
            let told =
                prove::told(&one.shown, &one.text, unproved).seeing(desk.place(one.name.at), "named here");
            desk.tell_at(one.name.at.start, told);
            if dies {
                // What one process died of is not done again in this one.
                return;
            }
        }
        let among: Vec<(&str, &[u8])> = taken.iter().map(|one| (one.shown.as_str(), &*one.text)).collect();
        for one in &taken {
            self.outlines.insert(one.name.value.clone(), outline(desk, one, &among));
        }
    }

    pub(super) fn outline(&self, name: &str) -> Option<&Outline> {
        self.outlines.get(name).and_then(Option::as_ref)
    }

    /// Says where the payloads of the file stand in it.
    pub(super) fn place_payloads(&mut self, place: impl Fn(&str) -> Place) {
        if let Some(Some(outline)) = self.outlines.get_mut(PAYLOADS) {
            let places = outline.elements.iter().map(|element| (Arc::clone(element), place(element)));
            outline.declared = places.collect();
        }
    }

    /// Every schema of the file that can be used, by name.
    pub(super) fn outlines(&self) -> impl Iterator<Item = (&str, &Outline)> {
        self.outlines.iter().filter_map(|(name, outline)| Some((name.as_str(), outline.as_ref()?)))
    }

    /// Adds a schema of the house that is used, unless it was added before.
    pub(super) fn ship(&mut self, vocabulary: &Schema) -> SchemaId {
        let there = self.schemas.iter().position(|schema| schema.name == vocabulary.name);
        SchemaId(there.unwrap_or_else(|| {
            self.schemas.push(vocabulary.clone());
            self.schemas.len() - 1
        }))
    }
}

fn prove(taken: &[Taken]) -> Option<Failed> {
    let source = |one: &Taken| Source { name: one.name.value.clone(), xsd: one.text.to_vec() };
    prove::prove(&taken.iter().map(source).collect::<Vec<_>>())
}

fn outline(desk: &mut Desk, one: &Taken, among: &[(&str, &[u8])]) -> Option<Outline> {
    let Taken { name, shown, id, text } = one;
    let model = match Model::read_among(text, among) {
        Ok(model) => model,
        Err(all) => {
            // What is wrong in a schema that it imports is told when that one is read.
            for (nth, unfit) in all.into_iter().filter(|unfit| unfit.document.is_none()).enumerate() {
                let mut told = unfit_diagnostic(shown, text, unfit);
                if nth == 0 {
                    told = told.seeing(desk.place(name.at), "named here");
                }
                desk.tell_at(name.at.start, told);
            }
            return None;
        }
    };
    let namespace = model.target_namespace();
    // What an earlier version let pass judges what its log holds, for ever.
    if belongs_to_house(namespace) && !desk.is_stored() {
        let told = format!("{}: the namespace {namespace} belongs to the house", name.value);
        desk.tell(Code::ConfigSchema, name.at, &told, Some("a targetNamespace of your own"));
        return None;
    }
    let place = |element: &Arc<str>| {
        let (line, column) = model.declared_at(text, element)?;
        Some((Arc::clone(element), place_in(shown, text, line, column)))
    };
    let mut outline = outlined(&model, *id);
    outline.declared = outline.elements.iter().filter_map(place).collect();
    Some(Outline { named: name.at, ..outline })
}

/// The outline of a schema that has been read.
pub(super) fn outlined(model: &Model, id: SchemaId) -> Outline {
    let elements = model.elements().map(Arc::from).collect();
    let namespace = model.target_namespace().into();
    let imports = model.imports().map(Arc::from).collect();
    Outline { id, namespace, elements, imports, named: Span::default(), declared: BTreeMap::new() }
}

/// A place in a schema: the stretch is the start of the construct, up to the next blank or the end of a tag.
fn place_in(file: &str, text: &[u8], line: u64, column: u64) -> Place {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    let content =
        String::from_utf8_lossy(text).lines().nth(line.saturating_sub(1)).unwrap_or_default().to_owned();
    let from_column = content.chars().skip(column.saturating_sub(1));
    let span = from_column.take_while(|c| !c.is_whitespace() && *c != '>').collect();
    Place { file: file.to_owned(), line, column, span, text: content }
}

fn unfit_diagnostic(file: &str, text: &[u8], unfit: Unfit) -> Diagnostic {
    let message = format!("{}: {}", unfit.construct, unfit.message);
    let place = place_in(file, text, unfit.line, unfit.column);
    Diagnostic::new(Code::ConfigSchema, place, &message, Some(unfit.mend.as_str()).filter(|m| !m.is_empty()))
}
