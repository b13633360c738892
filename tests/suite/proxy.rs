//! A proxy to a broker that can cut, stall or slow down connections, or drop messages of the broker. It listens on
//! 127.0.0.1 between clients and the server, and knows only the frame boundaries of the protocol.
//!
//! It invents nothing: every byte that comes out went in. It forwards delayed data in order and once, unless it is
//! set to be unruly.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use systole_soak::dice::SeededDice;

use crate::unruly::{self, Done, Unruly};

/// What the proxy does with the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// The data passes.
    Pass,
    /// Connections are closed, and new ones are closed at once.
    Cut,
    /// Connections stay open, and no data passes.
    Stall,
    /// Every piece, in either direction, is delayed by this time.
    Slow(Duration),
}

struct State {
    way: Way,
    /// Drops this many frames of the server with this text.
    lost: Option<(&'static str, usize)>,
    swallowed: usize,
    /// It stalls before it forwards a client's data with this text.
    brink: Option<&'static str>,
    open: Vec<TcpStream>,
    is_over: bool,
    /// What happened to messages on unruly connections.
    done: Done,
}

struct Shared {
    /// The dice that repeat and reorder messages, if it does so.
    unruly: Option<SeededDice>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The proxy, open until it is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// How long an unruly connection waits for a message that could overtake the held ones.
const SOON: Duration = Duration::from_millis(5);
/// The largest number of connections through one proxy.
const CONNECTIONS: usize = 10_000;

impl Proxy {
    /// Opens a proxy to `nats://HOST:PORT`.
    pub(crate) fn to(url: &str) -> Proxy {
        Proxy::of(url, None)
    }

    /// The same, with messages doubled, delayed and reordered in both directions.
    pub(crate) fn unruly(url: &str, dice: SeededDice) -> Proxy {
        Proxy::of(url, Some(dice))
    }

    fn of(url: &str, unruly: Option<SeededDice>) -> Proxy {
        let server = url.trim_start_matches("nats://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (done, open) = (Done::default(), Vec::new());
        let state =
            State { way: Way::Pass, lost: None, swallowed: 0, brink: None, open, is_over: false, done };
        let shared = Arc::new(Shared { unruly, state: Mutex::new(state), changed: Condvar::new() });
        let inside = shared.clone();
        thread::spawn(move || {
            for (number, client) in (0..).zip(listener.incoming().take(CONNECTIONS)) {
                let mut state = inside.lock();
                match (state.is_over, state.way) {
                    (true, _) => return,
                    (_, Way::Cut) => continue,
                    _ => {}
                }
                // A server that does not run now is like a cut connection.
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(&server)) else { continue };
                for end in [&client, &server] {
                    end.set_nodelay(true).unwrap();
                    state.open.push(end.try_clone().unwrap());
                }
                drop(state);
                inside.clone().carry(client.try_clone().unwrap(), server.try_clone().unwrap(), false, number);
                inside.clone().carry(server, client, true, number);
            }
        });
        Proxy { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// From now on the proxy does this.
    pub(crate) fn goes(&self, way: Way) {
        let mut state = self.shared.lock();
        state.way = way;
        if way == Way::Cut {
            state.close();
        }
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Drops the next `frames` frames of the server with this text.
    pub(crate) fn loses(&self, words: &'static str, frames: usize) {
        let mut state = self.shared.lock();
        (state.lost, state.swallowed) = (Some((words, frames)), 0);
    }

    /// Stalls when a client next sends this text, before it is forwarded.
    pub(crate) fn stalls_at(&self, words: &'static str) {
        self.shared.lock().brink = Some(words);
    }

    /// Waits until it has stalled.
    pub(crate) fn has_stalled(&self) {
        let waits =
            self.shared.changed.wait_timeout_while(self.shared.lock(), crate::program::PATIENCE, |state| {
                state.brink.is_some()
            });
        assert!(waits.unwrap().0.brink.is_none(), "the client did not say it");
    }

    /// Waits until this many frames were dropped.
    pub(crate) fn has_lost(&self, frames: usize) {
        let waits =
            self.shared.changed.wait_timeout_while(self.shared.lock(), crate::program::PATIENCE, |state| {
                state.swallowed < frames
            });
        assert!(waits.unwrap().0.swallowed >= frames, "the server did not say it");
    }
}

impl Proxy {
    /// What has happened to messages so far, on unruly connections.
    pub(crate) fn done(&self) -> Done {
        self.shared.lock().done
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        state.close();
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the thread that waits for the next connection.
        drop(TcpStream::connect(self.address));
    }
}

impl State {
    fn close(&mut self) {
        for end in self.open.drain(..) {
            // The other side may have closed it already.
            let _closed = end.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn carry(self: Arc<Self>, mut from: TcpStream, mut to: TcpStream, is_server: bool, number: u64) {
        let mut unruly =
            self.unruly.as_ref().map(|dice| Unruly::new(dice.apart(2 * number + u64::from(is_server))));
        thread::spawn(move || {
            let (mut chunk, mut held) = (vec![0; 64 << 10], Vec::new());
            loop {
                let is_waited_for = unruly.as_ref().is_some_and(Unruly::holds);
                from.set_read_timeout(is_waited_for.then_some(SOON)).unwrap();
                let going: Vec<Vec<u8>> = match (from.read(&mut chunk), &mut unruly) {
                    (Ok(read @ 1..), unruly) => {
                        held.extend_from_slice(&chunk[..read]);
                        let is_framed = is_server || unruly.is_some();
                        let whole = if is_framed { frames(&held) } else { vec![held.len()] };
                        let frames = whole.into_iter().map(|length| held.drain(..length).collect());
                        match unruly {
                            None => frames.collect(),
                            Some(way) => {
                                frames.collect::<Vec<_>>().into_iter().flat_map(|one| way.take(one)).collect()
                            }
                        }
                    }
                    (Err(error), Some(way)) if error.kind() == ErrorKind::WouldBlock => way.let_go(),
                    _ => break,
                };
                if let Some(way) = &mut unruly {
                    self.lock().done.add(std::mem::take(&mut way.done));
                }
                for frame in going {
                    if !is_server {
                        self.stall_if_due(&frame);
                    }
                    if self.is_lost(&frame, is_server) {
                        continue;
                    }
                    if !self.is_let_on() || to.write_all(&frame).is_err() {
                        return;
                    }
                }
            }
            // The end of the stream is forwarded like its data.
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

    fn stall_if_due(&self, said: &[u8]) {
        let mut state = self.lock();
        let Some(words) = state.brink else { return };
        if said.windows(words.len()).any(|part| part == words.as_bytes()) {
            (state.brink, state.way) = (None, Way::Stall);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits until a piece may pass; false if it never will.
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

/// The lengths of the whole frames at the beginning: a line, and the payload after a message line.
fn frames(held: &[u8]) -> Vec<usize> {
    let (mut whole, mut start) = (Vec::new(), 0);
    while let Some(line) = held[start..].windows(2).position(|end| end == b"\r\n") {
        let words = unruly::message(&held[start..]);
        let payload = words.as_deref().and_then(|words| words.rsplit(' ').next());
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
fn a_frame_ends_where_its_payload_does() {
    assert_eq!(frames(b"SUB a 1\r\nPUB a 2\r\n\r\n\r\nHPUB a b 2 3\r\nabc\r\n"), [9, 13, 19]);
    let said = b"PING\r\nMSG a 1 4\r\n\r\n\r\n\r\nHMSG a 1 b 2 3\r\nabc\r\n+OK\r\nMSG b 2 9\r\nhalf";
    assert_eq!(frames(said), [6, 17, 21, 5]);
}
