//! `systole listener mock-model`: the program itself, from its first line to its last. Its own crate tests its
//! answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::organism::folder;
use crate::program::{PATIENCE, Running, systole};

const ASKS: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

fn answered(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: m\r\nconnection: close\r\nauthorization: Bearer sk-1234-5678\r\n"
    );
    stream.write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn it_says_where_it_listens_answers_from_its_script_and_ends_with_a_signal() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 0)] {
        let folder = folder(&[("replies.yaml", "- {say: Hello you}\n- {hang: true}\n")]);
        let arguments =
            ["listener", "mock-model", "--script", "replies.yaml", "--log", "asked.jsonl", "--window", "100"];
        let mut mock = Running::start(folder.path(), &arguments);
        let line = mock.shows("listens on ");
        let address = line.trim_end().strip_prefix("listens on http://127.0.0.1:").expect("the first line");
        let address = format!("127.0.0.1:{address}");
        let answer = answered(&address, "POST", "/v1/chat/completions", ASKS);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.contains("Hello you"), "{answer}");
        let seen = answered(&address, "GET", "/seen", "");
        assert!(seen.contains(r#""key":"5678""#) && seen.contains(r#""end":"sent""#), "{seen}");
        assert!(answered(&address, "GET", "/count", "").contains(r#""requests":1"#));
        let log = std::fs::read_to_string(folder.path().join("asked.jsonl")).unwrap();
        assert!(log.lines().count() == 1 && log.contains(r#""path":"/v1/chat/completions""#), "{log}");
        assert!(!log.contains("sk-1234"), "{log}");

        // It ends although a client waits for an answer that never comes.
        let mut waits = TcpStream::connect(&address).unwrap();
        waits.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: m\r\nauthorization: Bearer k\r\n";
        waits.write_all(format!("{head}content-length: {}\r\n\r\n{ASKS}", ASKS.len()).as_bytes()).unwrap();
        waits.read_exact(&mut [0]).unwrap();
        mock.signal(signal);
        let ran = mock.end();
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stdout.starts_with("listens on http://127.0.0.1:"), "{ran:?}");
        assert!(ran.stderr.ends_with("stopped; 2 requests were asked\n"), "{ran:?}");
    }
}

#[test]
fn start_errors_are_reported_with_place_and_fix() {
    let folder = folder(&[("bad.yaml", "- say: a\n- sya: b\n"), ("good.yaml", "- say: a\n")]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, code, wanted) in [
        (&["--script", "bad.yaml"][..], 3, "error: bad.yaml:2:3: unknown field `sya`"),
        (&["--script", "nowhere.yaml"][..], 3, "error: nowhere.yaml: no such file"),
        (&["--script", "good.yaml", "--listen", "0.0.0.0:0"][..], 2, "other machines reach 0.0.0.0"),
        (&["--script", "good.yaml", "--listen", &taken][..], 5, "another `listen`"),
        (&["--script", "good.yaml", "--log", "no/where"][..], 5, "another `log`"),
        (&[][..], 2, "--script"),
    ] {
        let ran = systole(folder.path(), &[&["listener", "mock-model"], arguments].concat());
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains(wanted), "wanted {wanted:?}: {ran:?}");
        assert_eq!(ran.stdout, "");
    }
}
