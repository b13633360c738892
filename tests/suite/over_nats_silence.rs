//! The broker says once that a worker gave no sign of life. A stream keeps that for a pump that does not listen then.

use std::time::Duration;

use async_nats::jetstream::{self, AckKind};
use rustix::process::Signal;
use tokio::time::interval;

use crate::broker::NatsServer;
use crate::over_nats::{HandWorker, Held, answered, asks, folder_at, next, runs, told};
use crate::over_nats_restart::posts;
use crate::over_nats_storm::lasts;
use crate::program::{PATIENCE, Running};
use crate::proxy::{Proxy, Way};

const MORE: &str = ", in_flight: 2, idle: 1s, timeout: 10m, retry: {backoff: 1ms..1ms}";
const SILENT: &str = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.SYSTOLE_shop_BUS.echo";

/// Kills the pump.
fn dies(pump: Running) {
    pump.signal(Signal::KILL);
    drop(pump.end());
}

/// Gives signs of life for a delivery as long as this is polled.
async fn works(held: &Held) {
    let mut signs = interval(Duration::from_millis(200));
    loop {
        signs.tick().await;
        // While the broker is away there is no one to tell.
        let _told = held.message.ack_with(AckKind::Progress).await;
    }
}

/// Does that while a delivery is at work.
async fn beside<T>(held: &Held, other: impl Future<Output = T>) -> T {
    tokio::select! {
        () = works(held) => unreachable!("it works without end"),
        done = other => done,
    }
}

/// Waits until the broker says that a worker gave no sign of life.
async fn dies_unheard(worker: &HandWorker) {
    let mut said = worker.client.subscribe(SILENT).await.unwrap();
    next(&mut said).await;
}

/// Another attempt goes out beside the delivery that is at work, and each is answered in its own.
async fn goes_on(worker: &HandWorker, busy: &Held, lost: &Held) {
    let again = beside(busy, worker.pulls()).await;
    assert_ne!(again.token, lost.token);
    for held in [&again, busy] {
        assert!(worker.says(held, "done").await.ends_with("/>"));
    }
}

/// Two deliveries, the second of which a worker is busy with, and a pump that is killed.
async fn two_at_work(
    pump: Running,
    server: &NatsServer,
    folder: &std::path::Path,
) -> (HandWorker, Held, Held) {
    let worker = HandWorker::of(server).await;
    posts(folder, "busy");
    let busy = worker.pulls().await;
    posts(folder, "dies");
    let lost = beside(&busy, worker.pulls()).await;
    dies(pump);
    beside(&busy, dies_unheard(&worker)).await;
    (worker, busy, lost)
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_a_worker_that_dies_beside_a_busy_one_while_no_pump_runs_is_noticed_by_the_next_pump() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let (worker, busy, lost) = two_at_work(runs(folder.path()), &server, folder.path()).await;
    let _running = beside(&busy, async { tokio::task::block_in_place(|| runs(folder.path())) }).await;
    goes_on(&worker, &busy, &lost).await;
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.lost", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_what_the_broker_said_of_a_dead_worker_outlives_the_broker() {
    let mut server = NatsServer::start();
    let folder = folder_at(&server.url(), &MORE.replace("idle: 1s", "idle: 5s"));
    let (worker, busy, lost) = two_at_work(runs(folder.path()), &server, folder.path()).await;
    let again = async {
        tokio::task::block_in_place(|| {
            server.stop();
            server.start_again();
            runs(folder.path())
        })
    };
    let _running = beside(&busy, again).await;
    goes_on(&worker, &busy, &lost).await;
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.lost", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_a_worker_that_dies_beside_a_busy_one_while_the_pump_is_cut_off_is_noticed_afterwards() {
    let server = NatsServer::start();
    let proxy = Proxy::to(&server.url());
    let folder = folder_at(&proxy.url(), MORE);
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let asked = asks(folder.path(), "busy");
    let busy = worker.pulls().await;
    posts(folder.path(), "dies");
    let lost = beside(&busy, worker.pulls()).await;
    // The pump answers after the broker's message that the delivery is stored.
    worker.tells(&lost, "ask", "id=\"1\"", "<view from-seq=\"0\"/>").await;
    proxy.goes(Way::Cut);
    beside(&busy, dies_unheard(&worker)).await;
    proxy.goes(Way::Pass);
    goes_on(&worker, &busy, &lost).await;
    answered(&asked.end(), "done");
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.lost", "message/final"]);
}

