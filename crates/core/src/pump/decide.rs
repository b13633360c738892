//! `decide`: what follows from an event, given the state. Pure: the event brings the moment and the seed,
//! the state's book holds the configurations, and what only the log knows was looked up before. Each kind
//! of event has its own file next to this one.

use super::buckets::Telling;
use super::decision_builder::{DecisionBuilder, Fact};
use super::event::{Decision, Effect, Event, EventKind};
use super::state::{Life, State};
use super::{asking, closing, ending, failing, journaling, pausing, persons, replying, timers, wall};
use crate::rules::admit::excerpt;
use crate::rules::core_payload;
use crate::types::client;
use crate::types::codes::Code;
use crate::types::flow::{Refused, Ticket, Unconnected};
use crate::types::ids::{Name, ThreadId};
use crate::types::limits;
use crate::types::record::{Kind, Mark, Role};
use crate::types::refusal::Refusal;

/// Decides on one event.
pub fn decide(state: &State, event: Event) -> Decision {
    let mut decision_builder = DecisionBuilder::new(state, (event.at, event.tick), event.seed);
    let d = &mut decision_builder;
    match event.what {
        EventKind::Booted { listeners } => {
            let page = state.book.current();
            let organism = page.map_or("", |p| p.organism.as_str());
            let body = core_payload::boot(organism, d.current_config(), d.at(), &listeners);
            tell_sys(d, body);
        }
        EventKind::GaveUp(given_up) => tell_sys(d, core_payload::loss_accepted(given_up)),
        EventKind::Stopping { mode } => tell_sys(d, core_payload::shutdown(mode)),
        EventKind::Joined(listener) => tell_sys(d, core_payload::listener_joined(&listener)),
        EventKind::Left { listener, words } => tell_sys(d, core_payload::listener_left(&listener, &words)),
        EventKind::Asked { asked, bound } => asking::asked(d, asked, bound),
        EventKind::Replied(judged) => replying::replied(d, judged, None),
        EventKind::Looked { judged, seen } => replying::replied(d, judged, Some(&seen)),
        EventKind::Stray(stray) => unconnected(d, stray),
        EventKind::Lost(lost) => failing::lost(d, &lost),
        EventKind::Sending { thread, call, turn } => failing::sending(d, &thread, &call, turn),
        EventKind::Due { thread, timer, set, late_ms } => timers::due(d, &thread, &timer, &set, late_ms),
        EventKind::Elapsed(runs) => wall::elapsed(d, &runs),
        EventKind::Knocked { source, count } => knocked(d, source, count),
        EventKind::Broker { code, words } => {
            refuse_in_sys(d, &Refusal::new(code, words).fixed_by(code.fix()));
        }
        EventKind::Throttled(telling) => throttled(d, &telling),
        EventKind::Ruled(ruling) => persons::ruled(d, ruling),
        EventKind::Expired { thread, place, request } => persons::expired(d, &thread, &place, request),
        EventKind::Pause(pause) => pausing::pause(d, &pause),
        EventKind::Cancel { ticket, by, thread } => cancel(d, ticket, &by, &thread),
        EventKind::End { ticket, by, thread } => ending::end(d, ticket, &by, &thread),
    }
    decision_builder.finish()
}

fn tell_sys(d: &mut DecisionBuilder<'_>, body: std::sync::Arc<[u8]>) {
    let fact = Fact::core(Kind::Message, Mark::Role(Role::Told), body).under(d.current_config());
    d.record(&ThreadId::sys(), fact);
}

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
    let place = living(d, thread);
    let Refused { mut refusal, kept } = refused;
    if !d.has_room(to) {
        d.toll(to, Some(place));
        return throttled_refusal(d, to, refusal);
    }
    d.toll(to, None);
    if let Some(bytes) = &kept {
        // Whichever check refused it: if bytes have no place in a call, at most an excerpt is kept.
        let fits = bytes.len() <= limits::EXCERPT_BYTES;
        refusal.hash = Some(if fits { d.keep(bytes) } else { d.keep(&excerpt(bytes, 0)) });
    }
    let body = core_payload::system_error(&refusal);
    let config = d.current_config();
    let fact = Fact::core(Kind::Refusal, Mark::Code(refusal.code), body).to(to).under(config);
    d.record(&place, fact);
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
    d.effect(Effect::Refused { ticket, refusal: Box::new(refusal) });
}

