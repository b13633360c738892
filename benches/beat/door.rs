//! Calls through the HTTP door, from a process of their own: to a listener in the process and to programs over stdin,
//! with and without watchers. The floor is the same HTTP server, which reads each message and answers with a constant
//! receipt.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;
use systole_api::types::ApiReceipt;
use systole_core::types::composition::{ListenerProgram, Reach};
use systole_doors::http::{ConsoleSettings, HttpDoor};
use systole_kit::stdio::answer_each;
use systole_kit::{DocumentLimits, Payload};
use systole_organism::keyring::Keyring;
use systole_organism::plan::LogPlace;
use systole_organism::runfile::Credential;
use systole_organism::running::Organism;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::child::{Lasting, Paced};
use crate::hops::{Pace, TEXT};
use crate::report::{Table, sized, worked, worked_by_threads};
use crate::walk::{self, Course, GRACE, Stage, TOOLS, filled};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// Records of a call: the message and its answer.
const RECORDS: u64 = 2;

/// How long a log at rest has not grown.
const QUIET: Duration = Duration::from_millis(200);

/// Where the tool runs.
#[derive(Clone, Copy)]
pub(crate) enum Tool {
    Inline,
    Rust,
    Python,
}

/// What is measured.
pub(crate) struct Case {
    what: &'static str,
    tool: Tool,
    in_flight: usize,
    way: &'static str,
    /// The watchers, if any: of their own threads at rest, or of everything; or open pages.
    watchers: Option<&'static str>,
    target: &'static str,
}

const CASES: [Case; 13] = [
    case("calls to a listener in the process", Tool::Inline, 1, "receipt", None, ""),
    case("the same beside 64 idle watchers", Tool::Inline, 1, "receipt", Some("own"), "at most 1.1 times"),
    case("the same beside 64 watchers of all", Tool::Inline, 1, "receipt", Some("all"), "at most 1.1 times"),
    case("calls to a listener in the process", Tool::Inline, 32, "receipt", None, ""),
    case("the same beside 64 idle watchers", Tool::Inline, 32, "receipt", Some("own"), "at most 1.1 times"),
    case("the same beside 64 watchers of all", Tool::Inline, 32, "receipt", Some("all"), "at most 1.1 times"),
    case("calls to a listener in the process", Tool::Inline, 64, "receipt", None, ""),
    case("the same, each waits by its events", Tool::Inline, 64, "events", None, ""),
    case("the same with Systole-Wait", Tool::Inline, 64, "wait", None, "at least 0.7 of not waiting"),
    case("calls to a Rust program", Tool::Rust, 1, "receipt", None, ""),
    case("calls to a Rust program", Tool::Rust, 32, "receipt", None, ""),
    case("calls to a Python program", Tool::Python, 1, "receipt", None, ""),
    case("calls to a Python program", Tool::Python, 32, "receipt", None, "at most 120 us"),
];

pub(crate) const fn case(
    what: &'static str,
    tool: Tool,
    in_flight: usize,
    way: &'static str,
    watchers: Option<&'static str>,
    target: &'static str,
) -> Case {
    Case { what, tool, in_flight, way, watchers, target }
}

/// Calls through the door. `DOOR` chooses cases by a part of their name.
pub(crate) fn calls(table: &mut Table) {
    let most = sized("CALLS", 10_000);
    let chosen = std::env::var("DOOR").unwrap_or_default();
    for case in CASES.iter().filter(|case| format!("{}, {}", case.what, case.in_flight).contains(&chosen)) {
        let calls = if case.in_flight == 1 { most / 5 } else { most };
        let (mut rates, mut works) = (Vec::new(), Vec::new());
        for _ in 0..table.runs {
            let (pace, bare) = (through(case, calls).pace, bare(case.in_flight, calls));
            rates.push((pace.rate, bare.rate));
            works.push((pace.work_us, bare.work_us));
        }
        table.add(&format!("{}, {} in flight", case.what, case.in_flight), "/s", "", &rates);
        table.add("  processor time of one in the pump's process", "us", case.target, &works);
    }
}

/// What a load came to.
pub(crate) struct Passed {
    pub(crate) pace: Pace,
    /// Processor microseconds of the pump's thread for a call.
    pub(crate) pump_us: f64,
    /// Seconds between two refreshes of an open page.
    pub(crate) refreshes: f64,
}

