//! The connections of clients: silent ones take no place of others, who comes back with many others is answered, and the
//! requests of one client leave room for everyone. Every process here is real.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use systole_organism::runfile::RunFile;
use tokio::time::Instant;

use crate::neighbours::{ANN, BEN, FILE, TOKENS};
use crate::organism::{ECHO_XSD, PATIENT_PY, folder, say};
use crate::program::{Running, connect, page, run_file};

fn house() -> tempfile::TempDir {
    folder(&[("organism.yaml", FILE), ("echo.xsd", ECHO_XSD), ("echo.py", PATIENT_PY)])
}

/// The organism with that many open files.
fn start_limited(folder: &Path, files: usize) -> (Running, RunFile) {
    let variables: Vec<String> = TOKENS.iter().map(|(name, token)| format!("{name}={token}")).collect();
    let before = format!("ulimit -n {files} && export {}", variables.join(" "));
    let mut running = Running::under(folder, &before, &["run"]);
    running.says("its log is");
    (running, run_file(folder))
}

/// Sends the head of a request.
fn begins(stream: &mut TcpStream, token: &str, request: &str, more: &str) {
    let head =
        format!("{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
}

/// The status of the answer, and what was read of it.
fn status(stream: &mut TcpStream) -> (u16, String) {
    let mut answer = [0; 4096];
    let many = stream.read(&mut answer).unwrap();
    let text = String::from_utf8_lossy(&answer[..many]).into_owned();
    let status = text.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|s| s.parse().ok());
    (status.unwrap_or_else(|| panic!("no status: {text:?}")), text)
}

fn asks_status(stream: &mut TcpStream, token: &str) -> u16 {
    begins(stream, token, "GET /v1/approvals", "");
    status(stream).0
}

/// A connection that has shown a token, and is idle.
fn knows(run: &RunFile, token: &str) -> TcpStream {
    let mut stream = connect(run);
    assert_eq!(asks_status(&mut stream, token), 200);
    stream
}

/// Whether the organism has closed it, in order and without a word.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0; 64]);
    stream.set_nonblocking(false).unwrap();
    match read {
        Ok(0) => true,
        Err(error) if error.kind() == ErrorKind::WouldBlock => false,
        other => panic!("{other:?}"),
    }
}

#[test]
fn d12_silent_connections_with_a_token_take_no_place_of_others() {
    // Any connection is closed when it was idle for two minutes, which says nothing on a machine that is that slow.
    let is_told = (0..5).any(|_| {
        let began = Instant::now();
        closes_the_idle_longest(&|| began.elapsed() > Duration::from_secs(90))
    });
    assert!(is_told, "five times, the ones that were idle longest were not closed within 90 s");
}

/// `false` if it was too late to tell.
fn closes_the_idle_longest(is_late: &dyn Fn() -> bool) -> bool {
    let folder = house();
    let (_running, run) = start_limited(folder.path(), 200);
    let mut other = knows(&run, BEN);
    let mut silent: Vec<TcpStream> = (0..500).map(|_| knows(&run, ANN)).collect();
    // A sixteenth of its files is for those that are idle, and one of them is of the other client.
    let open = loop {
        let open: Vec<usize> = (0..500).filter(|n| !is_closed(&mut silent[*n])).collect();
        if is_late() {
            return false;
        }
        if open.len() <= 11 {
            break open;
        }
    };
    assert_eq!(open.len(), 11, "{open:?}");
    // Which of two that came one after the other is idle first is not settled.
    assert!(open.iter().all(|n| *n >= 470), "the ones that were idle longest are closed: {open:?}");
    for one in open {
        assert_eq!(asks_status(&mut silent[one], ANN), 200);
    }
    assert!(!is_closed(&mut other), "they were all of one client");
    assert_eq!(asks_status(&mut other, BEN), 200);
    true
}

/// Asks for a large file many times at once, and reads no answer.
fn floods(stream: &mut TcpStream, run: &RunFile, file: &str) {
    let heads = format!("GET {file} HTTP/1.1\r\nHost: {}\r\n\r\n", run.address).repeat(400);
    // The connection may have been ended for a newer one.
    let _sent = stream.write_all(heads.as_bytes());
}

#[test]
fn d12_who_reads_no_answer_takes_no_place_of_others() {
    let folder = house();
    let (running, run) = start_limited(folder.path(), 200);
    let page = page(&run, "GET", "/", "text/html", &[]).body;
    let file = page.split('"').find(|text| text.starts_with("/assets/") && text.ends_with(".css")).unwrap();
    let flooding = |mut stream: TcpStream| {
        floods(&mut stream, &run, file);
        stream
    };
    let mut unread: Vec<TcpStream> = (0..200).map(|_| flooding(connect(&run))).collect();
    unread.extend((0..100).map(|_| flooding(knows(&run, ANN))));
    assert_eq!(asks_status(&mut connect(&run), BEN), 200);
    drop((unread, running));
}

