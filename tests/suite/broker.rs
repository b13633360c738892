//! A real nats-server for tests, with its own process, port, configuration and store. A test can kill, stop, pause
//! and restart it in place. Every wait is for a line of its output, and has a limit. This file sends signals only to
//! its own server.
//!
//! `tools/prepare test` installs the server, and the Python client next to it.

use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::{self, stream};
use futures_core::Stream as _;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::ports;
use crate::program::{PATIENCE, lines};
use crate::stage::alive;

/// A key that a test may show: seed and public key.
pub(crate) const KEY: (&str, &str) = (
    "SUAP6B434OOHEZHH5I7R2VH2GB2JHQPN2O2ZX2NVDIOZE7AZGHEZUNK65A",
    "UAWNURI6DUVI4POJAMCZS3QAAOUQNVIN555P7WIRBR4D3ITXFXBCRWHV",
);

/// The JetStream settings of every broker in the tests. `always` fsyncs each message before the broker acknowledges
/// it.
pub(crate) const JETSTREAM: &str = "jetstream { store_dir: \"STORE\", sync_interval: always }\n";

/// Where `tools/prepare test` stores the tools that only tests need: in the target folder of this build.
pub(crate) fn tools() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools")
}

/// The installed server, or else the one on PATH.
fn program() -> PathBuf {
    let brought = tools().join("nats-server");
    if brought.exists() { brought } else { PathBuf::from("nats-server") }
}

/// PATH with that server in front.
pub(crate) fn path() -> String {
    let path = std::env::var("PATH").unwrap();
    let brought = program();
    let folder = brought.parent().unwrap().to_str().unwrap();
    if folder.is_empty() { path } else { format!("{folder}:{path}") }
}

/// Python with the plain NATS client, as a listener's author uses it.
pub(crate) fn python() -> Command {
    let mut python = Command::new("python3");
    if tools().join("python").exists() {
        python.env("PYTHONPATH", tools().join("python"));
    }
    python
}

/// A broker, running or stopped.
pub(crate) struct NatsServer {
    child: Option<Child>,
    log: Receiver<String>,
    heard: String,
    port: u16,
    configuration: String,
    folder: tempfile::TempDir,
}

impl NatsServer {
    /// Starts a broker that accepts every client.
    pub(crate) fn start() -> NatsServer {
        NatsServer::with("")
    }

    /// Starts a broker with more configuration: users, keys, limits, routes.
    pub(crate) fn with(more: &str) -> NatsServer {
        NatsServer::of([JETSTREAM, more].concat())
    }

    /// Starts a broker that stores nothing.
    pub(crate) fn without_jetstream() -> NatsServer {
        NatsServer::of(String::new())
    }

    /// Starts a broker with a complete configuration. Only the port in it is replaced.
    pub(crate) fn whole(configuration: &str) -> NatsServer {
        assert!(configuration.contains("\nlisten: "), "{configuration}");
        NatsServer::of(configuration.to_owned())
    }

    fn of(configuration: String) -> NatsServer {
        let folder = tempfile::tempdir().unwrap();
        let log = std::sync::mpsc::sync_channel(1).1;
        // Every start is on the same port.
        let port = ports::free();
        let mut server = NatsServer { child: None, log, heard: String::new(), port, configuration, folder };
        server.start_again();
        server
    }

    /// Starts it again with its store and its port.
    pub(crate) fn start_again(&mut self) {
        self.begin();
        self.listens();
    }

    /// A node of a cluster, not yet started. It reports that it listens only when the other nodes are there.
    pub(crate) fn node(configuration: String) -> NatsServer {
        let folder = tempfile::tempdir().unwrap();
        let log = std::sync::mpsc::sync_channel(1).1;
        NatsServer { child: None, log, heard: String::new(), port: ports::free(), configuration, folder }
    }

    /// Starts its process.
    pub(crate) fn begin(&mut self) {
        assert!(self.child.is_none(), "it still runs");
        let port = self.port.to_string();
        let path = self.folder.path().join("server.conf");
        let store = self.folder.path().join("store");
        let more = self.configuration.replace("STORE", store.to_str().unwrap());
        let is_whole = more.contains("\nlisten: ");
        let listen = if is_whole { String::new() } else { format!("listen: \"127.0.0.1:{port}\"\n") };
        std::fs::write(&path, [listen, more].concat()).unwrap();
        let mut command = Command::new(program());
        if is_whole {
            command.args(["--port", &port]);
        }
        command.arg("--config").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("there is no nats-server: tools/prepare test brings one");
        self.log = lines(child.stderr.take().unwrap());
        self.child = Some(child);
    }

