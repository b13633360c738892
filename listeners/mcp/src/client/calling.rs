//! A call of a tool: it is sent, and waited for until its result, or until its server asks a person.

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitResult, ElicitationAction,
    ErrorCode, ErrorData, InputRequiredResult, JsonObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use tokio::sync::mpsc;

use super::connection::{McpConnection, describe_plainly};
use super::hearing::{CallRoute, PersonQuestion};
use super::http::BROKEN_STREAM;
use super::wire::WireEnd;
use crate::limits;

/// Why a call is cancelled.
const UNWANTED: &str = "no longer wanted";

/// How a call ended, or why it waits.
#[derive(Debug)]
pub enum ToolCallEnd {
    /// With a result, which may say that the tool failed.
    Result(Box<CallToolResult>),
    /// The server wants the call again, with the answers of a person.
    InputRequired(Box<InputRequiredResult>),
    /// The server asks a person, and goes on with the call after the answer.
    Asked(Box<AskedCall>),
    /// It was cancelled here.
    Cancelled,
}

/// A call that was sent, and has no result yet.
#[derive(Debug)]
pub struct SentCall {
    handle: RequestHandle<RoleClient>,
    route: CallRoute,
}

/// A call whose server asks a person.
#[derive(Debug)]
pub struct AskedCall {
    /// What it asks.
    pub question: PersonQuestion,
    /// The call.
    pub call: SentCall,
}

impl AskedCall {
    /// Ends a call that no one waits for any more: its server gets `cancel` as the answer to its question, and a cancel
    /// of the call if it does not end the call by itself. A server that works on one call after the other is then free.
    pub async fn give_up(self) {
        let AskedCall { question, call: SentCall { mut handle, route } } = self;
        // A server that no longer waits for the answer ends its call by itself.
        let _waits = question.answer.send(ElicitResult::new(ElicitationAction::Cancel));
        if tokio::time::timeout(crate::limits::LAST_WORD, &mut handle.rx).await.is_err() {
            // If the connection is over, so is the call.
            let _over = handle.cancel(Some(UNWANTED.to_owned())).await;
        }
        drop(route);
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolCallFault {
    /// The server refused the request.
    #[error("the server refused the call: {words} ({number})")]
    Refused {
        /// The number of the error.
        number: i32,
        /// The server's words.
        words: String,
    },
    /// The server is gone. Whether it has done the work is not known.
    #[error("the server is gone: {0}")]
    Gone(WireEnd),
    /// No answer came from its address. Whether it has done the work is not known.
    #[error("{0}")]
    Unreachable(String),
    /// The result is none that a call of a tool may have.
    #[error("the server answered the call with something else than a result: {0}")]
    NoResult(String),
}

impl McpConnection {
    /// Calls a tool. Progress goes to `heard`. When `cancelled` is ready, the server gets a cancel and its result is
    /// ignored.
    ///
    /// # Errors
    /// If no result comes.
    pub async fn call_tool(
        &self,
        tool: &str,
        arguments: JsonObject,
        heard: mpsc::Sender<String>,
        cancelled: impl Future<Output = ()>,
    ) -> Result<ToolCallEnd, ToolCallFault> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let call = self.send_call(params).await?;
        self.wait_for_result(call, heard, cancelled).await
    }

    /// Sends a call.
    ///
    /// # Errors
    /// If it cannot be sent.
    pub async fn send_call(&self, params: CallToolRequestParams) -> Result<SentCall, ToolCallFault> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.service.peer().send_request_with_option(request, PeerRequestOptions::no_options());
        let handle = sent.await.map_err(|fault| self.describe_fault(fault))?;
        let route = self.service.service().add_route(handle.progress_token.clone(), handle.id.clone());
        Ok(SentCall { handle, route })
    }

    /// Waits for the result of a call, or until its server asks a person.
    ///
    /// # Errors
    /// If no result comes.
    pub async fn wait_for_result(
        &self,
        call: SentCall,
        heard: mpsc::Sender<String>,
        cancelled: impl Future<Output = ()>,
    ) -> Result<ToolCallEnd, ToolCallFault> {
        let SentCall { mut handle, mut route } = call;
        route.report_to(heard);
        tokio::select! {
            result = &mut handle.rx => match result {
                Ok(Ok(ServerResult::CallToolResult(result))) => Ok(ToolCallEnd::Result(Box::new(result))),
                Ok(Ok(ServerResult::InputRequiredResult(asked))) if self.service.service().is_modern => {
                    Ok(ToolCallEnd::InputRequired(Box::new(asked)))
                }
                Ok(Ok(other)) => Err(ToolCallFault::NoResult(name_result(&other))),
                Ok(Err(fault)) => Err(self.describe_fault(fault)),
                Err(_) => Err(self.describe_fault(ServiceError::TransportClosed)),
            },
            question = route.next_question() => {
                route.mute_progress();
                Ok(ToolCallEnd::Asked(Box::new(AskedCall { question, call: SentCall { handle, route } })))
            }
            () = cancelled => {
                // If the connection is over, so is the call. The cancel goes out even if it is not waited for.
                let telling = handle.cancel(Some(UNWANTED.to_owned()));
                let _over = tokio::time::timeout(limits::END, telling).await;
                Ok(ToolCallEnd::Cancelled)
            }
        }
    }

    fn describe_fault(&self, fault: ServiceError) -> ToolCallFault {
        match fault {
            ServiceError::McpError(ErrorData { code: ErrorCode(BROKEN_STREAM), message, .. }) => {
                ToolCallFault::Unreachable(message.into_owned())
            }
            ServiceError::TransportSend(fault) if self.is_at_address => {
                ToolCallFault::Unreachable(describe_plainly(&fault))
            }
            ServiceError::McpError(ErrorData { code, message, .. }) => {
                ToolCallFault::Refused { number: code.0, words: message.into_owned() }
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                if self.is_at_address {
                    // The first reason counts.
                    let _earlier = self.end.set(WireEnd::Lost);
                }
                ToolCallFault::Gone(self.end())
            }
            other => ToolCallFault::NoResult(other.to_string()),
        }
    }
}

/// The name of a result that no call of a tool may have.
fn name_result(result: &ServerResult) -> String {
    match result {
        ServerResult::InputRequiredResult(_) => "it asks for input".to_owned(),
        ServerResult::CreateTaskResult(_) => "it made a task, which was not offered".to_owned(),
        _ => "the result of another request".to_owned(),
    }
}