/// The thread itself if it is alive, else its nearest living ancestor, else `sys`.
fn living(d: &DecisionBuilder<'_>, thread: Option<&ThreadId>) -> ThreadId {
    let mut place = thread.filter(|id| d.thread(id).is_some()).cloned();
    while let Some(id) = place.take_if(|id| d.thread(id).is_none_or(|t| t.life() == Life::Ended)) {
        place = id.parent();
    }
    place.unwrap_or_else(ThreadId::sys)
}

/// A refusal that is not recorded still says what was wrong, so that its sender can fix it and slow down.
fn throttled_refusal(d: &DecisionBuilder<'_>, to: &Name, refusal: Refusal) -> Refusal {
    let words = [
        "too many of your messages were refused; this one was only counted. ",
        refusal.code.as_str(),
        ": ",
        &refusal.message,
    ];
    Refusal { code: throttled_code(d, to), message: words.concat().into(), hash: None, ..refusal }
}

fn throttled_code(d: &DecisionBuilder<'_>, sender: &Name) -> Code {
    match d.listener(d.current_config(), sender) {
        Some(_) => Code::ListenerThrottled,
        None => Code::IngressThrottled,
    }
}

/// Records how many refusals of one sender were counted, where the refusals would have been recorded.
fn throttled(d: &mut DecisionBuilder<'_>, telling: &Telling) {
    let Telling { sender, place, count } = telling;
    let body = core_payload::throttled(count.count, count.first, count.last);
    let code = Mark::Code(throttled_code(d, sender));
    let fact = Fact::core(Kind::Refusal, code, body).to(sender).under(d.current_config());
    d.record(&living(d, Some(place)), fact);
}

/// Whether a client may act on a thread: its own message opened the tree, or it has the role that operates
/// the threads of others. For any other client the thread does not exist.
pub(super) fn may_act(d: &DecisionBuilder<'_>, who: &Name, thread: &ThreadId) -> bool {
    let opener = d.thread(&thread.root_of()).and_then(|root| root.opener.as_ref());
    opener.is_some_and(|opener| opener.sender == *who) || d.has_role(who, client::Role::Operate)
}

/// Only the log gets this: a stranger learns only that the credential is not valid.
fn knocked(d: &mut DecisionBuilder<'_>, source: std::net::IpAddr, count: u64) {
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let words = format!("{source} came {times} without a valid credential");
    refuse_in_sys(d, &Refusal::new(Code::IngressUnauthorized, words));
}

fn refuse_in_sys(d: &mut DecisionBuilder<'_>, refusal: &Refusal) {
    let body = core_payload::system_error(refusal);
    let fact = Fact::core(Kind::Refusal, Mark::Code(refusal.code), body).under(d.current_config());
    d.record(&ThreadId::sys(), fact);
}

fn unconnected(d: &mut DecisionBuilder<'_>, stray: Unconnected) {
    let Unconnected { listener, refused, waits, replies_to, ticket } = stray;
    // Its lease may be forgotten or belong to an earlier run, but a reply that was taken stays taken.
    let comes_again = replies_to.is_some_and(|delivery| d.was_taken(&delivery, &listener));
    if let Some(ticket) = ticket.filter(|_| comes_again) {
        return d.effect(Effect::Done { ticket });
    }
    let refusal = refuse_outside_calls(d, None, &listener, refused);
    if let Some((delivery, id)) = waits {
        journaling::answer(d, &listener, delivery, id, Some(&core_payload::system_error(&refusal)));
    }
    if let Some(ticket) = ticket {
        d.effect(Effect::Refused { ticket, refusal: Box::new(refusal) });
    }
}

fn cancel(d: &mut DecisionBuilder<'_>, ticket: Ticket, by: &Name, thread: &ThreadId) {
    let found = d.thread(thread).filter(|_| !thread.is_sys() && may_act(d, by, thread));
    let life = found.map(super::state::Thread::life);
    let Some(refusal) = closing::not_alive(life, "cancel") else {
        closing::end_thread(d, thread, by);
        return d.effect(Effect::Done { ticket });
    };
    refuse_asker(d, ticket, by, Some(thread), Refused { refusal, kept: None });
}