    /// Waits until it accepts clients.
    pub(crate) fn listens(&mut self) {
        self.says("Server is ready");
    }

    /// Waits for a line of its log that contains this.
    pub(crate) fn says(&mut self, wanted: &str) -> String {
        loop {
            let Ok(line) = self.log.recv_timeout(PATIENCE) else {
                panic!("wanted {wanted:?} in the broker's log, heard {}", self.heard)
            };
            self.heard.push_str(&line);
            if line.contains(wanted) {
                return line;
            }
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("it does not run").id()
    }

    /// Kills it at once, as kill -9 and a power cut do.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("it does not run");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Keeps a copy of everything that it has stored, to go back to. It must not be running.
    pub(crate) fn remembers(&self) {
        assert!(self.child.is_none(), "it still runs");
        let folder = self.folder.path();
        let copied =
            Command::new("cp").arg("-a").arg(folder.join("store")).arg(folder.join("before")).status();
        assert!(copied.unwrap().success());
    }

    /// Has what it had then, like a machine that lost its power. It must not be running.
    pub(crate) fn goes_back(&mut self) {
        self.loses_everything();
        std::fs::rename(self.folder.path().join("before"), self.folder.path().join("store")).unwrap();
    }

    /// Deletes everything that it has stored. It must not be running.
    pub(crate) fn loses_everything(&mut self) {
        assert!(self.child.is_none(), "it still runs");
        std::fs::remove_dir_all(self.folder.path().join("store")).unwrap();
    }

    /// Stops it as its operator does.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        self.says("Server Exiting");
        self.child.take().unwrap().wait().unwrap();
    }

    /// Stops it as its operator does, and returns its whole output.
    pub(crate) fn all_said(&mut self) -> &str {
        self.stop();
        &self.heard
    }

    /// Suspends it: its connections stay open, and it answers nothing.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        let (_, state) = waitpid(Some(self.process()), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(state.stopped(), "{state:?}");
    }

    /// Resumes it after a pause.
    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
        let (_, state) = waitpid(Some(self.process()), WaitOptions::CONTINUED).unwrap().unwrap();
        assert!(state.continued(), "{state:?}");
    }

    fn process(&self) -> Pid {
        Pid::from_child(self.child.as_ref().expect("it does not run"))
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.process(), signal).unwrap();
    }

    /// A client without credentials, for tests that look at the contents.
    pub(crate) async fn client(&self) -> async_nats::Client {
        ConnectOptions::new().connection_timeout(PATIENCE).connect(self.url()).await.unwrap()
    }

    /// The address of its monitoring, which `http: "127.0.0.1:-1"` in the configuration opens.
    pub(crate) fn monitor(&self) -> String {
        let said = self.heard.lines().find(|line| line.contains("Starting http monitor on "));
        said.unwrap().rsplit_once(' ').unwrap().1.to_owned()
    }

    /// A page of its monitoring, which `http: "127.0.0.1:-1"` in the configuration opens.
    pub(crate) fn shows(&mut self, page: &str) -> serde_json::Value {
        let address = format!("http://{}{page}", self.monitor());
        let text = ureq::get(address).call().unwrap().body_mut().read_to_string();
        serde_json::from_str(&text.unwrap()).unwrap()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _already_over = child.kill();
            let _reaped = child.wait();
        }
    }
}

async fn stored(server: &NatsServer, sequence: u64) -> String {
    let jetstream = jetstream::new(server.client().await);
    let stream = jetstream.get_stream("KEPT").await.unwrap();
    let message = stream.get_raw_message(sequence).await.unwrap();
    String::from_utf8(message.payload.to_vec()).unwrap()
}

async fn publish(server: &NatsServer, words: &'static str) {
    let jetstream = jetstream::new(server.client().await);
    jetstream.publish("kept.words", words.into()).await.unwrap().await.unwrap();
}

async fn keep(server: &NatsServer) {
    let kept = stream::Config { name: "KEPT".into(), subjects: vec!["kept.>".into()], ..Default::default() };
    jetstream::new(server.client().await).create_stream(kept).await.unwrap();
}

