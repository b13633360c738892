//! A way to a broker that can be cut, held up, slowed down, or made to lose what the broker says. It stands between one
//! client and the server on 127.0.0.1, and knows of the protocol only where one frame of the server ends.
//!
//! It makes nothing up: every byte that comes out went in, and what it holds up it hands on in its order.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// What becomes of what comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// It goes on.
    Pass,
    /// Connections are closed, and new ones at once.
    Cut,
    /// Connections stand, and nothing comes through.
    Stall,
    /// Every piece, in either direction, comes that much later.
    Slow(Duration),
}

struct State {
    way: Way,
    /// Frames of the server with these words are lost, so many of them.
    lost: Option<(&'static str, usize)>,
    swallowed: usize,
    open: Vec<TcpStream>,
    is_over: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The way, open until it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// The most connections that are ever made through one.
const CONNECTIONS: usize = 10_000;

impl Proxy {
    /// Opens a way to `nats://HOST:PORT`.
    pub(crate) fn to(url: &str) -> Proxy {
        let server = url.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { way: Way::Pass, lost: None, swallowed: 0, open: Vec::new(), is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let inside = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().take(CONNECTIONS) {
                let mut state = inside.lock();
                match (state.is_over, state.way) {
                    (true, _) => return,
                    (_, Way::Cut) => continue,
                    _ => {}
                }
                // A server that does not run just now is like a way that is cut.
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&server)) else { continue };
                for end in [&client, &server] {
                    end.set_nodelay(true).unwrap();
                    state.open.push(end.try_clone().unwrap());
                }
                drop(state);
                inside.clone().carry(client.try_clone().unwrap(), server.try_clone().unwrap(), false);
                inside.clone().carry(server, client, true);
            }
        });
        Proxy { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// From now on this becomes of what comes.
    pub(crate) fn goes(&self, way: Way) {
        let mut state = self.shared.lock();
        state.way = way;
        if way == Way::Cut {
            state.close();
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// The next so many frames of the server with these words are lost.
    pub(crate) fn loses(&self, words: &'static str, frames: usize) {
        let mut state = self.shared.lock();
        (state.lost, state.swallowed) = (Some((words, frames)), 0);
    }

    /// Waits until so many were.
    pub(crate) fn has_lost(&self, frames: usize) {
        let waits =
            self.shared.changed.wait_timeout_while(self.shared.lock(), crate::program::PATIENCE, |state| {
                state.swallowed < frames
            });
        assert!(waits.unwrap().0.swallowed >= frames, "the server did not say it");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.close();
        drop(state);
        self.shared.changed.notify_all();
        // Whoever waits for the next connection looks up.
        drop(TcpStream::connect(self.address));
    }
}

impl State {
    fn close(&mut self) {
        for end in self.open.drain(..) {
            // One that the other side has closed is closed.
            let _closed = end.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn carry(self: Arc<Self>, mut from: TcpStream, mut to: TcpStream, is_server: bool) {
        thread::spawn(move || {
            let (mut chunk, mut held) = (vec![0; 64 << 10], Vec::new());
            while let Ok(read @ 1..) = from.read(&mut chunk) {
                held.extend_from_slice(&chunk[..read]);
                let whole = if is_server { frames(&held) } else { vec![held.len()] };
                for length in whole {
                    let frame: Vec<u8> = held.drain(..length).collect();
                    if self.is_lost(&frame, is_server) {
                        continue;
                    }
                    if !self.is_let_on() || to.write_all(&frame).is_err() {
                        return;
                    }
                }
            }
            // Its end goes on as its words do.
            let _closed = to.shutdown(Shutdown::Both);
        });
    }

    fn is_lost(&self, frame: &[u8], is_server: bool) -> bool {
        let mut state = self.lock();
        let Some((words, left @ 1..)) = state.lost.filter(|_| is_server) else { return false };
        let is_lost = frame.windows(words.len()).any(|part| part == words.as_bytes());
        if is_lost {
            state.lost = Some((words, left - 1));
            state.swallowed += 1;
            drop(state);
            self.changed.notify_all();
        }
        is_lost
    }

    /// Waits until a piece may go on; false where it never will.
    fn is_let_on(&self) -> bool {
        let mut state = self.lock();
        loop {
            let waits = match state.way {
                _ if state.is_over => return false,
                Way::Pass => return true,
                Way::Cut => return false,
                Way::Stall => crate::program::PATIENCE,
                Way::Slow(delay) => delay,
            };
            let way = state.way;
            let waited =
                self.changed.wait_timeout_while(state, waits, |state| !state.is_over && state.way == way);
            let (now, end) = waited.unwrap();
            if end.timed_out() && way != Way::Stall {
                return true;
            }
            state = now;
        }
    }
}

/// The lengths of the whole frames at the beginning: a line, and behind a message its payload.
fn frames(held: &[u8]) -> Vec<usize> {
    let (mut whole, mut start) = (Vec::new(), 0);
    while let Some(line) = held[start..].windows(2).position(|end| end == b"\r\n") {
        let words = String::from_utf8_lossy(&held[start..start + line]);
        let is_message = words.starts_with("MSG ") || words.starts_with("HMSG ");
        let payload = words.rsplit(' ').next().filter(|_| is_message);
        let behind = payload.map_or(0, |length| length.parse::<usize>().unwrap() + 2);
        let length = line + 2 + behind;
        if held.len() < start + length {
            break;
        }
        whole.push(length);
        start += length;
    }
    whole
}

#[test]
fn a_frame_of_the_server_ends_where_its_payload_does() {
    let said = b"PING\r\nMSG a 1 4\r\n\r\n\r\n\r\nHMSG a 1 b 2 3\r\nabc\r\n+OK\r\nMSG b 2 9\r\nhalf";
    assert_eq!(frames(said), [6, 17, 21, 5]);
}
