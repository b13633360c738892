//! `cargo bench --bench allocations`: how often and how much each thread of the pump allocates for a hop, counted by
//! the allocator. It is a program of its own because a counting allocator makes every other figure worse. What
//! libxml2 allocates is not counted: it asks the C library directly.
//!
//! `HOPS` is how many hops are counted; default 20,000.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing to say")]
#![expect(clippy::indexing_slicing, reason = "a benchmark that cannot go on has nothing to say")]

use std::alloc::System;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use systole_log::memory::MemoryLog;
use systole_organism::plan::LogPlace;
use tracking_allocator::{AllocationGroupId, AllocationRegistry, AllocationTracker, Allocator};

#[expect(dead_code, reason = "shared with the other benchmarks")]
#[path = "../beat/report.rs"]
mod report;
#[expect(dead_code, reason = "shared with the other benchmarks")]
#[path = "../beat/walk.rs"]
mod walk;

use report::{Table, sized};
use walk::{Course, Stage};

#[global_allocator]
static ALLOCATOR: Allocator<System> = Allocator::system();

/// More threads than the organism has.
const THREADS: usize = 256;
/// Bytes of text in each payload of a hop.
const TEXT: usize = 512;

/// What one thread has allocated.
struct Allocated {
    thread: AtomicI32,
    times: AtomicU64,
    bytes: AtomicU64,
}

static ALLOCATED: [Allocated; THREADS] =
    [const { Allocated { thread: AtomicI32::new(0), times: AtomicU64::new(0), bytes: AtomicU64::new(0) } };
        THREADS];
static STARTED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

struct Counter;

impl AllocationTracker for Counter {
    fn allocated(&self, _: usize, bytes: usize, _: usize, _: AllocationGroupId) {
        let place = PLACE.try_with(|place| {
            place.get().unwrap_or_else(|| {
                let next = STARTED.fetch_add(1, Relaxed);
                ALLOCATED[next].thread.store(rustix::thread::gettid().as_raw_pid(), Relaxed);
                place.set(Some(next));
                next
            })
        });
        // A thread that ends has no place any more.
        if let Ok(place) = place {
            ALLOCATED[place].times.fetch_add(1, Relaxed);
            ALLOCATED[place].bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    fn deallocated(&self, _: usize, _: usize, _: usize, _: AllocationGroupId, _: AllocationGroupId) {}
}

/// Allocations and bytes so far, by the name of the thread.
fn counted() -> BTreeMap<String, (f64, f64)> {
    let mut by_name: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for one in ALLOCATED.iter().take(STARTED.load(Relaxed)) {
        let path = format!("/proc/self/task/{}/comm", one.thread.load(Relaxed));
        let name = std::fs::read_to_string(path).unwrap_or_default();
        let (times, bytes) = by_name.entry(name.trim().to_owned()).or_default();
        *times += one.times.load(Relaxed) as f64;
        *bytes += one.bytes.load(Relaxed) as f64;
    }
    by_name
}

/// Allocations and bytes for each hop, by thread, with that many walkers.
async fn of_hops(log: LogPlace, walkers: usize, hops: u64) -> BTreeMap<String, (f64, f64)> {
    let course = Course::new(TEXT, 1, Stage::Gather);
    let organism = walk::start(log, &course, 1).await;
    walk::begin(&organism, &course, (0..walkers).map(|n| format!("walk-{n}"))).await;
    course.gathered(walkers).await;
    let gathered = organism.handle().end().0;
    course.is_now(Stage::Walk(u32::MAX));
    let (from, _) = walk::reached(&organism, gathered + hops / 10).await;
    let before = counted();
    let (to, _) = walk::reached(&organism, from + hops).await;
    let after = counted();
    course.is_now(Stage::Home);
    organism.stop(walk::GRACE).await;
    let hops = (to - from) as f64;
    let of_hop = |(name, (times, bytes)): (String, (f64, f64))| {
        let (times_before, bytes_before) = before.get(&name).copied().unwrap_or_default();
        (name, ((times - times_before) / hops, (bytes - bytes_before) / hops))
    };
    after.into_iter().map(of_hop).collect()
}

fn main() {
    // `cargo test --benches` would run this without need.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    AllocationRegistry::set_global_tracker(Counter).unwrap();
    AllocationRegistry::enable_tracking();
    let hops = sized("HOPS", 20_000) as u64;
    let mut table = Table::new(1);
    table.machine();
    for (what, on_disk, walkers) in [
        ("memory log, 1,024 in flight", false, 1024),
        ("file, 1,024 in flight", true, 1024),
        ("file, 64", true, 64),
    ] {
        let folder = tempfile::tempdir_in("target").unwrap();
        let log = match on_disk {
            true => LogPlace::File(folder.path().join("bench.db")),
            false => LogPlace::Memory(MemoryLog::new()),
        };
        let found = walk::runtime().block_on(of_hops(log, walkers, hops));
        for (thread, target) in [
            ("pump", "at most 8, 2,000 B"),
            ("validator-0", "at most 10"),
            ("log-writer", ""),
            ("tokio-rt-worker", ""),
        ] {
            let (times, bytes) = found.get(thread).copied().unwrap_or_default();
            table.add(&format!("{what}: {thread}"), "times", target, &[(times, f64::NAN)]);
            table.add("  bytes", "B", "", &[(bytes, f64::NAN)]);
        }
    }
    println!("\n{table}");
}
