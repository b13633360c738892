//! A cluster of three real brokers that enforces the rights of `systole permissions --nats-config`, and what its
//! monitoring pages must show: pump, workers and auditor each with its own key, at different nodes, while one node
//! fails.

use std::path::Path;

use async_nats::ConnectOptions;
use rustix::process::Signal;
use serde_json::{Value, json};
use systole_bus::{Broker, BrokerCredentials};
use systole_kit::nats::Worker;
use tokio::time::Instant;

use crate::broker::{JETSTREAM, NatsServer};
use crate::cluster::Cluster;
use crate::identity::{Someone, seed};
use crate::program::{Events, PATIENCE, Ran, Running, ask, run_file, systole, systole_with};
use crate::pumps;
use crate::stage::name;
use crate::workers::{Serving, TALK, answer, final_of};

/// Its monitoring, at any free port.
const HTTP: &str = "http: \"127.0.0.1:-1\"\n";

/// A cluster with the written accounts, and a machine with the pump's key.
struct ClusterHouse {
    cluster: Cluster,
    folder: tempfile::TempDir,
    key: String,
}

fn file(urls: &str, pages: &str) -> String {
    format!(
        "organism: {{name: shop, entry: echo}}\nlisteners:\n  echo: {{nats: true, accepts: [ask], returns: [answer], idle: 2s, retry: {{attempts: 9, backoff: 10ms..200ms}}, entry: true}}\n  \
         other: {{nats: true, accepts: [ask], returns: [answer]}}\nlog: {{nats: {urls}, replicas: 3, monitor: {pages}, key_env: BUS_KEY, path: hello.db}}\nconsole: {{listen: \"127.0.0.1:0\"}}\n"
    )
}

impl ClusterHouse {
    /// As in `docs/reference/nats-broker.md`: each node has the written accounts, and its own settings otherwise.
    fn open() -> ClusterHouse {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("organism.yaml");
        std::fs::write(&path, file("'nats://127.0.0.1:4222'", "'http://127.0.0.1:8222'")).unwrap();
        let written = systole(folder.path(), &["permissions", "--nats-config"]);
        assert_eq!(written.code, Some(0), "{written:?}");
        let accounts = &written.stdout[written.stdout.find("accounts {").unwrap()..];
        let cluster = Cluster::of(|_| [JETSTREAM, HTTP, accounts].concat());
        std::fs::write(&path, file(&cluster.urls(), &pages(&cluster, &[0, 1, 2]))).unwrap();
        let house = ClusterHouse { key: seed(folder.path(), "_pump"), cluster, folder };
        house.is_fit();
        house
    }

