//! Work over a slow, stalled or cut connection to the broker, for the pump or for a worker, and while the broker
//! itself is suspended or killed under load: nothing is lost, nothing is done twice, and waiting clients get an
//! answer in time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use async_nats::jetstream;
use futures_core::Stream as _;
use tokio::time::Instant;

use crate::broker::NatsServer;
use crate::over_nats::{HandWorker, answered, asks, folder_at, next, runs, stored, told, without_waits};
use crate::program::{Events, PATIENCE, ask, run_file, systole};
use crate::proxy::{Proxy, Way};

/// How long the pump waits for the broker.
const PUMP: Duration = Duration::from_secs(5);
/// How many tries there are for something that must be quick once.
const TRIES: usize = 10;
/// The broker's message that it stored something.
const STORED: &str = "\"stream\":\"SYSTOLE_shop_BUS\",\"seq\":";

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_slow_delete_of_a_delivery_does_not_delay_its_reply() {
    // A pump that waits for the broker is late each time. A pump that does not wait is late only on a busy machine,
    // and not always.
    let mut took = Vec::new();
    while took.len() < TRIES {
        took.push(answered_while_a_delivery_is_taken_away().await);
        if took.last() < Some(&PUMP) {
            return;
        }
    }
    panic!("it waited for the broker: {took:?}");
}

/// The time until two questions are answered, while the broker does not confirm that the first delivery is removed.
async fn answered_while_a_delivery_is_taken_away() -> Duration {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), "");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let asked = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    proxy.loses("stream_msg_delete_response", 1);
    let began = Instant::now();
    assert!(worker.says(&held, "at once").await.ends_with("/>"));
    answered(&asked.end(), "at once");
    proxy.has_lost(1);
    // A question goes out and is answered, while the broker has not confirmed that the first delivery is removed.
    answered_by(&worker, folder.path()).await;
    began.elapsed()
}

/// Asks a question, and the worker answers it.
async fn answered_by(worker: &HandWorker, folder: &std::path::Path) {
    let asked = asks(folder, "hi");
    let held = worker.pulls().await;
    worker.says(&held, "here").await;
    answered(&asked.end(), "here");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_delivery_that_the_broker_took_without_a_word_is_found_and_is_one_attempt() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), ", in_flight: 2, timeout: 60s");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    proxy.loses(STORED, 1);
    let first = asks(folder.path(), "one");
    proxy.has_lost(1);
    let second = asks(folder.path(), "two");
    let one = worker.pulls().await;
    // It does not wait for the outcome of the first.
    let two = worker.pulls().await;
    assert_eq!(stored(&worker).await, 2, "each is stored once");
    for held in [&one, &two] {
        let receipt = worker.says(held, "done").await;
        assert!(receipt.ends_with("/>") && !receipt.contains("stale"), "{receipt}");
    }
    answered(&first.end(), "done");
    answered(&second.end(), "done");
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

/// The broker's acceptance of three deliveries is lost, which would fail them if it were not found out.
#[tokio::test(flavor = "multi_thread")]
async fn d11_deliveries_go_out_at_once_and_one_fence_settles_all_in_doubt() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), ", in_flight: 3, timeout: 60s, on_unknown: fail");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let mut fences = worker.client.subscribe("o.shop.dlv._fence_echo").await.unwrap();
    worker.client.flush().await.unwrap();
    proxy.loses(STORED, 3);
    let asked: Vec<_> = (0..3).map(|_| asks(folder.path(), "hi")).collect();
    proxy.has_lost(3);
    let held = [worker.pulls().await, worker.pulls().await, worker.pulls().await];
    next(&mut fences).await;
    for held in &held {
        let receipt = worker.says(held, "done").await;
        assert!(receipt.ends_with("/>") && !receipt.contains("stale"), "{receipt}");
    }
    asked.into_iter().for_each(|asked| answered(&asked.end(), "done"));
    // Where an unknown outcome fails, each attempt is written down before it goes out.
    assert_eq!(told(folder.path()), ["message/request", "attempt/", "message/final"]);
    answered_by(&worker, folder.path()).await;
    worker.client.flush().await.unwrap();
    fences.drain().await.unwrap();
    assert!(next_or_end(&mut fences).await.is_none(), "one fence is enough for all");
}

