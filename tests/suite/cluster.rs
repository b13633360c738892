//! A log in NATS on a cluster of three real brokers, each with its own store. Nodes are killed, suspended and
//! restarted, one at a time and two at once, while an organism works over them.

use std::path::Path;
use std::time::Duration;

use async_nats::jetstream::{self, stream};
use rustix::process::Signal;
use systole_core::types::ports::{Commit, LogFault, LogWriter as _, Position};
use systole_log::nats::{NatsLogFault, OpenNatsLog, TakeOverMode};
use systole_soak::dice::SeededDice;
use systole_soak::life::{self, LifeSettings};
use tokio::time::Instant;

use crate::broker::{JETSTREAM, NatsServer};
use crate::far;
use crate::kills::Trial;
use crate::log_records::{Author, Folder, batch, root};
use crate::ports;
use crate::program::{PATIENCE, Running, systole, systole_in_time};
use crate::pumps;

/// The number of nodes in a cluster.
const NODES: usize = 3;

/// The credentials of a node.
const ROUTE: &str = "route:secret";

/// Three brokers that know each other.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<NatsServer>,
    /// The port at which each node accepts the others.
    pub(crate) ports: Vec<u16>,
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        Cluster::with("")
    }

    /// The same with more in the configuration of each.
    pub(crate) fn with(more: &str) -> Cluster {
        let cluster = Cluster::of(|_| [JETSTREAM, more].concat());
        cluster.takes_three_copies();
        cluster
    }

    /// The same with the whole configuration of each node, except its address and its peers. It may still be too
    /// early to create a stream.
    pub(crate) fn of(configuration: impl Fn(usize) -> String) -> Cluster {
        let ports: Vec<u16> = (0..NODES).map(|_| ports::free()).collect();
        let routes: Vec<String> =
            ports.iter().map(|port| format!("nats://{ROUTE}@127.0.0.1:{port}")).collect();
        let routes = routes.join(", ");
        let (user, password) = ROUTE.split_once(':').unwrap();
        let node = |which: usize| {
            let port = ports.get(which).unwrap();
            NatsServer::node(format!(
                "server_name: n{which}\ncluster {{ name: c, listen: \"127.0.0.1:{port}\", authorization: {{ user: {user}, password: {password} }}, routes: [{routes}] }}\n{}",
                configuration(which)
            ))
        };
        let mut nodes: Vec<NatsServer> = (0..NODES).map(node).collect();
        nodes.iter_mut().for_each(NatsServer::begin);
        nodes.iter_mut().for_each(NatsServer::listens);
        for node in &mut nodes {
            node.says("metadata leader");
        }
        Cluster { nodes, ports }
    }

    /// Waits until each node sees all the others: before that no stream can be created.
    pub(crate) fn takes_three_copies(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let jetstream = jetstream::new(self.nodes.first().unwrap().client().await);
            let config =
                || stream::Config { name: "TRIAL".to_owned(), num_replicas: 3, ..Default::default() };
            let mut again = tokio::time::interval(Duration::from_millis(200));
            let made = async {
                again.tick().await;
                while jetstream.create_stream(config()).await.is_err() {
                    again.tick().await;
                }
            };
            tokio::time::timeout(PATIENCE, made).await.expect("no stream of three copies can be made");
            jetstream.delete_stream("TRIAL").await.unwrap();
        });
    }

    /// Their addresses, as the file names them.
    pub(crate) fn urls(&self) -> String {
        let all: Vec<String> = self.nodes.iter().map(NatsServer::url).collect();
        format!("[{}]", all.join(", "))
    }

    pub(crate) fn node(&mut self, which: usize) -> &mut NatsServer {
        self.nodes.get_mut(which).unwrap()
    }

    /// The number of copies of that stream.
    fn copies(&self, stream: &str) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let jetstream = jetstream::new(self.nodes.first().unwrap().client().await);
            jetstream.get_stream(stream).await.unwrap().cached_info().config.num_replicas
        })
    }

    /// The node that leads that stream, as a running node reports.
    pub(crate) fn leader(&self, asked: usize, stream: &str) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let jetstream = jetstream::new(self.nodes.get(asked).unwrap().client().await);
            // A node that is asked all the time has less time to find out.
            let mut again = tokio::time::interval(Duration::from_millis(200));
            let led = async {
                loop {
                    again.tick().await;
                    // Without a leader no node answers.
                    let Ok(found) = jetstream.get_stream(stream).await else { continue };
                    let cluster = found.cached_info().cluster.clone();
                    if let Some(leader) = cluster.and_then(|cluster| cluster.leader) {
                        return leader.strip_prefix('n').unwrap().parse().unwrap();
                    }
                }
            };
            tokio::time::timeout(PATIENCE, led).await.expect("no node leads it")
        })
    }
}

