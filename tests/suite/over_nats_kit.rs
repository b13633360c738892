//! The kit's worker over a real broker that holds everybody to their rights: workers in this process and in others, with
//! the organism as a process of its own.

use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use async_nats::ConnectOptions;
use systole_kit::ask::Question;
use systole_kit::journal::{Entry, Outcome, Started};
use systole_kit::nats::{News, Unserved, Worker};
use systole_kit::reply::Said;
use systole_kit::stdio::Turn;
use systole_kit::{Payload, Payload as Answer};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::broker::{Server, python};
use crate::organism::folder;
use crate::program::{Events, PATIENCE, Ran, Running, ask, lines, run_file, systole, systole_with};

#[path = "../../listeners/kit/examples/echo_nats.rs"]
mod echo_nats;

const TALK: &str = "https://xml-pipeline.org/ns/talk/v1";
/// Says to a process of this suite that it is a worker, and of what kind.
const KIND: &str = "SYSTOLE_TEST_WORKER";

/// A broker with the written configuration, the keys, and an organism that runs over it.
pub(crate) struct House {
    pub(crate) server: Server,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) running: Option<Running>,
}

fn file(url: &str, more: &str) -> String {
    [
        "organism: {name: shop, entry: echo}\nbus: {nats: '",
        url,
        "', key_env: BUS_KEY}\nlisteners:\n  echo: {nats: true, accepts: [ask], returns: [answer], entry: true",
        more,
        "}\n  other: {nats: true, accepts: [ask], returns: [answer]}\n",
        "log: {path: hello.db}\nconsole: {listen: \"127.0.0.1:0\"}\n",
    ]
    .concat()
}

impl House {
    /// Opens it, with more keys for the listener `echo`.
    pub(crate) fn open(more: &str) -> House {
        let folder = folder(&[("organism.yaml", &file("nats://127.0.0.1:4222", more))]);
        let written = systole(folder.path(), &["permissions", "--nats-config"]);
        assert_eq!(written.code, Some(0), "{written:?}");
        let server = Server::whole(&written.stdout);
        std::fs::write(folder.path().join("organism.yaml"), file(&server.url(), more)).unwrap();
        let mut house = House { server, folder, running: None };
        house.starts();
        house
    }

    fn starts(&mut self) {
        let mut running = Running::organism_with(self.path(), &[("BUS_KEY", &self.seed("_pump"))]);
        running.shows("echo is ready");
        self.running = Some(running);
    }

    /// Ends the organism as kill -9 does.
    fn kills_organism(&mut self) {
        drop(self.running.take());
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn key(&self, name: &str) -> std::path::PathBuf {
        self.path().join("keys").join([name, ".nk"].concat())
    }

    pub(crate) fn seed(&self, name: &str) -> String {
        std::fs::read_to_string(self.key(name)).unwrap().trim().to_owned()
    }

    fn systole(&self, arguments: &[&str]) -> Ran {
        systole_with(self.path(), arguments, &[("BUS_KEY", &self.seed("_pump"))])
    }

    /// Somebody with that key.
    pub(crate) async fn client(&self, key: &str, inbox: &str) -> async_nats::Client {
        let options = ConnectOptions::with_nkey(self.seed(key)).custom_inbox_prefix(inbox);
        options.connect(self.server.url()).await.unwrap()
    }

    /// Asks a service, as the pump may.
    async fn service(&self, subject: &'static str) -> serde_json::Value {
        let pump = self.client("_pump", "_INBOX_pump_shop").await;
        let answer = pump.request(subject, "".into()).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    }

    fn worker(&self) -> Worker {
        Worker::new(&self.server.url(), "shop", "echo").key_file(self.key("echo"))
    }

    /// A worker in a process of its own.
    fn process(&self, kind: &str) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "--nocapture", "over_nats_kit::process_that_works"]);
        command
            .env(KIND, kind)
            .env("SYSTOLE_NATS", self.server.url())
            .env("SYSTOLE_KEY_FILE", self.key("echo"));
        command.env("SYSTOLE_ORGANISM", "shop").env("SYSTOLE_LISTENER", "echo");
        Process::of(command)
    }

    /// The Python listener as it stands.
    fn python(&self) -> Process {
        let mut python = python();
        python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py"));
        python.args([&self.server.url(), "shop", "echo"]).arg(self.key("echo"));
        Process::of(python)
    }

    /// Sends a question and waits for nothing but that it is taken; gives its thread.
    pub(crate) fn sends(&self, words: &str) -> String {
        let body = ["<ask xmlns=\"", TALK, "\">", words, "</ask>"].concat();
        let sent = ask(&run_file(self.path()), "POST", "/v1/messages?to=echo", &[], &body);
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json["thread"].as_str().unwrap().to_owned()
    }

    fn events(&self) -> Events {
        Events::open(&run_file(self.path()), "", &[])
    }

    /// The kinds and codes of the newest thread's records, in their order.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told_of("@last")
    }

    fn told_of(&self, thread: &str) -> Vec<String> {
        let ran = self.systole(&["log", thread, "--json"]);
        let line = |line: &str| {
            let record: serde_json::Value = serde_json::from_str(line).unwrap();
            [record["kind"].as_str().unwrap(), "/", record["code"].as_str().unwrap_or("")].concat()
        };
        ran.stdout.lines().map(line).collect()
    }
}

