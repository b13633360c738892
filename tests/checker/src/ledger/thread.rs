//! What the ledger keeps of a thread, of its open calls and of spawns on their way.

use std::collections::BTreeMap;

use super::purses::Purse;
use super::timers::{Clocked, Timer};
use super::{Approval, Bought, Entry, Question};
use crate::path;
use crate::record::{Hash, Id};

/// A thread.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) number: u32,
    pub(crate) seq: u64,
    pub(crate) head: Hash,
    pub(crate) top_calls: u32,
    pub(crate) calls: BTreeMap<String, Call>,
    pub(crate) timers: BTreeMap<String, Timer>,
    /// The last words on the time of messages from outside, by the top call that each opened.
    pub(crate) clocks: BTreeMap<String, Clocked>,
    /// Messages and children that were used here, and by children that have ended.
    pub(crate) used: (u32, u32),
    /// What models used here, and by children that have ended.
    pub(crate) bought: Bought,
    /// Of a root: what each message from outside has used in its whole tree, by the top call that it opened.
    pub(crate) purses: BTreeMap<u32, Purse>,
    /// The position of the record that halted it.
    pub(crate) paused: Option<u64>,
    /// The position of the record that ended it.
    pub(crate) ended: Option<u64>,
    /// What only children have; roots are many and stay small.
    pub(crate) child: Option<Box<Child>>,
}

/// What a child's parent is to be told of it.
#[derive(Debug)]
pub(crate) struct Child {
    /// Its head after its first record.
    pub(crate) first_head: Hash,
    pub(crate) is_confirmed: bool,
    /// Calls and spawns above it.
    pub(crate) depth: u32,
    /// How many messages it may use, with all below it.
    pub(crate) ceiling: Option<u32>,
    pub(crate) end: Option<End>,
    /// The position of the `<thread-finished>` in its parent.
    pub(crate) told: Option<u64>,
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) outcome: &'static str,
    /// The hash of the payload that its parent is to read; none where there is none to read.
    pub(crate) payload: Option<Hash>,
}

/// An open call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) listener: String,
    pub(crate) caller: String,
    /// The timer that opened it.
    pub(crate) timer: Option<String>,
    /// The hash of the payload that it carries.
    pub(crate) request: Hash,
    /// The request for approval of that payload.
    pub(crate) approval: Option<Approval>,
    pub(crate) position: u64,
    pub(crate) seq: u64,
    pub(crate) since_ms: u64,
    /// The position of the record that moved it last.
    pub(crate) moved: u64,
    /// Of a top call: the number of the purse that it uses.
    pub(crate) purse: u32,
    /// The last turn whose reply is recorded; 0 before the first.
    pub(crate) settled: u32,
    /// The items of that reply.
    pub(crate) items: Vec<Item>,
    /// The last recorded attempt at the turn that is due.
    pub(crate) attempts: Option<u32>,
    /// What its listener wrote in its journal in that attempt.
    pub(crate) journal: Vec<Entry>,
    /// How many of the attempts before it died with the pump, which no listener is blamed for.
    pub(crate) lost_with_pump: u32,
    /// How many of those were on record before.
    pub(crate) deaths_on_record: u32,
    /// Whether that turn will not be tried again.
    pub(crate) is_dead: bool,
    pub(crate) children: Vec<String>,
    /// Whether a final of it was answered by a word on what is open.
    pub(crate) is_nudged: bool,
    /// The last turn whose reply was recorded when a word for it came last.
    pub(crate) steered: Option<u32>,
    /// The position of the record that says that it may only answer.
    pub(crate) wraps_up: Option<u64>,
    pub(crate) warned: Vec<Warning>,
    /// The last message of its view that it has cleared.
    pub(crate) cleared: u64,
}

/// A limit that a call was warned of.
#[derive(Debug)]
pub(crate) struct Warning {
    pub(crate) what: String,
    pub(crate) limit: String,
    /// The last turn whose reply was recorded by then.
    pub(crate) settled: u32,
}

/// An item of the last reply of an open call.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) ordinal: u32,
    pub(crate) is_note: bool,
    pub(crate) is_wait: bool,
    pub(crate) is_end: bool,
    pub(crate) is_clear: bool,
    pub(crate) is_recall: bool,
    pub(crate) is_person: bool,
    /// What it asks a person.
    pub(crate) question: Option<Question>,
    /// The record of the item, if it steers a child, and whether its word has joined that.
    pub(crate) steers: Option<(Id, bool)>,
    /// The record of the item, if it sets a timer.
    pub(crate) sets: Option<Id>,
    pub(crate) is_cancel: bool,
    pub(crate) is_answered: bool,
    /// The record of the item, if that is a spawn.
    pub(crate) spawn: Option<Id>,
    pub(crate) cause: Option<Id>,
    pub(crate) time_ms: u64,
    /// Those whom it went to, if it went to several.
    pub(crate) takers: Option<Takers>,
}

/// Those who take one item.
#[derive(Debug)]
pub(crate) struct Takers {
    pub(crate) first_is_enough: bool,
    /// The hash of the payload that went to each.
    pub(crate) request: Hash,
    pub(crate) all: Vec<Taker>,
}

/// One of those who take an item.
#[derive(Debug)]
pub(crate) struct Taker {
    /// Which, as its call says.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) is_closed: bool,
}

/// A spawn that waits for its confirmation.
#[derive(Debug)]
pub(crate) struct Spawn {
    pub(crate) thread: String,
    pub(crate) call: String,
    pub(crate) from: String,
    pub(crate) position: u64,
    pub(crate) seq: u64,
    pub(crate) leaf: Hash,
    pub(crate) child: Option<String>,
}

impl Call {
    pub(crate) fn open_items(&self) -> usize {
        self.items.iter().filter(|item| !item.is_answered).count()
    }

    /// The reply to that turn is recorded: what belongs to the one before is over.
    pub(crate) fn settle(&mut self, turn: u32) {
        if turn > self.settled {
            (self.settled, self.attempts, self.is_dead) = (turn, None, false);
            (self.lost_with_pump, self.deaths_on_record) = (0, 0);
            self.journal.clear();
            self.items.clear();
        }
    }

    pub(crate) fn item_mut(&mut self, turn: u32, ordinal: u32) -> Option<&mut Item> {
        let settled = self.settled;
        self.items.iter_mut().find(|item| settled == turn && item.ordinal == ordinal)
    }

    pub(crate) fn item(&self, turn: u32, ordinal: u32) -> Option<&Item> {
        self.items.iter().find(|item| self.settled == turn && item.ordinal == ordinal)
    }
}

impl Thread {
    /// The number of the top call whose turn it is: the lowest that is open.
    pub(crate) fn first_top(&self) -> Option<u32> {
        self.calls.keys().map(|call| path::top(call)).min()
    }
}
