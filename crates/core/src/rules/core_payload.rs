//! The payloads that only the core makes, and the functions with which the fold reads them. All are written through
//! the kit's writer and are valid under `core.xsd`; a test checks each.

use std::sync::Arc;

use systole_wire::gate::{GateStep, XmlGate};
use systole_wire::money::Money;
use systole_wire::payload::Payload;
use systole_wire::writer::StartTag;
use systole_wire::{DocumentLimits, namespaces};

use crate::types::body_parts::ERASED_TEXT;
use crate::types::budget::{Ceiling, MoneySpent, UsedAmounts};
use crate::types::ids::{CallPath, Digest, Name, ThreadId, TimerId};
use crate::types::ports::{LostRange, Position, ProgramFile};
use crate::types::refusal::Refusal;
use crate::types::subject::Subject;
use crate::types::time::Millis;

use super::element::PayloadBytes;
pub use super::element::{read_attributes, read_text, write_element};

pub use super::attempt_payload::{
    AttemptRecord, AttemptState, attempt_state, next_attempt, read_attempt, read_attempt_state, write_attempt,
};

/// The version of this program, as `<boot>` records it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// `<boot>`: the organism starts, under this version of the program, whose file has this hash.
pub fn write_boot(
    organism: &str,
    config: Digest,
    at: Millis,
    listeners: &[Name],
    program: Option<Digest>,
) -> PayloadBytes {
    let listeners: Vec<&str> = listeners.iter().map(Name::as_str).collect();
    let program = program.map(|hash| hash.to_string());
    write_element("boot", |boot| {
        boot.attr("organism", organism)
            .attr("config", &config.to_string())
            .attr("at", &at.to_string())
            .attr("listeners", &listeners.join(" "))
            .attr("version", VERSION)
            .attr_if("program", program.as_deref())
            .empty();
    })
}

/// The organism in a `<boot>`.
pub fn read_organism(body: &[u8]) -> Option<Name> {
    let [organism] = read_attributes(body, "boot", ["organism"])?;
    Name::parse(&organism?).ok()
}

/// The configuration in a `<boot>`, and the version of the program. Older logs name no version.
pub fn read_boot(body: &[u8]) -> Option<(Digest, Option<String>)> {
    let [config, version] = read_attributes(body, "boot", ["config", "version"])?;
    Some((Digest::parse(&config?).ok()?, version))
}

/// `<loss-accepted>`: the log continues without these acknowledged positions, which are missing.
pub fn loss_accepted(given_up: LostRange) -> PayloadBytes {
    let LostRange { first, last } = given_up;
    write_element("loss-accepted", |lost| lost.number("first", first.0).number("last", last.0).empty())
}

/// `<erased>`: someone took bytes out of the log for good. Each record is named by its position, with the numbers of
/// the parts that went.
pub fn write_erasure(
    by: &str,
    reason: Option<&str>,
    records: &[(Position, Vec<usize>)],
    documents: &[ErasedDocument],
) -> PayloadBytes {
    write_element("erased", |erased| {
        erased_parts(erased.attr("by", by).attr_if("reason", reason), records, documents);
    })
}

/// `<erased forked="true">`: what the log lacks that this one was forked from, with the positions of this log. The
/// `<erased>` records before it were copied and name positions of that log.
pub fn erased_before_fork(records: &[(Position, Vec<usize>)], documents: &[ErasedDocument]) -> PayloadBytes {
    write_element("erased", |erased| erased_parts(erased.attr("forked", "true"), records, documents))
}

fn erased_parts(
    erased: StartTag<'_, 'static>,
    records: &[(Position, Vec<usize>)],
    documents: &[ErasedDocument],
) {
    erased.attr("complete", "true").content(|inside| {
        for (position, parts) in records {
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            inside.open("record").number("position", position.0).attr("parts", &parts.join(" ")).empty();
        }
        for ErasedDocument { hash, before } in documents {
            let before = before.map(|before| before.to_string());
            let document = inside.open("document").attr("hash", &hash.to_string());
            document.attr_if("before", before.as_deref()).empty();
        }
    });
}

/// A document that was erased.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErasedDocument {
    /// Its hash.
    pub hash: Digest,
    /// If it was a link of a prompt, the hash of the link before it. Only the erased bytes had this hash, so without
    /// it the earlier links could be removed unnoticed. Older versions did not write it.
    pub before: Option<Digest>,
}

