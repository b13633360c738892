//! Why a request of an A2A client has no result: one of the errors of the protocol, with our code and our fix in its words.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use systole_api::rpc_codes::{A2A, RPC};
use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;
use systole_doorway::rpc::RpcFault;
use systole_hall::request_refusals::describe_with_fix;

/// The errors of the protocol that are given here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FaultKind {
    /// The body is no JSON.
    Parse,
    /// It is no request of JSON-RPC.
    Request,
    /// There is no such method, or no such address.
    Method,
    /// A field does not fit.
    Params,
    /// There is no such task of this client.
    Task,
    /// The task is over.
    Cancel,
    /// No address is called when a task goes on.
    Push,
    /// The task is in a state in which this cannot be done.
    Unsupported,
    /// A part, or what the client takes, is of a type that is not there.
    Content,
    /// Another version of the protocol.
    Version,
    /// The organism cannot answer now.
    Internal,
}

/// Why a request has no result.
#[derive(Debug)]
pub(super) struct A2aFault {
    pub(super) kind: FaultKind,
    words: String,
    /// Our code, if the organism refused it.
    code: Option<Code>,
}

/// The answer to a request, or why it has none.
pub(super) type A2aResult<T> = Result<T, A2aFault>;

impl FaultKind {
    /// Its number in JSON-RPC, its status in HTTP, and its names in both.
    fn describe(self) -> (i64, StatusCode, &'static str, &'static str) {
        let (bad, lacks) = (StatusCode::BAD_REQUEST, "UNIMPLEMENTED");
        match self {
            FaultKind::Parse => (RPC.parse, bad, "INVALID_ARGUMENT", "INVALID_REQUEST"),
            FaultKind::Request => (RPC.request, bad, "INVALID_ARGUMENT", "INVALID_REQUEST"),
            FaultKind::Method => (RPC.method, StatusCode::NOT_FOUND, "NOT_FOUND", "METHOD_NOT_FOUND"),
            FaultKind::Params => (RPC.params, bad, "INVALID_ARGUMENT", "INVALID_PARAMS"),
            FaultKind::Task => (A2A.task, StatusCode::NOT_FOUND, "NOT_FOUND", "TASK_NOT_FOUND"),
            FaultKind::Cancel => {
                (A2A.cancel, StatusCode::CONFLICT, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE")
            }
            FaultKind::Push => (A2A.push, bad, lacks, "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            FaultKind::Unsupported => (A2A.unsupported, bad, lacks, "UNSUPPORTED_OPERATION"),
            FaultKind::Content => {
                let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
                (A2A.content, status, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED")
            }
            FaultKind::Version => (A2A.version, bad, lacks, "VERSION_NOT_SUPPORTED"),
            FaultKind::Internal => {
                (RPC.internal, StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", "INTERNAL_ERROR")
            }
        }
    }
}

impl A2aFault {
    /// An error with its words.
    pub(super) fn new(kind: FaultKind, words: impl Into<String>) -> A2aFault {
        A2aFault { kind, words: words.into(), code: None }
    }

    /// A field that does not fit.
    pub(super) fn refuse_params(words: impl Into<String>) -> A2aFault {
        A2aFault::new(FaultKind::Params, words)
    }

    /// A task that this client does not have.
    pub(super) fn refuse_task() -> A2aFault {
        A2aFault::new(FaultKind::Task, "there is no such task; ListTasks has those of this client")
    }

    fn write_details(&self) -> Value {
        let (.., reason) = self.kind.describe();
        let mut info = json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": "a2a-protocol.org",
        });
        if let Some((fields, code)) = info.as_object_mut().zip(self.code) {
            fields.insert("metadata".to_owned(), json!({"code": code.as_str()}));
        }
        json!([info])
    }

    /// The answer over JSON-RPC: its clients read no error that comes with another status.
    pub(super) fn answer_rpc(&self, id: Option<&Value>) -> Response {
        let (code, ..) = self.kind.describe();
        let error = json!({"code": code, "message": self.words, "data": self.write_details()});
        Json(json!({"jsonrpc": "2.0", "id": id, "error": error})).into_response()
    }

    /// The answer over HTTP and JSON.
    pub(super) fn answer_http(&self) -> Response {
        let (_, status, name, _) = self.kind.describe();
        let error = json!({
            "code": status.as_u16(),
            "status": name,
            "message": self.words,
            "details": self.write_details(),
        });
        (status, Json(json!({"error": error}))).into_response()
    }
}

impl From<RpcFault> for A2aFault {
    fn from(fault: RpcFault) -> A2aFault {
        let kind = match fault.code() {
            code if code == RPC.parse => FaultKind::Parse,
            code if code == RPC.request => FaultKind::Request,
            _ => FaultKind::Params,
        };
        A2aFault::new(kind, fault.words())
    }
}

impl From<Box<Refusal>> for A2aFault {
    fn from(refusal: Box<Refusal>) -> A2aFault {
        let kind = match refusal.code {
            Code::IngressUnavailable
            | Code::IngressRate
            | Code::IngressQueue
            | Code::IngressThrottled
            | Code::BusyThread
            | Code::DamagedThread => FaultKind::Internal,
            Code::UnfitFile => FaultKind::Content,
            Code::EndedThread
            | Code::ClosedCall
            | Code::RestingThread
            | Code::IngressForbidden
            | Code::DecidedApproval => FaultKind::Unsupported,
            _ => FaultKind::Params,
        };
        A2aFault { kind, words: describe_with_fix(&refusal), code: Some(refusal.code) }
    }
}
