//! Whether one hanging or slow listener delays the others: the 99th percentile of a walker's hops next to
//! it, divided by the same without it, in turn on separate logs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use systole_carriers::{InlineListener, from_answer};
use systole_core::types::ids::Name;
use systole_kit::reply::{Item, ReplyContent};
use systole_organism::plan::LogPlace;
use systole_organism::running::Organism;
use tokio::task::JoinSet;

use crate::report::{Table, quantile, sized};
use crate::walk::{self, Course, GRACE, Stage, TOOLS, filled};

/// Bytes of text in each payload.
const TEXT: usize = 512;
/// Messages that wait for the bad listener: more than it handles during the measurement.
const WAITING: usize = 2_000;
/// The slow listener's time for each message, and the hung listener's timeout.
const SLOW_MS: u64 = 5;

/// The listener next to the walker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Alone,
    Hung,
    Slow,
}

/// The walker's hops next to each bad listener, over its hops alone.
pub(crate) fn beside_a_bad_one(table: &mut Table) {
    let hops = sized("FAIR", 4_000);
    let mut figures = [Vec::new(), Vec::new()];
    for _ in 0..table.runs {
        for (beside, figures) in [Beside::Hung, Beside::Slow].into_iter().zip(&mut figures) {
            let p99 = |beside| {
                let folder = tempfile::tempdir_in("target").unwrap();
                let took =
                    walk::runtime().block_on(hops_beside(folder.path().join("bench.db"), hops, beside));
                quantile(&took, 0.99) * 1e6
            };
            figures.push((p99(beside), p99(Beside::Alone)));
        }
    }
    let [hung, slow] = figures;
    table.add("p99 of a hop beside a hung listener, over alone", "us", "at most 2", &hung);
    table.add("p99 of a hop beside a slow listener, over alone", "us", "at most 2", &slow);
}

/// A bad listener; it stops waiting when the walkers are called home.
fn bad(course: &Arc<Course>, beside: Beside, came: &Arc<AtomicUsize>) -> Arc<dyn InlineListener> {
    let (course, came) = (course.clone(), came.clone());
    from_answer(move |asked| {
        let course = course.clone();
        came.fetch_add(1, Ordering::Relaxed);
        async move {
            if beside == Beside::Slow {
                let _home_or_late =
                    tokio::time::timeout(Duration::from_millis(SLOW_MS), course.called_home()).await;
            } else {
                course.called_home().await;
            }
            ReplyContent::Items(vec![Item::plain(asked.payload)])
        }
    })
}

async fn start(log: PathBuf, course: &Arc<Course>, beside: Beside, came: &Arc<AtomicUsize>) -> Organism {
    let log = LogPlace::File(log);
    Box::pin(walk::start_recast(log, course, 1, |(declared, inline)| {
        let name = Name::parse("tool-b").unwrap();
        inline.insert(name.clone(), bad(course, beside, came));
        let listener = declared.get_mut(&name).unwrap();
        (listener.entry, listener.in_flight) = (true, 1);
        // It returns its input unchanged, which answers the call if it is only slow.
        listener.returns = listener.accepts.clone();
        if beside == Beside::Hung {
            listener.timeout_ms = SLOW_MS;
        }
    }))
    .await
}

/// The seconds of each of that many hops of one walker.
async fn hops_beside(log: PathBuf, hops: usize, beside: Beside) -> Vec<f64> {
    let course = Course::watched(TEXT);
    let asked = Arc::new(AtomicUsize::new(0));
    let organism = start(log, &course, beside, &asked).await;
    walk::begin(&organism, &course, std::iter::once("walk".to_owned())).await;
    course.gathered(1).await;
    if beside != Beside::Alone {
        let mut asks = JoinSet::new();
        for n in 0..WAITING {
            let document = filled(TOOLS[1], "work", &"x".repeat(TEXT));
            let (front, message) =
                (organism.handle().clone(), walk::message(&format!("bad-{n}"), document, None));
            asks.spawn(async move { front.send_message(message).await.is_some() });
        }
        assert!(asks.join_all().await.into_iter().all(|heard| heard), "every message is heard");
    }
    course.is_now(Stage::Walk(u32::MAX));
    course.arrivals(hops / 10).await;
    course.anew();
    course.arrivals(hops).await;
    let took = course.between();
    assert!(asked.load(Ordering::Relaxed) < WAITING, "the bad one ran out of work; FAIR is too large");
    course.is_now(Stage::Home);
    organism.stop(GRACE).await;
    took
}
