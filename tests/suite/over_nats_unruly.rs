//! Deliveries and replies that come twice, late and out of order, over a real broker: each has one effect, a call's
//! turns and the answers to its items keep their order, and late replies are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use futures_core::Stream;
use systole_checker::log::LogSnapshot;
use systole_checker::{RunSettings, check_under};
use systole_kit::nats::{Worker, WorkerEvent};
use systole_kit::reply::{Item, ReplyContent};
use systole_kit::stdio::Turn;
use systole_soak::dice::SeededDice;

use crate::broker::NatsServer;
use crate::over_nats::{self, Held, folder_at, next, runs};
use crate::program::{Events, Running, ask, run_file};
use crate::proxy::Proxy;
use crate::workers::{Serving, TALK, answer};

/// Messages that are processed at once.
const MESSAGES: usize = 60;
/// The number of questions in each turn of the boss but the last.
const QUESTIONS: usize = 3;
/// The number of turns in which it asks.
const ROUNDS: u32 = 2;

fn organism(url: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = format!(
        "organism: {{name: shop, entry: boss}}\nbus: {{nats: '{url}'}}\nlisteners:\n  boss: {{nats: true, accepts: [ask], returns: [answer], peers: [echo], turns: 4, in_flight: 16, entry: true}}\n  \
         echo: {{nats: true, accepts: [ask], returns: [answer], in_flight: 16}}\nlog: {{path: hello.db}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"
    );
    std::fs::write(folder.path().join("organism.yaml"), file).unwrap();
    folder
}

/// Sends a question, and returns its thread.
fn sends(folder: &std::path::Path, listener: &str, words: &str) -> String {
    let body = format!("<ask xmlns=\"{TALK}\">{words}</ask>");
    let sent = ask(&run_file(folder), "POST", &format!("/v1/messages?to={listener}"), &[], &body);
    assert_eq!(sent.status, 202, "{sent:?}");
    sent.json["thread"].as_str().unwrap().to_owned()
}

/// Asks the echo in each of its turns, then replies with the answers, in the order of its questions.
fn bosses(turn: &Turn<'_>) -> ReplyContent {
    let told = turn.answers().map_or(Vec::new(), |answers| answers.items);
    let told: Vec<String> = told.iter().map(|item| item.payload.as_ref().unwrap().text()).collect();
    let number = turn.delivery().stamp.turn;
    if number > ROUNDS {
        return answer(&told.join(" ")).into();
    }
    // Each question contains the earlier answers, so a turn with another order would show in the end.
    let before = if told.is_empty() { turn.request().text() } else { told.join("+") };
    let item = |question: usize| {
        let words = format!("({before}.{question})");
        let asked = systole_kit::Payload::write(TALK, "ask", |inside| inside.text(&words));
        Item { to: Some("echo".to_owned()), ..Item::plain(asked) }
    };
    ReplyContent::Items((0..QUESTIONS).map(item).collect())
}

/// The boss's final for that message, if everything keeps its order.
fn wanted(message: &str) -> String {
    let mut told = vec![message.to_owned()];
    for _ in 0..ROUNDS {
        let before = told.join("+");
        told = (0..QUESTIONS).map(|question| format!("You said: ({before}.{question})")).collect();
    }
    told.join(" ")
}

/// The finals of each thread, in the order of the log, until there are this many.
fn finals(events: &mut Events, mut count: usize) -> BTreeMap<String, Vec<(String, String)>> {
    let mut said = BTreeMap::<String, Vec<(String, String)>>::new();
    while count > 0 {
        let (_, _, record) = events.next().expect("more records");
        assert!(!matches!(record["kind"].as_str(), Some("outcome" | "attempt")), "nothing fails: {record}");
        if record["code"] == "final" {
            let text = |part: &str| record[part].as_str().unwrap().to_owned();
            said.entry(text("thread")).or_default().push((text("from"), text("body")));
            count -= 1;
        }
    }
    said
}

