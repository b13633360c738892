//! What a sender waits for: the record that closes the call which its message opened, or the moment from
//! which only a person can go on. Records come in, in order, from wherever the log is read.

use crate::audit::posts::Posts;
use crate::audit::whole::Whole;
use crate::audit::why::Standing;
use crate::console::told::{Receipt, Record};
use crate::pump::pausing::halted;
use crate::pump::wake;
use crate::rules::core_payload::is_failed_report;
use crate::words::ids::ThreadId;
use crate::words::ports::LogReader;
use crate::words::record::{Kind, Mark, Role};
use crate::words::time::Millis;

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// With an answer.
    Answered,
    /// With a report that says of itself that it is a failure: there was no answer to give.
    Reported,
    /// Without one, as its listener may.
    Handled,
    /// With a failure: its code.
    Failed(String),
}

/// Whether a record closes the call that a receipt speaks of, and how.
pub(super) fn ending(receipt: &Receipt, record: &Record) -> Option<Ending> {
    if record.thread != receipt.thread || record.seq <= receipt.seq {
        return None;
    }
    let code = record.code.as_deref().unwrap_or_default();
    let kind = Kind::parse(&record.kind);
    if kind == Some(Kind::Terminal) {
        return Some(Ending::Failed(code.to_owned()));
    }
    if record.call.as_deref() != Some(&receipt.call) {
        return None;
    }
    match (kind, Mark::parse(code)) {
        (Some(Kind::Message), Some(Mark::Role(Role::Final))) => {
            let failed = is_failed_report(record.body.as_bytes());
            Some(if failed { Ending::Reported } else { Ending::Answered })
        }
        (Some(Kind::Outcome), Some(Mark::DeadLetter | Mark::ChildrenOpen | Mark::TodoOpen)) => None,
        (Some(Kind::Outcome), Some(Mark::Handled)) => Some(Ending::Handled),
        (Some(Kind::Outcome), _) => Some(Ending::Failed(code.to_owned())),
        _ => None,
    }
}

/// Whether a record may be the one after which only a person can go on.
pub(super) fn may_halt(record: &Record) -> bool {
    matches!(Kind::parse(&record.kind), Some(Kind::Approval | Kind::Steer))
}

/// Whether a thread is paused, or everything: then no record tells the sender so.
pub(super) fn is_paused(reader: &dyn LogReader, thread: &str) -> bool {
    let Ok(root) = ThreadId::parse(thread) else { return false };
    let woken = [root.clone(), ThreadId::sys()].map(|id| wake::wake(reader, &id).ok().flatten());
    halted(|id| woken.iter().flatten().find(|thread| thread.id == *id), &root).is_some()
}

/// Whether only a person can go on with a thread, as the log has it: nothing of it is worked on.
pub(super) fn waits_for_a_person(reader: &dyn LogReader, thread: &str) -> bool {
    let Ok(id) = ThreadId::parse(thread) else { return false };
    // What waits for a person is told by the fold alone, whatever the configurations say.
    let unread = |_: &[u8]| Err(String::new());
    let standing = || {
        let whole = Whole::look(reader, &unread, Some(std::process::id())).ok()?;
        let thread = whole.thread(reader, &id).ok()??;
        Standing::of(reader, &whole, &Posts::at(&whole, Millis(u64::MAX)), &thread).ok()
    };
    standing().is_some_and(|standing| standing.waits_for_a_person())
}