#[test]
fn d11_a_written_configuration_syncs_only_for_a_log() {
    let folder = folder_at("nats://127.0.0.1:1", "");
    let written = || systole(folder.path(), &["permissions", "--nats-config"]);
    let deliveries = written();
    assert!(deliveries.code == Some(0) && !deliveries.stdout.contains("sync_interval"), "{deliveries:?}");
    let file = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    let file = file.replace("bus: {nats: \"nats://127.0.0.1:1\"}\n", "");
    let file = file.replace("log: {", "log: {nats: \"nats://127.0.0.1:1\", durability: relaxed, ");
    std::fs::write(folder.path().join("organism.yaml"), &file).unwrap();
    let log = written();
    assert!(log.stdout.contains("  sync_interval: always\n"), "{log:?}");
    assert!(!log.stdout.contains("http:"), "no page is read: {log:?}");
    let pages = file.replace("durability: relaxed", "monitor: [\"http://127.0.0.1:8222\"]");
    std::fs::write(folder.path().join("organism.yaml"), pages).unwrap();
    let shown = written();
    assert!(shown.stdout.contains("\nhttp: \"127.0.0.1:8222\"\n"), "{shown:?}");
    let key = std::fs::read_to_string(folder.path().join("keys/echo.pub")).unwrap();
    assert!(shown.stdout.contains(&format!("{{ nkey: {}, ", key.trim_end())), "{key}");
}

/// The pump never looks at the consumer again, so only what it does by itself takes the delivery away.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_call_that_is_cancelled_while_its_delivery_goes_out_is_taken_away() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), "");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let last = async || {
        let stream = jetstream::new(worker.client.clone()).get_stream("SYSTOLE_shop_BUS").await.unwrap();
        stream.cached_info().state.last_sequence
    };
    let before = last().await;
    proxy.stalls_at("HPUB o.shop.dlv.echo ");
    let asked = asks(folder.path(), "hi");
    proxy.has_stalled();
    assert_eq!(systole(folder.path(), &["cancel", "@last"]).code, Some(0));
    proxy.loses("consumer_info_response", 1000);
    proxy.goes(Way::Pass);
    assert_eq!(asked.end().code, Some(1));
    let taken_away = async { while last().await == before || stored(&worker).await > 0 {} };
    tokio::time::timeout(PATIENCE, taken_away).await.expect("a worker could still take it");
}

/// The next message of a subscription that was drained.
pub(crate) async fn next_or_end(subscriber: &mut async_nats::Subscriber) -> Option<async_nats::Message> {
    std::future::poll_fn(|cx| std::pin::Pin::new(&mut *subscriber).poll_next(cx)).await
}

/// The broker's acceptance of the delivery is lost, and then the answer to the question about it, because the
/// connection breaks.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_connection_that_breaks_while_a_delivery_is_looked_for_costs_no_attempt() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), ", in_flight: 2, timeout: 60s");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    proxy.loses(STORED, 1);
    let first = asks(folder.path(), "one");
    proxy.has_lost(1);
    proxy.loses("stream_msg_get_response", 1);
    let one = worker.pulls().await;
    proxy.has_lost(1);
    proxy.goes(Way::Cut);
    proxy.goes(Way::Pass);
    // It does not wait for the outcome of the first.
    let second = asks(folder.path(), "two");
    let two = worker.pulls().await;
    for held in [&one, &two] {
        let receipt = worker.insists(held, "done").await;
        assert!(receipt.ends_with("/>") && !receipt.contains("stale"), "{receipt}");
    }
    answered(&first.end(), "done");
    answered(&second.end(), "done");
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a way that is held up for longer than both patiences takes a quarter of a minute"]
async fn d7_a_delivery_that_reaches_the_broker_late_goes_to_no_worker() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), ", timeout: 60s, retry: {attempts: 9, backoff: 1ms..1ms}");
    let mut running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let mut events = Events::open(&run_file(folder.path()), "", &[]);
    proxy.goes(Way::Stall);
    let asked = asks(folder.path(), "hi");
    while events.next().expect("more records").2["kind"] != "attempt" {}
    proxy.goes(Way::Pass);
    running.shows("echo is ready");
    let held = worker.pulls().await;
    assert_eq!(stored(&worker).await, 1, "what came late was taken away");
    assert!(worker.says(&held, "in time").await.ends_with("/>"));
    answered(&asked.end(), "in time");
    assert_eq!(told(folder.path()).first().unwrap(), "message/request");
    assert!(!told(folder.path()).contains(&"refusal/reply.stale-lease".to_owned()));
}

