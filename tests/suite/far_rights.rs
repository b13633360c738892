//! A log in NATS with exactly the rights that `systole permissions` writes: pumps that take over from one another,
//! bodies that are too large for a message, an auditor that reads everything, and parties that exceed their rights.

use std::path::Path;

use async_nats::ConnectOptions;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::RawMessage;
use rustix::process::Signal;
use serde_json::{Value, json};
use systole_bus::{Broker, BrokerCredentials, LogStream};
use systole_core::types::ids::Digest;

use crate::broker::NatsServer;
use crate::identity::{Someone, seed};
use crate::program::{PATIENCE, Running, ask, run_file, systole, systole_with};
use crate::pumps;
use crate::stage::name;

const LOG: &str = "SYSTOLE_shop_LOG";
const APART: &str = "OBJ_SYSTOLE_shop_BLOBS";
/// A body that is stored apart together with its bundle, and one that is not.
pub(crate) const SIZES: [usize; 2] = [950_000, 700_000];

/// A broker with the written configuration, and two machines with pumps that have the pump's key.
pub(crate) struct LogRightsHouse {
    pub(crate) server: NatsServer,
    pub(crate) first: tempfile::TempDir,
    second: tempfile::TempDir,
    key: String,
}

impl LogRightsHouse {
    pub(crate) fn open() -> LogRightsHouse {
        let more = "durability: relaxed, key_env: BUS_KEY";
        let first = pumps::machine_at("'nats://127.0.0.1:4222'", more);
        let ran = systole(first.path(), &["permissions", "--nats-config"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("for the pump: BUS_KEY="), "{}", ran.stderr);
        let (server, key) = (NatsServer::whole(&ran.stdout), seed(first.path(), "_pump"));
        let second = pumps::machine_at(&server.url(), more);
        std::fs::copy(second.path().join("organism.yaml"), first.path().join("organism.yaml")).unwrap();
        LogRightsHouse { server, first, second, key }
    }

    pub(crate) fn key(&self) -> [(&str, &str); 1] {
        [("BUS_KEY", &self.key)]
    }

    pub(crate) async fn auditor(&self) -> Someone {
        let key = ConnectOptions::with_nkey(seed(self.first.path(), "_auditor"));
        Someone::come(&self.server, key, "_INBOX__auditor").await
    }
}

/// Asks a question of this length, and waits for the answer.
pub(crate) fn long_question(folder: &Path, bytes: usize) {
    let words = "x".repeat(bytes);
    let body = format!("<ask xmlns=\"https://xml-pipeline.org/ns/talk/v1\">{words}</ask>");
    let answer = ask(&run_file(folder), "POST", "/v1/messages?to=echo", &[], &body);
    assert_eq!(answer.status, 202, "{answer:?}");
}

#[test]
fn d6_pumps_with_the_written_rights_take_over_from_one_another_with_all_that_was_said() {
    let house = LogRightsHouse::open();
    let (first, second) = (house.first.path(), house.second.path());
    let one = Running::organism_with(first, &house.key());
    SIZES.into_iter().for_each(|bytes| long_question(first, bytes));
    let asked = systole_with(first, &["ask", "hello"], &house.key());
    assert_eq!(asked.stdout, "heard\n", "{asked:?}");
    let mut two = Running::start_with(second, &["run"], &house.key());
    two.says("stands by: ");
    one.signal(Signal::KILL);
    one.end();
    two.says("listens on");
    long_question(second, 951_000);
    let asked = systole_with(second, &["ask", "hello"], &house.key());
    assert_eq!(asked.stdout, "heard\n", "{asked:?}");
    two.signal(Signal::TERM);
    assert_eq!(two.end().code, Some(0));
    let seen = systole(second, &["ps", "--json"]).stdout;
    assert_eq!(seen.matches("<answer> heard").count(), 5, "{seen}");
}

/// Requests a message of a stream as the auditor; none if it does not exist.
async fn message(auditor: &Someone, stream: &str, asked: Value) -> Option<(u64, Vec<u8>)> {
    let api = format!("JS.shop.API.STREAM.MSG.GET.{stream}");
    let answer = auditor.client.request(api, asked.to_string().into()).await.unwrap();
    let mut answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    if answer["error"]["err_code"] == 10037 {
        return None;
    }
    let found: RawMessage = serde_json::from_value(answer["message"].take()).expect("no message came");
    let found = StreamMessage::try_from(found).unwrap();
    Some((found.sequence, found.payload.to_vec()))
}

/// The parts that are stored under that hash, put together as the auditor may read them.
async fn apart(auditor: &Someone, hash: &str) -> Vec<u8> {
    let mut next = 1;
    let meta: Value = loop {
        let metas = json!({ "seq": next, "next_by_subj": "$O.SYSTOLE_shop_BLOBS.M.*" });
        let (at, found) = message(auditor, APART, metas).await.expect("nothing is kept under that hash");
        let found: Value = serde_json::from_slice(&found).unwrap();
        if found["name"] == hash {
            break found;
        }
        next = at + 1;
    };
    let chunks = format!("$O.SYSTOLE_shop_BLOBS.C.{}", meta["nuid"].as_str().unwrap());
    let (mut whole, mut next) = (Vec::new(), 1);
    while let Some((at, bytes)) =
        message(auditor, APART, json!({ "seq": next, "next_by_subj": chunks })).await
    {
        whole.extend(bytes);
        next = at + 1;
    }
    assert_eq!(meta["size"].as_u64(), Some(whole.len() as u64));
    whole
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_an_auditor_reads_the_whole_log_in_nats_but_not_the_token_secret() {
    let house = LogRightsHouse::open();
    let first = house.first.path();
    let running = Running::organism_with(first, &house.key());
    SIZES.into_iter().for_each(|bytes| long_question(first, bytes));
    let asked = systole_with(first, &["ask", "hello"], &house.key());
    assert_eq!(asked.stdout, "heard\n", "{asked:?}");
    let mut auditor = house.auditor().await;
    let (mut next, mut sizes, mut bundles) = (1, Vec::new(), 0);
    while let Some((at, bytes)) =
        message(&auditor, LOG, json!({ "seq": next, "next_by_subj": "o.shop.log.0" })).await
    {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let whole = match text.contains("systole bundle apart v1") {
            true => apart(&auditor, &apart_hash(&text)).await,
            false => bytes,
        };
        (next, bundles) = (at + 1, bundles + 1);
        sizes.push(whole.len());
    }
    assert!(bundles > 3, "{sizes:?}");
    for size in SIZES {
        assert!(sizes.iter().any(|bytes| (size..size + 20_000).contains(bytes)), "{size}: {sizes:?}");
    }
    for subject in [
        "JS.shop.API.STREAM.MSG.GET.SYSTOLE_shop_BUS",
        "JS.shop.API.DIRECT.GET.SYSTOLE_shop_BUS.o.shop.dlv._secret",
        "JS.shop.API.CONSUMER.CREATE.SYSTOLE_shop_BUS",
        "JS.shop.API.STREAM.DELETE.OBJ_SYSTOLE_shop_BLOBS",
        "JS.shop.API.STREAM.INFO.OBJ_SYSTOLE_shop_BLOBS",
        "$O.SYSTOLE_shop_BLOBS.C.x",
        "o.shop.life.0",
    ] {
        auditor.may_not_publish(subject).await;
    }
    for subject in ["o.shop.dlv._secret", "o.shop.dlv.>", "o.shop.life.0", "$O.>"] {
        auditor.may_not_hear(subject).await;
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}

/// The hash in such a message, which is its last field.
fn apart_hash(text: &str) -> String {
    let hash = text.trim_end().rsplit(':').next().unwrap();
    hash.to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_the_written_rights_suffice_for_what_is_much_too_large_for_a_message() {
    let house = LogRightsHouse::open();
    let (shop, credentials) = (name("shop"), BrokerCredentials::from_seed(house.key.clone()));
    let broker = Broker::connect(&shop, &house.server.url(), Some(&credentials), PATIENCE).await.unwrap();
    let stream = LogStream::find_or_make(broker.into(), &shop, 1).await.unwrap();
    let bytes: Vec<u8> = (0..60_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let hash = Digest::hash_bytes(&bytes);
    stream.put_large(hash, &bytes).await.unwrap();
    assert!(stream.get_large(hash).await.unwrap() == bytes, "other bytes came back");
}
