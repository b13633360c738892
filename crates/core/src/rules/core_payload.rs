//! The payloads that only the core makes, and what the fold reads back out of them. Every one is
//! written through the kit's writer and is valid under `core.xsd`, which a test holds for each.

use std::sync::Arc;

use systole_wire::gate::{Gate, Step};
use systole_wire::money::Money;
use systole_wire::payload::Payload;
use systole_wire::writer::{Start, Writer};
use systole_wire::{Limits, namespaces};

use crate::types::budget::{Ceiling, Spent, Use};
use crate::types::codes::Code;
use crate::types::ids::{CallPath, Digest, Name, ThreadId, TimerId};
use crate::types::ports::GivenUp;
use crate::types::refusal::Refusal;
use crate::types::time::Millis;

type Body = Arc<[u8]>;

pub(super) fn written(name: &'static str, write: impl FnOnce(Start<'_, 'static>)) -> Body {
    let mut writer = Writer::with_capacity(512);
    write(writer.open(name).xmlns(namespaces::CORE));
    Arc::from(writer.finish())
}

/// `<boot>`: the organism starts.
pub fn boot(organism: &str, config: Digest, at: Millis, listeners: &[Name]) -> Body {
    let listeners: Vec<&str> = listeners.iter().map(Name::as_str).collect();
    written("boot", |boot| {
        boot.attr("organism", organism)
            .attr("config", &config.to_string())
            .attr("at", &at.to_string())
            .attr("listeners", &listeners.join(" "))
            .empty();
    })
}

/// `<loss-accepted>`: the log goes on without these positions, which were acknowledged and are missing.
pub fn loss_accepted(given_up: GivenUp) -> Body {
    let GivenUp { first, last } = given_up;
    written("loss-accepted", |lost| lost.number("first", first.0).number("last", last.0).empty())
}

/// How an organism stops whose deliveries may be out when it has.
pub const DRAIN: &str = "drain";
/// How one stops of which nothing is out, and nothing of an earlier run can be.
pub const DRAINED: &str = "drained";

/// `<shutdown>`: the organism stops.
pub fn shutdown(mode: &str) -> Body {
    written("shutdown", |shutdown| shutdown.attr("mode", mode).empty())
}

/// `<listener-joined>`: a listener is ready.
pub fn listener_joined(name: &Name) -> Body {
    written("listener-joined", |joined| joined.attr("name", name.as_str()).empty())
}

/// `<listener-left>`: a listener's program ended or does not start.
pub fn listener_left(name: &Name, reason: &str) -> Body {
    written("listener-left", |left| left.attr("name", name.as_str()).attr("reason", reason).empty())
}

/// `<throttled>`: so many refusals of one sender were counted between two moments, and not recorded.
pub fn throttled(count: u64, first: Millis, last: Millis) -> Body {
    written("throttled", |throttled| {
        let start = throttled.number("count", count).attr("first", &first.to_string());
        start.attr("last", &last.to_string()).empty();
    })
}

/// `<handled>`: closed without a payload.
pub fn handled() -> Body {
    written("handled", |handled| handled.empty())
}

/// `<thread-spawned>`: the confirmation, with the child's head after its first record, and what the child
/// may use, where that is limited.
pub fn thread_spawned(child: &ThreadId, parent: &ThreadId, head: Digest, ceiling: &Ceiling) -> Body {
    let [messages, tokens] = [ceiling.messages, ceiling.tokens].map(|most| most.map(|most| most.to_string()));
    let money = ceiling.spent.and_then(Spent::money).map(|money| money.to_string());
    written("thread-spawned", |spawned| {
        spawned
            .attr("assigned_id", child.as_str())
            .attr("parent_id", parent.as_str())
            .attr("head", &head.to_string())
            .attr_if("messages", messages.as_deref())
            .attr_if("tokens", tokens.as_deref())
            .attr_if("money", money.as_deref())
            .empty();
    })
}

/// What a `<spawn-thread>` says that its child may use at most.
pub fn wanted_ceiling(spawn: &[u8]) -> Ceiling {
    let Some([messages, tokens, money]) = attributes(spawn, "spawn-thread", ["messages", "tokens", "money"])
    else {
        return Ceiling::default();
    };
    let number = |text: Option<String>| text.and_then(|text| text.trim().parse().ok());
    let money = money.and_then(|text| Money::parse(text.trim()));
    Ceiling {
        messages: number(messages),
        tokens: number(tokens),
        spent: money.map(|money| Spent::of(Some(money))),
    }
}