/// One delivery is with a worker, one may or may not be at the broker, and one is asked while the connection is cut:
/// all of them wait for the broker, and each has one attempt.
#[tokio::test(flavor = "multi_thread")]
async fn b21_calls_wait_for_a_broker_that_is_cut_off_and_what_was_done_meanwhile_counts() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), ", in_flight: 3, timeout: 60s, retry: {attempts: 1}");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let out = asks(folder.path(), "before");
    let held = worker.pulls().await;
    // The pump answers after the broker's message that the delivery is stored.
    worker.tells(&held, "ask", "id=\"1\"", "<view from-seq=\"0\"/>").await;
    proxy.loses(STORED, 1);
    let unknown = asks(folder.path(), "not confirmed");
    proxy.has_lost(1);
    let doubtful = worker.pulls().await;
    proxy.goes(Way::Cut);
    let waits = asks(folder.path(), "while it is cut");
    let mut events = Events::open(&run_file(folder.path()), "", &[]);
    while events.next().expect("more records").2["body"]
        .as_str()
        .is_none_or(|body| !body.contains("listener-left"))
    {}
    assert_eq!(stored(&worker).await, 2, "the one that is out, and the one that was not confirmed");
    proxy.goes(Way::Pass);
    for (asked, held) in [(out, held), (unknown, doubtful)] {
        let receipt = worker.insists(&held, "I was here all the time").await;
        assert!(receipt.ends_with("/>") && !receipt.contains("stale"), "{receipt}");
        answered(&asked.end(), "I was here all the time");
        held.message.double_ack().await.unwrap();
    }
    let held = worker.pulls().await;
    assert!(worker.says(&held, "and now").await.ends_with("/>"));
    answered(&waits.end(), "and now");
    let all = systole(folder.path(), &["log", "--json"]).kinds();
    let attempts: Vec<_> = all.iter().filter(|kind| kind.starts_with("attempt/")).collect();
    assert!(attempts.contains(&&"attempt/waits".to_owned()), "{all:?}");
    assert!(without_waits(all.clone()).iter().all(|kind| !kind.starts_with("attempt/")), "{all:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_that_is_cut_off_is_told_of_and_another_has_its_work() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&server.url(), ", idle: 500ms, retry: {backoff: 1ms..1ms}");
    let _running = runs(folder.path());
    let (far, near) = (HandWorker::at(&proxy.url()).await, HandWorker::of(&server).await);
    let asked = asks(folder.path(), "hi");
    let lost = far.pulls().await;
    proxy.goes(Way::Cut);
    let held = near.pulls().await;
    assert_ne!(lost.token, held.token);
    assert!(near.says(&held, "near").await.ends_with("/>"));
    answered(&asked.end(), "near");
    proxy.goes(Way::Pass);
    let late = far.insists(&lost, "far").await;
    assert!(late.contains("reply.stale-lease"), "{late}");
    let wanted = ["message/request", "attempt/listener.lost", "message/final", "refusal/reply.stale-lease"];
    assert_eq!(told(folder.path()), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_that_dies_while_the_pump_is_cut_off_is_found_out_afterwards() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), ", idle: 500ms, timeout: 60s, retry: {backoff: 1ms..1ms}");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let mut advisories =
        worker.client.subscribe("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.>").await.unwrap();
    let asked = asks(folder.path(), "hi");
    let lost = worker.pulls().await;
    worker.tells(&lost, "ask", "id=\"1\"", "<view from-seq=\"0\"/>").await;
    proxy.goes(Way::Cut);
    // The broker says it once, and the pump is not there.
    next(&mut advisories).await;
    proxy.goes(Way::Pass);
    let held = worker.pulls().await;
    assert_ne!(lost.token, held.token);
    assert!(worker.says(&held, "again").await.ends_with("/>"));
    answered(&asked.end(), "again");
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.lost", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_broker_suspended_for_seven_seconds_loses_nothing_and_costs_no_attempt() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", in_flight: 2, timeout: 60s");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let out = asks(folder.path(), "before");
    let before = worker.pulls().await;
    server.pause();
    let asked = asks(folder.path(), "while it is held");
    let early = tokio::time::timeout(Duration::from_secs(7), worker.client.request("nobody", "".into()));
    assert!(early.await.is_err(), "it answered while it was held");
    server.go_on();
    let while_held = worker.pulls().await;
    for held in [&before, &while_held] {
        let receipt = worker.insists(held, "done").await;
        assert!(receipt.ends_with("/>") && !receipt.contains("stale"), "{receipt}");
    }
    answered(&out.end(), "done");
    answered(&asked.end(), "done");
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_over_a_slow_way_every_word_comes_once_and_in_its_order() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), ", in_flight: 3");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    proxy.goes(Way::Slow(Duration::from_millis(50)));
    let asked: Vec<_> = (0..3).map(|_| asks(folder.path(), "hi")).collect();
    for number in 0..3 {
        let held = worker.pulls().await;
        let told = worker.tells(&held, "ask", &format!("id=\"{number}\""), "<view from-seq=\"0\"/>").await;
        assert!(told.contains(">hi</"), "{told}");
        assert!(worker.says(&held, "slowly").await.ends_with("/>"));
    }
    asked.into_iter().for_each(|asked| answered(&asked.end(), "slowly"));
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

