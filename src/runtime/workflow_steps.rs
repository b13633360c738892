//! A step of a workflow as the file describes it, for commands and pages that show a run.
//!
//! The section of a configuration comes in; the step's sentence and its list go out, if the section has
//! that step.

use systole_workflow::explain::{sentence, sentences, unanswered};
use systole_workflow::spec::{Step, StepAction, Workflow};

use crate::audit::runs::DescribedStep;
use systole_core::types::composition::ListenerSection;

/// A step in a section.
pub fn said(section: &ListenerSection, id: &str) -> Option<DescribedStep> {
    let workflow = Workflow::read(&section.text).ok()?;
    let step = found(&workflow.steps, id)?;
    let list = step.each.as_ref().map(|each| (each.list.goal.clone(), each.list.fields.clone()));
    let unanswered = match &step.work {
        StepAction::Ask(question) => Some(unanswered(question)),
        _ => None,
    };
    Some(DescribedStep { sentence: sentence(step), list, unanswered })
}

/// All steps of a section in order, each with its depth, its id and its sentence. Empty if it is no workflow.
pub fn sentences_of(section: &ListenerSection) -> Vec<(usize, String, String)> {
    let Ok(workflow) = Workflow::read(&section.text) else { return Vec::new() };
    sentences(&workflow).into_iter().map(|step| (step.depth, step.id, step.text)).collect()
}

fn found<'s>(steps: &'s [Step], id: &str) -> Option<&'s Step> {
    steps.iter().find_map(|step| if step.id == id { Some(step) } else { found(step.inside(), id) })
}
