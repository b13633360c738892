//! Deciding on what a listener says while it works and waits to be answered: journal entries and questions.
//! An answer goes out once the decision it comes from is on disk, like every effect.

use std::sync::Arc;

use systole_kit::ask::Question;
use systole_kit::journal::Entry;
use systole_kit::payload::Payload;
use systole_kit::told::Answer;

use super::draft::{Draft, Fact};
use super::event::Effect;
use super::replying::Turn;
use crate::rules::core_payload;
use crate::words::codes::Code;
use crate::words::flow::Refused;
use crate::words::ids::Name;
use crate::words::ports::Lease;
use crate::words::record::{Kind, Mark};
use crate::words::refusal::Refusal;

/// Takes an entry.
pub(super) fn entry(
    d: &mut Draft<'_>,
    turn: &Turn<'_>,
    lease: &Lease,
    id: u64,
    entry: Result<Entry, Refused>,
) {
    let refused = match entry {
        Ok(_) => not_built("the journal is not built yet; nothing was written"),
        Err(refused) => refused,
    };
    refuse(d, turn, lease, id, refused);
}

/// Answers a question.
pub(super) fn asked(
    d: &mut Draft<'_>,
    turn: &Turn<'_>,
    lease: &Lease,
    id: u64,
    question: Result<Question, Refused>,
) {
    let refused = match question {
        Ok(question) => not_built(&["<", question.name(), "> is not built yet"].concat()),
        Err(refused) => refused,
    };
    refuse(d, turn, lease, id, refused);
}

fn not_built(words: &str) -> Refused {
    Refused { refusal: Refusal::new(Code::NotBuilt, words.to_owned()), kept: None }
}

/// Answers with a refusal, which is recorded in the call, or only counted where its sender makes too many.
fn refuse(d: &mut Draft<'_>, turn: &Turn<'_>, lease: &Lease, id: u64, refused: Refused) {
    let Refused { mut refusal, kept } = refused;
    if d.has_room(&turn.sender) {
        d.toll(&turn.sender, None);
        refusal.hash = kept.map(|bytes| d.keep(&bytes));
        let body = core_payload::system_error(&refusal);
        let fact = Fact::core(Kind::Refusal, Mark::Code(refusal.code), body).to(&turn.sender).on(turn.path);
        d.record(turn.thread, fact.because(turn.cause).under(turn.config));
    } else {
        d.toll(&turn.sender, Some(turn.thread.clone()));
    }
    let body = core_payload::system_error(&refusal);
    answer(d, &turn.sender, lease.token.0.to_string(), id, Some(&body));
}

/// Answers one of these words.
pub(super) fn answer(
    d: &mut Draft<'_>,
    listener: &Name,
    delivery: String,
    id: u64,
    body: Option<&Arc<[u8]>>,
) {
    let payload = body.and_then(|body| Payload::trusted(body.clone()).ok());
    let answer = Box::new(Answer { delivery, id, payload });
    d.effect(Effect::Answer { listener: listener.clone(), answer });
}