/// `<thread-finished>`: a child's outcome, with its final head, what it used, and the payload that was its
/// answer. Nothing is said of what was not used, as by most children.
pub fn thread_finished(
    child: &ThreadId,
    outcome: &str,
    head: Digest,
    used: Use,
    payload: Option<&[u8]>,
) -> Body {
    let some = |number: u64| (number > 0).then(|| number.to_string());
    let (messages, children, tokens) = (some(used.messages), some(used.children), some(used.tokens));
    let money = used.spent.money().map(|money| money.to_string());
    let payload = payload.and_then(|bytes| Payload::trusted(Arc::from(bytes)).ok());
    written("thread-finished", |finished| {
        let start =
            finished.attr("id", child.as_str()).attr("outcome", outcome).attr("head", &head.to_string());
        let start = start.attr_if("messages", messages.as_deref()).attr_if("children", children.as_deref());
        let start = start.attr_if("tokens", tokens.as_deref()).attr_if("money", money.as_deref());
        match payload {
            Some(payload) => start.payload(&payload),
            None => start.empty(),
        }
    })
}

/// `<steer>`: a word of somebody who may steer the thread, for the call that it works on.
pub fn steer(from: &Name, payload: &[u8]) -> Body {
    let payload = Payload::trusted(Arc::from(payload)).ok();
    written("steer", |steer| {
        let start = steer.attr("from", from.as_str());
        match payload {
            Some(payload) => start.payload(&payload),
            None => start.empty(),
        }
    })
}

/// `<await-over>`: a wait for children ended for that reason, when so many of them had finished.
pub fn await_over(reason: &str, finished: usize, open: usize) -> Body {
    written("await-over", |over| {
        over.attr("reason", reason).number("finished", finished as u64).number("open", open as u64).empty();
    })
}

/// `<timer-set>`: a timer has that id and fires then.
pub fn timer_set(id: &TimerId, due: Millis) -> Body {
    written("timer-set", |set| set.attr("id", id.as_str()).attr("due", &due.to_string()).empty())
}

/// `<timer-fired>`: with the note of whoever set it, how many firings were missed before this one, and
/// whether the wall clock, having been set back, says that it is not due yet.
pub fn timer_fired(id: &TimerId, missed: u64, is_set_back: bool, note: &str) -> Body {
    let missed = (missed > 0).then(|| missed.to_string());
    written("timer-fired", |fired| {
        fired
            .attr("id", id.as_str())
            .attr_if("missed", missed.as_deref())
            .attr_if("clock", is_set_back.then_some("set-back"))
            .text(note);
    })
}

/// `<timer-finished>`: a call that a timer opened is over. It names the timer, its note, where the call was and who
/// worked on it, and has the outcome with the payload that was the answer.
pub fn timer_finished(
    (id, note): (&TimerId, &str),
    (thread, call, listener): (&ThreadId, &CallPath, &Name),
    outcome: &str,
    payload: Option<&[u8]>,
) -> Body {
    let payload = payload.and_then(|bytes| Payload::trusted(Arc::from(bytes)).ok());
    written("timer-finished", |finished| {
        let start = finished.attr("id", id.as_str()).attr("outcome", outcome).attr("note", note);
        let start = start.attr("thread", thread.as_str()).attr("call", call.as_str());
        let start = start.attr("listener", listener.as_str());
        match payload {
            Some(payload) => start.payload(&payload),
            None => start.empty(),
        }
    })
}

/// `<timer-cancelled>`: it fires no more.
pub fn timer_cancelled(id: &TimerId) -> Body {
    written("timer-cancelled", |cancelled| cancelled.attr("id", id.as_str()).empty())
}

/// `<thread-cancelled>`: the end of a thread and of so many threads in all.
pub fn thread_cancelled(thread: &ThreadId, threads: usize) -> Body {
    written("thread-cancelled", |cancelled| {
        cancelled.attr("id", thread.as_str()).number("threads", threads as u64).empty();
    })
}

/// `<thread-ended>`: nothing is added to a thread any more.
pub fn thread_ended(thread: &ThreadId) -> Body {
    written("thread-ended", |ended| ended.attr("id", thread.as_str()).empty())
}

/// `<children-open>`: a final came while children run.
pub fn children_open(count: usize) -> Body {
    written("children-open", |open| open.number("count", count as u64).empty())
}

/// `<todo-open>`: a final came while steps are open.
pub fn todo_open(open: u64, total: u64) -> Body {
    written("todo-open", |todo| todo.number("open", open).number("total", total).empty())
}

