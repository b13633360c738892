//! The log in NATS compared with its parts: fenced publishes of the same number of bytes, one after another, to a
//! broker that syncs each. Also compared with the same organism on a log file. The broker runs on the same machine
//! and shares its processors.

use std::path::Path;

use systole_core::types::ports::LogReader as _;
use systole_log::sqlite;
use systole_organism::plan::LogPlace;

use crate::broker::{self, Broker, Fenced};
use crate::far_log;
use crate::hops::{self, Pace, TEXT};
use crate::report::{Table, median, quantile, sized, worked};
use crate::walk::{self, Course, GRACE, Stage};

/// The stream of the measured organism, and the store for bundles that are too large for it.
pub(crate) const STREAMS: [&str; 2] = ["SYSTOLE_bench_LOG", "OBJ_SYSTOLE_bench_BLOBS"];
/// The message size of the floor for many records in flight.
const PACKED: usize = 256 << 10;

/// All figures of a log in NATS.
pub(crate) fn over_nats(table: &mut Table) {
    let Some(program) = broker::program() else {
        println!("far: there is no nats-server, neither from tools/prepare test nor on PATH: left out");
        return;
    };
    alone(table, &program);
    in_flight(table, &program);
    far_log::copied(table, &program);
    far_log::many_threads(table, &program);
}

/// One hop at a time, next to one publish of the bytes of its bundle.
fn alone(table: &mut Table, program: &Path) {
    let hops = sized("ALONE", 2_000);
    let (mut own, mut round, mut embedded, mut p99) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..table.runs {
        let broker = Broker::start(program);
        let folder = tempfile::tempdir_in("target").unwrap();
        let micros = |values: &[f64], share| quantile(values, share) * 1e6;
        walk::runtime().block_on(async {
            let mut fenced = Fenced::begin(&broker).await;
            let mut kilobyte = fenced.publish(1024, hops / 2).await;
            let course = Course::watched(TEXT);
            let organism = walk::start_far(folder.path().join("copy.db"), &broker.url, &course).await;
            let took = hops::each(organism, &course, hops as u64).await;
            kilobyte.extend(fenced.publish(1024, hops / 2).await);
            let (messages, bytes) = broker.holds(STREAMS[0]).await;
            let bytes = usize::try_from(bytes / messages).unwrap();
            let same = fenced.publish(bytes, hops).await;
            let file = hops::one_by_one(folder.path().join("bench.db"), hops as u64).await;
            own.push((micros(&took, 0.5), micros(&same, 0.5)));
            p99.push((micros(&took, 0.99), micros(&same, 0.99)));
            round.push((micros(&took, 0.5), micros(&kilobyte, 0.5)));
            embedded.push((micros(&took, 0.5), micros(&file, 0.5)));
        });
    }
    table.add("one hop alone in NATS, p50, beside its bytes", "us", "at most 2", &own);
    table.add("  p99 beside p99", "us", "", &p99);
    table.add("  p50 beside publishing 1 KB", "us", "", &round);
    table.add("  p50 beside the same with its log in a file", "us", "", &embedded);
}

/// The number of records in a closed copy.
fn records_of(copy: &Path) -> u64 {
    sqlite::open_reading(copy).unwrap().read_last().unwrap().0
}

/// Many hops at once, next to the same number of records packed into messages of 256 KB.
fn in_flight(table: &mut Table, program: &Path) {
    let most = sized("HOPS", 200_000) as u64;
    for (in_flight, hops) in [(64, most / 4), (1024, most)] {
        let (mut rates, mut works, mut embedded) = (Vec::new(), Vec::new(), Vec::new());
        let (mut packed, mut apart, mut followed) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..table.runs {
            let broker = Broker::start(program);
            let folder = tempfile::tempdir_in("target").unwrap();
            walk::runtime().block_on(async {
                let mut fenced = Fenced::begin(&broker).await;
                let mut floor = fenced.publish(PACKED, 100).await;
                let course = Course::new(TEXT, 1, Stage::Gather);
                let organism = walk::start_far(folder.path().join("copy.db"), &broker.url, &course).await;
                let pace = hops::pace(&organism, &course, in_flight, hops).await;
                organism.stop(GRACE).await;
                let records = records_of(&folder.path().join("copy.db"));
                floor.extend(fenced.publish(PACKED, 100).await);
                let (bundles, bytes) = broker.holds(STREAMS[0]).await;
                let (_, large) = broker.holds(STREAMS[1]).await;
                let of_a_record = (bytes + large) as f64 / records as f64;
                rates.push((pace.rate, PACKED as f64 / of_a_record / median(&floor)));
                packed.push((records as f64 / bundles as f64, f64::NAN));
                apart.push((large as f64 / (bytes + large) as f64, f64::NAN));
                let before = worked().0;
                drop(Box::pin(far_log::opened(&broker, &folder.path().join("second.db"))).await);
                followed.push(((worked().0 - before) * 1e6 / records as f64, pace.work_us));
                let course = Course::new(TEXT, 1, Stage::Gather);
                let file = LogPlace::File(folder.path().join("bench.db"));
                let organism = walk::start(file, &course, 1).await;
                let beside: Pace = hops::pace(&organism, &course, in_flight, hops).await;
                organism.stop(GRACE).await;
                embedded.push((pace.rate, beside.rate));
                works.push((pace.work_us, beside.work_us));
            });
        }
        table.add(&format!("hops in NATS, {in_flight} in flight"), "/s", "at least 0.4", &rates);
        table.add("  beside the same with its log in a file", "/s", "", &embedded);
        table.add("  processor time of one beside that", "us", "", &works);
        table.add("  processor time of following one, beside that of making it", "us", "", &followed);
        table.add("  records of a bundle", "", "", &packed);
        table.add("  share of bytes that lie apart", "", "", &apart);
    }
}
