//! Reads a schema document into the model's shapes and lists what is outside the profile.
//!
//! XSD bytes come in; a `SchemaShape`, or every unfit construct with line, column and fix, goes out. It never
//! follows a location: a construct that names one is unfit. `among` finds the imported documents,
//! `read_content` reads complex types, `read_simple` reads simple types.

pub(crate) mod beyond;
pub(crate) mod complex;
pub(crate) mod default;
pub(crate) mod endless;
pub(crate) mod facets;
pub(crate) mod imported_documents;
pub(crate) mod marks;
pub(crate) mod simple;
pub(crate) mod variety;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ProfileViolation;
use crate::judge::builtin::Builtin;
use crate::limits;
use crate::nearest::find_nearest;
use crate::read::beyond::{attribute_words, construct_words};
use crate::read::default::{AwaitingDefault, find_annotation};
use crate::read::imported_documents::XsdDocument;
use crate::read::marks::{is_file, marks_of};
use crate::shape::{Declaration, SchemaShape, SimpleType, TypeId, TypeShape};
use crate::tree::{self, ElementPart, XmlElement};
use systole_wire::namespaces::SCHEMA;

pub(crate) const XSD: &str = "http://www.w3.org/2001/XMLSchema";

/// The annotations that the house knows. A misspelled one would be a rule without effect.
const ANNOTATIONS: [&str; 9] =
    ["dangerous", "default", "file", "json", "json-form", "json-null", "sensitive", "together", "tool"];

pub(crate) fn read_schema(
    xsd: &[u8],
    others: &[(&str, &[u8])],
) -> Result<SchemaShape, Vec<ProfileViolation>> {
    let alone = |offset, message: &str, fix: &str| {
        vec![make_violation((None, xsd), offset, "document", message, fix)]
    };
    if xsd.len() > limits::SCHEMA_BYTES {
        return Err(alone(0, "the schema is larger than 1 MiB", "split it over several listeners"));
    }
    let papers = imported_documents::collect_papers(xsd, others)
        .map_err(|fault| alone(fault.offset, &fault.words, "write plain, well-formed UTF-8 XML"))?;
    let Some(first) = papers.first() else { return Ok(SchemaShape::default()) };
    let mut reading = XsdReading::new(&papers, first);
    reading.read_all();
    let XsdReading { schema, mut unfit, .. } = reading;
    // A named type that is unfit is found again at each use.
    unfit.sort_by(|a, b| (&a.document, a.line, a.column).cmp(&(&b.document, b.line, b.column)));
    unfit.dedup();
    if unfit.is_empty() { Ok(schema) } else { Err(unfit) }
}

fn make_violation(
    (document, xsd): (Option<&str>, &[u8]),
    offset: usize,
    construct: &str,
    message: &str,
    fix: &str,
) -> ProfileViolation {
    let (line, column) = tree::line_and_column(xsd, offset);
    ProfileViolation {
        document: document.map(str::to_owned),
        line,
        column,
        construct: construct.to_owned(),
        message: message.to_owned(),
        fix: fix.to_owned(),
    }
}

/// A global type that is read at its first use.
pub(crate) struct NamedDefinition<'t> {
    pub(crate) name: &'t str,
    pub(crate) element: &'t XmlElement,
    pub(crate) id: TypeId,
    pub(crate) simple: Simply,
}

/// The progress of reading a global simple type.
#[derive(Clone)]
pub(crate) enum Simply {
    Unread,
    /// Being read; a use at this moment means that the type contains itself.
    Open,
    /// Read, or found unfit.
    Read(Option<Arc<SimpleType>>),
}

/// A schema during reading, with everything that it imports; `'t` is the lifetime of the trees.
pub(crate) struct XsdReading<'t> {
    papers: &'t [XsdDocument<'t>],
    /// The current paper, and its place.
    paper: &'t XsdDocument<'t>,
    pub(crate) at: usize,
    unfit: Vec<ProfileViolation>,
    schema: SchemaShape,
    pub(crate) named: HashMap<(usize, &'t str), NamedDefinition<'t>>,
    built_in: Vec<(Builtin, TypeId)>,
    /// Steps of the patterns read so far.
    steps: usize,
    pub(crate) defaults: Vec<AwaitingDefault<'t>>,
}

