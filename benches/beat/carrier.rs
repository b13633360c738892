//! A call to a listener over NATS: two hops through the broker to a worker in a process of its own. Next to it a bare
//! request and reply with the same client between two such processes. The broker, the worker and the organism share
//! the processors.

use std::path::Path;

use systole::runtime::plan::{BusAccess, LogPlace};
use systole_core::types::composition::Reach;
use systole_kit::Payload;
use systole_kit::nats::Worker;
use tokio::task::JoinSet;

use crate::broker::{self, Broker};
use crate::child::{self, Lasting};
use crate::hops::{Pace, TEXT};
use crate::report::{Table, now, sized, worked, worked_by};
use crate::walk::{self, Course, GRACE, Stage, TOOLS, filled};

/// The subject of the floor.
const BARE: &str = "bare";

/// Calls with one, 32 and 64 in flight.
pub(crate) fn over_nats(table: &mut Table) {
    let Some(program) = broker::program() else {
        println!("carrier: there is no nats-server, neither from tools/prepare test nor on PATH: left out");
        return;
    };
    let most = sized("CALLS", 20_000) as u64;
    for (in_flight, calls, target) in [(1, most / 10, ""), (32, most, ""), (64, most, "at least 5,000/s")] {
        let (mut rates, mut works, mut brokers) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..table.runs {
            let run = of_one(&program, in_flight, calls);
            rates.push((run.calls.rate, run.bare.rate));
            works.push((run.calls.work_us, run.bare.work_us));
            brokers.push((run.broker_us, f64::NAN));
        }
        table.add(
            &format!("calls over NATS, {in_flight} in flight, beside bare requests"),
            "/s",
            target,
            &rates,
        );
        table.add("  processor time of one in the pump's process", "us", "at most 150", &works);
        table.add("  and in the broker's", "us", "", &brokers);
    }
}

struct CallRun {
    calls: Pace,
    bare: Pace,
    broker_us: f64,
}

fn of_one(program: &Path, in_flight: usize, calls: u64) -> CallRun {
    let broker = Broker::start_unsynced(program);
    let folder = tempfile::tempdir_in("target").unwrap();
    let bare = {
        let _echo = Lasting::start(&["bare", &broker.url]);
        walk::runtime().block_on(bare(&broker.url, in_flight, calls))
    };
    let _worker = Lasting::start(&["worker", &broker.url, &in_flight.to_string()]);
    let course = Course::new(TEXT, 1, Stage::Gather);
    let (pace, broker_us) = walk::runtime().block_on(async {
        let bus = BusAccess { url: broker.url.clone(), credentials: None };
        let log = LogPlace::File(folder.path().join("bench.db"));
        let organism = walk::start_over(bus, log, &course, |(listeners, inline)| {
            let tool = listeners.get_mut("tool").unwrap();
            tool.reach = Reach::Nats;
            tool.in_flight = in_flight;
            inline.remove("tool");
        })
        .await;
        walk::begin(&organism, &course, (0..in_flight).map(|n| format!("walk-{n}"))).await;
        course.gathered(in_flight).await;
        course.is_now(Stage::Walk(u32::MAX));
        let (from, began) = course.turned(&organism, calls / 10).await;
        let before = (worked().0, worked_by(&broker.pid()));
        let (to, ended) = course.turned(&organism, from + calls).await;
        let after = (worked().0, worked_by(&broker.pid()));
        course.is_now(Stage::Home);
        organism.stop(GRACE).await;
        let seconds = (ended - began).as_secs_f64();
        let in_broker = Pace::of(to - from, seconds, after.1 - before.1);
        (Pace::of(to - from, seconds, after.0 - before.0), in_broker.work_us)
    });
    CallRun { calls: pace, bare, broker_us }
}

/// Bare requests of the same size.
async fn bare(url: &str, in_flight: usize, calls: u64) -> Pace {
    let client = async_nats::connect(url).await.unwrap();
    let payload = vec![b'x'; TEXT];
    let (before, began) = (worked().0, now());
    let mut askers = JoinSet::new();
    for _ in 0..in_flight {
        let (client, payload) = (client.clone(), payload.clone());
        askers.spawn(async move {
            for _ in 0..calls / in_flight as u64 {
                client.request(BARE, payload.clone().into()).await.unwrap();
            }
        });
    }
    askers.join_all().await;
    Pace::of(calls, began.elapsed().as_secs_f64(), worked().0 - before)
}

/// The child that answers bare requests.
pub(crate) fn answer_bare(url: &str) {
    walk::runtime().block_on(async {
        let client = async_nats::connect(url).await.unwrap();
        let mut asked = client.subscribe(BARE).await.unwrap();
        client.flush().await.unwrap();
        child::ready();
        while let Some(message) = walk::next(&mut asked).await {
            client.publish(message.reply.unwrap(), message.payload).await.unwrap();
        }
    });
}

/// The child that is the tool's worker.
pub(crate) fn work(url: &str, slots: usize) {
    child::ready();
    let worked = filled(TOOLS[0], "worked", &"x".repeat(TEXT));
    let worked = Payload::read(&worked, &systole_kit::DocumentLimits::default()).unwrap();
    Worker::new(url, "bench", "tool").slots(slots).tell(|_| ()).answer_each(move |_| worked.clone());
}
