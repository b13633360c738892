//! Threads in the ledger, their open calls, timers and budget uses, and spawns without a confirmation.

use std::collections::BTreeMap;

use super::{BoughtUse, LedgerApproval, LedgerEntry, LedgerOutage, LedgerQuestion};
use crate::path;
use crate::record::{RecordHash, RecordId, head_zero};

/// A thread.
#[derive(Debug)]
pub(crate) struct LedgerThread {
    pub(crate) number: u32,
    pub(crate) seq: u64,
    pub(crate) head: RecordHash,
    pub(crate) top_calls: u32,
    pub(crate) calls: BTreeMap<String, LedgerCall>,
    pub(crate) timers: BTreeMap<String, LedgerTimer>,
    /// The last records on the time of messages from outside, by the top call that each opened.
    pub(crate) clocks: BTreeMap<String, ClockedTime>,
    /// Messages and children that were used here, and by ended children.
    pub(crate) used: (u32, u32),
    /// Items that were refused here. They count as messages if the configuration limits requests to models.
    pub(crate) refused: u32,
    /// The use of models here, and by ended children.
    pub(crate) bought: BoughtUse,
    /// For a root: what each message from outside has used in its whole tree, by the top call that it
    /// opened.
    pub(crate) budget_uses: BTreeMap<u32, LedgerUse>,
    /// The last top call of a root, if it failed.
    pub(crate) failed: Option<Box<LedgerFailure>>,
    /// The position of the record that paused it.
    pub(crate) paused: Option<u64>,
    /// The position of the record that ended it.
    pub(crate) ended: Option<u64>,
    /// The fields that only children have; roots are many and stay small.
    pub(crate) child: Option<Box<LedgerChild>>,
}

/// The facts about a child that its parent gets.
#[derive(Debug)]
pub(crate) struct LedgerChild {
    /// Its head after its first record.
    pub(crate) first_head: RecordHash,
    pub(crate) is_confirmed: bool,
    /// Calls and spawns above it.
    pub(crate) depth: u32,
    /// How many messages it may use, including everything below it.
    pub(crate) ceiling: Option<u32>,
    pub(crate) end: Option<LedgerEnd>,
    /// The position of the `<thread-finished>` in its parent.
    pub(crate) told: Option<u64>,
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct LedgerEnd {
    pub(crate) outcome: &'static str,
    /// The hash of the payload for its parent; none if there is no payload.
    pub(crate) payload: Option<RecordHash>,
}

impl LedgerThread {
    /// A thread before its first record.
    pub(super) fn new(number: u32, id: &str) -> LedgerThread {
        LedgerThread {
            number,
            seq: 0,
            head: head_zero(id),
            top_calls: 0,
            calls: BTreeMap::new(),
            timers: BTreeMap::new(),
            clocks: BTreeMap::new(),
            used: (0, 0),
            refused: 0,
            bought: BoughtUse::default(),
            budget_uses: BTreeMap::new(),
            failed: None,
            paused: None,
            ended: None,
            child: None,
        }
    }
}

/// An open call.
#[derive(Debug)]
pub(crate) struct LedgerCall {
    pub(crate) listener: String,
    pub(crate) caller: String,
    /// The timer that opened it.
    pub(crate) timer: Option<String>,
    /// The hash of the payload that it carries.
    pub(crate) request: RecordHash,
    /// The request for approval of that payload.
    pub(crate) approval: Option<LedgerApproval>,
    pub(crate) position: u64,
    pub(crate) seq: u64,
    pub(crate) since_ms: u64,
    /// The position of the record that last moved it.
    pub(crate) moved: u64,
    /// For a top call: the number of its budget use.
    pub(crate) budget_use: u32,
    /// The last turn whose reply is recorded; 0 before the first.
    pub(crate) settled: u32,
    /// The items of that reply.
    pub(crate) items: Vec<LedgerItem>,
    /// The last recorded attempt at the turn that is due.
    pub(crate) attempts: Option<u32>,
    /// The journal entries of its listener in that attempt.
    pub(crate) journal: Vec<LedgerEntry>,
    /// How many of the earlier attempts died with the pump, which is no listener's fault.
    pub(crate) lost_with_pump: u32,
    /// How many of its attempts found that someone is away.
    pub(crate) away: u32,
    /// How often it was opened again after it had failed.
    pub(crate) retries: u32,
    /// How many attempts at the due turn came before that.
    pub(crate) before_retry: u32,
    /// Whether it is news that no one waits for.
    pub(crate) is_news: bool,
    /// What the attempt that is due waits for.
    pub(crate) waits: Option<LedgerOutage>,
    /// Since when attempts at the due turn have found that someone is away.
    pub(crate) away_since_ms: Option<u64>,
    /// How many of those were already recorded.
    pub(crate) deaths_on_record: u32,
    /// Whether that turn will not be retried.
    pub(crate) is_dead: bool,
    pub(crate) children: Vec<String>,
    /// Whether one of its finals was answered by a notice about open work.
    pub(crate) is_nudged: bool,
    /// The last turn whose reply was recorded when one of its timers fired last.
    pub(crate) fired: Option<u32>,
    /// The last turn whose reply was recorded when the last steering message came.
    pub(crate) steered: Option<u32>,
    /// The position of the record that lets it only answer.
    pub(crate) wraps_up: Option<u64>,
    pub(crate) warned: Vec<LedgerWarning>,
    /// The last message of its view that it has cleared.
    pub(crate) cleared: u64,
    /// The start of a pump that the attempt of the last reply outlived.
    pub(crate) outlived: Option<u64>,
}

/// The last top call of a root, if it failed.
#[derive(Debug)]
pub(crate) struct LedgerFailure {
    pub(crate) path: String,
    /// The call as it was when it closed.
    pub(crate) call: LedgerCall,
    /// The code of its outcome.
    pub(crate) code: String,
    /// The record of its outcome.
    pub(crate) outcome: RecordId,
    /// Whether its listener said so in a final.
    pub(crate) is_final: bool,
    /// Whether another top call was opened since.
    pub(crate) is_followed: bool,
}

/// A limit that a call was warned of.
#[derive(Debug)]
pub(crate) struct LedgerWarning {
    pub(crate) what: String,
    pub(crate) limit: String,
    /// The last turn whose reply was recorded by then.
    pub(crate) settled: u32,
}

/// An item of the last reply of an open call.
#[derive(Debug)]
pub(crate) struct LedgerItem {
    pub(crate) ordinal: u32,
    pub(crate) is_note: bool,
    pub(crate) is_wait: bool,
    pub(crate) is_end: bool,
    pub(crate) is_clear: bool,
    pub(crate) is_recall: bool,
    pub(crate) is_person: bool,
    /// Its question to a person.
    pub(crate) question: Option<LedgerQuestion>,
    /// The record of the item, if it steers a child, and whether its message has joined the child.
    pub(crate) steers: Option<(RecordId, bool)>,
    /// The record of the item, if it sets a timer.
    pub(crate) sets: Option<RecordId>,
    pub(crate) is_cancel: bool,
    pub(crate) is_answered: bool,
    /// The record of the item, if that is a spawn.
    pub(crate) spawn: Option<RecordId>,
    pub(crate) cause: Option<RecordId>,
    pub(crate) time_ms: u64,
    /// The takers, if it went to several.
    pub(crate) takers: Option<ItemTakers>,
}

/// The takers of one item.
#[derive(Debug)]
pub(crate) struct ItemTakers {
    pub(crate) first_is_enough: bool,
    /// The hash of the payload that went to each.
    pub(crate) request: RecordHash,
    pub(crate) all: Vec<ItemTaker>,
}

/// A taker of an item.
#[derive(Debug)]
pub(crate) struct ItemTaker {
    /// Its number, from its call.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) is_closed: bool,
}

/// A spawn that waits for its confirmation.
#[derive(Debug)]
pub(crate) struct LedgerSpawn {
    pub(crate) thread: String,
    pub(crate) call: String,
    pub(crate) from: String,
    pub(crate) position: u64,
    pub(crate) seq: u64,
    pub(crate) leaf: RecordHash,
    pub(crate) child: Option<String>,
}

/// The use of a message from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LedgerUse {
    pub(crate) messages: u32,
    pub(crate) children: u32,
    pub(crate) bought: BoughtUse,
}

