//! What the file says of one step of a workflow, for commands that show a run.
//!
//! The section of a configuration comes in; the step's sentence and its list go out, if it has that step.

use systole_workflow::explain::sentence;
use systole_workflow::spec::{Step, Workflow};

use crate::audit::runs::StepSaid;
use systole_core::types::composition::Section;

/// What a section says of a step.
pub(in crate::cli) fn said(section: &Section, id: &str) -> Option<StepSaid> {
    let workflow = Workflow::read(&section.text).ok()?;
    let step = found(&workflow.steps, id)?;
    let list = step.each.as_ref().map(|each| (each.list.goal.clone(), each.list.fields.clone()));
    Some(StepSaid { sentence: sentence(step), list })
}

fn found<'s>(steps: &'s [Step], id: &str) -> Option<&'s Step> {
    steps.iter().find_map(|step| if step.id == id { Some(step) } else { found(step.inside(), id) })
}
