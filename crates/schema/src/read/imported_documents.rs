//! Finds the documents that a schema imports, among the documents offered with it.
//!
//! A schema's bytes and the other documents come in; the trees of the imported documents go out, with the
//! meaning of each import. An import names a namespace, never a place: nothing is fetched. A namespace that
//! no document declares, or more than one, leads nowhere and is reported.

use std::collections::HashMap;
use std::sync::Arc;

use crate::nearest::find_nearest;
use crate::read::{XSD, XsdReading};
use crate::tree::{self, NodeName, ParseFault, XmlElement};
use systole_wire::namespaces;

/// Namespaces that only the house defines. Their content changes with the house, and a schema stored with a
/// log must keep its meaning for ever.
const HOUSE: [&str; 3] = [namespaces::ENVELOPE, namespaces::CORE, namespaces::META];
const HOUSE_URN: &str = "urn:systole:";

/// A document with its tree.
pub(crate) struct XsdDocument<'d> {
    /// Its offered name; `None` for the schema itself.
    pub(crate) name: Option<&'d str>,
    pub(crate) xsd: &'d [u8],
    pub(crate) tree: XmlElement,
    pub(crate) namespace: Arc<str>,
    /// The targets of its imports, by namespace.
    pub(crate) imports: HashMap<String, FoundImport>,
    /// Its place among the offered documents.
    offered: Option<usize>,
}

/// The target of an import.
pub(crate) enum FoundImport {
    /// A document, by its place among the papers.
    Paper(usize),
    /// No document has the namespace; the nearest known one, or all of them.
    Missing { nearest: Option<String>, known: Vec<String> },
    /// Several documents have it.
    Several(Vec<String>),
}

/// The schema itself, followed by everything that its imports lead to.
pub(crate) fn collect_papers<'d>(
    xsd: &'d [u8],
    others: &[(&'d str, &'d [u8])],
) -> Result<Vec<XsdDocument<'d>>, ParseFault> {
    let mut papers = vec![XsdDocument::new(None, xsd, tree::read_tree(xsd)?, None)];
    if papers.iter().all(|paper| list_imports(&paper.tree).next().is_none()) {
        // Most schemas stand alone, and then no other document is examined.
        return Ok(papers);
    }
    let mut shelf = read_candidates(xsd, others);
    let mut at = 0;
    while let Some(paper) = papers.get(at) {
        let wanted: Vec<String> = list_imports(&paper.tree).map(str::to_owned).collect();
        for namespace in wanted {
            let found = find_paper(&namespace, &mut papers, &mut shelf);
            if let Some(paper) = papers.get_mut(at) {
                paper.imports.insert(namespace, found);
            }
        }
        at = at.saturating_add(1);
    }
    Ok(papers)
}