/// The broker settings for the soak's organism.
fn over(cluster: &Cluster) -> Vec<String> {
    vec![
        format!("log.nats={}", cluster.urls()),
        "log.durability=relaxed".to_owned(),
        "log.replicas=3".to_owned(),
    ]
}

/// A failure of a node.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// Killed and restarted.
    Killed,
    /// Suspended and resumed.
    Held,
}

/// Nodes fail one at a time under load, each time until more messages are acknowledged: the leader of the log's
/// stream in turn with any other node.
fn nodes_in_turn(seed: u64, blows: &[(bool, Fate)]) {
    let mut cluster = Cluster::start();
    let trial = Trial::set(seed, &over(&cluster));
    let mut dice = SeededDice::new(seed).apart(2);
    let (mut life, runs) = trial.begin(&LifeSettings::default());
    assert!(runs, "{}", life::last_words(&trial.house));
    let board = trial.crowd.board();
    assert!(board.acknowledges(5, life::PATIENCE), "{}", life::last_words(&trial.house));
    for (leads, fate) in blows {
        let leader = cluster.leader(0, "SYSTOLE_soak_LOG");
        let which = if *leads { leader } else { (leader + 1 + usize::from(dice.below(2) == 1)) % NODES };
        let struck = Instant::now();
        match fate {
            Fate::Killed => cluster.node(which).kill(),
            Fate::Held => cluster.node(which).pause(),
        }
        let more = board.acknowledged() + 10;
        assert!(board.acknowledges(more, life::PATIENCE), "{}", life::last_words(&trial.house));
        println!("{which} {fate:?} (leads: {leads}): back after {:?}", struck.elapsed());
        match fate {
            Fate::Killed => cluster.node(which).start_again(),
            Fate::Held => cluster.node(which).go_on(),
        }
        let more = board.acknowledged() + 5;
        assert!(board.acknowledges(more, life::PATIENCE), "{}", life::last_words(&trial.house));
        assert!(!life.ends_within(Duration::ZERO), "{}", life::last_words(&trial.house));
    }
    board.take_down();
    life.kill().unwrap();
    let (_, verdict) = trial.judged("nodes");
    println!("{} blows, {} acknowledged, {} records", blows.len(), verdict.acknowledged, verdict.records);
}

#[test]
fn d7_nodes_of_a_cluster_that_are_killed_and_held_lose_and_double_nothing() {
    nodes_in_turn(61, &[(true, Fate::Killed), (false, Fate::Held)]);
}

#[test]
#[ignore = "minutes; part of make soak"]
fn d7_sixty_nodes_that_are_killed_and_held_in_turn_lose_and_double_nothing() {
    let mut dice = SeededDice::new(62).apart(3);
    let blow = |_| (dice.below(2) == 0, if dice.below(3) == 0 { Fate::Held } else { Fate::Killed });
    nodes_in_turn(62, &(0..60).map(blow).collect::<Vec<_>>());
}

/// One machine of an organism. The cluster stores its log, and its programs run here.
fn machine(cluster: &Cluster, urls: &str) -> tempfile::TempDir {
    assert_eq!(cluster.nodes.len(), NODES);
    pumps::machine_at(urls, "durability: relaxed, replicas: 3")
}

/// A question is answered. On a busy machine a cluster may elect its leader for longer than a command waits.
fn is_heard(folder: &Path) {
    let asked = systole_in_time(folder, &["ask", "hello"]);
    assert_eq!(asked.stdout, "heard\n", "{asked:?}");
}

