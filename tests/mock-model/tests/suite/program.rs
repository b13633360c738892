//! The program itself, from its first line to its last.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const PATIENCE: Duration = Duration::from_secs(60);
const ASKS: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

/// The program, to be run in `folder`.
fn mock(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole-mock-model"));
    command.args(arguments).current_dir(folder);
    command
}

/// Starts it and returns it with the address that it printed.
fn started(folder: &Path, arguments: &[&str]) -> (Child, String) {
    let mut command = mock(folder, arguments);
    let mut mock = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(mock.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim_end().strip_prefix("listens on http://127.0.0.1:").expect("the first line");
    (mock, format!("127.0.0.1:{port}"))
}

fn stderr(ran: &Output) -> String {
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

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
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("replies.yaml"), "- {say: Hello you}\n- {hang: true}\n").unwrap();
        let arguments = ["--script", "replies.yaml", "--log", "asked.jsonl", "--window", "100"];
        let (mock, address) = started(folder.path(), &arguments);
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
        kill_process(Pid::from_child(&mock), signal).unwrap();
        let ran = mock.wait_with_output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{ran:?}");
        assert!(stderr(&ran).ends_with("stopped; 2 requests were asked\n"), "{ran:?}");
    }
}

#[test]
fn start_errors_are_reported_with_place_and_fix() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.yaml"), "- say: a\n- sya: b\n").unwrap();
    std::fs::write(folder.path().join("good.yaml"), "- say: a\n").unwrap();
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
        let ran = mock(folder.path(), arguments).output().unwrap();
        assert_eq!(ran.status.code(), Some(code), "{ran:?}");
        assert!(stderr(&ran).contains(wanted), "wanted {wanted:?}: {ran:?}");
        assert_eq!(ran.stdout, b"");
    }
}

#[test]
fn the_page_has_every_option_and_no_other() {
    let help = mock(Path::new("."), &["--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let options = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let options: BTreeSet<&str> = options.filter_map(|line| line.split(' ').next()).collect();
    let page = include_str!("../../../../docs/reference/mock-model.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `--")?.split(' ').next());
    assert_eq!(rows.collect::<BTreeSet<_>>(), options);
}
