//! Deciding on requests to end a thread. A person ends a root at rest: nothing is open in it, so only its timers end
//! with it. A thread at work can only be cancelled, with the command for that.

use super::closing::not_alive;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::Effect;
use super::refusing::{may_act, refuse_asker};
use super::state::{Thread, ThreadState};
use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::flow::{Refused, Ticket};
use crate::types::ids::{Name, ThreadId};
use crate::types::record::{RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// Ends a root at rest. Its timers end too, since nothing is ever added to it again.
pub(super) fn end_thread(d: &mut DecisionBuilder<'_>, ticket: Ticket, by: &Name, thread: &ThreadId) {
    let found = d.find_thread(thread).filter(|_| !thread.is_sys() && may_act(d, by, thread));
    let refusal = match found.map(Thread::life) {
        Some(ThreadState::Working) => {
            let words = "the thread is at work; only one at rest is ended";
            Some(Refusal::new(Code::BusyThread, words).fixed_by(format!(
                "wait for its answer, or: systole cancel {}, which ends its work",
                thread.as_str()
            )))
        }
        life => not_alive(life, "end"),
    };
    if let Some(refusal) = refusal {
        return refuse_asker(d, ticket, by, Some(thread), Refused { refusal, kept: None });
    }
    let fact =
        RecordFact::from_core(RecordKind::Terminal, RecordCode::Ended, core_payload::thread_ended(thread));
    let fact = fact.with_addressee(by).with_config(d.current_config());
    d.add_record(thread, fact);
    d.add_effect(Effect::Done { ticket });
}
