//! The processes on the other side of the HTTP door: callers that send one message after another, and watchers that
//! read a stream of events. Their client does as little as HTTP/1.1 allows, and its processor time is not counted.

use std::io::{BufRead as _, Write as _};

use systole_api::types::ApiReceipt;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::child;
use crate::hops::TEXT;
use crate::report::now;
use crate::walk::{self, TOOLS, filled};

/// A connection to the door that stays open.
pub(crate) struct DoorLine {
    stream: BufReader<TcpStream>,
    address: String,
    token: String,
}

impl DoorLine {
    pub(crate) async fn to(address: &str, token: &str) -> DoorLine {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        DoorLine { stream: BufReader::new(stream), address: address.to_owned(), token: token.to_owned() }
    }

    /// Sends a request, and returns the length of the answer's body.
    pub(crate) async fn asks(&mut self, line: &str, headers: &str, body: &[u8]) -> usize {
        let (host, token, length) = (&self.address, &self.token, body.len());
        let head = format!(
            "{line} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n{headers}content-length: {length}\r\n\r\n"
        );
        self.stream.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        let (mut length, mut line) = (0, String::new());
        self.stream.read_line(&mut line).await.unwrap();
        assert!(line.starts_with("HTTP/1.1 2"), "the door answers: {line}");
        loop {
            line.clear();
            self.stream.read_line(&mut line).await.unwrap();
            if line == "\r\n" {
                return length;
            }
            if let Some(bytes) = line.strip_prefix("content-length: ") {
                length = bytes.trim().parse().unwrap();
            }
        }
    }

    /// Sends a message to the tool.
    pub(crate) async fn sends(&mut self, key: &str, wait: &str, document: &[u8]) -> ApiReceipt {
        let headers = format!("idempotency-key: {key}\r\n{wait}");
        let mut body = vec![0; self.asks("POST /v1/messages?to=tool", &headers, document).await];
        self.stream.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// Begins to watch what came after a position.
    async fn watches(&mut self, query: &str) {
        self.asks(&format!("GET /v1/events?{query}"), "", b"").await;
    }

    /// Fetches a page.
    pub(crate) async fn fetches(&mut self, address: &str, headers: &str) -> String {
        let mut body = vec![0; self.asks(&format!("GET {address}"), headers, b"").await];
        self.stream.read_exact(&mut body).await.unwrap();
        String::from_utf8(body).unwrap()
    }

    /// Waits for the next event with a number, and returns it.
    pub(crate) async fn told(&mut self) -> u64 {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.stream.read_line(&mut line).await.unwrap() > 0, "the stream goes on");
            // The threads in which listeners speak are no numbers.
            if let Some(number) = line.strip_prefix("data: ").and_then(|data| data.trim().parse().ok()) {
                return number;
            }
        }
    }

    /// Reads events until a line contains that text.
    async fn hears(&mut self, text: &str) {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(self.stream.read_line(&mut line).await.unwrap() > 0, "the stream goes on");
        }
    }
}

/// How a caller learns the answer.
#[derive(Clone, Copy)]
enum Way {
    /// It does not: it goes on after the receipt.
    Receipt,
    /// It watches the events of the call's thread.
    Events,
    /// The door answers once the call has ended.
    Wait,
}

/// The child that calls: a tenth of the calls, then, after a line on its stdin, all of them.
pub(crate) fn call(address: &str, token: &str, in_flight: usize, calls: usize, way: &str) {
    let way = match way {
        "receipt" => Way::Receipt,
        "events" => Way::Events,
        _ => Way::Wait,
    };
    walk::runtime().block_on(async {
        calls_of(address, token, in_flight, calls / 10, way, "warm").await;
        child::ready();
        std::io::stdin().lock().read_line(&mut String::new()).unwrap();
        let began = now();
        calls_of(address, token, in_flight, calls, way, "call").await;
        println!("seconds {}", began.elapsed().as_secs_f64());
        std::io::stdout().flush().unwrap();
    });
}

async fn calls_of(address: &str, token: &str, in_flight: usize, calls: usize, way: Way, word: &'static str) {
    let mut callers = JoinSet::new();
    for caller in 0..in_flight {
        let (address, token) = (address.to_owned(), token.to_owned());
        let own = calls / in_flight + usize::from(caller < calls % in_flight);
        callers.spawn(async move {
            let mut line = DoorLine::to(&address, &token).await;
            let document = filled(TOOLS[0], "work", &"x".repeat(TEXT));
            let wait = if matches!(way, Way::Wait) { "systole-wait: 60\r\n" } else { "" };
            for n in 0..own {
                let receipt = line.sends(&format!("{word}-{caller}-{n}"), wait, &document).await;
                if matches!(way, Way::Events) {
                    let mut events = DoorLine::to(&address, &token).await;
                    let (thread, position) = (&receipt.thread, receipt.position);
                    events.watches(&format!("thread={thread}&from={position}")).await;
                    events.hears("\"code\":\"final\"").await;
                }
            }
        });
    }
    callers.join_all().await;
}

/// The child that watches: everything, or one thread at rest for each watcher.
pub(crate) fn watch(address: &str, token: &str, count: usize, what: &str) {
    walk::runtime().block_on(async {
        let mut watchers = JoinSet::new();
        for watcher in 0..count {
            let mut line = DoorLine::to(address, token).await;
            let query = if what == "all" {
                String::new()
            } else {
                let document = filled(TOOLS[0], "work", "x");
                let receipt = line.sends(&format!("watched-{watcher}"), "", &document).await;
                format!("thread={}", receipt.thread)
            };
            line.watches(&query).await;
            watchers.spawn(async move {
                let mut part = vec![0; 1 << 16];
                while line.stream.get_mut().read(&mut part).await.is_ok_and(|read| read > 0) {}
            });
        }
        child::ready();
        watchers.join_all().await;
    });
}