/// The next final on a stream of events, with what it says.
pub(crate) fn final_of(events: &mut Events) -> String {
    loop {
        let (_, _, record) = events.next().expect("more records");
        assert_ne!(record["kind"], "outcome", "nothing fails: {record}");
        if record["code"] == "final" {
            return record["body"].as_str().unwrap().to_owned();
        }
    }
}

/// A process that ends with the test.
struct Process {
    child: Child,
    stderr: Receiver<String>,
}

impl Process {
    fn of(mut command: Command) -> Process {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = lines(child.stderr.take().unwrap());
        Process { child, stderr }
    }

    /// Waits for a line on stderr that contains this.
    fn says(&self, wanted: &str) {
        let mut heard = String::new();
        while let Ok(line) = self.stderr.recv_timeout(PATIENCE) {
            if line.contains(wanted) {
                return;
            }
            heard.push_str(&line);
        }
        panic!("wanted {wanted:?} on stderr, heard {heard}");
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Tells it to stop, and waits until it has.
    fn stops(mut self) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What a process of this suite does that is a worker.
#[test]
#[ignore = "started by other tests"]
fn process_that_works() {
    let ended = match std::env::var(KIND).as_deref() {
        Ok("echo") => echo_nats::main(),
        Ok("hangs") => Worker::from_environment().answer_each(|turn| -> Payload {
            turn.progress("at it");
            loop {
                std::thread::park();
            }
        }),
        _ => return,
    };
    assert_eq!(ended, ExitCode::SUCCESS);
}

/// A worker in this process, until it is told to stop.
struct Serving {
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<Result<(), Unserved>>,
    news: Arc<Mutex<Vec<News>>>,
}

impl Serving {
    fn of<A: Into<Said> + 'static>(
        worker: Worker,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
    ) -> Serving {
        let news = Arc::new(Mutex::new(Vec::new()));
        let told = news.clone();
        let worker = worker.tell(move |one| told.lock().unwrap().push(one.clone()));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = worker.serve(answer, async {
            // Who stops a worker and who forgets it are the same to it.
            let _either = stopped.await;
        });
        #[expect(clippy::disallowed_methods, reason = "a test has no organism to start tasks in")]
        let ended = tokio::spawn(serving);
        Serving { stop: Some(stop), ended, news }
    }

    fn is_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    async fn stops(mut self) -> Vec<News> {
        if self.stop.is_some() {
            self.is_to_stop();
        }
        tokio::time::timeout(PATIENCE, self.ended).await.expect("it does not end").unwrap().unwrap();
        let news = self.news.lock().unwrap().clone();
        news
    }
}

fn answer(words: &str) -> Answer {
    Payload::write(TALK, "answer", |inside| inside.text(words))
}

/// A gate in an author's function: it says when somebody stands there, and lets in one for each word.
struct Gate {
    came: Mutex<Receiver<String>>,
    open: SyncSender<()>,
}

struct Door {
    came: SyncSender<String>,
    open: Mutex<Receiver<()>>,
}

fn gate() -> (Gate, Door) {
    // More than any test here sends.
    let ((came, comes), (open, opened)) = (sync_channel(100), sync_channel(100));
    (Gate { came: Mutex::new(comes), open }, Door { came, open: Mutex::new(opened) })
}

impl Gate {
    fn comes(&self) -> String {
        self.came.lock().unwrap().recv_timeout(PATIENCE).expect("nobody came")
    }

