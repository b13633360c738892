//! One delivery: the payload becomes the arguments of a call, and the result becomes the reply.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, CallToolResult};
use systole_kit::answers::Answers;
use systole_kit::envelope::Delivered;
use systole_kit::pipe::DeliveryLine;
use systole_kit::reply::{Item, ReplyContent};
use tokio::sync::mpsc;

use super::answer::{self, AnswerPayload, BinaryContents};
use super::asking::{self, CallDecision, WaitingCalls};
use super::comparing::{ComparisonFault, PinnedTools};
use crate::client::{McpConnection, SentCall, ToolCallEnd, ToolCallFault};
use crate::schema::ToolVocabulary;

/// What all deliveries share.
pub(super) struct AdapterWork {
    /// The name of this listener.
    pub(super) name: String,
    pub(super) connection: McpConnection,
    pub(super) vocabulary: ToolVocabulary,
    pub(super) pinned: PinnedTools,
    pub(super) waiting: WaitingCalls,
}

impl AdapterWork {
    /// Answers a delivery.
    pub(super) async fn answer_delivery(
        self: Arc<Self>,
        asked: Delivered,
        line: DeliveryLine,
    ) -> ReplyContent {
        if let Some(approved) = asking::return_approved(&asked, &self.name) {
            return approved;
        }
        self.waiting.give_up_before(&asked).await;
        let params = match Answers::from_payload(&asked.payload) {
            Ok(answers) => match self.waiting.decide_form(&asked, &self.name, &answers).await {
                CallDecision::Call(params) => *params,
                CallDecision::Wait(params, call) => {
                    return self.wait_for_end(&asked, &line, &params, *call).await;
                }
                CallDecision::Say(said) => return said,
            },
            Err(_) => match self.read_call(&asked) {
                Ok(params) => params,
                Err(said) => return said,
            },
        };
        // What comes before the answer may take long too, such as a new token.
        let sent = tokio::select! {
            sent = self.send_compared(&params) => sent,
            () = line.wait_for_cancel() => Err(describe_cancelled()),
        };
        match sent {
            Ok(call) => self.wait_for_end(&asked, &line, &params, call).await,
            Err(end) => end,
        }
    }

    /// Sends a call to a server whose tools are the pinned ones.
    async fn send_compared(&self, params: &CallToolRequestParams) -> Result<SentCall, ReplyContent> {
        self.compared_lately().await?;
        match self.connection.send_call(params.clone()).await {
            Ok(call) => Ok(call),
            Err(fault) => Err(describe_fault(fault).await),
        }
    }

    /// Waits until a call has a result or its server asks a person. `params` name the tool.
    async fn wait_for_end(
        &self,
        asked: &Delivered,
        line: &DeliveryLine,
        params: &CallToolRequestParams,
        call: SentCall,
    ) -> ReplyContent {
        let (heard, mut progress) = mpsc::channel(1);
        let passing = async {
            while let Some(words) = progress.recv().await {
                line.progress(words).await;
            }
        };
        let waiting = self.connection.wait_for_result(call, heard, line.wait_for_cancel());
        let (ended, ()) = tokio::join!(waiting, passing);
        match ended {
            Ok(ToolCallEnd::Result(result)) => self.build_answer(line, &params.name, &result).await,
            Ok(ToolCallEnd::InputRequired(required)) => {
                self.waiting.ask(asked, &self.name, params, *required).await
            }
            Ok(ToolCallEnd::Asked(call)) => self.waiting.ask_in(asked, &self.name, &params.name, *call).await,
            Ok(ToolCallEnd::Cancelled) => describe_cancelled(),
            Err(fault) => describe_fault(fault).await,
        }
    }

