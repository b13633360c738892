//! Deciding on a listener's reply: each item gets its record, and with the record either its one answer or a call
//! whose outcome will be that answer. A final closes the call.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::approving::hold_if_due;
use super::budget_use;
use super::closing::{CallOutcome, close_call, close_failed};
use super::decision_builder::{DecisionBuilder, RecordFact};
use super::event::Effect;
use super::failing::{self, fail_attempt};
use super::gathering;
use super::journaling;
use super::looping;
use super::primitives;
use super::refusing::refuse_outside_calls;
use super::state::Call;
use super::turn::{Turn, no_turn_left, record_refusal, refuse_item, warn_refused};
use super::view::ReadResults;
use super::wrapping;
use super::{steering, todos};
use crate::rules::{admit, core_payload, sent_files};
use crate::types::budget::{ExceededLimit, Measure, UsedAmounts};
use crate::types::codes::Code;
use crate::types::composition::{Listener, OnUnknown};
use crate::types::flow::{
    Admitted, JudgedContent, JudgedDocument, JudgedItem, PayloadKind, PumpFailure, Refused, TakenReply,
    Ticket,
};
use crate::types::ids::Name;
use crate::types::limits;
use crate::types::ports::Lease;
use crate::types::record::{MessageRole, RecordCode, RecordKind};
use crate::types::refusal::Refusal;
use systole_wire::CANCELLED;

pub(super) fn take_reply(
    d: &mut DecisionBuilder<'_>,
    judged: JudgedDocument,
    seen: Option<&Result<ReadResults, Refusal>>,
) {
    let JudgedDocument { lease, said, claimed, ticket } = judged;
    let Some(call) = d.due_call(&lease.id) else {
        return refuse_stale(d, &lease, said, ticket);
    };
    let ended = call.children.iter().filter(|child| child.ended.is_some());
    let turn = Turn {
        thread: &lease.id.thread,
        path: &lease.id.call,
        number: lease.id.turn,
        sender: call.listener.clone(),
        caller: call.caller.clone(),
        config: call.config,
        cause: call.ready_cause,
        wrap_up: call.wrap_up.map(|of| of.what),
        is_wrap_up: call.is_wrapping_up(),
        listener: d.find_listener(call.config, &call.listener),
        ended: ended.map(|child| child.id.clone()).collect(),
        seen,
    };
    if let Some(claimed) = claimed {
        false_sender(d, &turn, claimed);
    }
    if ticket.is_some() && said.is_reply() {
        d.note_taken(&lease, fingerprint_of(&said));
    }
    let has_items = matches!(said, JudgedContent::Items(_));
    let mut refused = None;
    match said {
        JudgedContent::Items(items) if items.is_empty() => handle_empty(d, &turn),
        JudgedContent::Items(items) => apply_items(d, &turn, refuse_unknown_files(&turn, items)),
        JudgedContent::Failure { code, first_code, retry, words } => {
            record_failure(d, &turn, retry, make_failure(&code, first_code, &words));
        }
        JudgedContent::Away { outage, code, retry, words } => {
            let failing = make_failure(&code, None, &words);
            if limits::is_own_outage(&outage) || !failing::wait_for_outage(d, &lease.id, &outage, &failing) {
                record_failure(d, &turn, retry, failing);
            }
        }
        JudgedContent::Again { code, words } => retry_turn(d, &turn, &code, words),
        JudgedContent::Notice { code, words } => refused = record_notice(d, &turn, &code, words),
        JudgedContent::Progress { .. } => {}
        JudgedContent::Journal { id, entry } => journaling::take_entry(d, &turn, &lease, id, entry),
        JudgedContent::Ask { id, question } => journaling::take_question(d, &turn, &lease, id, question),
    }
    let items = if has_items && ticket.is_some() { d.refused_items(&lease) } else { Vec::new() };
    send_receipt(d, ticket, refused, TakenReply { is_superseded: false, refused: items });
}

/// What a listener said about its failure.
fn make_failure(code: &str, first_code: Option<String>, words: &str) -> PumpFailure {
    let first_code = Some(first_code.unwrap_or_else(|| code.to_owned()));
    PumpFailure { code: Code::ListenerFailed, first_code, words: format!("{code}: {words}") }
}

