//! Servers that are no organism, or lie: each is noticed, in bounded memory, and the token goes to no other server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use super::{FarStage, failed, from};
use crate::program::Running;
use crate::reading::BOB;

/// A server that answers each request with what `answer` writes.
fn serves(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let head = head_of(&stream);
            answer(&head, &mut stream);
        }
    });
    address
}

fn head_of(stream: &TcpStream) -> String {
    let mut head = String::new();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if line.is_empty() {
            break;
        }
        head.push_str(&line);
        head.push('\n');
    }
    head
}

fn sends(stream: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // A client that has gone away reads nothing.
    let _gone = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

const STATUS: &str = r#"{"organism": "hello", "pid": 1, "config": "", "position": 9, "version": "0"}"#;

#[test]
fn h11_a_server_that_is_no_organism_is_named() {
    let away = tempfile::tempdir().unwrap();
    let pages = serves(|_, stream| sends(stream, "200 OK", "<html>welcome</html>"));
    let missing = serves(|_, stream| sends(stream, "404 Not Found", "nothing here"));
    let words = serves(|_, stream| stream.write_all(b"220 mail.example ESMTP\r\n").unwrap());
    let later = serves(|head, stream| match head.contains("/v1/status") {
        true => sends(stream, "200 OK", STATUS),
        false => sends(stream, "200 OK", "{\"records\": 1}"),
    });
    for (address, told) in [
        (pages, "not an organism"),
        (missing, "not an organism"),
        (words, "nothing answers"),
        (later, "not an organism"),
    ] {
        for command in [&["ps"][..], &["log", "-n", "0"], &["cancel", "@last"], &["approve"]] {
            let ran = from(away.path(), &format!("http://{address}"), BOB, command);
            assert_eq!(failed(&ran).0, Some(5), "{command:?} {ran:?}");
            assert!(ran.stderr.contains(told) && ran.stderr.contains("try: "), "{command:?} {ran:?}");
        }
    }
}

#[test]
fn h11_a_redirect_is_not_followed() {
    let away = tempfile::tempdir().unwrap();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = other.local_addr().unwrap();
    let server = serves(move |_, stream| {
        let head = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{to}/v1/status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
    });
    for command in [&["ps"][..], &["pause", "--all"], &["ask", "Who?"]] {
        let ran = from(away.path(), &format!("http://{server}"), BOB, command);
        assert_eq!(failed(&ran).0, Some(5), "{ran:?}");
        assert!(ran.stderr.contains(&format!("redirects to http://{to}/v1/status")), "{ran:?}");
    }
    other.set_nonblocking(true).unwrap();
    assert!(other.accept().is_err(), "nothing was sent to the other server");
}

#[test]
fn h11_an_endless_answer_ends_in_bounded_memory() {
    let away = tempfile::tempdir().unwrap();
    let server = serves(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
        let mut going = stream.write_all(head.as_bytes());
        let blanks = vec![b' '; 1 << 20];
        while going.is_ok() {
            going = stream.write_all(&blanks);
        }
    });
    let before = format!("ulimit -v 1500000; export SYSTOLE_URL=http://{server} SYSTOLE_TOKEN={BOB}");
    let ran = Running::under(away.path(), &before, &["ps"]).end();
    assert_eq!(failed(&ran).0, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("sends more than 64 MiB"), "{ran:?}");
}

/// A server in front of an organism that changes what it reads aloud.
fn lies(organism: SocketAddr, changed: impl Fn(&str, String) -> String + Send + 'static) -> SocketAddr {
    serves(move |head, stream| {
        let mut real = TcpStream::connect(organism).unwrap();
        let head = head.trim_end().replace('\n', "\r\n").replace("\r\nconnection: keep-alive", "");
        write!(real, "{head}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        real.read_to_string(&mut answer).unwrap();
        let (top, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = top.lines().next().unwrap().trim_start_matches("HTTP/1.1 ");
        sends(stream, status, &changed(&head, body.to_owned()));
    })
}

#[test]
fn h11_a_record_that_was_changed_on_the_way_is_damage() {
    let stage = FarStage::start();
    let organism = crate::program::run_file(stage.stage.path()).address;
    let rests = stage.stage.rests.clone();
    let honest = lies(organism, |_, body| body);
    let url = format!("http://{honest}");
    let ran = from(stage.away.path(), &url, BOB, &["log", &rests]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let records = |head: &str| head.contains("/v1/log/records");
    // A part with another text, a header with another sender, a record that another one follows, and another order.
    let liars = [
        lies(organism, move |head, body| match records(head) {
            true => body.replace("hello of bob", "hello of eve"),
            false => body,
        }),
        lies(organism, move |head, body| match records(head) {
            true => body.replace("\"from\":\"bob\"", "\"from\":\"eve\""),
            false => body,
        }),
        lies(organism, move |head, body| match records(head) {
            true => body.replace("\"seq\":2,", "\"seq\":3,"),
            false => body,
        }),
    ];
    for liar in liars {
        for command in [&["log", rests.as_str()][..], &["tree", &rests], &["find", "hello"]] {
            let ran = from(stage.away.path(), &format!("http://{liar}"), BOB, command);
            assert_eq!(ran.code, Some(7), "{command:?} {ran:?}");
            assert!(ran.stderr.contains("is damaged"), "{command:?} {ran:?}");
            assert!(!ran.stdout.contains("eve"), "{command:?} {ran:?}");
        }
    }
    let documents = lies(organism, |head, body| match head.contains("/v1/documents/") {
        true => body.replace("helper", "harper"),
        false => body,
    });
    let ran = from(stage.away.path(), &format!("http://{documents}"), BOB, &["ask", "Who?"]);
    assert_eq!((ran.code, ran.stderr.contains("has other bytes")), (Some(7), true), "{ran:?}");
    let approvals = lies(organism, |head, body| match head.contains("/v1/approvals") {
        true => body.replace("hello of alice", "hello of eve"),
        false => body,
    });
    let ran = from(stage.away.path(), &format!("http://{approvals}"), BOB, &["approve"]);
    assert_eq!((ran.code, ran.stderr.contains("does not have the hash")), (Some(5), true), "{ran:?}");
    stage.stage.organism.interrupt();
}
