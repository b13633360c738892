//! A broker for the figures of a log in NATS, and their floors: plain async-nats, one publish after another. The
//! floors use none of the code that they are compared with.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, stream};
use async_nats::{Client, HeaderMap, Request, header};
use futures_core::Stream as _;

/// The server that `tools/prepare test` installed, or else the one on PATH; `None` if there is neither.
pub(crate) fn program() -> Option<PathBuf> {
    let programs = [tools().join("nats-server"), PathBuf::from("nats-server")];
    programs.into_iter().find(|program| {
        let mut version = Command::new(program);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    })
}

/// The client for Python that `tools/prepare test` installed.
pub(crate) fn python_client() -> Option<PathBuf> {
    Some(tools().join("python")).filter(|folder| folder.is_dir())
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("tools")
}

/// A running broker that syncs each message before it acknowledges it.
pub(crate) struct Broker {
    child: Child,
    /// Its URL.
    pub(crate) url: String,
    folder: tempfile::TempDir,
}

impl Broker {
    pub(crate) fn start(program: &Path) -> Broker {
        Broker::start_as(program, ", sync_interval: always")
    }

    /// One that writes its files, and syncs them when it likes.
    pub(crate) fn start_unsynced(program: &Path) -> Broker {
        Broker::start_as(program, "")
    }

    fn start_as(program: &Path, syncs: &str) -> Broker {
        let folder = tempfile::tempdir_in("target").unwrap();
        let path = std::path::absolute(folder.path()).unwrap();
        let configuration = format!(
            "listen: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"{}/store\"{syncs} }}\n",
            path.display()
        );
        std::fs::write(path.join("server.conf"), configuration).unwrap();
        let mut command = Command::new(program);
        command.arg("--config").arg(path.join("server.conf")).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let line = said.find(|line| line.contains("Listening for client connections on ")).unwrap();
        let url = format!("nats://127.0.0.1:{}", line.trim_end().rsplit_once(':').unwrap().1);
        said.find(|line| line.contains("Server is ready")).unwrap();
        // Its further output is discarded, so that it cannot fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Broker { child, url, folder }
    }

    /// The process id.
    pub(crate) fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// A folder that is removed with it.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Messages and bytes of a stream; zeros if the stream does not exist.
    pub(crate) async fn holds(&self, stream: &str) -> (u64, u64) {
        let jetstream = jetstream::new(async_nats::connect(&self.url).await.unwrap());
        match jetstream.get_stream(stream).await {
            Ok(stream) => (stream.cached_info().state.messages, stream.cached_info().state.bytes),
            Err(_) => (0, 0),
        }
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _already_over = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// Publishes one message after another; each expects the previous one as the last of its subject.
pub(crate) struct Fenced {
    client: Client,
    last: u64,
}

impl Fenced {
    pub(crate) async fn begin(broker: &Broker) -> Fenced {
        let client = async_nats::connect(&broker.url).await.unwrap();
        let floor =
            stream::Config { name: "FLOOR".into(), subjects: vec!["floor".into()], ..Default::default() };
        let mut stream = jetstream::new(client.clone()).get_or_create_stream(floor).await.unwrap();
        let last = stream.info().await.unwrap().state.last_sequence;
        Fenced { client, last }
    }

    /// The seconds of each publish.
    pub(crate) async fn publish(&mut self, bytes: usize, count: usize) -> Vec<f64> {
        let mut took = Vec::with_capacity(count);
        let payload = vec![b'x'; bytes];
        for _ in 0..count {
            let mut headers = HeaderMap::new();
            headers.insert(header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, self.last.to_string());
            let request = Request::new().headers(headers).payload(payload.clone().into());
            let began = crate::report::now();
            let answer = self.client.send_request("floor", request).await.unwrap();
            took.push(began.elapsed().as_secs_f64());
            let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
            self.last = answer["seq"].as_u64().unwrap();
        }
        took
    }
}

/// The seconds that a pull consumer needs for every message of a stream, 500 at a time.
pub(crate) async fn consume(broker: &Broker, stream: &str) -> f64 {
    let jetstream = jetstream::new(async_nats::connect(&broker.url).await.unwrap());
    let stream = jetstream.get_stream(stream).await.unwrap();
    let all = stream.cached_info().state.messages;
    let config = pull::Config { ack_policy: AckPolicy::None, ..Default::default() };
    let began = crate::report::now();
    let consumer: PullConsumer = stream.create_consumer(config).await.unwrap();
    let mut messages = Box::pin(consumer.stream().max_messages_per_batch(500).messages().await.unwrap());
    for _ in 0..all {
        std::future::poll_fn(|cx| messages.as_mut().poll_next(cx)).await.unwrap().unwrap();
    }
    began.elapsed().as_secs_f64()
}
