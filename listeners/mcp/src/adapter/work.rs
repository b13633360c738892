//! One delivery: the payload becomes the arguments of a call, and the result becomes the reply.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::CallToolResult;
use systole_kit::envelope::Delivered;
use systole_kit::reply::{Item, ListenerDocument, ReplyContent};
use tokio::sync::{mpsc, oneshot};

use super::answer::{self, AnswerPayload};
use crate::client::{McpConnection, ToolCallEnd, ToolCallFault};
use crate::schema::{ToolElement, ToolVocabulary};

/// What all deliveries share.
pub(super) struct Work {
    pub(super) connection: McpConnection,
    pub(super) vocabulary: ToolVocabulary,
    pub(super) said: mpsc::Sender<ListenerDocument>,
}

/// The deliveries that are worked on, each with the way to cancel it.
#[derive(Default)]
pub(super) struct OpenDeliveries(HashMap<String, oneshot::Sender<()>>);

impl OpenDeliveries {
    /// A delivery begins. What is returned is ready when it is cancelled.
    pub(super) fn begin(&mut self, delivery: &str) -> oneshot::Receiver<()> {
        let (cancel, cancelled) = oneshot::channel();
        self.0.insert(delivery.to_owned(), cancel);
        cancelled
    }

    pub(super) fn cancel(&mut self, delivery: &str) {
        if let Some(cancel) = self.0.remove(delivery) {
            // A call that is over needs no cancel.
            let _over = cancel.send(());
        }
    }

    pub(super) fn end(&mut self, delivery: &str) {
        self.0.remove(delivery);
    }
}

impl Work {
    /// Answers a delivery.
    pub(super) async fn answered(
        self: Arc<Self>,
        asked: Delivered,
        cancelled: oneshot::Receiver<()>,
    ) -> (String, ReplyContent) {
        let delivery = asked.stamp.delivery.clone();
        let said = self.call(&asked, cancelled).await;
        (delivery, said)
    }

    async fn call(&self, asked: &Delivered, cancelled: oneshot::Receiver<()>) -> ReplyContent {
        let element = &*asked.payload.name().local;
        let Some(tool) = self.vocabulary.tool(element) else {
            return failure("mcp.unknown-tool", format!("no pinned tool takes <{element}>"));
        };
        let arguments = match self.vocabulary.arguments(asked.payload.bytes()) {
            Ok(found) => found.arguments,
            Err(fault) => return payload(answer::failed("mcp.invalid-arguments", &fault.to_string())),
        };
        let delivery = &asked.stamp.delivery;
        let (heard, mut progress) = mpsc::channel(1);
        let passing = async {
            while let Some(words) = progress.recv().await {
                self.tell(ListenerDocument::Progress { delivery: delivery.clone(), words }).await;
            }
        };
        let cancel = async {
            if cancelled.await.is_err() {
                // The delivery ended otherwise.
                std::future::pending::<()>().await;
            }
        };
        let calling = self.connection.call(&tool.tool, arguments, heard, cancel);
        let (ended, ()) = tokio::join!(calling, passing);
        match ended {
            Ok(ToolCallEnd::Result(result)) => self.answer(delivery, tool, &result).await,
            Ok(ToolCallEnd::Cancelled) => failure("mcp.cancelled", "the call was cancelled".to_owned()),
            Err(ToolCallFault::Refused { number, words }) => {
                payload(answer::failed("mcp.refused", &format!("{words} ({number})")))
            }
            Err(ToolCallFault::Gone(_)) => {
                // This program ends now, and the pump decides what becomes of the call.
                std::future::pending().await
            }
            Err(fault @ ToolCallFault::NoResult(_)) => failure("mcp.invalid-answer", fault.to_string()),
        }
    }

    async fn answer(&self, delivery: &str, tool: &ToolElement, result: &CallToolResult) -> ReplyContent {
        let typed = tool.answer.as_ref().map(|_| (&self.vocabulary, &*tool.tool));
        match answer::answer(result, typed) {
            Ok(AnswerPayload { payload: answered, left_out }) => {
                if let Some(left_out) = left_out {
                    let words = format!("the answer of {} is not whole; left out: {left_out}", tool.tool);
                    let (delivery, code) = (delivery.to_owned(), "mcp.cut".to_owned());
                    self.tell(ListenerDocument::Notice { delivery, code, words }).await;
                }
                payload(answered)
            }
            Err(unfit) => failure("mcp.invalid-answer", unfit.0),
        }
    }

    /// Says something about a delivery that the pump does not answer.
    async fn tell(&self, word: ListenerDocument) {
        // If nothing takes it, this program is about to end.
        let _ended = self.said.send(word).await;
    }
}

fn payload(payload: systole_kit::Payload) -> ReplyContent {
    ReplyContent::Items(vec![Item::plain(payload)])
}

fn failure(code: &str, words: String) -> ReplyContent {
    ReplyContent::Failure { code: code.to_owned(), retry: false, words }
}
