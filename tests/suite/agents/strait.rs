//! A proxy that everything passes: requests of agents to their model, and calls of a program. It holds the traffic at
//! a chosen place, so that a killing test knows to the byte what has passed. It changes nothing else, and asserts
//! nothing.

use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use crate::program::PATIENCE;

/// The kind of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Passing {
    /// A request to the model, in this turn of its call.
    Asked(u32),
    /// A call of the program.
    Tool,
}

/// How much has passed when the traffic is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Until {
    /// Nothing: the request has not left, or the program has not answered.
    Before,
    /// This many thousandths of the answer.
    Permille(usize),
}

/// Where to hold the traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    pub(super) what: Passing,
    /// The hold catches the item with this number, from 1.
    pub(super) number: u64,
    pub(super) until: Until,
}

#[derive(Default)]
struct State {
    hold: Option<Hold>,
    is_held: bool,
    /// How often all held traffic was released.
    freed: u64,
    /// Faults of the strait itself. A connection that broke because its organism was killed is not a fault.
    faults: Vec<String>,
}

#[derive(Default)]
struct StraitGate {
    state: Mutex<State>,
    changed: Condvar,
}

/// A handle of the proxy, for the test that controls it.
pub(super) struct Strait(Arc<StraitGate>);

impl Strait {
    pub(super) fn new() -> Strait {
        Strait(Arc::default())
    }

    /// Listens on a new address in front of the given one.
    pub(super) fn before(&self, to: SocketAddr) -> SocketAddr {
        let gate = self.0.clone();
        serve(move |near| gate.asked(near, to))
    }

    /// An address that a program connects to when it is called, and that lets it continue.
    pub(super) fn tool(&self) -> SocketAddr {
        let gate = self.0.clone();
        serve(move |near| gate.called(near))
    }

    /// Holds the next traffic that matches.
    pub(super) fn arm(&self, hold: Hold) {
        let mut state = self.0.state.lock().unwrap();
        (state.hold, state.is_held) = (Some(hold), false);
    }

    /// Waits until something is held.
    pub(super) fn held(&self) {
        let state = self.0.state.lock().unwrap();
        let passing = |state: &mut State| !state.is_held;
        let (state, over) = self.0.changed.wait_timeout_while(state, PATIENCE, passing).unwrap();
        assert!(!over.timed_out(), "nothing passes there: {:?}", state.hold);
    }

    /// The faults of the strait, so that a request that it dropped does not count as lost by the organism.
    pub(super) fn faults(&self) -> Vec<String> {
        self.0.state.lock().unwrap().faults.clone()
    }

    /// Closes the connection of everything that is held. From now on nothing is held.
    pub(super) fn free(&self) {
        let mut state = self.0.state.lock().unwrap();
        state.freed += 1;
        state.hold = None;
        self.0.changed.notify_all();
    }
}

impl StraitGate {
    /// Whether this is the traffic to hold. It matches only once.
    fn meets(&self, what: Passing) -> Option<Until> {
        let mut state = self.state.lock().unwrap();
        let hold = state.hold.as_mut().filter(|hold| hold.what == what)?;
        hold.number -= 1;
        let until = (hold.number == 0).then_some(hold.until)?;
        state.hold = None;
        Some(until)
    }

    fn hold(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_held = true;
        self.changed.notify_all();
        let freed = state.freed;
        let still = |state: &mut State| state.freed == freed;
        drop(self.changed.wait_timeout_while(state, PATIENCE, still).unwrap());
    }

    /// One request and its answer. A client that was killed gets no more.
    fn asked(&self, mut near: TcpStream, to: SocketAddr) {
        let request = match request(&mut near) {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(error) => return self.notes("a request cannot be read", &error),
        };
        let until = self.meets(Passing::Asked(turn(&request)));
        if until == Some(Until::Before) {
            return self.hold();
        }
        let mut answer = Vec::new();
        let passed = TcpStream::connect(to)
            .and_then(|mut far| far.write_all(&request).and_then(|()| far.read_to_end(&mut answer)));
        if let Err(error) = passed {
            return self.notes("the model cannot be asked", &error);
        }
        let much = match until {
            Some(Until::Permille(part)) => answer.len() * part / 1000,
            _ => answer.len(),
        };
        let _gone = near.write_all(&answer[..much]);
        if until.is_some() {
            self.hold();
        }
    }

    fn notes(&self, what: &str, error: &Error) {
        if error.kind() != ErrorKind::ConnectionReset {
            self.state.lock().unwrap().faults.push(format!("{what}: {error}"));
        }
    }

    fn called(&self, mut near: TcpStream) {
        let until = self.meets(Passing::Tool);
        if until != Some(Until::Before) {
            let _gone = near.write_all(b"go on\n");
        }
        if until.is_some() {
            self.hold();
        }
    }
}

fn serve(visit: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = door.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in door.incoming().flatten() {
            near.set_read_timeout(Some(PATIENCE)).unwrap();
            let visit = visit.clone();
            std::thread::spawn(move || visit(near));
        }
    });
    address
}

/// A whole request, which asks to close its connection after the answer. None if the client breaks off.
fn request(near: &mut TcpStream) -> Result<Option<Vec<u8>>, Error> {
    let (mut all, mut part) = (Vec::new(), [0; 8192]);
    loop {
        if let Some(end) = all.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if all.len() >= end + 4 + length {
                all.splice(end..end, *b"\r\nconnection: close");
                return Ok(Some(all));
            }
        }
        match near.read(&mut part) {
            Ok(0) => return Ok(None),
            Ok(read) => all.extend_from_slice(&part[..read]),
            // A signal for this process, such as the death of a child, may interrupt a read that has a timeout.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The turn that a request asks for: the model has spoken once in each turn before.
pub(super) fn turn(request: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(request);
    u32::try_from(text.matches("\"role\":\"assistant\"").count()).unwrap() + 1
}
