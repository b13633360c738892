//! What a sender sees while it waits for the end of its call: who works, and the moment from which only a person can
//! continue.

use std::collections::BTreeSet;
use std::path::Path;

use systole_config as config;
use systole_core::pump::pausing::find_halt;
use systole_core::pump::state::CallState;
use systole_core::pump::wake;
use systole_core::rules::question;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{Clock as _, LogReader};
use systole_core::types::record::RecordKind;
use systole_core::types::time::{Millis, spell_duration};
use systole_queries::log_state::LogState;
use systole_queries::picture::{Pictured, RunPicture};
use systole_queries::posts::DueCalls;
use systole_queries::tree;
use systole_queries::why::{CallWait, ThreadWaits};
use systole_system::clock::WallClock;

use crate::{limits, workflow_steps};

/// Whether only a person may be able to continue after a record of this kind.
pub fn may_halt(kind: &str) -> bool {
    matches!(RecordKind::parse(kind), Some(RecordKind::Approval | RecordKind::Steer))
}

/// Whether a thread, or everything, is paused: in that case no record tells the sender.
pub fn is_paused(reader: &dyn LogReader, thread: &str) -> bool {
    let Ok(root) = ThreadId::parse(thread) else { return false };
    let woken = [root.clone(), ThreadId::new_sys()].map(|id| wake::wake_thread(reader, &id).ok().flatten());
    find_halt(|id| woken.iter().flatten().find(|thread| thread.id == *id), &root).is_some()
}

/// What a person can type to continue a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UpToAPerson {
    /// The commands that answer its questions.
    pub answers: Vec<String>,
}

/// Whether only a person can continue a thread, by the log: nothing in it is in progress.
pub fn find_wait_for_person(reader: &dyn LogReader, thread: &str) -> Option<UpToAPerson> {
    let id = ThreadId::parse(thread).ok()?;
    // The fold alone shows what waits for a person, regardless of the configurations.
    let unread = |_: &[u8]| Err(String::new());
    let standing = || {
        let whole = LogState::look(reader, &unread, Some(std::process::id())).ok()?;
        let thread = whole.thread(reader, &id).ok()??;
        ThreadWaits::of(reader, &whole, &DueCalls::at(&whole, Millis(u64::MAX)), &thread).ok()
    };
    let standing = standing().filter(ThreadWaits::waits_for_a_person)?;
    let answers = standing.leaves().into_iter().filter_map(|leaf| match &leaf.cause {
        CallWait::Question { id, choices, .. } => Some(question::spell_commands(*id, choices)),
        _ => None,
    });
    Some(UpToAPerson { answers: answers.collect() })
}

/// A listener whose reply is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenWork {
    /// The listener.
    pub listener: Name,
    /// Since when. A later moment than now is the time of its next attempt.
    pub since: Millis,
}

/// Who works on a thread and below it, by the log.
pub fn list_at_work(reader: &dyn LogReader, thread: &str) -> Vec<OpenWork> {
    let mut left: Vec<ThreadId> = ThreadId::parse(thread).into_iter().collect();
    let (mut work, mut looked_at) = (Vec::new(), 0);
    while let Some(id) = left.pop().filter(|_| looked_at < limits::WORKING_THREADS) {
        looked_at += 1;
        let Ok(Some(thread)) = wake::wake_thread(reader, &id) else { continue };
        for call in thread.calls.values() {
            left.extend(call.running().cloned());
            if matches!(call.stand(), CallState::Ready { .. }) {
                let since = call.ready_at.max(call.not_before);
                work.push(OpenWork { listener: call.listener.clone(), since });
            }
        }
    }
    work
}

/// The picture of the newest run in a thread, by the log; `None` if it has none.
pub fn draw_picture(reader: &dyn LogReader, thread: &str) -> Option<RunPicture> {
    let id = ThreadId::parse(thread).ok()?;
    let read = |source: &[u8]| config::read_source(source, Path::new(".")).map_err(|why| why.to_string());
    let whole = LogState::look(reader, &read, Some(std::process::id())).ok()?;
    let (tree, standing) = tree::standing(reader, &whole, &id, WallClock.now()).ok()??;
    match workflow_steps::draw_picture(reader, &whole, &tree, &standing).ok()? {
        Pictured::Run(run) => Some(*run),
        Pictured::Nothing | Pictured::Unread(_) => None,
    }
}

/// Who works, and for how long, in one line; `None` if no reply is due.
pub fn describe_work(work: &[OpenWork], now: Millis) -> Option<String> {
    let (late, due): (Vec<&OpenWork>, Vec<&OpenWork>) = work.iter().partition(|one| one.since > now);
    if due.is_empty() {
        let next = late.into_iter().min_by_key(|one| one.since)?;
        return Some(format!(
            "{} is tried again in {}",
            next.listener,
            format_seconds(next.since.count_since(now))
        ));
    }
    let names: BTreeSet<&Name> = due.iter().map(|one| &one.listener).collect();
    let names: Vec<&str> = names.into_iter().map(Name::as_str).collect();
    let who = match names.as_slice() {
        [one] => format!("{one} works"),
        [one, two] => format!("{one} and {two} work"),
        [one, two, more @ ..] => format!("{one}, {two} and {} more work", more.len()),
        [] => return None,
    };
    let longest = due.iter().map(|one| now.count_since(one.since)).max().unwrap_or_default();
    Some(if longest < 1000 { who } else { format!("{who}, {}", format_seconds(longest)) })
}

/// A time in whole seconds, since the line is updated in place and read at a glance.
fn format_seconds(ms: u64) -> String {
    if ms < 10_000 { format!("{} s", ms / 1000) } else { spell_duration(ms) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_fits_into_a_line() {
        let work = |names: &[(&str, u64)]| {
            let one = |(name, at): &(&str, u64)| OpenWork {
                listener: Name::parse(name).unwrap(),
                since: Millis(*at),
            };
            describe_work(&names.iter().map(one).collect::<Vec<_>>(), Millis(75_000))
        };
        assert_eq!(work(&[]), None);
        assert_eq!(work(&[("greeter", 71_900)]).unwrap(), "greeter works, 3 s");
        assert_eq!(work(&[("greeter", 74_900)]).unwrap(), "greeter works");
        assert_eq!(work(&[("b", 71_900), ("a", 10_000), ("a", 74_900)]).unwrap(), "a and b work, 1 m 5 s");
        let many = [("d", 75_000), ("c", 75_000), ("b", 71_900), ("a", 74_000)];
        assert_eq!(work(&many).unwrap(), "a, b and 2 more work, 3 s");
        assert_eq!(work(&[("b", 90_000), ("a", 79_500)]).unwrap(), "a is tried again in 4 s");
        assert_eq!(work(&[("a", 79_500), ("b", 74_000)]).unwrap(), "b works, 1 s");
    }
}
