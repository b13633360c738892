//! A listener over a real broker: the plain Python client, workers that die, answer late or twice, and kills of the
//! pump and the broker. Each process is real.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::{self, consumer};
use futures_core::Stream;

use systole_organism::runfile::RunFile;

use crate::broker::{NatsServer, python};
use crate::program::{Events, PATIENCE, Ran, Running, ask, run_file, systole};

/// An organism of one listener over that broker.
fn folder(server: &NatsServer, more: &str) -> tempfile::TempDir {
    folder_at(&server.url(), more)
}

/// The same, with the broker at that address.
pub(crate) fn folder_at(url: &str, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "organism: {{name: shop, entry: echo}}\nbus: {{nats: \"{url}\"}}\nlisteners:\n  echo: {{nats: true, accepts: [ask], returns: [answer], entry: true{more}}}\nlog: {{path: hello.db}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"
    );
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

/// A process that ends with the test.
pub(crate) struct Ends(pub(crate) Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // A process that has already ended is fine.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// The Python listener unchanged.
pub(crate) fn echo(url: &str) -> Ends {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py");
    let mut python = python();
    python.arg(program).args([url, "shop", "echo"]).stdin(Stdio::null());
    Ends(python.spawn().unwrap())
}

pub(crate) async fn next<T>(stream: &mut (impl Stream<Item = T> + Unpin)) -> T {
    let next = std::future::poll_fn(|cx| std::pin::Pin::new(&mut *stream).poll_next(cx));
    tokio::time::timeout(PATIENCE, next).await.expect("nothing came").expect("it ended")
}

/// A worker of `echo` in this process.
pub(crate) struct HandWorker {
    pub(crate) client: async_nats::Client,
    pub(crate) work: consumer::Consumer<pull::Config>,
}

/// A delivery that a worker holds.
pub(crate) struct Held {
    pub(crate) message: jetstream::Message,
    pub(crate) token: String,
}

impl HandWorker {
    pub(crate) async fn of(server: &NatsServer) -> HandWorker {
        HandWorker::at(&server.url()).await
    }

    /// The same, with the broker at that address.
    pub(crate) async fn at(url: &str) -> HandWorker {
        let client =
            async_nats::ConnectOptions::new().connection_timeout(PATIENCE).connect(url).await.unwrap();
        let work = jetstream::new(client.clone()).get_consumer_from_stream("echo", "SYSTOLE_shop_BUS").await;
        HandWorker { client, work: work.unwrap() }
    }

    pub(crate) async fn pulls(&self) -> Held {
        let mut fetched = self.work.fetch().max_messages(1).expires(PATIENCE).messages().await.unwrap();
        let message = next(&mut fetched).await.unwrap();
        let envelope = systole_kit::envelope::read_delivered(&message.payload).unwrap();
        Held { token: envelope.stamp.delivery.to_string(), message }
    }

    /// Sends the reply, and returns the receipt.
    pub(crate) async fn says(&self, held: &Held, words: &str) -> String {
        let answer = format!("<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</answer>");
        self.tells(held, "reply", "", &answer).await
    }

    /// Sends the reply again and again until a pump answers, and returns the receipt.
    pub(crate) async fn insists(&self, held: &Held, words: &str) -> String {
        let subject = held.message.headers.as_ref().unwrap().get("Systole-Reply").unwrap().to_string();
        let answer = format!("<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</answer>");
        let insisting = async {
            loop {
                let word = held.word("reply", "", &answer);
                let request =
                    async_nats::Request::new().payload(word.into()).timeout(Some(Duration::from_secs(2)));
                match self.client.send_request(subject.clone(), request).await {
                    Ok(receipt) => return String::from_utf8(receipt.payload.to_vec()).unwrap(),
                    // A message that was sent when the connection broke may be lost: the same again is one reply.
                    Err(error) => assert!(matches!(
                        error.kind(),
                        async_nats::RequestErrorKind::NoResponders | async_nats::RequestErrorKind::TimedOut
                    )),
                }
            }
        };
        tokio::time::timeout(PATIENCE, insisting).await.expect("no answer came")
    }

    /// Sends a document about a delivery, and returns the answer.
    pub(crate) async fn tells(&self, held: &Held, element: &str, attributes: &str, inside: &str) -> String {
        let subject = held.message.headers.as_ref().unwrap().get("Systole-Reply").unwrap().to_string();
        let word = held.word(element, attributes, inside);
        let request = async_nats::Request::new().payload(word.into()).timeout(Some(PATIENCE));
        let answer = self.client.send_request(subject, request).await.unwrap();
        String::from_utf8(answer.payload.to_vec()).unwrap()
    }
}

impl Held {
    /// A document of the listener protocol about it.
    pub(crate) fn word(&self, element: &str, attributes: &str, inside: &str) -> String {
        let start = format!("<{element} xmlns=\"urn:systole:listener:v1\" delivery=\"{}\" ", self.token);
        format!("{start}{attributes}>{inside}</{element}>")
    }
}

/// The organism, once its listener is connected: a worker that sends earlier reaches no pump, and sends again.
pub(crate) fn runs(folder: &Path) -> Running {
    let mut running = Running::organism(folder);
    running.shows("echo is ready");
    running
}

pub(crate) fn asks(folder: &Path, words: &str) -> Running {
    Running::start(folder, &["ask", words])
}

pub(crate) fn answered(ran: &Ran, words: &str) {
    assert_eq!((ran.code, ran.stdout.trim_end()), (Some(0), words), "{ran:?}");
}

/// The kinds and codes of a thread's records, in their order. How long a delivery lies at the broker depends on the
/// machine, so what is recorded of that is left out.
pub(crate) fn told(folder: &Path) -> Vec<String> {
    without_waits(systole(folder, &["log", "@last", "--json"]).kinds())
}

/// The same kinds without those of attempts that wait or were taken.
pub(crate) fn without_waits(kinds: Vec<String>) -> Vec<String> {
    kinds.into_iter().filter(|kind| !matches!(kind.as_str(), "attempt/waits" | "attempt/taken")).collect()
}

/// The number of deliveries to `echo` in the stream.
pub(crate) async fn stored(worker: &HandWorker) -> usize {
    let stream = jetstream::new(worker.client.clone()).get_stream("SYSTOLE_shop_BUS").await.unwrap();
    let mut subjects = stream.info_with_subjects("o.shop.dlv.echo").await.unwrap();
    let following = std::future::poll_fn(|cx| std::pin::Pin::new(&mut subjects).poll_next(cx));
    following.await.map_or(0, |found| found.unwrap().1)
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_python_listener_over_the_plain_client_answers_and_is_found() {
    let server = NatsServer::start();
    let folder = folder(&server, "");
    let running = runs(folder.path());
    let _echo = echo(&server.url());
    answered(&systole(folder.path(), &["ask", "Who is there?"]), "You said: Who is there?");
    let client = server.client().await;
    let found = client.request("$SRV.INFO.echo", "".into()).await.unwrap();
    let found: serde_json::Value = serde_json::from_slice(&found.payload).unwrap();
    assert_eq!((&found["name"], &found["metadata"]["accepts"]), (&"echo".into(), &"ask".into()));
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
    assert_eq!(running.interrupt().code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_silent_worker_is_reported_and_its_reply_comes_too_late() {
    let server = NatsServer::start();
    let folder = folder(&server, ", idle: 500ms, retry: {backoff: 1ms..1ms}");
    let _running = runs(folder.path());
    let (one, two) = (HandWorker::of(&server).await, HandWorker::of(&server).await);
    let asked = asks(folder.path(), "hi");
    let lost = one.pulls().await;
    // The next attempt is another delivery, and the next worker that pulls gets it.
    let held = two.pulls().await;
    assert_ne!(lost.token, held.token);
    let late = one.says(&lost, "late").await;
    assert!(late.contains("reply.stale-lease"), "{late}");
    let receipt = two.says(&held, "in time").await;
    assert_eq!(receipt, format!("<receipt xmlns=\"urn:systole:listener:v1\" delivery=\"{}\"/>", held.token));
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
    let server = NatsServer::start();
    let folder = folder(&server, "");
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let asked = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    let first = worker.says(&held, "once").await;
    answered(&asked.end(), "once");
    for _ in 0..3 {
        assert_eq!(worker.says(&held, "once").await, first);
    }
    assert_eq!(running.interrupt().code, Some(130));
    let _again = runs(folder.path());
    assert_eq!(worker.says(&held, "once").await, first, "also after a restart");
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_receipt_tells_of_refused_items_and_of_another_answer_that_was_taken() {
    let server = NatsServer::start();
    let folder = folder(&server, "");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let asked = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    let plain = format!("<receipt xmlns=\"urn:systole:listener:v1\" delivery=\"{}\"/>", held.token);
    assert_eq!(worker.says(&held, "first").await, plain);
    let other = worker.says(&held, "second").await;
    assert_eq!(other, plain.replace("/>", " outcome=\"superseded\"/>"), "another answer was taken");
    assert_eq!(worker.says(&held, "first").await, plain, "the same again is the one that was taken");
    answered(&asked.end(), "first");
    let failed = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    let items = "<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\"><b/></answer>";
    let receipt = worker.tells(&held, "reply", "", items).await;
    let begins = format!("<receipt xmlns=\"urn:systole:listener:v1\" delivery=\"{}\"><refused ", held.token);
    assert!(receipt.starts_with(&begins), "{receipt}");
    assert!(receipt.contains("ordinal=\"0\"") && receipt.contains("code=\"payload.invalid\""), "{receipt}");
    assert_eq!(failed.end().code, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_bounded_number_of_pulls_waits_also_after_a_change_of_in_flight() {
    let server = NatsServer::start();
    for (in_flight, most) in [(2, 512), (5, 512)] {
        let folder = folder(&server, &format!(", in_flight: {in_flight}"));
        let running = runs(folder.path());
        let mut worker = HandWorker::of(&server).await;
        assert_eq!(worker.work.info().await.unwrap().config.max_waiting, most);
        let inbox = worker.client.new_inbox();
        let mut ear = worker.client.subscribe(inbox.clone()).await.unwrap();
        for _ in 0..=most {
            let api = "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.echo";
            let pull = "{\"batch\":1,\"expires\":60000000000}";
            worker.client.publish_with_reply(api, inbox.clone(), pull.into()).await.unwrap();
        }
        let refused = next(&mut ear).await;
        assert_eq!(refused.description.as_deref(), Some("Exceeded MaxWaiting"), "{refused:?}");
        assert_eq!(running.interrupt().code, Some(130));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_pump_that_is_killed_while_a_worker_works_has_its_answer_once() {
    let server = NatsServer::start();
    let folder = folder(&server, "");
    let mut running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    // Accepted before the kill: a client without a receipt would send it again.
    let run = run_file(folder.path());
    let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hi</ask>";
    assert_eq!(ask(&run, "POST", "/v1/messages?to=echo", &[], body).status, 202);
    let held = worker.pulls().await;
    running.signal(rustix::process::Signal::KILL);
    drop(running);
    running = runs(folder.path());
    let receipts = [worker.says(&held, "done").await, worker.says(&held, "done").await];
    assert!(receipts.iter().all(|receipt| receipt.ends_with("/>")), "{receipts:?}");
    assert_eq!(told(folder.path()), ["message/request", "message/final"], "what was done counts");
    assert_eq!(running.interrupt().code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_killed_broker_that_restarts_loses_no_open_delivery() {
    let mut server = NatsServer::start();
    let folder = folder(&server, ", timeout: 60s");
    let _running = runs(folder.path());
    let asked = asks(folder.path(), "before");
    let waits = HandWorker::of(&server).await;
    // It is in the stream, and no worker has taken it.
    while waits.work.clone().info().await.unwrap().num_pending == 0 {
        tokio::task::yield_now().await;
    }
    server.kill();
    server.start_again();
    let _echo = echo(&server.url());
    answered(&asked.end(), "You said: before");
    answered(&systole(folder.path(), &["ask", "after"]), "You said: after");
}

#[tokio::test(flavor = "multi_thread")]
async fn d2_a_worker_asks_keeps_a_journal_and_is_heard_while_it_works() {
    let server = NatsServer::start();
    let folder = folder(&server, "");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let asked = asks(folder.path(), "What do I see?");
    let held = worker.pulls().await;

    let view = worker.tells(&held, "ask", "id=\"1\"", "<view from-seq=\"0\"/>").await;
    assert!(view.contains(" id=\"1\"") && view.contains(">What do I see?</"), "{view}");
    let unknown = worker.tells(&held, "ask", "id=\"2\"", "<schema name=\"nothing\"/>").await;
    assert!(unknown.contains(" id=\"2\"") && unknown.contains("<system-error"), "{unknown}");
    let started = [
        "id=\"3\" kind=\"model-started\" model=\"own\" prompt=\"",
        &"a".repeat(64),
        "\" reserve-tokens=\"9\"",
    ];
    let kept = worker.tells(&held, "journal", &started.concat(), "").await;
    assert!(kept.ends_with("/>") && kept.contains(" id=\"3\""), "{kept}");
    let result = "id=\"4\" kind=\"model-result\" of=\"3\" stop=\"end\" in=\"5\" out=\"2\"";
    let kept = worker.tells(&held, "journal", result, "words").await;
    assert!(kept.ends_with("/>") && kept.contains(" id=\"4\""), "{kept}");
    let noticed = worker.tells(&held, "notice", "code=\"own.word\"", "a word aside").await;
    assert!(noticed.starts_with("<receipt ") && noticed.ends_with("/>"), "{noticed}");

    let run = run_file(folder.path());
    let mut events = Events::open(&run, "?voice=true", &[]);
    worker.client.publish("o.shop.live.echo", held.word("progress", "", "half way").into()).await.unwrap();
    let spoken = std::iter::from_fn(|| events.heard()).find(|(_, name, _)| name == "spoken");
    assert_eq!(spoken.unwrap().2["words"], "half way");

    worker.says(&held, "that").await;
    answered(&asked.end(), "that");
    let wanted = [
        "message/request",
        "refusal/route.not-a-peer",
        "journal/model-started",
        "journal/model-result",
        "message/inbox",
        "message/final",
    ];
    assert_eq!(told(folder.path()), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_cancelled_call_is_called_back_and_later_replies_are_ignored() {
    let server = NatsServer::start();
    let folder = folder(&server, "");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let mut cancels = worker.client.subscribe("o.shop.cancel.echo").await.unwrap();
    let asked = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    assert_eq!(systole(folder.path(), &["cancel", "@last"]).code, Some(0));
    let cancel = next(&mut cancels).await;
    assert_eq!(
        std::str::from_utf8(&cancel.payload).unwrap(),
        held.word("cancel", "", "").replace(" ></cancel>", "/>")
    );
    let late = worker.says(&held, "late").await;
    assert!(late.contains("<system-error"), "{late}");
    assert_eq!(asked.end().code, Some(1));
    let taken_away = async { while stored(&worker).await > 0 {} };
    tokio::time::timeout(PATIENCE, taken_away).await.expect("something is left to be done");
}

/// Threads that are active at once.
const THREADS: usize = 100;

/// Sends a message into each of the threads, and opens them if there are none. Returns their ids.
fn round(run: &RunFile, threads: &[String], round: usize) -> Vec<String> {
    let send = |number: usize| {
        let thread = threads.get(number).map_or("new", String::as_str);
        let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{number} {round}</ask>");
        let sent = ask(run, "POST", &format!("/v1/messages?to=echo&thread={thread}"), &[], &body);
        assert_eq!(sent.status, 202, "{sent:?}");
        sent.json["thread"].as_str().unwrap().to_owned()
    };
    (0..THREADS).map(send).collect()
}

/// Four workers, real processes of the Python listener, share this many messages for each thread; one of them is
/// killed midway. Each message has one answer, and the answers of a thread come in its order.
fn four_share(rounds: usize) {
    let server = NatsServer::start();
    let folder = folder(&server, ", in_flight: 64, idle: 1s, timeout: 60s, retry: {backoff: 1ms..1ms}");
    let _running = runs(folder.path());
    let run = run_file(folder.path());
    let mut workers: Vec<Ends> = (0..4).map(|_| echo(&server.url())).collect();
    let mut events = Events::open(&run, "", &[]);
    let (mut threads, mut said) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
    for number in 0..rounds {
        threads = round(&run, &threads, number);
        if number == rounds / 3 {
            // SIGKILL, with the deliveries that it holds.
            drop(workers.pop());
        }
        let mut finals = 0;
        while finals < THREADS {
            let (_, _, record) = events.next().expect("more records");
            assert_ne!(record["kind"], "outcome", "nothing fails: {record}");
            if record["code"] == "final" {
                finals += 1;
                let body = record["body"].as_str().unwrap().to_owned();
                said.entry(record["thread"].as_str().unwrap().to_owned()).or_default().push(body);
            }
        }
    }
    assert_eq!(said.len(), THREADS);
    for (number, thread) in threads.iter().enumerate() {
        let said = &said[thread];
        assert_eq!(said.len(), rounds, "{thread}");
        for (round, body) in said.iter().enumerate() {
            assert!(body.contains(&format!(">You said: {number} {round}</")), "{thread} {round}: {body}");
        }
    }
}

#[test]
fn d4_four_workers_under_one_name_answer_each_message_once_though_one_is_killed() {
    four_share(9);
}

#[test]
#[ignore = "ten thousand messages take a minute"]
fn d4_four_workers_under_one_name_answer_ten_thousand_messages_once_though_one_is_killed() {
    four_share(100);
}

#[test]
fn a_broker_that_is_not_there_is_one_clear_error() {
    let mut server = NatsServer::start();
    let folder = folder(&server, "");
    server.stop();
    // `run` waits for it.
    let ran = systole(folder.path(), &["ask", "hi"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let address = server.url().replace("nats://", "");
    assert!(ran.stderr.contains(&format!("error: bus.unreachable: the broker at {address}")), "{ran:?}");
    assert!(ran.stderr.contains("try: "), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_over_the_brokers_limit_is_reported_and_no_caller_waits_for_it() {
    let server = NatsServer::with("max_payload: 65536");
    let folder = folder(&server, ", turns: 5, peers: [echo]");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let long = "x".repeat(40_000);
    let asked = asks(folder.path(), &long);
    let call = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{long}</ask>");
    worker.tells(&worker.pulls().await, "reply", "", &call).await;
    worker.says(&worker.pulls().await, "heard").await;
    let held = worker.pulls().await;
    let view = worker.tells(&held, "ask", "id=\"1\"", "<view from-seq=\"0\"/>").await;
    let told = view.get(..400).unwrap_or(&view);
    assert!(view.contains(" id=\"1\"") && view.contains("code=\"payload.too-large\""), "{told}");
    assert!(view.contains(" bytes, and the broker takes 65536\""), "{told}");
    worker.says(&held, "enough").await;
    answered(&asked.end(), "enough");
}