/// Someone else is answered beside 300 forms that begin so, each on a connection that has shown a token.
fn is_answered_beside(form: &str) {
    let folder = house();
    let (running, run) = start_limited(folder.path(), 200);
    let (kind, host) = ("Content-Type: application/x-www-form-urlencoded", run.address);
    let begun = (0..300).map(|_| {
        let mut stream = knows(&run, ANN);
        let head = format!("POST /session HTTP/1.1\r\nHost: {host}\r\n{kind}\r\n{form}");
        stream.write_all(head.as_bytes()).unwrap();
        stream
    });
    let begun: Vec<TcpStream> = begun.collect();
    assert_eq!(asks_status(&mut connect(&run), BEN), 200);
    drop((begun, running));
}

#[test]
fn d12_a_request_that_needs_no_token_and_is_never_whole_takes_no_place_of_others() {
    is_answered_beside("Content-Length: 100\r\n\r\nx");
}

#[test]
fn d12_a_request_that_is_refused_in_its_body_takes_no_place_of_others() {
    is_answered_beside(&format!("Transfer-Encoding:{}chunked\r\n\r\n40\r\na\n", " ".repeat(300)));
}

#[test]
fn d12_clients_that_come_back_together_are_all_answered() {
    let folder = house();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let run = run_file(folder.path());
    let mut back: Vec<TcpStream> = (0..600).map(|_| connect(&run)).collect();
    for stream in &mut back {
        begins(stream, BEN, "GET /v1/approvals", "");
    }
    for stream in &mut back {
        assert_eq!(status(stream).0, 200);
    }
    drop(organism);
}

#[test]
fn d12_the_requests_of_one_client_leave_room_for_others_and_for_the_operator() {
    let file = FILE.replace("ANN_TOKEN}", "ANN_TOKEN, roles: [read]}");
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", PATIENT_PY)]);
    let (mut running, run) = start_limited(folder.path(), 100);
    let follows = |token: &str| {
        let mut stream = connect(&run);
        begins(&mut stream, token, "GET /v1/events", "");
        let (status, told) = status(&mut stream);
        (stream, status, told)
    };
    // Three quarters of the files are for requests, and half of those for one client.
    let streams: Vec<_> = (0..37).map(|_| follows(ANN)).collect();
    assert!(streams.iter().all(|(_, status, _)| *status == 200));
    let refused = |token: &str| {
        let mut stream = connect(&run);
        begins(&mut stream, token, "GET /v1/approvals", "");
        let (status, told) = status(&mut stream);
        assert_eq!(status, 503, "{told}");
        assert!(told.contains("\r\nretry-after: 1\r\n"), "{told}");
        told
    };
    let told = refused(ANN);
    assert!(told.contains("37 requests of ann are under way already, the most for one client"), "{told}");
    let mut held: Vec<TcpStream> = Vec::new();
    for number in 0..22 {
        held.push(waits(&run, &format!("k{number}")));
        // On a machine that stalls, many that come together and are not read yet would end for each other.
        running.shows("ben -> echo");
    }
    let told = refused(BEN);
    assert!(told.contains("59 requests are under way already, the most for all clients"), "{told}");
    let mut own = connect(&run);
    assert_eq!(asks_status(&mut own, run.token.secret()), 200, "the operator has places of her own");
    std::fs::write(folder.path().join("go"), "").unwrap();
    for stream in &mut held {
        assert_eq!(status(stream).0, 200);
    }
    assert_eq!(asks_status(&mut connect(&run), BEN), 200, "there is room again");
    drop(running);
}

/// A message of ben, whose sender waits for the outcome.
fn waits(run: &RunFile, key: &str) -> TcpStream {
    let (mut stream, body) = (connect(run), say("wait"));
    let length = body.len();
    let more = format!("Idempotency-Key: {key}\r\nSystole-Wait: 300\r\nContent-Length: {length}\r\n");
    begins(&mut stream, BEN, "POST /v1/messages", &more);
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

#[test]
#[ignore = "two minutes; part of make soak"]
fn d12_a_connection_on_which_nothing_is_asked_for_two_minutes_is_closed_and_who_waits_stays() {
    let file = FILE.replace("entry: true}", "entry: true, timeout: 10m}");
    let folder = folder(&[("organism.yaml", &file), ("echo.xsd", ECHO_XSD), ("echo.py", PATIENT_PY)]);
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let run = run_file(folder.path());
    let (mut idle, mut stream, mut waits) = (knows(&run, ANN), connect(&run), waits(&run, "k1"));
    begins(&mut stream, run.token.secret(), "GET /v1/events", "");
    assert_eq!(status(&mut stream).0, 200);
    assert_eq!(idle.read(&mut [0; 64]).unwrap(), 0, "it is closed without a word");
    assert!(!is_closed(&mut waits));
    assert_ne!(stream.read(&mut [0; 64]).unwrap(), 0, "a stream says that it lives");
    std::fs::write(folder.path().join("go"), "").unwrap();
    assert_eq!(status(&mut waits).0, 200);
    drop(organism);
}