/// The listener could not do the work.
fn record_failure(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, retry: bool, mut failing: PumpFailure) {
    let Some(call) = d.find_call(turn.thread, turn.path) else { return };
    let (own_attempt, begun) = (call.own_attempt(), failing::find_begun(call));
    let allowed = turn.listener.map_or(1, |l| l.retry.attempts);
    // The listener says that another attempt is possible, but not what happened to the model call that it began.
    let may_retry = begun.is_none() || turn.listener.is_some_and(|l| l.on_unknown == OnUnknown::Retry);
    if begun.is_some() && retry {
        failing.code = Code::UnknownOutcome;
    }
    fail_attempt(d, turn.thread, turn.path, &failing, retry && may_retry && own_attempt < allowed, false);
}

/// If the listener waits for a receipt, it gets the receipt once everything decided so far is on disk. A reply that
/// is taken may have refused items; `taken` names them.
fn send_receipt(
    d: &mut DecisionBuilder<'_>,
    ticket: Option<Ticket>,
    refused: Option<Refusal>,
    taken: TakenReply,
) {
    let Some(ticket) = ticket else { return };
    d.add_effect(match refused {
        None if taken == TakenReply::default() => Effect::Done { ticket },
        None => Effect::Taken { ticket, taken: Box::new(taken) },
        Some(refusal) => Effect::Refused { ticket, refusal: Box::new(refusal) },
    });
}

/// A fingerprint that distinguishes a reply from another one to the same delivery. It affects only the text of the
/// receipt.
fn fingerprint_of(said: &JudgedContent) -> u64 {
    let mut print = DefaultHasher::new();
    match said {
        JudgedContent::Items(items) => {
            for item in items {
                match item {
                    JudgedItem::Admitted(admitted) => admitted.bytes().hash(&mut print),
                    JudgedItem::ForThread { thread, payload, .. } => (thread, payload).hash(&mut print),
                    JudgedItem::Refused(refused) => {
                        (&*refused.refusal.message, &refused.kept).hash(&mut print)
                    }
                }
            }
        }
        JudgedContent::Failure { code, first_code, retry, words } => {
            (code, first_code, retry, words).hash(&mut print);
        }
        JudgedContent::Away { outage, code, retry, words } => (outage, code, retry, words).hash(&mut print),
        JudgedContent::Again { code, words } => (code, words).hash(&mut print),
        // They do not end a delivery.
        JudgedContent::Notice { .. }
        | JudgedContent::Progress { .. }
        | JudgedContent::Journal { .. }
        | JudgedContent::Ask { .. } => {}
    }
    print.finish()
}

/// Records why the output was of no use. The record answers the reply, and the next turn shows it. If there is no
/// next turn, the caller gets the same answer as after a failure.
fn retry_turn(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, code: &str, words: String) {
    let for_caller = Refusal::new(Code::ListenerFailed, format!("{code}: {words}"));
    let refusal = Refusal::new(Code::ListenerFailed, words);
    let body = core_payload::listener_error(code, &refusal);
    warn_refused(d, turn, |budgets| budgets.requests.is_some() && budgets.keeps_finals);
    let fact = turn
        .make_fact(0, RecordKind::Refusal, RecordCode::Code(refusal.code), body)
        .with_addressee(&turn.sender);
    d.add_record(turn.thread, fact);
    after_turn(d, turn, Some(for_caller));
}

/// Keeps a notice for the next turn. The first notice over the limit is replaced by a note on the limit, and later
/// ones leave no trace: a call's inbox is kept in memory and shown whole. What an earlier attempt at the turn said is kept
/// already. Returns why a notice is not kept.
fn record_notice(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, code: &str, words: String) -> Option<Refusal> {
    let body = core_payload::listener_error(code, &Refusal::new(Code::ListenerFailed, words));
    let call = d.find_call(turn.thread, turn.path);
    if call.is_some_and(|call| call.was_noticed(&body)) {
        return None;
    }
    let kept = call.map_or(0, Call::unshown_notices);
    if kept < limits::NOTICES {
        tell_later(d, turn, body);
        return None;
    }
    let words = "64 notices wait for the next turn, the most allowed; later ones are not kept";
    let refusal =
        Refusal::new(Code::TooManyItems, words).fixed_by("end the turn, then say the rest in the next");
    if kept == limits::NOTICES {
        tell_later(d, turn, core_payload::system_error(&refusal));
    }
    Some(refusal)
}

