//! A server that does what no server should is refused or bounded, and other calls go on.

use rmcp::model::{ElicitResult, ElicitationAction, JsonObject};
use systole_mcp::client::{
    AskedCall, McpConnection, NoConnection, Revision, ToolCallEnd, ToolCallFault, WireEnd,
};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::tools::{called, connect, hostile, text};

/// Calls the tool of the server that misbehaves as `how` says. Returns the result as text, and the signs of progress.
async fn work(how: &str) -> (Result<String, ToolCallFault>, Vec<String>) {
    let server = connect(hostile(how), Revision::Legacy).await.unwrap();
    let (result, progress) = called(&server.connection, "work", JsonObject::new()).await;
    (result.map(|result| text(&result)), progress)
}

#[tokio::test]
async fn g3_a_result_of_50_mb_ends_the_connection_and_is_not_kept() {
    assert_eq!(work("large").await.0, Err(ToolCallFault::Gone(WireEnd::TooLong)));
}

#[tokio::test]
async fn g3_a_server_that_dies_in_a_call_is_reported() {
    assert_eq!(work("dies").await.0, Err(ToolCallFault::Gone(WireEnd::Closed)));
}

#[tokio::test]
async fn g3_a_flood_of_progress_is_thinned_out_and_bounded() {
    let (text, progress) = work("floods").await;
    assert_eq!(text.as_deref(), Ok("done"));
    // Four signs a second at most, in the ten seconds that 2,000 lines take.
    assert!(!progress.is_empty() && progress.len() <= 64, "{}", progress.len());
    assert!(progress.iter().all(|words| words.chars().count() < 1_050));
}

#[tokio::test]
async fn g3_a_server_gets_neither_a_model_nor_folders() {
    let (text, _) = work("asks").await;
    assert_eq!(text.as_deref(), Ok("[-32601, -32601, -32601]"));
}

#[tokio::test]
async fn g3_an_older_server_asks_a_person_while_its_call_is_open() {
    let server = connect(hostile("elicits"), Revision::Legacy).await.unwrap();
    let sender = || mpsc::channel(1).0;
    let mut end =
        server.connection.call_tool("work", JsonObject::new(), sender(), std::future::pending()).await;
    for action in [ElicitationAction::Accept, ElicitationAction::Decline] {
        let Ok(ToolCallEnd::Asked(asked)) = end else { panic!("{end:?}") };
        let AskedCall { question, call } = *asked;
        assert!(format!("{:?}", question.asked).contains("your key?"));
        question.answer.send(ElicitResult::new(action)).unwrap();
        end = server.connection.wait_for_result(call, sender(), std::future::pending()).await;
    }
    let Ok(ToolCallEnd::Result(result)) = end else { panic!("{end:?}") };
    assert_eq!(text(&result), r#"[{"action": "accept"}, {"action": "decline"}]"#);
    // Over stdio nothing says to which of two calls a question belongs.
    let server = connect(hostile("elicits-among-two"), Revision::Legacy).await.unwrap();
    let call = || called(&server.connection, "work", JsonObject::new());
    let ((one, _), (other, _)) = tokio::join!(call(), call());
    let both = [text(&one.unwrap()), text(&other.unwrap())].join("; ");
    assert!(both.contains("several calls are open") && both.contains("done"), "{both}");
}

#[tokio::test]
async fn g3_some_stray_lines_are_skipped_and_many_end_the_connection() {
    assert_eq!(work("chatters").await.0.as_deref(), Ok("done"));
    let babbles = work("babbles").await.0;
    assert_eq!(babbles, Err(ToolCallFault::Gone(WireEnd::NoMcp("no message at all".to_owned()))));
}

#[tokio::test]
async fn g3_an_answer_that_was_not_asked_for_is_refused() {
    for how in ["task", "nonsense"] {
        let ended = work(how).await.0;
        assert!(matches!(ended, Err(ToolCallFault::NoResult(_))), "{how}: {ended:?}");
    }
}

#[tokio::test]
async fn g3_a_server_that_hangs_is_told_of_the_cancel() {
    let server = connect(hostile("hangs"), Revision::Legacy).await.unwrap();
    let (heard, _progress) = mpsc::channel(1);
    let ended = server.connection.call_tool("work", JsonObject::new(), heard, std::future::ready(())).await;
    assert!(matches!(ended, Ok(ToolCallEnd::Cancelled)), "{ended:?}");
}

#[tokio::test]
async fn g3_too_many_tools_and_endless_pages_are_refused() {
    for how in ["many-tools", "endless-pages"] {
        let server = connect(hostile(how), Revision::Legacy).await.unwrap();
        assert_eq!(server.connection.list_tools().await.err(), Some(NoConnection::TooMany), "{how}");
    }
    let server = connect(hostile("same-page"), Revision::Legacy).await.unwrap();
    assert_eq!(server.connection.list_tools().await.unwrap().len(), 2);
}

#[tokio::test]
async fn g3_a_program_that_ended_before_it_was_asked_is_reported() {
    // Its input is gone, and the end of its output did not come yet.
    let ((output, _still_open), (input, ended)) = (tokio::io::duplex(64), tokio::io::duplex(64));
    drop(ended);
    let unconnected = McpConnection::connect_over(output, input, Revision::Legacy).await.err();
    assert_eq!(unconnected, Some(NoConnection::Ended(WireEnd::Closed)));
}

#[tokio::test]
async fn g3_a_program_that_is_no_server_is_reported() {
    for (command, words) in [("echo hello", "closed its output"), ("yes hello", "hello")] {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        let unconnected = connect(shell, Revision::Legacy).await.err().unwrap();
        assert!(unconnected.to_string().contains(words), "{unconnected}");
    }
}
