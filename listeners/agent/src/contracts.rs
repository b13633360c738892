//! What an agent may say, and to which peers: its peers' elements and its own answers, each with the model of its
//! schema.
//!
//! The agent's data comes in; lookups by name go out. It never judges a payload: the pump does.

use std::sync::Arc;

use systole_kit::schema::SchemaModel;
use systole_kit::{QName, namespaces};
use systole_workflow::spec::TaskRule;

use crate::goal::AskedGoal;
use crate::spec::{AgentSpec, CoreToolGroup, ElementContract};

/// What an agent makes of the elements of one reply that belong together.
pub(crate) const CHANGE_SET: &str = "change-set";

/// An element with the model of its schema.
#[derive(Clone, Debug)]
pub(crate) struct ElementModel {
    pub(crate) element: QName,
    pub(crate) model: Arc<SchemaModel>,
}

/// An element that peers take.
#[derive(Clone, Debug)]
pub(crate) struct PeerAction {
    pub(crate) known: ElementModel,
    /// The peers that take it, in order.
    pub(crate) takers: Vec<String>,
    /// What the first of them returns.
    pub(crate) given: Vec<ElementModel>,
    /// Those that get it together if it names none, in the order of their answers. Empty if it must name one.
    pub(crate) broadcast: Vec<String>,
    /// Whether at least one of them requires a person's approval.
    pub(crate) needs_approval: bool,
}

/// Everything that an agent may say.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentContracts {
    /// In the order of the peers, each element once.
    pub(crate) actions: Vec<PeerAction>,
    /// The answers to a call.
    pub(crate) finals: Vec<ElementModel>,
    /// The goal that the call asks for, if any. Then there is at most one final.
    pub(crate) goal: Option<AskedGoal>,
    /// The groups of the core's tools that the model is told of.
    pub(crate) core_tools: Vec<CoreToolGroup>,
    /// Payloads that reach the agent only after a schema check: its requests, and the answers of its peers.
    judged: Vec<ElementModel>,
}

/// A schema that cannot be read, although the organism file was checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schema {name} cannot be read: {words}")]
pub struct SchemaFault {
    /// Its name.
    pub name: String,
    /// Why.
    pub words: String,
}

impl AgentContracts {
    pub(crate) fn from_spec(agent: &AgentSpec) -> Result<Self, SchemaFault> {
        let shelf = SchemaReader { agent };
        let judged = shelf.read_shown(&agent.accepts)?;
        let (finals, core_tools) = (shelf.read_all(&agent.returns)?, agent.core_tools.clone());
        let mut contracts = Self { actions: Vec::new(), finals, goal: None, core_tools, judged };
        for peer in &agent.peers {
            contracts.judged.extend(shelf.read_shown(&peer.returns)?);
            for taken in peer.accepts.iter().filter(|taken| !is_made(&taken.element)) {
                let same = |action: &&mut PeerAction| action.known.element == taken.element;
                if let Some(action) = contracts.actions.iter_mut().find(same) {
                    action.takers.push(peer.name.clone());
                    action.needs_approval |= peer.needs_approval;
                    continue;
                }
                let (known, given) = (shelf.read_contract(taken)?, shelf.read_all(&peer.returns)?);
                let needs_approval = peer.needs_approval || known.model.is_dangerous(&taken.element.local);
                let takers = vec![peer.name.clone()];
                let broadcast = Vec::new();
                contracts.actions.push(PeerAction { known, takers, broadcast, given, needs_approval });
            }
        }
        for broadcast in &agent.broadcasts {
            let action = contracts.actions.iter_mut().find(|one| one.known.element == broadcast.element);
            // Elements of a change set are sent as one, which names its workspace.
            let action = action.filter(|one| !one.known.model.is_together(&one.known.element.local));
            action.into_iter().for_each(|one| one.broadcast.clone_from(&broadcast.takers));
        }
        Ok(contracts)
    }

    /// The agent's contracts with the models of their schemas.
    pub(crate) fn read_contracts(
        agent: &AgentSpec,
        contracts: &[ElementContract],
    ) -> Result<Vec<ElementModel>, SchemaFault> {
        SchemaReader { agent }.read_all(contracts)
    }

    /// Whether a peer or a final has an element of that local name.
    pub(crate) fn has_element(&self, local: &str) -> bool {
        let actions = self.actions.iter().map(|action| &action.known);
        actions.chain(&self.finals).any(|known| &*known.element.local == local)
    }

    /// Whether a schema has checked every element of a payload, so that none came in by a wildcard.
    pub(crate) fn have_judged(&self, payload: &systole_kit::Payload) -> bool {
        let known = self.judged.iter().filter(|known| known.element == *payload.name());
        let judges = |model: &SchemaModel| {
            model.explain_payload(payload.bytes()).is_none() && model.declares_all(payload.bytes())
        };
        known.into_iter().any(|known| judges(&known.model))
    }