/// The places of the papers among the offered documents.
pub(crate) fn list_places(papers: &[XsdDocument<'_>]) -> Vec<usize> {
    papers.iter().filter_map(|paper| paper.offered).collect()
}

impl<'d> XsdDocument<'d> {
    fn new(name: Option<&'d str>, xsd: &'d [u8], tree: XmlElement, offered: Option<usize>) -> Self {
        let namespace = Arc::from(tree.find_attribute("targetNamespace").unwrap_or_default());
        Self { name, xsd, tree, namespace, imports: HashMap::new(), offered }
    }
}

/// The namespaces that a document imports, in its order.
pub(crate) fn list_imports(tree: &XmlElement) -> impl Iterator<Item = &str> {
    tree.children()
        .filter(|child| child.name.is_named(XSD, "import"))
        .filter_map(|child| child.find_attribute("namespace"))
}

/// The offered documents that can be read. Documents with the same bytes count as one.
fn read_candidates<'d>(xsd: &[u8], others: &[(&'d str, &'d [u8])]) -> Vec<Option<XsdDocument<'d>>> {
    let mut seen = vec![xsd];
    let mut shelf = Vec::new();
    for (at, (name, other)) in others.iter().enumerate() {
        if seen.contains(other) || other.len() > crate::limits::SCHEMA_BYTES {
            continue;
        }
        seen.push(other);
        let read = tree::read_tree(other).ok().filter(|tree| tree.name.is_named(XSD, "schema"));
        shelf.extend(read.map(|tree| Some(XsdDocument::new(Some(name), other, tree, Some(at)))));
    }
    shelf
}

fn find_paper<'d>(
    namespace: &str,
    papers: &mut Vec<XsdDocument<'d>>,
    shelf: &mut [Option<XsdDocument<'d>>],
) -> FoundImport {
    let of_it = |paper: &&XsdDocument<'_>| *paper.namespace == *namespace;
    let drawn = papers.iter().position(|paper| *paper.namespace == *namespace);
    let offered: Vec<&XsdDocument<'_>> = shelf.iter().flatten().filter(of_it).collect();
    let count = offered.len().saturating_add(usize::from(drawn.is_some()));
    if count > 1 {
        let name = |paper: &XsdDocument<'_>| paper.name.unwrap_or("this schema").to_owned();
        let drawn = drawn.and_then(|at| papers.get(at)).into_iter();
        return FoundImport::Several(drawn.chain(offered).map(name).collect());
    }
    if let Some(at) = drawn {
        return FoundImport::Paper(at);
    }
    let all = || papers.iter().chain(shelf.iter().flatten()).map(|paper| &*paper.namespace);
    let mut known: Vec<String> = all().skip(1).map(str::to_owned).collect();
    known.sort();
    known.dedup();
    let near = find_nearest(namespace, known.iter().map(String::as_str)).map(str::to_owned);
    match shelf
        .iter_mut()
        .find(|slot| slot.as_ref().is_some_and(|paper| of_it(&paper)))
        .and_then(Option::take)
    {
        Some(paper) => {
            papers.push(paper);
            FoundImport::Paper(papers.len().saturating_sub(1))
        }
        None => FoundImport::Missing { nearest: near, known },
    }
}

impl<'t> XsdReading<'t> {
    /// Checks one `xs:import`: it names no place, and it leads to one document.
    pub(crate) fn check_import(&mut self, element: &'t XmlElement) {
        self.only_attributes(element, &["namespace", "schemaLocation"]);
        self.list_members(element).into_iter().for_each(|member| {
            self.unfit_at(member, "xs:import is empty", "leave it out");
        });
        if element.find_attribute("schemaLocation").is_some() {
            let fix =
                "leave schemaLocation out; the namespace is looked for among the schemas named beside it";
            return self.unfit_at(element, "a location is never fetched", fix);
        }
        let namespace = element.find_attribute("namespace").unwrap_or_default();
        if namespace.is_empty() {
            self.unfit_at(element, "it names no namespace", "add namespace=\"…\"");
        } else if *namespace == *self.target() {
            let message = "a schema does not import its own namespace";
            self.unfit_at(element, message, "leave the import out");
        } else if namespace == namespaces::XML {
            let message = "attributes of the namespace xml are not supported";
            self.unfit_at(element, message, "declare an attribute such as lang without a namespace");
        } else if HOUSE.contains(&namespace) || namespace.starts_with(HOUSE_URN) {
            self.of_the_house(element, namespace);
        } else {
            self.check_found(element, namespace);
        }
    }

    fn of_the_house(&mut self, element: &XmlElement, namespace: &str) {
        let message = format!("the namespace {namespace} belongs to Systole and is not imported");
        let fix = "take its elements with <xs:any namespace=\"##other\" processContents=\"lax\"/>";
        self.unfit_at(element, &message, fix);
    }

    fn check_found(&mut self, element: &XmlElement, namespace: &str) {
        let (message, fix) = match self.paper().imports.get(namespace) {
            Some(FoundImport::Paper(_)) | None => return,
            Some(FoundImport::Several(names)) => (
                format!("the namespace {namespace} is of several schemas: {}", names.join(", ")),
                "keep one of them, or give one another targetNamespace".to_owned(),
            ),
            Some(FoundImport::Missing { .. })
                if matches!(namespace, namespaces::TALK | namespaces::WORKFLOW) =>
            {
                return self.of_the_house(element, namespace);
            }
            Some(FoundImport::Missing { nearest, known }) => (
                format!("no schema named beside it has the namespace {namespace}"),
                match nearest {
                    Some(near) => format!("namespace=\"{near}\""),
                    None if known.is_empty() => "name the schema of that namespace too".to_owned(),
                    None => format!("name the schema of that namespace too; known are {}", known.join(", ")),
                },
            ),
        };
        self.unfit_at(element, &message, &fix);
    }

    /// The document that defines a name of this namespace, or the error in the name.
    pub(crate) fn paper_of(&mut self, element: &XmlElement, written: &str, namespace: &str) -> Option<usize> {
        if *namespace == *self.target() {
            return Some(self.at);
        }
        match self.paper().imports.get(namespace) {
            Some(FoundImport::Paper(at)) => return Some(*at),
            // The error was already reported for the import.
            Some(_) => return None,
            None => {}
        }
        let (message, fix) = if namespace.is_empty() {
            let near = format!("a prefix bound to {}", self.target());
            (format!("{written} has no namespace"), near)
        } else {
            let fix = format!("add <xs:import namespace=\"{namespace}\"/> at the top");
            (format!("{written} is of the namespace {namespace}, which is not imported"), fix)
        };
        self.unfit_at(element, &message, &fix);
        None
    }

    /// The document that defines a global type, or the error in its name.
    pub(crate) fn find_defined(
        &mut self,
        element: &XmlElement,
        written: &str,
        name: &NodeName,
    ) -> Option<usize> {
        let at = self.paper_of(element, written, &name.namespace)?;
        if self.named.contains_key(&(at, name.local.as_str())) {
            return Some(at);
        }
        let known = self.named.keys().filter(|(paper, _)| *paper == at).map(|(_, known)| *known);
        let fix = match find_nearest(&name.local, known) {
            Some(near) => format!("define it, or did you mean {near}"),
            None => "define it, or correct its name".to_owned(),
        };
        let place = if at == self.at { "this schema".to_owned() } else { name.namespace.to_string() };
        self.unfit_at(element, &format!("the type {written} is not defined in {place}"), &fix);
        None
    }
}