    /// The call that a payload stands for.
    fn read_call(&self, asked: &Delivered) -> Result<CallToolRequestParams, ReplyContent> {
        let element = &*asked.payload.name().local;
        let Some(tool) = self.vocabulary.find_tool(element) else {
            return Err(build_failure("mcp.unknown-tool", format!("no pinned tool takes <{element}>")));
        };
        match self.vocabulary.read_arguments(asked.payload.bytes()) {
            Ok(found) => Ok(CallToolRequestParams::new(tool.tool.clone()).with_arguments(found.arguments)),
            Err(fault) => Err(reply_with(answer::build_failure("mcp.invalid-arguments", &fault.to_string()))),
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
            Err(ComparisonFault::Unreachable(words)) => Err(build_failure("mcp.unreachable", words)),
            // This program ends now.
            Err(ComparisonFault::Changed(_)) => std::future::pending().await,
        }
    }

    async fn build_answer(&self, line: &DeliveryLine, tool: &str, result: &CallToolResult) -> ReplyContent {
        let is_typed = self.vocabulary.tools.iter().any(|one| one.tool == tool && one.answer.is_some());
        let typed = is_typed.then_some((&self.vocabulary, tool));
        let (kept, mut left_out) = keep_binary(line, result).await;
        if typed.is_some() && result.is_error != Some(true) {
            // The payload of a typed answer has no place for them.
            let beside = |hash: &String| format!("binary content, kept under {hash}");
            left_out.extend(kept.values().filter_map(|content| content.hash.as_ref()).map(beside));
        }
        match answer::build_answer(result, typed, &kept) {
            Ok(AnswerPayload { payload: answered, left_out: cut, is_cut }) => {
                left_out.extend(cut);
                if let Some(whole) = result.structured_content.as_ref().filter(|_| is_cut) {
                    let stored = line.put_blob(whole.to_string().into_bytes()).await;
                    left_out.push(match stored {
                        Ok(hash) => format!("the whole as JSON is kept under {hash}"),
                        Err(why) => format!("the whole is not kept ({why})"),
                    });
                }
                if !left_out.is_empty() {
                    let words =
                        format!("the answer of {tool} is not whole; left out: {}", left_out.join(", "));
                    line.notice("mcp.cut", words).await;
                }
                reply_with(answered)
            }
            Err(unfit) => build_failure("mcp.invalid-answer", unfit.0),
        }
    }
}

/// Puts the binary contents of a result into the log. Returns them with their hashes, and what is not kept, in words.
async fn keep_binary<'r>(
    line: &DeliveryLine,
    result: &'r CallToolResult,
) -> (BinaryContents<'r>, Vec<String>) {
    let (mut contents, mut left_out) = (BinaryContents::new(), Vec::new());
    for (place, mut content, bytes) in answer::list_binary(result) {
        let stored = match bytes {
            Ok(bytes) => line.put_blob(bytes).await,
            Err(why) => Err(why),
        };
        match stored {
            Ok(hash) => content.hash = Some(hash),
            Err(why) => left_out.push(format!("{} ({why})", content.describe())),
        }
        contents.insert(place, content);
    }
    (contents, left_out)
}

fn describe_cancelled() -> ReplyContent {
    build_failure("mcp.cancelled", "the call was cancelled".to_owned())
}

/// What a call without a result is answered with.
async fn describe_fault(fault: ToolCallFault) -> ReplyContent {
    match fault {
        ToolCallFault::Refused { number, words } => {
            reply_with(answer::build_failure("mcp.refused", &format!("{words} ({number})")))
        }
        ToolCallFault::Unreachable(words) => build_failure("mcp.unreachable", words),
        // This program ends now, and the pump decides what becomes of the call.
        ToolCallFault::Gone(_) => std::future::pending().await,
        fault @ ToolCallFault::NoResult(_) => build_failure("mcp.invalid-answer", fault.to_string()),
    }
}

fn reply_with(payload: systole_kit::Payload) -> ReplyContent {
    ReplyContent::Items(vec![Item::plain(payload)])
}

fn build_failure(code: &str, words: String) -> ReplyContent {
    ReplyContent::new_failure(code, false, words)
}