/// Checks that the judge finds nothing wrong with the log. Returns the number of records of each kind and code.
fn clean(folder: &std::path::Path) -> BTreeMap<String, usize> {
    let log = LogSnapshot::open_file(&folder.join("hello.db")).unwrap();
    let report = check_under(&log, &[], &RunSettings { running: true, ..RunSettings::default() });
    assert!(report.findings.is_empty() && report.open.is_empty(), "{:?} {:?}", report.findings, report.open);
    let mut counts = BTreeMap::new();
    log.read_each(|record| {
        let record = record.unwrap();
        let what = format!("{}/{}", record.kind, record.code.as_deref().unwrap_or(""));
        *counts.entry(what).or_default() += 1;
    })
    .unwrap();
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_deliveries_and_replies_that_come_twice_and_in_another_order_have_one_effect_in_order() {
    let server = NatsServer::start();
    let proxy = Proxy::unruly(&server.url(), SeededDice::new(7));
    let folder = organism(&server.url());
    let mut running = Running::organism(folder.path());
    running.shows(" is ready");
    running.shows(" is ready");
    let worked = Arc::new(Mutex::new(Vec::new()));
    let noted = worked.clone();
    let boss = Serving::of(Worker::new(&proxy.url(), "shop", "boss").slots(8), move |turn| {
        let stamp = &turn.delivery().stamp;
        noted.lock().unwrap().push((stamp.key.clone(), stamp.delivery.clone()));
        bosses(turn)
    });
    let rust = Serving::of(Worker::new(&proxy.url(), "shop", "echo").slots(8), |turn| {
        answer(&format!("You said: {}", turn.request().text()))
    });
    let _python = over_nats::echo(&proxy.url());
    let mut events = Events::open(&run_file(folder.path()), "", &[]);
    let threads: Vec<String> =
        (0..MESSAGES).map(|number| sends(folder.path(), "boss", &number.to_string())).collect();
    let asked = QUESTIONS * usize::try_from(ROUNDS).unwrap();
    let said = finals(&mut events, MESSAGES * (asked + 1));
    for (number, thread) in threads.iter().enumerate() {
        let (from, body) = said[thread].last().unwrap();
        assert_eq!(from, "boss", "{thread}");
        assert!(body.contains(&format!(">{}<", wanted(&number.to_string()))), "{thread}: {body}");
        assert_eq!(said[thread].len(), asked + 1, "{thread}");
    }
    // All duplicates have arrived by now: a worker that stops waits for its receipts.
    let mut news = rust.stops().await;
    news.extend(boss.stops().await);
    let refused: Vec<_> = news.iter().filter(|news| matches!(news, WorkerEvent::Refused { .. })).collect();
    assert!(refused.is_empty(), "{refused:?}");
    assert_eq!(running.interrupt().code, Some(130));
    let counts = clean(folder.path());
    assert_eq!(counts["message/final"], MESSAGES * (asked + 1), "{counts:?}");
    assert_eq!(counts["message/call"], MESSAGES * asked, "{counts:?}");
    assert_eq!(counts.keys().filter(|what| what.starts_with("refusal/")).count(), 0, "{counts:?}");
    // And there was something to go wrong.
    let worked = worked.lock().unwrap();
    let once: BTreeSet<_> = worked.iter().collect();
    assert!(once.len() < worked.len(), "no delivery came twice: {}", worked.len());
    let done = proxy.done();
    assert!(done.twice > 100 && done.overtaken > 100, "{done:?}");
}

/// Sends a reply without waiting for its receipts, which arrive at the subscription.
async fn throws(worker: &over_nats::HandWorker, held: &Held, words: &str, inbox: &str) {
    let answer = format!("<answer xmlns=\"{TALK}\">{words}</answer>");
    let subject = held.message.headers.as_ref().unwrap().get("Systole-Reply").unwrap().to_string();
    let word = held.word("reply", "", &answer);
    worker.client.publish_with_reply(subject, inbox.to_owned(), word.into()).await.unwrap();
}

/// The delivery that a receipt is for, and whether it refuses.
async fn receipt(ear: &mut (impl Stream<Item = async_nats::Message> + Unpin)) -> (String, bool) {
    let text = String::from_utf8(next(ear).await.payload.to_vec()).unwrap();
    assert!(text.starts_with("<receipt "), "{text}");
    let delivery = text.split(" delivery=\"").nth(1).unwrap().split('"').next().unwrap();
    (delivery.to_owned(), text.contains("reply.stale-lease"))
}

#[tokio::test(flavor = "multi_thread")]
async fn d7_replies_in_another_order_twice_and_before_the_receipt_of_another_are_one_each() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", in_flight: 12, timeout: 60s");
    let running = runs(folder.path());
    // One worker pulls, and both have the delivery.
    let (worker, other) =
        (over_nats::HandWorker::of(&server).await, over_nats::HandWorker::of(&server).await);
    let mut events = Events::open(&run_file(folder.path()), "", &[]);
    let threads: Vec<String> =
        (0..12).map(|number| sends(folder.path(), "echo", &number.to_string())).collect();
    let mut held = Vec::new();
    for _ in &threads {
        held.push(worker.pulls().await);
    }
    let inbox = worker.client.new_inbox();
    let mut ear = worker.client.subscribe(inbox.clone()).await.unwrap();
    for one in held.iter().rev() {
        let envelope = systole_kit::envelope::read_delivered(&one.message.payload).unwrap();
        throws(&worker, one, &format!("first {}", envelope.payload.text()), &inbox).await;
        throws(&worker, one, "second", &inbox).await;
    }
    let mut receipts = BTreeMap::<String, usize>::new();
    for _ in 0..2 * held.len() {
        let (delivery, is_refused) = receipt(&mut ear).await;
        assert!(!is_refused, "{delivery}");
        *receipts.entry(delivery).or_default() += 1;
    }
    assert_eq!(receipts.len(), 12);
    assert!(receipts.values().all(|count| *count == 2), "each is told as often as it spoke: {receipts:?}");
    let said = finals(&mut events, 12);
    for (number, thread) in threads.iter().enumerate() {
        let [(_, body)] = &said[thread][..] else { panic!("{said:?}") };
        assert!(body.contains(&format!(">first {number}<")), "{thread}: {body}");
    }
    // Much later, in another order again, and from another worker.
    let mut ear = other.client.subscribe("late.receipts").await.unwrap();
    for one in &held {
        throws(&other, one, "third", "late.receipts").await;
    }
    for _ in &held {
        assert!(!receipt(&mut ear).await.1);
    }
    assert_eq!(running.interrupt().code, Some(130));
    let counts = clean(folder.path());
    assert_eq!((counts["message/request"], counts["message/final"]), (12, 12), "{counts:?}");
}

