//! The deliveries and receipts of workers, from their own book, compared with the log: no answer of a listener
//! without a worker that was asked, none twice, and none lost whose receipt its worker has.
//!
//! It reads the records as the checker does, and shares no code with the pump.

use std::collections::{BTreeMap, BTreeSet};

use systole_checker::log::LogSnapshot;
use systole_checker::record::LogLine;
use systole_soak::house::RunFolder;

use super::FAR;

/// The outcome of a listener's turn.
#[derive(Default)]
struct Turn<'b> {
    /// The deliveries that workers got, with the number of times.
    asked: BTreeMap<&'b str, u64>,
    finals: u64,
}

/// The result of a run.
#[derive(Default, Debug)]
pub(crate) struct Told {
    /// Deliveries that workers got, each counted once.
    pub(crate) deliveries: u64,
    /// Of these, the deliveries that workers got more than once: a proxy or a killed broker handed them out again.
    pub(crate) handed_twice: u64,
    /// Deliveries that were another attempt at a turn.
    pub(crate) again: u64,
    /// Replies whose receipt a worker noted.
    pub(crate) kept: u64,
    /// Answers of far listeners in the log.
    pub(crate) finals: u64,
    pub(crate) findings: Vec<String>,
}

/// Every record of a log.
pub(super) fn records(house: &RunFolder) -> Vec<LogLine> {
    let mut records = Vec::new();
    LogSnapshot::open_file(&house.log()).unwrap().read_each(|record| records.push(record.unwrap())).unwrap();
    records
}

/// Compares the book with the records.
pub(super) fn judge(book: &str, records: &[LogLine]) -> Told {
    let (mut turns, mut kept): (BTreeMap<String, Turn<'_>>, Vec<&str>) = Default::default();
    let mut of: BTreeMap<&str, &str> = BTreeMap::new();
    for line in book.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["asked", _, key, _, delivery] => {
                *turns.entry(key.to_owned()).or_default().asked.entry(delivery).or_default() += 1;
                of.insert(delivery, key);
            }
            ["kept", _, delivery] => kept.push(delivery),
            // A worker killed in the middle of a line is impossible: a line is one write.
            _ => panic!("a line of the book: {line:?}"),
        }
    }
    let mut told = Told { kept: kept.len() as u64, ..Told::default() };
    let far: BTreeSet<&str> = FAR.iter().map(|(name, _)| *name).collect();
    for record in records.iter().filter(|record| far.contains(&*record.from)) {
        if (&*record.kind, record.code.as_deref()) != ("message", Some("final")) {
            continue;
        }
        let (call, turn) = (record.call.as_deref().unwrap(), record.turn.unwrap().to_string());
        let key = format!("{}:{call}:{turn}", record.thread);
        told.finals += 1;
        let turn = turns.entry(key.clone()).or_default();
        turn.finals += 1;
        if turn.asked.is_empty() {
            told.findings.push(format!("{} answered {key}, which it was never asked", record.from));
        }
        if turn.finals > 1 {
            told.findings.push(format!("{} answered {key} twice", record.from));
        }
    }
    for delivery in kept {
        let key = of.get(delivery).expect("its worker was asked before it replied");
        if turns.get(*key).is_none_or(|turn| turn.finals == 0) {
            told.findings.push(format!("the reply in {delivery} to {key} is lost"));
        }
    }
    told.count(&turns, book);
    told
}

impl Told {
    fn count(&mut self, turns: &BTreeMap<String, Turn<'_>>, book: &str) {
        let deliveries = || turns.values().flat_map(|turn| turn.asked.values());
        self.deliveries = deliveries().count() as u64;
        self.handed_twice = deliveries().filter(|times| **times > 1).count() as u64;
        self.again = turns.values().map(|turn| turn.asked.len().saturating_sub(1) as u64).sum();
        // The till has `on_unknown: fail`: after one delivery, no other follows, for any outcome.
        let tills = book.lines().filter_map(|line| line.strip_prefix("asked till "));
        let keys: BTreeSet<&str> = tills.filter_map(|rest| rest.split(' ').next()).collect();
        for key in keys {
            let times = turns.get(key).map_or(0, |turn| turn.asked.len());
            if times > 1 {
                self.findings.push(format!("the till was asked for {key} in {times} deliveries"));
            }
        }
    }
}
