//! Clients that come in over the broker: a real broker with the configuration that `systole permissions` writes,
//! pumps as processes, and senders with a plain NATS client. The pump that holds the log accepts what is sent.

use std::path::Path;
use std::process::Stdio;

use async_nats::{Client, ConnectOptions, HeaderMap, Message, Subscriber};
use rustix::process::Signal;
use serde_json::{Value, json as to_json};
use systole_core::types::ids::Digest;
use tokio::time::timeout;

use crate::broker::{NatsServer, python};
use crate::identity::{Someone, next, seed};
use crate::program::{PATIENCE, Running, systole};
use crate::pumps;

const MORE: &str = "durability: relaxed, key_env: BUS_KEY";
const ASKED: &str = "o.shop.in.alice";

fn asking(words: &str) -> String {
    format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>")
}

/// Adds the clients to the file.
fn with_clients(folder: &Path) {
    let path = folder.join("organism.yaml");
    let file = std::fs::read_to_string(&path).unwrap();
    let clients =
        "clients:\n  alice: {nats: true, may: [echo]}\n  bob: {nats: true, may: []}\n  carol: {nats: true}\n";
    std::fs::write(path, [&file, clients].concat()).unwrap();
}

/// A broker with the written configuration, and two machines with pumps that have the pump's key.
struct ClientHouse {
    server: NatsServer,
    first: tempfile::TempDir,
    second: tempfile::TempDir,
    key: String,
}