/// The watchers of a load.
enum Watching {
    Lasting(#[expect(dead_code, reason = "it watches until it is dropped")] Lasting),
    Pages(Paced),
}

pub(crate) fn through(case: &Case, calls: usize) -> Passed {
    let folder = tempfile::tempdir_in("target").unwrap();
    let course = Course::new(TEXT, 1, Stage::Gather);
    let log = LogPlace::File(folder.path().join("bench.db"));
    walk::runtime().block_on(async {
        let organism = walk::start_recast(log, &course, 1, |(listeners, inline)| {
            let tool = listeners.get_mut("tool").unwrap();
            if let Some(program) = program(case.tool) {
                tool.reach = Reach::Process(program);
                tool.in_flight = case.in_flight;
                inline.remove("tool");
            }
        })
        .await;
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = bound.local_addr().unwrap().to_string();
        let keyring = Keyring::from_operator(Credential::from_token(TOKEN.to_owned()));
        let door = HttpDoor::open(bound, organism.handle().clone(), keyring, ConsoleSettings::default());
        let pages = sized("PAGES", 64).to_string();
        let mut watchers = case.watchers.map(|what| {
            blocking(|| match what {
                "pages" => Watching::Pages(Paced::start(&["pages", &address, TOKEN, &pages])),
                what => Watching::Lasting(Lasting::start(&["watchers", &address, TOKEN, "64", what])),
            })
        });
        let mut callers = blocking(|| callers(&address, case, calls));
        let from = at_rest(&organism, RECORDS * calls as u64 / 10).await;
        let (before, pump) = (worked().0, pump_worked());
        let began = crate::report::now();
        blocking(|| callers.go());
        let (to, ended) = walk::reached(&organism, from + RECORDS * calls as u64).await;
        let (after, pump) = (worked().0, pump_worked() - pump);
        let refreshes = match &mut watchers {
            Some(Watching::Pages(pages)) => blocking(|| pages.go()),
            _ => f64::NAN,
        };
        assert_eq!(to, from + RECORDS * calls as u64, "the log has only the calls");
        drop((callers, watchers));
        let closed = door.close().await;
        organism.stop(GRACE).await;
        closed.wait_for_end().await;
        let pace = Pace::of(calls as u64, (ended - began).as_secs_f64(), after - before);
        Passed { pace, pump_us: pump * 1e6 / calls as f64, refreshes }
    })
}

/// Processor seconds of the pump's thread so far.
fn pump_worked() -> f64 {
    worked_by_threads().get("pump").copied().unwrap_or(f64::NAN)
}

/// Waits until the first calls have ended and the log no longer grows; the position then.
async fn at_rest(organism: &Organism, records: u64) -> u64 {
    walk::reached(organism, records).await;
    let mut tail = organism.tail();
    while timeout(QUIET, tail.changed()).await.is_ok_and(|changed| changed.is_ok()) {}
    organism.handle().end().0
}

fn callers(address: &str, case: &Case, calls: usize) -> Paced {
    Paced::start(&["callers", address, TOKEN, &case.in_flight.to_string(), &calls.to_string(), case.way])
}

/// Waits for another process while the tasks of this one run.
fn blocking<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

/// The program of a tool; `None` if it is in the process.
pub(crate) fn program(tool: Tool) -> Option<ListenerProgram> {
    let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let run = match tool {
        Tool::Inline => return None,
        Tool::Rust => vec![own, "--child".to_owned(), "program".to_owned()],
        Tool::Python => vec!["python3".to_owned(), "tool.py".to_owned(), TEXT.to_string()],
    };
    Some(ListenerProgram {
        run,
        adapter: Vec::new(),
        directory: std::fs::canonicalize(PathBuf::from("config/bench")).unwrap(),
        env: std::collections::BTreeMap::new(),
        pass: Vec::new(),
        stays: true,
        by_length: false,
        sandbox: None,
    })
}

/// The child that is the tool's program.
pub(crate) fn answer() {
    let worked = filled(TOOLS[0], "worked", &"x".repeat(TEXT));
    let worked = Payload::parse(&worked, &DocumentLimits::default()).unwrap();
    let _ended_with_stdin = answer_each(move |_| worked.clone());
}

/// The same server with a constant answer.
fn bare(in_flight: usize, calls: usize) -> Pace {
    let receipt = ApiReceipt {
        id: "01a1f850-0000-7000-8000-000000000000".to_owned(),
        thread: "sess-da5910918c72".to_owned(),
        seq: 1,
        position: 1,
        call: "1".to_owned(),
        sender: "operator".to_owned(),
        claimed: None,
        key: "call-1-1".to_owned(),
        repeated: false,
    };
    let receipt = serde_json::to_vec(&receipt).unwrap();
    let answer = post(async move |_document: Bytes| (StatusCode::ACCEPTED, receipt.clone()));
    walk::runtime().block_on(async {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = bound.local_addr().unwrap().to_string();
        let mut served = JoinSet::new();
        served.spawn(axum::serve(bound, Router::new().route("/v1/messages", answer)).into_future());
        let (in_flight, most) = (in_flight.to_string(), calls.to_string());
        let mut callers =
            blocking(|| Paced::start(&["callers", &address, TOKEN, &in_flight, &most, "receipt"]));
        let before = worked().0;
        let seconds = blocking(|| callers.go());
        Pace::of(calls as u64, seconds, worked().0 - before)
    })
}
