//! A step of a workflow as the file describes it, for commands and pages that show a run.
//!
//! The section of a configuration comes in; the step's sentence and its list go out, if the section has
//! that step.

use systole_workflow::explain::sentence;
use systole_workflow::spec::{Step, Workflow};

use crate::audit::runs::DescribedStep;
use systole_core::types::composition::ListenerSection;

/// A step in a section.
pub fn said(section: &ListenerSection, id: &str) -> Option<DescribedStep> {
    let workflow = Workflow::read(&section.text).ok()?;
    let step = found(&workflow.steps, id)?;
    let list = step.each.as_ref().map(|each| (each.list.goal.clone(), each.list.fields.clone()));
    Some(DescribedStep { sentence: sentence(step), list })
}

fn found<'s>(steps: &'s [Step], id: &str) -> Option<&'s Step> {
    steps.iter().find_map(|step| if step.id == id { Some(step) } else { found(step.inside(), id) })
}
