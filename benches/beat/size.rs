//! The disk cost of a message with a body of 1 KB: the file of a cleanly closed log, next to the payloads
//! in it; in two threads of 10,000 records and in the same number of records of short threads.

use systole_core::types::ids::ThreadId;
use systole_log::sqlite;
use systole_organism::plan::LogPlace;

use crate::floors;
use crate::report::{Table, sized};
use crate::walk::{self, Course, GRACE, MARKUP, Stage};

/// Bytes of a record in the file, and of its payload: the mean over a log of that many threads.
fn per_record(threads: usize, turns: u32) -> (f64, f64) {
    let folder = tempfile::tempdir_in("target").unwrap();
    let log = folder.path().join("bench.db");
    let course = Course::new(1024 - MARKUP, 1, Stage::Walk(turns));
    walk::runtime().block_on(async {
        let organism = walk::start(LogPlace::File(log.clone()), &course, 1).await;
        walk::begin(&organism, &course, (0..threads).map(|n| format!("walk-{n}"))).await;
        let walked = threads as u64 * walk::records(turns);
        let reader = organism.reader().clone();
        let sys = || reader.of_thread(&ThreadId::new_sys(), 1, 1_000).unwrap().len() as u64;
        walk::reached(&organism, walked + sys()).await;
        organism.stop(GRACE).await;
    });
    let records = floors::records(&sqlite::open_reading(&log).unwrap());
    let payload: usize = records.iter().map(|record| record.body.len()).sum();
    let file = std::fs::metadata(&log).unwrap().len();
    (file as f64 / records.len() as f64, payload as f64 / records.len() as f64)
}

/// Both shapes of log.
pub(crate) fn on_disk(table: &mut Table) {
    let all = sized("RECORDS", 20_000);
    for (what, turns) in [("10,000", 4_999), ("10", 4)] {
        // The same walk gives the same file except for random ids, so one run is enough.
        let threads = all / usize::try_from(walk::records(turns)).unwrap();
        let pair = per_record(threads.max(1), turns);
        table.add(&format!("a record of 1 KB on disk, threads of {what}"), "B", "at most 1.5", &[pair]);
    }
}
