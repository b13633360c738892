//! Systole inspects a broker before it uses it: it reports what is wrong to the operator, and leaves foreign data as
//! it was. All tests use a real broker, except for faults that no real broker has.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, Info, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use systole_bus::{Broker, BrokerCredentials, BrokerFault};
use systole_core::types::codes::Code;
use systole_core::types::ids::Name;

use crate::broker::{KEY, NatsServer};
use crate::ports;
use crate::program::PATIENCE;
use crate::stage::name;

/// A text that may appear in no message.
const SECRET: &str = "hunter2-and-more";

const BUS: &str = "SYSTOLE_hello_BUS";

/// The pump's user with those rights.
fn pump(rights: &str) -> String {
    format!("authorization {{ users: [{{nkey: {}{rights}}}] }}", KEY.1)
}

/// The pump's credentials.
fn key() -> Option<BrokerCredentials> {
    Some(BrokerCredentials::from_seed(KEY.0))
}

async fn connect(
    url: &str,
    credentials: Option<BrokerCredentials>,
    patience: Duration,
) -> Result<Broker, BrokerFault> {
    Broker::connect(&name("hello"), url, credentials.as_ref(), patience).await
}

async fn fit(server: &NatsServer) -> Broker {
    connect(&server.url(), None, PATIENCE).await.unwrap()
}

/// The refusal, which must have this code, these words and this in its fix, and no secret.
pub(crate) fn refused(tried: Result<Broker, BrokerFault>, code: Code, words: &str, fix: &str) -> BrokerFault {
    let refusal = tried.map(|broker| format!("{broker:?}")).unwrap_err();
    assert_eq!(refusal.code(), code, "{refusal:?}");
    assert!(refusal.to_string().contains(words), "wanted {words:?}: {refusal}");
    assert!(refusal.fix().contains(fix), "wanted {fix:?}: {}", refusal.fix());
    for told in [refusal.to_string(), refusal.fix(), format!("{refusal:?}")] {
        assert!(!told.contains(SECRET) && !told.contains(KEY.0), "{told}");
    }
    refusal
}

/// A fake nats-server of that version. It accepts every client and answers no request.
pub(crate) fn pretender(version: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let info = format!(
        "INFO {{\"server_id\":\"x\",\"version\":\"{version}\",\"proto\":1,\"headers\":true,\"max_payload\":1048576}}\r\n"
    );
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(info.as_bytes()).unwrap();
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let Ok(line) = line else { return };
            if line == "PING" && stream.write_all(b"PONG\r\n").is_err() {
                return;
            }
        }
    });
    address
}

/// Forwards one connection to a broker line by line, and renames the header that holds the expectation.
fn forgetful(server: &NatsServer) -> SocketAddr {
    const HEADER: &str = "Nats-Expected-Last-Subject-Sequence";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, url) = (listener.local_addr().unwrap(), server.url());
    thread::spawn(move || {
        let (from, _) = listener.accept().unwrap();
        let to = TcpStream::connect(url.strip_prefix("nats://").unwrap()).unwrap();
        let (mut back_from, mut back_to) = (to.try_clone().unwrap(), from.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        let (mut from, mut to) = (BufReader::new(from), to);
        let mut line = Vec::new();
        while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8(std::mem::take(&mut line)).unwrap();
            // The same length as before, because the length was already sent.
            if to.write_all(text.replace(HEADER, &"X".repeat(HEADER.len())).as_bytes()).is_err() {
                return;
            }
        }
        let _gone = to.shutdown(std::net::Shutdown::Both);
    });
    address
}

async fn looking(server: &NatsServer) -> Context {
    jetstream::new(server.client().await)
}

async fn bus(server: &NatsServer) -> Info {
    looking(server).await.get_stream(BUS).await.unwrap().get_info().await.unwrap()
}

/// Changes the configuration of our stream.
async fn change(server: &NatsServer, change: impl FnOnce(&mut Config)) -> Info {
    let mut config = bus(server).await.config;
    change(&mut config);
    looking(server).await.update_stream(config).await.unwrap()
}

/// The stream of what the broker says about silent workers; `None` if there is none.
async fn silence(client: &Client) -> Option<Info> {
    let stream = jetstream::new(client.clone()).get_stream("SYSTOLE_hello_SILENCE").await;
    stream.ok().map(|stream| stream.cached_info().clone())
}

async fn streams(server: &NatsServer) -> Vec<String> {
    let jetstream = looking(server).await;
    let mut names = Vec::new();
    for stream in [BUS, "OTHER"] {
        if jetstream.get_stream(stream).await.is_ok() {
            names.push(stream.to_owned());
        }
    }
    names
}