    /// The model by which the agent's model writes a payload; `None` if its element is not of a peer or a final.
    pub(crate) fn find_written(&self, element: &QName) -> Option<&SchemaModel> {
        let actions = self.actions.iter().map(|action| &action.known);
        let found = actions.chain(&self.finals).find(|known| known.element == *element)?;
        Some(&found.model)
    }

    /// The only answer, if its content is only text, so that a result in words can fill it.
    pub(crate) fn text_final(&self) -> Option<&ElementModel> {
        match self.finals.as_slice() {
            [one] if one.is_text() => Some(one),
            _ => None,
        }
    }

    /// The payload that a goal asks for, if it holds more than text. Outside of `xml` it is written as JSON.
    pub(crate) fn json_final(&self) -> Option<&ElementModel> {
        let is_typed = self.goal.as_ref().is_some_and(|goal| goal.gives.is_some());
        self.finals.first().filter(|_| is_typed && self.text_final().is_none())
    }

    /// Which agents may get tasks in this call, and how many.
    pub(crate) fn tasks(&self) -> Option<&TaskRule> {
        self.goal.as_ref()?.tasks.as_ref()
    }

    /// Whether the agent can do anything besides answering.
    pub(crate) fn can_act(&self) -> bool {
        !self.actions.is_empty() || self.tasks().is_some()
    }

    /// Whether the call's goal may find nothing left to change.
    pub(crate) fn may_converge(&self) -> bool {
        self.goal.as_ref().is_some_and(AskedGoal::may_converge)
    }

    /// Whether a text is the answer that ends the loop of the call's goal.
    pub(crate) fn is_ended_by(&self, text: &str) -> bool {
        self.goal.as_ref().is_some_and(|goal| goal.is_ended_by(text))
    }
}

/// Whether an element is made by a program: by the agent itself, of what its model wrote, by the workspace, or by the
/// listener of an MCP server, which asks a person and never a model, or by the client that brings files.
fn is_made(element: &QName) -> bool {
    [CHANGE_SET, "apply"].into_iter().any(|made| element.is_named(namespaces::WORKSPACE, made))
        || element.is_named(namespaces::MCP, "input-form")
        || element.is_named(namespaces::TALK, "ask-with")
}

impl ElementModel {
    /// Whether a payload of it is one text.
    pub(crate) fn is_text(&self) -> bool {
        self.build_example().is_some_and(|example| crate::show::read_only_text(&example).is_some())
    }

    /// Whether the elements inside it are in its namespace.
    pub(crate) fn is_qualified(&self) -> bool {
        self.model.is_qualified(&self.element.local)
    }

    /// Whether it has an attribute of that name.
    pub(crate) fn has_attribute(&self, name: &str) -> bool {
        self.model.has_attribute(&self.element.local, name)
    }

    /// A payload of it with a text as its content.
    pub(crate) fn wrap_text(&self, text: &str) -> Option<systole_kit::Payload> {
        let name = systole_kit::writer::XmlName::new(&self.element.local)?;
        let mut writer = systole_kit::writer::XmlWriter::new();
        writer.open(name).xmlns(&self.element.ns).text(text);
        systole_kit::Payload::from_trusted(writer.finish().into()).ok()
    }

    /// A smallest valid payload.
    pub(crate) fn build_example(&self) -> Option<systole_kit::Payload> {
        let bytes = self.model.build_example(&self.element.local)?;
        systole_kit::Payload::parse(&bytes, &systole_kit::DocumentLimits::FROM_PUMP).ok()
    }
}

/// The schemas of an agent, each read when first needed.
struct SchemaReader<'a> {
    agent: &'a AgentSpec,
}

impl SchemaReader<'_> {
    fn read_all(&self, contracts: &[ElementContract]) -> Result<Vec<ElementModel>, SchemaFault> {
        contracts.iter().map(|contract| self.read_contract(contract)).collect()
    }

    /// An element as the model writes it: it knows files by their numbers.
    fn read_contract(&self, contract: &ElementContract) -> Result<ElementModel, SchemaFault> {
        let model = self.read_model(contract.schema)?;
        let model = if model.has_files() { Arc::new(model.with_file_numbers()) } else { model };
        Ok(ElementModel { element: contract.element.clone(), model })
    }

    /// Elements as the model is shown them: with a line in each that refers to a file.
    fn read_shown(&self, contracts: &[ElementContract]) -> Result<Vec<ElementModel>, SchemaFault> {
        let read = |contract: &ElementContract| {
            let model = self.read_model(contract.schema)?;
            let model = if model.has_files() { Arc::new(model.with_file_words()) } else { model };
            Ok(ElementModel { element: contract.element.clone(), model })
        };
        contracts.iter().map(read).collect()
    }

    fn read_model(&self, at: usize) -> Result<Arc<SchemaModel>, SchemaFault> {
        let schemas = &self.agent.schemas;
        let name = || schemas.get(at).map_or_else(|| at.to_string(), |schema| schema.name.clone());
        let read = schemas.find_model(at).unwrap_or_else(|| Err("no schema has this number".to_owned()));
        read.map_err(|words| SchemaFault { name: name(), words })
    }
}
