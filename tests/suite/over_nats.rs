//! A listener that is reached over a real broker: the plain Python client, workers that die, answer late or twice, and
//! a pump and a broker that are killed. Each process is a real one.

use std::path::Path;
use std::process::{Child, Stdio};

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::{self, consumer};
use futures_core::Stream;

use crate::broker::{Server, python};
use crate::program::{PATIENCE, Ran, Running, systole};

/// An organism of one listener that is reached over that broker.
fn folder(server: &Server, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = [
        "organism: {name: shop, entry: echo}\nbus: {nats: \"",
        &server.url(),
        "\"}\nlisteners:\n  echo: {nats: true, accepts: [ask], returns: [answer], entry: true",
        more,
        "}\nlog: {path: hello.db}\nconsole: {listen: \"127.0.0.1:0\"}\n",
    ]
    .concat();
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

/// A process that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // One that has ended already is as good.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// The Python listener as it stands.
fn echo(server: &Server) -> Ends {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py");
    let mut python = python();
    python.arg(program).args([&server.url(), "shop", "echo"]).stdin(Stdio::null());
    Ends(python.spawn().unwrap())
}

async fn next<T>(stream: &mut (impl Stream<Item = T> + Unpin)) -> T {
    let next = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *stream).poll_next(cx));
    tokio::time::timeout(PATIENCE, next).await.expect("nothing came").expect("it ended")
}

/// A worker of `echo` in this process.
struct Worker {
    client: async_nats::Client,
    work: consumer::Consumer<pull::Config>,
}

/// A delivery in its hands.
struct Held {
    message: jetstream::Message,
    token: String,
}

impl Worker {
    async fn of(server: &Server) -> Worker {
        let client = server.client().await;
        let work = jetstream::new(client.clone()).get_consumer_from_stream("echo", "SYSTOLE_shop_BUS").await;
        Worker { client, work: work.unwrap() }
    }

    async fn pulls(&self) -> Held {
        let mut fetched = self.work.fetch().max_messages(1).expires(PATIENCE).messages().await.unwrap();
        let message = next(&mut fetched).await.unwrap();
        let envelope = systole_kit::envelope::read_delivered(&message.payload).unwrap();
        Held { token: envelope.stamp.delivery.to_string(), message }
    }

    /// Says it, and gives the receipt.
    async fn says(&self, held: &Held, words: &str) -> String {
        let subject = held.message.headers.as_ref().unwrap().get("Systole-Reply").unwrap().to_string();
        let reply = [
            "<reply xmlns=\"urn:systole:listener:v1\" delivery=\"",
            &held.token,
            "\"><answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">",
            words,
            "</answer></reply>",
        ]
        .concat();
        let request = async_nats::Request::new().payload(reply.into()).timeout(Some(PATIENCE));
        let receipt = self.client.send_request(subject, request).await.unwrap();
        String::from_utf8(receipt.payload.to_vec()).unwrap()
    }
}

fn asks(folder: &Path, words: &str) -> Running {
    Running::start(folder, &["ask", words])
}

fn answered(ran: &Ran, words: &str) {
    assert_eq!((ran.code, ran.stdout.trim_end()), (Some(0), words), "{ran:?}");
}

