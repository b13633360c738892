//! The pump is restarted or killed while workers over NATS work: what they did counts, in the same attempt.

use async_nats::jetstream;
use futures_core::Stream as _;
use rustix::process::Signal;

use crate::broker::NatsServer;
use crate::over_nats::{HandWorker, folder_at, runs, stored, told, without_waits};
use crate::program::{PATIENCE, Running, ask, run_file, systole};

const MORE: &str = ", in_flight: 2, timeout: 60s, retry: {backoff: 1ms..1ms}";
const FAILS: &str = ", in_flight: 2, timeout: 60s, on_unknown: fail";

/// Posts a message, which is accepted before this returns.
pub(crate) fn posts(folder: &std::path::Path, words: &str) {
    let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>");
    assert_eq!(ask(&run_file(folder), "POST", "/v1/messages?to=echo", &[], &body).status, 202);
}

/// Ends the organism so, and starts it again.
fn again(running: Running, folder: &std::path::Path, how: Signal) -> Running {
    running.signal(how);
    drop(running.end());
    runs(folder)
}

/// The words that an orderly stop and a kill have for workers: none.
async fn counts_after(how: Signal, more: &str, wanted: &[&str]) {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), more);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    let mut cancels = worker.client.subscribe("o.shop.cancel.echo").await.unwrap();
    let running = again(running, folder.path(), how);
    let receipt = worker.says(&held, "done").await;
    assert!(receipt.ends_with("/>"), "{receipt}");
    assert_eq!(told(folder.path()), wanted, "the same attempt");
    worker.client.flush().await.unwrap();
    let cancel = std::future::poll_fn(|cx| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut cancels).poll_next(cx).is_ready())
    });
    assert!(!cancel.await, "nothing is called back");
    assert_eq!(running.interrupt().code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_what_a_worker_does_during_an_orderly_restart_counts() {
    counts_after(Signal::TERM, MORE, &["message/request", "message/final"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_what_a_worker_does_while_the_pump_is_killed_counts() {
    counts_after(Signal::KILL, MORE, &["message/request", "message/final"]).await;
    counts_after(Signal::KILL, FAILS, &["message/request", "attempt/", "message/final"]).await;
}

/// The worker asks again and again while no pump runs, and the next pump hears it.
#[tokio::test(flavor = "multi_thread")]
async fn b20_a_reply_that_is_sent_while_no_pump_runs_counts() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), FAILS);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    running.signal(Signal::KILL);
    drop(running.end());
    let (receipt, _running) = tokio::join!(worker.insists(&held, "done"), async {
        tokio::task::block_in_place(|| runs(folder.path()))
    });
    assert!(receipt.ends_with("/>"), "{receipt}");
    assert_eq!(told(folder.path()), ["message/request", "attempt/", "message/final"]);
}

/// What lay in the stream stays there, and what never went out follows it.
#[tokio::test(flavor = "multi_thread")]
async fn b20_what_no_worker_had_goes_out_once_and_in_order() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    for n in 0..5 {
        posts(folder.path(), &format!("n{n}"));
    }
    let first = worker.pulls().await;
    let _running = again(running, folder.path(), Signal::KILL);
    let mut held = Some(first);
    for n in 0..5 {
        let one = match held.take() {
            Some(one) => one,
            None => worker.pulls().await,
        };
        let shown = String::from_utf8_lossy(&one.message.payload).into_owned();
        assert!(shown.contains(&format!(">n{n}<")) && shown.contains(" attempt=\"1\""), "{shown}");
        assert!(worker.says(&one, "done").await.ends_with("/>"));
        one.message.double_ack().await.unwrap();
    }
    assert_eq!(stored(&worker).await, 0);
    let all = without_waits(systole(folder.path(), &["log", "--json"]).kinds());
    assert_eq!(all.iter().filter(|kind| kind.starts_with("attempt/")).count(), 0, "{all:?}");
}

