//! A root with everything that came of it: its calls, their items and answers, the threads they
//! spawned. It is read from records, so finished work appears next to open work.
//!
//! Bodies are read but not kept: a tree's memory grows with its calls, not with its bytes. A
//! thread's id comes in; a tree of plain data goes out.

mod drawing;
mod waiting_tree;

pub use drawing::{ReasonLookup, TreeEntry, draw, entries, to_json};
pub use waiting_tree::{standing, standing_json, with_picture};

use std::collections::BTreeMap;

use super::glance::{PayloadGlance, glance, read_error};
use crate::limits;
use systole_core::pump::primitives::{self, ShownItem};
use systole_core::rules::outcome::CallJudgement;
use systole_core::rules::{approval_payload, budget_payload, core_payload};
use systole_core::types::budget::Measure;
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::record::{
    ApprovalEffect, Header, MessageRole, Record, RecordCode, RecordKind, TimerEffect, head_zero,
};
use systole_core::types::time::Millis;
use systole_show::columns::plain;

/// A thread with its calls and its children.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadTree {
    /// The thread.
    pub thread: ThreadId,
    /// When it was opened.
    pub opened: Millis,
    /// Its last record that was read, and the head of that.
    pub seq: u64,
    head: Digest,
    /// Its calls.
    pub calls: BTreeMap<CallPath, CallNode>,
    /// The threads it spawned.
    pub children: BTreeMap<ThreadId, ThreadTree>,
    /// Who ended it, if it was ended.
    pub ended_by: Option<(Millis, Name)>,
    /// Whether it was at rest when it was ended; otherwise it was cancelled.
    pub rested: bool,
    /// Whether there are unread records.
    pub cut: bool,
}

/// One call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallNode {
    /// The listener that must answer it.
    pub listener: Name,
    /// The receiver of the answer.
    pub caller: Name,
    /// Its request at a glance.
    pub request: PayloadGlance,
    /// The record of its request.
    pub seq: u64,
    /// When it was opened.
    pub opened: Millis,
    /// The last turn taken.
    pub turn: u32,
    /// Repeated attempts, over all its turns.
    pub retries: u32,
    /// The exhausted budget that forced it to wrap up.
    pub wrapped_up: Option<Code>,
    /// A person's decision before it went out: `approved by alice`.
    pub approval: Option<String>,
    /// How it ended, if it did.
    pub ended: Option<CallEnd>,
    /// Its items, in order of turn and ordinal, except calls, which are in `ThreadTree::calls`.
    pub items: BTreeMap<(u32, u32), ItemOutcome>,
}

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallEnd {
    /// When.
    pub at: Millis,
    /// How.
    pub way: CallEndKind,
}

/// The ways a call ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallEndKind {
    /// With a payload.
    Answered {
        /// Its element.
        element: String,
        /// The beginning of its text.
        words: String,
    },
    /// With a report of what went wrong, in place of an answer.
    Reported {
        /// Its element.
        element: String,
        /// The beginning of its text.
        words: String,
    },
    /// Without a payload, as its `returns` allow.
    Handled,
    /// Without the answer it owed.
    Failed {
        /// The code.
        code: &'static str,
        /// The words.
        words: String,
    },
}

impl CallEndKind {
    /// How a record ends its call, if it does.
    pub fn of(record: &Record) -> Option<CallEndKind> {
        let at_a_glance = || {
            let seen = glance(&record.body);
            (seen.element.clone(), seen.text(limits::OUTPUT_COLUMNS))
        };
        Some(
            match CallJudgement::of_record(record).filter(|_| record.header.kind != RecordKind::Terminal)? {
                CallJudgement::Answered | CallJudgement::Partial => {
                    let (element, words) = at_a_glance();
                    CallEndKind::Answered { element, words }
                }
                CallJudgement::Reported => {
                    let (element, words) = at_a_glance();
                    CallEndKind::Reported { element, words }
                }
                CallJudgement::Handled => CallEndKind::Handled,
                CallJudgement::Failed | CallJudgement::Cancelled => {
                    let code = record.header.code.map_or("", RecordCode::as_str);
                    let words =
                        read_error(&record.body).map_or_else(|| glance(&record.body).words, |t| t.message);
                    CallEndKind::Failed { code, words }
                }
            },
        )
    }
}

/// The outcome of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemOutcome {
    /// A note.
    Note {
        /// Its element.
        element: String,
    },
    /// Refused.
    Refused {
        /// The code.
        code: &'static str,
        /// The words.
        words: String,
    },
    /// It steered a thread.
    Steers,
    /// The pump answers it.
    Primitive {
        /// Its element.
        element: &'static str,
        /// Whether its answer was read.
        is_answered: bool,
        /// What is shown of it.
        told: ShownItem,
    },
    /// It opened a nested call.
    Call,
    /// It went to several receivers.
    Takers {
        /// Whether the first successful answer was enough.
        first: bool,
        /// The calls that it opened, in order.
        calls: Vec<CallPath>,
    },
}

