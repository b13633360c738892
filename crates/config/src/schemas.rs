//! The schemas of an organism's file. Each is fetched from a shelf once and read into an outline.
//!
//! This module looks only at the outline: the namespace and the root elements. The judge checks payloads. A
//! shelf is the file's folder or a stored source; nothing is fetched from elsewhere.
//!
//! All texts are fetched before any is read, because a schema may import others.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use systole_kit::schema::{ProfileViolation, SchemaModel};

use super::diagnostic::{Diagnostic, FilePlace};
use super::diagnostics::Diagnostics;
use super::prove;
use super::tree::Span;
use super::value::At;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Schema, SchemaId};
use systole_judge::SchemaSource;
use systole_judge::trial::{FailedTrial, TrialOutcome};

/// The name of the schema made from `payloads:`. A name that ends in a slash belongs to no file, so no
/// schema of an organism's file can have it.
pub const PAYLOADS: &str = "payloads/";

/// Why a schema is not available, and the fix.
pub(super) struct Absent {
    pub(super) why: String,
    pub(super) fix: Option<String>,
}

/// The source of schema texts.
pub(super) trait Shelf {
    /// The built-in schemas: core payloads, then the envelope.
    fn house(&self) -> [Schema; 2];
    /// The built-in vocabularies, under names that no file has.
    fn vocabularies(&self) -> Vec<Schema>;
    /// The stored schema made from `payloads:`. If there is one, it is used instead of a new one.
    fn payloads(&self) -> Option<Arc<[u8]>>;
    /// The stored schema of this name that was made for a party: for its notes, or of a pin. If there is one, it is used.
    fn find_made(&self, name: &str) -> Option<Arc<[u8]>>;
    /// The path of a file that is read later than the organism's file. The file must exist.
    fn find(&self, name: &str) -> Result<PathBuf, Absent>;
    /// The text of a file that the pump does not use. `None` if only the pump's data is needed.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Absent>;
    /// The text of a file with a prompt section.
    fn prompt(&self, name: &str) -> Result<Arc<[u8]>, Absent>;
    /// The name of a schema for people.
    fn show_name(&self, name: &str) -> String;
    /// The text of a schema that the organism's file names.
    fn take(&self, name: &str) -> Result<Arc<[u8]>, Absent>;
    /// Whether these schemas were compiled before they were stored.
    fn is_proved(&self) -> bool;
}

/// The parts of a schema that the checks need.
pub(super) struct Outline {
    pub(super) id: SchemaId,
    pub(super) namespace: Arc<str>,
    pub(super) elements: Vec<Arc<str>>,
    /// The namespaces that it imports.
    pub(super) imports: Vec<Arc<str>>,
    /// The tools of a pinned server.
    pub(super) tools: Vec<PinnedTool>,
    /// The place in the file that names it or stands for it.
    pub(super) named: Span,
    /// The places of its root elements.
    declared: BTreeMap<Arc<str>, FilePlace>,
}

/// A tool of a pinned server.
pub(super) struct PinnedTool {
    /// The element that calls it.
    pub(super) element: Arc<str>,
    /// Its name at the server.
    pub(super) name: Arc<str>,
}

impl Outline {
    /// The place of a root element. `None` for a built-in vocabulary.
    pub(super) fn find_declared(&self, element: &str) -> Option<&FilePlace> {
        self.declared.get(element)
    }

    /// The root element with this local name.
    pub(super) fn element(&self, local: &str) -> Option<&Arc<str>> {
        self.elements.iter().find(|element| &***element == local)
    }
}

/// The schemas of one composition.
pub(super) struct Collected {
    /// In the order in which the judge compiles them.
    pub(super) schemas: Vec<Schema>,
    /// By name. `None` for an unusable schema, which was reported.
    outlines: BTreeMap<String, Option<Outline>>,
    /// Schemas whose text was fetched but not yet read, with the place that names each.
    unread: Vec<(SchemaId, Span)>,
    /// Whether a namespace belongs to Systole.
    is_reserved: fn(&str) -> bool,
}