/// The broker lost its stream while no pump ran: all of it goes out again, in the same attempt.
#[tokio::test(flavor = "multi_thread")]
async fn b20_a_stream_that_is_gone_gets_the_same_attempt_again() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    running.signal(Signal::KILL);
    drop(running.end());
    jetstream::new(worker.client.clone()).delete_stream("SYSTOLE_shop_BUS").await.unwrap();
    let _running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    let second = worker.pulls().await;
    assert_eq!(second.token, held.token);
    assert!(worker.says(&second, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
}

/// A worker that acknowledged before it answered still has the work: the broker knows that it had it.
#[tokio::test(flavor = "multi_thread")]
async fn b20_a_worker_that_acknowledged_too_early_is_waited_for() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), &format!("{MORE}, idle: 3s"));
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "one");
    let early = worker.pulls().await;
    early.message.double_ack().await.unwrap();
    let running = again(running, folder.path(), Signal::KILL);
    assert!(worker.says(&early, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "message/final"]);
    // One that says nothing more is lost.
    posts(folder.path(), "two");
    let silent = worker.pulls().await;
    silent.message.double_ack().await.unwrap();
    let _running = again(running, folder.path(), Signal::KILL);
    let next = worker.pulls().await;
    assert_ne!(next.token, silent.token);
    assert!(worker.says(&next, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.lost", "message/final"]);
}

/// A delivery in the stream under the same name with other bytes is not the one of this log.
#[tokio::test(flavor = "multi_thread")]
async fn b20_another_delivery_under_the_same_name_is_deleted_and_lost() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    running.signal(Signal::KILL);
    drop(running.end());
    let stream = jetstream::new(worker.client.clone()).get_stream("SYSTOLE_shop_BUS").await.unwrap();
    let mut info = held.message.info().unwrap().stream_sequence;
    let stored = stream.get_raw_message(info).await.unwrap();
    stream.delete_message(info).await.unwrap();
    let other = String::from_utf8(stored.payload.to_vec()).unwrap().replace(">hi<", ">ho<");
    info = jetstream::new(worker.client.clone())
        .publish("o.shop.dlv.echo", other.into())
        .await
        .unwrap()
        .await
        .unwrap()
        .sequence;
    let _running = runs(folder.path());
    let again = worker.pulls().await;
    // The forged one may be pulled before the pump looks at it.
    let again = if again.token == held.token { worker.pulls().await } else { again };
    assert!(worker.says(&again, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.lost", "message/final"]);
    assert!(stream.get_raw_message(info).await.is_err(), "it is deleted");
}

/// A restart begins no time anew.
#[tokio::test(flavor = "multi_thread")]
async fn b20_the_time_of_an_attempt_runs_on_through_restarts() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", in_flight: 2, timeout: 4s, retry: {backoff: 1ms..1ms}");
    let mut running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    let begun = tokio::time::Instant::now();
    // Each of these lives is shorter than the timeout.
    let next = worker.pulls();
    tokio::pin!(next);
    let next = loop {
        if let Ok(next) = tokio::time::timeout(std::time::Duration::from_secs(1), &mut next).await {
            break next;
        }
        running = tokio::task::block_in_place(|| again(running, folder.path(), Signal::KILL));
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "its time never ends");
    };
    assert_ne!(next.token, held.token);
    assert!(worker.says(&next, "done").await.ends_with("/>"));
    assert_eq!(told(folder.path()), ["message/request", "attempt/listener.timeout", "message/final"]);
    drop(running);
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_an_orderly_stop_says_how_much_is_out() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    let running = again(running, folder.path(), Signal::TERM);
    assert!(worker.says(&held, "done").await.ends_with("/>"));
    assert_eq!(running.interrupt().code, Some(130));
    let sys = systole(folder.path(), &["log", "sys"]).stdout;
    let ends: Vec<&str> =
        sys.lines().filter_map(|line| line.split_once("<shutdown>  ")).map(|(_, end)| end).collect();
    assert_eq!(ends, ["mode=drained out=1", "mode=drained"], "{sys}");
}

/// A delivery that no worker takes waits, whatever its timeout, and its time runs once a worker has it.
#[tokio::test(flavor = "multi_thread")]
async fn b21_calls_wait_for_a_worker_that_is_away_and_why_says_so() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", in_flight: 2, timeout: 1s, retry: {attempts: 1}");
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    for n in 0..3 {
        posts(folder.path(), &format!("n{n}"));
    }
    let waits = || systole(folder.path(), &["why", "@last"]).stdout;
    let begun = tokio::time::Instant::now();
    while !waits().contains("waiting (outage): no worker takes work for echo: 3 calls") {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{}", waits());
    }
    // Also through a restart.
    let _running = again(running, folder.path(), Signal::KILL);
    for n in 0..3 {
        let held = worker.pulls().await;
        let shown = String::from_utf8_lossy(&held.message.payload).into_owned();
        assert!(shown.contains(&format!(">n{n}<")) && shown.contains(" attempt=\"1\""), "{shown}");
        assert!(worker.says(&held, "done").await.ends_with("/>"));
    }
    let all = systole(folder.path(), &["log", "--json"]).kinds();
    assert_eq!(all.iter().filter(|kind| *kind == "message/final").count(), 3, "{all:?}");
    assert_eq!(
        all.iter().filter(|kind| *kind == "attempt/waits").count(),
        3,
        "also the one that queues: {all:?}"
    );
    // One that a worker took and does not answer has used its time.
    posts(folder.path(), "slow");
    let _held = worker.pulls().await;
    let begun = tokio::time::Instant::now();
    while told(folder.path()).last().is_none_or(|last| !last.starts_with("outcome/")) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{:?}", told(folder.path()));
    }
    assert_eq!(told(folder.path()), ["message/request", "outcome/dead-letter", "outcome/listener.timeout"]);
}