/// Reads the tree of a thread; `None` if it has no record.
pub fn read(reader: &dyn LogReader, thread: &ThreadId) -> Result<Option<ThreadTree>, LogFault> {
    let mut tree = ThreadTree::blank(thread);
    tree.read_on(reader)?;
    Ok((tree.seq > 0).then_some(tree))
}

impl ThreadTree {
    fn blank(id: &ThreadId) -> ThreadTree {
        ThreadTree {
            thread: id.clone(),
            opened: Millis(0),
            seq: 0,
            head: head_zero(id),
            calls: BTreeMap::new(),
            children: BTreeMap::new(),
            ended_by: None,
            rested: false,
            cut: false,
        }
    }

    /// Reads what came since it was read.
    pub fn read_on(&mut self, reader: &dyn LogReader) -> Result<(), LogFault> {
        let mut left = limits::TREE_RECORDS.saturating_sub(self.records());
        self.read_within(reader, &mut left)
    }

    /// The records that were read of it and of everything below it.
    fn records(&self) -> u64 {
        self.seq + self.children.values().map(ThreadTree::records).sum::<u64>()
    }

    fn read_within(&mut self, reader: &dyn LogReader, left: &mut u64) -> Result<(), LogFault> {
        let id = self.thread.clone();
        for placed in reader.records_of(&id, self.seq + 1) {
            let (position, record) = placed?;
            if *left == 0 {
                self.cut = true;
                break;
            }
            *left -= 1;
            // A tree of altered records would be a lie.
            if record.header.seq != self.seq + 1 || !record.is_valid_after(self.head) {
                let seq = record.header.seq;
                let why = format!("record {seq} of thread {id} does not follow the one before it");
                return Err(LogFault::Damaged { path: "the log".to_owned(), position, why });
            }
            self.head = record.head;
            self.take(&record);
        }
        let spawned = self.calls.values().flat_map(|branch| branch.items.values());
        let children: Vec<ThreadId> = spawned
            .filter_map(|leaf| match leaf {
                ItemOutcome::Primitive { told, .. } => told.child.clone(),
                _ => None,
            })
            .collect();
        for id in children {
            let mut child = self.children.remove(&id).unwrap_or_else(|| ThreadTree::blank(&id));
            child.read_within(reader, left)?;
            self.cut |= child.cut;
            if child.seq > 0 {
                self.children.insert(id, child);
            }
        }
        Ok(())
    }

    /// Its top calls, in order of arrival.
    pub fn tops(&self) -> Vec<(&CallPath, &CallNode)> {
        let mut tops: Vec<_> = self.calls.iter().filter(|(path, _)| path.depth() == 0).collect();
        tops.sort_by_key(|(path, _)| path.top_number());
        tops
    }

    fn take(&mut self, record: &Record) {
        let h = &record.header;
        if h.seq == 1 {
            self.opened = h.time;
        }
        self.seq = h.seq;
        if let Some(one) = primitives::find_recorded(h) {
            let leaf = match one.shows {
                Some(shows) => {
                    ItemOutcome::Primitive { element: one.element, is_answered: false, told: shows(None) }
                }
                None => ItemOutcome::Note { element: glance(&record.body).element },
            };
            return self.item(h, leaf);
        }
        match (h.kind, h.code) {
            (RecordKind::Message, Some(RecordCode::Role(role))) => self.take_message(record, role),
            (
                RecordKind::Approval,
                Some(RecordCode::Approving(ApprovalEffect::Approved | ApprovalEffect::Amended)),
            ) => {
                self.take_approval(record);
            }
            (RecordKind::Timer, Some(RecordCode::Timing(TimerEffect::Opens))) => {
                self.open(record, h.call.clone())
            }
            (
                RecordKind::Message
                | RecordKind::Approval
                | RecordKind::Steer
                | RecordKind::Journal
                | RecordKind::Timer,
                _,
            ) => {}
            (RecordKind::Refusal, mark) => {
                let code = mark.map_or("", RecordCode::as_str);
                let words = read_error(&record.body).map_or_else(String::new, |told| told.message);
                self.item(h, ItemOutcome::Refused { code, words });
            }
            (RecordKind::Attempt, _) => {
                let is_repeat = core_payload::next_attempt(&record.body).is_some_and(|a| a.number > 1);
                if let Some(branch) = h.call.as_ref().and_then(|path| self.calls.get_mut(path)) {
                    branch.retries += u32::from(is_repeat);
                }
            }
            (RecordKind::Outcome, _) => self.end(record),
            (RecordKind::Terminal, mark) => {
                self.rested = mark == Some(RecordCode::Ended);
                self.ended_by = h.to.clone().map(|by| (h.time, by));
            }
        }
    }

