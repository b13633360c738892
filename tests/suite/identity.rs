//! Identities at the broker: a real nats-server with the configuration that `systole permissions` writes, and clients
//! that try what they may and may not do. A refused message is stored nowhere and delivered to no one.

use std::future::poll_fn;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap, Message, ServerError, Subscriber,
};
use futures_core::Stream;
use systole_bus::{Broker, BrokerCredentials};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::broker::{KEY, NatsServer, python};
use crate::organism::folder;
use crate::program::{PATIENCE, systole, systole_with};
use crate::stage::name;

const HOUSE: &str = "organism: {name: shop, entry: a}
bus: {nats: 'nats://127.0.0.1:4222'}
payloads: {say: text, said: text}
listeners:
  a: {nats: true, accepts: [say], returns: [said]}
  a.b: {nats: true, accepts: [say], returns: [said]}
  c: {nats: true, accepts: [say], returns: [said]}
";
const BUS: &str = "SYSTOLE_shop_BUS";
const SUBSCRIBED: &str = "for Subscription to";
const PUBLISHED: &str = "for Publish to";

/// A broker with the written configuration, and the folder with the keys.
struct PartyHouse {
    server: NatsServer,
    folder: tempfile::TempDir,
}

impl PartyHouse {
    fn open() -> PartyHouse {
        let folder = folder(&[("organism.yaml", HOUSE)]);
        let ran = systole(folder.path(), &["permissions", "--nats-config"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        PartyHouse { server: NatsServer::whole(&ran.stdout), folder }
    }

    fn seed(&self, key: &str) -> String {
        seed(self.folder.path(), key)
    }

    /// The client with that key. An unowned inbox replaces the prefix that a client chooses itself.
    async fn as_of(&self, key: &str, inbox: &str) -> Someone {
        Someone::come(&self.server, ConnectOptions::with_nkey(self.seed(key)), inbox).await
    }

    /// The pump, with its stream, a consumer for each listener, and a subscription to all messages of listeners.
    async fn pump(&self) -> Pump {
        let credentials = BrokerCredentials::from_seed(self.seed("_pump"));
        let broker = Broker::connect(&name("shop"), &self.server.url(), Some(&credentials), PATIENCE).await;
        drop(broker.unwrap());
        let someone = self.as_of("_pump", "_INBOX_pump_shop").await;
        Pump::with(someone).await
    }
}

pub(crate) fn seed(folder: &Path, key: &str) -> String {
    std::fs::read_to_string(folder.join("keys").join(format!("{key}.nk"))).unwrap().trim().to_owned()
}

pub(crate) async fn next<S: Stream + Unpin>(stream: &mut S) -> S::Item {
    let came = timeout(PATIENCE, poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx))).await;
    came.expect("nothing came").expect("the stream ended")
}

/// A client, and what the broker refused it.
pub(crate) struct Someone {
    pub(crate) client: Client,
    refused: mpsc::Receiver<String>,
}

impl Someone {
    pub(crate) async fn come(server: &NatsServer, options: ConnectOptions, inbox: &str) -> Someone {
        let (tell, refused) = mpsc::channel(1_000);
        let options = options.custom_inbox_prefix(inbox).event_callback(move |event| {
            if let Event::ServerError(ServerError::Other(words)) = event {
                tell.try_send(words).unwrap();
            }
            std::future::ready(())
        });
        Someone { client: options.connect(server.url()).await.unwrap(), refused }
    }

    fn jetstream(&self) -> Context {
        jetstream::new(self.client.clone())
    }

    /// Pulls the next delivery as a plain client does, with only the right to request it.
    async fn pulls(&self, listener: &str) -> Message {
        let inbox = self.client.new_inbox();
        let mut ear = self.client.subscribe(inbox.clone()).await.unwrap();
        let next_one = format!("$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.{listener}");
        self.publish(&next_one, &inbox, "{\"batch\":1,\"expires\":60000000000}").await;
        next(&mut ear).await
    }

    /// Publishes, with a reply subject.
    async fn publish(&self, subject: &str, answer: &str, body: &'static str) {
        let sent = match answer {
            "" => self.client.publish(subject.to_owned(), body.into()).await,
            answer => {
                self.client.publish_with_reply(subject.to_owned(), answer.to_owned(), body.into()).await
            }
        };
        sent.unwrap();
    }

