//! The question to a person that a step asks, with the outputs that it shows.

use systole_kit::{Payload, namespaces};

use crate::facts::RunFacts;
use crate::items::{build_core, format_duration};
use crate::known::{KnownOutputs, StepFailure};
use crate::spec::QuestionStep;

/// A question to a person.
///
/// # Errors
/// When an output that it shows is in no message of the call.
pub(crate) fn ask_person(
    question: &QuestionStep,
    known: &KnownOutputs,
    facts: &RunFacts,
) -> Result<Payload, StepFailure> {
    let mut shows = Vec::new();
    for path in &question.shows {
        let Some(payload) = known.find_output(path) else { continue };
        let unseen = || {
            let words = format!("the output {} is in no message that a person can see", path.text());
            StepFailure::new("workflow.unshown", words)
        };
        shows.push((facts.number_of(payload).ok_or_else(unseen)?, path.text()));
    }
    Ok(build_core(|writer| {
        let start = writer.open("ask-person").xmlns(namespaces::CORE);
        start.attr("expires", &format_duration(question.expires_ms)).content(|inside| {
            inside.open("question").text(&question.words);
            for (number, label) in &shows {
                inside.open("show").number("seq", *number).text(label);
            }
            for choice in &question.choices {
                inside.open("choice").text(choice);
            }
        });
    }))
}
