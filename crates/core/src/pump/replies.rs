//! Remembers which deliveries have their reply, so that a reply that comes again (because its receipt was lost)
//! gets its receipt again and changes nothing. Live data outside the fold: a decision only looks, and returns
//! what it took; a start reads the newest replies from the log.
//!
//! It never reports a reply that is not in the log, because a receipt means that the reply is on disk. It may
//! forget a reply that is in the log; if that reply comes again, it is refused as late.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::rules::core_payload;
use crate::types::codes::Code;
use crate::types::fast_maps::FastMap;
use crate::types::ids::{AttemptId, CallPath, MessageId, Name, ThreadId};
use crate::types::limits;
use crate::types::ports::{LeaseToken, LogFault, LogReader, Position};
use crate::types::record::{Header, MessageRole, Record, RecordCode, RecordKind};

/// Deliveries with a reply, the oldest forgotten first.
#[derive(Default, Debug)]
pub struct RecentReplies {
    of: FastMap<LeaseToken, (Name, Option<u64>)>,
    order: VecDeque<LeaseToken>,
}

impl RecentReplies {
    /// Remembers a reply. `print` distinguishes it from other replies; it is `None` if only the log knows the
    /// reply.
    pub fn put(&mut self, token: LeaseToken, listener: Name, print: Option<u64>) {
        if self.of.insert(token.clone(), (listener, print)).is_none() {
            self.order.push_back(token);
        }
        if self.order.len() > limits::REPLIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.of.remove(&oldest);
        }
    }

    /// Whether that listener's reply to that delivery was taken.
    pub fn has_reply(&self, delivery: &str, listener: &Name) -> bool {
        self.of.get(delivery).is_some_and(|(of, _)| of == listener)
    }

    /// Whether the reply taken for that delivery is known to be different from this one.
    pub fn is_other(&self, delivery: &str, print: u64) -> bool {
        self.of.get(delivery).is_some_and(|(_, known)| known.is_some_and(|known| known != print))
    }
}

/// A delivery whose reply is in the log.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RepliedDelivery {
    /// The listener that replied.
    pub listener: Name,
    /// The attempt that it replied to.
    pub id: AttemptId,
}

/// A turn of a call.
type ReplyTurn = (ThreadId, CallPath, u32);

/// A record that settled a turn.
struct SettledReply {
    listener: Name,
    /// The record after which the turn could be delivered: every attempt at it is recorded later.
    cause: MessageId,
    seq: u64,
}

/// The replies that the newest records show. The records may be read in any order.
#[derive(Default)]
struct NewestReplies {
    seen: HashSet<MessageId>,
    attempts: HashMap<ReplyTurn, u32>,
    settled: HashMap<ReplyTurn, SettledReply>,
    /// Attempts that were followed by another because their listener reported a failure.
    failed: Vec<RepliedDelivery>,
    /// Turns whose last attempt failed, by their call.
    dead: HashMap<(ThreadId, CallPath), (u32, Name)>,
    /// Calls that closed because their listener reported a failure.
    closed: Vec<((ThreadId, CallPath), MessageId, u64)>,
}

/// The deliveries whose reply is among the newest records. Replies that look like an attempt without a reply are
/// left out: a reply without items that leaves its call unanswered, and a failure after a model call whose
/// outcome is unknown.
pub fn on_record(reader: &dyn LogReader, last: Position) -> Result<Vec<RepliedDelivery>, LogFault> {
    let mut newest = NewestReplies::default();
    let mut left = limits::REPLIES_READ_BYTES;
    let oldest = last.0.saturating_sub(limits::REPLIES_READ);
    let mut end = last.0;
    while end > oldest && left > 0 {
        let begin = end.saturating_sub(limits::LOG_PAGE as u64).max(oldest);
        let count = usize::try_from(end - begin).unwrap_or(limits::LOG_PAGE);
        for (_, record) in reader.read_after(Position(begin), count)? {
            left = left.saturating_sub(record.body.len());
            newest.read_record(&record);
        }
        end = begin;
    }
    newest.close_newest();
    let mut found = newest.failed;
    for ((thread, call, turn), SettledReply { listener, cause, seq }) in newest.settled {
        let place = (thread, call, turn);
        let attempt = if newest.seen.contains(&cause) {
            Some(newest.attempts.get(&place).copied().unwrap_or(1))
        } else {
            look_back(reader, &place, cause, seq, &mut left)?
        };
        let (thread, call, turn) = place;
        found.extend(
            attempt
                .map(|attempt| RepliedDelivery { listener, id: AttemptId { thread, call, turn, attempt } }),
        );
    }
    // A map has no order, and the order of forgetting must not depend on how the map stores its elements.
    found.sort_unstable();
    Ok(found)
}

