//! A server of exact bytes: it reads a request, performs its prepared acts, and closes the connection. It knows no
//! provider's form, so no mistake of the adapters can be repeated here.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::Notify;

/// How long a thread waits for its client at most, so that a broken test ends.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval between two drips.
const DRIP: Duration = Duration::from_millis(5);

/// One act of the server.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Reports that the request has arrived.
    Tell(Arc<Notify>),
    /// Waits until the client is gone.
    Hang,
    /// Sends these bytes repeatedly until the client is gone.
    Drip(Vec<u8>),
    /// Like `Drip`, as fast as the client reads.
    Flood(Vec<u8>),
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the server waited for the client, and the client left.
    pub(crate) left: bool,
}

impl Seen {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a request is JSON")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The server. The first request gets the first answer, and so on. The last answer serves all later requests.
pub(crate) struct ByteServer {
    pub(crate) at: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ByteServer {
    pub(crate) fn start(answers: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let at = listener.local_addr().expect("an address");
        let (seen, over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let thread = std::thread::spawn({
            let (seen, over) = (Arc::clone(&seen), Arc::clone(&over));
            move || serve(&listener, &answers, &seen, &over)
        });
        Self { at, seen, over, thread: Some(thread) }
    }

    /// A server with one answer for every request.
    pub(crate) fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        Self::start(vec![vec![Act::Send(bytes.into())]])
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// The requests, once every connection is over.
    pub(crate) fn end(mut self) -> Vec<Seen> {
        self.stop();
        self.seen.lock().expect("the thread is over").clone()
    }

    fn stop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the thread if it waits for a client. If it is gone, nothing needs waking.
        let _woken = TcpStream::connect(self.at);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server fell");
        }
    }
}

impl Drop for ByteServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(listener: &TcpListener, answers: &[Vec<Act>], seen: &Mutex<Vec<Seen>>, over: &AtomicBool) {
    for at in 0.. {
        let (mut stream, _) = listener.accept().expect("a client");
        if over.load(Ordering::SeqCst) {
            return;
        }
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let Some((head, body)) = request(&mut stream) else { continue };
        let acts = answers.get(at).or(answers.last()).cloned().unwrap_or_default();
        let left = acts.into_iter().any(|act| done(&mut stream, &act));
        seen.lock().expect("no one fell").push(Seen { head, body, left });
    }
}

/// Head and body of a request. `None` if the client left before it was complete.
pub(crate) fn request(stream: &mut impl Read) -> Option<(String, Vec<u8>)> {
    let (mut bytes, mut piece) = (Vec::new(), [0_u8; 4096]);
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).expect("a head of ASCII");
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase().strip_prefix("content-length:").map(|n| n.trim().parse::<usize>())
            });
            let length = length.expect("a length").expect("a number");
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

/// Performs an act. Returns whether the client left.
fn done(stream: &mut TcpStream, act: &Act) -> bool {
    match act {
        Act::Send(bytes) => stream.write_all(bytes).is_err(),
        Act::Tell(heard) => {
            heard.notify_one();
            false
        }
        Act::Hang => stream.read(&mut [0_u8; 1]).is_ok_and(|read| read == 0),
        Act::Flood(bytes) => {
            while stream.write_all(bytes).is_ok() {}
            true
        }
        Act::Drip(bytes) => {
            stream.set_read_timeout(Some(DRIP)).expect("a limit");
            loop {
                if stream.write_all(bytes).is_err() {
                    return true;
                }
                match stream.read(&mut [0_u8; 1]) {
                    Err(fault) if matches!(fault.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                    _ => return true,
                }
            }
        }
    }
}

/// The head of a good answer whose body comes in chunks.
pub(crate) fn head(content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n")
        .into_bytes()
}

/// One chunk.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// A good answer in these chunks, with the end of its body.
pub(crate) fn chunked(content_type: &str, pieces: &[&[u8]]) -> Vec<u8> {
    let chunks = pieces.iter().flat_map(|piece| chunk(piece));
    head(content_type).into_iter().chain(chunks).chain(*b"0\r\n\r\n").collect()
}

/// An answer with that status and a stated length.
pub(crate) fn measured(status: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}
