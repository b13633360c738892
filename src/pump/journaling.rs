//! Deciding on what a listener says while it works and waits to be answered: journal entries and questions.
//! An answer goes out once the decision it comes from is on disk, like every effect.

use std::sync::Arc;

use systole_kit::ask::{Kept, Question, Whose};
use systole_kit::journal::Entry;
use systole_kit::payload::Payload;
use systole_kit::told::Answer;

use super::clearing;
use super::draft::{Draft, Fact};
use super::event::Effect;
use super::replying::Turn;
use crate::rules::{core_payload, view_payload};
use crate::words::codes::Code;
use crate::words::composition::Listener;
use crate::words::flow::Refused;
use crate::words::ids::Name;
use crate::words::limits;
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
    let answered = match question {
        Ok(Question::View { .. } | Question::Blob { .. }) => clearing::answer_of(turn, 0).map_err(bare),
        Ok(Question::Schema { name, from }) => schema(d, turn, &name, from).map_err(bare),
        Ok(question) => Err(not_built(&["<", question.name(), "> is not built yet"].concat())),
        Err(refused) => Err(refused),
    };
    match answered {
        Ok(body) => answer(d, &turn.sender, lease.token.0.to_string(), id, Some(&body)),
        Err(refused) => refuse(d, turn, lease, id, refused),
    }
}

/// The schema of the listener itself or of a peer, by the configuration that the call began with. A name that
/// nothing has and one that is no peer's are told apart by nobody.
fn schema(d: &Draft<'_>, turn: &Turn<'_>, name: &str, from: u64) -> Result<Arc<[u8]>, Refusal> {
    let (page, own) = (d.page(turn.config), turn.listener);
    let is_its_own =
        |it: &&Listener| own.is_some_and(|own| own.name == it.name || own.peers.contains(&it.name));
    let named = Name::parse(name).ok();
    let whose = page.zip(named).and_then(|(page, name)| page.listener(&name)).filter(is_its_own);
    let text = whose.and_then(|whose| Some((whose, &page?.schemas.get(whose.schema.0)?.text)));
    let Some((whose, text)) = text else {
        let names = own.map(|own| [std::slice::from_ref(&own.name), &own.peers].concat()).unwrap_or_default();
        let names: Vec<&str> = names.iter().map(Name::as_str).collect();
        let words = "there is no schema of that name among your own and your peers'";
        return Err(Refusal::new(Code::NotAPeer, words).of_element("schema").expecting(names.join(", ")));
    };
    match Kept::page(text, from, limits::ANSWER_BYTES) {
        Some(page) => Ok(page.payload(Whose::Schema(whose.name.as_str())).bytes().clone()),
        None => Err(view_payload::past_the_end(from, text.len())),
    }
}

fn bare(refusal: Refusal) -> Refused {
    Refused { refusal, kept: None }
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