/// A schema with its text, during reading.
struct Taken {
    /// Its name, and its place in the organism's file.
    name: At<String>,
    /// The name for people.
    shown: String,
    id: SchemaId,
    text: Arc<[u8]>,
}

impl Collected {
    pub(super) fn new(shelf: &dyn Shelf, is_reserved: fn(&str) -> bool) -> Collected {
        let (schemas, outlines) = (shelf.house().into(), BTreeMap::new());
        Collected { schemas, outlines, unread: Vec::new(), is_reserved }
    }

    /// Fetches a schema from the shelf, unless it was fetched before.
    pub(super) fn add(&mut self, diagnostics: &mut Diagnostics, shelf: &dyn Shelf, name: &At<String>) {
        if self.outlines.contains_key(&name.value) {
            return;
        }
        match shelf.take(&name.value) {
            Ok(text) => self.put(&name.value, text, name.at),
            Err(Absent { why, fix }) => {
                let place = diagnostics.place(name.at);
                let missing = Diagnostic::new(Code::ConfigUnreadable, place, &why, fix.as_deref());
                diagnostics.tell_at(name.at.start, missing);
                self.miss(&name.value);
            }
        }
    }

    /// Adds a schema with its text. `at` is its place in the organism's file.
    pub(super) fn put(&mut self, name: &str, text: Arc<[u8]>, at: Span) {
        let id = SchemaId(self.schemas.len());
        self.schemas.push(Schema { name: name.to_owned(), text });
        self.unread.push((id, at));
        self.miss(name);
    }

    /// Records that no usable schema has this name.
    pub(super) fn miss(&mut self, name: &str) {
        self.outlines.insert(name.to_owned(), None);
    }

    /// Reads all fetched schemas together, because one may import another. Another process has tried them
    /// before.
    pub(super) fn read(&mut self, diagnostics: &mut Diagnostics, shelf: &dyn Shelf) {
        let taken: Vec<Taken> = std::mem::take(&mut self.unread)
            .into_iter()
            .filter_map(|(id, at)| {
                let Schema { name, text } = self.schemas.get(id.0)?.clone();
                Some(Taken { shown: shelf.show_name(&name), name: At { at, value: name }, id, text })
            })
            .collect();
        if !shelf.is_proved()
            && let Some(unproved) = prove(&taken)
            && let Some(one) = taken.get(unproved.at)
        {
            let dies = !matches!(unproved.why, TrialOutcome::Refused(_));
            let told = prove::report_trial(&one.shown, &one.text, unproved)
                .seeing(diagnostics.place(one.name.at), "named here");
            diagnostics.tell_at(one.name.at.start, told);
            if dies {
                // If the other process died, this one does not read them.
                return;
            }
        }
        let among: Vec<(&str, &[u8])> = taken.iter().map(|one| (one.shown.as_str(), &*one.text)).collect();
        for one in &taken {
            self.outlines.insert(one.name.value.clone(), outline(diagnostics, self.is_reserved, one, &among));
        }
    }

    pub(super) fn outline(&self, name: &str) -> Option<&Outline> {
        self.outlines.get(name).and_then(Option::as_ref)
    }

    /// Sets the places of the file's payloads.
    pub(super) fn place_payloads(&mut self, place: impl Fn(&str) -> FilePlace) {
        if let Some(Some(outline)) = self.outlines.get_mut(PAYLOADS) {
            let places = outline.elements.iter().map(|element| (Arc::clone(element), place(element)));
            outline.declared = places.collect();
        }
    }

    /// All usable schemas of the file, by name.
    pub(super) fn outlines(&self) -> impl Iterator<Item = (&str, &Outline)> {
        self.outlines.iter().filter_map(|(name, outline)| Some((name.as_str(), outline.as_ref()?)))
    }

