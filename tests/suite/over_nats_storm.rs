//! Storms over workers on other machines: the pump is stopped, killed, taken over and suspended again and again while
//! workers in Rust, Python and Node are at work. No piece of work is begun twice, and no call fails. Every process is
//! real, and the log is at the broker, so that two pumps share it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use async_nats::{ConnectOptions, HeaderMap, Request};
use rustix::process::Signal;
use systole_kit::nats::Worker;
use systole_soak::dice::SeededDice;
use tokio::time::{Instant, interval, timeout};

use crate::broker::{NatsServer, path, python};
use crate::browser::node;
use crate::over_nats::{HandWorker, folder_at, next, runs, told};
use crate::over_nats_python::changed_listener;
use crate::over_nats_restart::posts;
use crate::program::{PATIENCE, Running, ask, run_file, systole};
use crate::workers::{Process, TALK, answer, this_suite};

/// How long a worker works on each call in the soak, and in the ordinary suite.
const LONG_WORK: Duration = Duration::from_secs(8);
const SHORT_WORK: Duration = Duration::from_secs(2);
/// The listeners, and what follows at each after an attempt of unknown outcome. Every other call is for the second.
pub(crate) const LISTENERS: [(&str, &str); 2] = [("strict", "fail"), ("patient", "retry")];
/// The variables with the file in which a worker notes its work, and with the time that it takes for each piece.
const BOOK: &str = "SYSTOLE_TEST_BOOK";
const WORK: &str = "SYSTOLE_TEST_WORK_MS";
/// The work of the Python listener.
const PYTHON_WORK: &str = "    with open(os.environ['SYSTOLE_TEST_BOOK'], 'a') as book:
        print('begin', text, file=book, flush=True)
        threading.Event().wait(int(os.environ['SYSTOLE_TEST_WORK_MS']) / 1000)
        print('end', text, file=book, flush=True)
    return 'done ' + text
";

/// What happens to the pump that leads.
#[derive(Clone, Copy, Debug)]
enum Blow {
    /// Stopped in order, and started again.
    Stopped,
    /// Killed, and started again.
    Killed,
    /// Suspended while workers finish pieces, and resumed.
    Suspended,
    /// Stopped in order while another pump stands by, which takes over.
    Succeeded,
    /// Killed while another stands by.
    TakenOver,
    /// Suspended until another has taken over, and resumed.
    Ousted,
}

use Blow::{Killed, Ousted, Stopped, Succeeded, Suspended, TakenOver};

/// The workers: how many processes of each kind for each listener, with how many slots each.
pub(crate) type Hands = &'static [(WorkerKind, usize, usize)];

struct StormPlan {
    /// What its dice begin with.
    seed: u64,
    calls: usize,
    blows: Vec<Blow>,
    work: Duration,
    hands: Hands,
}

