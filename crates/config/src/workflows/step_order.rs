//! The order of a workflow's steps, to explain why a step cannot see another one.

use super::super::tree::Span;
use super::declaration::WorkflowDeclaration;

/// The ids of a workflow in order. It explains why a step cannot see another one.
pub(super) struct StepOrder {
    ids: Vec<(String, Span)>,
    /// The current step.
    pub(super) here: String,
    /// The ids of steps that run in parallel with it.
    pub(super) beside: Vec<String>,
}

impl StepOrder {
    pub(super) fn of(workflow: &WorkflowDeclaration) -> StepOrder {
        let ids = workflow.every_step().into_iter().map(|step| (step.id.value.clone(), step.id.at)).collect();
        StepOrder { ids, here: String::new(), beside: Vec::new() }
    }

    /// Whether the step of a goal could not be read.
    pub(super) fn is_unread(&self, id: &str) -> bool {
        id.is_empty()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(|(id, _)| id.as_str())
    }

    pub(super) fn place_of(&self, id: &str) -> Option<Span> {
        self.ids.iter().find(|(known, _)| known == id).map(|(_, at)| *at)
    }

    /// Why an existing step is not visible.
    pub(super) fn why_unseen(&self, id: &str) -> &'static str {
        if id == self.here {
            "is this step itself"
        } else if self.beside.iter().any(|other| other == id) {
            "runs beside this step, and neither sees the other"
        } else {
            "is done later than this"
        }
    }
}
