//! Hops: a payload from bytes in hand to committed and handed to its listener, durable and in memory,
//! and the latency of one hop alone. Only what happens between two commits in the middle of a walk is
//! counted: every walker is on its way before the first and goes on after the second.

use std::sync::Arc;
use std::time::Duration;

use systole::edges::log::memory::Memory;
use systole::organism::running::{LogPlace, Organism};

use crate::report::{Table, median, quantile, sized};
use crate::walk::{self, Course, GRACE, Stage};
use crate::{floors, route};

/// Bytes of text in each payload of a hop.
const TEXT: usize = 512;

/// Hops a second with that many in flight, after a tenth as many that are not counted.
async fn rate(organism: &Organism, course: &Arc<Course>, in_flight: usize, hops: u64) -> f64 {
    walk::begin(organism, course, (0..in_flight).map(|n| format!("walk-{n}"))).await;
    course.gathered(in_flight).await;
    let gathered = organism.tail().borrow().0;
    course.is_now(Stage::Walk(u32::MAX));
    let (from, began) = walk::reached(organism, gathered + hops / 10).await;
    let (to, ended) = walk::reached(organism, from + hops).await;
    course.is_now(Stage::Home);
    (to - from) as f64 / (ended - began).as_secs_f64()
}

/// Durable hops beside plain inserts of the same records.
pub(crate) fn durable(table: &mut Table) {
    let most = sized("HOPS", 200_000) as u64;
    for (in_flight, hops, target) in
        [(64, most / 4, "at least 0.5"), (1024, most, "at least 0.6, and 80,000/s")]
    {
        let mut pairs = Vec::new();
        for _ in 0..table.runs {
            let folder = tempfile::tempdir_in("target").unwrap();
            let log = folder.path().join("bench.db");
            let course = Course::new(TEXT, 1, Stage::Gather);
            let rate = walk::runtime().block_on(async {
                let organism = walk::start(LogPlace::File(log.clone()), &course, 1).await;
                let rate = rate(&organism, &course, in_flight, hops).await;
                organism.stop(GRACE).await;
                rate
            });
            let records = floors::records(&systole::edges::log::sqlite::open_reading(&log).unwrap());
            let floor = floors::inserts(folder.path(), &log, &records, in_flight);
            pairs.push((rate, records.len() as f64 / floor));
        }
        table.add(&format!("durable hops, {in_flight} in flight"), "/s", target, &pairs);
    }
}

/// One hop alone, each measured by itself: from the moment at which one listener has its delivery to
/// the moment at which the next one has the answer. Beside it the sync of as many bytes appended.
pub(crate) fn alone(table: &mut Table) {
    let hops = sized("ALONE", 2_000);
    let (mut p50, mut p99) = (Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let folder = tempfile::tempdir_in("target").unwrap();
        let course = Course::watched(TEXT);
        let mut syncs = floors::fdatasync(folder.path(), 1024, hops / 2);
        let took = walk::runtime().block_on(async {
            let log = LogPlace::File(folder.path().join("bench.db"));
            let organism = walk::start(log, &course, 1).await;
            walk::begin(&organism, &course, std::iter::once("walk".to_owned())).await;
            course.gathered(1).await;
            let gathered = organism.tail().borrow().0;
            course.is_now(Stage::Walk(u32::MAX));
            let (warm, _) = walk::reached(&organism, gathered + hops as u64 / 10).await;
            course.anew();
            walk::reached(&organism, warm + hops as u64).await;
            let took = course.between();
            course.is_now(Stage::Home);
            organism.stop(GRACE).await;
            took
        });
        // Half of them before and half after, so that a disk that changes its pace meets both.
        syncs.extend(floors::fdatasync(folder.path(), 1024, hops / 2));
        p50.push((median(&took) * 1e6, median(&syncs) * 1e6));
        p99.push((quantile(&took, 0.99) * 1e6, quantile(&syncs, 0.99) * 1e6));
    }
    table.add("one durable hop alone, p50, beside an fdatasync", "us", "at most 2", &p50);
    table.add("one durable hop alone, p99, beside an fdatasync", "us", "", &p99);
}

/// The same without a disk, beside the same payloads judged and handed on by nothing but a loop.
pub(crate) fn in_memory(table: &mut Table) {
    let hops = sized("HOPS", 200_000) as u64;
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..table.runs {
        for (validators, rates) in (1..).zip(&mut rates) {
            let course = Course::new(TEXT, validators, Stage::Gather);
            let rate = walk::runtime().block_on(async {
                let organism = walk::start(LogPlace::Memory(Memory::new()), &course, validators).await;
                let rate = rate(&organism, &course, 1024, hops).await;
                organism.stop(GRACE).await;
                rate
            });
            rates.push((rate, route::route(validators, 1024, hops, TEXT)));
        }
    }
    let [one, two] = rates;
    table.add("memory log, 1,024 in flight, one validator", "/s", "at least 0.65", &one);
    table.add("memory log, 1,024 in flight, two validators", "/s", "", &two);
    let gain: Vec<_> = two.iter().zip(&one).map(|(two, one)| (two.0 / one.0, two.1 / one.1)).collect();
    table.add("what the second validator gives", "times", "1.8", &gain);
}

/// A short run on the memory log, to be looked at by a profiler.
pub(crate) fn profile() {
    let course = Course::new(TEXT, 1, Stage::Gather);
    walk::runtime().block_on(async {
        let organism = walk::start(LogPlace::Memory(Memory::new()), &course, 1).await;
        rate(&organism, &course, 64, sized("HOPS", 10_000) as u64).await;
        organism.stop(Duration::from_secs(2)).await;
    });
}
