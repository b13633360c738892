//! The schemas an organism's file names: fetched from a shelf, read into an outline, each once.
//!
//! Only the outline is looked at here, the namespace and the root elements; whether a payload fits is
//! for the judge. Nothing is ever fetched from elsewhere: a shelf is the file's folder or a stored source.

use std::collections::BTreeMap;
use std::sync::Arc;

use systole_kit::schema::{Model, Unfit};

use super::desk::Desk;
use super::diagnostic::{Diagnostic, Place};
use super::prove;
use super::value::At;
use crate::edges::schemas::Source;
use crate::edges::schemas::trial::{Failed, Why};
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
    /// Whether these schemas were proved to compile when they were stored.
    fn is_proved(&self) -> bool;
}

/// What the checks need to know of a schema.
pub(super) struct Outline {
    pub(super) id: SchemaId,
    pub(super) namespace: Arc<str>,
    pub(super) elements: Vec<Arc<str>>,
}

/// The schemas of one composition.
pub(super) struct Collected {
    /// In the order in which the judge compiles them.
    pub(super) schemas: Vec<Schema>,
    /// Those that the file names, which imports are looked for among.
    named: Vec<Named>,
    /// By name; none for a schema that cannot be used, which has been told.
    outlines: BTreeMap<String, Option<Outline>>,
}

/// A schema that the file names, and the first place that does.
struct Named {
    name: At<String>,
    id: SchemaId,
    text: Arc<[u8]>,
}

impl Collected {
    pub(super) fn new(shelf: &dyn Shelf) -> Collected {
        Collected { schemas: shelf.house().into(), named: Vec::new(), outlines: BTreeMap::new() }
    }

    /// Takes a schema from the shelf, unless an earlier listener named it already. `read` comes behind.
    pub(super) fn add(&mut self, desk: &mut Desk, shelf: &dyn Shelf, name: &At<String>) {
        if self.outlines.contains_key(&name.value) {
            return;
        }
        // What it allows is known once all are there: it may import another.
        self.outlines.insert(name.value.clone(), None);
        match shelf.take(&name.value) {
            Ok(text) => {
                let id = SchemaId(self.schemas.len());
                self.schemas.push(Schema { name: name.value.clone(), text: Arc::clone(&text) });
                self.named.push(Named { name: name.clone(), id, text });
            }
            Err(Absent { why, mend }) => {
                desk.tell(Code::ConfigUnreadable, name.at, &why, mend.as_deref());
            }
        }
    }

    /// Reads all that were taken, each among the others. Before this process reads them, another one has.
    pub(super) fn read(&mut self, desk: &mut Desk, shelf: &dyn Shelf) {
        let shown: Vec<String> = self.named.iter().map(|one| shelf.shown(&one.name.value)).collect();
        if let Some(unproved) = (!shelf.is_proved()).then(|| self.prove()).flatten()
            && let (Some(one), Some(shown)) = (self.named.get(unproved.at), shown.get(unproved.at))
        {
            let dies = !matches!(unproved.why, Why::Refused(_));
            desk.tell_at(one.name.at.start, prove::told(shown, &one.text, unproved));
            if dies {
                // What one process died of is not done again in this one.
                return;
            }
        }
        let among: Vec<(&str, &[u8])> =
            shown.iter().zip(&self.named).map(|(shown, one)| (shown.as_str(), &*one.text)).collect();
        for (one, shown) in self.named.iter().zip(&shown) {
            self.outlines.insert(one.name.value.clone(), outline(desk, one, shown, &among));
        }
    }

    fn prove(&self) -> Option<Failed> {
        let source = |one: &Named| Source { name: one.name.value.clone(), xsd: one.text.to_vec() };
        prove::prove(&self.named.iter().map(source).collect::<Vec<_>>())
    }

    pub(super) fn outline(&self, name: &str) -> Option<&Outline> {
        self.outlines.get(name).and_then(Option::as_ref)
    }
}

fn outline(desk: &mut Desk, one: &Named, shown: &str, among: &[(&str, &[u8])]) -> Option<Outline> {
    let Named { name, id, text } = one;
    let model = match Model::read_among(text, among) {
        Ok(model) => model,
        Err(all) => {
            // What is wrong in a schema that it imports is told when that one is read.
            for unfit in all.into_iter().filter(|unfit| unfit.document.is_none()) {
                desk.tell_at(name.at.start, unfit_diagnostic(shown, text, unfit));
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
    let elements = model.elements().map(Arc::from).collect();
    Some(Outline { id: *id, namespace: namespace.into(), elements })
}

fn unfit_diagnostic(file: &str, text: &[u8], unfit: Unfit) -> Diagnostic {
    let line = usize::try_from(unfit.line).unwrap_or(usize::MAX);
    let column = usize::try_from(unfit.column).unwrap_or(usize::MAX);
    let content =
        String::from_utf8_lossy(text).lines().nth(line.saturating_sub(1)).unwrap_or_default().to_owned();
    // The stretch is the start of the construct: up to the next blank or the end of a tag.
    let from_column = content.chars().skip(column.saturating_sub(1));
    let span = from_column.take_while(|c| !c.is_whitespace() && *c != '>').collect();
    Diagnostic {
        code: Code::ConfigSchema,
        place: Place { file: file.to_owned(), line, column, span, text: content },
        message: [&unfit.construct, ": ", &unfit.message].concat(),
        mend: Some(unfit.mend).filter(|mend| !mend.is_empty()),
    }
}
