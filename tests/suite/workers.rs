//! Shared helpers for tests of workers over a broker: a broker that enforces rights, an organism that runs over it in
//! its own process, and workers, in this process and in others. It tests nothing.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use async_nats::ConnectOptions;
use futures_core::Stream as _;
use rustix::process::{Pid, Signal, kill_process};
use systole_kit::Payload;
use systole_kit::nats::{Worker, WorkerEvent, WorkerFault};
use systole_kit::reply::ReplyContent;
use systole_kit::stdio::Turn;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::broker::{NatsServer, python};
use crate::organism::folder;
use crate::program::{Events, PATIENCE, Ran, Running, ask, lines, run_file, systole, systole_with};

pub(crate) const TALK: &str = "https://xml-pipeline.org/ns/talk/v1";
/// The variable that makes a process of this suite a worker, and names its kind.
pub(crate) const KIND: &str = "SYSTOLE_TEST_WORKER";

/// A broker with the written configuration, the keys, and an organism that runs over it.
pub(crate) struct WorkerHouse {
    pub(crate) server: NatsServer,
    folder: tempfile::TempDir,
    running: Option<Running>,
}

pub(crate) fn file(url: &str, more: &str) -> String {
    format!(
        "organism: {{name: shop, entry: echo}}\nbus: {{nats: '{url}', key_env: BUS_KEY}}\nlisteners:\n  echo: {{nats: true, accepts: [ask], returns: [answer], entry: true{more}}}\n  other: {{nats: true, accepts: [ask], returns: [answer], entry: true{more}}}\nlog: {{path: hello.db}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"
    )
}

impl WorkerHouse {
    /// Opens it, with more keys for the listeners.
    pub(crate) fn open(more: &str) -> WorkerHouse {
        let mut house = WorkerHouse::still(more);
        house.starts();
        house
    }

    /// The same without the organism, which has never run.
    pub(crate) fn still(more: &str) -> WorkerHouse {
        let folder = folder(&[("organism.yaml", &file("nats://127.0.0.1:4222", more))]);
        let written = systole(folder.path(), &["permissions", "--nats-config"]);
        assert_eq!(written.code, Some(0), "{written:?}");
        let server = NatsServer::whole(&written.stdout);
        std::fs::write(folder.path().join("organism.yaml"), file(&server.url(), more)).unwrap();
        WorkerHouse { server, folder, running: None }
    }

    pub(crate) fn starts(&mut self) {
        let mut running = Running::organism_with(self.path(), &[("BUS_KEY", &self.seed("_pump"))]);
        running.shows("echo is ready");
        self.running = Some(running);
    }

