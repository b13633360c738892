//! Deciding on steering: a message for work in progress, from the call that spawned the thread or from
//! outside. It joins the inbox of the open top call, whose next turn shows it. It ends a wait, and it never
//! interrupts a turn that is out. A message that no turn can show any more is refused, so that its sender
//! does not believe that it was heard.

use std::sync::Arc;

use super::awaiting;
use super::children::{ChildKinship, find_kinship};
use super::decision_builder::{DecisionBuilder, RecordFact, first_top_call};
use super::state::{Call, CallState, Sort};
use super::turn::{Turn, no_thread, refuse_item};
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::{Admitted, PayloadKind, Refused};
use crate::types::ids::{CallPath, Key, MessageId, Name, ThreadId};
use crate::types::limits;
use crate::types::record::{MessageRole, RecordCode, RecordKind, SteerEffect};
use crate::types::refusal::Refusal;

/// A message for a call.
pub(super) struct SteeringMessage<'a> {
    /// The sender.
    from: Name,
    /// The listener whose schema accepted it; `None` for a note from the sender, which any listener may get.
    to: Option<&'a Name>,
    /// Whether its payload or its schema says that a person must approve it.
    is_dangerous: bool,
    /// The `<steer>` that the call is shown.
    pub(super) body: Arc<[u8]>,
}

/// The origin of a message.
pub(super) enum SteeringOrigin<'a> {
    /// From outside, with that key.
    Outside(&'a Key),
    /// From the call that spawned the thread: the record of the item.
    Item(MessageId),
}

/// The message in a `<steer>` from outside; `None` if the payload is no steer.
pub(super) fn from_outside<'a>(client: &Name, admitted: &'a Admitted) -> Option<SteeringMessage<'a>> {
    let PayloadKind::Steer { to, payload } = admitted.what() else { return None };
    let body = core_payload::write_steer(client, payload);
    Some(SteeringMessage { from: client.clone(), to: Some(to), is_dangerous: admitted.is_dangerous(), body })
}

/// An item for another thread. It never creates a thread: if the thread is not a running child of the same
/// call, the item is refused.
pub(super) fn steer_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    thread: &str,
    payload: &Arc<[u8]>,
    judged: Result<Admitted, Refused>,
) -> Option<Refusal> {
    let child = &match find_kinship(d, turn, thread) {
        ChildKinship::Running(child) => child,
        ChildKinship::Ended => return Some(no_thread(d, turn, ordinal, thread, true, payload)),
        ChildKinship::Foreign => return Some(no_thread(d, turn, ordinal, thread, false, payload)),
        ChildKinship::Unread(refusal) => return Some(refuse_item(d, turn, ordinal, *refusal, Some(payload))),
    };
    let admitted = match judged {
        Ok(admitted) => admitted,
        Err(Refused { refusal, kept }) => {
            return Some(refuse_item(d, turn, ordinal, refusal, kept.as_ref().or(Some(payload))));
        }
    };
    let found = from_parent(&turn.sender, &admitted)
        .and_then(|message| Ok((check_room(d, child, &message)?, message)));
    let (path, message) = match found {
        Ok(found) => found,
        Err(refusal) => {
            // A child without room says nothing about the sender's budget.
            let _told = refuse_item(d, turn, ordinal, refusal, Some(payload));
            return None;
        }
    };
    let mut fact =
        turn.make_fact(ordinal, RecordKind::Message, RecordCode::Role(MessageRole::Steer), payload.clone());
    fact.from = turn.sender.clone();
    let (_, cause) = d.add_record(turn.thread, fact);
    let handled = RecordFact::from_core(
        RecordKind::Message,
        RecordCode::Role(MessageRole::Answer),
        core_payload::write_handled(),
    )
    .with_addressee(&turn.sender)
    .with_call(&turn.path.append_item(turn.number, ordinal))
    .with_cause(cause)
    .with_config(turn.config);
    join_inbox(d, child, &path, message, SteeringOrigin::Item(cause));
    d.add_record(turn.thread, handled);
    None
}

