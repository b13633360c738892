//! Deciding on orders to cancel: a thread with everything below it, one top call, or a call that waits for someone who is
//! away.

use super::closing;
use super::decision_builder::DecisionBuilder;
use super::event::Effect;
use super::refusing::{may_act, refuse_asker};
use super::state::Thread;
use crate::rules::outage_words;
use crate::types::codes::Code;
use crate::types::flow::{Refused, Ticket};
use crate::types::ids::{CallPath, Name, ThreadId};
use crate::types::refusal::Refusal;

/// The beginning of what is said of a call that a client cancelled. Behind the client's name is the reason of a call
/// that waited, and nothing of a top call that was stopped.
pub const CANCELLED_BY: &str = "cancelled by ";

pub(super) fn cancel_thread(d: &mut DecisionBuilder<'_>, ticket: Ticket, by: &Name, thread: &ThreadId) {
    let found = d.find_thread(thread).filter(|_| !thread.is_sys() && may_act(d, by, thread));
    let Some(refusal) = closing::not_alive(found.map(Thread::life), "cancel") else {
        closing::end_thread(d, thread, by);
        return d.add_effect(Effect::Done { ticket });
    };
    refuse_asker(d, ticket, by, Some(thread), Refused { refusal, kept: None });
}

/// Ends a call that waits, and says so to its caller. If the call waits no longer, only the asker learns it.
pub(super) fn cancel_call(
    d: &mut DecisionBuilder<'_>,
    ticket: Ticket,
    by: &Name,
    (thread, path): (&ThreadId, &CallPath),
) {
    let call = d.find_call(thread, path).filter(|_| may_act(d, by, thread));
    let Some((wait, listener)) = call.and_then(|call| Some((call.waits.as_ref()?, &call.listener))) else {
        let refusal =
            Box::new(Refusal::new(Code::UnknownThread, "no such call waits for someone who is away"));
        return d.add_effect(Effect::Refused { ticket, refusal });
    };
    let words = format!("{CANCELLED_BY}{by}: {}", outage_words(&wait.outage, listener));
    closing::close_cancelled(d, thread, path, &Refusal::new(Code::CancelledThread, words));
    d.add_effect(Effect::Done { ticket });
}

/// Ends a top call that is open or queued, and all that is open below it. The thread goes on with the next one, or rests.
pub(super) fn stop_run(
    d: &mut DecisionBuilder<'_>,
    ticket: Ticket,
    by: &Name,
    (thread, call): (&ThreadId, u32),
) {
    let found = d.find_thread(thread).filter(|_| !thread.is_sys() && may_act(d, by, thread));
    let path = CallPath::new_top(call);
    let refusal = match closing::not_alive(found.map(Thread::life), "cancel") {
        Some(refusal) => refusal,
        None if thread.parent().is_some() => {
            Refusal::new(Code::ClosedCall, "a child thread has one call, and ends with it")
                .fixed_by(format!("systole cancel {thread}, which ends the child"))
        }
        None if d.find_call(thread, &path).is_none() => {
            let words = format!("call {path} of the thread is not open: it has its outcome, or never came");
            Refusal::new(Code::ClosedCall, words)
                .fixed_by(format!("systole tree {thread}, which shows its calls"))
        }
        None => {
            let words = format!("{CANCELLED_BY}{by}");
            closing::close_cancelled(d, thread, &path, &Refusal::new(Code::CancelledThread, words));
            return d.add_effect(Effect::Done { ticket });
        }
    };
    refuse_asker(d, ticket, by, Some(thread), Refused { refusal, kept: None });
}
