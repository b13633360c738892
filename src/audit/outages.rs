//! Who is away, and how many open calls wait for it, by the log.

use std::collections::BTreeMap;

use systole_core::pump::wake;
use systole_core::rules::outage_words;
use systole_core::types::ports::{LogFault, LogReader};
use systole_core::types::time::{Millis, spoken};

/// A line for each who is away: `model main is away: 3 calls wait, longest 2 m`.
pub fn lines(reader: &dyn LogReader, now: Millis) -> Result<Vec<String>, LogFault> {
    let mut away: BTreeMap<String, (usize, Millis)> = BTreeMap::new();
    for thread in wake::threads_at_work(reader)?.values() {
        for call in thread.calls.values() {
            let Some(wait) = &call.waits else { continue };
            let own = call.away_since.unwrap_or(wait.since);
            let (calls, since) = away.entry(outage_words(&wait.outage, &call.listener)).or_insert((0, own));
            (*calls, *since) = (*calls + 1, own.min(*since));
        }
    }
    let lines = away.into_iter().map(|(who, (calls, since))| {
        let calls = if calls == 1 { "1 call waits".to_owned() } else { format!("{calls} calls wait") };
        format!("{who}: {calls}, longest {}", spoken(now.since(since)))
    });
    Ok(lines.collect())
}
