//! A call to a listener in a process of its own: over stdin and over NATS, each with a program in Rust and one in
//! Python. Over NATS a call is two hops through the broker; next to it a bare request and reply between two processes,
//! with the same client on each side. The broker, the worker and the organism share the processors.

use std::path::Path;
use std::process::Command;

use systole_core::types::composition::Reach;
use systole_kit::Payload;
use systole_kit::nats::Worker;
use systole_organism::plan::{BusAccess, LogPlace};
use tokio::task::JoinSet;

use crate::broker::{self, Broker};
use crate::child::{self, Lasting};
use crate::door::{Tool, program};
use crate::hops::{Pace, TEXT};
use crate::report::{Table, now, sized, worked, worked_by};
use crate::walk::{self, Course, GRACE, Stage, TOOLS, filled};

/// The subject of the floor.
const BARE: &str = "bare";

/// Both languages, with the part of the bare rate that a worker should reach.
const LANGUAGES: [(Tool, &str, &str); 2] =
    [(Tool::Rust, "Rust", "at least 5,000/s at 64"), (Tool::Python, "Python", "at least 0.3 at 64")];

/// Calls over each carrier, to a program in each language, with one, 32 and 64 in flight. `CARRIER` chooses cases by a
/// part of their name.
pub(crate) fn calls(table: &mut Table) {
    let most = sized("CALLS", 20_000) as u64;
    let chosen = std::env::var("CARRIER").unwrap_or_default();
    let server = broker::program();
    if server.is_none() {
        println!(
            "carrier: there is no nats-server, neither from tools/prepare test nor on PATH: NATS is left out"
        );
    }
    for carrier in std::iter::once(None).chain(server.as_deref().map(Some)) {
        for (tool, language, target) in LANGUAGES {
            for in_flight in [1, 32, 64] {
                let over = if carrier.is_some() { "NATS" } else { "stdin" };
                let case = format!("calls over {over}, {language}, {in_flight} in flight");
                if !case.contains(&chosen) {
                    continue;
                }
                let calls = if in_flight == 1 { most / 10 } else { most };
                let measured = || match carrier {
                    Some(server) => over_nats(server, tool, in_flight, calls),
                    None => over_stdin(tool, in_flight, calls),
                };
                let runs: Vec<CallRun> = std::iter::repeat_with(measured).take(table.runs).collect();
                let of = |of: fn(&CallRun) -> (f64, f64)| runs.iter().map(of).collect::<Vec<_>>();
                let (most_us, target) =
                    if carrier.is_some() { ("at most 150 at 64", target) } else { ("at most 120 at 64", "") };
                table.add(&case, "/s", target, &of(|run| (run.calls.rate, run.bare.rate)));
                let what = "  processor time of one in the pump's process";
                table.add(what, "us", most_us, &of(|run| (run.calls.work_us, run.bare.work_us)));
                if carrier.is_some() {
                    table.add("  and in the broker's", "us", "", &of(|run| (run.broker_us, f64::NAN)));
                }
            }
        }
    }
}

struct CallRun {
    calls: Pace,
    bare: Pace,
    broker_us: f64,
}

fn over_stdin(tool: Tool, in_flight: usize, calls: u64) -> CallRun {
    let reach = program(tool).map_or(Reach::Inline, Reach::Process);
    let (calls, broker_us) = run(None, in_flight, calls, || 0.0, reach);
    CallRun { calls, bare: Pace { rate: f64::NAN, work_us: f64::NAN }, broker_us }
}

fn over_nats(server: &Path, tool: Tool, in_flight: usize, calls: u64) -> CallRun {
    let broker = Broker::start_unsynced(server);
    let bare = {
        let _echo = answerer(tool, "bare", &broker.url, in_flight);
        walk::runtime().block_on(bare(&broker.url, in_flight, calls))
    };
    let _worker = answerer(tool, "worker", &broker.url, in_flight);
    let bus = BusAccess { url: broker.url.clone(), credentials: None };
    let (calls, broker_us) = run(Some(bus), in_flight, calls, || worked_by(&broker.pid()), Reach::Nats);
    CallRun { calls, bare, broker_us }
}

/// The process that answers: bare requests, or deliveries.
fn answerer(tool: Tool, work: &str, url: &str, at_once: usize) -> Lasting {
    let (bytes, at_once) = (TEXT.to_string(), at_once.to_string());
    if !matches!(tool, Tool::Python) {
        return Lasting::start(&[work, url, &at_once]);
    }
    let mut python = Command::new("python3");
    if let Some(library) = broker::python_client() {
        python.env("PYTHONPATH", library);
    }
    python.args(["config/bench/worker.py", url, work, &bytes, &at_once]);
    Lasting::of(&mut python)
}

/// The pace of calls to the tool, with what each took of the broker.
fn run(
    bus: Option<BusAccess>,
    in_flight: usize,
    calls: u64,
    broker: impl Fn() -> f64,
    reach: Reach,
) -> (Pace, f64) {
    let folder = tempfile::tempdir_in("target").unwrap();
    let course = Course::new(TEXT, 1, Stage::Gather);
    walk::runtime().block_on(async {
        let log = LogPlace::File(folder.path().join("bench.db"));
        let organism = walk::start_over(bus, log, &course, |(listeners, inline)| {
            let tool = listeners.get_mut("tool").unwrap();
            tool.reach = reach;
            tool.in_flight = in_flight;
            inline.remove("tool");
        })
        .await;
        walk::begin(&organism, &course, (0..in_flight).map(|n| format!("walk-{n}"))).await;
        course.gathered(in_flight).await;
        course.is_now(Stage::Walk(u32::MAX));
        let (from, began) = course.turned(calls / 10).await;
        let before = (worked().0, broker());
        let (to, ended) = course.turned(from + calls).await;
        let after = (worked().0, broker());
        course.is_now(Stage::Home);
        organism.stop(GRACE).await;
        let seconds = (ended - began).as_secs_f64();
        let in_broker = Pace::of(to - from, seconds, after.1 - before.1);
        (Pace::of(to - from, seconds, after.0 - before.0), in_broker.work_us)
    })
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
    let worked = Payload::parse(&worked, &systole_kit::DocumentLimits::default()).unwrap();
    Worker::new(url, "bench", "tool").slots(slots).tell(|_| ()).answer_each(move |_| worked.clone());
}