/// A pump that starts before its broker waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn b21_a_pump_that_starts_before_its_broker_waits_for_it() {
    let mut server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    server.kill();
    let mut running = Running::start(folder.path(), &["run"]);
    let said = running.says("waits for its broker: ");
    assert!(said.contains("nothing listens there"), "{said}");
    server.start_again();
    running.shows("echo is ready");
    let worker = HandWorker::of(&server).await;
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    assert!(worker.says(&held, "done").await.ends_with("/>"));
    assert_eq!(running.interrupt().code, Some(130));
}

/// The listener gets another name while a worker works and calls wait, and then its own again.
#[tokio::test(flavor = "multi_thread")]
async fn b21_a_listener_that_is_renamed_and_named_back_under_a_run_fails_no_call() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), MORE);
    let file = folder.path().join("organism.yaml");
    let named = std::fs::read_to_string(&file).unwrap();
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    for n in 0..4 {
        posts(folder.path(), &format!("n{n}"));
    }
    let (first, second) = (worker.pulls().await, worker.pulls().await);
    running.signal(Signal::TERM);
    drop(running.end());
    std::fs::write(&file, named.replace("echo", "mirror")).unwrap();
    let mut renamed = Running::organism(folder.path());
    renamed.shows("mirror is ready");
    // What a worker of the old name does counts, and what it gets next lies there for it.
    assert!(worker.says(&first, "done").await.ends_with("/>"));
    first.message.double_ack().await.unwrap();
    let next_is_out = async { while stored(&worker).await < 2 {} };
    tokio::time::timeout(PATIENCE, next_is_out).await.expect("nothing goes out under the old name");
    renamed.signal(Signal::TERM);
    drop(renamed.end());
    std::fs::write(&file, named).unwrap();
    let _running = runs(folder.path());
    assert!(worker.says(&second, "done").await.ends_with("/>"));
    second.message.double_ack().await.unwrap();
    for n in 2..4 {
        let held = worker.pulls().await;
        let shown = String::from_utf8_lossy(&held.message.payload).into_owned();
        assert!(shown.contains(&format!(">n{n}<")), "{shown}");
        assert!(worker.says(&held, "done").await.ends_with("/>"));
        held.message.double_ack().await.unwrap();
    }
    let all = without_waits(systole(folder.path(), &["log", "--json"]).kinds());
    assert_eq!(all.iter().filter(|kind| *kind == "message/final").count(), 4, "{all:?}");
    let is_trouble =
        |kind: &String| ["attempt/", "outcome/", "refusal/"].iter().any(|begin| kind.starts_with(begin));
    assert!(!all.iter().any(is_trouble), "{all:?}");
}

/// The broker lost its power, and with it a delivery that a worker has. No one knows what became of the work.
#[tokio::test(flavor = "multi_thread")]
async fn b20_what_a_restarted_broker_does_not_have_is_lost_where_nothing_may_be_done_twice() {
    let mut server = NatsServer::start();
    let folder = folder_at(&server.url(), FAILS);
    let running = runs(folder.path());
    let worker = HandWorker::of(&server).await;
    server.kill();
    server.remembers();
    server.start_again();
    posts(folder.path(), "hi");
    let held = worker.pulls().await;
    running.signal(Signal::KILL);
    drop(running.end());
    server.kill();
    server.goes_back();
    server.start_again();
    let _running = runs(folder.path());
    let late = worker.insists(&held, "late").await;
    assert!(late.contains("reply.stale-lease"), "{late}");
    let wanted = ["message/request", "attempt/", "outcome/dead-letter", "outcome/listener.lost"];
    assert_eq!(told(folder.path())[..4], wanted);
    assert_eq!(stored(&worker).await, 0);
}
