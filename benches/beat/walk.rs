//! The measured organism: a walker sends a tool one payload after another, in as many threads as there
//! should be hops in flight; a call and its answer are two hops. Walkers wait at a gate until all have
//! arrived, so that the measurement begins with all of them in motion.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_core::Stream as _;
use systole_carriers::{InlineListener, from_answer};
use systole_config::{self as config, Durability, LogKept};
use systole_core::types::composition::Listener;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::writer::XmlWriter;
use systole_kit::{DocumentLimits, Payload};
use systole_organism::plan::{BusAccess, LogPlace, ReloadAtStart, RunPlan};
use systole_organism::running::{ClientMessage, Organism};
use systole_organism::waiting::SenderReply;
use systole_system::failpoint::Failpoint;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;

use crate::report::now;

/// The current task of the walkers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// They wait at the gate.
    Gather,
    /// They walk until they are called home, or until they have had that many turns.
    Walk(u32),
    /// The next answer of each walker is its last.
    Home,
}

/// The state that the walkers of one organism share with the measurement.
pub(crate) struct Course {
    stage: watch::Sender<Stage>,
    /// One permit for each walker at the gate.
    arrived: Semaphore,
    /// How many turns walkers have had since.
    turns: Milestone,
    /// When each delivery reached its listener, if hops are measured one by one.
    stamps: Option<Mutex<Vec<Instant>>>,
    stamped: Milestone,
    /// The payloads, made before the measurement, because writing them is the listeners' work.
    work: Vec<Vec<Item>>,
    worked: [Item; 2],
    walked: Item,
    /// The document that a walk begins with.
    walk: Vec<u8>,
}

/// A count that wakes who waits for it once. To wake a waiting task for each hop would cost the hops that are measured.
#[derive(Default)]
struct Milestone {
    count: AtomicU64,
    goal: AtomicU64,
    reached: Notify,
}

impl Milestone {
    fn set(&self, count: u64) {
        self.count.store(count, Ordering::SeqCst);
        if count == self.goal.load(Ordering::SeqCst) {
            self.reached.notify_one();
        }
    }

    fn add(&self) {
        if self.count.fetch_add(1, Ordering::SeqCst) + 1 == self.goal.load(Ordering::SeqCst) {
            self.reached.notify_one();
        }
    }

    /// Waits until that many were counted. Returns how many then were.
    async fn wait(&self, goal: u64) -> u64 {
        self.goal.store(goal, Ordering::SeqCst);
        loop {
            let count = self.count.load(Ordering::SeqCst);
            if count >= goal {
                return count;
            }
            self.reached.notified().await;
        }
    }
}

/// The namespaces of the two tools.
pub(crate) const TOOLS: [&str; 2] =
    ["https://xml-pipeline.org/ns/tool/v1", "https://xml-pipeline.org/ns/tool-b/v1"];
const WALKER: &str = "https://xml-pipeline.org/ns/walker/v1";
/// Payloads that a walker sends in turn.
const DIFFERENT: usize = 64;
/// The bytes of a tool's payload without its text.
pub(crate) const MARKUP: usize = 88;

/// A payload of a tool.
pub(crate) fn filled(ns: &'static str, name: &'static str, text: &str) -> Vec<u8> {
    let mut writer = XmlWriter::with_capacity(text.len() + 128);
    writer.open(name).xmlns(ns).content(|inside| {
        inside.open("number").text("1");
        inside.open("text").text(text);
    });
    writer.finish()
}

/// A payload of the walker: leading zeros change its length but not its value.
fn counted(name: &'static str, length: usize) -> Vec<u8> {
    let mut writer = XmlWriter::with_capacity(length + 128);
    writer.open(name).xmlns(WALKER).content(|inside| {
        inside.open("steps").text(&format!("{}1", "0".repeat(length)));
    });
    writer.finish()
}

fn item(document: &[u8]) -> Item {
    Item::plain(Payload::parse(document, &DocumentLimits::default()).unwrap())
}

/// Payloads of the same length, more than an organism remembers: a repeated payload would count as a
/// loop.
fn different(ns: &'static str, text: &str) -> Vec<Item> {
    let numbered = |n: usize| [text.get(2..).unwrap_or_default(), &format!("{n:02}")].concat();
    (0..DIFFERENT).map(|n| item(&filled(ns, "work", &numbered(n)))).collect()
}

