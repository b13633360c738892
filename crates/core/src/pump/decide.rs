//! `decide`: what follows from an event, given the state. It depends on nothing else: the event brings the
//! moment and the seed, the state's book holds the configurations, and what only the log knows was looked up
//! before. The facts are folded into the state as they are made. Each kind of event has its own file next to
//! this one.

use super::buckets::DueReport;
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::{ClientOrder, Decision, Effect, Event, EventKind, PumpNotice};
use super::finishing::finish_decision;
use super::fold::apply_to;
use super::refusing::{find_living, refuse_outside_calls, throttled_code};
use super::state::PumpState;
use super::{
    asking, cancelling, ending, failing, journaling, losing, pausing, persons, reopening, replying,
    scheduling, timers, wall,
};
use crate::rules::{core_payload, follower_payload, reload_payload, shutdown_payload, stuck_payload};
use crate::types::codes::Code;
use crate::types::flow::UnmatchedDocument;
use crate::types::ids::ThreadId;
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;

/// Decides on one event, and folds the facts into their threads.
pub fn decide_event(state: &mut PumpState, event: Event) -> Decision {
    let mut decision_builder = DecisionBuilder::new(state, (event.at, event.tick), event.seed, apply_to);
    decision_builder.sensitive = event.what.list_sensitive();
    let d = &mut decision_builder;
    match event.what {
        EventKind::Booted { listeners, program } => {
            let page = d.book.current();
            let organism = page.map_or("", |p| p.organism.as_str());
            let (config, at) = (d.current_config(), d.at());
            let body = core_payload::write_boot(organism, config, at, &listeners, program);
            tell_sys(d, body);
        }
        EventKind::GaveUp(given_up) => tell_sys(d, core_payload::loss_accepted(given_up)),
        EventKind::Watched { known, are_all } => scheduling::watch_schedules(d, &known, are_all),
        EventKind::Ticked(due) => scheduling::take_ticks(d, &due),
        EventKind::Stopping { is_drained, out, ending } => {
            tell_sys(d, shutdown_payload::write_shutdown(is_drained, out, ending));
        }
        EventKind::Asked { asked, bound } => asking::take_message(d, asked, bound),
        EventKind::Replied(judged) => replying::take_reply(d, judged, None),
        EventKind::Looked { judged, seen } => replying::take_reply(d, judged, Some(&seen)),
        EventKind::Lost(lost) => losing::lose_attempt(d, &lost),
        EventKind::Sending { thread, call, turn } => failing::record_sending(d, &thread, &call, turn),
        EventKind::Attempting { id, state } => failing::goes_through(d, &id, &state),
        EventKind::Waited { id, since, words } => failing::end_wait(d, &id, since, &words),
        EventKind::Due { thread, timer, set, late_ms } => timers::fire_due(d, &thread, &timer, &set, late_ms),
        EventKind::Elapsed(runs) => wall::elapse_budget(d, &runs),
        EventKind::Stray(stray) => record_unmatched(d, stray),
        EventKind::Noticed(notice) => take_notice(d, notice),
        EventKind::Ordered(order) => take_order(d, order),
        EventKind::Expired { thread, place, request } => persons::expire_request(d, &thread, &place, request),
    }
    finish_decision(decision_builder)
}

fn take_notice(d: &mut DecisionBuilder<'_>, notice: PumpNotice) {
    match notice {
        PumpNotice::Joined { listener, sandbox, files } => {
            tell_sys(d, core_payload::listener_joined(&listener, sandbox, &files));
        }
        PumpNotice::Left { listener, words } => tell_sys(d, core_payload::listener_left(&listener, &words)),
        PumpNotice::Knocked { source, count } => record_failed_logins(d, source, count),
        PumpNotice::Broker { code, words } => {
            refuse_in_sys(d, &Refusal::new(code, words).fixed_by(code.fix()));
        }
        PumpNotice::Unproved { words } => {
            let code = Code::ProofMissing;
            refuse_in_sys(d, &Refusal::new(code, words).fixed_by(code.fix()));
        }
        PumpNotice::Follower(news) => tell_sys(d, follower_payload::write_news(&news)),
        PumpNotice::Reload(news) => tell_sys(d, reload_payload::write_news(&news)),
        PumpNotice::Stuck(stuck) => tell_sys(d, stuck_payload::write_stuck(&stuck)),
        PumpNotice::Throttled(telling) => record_throttling(d, &telling),
    }
}

