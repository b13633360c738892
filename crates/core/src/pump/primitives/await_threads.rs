//! `<await-threads>`: its sender waits for children. The item stays open until enough of them have finished, or until
//! something arrives that must wake its sender. `pump::awaiting` answers it then.

use std::collections::BTreeSet;

use systole_wire::DocumentLimits;
use systole_wire::gate::{GateStep, XmlGate};

use super::{ItemDecision, Primitive, ShownItem, TurnEffect, make_item, record_taken};
use crate::pump::awaiting;
use crate::pump::children::{ChildKinship, find_kinship};
use crate::pump::decision_builder::DecisionBuilder;
use crate::pump::fold::settling::settle_unanswered;
use crate::pump::state::{AwaitedChildren, PendingItem, Thread};
use crate::pump::turn::{Turn, no_thread};
use crate::rules::admit::ItemReading;
use crate::rules::core_payload;
use crate::rules::refusing::refusal_of;
use crate::types::codes::Code;
use crate::types::flow::Admitted;
use crate::types::ids::ThreadId;
use crate::types::record::{MessageRole, Record, RecordCode};
use crate::types::refusal::Refusal;

pub(super) static ROW: Primitive = Primitive {
    names: |body| read_await(body).map_or_else(|_| Vec::new(), |wanted| wanted.list_ids().collect()),
    shows: Some(show_item),
    comes_last: true,
    turns: TurnEffect::Several,
    fold: fold_item,
    ..make_item(
        "await-threads",
        RecordCode::Role(MessageRole::Await),
        "waits, item",
        ItemReading::Plain(|body| read_await(body).map(drop)),
        decide_item,
    )
};

/// The content of an `<await-threads>`.
#[derive(Clone, PartialEq, Eq, Debug)]
struct AwaitThreads {
    /// How many of the threads must have finished.
    mode: AwaitMode,
    /// The threads it names, each once, as it wrote them. If empty, it waits for all open children.
    threads: Vec<String>,
}

impl AwaitThreads {
    /// The named threads that can exist.
    fn list_ids(&self) -> impl Iterator<Item = ThreadId> {
        self.threads.iter().filter_map(|id| ThreadId::parse(id).ok())
    }
}

/// How many of the awaited threads must have finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AwaitMode {
    /// Every one.
    All,
    /// One.
    Any,
    /// This many, or every one if there are fewer.
    Count(u32),
}

impl AwaitMode {
    /// How many of `threads` threads must have finished.
    fn count_needed(self, threads: usize) -> usize {
        match self {
            AwaitMode::All => threads,
            AwaitMode::Any => threads.min(1),
            AwaitMode::Count(count) => threads.min(usize::try_from(count).unwrap_or(usize::MAX)),
        }
    }
}

fn read_await(body: &[u8]) -> Result<AwaitThreads, Refusal> {
    let mut mode = None;
    let (mut threads, mut known) = (Vec::new(), BTreeSet::new());
    let mut gate =
        XmlGate::new_strict(body, &DocumentLimits::FROM_PUMP).map_err(|fault| refusal_of(&fault))?;
    loop {
        match gate.read_step().map_err(|fault| refusal_of(&fault))? {
            GateStep::Open(_) if mode.is_none() => {
                let written = gate.find_attribute("mode").unwrap_or_default();
                mode = Some(read_mode(&written)?);
            }
            GateStep::Open(_) => {
                let written = gate.find_attribute("id").unwrap_or_default();
                let id = written.into_owned();
                if known.insert(id.clone()) {
                    threads.push(id);
                }
            }
            GateStep::Done => break,
            _ => {}
        }
    }
    Ok(AwaitThreads { mode: mode.unwrap_or(AwaitMode::All), threads })
}

fn read_mode(written: &str) -> Result<AwaitMode, Refusal> {
    match written {
        "all" => Ok(AwaitMode::All),
        "any" => Ok(AwaitMode::Any),
        number => match number.parse() {
            Ok(count) if count > 0 => Ok(AwaitMode::Count(count)),
            _ => Err(Refusal::new(Code::Invalid, "mode: a wait needs at least one thread")
                .with_expected("all, any, or a whole number from 1")
                .with_received(number)),
        },
    }
}

/// Takes a wait, and answers it at once if it is already over. A wait for a thread that is no child of this call is
/// refused. A child that has ended counts as finished, because the sender cannot know earlier.
fn decide_item(
    d: &mut DecisionBuilder<'_>,
    turn: &Turn<'_>,
    ordinal: u32,
    admitted: &Admitted,
) -> ItemDecision {
    let item = admitted.bytes();
    for id in &read_await(item)?.threads {
        match find_kinship(d, turn, id) {
            ChildKinship::Running(_) | ChildKinship::Ended => {}
            ChildKinship::Foreign => return Ok(Some(no_thread(d, turn, ordinal, id, false, item))),
            ChildKinship::Unread(refusal) => return Err(*refusal),
        }
    }
    record_taken(d, turn, ordinal, &ROW, item);
    awaiting::note_arrival(d, turn.thread, turn.path);
    Ok(None)
}

/// Notes which children a wait is for: those it names, else all that its call can know to be open.
fn fold_item(thread: &mut Thread, record: &Record) {
    settle_unanswered(thread, record);
    let Some(call) = record.header.call.as_ref().and_then(|path| thread.calls.get_mut(path)) else { return };
    let Ok(wanted) = read_await(&record.body) else { return };
    let threads: Vec<ThreadId> = match wanted.threads.is_empty() {
        true => call.seen_open().cloned().collect(),
        false => wanted.list_ids().collect(),
    };
    let enough = wanted.mode.count_needed(threads.len());
    if let Some(item) = call.items.last_mut() {
        item.pending = PendingItem::Threads(AwaitedChildren { threads, enough });
    }
}

fn show_item(answer: Option<&[u8]>) -> ShownItem {
    let reason = answer.and_then(core_payload::await_reason);
    let words = match &reason {
        None => "waits for its threads".to_owned(),
        Some(reason) => format!("waited for its threads, until {reason}"),
    };
    ShownItem::new(words).with_field("await", reason)
}

#[cfg(test)]
mod tests {
    /// As many threads as fit into a payload. A list would be searched for each of them.
    #[test]
    fn thirty_thousand_threads_are_read_in_their_order_and_each_once() {
        let id = |n: u32| format!("sess-{n:012x}");
        let threads: String =
            (0..30_000).rev().map(|n| format!("<thread id=\"{}\"/>", id(n % 29_999))).collect();
        let core = systole_wire::namespaces::CORE;
        let body = format!("<await-threads xmlns=\"{core}\" mode=\"all\">{threads}</await-threads>");
        let wanted = super::read_await(body.as_bytes()).unwrap().threads;
        assert_eq!(wanted.len(), 29_999);
        assert_eq!((&*wanted[0], &*wanted[1]), (&*id(0), &*id(29_998)));
    }
}