/// `<system-thread-error>`: an item named a thread that it cannot reach.
pub fn system_thread_error(thread: &str, ended: bool, message: &str) -> Body {
    let shown: String = thread.chars().take(200).collect();
    let code = if ended { "thread_ended" } else { "unknown_thread" };
    written("system-thread-error", |error| {
        error.attr("unknown_id", &shown).attr("code", code).attr("message", message).empty();
    })
}

/// `<dead-letter>`: a delivery that will not be tried again.
pub fn dead_letter(delivery: &str, attempts: u32) -> Body {
    written("dead-letter", |letter| {
        letter.attr("delivery", delivery).number("attempts", u64::from(attempts)).empty();
    })
}

/// `<final-report>` as the core makes it when a call ends without its listener's final.
pub fn final_report(source: &str, outcome: &str, reason: &str, text: &str) -> Body {
    written("final-report", |report| {
        report.attr("source", source).attr("outcome", outcome).attr("reason", reason).text(text);
    })
}

/// `<system-error>`: every other refusal or failure.
pub fn system_error(refusal: &Refusal) -> Body {
    coded(refusal.code.as_str(), refusal.code.retry_allowed(), refusal)
}

/// `<system-error>` with a code of the listener's own, about its own output: it may say it again, mended, in its next
/// turn.
pub fn said_of_itself(code: &str, refusal: &Refusal) -> Body {
    coded(code, true, refusal)
}

fn coded(code: &str, retry_allowed: bool, refusal: &Refusal) -> Body {
    let (line, column) = refusal.at.map_or((None, None), |(l, c)| (Some(l.to_string()), Some(c.to_string())));
    let again = if retry_allowed { "true" } else { "false" };
    let hash = refusal.hash.map(|h| h.to_string());
    written("system-error", |error| {
        let start = error
            .attr("code", code)
            .attr("retry_allowed", again)
            .attr_if("element", refusal.element.as_deref())
            .attr_if("hash", hash.as_deref())
            .attr_if("path", refusal.path.as_deref())
            .attr_if("line", line.as_deref())
            .attr_if("column", column.as_deref())
            .attr("message", &refusal.message);
        let parts: [(&'static str, &Option<String>); 4] = [
            ("expected", &refusal.expected),
            ("received", &refusal.received),
            ("schema", &refusal.schema),
            ("try", &refusal.fix),
        ];
        if parts.iter().all(|(_, text)| text.is_none()) {
            return start.empty();
        }
        start.content(|inside| {
            for (name, text) in parts {
                if let Some(text) = text {
                    inside.open(name).text(text);
                }
            }
        });
    })
}

/// What an attempt record says: which attempt comes next, when, and why the one before it failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// Not before this moment.
    pub due: Millis,
    /// Why the attempt before it failed; none for a first attempt.
    pub code: Option<Code>,
    /// Whether the attempt before it died with the pump.
    pub with_pump: bool,
    /// What is known of that.
    pub words: String,
}

/// `<attempt>`: an attempt, recorded before it is made.
pub fn attempt(attempt: &Attempt) -> Body {
    written("attempt", |start| {
        start
            .number("number", u64::from(attempt.number))
            .attr("due", &attempt.due.to_string())
            .attr_if("code", attempt.code.map(Code::as_str))
            .attr_if("with_pump", attempt.with_pump.then_some("true"))
            .text(&attempt.words);
    })
}

/// The attributes of a core payload's root, if it is the one of that name.
pub(super) fn attributes<const N: usize>(
    body: &[u8],
    name: &str,
    wanted: [&str; N],
) -> Option<[Option<String>; N]> {
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).ok()?;
    let Ok(Step::Open(tag)) = gate.step() else { return None };
    if tag.local != name || gate.ns(&tag) != Some(namespaces::CORE) {
        return None;
    }
    Some(wanted.map(|attribute| gate.attribute(attribute).map(|value| value.into_owned())))
}

/// The text inside a core payload without children.
pub(super) fn text(body: &[u8]) -> Option<String> {
    let mut gate = Gate::strict(body, &Limits::FROM_PUMP).ok()?;
    let mut words = String::new();
    loop {
        match gate.step().ok()? {
            Step::Text(text) => text.append_to(&mut words),
            Step::Done => return Some(words),
            _ => {}
        }
    }
}

