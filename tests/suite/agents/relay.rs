//! What is between a client and an organism: an address that stays, also if the organism has a new one after a restart,
//! and that breaks answers off where a test says. It reads nothing of what passes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

#[derive(Default)]
struct State {
    to: Option<SocketAddr>,
    /// The bytes after which the next answers are broken off.
    cuts: Vec<usize>,
    /// How many answers were.
    cut: usize,
}

/// The address, and how it is controlled.
pub(super) struct Relay {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Relay {
    pub(super) fn new(to: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let state = Arc::new(Mutex::new(State { to: Some(to), ..State::default() }));
        let relay = Relay { address: listener.local_addr().unwrap(), state: state.clone() };
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let state = state.clone();
                thread::spawn(move || pass(near, &state));
            }
        });
        relay
    }

    /// Where it leads from now on.
    pub(super) fn lead_to(&self, to: SocketAddr) {
        self.state.lock().unwrap().to = Some(to);
    }

    /// Breaks the next answers off, each after so many bytes.
    pub(super) fn cut_after(&self, bytes: impl IntoIterator<Item = usize>) {
        self.state.lock().unwrap().cuts.extend(bytes);
    }

    /// How many answers were broken off.
    pub(super) fn count_cuts(&self) -> usize {
        self.state.lock().unwrap().cut
    }
}

/// Passes one connection. What cannot be reached is closed.
fn pass(near: TcpStream, state: &Mutex<State>) {
    let to = state.lock().unwrap().to;
    let Some(far) = to.and_then(|to| TcpStream::connect(to).ok()) else { return };
    let (mut from_near, mut to_far) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    thread::spawn(move || {
        copy(&mut from_near, &mut to_far, usize::MAX);
        let _closed = to_far.shutdown(std::net::Shutdown::Write);
    });
    let (mut from_far, mut to_near) = (far, near);
    let mut first = [0; 1];
    // A cut is for an answer that begins.
    if !matches!(from_far.read(&mut first), Ok(1)) || to_near.write_all(&first).is_err() {
        let _closed = to_near.shutdown(std::net::Shutdown::Both);
        return;
    }
    let most = state.lock().unwrap().cuts.pop();
    let is_cut = copy(&mut from_far, &mut to_near, most.unwrap_or(usize::MAX));
    if is_cut {
        state.lock().unwrap().cut += 1;
    }
    let _closed = (from_far.shutdown(std::net::Shutdown::Both), to_near.shutdown(std::net::Shutdown::Both));
}

/// Copies until one side ends, or so many bytes have passed. Returns whether it was the bytes.
fn copy(from: &mut TcpStream, to: &mut TcpStream, mut left: usize) -> bool {
    let mut part = [0; 4096];
    while left > 0 {
        let most = part.len().min(left);
        let Ok(read @ 1..) = from.read(&mut part[..most]) else { return false };
        if to.write_all(&part[..read]).is_err() {
            return false;
        }
        left -= read;
    }
    true
}
