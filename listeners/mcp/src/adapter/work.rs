//! One delivery: the payload becomes the arguments of a call, and the result becomes the reply.

use std::sync::Arc;

use rmcp::model::CallToolResult;
use systole_kit::envelope::Delivered;
use systole_kit::pipe::DeliveryLine;
use systole_kit::reply::{Item, ReplyContent};
use tokio::sync::mpsc;

use super::answer::{self, AnswerPayload};
use super::comparing::{PinnedTools, Uncompared};
use crate::client::{McpConnection, ToolCallEnd, ToolCallFault};
use crate::schema::{ToolElement, ToolVocabulary};

/// What all deliveries share.
pub(super) struct Work {
    pub(super) connection: McpConnection,
    pub(super) vocabulary: ToolVocabulary,
    pub(super) pinned: PinnedTools,
}

impl Work {
    /// Answers a delivery.
    pub(super) async fn call(self: Arc<Self>, asked: Delivered, line: DeliveryLine) -> ReplyContent {
        let element = &*asked.payload.name().local;
        let Some(tool) = self.vocabulary.tool(element) else {
            return failure("mcp.unknown-tool", format!("no pinned tool takes <{element}>"));
        };
        let arguments = match self.vocabulary.arguments(asked.payload.bytes()) {
            Ok(found) => found.arguments,
            Err(fault) => return payload(answer::failed("mcp.invalid-arguments", &fault.to_string())),
        };
        if let Err(end) = self.compared_lately().await {
            return end;
        }
        let (heard, mut progress) = mpsc::channel(1);
        let passing = async {
            while let Some(words) = progress.recv().await {
                line.progress(words).await;
            }
        };
        let calling = self.connection.call(&tool.tool, arguments, heard, line.cancelled());
        let (ended, ()) = tokio::join!(calling, passing);
        match ended {
            Ok(ToolCallEnd::Result(result)) => self.answer(&line, tool, &result).await,
            Ok(ToolCallEnd::Cancelled) => failure("mcp.cancelled", "the call was cancelled".to_owned()),
            Err(ToolCallFault::Refused { number, words }) => {
                payload(answer::failed("mcp.refused", &format!("{words} ({number})")))
            }
            Err(ToolCallFault::Unreachable(words)) => failure("mcp.unreachable", words),
            Err(ToolCallFault::Gone(_)) => {
                // This program ends now, and the pump decides what becomes of the call.
                std::future::pending().await
            }
            Err(fault @ ToolCallFault::NoResult(_)) => failure("mcp.invalid-answer", fault.to_string()),
        }
    }

    /// Compares the tools of a server at an address again if that was long ago: such a server can become another one
    /// without a word.
    async fn compared_lately(&self) -> Result<(), ReplyContent> {
        if !self.connection.is_at_address() {
            return Ok(());
        }
        match self.pinned.compared_lately(&self.connection).await {
            Ok(()) => Ok(()),
            Err(Uncompared::Unreachable(words)) => Err(failure("mcp.unreachable", words)),
            // This program ends now.
            Err(Uncompared::Changed(_)) => std::future::pending().await,
        }
    }

    async fn answer(&self, line: &DeliveryLine, tool: &ToolElement, result: &CallToolResult) -> ReplyContent {
        let typed = tool.answer.as_ref().map(|_| (&self.vocabulary, &*tool.tool));
        match answer::answer(result, typed) {
            Ok(AnswerPayload { payload: answered, left_out }) => {
                if let Some(left_out) = left_out {
                    let words = format!("the answer of {} is not whole; left out: {left_out}", tool.tool);
                    line.notice("mcp.cut", words).await;
                }
                payload(answered)
            }
            Err(unfit) => failure("mcp.invalid-answer", unfit.0),
        }
    }
}

fn payload(payload: systole_kit::Payload) -> ReplyContent {
    ReplyContent::Items(vec![Item::plain(payload)])
}

fn failure(code: &str, words: String) -> ReplyContent {
    ReplyContent::Failure { code: code.to_owned(), retry: false, words }
}