impl NewestReplies {
    fn read_record(&mut self, record: &Record) {
        let h = &record.header;
        self.seen.insert(h.id);
        let Some(call) = h.call.clone() else { return };
        match (h.kind, h.code, h.turn) {
            (RecordKind::Attempt, _, Some(turn)) => {
                let Some(attempt) = core_payload::next_attempt(&record.body) else { return };
                let number = self.attempts.entry((h.thread.clone(), call.clone(), turn)).or_default();
                *number = attempt.number.max(*number);
                if attempt.code == Some(Code::ListenerFailed)
                    && let (Some(listener), Some(before)) = (h.to.clone(), attempt.number.checked_sub(1))
                {
                    let id = AttemptId { thread: h.thread.clone(), call, turn, attempt: before };
                    self.failed.push(RepliedDelivery { listener, id });
                }
            }
            (RecordKind::Outcome, Some(RecordCode::DeadLetter), Some(turn)) => {
                if let Some(listener) = h.to.clone() {
                    self.dead.insert((h.thread.clone(), call), (turn, listener));
                }
            }
            (RecordKind::Outcome, Some(RecordCode::Code(Code::ListenerFailed)), None) => {
                if let Some(cause) = h.cause {
                    self.closed.push(((h.thread.clone(), call), cause, h.seq));
                }
            }
            _ => self.settle_call(h, call),
        }
    }

    fn settle_call(&mut self, h: &Header, call: CallPath) {
        let is_of_reply = match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(role))) => {
                !matches!(role, MessageRole::Answer | MessageRole::Inbox)
            }
            // Of these, only an item has a turn and an ordinal.
            (RecordKind::Timer | RecordKind::Refusal, _)
            | (RecordKind::Outcome, Some(RecordCode::Handled)) => true,
            _ => false,
        };
        let place = match (h.code, h.turn, h.ordinal) {
            // The record of an item for several takers belongs to the call that it opens.
            (Some(RecordCode::Role(MessageRole::ToAll | MessageRole::ToFirst)), ..) => {
                call.caller().map(|(call, turn, _)| (call, turn))
            }
            (Some(RecordCode::Handled), Some(turn), _) | (_, Some(turn), Some(_)) => Some((call, turn)),
            _ => None,
        };
        let listener = if h.from == Name::new_core() { h.to.clone() } else { Some(h.from.clone()) };
        if let (true, Some((call, turn)), Some(listener), Some(cause)) =
            (is_of_reply, place, listener, h.cause)
        {
            let settled = SettledReply { listener, cause, seq: h.seq };
            self.settled.entry((h.thread.clone(), call, turn)).or_insert(settled);
        }
    }

    /// Counts the calls that closed after their listener reported that their last attempt failed.
    fn close_newest(&mut self) {
        for (place, cause, seq) in std::mem::take(&mut self.closed) {
            if let Some((turn, listener)) = self.dead.remove(&place) {
                let (thread, call) = place;
                let settled = SettledReply { listener, cause, seq };
                self.settled.entry((thread, call, turn)).or_insert(settled);
            }
        }
    }
}

/// The attempt at which a turn was settled. Reads backwards through the thread to the record that made the turn
/// due; returns `None` if that is too far back.
fn look_back(
    reader: &dyn LogReader,
    (thread, call, turn): &ReplyTurn,
    cause: MessageId,
    seq: u64,
    left: &mut usize,
) -> Result<Option<u32>, LogFault> {
    let (mut end, mut attempt) = (seq, 1);
    while end > 1 && *left > 0 {
        let begin = end.saturating_sub(limits::LOG_PAGE as u64).max(1);
        let count = usize::try_from(end - begin).unwrap_or(limits::LOG_PAGE);
        let page = reader.of_thread(thread, begin, count)?;
        for (_, record) in page.iter().rev() {
            let h = &record.header;
            *left = left.saturating_sub(record.body.len() + 1);
            if h.id == cause {
                return Ok(Some(attempt));
            }
            if h.kind == RecordKind::Attempt && h.call.as_ref() == Some(call) && h.turn == Some(*turn) {
                let read = core_payload::next_attempt(&record.body);
                attempt = read.map_or(attempt, |read| read.number.max(attempt));
            }
        }
        end = begin;
    }
    Ok(None)
}