impl StormPlan {
    /// The calls that are sent around that blow.
    fn share(&self, blow: usize) -> std::ops::Range<usize> {
        let before = |blow: usize| blow * self.calls / self.blows.len();
        before(blow)..before(blow + 1)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkerKind {
    Rust,
    Python,
    Node,
}

/// Runs as a worker in a separate process of this suite.
#[test]
#[ignore = "started by other tests"]
fn process_that_works() {
    let Ok(book) = std::env::var(BOOK) else { return };
    let work = Duration::from_millis(std::env::var(WORK).unwrap().parse().unwrap());
    let ended = Worker::from_environment().answer_each(move |turn| {
        let piece = turn.request().text();
        note(Path::new(&book), "begin", &piece);
        lasts(work);
        note(Path::new(&book), "end", &piece);
        answer(&format!("done {piece}"))
    });
    assert_eq!(ended, ExitCode::SUCCESS);
}

fn note(book: &Path, word: &str, piece: &str) {
    // One write at the end of the file, so that two lines never mix.
    let mut book = std::fs::File::options().create(true).append(true).open(book).unwrap();
    book.write_all(format!("{word} {piece}\n").as_bytes()).unwrap();
}

/// Lasts as long as work does: it waits for a message that never comes.
pub(crate) fn lasts(time: Duration) {
    let (_open, never) = sync_channel::<()>(0);
    assert!(never.recv_timeout(time).is_err());
}

/// The workers, and the folder in which they note what they do.
pub(crate) struct Workforce {
    pub(crate) processes: Vec<Process>,
    folder: tempfile::TempDir,
}

/// What workers noted: the pieces that they began and ended, each as often as they did.
#[derive(Default)]
pub(crate) struct Pieces {
    pub(crate) begun: Vec<String>,
    pub(crate) ended: Vec<String>,
}

impl Workforce {
    /// Starts the workers, with the keys in that folder if the broker wants some.
    pub(crate) fn hire(url: &str, keys: Option<&Path>, hands: Hands, work: Duration) -> Workforce {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Vec::new();
        for (listener, _) in LISTENERS {
            for (kind, count, slots) in hands {
                for number in 0..*count {
                    let mut command = command_of(*kind, *slots, folder.path());
                    let book = folder.path().join(format!("{listener}-{kind:?}-{number}.book"));
                    command.env(BOOK, book).env(WORK, work.as_millis().to_string());
                    command.env("SYSTOLE_NATS", url).env("SYSTOLE_SLOTS", slots.to_string());
                    command.env("SYSTOLE_ORGANISM", "shop").env("SYSTOLE_LISTENER", listener);
                    let key = keys.map(|keys| keys.join(format!("{listener}.nk")));
                    if let Some(key) = &key {
                        command.env("SYSTOLE_KEY_FILE", key);
                    }
                    if let WorkerKind::Python = kind {
                        command.args([url, "shop", listener]).args(key);
                    }
                    processes.push(Process::of(command));
                }
            }
        }
        Workforce { processes, folder }
    }

    pub(crate) fn pieces(&self) -> Pieces {
        self.pieces_of("")
    }

    /// The pieces of the workers in whose names that is.
    fn pieces_of(&self, name: &str) -> Pieces {
        let mut pieces = Pieces::default();
        for book in std::fs::read_dir(self.folder.path()).unwrap() {
            let path = book.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            if !file.ends_with(".book") || !file.contains(name) {
                continue;
            }
            for line in std::fs::read_to_string(&path).unwrap().lines() {
                match line.split_once(' ') {
                    Some(("begin", piece)) => pieces.begun.push(piece.to_owned()),
                    Some(("end", piece)) => pieces.ended.push(piece.to_owned()),
                    _ => panic!("{file}: {line:?}"),
                }
            }
        }
        pieces
    }

    /// Waits until the pieces are as they should be; returns whether they were in time.
    pub(crate) fn come_to(&self, so: impl Fn(&Pieces) -> bool) -> bool {
        let end = Instant::now() + PATIENCE;
        while !so(&self.pieces()) {
            if Instant::now() > end {
                return false;
            }
            lasts(Duration::from_millis(20));
        }
        true
    }
}

/// The command of a worker, without where it works.
fn command_of(kind: WorkerKind, slots: usize, folder: &Path) -> Command {
    let stories = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/over_nats_storm");
    match kind {
        WorkerKind::Rust => this_suite("over_nats_storm::process_that_works"),
        WorkerKind::Node => {
            let mut command = Command::new(node());
            command.arg(stories.join("worker.mjs"));
            command
        }
        WorkerKind::Python => {
            let slots = format!("AT_ONCE = {slots} ");
            let work = [("    return \"You said: \" + text\n", PYTHON_WORK), ("AT_ONCE = 4 ", &*slots)];
            std::fs::write(folder.join("worker.py"), changed_listener(&work)).unwrap();
            let mut command = python();
            command.arg(folder.join("worker.py"));
            command
        }
    }
}

/// Two machines of one organism. The pump of one leads; the other has one only for a takeover.
struct Pumps {
    machines: [tempfile::TempDir; 2],
    leads: usize,
    running: Option<Running>,
}

/// A machine with the organism's file, which says that about broker and log.
pub(crate) fn machine(places: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let listener = |(name, on_unknown): &(&str, &str)| {
        format!(
            "  {name}: {{nats: true, accepts: [ask], returns: [answer], entry: true, in_flight: 64, timeout: 10m, on_unknown: {on_unknown}}}\n"
        )
    };
    let listeners: String = LISTENERS.iter().map(listener).collect();
    let file = format!(
        "organism: {{name: shop, entry: strict}}\nlisteners:\n{listeners}clients:\n  alice: {{nats: true, may: [strict, patient]}}\n{places}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"
    );
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

impl Pumps {
    fn over(server: &NatsServer) -> Pumps {
        let log = format!("log: {{nats: {}, durability: relaxed, path: hello.db}}", server.url());
        let machines = [machine(&log), machine(&log)];
        let running = Running::organism(machines[0].path());
        Pumps { machines, leads: 0, running: Some(running) }
    }

    fn strike(&mut self, blow: Blow, workers: &Workforce) {
        match blow {
            Stopped => self.begins_again(Signal::TERM),
            Killed => self.begins_again(Signal::KILL),
            Suspended => {
                let running = self.running.as_ref().unwrap();
                running.signal(Signal::STOP);
                let ended = workers.pieces().ended.len();
                assert!(workers.come_to(|pieces| pieces.ended.len() > ended), "nothing is at work");
                running.signal(Signal::CONT);
            }
            Succeeded => self.hands_over(Signal::TERM),
            TakenOver => self.hands_over(Signal::KILL),
            Ousted => self.hands_over(Signal::STOP),
        }
    }

    fn begins_again(&mut self, how: Signal) {
        let old = self.running.take().unwrap();
        old.signal(how);
        drop(old.end());
        self.running = Some(Running::organism(self.machines[self.leads].path()));
    }

    fn hands_over(&mut self, how: Signal) {
        self.leads = 1 - self.leads;
        let mut next = Running::start(self.machines[self.leads].path(), &["run"]);
        next.says("stands by: ");
        let mut old = self.running.replace(next).unwrap();
        old.signal(how);
        self.running.as_mut().unwrap().says("its log is");
        if how == Signal::STOP {
            old.signal(Signal::CONT);
            old.says("stands by: ");
            old.signal(Signal::KILL);
        }
        drop(old.end());
    }

    fn folder(&self) -> &Path {
        self.machines[self.leads].path()
    }
}

/// Sends each call that is released, again and again with its key until it is accepted.
fn sends(url: &str, released: Receiver<usize>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let client = ConnectOptions::new().connect(url).await.unwrap();
        for call in released {
            timeout(PATIENCE, is_accepted(&client, call)).await.expect("a call is not accepted");
        }
    });
}

async fn is_accepted(client: &async_nats::Client, call: usize) {
    let (listener, _) = LISTENERS[call % LISTENERS.len()];
    let mut again = interval(Duration::from_millis(200));
    loop {
        again.tick().await;
        let mut headers = HeaderMap::new();
        headers.insert("Idempotency-Key", format!("call-{call}"));
        headers.insert("Systole-To", listener);
        let body = format!("<ask xmlns=\"{TALK}\">n{call}</ask>");
        let request = Request::new().headers(headers).payload(body.into());
        let request = request.timeout(Some(Duration::from_secs(2)));
        // Without a receipt it is not known to be accepted.
        let Ok(receipt) = client.send_request("o.shop.in.alice", request).await else { continue };
        match receipt.headers.as_ref().and_then(|headers| headers.get("Systole-Code")) {
            None => return,
            Some(code) => assert_eq!(code.as_str(), "ingress.unavailable", "{receipt:?}"),
        }
    }
}

/// What the log says about the calls.
#[derive(Default, Debug)]
pub(crate) struct LogFigures {
    /// The calls that have their own answer.
    answered: BTreeSet<String>,
    /// How many records there are of each kind and code.
    pub(crate) kinds: BTreeMap<String, usize>,
}

impl LogFigures {
    pub(crate) fn of(folder: &Path) -> LogFigures {
        let (mut figures, mut asked) = (LogFigures::default(), BTreeMap::new());
        let log = systole(folder, &["log", "-n", "0", "--json"]);
        for (record, kind) in log.json_lines().iter().zip(log.kinds()) {
            let inside = |begin: &str| {
                let (_, rest) = record["body"].as_str()?.split_once(begin)?;
                Some(rest.split_once('<')?.0.to_owned())
            };
            let thread = record["thread"].to_string();
            match kind.as_str() {
                "message/request" => drop(asked.insert(thread, inside(">n"))),
                "message/final" if asked.get(&thread).is_some_and(|asked| *asked == inside(">done n")) => {
                    figures.answered.extend(inside(">done "));
                }
                _ => {}
            }
            *figures.kinds.entry(kind).or_default() += 1;
        }
        figures
    }