/// Two attempts at one turn: the first worker wakes up when the second has the work. Both reply at once, twice each
/// and in either order.
#[tokio::test(flavor = "multi_thread")]
async fn d7_a_zombie_that_speaks_before_between_and_behind_the_other_is_refused_each_time() {
    let server = NatsServer::start();
    let folder = folder_at(&server.url(), ", idle: 500ms, timeout: 60s, retry: {backoff: 1ms..1ms}");
    let running = runs(folder.path());
    let (zombie, worker) =
        (over_nats::HandWorker::of(&server).await, over_nats::HandWorker::of(&server).await);
    let mut events = Events::open(&run_file(folder.path()), "", &[]);
    let thread = sends(folder.path(), "echo", "hi");
    let lost = zombie.pulls().await;
    let held = worker.pulls().await;
    let inbox = worker.client.new_inbox();
    let mut ear = worker.client.subscribe(inbox.clone()).await.unwrap();
    // One connection, so they arrive in this order.
    for (one, words) in
        [(&lost, "late"), (&held, "in time"), (&lost, "late"), (&held, "in time"), (&lost, "late")]
    {
        throws(&worker, one, words, &inbox).await;
    }
    let mut told = BTreeMap::<(String, bool), usize>::new();
    for _ in 0..5 {
        *told.entry(receipt(&mut ear).await).or_default() += 1;
    }
    assert_eq!(told, BTreeMap::from([((lost.token, true), 3), ((held.token, false), 2)]));
    let body = loop {
        let (_, _, record) = events.next().expect("more records");
        if record["code"] == "final" {
            break record["body"].as_str().unwrap().to_owned();
        }
    };
    assert!(body.contains(">in time<"), "{thread}: {body}");
    assert_eq!(running.interrupt().code, Some(130));
    let counts = clean(folder.path());
    assert_eq!((counts["message/final"], counts["attempt/listener.lost"]), (1, 1), "{counts:?}");
    assert!(counts["refusal/reply.stale-lease"] >= 1, "{counts:?}");
}