#[tokio::test]
async fn a_fit_broker_gets_the_stream_of_the_organism_once() {
    let server = NatsServer::start();
    let broker = fit(&server).await;
    let made = bus(&server).await.config;
    assert_eq!(made.subjects, ["o.hello.dlv.*"]);
    assert_eq!((made.retention, made.discard), (RetentionPolicy::WorkQueue, DiscardPolicy::New));
    assert_eq!(made.description.as_deref(), Some("deliveries that are out, of the organism hello"));
    let said = |key: &str| made.metadata.get(key).map(String::as_str);
    assert_eq!((said("systole.organism"), said("systole.format")), (Some("hello"), Some("1")));
    assert_eq!(bus(&server).await.state.messages, 0, "the trial is left over");
    let kept = silence(&server.client().await).await.unwrap().config;
    assert_eq!(kept.subjects, ["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.SYSTOLE_hello_BUS.*"]);
    assert!(kept.max_age > Duration::ZERO && kept.max_messages_per_subject > 0, "it has no bound: {kept:?}");
    assert_eq!(broker.largest_message(), 1 << 20);
    assert_eq!(format!("{broker:?}"), format!("Broker({}, {BUS})", &server.url()["nats://".len()..]));
    // Deliveries that are out stay out, and the operator's settings stay.
    let subject = broker.subjects().name_delivery(&name("echo"));
    broker.jetstream().publish(subject, "a delivery".into()).await.unwrap().await.unwrap();
    change(&server, |config| config.max_bytes = 1 << 24).await;
    drop(broker);
    fit(&server).await;
    let found = bus(&server).await;
    assert_eq!((found.state.messages, found.config.max_bytes), (1, 1 << 24));
}

#[tokio::test]
async fn organisms_share_a_broker_and_no_stream() {
    let server = NatsServer::start();
    let mut names = Vec::new();
    for organism in ["hello", "hello.two", "hello-two"] {
        let organism = Name::parse(organism).unwrap();
        let broker = Broker::connect(&organism, &server.url(), None, PATIENCE).await.unwrap();
        names.push(broker.subjects().bus_stream());
    }
    assert_eq!(names, [BUS, "SYSTOLE_hello_two_BUS", "SYSTOLE_hello-two_BUS"]);
}

#[tokio::test]
async fn the_pump_needs_no_more_rights_than_these() {
    let rights = ", permissions: {publish: [\"$JS.API.INFO\", \"$JS.API.STREAM.*.SYSTOLE_hello_BUS\", \
         \"$JS.API.STREAM.MSG.GET.SYSTOLE_hello_BUS\", \"o.hello.dlv.*\"], \
         subscribe: [\"_INBOX_pump_hello.>\"]}";
    let kept =
        rights.replace("\"o.hello.dlv.*\"", "\"o.hello.dlv.*\", \"$JS.API.STREAM.*.SYSTOLE_hello_SILENCE\"");
    // An older configuration gives no right to a stream for silent workers.
    let older = NatsServer::with(&pump(rights));
    connect(&older.url(), key(), PATIENCE).await.unwrap();
    let server = NatsServer::with(&pump(&kept));
    let broker = connect(&server.url(), key(), PATIENCE).await.unwrap();
    assert!(silence(broker.client()).await.is_some());
}

#[tokio::test]
async fn who_connects_says_that_it_is_the_pump() {
    let mut server = NatsServer::with("http: \"127.0.0.1:-1\"");
    let _broker = fit(&server).await;
    let page = server.shows("/connz");
    assert_eq!(page["connections"][0]["name"], "systole pump hello", "{page}");
}

#[tokio::test]
async fn the_largest_message_is_what_server_and_stream_allow() {
    let server = NatsServer::with("max_payload: 65536");
    assert_eq!(fit(&server).await.largest_message(), 65_536);
    change(&server, |config| config.max_message_size = 4096).await;
    assert_eq!(fit(&server).await.largest_message(), 4096);
}