    /// The records that say that something failed or was lost or refused, or that came too late.
    pub(crate) fn troubles(&self) -> BTreeMap<&str, usize> {
        let is_trouble = |kind: &str| {
            kind.starts_with("outcome/")
                || kind.starts_with("refusal/")
                || kind.starts_with("attempt/listener.")
        };
        self.kinds
            .iter()
            .filter(|(kind, _)| is_trouble(kind))
            .map(|(kind, count)| (&**kind, *count))
            .collect()
    }
}

/// Strikes while the calls are sent. Returns how many pieces of work were out at all blows together.
fn strikes(plan: &StormPlan, url: &str, workers: &Workforce, pumps: &mut Pumps) -> usize {
    let (release, released) = sync_channel(plan.calls);
    let (mut dice, mut begun, mut out) = (SeededDice::new(plan.seed), 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| sends(url, released));
        for (number, blow) in plan.blows.iter().enumerate() {
            plan.share(number).for_each(|call| release.send(call).unwrap());
            assert!(workers.come_to(|pieces| pieces.begun.len() > begun), "nothing more begins");
            let most = u64::try_from(plan.work.as_millis()).unwrap() / 2;
            lasts(Duration::from_millis(dice.below(most)));
            let pieces = workers.pieces();
            begun = pieces.begun.len();
            out += begun - pieces.ended.len();
            println!("{blow:?}: {begun} begun, {} ended", pieces.ended.len());
            pumps.strike(*blow, workers);
        }
        drop(release);
    });
    out
}

