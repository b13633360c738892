//! What a sender waits for beside the end of its call: the moment from which only a person can go on.

use crate::audit::posts::Posts;
use crate::audit::whole::Whole;
use crate::audit::why::Standing;
use crate::console::told::Record;
use crate::pump::pausing::halted;
use crate::pump::wake;
use crate::words::ids::ThreadId;
use crate::words::ports::LogReader;
use crate::words::record::Kind;
use crate::words::time::Millis;

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
