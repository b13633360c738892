//! The output of a judge: findings, open calls and counts, and their text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::path;
use crate::record::write_moment;

/// The number of findings of one rule that are stored; further ones are counted. A log that is
/// wrong from its first record on is wrong a million times, and the first hundred findings say
/// everything.
const KEPT_OF_A_RULE: u64 = 100;

/// A fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckFinding {
    /// The rule that found it.
    pub rule: &'static str,
    /// Its position in the log; 0 if unknown.
    pub position: u64,
    /// Its thread; empty if unknown.
    pub thread: String,
    /// The record of the thread; 0 if unknown.
    pub seq: u64,
    /// A description of the fault.
    pub words: String,
}

impl fmt::Display for CheckFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  position {}  {} {}  {}", self.rule, self.position, self.thread, self.seq, self.words)
    }
}

/// A call that is open at the end of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnfinishedCall {
    /// Its thread.
    pub thread: String,
    /// Its path in the thread.
    pub call: String,
    /// The listener that must answer it.
    pub listener: String,
    /// The position at which it was opened.
    pub position: u64,
    /// The record of the thread that opened it.
    pub seq: u64,
    /// When it was opened, in milliseconds since 1970 in UTC.
    pub since_ms: u64,
    /// What it waits for.
    pub waits_for: String,
}

impl fmt::Display for UnfinishedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = write_moment(self.since_ms);
        write!(
            f,
            "call {} to {} is open since {since} and waits for {}",
            self.call, self.listener, self.waits_for
        )
    }
}

/// The amounts, and the fate of the clients' messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReportCounts {
    /// Records in the log.
    pub records: u64,
    /// Threads in the log.
    pub threads: u64,
    /// Messages that a client got a receipt for.
    pub acked: u64,
    /// Of these, those that are not in the log.
    pub lost: u64,
    /// Keys of clients under which the log has more than one message.
    pub doubled: u64,
    /// Acknowledged messages whose call closed with an answer, or as handled.
    pub answered: u64,
    /// Acknowledged messages whose call closed in another way.
    pub failed: u64,
    /// Acknowledged messages whose call is open.
    pub open: u64,
    /// Acknowledged steering messages that joined an existing call.
    pub joined: u64,
    /// Threads that have ended.
    pub ended: u64,
    /// Threads without an open call, which may continue.
    pub resting: u64,
    /// Threads with an open call.
    pub working: u64,
    /// Records with erased parts.
    pub erased: u64,
    /// What rules on bodies found in trees with erased records: nothing can be said about it.
    pub not_judged: u64,
}

/// The result of a judge.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckReport {
    /// The faults, for each rule the first hundred, in order of the log.
    pub findings: Vec<CheckFinding>,
    /// How often each rule found something, stored or not.
    pub found: BTreeMap<&'static str, u64>,
    /// The calls that are open, oldest first.
    pub open: Vec<UnfinishedCall>,
    /// The amounts.
    pub counts: ReportCounts,
    /// The roots of the threads with erased records.
    erased: BTreeSet<String>,
}

/// The rules that compare what bodies say with other records.
const ON_BODIES: &[&str] = &[
    "approval", "attempt", "bought", "finished", "journal", "kept", "models", "question", "receipt", "seen",
    "steer", "takers", "timer", "token", "used", "view",
];

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes note of a record with erased parts.
    pub(crate) fn is_erased_in(&mut self, thread: &str) {
        self.counts.erased += 1;
        self.erased.insert(path::find_root(thread).to_owned());
    }

    pub(crate) fn add_finding(&mut self, finding: CheckFinding) {
        if ON_BODIES.contains(&finding.rule) && self.erased.contains(path::find_root(&finding.thread)) {
            self.counts.not_judged += 1;
            return;
        }
        let count = self.found.entry(finding.rule).or_default();
        *count += 1;
        if *count <= KEPT_OF_A_RULE {
            self.findings.push(finding);
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for (rule, count) in self.found.iter().filter(|(_, count)| **count > KEPT_OF_A_RULE) {
            writeln!(f, "{rule}  {} more", count - KEPT_OF_A_RULE)?;
        }
        for open in &self.open {
            writeln!(f, "open  position {}  {} {}  {open}", open.position, open.thread, open.seq)?;
        }
        let ReportCounts { records, threads, acked, lost, doubled, answered, failed, open, .. } = self.counts;
        if self.counts.erased > 0 {
            let ReportCounts { erased, not_judged, .. } = self.counts;
            writeln!(
                f,
                "{erased} records with erased parts; {not_judged} findings about bodies near them left out"
            )?;
        }
        writeln!(f, "{records} records in {threads} threads, {} findings", self.found.values().sum::<u64>())?;
        write!(
            f,
            "{acked} acknowledged: {lost} lost, {doubled} doubled, {answered} answered, {failed} failed, {open} open"
        )
    }
}
