//! Deciding on refusals that belong to no call, and whether a client may act on a thread.

use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::Effect;
use super::state::ThreadState;
use crate::rules::admit::cut_excerpt;
use crate::rules::core_payload;
use crate::types::client;
use crate::types::codes::Code;
use crate::types::flow::{Refused, Ticket};
use crate::types::ids::{Name, ThreadId};
use crate::types::limits;
use crate::types::record::{RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// Records a refusal that belongs to no call. The refusal goes to the thread it concerns if that is alive,
/// and to the nearest living ancestor if the thread has ended. It goes to `sys` if there is no such
/// ancestor or the thread never existed. While its sender's bucket is empty, the refusal is only counted,
/// and the answer to the sender says so.
pub(super) fn refuse_outside_calls(
    d: &mut DecisionBuilder<'_>,
    thread: Option<&ThreadId>,
    to: &Name,
    refused: Refused,
) -> Refusal {
    let place = find_living(d, thread);
    let Refused { mut refusal, kept } = refused;
    if !d.has_room(to) {
        d.charge_refusal(to, Some(place));
        return throttled_refusal(d, to, refusal);
    }
    d.charge_refusal(to, None);
    if let Some(bytes) = &kept {
        // Whichever check refused it: if bytes have no place in a call, at most an excerpt is kept.
        let fits = bytes.len() <= limits::EXCERPT_BYTES;
        refusal.hash =
            Some(if fits { d.keep_document(bytes) } else { d.keep_document(&cut_excerpt(bytes, 0)) });
    }
    let body = core_payload::system_error(&refusal);
    let config = d.current_config();
    let fact = RecordFact::from_core(RecordKind::Refusal, RecordCode::Code(refusal.code), body)
        .with_addressee(to)
        .with_config(config);
    d.add_record(&place, fact);
    refusal
}

/// Refuses a request from outside, and tells the asker. If the client may not act on a thread, nothing is
/// recorded in that thread.
pub(super) fn refuse_asker(
    d: &mut DecisionBuilder<'_>,
    ticket: Ticket,
    who: &Name,
    about: Option<&ThreadId>,
    refused: Refused,
) {
    let place = about.filter(|thread| may_act(d, who, thread));
    let refusal = refuse_outside_calls(d, place, who, refused);
    d.add_effect(Effect::Refused { ticket, refusal: Box::new(refusal) });
}

/// The thread itself if it is alive, else its nearest living ancestor, else `sys`.
pub(super) fn find_living(d: &DecisionBuilder<'_>, thread: Option<&ThreadId>) -> ThreadId {
    let mut place = thread.filter(|id| d.find_thread(id).is_some()).cloned();
    while let Some(id) = place.take_if(|id| d.find_thread(id).is_none_or(|t| t.life() == ThreadState::Ended))
    {
        place = id.parent();
    }
    place.unwrap_or_else(ThreadId::new_sys)
}

/// A refusal that is not recorded still says what was wrong, so that its sender can fix it and slow down.
fn throttled_refusal(d: &DecisionBuilder<'_>, to: &Name, refusal: Refusal) -> Refusal {
    let words = format!(
        "too many of your messages were refused; this one was only counted. {}: {}",
        refusal.code.as_str(),
        refusal.message
    );
    Refusal { code: throttled_code(d, to), message: words.into(), hash: None, ..refusal }
}

pub(super) fn throttled_code(d: &DecisionBuilder<'_>, sender: &Name) -> Code {
    match d.find_listener(d.current_config(), sender) {
        Some(_) => Code::ListenerThrottled,
        None => Code::IngressThrottled,
    }
}

/// Whether a client may act on a thread: its own message opened the tree, or it has the role that operates
/// the threads of others. For any other client the thread does not exist.
pub(super) fn may_act(d: &DecisionBuilder<'_>, who: &Name, thread: &ThreadId) -> bool {
    is_opener(d, who, thread) || d.has_role(who, client::Role::Operate)
}

/// Whether a client's own message opened the tree of a thread.
pub(super) fn is_opener(d: &DecisionBuilder<'_>, who: &Name, thread: &ThreadId) -> bool {
    let opener = d.find_thread(&thread.root_of()).and_then(|root| root.opener.as_ref());
    opener.is_some_and(|opener| opener.sender == *who)
}