impl ClientHouse {
    fn open() -> ClientHouse {
        let first = pumps::machine_at("'nats://127.0.0.1:4222'", MORE);
        with_clients(first.path());
        let ran = systole(first.path(), &["permissions", "--nats-config"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let (server, key) = (NatsServer::whole(&ran.stdout), seed(first.path(), "_pump"));
        let second = pumps::machine_at(&server.url(), MORE);
        with_clients(second.path());
        std::fs::copy(second.path().join("organism.yaml"), first.path().join("organism.yaml")).unwrap();
        ClientHouse { server, first, second, key }
    }

    fn key(&self) -> [(&str, &str); 1] {
        [("BUS_KEY", &self.key)]
    }

    async fn client(&self, who: &str) -> Someone {
        let key = ConnectOptions::with_nkey(seed(self.first.path(), who));
        Someone::come(&self.server, key, &format!("_INBOX_{who}")).await
    }
}

/// Sends a message with those headers. The returned subscriber receives the answers.
async fn sends(
    client: &Client,
    subject: &'static str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Subscriber {
    let inbox = client.new_inbox();
    let ear = client.subscribe(inbox.clone()).await.unwrap();
    let mut all = HeaderMap::new();
    headers.iter().for_each(|(name, value)| all.insert(*name, *value));
    client.publish_with_reply_and_headers(subject, inbox, all, body.as_ref().to_vec().into()).await.unwrap();
    ear
}

fn json(message: &Message) -> Value {
    serde_json::from_slice(&message.payload).unwrap_or_else(|_| panic!("{message:?}"))
}

/// The first answer to a message.
async fn answer(client: &Client, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Value {
    json(&next(&mut sends(client, ASKED, headers, body).await).await)
}

fn code(message: &Message) -> Option<&str> {
    message.headers.as_ref()?.get("Systole-Code").map(|code| code.as_str())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn c11_a_client_over_the_broker_has_its_receipt_and_its_answer_from_whichever_pump_has_the_log() {
    let house = ClientHouse::open();
    let one = Running::organism_with(house.first.path(), &house.key());
    let mut two = Running::start_with(house.second.path(), &["run"], &house.key());
    two.says("stands by: ");
    runtime().block_on(async {
        let alice = house.client("alice").await.client;
        let headers = [("Idempotency-Key", "k-1"), ("Systole-Wait", "30"), ("Systole-Subject", "Chapter 7")];
        let mut ear = sends(&alice, ASKED, &headers, &asking("hello")).await;
        let receipt = json(&next(&mut ear).await);
        assert_eq!((&receipt["sender"], &receipt["repeated"]), (&"alice".into(), &false.into()), "{receipt}");
        let came = json(&next(&mut ear).await);
        assert_eq!((&came["outcome"], &came["thread"]), (&"answered".into(), &receipt["thread"]), "{came}");
        assert!(came["payload"].as_str().unwrap().contains(">heard</answer>"), "{came}");

        one.signal(Signal::KILL);
        one.end();
        two.says("listens on");
        // A client that waits for the answer again gets it from the pump that now holds the log, and nothing is done
        // twice.
        let mut ear = sends(&alice, ASKED, &headers, &asking("hello")).await;
        let again = json(&next(&mut ear).await);
        assert_eq!((&again["id"], &again["repeated"]), (&receipt["id"], &true.into()), "{again}");
        assert_eq!(json(&next(&mut ear).await), came);
        let other = answer(&alice, &headers, &asking("something else")).await;
        assert_eq!(other["code"], "payload.id-conflict", "{other}");
    });
    two.signal(Signal::TERM);
    assert_eq!(two.end().code, Some(0));
    let seen = systole(house.second.path(), &["ps", "--json"]).stdout;
    assert_eq!(seen.matches("<answer> heard").count(), 1, "{seen}");
    assert_eq!(seen.matches("\"subject\":\"Chapter 7\"").count(), 1, "{seen}");
}

#[test]
fn e20_a_client_over_the_broker_sends_a_file_and_then_the_message_that_refers_to_it() {
    const PNG: &[u8] = include_bytes!("../fixtures/pixel.png");
    let house = ClientHouse::open();
    let file = house.first.path().join("organism.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("accepts: [ask]", "accepts: [ask, ask-with]")).unwrap();
    let organism = Running::organism_with(house.first.path(), &house.key());
    let (hash, bytes) = (Digest::hash_bytes(PNG).to_string(), PNG.len());
    let body = format!(
        "<ask-with xmlns=\"https://xml-pipeline.org/ns/talk/v1\"><question>What?</question><file sha256=\"{hash}\" type=\"image/png\" bytes=\"{bytes}\"/></ask-with>"
    );
    runtime().block_on(async {
        let (alice, carol) = (house.client("alice").await.client, house.client("carol").await.client);
        let keep = [("Systole-File", "keep")];
        let kept = answer(&alice, &keep, PNG).await;
        assert_eq!(kept, to_json!({"sha256": hash, "type": "image/png", "bytes": bytes}));
        for (headers, body, code) in [
            (keep, &b"<svg/>"[..], "payload.file-type"),
            (keep, b"", "payload.file-type"),
            ([("Systole-File", "drop")], PNG, "payload.invalid"),
        ] {
            assert_eq!(answer(&alice, &headers, body).await["code"], code);
        }
        // A file is that of the client that sent it.
        let mut ear = sends(&carol, "o.shop.in.carol", &[("Systole-To", "echo")], &body).await;
        assert_eq!(code(&next(&mut ear).await), Some("payload.file-unknown"));
        let receipt = answer(&alice, &[("Systole-To", "echo")], &body).await;
        assert_eq!(receipt["sender"], "alice", "{receipt}");
    });
    organism.interrupt();
    let log = rusqlite::Connection::open(house.first.path().join("hello.db")).unwrap();
    let kept =
        log.query_row("SELECT count(*) FROM document WHERE bytes = ?", [PNG], |row| row.get::<_, i64>(0));
    assert_eq!(kept, Ok(1));
}

#[test]
fn d6_the_key_of_a_client_over_the_broker_decides_its_name_and_the_file_its_rights() {
    let house = ClientHouse::open();
    let organism = Running::organism_with(house.first.path(), &house.key());
    runtime().block_on(async {
        let (mut alice, bob) = (house.client("alice").await, house.client("bob").await);
        // The sender that an envelope claims is ignored.
        let forged = [
            "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><from>bob</from><to>echo</to><thread>new</thread></meta>",
            &asking("hello"),
            "</message>",
        ];
        let receipt = answer(&alice.client, &[], &forged.concat()).await;
        assert_eq!((&receipt["sender"], &receipt["claimed"]), (&"alice".into(), &"bob".into()), "{receipt}");
        let mut ear = sends(&bob.client, "o.shop.in.bob", &[("Systole-To", "echo")], &asking("hello")).await;
        let refused = next(&mut ear).await;
        assert_eq!(code(&refused), Some("route.not-a-peer"), "{refused:?}");
        // Other clients' threads are reported as not found.
        let thread = receipt["thread"].as_str().unwrap();
        let carol = house.client("carol").await.client;
        let headers = [("Systole-To", "echo"), ("Systole-Thread", thread)];
        let mut ear = sends(&carol, "o.shop.in.carol", &headers, &asking("x")).await;
        let refused = next(&mut ear).await;
        assert_eq!(code(&refused), Some("thread.unknown"), "{refused:?}");
        // It may use neither another client's subject nor a listener's, and it does not receive the log.
        for subject in ["o.shop.in.bob", "o.shop.in.echo.0", "o.shop.dlv.echo", "o.shop.log.0"] {
            alice.may_not_publish(subject).await;
        }
        for subject in ["o.shop.log.0", "o.shop.in.alice", "_INBOX_bob.>"] {
            alice.may_not_hear(subject).await;
        }
    });
    drop(organism);
}

#[test]
fn d6_invalid_messages_of_a_client_over_the_broker_are_refused_at_once() {
    let server = NatsServer::start();
    let folder = pumps::machine_at(&server.url(), "durability: relaxed");
    with_clients(folder.path());
    let organism = Running::organism(folder.path());
    runtime().block_on(async {
        let client = server.client().await;
        let told = async |headers: &[(&str, &str)], body: &str, wanted: &str| {
            let mut ear = sends(&client, ASKED, headers, body).await;
            let refused = next(&mut ear).await;
            assert_eq!(code(&refused), Some(wanted), "{refused:?}");
            assert_eq!(json(&refused)["code"], wanted);
            json(&refused)["message"].as_str().unwrap().to_owned()
        };
        let hello = asking("hello");
        for wait in ["soon", "301", "0"] {
            let words = told(&[("Systole-Wait", wait)], &hello, "payload.invalid").await;
            assert!(words.contains("is not a number of seconds from 1 to 300"), "{words}");
        }
        told(&[("Idempotency-Key", "")], &hello, "payload.invalid").await;
        told(&[("Systole-Thread", "sess-000000000000")], &hello, "thread.unknown").await;
        told(&[("Systole-To", "nobody")], &hello, "route.not-a-peer").await;
        told(&[], "<ask", "payload.malformed").await;
        told(&[], "", "payload.malformed").await;
        told(&[], &asking("\u{1}"), "payload.malformed").await;
        told(&[], "<nonsense xmlns=\"urn:x\"/>", "route.not-a-peer").await;
        // No client of that name may use NATS, even if the broker accepts it.
        let mut ear = sends(&client, "o.shop.in.mallory", &[], &hello).await;
        assert_eq!(code(&next(&mut ear).await), Some("ingress.forbidden"));
        // A message without a reply subject is accepted too.
        client.publish(ASKED, hello.clone().into()).await.unwrap();
        let mut ear = sends(&client, ASKED, &[("Systole-Wait", "30")], &hello).await;
        assert_eq!(json(&next(&mut ear).await)["sender"], "alice");
        assert_eq!(json(&next(&mut ear).await)["outcome"], "answered");
    });
    organism.signal(Signal::TERM);
    assert_eq!(organism.end().code, Some(0));
    let seen = systole(folder.path(), &["ps", "--json"]).stdout;
    assert_eq!(seen.matches("<answer> heard").count(), 2, "{seen}");
    runtime().block_on(async {
        // If no pump is there, the broker says so at once.
        let client = server.client().await;
        let error =
            timeout(PATIENCE, client.request(ASKED, asking("hello").into())).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), async_nats::RequestErrorKind::NoResponders);
    });
}

#[test]
fn five_thousand_senders_of_a_client_over_nats_wait_and_leave_room_for_the_others() {
    let server = NatsServer::start();
    let folder = pumps::machine_at(&server.url(), "durability: relaxed");
    with_clients(folder.path());
    let organism = Running::organism(folder.path());
    let paused = systole(folder.path(), &["pause", "--all"]);
    assert_eq!(paused.code, Some(0), "{paused:?}");
    runtime().block_on(async {
        let client = server.client().await;
        let headers = [("Systole-Wait", "300"), ("Systole-To", "echo")];
        let mut waiting = Vec::new();
        // All at once: what comes faster than it is judged waits.
        for _ in 0..5_000 {
            waiting.push(sends(&client, ASKED, &headers, &asking("hello")).await);
        }
        for ear in &mut waiting {
            let told = json(&next(ear).await);
            assert_eq!(told["sender"], "alice", "{told}");
        }
        let mut ear = sends(&client, ASKED, &headers, &asking("hello")).await;
        let refused = json(&next(&mut ear).await);
        assert_eq!(refused["code"], "ingress.unavailable", "{refused}");
        let mut ear = sends(&client, "o.shop.in.carol", &headers, &asking("hello")).await;
        assert_eq!(json(&next(&mut ear).await)["sender"], "carol");
        // A waiting client sees that the pump stops, and may wait at the next one.
        organism.signal(Signal::TERM);
        for mut ear in waiting {
            assert_eq!(json(&next(&mut ear).await)["outcome"], "open");
        }
    });
    assert_eq!(organism.end().code, Some(0));
}

#[test]
fn d6_the_client_of_the_reference_page_is_answered() {
    let house = ClientHouse::open();
    let _organism = Running::organism_with(house.first.path(), &house.key());
    let page = std::fs::read_to_string("docs/reference/nats.md").unwrap();
    let (_, code) = page.split_once("```python\nimport asyncio, nats, sys").expect("the page has a client");
    let code = format!("import asyncio, nats, sys{}", code.split_once("```").unwrap().0);
    let mut command = python();
    command.arg("-c").arg(code).args([&house.server.url(), "alice", "hello"]);
    command.current_dir(house.first.path().join("keys")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = command.output().unwrap();
    let (said, told) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("\"sender\":\"alice\"") && said.contains(">heard</answer>"), "{said}{told}");
}