    /// Adds a built-in schema, unless it was added before.
    pub(super) fn ship(&mut self, vocabulary: &Schema) -> SchemaId {
        let there = self.schemas.iter().position(|schema| schema.name == vocabulary.name);
        SchemaId(there.unwrap_or_else(|| {
            self.schemas.push(vocabulary.clone());
            self.schemas.len() - 1
        }))
    }
}

fn prove(taken: &[Taken]) -> Option<FailedTrial> {
    let source = |one: &Taken| SchemaSource { name: one.name.value.clone(), xsd: one.text.to_vec() };
    prove::prove(&taken.iter().map(source).collect::<Vec<_>>())
}

fn outline(
    diagnostics: &mut Diagnostics,
    is_reserved: fn(&str) -> bool,
    one: &Taken,
    among: &[(&str, &[u8])],
) -> Option<Outline> {
    let Taken { name, shown, id, text } = one;
    let model = match SchemaModel::read_among(text, among) {
        Ok(model) => model,
        Err(all) => {
            // Mistakes in an imported schema are reported when that schema is read.
            for (nth, unfit) in all.into_iter().filter(|unfit| unfit.document.is_none()).enumerate() {
                let mut told = unfit_diagnostic(shown, text, unfit);
                if nth == 0 {
                    told = told.seeing(diagnostics.place(name.at), "named here");
                }
                diagnostics.tell_at(name.at.start, told);
            }
            return None;
        }
    };
    let namespace = model.target_namespace();
    // A stored schema that an earlier version accepted must still judge its log.
    if is_reserved(namespace) && !diagnostics.is_stored() {
        let told = format!("{}: the namespace {namespace} belongs to Systole", name.value);
        diagnostics.report(Code::ConfigSchema, name.at, &told, "a targetNamespace of your own");
        return None;
    }
    for element in model.elements().filter(|element| model.is_together(element)) {
        let told = format!("{}: {element}: only elements of a workspace are put together", name.value);
        diagnostics.report(Code::ConfigSchema, name.at, &told, "leave systole:together out");
    }
    let place = |element: &Arc<str>| {
        let (line, column) = model.declared_at(text, element)?;
        Some((Arc::clone(element), place_in(shown, text, line, column)))
    };
    let mut outline = outline_model(&model, *id);
    outline.declared = outline.elements.iter().filter_map(place).collect();
    Some(Outline { named: name.at, ..outline })
}

/// The outline of a schema.
pub(super) fn outline_model(model: &SchemaModel, id: SchemaId) -> Outline {
    let elements = model.elements().map(Arc::from).collect();
    let tool =
        |element: &str| Some(PinnedTool { element: element.into(), name: model.find_tool(element)?.into() });
    let tools = model.elements().filter_map(tool).collect();
    let namespace = model.target_namespace().into();
    let imports = model.imports().map(Arc::from).collect();
    Outline { id, namespace, elements, imports, tools, named: Span::default(), declared: BTreeMap::new() }
}

/// A place in a schema. The span is the start of the construct, up to the next space or the end of a tag.
fn place_in(file: &str, text: &[u8], line: u64, column: u64) -> FilePlace {
    let line = usize::try_from(line).unwrap_or(usize::MAX);
    let column = usize::try_from(column).unwrap_or(usize::MAX);
    let content =
        String::from_utf8_lossy(text).lines().nth(line.saturating_sub(1)).unwrap_or_default().to_owned();
    let from_column = content.chars().skip(column.saturating_sub(1));
    let span = from_column.take_while(|c| !c.is_whitespace() && *c != '>').collect();
    FilePlace { file: file.to_owned(), line, column, span, text: content }
}

fn unfit_diagnostic(file: &str, text: &[u8], unfit: ProfileViolation) -> Diagnostic {
    let message = format!("{}: {}", unfit.construct, unfit.message);
    let place = place_in(file, text, unfit.line, unfit.column);
    Diagnostic::new(Code::ConfigSchema, place, &message, Some(unfit.fix.as_str()).filter(|m| !m.is_empty()))
}