    /// Waits until each node sees all the others: before that no stream of three copies can be created.
    fn is_fit(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (url, key) = (self.cluster.nodes[0].url(), BrokerCredentials::from_seed(self.key.clone()));
        let (shop, end) = (name("shop"), Instant::now() + PATIENCE);
        let tried = || runtime.block_on(Broker::connect_to_cluster(&shop, &url, Some(&key), 3, PATIENCE));
        while let Err(unusable) = tried().map(drop) {
            assert!(Instant::now() < end, "{unusable}");
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn key(&self) -> [(&str, &str); 1] {
        [("BUS_KEY", &self.key)]
    }

    fn runs(&self) -> Running {
        let mut running = Running::organism_in_time(self.path(), &self.key());
        running.shows(" is ready");
        running.shows(" is ready");
        running
    }

    /// A worker of the echo at that node.
    fn worker(&self, node: usize) -> Worker {
        let url = self.cluster.nodes[node].url();
        Worker::new(&url, "shop", "echo").key_file(self.path().join("keys/echo.nk"))
    }

    /// A client with that key, at that node.
    async fn someone(&self, key: &str, inbox: &str, node: usize) -> Someone {
        let options = ConnectOptions::with_nkey(seed(self.path(), key));
        Someone::come(&self.cluster.nodes[node], options, inbox).await
    }

    /// Sends a question until it is accepted.
    fn sends(&self, key: &str) {
        let body = format!("<ask xmlns=\"{TALK}\">{key}</ask>");
        let end = Instant::now() + PATIENCE;
        loop {
            let run = run_file(self.path());
            let sent = ask(&run, "POST", "/v1/messages?to=echo", &[("Idempotency-Key", key)], &body);
            if sent.status < 300 {
                return;
            }
            assert!(sent.status == 503 && Instant::now() < end, "{sent:?}");
        }
    }
}

/// The pages of these nodes, as the file names them.
fn pages(cluster: &Cluster, nodes: &[usize]) -> String {
    let page = |node: &usize| format!("'http://{}'", cluster.nodes[*node].monitor());
    format!("[{}]", nodes.iter().map(page).collect::<Vec<_>>().join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn d6_the_written_accounts_hold_at_every_node_of_a_cluster_while_one_falls() {
    let mut house = tokio::task::spawn_blocking(ClusterHouse::open).await.unwrap();
    let running = house.runs();
    let mut events = Events::open(&run_file(house.path()), "", &[]);
    // A worker at each node in turn, whichever node the pump is at and whichever leads.
    for node in 0..3 {
        let worker = Serving::of(house.worker(node), move |turn| {
            answer(&format!("node {node} heard {}", turn.request().text()))
        });
        house.sends(&format!("k-{node}"));
        let said = final_of(&mut events);
        assert!(said.contains(&format!(">node {node} heard k-{node}<")), "{said}");
        worker.stops().await;
    }
    for node in 0..3 {
        refuses(&house, node).await;
    }
    // With all three addresses, as the page has them for the pump: the worker learns of the others from the node that
    // it finds.
    let worker = Serving::of(house.worker(0), |turn| answer(&format!("heard {}", turn.request().text())));
    house.sends("k-before");
    assert!(final_of(&mut events).contains(">heard k-before<"));
    let leader = tokio::task::block_in_place(|| leads(&house));
    house.cluster.node(leader).kill();
    house.sends("k-after");
    assert!(final_of(&mut events).contains(">heard k-after<"));
    worker.stops().await;
    let seen = house.someone("_auditor", "_INBOX__auditor", (leader + 1) % 3).await;
    // The log may be without a leader for a moment.
    let end = Instant::now() + PATIENCE;
    while bundles(&seen).await <= 5 {
        assert!(Instant::now() < end, "the auditor reads the log at a node that is left");
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}

/// The node that leads the log, by its monitoring page.
fn leads(house: &ClusterHouse) -> usize {
    let mut page = ureq::get(format!("http://{}/jsz?streams=1&accounts=1", house.cluster.nodes[0].monitor()))
        .call()
        .unwrap();
    let page: Value = serde_json::from_str(&page.body_mut().read_to_string().unwrap()).unwrap();
    let accounts = page["account_details"].as_array().unwrap().iter();
    let mut streams = accounts.flat_map(|account| account["stream_detail"].as_array().into_iter().flatten());
    let log = streams.find(|stream| stream["name"] == "SYSTOLE_shop_LOG").unwrap();
    log["cluster"]["leader"].as_str().unwrap().strip_prefix('n').unwrap().parse().unwrap()
}

/// Checks that rights of another key are refused at that node.
async fn refuses(house: &ClusterHouse, node: usize) {
    let mut echo = house.someone("echo", "_INBOX_echo", node).await;
    for subject in [
        "o.shop.in.other.0",
        "o.shop.log.0",
        "o.shop.dlv.echo",
        "$JS.API.CONSUMER.MSG.NEXT.SYSTOLE_shop_BUS.other",
        "$JS.API.STREAM.DELETE.SYSTOLE_shop_BUS",
        "$JS.API.STREAM.MSG.GET.SYSTOLE_shop_LOG",
    ] {
        echo.may_not_publish(subject).await;
    }
    for subject in ["o.>", "o.shop.dlv.echo", "o.shop.cancel.other", "_INBOX_other.>", "$SYS.>"] {
        echo.may_not_hear(subject).await;
    }
    let mut auditor = house.someone("_auditor", "_INBOX__auditor", node).await;
    assert!(bundles(&auditor).await > 0, "the auditor reads the log at node {node}");
    for subject in [
        "o.shop.log.0",
        "JS.shop.API.STREAM.MSG.GET.SYSTOLE_shop_BUS",
        "JS.shop.API.STREAM.DELETE.SYSTOLE_shop_LOG",
    ] {
        auditor.may_not_publish(subject).await;
    }
    let stranger = async_nats::connect(house.cluster.nodes[node].url()).await.map(drop).unwrap_err();
    assert_eq!(stranger.kind(), async_nats::ConnectErrorKind::AuthorizationViolation);
}

/// The number of bundles that an auditor finds.
async fn bundles(auditor: &Someone) -> usize {
    let (mut next, mut count) = (1, 0);
    loop {
        let asked = json!({ "seq": next, "next_by_subj": "o.shop.log.0" }).to_string();
        let api = "JS.shop.API.STREAM.MSG.GET.SYSTOLE_shop_LOG";
        let Ok(answer) = auditor.client.request(api, asked.into()).await else { return count };
        let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
        let Some(at) = answer["message"]["seq"].as_u64() else { return count };
        (next, count) = (at + 1, count + 1);
    }
}

/// A client that is accepted as a server has every right.
#[test]
fn d6_a_server_without_the_word_of_the_cluster_is_none_of_it() {
    let mut cluster = Cluster::of(|_| JETSTREAM.to_owned());
    let port = cluster.ports[0];
    let mut stranger = NatsServer::node(format!(
        "server_name: x\ncluster {{ name: c, listen: \"127.0.0.1:-1\", routes: [\"nats://127.0.0.1:{port}\"] }}\n"
    ));
    stranger.begin();
    cluster.node(0).says("authentication error");
    stranger.says("Authorization Violation");
}

/// A machine whose log is on that cluster, and the output of its start with these pages.
fn starts(cluster: &Cluster, urls: &str, pages: &str) -> Ran {
    let more = format!("replicas: 3, monitor: {pages}");
    let folder = pumps::machine_at(urls, &more);
    assert_eq!(cluster.nodes.len(), 3);
    systole_with(folder.path(), &["ask", "hello"], &[])
}

fn is_refused(ran: &Ran, code: &str, words: &str) {
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains(code) && ran.stderr.contains(words), "{}", ran.stderr);
}

/// Hears an answer, as soon as the cluster gives one: after a start and after a kill it may still elect a leader.
fn is_heard(cluster: &Cluster, url: &str, pages: &str) -> Ran {
    let end = Instant::now() + PATIENCE;
    let mut started = starts(cluster, url, pages);
    while started.stdout != "heard\n" {
        assert!(started.code == Some(5) && Instant::now() < end, "{started:?}");
        started = starts(cluster, url, pages);
    }
    started
}

#[test]
fn d7_more_than_half_of_the_copies_have_to_show_that_they_sync() {
    let mut cluster = Cluster::with(HTTP);
    let urls = cluster.urls();
    let (all, dead) = (pages(&cluster, &[0, 1, 2]), "'http://127.0.0.1:1'");
    is_heard(&cluster, &urls, &all);
    // A running node that shows no page: the others are enough, if the pump is at one of them.
    let one = |node: usize| pages(&cluster, &[node]).trim_matches(['[', ']']).to_owned();
    let near = cluster.nodes[0].url();
    let two = format!("[{}, {}, {dead}]", one(0), one(1));
    let heard = is_heard(&cluster, &near, &two);
    let line = "warning: one server of the broker does not show that it syncs: ";
    assert!(heard.stderr.contains(line) && heard.stderr.contains("127.0.0.1:1"), "{}", heard.stderr);
    let far = cluster.nodes[2].url();
    is_refused(&starts(&cluster, &far, &two), "bus.unreachable", "it is of another server than the one at");
    // Less than a majority: some are dead, or missing, or named twice.
    let alone = format!("[{}, {dead}, 'http://127.0.0.1:2']", one(0));
    is_refused(&starts(&cluster, &near, &alone), "bus.unreachable", "127.0.0.1:1");
    let thrice = format!("[{}, {}, {}]", one(0), one(0), one(0));
    for pages in [one(0), thrice] {
        is_refused(&starts(&cluster, &near, &pages), "bus.unreachable", "they are of 1 of the 3 servers");
    }
    is_heard(&cluster, &near, &format!("[{}, {}]", one(0), one(1)));
    // An absent node blocks no start.
    cluster.node(2).kill();
    is_heard(&cluster, &near, &all);
}

#[test]
fn d7_one_node_that_does_not_sync_is_one_too_many() {
    let lazy = JETSTREAM.replace(", sync_interval: always", "");
    assert_ne!(lazy, JETSTREAM);
    let cluster = Cluster::of(|node| [if node == 2 { &lazy } else { JETSTREAM }, HTTP].concat());
    cluster.takes_three_copies();
    let all = pages(&cluster, &[0, 1, 2]);
    let refused = starts(&cluster, &cluster.nodes[0].url(), &all);
    is_refused(&refused, "bus.unfit", &cluster.nodes[2].monitor());
    assert!(refused.stderr.contains("sync_interval: always"), "{}", refused.stderr);
}