impl Course {
    /// A course whose payloads have a text of that length, with one or two tools.
    pub(crate) fn new(text: usize, tools: usize, stage: Stage) -> Arc<Course> {
        Arc::new(Course::laid_out(text, tools, stage, None))
    }

    /// A course that records every arrival of a delivery.
    pub(crate) fn watched(text: usize) -> Arc<Course> {
        Arc::new(Course::laid_out(text, 1, Stage::Gather, Some(Mutex::default())))
    }

    fn laid_out(length: usize, tools: usize, stage: Stage, stamps: Option<Mutex<Vec<Instant>>>) -> Course {
        let text = "x".repeat(length);
        Course {
            stage: watch::channel(stage).0,
            arrived: Semaphore::new(0),
            turns: Milestone::default(),
            stamps,
            stamped: Milestone::default(),
            work: TOOLS.iter().take(tools).map(|ns| different(ns, &text)).collect(),
            worked: TOOLS.map(|ns| item(&filled(ns, "worked", &text))),
            // As long as a payload of the tool.
            walked: item(&counted("walked", length)),
            walk: counted("walk", length),
        }
    }

    pub(crate) fn is_now(&self, stage: Stage) {
        self.stage.send_replace(stage);
    }

    /// Waits until that many walkers are at the gate.
    pub(crate) async fn gathered(&self, walkers: usize) {
        let all = u32::try_from(walkers).unwrap();
        self.arrived.acquire_many(all).await.unwrap().forget();
    }

    /// Waits until walkers have had that many turns. Returns how many they then had, and the time.
    pub(crate) async fn turned(&self, turns: u64) -> (u64, Instant) {
        let had = self.turns.wait(turns).await;
        (had, now())
    }

    /// Seconds between one arrival and the next.
    pub(crate) fn between(&self) -> Vec<f64> {
        let stamps = self.stamps.as_ref().unwrap().lock().unwrap();
        stamps.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect()
    }

    /// Waits until that many deliveries have arrived.
    pub(crate) async fn arrivals(&self, most: usize) {
        self.stamped.wait(most as u64).await;
    }

    /// Waits until the walkers are called home.
    pub(crate) async fn called_home(&self) {
        self.stage.subscribe().wait_for(|stage| *stage == Stage::Home).await.unwrap();
    }

    /// Forgets the arrivals so far.
    pub(crate) fn anew(&self) {
        self.stamps.as_ref().unwrap().lock().unwrap().clear();
        self.stamped.set(0);
    }

    fn stamp(&self) {
        if let Some(stamps) = &self.stamps {
            let mut stamps = stamps.lock().unwrap();
            stamps.push(now());
            self.stamped.set(stamps.len() as u64);
        }
    }

    async fn step(&self, thread: &str, turn: u32) -> ReplyContent {
        let mut stage = *self.stage.borrow();
        if stage == Stage::Gather {
            self.arrived.add_permits(1);
            stage = *self.stage.subscribe().wait_for(|s| *s != Stage::Gather).await.unwrap();
        }
        self.turns.add();
        let goes_on = matches!(stage, Stage::Walk(turns) if turn <= turns);
        let tool = thread.bytes().last().map_or(0, usize::from) % self.work.len();
        let work = &self.work[tool];
        ReplyContent::Items(vec![if goes_on {
            work[turn as usize % work.len()].clone()
        } else {
            self.walked.clone()
        }])
    }

    /// The document that a walk begins with.
    pub(crate) fn walk(&self) -> Vec<u8> {
        self.walk.clone()
    }
}

/// The listeners: a walker and two tools.
fn listeners(course: &Arc<Course>) -> BTreeMap<Name, Arc<dyn InlineListener>> {
    let shared = course.clone();
    let walker = from_answer(move |asked| {
        let course = shared.clone();
        async move {
            course.stamp();
            course.step(&asked.thread, asked.stamp.turn).await
        }
    });
    let tool = |n: usize| {
        let course = course.clone();
        from_answer(move |_| {
            course.stamp();
            let said = ReplyContent::Items(vec![course.worked[n].clone()]);
            async move { said }
        })
    };
    let name = |n| Name::parse(n).unwrap();
    BTreeMap::from([(name("walker"), walker), (name("tool"), tool(0)), (name("tool-b"), tool(1))])
}

/// The organism's listeners by name: each one's section of the file, and the code that answers.
type Cast<'a> = (&'a mut BTreeMap<Name, Listener>, &'a mut BTreeMap<Name, Arc<dyn InlineListener>>);

