//! The schemas an organism's file names: fetched from a shelf, read into an outline, each once.
//!
//! Only the outline is looked at here, the namespace and the root elements; whether a payload fits is
//! for the judge. Nothing is ever fetched from elsewhere: a shelf is the file's folder or a stored source.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_kit::schema::{Model, Unfit};

use super::desk::Desk;
use super::diagnostic::{Diagnostic, Place};
use super::value::At;
use super::yaml::Span;
use crate::words::codes::Code;
use crate::words::composition::{Schema, SchemaId};

/// Namespaces nobody but the house may give words to.
const HOUSE: [&str; 3] = [
    "https://xml-pipeline.org/ns/envelope/v1",
    "https://xml-pipeline.org/ns/core/v1",
    "https://xml-pipeline.org/ns/meta/v1",
];
const HOUSE_URN: &str = "urn:systole:";

/// Why a schema cannot be had, and what to do about it.
pub(super) struct Absent {
    pub(super) why: String,
    pub(super) mend: Option<String>,
}

/// Where schema texts are found.
pub(super) trait Shelf {
    /// The house's own schemas, core payloads first, then the envelope.
    fn house(&self) -> [Schema; 2];
    /// A schema's name as people find it.
    fn shown(&self, name: &str) -> String;
    /// The text of a schema that the organism's file names.
    fn take(&self, name: &str) -> Result<Arc<[u8]>, Absent>;
}

/// What the checks need to know of a schema.
pub(super) struct Outline {
    pub(super) id: SchemaId,
    pub(super) namespace: Arc<str>,
    pub(super) elements: Vec<Arc<str>>,
    /// Where the file names it first.
    pub(super) named: Span,
    /// Where its root elements are declared.
    declared: BTreeMap<Arc<str>, Place>,
}

impl Outline {
    /// Where a root element is declared.
    pub(super) fn declared(&self, element: &str) -> Option<&Place> {
        self.declared.get(element)
    }
}

/// The schemas of one composition.
pub(super) struct Collected {
    /// In the order in which the judge compiles them.
    pub(super) schemas: Vec<Schema>,
    /// By name; none for a schema that cannot be used, which has been told.
    outlines: BTreeMap<String, Option<Outline>>,
}

impl Collected {
    pub(super) fn new(shelf: &dyn Shelf) -> Collected {
        Collected { schemas: shelf.house().into(), outlines: BTreeMap::new() }
    }

    /// Takes a schema from the shelf, unless an earlier listener named it already.
    pub(super) fn add(&mut self, desk: &mut Desk, shelf: &dyn Shelf, name: &At<String>) {
        if self.outlines.contains_key(&name.value) {
            return;
        }
        let outline = match shelf.take(&name.value) {
            Ok(text) => {
                let id = SchemaId(self.schemas.len());
                self.schemas.push(Schema { name: name.value.clone(), text: Arc::clone(&text) });
                outline(desk, name, &shelf.shown(&name.value), &text, id)
            }
            Err(Absent { why, mend }) => {
                desk.tell(Code::ConfigUnreadable, name.at, &why, mend.as_deref());
                None
            }
        };
        self.outlines.insert(name.value.clone(), outline);
    }

    pub(super) fn outline(&self, name: &str) -> Option<&Outline> {
        self.outlines.get(name).and_then(Option::as_ref)
    }

    /// Every schema that can be used.
    pub(super) fn outlines(&self) -> impl Iterator<Item = &Outline> {
        self.outlines.values().flatten()
    }
}

fn outline(desk: &mut Desk, name: &At<String>, shown: &str, text: &[u8], id: SchemaId) -> Option<Outline> {
    let model = match Model::read(text) {
        Ok(model) => model,
        Err(all) => {
            for (nth, unfit) in all.into_iter().enumerate() {
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
    if HOUSE.contains(&namespace) || namespace.starts_with(HOUSE_URN) {
        let told = [&name.value, ": the namespace ", namespace, " belongs to the house"].concat();
        desk.tell(Code::ConfigSchema, name.at, &told, Some("a targetNamespace of your own"));
        return None;
    }
    let elements: Vec<Arc<str>> = model.elements().map(Arc::from).collect();
    let place = |element: &Arc<str>| Some((Arc::clone(element), declaration(shown, text, &model, element)?));
    let declared = elements.iter().filter_map(place).collect();
    Some(Outline { id, namespace: namespace.into(), elements, named: name.at, declared })
}

/// Where a schema declares a root element.
fn declaration(file: &str, text: &[u8], model: &Model, element: &str) -> Option<Place> {
    let (line, column) = model.declared_at(text, element)?;
    Some(place_in(file, text, line, column))
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
    let message = [&unfit.construct, ": ", &unfit.message].concat();
    let place = place_in(file, text, unfit.line, unfit.column);
    Diagnostic::new(Code::ConfigSchema, place, &message, Some(unfit.mend.as_str()).filter(|m| !m.is_empty()))
}