    /// Checks that the broker's next message says that this is forbidden.
    async fn is_refused(&mut self, what: &str, subject: &str) {
        let said = timeout(PATIENCE, self.refused.recv()).await;
        let said = said.unwrap_or_else(|_| panic!("{what} {subject} was not refused")).unwrap();
        let wanted = format!("Permissions Violation {what} \"{subject}\"").to_lowercase();
        assert!(said.to_lowercase().contains(&wanted), "wanted {wanted}, heard {said}");
    }

    pub(crate) async fn may_not_publish(&mut self, subject: &str) {
        self.publish(subject, "", "{}").await;
        self.is_refused(PUBLISHED, subject).await;
    }

    pub(crate) async fn may_not_hear(&mut self, subject: &str) {
        let _ear = self.client.subscribe(subject.to_owned()).await.unwrap();
        self.is_refused(SUBSCRIBED, subject).await;
    }
}

/// The pump's side.
struct Pump {
    someone: Someone,
    said: Subscriber,
    live: Subscriber,
}

impl Pump {
    async fn with(someone: Someone) -> Pump {
        for listener in ["a", "a_b", "c"] {
            let consumer = pull::Config {
                durable_name: Some(listener.to_owned()),
                filter_subject: format!("o.shop.dlv.{listener}"),
                ack_policy: AckPolicy::Explicit,
                max_deliver: 1,
                ..Default::default()
            };
            let stream = someone.jetstream().get_stream(BUS).await.unwrap();
            stream.create_consumer(consumer).await.unwrap();
        }
        let said = someone.client.subscribe("o.shop.in.>").await.unwrap();
        let live = someone.client.subscribe("o.shop.live.*").await.unwrap();
        let silent = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.SYSTOLE_shop_BUS.*";
        drop(someone.client.subscribe(silent).await.unwrap());
        // Sent is not yet processed: an answer on the same connection says that everything before it was.
        someone.jetstream().query_account().await.unwrap();
        Pump { someone, said, live }
    }

    async fn deliver(&self, listener: &str, body: &'static str) {
        let jetstream = self.someone.jetstream();
        let mut headers = HeaderMap::new();
        headers.insert("Systole-Reply", format!("o.shop.in.{listener}.0"));
        let sent =
            jetstream.publish_with_headers(format!("o.shop.dlv.{listener}"), headers, body.into()).await;
        sent.unwrap().await.unwrap();
    }

    /// The next message of a listener, with an answer to it.
    async fn hears(&mut self) -> Message {
        let message = next(&mut self.said).await;
        if let Some(answer) = &message.reply {
            self.someone.client.publish(answer.clone(), "<receipt/>".into()).await.unwrap();
        }
        message
    }

    /// Checks how many deliveries are out, and that streams and consumers are unchanged.
    async fn stands(&mut self, messages: u64) {
        let stream = self.someone.jetstream().get_stream(BUS).await.unwrap();
        let info = stream.get_info().await.unwrap();
        assert_eq!((info.state.messages, info.state.consumer_count), (messages, 3), "{:?}", info.state);
        assert_eq!(info.config.subjects, ["o.shop.dlv.*"]);
        let refused: Vec<String> = std::iter::from_fn(|| self.someone.refused.try_recv().ok()).collect();
        assert!(refused.is_empty(), "the pump was refused: {refused:?}");
    }

