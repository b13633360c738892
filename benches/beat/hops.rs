//! Hops: a payload from bytes in hand to committed and handed to its listener. A walker sends a tool
//! one payload after the other, in as many threads as there shall be hops in flight; a call and its
//! answer are two.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use systole::edges::delivery::{Answering, answering};
use systole::edges::failpoint::Failpoint;
use systole::edges::log::memory::Memory;
use systole::organism::file;
use systole::organism::running::{LogPlace, Message, Organism, Plan};
use systole::organism::waiting::Reply;
use systole::words::ids::{Key, Name};
use systole_kit::reply::{Item, Said};
use systole_kit::writer::Writer;
use systole_kit::{Limits, Payload};

use crate::floors;
use crate::report::{Table, median};

/// Bytes of text in each payload of a hop.
const TEXT: usize = 512;

fn written(ns: &'static str, name: &'static str, number: u64, text: &str) -> Item {
    let mut writer = Writer::with_capacity(TEXT + 128);
    writer.open(name).xmlns(ns).content(|inside| {
        inside.open("number").text(&number.to_string());
        inside.open("text").text(text);
    });
    Item::plain(Payload::read(&writer.finish(), &Limits::default()).unwrap())
}

fn walked() -> Item {
    let document = b"<walked xmlns=\"https://xml-pipeline.org/ns/walker/v1\"><steps>1</steps></walked>";
    Item::plain(Payload::read(document, &Limits::default()).unwrap())
}

const TOOLS: [&str; 2] = ["https://xml-pipeline.org/ns/tool/v1", "https://xml-pipeline.org/ns/tool-b/v1"];

/// The listeners: a walker that goes on until `steps` are used up, and two tools.
pub(crate) fn listeners(steps: &Arc<AtomicU64>, tools: usize) -> BTreeMap<Name, Arc<dyn Answering>> {
    let text: Arc<str> = "x".repeat(TEXT).into();
    let steps = steps.clone();
    let words = text.clone();
    let walker = answering(move |asked| {
        let item = match steps.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)) {
            Ok(left) => {
                let tool = asked.thread.bytes().last().map_or(0, usize::from) % tools;
                written(TOOLS.get(tool).copied().unwrap_or(TOOLS[0]), "work", left % 1000, &words)
            }
            Err(_) => walked(),
        };
        async move { Said::Items(vec![item]) }
    });
    let tool = |ns: &'static str| {
        let text = text.clone();
        answering(move |_| {
            let item = written(ns, "worked", 1, &text);
            async move { Said::Items(vec![item]) }
        })
    };
    let name = |n| Name::parse(n).unwrap();
    BTreeMap::from([
        (name("walker"), walker),
        (name("tool"), tool(TOOLS[0])),
        (name("tool-b"), tool(TOOLS[1])),
    ])
}

pub(crate) async fn start(log: LogPlace, steps: &Arc<AtomicU64>, validators: usize) -> Organism {
    let mut file =
        file::load_given(Path::new("config/bench/organism.yaml"), &["walker", "tool", "tool-b"]).unwrap();
    // A walk is longer than the file may let any call be.
    file.composition.listeners.values_mut().filter(|l| l.turns > 1).for_each(|l| l.turns = u32::MAX);
    Organism::start(Plan {
        composition: file.composition,
        directory: "config/bench".into(),
        log,
        inline: listeners(steps, validators.min(2)),
        validators,
        surroundings: BTreeMap::new(),
        steps: Arc::new(Failpoint::read(None).unwrap()),
    })
    .await
    .unwrap()
}

pub(crate) async fn ask(organism: &Organism, key: String, document: &str) {
    let message = Message {
        client: Name::operator(),
        key: Key::parse(&key).unwrap(),
        document: document.as_bytes().to_vec(),
        to: None,
        thread: None,
    };
    let taken = matches!(organism.ask(message).await, Some(Reply::Receipt(..)));
    assert!(taken, "a walk is taken");
}

pub(crate) const WALK: &str = "<walk xmlns=\"https://xml-pipeline.org/ns/walker/v1\"><steps>1</steps></walk>";

/// Hops a second with that many in flight.
async fn walk(organism: &Organism, steps: &Arc<AtomicU64>, in_flight: usize, hops: u64, round: usize) -> f64 {
    steps.store(hops / 2, Ordering::SeqCst);
    let before = organism.tail().borrow().0;
    let mut tail = organism.tail();
    let asks = (0..in_flight).map(|n| format!("{round}-{in_flight}-{n}"));
    let (took, hopped) = {
        #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
        let began = std::time::Instant::now();
        for key in asks {
            ask(organism, key, WALK).await;
        }
        let all = before + hops + 2 * in_flight as u64;
        let hopped = loop {
            let at = tail.borrow_and_update().0;
            if at >= all || steps.load(Ordering::SeqCst) == 0 && at >= all.saturating_sub(1) {
                break at - before;
            }
            tail.changed().await.unwrap();
        };
        (began.elapsed().as_secs_f64(), hopped)
    };
    hopped as f64 / took
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Durable hops beside plain inserts of the same records, and one hop alone beside one fdatasync.
pub(crate) fn durable(table: &mut Table) {
    for (in_flight, hops, target) in [(1usize, 4_000u64, ""), (64, 60_000, "0.5"), (1024, 200_000, "0.6")] {
        let mut pairs = Vec::new();
        let mut alone = Vec::new();
        for round in 0..table.runs {
            let folder = tempfile::tempdir_in("target").unwrap();
            let log = folder.path().join("bench.db");
            let steps = Arc::new(AtomicU64::new(0));
            let rate = runtime().block_on(async {
                let organism = start(LogPlace::File(log.clone()), &steps, 1).await;
                let rate = walk(&organism, &steps, in_flight, hops, round).await;
                organism.stop(Duration::from_secs(2)).await;
                rate
            });
            let records = floors::records(&systole::edges::log::sqlite::open_reading(&log).unwrap());
            let floor = floors::inserts(folder.path(), &log, &records, in_flight);
            pairs.push((rate, records.len() as f64 / floor));
            if in_flight == 1 {
                let syncs = floors::fdatasync(folder.path(), 1024, 500);
                alone.push((1e6 / rate, median(&syncs) * 1e6));
            }
        }
        table.rate(&format!("durable hops, {in_flight} in flight"), "/s", target, &pairs);
        if in_flight == 1 {
            table.cost("one durable hop alone beside one fdatasync", "us", "2", &alone);
        }
    }
}

/// The same without a disk.
pub(crate) fn in_memory(table: &mut Table) {
    for validators in [1, 2] {
        let mut pairs = Vec::new();
        for round in 0..table.runs {
            let steps = Arc::new(AtomicU64::new(0));
            let rate = runtime().block_on(async {
                let organism = start(LogPlace::Memory(Memory::new()), &steps, validators).await;
                let rate = walk(&organism, &steps, 1024, 200_000, round).await;
                organism.stop(Duration::from_secs(2)).await;
                rate
            });
            pairs.push((rate, f64::NAN));
        }
        table.rate(&format!("memory log, 1024 in flight, {validators} validators"), "/s", "", &pairs);
    }
}

/// A short run on the memory log, to be looked at by a profiler.
pub(crate) fn profile() {
    let steps = Arc::new(AtomicU64::new(0));
    runtime().block_on(async {
        let organism = start(LogPlace::Memory(Memory::new()), &steps, 1).await;
        walk(&organism, &steps, 64, 10_000, 0).await;
        organism.stop(Duration::from_secs(2)).await;
    });
}
