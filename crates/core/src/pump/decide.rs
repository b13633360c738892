//! `decide`: what follows from an event, given the state. Pure: the moment and the seed come with the
//! event, configurations stand in the state's book, and what the log alone knows was looked up before.
//! Each kind of event has a file of its own beside this one.

use super::buckets::Telling;
use super::draft::{Draft, Fact};
use super::event::{Decision, Effect, Event, Happening};
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

/// Decides upon one event.
pub fn decide(state: &State, event: Event) -> Decision {
    let mut draft = Draft::new(state, (event.at, event.tick), event.seed);
    let d = &mut draft;
    match event.what {
        Happening::Booted { listeners } => {
            let page = state.book.current();
            let organism = page.map_or("", |p| p.organism.as_str());
            let body = core_payload::boot(organism, d.current_config(), d.at(), &listeners);
            tell_sys(d, body);
        }
        Happening::GaveUp(given_up) => tell_sys(d, core_payload::loss_accepted(given_up)),
        Happening::Stopping { mode } => tell_sys(d, core_payload::shutdown(mode)),
        Happening::Joined(listener) => tell_sys(d, core_payload::listener_joined(&listener)),
        Happening::Left { listener, words } => tell_sys(d, core_payload::listener_left(&listener, &words)),
        Happening::Asked { asked, bound } => asking::asked(d, asked, bound),
        Happening::Replied(judged) => replying::replied(d, judged, None),
        Happening::Looked { judged, seen } => replying::replied(d, judged, Some(&seen)),
        Happening::Stray(stray) => unconnected(d, stray),
        Happening::Lost(lost) => failing::lost(d, &lost),
        Happening::Sending { thread, call, turn } => failing::sending(d, &thread, &call, turn),
        Happening::Due { thread, timer, set, late_ms } => timers::due(d, &thread, &timer, &set, late_ms),
        Happening::Elapsed(runs) => wall::elapsed(d, &runs),
        Happening::Knocked { source, count } => knocked(d, source, count),
        Happening::Broker { code, words } => {
            refuse_in_sys(d, &Refusal::new(code, words).mended_by(code.mend()));
        }
        Happening::Throttled(telling) => throttled(d, &telling),
        Happening::Ruled(ruling) => persons::ruled(d, ruling),
        Happening::Expired { thread, place, request } => persons::expired(d, &thread, &place, request),
        Happening::Pause(pause) => pausing::pause(d, &pause),
        Happening::Cancel { ticket, by, thread } => cancel(d, ticket, &by, &thread),
        Happening::End { ticket, by, thread } => ending::end(d, ticket, &by, &thread),
    }
    draft.finish()
}

fn tell_sys(d: &mut Draft<'_>, body: std::sync::Arc<[u8]>) {
    let fact = Fact::core(Kind::Message, Mark::Role(Role::Told), body).under(d.current_config());
    d.record(&ThreadId::sys(), fact);
}

/// Records a refusal that belongs to no call: in the thread it concerns while that lives, in its
/// nearest living ancestor once it has ended, in `sys` where there is none or never was such a thread.
/// While its sender's bucket is empty it is counted instead, and the sender is told so.
pub(super) fn refuse_outside_calls(
    d: &mut Draft<'_>,
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
        // Whoever refused it: of what has no place in a call never more than an excerpt is kept.
        let fits = bytes.len() <= limits::EXCERPT_BYTES;
        refusal.hash = Some(if fits { d.keep(bytes) } else { d.keep(&excerpt(bytes, 0)) });
    }
    let body = core_payload::system_error(&refusal);
    let config = d.current_config();
    let fact = Fact::core(Kind::Refusal, Mark::Code(refusal.code), body).to(to).under(config);
    d.record(&place, fact);
    refusal
}

/// Refuses what somebody outside asked for, and tells the asker. In a thread upon which that client may not
/// act nothing of it stands.
pub(super) fn refuse_asker(
    d: &mut Draft<'_>,
    ticket: Ticket,
    who: &Name,
    about: Option<&ThreadId>,
    refused: Refused,
) {
    let place = about.filter(|thread| may_act(d, who, thread));
    let refusal = refuse_outside_calls(d, place, who, refused);
    d.effect(Effect::Refused { ticket, refusal: Box::new(refusal) });
}

/// The thread itself while it lives, else its nearest living ancestor, else `sys`.
fn living(d: &Draft<'_>, thread: Option<&ThreadId>) -> ThreadId {
    let mut place = thread.filter(|id| d.thread(id).is_some()).cloned();
    while let Some(id) = place.take_if(|id| d.thread(id).is_none_or(|t| t.life() == Life::Ended)) {
        place = id.parent();
    }
    place.unwrap_or_else(ThreadId::sys)
}

/// A refusal that is not recorded still says what was wrong: its sender may mend it and slow down.
fn throttled_refusal(d: &Draft<'_>, to: &Name, refusal: Refusal) -> Refusal {
    let words = [
        "too much of yours was refused; this was counted only. ",
        refusal.code.as_str(),
        ": ",
        &refusal.message,
    ];
    Refusal { code: throttled_code(d, to), message: words.concat().into(), hash: None, ..refusal }
}

fn throttled_code(d: &Draft<'_>, sender: &Name) -> Code {
    match d.listener(d.current_config(), sender) {
        Some(_) => Code::ListenerThrottled,
        None => Code::IngressThrottled,
    }
}

/// Tells how many refusals of one sender were counted, where they would have been recorded.
fn throttled(d: &mut Draft<'_>, telling: &Telling) {
    let Telling { sender, place, count } = telling;
    let body = core_payload::throttled(count.count, count.first, count.last);
    let code = Mark::Code(throttled_code(d, sender));
    let fact = Fact::core(Kind::Refusal, code, body).to(sender).under(d.current_config());
    d.record(&living(d, Some(place)), fact);
}

/// Whether a client may act upon a thread: its own messages opened the tree, or it operates those of
/// others. To anybody else the thread is one that never was.
pub(super) fn may_act(d: &Draft<'_>, who: &Name, thread: &ThreadId) -> bool {
    let opener = d.thread(&thread.root_of()).and_then(|root| root.opener.as_ref());
    opener.is_some_and(|opener| opener.sender == *who) || d.has_role(who, client::Role::Operate)
}

/// Nobody is told but the log: a stranger hears no more than that the credential is not valid.
fn knocked(d: &mut Draft<'_>, source: std::net::IpAddr, count: u64) {
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let words = format!("{source} came {times} without a valid credential");
    refuse_in_sys(d, &Refusal::new(Code::IngressUnauthorized, words));
}

fn refuse_in_sys(d: &mut Draft<'_>, refusal: &Refusal) {
    let body = core_payload::system_error(refusal);
    let fact = Fact::core(Kind::Refusal, Mark::Code(refusal.code), body).under(d.current_config());
    d.record(&ThreadId::sys(), fact);
}

fn unconnected(d: &mut Draft<'_>, stray: Unconnected) {
    let Unconnected { listener, refused, waits, replies_to, ticket } = stray;
    // Its lease may be forgotten, or of an earlier run: what was taken is taken.
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

fn cancel(d: &mut Draft<'_>, ticket: Ticket, by: &Name, thread: &ThreadId) {
    let found = d.thread(thread).filter(|_| !thread.is_sys() && may_act(d, by, thread));
    let life = found.map(super::state::Thread::life);
    let Some(refusal) = closing::not_alive(life, "cancel") else {
        closing::end_thread(d, thread, by);
        return d.effect(Effect::Done { ticket });
    };
    refuse_asker(d, ticket, by, Some(thread), Refused { refusal, kept: None });
}
