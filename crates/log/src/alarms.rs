//! Alarms: what keeps the log from being written as it should while an organism runs. They are a full disk, a tip
//! that cannot be written, and a write that failed. Each is reported once when it begins and once when it ends, and is
//! kept for those who ask later. It ends once nothing has failed for a while: on a disk that is nearly full, small
//! writes succeed between large ones that fail.
//!
//! Beginnings and ends come in; events for the operator and the list of alarms go out. It writes no file, because the
//! disk may be full.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use systole_core::types::ports::Clock as _;
use systole_core::types::time::{Millis, spell_duration};
use systole_system::clock::WallClock;

use crate::limits;

/// The kinds of alarms. A log has at most one of each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AlarmKind {
    /// Nothing can be stored until there is room, or until the broker answers.
    Stalled,
    /// A write failed, and it is unknown whether it is stored.
    Write,
    /// The file that names the end of the log is behind.
    Tip,
}

/// What keeps the log from being written as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogAlarm {
    /// Its kind.
    pub kind: AlarmKind,
    /// What happens, where, and the consequence.
    pub words: String,
    /// The fix.
    pub fix: &'static str,
    /// When it began.
    pub since: Millis,
    /// When it ended; `None` if it lasts.
    pub until: Option<Millis>,
    /// Since when nothing has failed, although it has not ended yet, and in ticks: the clock on the wall may be set.
    calm: Option<(Millis, Millis)>,
}

/// The alarms of one log. Clones share them.
#[derive(Clone)]
pub struct LogAlarms {
    log: Arc<str>,
    is_far: bool,
    all: Arc<Mutex<BTreeMap<AlarmKind, LogAlarm>>>,
}

impl LogAlarms {
    /// Those of a log in a file.
    pub fn of_file(log: &Path) -> LogAlarms {
        LogAlarms { log: log.display().to_string().into(), is_far: false, all: Arc::default() }
    }

    /// Those of a log in a broker, or in memory, by its name.
    pub fn of_name(log: &str, is_far: bool) -> LogAlarms {
        LogAlarms { log: log.into(), is_far, all: Arc::default() }
    }

    /// Something failed: an alarm begins, or goes on. It is reported unless it lasts already.
    pub fn raise_alarm(&self, kind: AlarmKind, why: &dyn Display) {
        let alarm = self.make_alarm(kind, why);
        let mut all = self.lock_alarms();
        if let Some(known) = all.get_mut(&kind).filter(|known| known.until.is_none()) {
            known.calm = None;
            return;
        }
        all.insert(kind, alarm.clone());
        drop(all);
        tracing::error!(fix = alarm.fix, "{}", alarm.words);
    }

    /// What failed went well: the alarm ends if it stays so.
    pub fn clear_alarm(&self, kind: AlarmKind) {
        if let Some(alarm) = self.lock_alarms().get_mut(&kind).filter(|known| known.until.is_none()) {
            alarm.calm.get_or_insert_with(|| (WallClock.now(), WallClock.ticks()));
        }
    }

    /// Ends and reports the alarms without a failure for a while. At the end of the log, any time is enough.
    pub fn settle_alarms(&self, is_at_end: bool) {
        let mut ended = Vec::new();
        for (kind, alarm) in self.lock_alarms().iter_mut().filter(|(_, alarm)| alarm.until.is_none()) {
            if let Some((calm, _)) = alarm
                .calm
                .filter(|(_, since)| is_at_end || WallClock.ticks().count_since(*since) >= limits::CALM_MS)
            {
                alarm.until = Some(calm);
                ended.push((*kind, spell_duration(calm.count_since(alarm.since))));
            }
        }
        ended.into_iter().for_each(|(kind, long)| self.report_end(kind, &long));
    }

    fn report_end(&self, kind: AlarmKind, long: &str) {
        let log = &self.log;
        match kind {
            AlarmKind::Stalled => tracing::info!("{log} is written again, after {long}"),
            AlarmKind::Write => {
                tracing::info!("{log}: the write that failed is repeated, and nothing is lost");
            }
            AlarmKind::Tip => tracing::info!("the tip of {log} is written again, after {long}"),
        }
    }

    /// All alarms since the start, also those that ended.
    pub fn list_all(&self) -> Vec<LogAlarm> {
        self.lock_alarms().values().cloned().collect()
    }

    fn lock_alarms(&self) -> MutexGuard<'_, BTreeMap<AlarmKind, LogAlarm>> {
        // Every change is complete before anything can panic.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn make_alarm(&self, kind: AlarmKind, why: &dyn Display) -> LogAlarm {
        let log = &self.log;
        let (words, fix) = match kind {
            AlarmKind::Stalled => {
                let words =
                    format!("{log} cannot be written: {why}; new messages are refused, and open work waits");
                let fix = match self.is_far {
                    true => "the broker, so that it answers and has room; it goes on by itself",
                    false => "free space on that disk; it goes on by itself",
                };
                (words, fix)
            }
            AlarmKind::Write => (
                format!("{log}: a write failed: {why}; the log is read back before anything is acknowledged"),
                "look after that disk: dmesg has its errors; the organism stops if this goes on",
            ),
            AlarmKind::Tip => (
                format!("{why}; until it is written, a log that loses its end may not be noticed"),
                "make that file writable, with room on its disk; it goes on by itself",
            ),
        };
        LogAlarm { kind, words, fix, since: WallClock.now(), until: None, calm: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_kept_once_with_its_beginning_and_its_end() {
        let alarms = LogAlarms::of_file(Path::new("/x/organism.db"));
        assert!(alarms.list_all().is_empty());
        alarms.clear_alarm(AlarmKind::Stalled);
        alarms.raise_alarm(AlarmKind::Stalled, &"the disk is full");
        alarms.raise_alarm(AlarmKind::Stalled, &"the disk is still full");
        let [one] = alarms.list_all().try_into().unwrap();
        assert_eq!(
            one.words,
            "/x/organism.db cannot be written: the disk is full; new messages are refused, and open work waits"
        );
        assert_eq!((one.fix, one.until), ("free space on that disk; it goes on by itself", None));
        alarms.clone().clear_alarm(AlarmKind::Stalled);
        alarms.settle_alarms(false);
        assert_eq!(
            alarms.list_all().iter().map(|one| one.until).collect::<Vec<_>>(),
            [None],
            "it may come back"
        );
        alarms.raise_alarm(AlarmKind::Stalled, &"the disk is full again");
        alarms.settle_alarms(true);
        assert_eq!(alarms.list_all().iter().map(|one| one.until).collect::<Vec<_>>(), [None], "it came back");
        alarms.clear_alarm(AlarmKind::Stalled);
        alarms.settle_alarms(true);
        assert!(alarms.list_all().iter().all(|one| one.until.is_some_and(|until| until >= one.since)));
        alarms.raise_alarm(AlarmKind::Stalled, &"the disk is full");
        assert_eq!(alarms.list_all().iter().map(|one| one.until).collect::<Vec<_>>(), [None], "it came back");
    }
}
