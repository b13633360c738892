//! Notices calls that have waited for too long, and has them recorded once, so that followers are told.
//!
//! It looks at the state of the log a few times within `limits.stuck`. Nothing waits for it. What was noticed before is
//! in the log's own thread, so a restart repeats nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use systole_core::pump::engine::PumpInput;
use systole_core::pump::event::PumpNotice;
use systole_core::rules::stuck_payload::{StuckCalls, read_stuck};
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::{Clock as _, LogFault, LogReader};
use systole_core::types::time::Millis;
use systole_queries::log_state::LogState;
use systole_queries::posts::DueCalls;
use systole_queries::why::ThreadWaits;
use systole_system::clock::WallClock;
use systole_system::tasks::{self, RunningTask, TaskKind};

use crate::front::OrganismHandle;
use crate::limits;

/// When calls to a listener were last counted that wait for the same. Those that had waited for too long by then are on
/// record.
type LastCounts = HashMap<(Name, String), Millis>;

/// Looks for such calls until the pump ends.
pub(super) fn start_watch(front: OrganismHandle) -> RunningTask {
    let after = front.composition().stuck_ms;
    let pause = Duration::from_millis(after / limits::LOOKS_WITHIN_STUCK);
    let work = async move {
        let (mut counted, mut said) = (None, None);
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = front.followed.wait_for_end() => return,
            }
            let (looking, known) = (front.clone(), counted.clone());
            let looked = tokio::task::spawn_blocking(move || look_once(&looking, known)).await;
            let why = match looked {
                Ok(Ok((stuck, counts))) => {
                    counted = counts;
                    for calls in stuck {
                        front.send_input(PumpInput::Noticed(PumpNotice::Stuck(calls))).await;
                    }
                    None
                }
                Ok(Err(fault)) => Some(fault.to_string()),
                Err(_) => Some("the thread that reads the log ended in a panic".to_owned()),
            };
            if why.is_some() && why != said {
                let fix = "systole verify; systole why shows what waits";
                tracing::warn!(why, fix, "calls that wait for too long are not noticed");
            }
            said = why;
        }
    };
    let fallen = |panic| async move {
        let fix = "systole stop, then systole run; until then systole why shows what waits";
        tracing::error!(why = %panic, fix, "the task that notices calls that wait for too long ended");
    };
    tasks::start_task(TaskKind::Stuck, work, fallen)
}

/// The calls that have waited for too long and are not on record, and when which were counted. The log is asked for
/// what was counted before only if something waits.
fn look_once(
    front: &OrganismHandle,
    counted: Option<LastCounts>,
) -> Result<(Vec<StuckCalls>, Option<LastCounts>), LogFault> {
    let (reader, now, after) = (&**front.reader(), WallClock.now(), front.composition().stuck_ms);
    let read = |source: &[u8]| front.read_configuration(source);
    let whole = LogState::look(reader, &read, Some(std::process::id()))?;
    let waits = list_waits(reader, &whole, now)?;
    if waits.iter().all(|wait| now.count_since(wait.since) < after) {
        return Ok((Vec::new(), counted));
    }
    let mut counts = counted.map_or_else(|| read_counts(reader), Ok)?;
    let mut found: BTreeMap<(Name, String), StuckCalls> = BTreeMap::new();
    for wait in waits {
        let of = (wait.listener.clone(), wait.cause.clone());
        let is_new = counts.get(&of).is_none_or(|last| last.count_since(wait.since) < after);
        if now.count_since(wait.since) < after || !is_new {
            continue;
        }
        match found.get_mut(&of) {
            Some(longest) => {
                let calls = longest.calls + 1;
                if wait.since < longest.since {
                    *longest = wait;
                }
                longest.calls = calls;
            }
            None => drop(found.insert(of, wait)),
        }
    }
    counts.extend(found.keys().map(|of| (of.clone(), now)));
    Ok((found.into_values().collect(), Some(counts)))
}

/// Every call that waits for other than a person, a timer or another call of its own thread.
fn list_waits(reader: &dyn LogReader, whole: &LogState, now: Millis) -> Result<Vec<StuckCalls>, LogFault> {
    let (posts, mut waits) = (DueCalls::at(whole, now), Vec::new());
    for thread in whole.waiting() {
        let standing = ThreadWaits::of(reader, whole, &posts, thread)?;
        waits.extend(standing.leaves().into_iter().filter(|leaf| !leaf.cause.may_last()).map(|leaf| {
            StuckCalls {
                listener: leaf.listener.clone(),
                cause: leaf.cause.as_str().to_owned(),
                calls: 1,
                thread: leaf.thread.clone(),
                call: leaf.call.clone(),
                since: leaf.since,
                at: now,
            }
        }));
    }
    Ok(waits)
}

/// When which calls were counted last, as the log says.
fn read_counts(reader: &dyn LogReader) -> Result<LastCounts, LogFault> {
    let mut counts = LastCounts::new();
    for placed in reader.records_of(&ThreadId::new_sys(), 1) {
        if let Some(stuck) = read_stuck(&placed?.1.body) {
            counts.insert((stuck.listener, stuck.cause), stuck.at);
        }
    }
    Ok(counts)
}