    fn opens(&self) {
        self.open.send(()).unwrap();
    }
}

impl Door {
    fn pass(&self, turn: &Turn<'_>) {
        self.came.send(turn.request().text()).unwrap();
        self.open.lock().unwrap().recv_timeout(PATIENCE).expect("nobody opens");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_rust_listener_answers_with_its_own_rights_and_is_found_with_what_it_did() {
    let house = House::open("");
    let worker = house.process("echo");
    worker.says("connected");
    let asked = house.systole(&["ask", "Who?"]);
    assert_eq!((asked.code, asked.stdout.trim_end()), (Some(0), "You said: Who?"), "{asked:?}");
    assert_eq!(house.told(), ["message/request", "message/final"]);
    let ping = house.service("$SRV.PING.echo").await;
    assert_eq!((&ping["name"], &ping["version"]), (&"echo".into(), &"1.0.0".into()), "{ping}");
    let info = house.service("$SRV.INFO").await;
    let endpoint = &info["endpoints"][0];
    assert_eq!((&endpoint["subject"], &info["id"]), (&"o.shop.dlv.echo".into(), &ping["id"]), "{info}");
    assert_eq!(endpoint["metadata"]["accepts"], "{https://xml-pipeline.org/ns/talk/v1}ask");
    assert_eq!(
        (&info["metadata"]["accepts"], &info["description"]),
        (&"ask".into(), &"Says what it was asked".into())
    );
    let stats = house.service("$SRV.STATS.echo").await;
    let stats = &stats["endpoints"][0];
    assert_eq!((&stats["num_requests"], &stats["num_errors"]), (&1.into(), &0.into()), "{stats}");
    assert!(stats["average_processing_time"].as_u64().unwrap() > 0, "{stats}");
    worker.stops();
}

#[tokio::test(flavor = "multi_thread")]
async fn d4_a_rust_and_a_python_worker_share_one_name() {
    let house = House::open(", in_flight: 16");
    let (gate, door) = gate();
    let worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer("Rust")
    });
    let mut events = house.events();
    let mut threads = vec![house.sends("0")];
    gate.comes();
    // While the one has its hands full, the other takes what comes.
    let _python = house.python();
    threads.extend((1..10).map(|number| house.sends(&number.to_string())));
    let mut said: Vec<String> = (0..9).map(|_| final_of(&mut events)).collect();
    assert!(said.iter().all(|said| said.contains(">You said: ")), "{said:?}");
    gate.opens();
    said.push(final_of(&mut events));
    assert!(said[9].contains(">Rust<"), "{said:?}");
    for thread in &threads {
        assert_eq!(house.told_of(thread), ["message/request", "message/final"]);
    }
    assert_eq!(worker.stops().await, [News::Connected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_rust_worker_that_is_killed_in_the_middle_leaves_the_next_attempt_to_another() {
    let house = House::open(", idle: 2s, retry: {backoff: 1ms..1ms}");
    let worker = house.process("hangs");
    worker.says("connected");
    let mut voices = Events::open(&run_file(house.path()), "?voice=true", &[]);
    house.sends("hi");
    let spoken = std::iter::from_fn(|| voices.heard()).find(|(_, name, _)| name == "spoken");
    assert_eq!(spoken.unwrap().2["words"], "at it");
    worker.kill();
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let seen = attempts.clone();
    let other = Serving::of(house.worker(), move |turn| {
        seen.lock().unwrap().push(turn.delivered().stamp.attempt);
        answer("the other")
    });
    assert!(final_of(&mut voices).contains(">the other<"));
    assert_eq!(house.told(), ["message/request", "attempt/listener.lost", "message/final"]);
    other.stops().await;
    assert_eq!(*attempts.lock().unwrap(), [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_worker_with_two_slots_works_on_two_and_no_more_and_renews_both() {
    let house = House::open(", in_flight: 8, idle: 2s");
    let (together, at_once) = (Barrier::new(2), AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let worker = Serving::of(house.worker().slots(2).renew_every(Duration::from_millis(100)), move |_| {
        seen.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // With one slot alone nobody would ever come.
        together.wait();
        at_once.fetch_sub(1, Ordering::SeqCst);
        answer("done")
    });
    let mut events = house.events();
    let threads: Vec<String> = (0..8).map(|number| house.sends(&number.to_string())).collect();
    (0..8).for_each(|_| assert!(final_of(&mut events).contains(">done<")));
    assert_eq!(most.load(Ordering::SeqCst), 2);
    for thread in &threads {
        assert_eq!(house.told_of(thread), ["message/request", "message/final"]);
    }
    worker.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_renews_for_as_long_as_it_works_and_longer_than_idle() {
    let house = House::open(", idle: 500ms, timeout: 60s");
    let (gate, door) = gate();
    let worker = Serving::of(house.worker().renew_every(Duration::from_millis(50)), move |turn| {
        door.pass(turn);
        answer("late and in time")
    });
    let mut events = house.events();
    house.sends("hi");
    gate.comes();
    // The broker's own clock says that more than the idle time has passed: what nobody renews is told of in that time.
    tokio::time::timeout(Duration::from_millis(1_500), std::future::pending::<()>()).await.unwrap_err();
    gate.opens();
    assert!(final_of(&mut events).contains(">late and in time<"));
    assert_eq!(house.told(), ["message/request", "message/final"]);
    worker.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_reply_that_is_refused_is_told_to_its_author_and_is_not_sent_again() {
    let house = House::open(", in_flight: 2, idle: 500ms, retry: {backoff: 1ms..1ms}");
    let (gate, door) = gate();
    // It says nothing of itself while it works.
    let silent = house.worker().slots(2).renew_every(Duration::from_secs(3600));
    let worker = Serving::of(silent, move |turn| {
        if turn.delivered().stamp.attempt == 1 {
            door.pass(turn);
            return answer("late");
        }
        answer("in time")
    });
    let mut events = house.events();
    house.sends("hi");
    gate.comes();
    assert!(final_of(&mut events).contains(">in time<"));
    gate.opens();
    let refused = loop {
        let (_, _, record) = events.next().unwrap();
        if record["kind"] == "refusal" {
            break record;
        }
    };
    assert_eq!(refused["code"], "reply.stale-lease", "{refused}");
    let news = worker.stops().await;
    let [News::Connected, News::Refused { code, words, .. }] = &news[..] else { panic!("{news:?}") };
    assert_eq!(code, "reply.stale-lease");
    assert!(!words.is_empty());
    let told = house.told();
    assert_eq!(told.iter().filter(|one| one.starts_with("refusal/")).count(), 1, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_worker_that_is_to_stop_finishes_what_it_has_and_takes_nothing_more() {
    let house = House::open(", in_flight: 2, idle: 2s");
    let (gate, door) = gate();
    let mut worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer("the first")
    });
    let mut events = house.events();
    let first = house.sends("one");
    gate.comes();
    worker.is_to_stop();
    let second = house.sends("two");
    gate.opens();
    assert!(final_of(&mut events).contains(">the first<"));
    assert_eq!(worker.stops().await, [News::Connected]);
    let next = Serving::of(house.worker(), |_| answer("the next"));
    assert!(final_of(&mut events).contains(">the next<"));
    for thread in [first, second] {
        assert_eq!(
            house.told_of(&thread),
            ["message/request", "message/final"],
            "nothing was lost on its way"
        );
    }
    next.stops().await;
}

/// The broker may answer a pull of somebody who is about to stop: that delivery is worked on too.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_delivery_that_meets_a_worker_on_its_way_out_is_answered_in_its_first_attempt() {
    let house = House::open(", in_flight: 16, idle: 30s");
    let mut events = house.events();
    let mut worker = Serving::of(house.worker().slots(4), |_| answer("here"));
    // All four slots pull again after these.
    (0..8).for_each(|number| drop(house.sends(&number.to_string())));
    (0..8).for_each(|_| drop(final_of(&mut events)));
    worker.is_to_stop();
    let threads: Vec<String> = (0..8).map(|number| house.sends(&number.to_string())).collect();
    worker.stops().await;
    let next = Serving::of(house.worker(), |_| answer("here"));
    (0..8).for_each(|_| drop(final_of(&mut events)));
    for thread in &threads {
        assert_eq!(house.told_of(thread), ["message/request", "message/final"]);
    }
    next.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_answers_over_a_broker_that_was_killed_and_came_back() {
    let mut house = House::open(", timeout: 60s");
    let (gate, door) = gate();
    let worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer(&turn.request().text())
    });
    let mut events = house.events();
    let first = house.sends("before");
    gate.comes();
    house.server.kill();
    gate.opens();
    house.server.start_again();
    assert!(final_of(&mut events).contains(">before<"));
    gate.opens();
    house.sends("after");
    assert!(final_of(&mut events).contains(">after<"));
    let told = house.told_of(&first);
    assert_eq!(told.iter().filter(|one| *one == "message/final").count(), 1, "{told:?}");
    let news = worker.stops().await;
    assert!(news.contains(&News::Away { words: "the connection broke".to_owned() }), "{news:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_reply_is_sent_again_until_an_organism_that_was_killed_is_back() {
    let mut house = House::open(", timeout: 60s");
    let (gate, door) = gate();
    let worker = Serving::of(house.worker(), move |turn| {
        door.pass(turn);
        answer("once")
    });
    let thread = house.sends("hi");
    gate.comes();
    house.kills_organism();
    // Nobody hears the reply now.
    gate.opens();
    house.starts();
    // What was out is handed over again, and this time somebody is there to hear of it.
    gate.opens();
    while !house.told_of(&thread).contains(&"message/final".to_owned()) {
        tokio::task::yield_now().await;
    }
    worker.stops().await;
    let told = house.told_of(&thread);
    assert_eq!(told.iter().filter(|one| *one == "message/final").count(), 1, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_rust_worker_asks_keeps_a_journal_leaves_a_notice_and_is_heard() {
    let house = House::open("");
    let (tell, told) = sync_channel(1);
    let worker = Serving::of(house.worker(), move |turn| {
        turn.progress("half way");
        turn.notice("own.word", "a word aside");
        let view = turn.ask(Question::View { from_seq: 0, words: false });
        let refused = turn.ask(Question::Schema { name: "nothing".to_owned(), element: None, from: 0 });
        let started = Started {
            model: "own".to_owned(),
            prompt: "a".repeat(64),
            reserve_tokens: Some(9),
            reserve_money: None,
        };
        let start = turn.journal(Entry::Started(started)).unwrap();
        let outcome = Outcome {
            of: start,
            stop: "end".to_owned(),
            text: "words".to_owned(),
            tokens_in: Some(5),
            tokens_out: Some(2),
            money: None,
        };
        turn.journal(Entry::Result(outcome)).unwrap();
        tell.send((view, refused)).unwrap();
        answer("that")
    });
    let mut voices = Events::open(&run_file(house.path()), "?voice=true", &[]);
    house.sends("What do I see?");
    let spoken = std::iter::from_fn(|| voices.heard()).find(|(_, name, _)| name == "spoken");
    assert_eq!(spoken.unwrap().2["words"], "half way");
    assert!(final_of(&mut voices).contains(">that<"));
    let (view, refused) = told.recv_timeout(PATIENCE).unwrap();
    let view = String::from_utf8(view.unwrap().unwrap().bytes().to_vec()).unwrap();
    assert!(view.contains(">What do I see?</"), "{view}");
    assert!(refused.is_err(), "{refused:?}");
    let wanted = [
        "message/request",
        "message/inbox",
        "refusal/route.not-a-peer",
        "journal/model-started",
        "journal/model-result",
        "message/final",
    ];
    assert_eq!(house.told(), wanted);
    worker.stops().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_hears_that_it_was_called_back_and_says_nothing_more() {
    let house = House::open("");
    let (tell, told) = sync_channel(2);
    let worker = Serving::of(house.worker(), move |turn| {
        if turn.request().text() == "again" {
            return answer("still there");
        }
        tell.send(()).unwrap();
        while turn.is_wanted() {
            std::thread::yield_now();
        }
        tell.send(()).unwrap();
        answer("late")
    });
    let mut events = house.events();
    let thread = house.sends("hi");
    told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(house.systole(&["cancel", &thread]).code, Some(0));
    told.recv_timeout(PATIENCE).unwrap();
    house.sends("again");
    loop {
        let (_, _, record) = events.next().unwrap();
        if record["code"] == "final" && record["body"].as_str().unwrap().contains(">still there<") {
            break;
        }
    }
    let told = house.told_of(&thread);
    assert!(!told.iter().any(|one| one.starts_with("refusal/")), "{told:?}");
    assert_eq!(worker.stops().await, [News::Connected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_worker_that_cannot_answer_so_says_so_in_place_of_it() {
    let house = House::open("");
    let worker = Serving::of(house.worker(), |turn| match turn.request().text().as_str() {
        "much" => answer(&"x".repeat(2 << 20)),
        _ => panic!("it does not know"),
    });
    let asked = house.systole(&["ask", "much"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("too-large") && asked.stderr.contains("the broker takes "), "{asked:?}");
    let asked = house.systole(&["ask", "what"]);
    assert_eq!(asked.code, Some(1), "{asked:?}");
    assert!(asked.stderr.contains("panicked"), "{asked:?}");
    let stats = house.service("$SRV.STATS.echo").await;
    assert_eq!(stats["endpoints"][0]["num_requests"], 2, "{stats}");
    let news = worker.stops().await;
    let [News::Connected, News::Unsent { words, .. }] = &news[..] else { panic!("{news:?}") };
    assert!(words.starts_with("the reply has 2097"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_a_worker_without_the_key_of_its_listener_is_told_so() {
    let house = House::open("");
    let url = house.server.url();
    let nobody = Worker::new(&url, "shop", "echo").serve(|_| answer(""), std::future::pending()).await;
    let at = url.replace("nats://", "");
    assert_eq!(nobody, Err(Unserved::Forbidden { at, who: "whoever shows no key" }));
    let wrong = Worker::new(&url, "shop", "echo").key_file(house.key("other"));
    let wrong = Serving::of(wrong, |_| answer("in another one's name"));
    while !wrong.news.lock().unwrap().iter().any(|news| matches!(news, News::Forbidden { .. })) {
        tokio::task::yield_now().await;
    }
    house.sends("hi");
    let right = Serving::of(house.worker(), |_| answer("in its own"));
    assert!(final_of(&mut house.events()).contains(">in its own<"));
    right.stops().await;
    wrong.stops().await;
}

#[tokio::test]
async fn what_is_said_of_a_worker_and_cannot_be_ends_it_before_it_begins() {
    let of = |worker: Worker| worker.serve(|_| answer(""), std::future::pending());
    let to = |listener: &str| Worker::new("nats://127.0.0.1:1", "shop", listener);
    let told = |words: &str| Err(Unserved::Told(words.to_owned()));
    assert_eq!(of(to("echo").slots(0)).await, told("slots: 0 is not from 1 to 256"));
    assert_eq!(of(to("echo").version("1.0")).await, told("version: \"1.0\" is not three numbers, as 1.4.0"));
    assert!(of(to("Echo")).await.unwrap_err().to_string().starts_with("\"Echo\" is no name of a listener: "));
    assert!(
        of(to("echo").schema(b"<x/>"))
            .await
            .unwrap_err()
            .to_string()
            .starts_with("the schema cannot be read: ")
    );
    let missing = of(to("echo").key_file("/nowhere/echo.nk")).await.unwrap_err().to_string();
    assert!(missing.starts_with("the key file /nowhere/echo.nk: "), "{missing}");
    let many: Vec<String> = (0..65).map(|number| format!("e{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let many = of(to("echo").accepts(TALK, &many)).await;
    assert_eq!(many, told("accepts and returns: 65 are more than 64, the most that are shown"));
}