#[test]
fn d7_a_start_finds_the_cluster_while_the_first_server_of_its_list_is_down() {
    let mut cluster = Cluster::start();
    let urls = cluster.urls();
    let folder = machine(&cluster, &urls);
    // While all nodes are there: two of three nodes cannot create a stream of three copies.
    is_heard(folder.path());
    for stream in ["SYSTOLE_shop_LOG", "SYSTOLE_shop_BUS", "OBJ_SYSTOLE_shop_BLOBS"] {
        assert_eq!(cluster.copies(stream), 3, "{stream}");
    }
    cluster.node(0).kill();
    cluster.leader(1, "SYSTOLE_shop_LOG");
    cluster.leader(1, "SYSTOLE_shop_BUS");
    // Until the others have elected a leader, no node answers requests to all.
    is_heard(folder.path());
    // While the organism runs, the reports of one node about the others are enough.
    cluster.node(0).start_again();
    let one = cluster.node(1).url();
    let folder = machine(&cluster, &one);
    let running = Running::organism_in_time(folder.path(), &[]);
    is_heard(folder.path());
    cluster.node(1).kill();
    pumps::until_taken(folder.path(), "k-1");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn d7_without_a_quorum_senders_get_an_error_and_work_continues_with_it() {
    let mut cluster = Cluster::start();
    let folder = machine(&cluster, &cluster.urls());
    let running = Running::organism_in_time(folder.path(), &[]);
    pumps::until_taken(folder.path(), "k-1");
    cluster.node(1).kill();
    cluster.node(2).kill();
    let refused = pumps::question(folder.path(), "k-2");
    assert_eq!(
        (refused.status, refused.json["code"].as_str()),
        (503, Some("ingress.unavailable")),
        "{refused:?}"
    );
    // An organism that starts without them reports it as well.
    let other = machine(&cluster, &cluster.urls());
    let end = Instant::now() + PATIENCE;
    // If the machine stalls, the node that is left looks like the two that are gone.
    let started = std::iter::repeat_with(|| systole(other.path(), &["ask", "hello"]))
        .find(|started| !started.stderr.contains("nothing listens there") || Instant::now() > end)
        .unwrap();
    assert_eq!(started.code, Some(5), "{started:?}");
    assert!(
        started.stderr.contains("no answer within") || started.stderr.contains("unavailable"),
        "{started:?}"
    );
    cluster.node(1).start_again();
    cluster.leader(1, "SYSTOLE_shop_LOG");
    // The same key: the message is accepted once, for any outcome of the first try.
    let taken = pumps::until_taken(folder.path(), "k-2");
    let again = pumps::question(folder.path(), "k-2");
    assert_eq!((&again.json["id"], &again.json["repeated"]), (&taken, &true.into()));
    is_heard(folder.path());
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn d8_a_pump_takes_over_when_a_machine_dies_with_the_pump_and_the_leading_node() {
    let mut cluster = Cluster::start();
    let (first, second) = (machine(&cluster, &cluster.urls()), machine(&cluster, &cluster.urls()));
    let one = Running::organism_in_time(first.path(), &[]);
    is_heard(first.path());
    let mut two = Running::run_in_time(second.path(), "stands by: ", &[]);
    let leader = cluster.leader(0, "SYSTOLE_shop_LOG");
    cluster.node(leader).kill();
    one.signal(Signal::KILL);
    one.end();
    two.says("listens on");
    is_heard(second.path());
    two.signal(Signal::TERM);
    assert_eq!(two.end().code, Some(0));
}

#[test]
fn d8_a_stream_that_shows_less_than_was_stored_is_believed_only_after_a_while() {
    let cluster = Cluster::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let urls = cluster.nodes.iter().map(NatsServer::url).collect::<Vec<_>>().join(",");
    let (folder, mut author) = (Folder::new(), Author::default());
    let open = || far::open_copies(runtime.handle(), &urls, &folder.log(), TakeOverMode::AtOnce, 3);
    let end = Instant::now() + PATIENCE;
    // On a busy machine a cluster may elect its leader for longer than an answer may take.
    let opened = |open: &dyn Fn() -> Result<OpenNatsLog, NatsLogFault>| loop {
        match open() {
            Err(NatsLogFault::Broker(_)) if Instant::now() < end => {}
            other => break other,
        }
    };
    let mut log = opened(&open).unwrap();
    let mut next = || batch([author.note(&root(1), 10)]);
    let first = next();
    let stored = std::iter::repeat_with(|| log.writer.commit_batch(&first))
        .find(|stored| !matches!(stored, Commit::NotNow(_)) || Instant::now() > end);
    assert_eq!(stored, Some(Commit::Committed(Position(1))));
    // The state of a node that was left behind: without later messages.
    runtime.block_on(async {
        let mut jetstream = jetstream::new(cluster.nodes.first().unwrap().client().await);
        jetstream.set_timeout(PATIENCE);
        let config = jetstream.get_stream("SYSTOLE_shop_LOG").await.unwrap().cached_info().config.clone();
        loop {
            // Either may be refused while a leader is elected.
            let _deleted = jetstream.delete_stream("SYSTOLE_shop_LOG").await;
            match jetstream.create_stream(config.clone()).await {
                Ok(stream) if stream.cached_info().state.messages == 0 => break,
                other => assert!(Instant::now() < end, "{other:?}"),
            }
        }
    });
    let waits = next();
    loop {
        let Commit::NotNow(words) = log.writer.commit_batch(&waits) else {
            panic!("it was believed at once")
        };
        if words.contains("has lost what was stored at ") {
            break;
        }
        // On a busy machine the new stream may not answer in time at first.
        assert!(Instant::now() < end, "{words}");
    }
    assert!(log.lead.find_loss().is_none());
    let lost = loop {
        match log.writer.commit_batch(&waits) {
            Commit::NotNow(_) if Instant::now() < end => {}
            other => break other,
        }
    };
    assert!(
        matches!(&lost, Commit::Conflict(words) if words.contains("has lost what was stored")),
        "{lost:?}"
    );
    drop(log);
    let Err(NatsLogFault::Log(LogFault::Apart { why, .. })) = opened(&open).map(drop) else {
        panic!("it was taken")
    };
    assert!(why.starts_with("it does not hold the bundle that the copy"), "{why}");
}