/// The stream is made anew, so its places are used again.
#[tokio::test(flavor = "multi_thread")]
async fn b20_what_the_broker_said_of_an_earlier_delivery_at_the_same_place_ends_no_later_one() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let stuffs = async |until: u64| {
        let jetstream = jetstream::new(server.client().await);
        loop {
            let other = jetstream.publish("o.shop.dlv._other", "".into()).await.unwrap().await.unwrap();
            assert!(other.sequence <= until, "the place is used already");
            if other.sequence == until {
                return;
            }
        }
    };
    let place = |held: &Held| held.message.info().unwrap().stream_sequence;
    let running = runs(folder.path());
    stuffs(20).await;
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "early");
    let early = worker.pulls().await;
    assert_eq!(place(&early), 21);
    dies(running);
    dies_unheard(&worker).await;
    let running = runs(folder.path());
    assert!(worker.says(&worker.pulls().await, "done").await.ends_with("/>"));
    dies(running);
    jetstream::new(worker.client.clone()).delete_stream("SYSTOLE_shop_BUS").await.unwrap();
    let running = runs(folder.path());
    stuffs(20).await;
    // One that dies is noticed, so what the broker said was read.
    let (worker, busy, lost) = two_at_work(running, &server, folder.path()).await;
    assert_eq!(place(&busy), 21);
    let _running = beside(&busy, async { tokio::task::block_in_place(|| runs(folder.path())) }).await;
    goes_on(&worker, &busy, &lost).await;
}

/// Another stream takes the broker's words, so the organism has none of its own. It works, and says what is worse.
#[tokio::test(flavor = "multi_thread")]
async fn b20_an_organism_without_a_stream_for_dead_workers_works_and_says_so() {
    let server = NatsServer::start();
    let all = jetstream::stream::Config {
        name: "EVENTS".to_owned(),
        subjects: vec!["$JS.EVENT.ADVISORY.>".to_owned()],
        ..Default::default()
    };
    jetstream::new(server.client().await).create_stream(all).await.unwrap();
    let folder = folder_at(&server.url(), MORE);
    let mut running = Running::start(folder.path(), &["run"]);
    let said = running.says("a worker that dies while no pump runs may be noticed only at");
    assert!(said.contains("another stream takes $JS.EVENT.ADVISORY"), "{said}");
    running.shows("echo is ready");
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let lost = worker.pulls().await;
    dies(running);
    dies_unheard(&worker).await;
    // No other worker is at work.
    let _running = runs(folder.path());
    let again = worker.pulls().await;
    assert_ne!(again.token, lost.token);
    assert!(worker.says(&again, "done").await.ends_with("/>"));
}

/// No worker can give the broker a sign of life while it is away, and it counts that time when it is back.
#[tokio::test(flavor = "multi_thread")]
async fn b21_a_broker_that_is_away_for_longer_than_a_worker_may_be_silent_costs_no_attempt() {
    let mut server = NatsServer::start();
    let folder = folder_at(&server.url(), ", in_flight: 2, idle: 5s, timeout: 10m, on_unknown: fail");
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    // The pump answers after the broker's message that the delivery is stored.
    worker.tells(&held, "ask", "id=\"1\"", "<view from-seq=\"0\"/>").await;
    tokio::task::block_in_place(|| {
        server.stop();
        lasts(Duration::from_secs(6));
        server.start_again();
    });
    let forgets =
        async { while worker.work.clone().info().await.map_or(true, |info| info.num_ack_pending > 0) {} };
    tokio::time::timeout(PATIENCE, forgets).await.expect("the broker still waits for the worker");
    let receipt = worker.insists(&held, "I was at work").await;
    assert!(receipt.ends_with("/>") && !receipt.contains("stale"), "{receipt}");
    assert_eq!(told(folder.path()), ["message/request", "attempt/", "message/final"]);
    // One that says nothing more is noticed all the same.
    posts(folder.path(), "dies");
    let lost = worker.pulls().await;
    tokio::task::block_in_place(|| {
        server.stop();
        lasts(Duration::from_secs(6));
        server.start_again();
    });
    let late = async { while told(folder.path()).len() < 4 {} };
    tokio::time::timeout(PATIENCE, late).await.expect("it is not noticed");
    assert!(worker.insists(&lost, "late").await.contains("reply.stale-lease"));
}
