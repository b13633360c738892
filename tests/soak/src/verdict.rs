//! The result of a run: the independent checker over the log and the clients' histories, the till's own
//! book, the dealers' book, and whether a program was left behind. It changes nothing, and judges only by
//! these sources.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use systole_checker::history::ClientHistory;
use systole_checker::log::LogSnapshot;
use systole_checker::report::CheckReport;
use systole_checker::{RunSettings, check_under};
use tokio::time::Instant;

use super::ClientTally;
use super::deals::JournalContent;
use super::house::RunFolder;
use super::orders::OrderEffects;
use super::roll::RowCounts;
use super::settle;

/// Attempts at one turn that the workload's file allows.
const ATTEMPTS: u32 = 100;
/// The file's limits for one message from outside.
const MESSAGES: u32 = 25;
const CHILDREN: u32 = 6;
const DEPTH: u32 = 4;
const TOKENS: u64 = 220;
const MICROS: u64 = 1_000_000;
/// The file leaves this one out.
const REQUESTS: u64 = 300;
/// How long a program may take to notice the end of its stdin: a program that calls another one notices it
/// later.
const LEAVE: Duration = Duration::from_secs(20);
/// The pause between two checks of that.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The result of a run.
#[derive(Debug, Serialize)]
pub struct SoakResult {
    /// Messages that were acknowledged to clients.
    pub acknowledged: u64,
    /// Acknowledged messages that are not in the log.
    pub lost: u64,
    /// Messages that the log has more than once.
    pub doubled: u64,
    /// Acknowledged messages that were answered.
    pub answered: u64,
    /// Acknowledged messages that failed, with a reason in the log.
    pub failed: u64,
    /// Acknowledged messages that are still open, each in a wait that `systole why` names.
    pub open: u64,
    /// Acknowledged steering messages that joined existing work.
    pub joined: u64,
    /// Orders that were carried out, each in the log exactly once.
    pub orders: u64,
    /// Records in the log.
    pub records: u64,
    /// Threads in the log.
    pub threads: u64,
    /// Threads that have ended.
    pub ended: u64,
    /// Threads at rest.
    pub resting: u64,
    /// Threads that wait.
    pub waiting: u64,
    /// Their waits, in the words of `systole why`.
    pub waits: BTreeMap<String, u64>,
    /// How often each primitive was used and each event occurred.
    #[serde(serialize_with = "as_map")]
    pub occurred: Vec<(&'static str, u64)>,
    /// Everything that is wrong, in words.
    pub findings: Vec<String>,
}

impl SoakResult {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.lost == 0 && self.doubled == 0 && self.findings.is_empty()
    }

    /// What never occurred.
    pub fn missed(&self) -> impl Iterator<Item = &'static str> {
        self.occurred.iter().filter(|(_, count)| *count == 0).map(|(name, _)| *name)
    }
}

fn as_map<S: serde::Serializer>(rows: &[(&'static str, u64)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(rows.iter().copied())
}

/// Judges a drained run, with the tally of its clients and orders.
pub fn judge(house: &RunFolder, clients: u64, tally: &ClientTally) -> Result<SoakResult, String> {
    let log = LogSnapshot::open_file(&house.log()).map_err(|fault| fault.to_string())?;
    let histories: Result<Vec<ClientHistory>, String> = (1..=clients)
        .map(|client| ClientHistory::read_file(&house.history(client)).map_err(|why| why.to_string()))
        .collect();
    let (messages, children, depth) = (Some(MESSAGES), Some(CHILDREN), Some(DEPTH));
    // Open messages are explained below.
    let (tokens, micros, requests) = (Some(TOKENS), Some(MICROS), Some(REQUESTS));
    let (running, attempts, is_local, outage_ms) = (true, ATTEMPTS, true, None);
    let terms = RunSettings {
        running,
        attempts,
        is_local,
        outage_ms,
        messages,
        children,
        depth,
        tokens,
        micros,
        requests,
    };
    let report = check_under(&log, &histories?, &terms);
    let mut findings = in_words(&report);
    let open = report.open.iter().map(|open| (open.thread.as_str(), open.to_string()));
    findings.extend(settle::unnamed(&tally.waits, open));
    let (mut roll, mut deeds, mut deals) =
        (RowCounts::default(), OrderEffects::default(), JournalContent::default());
    let read = log.read_each(|record| {
        // The checker finds a row that cannot be read.
        let _unread = record.map(|record| {
            roll.see(&record);
            deeds.see(&record);
            deals.see(&record);
        });
    });
    read.map_err(|fault| fault.to_string())?;
    findings.extend(deeds.missing(&tally.orders));
    findings.extend(asked_twice(house)?);
    findings.extend(deals.wrong(&book(&house.deals())?));
    findings.extend(left_behind(house));
    let counts = report.counts;
    Ok(SoakResult {
        acknowledged: counts.acked,
        lost: counts.lost,
        doubled: counts.doubled,
        answered: counts.answered,
        failed: counts.failed,
        open: counts.open,
        records: counts.records,
        threads: counts.threads,
        joined: counts.joined,
        orders: tally.orders.len() as u64,
        ended: counts.ended,
        resting: counts.resting,
        waiting: counts.working,
        waits: tally.waits.iter().fold(BTreeMap::new(), |mut waits, wait| {
            *waits.entry(wait.cause.clone()).or_default() += 1;
            waits
        }),
        occurred: roll.counts(),
        findings,
    })
}

fn in_words(report: &CheckReport) -> Vec<String> {
    report.findings.iter().map(ToString::to_string).collect()
}

/// The till has `on_unknown: fail`, so it must not be asked twice for one piece of work.
fn asked_twice(house: &RunFolder) -> Result<Vec<String>, String> {
    let book = book(&house.book())?;
    let mut times: HashMap<&str, u32> = HashMap::new();
    book.lines().for_each(|key| *times.entry(key).or_default() += 1);
    let twice = times.into_iter().filter(|(_, times)| *times > 1);
    let words = twice.map(|(key, times)| format!("till  was asked {times} times for {key}"));
    Ok(words.collect())
}

/// A program's book; empty if it never wrote anything.
fn book(path: &Path) -> Result<String, String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| error.to_string()),
    }
}

/// All organisms are dead: their programs have seen the end of their stdin, or will soon.
fn left_behind(house: &RunFolder) -> Option<String> {
    let patience = Instant::now() + LEAVE;
    loop {
        let dwellers = house.dwellers();
        if dwellers.is_empty() {
            return None;
        }
        if Instant::now() > patience {
            let pids: Vec<String> = dwellers.iter().map(ToString::to_string).collect();
            return Some(format!("left-behind  processes {} outlived their organism", pids.join(", ")));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
