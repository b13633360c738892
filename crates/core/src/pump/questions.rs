//! Deciding on what becomes of a question to a person: a person answers, no person answers in time, or its call may only
//! answer from now on. Its call waits until then; if the call ends, the question ends.

use std::sync::Arc;

use super::decision_builder::{DecisionBuilder, RecordFact};
use super::state::Question;
use crate::rules::core_payload;
use crate::rules::question::{self, QuestionOutcome};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::limits;
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// A person answers. Nothing is recorded unless the answer fits the question.
pub(super) fn choose_answer(
    d: &mut DecisionBuilder<'_>,
    (thread, place): (&ThreadId, &CallPath),
    question: &Question,
    by: &Name,
    (choice, note): (Option<String>, Option<&str>),
) -> Result<(), Refusal> {
    let Question { id, choices, .. } = question;
    let wrong = |words: String| {
        Refusal::new(Code::InvalidChoice, words)
            .with_expected(match choices.as_slice() {
                [] => "a note".to_owned(),
                some => some.join(", "),
            })
            .fixed_by(question::spell_commands(*id, choices))
    };
    match &choice {
        Some(choice) if choices.is_empty() => {
            return Err(wrong(format!("question {id} has no choices; its answer is a note"))
                .with_received(cut_choice(choice)));
        }
        Some(choice) if !choices.contains(choice) => {
            return Err(wrong(format!("question {id} has no such choice")).with_received(cut_choice(choice)));
        }
        None if !choices.is_empty() => {
            return Err(wrong(format!("question {id} is answered by one of its choices")));
        }
        None if note.is_none() => return Err(wrong(format!("question {id} is answered by a note"))),
        _ => {}
    }
    let note = note.unwrap_or_default();
    let body = question::write_outcome(&QuestionOutcome::Chosen { by, choice: choice.as_deref(), note });
    answer_question(d, thread, place, body);
    Ok(())
}

/// As much of an answer as is repeated to its sender.
fn cut_choice(choice: &str) -> String {
    choice.chars().take(limits::CHOICE_CHARACTERS).collect()
}

/// No person answered in time.
pub(super) fn expire_question(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    place: &CallPath,
    question: &Question,
) {
    // The time is measured in ticks. A reader of the log sees only the wall clock.
    let is_set_back = d.at() < question.expires;
    answer_question(d, thread, place, question::write_outcome(&QuestionOutcome::Expired { is_set_back }));
}

/// Ends the questions of a call that may only answer from now on.
pub(super) fn withdraw_questions(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    let Some(call) = d.find_call(thread, path) else { return };
    let places: Vec<CallPath> =
        call.questions().map(|(item, _)| path.append_item(call.settled, item.ordinal)).collect();
    let words = "the question is withdrawn, because a budget of the call that asked is used up";
    let body = core_payload::system_error(&Refusal::new(Code::CancelledThread, words));
    places.iter().for_each(|place| answer_question(d, thread, place, body.clone()));
}

/// Records the answer to the item in that place.
fn answer_question(d: &mut DecisionBuilder<'_>, thread: &ThreadId, place: &CallPath, body: Arc<[u8]>) {
    let Some((caller, _, ordinal)) = place.caller() else { return };
    let Some(call) = d.find_call(thread, &caller) else { return };
    let Some(item) = call.items.iter().find(|item| item.ordinal == ordinal) else { return };
    let (to, cause, config) = (call.listener.clone(), item.id, call.config);
    let fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Answer), body)
        .with_addressee(&to)
        .with_call(place);
    d.add_record(thread, fact.with_cause(cause).with_config(config));
}
