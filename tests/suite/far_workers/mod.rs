//! The soak's workload with listeners over NATS: the press, the till, the office and the runner are workers, several
//! under each name, in Rust and in Python. They are killed and suspended at random, and restarted. Half of them are
//! behind a proxy that doubles, delays and reorders messages.
//!
//! Their deliveries and receipts are written to a book (`book`), which is compared with the log in addition to the
//! judge of `systole-soak`. A worker does what the shell script of its name does, and keeps nothing in memory.

mod blows;
mod book;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Signal;
use systole_kit::Payload;
use systole_kit::nats::Worker;
use systole_kit::reply::ReplyContent;
use systole_kit::stdio::Turn;
use systole_soak::dice::SeededDice;
use systole_soak::house::RunFolder;
use tokio::time::Instant;

use crate::broker::{NatsServer, python};
use crate::proxy::Proxy;
use crate::unruly::Done;
use crate::workers::{KIND, Process, this_suite};
pub(crate) use book::Told;

/// The far listeners of the workload, as its file lists them.
const FAR: &[(&str, &str)] = &[
    ("press", "run: [sh, listeners/press.sh]\n    mode: once"),
    ("till", "run: [sh, listeners/till.sh]"),
    ("office", "run: [sh, listeners/office.sh]"),
    ("runner", "run: [sh, listeners/runner.sh]\n    mode: once"),
];
/// How long a worker may be silent. A suspended worker is silent for longer, or not.
const IDLE: Duration = Duration::from_secs(1);
/// The variable with the path of a worker's book.
const BOOK: &str = "SYSTOLE_TEST_BOOK";
/// The longest time between two failures of workers.
const PAUSE_MS: u64 = 1_000;

/// Changes the workload's file so that some of its listeners use NATS, like its log.
fn send_away(house: &RunFolder, url: &str) {
    let mut text = std::fs::read_to_string(house.organism()).unwrap();
    let (near, far) = ("log: {path", format!("log: {{nats: '{url}', durability: relaxed, path"));
    assert!(text.contains(near), "the log is in another place by now");
    text = text.replace(near, &far);
    for (name, near) in FAR {
        assert!(text.contains(near), "{name} is reached in another way by now");
        text = text.replace(near, &format!("nats: true\n    idle: {}ms", IDLE.as_millis()));
    }
    std::fs::write(house.organism(), text).unwrap();
    std::fs::write(house.folder().join("press.py"), include_str!("press.py")).unwrap();
}

fn book_of(house: &RunFolder) -> PathBuf {
    house.folder().join("workers.book")
}

/// The book of a house's workers, compared with its log.
pub(crate) fn told(house: &RunFolder) -> Told {
    book::judge(&std::fs::read_to_string(book_of(house)).unwrap(), &book::records(house))
}

/// Runs as a worker of this workload in a separate process of this suite.
#[test]
#[ignore = "started by other tests"]
fn process_that_works() {
    let (Ok(kind), Ok(book)) = (std::env::var(KIND), std::env::var(BOOK)) else { return };
    let worker = Worker::from_environment().slots(2).renew_every(IDLE / 5);
    let ended = worker.answer_each(move |turn| works(&kind, turn, Path::new(&book)));
    assert_eq!(ended, ExitCode::SUCCESS);
}

/// Does with a delivery what the shell script of that name does.
fn works(kind: &str, turn: &Turn<'_>, book: &Path) -> ReplyContent {
    let stamp = &turn.delivery().stamp;
    let line = format!("asked {kind} {} {} {}\n", stamp.key, stamp.attempt, stamp.delivery);
    // One write at the end of the file, so that two lines never mix.
    std::fs::File::options().append(true).open(book).unwrap().write_all(line.as_bytes()).unwrap();
    let asked = String::from_utf8_lossy(turn.request().bytes()).into_owned();
    let part = |name: &str| {
        let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
        let inside = asked.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
        inside.map(|(inside, _)| inside.to_owned()).unwrap_or_default()
    };
    let say = |ns: &str, element: &'static str, parts: &[(&'static str, String)]| {
        let ns = format!("https://xml-pipeline.org/ns/{ns}/v1");
        ReplyContent::from(Payload::write(&ns, element, |inside| {
            for (name, text) in parts {
                inside.open(*name).text(text);
            }
        }))
    };
    let token = ("token", part("token"));
    match kind {
        "press" => say("press", "stamped", &[token, ("mark", part("mark"))]),
        "till" => say("till", "paid", &[token]),
        "runner" => say("runner", "carried", &[token]),
        _ if asked.contains("<check ") => {
            say("press", "stamp", &[token, ("copies", "1".into()), ("mark", "check".into())])
        }
        _ if asked.contains("<stamped ") => say("office", "checked", &[token]),
        _ => {
            let words = "the press gave no stamp".to_owned();
            ReplyContent::new_failure("no-stamp", false, words)
        }
    }
}

/// A worker, which is restarted after a kill.
struct Hand {
    /// The name of its listener, and whether it is the Python one.
    name: &'static str,
    is_python: bool,
    /// Whether it is behind the proxy that reorders messages.
    is_unruly: bool,
    process: Process,
}