    fn take_message(&mut self, record: &Record, role: MessageRole) {
        let h = &record.header;
        match role {
            MessageRole::Request | MessageRole::Begin => self.open(record, h.call.clone()),
            MessageRole::Call => {
                self.item(h, ItemOutcome::Call);
                let path = h.call.as_ref().zip(h.turn).zip(h.ordinal);
                self.open(record, path.map(|((path, turn), ordinal)| path.append_item(turn, ordinal)));
            }
            MessageRole::ToAll => self.take_record(record, false),
            MessageRole::ToFirst => self.take_record(record, true),
            MessageRole::Steer => self.item(h, ItemOutcome::Steers),
            MessageRole::Note => self.item(h, ItemOutcome::Note { element: glance(&record.body).element }),
            MessageRole::Final => self.end(record),
            MessageRole::Tell => {
                let told = h.call.as_ref().and_then(CallPath::caller);
                if let Some((path, turn, ordinal)) = told
                    && let Some(branch) = self.calls.get_mut(&path)
                {
                    branch.items.insert((turn, ordinal), ItemOutcome::Call);
                }
                self.open(record, h.call.clone());
            }
            MessageRole::WrapUp => {
                let what = budget_payload::read_exceeded(&record.body);
                if let Some(branch) = h.call.as_ref().and_then(|path| self.calls.get_mut(path)) {
                    branch.wrapped_up = what.map(Measure::code);
                }
            }
            MessageRole::Answer => self.answer(record),
            _ => {}
        }
    }

    fn take_record(&mut self, record: &Record, first: bool) {
        let path = record.header.call.as_ref();
        if let Some((path, (caller, turn, ordinal))) = path.and_then(|path| Some((path, path.caller()?)))
            && let Some(branch) = self.calls.get_mut(&caller)
        {
            branch.turn = branch.turn.max(turn);
            let none = ItemOutcome::Takers { first, calls: Vec::new() };
            if let ItemOutcome::Takers { calls, .. } = branch.items.entry((turn, ordinal)).or_insert(none) {
                calls.push(path.clone());
            }
        }
        self.open(record, path.cloned());
    }

    fn take_approval(&mut self, record: &Record) {
        let branch = record.header.call.as_ref().and_then(|path| self.calls.get_mut(path));
        if let Some((branch, said)) = branch.zip(approval_payload::read_decided(&record.body)) {
            branch.approval = Some(format!("{} by {}", plain(&said.outcome), plain(&said.by)));
        }
    }

    /// An answer of the core completes the data of its item.
    fn answer(&mut self, record: &Record) {
        let place = record.header.call.as_ref().and_then(CallPath::caller);
        let item = place.and_then(|(path, turn, ordinal)| {
            self.calls.get_mut(&path).and_then(|branch| branch.items.get_mut(&(turn, ordinal)))
        });
        if let Some(ItemOutcome::Primitive { element, is_answered, told }) = item
            && let Some(shows) = primitives::find_named(element).and_then(|one| one.shows)
        {
            (*is_answered, *told) = (true, shows(Some(&record.body)));
        }
    }

    fn open(&mut self, record: &Record, path: Option<CallPath>) {
        let h = &record.header;
        let (Some(path), Some(listener)) = (path, h.to.clone()) else { return };
        let branch = CallNode {
            listener,
            caller: h.from.clone(),
            request: glance(&record.body),
            seq: h.seq,
            opened: h.time,
            turn: 0,
            retries: 0,
            wrapped_up: None,
            approval: None,
            ended: None,
            items: BTreeMap::new(),
        };
        self.calls.insert(path, branch);
    }

    fn item(&mut self, h: &Header, leaf: ItemOutcome) {
        let (Some(path), Some(turn), Some(ordinal)) = (&h.call, h.turn, h.ordinal) else { return };
        if let Some(branch) = self.calls.get_mut(path) {
            branch.turn = branch.turn.max(turn);
            branch.items.insert((turn, ordinal), leaf);
        }
    }

    fn end(&mut self, record: &Record) {
        let h = &record.header;
        let Some(way) = CallEndKind::of(record) else { return };
        let Some(branch) = h.call.as_ref().and_then(|path| self.calls.get_mut(path)) else { return };
        branch.turn = branch.turn.max(h.turn.unwrap_or(0));
        branch.ended = Some(CallEnd { at: h.time, way });
    }
}
