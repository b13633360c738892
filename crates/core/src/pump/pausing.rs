//! Deciding on pauses: nothing new goes out of a thread and the threads below it, or of the whole
//! organism, until a person resumes it. Deliveries that are out may still be answered, and inputs are
//! recorded as usual.

use super::closing;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{Effect, PauseOrder};
use super::refusing::{may_act, refuse_asker};
use super::state::Thread;
use crate::rules::approval_payload;
use crate::types::codes::Code;
use crate::types::flow::Refused;
use crate::types::ids::ThreadId;
use crate::types::record::{RecordCode, RecordKind, SteerEffect};
use crate::types::refusal::Refusal;
use crate::types::time::Millis;

/// Pauses or resumes a thread. A pause of what is paused is not recorded again; a resume of what nothing holds is refused.
pub(super) fn apply_pause(d: &mut DecisionBuilder<'_>, pause: &PauseOrder) {
    let PauseOrder { ticket, by, thread, halts, note } = pause;
    let ticket = *ticket;
    let place = thread.clone().unwrap_or_else(ThreadId::new_sys);
    let found = d.find_thread(&place).filter(|t| t.seq > 0 && thread.is_some() != t.id.is_sys());
    let found = found.filter(|t| may_act(d, by, &t.id));
    if let Some(refusal) = closing::not_alive(found.map(Thread::life), "pause or resume") {
        return refuse_asker(d, ticket, by, Some(&place), Refused { refusal, kept: None });
    }
    if !halts && find_halt(|id| d.find_thread(id), &place).is_none() {
        let refusal = not_paused(thread.as_ref());
        return refuse_asker(d, ticket, by, Some(&place), Refused { refusal, kept: None });
    }
    if found.is_some_and(|t| t.paused.is_some() != *halts) {
        let config = found.and_then(|t| t.calls.values().next()).map(|call| call.config);
        let config = config.unwrap_or_else(|| d.current_config());
        let (what, body) = match halts {
            true => (SteerEffect::Paused, approval_payload::write_pause(by, note.as_deref())),
            false => (SteerEffect::Resumed, approval_payload::write_resume(by)),
        };
        let fact = RecordFact::from_core(RecordKind::Steer, RecordCode::Steering(what), body)
            .with_addressee(by)
            .with_config(config);
        d.add_record(&place, fact);
        if !halts {
            d.add_effect(Effect::Resumed(place));
        }
    }
    d.add_effect(Effect::Done { ticket });
}

/// Nothing holds the thread, or everything, so a resume would change nothing.
fn not_paused(thread: Option<&ThreadId>) -> Refusal {
    let words = match thread {
        Some(_) => "the thread is not paused; there is nothing to resume",
        None => "there is no pause of everything; there is nothing to resume",
    };
    let refusal = Refusal::new(Code::UnpausedThread, words);
    match thread {
        Some(_) => refusal.fixed_by("systole why THREAD, which says what the thread waits for"),
        None => refusal.fixed_by("systole resume THREAD, for a thread that was paused by itself"),
    }
}

/// The pause that keeps a thread from sending anything new, and since when: its own, that of an
/// ancestor, or that of everything, which is stored in `sys`.
pub fn find_halt<'t>(
    of: impl Fn(&ThreadId) -> Option<&'t Thread>,
    thread: &ThreadId,
) -> Option<(ThreadId, Millis)> {
    let paused = |id: &ThreadId| of(id).and_then(|t| t.paused);
    let mut line = Some(thread.clone());
    while let Some(id) = line {
        if let Some(since) = paused(&id) {
            return Some((id, since));
        }
        line = id.parent();
    }
    paused(&ThreadId::new_sys()).map(|since| (ThreadId::new_sys(), since))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_holds_for_what_is_below_and_one_of_sys_for_all() {
        let id = |text| ThreadId::parse(text).unwrap();
        let mut root = Thread::new_blank(id("sess-1f0c9a2b77d1"));
        let mut sys = Thread::new_blank(ThreadId::new_sys());
        let child = id("sess-1f0c9a2b77d1.heat.deep");
        let by = |root: &Thread, sys: &Thread| {
            let of = |wanted: &ThreadId| [root, sys].into_iter().find(|t| t.id == *wanted);
            find_halt(of, &child)
        };
        assert_eq!(by(&root, &sys), None);
        root.paused = Some(Millis(7));
        assert_eq!(by(&root, &sys), Some((root.id.clone(), Millis(7))));
        (root.paused, sys.paused) = (None, Some(Millis(9)));
        assert_eq!(by(&root, &sys), Some((ThreadId::new_sys(), Millis(9))));
    }
}