/// Starts the organism of the benchmark.
pub(crate) async fn start(log: LogPlace, course: &Arc<Course>, validators: usize) -> Organism {
    Box::pin(start_recast(log, course, validators, |_| ())).await
}

/// The same with its log in a stream of that broker.
pub(crate) async fn start_far(copy: PathBuf, url: &str, course: &Arc<Course>) -> Organism {
    // A benchmark's broker syncs by its own configuration, and has no monitoring pages that show it.
    let kept = LogKept { durability: Durability::Relaxed, replicas: 1 };
    let bus = BusAccess { url: url.to_owned(), credentials: None };
    let log = LogPlace::Stream { copy, kept };
    Organism::start(RunPlan { bus: Some(bus), ..plan(log, course, 1, |_| ()) }).await.unwrap()
}

/// The same after a change to its listeners, over that broker if there is one.
pub(crate) async fn start_over(
    bus: Option<BusAccess>,
    log: LogPlace,
    course: &Arc<Course>,
    change: impl FnOnce(Cast<'_>),
) -> Organism {
    Organism::start(RunPlan { bus, ..plan(log, course, 1, change) }).await.unwrap()
}

/// The next message; `None` if there will be none.
pub(crate) async fn next(subscriber: &mut async_nats::Subscriber) -> Option<async_nats::Message> {
    std::future::poll_fn(|cx| std::pin::Pin::new(&mut *subscriber).poll_next(cx)).await
}

/// The same after a change to its listeners.
pub(crate) async fn start_recast(
    log: LogPlace,
    course: &Arc<Course>,
    validators: usize,
    change: impl FnOnce(Cast<'_>),
) -> Organism {
    Organism::start(plan(log, course, validators, change)).await.unwrap()
}

fn plan(log: LogPlace, course: &Arc<Course>, validators: usize, change: impl FnOnce(Cast<'_>)) -> RunPlan {
    let mut file =
        config::load_given(Path::new("config/bench/organism.yaml"), &["walker", "tool", "tool-b"]).unwrap();
    // A walk is longer than the file allows a call to be.
    file.composition.listeners.values_mut().filter(|l| l.turns > 1).for_each(|l| l.turns = u32::MAX);
    let mut inline = listeners(course);
    change((&mut file.composition.listeners, &mut inline));
    RunPlan {
        bus: None,
        managed: None,
        stands_by: None,
        given_up: None,
        proof: None,
        followers: Vec::new(),
        schedules: Vec::new(),
        reload: ReloadAtStart::default(),
        composition: file.composition,
        directory: "config/bench".into(),
        log,
        inline,
        validators,
        surroundings: BTreeMap::new(),
        steps: Arc::new(Failpoint::parse(None).unwrap()),
    }
}

/// A message of the operator.
pub(crate) fn message(key: &str, document: Vec<u8>, thread: Option<&ThreadId>) -> ClientMessage {
    ClientMessage {
        client: Name::new_operator(),
        key: Key::parse(key).unwrap(),
        document,
        to: None,
        thread: thread.map(ToString::to_string),
        subject: None,
    }
}

/// Sends a message and waits for its receipt.
pub(crate) async fn ask(organism: &Organism, message: ClientMessage) {
    let reply = organism.handle().send_message(message).await;
    assert!(matches!(reply, Some(SenderReply::Receipt(..))), "a message is taken: {reply:?}");
}

/// Begins all walks at once and waits for their receipts.
pub(crate) async fn begin(organism: &Organism, course: &Course, keys: impl Iterator<Item = String>) {
    let mut asks = JoinSet::new();
    for key in keys {
        let (front, message) = (organism.handle().clone(), message(&key, course.walk(), None));
        asks.spawn(
            async move { matches!(front.send_message(message).await, Some(SenderReply::Receipt(..))) },
        );
    }
    assert!(asks.join_all().await.into_iter().all(|taken| taken), "every walk is taken");
}

/// Waits until the log has that many records, and returns how many it then has and the time.
pub(crate) async fn reached(organism: &Organism, records: u64) -> (u64, Instant) {
    let mut tail = organism.tail();
    let at = tail.wait_for(|at| at.0 >= records).await.unwrap().0;
    (at, now())
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// The number of records of a thread with one walk of that many turns: the message that began it, a call
/// and an answer each turn, and the walker's last message.
pub(crate) fn records(turns: u32) -> u64 {
    2 + 2 * u64::from(turns)
}

/// How long a stop waits for walkers to come home.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
