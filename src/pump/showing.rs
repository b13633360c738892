//! Answering questions about what a delivery entitles its listener to: its view, documents that this names, and
//! the schemas of itself and its peers. Nothing is recorded of a question that is answered. What stands in the
//! log was looked up before, as for a recall.

use std::sync::Arc;

use systole_kit::ask::{Kept, Question, Whose};

use super::clearing;
use super::draft::Draft;
use super::replying::Turn;
use crate::rules::view_payload;
use crate::words::codes::Code;
use crate::words::composition::Listener;
use crate::words::ids::Name;
use crate::words::limits;
use crate::words::refusal::Refusal;

/// What answers a question, or why nothing does.
pub(super) fn answer(d: &Draft<'_>, turn: &Turn<'_>, question: &Question) -> Result<Arc<[u8]>, Refusal> {
    match question {
        Question::View { .. } | Question::Blob { .. } => clearing::answer_of(turn, 0),
        Question::Schema { name, from } => schema(d, turn, name, *from),
        Question::PutBlob { .. } | Question::Journal { .. } => {
            let words = ["<", question.name(), "> is not built yet"].concat();
            Err(Refusal::new(Code::NotBuilt, words))
        }
    }
}

/// Whose schemas a listener is shown. It may be a peer of its own.
fn shown(own: &Listener) -> Vec<&str> {
    let others = own.peers.iter().filter(|peer| **peer != own.name);
    std::iter::once(&own.name).chain(others).map(Name::as_str).collect()
}

/// The schema of the listener itself or of a peer, by the configuration that the call began with. A name that
/// nothing has and one that is no peer's are told apart by nobody.
fn schema(d: &Draft<'_>, turn: &Turn<'_>, name: &str, from: u64) -> Result<Arc<[u8]>, Refusal> {
    let (page, own) = (d.page(turn.config), turn.listener);
    let is_shown =
        |it: &&Listener| own.is_some_and(|own| own.name == it.name || own.peers.contains(&it.name));
    let named = Name::parse(name).ok();
    let whose = page.zip(named).and_then(|(page, name)| page.listener(&name)).filter(is_shown);
    let text = whose.and_then(|whose| Some((whose, &page?.schemas.get(whose.schema.0)?.text)));
    let Some((whose, text)) = text else {
        let names: Vec<&str> = own.map(shown).unwrap_or_default();
        let words = "there is no schema of that name among your own and your peers'";
        return Err(Refusal::new(Code::NotAPeer, words).of_element("schema").expecting(names.join(", ")));
    };
    match Kept::page(text, from, limits::ANSWER_BYTES) {
        Some(page) => Ok(page.payload(Whose::Schema(whose.name.as_str())).bytes().clone()),
        None => Err(view_payload::past_the_end(from, text.len())),
    }
}
