//! What came of a run: the independent checker over the log and the clients' histories, the till's own
//! book, and whether a program was left behind. It changes nothing, and decides nothing by itself but
//! what the till's book says.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;
use systole_checker::history::History;
use systole_checker::log::Log;
use systole_checker::report::Report;
use systole_checker::{Terms, check_under};
use tokio::time::Instant;

use super::house::House;

/// Attempts at one turn that the workload's file allows.
const ATTEMPTS: u32 = 100;
/// How long a program may take to see the end of its stdin: one that is in a call to another program
/// sees it after that.
const LEAVE: Duration = Duration::from_secs(20);
/// Between two looks whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What came of a run.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// Messages that clients had acknowledged.
    pub acknowledged: u64,
    /// Of these, those that are not in the log.
    pub lost: u64,
    /// Messages that the log has more than once.
    pub doubled: u64,
    /// Acknowledged messages that were answered.
    pub answered: u64,
    /// Acknowledged messages that failed, with a reason in the log.
    pub failed: u64,
    /// Acknowledged messages that are still open.
    pub open: u64,
    /// Records in the log.
    pub records: u64,
    /// Threads in the log.
    pub threads: u64,
    /// Everything that is wrong, in words.
    pub findings: Vec<String>,
}

impl Verdict {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.doubled == 0 && self.open == 0 && self.findings.is_empty()
    }
}

/// Judges a run that was drained.
pub fn judge(house: &House, clients: u64) -> Result<Verdict, String> {
    let log = Log::read(&house.log()).map_err(|fault| fault.to_string())?;
    let histories: Result<Vec<History>, String> = (1..=clients)
        .map(|client| History::read(&house.history(client)).map_err(|why| why.to_string()))
        .collect();
    let terms = Terms { running: false, attempts: ATTEMPTS };
    let report = check_under(&log, &histories?, &terms);
    let mut findings = in_words(&report);
    findings.extend(asked_twice(house)?);
    findings.extend(left_behind(house));
    let counts = report.counts;
    Ok(Verdict {
        acknowledged: counts.acked,
        lost: counts.lost,
        doubled: counts.doubled,
        answered: counts.answered,
        failed: counts.failed,
        open: counts.open,
        records: counts.records,
        threads: counts.threads,
        findings,
    })
}

fn in_words(report: &Report) -> Vec<String> {
    report.findings.iter().map(ToString::to_string).collect()
}

/// The till says `on_unknown: fail`, so nobody may ask it twice for one piece of work.
fn asked_twice(house: &House) -> Result<Vec<String>, String> {
    let book = match std::fs::read_to_string(house.book()) {
        Ok(book) => book,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    let mut times: HashMap<&str, u32> = HashMap::new();
    book.lines().for_each(|key| *times.entry(key).or_default() += 1);
    let twice = times.into_iter().filter(|(_, times)| *times > 1);
    let words =
        twice.map(|(key, times)| ["till  was asked ", &times.to_string(), " times for ", key].concat());
    Ok(words.collect())
}

/// Every organism is dead: its programs have seen the end of their stdin, or are about to.
fn left_behind(house: &House) -> Option<String> {
    let patience = Instant::now() + LEAVE;
    loop {
        let dwellers = house.dwellers();
        if dwellers.is_empty() {
            return None;
        }
        if Instant::now() > patience {
            let pids: Vec<String> = dwellers.iter().map(ToString::to_string).collect();
            return Some(["left-behind  processes ", &pids.join(", "), " outlived their organism"].concat());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
