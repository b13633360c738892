//! Who is away, and how many open calls wait for it, by the log.

use std::collections::BTreeMap;

use systole_core::pump::state::Thread;
use systole_core::pump::wake;
use systole_core::rules::outage_words;
use systole_core::types::ids::{CallPath, Name, ThreadId};
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::{Millis, spell_duration};

/// The open calls to a listener that wait for someone who is away, in all threads or in those of one client.
pub fn calls_to(
    reader: &dyn LogReader,
    to: &Name,
    of: Option<&Name>,
) -> Result<Vec<(ThreadId, CallPath)>, LogFault> {
    let threads = wake::threads_at_work(reader)?;
    let is_of = |thread: &Thread| {
        let root = threads.get(&thread.id.root_of()).unwrap_or(thread);
        of.is_none_or(|client| root.opener.as_ref().is_some_and(|opener| opener.sender == *client))
    };
    let calls = threads.values().filter(|thread| is_of(thread)).flat_map(|thread| {
        let waiting = thread.calls.iter().filter(|(_, call)| call.waits.is_some() && call.listener == *to);
        waiting.map(|(path, _)| (thread.id.clone(), path.clone()))
    });
    Ok(calls.collect())
}

/// A line for each who is away: `model main is away: 3 calls wait, longest 2 m`; and for each listener that repeats work.
pub fn lines(reader: &dyn LogReader, now: Millis) -> Result<Vec<String>, LogFault> {
    let mut away: BTreeMap<String, (usize, Millis)> = BTreeMap::new();
    let mut repeated: BTreeMap<Name, usize> = BTreeMap::new();
    for thread in wake::threads_at_work(reader)?.values() {
        for call in thread.calls.values() {
            if call.lost_with_pump > 0 {
                *repeated.entry(call.listener.clone()).or_default() += 1;
            }
            let Some(wait) = &call.waits else { continue };
            let own = call.away_since.unwrap_or(wait.since);
            let (calls, since) = away.entry(outage_words(&wait.outage, &call.listener)).or_insert((0, own));
            (*calls, *since) = (*calls + 1, own.min(*since));
        }
    }
    let lines = away.into_iter().map(|(who, (calls, since))| {
        let calls = if calls == 1 { "1 call waits".to_owned() } else { format!("{calls} calls wait") };
        format!("{who}: {calls}, longest {}", spell_duration(now.count_since(since)))
    });
    let again = repeated.into_iter().map(|(listener, calls)| {
        let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
        format!("{listener} repeats {calls}, which it may have had when the pump stopped")
    });
    Ok(lines.chain(again).collect())
}