/// Whether it is a `<final-report>` that says of itself that it is a failure.
pub fn is_failed_report(body: &[u8]) -> bool {
    let outcome = attributes(body, "final-report", ["outcome"]);
    outcome.is_some_and(|[outcome]| outcome.as_deref() == Some("failure"))
}

/// Whether it is a `<final-report>` in place of an answer: it says of itself that it is a failure, or the listener's own
/// answer never came and the report was made for it.
pub fn is_no_answer(body: &[u8]) -> bool {
    let said = attributes(body, "final-report", ["outcome", "source"]);
    said.is_some_and(|[outcome, source]| {
        outcome.as_deref() == Some("failure") || source.as_deref() == Some("synthetic")
    })
}

/// Whether it is a `<final-report>` that says of itself that it is only a part of the answer.
pub fn is_partial(body: &[u8]) -> bool {
    attributes(body, "final-report", ["outcome"])
        .is_some_and(|[outcome]| outcome.as_deref() == Some("partial"))
}

/// What a `<timer-set>` says: which, and when it is due.
pub fn read_timer_set(body: &[u8]) -> Option<(TimerId, Millis)> {
    let [id, due] = attributes(body, "timer-set", ["id", "due"])?;
    Some((TimerId::parse(&id?).ok()?, Millis::parse(&due?)?))
}

/// What a `<timer-fired>` says: which, and how many firings were missed.
pub fn read_timer_fired(body: &[u8]) -> Option<(TimerId, u64)> {
    let [id, missed] = attributes(body, "timer-fired", ["id", "missed"])?;
    Some((TimerId::parse(&id?).ok()?, missed.and_then(|n| n.parse().ok()).unwrap_or(0)))
}

/// The call that a `<timer-finished>` is about.
pub fn finished_timer(body: &[u8]) -> Option<CallPath> {
    let [call] = attributes(body, "timer-finished", ["call"])?;
    CallPath::parse(&call?).ok()
}

/// The thread that a `<thread-cancelled>` names.
pub fn cancelled_thread(body: &[u8]) -> Option<ThreadId> {
    let [id] = attributes(body, "thread-cancelled", ["id"])?;
    ThreadId::parse(&id?).ok()
}

/// The timer that a `<timer-cancelled>` names.
pub fn cancelled_timer(body: &[u8]) -> Option<TimerId> {
    let [id] = attributes(body, "timer-cancelled", ["id"])?;
    TimerId::parse(&id?).ok()
}

/// The child that a `<thread-spawned>` names.
pub fn spawned_child(body: &[u8]) -> Option<ThreadId> {
    let [id] = attributes(body, "thread-spawned", ["assigned_id"])?;
    ThreadId::parse(&id?).ok()
}

/// The child that a `<thread-finished>` names.
pub fn finished_child(body: &[u8]) -> Option<ThreadId> {
    let [id] = attributes(body, "thread-finished", ["id"])?;
    ThreadId::parse(&id?).ok()
}

/// Why an `<await-over>` says that a wait is over.
pub fn await_reason(body: &[u8]) -> Option<String> {
    let [reason] = attributes(body, "await-over", ["reason"])?;
    reason
}

/// How a `<thread-finished>` says that the child ended.
pub fn finished_outcome(body: &[u8]) -> Option<String> {
    let [outcome] = attributes(body, "thread-finished", ["outcome"])?;
    outcome
}

/// The message of a `<system-error>`, with its code.
pub fn error_words(body: &[u8]) -> Option<(String, String)> {
    let [code, message] = attributes(body, "system-error", ["code", "message"])?;
    Some((code?, message?))
}

/// The listener that a `<listener-joined>` or a `<listener-left>` is about, with the reason why it left.
pub fn listener_told_of(body: &[u8]) -> Option<(String, Option<String>)> {
    if let Some([name, reason]) = attributes(body, "listener-left", ["name", "reason"]) {
        return Some((name?, Some(reason.unwrap_or_default())));
    }
    let [name] = attributes(body, "listener-joined", ["name"])?;
    Some((name?, None))
}

/// What an `<attempt>` says.
pub fn read_attempt(body: &[u8]) -> Option<Attempt> {
    let [number, due, code, with_pump] = attributes(body, "attempt", ["number", "due", "code", "with_pump"])?;
    let words = text(body)?;
    Some(Attempt {
        number: number?.parse().ok()?,
        due: Millis::parse(&due?)?,
        code: code.as_deref().and_then(Code::parse),
        with_pump: with_pump.is_some_and(|text| text == "true"),
        words,
    })
}