/// What an `<erased>` names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NamedErasure {
    /// Whether it replaces the `<erased>` records before it, because the log is a fork.
    pub is_of_fork: bool,
    /// Whether it names every document that it left without bytes. Older versions did not name large bodies.
    pub is_complete: bool,
    /// Records by their positions, with the numbers of their parts.
    pub records: Vec<(Position, Vec<usize>)>,
    /// Documents.
    pub documents: Vec<ErasedDocument>,
}

/// Reads an `<erased>`.
pub fn read_erased(body: &[u8]) -> Option<NamedErasure> {
    let [forked, complete] = read_attributes(body, "erased", ["forked", "complete"])?;
    let [is_of_fork, is_complete] = [forked, complete].map(|value| value.as_deref() == Some("true"));
    let mut named = NamedErasure { is_of_fork, is_complete, ..NamedErasure::default() };
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag) if gate.find_namespace(&tag) == Some(namespaces::CORE) => match tag.local {
                "record" => {
                    let position = gate.find_attribute("position")?.parse().ok()?;
                    let parts = gate.find_attribute("parts")?;
                    let parts = parts.split_whitespace().map(|part| part.parse().ok());
                    named.records.push((Position(position), parts.collect::<Option<_>>()?));
                }
                "document" => {
                    let hash = Digest::parse(&gate.find_attribute("hash")?).ok()?;
                    let before =
                        gate.find_attribute("before").map(|before| Digest::parse(&before)).transpose();
                    named.documents.push(ErasedDocument { hash, before: before.ok()? });
                }
                _ => {}
            },
            GateStep::Done => return Some(named),
            _ => {}
        }
    }
}

/// What a person's words in an `<erased>` are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ErasureWords {
    /// The user of the machine who erased.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// The words of an `<erased>`.
pub fn erasure_words(body: &[u8]) -> Option<ErasureWords> {
    let [by, reason] = read_attributes(body, "erased", ["by", "reason"])?;
    Some(ErasureWords { by, reason })
}

/// `<erased-body>`: what a listener is shown in place of a body that was erased whole.
pub fn erased_body() -> PayloadBytes {
    write_element("erased-body", |body| body.text(ERASED_TEXT))
}

/// `<forked>`: the first record of a fork. It continues the thread at the beginning of that turn of that call.
pub fn write_fork(call: &CallPath, turn: u32) -> PayloadBytes {
    write_element("forked", |forked| {
        forked.attr("call", call.as_str()).number("turn", u64::from(turn)).empty()
    })
}

/// `<subject>`: what the thread is about, as the client says with a message.
pub fn write_subject(subject: &Subject) -> PayloadBytes {
    write_element("subject", |said| said.attr("text", subject.as_str()).empty())
}

/// The text of a `<subject>`.
pub fn read_subject(body: &[u8]) -> Option<String> {
    let [text] = read_attributes(body, "subject", ["text"])?;
    text
}

/// `<listener-joined>`: a listener is ready, with the level of its program's sandbox and the files of its program.
pub fn listener_joined(name: &Name, sandbox: Option<&str>, files: &[ProgramFile]) -> PayloadBytes {
    write_element("listener-joined", |joined| {
        let joined = joined.attr("name", name.as_str()).attr_if("sandbox", sandbox);
        if files.is_empty() {
            return joined.empty();
        }
        joined.content(|inside| {
            for ProgramFile { path, hash } in files {
                let hash = hash.map(|hash| hash.to_string());
                inside.open("file").attr("path", path).attr_if("sha256", hash.as_deref()).empty();
            }
        });
    })
}

/// The listener in a `<listener-joined>`, and the files of its program. Older logs name no files.
pub fn read_listener_joined(body: &[u8]) -> Option<(String, Vec<ProgramFile>)> {
    let [name] = read_attributes(body, "listener-joined", ["name"])?;
    let mut gate = XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).ok()?;
    let mut files = Vec::new();
    loop {
        match gate.read_step().ok()? {
            GateStep::Open(tag)
                if tag.local == "file" && gate.find_namespace(&tag) == Some(namespaces::CORE) =>
            {
                let path = gate.find_attribute("path")?.into_owned();
                let hash = gate.find_attribute("sha256").map(|hash| Digest::parse(&hash));
                files.push(ProgramFile { path, hash: hash.transpose().ok()? });
            }
            GateStep::Done => return Some((name?, files)),
            _ => {}
        }
    }
}

/// `<listener-left>`: a listener's program ended or does not start.
pub fn listener_left(name: &Name, reason: &str) -> PayloadBytes {
    write_element("listener-left", |left| left.attr("name", name.as_str()).attr("reason", reason).empty())
}