/// The failures of workers.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct WorkerBlows {
    pub(crate) killed: u64,
    pub(crate) held: u64,
}

/// All workers, and the dice that choose whom to strike.
struct Gang {
    hands: Vec<Hand>,
    url: String,
    /// The proxy that doubles, delays and reorders messages.
    unruly: Proxy,
    book: PathBuf,
    press: PathBuf,
    dice: SeededDice,
    struck: WorkerBlows,
    /// The suspended worker, and until when.
    held: Option<(usize, Instant)>,
}

impl Gang {
    fn hire(house: &RunFolder, server: &NatsServer, dice: SeededDice) -> Gang {
        let (book, press) = (book_of(house), house.folder().join("press.py"));
        std::fs::File::create(&book).unwrap();
        let (url, unruly) = (server.url(), Proxy::unruly(&server.url(), dice.apart(1)));
        let (hands, struck) = (Vec::new(), WorkerBlows::default());
        let mut gang = Gang { hands, url, unruly, book, press, dice, struck, held: None };
        for (name, _) in FAR {
            for is_unruly in [false, true] {
                let is_python = *name == "press" && !is_unruly;
                let process = gang.start(name, is_python, is_unruly);
                gang.hands.push(Hand { name, is_python, is_unruly, process });
            }
        }
        for hand in &gang.hands {
            hand.process.says("connected");
        }
        gang
    }

    fn start(&self, name: &str, is_python: bool, is_unruly: bool) -> Process {
        let url = if is_unruly { self.unruly.url() } else { self.url.clone() };
        if is_python {
            let mut worker = python();
            let echo = Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py");
            worker.arg(&self.press).arg(echo).arg(&self.book).args([&*url, "soak", name]);
            return Process::of(worker);
        }
        let mut worker = this_suite("far_workers::process_that_works");
        worker.env(KIND, name).env(BOOK, &self.book).env("SYSTOLE_NATS", url);
        worker.env("SYSTOLE_ORGANISM", "soak").env("SYSTOLE_LISTENER", name);
        Process::of(worker)
    }

    /// Makes one of them fail.
    fn strike(&mut self) {
        if let Some((which, until)) = self.held
            && Instant::now() >= until
        {
            self.go_on(which);
        }
        let which = usize::try_from(self.dice.below(self.hands.len() as u64)).unwrap();
        let is_held = self.held.is_some_and(|(held, _)| held == which);
        if self.held.is_none() && (self.struck.killed + 1).is_multiple_of(3) {
            self.hands[which].process.signal(Signal::STOP);
            let until = Instant::now() + Duration::from_millis(self.dice.below(3_000));
            (self.held, self.struck.held) = (Some((which, until)), self.struck.held + 1);
        } else if !is_held {
            let Hand { name, is_python, is_unruly, .. } = self.hands[which];
            assert!(!self.hands[which].process.is_over(), "a worker of {name} ended by itself");
            let next = self.start(name, is_python, is_unruly);
            std::mem::replace(&mut self.hands[which].process, next).kill();
            self.struck.killed += 1;
        }
    }

    fn go_on(&mut self, which: usize) {
        self.hands[which].process.signal(Signal::CONT);
        self.held = None;
    }
}

/// The workers at work, with failures.
pub(crate) struct Crew {
    over: SyncSender<()>,
    gang: JoinHandle<Gang>,
    count: std::sync::Arc<std::sync::atomic::AtomicU64>,
}

/// The same without failures, until this is dropped.
pub(crate) struct Rested {
    gang: Gang,
    pub(crate) struck: WorkerBlows,
}

impl Rested {
    /// What happened to messages in the proxy.
    pub(crate) fn done(&self) -> Done {
        self.gang.unruly.done()
    }
}

impl Crew {
    /// Makes some of the workload's listeners far ones, and runs several workers for each. From now on the workers
    /// fail.
    pub(crate) fn hire(house: &RunFolder, server: &NatsServer, dice: SeededDice) -> Crew {
        send_away(house, &server.url());
        let mut gang = Gang::hire(house, server, dice);
        let (over, is_over): (_, Receiver<()>) = sync_channel(0);
        let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
        let counted = count.clone();
        let gang = std::thread::spawn(move || {
            loop {
                let pause = Duration::from_millis(gang.dice.below(PAUSE_MS));
                if is_over.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    if let Some((which, _)) = gang.held {
                        gang.go_on(which);
                    }
                    return gang;
                }
                gang.strike();
                counted.store(gang.struck.killed, std::sync::atomic::Ordering::Relaxed);
            }
        });
        Crew { over, gang, count }
    }

    /// The number of kills so far.
    pub(crate) fn killed(&self) -> u64 {
        assert!(!self.gang.is_finished(), "the thread that strikes the workers has ended");
        self.count.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Ends the failures. All workers run.
    pub(crate) fn rest(self) -> Rested {
        drop(self.over);
        let gang = self.gang.join().unwrap();
        Rested { struck: gang.struck, gang }
    }
}