/// The kinds and codes of a thread's records, in their order.
fn told(folder: &Path) -> Vec<String> {
    let ran = systole(folder, &["log", "@last", "--json"]);
    let line = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        [record["kind"].as_str().unwrap(), "/", record["code"].as_str().unwrap_or("")].concat()
    };
    ran.stdout.lines().map(line).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_python_listener_over_the_plain_client_answers_and_is_found() {
    let server = Server::start();
    let folder = folder(&server, "");
    let running = Running::organism(folder.path());
    let _echo = echo(&server);
    answered(&systole(folder.path(), &["ask", "Who is there?"]), "You said: Who is there?");
    let client = server.client().await;
    let found = client.request("$SRV.INFO.echo", "".into()).await.unwrap();
    let found: serde_json::Value = serde_json::from_slice(&found.payload).unwrap();
    assert_eq!((&found["name"], &found["metadata"]["accepts"]), (&"echo".into(), &"ask".into()));
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
    assert_eq!(running.interrupt().code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_without_a_sign_of_life_is_told_of_and_comes_too_late() {
    let server = Server::start();
    let folder = folder(&server, ", idle: 500ms, retry: {backoff: 1ms..1ms}");
    let _running = Running::organism(folder.path());
    let (one, two) = (Worker::of(&server).await, Worker::of(&server).await);
    let asked = asks(folder.path(), "hi");
    let lost = one.pulls().await;
    // The next attempt is another delivery, and whoever pulls next has it.
    let held = two.pulls().await;
    assert_ne!(lost.token, held.token);
    let late = one.says(&lost, "late").await;
    assert!(late.contains("reply.stale-lease"), "{late}");
    let receipt = two.says(&held, "in time").await;
    assert_eq!(
        receipt,
        ["<receipt xmlns=\"urn:systole:listener:v1\" delivery=\"", &held.token, "\"/>"].concat()
    );
    answered(&asked.end(), "in time");
    let told = told(folder.path());
    assert_eq!(
        told,
        ["message/request", "attempt/listener.lost", "refusal/reply.stale-lease", "message/final"],
        "the death, the late word and one answer"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_reply_that_comes_again_gets_its_receipt_again_and_is_one_record() {
    let server = Server::start();
    let folder = folder(&server, "");
    let running = Running::organism(folder.path());
    let worker = Worker::of(&server).await;
    let asked = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    let first = worker.says(&held, "once").await;
    answered(&asked.end(), "once");
    for _ in 0..3 {
        assert_eq!(worker.says(&held, "once").await, first);
    }
    assert_eq!(running.interrupt().code, Some(130));
    let _again = Running::organism(folder.path());
    assert_eq!(worker.says(&held, "once").await, first, "also after a restart");
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_pump_that_is_killed_while_a_worker_works_has_its_answer_once() {
    let server = Server::start();
    let folder = folder(&server, "");
    let mut running = Running::organism(folder.path());
    let worker = Worker::of(&server).await;
    let asked = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    running.signal(rustix::process::Signal::KILL);
    assert_eq!(asked.end().code, Some(5), "whoever asked is told");
    running = Running::organism(folder.path());
    // The work that was out is handed over again, and the worker that had it does not know.
    let again = worker.pulls().await;
    let receipts = [worker.says(&again, "done").await, worker.says(&held, "done").await];
    assert!(receipts[0].ends_with("/>"), "{receipts:?}");
    assert_eq!(told(folder.path()).iter().filter(|told| *told == "message/final").count(), 1);
    assert_eq!(running.interrupt().code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_broker_that_is_killed_and_comes_back_loses_nothing_that_was_out() {
    let mut server = Server::start();
    let folder = folder(&server, ", timeout: 60s");
    let _running = Running::organism(folder.path());
    let asked = asks(folder.path(), "before");
    let waits = Worker::of(&server).await;
    // It is in the stream, and nobody has taken it.
    while waits.work.clone().info().await.unwrap().num_pending == 0 {
        tokio::task::yield_now().await;
    }
    server.kill();
    server.start_again();
    let _echo = echo(&server);
    answered(&asked.end(), "You said: before");
    answered(&systole(folder.path(), &["ask", "after"]), "You said: after");
}

#[test]
fn a_broker_that_is_not_there_is_one_clear_error() {
    let mut server = Server::start();
    let folder = folder(&server, "");
    server.stop();
    let ran = systole(folder.path(), &["run"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let address = server.url().replace("nats://", "");
    assert!(ran.stderr.contains(&["error: bus.unreachable: the broker at ", &address].concat()), "{ran:?}");
    assert!(ran.stderr.contains("try: "), "{ran:?}");
}