    /// Kills the organism with SIGKILL.
    pub(crate) fn kills_organism(&mut self) {
        drop(self.running.take());
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn key(&self, name: &str) -> std::path::PathBuf {
        self.path().join("keys").join(format!("{name}.nk"))
    }

    pub(crate) fn seed(&self, name: &str) -> String {
        std::fs::read_to_string(self.key(name)).unwrap().trim().to_owned()
    }

    pub(crate) fn systole(&self, arguments: &[&str]) -> Ran {
        systole_with(self.path(), arguments, &[("BUS_KEY", &self.seed("_pump"))])
    }

    /// A client with that key.
    pub(crate) async fn client(&self, key: &str, inbox: &str) -> async_nats::Client {
        let options = ConnectOptions::with_nkey(self.seed(key)).custom_inbox_prefix(inbox);
        options.connect(self.server.url()).await.unwrap()
    }

    /// Sends a request to a service, as the pump may.
    pub(crate) async fn service(&self, subject: &'static str) -> serde_json::Value {
        let pump = self.client("_pump", "_INBOX_pump_shop").await;
        let answer = pump.request(subject, "".into()).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    }

    pub(crate) fn worker(&self) -> Worker {
        Worker::new(&self.server.url(), "shop", "echo").key_file(self.key("echo"))
    }

    /// A worker in its own process.
    pub(crate) fn process(&self, kind: &str) -> Process {
        let mut command = this_suite("over_nats_kit::process_that_works");
        command.env(KIND, kind);
        self.start_worker(command)
    }

    /// A worker in its own process, which finds what it needs in its environment.
    pub(crate) fn start_worker(&self, mut command: Command) -> Process {
        command.env("SYSTOLE_NATS", self.server.url()).env("SYSTOLE_KEY_FILE", self.key("echo"));
        command.env("SYSTOLE_ORGANISM", "shop").env("SYSTOLE_LISTENER", "echo");
        Process::of(command)
    }

    /// The Python listener unchanged.
    pub(crate) fn python(&self) -> Process {
        let mut python = python();
        python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py"));
        python.args([&self.server.url(), "shop", "echo"]).arg(self.key("echo"));
        Process::of(python)
    }

    /// Sends a question and waits only until it is accepted; returns its thread.
    pub(crate) fn sends(&self, words: &str) -> String {
        self.sends_to("echo", words)
    }

    pub(crate) fn sends_to(&self, listener: &str, words: &str) -> String {
        let body = format!("<ask xmlns=\"{TALK}\">{words}</ask>");
        let path = format!("/v1/messages?to={listener}");
        let sent = ask(&run_file(self.path()), "POST", &path, &[], &body);
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json["thread"].as_str().unwrap().to_owned()
    }

    /// Lasts longer than the idle time of the listeners, by the broker's own clock: a worker of the other listener,
    /// which has the same idle time, is silent for that long.
    pub(crate) async fn idles(&self) {
        let mut events = self.events();
        let other = self.client("other", "_INBOX_other").await;
        let inbox = other.new_inbox();
        let mut ear = other.subscribe(inbox.clone()).await.unwrap();
        let api = "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.other";
        let pull = "{\"batch\":1,\"expires\":60000000000}";
        other.publish_with_reply(api, inbox, pull.into()).await.unwrap();
        let thread = self.sends_to("other", "hold this");
        next(&mut ear).await;
        let lost = tokio::task::spawn_blocking(move || {
            let mut records = std::iter::from_fn(|| events.next()).map(|(_, _, record)| record);
            records.find(|record| record["thread"] == *thread && record["kind"] == "attempt").unwrap()
        });
        assert_eq!(lost.await.unwrap()["code"], "listener.lost");
    }

    pub(crate) fn events(&self) -> Events {
        Events::open(&run_file(self.path()), "", &[])
    }

    /// The kinds and codes of the newest thread's records, in order.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told_of("@last")
    }

    pub(crate) fn told_of(&self, thread: &str) -> Vec<String> {
        self.systole(&["log", thread, "--json"]).kinds()
    }
}

/// Waits until the pump has polled its consumers several times: while one delivery is out it asks the broker nothing
/// else. `other` is a worker of an idle listener, whose short pulls are the pauses.
pub(crate) async fn looks(pump: &async_nats::Client, other: &async_nats::Client, listener: &str) {
    let asked = async || {
        let answer = pump.request("$JS.API.INFO", "".into()).await.unwrap();
        let kept: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
        kept["api"]["total"].as_u64().unwrap()
    };
    let inbox = other.new_inbox();
    let mut ear = other.subscribe(inbox.clone()).await.unwrap();
    let api = format!("$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.{listener}");
    let (before, mut own) = (asked().await, 0);
    let waiting = async {
        while asked().await < before + own + 4 {
            own += 1;
            let pull = "{\"batch\":1,\"expires\":200000000}";
            other.publish_with_reply(api.clone(), inbox.clone(), pull.into()).await.unwrap();
            next(&mut ear).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the pump does not look");
}

pub(crate) async fn next(ear: &mut async_nats::Subscriber) -> async_nats::Message {
    let came = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *ear).poll_next(cx));
    tokio::time::timeout(PATIENCE, came).await.expect("nothing came").expect("it ended")
}

