//! The tap between a worker and the kit's nats-server: it shows what the worker says to the server, and can cut the
//! connection. It gives deliveries the subject and the reply subject that JetStream would give them.
//!
//! It changes nothing else. In: connections of the worker. Out: connections to the server, and records.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::limits;

/// The header by which the kit tells the tap the subjects of a delivery.
pub(super) const ACK_HEADER: &str = "Conform-Ack: ";
/// The same for its own subject.
pub(super) const SUBJECT_HEADER: &str = "Conform-Subject: ";

/// What a worker said to the server, or the server to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TapRecord {
    /// A message to a subject.
    Published(String),
    /// A subscription.
    Subscribed(String),
    /// The server refused something, in its words.
    Refused(String),
    /// A connection began.
    Connected,
}

/// A tap on one port.
pub(super) struct NatsTap {
    /// The port that the worker connects to.
    pub port: u16,
    records: Arc<Mutex<Vec<TapRecord>>>,
    server: watch::Sender<Option<u16>>,
    cut: watch::Sender<u64>,
    accepting: JoinSet<()>,
}

impl NatsTap {
    /// Chooses a free port. It takes no connection until it is opened. Connections of others never begin at such a port,
    /// so it is still free when it is opened.
    pub(super) async fn reserve() -> std::io::Result<NatsTap> {
        static CHOSEN: AtomicU32 = AtomicU32::new(0);
        let first = std::process::id();
        let mut tries = 0;
        let port = loop {
            let number =
                first.wrapping_mul(limits::PORT_STRIDE).wrapping_add(CHOSEN.fetch_add(1, Ordering::Relaxed));
            let port = u16::try_from(number % limits::PORTS.1).unwrap_or(0) + limits::PORTS.0;
            match TcpListener::bind(("127.0.0.1", port)).await {
                Ok(_free) => break port,
                Err(error) if tries == limits::PORT_TRIES => return Err(error),
                Err(_) => tries += 1,
            }
        };
        let (server, _) = watch::channel(None);
        let (cut, _) = watch::channel(0);
        Ok(NatsTap { port, records: Arc::default(), server, cut, accepting: JoinSet::new() })
    }

    /// Takes connections, and leads them to the server on that port.
    pub(super) async fn open(&mut self, server: u16) -> std::io::Result<()> {
        self.server.send_replace(Some(server));
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await?;
        let (records, cut) = (self.records.clone(), self.cut.subscribe());
        self.accepting.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((worker, _)) = listener.accept().await {
                lock_records(&records).push(TapRecord::Connected);
                let (records, mut cut) = (records.clone(), cut.clone());
                cut.mark_unchanged();
                open.spawn(async move {
                    tokio::select! {
                        _ended = lead(worker, server, records) => {}
                        _cut = cut.changed() => {}
                    }
                });
            }
        });
        Ok(())
    }

    /// Cuts every connection.
    pub(super) fn cut_all(&self) {
        self.cut.send_modify(|count| *count += 1);
    }

    /// Takes no connection any more, and cuts those that there are.
    pub(super) async fn close(&mut self) {
        self.cut_all();
        self.accepting.shutdown().await;
    }

    /// Everything that was seen.
    pub(super) fn list_records(&self) -> Vec<TapRecord> {
        lock_records(&self.records).clone()
    }
}

fn lock_records(records: &Mutex<Vec<TapRecord>>) -> std::sync::MutexGuard<'_, Vec<TapRecord>> {
    records.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Leads both directions of one connection until either ends.
async fn lead(worker: TcpStream, server: u16, records: Arc<Mutex<Vec<TapRecord>>>) -> std::io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server)).await?;
    worker.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_worker, to_worker) = worker.into_split();
    let (from_server, to_server) = server.into_split();
    let out = copy_operations(from_worker, to_server, |line| {
        note_worker(&records, line);
        None
    });
    let back = copy_operations(from_server, to_worker, |line| {
        if let Some(words) = line.strip_prefix("-ERR ") {
            lock_records(&records).push(TapRecord::Refused(words.trim().to_owned()));
        }
        None
    });
    tokio::select! {
        ended = out => ended,
        ended = back => ended,
    }
}

fn note_worker(records: &Mutex<Vec<TapRecord>>, line: &str) {
    let mut words = line.split_ascii_whitespace();
    let record = match (words.next().map(str::to_ascii_uppercase).as_deref(), words.next()) {
        (Some("PUB" | "HPUB"), Some(subject)) => TapRecord::Published(subject.to_owned()),
        (Some("SUB"), Some(subject)) => TapRecord::Subscribed(subject.to_owned()),
        _ => return,
    };
    lock_records(records).push(record);
}

/// Copies the operations of one direction; `note` sees the line of each.
async fn copy_operations(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    mut note: impl FnMut(&str) -> Option<()>,
) -> std::io::Result<()> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        let _seen = note(&text);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let has_body = words.first().is_some_and(|word| {
            matches!(word.to_ascii_uppercase().as_str(), "PUB" | "HPUB" | "MSG" | "HMSG")
        });
        if !has_body {
            output.write_all(&line).await?;
            continue;
        }
        let length = words.last().and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
        if length > limits::MESSAGE_BYTES {
            return Ok(());
        }
        let mut body = vec![0; length + 2];
        let is_delivery = words.first() == Some(&"HMSG");
        if !is_delivery {
            // The server may refuse a message before it is whole.
            output.write_all(&line).await?;
            input.read_exact(&mut body).await?;
            output.write_all(&body).await?;
            continue;
        }
        input.read_exact(&mut body).await?;
        match rewrite_delivery(&words, &body) {
            Some(bytes) => output.write_all(&bytes).await?,
            None => {
                output.write_all(&line).await?;
                output.write_all(&body).await?;
            }
        }
    }
}

/// A delivery with the subjects that the kit named in headers; `None` if it is another message.
fn rewrite_delivery(words: &[&str], body: &[u8]) -> Option<Vec<u8>> {
    let number = words.get(2)?;
    let head_length: usize = words.get(words.len().checked_sub(2)?)?.parse().ok()?;
    let head = std::str::from_utf8(body.get(..head_length)?).ok()?;
    let find = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let (subject, reply) = (find(SUBJECT_HEADER)?, find(ACK_HEADER)?);
    let kept: String = head
        .split_inclusive("\r\n")
        .filter(|line| !line.starts_with(SUBJECT_HEADER) && !line.starts_with(ACK_HEADER))
        .collect();
    let rest = body.get(head_length..)?;
    let whole = kept.len() + rest.len() - 2;
    let mut bytes = format!("HMSG {subject} {number} {reply} {} {whole}\r\n{kept}", kept.len()).into_bytes();
    bytes.extend_from_slice(rest);
    Some(bytes)
}