/// Says in the thread, and in the sender's next turn, that a false name was replaced. This comes before the items, so
/// that the turn which answers them shows it.
fn false_sender(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, claimed: String) {
    let words = format!("an item claims to be from {claimed}; it went on as from {}", turn.sender.as_str());
    let refusal = Refusal::new(Code::FalseSender, words)
        .with_expected(format!("{}, or no <from>", turn.sender.as_str()))
        .with_received(claimed)
        .fixed_by("leave <from> out: the connection says who sends");
    tell_later(d, turn, core_payload::system_error(&refusal));
}

/// Puts a core payload into the inbox that the sender's next turn shows.
fn tell_later(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, body: std::sync::Arc<[u8]>) {
    let fact = RecordFact::from_core(RecordKind::Message, RecordCode::Role(MessageRole::Inbox), body)
        .with_call(turn.path)
        .with_addressee(&turn.sender);
    d.add_record(turn.thread, fact.with_cause(turn.cause).with_config(turn.config));
}

/// A reply for an attempt that is over is refused, and the refusal is recorded, outside the thread if that has ended.
/// If the attempt ended with its own reply and a receipt is waited for, the reply comes again because the receipt was
/// lost: it gets its receipt and changes nothing, regardless of its content. So does the failure by which a listener
/// lets go of work that was called back.
fn refuse_stale(d: &mut DecisionBuilder<'_>, lease: &Lease, said: JudgedContent, ticket: Option<Ticket>) {
    if ticket.is_some() && said.is_reply() && d.was_taken(&lease.token.0, &lease.listener) {
        let is_superseded = d.is_other(&lease.token.0, fingerprint_of(&said));
        return send_receipt(d, ticket, None, TakenReply { is_superseded, refused: Vec::new() });
    }
    if matches!(&said, JudgedContent::Failure { code, .. } if code == CANCELLED) {
        return send_receipt(d, ticket, None, TakenReply::default());
    }
    let refusal = refuse_over(lease, said.waits_for().is_some());
    // A document that no one is to act on leaves no trace.
    if matches!(said, JudgedContent::Progress { .. } | JudgedContent::Notice { .. }) {
        return send_receipt(d, ticket, Some(refusal), TakenReply::default());
    }
    let waits = said.waits_for();
    let kept = match said {
        JudgedContent::Items(items) => items.into_iter().find_map(|item| match item {
            JudgedItem::Admitted(admitted) => Some(admitted.bytes().clone()),
            JudgedItem::Refused(refused) => refused.kept,
            JudgedItem::ForThread { payload, .. } => Some(payload),
        }),
        _ => None,
    };
    let refused = Refused { refusal, kept };
    let refusal = refuse_outside_calls(d, Some(&lease.id.thread), &lease.listener, refused);
    if let Some(id) = waits {
        let body = core_payload::system_error(&refusal);
        journaling::send_answer(d, &lease.listener, lease.token.0.to_string(), id, Some(&body));
    }
    send_receipt(d, ticket, Some(refusal), TakenReply::default());
}

/// How the refusal of a late document begins that is no reply: a replay finds out by it which it was.
pub const LATE_QUESTION: &str = "this is for call ";

/// Why a document for that lease is refused; `asks` says that it is no reply but waits for an answer.
fn refuse_over(lease: &Lease, asks: bool) -> Refusal {
    let words = format!(
        "{}{} of thread {}, turn {}, attempt {}, which is over",
        if asks { LATE_QUESTION } else { "the reply is for call " },
        lease.id.call.as_str(),
        lease.id.thread.as_str(),
        lease.id.turn,
        lease.id.attempt
    );
    Refusal::new(Code::StaleLease, words).fixed_by(admit::NEWEST)
}

fn handle_empty(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>) {
    if turn.listener.is_some_and(|l| l.returns.is_empty()) {
        return record_handled(d, turn);
    }
    if turn.is_past_budget() {
        return wrapping::close_wrapping(d, turn.thread, turn.path, turn.number);
    }
    close_failed(d, turn.thread, turn.path, &refuse_silent(turn));
}