    /// Checks that nothing came since, except this message, which `someone` now sends under its own name.
    async fn heard_nothing_before(&mut self, someone: &Someone, subject: &str) {
        let asks = someone.client.request(subject.to_owned(), "mine".into());
        let (asked, heard) = tokio::join!(asks, self.hears());
        assert_eq!((heard.subject.as_str(), &*heard.payload), (subject, "mine".as_bytes()), "{heard:?}");
        asked.unwrap();
        let live = timeout(Duration::ZERO, poll_fn(|cx| Pin::new(&mut self.live).poll_next(cx))).await;
        assert!(live.is_err(), "{live:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_a_listener_does_all_of_its_own_work_with_its_own_rights() {
    let house = PartyHouse::open();
    let mut pump = house.pump().await;
    let mut a = house.as_of("a", "_INBOX_a").await;
    let mut cancels = a.client.subscribe("o.shop.cancel.a").await.unwrap();
    let mut asked = a.client.subscribe("$SRV.PING").await.unwrap();
    a.client.flush().await.unwrap();
    pump.deliver("a", "<work/>").await;
    let delivery = a.pulls("a").await;
    assert_eq!(delivery.payload, "<work/>");
    let ack = delivery.reply.clone().unwrap().to_string();
    a.publish(&ack, "", "+WPI").await;
    let answer = delivery.headers.as_ref().unwrap().get("Systole-Reply").unwrap().to_string();
    let (reply, heard) = tokio::join!(a.client.request(answer, "<reply/>".into()), pump.hears());
    assert_eq!((heard.subject.as_str(), &*heard.payload), ("o.shop.in.a.0", "<reply/>".as_bytes()));
    assert_eq!(reply.unwrap().payload, "<receipt/>");
    a.publish("o.shop.live.a", "", "<progress/>").await;
    assert_eq!(next(&mut pump.live).await.subject.as_str(), "o.shop.live.a");
    a.client.request(ack, "+ACK".into()).await.unwrap();
    pump.stands(0).await;
    pump.someone.publish("o.shop.cancel.a", "", "<cancel/>").await;
    assert_eq!(next(&mut cancels).await.payload, "<cancel/>");
    let answers = async {
        let answer = next(&mut asked).await.reply.unwrap();
        a.client.publish(answer.clone(), "here".into()).await.unwrap();
        answer
    };
    let (looked, answer) = tokio::join!(pump.someone.client.request("$SRV.PING", "".into()), answers);
    assert_eq!(looked.unwrap().payload, "here");
    assert!(a.refused.try_recv().is_err());
    // It may answer only once.
    a.publish(&answer, "", "again").await;
    a.is_refused(PUBLISHED, &answer).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_a_plain_python_client_works_with_the_rights_of_its_listener() {
    const SCRIPT: &str = "
import asyncio, sys, nats
from nats.micro import add_service
async def main():
    errors = []
    async def error(e): errors.append(str(e))
    client = await nats.connect(sys.argv[1], nkeys_seed_str=sys.argv[2], inbox_prefix=b'_INBOX_a_b', error_cb=error)
    cancelled = asyncio.get_running_loop().create_future()
    async def cancel(message): cancelled.set_result(message.data.decode())
    await client.subscribe('o.shop.cancel.a_b', cb=cancel)
    service = await add_service(client, name='a_b', version='1.0.0')
    work = await client.jetstream().pull_subscribe_bind('a_b', 'SYSTOLE_shop_BUS')
    message = (await work.fetch(1, timeout=60))[0]
    await message.in_progress()
    receipt = await client.request(message.headers['Systole-Reply'], b'<reply/>', timeout=60)
    await client.publish('o.shop.live.a_b', b'<progress/>')
    await message.ack_sync(timeout=60)
    print(message.data.decode(), receipt.data.decode(), await asyncio.wait_for(cancelled, 60), errors)
    await service.stop()
    await client.close()
asyncio.run(main())
";
    let house = PartyHouse::open();
    let mut pump = house.pump().await;
    pump.deliver("a_b", "<work/>").await;
    let mut python = python();
    python.args(["-c", SCRIPT, &house.server.url(), &house.seed("a.b")]);
    let python = tokio::task::spawn_blocking(move || python.output().unwrap());
    let heard = pump.hears().await;
    assert_eq!((heard.subject.as_str(), &*heard.payload), ("o.shop.in.a_b.0", "<reply/>".as_bytes()));
    assert_eq!(next(&mut pump.live).await.subject.as_str(), "o.shop.live.a_b");
    let found = pump.someone.client.request("$SRV.PING.a_b", "".into()).await.unwrap();
    let found: serde_json::Value = serde_json::from_slice(&found.payload).unwrap();
    assert_eq!(found["name"], "a_b", "{found}");
    pump.someone.publish("o.shop.cancel.a_b", "", "<cancel/>").await;
    let said = python.await.unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "<work/> <receipt/> <cancel/> []", "{said:?}");
    pump.stands(0).await;
}

/// Requests that change, read or send something that does not belong to the listener `a`.
const NOT_OF_A: &[&str] = &[
    "o.shop.in.c.0",
    "o.shop.live.c",
    "o.shop.in.a_b.0",
    "o.shop.live.a_b",
    // The subject below it if a dot stayed a dot.
    "o.shop.in.a.b.0",
    "o.shop.live.a.b",
    "o.shop.dlv.a",
    "o.shop.dlv.c",
    "o.shop.cancel.a",
    "o.shop.cancel.c",
    "o.shop.log.0",
    "o.shop.life.0",
    "o.shop.dlv._secret",
    "$O.SYSTOLE_shop_BLOBS.C.x",
    "$O.SYSTOLE_shop_BLOBS.M.x",
    "$JS.API.STREAM.MSG.GET.SYSTOLE_shop_LOG",
    "$JS.API.STREAM.MSG.GET.OBJ_SYSTOLE_shop_BLOBS",
    "$JS.API.DIRECT.GET.OBJ_SYSTOLE_shop_BLOBS",
    "$JS.API.STREAM.DELETE.SYSTOLE_shop_LOG",
    "o.shop.check",
    "_INBOX_c.x",
    "_INBOX_pump_shop.x",
    "_R_.a.b",
    "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.SYSTOLE_shop_BUS.c",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.INFO.SYSTOLE_shop_BUS",
    "$JS.API.STREAM.CREATE.OTHER",
    "$JS.API.STREAM.UPDATE.SYSTOLE_shop_BUS",
    "$JS.API.STREAM.DELETE.SYSTOLE_shop_BUS",
    "$JS.API.STREAM.PURGE.SYSTOLE_shop_BUS",
    "$JS.API.STREAM.MSG.GET.SYSTOLE_shop_BUS",
    "$JS.API.STREAM.MSG.DELETE.SYSTOLE_shop_BUS",
    "$JS.API.DIRECT.GET.SYSTOLE_shop_BUS",
    "$JS.API.DIRECT.GET.SYSTOLE_shop_BUS.o.shop.dlv.c",
    "$JS.API.CONSUMER.NAMES.SYSTOLE_shop_BUS",
    "$JS.API.CONSUMER.CREATE.SYSTOLE_shop_BUS",
    "$JS.API.CONSUMER.CREATE.SYSTOLE_shop_BUS.a.o.shop.dlv.c",
    "$JS.API.CONSUMER.DURABLE.CREATE.SYSTOLE_shop_BUS.a",
    "$JS.API.CONSUMER.DELETE.SYSTOLE_shop_BUS.a",
    "$JS.API.CONSUMER.DELETE.SYSTOLE_shop_BUS.c",
    "$JS.API.CONSUMER.PAUSE.SYSTOLE_shop_BUS.a",
    "$JS.API.CONSUMER.INFO.SYSTOLE_shop_BUS.a",
    "$JS.API.CONSUMER.INFO.SYSTOLE_shop_BUS.c",
    "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.c",
    "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.a_b",
    "$JS.ACK.SYSTOLE_shop_BUS.c.1.1.1.1.0",
    "$SRV.PING",
    "$SYS.REQ.SERVER.PING",
];
const NOT_FOR_A: &[&str] = &[
    ">",
    "o.>",
    "o.shop.dlv.a",
    "o.shop.dlv.c",
    "o.shop.in.c.*",
    "o.shop.cancel.*",
    "o.shop.cancel.c",
    "o.shop.log.*",
    "o.shop.life.*",
    "o.shop.dlv._secret",
    "$O.>",
    "_INBOX_c.>",
    "_INBOX_*.>",
    "_INBOX.>",
    "_R_.>",
    "$JS.>",
    "$JS.EVENT.ADVISORY.>",
    "$SRV.PING.c",
    "$SYS.>",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_a_listener_cannot_publish_store_or_read_anything_outside_its_own_subjects() {
    let house = PartyHouse::open();
    let mut pump = house.pump().await;
    let mut a = house.as_of("a", "_INBOX_a").await;
    let mut c = house.as_of("c", "_INBOX_c").await;
    let mut cancels = c.client.subscribe("o.shop.cancel.c").await.unwrap();
    let mut inbox = c.client.subscribe("_INBOX_c.x").await.unwrap();
    c.client.flush().await.unwrap();
    pump.deliver("c", "for c alone").await;
    for subject in NOT_OF_A {
        a.may_not_publish(subject).await;
    }
    for subject in NOT_FOR_A {
        a.may_not_hear(subject).await;
    }
    pump.heard_nothing_before(&c, "o.shop.in.c.0").await;
    pump.stands(1).await;
    // Its receiver still gets it, for the first time.
    let delivery = c.pulls("c").await;
    assert_eq!(delivery.payload, "for c alone");
    assert!(delivery.reply.unwrap().starts_with("$JS.ACK.SYSTOLE_shop_BUS.c.1."));
    pump.someone.publish("o.shop.cancel.c", "", "of the pump").await;
    assert_eq!(next(&mut cancels).await.payload, "of the pump");
    let heard = timeout(Duration::ZERO, poll_fn(|cx| Pin::new(&mut inbox).poll_next(cx))).await;
    assert!(heard.is_err() && c.refused.try_recv().is_err(), "{heard:?}");
}

/// Asks the broker as `a` for its own data, with another client's subject as the reply subject.
async fn ask_for_an_answer_elsewhere(a: &Someone, pump: &Pump) {
    pump.deliver("a", "for a").await;
    let delivery = a.pulls("a").await;
    let ack = delivery.reply.clone().unwrap().to_string();
    let more = "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.a";
    for answer in ["o.shop.in.c.0", "o.shop.live.c", "o.shop.dlv.c", "o.shop.cancel.c", "_INBOX_c.x"] {
        a.publish(more, answer, "{\"batch\":1,\"no_wait\":true}").await;
        a.publish(more, answer, "no request at all").await;
        a.publish(&ack, answer, "+ACK").await;
    }
    // The broker has answered the earlier requests when it has answered these.
    for (api, body) in [(more, "{\"batch\":1,\"no_wait\":true}"), (ack.as_str(), "+ACK")] {
        a.client.request(api.to_owned(), body.into()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_no_answer_of_the_broker_is_heard_in_another_ones_name() {
    let house = PartyHouse::open();
    let mut pump = house.pump().await;
    let a = house.as_of("a", "_INBOX_a").await;
    let mut c = house.as_of("c", "_INBOX_c").await;
    let mut cancels = c.client.subscribe("o.shop.cancel.c").await.unwrap();
    let mut inbox = c.client.subscribe("_INBOX_c.x").await.unwrap();
    c.client.flush().await.unwrap();
    ask_for_an_answer_elsewhere(&a, &pump).await;
    // The pump does not answer to the named subject either: it knows only the broker's own name for it.
    for answer in ["o.shop.in.c.0", "o.shop.dlv.c", "o.shop.cancel.c", "_INBOX_c.x"] {
        a.publish("o.shop.in.a.0", answer, "mine").await;
        let heard = pump.hears().await;
        assert_eq!(heard.subject.as_str(), "o.shop.in.a.0");
        assert!(heard.reply.as_ref().unwrap().starts_with("_R_."), "{heard:?}");
    }
    pump.heard_nothing_before(&c, "o.shop.in.c.0").await;
    pump.stands(0).await;
    pump.someone.publish("o.shop.cancel.c", "", "of the pump").await;
    assert_eq!(next(&mut cancels).await.payload, "of the pump");
    let heard = timeout(Duration::ZERO, poll_fn(|cx| Pin::new(&mut inbox).poll_next(cx))).await;
    assert!(heard.is_err() && c.refused.try_recv().is_err(), "{heard:?}");
}

/// Why each has its own account: in a shared account the same rights are not enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_in_a_shared_account_the_same_rights_are_not_enough() {
    let rights = "{publish: {allow: [\"o.shop.in.a.*\", \"$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.a\", \
                  \"$JS.API.CONSUMER.INFO.SYSTOLE_shop_BUS.a\", \"$JS.ACK.SYSTOLE_shop_BUS.a.>\"]}, \
                  subscribe: {allow: [\"_INBOX_a.>\"]}}";
    let server = NatsServer::with(&format!(
        "authorization {{ users: [{{user: pump, password: p}}, {{user: a, password: p, permissions: {rights}}}] }}"
    ));
    let user = |name: &str| ConnectOptions::with_user_and_password(name.to_owned(), "p".to_owned());
    let someone = Someone::come(&server, user("pump"), "_INBOX_pump_shop").await;
    let bus = Config {
        name: BUS.to_owned(),
        subjects: vec!["o.shop.dlv.*".to_owned()],
        retention: RetentionPolicy::WorkQueue,
        ..Default::default()
    };
    someone.jetstream().create_stream(bus).await.unwrap();
    let mut pump = Pump::with(someone).await;
    let a = Someone::come(&server, user("a"), "_INBOX_a").await;
    ask_for_an_answer_elsewhere(&a, &pump).await;
    assert_eq!(pump.hears().await.subject.as_str(), "o.shop.in.c.0");
    let stream = pump.someone.jetstream().get_stream(BUS).await.unwrap();
    assert!(stream.get_info().await.unwrap().state.messages > 0, "no delivery was made for c");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_an_auditor_reads_and_writes_nothing() {
    let house = PartyHouse::open();
    let mut pump = house.pump().await;
    let log = Config {
        name: "SYSTOLE_shop_LOG".to_owned(),
        subjects: vec!["o.shop.log.*".to_owned()],
        ..Default::default()
    };
    pump.someone.jetstream().create_stream(log).await.unwrap();
    pump.deliver("c", "for c alone").await;
    let mut auditor = house.as_of("_auditor", "_INBOX__auditor").await;
    let mut follows = auditor.client.subscribe("o.shop.log.*").await.unwrap();
    // Sent is not yet processed: an answer on the same connection says that everything before it was.
    let jetstream = jetstream::with_prefix(auditor.client.clone(), "JS.shop.API");
    let out = jetstream.get_stream(BUS).await.unwrap().get_info().await.unwrap();
    assert_eq!(out.state.messages, 1);
    let published = pump.someone.jetstream().publish("o.shop.log.0", "a bundle".into()).await;
    published.unwrap().await.unwrap();
    assert_eq!(next(&mut follows).await.payload, "a bundle");
    let log = jetstream.get_stream("SYSTOLE_shop_LOG").await.unwrap();
    assert_eq!(log.get_raw_message(1).await.unwrap().payload, "a bundle");
    let own = [
        "o.shop.in.a.0",
        "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.a",
        "$JS.API.STREAM.DELETE.SYSTOLE_shop_LOG",
        "JS.shop.API.STREAM.PURGE.SYSTOLE_shop_LOG",
    ];
    for subject in NOT_OF_A.iter().chain(&own) {
        auditor.may_not_publish(subject).await;
    }
    for subject in ["o.shop.dlv.c", "o.shop.in.>", "o.>", "_INBOX_pump_shop.>", "_INBOX_c.>"] {
        auditor.may_not_hear(subject).await;
    }
    let c = house.as_of("c", "_INBOX_c").await;
    pump.heard_nothing_before(&c, "o.shop.in.c.0").await;
    pump.stands(1).await;
}

#[tokio::test]
async fn d6_a_stranger_is_not_let_in() {
    let mut house = PartyHouse::open();
    let unknown = ConnectOptions::with_nkey(KEY.0.to_owned());
    let named = ConnectOptions::with_user_and_password("pump".to_owned(), String::new());
    for stranger in [ConnectOptions::new(), unknown, named] {
        let tried = stranger.connect(house.server.url()).await;
        assert_eq!(tried.map(drop).unwrap_err().kind(), ConnectErrorKind::AuthorizationViolation);
        house.server.says("authentication error");
    }
}

/// A process that ends with the test.
struct Ends(std::process::Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // A process that has already ended is fine.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// The whole setup: the program, the broker and a listener, each in its own process, with the written keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d6_an_organism_with_keys_for_all_parties_answers_and_rejects_false_senders() {
    let file = "organism: {name: shop, entry: echo}
bus: {nats: 'nats://127.0.0.1:4222', key_env: BUS_KEY}
listeners:
  echo: {nats: true, accepts: [ask], returns: [answer], entry: true}
  liar: {nats: true, accepts: [ask], returns: [answer]}
log: {path: hello.db}
";
    let folder = folder(&[("organism.yaml", file)]);
    let written = systole(folder.path(), &["permissions", "--nats-config"]);
    let house = PartyHouse { server: NatsServer::whole(&written.stdout), folder };
    let url = house.server.url();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("listeners/echo-python/echo.py");
    let mut echo = python();
    echo.arg(program).args([&url, "shop", "echo"]).arg(house.folder.path().join("keys/echo.nk"));
    let _echo = Ends(echo.spawn().unwrap());
    let at = format!("bus.nats={url}");
    let ask = |seed: String| {
        systole_with(house.folder.path(), &["ask", "Who?", "--set", &at], &[("BUS_KEY", &seed)])
    };
    let asked = ask(house.seed("_pump"));
    assert_eq!((asked.code, asked.stdout.trim_end()), (Some(0), "You said: Who?"), "{asked:?}");
    let mut liar = house.as_of("liar", "_INBOX_liar").await;
    liar.may_not_publish("o.shop.in.echo.0").await;
    liar.may_not_hear("o.shop.dlv.echo").await;
    // A listener may not act as the pump, and an unknown client is rejected.
    for (seed, words) in [(house.seed("liar"), "forbids the pump"), (KEY.0.to_owned(), "does not let in")] {
        let asked = ask(seed.clone());
        assert_eq!(asked.code, Some(5), "{asked:?}");
        assert!(asked.stderr.contains("bus.forbidden") && asked.stderr.contains(words), "{}", asked.stderr);
        assert!(!asked.stderr.contains(&seed), "{}", asked.stderr);
    }
}
