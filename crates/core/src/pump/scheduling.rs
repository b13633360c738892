//! Deciding on schedules: which tick opens a root, and which one is skipped. The engine says which ticks are due; this
//! file reads no clock and no calendar. A root and the record of its tick are one commit.

use super::asking::open_root;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{Effect, KnownSchedule, ScheduleOrder};
use super::refusing::refuse_asker;
use super::state::{ScheduleState, ThreadState};
use crate::rules::schedule_payload::{ScheduleEvent, ScheduleNews, SkipReason, write_news};
use crate::types::client::Role;
use crate::types::codes::Code;
use crate::types::flow::{Receipt, Refused, Ticket};
use crate::types::ids::{Name, ThreadId};
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;
use crate::types::schedule::{DueTicks, Schedule, ScheduleChange, make_tick_key};
use crate::types::thread_choice::SoughtRoot;
use crate::types::time::Millis;

/// Records which schedules begin, and which have left the file.
///
/// One begins if the log does not know it, or knows it with other ticks. It also begins anew if the last tick of the log
/// lies beyond the next one: a clock that was wrong for ten seconds must not silence it for a year.
pub(super) fn watch_schedules(d: &mut DecisionBuilder<'_>, known: &[KnownSchedule], are_all: bool) {
    let at = d.at();
    for KnownSchedule { name, rule, next } in known {
        let begun = find_schedule(d, name).filter(|one| !one.is_ended && one.rule == *rule);
        if begun.is_none_or(|one| next.is_some_and(|next| one.last > next)) {
            tell_news(d, name, ScheduleEvent::Began { rule: rule.clone(), at });
        }
    }
    if are_all {
        let sys = d.find_thread(&ThreadId::new_sys());
        let left = sys.into_iter().flat_map(|sys| &sys.schedules).filter(|(_, one)| !one.is_ended);
        let left = left.filter(|(name, _)| !known.iter().any(|one| one.name == **name));
        for name in left.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            tell_news(d, &name, ScheduleEvent::Ended);
        }
    }
}

/// Decides on ticks that are due. Only the newest may fire. Those that were decided on meanwhile are left out.
pub(super) fn take_ticks(d: &mut DecisionBuilder<'_>, due: &DueTicks) {
    let DueTicks { schedule, first, before, newest, is_missed } = due;
    let name = &schedule.name;
    let Some(state) = find_schedule(d, name) else { return };
    if state.is_ended || state.paused.is_some() || state.last >= *first {
        return;
    }
    let skip = |d: &mut _, reason, from, to| tell_news(d, name, ScheduleEvent::Skipped { reason, from, to });
    if *is_missed && !schedule.catches_up {
        return skip(d, SkipReason::Missed, *first, *newest);
    }
    let is_busy = is_at_work(d, state);
    if let Some(before) = before {
        skip(d, SkipReason::Missed, *first, *before);
    }
    if is_busy {
        return skip(d, SkipReason::Overlap, *newest, *newest);
    }
    match fire(d, schedule, *newest) {
        Some(receipt) if !receipt.repeated => {
            tell_news(d, name, ScheduleEvent::Fired { tick: *newest, thread: receipt.thread, by: None });
        }
        // Its key is bound, by the same bytes or, from an earlier file, by others.
        Some(_) | None => skip(d, SkipReason::Fired, *newest, *newest),
    }
}

/// Opens the root of a moment. `None` if its key is bound by other bytes.
fn fire(d: &mut DecisionBuilder<'_>, schedule: &Schedule, moment: Millis) -> Option<Receipt> {
    let key = make_tick_key(&schedule.name, moment)?;
    let sought = SoughtRoot { organism: d.organism(), sender: Name::new_schedule(), key, name: None };
    open_root(d, &sought, &schedule.payload).ok()
}

/// Whether the root that a schedule opened last has an open call. Each thread that has one is in memory.
fn is_at_work(d: &DecisionBuilder<'_>, state: &ScheduleState) -> bool {
    let last = state.thread.as_ref().and_then(|thread| d.find_thread(thread));
    last.is_some_and(|thread| thread.life() == ThreadState::Working)
}

