//! An independent judge of a run: it reads a log and the clients' own histories, and reports what is
//! wrong.
//!
//! It shares no code with the pump and depends on nothing of it: the tables, the hashes, the meaning of
//! records and the order of events are written here a second time, from the pages that define them. So a
//! mistake in one of the two does not hide in the other. It never writes, and never repairs.
//!
//! In reading order: [`record`] and [`log`] read; `meaning` says what a record does; `ledger` folds what
//! it does into open calls; `rules` judge; [`report`] reports it. `docs/reference/checker.md` names
//! every rule.

pub mod history;
pub mod log;
pub mod record;
pub mod report;

mod ledger;
mod meaning;
mod path;
mod rules;
mod tag;

use crate::history::ClientHistory;
use crate::ledger::{CheckLedger, LedgerStep};
use crate::log::{LogFileFault, LogSnapshot, UnreadRow};
use crate::record::LogLine;
use crate::report::{CheckFinding, CheckReport};
use crate::rules::clients::ClientRules;
pub use crate::rules::{RunSettings, list_names};

/// Judges the log of a drained run, and its clients' histories.
pub fn check_log(log: &LogSnapshot, histories: &[ClientHistory]) -> CheckReport {
    check_under(log, histories, &RunSettings::default())
}

/// Judges the log of a run, and its clients' histories, under the given terms.
pub fn check_under(log: &LogSnapshot, histories: &[ClientHistory], terms: &RunSettings) -> CheckReport {
    let mut log_check = LogCheck::new(histories, terms);
    let read = log.read_each(|read| match read {
        Ok(record) => log_check.take_record(&record),
        Err(unread) => log_check.pass_over(unread),
    });
    if let Err(fault) = read {
        log_check.stop_at(&fault);
    }
    log_check.into_report()
}

/// Judges records in memory, in order of position, as if they had been read from a file.
pub fn check_records(
    records: impl IntoIterator<Item = LogLine>,
    histories: &[ClientHistory],
    terms: &RunSettings,
) -> CheckReport {
    let mut log_check = LogCheck::new(histories, terms);
    records.into_iter().for_each(|record| log_check.take_record(&record));
    log_check.into_report()
}

/// A check in progress: what was read so far, and what was found.
struct LogCheck<'t> {
    terms: &'t RunSettings,
    ledger: CheckLedger,
    clients: ClientRules,
    report: CheckReport,
}

impl<'t> LogCheck<'t> {
    fn new(histories: &[ClientHistory], terms: &'t RunSettings) -> LogCheck<'t> {
        let clients = ClientRules::from_histories(histories);
        LogCheck { terms, ledger: CheckLedger::default(), clients, report: CheckReport::default() }
    }

    fn take_record(&mut self, record: &LogLine) {
        let report = &mut self.report;
        if record.has_erased() {
            report.is_erased_in(&record.thread);
        }
        let mut find = |rule, words| {
            let (position, thread, seq) = (record.position, record.thread.clone(), record.seq);
            report.add_finding(CheckFinding { rule, position, thread, seq, words });
        };
        let act = meaning::read_act(record);
        let step = LedgerStep::new(record, act.as_ref().ok().copied());
        if let Err(words) = act {
            find("meaning", words);
        }
        for (rule, judge) in rules::ON_RECORD {
            if let Some(words) = judge(&self.ledger, &step, self.terms) {
                find(rule, words);
            }
        }
        self.clients.note_step(&step);
        self.ledger.apply_step(&step);
    }

    fn pass_over(&mut self, UnreadRow { position, why }: UnreadRow) {
        self.report.add_finding(CheckFinding {
            rule: "row",
            position,
            thread: String::new(),
            seq: 0,
            words: why,
        });
        self.ledger.skip_to(position);
    }

    fn stop_at(&mut self, fault: &LogFileFault) {
        let words = format!("nothing can be read after this position: {fault}");
        let position = self.ledger.position;
        self.report.add_finding(CheckFinding { rule: "row", position, thread: String::new(), seq: 0, words });
    }

    fn into_report(self) -> CheckReport {
        let LogCheck { terms, ledger, clients, mut report } = self;
        for rule in rules::ON_END {
            rule(&ledger, terms).into_iter().for_each(|finding| report.add_finding(finding));
        }
        report.counts.records = ledger.records;
        report.counts.threads = ledger.threads.len() as u64;
        for thread in ledger.threads.values() {
            let count = match (thread.ended, thread.calls.is_empty()) {
                (Some(_), _) => &mut report.counts.ended,
                (None, true) => &mut report.counts.resting,
                (None, false) => &mut report.counts.working,
            };
            *count += 1;
        }
        clients.judge_messages(&mut report);
        report.open = rules::rest::open_calls(&ledger);
        report.findings.sort_by_key(|finding| finding.position);
        report
    }
}