fn from_parent<'a>(sender: &Name, admitted: &'a Admitted) -> Result<SteeringMessage<'a>, Refusal> {
    let to = match admitted.what() {
        PayloadKind::For(to) => Some(to),
        PayloadKind::Note => None,
        _ => {
            let words = "another thread is sent a payload that its listener takes, or a note";
            return Err(Refusal::new(Code::NotAPeer, words)
                .of_element(admitted.element())
                .fixed_by("leave the thread out, to send it in your own"));
        }
    };
    let body = core_payload::write_steer(sender, admitted.bytes());
    Ok(SteeringMessage { from: sender.clone(), to, is_dangerous: admitted.is_dangerous(), body })
}

/// The call that a message joins, or why no call would show it.
pub(super) fn check_room(
    d: &DecisionBuilder<'_>,
    thread: &ThreadId,
    message: &SteeringMessage<'_>,
) -> Result<CallPath, Refusal> {
    let resting = || {
        Refusal::new(Code::RestingThread, "the thread rests; there is nothing to steer")
            .fixed_by("send the payload as a message, which goes on with the thread")
    };
    let path = d.find_thread(thread).and_then(first_top_call).ok_or_else(resting)?;
    let call = d.find_call(thread, &path).ok_or_else(resting)?;
    if message.to.is_some_and(|to| *to != call.listener) {
        let words =
            format!("the thread works on a call to {}, which does not take this", call.listener.as_str());
        return Err(Refusal::new(Code::NotAPeer, words));
    }
    let listener = d.find_listener(call.config, &call.listener);
    if message.is_dangerous || listener.is_some_and(|l| l.approval.always) {
        let words = "a payload that a person must approve cannot steer: approving it is not built yet";
        return Err(Refusal::new(Code::NotBuilt, words).fixed_by("send it as a message or a call of its own"));
    }
    if shown_at(call) > last_turn(call, listener.map_or(1, |l| l.turns)) {
        let words = format!("{} has no turn left in which it could be shown this", call.listener.as_str());
        return Err(Refusal::new(Code::MessagesBudget, words)
            .fixed_by("wait for its answer, or raise `turns` of this listener in the organism's file"));
    }
    let waiting = call.inbox.iter().filter(|arrival| arrival.sort == Sort::Steer).count();
    if waiting >= limits::STEERS {
        let words = "64 such messages wait for the next turn of the call, the most allowed";
        return Err(Refusal::new(Code::BusyThread, words).fixed_by("wait until a turn has shown them"));
    }
    Ok(path)
}

/// The last turn that a call may still have. If a turn may be out when the call begins to wrap up, one more
/// turn follows, unless the listener has a single turn.
fn last_turn(call: &Call, turns: u32) -> u32 {
    match call.wrap_up {
        None => turns,
        Some(_) if turns <= 1 => turns,
        Some(_) if call.is_wrapping_up() => call.settled + 1,
        Some(_) => call.settled + 2,
    }
}

/// The first turn that shows what comes now. A turn that could be out shows only what came before it.
fn shown_at(call: &Call) -> u32 {
    match call.stand() {
        CallState::Joining(_) => call.settled + 1,
        CallState::Ready { turn, .. } => turn + 1,
        CallState::Asking | CallState::Held => call.settled + 2,
    }
}

/// Puts a message into the inbox of a call.
pub(super) fn join_inbox(
    d: &mut DecisionBuilder<'_>,
    thread: &ThreadId,
    path: &CallPath,
    message: SteeringMessage<'_>,
    origin: SteeringOrigin<'_>,
) -> (u64, MessageId) {
    let (listener, config) = d
        .find_call(thread, path)
        .map_or_else(|| (Name::new_core(), d.current_config()), |call| (call.listener.clone(), call.config));
    let mark = RecordCode::Steering(SteerEffect::Steered);
    let mut fact = RecordFact::from_core(RecordKind::Steer, mark, message.body)
        .with_addressee(&listener)
        .with_call(path)
        .with_config(config);
    fact.from = message.from;
    (fact.key, fact.cause) = match origin {
        SteeringOrigin::Outside(key) => (Some(key.clone()), None),
        SteeringOrigin::Item(cause) => (None, Some(cause)),
    };
    let placed = d.add_record(thread, fact);
    awaiting::note_arrival(d, thread, path);
    placed
}
