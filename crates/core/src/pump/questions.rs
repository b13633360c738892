//! Deciding on `<ask-person>`: the item stays open until a person has answered, or no person has answered in time.
//! Its call waits until then; if the call ends, the question ends. The messages that are shown are fixed by hash when
//! the question is recorded. The view was looked up earlier, as of the moment when the turn became due.

use std::sync::Arc;

use super::clearing::seen;
use super::decision_builder::{DecisionBuilder, Fact};
use super::persons::{self, Asking};
use super::replying::{Turn, refuse_item};
use super::state::Question;
use super::view::View;
use crate::rules::core_payload;
use crate::rules::question::{self, Said};
use crate::types::codes::Code;
use crate::types::composition::ApprovalRule;
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::limits;
use crate::types::person::{QuestionRequest, ShownMessage};
use crate::types::primitive::{AskPerson, Show};
use crate::types::record::{Approving, Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// Takes a question: its item, and the request in the same commit.
pub(super) fn ask(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    wanted: &AskPerson,
    item: &Arc<[u8]>,
) -> Option<Refusal> {
    let shows = match (1..).zip(&wanted.shows).map(|(nth, show)| shown(turn, nth, show)).collect() {
        Ok(shows) => shows,
        Err(refusal) => return Some(refuse_item(d, turn, ordinal, refusal, Some(item))),
    };
    let mut fact = turn.item(ordinal, Kind::Message, Mark::Role(Role::AskPerson), item.clone());
    fact.from = turn.sender.clone();
    let (_, cause) = d.record(turn.thread, fact.to(&Name::person()));
    let (id, place) = (persons::next_id(d), turn.path.item(turn.number, ordinal));
    let body = question::asked(&QuestionRequest {
        id,
        expires: d.at().plus(wanted.expires_ms),
        thread: turn.thread.clone(),
        call: place.clone(),
        from: turn.sender.clone(),
        words: wanted.words.clone(),
        shows,
        choices: wanted.choices.clone(),
    });
    let by_default = ApprovalRule::default();
    let asking = Asking {
        thread: turn.thread,
        call: turn.path,
        place: &place,
        what: Approving::Asked,
        config: turn.config,
        cause,
        rule: turn.listener.map_or(&by_default, |listener| &listener.approval),
        expires_ms: wanted.expires_ms,
        is_first: false,
        body,
    };
    persons::request(d, id, asking);
    None
}

/// A message of the view, with the hash of its bytes.
fn shown(turn: &Turn<'_>, nth: usize, show: &Show) -> Result<ShownMessage, Refusal> {
    let Show { number, label } = show;
    let seen = seen(turn)?;
    let view = seen.view.as_ref();
    let message = view.and_then(|view| view.range(*number, *number).next()).filter(|_| *number > 0);
    let Some(((_, message), hash)) = message.zip(seen.hashes.get(number)) else {
        let last = view.map_or(0, View::count);
        let words = match number {
            0 => "seq counts from 1".to_owned(),
            _ => format!("seq: {number} is past {last}, the last message of this view"),
        };
        return Err(Refusal::new(Code::Invalid, words)
            .of_element("ask-person")
            .in_place(format!("/ask-person/show[{nth}]/@seq"))
            .expecting(format!("1 to {last}"))
            .receiving(number.to_string())
            .fixed_by(format!("seq=\"{last}\", or the number of an earlier message")));
    };
    Ok(ShownMessage { number: *number, record: message.seq, hash: *hash, label: label.clone() })
}

/// A person answers. Nothing is recorded unless the answer fits the question.
pub(super) fn chosen(
    d: &mut DecisionBuilder<'_>,
    (thread, place): (&ThreadId, &CallPath),
    question: &Question,
    by: &Name,
    (choice, note): (Option<String>, Option<&str>),
) -> Result<(), Refusal> {
    let Question { id, choices, .. } = question;
    let wrong = |words: String| {
        Refusal::new(Code::InvalidChoice, words)
            .expecting(match choices.as_slice() {
                [] => "a note".to_owned(),
                some => some.join(", "),
            })
            .fixed_by(question::commands(*id, choices))
    };
    match &choice {
        Some(choice) if choices.is_empty() => {
            return Err(
                wrong(format!("question {id} has no choices; its answer is a note")).receiving(cut(choice))
            );
        }
        Some(choice) if !choices.contains(choice) => {
            return Err(wrong(format!("question {id} has no such choice")).receiving(cut(choice)));
        }
        None if !choices.is_empty() => {
            return Err(wrong(format!("question {id} is answered by one of its choices")));
        }
        None if note.is_none() => return Err(wrong(format!("question {id} is answered by a note"))),
        _ => {}
    }
    let note = note.unwrap_or_default();
    let body = question::said(&Said::Chosen { by, choice: choice.as_deref(), note });
    answer(d, thread, place, body);
    Ok(())
}

/// As much of an answer as is repeated to its sender.
fn cut(choice: &str) -> String {
    choice.chars().take(limits::CHOICE_CHARACTERS).collect()
}

/// No person answered in time.
pub(super) fn expired(d: &mut DecisionBuilder<'_>, thread: &ThreadId, place: &CallPath, question: &Question) {
    // The time is measured in ticks. A reader of the log sees only the wall clock.
    let is_set_back = d.at() < question.expires;
    answer(d, thread, place, question::said(&Said::Expired { is_set_back }));
}

/// Ends the questions of a call that may only answer from now on.
pub(super) fn withdraw(d: &mut DecisionBuilder<'_>, thread: &ThreadId, path: &CallPath) {
    let Some(call) = d.call(thread, path) else { return };
    let places: Vec<CallPath> =
        call.questions().map(|(item, _)| path.item(call.settled, item.ordinal)).collect();
    let words = "the question is withdrawn, because a budget of the call that asked is used up";
    let body = core_payload::system_error(&Refusal::new(Code::CancelledThread, words));
    places.iter().for_each(|place| answer(d, thread, place, body.clone()));
}

/// Records the answer to the item in that place.
fn answer(d: &mut DecisionBuilder<'_>, thread: &ThreadId, place: &CallPath, body: Arc<[u8]>) {
    let Some((caller, _, ordinal)) = place.caller() else { return };
    let Some(call) = d.call(thread, &caller) else { return };
    let Some(item) = call.items.iter().find(|item| item.ordinal == ordinal) else { return };
    let (to, cause, config) = (call.listener.clone(), item.id, call.config);
    let fact = Fact::core(Kind::Message, Mark::Role(Role::Answer), body).to(&to).on(place);
    d.record(thread, fact.because(cause).under(config));
}
