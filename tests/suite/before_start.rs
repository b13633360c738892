//! The checks before the first message: by `systole doctor`, and by `systole run` on its terminal. Programs that
//! cannot start, variables that are not set, a port that is taken, and a port that becomes free a moment later.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use systole_doors::http::bind_address;

use crate::program::{Running, systole, systole_with};

const XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified">
  <xs:element name="dig" type="xs:string"/></xs:schema>"#;

/// A folder with an organism of one listener, with `more` below its other sections.
fn folder(listener: &str, more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dig.xsd"), XSD).unwrap();
    let more = if more.contains("console:") {
        more.to_owned()
    } else {
        format!("{more}console: {{listen: '127.0.0.1:0'}}\n")
    };
    let yaml = format!(
        "organism: {{name: hello}}\n{more}listeners:\n  digger: {{{listener}, schema: dig.xsd, accepts: [dig], entry: true}}\n"
    );
    fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    folder
}

/// The output of `doctor` without line breaks, and its exit code.
fn doctor(folder: &Path, variables: &[(&str, &str)]) -> (String, Option<i32>) {
    let ran = systole_with(folder, &["doctor"], variables);
    (ran.stdout.split_whitespace().collect::<Vec<_>>().join(" "), ran.code)
}

const STAYS: &str = "run: [sh, -c, 'while read -r line; do :; done']";

#[test]
fn doctor_starts_what_stays_once_and_tells_why_it_cannot() {
    let good = folder(STAYS, "");
    let (said, exit) = doctor(good.path(), &[]);
    assert!(said.contains("ok listener: digger: its program starts and stops"), "{said}");
    assert_eq!(exit, Some(0), "{said}");
    let rows = [
        (
            "run: [sh, -c, 'echo no such table >&2; exit 4']",
            "digger: exited 4 after ",
            "last words on stderr: no such table",
        ),
        (
            "run: [python3, missing.py]",
            "digger: python3 cannot run missing.py: there is no such file in ",
            "try: make `python3 missing.py` run in ",
        ),
        (
            "run: [python3, missing.py], mode: once",
            "digger: python3 cannot run missing.py: there is no such file in ",
            "problem listener",
        ),
        ("run: [./nowhere]", "digger: cannot start ./nowhere", "there is no such program"),
    ];
    for (listener, first, second) in rows {
        let (said, exit) = doctor(folder(listener, "").path(), &[]);
        assert!(said.contains(first) && said.contains(second), "{listener}: {said}");
        assert_eq!(exit, Some(1), "{listener}: {said}");
    }
    // A program with `mode: once` is not started without a delivery.
    let once = folder("run: [sh, -c, 'echo > started'], mode: once", "");
    let (said, exit) = doctor(once.path(), &[]);
    assert!(said.contains("ok listener: digger: its program is there") && exit == Some(0), "{said}");
    assert!(!once.path().join("started").exists());
    // `doctor` starts nothing of an organism that already runs.
    let running = Running::organism(good.path());
    let (said, exit) = doctor(good.path(), &[]);
    assert!(said.contains("ok listeners: not started here: process "), "{said}");
    assert_eq!(exit, Some(0), "{said}");
    drop(running);
}

