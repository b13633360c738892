//! The steps of a workflow as the file describes them, for commands and pages that show a run.
//!
//! The section of a configuration comes in; a step's sentence and its list go out, or all declared steps.

use systole_workflow::explain::{describe_unanswered, write_sentence, write_sentences};
use systole_workflow::spec::{Step, StepAction, Workflow};

use systole_core::types::composition::ListenerSection;
use systole_core::types::ports::{LogFault, LogReader};
use systole_queries::log_state::LogState;
use systole_queries::picture::{self, DeclaredStep, Look, Pictured, StepKind};
use systole_queries::runs::{DescribedStep, WorkflowRuns};
use systole_queries::tree::ThreadTree;
use systole_queries::why::ThreadWaits;

/// A step in a section.
pub fn describe_step(section: &ListenerSection, id: &str) -> Option<DescribedStep> {
    let workflow = Workflow::from_text(&section.text).ok()?;
    let (step, keeps_failure) = find_step(&workflow.steps, id, false)?;
    let list = step.each.as_ref().map(|each| (each.list.goal.clone(), each.list.fields.clone()));
    let unanswered = match &step.work {
        StepAction::Ask(question) => Some(describe_unanswered(question)),
        _ => None,
    };
    Some(DescribedStep { sentence: write_sentence(step), list, unanswered, keeps_failure })
}

/// All steps of a section in order, each with its depth, its id and its sentence. Empty if it is no workflow.
pub fn list_sentences(section: &ListenerSection) -> Vec<(usize, String, String)> {
    let Ok(workflow) = Workflow::from_text(&section.text) else { return Vec::new() };
    write_sentences(&workflow).into_iter().map(|step| (step.depth, step.id, step.text)).collect()
}

/// The picture of the newest run in a thread.
pub fn draw_picture(
    reader: &dyn LogReader,
    whole: &LogState,
    tree: &ThreadTree,
    waits: &ThreadWaits,
) -> Result<Pictured, LogFault> {
    let runs = &WorkflowRuns::new(reader, whole, &describe_step);
    picture::read(&Look { reader, whole, runs, declared: &list_declared }, tree, waits)
}

/// The declared steps of a section, for the picture of a run; `None` if it is no workflow.
pub fn list_declared(section: &ListenerSection) -> Option<Vec<DeclaredStep>> {
    Workflow::from_text(&section.text).ok().map(|workflow| convert_steps(&workflow.steps))
}

fn convert_steps(steps: &[Step]) -> Vec<DeclaredStep> {
    let one = |step: &Step| {
        let (kind, who) = match &step.work {
            StepAction::Do(goal) => (StepKind::Goal, goal.by.clone()),
            StepAction::Call(call) => (StepKind::Call, vec![call.to.clone()]),
            StepAction::Ask(_) => (StepKind::Question, Vec::new()),
            StepAction::Wait { .. } => (StepKind::Timer, Vec::new()),
            StepAction::Group { .. } => (StepKind::Group, Vec::new()),
            StepAction::Parallel { .. } => (StepKind::Parallel, Vec::new()),
            StepAction::Repeat { at_most, .. } => (StepKind::Loop { at_most: *at_most }, Vec::new()),
        };
        DeclaredStep {
            id: step.id.clone(),
            kind,
            who,
            is_each: step.each.is_some(),
            keeps_failure: step.keeps_failure,
            steps: convert_steps(step.inner_steps()),
        }
    };
    steps.iter().map(one).collect()
}

/// The step of that id, and whether it or a step around it keeps a failure.
fn find_step<'s>(steps: &'s [Step], id: &str, is_kept: bool) -> Option<(&'s Step, bool)> {
    steps.iter().find_map(|step| {
        let is_kept = is_kept || step.keeps_failure;
        if step.id == id { Some((step, is_kept)) } else { find_step(step.inner_steps(), id, is_kept) }
    })
}
