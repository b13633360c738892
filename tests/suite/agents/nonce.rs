//! A proxy between an agent and the mock. It does what a script cannot: it copies the code that a request contains
//! into the answer, as an instructed model would. It changes nothing else.

use std::io::{Read, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The placeholder for the code in a script. It is as long as the code, so no length changes.
pub(super) const BLANK: &str = "0n0n0n0n";

/// Listens on a new address, and forwards everything to the given address. It ends with the test.
pub(super) fn between(to: SocketAddr) -> SocketAddr {
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = door.local_addr().unwrap();
    std::thread::spawn(move || {
        for near in door.incoming().flatten() {
            let far = TcpStream::connect(to).unwrap();
            let told = Arc::new(Mutex::new(None));
            let (one, other, heard) = (near.try_clone().unwrap(), far.try_clone().unwrap(), told.clone());
            std::thread::spawn(move || requests(one, other, &heard));
            std::thread::spawn(move || answers(far, near, &told));
        }
    });
    address
}

/// The last code that a request contains.
fn code_in(text: &str) -> Option<String> {
    let told = text.match_indices("<systole-").filter_map(|(at, begin)| {
        let code = text.get(at + begin.len()..at + begin.len() + BLANK.len())?;
        code.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| code.to_owned())
    });
    told.last()
}

fn requests(mut near: TcpStream, mut far: TcpStream, told: &Mutex<Option<String>>) {
    let mut all = Vec::new();
    let mut piece = [0; 65_536];
    while let Ok(read @ 1..) = near.read(&mut piece) {
        all.extend_from_slice(&piece[..read]);
        if let Some(code) = code_in(&String::from_utf8_lossy(&all)) {
            *told.lock().unwrap() = Some(code);
        }
        if far.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    // A client that has already gone needs no notice.
    let _gone = far.shutdown(Shutdown::Write);
}

fn answers(mut far: TcpStream, mut near: TcpStream, told: &Mutex<Option<String>>) {
    let mut held: Vec<u8> = Vec::new();
    let mut piece = [0; 65_536];
    while let Ok(read @ 1..) = far.read(&mut piece) {
        held.extend_from_slice(&piece[..read]);
        if let Some(code) = told.lock().unwrap().as_ref() {
            while let Some(at) = held.windows(BLANK.len()).position(|window| window == BLANK.as_bytes()) {
                held[at..at + BLANK.len()].copy_from_slice(code.as_bytes());
            }
        }
        // A cut placeholder waits for its rest.
        let cut =
            (1..BLANK.len()).rev().find(|length| held.ends_with(&BLANK.as_bytes()[..*length])).unwrap_or(0);
        let rest = held.split_off(held.len() - cut);
        if near.write_all(&held).is_err() {
            break;
        }
        held = rest;
    }
    let _gone = near.write_all(&held).and_then(|()| near.shutdown(Shutdown::Write));
}