/// Why a final among several steps is refused.
pub fn not_alone() -> Refusal {
    let words = "a final must be the only item beside notes; the other items go on";
    Refusal::new(Code::FinalNotAlone, words).fixed_by("send it again when the other items are answered")
}

fn record_handled(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>) {
    let mut fact =
        RecordFact::from_core(RecordKind::Outcome, RecordCode::Handled, core_payload::write_handled())
            .with_addressee(&turn.caller)
            .with_call(turn.path)
            .with_cause(turn.cause)
            .with_config(turn.config);
    fact.from = turn.sender.clone();
    fact.turn = Some(turn.number);
    close_call(d, turn.thread, turn.path, CallOutcome::Handled, fact);
}

fn refuse_silent(turn: &Turn<'_>) -> Refusal {
    explain_silence(&turn.sender, turn.listener)
}

/// The refusal for the caller when a listener ends its turn without the answer that it owes.
pub fn explain_silence(name: &Name, listener: Option<&Listener>) -> Refusal {
    let returns: Vec<&str> =
        listener.map_or(Vec::new(), |l| l.returns.iter().map(|e| &*e.name.local).collect());
    let words = format!("{} ended its turn without an answer", name.as_str());
    Refusal::new(Code::ListenerSilent, words).with_expected(format!("one of: {}", returns.join(", ")))
}

/// The items, those refused that refer to a file which the thread does not have. Their listener may know its hash, and
/// the reference opens it to others.
fn refuse_unknown_files(turn: &Turn<'_>, items: Vec<JudgedItem>) -> Vec<JudgedItem> {
    let Some(seen) = turn.seen else { return items };
    let find_refusal = |ordinal: u32, bytes: &[u8]| match seen {
        Ok(seen) => Some(sent_files::refuse_unknown(bytes, *seen.unknown_files.get(&ordinal)?)),
        Err(unread) => (!sent_files::list_fields(bytes).is_empty()).then(|| unread.clone()),
    };
    let judge = |(ordinal, item): (u32, JudgedItem)| {
        let bytes = item.as_admitted().map(|admitted| admitted.bytes().clone());
        match bytes.as_ref().and_then(|bytes| find_refusal(ordinal, bytes)) {
            Some(refusal) => JudgedItem::Refused(Refused { refusal, kept: bytes }),
            None => item,
        }
    };
    (0u32..).zip(items).map(judge).collect()
}

fn apply_items(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, items: Vec<JudgedItem>) {
    if items.len() > limits::REPLY_ITEMS {
        let words =
            format!("{} items are more than 64, the most in one reply", items.len().to_string().as_str());
        let refusal = Refusal::new(Code::TooManyItems, words)
            .fixed_by("send 64 items at most, and the others in the next turn");
        record_refusal(d, turn, 0, &refusal);
        return after_turn(d, turn, Some(refusal));
    }
    if let Some(what) = turn.wrap_up {
        return reply_of_last_turn(d, turn, what, items);
    }
    let is_note = |item: &JudgedItem| matches!(item, JudgedItem::Admitted(a) if is_kept(a));
    let steps = items.iter().filter(|item| !is_note(item)).count();
    let mut answer = None;
    let mut first_refusal = None;
    let mut waits = Vec::new();
    for (ordinal, item) in (0u32..).zip(items) {
        match item {
            JudgedItem::Admitted(admitted) if *admitted.what() == PayloadKind::Final => {
                if steps == 1 {
                    answer = Some((ordinal, admitted));
                } else {
                    let refusal = refuse_item(d, turn, ordinal, not_alone(), Some(admitted.bytes()));
                    turn.keep_refusal(&mut first_refusal, refusal);
                }
            }
            // Waits come last, so that a wait sees the children and timers of its own reply at any place in the
            // reply.
            JudgedItem::Admitted(admitted) if comes_last(&admitted) => waits.push((ordinal, admitted)),
            item => {
                if let Some(refusal) = one_item(d, turn, ordinal, item) {
                    turn.keep_refusal(&mut first_refusal, refusal);
                }
            }
        }
    }
    for (ordinal, admitted) in waits {
        if let Some(refusal) = one_item(d, turn, ordinal, JudgedItem::Admitted(admitted)) {
            turn.keep_refusal(&mut first_refusal, refusal);
        }
    }
    let Some((ordinal, admitted)) = answer else { return after_turn(d, turn, first_refusal) };
    match todos::remind_of_todos(d, turn, ordinal) {
        Some(refusal) => after_turn(d, turn, first_refusal.or(Some(refusal))),
        None => take_final(d, turn, ordinal, &admitted),
    }
}

