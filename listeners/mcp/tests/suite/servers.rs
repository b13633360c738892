//! Servers that other people wrote.

use rmcp::model::CallToolResult;
use serde_json::json;
use systole_mcp::client::{McpConnection, Revision, ToolCallEnd};
use tokio::sync::mpsc;

use crate::tools::{arguments, called, connect, npm, python, text};

/// The result of a tool.
async fn result_of(connection: &McpConnection, tool: &str, given: serde_json::Value) -> CallToolResult {
    called(connection, tool, arguments(given)).await.0.unwrap()
}

#[tokio::test]
async fn g3_both_revisions_are_spoken() {
    // An older server knows no newer revision; this is how a pin finds out which one it speaks.
    assert!(connect(npm("everything", &["stdio"]), Revision::Modern).await.is_err());
    let everything = connect(npm("everything", &["stdio"]), Revision::Legacy).await.unwrap();
    let said = result_of(&everything.connection, "echo", json!({"message": "a < b"})).await;
    assert_eq!(text(&said), "Echo: a < b");
    let clock = connect(python("mcp_server_time"), Revision::Modern).await.unwrap();
    let now = result_of(&clock.connection, "get_current_time", json!({"timezone": "Asia/Tokyo"})).await;
    assert!(text(&now).contains("+09:00"), "{now:?}");
}

#[tokio::test]
async fn g3_the_tools_of_a_server_are_listed_whole() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let files = connect(npm("filesystem", &[folder]), Revision::Legacy).await.unwrap();
    let tools = files.connection.list_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert!(names.contains(&"read_text_file") && names.contains(&"edit_file"), "{names:?}");
    let memory = connect(npm("memory", &[]), Revision::Legacy).await.unwrap();
    assert_eq!(memory.connection.list_tools().await.unwrap().len(), 9);
}

#[tokio::test]
async fn g3_progress_comes_while_a_call_runs_and_a_cancel_ends_it() {
    let everything = connect(npm("everything", &["stdio"]), Revision::Legacy).await.unwrap();
    let connection = &everything.connection;
    let tool = "trigger-long-running-operation";
    let (ended, all) = called(connection, tool, arguments(json!({"duration": 2, "steps": 4}))).await;
    assert!(ended.is_ok() && all.iter().any(|words| words.contains("of 4")), "{ended:?} {all:?}");

    let (heard, mut progress) = mpsc::channel(8);
    let given = arguments(json!({"duration": 600, "steps": 600}));
    let begun = async {
        progress.recv().await;
    };
    let ended = connection.call_tool(tool, given, heard, begun).await;
    assert!(matches!(ended, Ok(ToolCallEnd::Cancelled)), "{ended:?}");
    let said = result_of(connection, "echo", json!({"message": "still here"})).await;
    assert_eq!(text(&said), "Echo: still here");
}

#[tokio::test]
async fn g3_a_tool_that_fails_has_answered() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let files = connect(npm("filesystem", &[folder]), Revision::Legacy).await.unwrap();
    let outside = result_of(&files.connection, "read_text_file", json!({"path": "/etc/passwd"})).await;
    assert_eq!(outside.is_error, Some(true));
    assert!(text(&outside).contains("denied"), "{outside:?}");
}