#[tokio::test]
async fn an_address_that_is_none_is_told_and_not_repeated() {
    for (url, words) in [
        ("http://127.0.0.1:4222", "begins neither with nats:// nor with tls://"),
        ("nats://127.0.0.1:99999", "is not a host with a port"),
        ("nats://", "names no host"),
        ("nats://pump:hunter2-and-more@127.0.0.1:4222", "has a user, a token or a password in it"),
        ("hunter2-and-more@127.0.0.1", "has a user, a token or a password in it"),
    ] {
        refused(connect(url, None, PATIENCE).await, Code::ConfigValue, words, "nats://HOST:PORT");
    }
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_reported_with_its_address() {
    let nowhere = format!("127.0.0.1:{}", ports::free());
    let words = format!("the broker at {nowhere} cannot be reached: nothing listens there");
    let tried = connect(&format!("nats://{nowhere}"), key(), PATIENCE).await;
    refused(tried, Code::BusUnreachable, &words, "start nats-server there");
}

#[tokio::test]
async fn a_broker_that_says_nothing_is_not_waited_for() {
    let server = NatsServer::start();
    server.pause();
    let tried = connect(&server.url(), None, Duration::from_millis(300)).await;
    refused(tried, Code::BusUnreachable, "gave no answer within 300 ms when it was called", "log");
    // Enough time for it to accept the pump.
    let tried = connect(&format!("nats://{}", pretender("2.15.1")), None, Duration::from_secs(3)).await;
    let words = "gave no answer within 3000 ms when it was asked for its JetStream";
    refused(tried, Code::BusUnreachable, words, "log");
}

#[tokio::test]
async fn wrong_credentials_are_told_without_them() {
    let server = NatsServer::with("authorization { users: [{user: pump, password: right}] }");
    let url = server.url();
    let no = |tried, words: &str| refused(tried, Code::BusForbidden, words, "credentials of a user");
    no(connect(&url, None, PATIENCE).await, "does not let in a client without credentials");
    no(connect(&url, key(), PATIENCE).await, "does not let in a client with this nkey");
    let unreadable = BrokerCredentials::from_seed(SECRET);
    assert_eq!(format!("{unreadable:?}"), "Credentials(…)");
    let tried = connect(&url, Some(unreadable), PATIENCE).await;
    refused(tried, Code::ConfigValue, "the broker's credentials are not the seed of an nkey", "with SU");
    let server = NatsServer::with(&pump(""));
    connect(&server.url(), key(), PATIENCE).await.unwrap();
}

/// The broker does not answer forbidden requests: the separate error line is read, and no request waits.
#[tokio::test]
async fn what_the_broker_forbids_is_reported_at_once() {
    for (rights, words) in [
        ("publish: {deny: \"$JS.API.>\"}", "Publish to \"$JS.API.INFO\""),
        (
            "publish: {deny: \"$JS.API.STREAM.CREATE.>\"}",
            "Publish to \"$JS.API.STREAM.CREATE.SYSTOLE_hello_BUS\"",
        ),
        ("publish: {deny: \"o.hello.>\"}", "Publish to \"o.hello.dlv._check\""),
        ("subscribe: {deny: \"_INBOX_pump_hello.>\"}", "Subscription to \"_INBOX_pump_hello."),
    ] {
        let server = NatsServer::with(&pump(&format!(", permissions: {{{rights}}}")));
        let long = Duration::from_secs(3_600);
        let tried = tokio::time::timeout(PATIENCE, connect(&server.url(), key(), long)).await;
        refused(tried.expect("it waited"), Code::BusForbidden, words, "that right for the pump's user");
    }
}

#[tokio::test]
async fn a_broker_without_jetstream_is_told_what_it_lacks() {
    let server = NatsServer::without_jetstream();
    let tried = connect(&server.url(), None, PATIENCE).await;
    refused(tried, Code::BusUnfit, "has no JetStream", "jetstream { store_dir");
    let account = format!("accounts {{ A: {{ users: [{{nkey: {}}}] }} }}", KEY.1);
    let server = NatsServer::with(&account);
    let tried = connect(&server.url(), key(), PATIENCE).await;
    refused(tried, Code::BusUnfit, "has no JetStream for the pump's account", "jetstream: enabled");
}

#[tokio::test]
async fn an_old_broker_is_told_its_version() {
    for version in ["2.9.10", "2.11.99", "none"] {
        let tried = connect(&format!("nats://{}", pretender(version)), None, PATIENCE).await;
        let words = format!("is nats-server {version}, at least 2.12 is needed");
        refused(tried, Code::BusUnfit, &words, "2.12 or newer");
    }
}

#[tokio::test]
async fn a_broker_that_stores_against_an_expectation_is_refused() {
    let server = NatsServer::start();
    let tried = connect(&format!("nats://{}", forgetful(&server)), None, PATIENCE).await;
    refused(tried, Code::BusUnfit, "stored a message whose expected last sequence was stale", "rewrites");
    assert_eq!(bus(&server).await.state.messages, 0, "the trial is left over");
}

#[tokio::test]
async fn what_a_trial_that_was_cut_short_left_is_removed_and_no_delivery_with_it() {
    let server = NatsServer::start();
    let broker = fit(&server).await;
    for subject in ["o.hello.dlv._check", "o.hello.dlv.echo", "o.hello.dlv._check"] {
        broker.jetstream().publish(subject, "x".into()).await.unwrap().await.unwrap();
    }
    fit(&server).await;
    let left = looking(&server).await.get_stream(BUS).await.unwrap();
    assert_eq!(left.get_info().await.unwrap().state.messages, 1);
    assert_eq!(left.get_last_raw_message_by_subject("o.hello.dlv.echo").await.unwrap().payload, "x");
}

#[tokio::test]
async fn a_stream_of_another_program_is_refused_and_left_unchanged() {
    let foreign = "another name for the organism";
    let server = NatsServer::start();
    let jetstream = looking(&server).await;
    let other = |name: &str| Config {
        name: name.to_owned(),
        subjects: vec!["o.hello.dlv.*".into()],
        ..Config::default()
    };
    jetstream.create_stream(other(BUS)).await.unwrap();
    let before = bus(&server).await.config;
    let tried = connect(&server.url(), None, PATIENCE).await;
    refused(tried, Code::BusUnfit, "cannot be used: it was not made by systole", foreign);
    assert_eq!(bus(&server).await.config, before);
    change(&server, |config| {
        config.metadata.insert("systole.organism".into(), "another".into());
        config.metadata.insert("systole.format".into(), "1".into());
    })
    .await;
    let tried = connect(&server.url(), None, PATIENCE).await;
    refused(tried, Code::BusUnfit, "it belongs to the organism \"another\"", foreign);
    let server = NatsServer::start();
    looking(&server).await.create_stream(other("OTHER")).await.unwrap();
    let tried = connect(&server.url(), None, PATIENCE).await;
    refused(tried, Code::BusUnfit, "another stream takes o.hello.dlv.*", foreign);
    assert_eq!(streams(&server).await, ["OTHER"]);
}

#[tokio::test]
async fn a_stream_of_ours_that_would_lose_deliveries_is_refused() {
    let server = NatsServer::start();
    fit(&server).await;
    let before = bus(&server).await.config;
    type Change = fn(&mut Config);
    let changes: [(Change, &str); 5] = [
        (
            |config| config.subjects.push("o.hello.more".into()),
            "it takes o.hello.dlv.*, o.hello.more in place of",
        ),
        (|config| config.discard = DiscardPolicy::Old, "it drops old messages for new ones"),
        (|config| config.max_age = Duration::from_secs(600), "it drops messages after 600 s"),
        (|config| config.max_messages_per_subject = 3, "it keeps 3 messages for each listener"),
        (|config| config.no_ack = true, "it does not say what it stored"),
    ];
    for (altering, words) in changes {
        let altered = change(&server, altering).await.config;
        let tried = connect(&server.url(), None, PATIENCE).await;
        let refusal = refused(tried, Code::BusUnfit, words, "nats stream rm SYSTOLE_hello_BUS");
        assert!(refusal.to_string().contains("is not as it was made"), "{refusal}");
        assert_eq!(bus(&server).await.config, altered, "it was changed");
        change(&server, |config| *config = before.clone()).await;
        fit(&server).await;
    }
    change(&server, |config| drop(config.metadata.insert("systole.format".into(), "2".into()))).await;
    let tried = connect(&server.url(), None, PATIENCE).await;
    refused(tried, Code::BusUnfit, "has format 2; this version reads up to 1", "a newer one");
    // This setting cannot be reverted.
    change(&server, |config| *config = Config { deny_delete: true, ..before }).await;
    let tried = connect(&server.url(), None, PATIENCE).await;
    refused(tried, Code::BusUnfit, "nothing can be deleted from it", "nats stream rm");
}

/// When the broker has no room for a stream, the refusal quotes the broker.
#[tokio::test]
async fn a_broker_that_makes_no_stream_says_why() {
    let limited =
        format!("accounts {{ A: {{ jetstream: {{max_streams: 1}}, users: [{{nkey: {}}}] }} }}", KEY.1);
    let server = NatsServer::with(&limited);
    let options = ConnectOptions::with_nkey(KEY.0.into());
    let jetstream = jetstream::new(options.connect(server.url()).await.unwrap());
    jetstream.create_stream("OTHER").await.unwrap();
    let tried = connect(&server.url(), key(), PATIENCE).await;
    let words = "refused when the stream SYSTOLE_hello_BUS was made: maximum number of streams reached";
    refused(tried, Code::BusUnfit, words, "its own log");
}
