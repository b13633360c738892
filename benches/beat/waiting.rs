//! The cost of ten thousand waiting threads: a third waits for a timer, a third for a person, a third
//! for a child that waits for a person. There is no work for them, so they must cost neither processor
//! time nor wake-ups.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use systole_carriers::{InlineListener, from_answer};
use systole_core::types::ids::Name;
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload, namespaces};
use systole_log::memory::MemoryLog;
use systole_organism::plan::LogPlace;
use systole_organism::running::Organism;

use crate::child::resident_mb;
use crate::cold::switches;
use crate::report::{Table, sized, worked};
use crate::walk::{self, Course, Stage, TOOLS, filled};

/// The length of the measurement.
const LOOK: Duration = Duration::from_secs(10);

fn item(document: &[u8]) -> Item {
    Item::plain(Payload::parse(document, &DocumentLimits::default()).unwrap())
}

fn primitive(name: &'static str, attribute: (&'static str, &str), initial: Option<&Payload>) -> Item {
    let mut writer = XmlWriter::new();
    writer.open(name).xmlns(namespaces::CORE).attr(attribute.0, attribute.1).content(|within| {
        if let Some(payload) = initial {
            within.open("initial-payload").write_payload(payload);
        }
    });
    item(&writer.finish())
}

/// A walker that waits in one of three ways, by the last digit of its thread.
fn waiter() -> Arc<dyn InlineListener> {
    from_answer(|asked| {
        let held = filled(TOOLS[1], "work", "x");
        let held = Payload::parse(&held, &DocumentLimits::default()).unwrap();
        let wait = primitive("await-threads", ("mode", "all"), None);
        let items = match asked.thread.bytes().last().map_or(0, |b| b % 3) {
            0 => vec![primitive("set-timer", ("after", "1h"), None), wait],
            1 => vec![Item::plain(held)],
            _ => vec![primitive("spawn-thread", ("suggested_sub_id", "c"), Some(&held)), wait],
        };
        async move { ReplyContent::Items(items) }
    })
}

/// Processor time, wake-ups and memory of an organism with that many waiting threads.
async fn looked_at(waiting: usize) -> (f64, f64, f64) {
    let course = Course::new(16, 2, Stage::Home);
    let organism =
        walk::start_recast(LogPlace::Memory(MemoryLog::new()), &course, 1, |(listeners, inline)| {
            let tool = listeners.get_mut("tool-b").unwrap();
            tool.approval.always = true;
            tool.approval.expires_ms = 3_600_000;
            let waiters: BTreeMap<_, _> = [(Name::parse("walker").unwrap(), waiter())].into();
            inline.extend(waiters);
        })
        .await;
    walk::begin(&organism, &course, (0..waiting).map(|n| format!("wait-{n}"))).await;
    at_rest(&organism).await;
    let (before, woke) = (worked().0, switches("self"));
    at_rest(&organism).await;
    let cost = ((worked().0 - before) * 1e3, switches("self") - woke, resident_mb("self"));
    organism.stop(walk::GRACE).await;
    cost
}

/// Waits until nothing was recorded for that long.
async fn at_rest(organism: &Organism) {
    let mut tail = organism.tail();
    while tokio::time::timeout(LOOK, tail.changed()).await.is_ok() {}
}

/// Adds their cost next to an organism without waiting threads.
pub(crate) fn threads(table: &mut Table) {
    let waiting = sized("WAITING", 10_000);
    let (mut works, mut wakes, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..table.runs.min(3) {
        let look = |count| walk::runtime().block_on(looked_at(count));
        let (none, some) = (look(0), look(waiting));
        works.push((some.0, none.0));
        wakes.push((some.1, none.1));
        memory.push((some.2, none.2));
    }
    table.add(&format!("{waiting} threads that wait, processor time in 10 s"), "ms", "floor", &works);
    table.add("  times a thread woke", "", "floor", &wakes);
    table.add("  resident, log in memory", "MB", "", &memory);
}
