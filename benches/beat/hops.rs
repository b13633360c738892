//! Hops: from a payload's bytes to its commit and its delivery to a listener, durable and in memory,
//! and the latency of a single hop. Only the time between two commits in the middle of a walk counts:
//! every walker starts before the first and continues after the second.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use systole_core::types::ports::{Commit, LogBatch, LogWriter as _};
use systole_core::types::record::Record;
use systole_log::memory::MemoryLog;
use systole_organism::plan::LogPlace;
use systole_organism::running::Organism;

use crate::floors::{self, FloorTable, Ground};
use crate::report::{Table, quantile, sized, worked, worked_by_threads};
use crate::route;
use crate::walk::{self, Course, GRACE, Stage};

/// Bytes of text in each payload of a hop.
pub(crate) const TEXT: usize = 512;

/// The speed of hops: hops per second, and processor microseconds for each.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) rate: f64,
    pub(crate) work_us: f64,
}

impl Pace {
    pub(crate) fn of(hops: u64, seconds: f64, worked: f64) -> Pace {
        Pace { rate: hops as f64 / seconds, work_us: worked * 1e6 / hops as f64 }
    }
}

/// The threads of an organism, with what they do.
const THREADS: [(&str, &str); 4] = [
    ("pump", "  of that the pump"),
    ("log-writer", "  the writer of the log"),
    ("validator-0", "  the validator"),
    ("tokio-rt-worker", "  the listeners"),
];

/// The pace with that many in flight, after an uncounted tenth of the hops.
pub(crate) async fn pace(organism: &Organism, course: &Arc<Course>, in_flight: usize, hops: u64) -> Pace {
    pace_of_threads(organism, course, in_flight, hops).await.0
}

/// The same, with the processor microseconds that each of the threads takes for a hop.
async fn pace_of_threads(
    organism: &Organism,
    course: &Arc<Course>,
    in_flight: usize,
    hops: u64,
) -> (Pace, [f64; 4]) {
    walk::begin(organism, course, (0..in_flight).map(|n| format!("walk-{n}"))).await;
    course.gathered(in_flight).await;
    let gathered = organism.handle().end().0;
    course.is_now(Stage::Walk(u32::MAX));
    let (from, began) = walk::reached(organism, gathered + hops / 10).await;
    let (before, threads_before) = (worked().0, worked_by_threads());
    let (to, ended) = walk::reached(organism, from + hops).await;
    let (after, threads_after) = (worked().0, worked_by_threads());
    course.is_now(Stage::Home);
    let of = |name: &str| threads_after.get(name).unwrap_or(&0.0) - threads_before.get(name).unwrap_or(&0.0);
    let threads = THREADS.map(|(name, _)| of(name) * 1e6 / (to - from) as f64);
    (Pace::of(to - from, (ended - began).as_secs_f64(), after - before), threads)
}

/// Adds the figures and their floors: the rates, and the processor time of each hop.
fn tell(table: &mut Table, what: &str, target: &'static str, paces: &[(Pace, Pace)]) {
    let rates: Vec<_> = paces.iter().map(|(pace, floor)| (pace.rate, floor.rate)).collect();
    let works: Vec<_> = paces.iter().map(|(pace, floor)| (pace.work_us, floor.work_us)).collect();
    table.add(what, "/s", target, &rates);
    table.add("  processor time of one of them", "us", "", &works);
}

/// Durable hops next to plain inserts of the same records.
pub(crate) fn durable(table: &mut Table) {
    let most = sized("HOPS", 200_000) as u64;
    for (in_flight, hops, target) in
        [(64, most / 4, "at least 0.5"), (1024, most, "at least 0.6, and 80,000/s")]
    {
        let (mut paces, mut shares) = (Vec::new(), THREADS.map(|_| Vec::new()));
        let mut alone = Vec::new();
        for _ in 0..table.runs {
            let folder = tempfile::tempdir_in("target").unwrap();
            let log = folder.path().join("bench.db");
            let course = Course::new(TEXT, 1, Stage::Gather);
            let (pace, of_threads) = walk::runtime().block_on(async {
                let organism = walk::start(LogPlace::File(log.clone()), &course, 1).await;
                let pace = pace_of_threads(&organism, &course, in_flight, hops).await;
                organism.stop(GRACE).await;
                pace
            });
            let records = floors::records(&systole_log::sqlite::open_reading(&log).unwrap());
            let before = worked().0;
            let took = floors::inserts(folder.path(), FloorTable::Indexed, &records, in_flight);
            paces.push((pace, Pace::of(records.len() as u64, took, worked().0 - before)));
            let before = worked().0;
            floors::inserts(folder.path(), FloorTable::Lean, &records, in_flight);
            let lean = worked().0 - before;
            let micros = |worked: f64| worked * 1e6 / records.len() as f64;
            alone.push((micros(written(&folder.path().join("alone.db"), &records, in_flight)), micros(lean)));
            shares.iter_mut().zip(of_threads).for_each(|(all, one)| all.push((one, f64::NAN)));
        }
        tell(table, &format!("durable hops, {in_flight} in flight"), target, &paces);
        for ((_, what), shares) in THREADS.iter().zip(&shares) {
            table.add(what, "us", "", shares);
        }
        let what = "  the writer alone, beside inserts without indexes";
        table.add(what, "us", "at most 1.3", &alone);
    }
}