#[tokio::test]
async fn a_broker_keeps_its_store_and_its_port_over_a_kill_and_a_stop() {
    let mut server = NatsServer::start();
    let (url, pid) = (server.url(), server.pid());
    keep(&server).await;
    publish(&server, "before the kill").await;
    server.kill();
    assert!(!alive(&pid.to_string()));
    assert!(async_nats::connect(&url).await.is_err(), "something still listens there");
    server.start_again();
    assert_eq!(server.url(), url);
    assert_ne!(server.pid(), pid);
    publish(&server, "before the stop").await;
    server.stop();
    assert!(async_nats::connect(&url).await.is_err(), "something still listens there");
    server.start_again();
    assert_eq!(server.url(), url);
    assert_eq!(stored(&server, 1).await, "before the kill");
    assert_eq!(stored(&server, 2).await, "before the stop");
}

#[tokio::test]
async fn a_paused_broker_answers_when_it_goes_on() {
    let server = NatsServer::start();
    let jetstream = jetstream::new(server.client().await);
    server.pause();
    let mut asked = std::pin::pin!(jetstream.query_account());
    let early = tokio::time::timeout(Duration::from_millis(200), &mut asked).await;
    assert!(early.is_err(), "it answered while it was held");
    server.go_on();
    asked.await.unwrap();
}

#[tokio::test]
async fn a_broker_lets_in_whom_its_configuration_names() {
    let users = format!("authorization {{ users: [{{user: pump, password: right}}, {{nkey: {}}}] }}", KEY.1);
    let mut server = NatsServer::with(&users);
    let url = server.url();
    let wrong = ConnectOptions::with_user_and_password("pump".into(), "wrong".into()).connect(&url).await;
    let kind = wrong.map(drop).unwrap_err().kind();
    assert_eq!(kind, async_nats::ConnectErrorKind::AuthorizationViolation);
    server.says("authentication error");
    assert!(async_nats::connect(&url).await.is_err());
    ConnectOptions::with_user_and_password("pump".into(), "right".into()).connect(&url).await.unwrap();
    ConnectOptions::with_nkey(KEY.0.into()).connect(&url).await.unwrap();
}

#[tokio::test]
async fn a_broker_that_goes_leaves_nothing_and_touches_no_other() {
    let (server, other) = (NatsServer::start(), NatsServer::start());
    let (pid, url, folder) = (server.pid(), server.url(), server.folder.path().to_owned());
    assert!(alive(&pid.to_string()) && folder.join("store").exists());
    drop(server);
    assert!(!alive(&pid.to_string()) && !folder.exists());
    assert!(async_nats::connect(&url).await.is_err());
    other.client().await.flush().await.unwrap();
}

#[tokio::test]
async fn a_broker_of_a_test_fsyncs_what_it_says_it_has() {
    let mut server = NatsServer::with("http: \"127.0.0.1:-1\"");
    let page = server.shows("/jsz");
    assert_eq!(page["config"]["sync_always"], true, "{page}");
    let version = server.shows("/varz")["version"].as_str().unwrap().to_owned();
    let numbers: Vec<u32> = version.split('.').map_while(|number| number.parse().ok()).collect();
    assert!(numbers >= vec![2, 12], "{version}");
}

/// The plain Python client, with the packages for nkeys, can use the broker.
#[tokio::test]
async fn the_python_client_speaks_with_the_broker() {
    const SCRIPT: &str = "
import asyncio, sys, nats
async def main():
    client = await nats.connect(sys.argv[1], nkeys_seed_str=sys.argv[2])
    print((await client.request('words', b'hello', timeout=60)).data.decode())
    await client.close()
asyncio.run(main())
";
    let server = NatsServer::with(&format!("authorization {{ users: [{{nkey: {}}}] }}", KEY.1));
    let client = ConnectOptions::with_nkey(KEY.0.into()).connect(server.url()).await.unwrap();
    let mut words = client.subscribe("words").await.unwrap();
    client.flush().await.unwrap();
    let mut python = python();
    python.args(["-c", SCRIPT, &server.url(), KEY.0]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = python.spawn().unwrap();
    let asked = tokio::time::timeout(PATIENCE, poll_fn(|cx| Pin::new(&mut words).poll_next(cx))).await;
    let asked = asked.expect("python asked nothing").unwrap();
    assert_eq!(asked.payload, "hello");
    client.publish(asked.reply.unwrap(), "heard".into()).await.unwrap();
    client.flush().await.unwrap();
    let said = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "heard", "{said:?}");
}
