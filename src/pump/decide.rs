//! `decide`: what follows from an event, given the state. Pure: the moment and the seed come with the
//! event, configurations stand in the state's book, and what the log alone knows was looked up before.
//! Each kind of event has a file of its own beside this one.

use super::draft::{Draft, Fact};
use super::event::{Decision, Effect, Event, Happening};
use super::state::{Life, State};
use super::{approving, asking, closing, ending, failing, pausing, replying, timers};
use crate::rules::core_payload;
use crate::words::codes::Code;
use crate::words::flow::{Refused, Ticket, Unconnected};
use crate::words::ids::{Name, ThreadId};
use crate::words::record::{Kind, Mark, Role};
use crate::words::refusal::Refusal;

/// Decides upon one event.
pub fn decide(state: &State, event: Event) -> Decision {
    let mut draft = Draft::new(state, event.at, event.seed);
    let d = &mut draft;
    match event.what {
        Happening::Booted { listeners } => {
            let page = state.book.current();
            let organism = page.map_or("", |p| p.organism.as_str());
            let body = core_payload::boot(organism, d.current_config(), d.at(), &listeners);
            tell_sys(d, body);
        }
        Happening::Stopping { mode } => tell_sys(d, core_payload::shutdown(mode)),
        Happening::Joined(listener) => tell_sys(d, core_payload::listener_joined(&listener)),
        Happening::Left { listener, words } => tell_sys(d, core_payload::listener_left(&listener, &words)),
        Happening::Asked { asked, bound } => asking::asked(d, asked, bound),
        Happening::Replied(judged) => replying::replied(d, judged),
        Happening::Stray(stray) => unconnected(d, stray),
        Happening::Lost(lost) => failing::lost(d, &lost),
        Happening::Sending { thread, call, turn } => failing::sending(d, &thread, &call, turn),
        Happening::Due { thread, timer, set, late_ms } => timers::due(d, &thread, &timer, &set, late_ms),
        Happening::Knocked { source, count } => knocked(d, source, count),
        Happening::Ruled(ruling) => approving::ruled(d, ruling),
        Happening::Expired { thread, call, approval } => approving::expired(d, &thread, &call, approval),
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
pub(super) fn refuse_outside_calls(
    d: &mut Draft<'_>,
    thread: Option<&ThreadId>,
    to: &Name,
    refused: Refused,
) -> Refusal {
    let Refused { mut refusal, kept } = refused;
    if let Some(bytes) = &kept {
        refusal.hash = Some(d.keep(bytes));
    }
    let mut place = thread.filter(|id| d.thread(id).is_some()).cloned();
    while let Some(id) = place.take_if(|id| d.thread(id).is_none_or(|t| t.life() == Life::Ended)) {
        place = id.parent();
    }
    let body = core_payload::system_error(&refusal);
    let config = d.current_config();
    let fact = Fact::core(Kind::Refusal, Mark::Code(refusal.code), body).to(to).under(config);
    d.record(&place.unwrap_or_else(ThreadId::sys), fact);
    refusal
}

/// Nobody is told but the log: a stranger hears no more than that the credential is not valid.
fn knocked(d: &mut Draft<'_>, source: std::net::IpAddr, count: u64) {
    let times = if count == 1 { "once".to_owned() } else { [&count.to_string(), " times"].concat() };
    let words = [&source.to_string(), " came ", &times, " without a valid credential"].concat();
    let refusal = Refusal::new(Code::IngressUnauthorized, words);
    let body = core_payload::system_error(&refusal);
    let fact = Fact::core(Kind::Refusal, Mark::Code(refusal.code), body).under(d.current_config());
    d.record(&ThreadId::sys(), fact);
}

fn unconnected(d: &mut Draft<'_>, stray: Unconnected) {
    let _told = refuse_outside_calls(d, None, &stray.listener, stray.refused);
}

fn cancel(d: &mut Draft<'_>, ticket: Ticket, by: &Name, thread: &ThreadId) {
    let life = d.thread(thread).filter(|_| !thread.is_sys()).map(super::state::Thread::life);
    let Some(refusal) = closing::not_alive(life, "cancel") else {
        closing::end_thread(d, thread, by);
        return d.effect(Effect::Done { ticket });
    };
    let refusal = refuse_outside_calls(d, None, by, Refused { refusal, kept: None });
    d.effect(Effect::Refused { ticket, refusal: Box::new(refusal) });
}