/// Takes the reply of a call that may only answer: its final closes the call, notes and todo lists are
/// kept, and everything else is refused.
fn reply_of_last_turn(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, what: Measure, items: Vec<JudgedItem>) {
    let is_final =
        |item: &JudgedItem| matches!(item, JudgedItem::Admitted(a) if *a.what() == PayloadKind::Final);
    let is_only = items.iter().filter(|item| is_final(item)).count() == 1;
    let mut answer = None;
    for (ordinal, item) in (0u32..).zip(items) {
        match item {
            JudgedItem::Admitted(admitted) if *admitted.what() == PayloadKind::Final && is_only => {
                answer = Some((ordinal, admitted));
            }
            JudgedItem::Admitted(admitted) if !is_kept(&admitted) => {
                let refusal = only_a_final(turn, what);
                let _told = refuse_item(d, turn, ordinal, refusal, Some(admitted.bytes()));
            }
            JudgedItem::ForThread { payload, .. } => {
                let _told = refuse_item(d, turn, ordinal, only_a_final(turn, what), Some(&payload));
            }
            item => drop(one_item(d, turn, ordinal, item)),
        }
    }
    match answer {
        Some((ordinal, admitted)) => take_final(d, turn, ordinal, &admitted),
        None => after_turn(d, turn, None),
    }
}

fn only_a_final(turn: &Turn<'_>, what: Measure) -> Refusal {
    let be = if what.is_plural() { "are" } else { "is" };
    let words = format!("the {} of this request {be} used up; only one final is taken now", what.as_str());
    let returns = turn.listener.map_or(&[][..], |listener| &listener.returns);
    let returns = returns.iter().map(|element| &*element.name.local);
    let finals: Vec<&str> = returns.chain(["final-report"]).collect();
    Refusal::new(what.code(), words).with_expected(format!("one of: {}", finals.join(", ")))
}

/// Items that are answered by being recorded, and that may come with a final.
pub fn is_kept(admitted: &Admitted) -> bool {
    *admitted.what() == PayloadKind::Note
        || primitives::find_primitive(admitted).is_some_and(|one| one.is_kept)
}

fn comes_last(admitted: &Admitted) -> bool {
    primitives::find_primitive(admitted).is_some_and(|one| one.comes_last)
}

fn take_final(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, ordinal: u32, admitted: &Admitted) {
    let mut fact = turn
        .make_fact(
            ordinal,
            RecordKind::Message,
            RecordCode::Role(MessageRole::Final),
            admitted.bytes().clone(),
        )
        .with_addressee(&turn.caller);
    fact.from = turn.sender.clone();
    close_call(d, turn.thread, turn.path, CallOutcome::Answered, fact);
}

/// Records one item that is no final; returns the refusal if there is one.
fn one_item(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, ordinal: u32, item: JudgedItem) -> Option<Refusal> {
    match item {
        JudgedItem::Refused(Refused { refusal, kept }) => {
            Some(refuse_item(d, turn, ordinal, refusal, kept.as_ref()))
        }
        JudgedItem::ForThread { thread, payload, judged } => {
            steering::steer_item(d, turn, ordinal, &thread, &payload, *judged)
        }
        JudgedItem::Admitted(admitted) => match admitted.what() {
            PayloadKind::Note | PayloadKind::Final | PayloadKind::Steer { .. } => {
                todos::keep_list(d, turn, ordinal, MessageRole::Note, admitted.bytes())
            }
            PayloadKind::Primitive(_) => primitives::answer_item(d, turn, ordinal, &admitted),
            what @ (PayloadKind::For(_) | PayloadKind::ForEach { .. }) => {
                let Some(refusal) = no_room(d, turn, what, admitted.bytes()) else {
                    return send_item(d, turn, ordinal, &admitted);
                };
                // If all the calls together are too many, a single call may still fit: another item may have it.
                let is_for_many = matches!(what, PayloadKind::ForEach { .. }) && !turn.is_single();
                let has_room = is_for_many
                    && budget_use::find_refusal(d, turn.thread, turn.path, UsedAmounts::CALL).is_none();
                let refusal = refuse_item(d, turn, ordinal, refusal, Some(admitted.bytes()));
                (!has_room).then_some(refusal)
            }
        },
    }
}