/// What became of everything.
struct StormEnd {
    pieces: Pieces,
    /// The pieces that were begun more than once.
    twice: BTreeSet<String>,
}

/// Waits until all is done, stops the organism, and reads its log.
fn rests(plan: &StormPlan, folder: &Path, running: Running, workers: &mut Workforce) -> StormEnd {
    let all_ended = workers.come_to(|pieces| pieces.ended.len() >= plan.calls);
    let end = Instant::now() + PATIENCE;
    // A piece that has ended may not be answered yet.
    while LogFigures::of(folder).answered.len() < plan.calls && all_ended && Instant::now() < end {
        lasts(Duration::from_millis(200));
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
    let (figures, pieces) = (LogFigures::of(folder), workers.pieces());
    let mut once = BTreeSet::new();
    let twice: BTreeSet<String> = pieces.begun.iter().filter(|piece| !once.insert(*piece)).cloned().collect();
    println!(
        "{} calls, {} blows, {} answered, {} pieces begun twice, troubles {:?}; {:?}",
        plan.calls,
        plan.blows.len(),
        figures.answered.len(),
        twice.len(),
        figures.troubles(),
        figures.kinds
    );
    assert_eq!(figures.answered.len(), plan.calls, "{:?}", figures.troubles());
    assert_eq!(figures.troubles(), BTreeMap::new());
    for (kind, ..) in plan.hands {
        assert!(!workers.pieces_of(&format!("{kind:?}")).begun.is_empty(), "no {kind:?} worker did anything");
    }
    let verified = systole(folder, &["verify"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert!(!workers.processes.iter_mut().any(Process::is_over), "a worker ended by itself");
    StormEnd { pieces, twice }
}

fn storm(plan: &StormPlan) {
    let (server, began) = (NatsServer::start(), Instant::now());
    let mut pumps = Pumps::over(&server);
    let mut workers = Workforce::hire(&server.url(), None, plan.hands, plan.work);
    let out = strikes(plan, &server.url(), &workers, &mut pumps);
    let running = pumps.running.take().unwrap();
    let StormEnd { pieces, twice, .. } = rests(plan, pumps.folder(), running, &mut workers);
    println!("{out} pieces were out at all blows together; {:?}", began.elapsed());
    assert_eq!(twice, BTreeSet::new());
    assert_eq!((pieces.begun.len(), pieces.ended.len()), (plan.calls, plan.calls));
    assert!(out >= plan.blows.len(), "the blows met no work");
}

#[test]
fn b20_a_short_storm_of_restarts_does_no_work_twice_and_fails_no_call() {
    let hands = &[(WorkerKind::Rust, 1, 2), (WorkerKind::Python, 1, 2), (WorkerKind::Node, 1, 2)];
    let blows = vec![Killed, Ousted, Stopped, TakenOver];
    storm(&StormPlan { seed: 1, calls: 12, blows, work: SHORT_WORK, hands });
}

#[test]
#[ignore = "minutes; part of make soak"]
fn b20_a_storm_of_restarts_does_no_work_twice_and_fails_no_call() {
    // 64 slots together, 32 for each listener.
    let hands = &[(WorkerKind::Rust, 2, 6), (WorkerKind::Python, 2, 5), (WorkerKind::Node, 2, 5)];
    let blows = [Killed, Ousted, Stopped, TakenOver, Suspended, Succeeded].repeat(5);
    storm(&StormPlan { seed: 64, calls: 600, blows, work: LONG_WORK, hands });
}

/// How long before a kill the broker has certainly noted on disk what it had handed out. It writes that ten times a
/// second at most, also if it syncs everything else.
const NOTED: Duration = Duration::from_millis(500);

/// Kills the pump and its broker together, again and again. The broker is the organism's own, which dies with it, or
/// this one. It may hand out again what it had handed out just before.
fn kills_with_broker(mut server: Option<NatsServer>) {
    let hands = &[(WorkerKind::Rust, 1, 8), (WorkerKind::Python, 1, 8)];
    let plan =
        StormPlan { seed: 7, calls: 240, blows: vec![Killed; 20], work: Duration::from_secs(4), hands };
    let nats = server.as_ref().map_or("managed".to_owned(), |server| format!("'{}'", server.url()));
    let machine = machine(&format!("bus: {{nats: {nats}}}\nlog: {{path: hello.db}}"));
    let start = || Running::organism_with(machine.path(), &[("PATH", &path())]);
    let mut running = start();
    let own = machine.path().join("hello.db.nats");
    let mut workers = match &server {
        Some(server) => Workforce::hire(&server.url(), None, plan.hands, plan.work),
        None => {
            let url = std::fs::read_to_string(own.join("address")).unwrap();
            Workforce::hire(url.trim(), Some(&own.join("keys")), plan.hands, plan.work)
        }
    };
    let (mut dice, mut begun, mut fresh) = (SeededDice::new(plan.seed), 0, BTreeSet::new());
    for blow in 0..plan.blows.len() {
        for call in plan.share(blow) {
            let body = format!("<ask xmlns=\"{TALK}\">n{call}</ask>");
            let path = format!("/v1/messages?to={}", LISTENERS[call % LISTENERS.len()].0);
            assert_eq!(ask(&run_file(machine.path()), "POST", &path, &[], &body).status, 202);
        }
        assert!(workers.come_to(|pieces| pieces.begun.len() > begun), "nothing more begins");
        lasts(Duration::from_millis(dice.below(1_000)));
        let before: BTreeSet<String> = workers.pieces().begun.into_iter().collect();
        lasts(NOTED);
        server.iter_mut().for_each(NatsServer::kill);
        running.signal(Signal::KILL);
        drop(running.end());
        let pieces = workers.pieces().begun;
        begun = pieces.len();
        fresh.extend(pieces.into_iter().filter(|piece| !before.contains(piece)));
        server.iter_mut().for_each(NatsServer::start_again);
        running = start();
    }
    let StormEnd { twice, .. } = rests(&plan, machine.path(), running, &mut workers);
    let (excused, known): (Vec<_>, Vec<_>) = twice.iter().partition(|piece| fresh.contains(*piece));
    println!("{} of {} that were just handed out were begun twice", excused.len(), fresh.len());
    assert_eq!(known, Vec::<&String>::new());
}

#[test]
#[ignore = "minutes; part of make soak"]
fn b20_kills_of_the_pump_with_its_own_broker_repeat_only_what_was_just_handed_out_and_fail_no_call() {
    kills_with_broker(None);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn b20_kills_of_the_pump_with_a_broker_that_syncs_repeat_only_what_was_just_handed_out_and_fail_no_call() {
    kills_with_broker(Some(NatsServer::start()));
}

/// The broker says only once that a worker gave no sign of life, and no pump hears it.
#[tokio::test(flavor = "multi_thread")]
async fn b20_a_worker_that_is_killed_while_no_pump_runs_is_one_further_attempt() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", idle: 1s, timeout: 10m, retry: {backoff: 1ms..1ms}");
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let lost = worker.pulls().await;
    let said = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.SYSTOLE_shop_BUS.echo";
    let mut unheard = worker.client.subscribe(said).await.unwrap();
    worker.client.flush().await.unwrap();
    running.signal(Signal::KILL);
    drop(running.end());
    next(&mut unheard).await;
    let _running = runs(folder.path());
    let again = worker.pulls().await;
    assert_ne!(again.token, lost.token);
    assert!(worker.says(&again, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.lost", "message/final"]);
}
