//! Clients that a broker rejects, reported to the pump by the broker's system account; and what the broker reports to
//! no one. A real nats-server with the configuration that `systole permissions` writes, or an earlier one.

use std::future::poll_fn;
use std::pin::Pin;

use async_nats::{Client, ConnectOptions, Subscriber};
use futures_core::Stream as _;
use rustix::process::Signal;
use tokio::time::timeout;

use crate::broker::{KEY, NatsServer};
use crate::far_rights::LogRightsHouse;
use crate::identity::{Someone, seed};
use crate::program::{PATIENCE, Running, systole, systole_with};

/// A client that is rejected with any credentials.
async fn failed_logins(server: &NatsServer) {
    let stranger = ConnectOptions::with_user_and_password("open".into(), "sesame".into());
    assert!(stranger.connect(server.url()).await.is_err());
}

async fn next(ear: &mut Subscriber) -> async_nats::Message {
    let came = timeout(PATIENCE, poll_fn(|cx| Pin::new(&mut *ear).poll_next(cx))).await;
    came.expect("nothing came").expect("the stream ended")
}

/// Subscribes to a subject, and returns when the subscription is certain.
async fn hears(client: &Client, subject: &'static str, asks: &'static str) -> Subscriber {
    let ear = client.subscribe(subject).await.unwrap();
    // An answer on the same connection shows that the server has read everything before it.
    client.request(asks, "".into()).await.unwrap();
    ear
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_refused_logins_are_reported_as_a_count_without_secrets() {
    let house = LogRightsHouse::open();
    let folder = house.first.path();
    let mut running = Running::organism_with(folder, &house.key());
    failed_logins(&house.server).await;
    let first = running.shows("bus.violation the broker refused a login");
    assert!(
        first.trim_end().ends_with("without a key, or with one that it does not know: from 127.0.0.1"),
        "{first}"
    );

    let pump = ConnectOptions::with_nkey(seed(folder, "_pump"));
    let pump = Someone::come(&house.server, pump, "_INBOX_pump_shop").await;
    let mut ear = hears(&pump.client, "o.shop.refused.*", "$JS.API.INFO").await;
    for _ in 0..50 {
        failed_logins(&house.server).await;
        next(&mut ear).await;
    }
    // The pump's next message arrives after all of them.
    assert_eq!(systole(folder, &["ask", "hello"]).stdout, "heard\n");
    let mut auditor = house.auditor().await;
    for subject in ["o.shop.refused.*", "$SYS.>"] {
        auditor.may_not_hear(subject).await;
    }
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let log = systole(folder, &["log", "sys", "--json"]).stdout;
    let told: Vec<&str> = log.lines().filter(|line| line.contains("bus.violation")).collect();
    assert!(
        told.len() == 2 && told[1].contains("50 times since this was last reported: from 127.0.0.1"),
        "{told:?}"
    );
    assert!(!log.contains("sesame") && !ran.stdout.contains("sesame"), "{log}");
}

#[test]
fn d6_a_broker_that_does_not_tell_whom_it_let_in_hinders_nothing() {
    let house = LogRightsHouse::open();
    let folder = house.first.path();
    let written = systole(folder, &["permissions", "--nats-config"]).stdout;
    // The configuration of an earlier version.
    let mut before = String::new();
    let mut is_of_server = false;
    for line in written.lines() {
        is_of_server = (is_of_server || line.contains("\"$SYS\": {")) && !line.starts_with("  }");
        let names =
            ["o.shop.refused.*", "\"$SYS\"", "# the server itself"].iter().any(|name| line.contains(name));
        if !is_of_server && !names {
            before.extend([line, "\n"]);
        }
    }
    let before = before.replacen("accounts {\n  }\n", "accounts {\n", 1);
    assert!(!before.contains("$SYS") && written.len() - before.len() > 200, "{before}");
    let mut server = NatsServer::whole(&before);
    let set = ["--set", &format!("log.nats={}", server.url())];
    let running = Running::organism_set(folder, &set, &house.key());
    for _ in 0..2 {
        assert_eq!(systole(folder, &["ask", "hello"]).stdout, "heard\n");
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
    let asked = systole_with(folder, &[&["ask", "again"], &set[..]].concat(), &house.key());
    assert_eq!(asked.stdout, "heard\n", "{asked:?}");
    let said = server.all_said();
    assert!(
        said.contains("Subscription Violation - Subject \"o.shop.refused.*\""),
        "it was not tried: {said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_the_server_publishes_no_event_for_a_refused_publish_or_subscription() {
    let house = LogRightsHouse::open();
    let folder = house.first.path();
    let written = systole(folder, &["permissions", "--nats-config"]).stdout;
    // A user that receives everything that the server reports about itself.
    let system = format!("\"$SYS\": {{\n    users: [{{ nkey: {} }}]\n", KEY.1);
    let mut server = NatsServer::whole(&written.replacen("\"$SYS\": {\n", &system, 1));
    let operator = ConnectOptions::with_nkey(KEY.0.to_owned()).connect(server.url()).await.unwrap();
    let mut ear = hears(&operator, "$SYS.>", "$SYS.REQ.SERVER.PING").await;
    let auditor = ConnectOptions::with_nkey(seed(folder, "_auditor"));
    let mut auditor = Someone::come(&server, auditor, "_INBOX__auditor").await;
    auditor.may_not_publish("o.shop.log.0").await;
    auditor.may_not_hear("o.shop.dlv.>").await;
    failed_logins(&server).await;
    let mut heard = Vec::new();
    loop {
        let message = next(&mut ear).await;
        let is_knock = message.subject.ends_with(".CLIENT.AUTH.ERR");
        heard.push(format!("{} {}", message.subject.as_str(), String::from_utf8_lossy(&message.payload)));
        if is_knock {
            break;
        }
    }
    assert!(heard.iter().any(|word| word.contains("$SYS.ACCOUNT.AUDITOR.CONNECT")), "{heard:#?}");
    let refused = |word: &&String| word.contains("iolation") || word.contains("o.shop.");
    assert_eq!(
        heard.iter().find(refused),
        None,
        "the server tells now what it refuses: the pump could hear it"
    );
    let said = server.all_said();
    assert!(said.contains("Publish Violation") && said.contains("Subscription Violation"), "{said}");
}