/// Why a call may not begin; `None` if it may.
fn no_room(d: &DecisionBuilder<'_>, turn: &Turn<'_>, what: &PayloadKind, payload: &[u8]) -> Option<Refusal> {
    if turn.is_single() {
        return Some(no_turn_left());
    }
    let more = match what {
        PayloadKind::ForEach { takers, .. } => gathering::count_used(takers),
        _ => UsedAmounts::CALL,
    };
    let loops = || match what {
        PayloadKind::For(to) => looping::find_refusal(d, turn, to, payload),
        PayloadKind::ForEach { takers, .. } => {
            takers.iter().find_map(|(to, _)| looping::find_refusal(d, turn, to, payload))
        }
        _ => None,
    };
    budget_use::find_refusal(d, turn.thread, turn.path, more).or_else(loops)
}

fn send_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> Option<Refusal> {
    match admitted.what() {
        PayloadKind::For(to) => {
            let role = RecordCode::Role(MessageRole::Call);
            let mut fact = turn
                .make_fact(ordinal, RecordKind::Message, role, admitted.bytes().clone())
                .with_addressee(to);
            fact.from = turn.sender.clone();
            let over = budget_use::collect_limits(d, turn.thread, turn.path);
            d.add_record(turn.thread, fact);
            budget_use::warn_limits(d, &over, UsedAmounts::CALL);
            looping::report_loop(d, turn, to, admitted.bytes());
            let (path, request) =
                (turn.path.append_item(turn.number, ordinal), (admitted.bytes(), admitted.element()));
            hold_if_due(d, turn.thread, &path, request, admitted.is_dangerous());
            None
        }
        PayloadKind::ForEach { gather, takers } => {
            gathering::begin_gathering(d, turn, ordinal, admitted, *gather, takers);
            None
        }
        PayloadKind::Note | PayloadKind::Final | PayloadKind::Steer { .. } | PayloadKind::Primitive(_) => {
            None
        }
    }
}

/// The refusal that the caller of a single-turn listener gets for a refused answer. The caller did not write the
/// answer, so its details would mislead. They are in the log, in the refusal that was recorded for the listener.
fn for_caller(turn: &Turn<'_>, refusal: Refusal) -> Refusal {
    let group = refusal.code.as_str().split('.').next().unwrap_or_default();
    if !matches!(group, "payload" | "route" | "reply" | "thread") {
        return refusal;
    }
    Refusal::new(Code::ListenerFailed, format!("{} answered with something invalid", turn.sender.as_str()))
}

/// After a reply without a final. A call with a single turn closes, and so does a call whose wrap-up turn this was.
/// If this was the last turn, or the call wanted more than its budget, the wrap-up turn comes next.
fn after_turn(d: &mut DecisionBuilder<'_>, turn: &Turn<'_>, refused: Option<Refusal>) {
    if turn.is_past_budget() {
        return wrapping::close_wrapping(d, turn.thread, turn.path, turn.number);
    }
    if turn.is_single() {
        match refused {
            Some(refusal) => close_failed(d, turn.thread, turn.path, &for_caller(turn, refusal)),
            None if turn.listener.is_some_and(|l| l.returns.is_empty()) => record_handled(d, turn),
            None => close_failed(d, turn.thread, turn.path, &refuse_silent(turn)),
        }
    } else if turn.wrap_up.is_none() {
        let used = u64::from(turn.number);
        let last = turn.is_last().then_some(ExceededLimit { what: Measure::Turns, used, limit: used });
        if let Some(of) = budget_use::used_up(d, turn.thread, turn.path, refused.as_ref()).or(last) {
            wrapping::begin_wrapping(d, turn.thread, turn.path, &of, Some(turn.number));
        }
    }
}
