//! The outputs known at a place in a run: the request, and the results of the earlier steps, in order.
//!
//! Outputs come in, and go out by path. Another file decides what a goal sees of them.

use std::sync::Arc;

use systole_kit::{Payload, namespaces};

use crate::converged::is_converged_word;
use crate::spec::Path;
use crate::tree::TreeNode;

/// The id of the request.
pub(crate) const REQUEST: &str = "request";

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StepOutput {
    /// A payload.
    Payload(Payload),
    /// The step failed, and the run continued.
    Failed(StepFailure),
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepFailure {
    /// The code.
    pub(crate) code: String,
    /// The code of the first cause, if another call or step passed it on.
    pub(crate) first_code: Option<String>,
    /// Its listener's message.
    pub(crate) words: String,
}

impl StepFailure {
    /// The code of the first cause.
    pub(crate) fn first_code(&self) -> &str {
        self.first_code.as_deref().unwrap_or(&self.code)
    }

    /// The same first cause, passed on under another code.
    pub(crate) fn pass_on(&self, code: &str, words: impl Into<String>) -> Self {
        Self { first_code: Some(self.first_code().to_owned()), ..Self::new(code, words) }
    }

    pub(crate) fn new(code: &str, words: impl Into<String>) -> Self {
        Self { code: code.to_owned(), first_code: None, words: words.into() }
    }
}

/// Whether no person answered in time.
pub(crate) fn is_expired(said: &Payload) -> bool {
    said.find_attribute("outcome").as_deref() == Some("expired")
}

/// One output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownEntry {
    /// The step.
    pub(crate) id: String,
    /// The item of a list, if the step ran for an item.
    pub(crate) item: Option<usize>,
    /// The agent that gave it, if there are several.
    pub(crate) agent: Option<String>,
    /// The result.
    pub(crate) output: StepOutput,
    /// The path to the list that was narrowed to the item.
    pub(crate) narrowed: Option<Vec<String>>,
    /// Whether it is the last word of a loop that ended without being done.
    pub(crate) is_unfinished: bool,
}

impl KnownEntry {
    pub(crate) fn new(id: &str, output: StepOutput) -> Self {
        Self { id: id.to_owned(), item: None, agent: None, output, narrowed: None, is_unfinished: false }
    }

    /// Its id in a goal's context.
    pub(crate) fn label(&self) -> String {
        let item = self.item.map(|item| format!("[{item}]")).unwrap_or_default();
        let agent = self.agent.as_ref().map(|agent| format!("[{agent}]")).unwrap_or_default();
        format!("{}{item}{agent}", self.id)
    }

    pub(crate) fn payload(&self) -> Option<&Payload> {
        match &self.output {
            StepOutput::Payload(payload) => Some(payload),
            StepOutput::Failed(_) => None,
        }
    }
}

/// An output, or an earlier pass of a running loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KnownPart {
    Entry(Arc<KnownEntry>),
    Pass { n: u32, entries: Vec<Arc<KnownEntry>> },
}

/// Everything that is known at a place.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownOutputs {
    pub(crate) parts: Vec<KnownPart>,
    /// The loop around the place, and its pass.
    pub(crate) within: Vec<(String, u32)>,
}

impl KnownOutputs {
    /// The outputs known when a run begins.
    pub(crate) fn from_request(request: Payload) -> Self {
        let mut known = Self::default();
        known.push_entry(KnownEntry::new(REQUEST, StepOutput::Payload(request)));
        known
    }

    pub(crate) fn push_entry(&mut self, entry: KnownEntry) {
        self.parts.push(KnownPart::Entry(Arc::new(entry)));
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = &Arc<KnownEntry>> {
        self.parts.iter().filter_map(|part| match part {
            KnownPart::Entry(entry) => Some(entry),
            KnownPart::Pass { .. } => None,
        })
    }

    /// The newest output.
    pub(crate) fn last(&self) -> Option<&Arc<KnownEntry>> {
        self.entries().next_back()
    }

    /// The output that a path names. `None` for a skipped step, a failed step or a list.
    pub(crate) fn find_output(&self, path: &Path) -> Option<&Payload> {
        let is_it = |entry: &&Arc<KnownEntry>| {
            let is_agent = path.agent.is_none() || path.agent == entry.agent;
            entry.id == path.goal && is_agent && (entry.item.is_none() || entry.narrowed.is_some())
        };
        self.entries().rev().find(is_it)?.payload()
    }

    /// The texts that a path leads to. Empty if it leads nowhere.
    pub(crate) fn find_texts(&self, path: &Path) -> Vec<String> {
        let Some(output) = self.find_output(path) else { return Vec::new() };
        if output.name().is_named(namespaces::CORE, "person-said") && path.fields == ["note"] {
            return vec![output.text()];
        }
        let Some(node) = TreeNode::from_payload(output) else { return Vec::new() };
        node.find_values(&path.fields).iter().map(crate::tree::PathValue::text).collect()
    }

    /// The same outputs, with the output that holds the list reduced to that item. `tree` is that output.
    pub(crate) fn narrow_list(&self, list: &Path, tree: &TreeNode, item: usize) -> Self {
        let mut known = self.clone();
        let newest = known.parts.iter_mut().rev().find_map(|part| match part {
            KnownPart::Entry(entry) if entry.id == list.goal && entry.item.is_none() => Some(entry),
            _ => None,
        });
        if let Some(entry) = newest
            && let Some(payload) = tree.narrow_list(&list.fields, item).to_payload()
        {
            let mut own = KnownEntry::clone(entry);
            own.output = StepOutput::Payload(payload);
            own.item = Some(item);
            own.narrowed = Some(list.fields.clone());
            *entry = Arc::new(own);
        }
        known
    }
}

/// Whether an output reports that nothing is left to change, to a request of that form.
pub(crate) fn is_converged(payload: &Payload, form: u32) -> bool {
    if payload.is_marked("converged") {
        return true;
    }
    payload.name().is_named(namespaces::WORKFLOW, "goal-output") && is_converged_word(&payload.text(), form)
}

impl KnownOutputs {
    /// The key of a step here: the passes of the loops around it, then its id.
    pub(crate) fn key_of(&self, id: &str) -> String {
        let mut key = String::new();
        for (name, pass) in &self.within {
            key.push_str(&format!("{name}.{pass}/"));
        }
        key + id
    }
}
