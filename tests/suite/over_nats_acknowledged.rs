//! Workers over NATS whose acknowledgement does not fit what they said.

use crate::broker::NatsServer;
use crate::over_nats::{HandWorker, answered, asks, folder_at, runs, stored, told};
use crate::program::PATIENCE;

/// It has its receipt, so its effect is on disk: no one else works on the delivery.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_that_dies_between_receipt_and_acknowledgement_has_one_effect() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), "");
    let _running = runs(folder.path());
    let (dies, lives) = (HandWorker::of(&server).await, HandWorker::of(&server).await);
    let asked = asks(folder.path(), "one");
    let held = dies.pulls().await;
    let receipt = dies.says(&held, "once").await;
    assert_eq!(receipt, format!("<receipt xmlns=\"urn:systole:listener:v1\" delivery=\"{}\"/>", held.token));
    drop((held, dies));
    answered(&asked.end(), "once");
    let first = told(folder.path());
    let taken_away = async { while stored(&lives).await > 0 {} };
    tokio::time::timeout(PATIENCE, taken_away).await.expect("another worker could still take it");
    assert_eq!(told(folder.path()), first, "it leaves no trace");
    assert_eq!(first, ["message/request", "message/final"]);
    let asked = asks(folder.path(), "two");
    let held = lives.pulls().await;
    let shown = String::from_utf8_lossy(&held.message.payload);
    assert!(shown.contains(">two<"), "{shown}");
    lives.says(&held, "twice").await;
    answered(&asked.end(), "twice");
}

/// Its reply could still come, so the time of the attempt decides. Then another worker gets the next.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_worker_that_acknowledges_without_a_reply_has_lost_its_attempt() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", timeout: 2s, retry: {backoff: 1ms..1ms}");
    let _running = runs(folder.path());
    let (silent, speaks) = (HandWorker::of(&server).await, HandWorker::of(&server).await);
    let asked = asks(folder.path(), "hi");
    let lost = silent.pulls().await;
    lost.message.double_ack().await.unwrap();
    let held = speaks.pulls().await;
    assert_ne!(lost.token, held.token);
    speaks.says(&held, "here").await;
    answered(&asked.end(), "here");
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.timeout", "message/final"]);
}