/// The processor seconds that the writer of the log takes for the same records, in batches of that size.
fn written(log: &Path, records: &[Record], batch: usize) -> f64 {
    let mut opened = systole_log::sqlite::open_log(log).unwrap();
    let records: Vec<_> = records.iter().map(|record| Arc::new(record.clone())).collect();
    let before = worked().0;
    for records in records.chunks(batch) {
        let batch = LogBatch { records: records.to_vec(), ..LogBatch::default() };
        assert!(matches!(opened.writer.commit_batch(&batch), Commit::Committed(_)));
    }
    worked().0 - before
}

/// Single hops, each measured separately: from the moment one listener has its delivery to the moment
/// the next one has the answer. Next to it the sync of the same number of bytes.
pub(crate) fn alone(table: &mut Table) {
    let hops = sized("ALONE", 2_000);
    let (mut p50, mut p99, mut grown, mut mean) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let folder = tempfile::tempdir_in("target").unwrap();
        let log = folder.path().join("bench.db");
        let syncs = |ground| floors::fdatasync(folder.path(), ground, 1024, hops / 2);
        // Half of them before and half after, so that a disk that changes its speed affects both.
        let (mut prepared, mut appended) = (syncs(Ground::Prepared), syncs(Ground::Grown));
        let took = walk::runtime().block_on(one_by_one(log.clone(), hops as u64));
        prepared.extend(syncs(Ground::Prepared));
        appended.extend(syncs(Ground::Grown));
        let records = floors::records(&systole_log::sqlite::open_reading(&log).unwrap());
        let inserted =
            floors::inserts(folder.path(), FloorTable::Indexed, &records, 1) / records.len() as f64;
        mean.push((took.iter().sum::<f64>() / took.len() as f64 * 1e6, inserted * 1e6));
        let micros = |values: &[f64], share| quantile(values, share) * 1e6;
        p50.push((micros(&took, 0.5), micros(&prepared, 0.5)));
        p99.push((micros(&took, 0.99), micros(&prepared, 0.99)));
        grown.push((micros(&took, 0.5), micros(&appended, 0.5)));
    }
    table.add("one durable hop alone, p50, beside an fdatasync", "us", "at most 2", &p50);
    table.add("  p99 beside p99", "us", "", &p99);
    table.add("  p50 beside an fdatasync that grows its file", "us", "", &grown);
    table.add("  mean beside an SQLite commit of its record", "us", "", &mean);
}

/// The seconds of each of that many hops of one walker.
pub(crate) async fn one_by_one(log: PathBuf, hops: u64) -> Vec<f64> {
    let course = Course::watched(TEXT);
    let organism = walk::start(LogPlace::File(log), &course, 1).await;
    each(organism, &course, hops).await
}

/// The same for an organism that is already running.
pub(crate) async fn each(organism: Organism, course: &Arc<Course>, hops: u64) -> Vec<f64> {
    walk::begin(&organism, course, std::iter::once("walk".to_owned())).await;
    course.gathered(1).await;
    let gathered = organism.handle().end().0;
    course.is_now(Stage::Walk(u32::MAX));
    let (warm, _) = walk::reached(&organism, gathered + hops / 10).await;
    course.anew();
    walk::reached(&organism, warm + hops).await;
    let took = course.between();
    course.is_now(Stage::Home);
    organism.stop(GRACE).await;
    took
}

/// The same without a disk, next to a loop that only judges and passes on the same payloads.
pub(crate) fn in_memory(table: &mut Table) {
    let hops = sized("HOPS", 200_000) as u64;
    let mut paces = [Vec::new(), Vec::new()];
    for _ in 0..table.runs {
        for (validators, paces) in (1..).zip(&mut paces) {
            let course = Course::new(TEXT, validators, Stage::Gather);
            let pace = walk::runtime().block_on(async {
                let organism = walk::start(LogPlace::Memory(MemoryLog::new()), &course, validators).await;
                let pace = pace(&organism, &course, 1024, hops).await;
                organism.stop(GRACE).await;
                pace
            });
            paces.push((pace, route::route(validators, 1024, hops, TEXT)));
        }
    }
    let [one, two] = paces;
    tell(table, "memory log, 1,024 in flight, one validator", "at least 0.65", &one);
    tell(table, "memory log, 1,024 in flight, two validators", "", &two);
    let gains = two.iter().zip(&one);
    let gains: Vec<_> = gains.map(|(two, one)| (two.0.rate / one.0.rate, two.1.rate / one.1.rate)).collect();
    table.add("what the second validator gives", "times", "1.8", &gains);
}

/// A short run on the memory log, for a profiler.
pub(crate) fn profile() {
    let course = Course::new(TEXT, 1, Stage::Gather);
    walk::runtime().block_on(async {
        let organism = walk::start(LogPlace::Memory(MemoryLog::new()), &course, 1).await;
        pace(&organism, &course, 64, sized("HOPS", 10_000) as u64).await;
        organism.stop(Duration::from_secs(2)).await;
    });
}