/// The text of the next final on a stream of events.
pub(crate) fn final_of(events: &mut Events) -> String {
    loop {
        let (_, _, record) = events.next().expect("more records");
        assert_ne!(record["kind"], "outcome", "nothing fails: {record}");
        if record["code"] == "final" {
            return record["body"].as_str().unwrap().to_owned();
        }
    }
}

/// The command of a process that runs that test of this suite, which is a worker.
pub(crate) fn this_suite(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", test]);
    command
}

/// A process that ends with the test.
pub(crate) struct Process {
    child: Child,
    stderr: Receiver<String>,
}

impl Process {
    pub(crate) fn of(mut command: Command) -> Process {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = lines(child.stderr.take().unwrap());
        Process { child, stderr }
    }

    /// Waits for a line on stderr that contains this.
    pub(crate) fn says(&self, wanted: &str) {
        let mut heard = String::new();
        while let Ok(line) = self.stderr.recv_timeout(PATIENCE) {
            if line.contains(wanted) {
                return;
            }
            heard.push_str(&line);
        }
        panic!("wanted {wanted:?} on stderr, heard {heard}");
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ends(mut self) {
        assert!(self.child.wait().unwrap().success());
    }

    /// Waits until it has ended by itself, with a code.
    pub(crate) fn exits(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stops(self) {
        self.signal(Signal::TERM);
        self.ends();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that has already ended is fine.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A worker in this process, until it is asked to stop.
pub(crate) struct Serving {
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<Result<(), WorkerFault>>,
    pub(crate) news: Arc<Mutex<Vec<WorkerEvent>>>,
}

impl Serving {
    pub(crate) fn of<A: Into<ReplyContent> + 'static>(
        worker: Worker,
        answer: impl Fn(&mut Turn<'_>) -> A + Send + Sync + 'static,
    ) -> Serving {
        let news = Arc::new(Mutex::new(Vec::new()));
        let told = news.clone();
        let worker = worker.tell(move |one| told.lock().unwrap().push(one.clone()));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = worker.serve(answer, async {
            // A worker stops in the same way if its stop signal is dropped.
            let _either = stopped.await;
        });
        #[expect(clippy::disallowed_methods, reason = "a test has no organism to start tasks in")]
        let ended = tokio::spawn(serving);
        Serving { stop: Some(stop), ended, news }
    }

    pub(crate) fn is_to_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    pub(crate) async fn stops(mut self) -> Vec<WorkerEvent> {
        if self.stop.is_some() {
            self.is_to_stop();
        }
        tokio::time::timeout(PATIENCE, self.ended).await.expect("it does not end").unwrap().unwrap();
        self.news.lock().unwrap().clone()
    }
}

pub(crate) fn answer(words: &str) -> Payload {
    Payload::write(TALK, "answer", |inside| inside.text(words))
}

/// A gate in an author's function: it reports each arrival, and lets one pass for each signal.
pub(crate) struct TurnGate {
    came: Mutex<Receiver<String>>,
    open: SyncSender<()>,
}

pub(crate) struct TurnDoor {
    came: SyncSender<String>,
    open: Mutex<Receiver<()>>,
}

pub(crate) fn gate() -> (TurnGate, TurnDoor) {
    // More than any test here sends.
    let ((came, comes), (open, opened)) = (sync_channel(100), sync_channel(100));
    (TurnGate { came: Mutex::new(comes), open }, TurnDoor { came, open: Mutex::new(opened) })
}

impl TurnGate {
    pub(crate) fn comes(&self) -> String {
        self.came.lock().unwrap().recv_timeout(PATIENCE).expect("no request came")
    }

    pub(crate) fn opens(&self) {
        self.open.send(()).unwrap();
    }
}

impl TurnDoor {
    pub(crate) fn pass(&self, turn: &Turn<'_>) {
        self.came.send(turn.request().text()).unwrap();
        self.open.lock().unwrap().recv_timeout(PATIENCE).expect("the test does not open it");
    }
}