impl<'t> XsdReading<'t> {
    fn new(papers: &'t [XsdDocument<'t>], paper: &'t XsdDocument<'t>) -> Self {
        let mut schema = SchemaShape::default();
        schema.namespace = Arc::clone(&paper.namespace);
        schema.imports = imported_documents::list_imports(&paper.tree).map(Arc::from).collect();
        schema.drawn_in = imported_documents::list_places(papers);
        let (unfit, named, built_in, defaults) = (Vec::new(), HashMap::new(), Vec::new(), Vec::new());
        Self { papers, paper, at: 0, unfit, schema, named, built_in, steps: 0, defaults }
    }

    /// The current paper.
    pub(crate) fn paper(&self) -> &'t XsdDocument<'t> {
        self.paper
    }

    /// Runs `work` in another paper and comes back.
    pub(crate) fn with_paper<T>(&mut self, at: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let was = (self.at, self.paper);
        if let Some(paper) = self.papers.get(at) {
            (self.at, self.paper) = (at, paper);
        }
        let done = work(self);
        (self.at, self.paper) = was;
        done
    }

    pub(crate) fn report_unfit(&mut self, offset: usize, construct: &str, message: &str, fix: &str) {
        let paper = self.paper();
        self.unfit.push(make_violation((paper.name, paper.xsd), offset, construct, message, fix));
    }

    pub(crate) fn unfit_at(&mut self, element: &XmlElement, message: &str, fix: &str) {
        self.report_unfit(element.span.start, &format!("xs:{}", element.name.local), message, fix);
    }

    /// The element as in the schema, or only its start tag if it is long.
    pub(crate) fn cut_fragment(&self, element: &XmlElement) -> String {
        let xsd = self.paper().xsd;
        let whole = xsd.get(element.span.clone()).unwrap_or_default();
        let head = xsd.get(element.span.start..element.head_end).unwrap_or_default();
        let shown = if whole.len() <= limits::QUOTED_SCHEMA { whole } else { head };
        String::from_utf8_lossy(shown).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Checks that an element has only these attributes; attributes of foreign namespaces are ignored.
    pub(crate) fn only_attributes(&mut self, element: &XmlElement, known: &[&str]) {
        for attribute in &element.attributes {
            let name = attribute.name.local.as_str();
            if *attribute.name.namespace == *SCHEMA && !ANNOTATIONS.contains(&name) {
                let fix = find_nearest(name, ANNOTATIONS.iter().copied()).unwrap_or("leave it out");
                self.report_unfit(element.span.start, name, "there is no such annotation", fix);
            }
            if attribute.name.namespace.is_empty() && name != "id" && !known.contains(&name) {
                let (message, fix) = attribute_words(name);
                self.report_unfit(element.span.start, name, message, fix);
            }
        }
    }

    /// The children that matter: annotations are skipped, other vocabularies and stray text are unfit.
    pub(crate) fn list_members(&mut self, element: &'t XmlElement) -> Vec<&'t XmlElement> {
        let mut members = Vec::new();
        for part in &element.parts {
            match part {
                ElementPart::Element(child) if *child.name.namespace != *XSD => {
                    let message = "an element of another vocabulary is outside xs:appinfo";
                    self.report_unfit(
                        child.span.start,
                        &child.tag,
                        message,
                        "move it into xs:annotation/xs:appinfo",
                    );
                }
                ElementPart::Element(child) if child.name.local == "annotation" => {}
                ElementPart::Element(child) => members.push(child),
                ElementPart::Text(text) if text.is_layout() => {}
                ElementPart::Text(text) => {
                    self.report_unfit(
                        text.offset,
                        "text",
                        "text is outside xs:documentation",
                        "leave it out",
                    );
                }
            }
        }
        members
    }

    /// Reads all papers. Global elements and types of every paper get their places first, so that a type
    /// may refer to them or to itself, and two schemas to one another.
    fn read_all(&mut self) {
        let mut globals = Vec::new();
        for at in 0..self.papers.len() {
            let found = self.with_paper(at, |reading| reading.read_root(&reading.paper().tree));
            globals.push(found);
        }
        self.read_named();
        for (at, found) in globals.iter().enumerate() {
            self.with_paper(at, |reading| reading.read_globals(found));
        }
        if self.unfit.is_empty() {
            self.no_endless(&globals);
        }
        self.hold_defaults();
    }

    /// A type that must contain itself is reported once, where the cycle enters the first document that has
    /// it.
    fn no_endless(&mut self, globals: &[Vec<(&'t XmlElement, TypeId)>]) {
        let ends = endless::find_ends(&self.schema);
        let named = self.named.iter().map(|((at, _), named)| (*at, named.element, named.id));
        let globals = globals.iter().enumerate();
        let globals =
            globals.flat_map(|(at, found)| found.iter().map(move |(element, id)| (at, *element, *id)));
        let endless = named.chain(globals).filter(|(.., id)| ends.get(id.0).is_some_and(|ends| !ends));
        if let Some((at, element, _)) = endless.min_by_key(|(at, element, _)| (*at, element.span.start)) {
            let fix = "give the element that leads back minOccurs=\"0\", or put it into an xs:choice";
            let message = "it must contain itself, so no document of it ever ends";
            self.with_paper(at, |reading| reading.unfit_at(element, message, fix));
        }
    }

    /// Reads the head of one paper and returns its global elements.
    fn read_root(&mut self, root: &'t XmlElement) -> Vec<(&'t XmlElement, TypeId)> {
        if !root.name.is_named(XSD, "schema") {
            let message = "the root element is not xs:schema of XML Schema 1.0";
            self.report_unfit(root.span.start, &root.tag, message, "begin with xs:schema");
            return Vec::new();
        }
        let known = ["targetNamespace", "elementFormDefault", "attributeFormDefault", "version"];
        self.only_attributes(root, &known);
        if self.target().is_empty() {
            self.unfit_at(root, "there is no targetNamespace", "add targetNamespace=\"…\"");
        }
        if !matches!(root.find_attribute("elementFormDefault"), Some("qualified" | "unqualified")) {
            let message = "elementFormDefault is neither \"qualified\" nor \"unqualified\"";
            self.unfit_at(root, message, "add elementFormDefault=\"qualified\"");
        }
        if root.find_attribute("attributeFormDefault").is_some_and(|form| form != "unqualified") {
            let fix = "leave attributeFormDefault out";
            self.unfit_at(root, "attributes of a namespace are not supported", fix);
        }
        let members = self.list_members(root);
        for (at, member) in members.iter().enumerate() {
            match member.name.local.as_str() {
                "import" if members.iter().take(at).any(|before| before.name.local != "import") => {
                    self.unfit_at(member, "it comes after a declaration", "move it to the top");
                }
                "import" => self.check_import(member),
                "element" => {}
                "complexType" | "simpleType" => self.name_type(member),
                other => {
                    let (message, fix) = construct_words(other);
                    self.unfit_at(member, message, fix);
                }
            }
        }
        let globals = self.declare_globals(&members);
        let at = self.at;
        if globals.is_empty() && !self.named.keys().any(|(paper, _)| *paper == at) {
            let message = "it declares neither a global element nor a type";
            self.unfit_at(root, message, "declare the payload as a global xs:element");
        }
        globals
    }

    fn name_type(&mut self, element: &'t XmlElement) {
        let Some(name) = element.find_attribute("name") else {
            self.unfit_at(element, "a global type has no name", "add name=\"…\"");
            return;
        };
        let id = self.reserve_type();
        if self
            .named
            .insert((self.at, name), NamedDefinition { name, element, id, simple: Simply::Unread })
            .is_some()
        {
            self.unfit_at(element, &format!("the type {name} is defined twice"), "rename one of them");
        }
    }

    pub(crate) fn read_so_far(&self) -> &SchemaShape {
        &self.schema
    }

    fn reserve_type(&mut self) -> TypeId {
        self.schema.types.push(TypeShape::Anything);
        TypeId(self.schema.types.len().saturating_sub(1))
    }

    fn settle_type(&mut self, id: TypeId, read: TypeShape) {
        if let Some(slot) = self.schema.types.get_mut(id.0) {
            *slot = read;
        }
    }

    fn read_named(&mut self) {
        let mut named: Vec<_> =
            self.named.iter().map(|((at, name), named)| (*at, *name, named.element, named.id)).collect();
        named.sort_by_key(|(at, _, element, _)| (*at, element.span.start));
        for (at, name, element, id) in named {
            let read = if element.name.local == "simpleType" {
                self.simple_named(at, name, 0).map(TypeShape::Simple)
            } else {
                self.with_paper(at, |reading| {
                    reading.only_attributes(element, &["name", "mixed"]);
                    reading.read_complex(element).map(TypeShape::Complex)
                })
            };
            if let Some(read) = read {
                self.settle_type(id, read);
            }
        }
    }

    fn declare_globals(&mut self, members: &[&'t XmlElement]) -> Vec<(&'t XmlElement, TypeId)> {
        let mut declared = Vec::new();
        for global in members.iter().filter(|member| member.name.local == "element") {
            self.only_attributes(global, &["name", "type"]);
            self.no_default(global);
            self.no_json_marks(global);
            self.known_words(global);
            let Some(name) = global.find_attribute("name") else {
                self.unfit_at(global, "a global element has no name", "add name=\"…\"");
                continue;
            };
            let of = self.reserve_type();
            if let Some(other) = mark_of_danger(global).filter(|value| !matches!(*value, "true" | "false")) {
                let message = format!("systole:dangerous is `{other}`");
                self.unfit_at(global, &message, "systole:dangerous=\"true\", or leave it out");
            }
            let declaration = self.make_declaration(global, (self.target(), name), of);
            if !self.schema.declare(declaration) {
                self.unfit_at(global, &format!("the element {name} is declared twice"), "rename one");
            }
            if is_file(global) {
                self.await_type(global, of);
            }
            declared.push((*global, of));
        }
        declared
    }

    fn read_globals(&mut self, globals: &[(&'t XmlElement, TypeId)]) {
        for (global, id) in globals {
            if let Some(read) = self.type_of(global) {
                let read = self.schema.find_type(read).clone();
                self.settle_type(*id, read);
            }
        }
    }

    pub(crate) fn make_declaration(
        &self,
        element: &XmlElement,
        (namespace, name): (Arc<str>, &str),
        of: TypeId,
    ) -> Declaration {
        let (documentation, fragment) = (read_documentation(element), self.cut_fragment(element));
        let dangerous = mark_of_danger(element) == Some("true");
        let (offset, default) = (element.span.start, find_annotation(element).map(str::to_owned));
        let marks = Box::new(marks_of(element));
        Declaration {
            name: name.to_owned(),
            namespace,
            of,
            documentation,
            offset,
            dangerous,
            marks,
            default,
            fragment,
        }
    }

    /// The type of an element: by name, or written inside it.
    pub(crate) fn type_of(&mut self, element: &'t XmlElement) -> Option<TypeId> {
        let mut members = self.list_members(element);
        // They are beside a type, which is still read.
        members.retain(|member| {
            let constraint = matches!(member.name.local.as_str(), "key" | "keyref" | "unique");
            if constraint {
                let (message, fix) = construct_words(&member.name.local);
                self.unfit_at(member, message, fix);
            }
            !constraint
        });
        match (element.find_attribute("type"), members.as_slice()) {
            (Some(name), []) => self.type_named(element, name),
            (None, [inner]) if inner.name.local == "simpleType" => {
                self.only_attributes(inner, &[]);
                let read = self.read_simple(inner, 0)?;
                let id = self.reserve_type();
                self.settle_type(id, TypeShape::Simple(read));
                Some(id)
            }
            (None, [inner]) if inner.name.local == "complexType" => {
                self.only_attributes(inner, &["mixed"]);
                let read = self.read_complex(inner)?;
                let id = self.reserve_type();
                self.settle_type(id, TypeShape::Complex(read));
                Some(id)
            }
            (None, []) => {
                let fix = "add type=\"xs:string\" or another type";
                self.unfit_at(element, "an element without a type takes anything", fix);
                None
            }
            (_, [inner, ..]) => {
                let (message, fix) = construct_words(&inner.name.local);
                self.unfit_at(inner, message, fix);
                None
            }
        }
    }

    fn type_named(&mut self, element: &'t XmlElement, written: &str) -> Option<TypeId> {
        let name = element.resolve_name(written);
        match name {
            Some(name) if *name.namespace == *XSD => {
                let built_in = self.built_in(element, &name.local)?;
                if let Some((_, id)) = self.built_in.iter().find(|(known, _)| *known == built_in) {
                    return Some(*id);
                }
                let id = self.reserve_type();
                self.settle_type(id, TypeShape::Simple(Arc::new(SimpleType::new_plain(built_in))));
                self.built_in.push((built_in, id));
                Some(id)
            }
            Some(name) => {
                let at = self.find_defined(element, written, &name)?;
                self.named.get(&(at, name.local.as_str())).map(|named| named.id)
            }
            None => {
                let message = format!("the prefix of {written} is not declared");
                self.unfit_at(element, &message, "declare the prefix on xs:schema");
                None
            }
        }
    }

    /// The target namespace of the current paper.
    pub(crate) fn target(&self) -> Arc<str> {
        Arc::clone(&self.paper().namespace)
    }

    /// Whether local elements of this paper have its namespace by default.
    pub(crate) fn is_qualified(&self) -> bool {
        self.paper().tree.find_attribute("elementFormDefault") != Some("unqualified")
    }

    /// Counts the steps of one more pattern; `false` if the total is too large.
    pub(crate) fn can_unfold(&mut self, steps: usize) -> bool {
        self.steps = self.steps.saturating_add(steps);
        !self.is_unfolded()
    }

    /// Whether the patterns have too many steps, which was already reported.
    pub(crate) fn is_unfolded(&self) -> bool {
        self.steps > limits::PATTERNS_STEPS
    }

    /// Keeps that some value is marked as sensitive, or refers to a file.
    pub(crate) fn note_marks(&mut self, sensitive: bool, file: bool) {
        self.schema.has_sensitive |= sensitive;
        self.schema.has_files |= file;
    }

    /// How many constructs were found unfit so far.
    pub(crate) fn faults(&self) -> usize {
        self.unfit.len()
    }

    /// A global element of any paper.
    pub(crate) fn find_global(&self, namespace: &str, name: &str) -> Option<&Declaration> {
        self.schema.global_of(namespace, name)
    }
}

/// The value of an element's `systole:dangerous` annotation.
pub(crate) fn mark_of_danger(element: &XmlElement) -> Option<&str> {
    let found = element.attributes.iter().find(|attribute| attribute.name.is_named(SCHEMA, "dangerous"))?;
    Some(&found.value)
}

/// The documentation of a schema element, with collapsed white space.
pub(crate) fn read_documentation(element: &XmlElement) -> Option<String> {
    let annotations = element.children().filter(|child| child.name.is_named(XSD, "annotation"));
    let texts =
        annotations.flat_map(XmlElement::children).filter(|child| child.name.is_named(XSD, "documentation"));
    let words: Vec<String> =
        texts.map(|text| text.text().split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let joined = words.join(" ");
    (!joined.is_empty()).then_some(joined)
}
