//! Work whose stream or consumer disappears while the organism runs: the pump notices it, reports it, makes it again,
//! and hands out the open deliveries again.

use async_nats::jetstream;
use async_nats::jetstream::consumer::pull;

use crate::broker::NatsServer;
use crate::over_nats::{HandWorker, Held, answered, asks, folder_at, runs, told};
use crate::program::{Running, systole};

const MORE: &str = ", in_flight: 2, timeout: 60s, retry: {backoff: 1ms..1ms}";

/// An organism with one delivery at a worker.
struct Out {
    server: NatsServer,
    folder: tempfile::TempDir,
    running: Running,
    worker: HandWorker,
    asked: Running,
    lost: Held,
}

impl Out {
    async fn begin() -> Out {
        let server = NatsServer::start();
        let folder = folder_at(&server.url(), MORE);
        let running = runs(folder.path());
        let worker = HandWorker::of(&server).await;
        let asked = asks(folder.path(), "hi");
        let lost = worker.pulls().await;
        Out { server, folder, running, worker, asked, lost }
    }
}

/// The open attempt is over, and its worker comes too late; the next attempt is answered.
async fn is_made_again(
    server: &NatsServer,
    folder: &std::path::Path,
    asked: Running,
    lost: &Held,
    why: &str,
) {
    let worker = HandWorker::of(server).await;
    let late = worker.insists(lost, "late").await;
    assert!(late.contains("reply.stale-lease"), "{late}");
    let held = worker.pulls().await;
    assert_ne!(held.token, lost.token);
    assert!(worker.says(&held, "again").await.ends_with("/>"));
    answered(&asked.end(), "again");
    let told = told(folder);
    let wanted = ["message/request", "attempt/listener.lost", "refusal/reply.stale-lease", "message/final"];
    assert_eq!(told, wanted);
    let sys = systole(folder, &["log", "sys"]).stdout;
    assert!(sys.contains("listener-left") && sys.contains(why), "{sys}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_deleted_stream_is_made_again_and_open_deliveries_are_sent_again() {
    let Out { server, folder, mut running, worker, asked, lost } = Out::begin().await;
    jetstream::new(worker.client.clone()).delete_stream("SYSTOLE_shop_BUS").await.unwrap();
    running.shows("echo is ready");
    is_made_again(&server, folder.path(), asked, &lost, "the stream SYSTOLE_shop_BUS is gone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_publish_without_a_stream_is_the_word_that_it_is_gone() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let mut running = runs(folder.path());
    let client = server.client().await;
    jetstream::new(client).delete_stream("SYSTOLE_shop_BUS").await.unwrap();
    // Nothing was out, so the pump did not look: the first delivery finds out, and goes out again.
    let asked = asks(folder.path(), "hi");
    running.shows("echo is ready");
    let worker = HandWorker::of(&server).await;
    let held = worker.pulls().await;
    assert!(worker.says(&held, "again").await.ends_with("/>"));
    answered(&asked.end(), "again");
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_deleted_consumer_is_made_again_and_open_deliveries_are_sent_again() {
    let Out { server, folder, mut running, worker, asked, lost } = Out::begin().await;
    let stream = jetstream::new(worker.client.clone()).get_stream("SYSTOLE_shop_BUS").await.unwrap();
    stream.delete_consumer("echo").await.unwrap();
    running.shows("echo is ready");
    is_made_again(&server, folder.path(), asked, &lost, "the consumer echo is gone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_broker_that_comes_back_with_nothing_is_given_everything_again() {
    let Out { mut server, folder, mut running, worker: _worker, asked, lost } = Out::begin().await;
    server.kill();
    server.loses_everything();
    server.start_again();
    running.shows("echo is ready");
    is_made_again(&server, folder.path(), asked, &lost, "the stream SYSTOLE_shop_BUS is gone").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_broker_that_lost_confirmed_deliveries_is_noticed_before_more_is_sent() {
    let Out { mut server, folder, mut running, worker, asked, lost } = Out::begin().await;
    server.kill();
    server.remembers();
    server.start_again();
    let second = asks(folder.path(), "more");
    let mut held = worker.pulls().await;
    // A killed broker may hand out again what was out.
    while held.token == lost.token {
        held = worker.pulls().await;
    }
    assert!(worker.says(&held, "done").await.ends_with("/>"));
    answered(&second.end(), "done");
    server.kill();
    server.goes_back();
    server.start_again();
    running.shows("echo is ready");
    let other = HandWorker::of(&server).await;
    let late = other.insists(&lost, "late").await;
    assert!(late.contains("reply.stale-lease"), "{late}");
    let held = other.pulls().await;
    assert_ne!(held.token, lost.token);
    assert!(other.says(&held, "again").await.ends_with("/>"));
    answered(&asked.end(), "again");
    let sys = systole(folder.path(), &["log", "sys"]).stdout;
    assert!(sys.contains("listener-left") && sys.contains("has lost deliveries"), "{sys}");
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_a_consumer_that_another_program_made_is_noticed_and_made_again() {
    let Out { server, folder, mut running, worker, asked, lost } = Out::begin().await;
    let stream = jetstream::new(worker.client.clone()).get_stream("SYSTOLE_shop_BUS").await.unwrap();
    let mut found = stream.get_consumer::<pull::Config>("echo").await.unwrap();
    let mut config = found.info().await.unwrap().config.clone();
    // The same except for the pump's note in it.
    config.metadata.clear();
    stream.create_consumer(config).await.unwrap();
    running.shows("echo is ready");
    let why = "the consumer echo was made by another program";
    is_made_again(&server, folder.path(), asked, &lost, why).await;
}