/// Pauses, resumes or fires a schedule. A pause of what is paused is not recorded again.
pub(super) fn order_schedule(d: &mut DecisionBuilder<'_>, order: ScheduleOrder) {
    let ScheduleOrder { ticket, by, name, change, passed } = order;
    let refuse = |d: &mut _, refusal| refuse_asker(d, ticket, &by, None, Refused { refusal, kept: None });
    if !d.has_role(&by, Role::Operate) {
        let words = "an order about a schedule needs the role operate";
        let refusal = Refusal::new(Code::IngressForbidden, words).fixed_by(Code::IngressForbidden.fix());
        return refuse(d, refusal);
    }
    let Some(state) = find_schedule(d, &name).filter(|one| !one.is_ended).cloned() else {
        return refuse(d, refuse_unknown(d, &name));
    };
    match change {
        ScheduleChange::Pause if state.paused.is_none() => tell_news(d, &name, ScheduleEvent::Paused(by)),
        ScheduleChange::Pause => {}
        ScheduleChange::Resume if state.paused.is_none() => {
            let refusal = Refusal::new(Code::UnpausedThread, format!("the schedule {name} is not paused"));
            return refuse(d, refusal.fixed_by("systole schedules, which lists what is paused"));
        }
        ScheduleChange::Resume => {
            if let Some((from, to)) = passed {
                let reason = SkipReason::Paused;
                tell_news(d, &name, ScheduleEvent::Skipped { reason, from, to });
            }
            tell_news(d, &name, ScheduleEvent::Resumed(by));
        }
        ScheduleChange::Fire(known) => return fire_now(d, (ticket, by, name), &state, known),
    }
    d.add_effect(Effect::Done { ticket });
}

/// Fires a schedule because a person says so, also if it is paused. Its ticks stay as they are.
fn fire_now(
    d: &mut DecisionBuilder<'_>,
    (ticket, by, name): (Ticket, Name, Name),
    state: &ScheduleState,
    known: Option<(std::sync::Arc<Schedule>, Millis)>,
) {
    let refuse = |d: &mut _, refusal| refuse_asker(d, ticket, &by, None, Refused { refusal, kept: None });
    let Some((schedule, moment)) = known else {
        let words = format!("no organism runs that could fire {name}");
        return refuse(d, Refusal::new(Code::UnknownSchedule, words).fixed_by("systole run, then the same"));
    };
    if let Some(thread) = state.thread.as_ref().filter(|_| is_at_work(d, state)) {
        let words = format!("{name} sent thread {thread}, which is still at work");
        let refusal = Refusal::new(Code::BusySchedule, words);
        return refuse(d, refusal.fixed_by(format!("wait for its answer, or systole cancel {thread}")));
    }
    match fire(d, &schedule, moment) {
        Some(receipt) => {
            if !receipt.repeated {
                let (thread, by) = (receipt.thread.clone(), Some(by));
                tell_news(d, &name, ScheduleEvent::Fired { tick: moment, thread, by });
            }
            d.add_effect(Effect::Receipt { ticket, receipt });
        }
        None => refuse(d, Refusal::new(Code::IdConflict, format!("{name} fired at this moment before"))),
    }
}

fn refuse_unknown(d: &DecisionBuilder<'_>, name: &Name) -> Refusal {
    let sys = d.find_thread(&ThreadId::new_sys());
    let all = sys.into_iter().flat_map(|sys| &sys.schedules).filter(|(_, one)| !one.is_ended);
    let all: Vec<&str> = all.map(|(name, _)| name.as_str()).collect();
    let refusal = Refusal::new(Code::UnknownSchedule, format!("there is no schedule {name}"));
    match systole_schema::find_nearest(name.as_str(), all.iter().copied()) {
        Some(near) => refusal.fixed_by(near),
        None if all.is_empty() => {
            refusal.fixed_by("a schedule in the file; it begins when the organism runs")
        }
        None => refusal.fixed_by(format!("one of {}", all.join(", "))),
    }
}

fn find_schedule<'d>(d: &'d DecisionBuilder<'_>, name: &Name) -> Option<&'d ScheduleState> {
    d.find_thread(&ThreadId::new_sys())?.schedules.get(name)
}

fn tell_news(d: &mut DecisionBuilder<'_>, schedule: &Name, event: ScheduleEvent) {
    let body = write_news(&ScheduleNews { schedule: schedule.clone(), event });
    let fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Told), body)
        .with_config(d.current_config());
    d.add_record(&ThreadId::new_sys(), fact);
}
