//! An existing log in NATS: rebuilding its copy from the first bundle on, and the cost of a great many threads for
//! the broker and for a pump that takes over.

use std::path::Path;

use systole_bus::{Broker as Connection, LogStream, PATIENCE};
use systole_core::pump::wake;
use systole_core::types::ids::Name;
use systole_core::types::ports::LogReader as _;
use systole_log::nats::{self, OpenNatsLog, TakeOverMode};
use systole_organism::plan::LogPlace;

use crate::broker::{self, Broker};
use crate::child::resident_mb;
use crate::far::STREAMS;
use crate::grown::{Growing, pattern};
use crate::report::{Table, now, sized};
use crate::walk::{self, Course, GRACE, Stage};

/// Opens the log as a pump with this copy does; returns the seconds that it took.
pub(crate) async fn opened(broker: &Broker, copy: &Path) -> (f64, OpenNatsLog) {
    let bench = Name::parse("bench").unwrap();
    let connection = Connection::connect(&bench, &broker.url, None, PATIENCE).await.unwrap();
    let stream = LogStream::find_or_make(connection.into(), &bench, 1).await.unwrap();
    let began = now();
    let manner = TakeOverMode::AtOnce;
    let opened = nats::open_log(stream, copy.to_owned(), manner, Box::new(wake::make_checkpoint));
    let opened = Box::pin(opened).await.unwrap();
    (began.elapsed().as_secs_f64(), opened)
}

/// A log with that many threads of these records, with at most that many records per bundle.
fn grown(broker: &Broker, copy: &Path, turns: u32, threads: usize, most: usize) {
    let walk = pattern(turns, crate::hops::TEXT);
    let runtime = walk::runtime();
    let (_, log) = runtime.block_on(opened(broker, copy));
    let mut growing = Growing::onto(Box::new(log.writer), most);
    (0..threads).for_each(|n| growing.add(&walk, &format!("far-{n}")));
    growing.close();
}

/// Rebuilds the copy, next to a consumer that takes the same bundles and ignores their content.
pub(crate) fn copied(table: &mut Table, program: &Path) {
    for (most, records) in [(1, sized("BUNDLES", 5_000)), (256, sized("COPIED", 100_000))] {
        let broker = Broker::start(program);
        let file = |name: String| broker.folder().join(name);
        grown(&broker, &file("first.db".into()), 4, records / 10, most);
        let mut rates = Vec::new();
        for run in 0..table.runs {
            let runtime = walk::runtime();
            let consumed = runtime.block_on(broker::consume(&broker, STREAMS[0]));
            let (took, log) = runtime.block_on(opened(&broker, &file(format!("copy-{run}.db"))));
            assert_eq!(log.reader.read_last().unwrap().0, records as u64, "the copy is whole");
            rates.push((records as f64 / took, records as f64 / consumed));
        }
        table.add(&format!("records copied, {most} in a bundle"), "/s", "", &rates);
    }
}

/// Threads at rest: their cost for the broker, and the time until an organism with a copy runs.
pub(crate) fn many_threads(table: &mut Table, program: &Path) {
    let threads = sized("FAR_THREADS", 100_000);
    let broker = Broker::start(program);
    let copy = broker.folder().join("copy.db");
    let runtime = walk::runtime();
    drop(runtime.block_on(opened(&broker, &broker.folder().join("empty.db"))));
    let before = resident_mb(&broker.pid());
    grown(&broker, &copy, 0, threads, 256);
    let memory = (resident_mb(&broker.pid()) - before) * 1024.0 * 1024.0 / threads as f64;
    let (_, bytes) = runtime.block_on(broker.holds(STREAMS[0]));
    let on_disk = bytes as f64 / threads as f64;
    println!("{threads} threads: {memory:.0} B of the broker's memory each, {on_disk:.0} B of its store");
    let own = broker.folder().join("own.db");
    let walk = pattern(0, crate::hops::TEXT);
    let mut growing = Growing::new(&own);
    (0..threads).for_each(|n| growing.add(&walk, &format!("far-{n}")));
    growing.close();
    let mut starts = Vec::new();
    for _ in 0..table.runs {
        let course = Course::new(1, 1, Stage::Home);
        let took = |far: bool| {
            let began = now();
            let organism = runtime.block_on(async {
                match far {
                    true => walk::start_far(copy.clone(), &broker.url, &course).await,
                    false => walk::start(LogPlace::File(own.clone()), &course, 1).await,
                }
            });
            let took = began.elapsed().as_secs_f64() * 1e3;
            runtime.block_on(organism.stop(GRACE));
            took
        };
        starts.push((took(true), took(false)));
    }
    table.add(&format!("start with {threads} threads in NATS, beside a file"), "ms", "", &starts);
}