/// `<throttled>`: the number of refusals of one sender between two moments that were counted but not recorded.
pub fn write_throttling(count: u64, first: Millis, last: Millis) -> PayloadBytes {
    write_element("throttled", |throttled| {
        let start = throttled.number("count", count).attr("first", &first.to_string());
        start.attr("last", &last.to_string()).empty();
    })
}

/// `<handled>`: the call closed without a payload.
pub fn write_handled() -> PayloadBytes {
    write_element("handled", |handled| handled.empty())
}

/// `<thread-spawned>`: the confirmation, with the child's head after its first record and the child's limits, if any.
pub fn thread_spawned(child: &ThreadId, parent: &ThreadId, head: Digest, ceiling: &Ceiling) -> PayloadBytes {
    let [messages, tokens] = [ceiling.messages, ceiling.tokens].map(|most| most.map(|most| most.to_string()));
    let money = ceiling.spent.and_then(MoneySpent::money).map(|money| money.to_string());
    write_element("thread-spawned", |spawned| {
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

/// The limits for its child that a `<spawn-thread>` asks for.
pub fn wanted_ceiling(spawn: &[u8]) -> Ceiling {
    let Some([messages, tokens, money]) =
        read_attributes(spawn, "spawn-thread", ["messages", "tokens", "money"])
    else {
        return Ceiling::default();
    };
    let number = |text: Option<String>| text.and_then(|text| text.trim().parse().ok());
    let money = money.and_then(|text| Money::parse(text.trim()));
    Ceiling {
        messages: number(messages),
        tokens: number(tokens),
        spent: money.map(|money| MoneySpent::from_money(Some(money))),
    }
}

/// `<thread-finished>`: a child's outcome, with its final head, its use, and the payload of its answer. Kinds of use
/// that are zero are left out.
pub fn thread_finished(
    child: &ThreadId,
    outcome: &str,
    head: Digest,
    used: UsedAmounts,
    payload: Option<&[u8]>,
) -> PayloadBytes {
    let some = |number: u64| (number > 0).then(|| number.to_string());
    let (messages, children, tokens) = (some(used.messages), some(used.children), some(used.tokens));
    let money = used.spent.money().map(|money| money.to_string());
    let requests = some(used.requests);
    let payload = payload.and_then(|bytes| Payload::from_trusted(Arc::from(bytes)).ok());
    write_element("thread-finished", |finished| {
        let start =
            finished.attr("id", child.as_str()).attr("outcome", outcome).attr("head", &head.to_string());
        let start = start.attr_if("messages", messages.as_deref()).attr_if("children", children.as_deref());
        let start = start.attr_if("tokens", tokens.as_deref()).attr_if("money", money.as_deref());
        let start = start.attr_if("requests", requests.as_deref());
        match payload {
            Some(payload) => start.write_payload(&payload),
            None => start.empty(),
        }
    })
}

/// `<steer>`: a message from a party that may steer the thread, for the thread's current call.
pub fn write_steer(from: &Name, payload: &[u8]) -> PayloadBytes {
    let payload = Payload::from_trusted(Arc::from(payload)).ok();
    write_element("steer", |steer| {
        let start = steer.attr("from", from.as_str());
        match payload {
            Some(payload) => start.write_payload(&payload),
            None => start.empty(),
        }
    })
}

/// `<await-over>`: a wait for children ended, with the reason and the numbers of finished and open children.
pub fn await_over(reason: &str, finished: usize, open: usize) -> PayloadBytes {
    write_element("await-over", |over| {
        over.attr("reason", reason).number("finished", finished as u64).number("open", open as u64).empty();
    })
}

/// `<timer-set>`: the timer's id and when it fires.
pub fn timer_set(id: &TimerId, due: Millis) -> PayloadBytes {
    write_element("timer-set", |set| set.attr("id", id.as_str()).attr("due", &due.to_string()).empty())
}

/// `<timer-fired>`: with the timer's note, the number of firings missed before this one, and whether the wall clock
/// was set back so that it shows a time before the due time. `away` says who keeps work waiting that its call has given
/// away.
pub fn timer_fired(
    id: &TimerId,
    missed: u64,
    is_set_back: bool,
    away: Option<&str>,
    note: &str,
) -> PayloadBytes {
    let missed = (missed > 0).then(|| missed.to_string());
    write_element("timer-fired", |fired| {
        fired
            .attr("id", id.as_str())
            .attr_if("missed", missed.as_deref())
            .attr_if("clock", is_set_back.then_some("set-back"))
            .attr_if("away", away)
            .text(note);
    })
}

/// Whether a `<timer-fired>` says who is away.
pub fn says_away(body: &[u8]) -> bool {
    matches!(read_attributes(body, "timer-fired", ["away"]), Some([Some(_)]))
}

/// `<timer-finished>`: a call that a timer opened is over. It names the timer, its note, the call's place and its
/// listener, and gives the outcome with the payload of the answer.
pub fn timer_finished(
    (id, note): (&TimerId, &str),
    (thread, call, listener): (&ThreadId, &CallPath, &Name),
    outcome: &str,
    payload: Option<&[u8]>,
) -> PayloadBytes {
    let payload = payload.and_then(|bytes| Payload::from_trusted(Arc::from(bytes)).ok());
    write_element("timer-finished", |finished| {
        let start = finished.attr("id", id.as_str()).attr("outcome", outcome).attr("note", note);
        let start = start.attr("thread", thread.as_str()).attr("call", call.as_str());
        let start = start.attr("listener", listener.as_str());
        match payload {
            Some(payload) => start.write_payload(&payload),
            None => start.empty(),
        }
    })
}

/// `<timer-cancelled>`: the timer will not fire again.
pub fn timer_cancelled(id: &TimerId) -> PayloadBytes {
    write_element("timer-cancelled", |cancelled| cancelled.attr("id", id.as_str()).empty())
}

/// `<thread-cancelled>`: a thread was cancelled, with the number of threads that this ended.
pub fn thread_cancelled(thread: &ThreadId, threads: usize) -> PayloadBytes {
    write_element("thread-cancelled", |cancelled| {
        cancelled.attr("id", thread.as_str()).number("threads", threads as u64).empty();
    })
}

/// `<thread-ended>`: the thread takes no more records.
pub fn thread_ended(thread: &ThreadId) -> PayloadBytes {
    write_element("thread-ended", |ended| ended.attr("id", thread.as_str()).empty())
}

/// `<children-open>`: a final came while children were running.
pub fn children_open(count: usize) -> PayloadBytes {
    write_element("children-open", |open| open.number("count", count as u64).empty())
}

/// `<todo-open>`: a final came while steps were open.
pub fn todo_open(open: u64, total: u64) -> PayloadBytes {
    write_element("todo-open", |todo| todo.number("open", open).number("total", total).empty())
}

/// `<system-thread-error>`: an item named a thread that it cannot reach.
pub fn system_thread_error(thread: &str, ended: bool, message: &str) -> PayloadBytes {
    let shown: String = thread.chars().take(200).collect();
    let code = if ended { "thread_ended" } else { "unknown_thread" };
    write_element("system-thread-error", |error| {
        error.attr("unknown_id", &shown).attr("code", code).attr("message", message).empty();
    })
}

/// `<dead-letter>`: a delivery that will not be retried.
pub fn dead_letter(delivery: &str, attempts: u32) -> PayloadBytes {
    write_element("dead-letter", |letter| {
        letter.attr("delivery", delivery).number("attempts", u64::from(attempts)).empty();
    })
}

/// `<final-report>`, made by the core when a call ends without its listener's final.
pub fn final_report(source: &str, outcome: &str, reason: &str, text: &str) -> PayloadBytes {
    write_element("final-report", |report| {
        report.attr("source", source).attr("outcome", outcome).attr("reason", reason).text(text);
    })
}

/// `<system-error>`: every other refusal or failure.
pub fn system_error(refusal: &Refusal) -> PayloadBytes {
    write_coded(refusal.code.as_str(), refusal.code.retry_allowed(), refusal)
}

/// `<system-error>` with a listener's own code, about its own output. The listener may send a corrected version in
/// its next turn.
pub fn listener_error(code: &str, refusal: &Refusal) -> PayloadBytes {
    write_coded(code, true, refusal)
}

fn write_coded(code: &str, retry_allowed: bool, refusal: &Refusal) -> PayloadBytes {
    let (line, column) = refusal.at.map_or((None, None), |(l, c)| (Some(l.to_string()), Some(c.to_string())));
    let again = if retry_allowed { "true" } else { "false" };
    let hash = refusal.hash.map(|h| h.to_string());
    write_element("system-error", |error| {
        let start = error
            .attr("code", code)
            .attr_if("first-code", refusal.first_code.as_deref())
            .attr("retry_allowed", again)
            .attr_if("element", refusal.element.as_deref())
            .attr_if("hash", hash.as_deref())
            .attr_if("path", refusal.path.as_deref())
            .attr_if("line", line.as_deref())
            .attr_if("column", column.as_deref())
            .attr("message", &refusal.message);
        let parts: [(&'static str, Option<&str>); 4] = [
            ("expected", refusal.expected.as_deref()),
            ("received", refusal.received.as_deref()),
            ("schema", refusal.schema.as_deref()),
            ("try", refusal.fix.as_deref()),
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

/// Whether it is a `<final-report>` with the outcome `failure`.
pub fn is_failed_report(body: &[u8]) -> bool {
    let outcome = read_attributes(body, "final-report", ["outcome"]);
    outcome.is_some_and(|[outcome]| outcome.as_deref() == Some("failure"))
}

/// Whether it is a `<final-report>` in place of an answer: its outcome is `failure`, or it was made for a listener
/// whose answer never came.
pub fn is_no_answer(body: &[u8]) -> bool {
    let said = read_attributes(body, "final-report", ["outcome", "source"]);
    said.is_some_and(|[outcome, source]| {
        outcome.as_deref() == Some("failure") || source.as_deref() == Some("synthetic")
    })
}

/// Whether it is a `<final-report>` with the outcome `partial`.
pub fn is_partial(body: &[u8]) -> bool {
    read_attributes(body, "final-report", ["outcome"])
        .is_some_and(|[outcome]| outcome.as_deref() == Some("partial"))
}

/// The id and due time in a `<timer-set>`.
pub fn read_timer_set(body: &[u8]) -> Option<(TimerId, Millis)> {
    let [id, due] = read_attributes(body, "timer-set", ["id", "due"])?;
    Some((TimerId::parse(&id?).ok()?, Millis::parse(&due?)?))
}

/// The note in a `<set-timer>` or a `<timer-fired>`.
pub fn timer_note(body: &[u8]) -> String {
    read_text(body).unwrap_or_default()
}

/// The id in a `<timer-fired>` and the number of missed firings.
pub fn read_timer_fired(body: &[u8]) -> Option<(TimerId, u64)> {
    let [id, missed] = read_attributes(body, "timer-fired", ["id", "missed"])?;
    Some((TimerId::parse(&id?).ok()?, missed.and_then(|n| n.parse().ok()).unwrap_or(0)))
}

/// The call that a `<timer-finished>` is about.
pub fn finished_timer(body: &[u8]) -> Option<CallPath> {
    let [call] = read_attributes(body, "timer-finished", ["call"])?;
    CallPath::parse(&call?).ok()
}

/// The thread that a `<thread-cancelled>` names.
pub fn cancelled_thread(body: &[u8]) -> Option<ThreadId> {
    let [id] = read_attributes(body, "thread-cancelled", ["id"])?;
    ThreadId::parse(&id?).ok()
}

/// The timer that a `<timer-cancelled>` names.
pub fn cancelled_timer(body: &[u8]) -> Option<TimerId> {
    let [id] = read_attributes(body, "timer-cancelled", ["id"])?;
    TimerId::parse(&id?).ok()
}

/// The child that a `<thread-spawned>` names.
pub fn spawned_child(body: &[u8]) -> Option<ThreadId> {
    let [id] = read_attributes(body, "thread-spawned", ["assigned_id"])?;
    ThreadId::parse(&id?).ok()
}

/// The child that a `<thread-finished>` names.
pub fn finished_child(body: &[u8]) -> Option<ThreadId> {
    let [id] = read_attributes(body, "thread-finished", ["id"])?;
    ThreadId::parse(&id?).ok()
}

/// The reason in an `<await-over>`.
pub fn await_reason(body: &[u8]) -> Option<String> {
    let [reason] = read_attributes(body, "await-over", ["reason"])?;
    reason
}

/// The code and the message of a `<system-error>`.
pub fn error_words(body: &[u8]) -> Option<(String, String)> {
    let [code, message] = read_attributes(body, "system-error", ["code", "message"])?;
    Some((code?, message?))
}

/// The code of the first cause in a `<system-error>` about a failure that a listener reported. Older versions did not
/// write it.
pub fn read_first_code(body: &[u8]) -> Option<String> {
    let [code] = read_attributes(body, "system-error", ["first-code"])?;
    code
}

/// The listener in a `<listener-joined>` or `<listener-left>`, with the reason if it left.
pub fn listener_told_of(body: &[u8]) -> Option<(String, Option<String>)> {
    if let Some([name, reason]) = read_attributes(body, "listener-left", ["name", "reason"]) {
        return Some((name?, Some(reason.unwrap_or_default())));
    }
    let [name] = read_attributes(body, "listener-joined", ["name"])?;
    Some((name?, None))
}

/// The level of the sandbox in a `<listener-joined>`. `None` if the program has none, and in older logs.
pub fn sandbox_level(body: &[u8]) -> Option<String> {
    let [level] = read_attributes(body, "listener-joined", ["sandbox"])?;
    level
}