#[test]
fn doctor_tells_of_each_variable_that_the_file_names() {
    let more = "clients: {web: {token_env: WEB_TOKEN}}\nmodels: {main: {provider: openai, model: m, key_env: MAIN_KEY}, \
                spare: {provider: openai, model: m, key_env: SPARE_KEY}}\n\
                agents: {thinker: {model: main, prompt: {identity: You think.}}}\n";
    let folder = folder(&format!("{STAYS}, pass: [REGION]"), more);
    let (said, exit) = doctor(folder.path(), &[]);
    for wanted in [
        "problem environment: clients.web.token_env: WEB_TOKEN is not set in the environment",
        "problem environment: the variable MAIN_KEY, which models.main.key_env names, is not set",
        "note environment: the variable SPARE_KEY, which models.spare.key_env names, is not set",
        "note environment: REGION is not set, and digger has it under `pass`",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert_eq!(exit, Some(3), "{said}");
    let set =
        [("WEB_TOKEN", "0123456789abcdef0123"), ("MAIN_KEY", "k"), ("SPARE_KEY", "k"), ("REGION", "eu")];
    let (said, exit) = doctor(folder.path(), &set);
    assert!(said.contains("ok environment: 4 variables are set that the file names"), "{said}");
    assert!(!said.contains("0123456789abcdef0123") && exit == Some(0), "{said}");
}

#[test]
fn doctor_tells_whether_the_port_of_the_console_is_free() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let folder = folder(STAYS, &format!("console: {{listen: '{address}'}}\n"));
    let (said, exit) = doctor(folder.path(), &[]);
    assert!(said.contains(&format!("problem console: {address} is in use by another program")), "{said}");
    assert_eq!(exit, Some(5), "{said}");
    drop(taken);
    let (said, _) = doctor(folder.path(), &[]);
    assert!(said.contains(&format!("ok console: {address} is free")), "{said}");
    let running = Running::organism(folder.path());
    let (said, exit) = doctor(folder.path(), &[]);
    assert!(said.contains(&format!("ok console: {address} is used by process ")), "{said}");
    assert_eq!(exit, Some(0), "{said}");
    drop(running);
}

#[test]
fn run_says_at_its_start_what_cannot_start() {
    for mode in ["stay", "once"] {
        let folder = folder(&format!("run: [python3, missing.py], mode: {mode}"), "");
        let mut running = Running::start(folder.path(), &["run"]);
        let said = running.says("digger: ");
        assert!(said.contains("missing.py"), "{mode}: {said}");
        assert_eq!(running.interrupt().code, Some(130), "{mode}");
    }
}

#[test]
fn run_says_which_address_is_in_use_and_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let folder = folder(STAYS, &format!("console: {{listen: '{address}'}}\n"));
    let ran = systole(folder.path(), &["run"]);
    let wanted = format!(
        "{address} is in use by another program: stop it, or name another address under `console.listen`"
    );
    assert!(ran.code == Some(5) && ran.stderr.contains(&wanted), "{ran:?}");
}

#[tokio::test]
async fn an_address_that_a_dying_process_still_holds_is_tried_again() {
    let dying = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = dying.local_addr().unwrap();
    let mut binding = pin!(bind_address(address));
    assert!(tokio::time::timeout(Duration::ZERO, &mut binding).await.is_err(), "it is in use");
    drop(dying);
    assert_eq!(binding.await.unwrap().local_addr().unwrap(), address);
}

/// A server that lists its models once, as llama.cpp, vLLM and others write them.
fn list_models(owner: &str) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = format!(
        r#"{{"object": "list", "data": [{{"id": "m", "object": "model", "created": 1, "owned_by": "{owner}"}}]}}"#
    );
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        assert!(head.starts_with(b"GET /v1/models HTTP/1.1\r\n"), "{}", String::from_utf8_lossy(&head));
        stream.write_all(answer.as_bytes()).unwrap();
    });
    (url, thread)
}

#[test]
fn doctor_proposes_the_server_that_says_which_program_it_is() {
    for (owner, proposed) in [
        ("llamacpp", Some("llama.cpp")),
        ("vllm", Some("vllm")),
        ("sglang", Some("sglang")),
        ("openai", None),
    ] {
        for (path, known) in [("", ""), ("/v1/", ""), ("", ", server: vllm")] {
            let (url, asked) = list_models(owner);
            let models =
                format!("models: {{main: {{provider: openai, model: m, url: '{url}{path}'{known}}}}}\n");
            let folder = folder(STAYS, &models);
            let (said, exit) = doctor(folder.path(), &[]);
            let wanted = proposed.filter(|_| known.is_empty());
            assert_eq!(said.contains("and holds no answer to its form"), wanted.is_some(), "{owner}: {said}");
            let fix = wanted.map(|server| format!("models.main.server: {server}"));
            assert!(fix.is_none_or(|fix| said.contains(&fix)), "{owner}: {said}");
            assert_eq!(exit, Some(0), "{said}");
            if known.is_empty() {
                asked.join().unwrap();
            }
        }
    }
}
