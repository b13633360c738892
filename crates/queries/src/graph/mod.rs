//! The graph of an organism: who may address whom with which elements, what comes back, and who is open to
//! the outside; as text, as Mermaid and as a picture.
//!
//! It opens no log and starts nothing, and the same composition always gives the same bytes. A composition
//! comes in; lines or a document go out. A composer chooses the names freely, so each drawing escapes them.

mod lanes;
mod mermaid;
mod nodes;
mod picture;
mod text;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use systole_kit::QName;
use systole_kit::namespaces::WORKFLOW;
use systole_kit::schema::SchemaModel;

use systole_core::rules::introspection::model_of;
use systole_core::types::composition::{Composition, ElementSchema, Listener};
use systole_core::types::ids::Name;

use nodes::tags;
pub use nodes::{GraphNode, ListenerGraph};

/// The attribute by which a sender marks a payload as dangerous.
const MARK: &str = "is_dangerous";

impl ListenerGraph {
    /// The graph of a composition.
    pub fn of(composition: &Composition) -> ListenerGraph {
        let words = ElementNames::of(composition);
        let depths = depths(composition);
        let models: Vec<Option<SchemaModel>> =
            composition.schemas.iter().map(|schema| model_of(composition, &schema.text)).collect();
        let node = |listener: &Listener| {
            // A workflow's messages to itself are of no interest to others.
            let follows_goals = follows_goals(composition, listener);
            let is_shown = |element: &&ElementSchema| !(follows_goals && *element.name.ns == *WORKFLOW);
            let held = |when: Held| {
                let elements = listener.accepts.iter().filter(is_shown);
                let held = elements.filter(|element| Held::of(listener, element, &models) == when);
                held.map(|element| words.of_element(&element.name)).collect()
            };
            GraphNode {
                name: listener.name.to_string(),
                from_outside: outside(composition, listener),
                takes: listener
                    .accepts
                    .iter()
                    .filter(is_shown)
                    .map(|one| words.of_element(&one.name))
                    .collect(),
                answers: listener
                    .returns
                    .iter()
                    .filter(is_shown)
                    .map(|one| words.of_element(&one.name))
                    .collect(),
                peers: listener
                    .peers
                    .iter()
                    .filter(|peer| !(follows_goals && **peer == listener.name))
                    .map(ToString::to_string)
                    .collect(),
                is_workflow: follows_goals,
                approval: held(Held::Always),
                approval_if_marked: held(Held::IfMarked),
                depth: depths.get(&listener.name).copied(),
            }
        };
        let mut listeners: Vec<GraphNode> = composition.listeners.values().map(node).collect();
        // Unreachable listeners come last; equals are sorted by name.
        listeners.sort_by_key(|node| (node.depth.unwrap_or(usize::MAX), node.name.clone()));
        let entry = composition.entry.as_ref().map(ToString::to_string);
        ListenerGraph { organism: composition.organism.to_string(), entry, listeners }
    }

    /// The drawing for a terminal, line by line.
    pub fn text(&self) -> Vec<String> {
        text::draw(self)
    }

    /// The drawing as a Mermaid flowchart.
    pub fn mermaid(&self) -> String {
        mermaid::draw(self)
    }

    /// The picture, an SVG document.
    pub fn picture(&self) -> Vec<u8> {
        picture::draw(self)
    }

    fn node(&self, name: &str) -> Option<&GraphNode> {
        self.listeners.iter().find(|node| node.name == name)
    }

    /// Whether anyone except the operator may come in, so that it is worth saying who.
    fn has_clients(&self) -> bool {
        self.listeners
            .iter()
            .flat_map(|node| &node.from_outside)
            .any(|who| who != Name::new_operator().as_str())
    }
}

/// When an element waits for a person before it reaches a listener.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Always,
    IfMarked,
    Never,
}

impl Held {
    fn of(listener: &Listener, element: &ElementSchema, models: &[Option<SchemaModel>]) -> Held {
        let model = models.get(element.schema.0).and_then(Option::as_ref);
        let local = &element.name.local;
        match model {
            _ if listener.approval.always => Held::Always,
            Some(model) if model.is_dangerous(local) => Held::Always,
            Some(model) if model.has_attribute(local, MARK) => Held::IfMarked,
            _ => Held::Never,
        }
    }
}

impl GraphNode {
    /// The elements that wait for a person, in a few words; `None` if there are none.
    fn describe_held(&self) -> Option<String> {
        let held = |elements: &[String], when: &str| {
            let which =
                if *elements == self.takes { String::new() } else { format!(" of {}", tags(elements)) };
            (!elements.is_empty()).then(|| format!("approval{which}{when}"))
        };
        let held = [held(&self.approval, ""), held(&self.approval_if_marked, " if marked")];
        let held: Vec<String> = held.into_iter().flatten().collect();
        (!held.is_empty()).then(|| held.join(", "))
    }
}

/// The operator and the clients that may address a listener from outside.
fn outside(composition: &Composition, listener: &Listener) -> Vec<String> {
    if !listener.entry {
        return Vec::new();
    }
    let operator = Name::new_operator();
    let clients = composition.clients.keys().filter(|client| **client != operator);
    let may = clients.filter(|client| composition.may_address(client, &listener.name));
    std::iter::once(&operator).chain(may).map(ToString::to_string).collect()
}

/// Whether a listener is a workflow of the file.
fn follows_goals(composition: &Composition, listener: &Listener) -> bool {
    composition.sections.get(&listener.name).is_some_and(|section| section.path.starts_with("workflows."))
}

/// The distance of each listener from the outside.
fn depths(composition: &Composition) -> BTreeMap<Name, usize> {
    let mut depths = BTreeMap::new();
    let mut next: VecDeque<(&Name, usize)> =
        composition.listeners.values().filter(|l| l.entry).map(|l| (&l.name, 1)).collect();
    while let Some((name, depth)) = next.pop_front() {
        if depths.contains_key(name) {
            continue;
        }
        depths.insert(name.clone(), depth);
        let peers = composition.find_listener(name).into_iter().flat_map(|listener| &listener.peers);
        next.extend(peers.map(|peer| (peer, depth + 1)));
    }
    depths
}

/// The names of elements: the local name, or both parts if two namespaces share it.
struct ElementNames {
    shared: BTreeSet<String>,
}

impl ElementNames {
    fn of(composition: &Composition) -> ElementNames {
        let all = composition.listeners.values().flat_map(|l| l.accepts.iter().chain(&l.returns));
        let all: BTreeSet<&QName> = all.map(|element| &element.name).collect();
        let mut seen = BTreeSet::new();
        let shared = all.into_iter().filter(|element| !seen.insert(element.local.clone()));
        ElementNames { shared: shared.map(|element| element.local.to_string()).collect() }
    }

    fn of_element(&self, element: &QName) -> String {
        if self.shared.contains(&*element.local) { element.to_string() } else { element.local.to_string() }
    }
}