/// Some deliveries are with a worker, some are in the stream, some may be in transit, and some come while no broker is
/// there. None is in doubt, so none fails, although one whose outcome is unknown would.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_broker_that_is_killed_with_twenty_under_way_answers_each_once() {
    let mut server = NatsServer::start();
    let more = ", in_flight: 20, timeout: 60s, on_unknown: fail, retry: {attempts: 9, backoff: 1ms..1ms}";
    let folder = folder_at(&server.url(), more);
    let _running = runs(folder.path());
    let run = run_file(folder.path());
    let worker = HandWorker::of(&server).await;
    let mut events = Events::open(&run, "", &[]);
    let send = |count: usize| {
        for _ in 0..count {
            let body = "<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">hi</ask>";
            assert_eq!(ask(&run, "POST", "/v1/messages?to=echo", &[], body).status, 202);
        }
    };
    send(5);
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(worker.pulls().await);
    }
    send(10);
    server.kill();
    send(5);
    server.start_again();
    let mut taken = BTreeSet::new();
    while taken.len() < 20 {
        let next = match held.pop() {
            Some(next) => next,
            None => worker.pulls().await,
        };
        let receipt = worker.insists(&next, "done").await;
        assert!(!receipt.contains("reply.stale-lease"), "{receipt}");
        // What a broker had handed out when it was killed it may hand out again.
        taken.insert(next.token);
    }
    let mut finals = BTreeMap::<String, usize>::new();
    while finals.values().sum::<usize>() < 20 {
        let (_, _, record) = events.next().expect("more records");
        assert_ne!(record["kind"], "outcome", "nothing fails: {record}");
        if record["code"] == "final" {
            *finals.entry(record["thread"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    assert!(finals.len() == 20 && finals.values().all(|count| *count == 1), "{finals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_other_documents_on_the_progress_subject_are_refused_and_end_nothing() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", in_flight: 1");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let asked = asks(folder.path(), "hi");
    let held = worker.pulls().await;
    let answer = "<answer xmlns=\"https://xml-pipeline.org/ns/talk/v1\">aside</answer>";
    let request = async_nats::Request::new().payload(held.word("reply", "", answer).into());
    let refused = worker.client.send_request("o.shop.live.echo", request.timeout(Some(PUMP))).await.unwrap();
    let refused = String::from_utf8(refused.payload.to_vec()).unwrap();
    assert!(refused.contains("reply.wrong-subject"), "{refused}");
    // Without a reply subject it is recorded all the same.
    let mut events = Events::open(&run_file(folder.path()), "", &[]);
    let notice = held.word("notice", "code=\"own.word\"", "a word aside");
    worker.client.publish("o.shop.live.echo", notice.into()).await.unwrap();
    while events.next().expect("more records").2["code"] != "reply.wrong-subject" {}
    assert!(worker.says(&held, "on its subject").await.ends_with("/>"));
    answered(&asked.end(), "on its subject");
    // Its only slot is free again.
    answered_by(&worker, folder.path()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_the_broker_refuses_a_pull_that_waits_longer_than_its_answer_is_known() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), "");
    let _running = runs(folder.path());
    let client = server.client().await;
    let inbox = client.new_inbox();
    let mut ear = client.subscribe(inbox.clone()).await.unwrap();
    for (seconds, wanted) in [(301_u64, Some("Exceeded MaxRequestExpires")), (300, None)] {
        let pull = format!("{{\"batch\":1,\"expires\":{}}}", seconds * 1_000_000_000);
        let subject = "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.echo";
        client.publish_with_reply(subject, inbox.clone(), pull.into()).await.unwrap();
        if let Some(wanted) = wanted {
            let said = next(&mut ear).await;
            assert!(said.description.clone().unwrap().contains(wanted), "{said:?}");
        }
    }
    // The second waits, and gets the next question.
    let _asked = asks(folder.path(), "hi");
    assert_eq!(next(&mut ear).await.subject.as_str(), "o.shop.dlv.echo");
}