fn take_order(d: &mut DecisionBuilder<'_>, order: ClientOrder) {
    match order {
        ClientOrder::Ruled(ruling) => persons::take_ruling(d, ruling),
        ClientOrder::Pause(pause) => pausing::apply_pause(d, &pause),
        ClientOrder::Retry(order) => reopening::reopen_call(d, &order),
        ClientOrder::Cancel { ticket, by, thread } => cancelling::cancel_thread(d, ticket, &by, &thread),
        ClientOrder::CancelCall { ticket, by, thread, call } => {
            cancelling::cancel_call(d, ticket, &by, (&thread, &call));
        }
        ClientOrder::StopRun { ticket, by, thread, call } => {
            cancelling::stop_run(d, ticket, &by, (&thread, call));
        }
        ClientOrder::Schedule(order) => scheduling::order_schedule(d, order),
        ClientOrder::End { ticket, by, thread } => ending::end_thread(d, ticket, &by, &thread),
    }
}

fn tell_sys(d: &mut DecisionBuilder<'_>, body: std::sync::Arc<[u8]>) {
    let fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Told), body)
        .with_config(d.current_config());
    d.add_record(&ThreadId::new_sys(), fact);
}

/// Records how many refusals of one sender were counted, where the refusals would have been recorded.
fn record_throttling(d: &mut DecisionBuilder<'_>, telling: &DueReport) {
    let DueReport { sender, place, count } = telling;
    let body = core_payload::write_throttling(count.count, count.first, count.last);
    let code = RecordCode::Code(throttled_code(d, sender));
    let fact = RecordFact::from_core(RecordKind::Refusal, code, body)
        .with_addressee(sender)
        .with_config(d.current_config());
    d.add_record(&find_living(d, Some(place)), fact);
}

/// Only the log gets this: a stranger learns only that the credential is not valid.
fn record_failed_logins(d: &mut DecisionBuilder<'_>, source: std::net::IpAddr, count: u64) {
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let words = format!("{source} came {times} without a valid credential");
    refuse_in_sys(d, &Refusal::new(Code::IngressUnauthorized, words));
}

fn refuse_in_sys(d: &mut DecisionBuilder<'_>, refusal: &Refusal) {
    let body = core_payload::system_error(refusal);
    let fact = RecordFact::from_core(RecordKind::Refusal, RecordCode::Code(refusal.code), body)
        .with_config(d.current_config());
    d.add_record(&ThreadId::new_sys(), fact);
}

fn record_unmatched(d: &mut DecisionBuilder<'_>, stray: UnmatchedDocument) {
    let UnmatchedDocument { listener, refused, waits, replies_to, ticket } = stray;
    // Its lease may be forgotten or belong to an earlier run, but a reply that was taken stays taken.
    let comes_again = replies_to.is_some_and(|delivery| d.was_taken(&delivery, &listener));
    if let Some(ticket) = ticket.filter(|_| comes_again) {
        return d.add_effect(Effect::Done { ticket });
    }
    let refusal = refuse_outside_calls(d, None, &listener, refused);
    if let Some((delivery, id)) = waits {
        journaling::send_answer(d, &listener, delivery, id, Some(&core_payload::system_error(&refusal)));
    }
    if let Some(ticket) = ticket {
        d.add_effect(Effect::Refused { ticket, refusal: Box::new(refusal) });
    }
}
