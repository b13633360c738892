//! The broker, or every worker, is away for long: accepted calls wait, none fails, none is done twice, the answers of a
//! thread come in its order, and a wait uses no time of a budget. Every process is real.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use crate::broker::NatsServer;
use crate::over_nats_storm::{Hands, LISTENERS, LogFigures, WorkerKind, Workforce, lasts, machine};
use crate::program::{PATIENCE, Running, ask, run_file, systole};
use crate::workers::{Process, TALK};

/// How many calls there are, and how many of them are accepted first.
const CALLS: usize = 60;
const FIRST: usize = 20;
/// The threads that have a second call among the others.
const THREADS: usize = 10;
/// 12 slots together, six for each listener.
const HANDS: Hands = &[(WorkerKind::Rust, 1, 2), (WorkerKind::Python, 1, 2), (WorkerKind::Node, 1, 2)];
const WORK: Duration = Duration::from_secs(2);

/// An organism over a broker, with calls.
struct Office {
    server: NatsServer,
    machine: tempfile::TempDir,
    running: Running,
    threads: Vec<String>,
}

impl Office {
    /// Opens it, with more lines in its file.
    fn open(more: &str) -> Office {
        let server = NatsServer::start();
        let machine = machine(&format!("bus: {{nats: '{}'}}\n{more}log: {{path: hello.db}}", server.url()));
        let file = machine.path().join("organism.yaml");
        let text = std::fs::read_to_string(&file).unwrap().replace("timeout: 10m", "timeout: 1h");
        std::fs::write(file, text).unwrap();
        let mut running = Running::organism(machine.path());
        running.shows("strict is ready");
        Office { server, machine, running, threads: Vec::new() }
    }

    /// Sends these calls. Each is accepted before the next one.
    fn accepts(&mut self, calls: std::ops::Range<usize>) {
        for call in calls {
            let listener = LISTENERS[call % LISTENERS.len()].0;
            // The first after the first ones go on with the first threads.
            let thread = call.checked_sub(FIRST).and_then(|nth| self.threads.get(nth)).map_or("new", |t| t);
            let body = format!("<ask xmlns=\"{TALK}\">n{call}</ask>");
            let path = format!("/v1/messages?to={listener}&thread={thread}");
            let sent = ask(&run_file(self.machine.path()), "POST", &path, &[], &body);
            assert_eq!(sent.status, 202, "{sent:?}");
            if call < THREADS {
                self.threads.push(sent.json["thread"].as_str().unwrap().to_owned());
            }
        }
    }

    fn hires(&self) -> Workforce {
        Workforce::hire(&self.server.url(), None, HANDS, WORK)
    }

    /// Waits until every call is answered, and looks at the log.
    fn all_are_answered(self, mut workers: Workforce) {
        let (folder, end) = (self.machine.path(), Instant::now() + PATIENCE);
        let finals = || LogFigures::of(folder).kinds.get("message/final").copied().unwrap_or(0);
        while finals() < CALLS && Instant::now() < end {
            lasts(Duration::from_millis(500));
        }
        self.running.signal(Signal::TERM);
        assert_eq!(self.running.end().code, Some(0));
        let (figures, pieces) = (LogFigures::of(folder), workers.pieces());
        let once: BTreeSet<&String> = pieces.begun.iter().collect();
        println!("{} begun, {} once; {:?}", pieces.begun.len(), once.len(), figures.kinds);
        assert_eq!(figures.troubles(), BTreeMap::new());
        assert_eq!((pieces.begun.len(), once.len()), (CALLS, CALLS));
        let said = conversations(folder);
        assert_eq!(said.values().map(|(asked, _)| asked.len()).sum::<usize>(), CALLS);
        for (thread, (asked, answered)) in &said {
            assert_eq!(asked, answered, "{thread}");
        }
        assert_eq!(said.values().filter(|(asked, _)| asked.len() == 2).count(), THREADS);
        assert!(!workers.processes.iter_mut().any(Process::is_over), "a worker ended by itself");
    }
}

/// What was asked in each thread, and what was answered, in their order.
fn conversations(folder: &Path) -> BTreeMap<String, (Vec<String>, Vec<String>)> {
    let mut said = BTreeMap::<String, (Vec<String>, Vec<String>)>::new();
    let log = systole(folder, &["log", "-n", "0", "--json"]);
    for (record, kind) in log.json_lines().iter().zip(log.kinds()) {
        let inside = |begin: &str| {
            let (_, rest) = record["body"].as_str().unwrap().split_once(begin).unwrap();
            rest.split_once('<').unwrap().0.to_owned()
        };
        let (asked, answered) = said.entry(record["thread"].to_string()).or_default();
        match kind.as_str() {
            "message/request" => asked.push(inside(">n")),
            "message/final" => answered.push(inside(">done n")),
            _ => {}
        }
    }
    said
}

/// Some work is out when the broker goes away, some lies there, and most is accepted while it is away.
fn broker_leaves_workers_at_work(time: Duration) {
    let mut office = Office::open("");
    let workers = office.hires();
    office.accepts(0..FIRST);
    let all_work = workers.come_to(|pieces| !pieces.ended.is_empty() && pieces.begun.len() > 12);
    assert!(all_work, "nothing is at work");
    office.server.stop();
    office.accepts(FIRST..CALLS);
    lasts(time);
    office.server.start_again();
    office.all_are_answered(workers);
}

/// No worker is there yet, so all that is away is waited for, and the budget is shorter than that.
fn a_wait_uses_no_budget(time: Duration, is_broker_away: bool) {
    let mut office = Office::open(&format!("budgets: {{wall: {}s}}\n", time.as_secs() / 3 * 2));
    office.accepts(0..FIRST);
    if is_broker_away {
        office.server.stop();
    }
    office.accepts(FIRST..CALLS);
    lasts(time);
    if is_broker_away {
        office.server.start_again();
    }
    let workers = office.hires();
    office.all_are_answered(workers);
}

fn broker_is_away(time: Duration) {
    std::thread::scope(|scope| {
        scope.spawn(|| broker_leaves_workers_at_work(time));
        scope.spawn(|| a_wait_uses_no_budget(time, true));
    });
}

#[test]
#[ignore = "a minute; part of make soak"]
fn b21_a_broker_that_is_away_for_45_seconds_fails_no_call_and_uses_no_budget() {
    broker_is_away(Duration::from_secs(45));
}

#[test]
#[ignore = "ten minutes; part of make soak"]
fn b21_a_broker_that_is_away_for_ten_minutes_fails_no_call_and_uses_no_budget() {
    broker_is_away(Duration::from_secs(600));
}

#[test]
#[ignore = "two minutes; part of make soak"]
fn b21_calls_without_a_worker_for_two_minutes_fail_not_and_use_no_budget() {
    a_wait_uses_no_budget(Duration::from_secs(120), false);
}