/// A timer that is set, or that was set and may fire again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LedgerTimer {
    /// The record of the item that set it.
    pub(crate) set: RecordId,
    pub(crate) call: String,
    pub(crate) listener: String,
    /// The budget use for the calls that it opens.
    pub(crate) budget_use: u32,
    /// The time from its setting to its first due moment.
    pub(crate) span_ms: u64,
    /// When it may fire next, if it repeats; before its first firing, the earliest moment to fire at
    /// all.
    pub(crate) due_ms: u64,
    pub(crate) fired: Option<LedgerFiring>,
}

/// The last firing of a timer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LedgerFiring {
    /// The call that got it, or that it opened.
    pub(crate) call: String,
    /// The last turn of the call that was settled then. None if the firing opened the call, and once the
    /// call has closed after turns that must have shown it.
    pub(crate) settled: Option<u32>,
}

impl LedgerTimer {
    /// Notes that a call closed after that turn. A firing that came while a turn was out is shown by the
    /// next turn at the latest.
    pub(super) fn note_close(&mut self, call: &str, turn: u32) {
        if let Some(firing) = self.fired.as_mut().filter(|firing| firing.call == call)
            && firing.settled.is_some_and(|then| turn > then.saturating_add(1))
        {
            firing.settled = None;
        }
    }
}

/// A record on the time of a message from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClockedTime {
    pub(crate) runs: bool,
    pub(crate) used_ms: u64,
    pub(crate) limit_ms: u64,
}

impl LedgerCall {
    pub(crate) fn open_items(&self) -> usize {
        self.items.iter().filter(|item| !item.is_answered).count()
    }

    /// Its attempt reaches someone, or another one begins.
    pub(crate) fn waits_no_more(&mut self) {
        (self.waits, self.away_since_ms) = (None, None);
    }

    /// The reply to that turn is recorded: the earlier turn is over.
    pub(crate) fn settle_turn(&mut self, turn: u32) {
        if turn > self.settled {
            (self.settled, self.attempts, self.is_dead) = (turn, None, false);
            (self.lost_with_pump, self.away, self.deaths_on_record, self.before_retry) = (0, 0, 0, 0);
            self.waits_no_more();
            self.journal.clear();
            self.items.clear();
        }
    }

    pub(crate) fn item_mut(&mut self, turn: u32, ordinal: u32) -> Option<&mut LedgerItem> {
        let settled = self.settled;
        self.items.iter_mut().find(|item| settled == turn && item.ordinal == ordinal)
    }

    pub(crate) fn find_item(&self, turn: u32, ordinal: u32) -> Option<&LedgerItem> {
        self.items.iter().find(|item| self.settled == turn && item.ordinal == ordinal)
    }
}

impl LedgerThread {
    /// The number of the current top call: the lowest open one.
    pub(crate) fn first_top(&self) -> Option<u32> {
        self.calls.keys().map(|call| path::find_top(call)).min()
    }
}
