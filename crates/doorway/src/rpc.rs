//! JSON-RPC as MCP, ACP and A2A use it: one message in, one answer out. It reads hostile bytes, keeps the parameters as
//! they are written, and says what is wrong with everything that it does not take.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::limits::REQUEST_ID_BYTES;
use systole_api::rpc_codes::RPC;

/// A message of a client, with the parameters that its protocol knows.
pub struct RpcMessage<P> {
    /// The id of a request. A notification has none.
    pub id: Option<Value>,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: P,
}

/// The answer of a client to a request of this server.
pub struct RpcAnswer {
    /// The id of that request.
    pub id: Value,
    /// The result, or the error in the client's words.
    pub result: Result<Value, String>,
}

/// What a client sends.
pub enum RpcIncoming<P> {
    /// A request or a notification.
    Message(Box<RpcMessage<P>>),
    /// An answer.
    Answer(RpcAnswer),
}

/// Why a message has no result.
#[derive(Debug)]
pub struct RpcFault {
    status: StatusCode,
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcFault {
    fn new(status: StatusCode, code: i64, message: impl Into<String>) -> RpcFault {
        RpcFault { status, code, message: message.into(), data: None }
    }

    /// The message cannot be taken.
    pub fn refuse_request(message: impl Into<String>) -> RpcFault {
        RpcFault::new(StatusCode::BAD_REQUEST, RPC.request, message)
    }

    /// The parameters do not fit.
    pub fn refuse_params(message: impl Into<String>) -> RpcFault {
        RpcFault::new(StatusCode::OK, RPC.params, message)
    }

    /// There is no such method.
    pub fn refuse_method(message: impl Into<String>) -> RpcFault {
        RpcFault::new(StatusCode::OK, RPC.method, message)
    }

    /// The organism cannot answer now.
    pub fn refuse_unavailable(message: impl Into<String>) -> RpcFault {
        RpcFault::new(StatusCode::SERVICE_UNAVAILABLE, RPC.internal, message)
    }

    /// The same with a code that only MCP has.
    pub fn with_code(code: i64, message: impl Into<String>, data: Option<Value>) -> RpcFault {
        RpcFault { data, ..RpcFault::new(StatusCode::BAD_REQUEST, code, message) }
    }

    /// The same with details for a program.
    pub fn with_details(self, data: Value) -> RpcFault {
        RpcFault { data: Some(data), ..self }
    }

    /// The same with another code, if it is about what is not there.
    pub fn missing_as(self, code: i64) -> RpcFault {
        let is_missing = self.code == RPC.params && self.data.is_some();
        RpcFault { code: if is_missing { code } else { self.code }, ..self }
    }

    /// The same with another status.
    pub fn with_status(self, status: StatusCode) -> RpcFault {
        RpcFault { status, ..self }
    }

    /// Its number.
    pub fn code(&self) -> i64 {
        self.code
    }

    /// What it says.
    pub fn words(&self) -> &str {
        &self.message
    }

    /// The answer to a request with this id; null if it is not known.
    pub fn build_message(&self, id: Option<&Value>) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(error), Some(data)) = (error.as_object_mut(), &self.data) {
            error.insert("data".to_owned(), data.clone());
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    /// The same as a response of the door.
    pub fn build_response(&self, id: Option<&Value>) -> Response {
        (self.status, Json(self.build_message(id))).into_response()
    }
}

/// The answer to a request.
pub fn build_result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The message as it is written. A missing id and a null id are different.
#[derive(Deserialize)]
struct Written {
    jsonrpc: Option<Value>,
    #[serde(default)]
    id: Wanted,
    method: Option<Value>,
    params: Option<Box<RawValue>>,
    result: Option<Value>,
    error: Option<Value>,
}

/// An id, if there is one.
#[derive(Default)]
struct Wanted(Option<Value>);

impl<'de> Deserialize<'de> for Wanted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Wanted, D::Error> {
        Value::deserialize(deserializer).map(|id| Wanted(Some(id)))
    }
}

/// Reads a message. The fault comes with the id of the request, if that could be read.
pub fn read_incoming<P: DeserializeOwned + Default>(
    bytes: &[u8],
) -> Result<RpcIncoming<P>, (Option<Value>, RpcFault)> {
    let bare = |fault| (None, fault);
    match bytes.trim_ascii_start().first() {
        Some(b'{') => {}
        Some(b'[') => {
            let words = "a batch is not taken: send each message by itself";
            return Err(bare(RpcFault::refuse_request(words)));
        }
        _ => return Err(bare(describe_unread("it is no JSON object"))),
    }
    let written: Written =
        serde_json::from_slice(bytes).map_err(|error| bare(describe_unread(&error.to_string())))?;
    let Written { jsonrpc, id: Wanted(id), method, params, result, error } = written;
    if let Some(id) = id.as_ref().filter(|id| !is_id(id)) {
        let shown: String = id.to_string().chars().take(80).collect();
        let words = format!(
            "the id of a request is a text or a whole number of at most {REQUEST_ID_BYTES} bytes, not {shown}"
        );
        return Err(bare(RpcFault::refuse_request(words)));
    }
    let told = |fault| (id.clone(), fault);
    if jsonrpc.as_ref().and_then(Value::as_str) != Some("2.0") {
        return Err(told(RpcFault::refuse_request("jsonrpc is not \"2.0\"")));
    }
    let Some(method) = method.as_ref().and_then(Value::as_str) else {
        let error = error.map(|error| Err(error.get("message").unwrap_or(&error).to_string()));
        let answer = id.clone().zip(result.map(Ok).or(error));
        return match answer.filter(|_| method.is_none()) {
            Some((id, result)) => Ok(RpcIncoming::Answer(RpcAnswer { id, result })),
            None => Err(told(RpcFault::refuse_request("a method is missing"))),
        };
    };
    let params = match params.as_ref().map(|raw| raw.get()) {
        None | Some("null") => P::default(),
        Some(raw) => serde_json::from_str(raw).map_err(|error| {
            told(
                RpcFault::refuse_params(format!("params of {method}: {error}"))
                    .with_status(StatusCode::BAD_REQUEST),
            )
        })?,
    };
    Ok(RpcIncoming::Message(Box::new(RpcMessage { id, method: method.to_owned(), params })))
}

fn describe_unread(why: &str) -> RpcFault {
    RpcFault::new(StatusCode::BAD_REQUEST, RPC.parse, format!("the message cannot be read: {why}"))
}

/// Whether a value can be an id, or the token of progress.
pub fn is_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= REQUEST_ID_BYTES,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Parameters = BTreeMap<String, Box<RawValue>>;

    fn fault(text: &str) -> (Option<Value>, i64, String) {
        let Err((id, fault)) = read_incoming::<Parameters>(text.as_bytes()) else {
            panic!("{text} is taken")
        };
        (id, fault.code, fault.message)
    }

    #[test]
    fn what_is_no_message_is_refused_with_a_reason() {
        for (text, code, words) in [
            ("", RPC.parse, "no JSON object"),
            ("7", RPC.parse, "no JSON object"),
            ("{\"jsonrpc\": ", RPC.parse, "EOF"),
            ("{\"jsonrpc\": \"2.0\"} x", RPC.parse, "trailing"),
            (" [{\"jsonrpc\": \"2.0\"}]", RPC.request, "a batch is not taken"),
            ("{\"jsonrpc\": \"1.0\", \"method\": \"ping\"}", RPC.request, "jsonrpc is not"),
            ("{\"method\": \"ping\"}", RPC.request, "jsonrpc is not"),
            (
                "{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}",
                RPC.request,
                "the id of a request",
            ),
            ("{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"ping\"}", RPC.request, "the id of a request"),
            ("{\"jsonrpc\": \"2.0\", \"result\": {}}", RPC.request, "a method is missing"),
            ("{\"jsonrpc\": \"2.0\", \"id\": 1}", RPC.request, "a method is missing"),
            ("{\"jsonrpc\": \"2.0\", \"method\": 7}", RPC.request, "a method is missing"),
            ("{\"jsonrpc\": \"2.0\", \"method\": \"ping\", \"params\": [1]}", RPC.params, "params of ping"),
        ] {
            let (_, found, message) = fault(text);
            assert_eq!(found, code, "{text}: {message}");
            assert!(message.contains(words), "{text}: {message}");
        }
        assert_eq!(fault("{\"jsonrpc\": \"1.0\", \"id\": \"a\"}").0, Some(json!("a")), "the id is repeated");
        let long = format!("{{\"jsonrpc\": \"2.0\", \"id\": \"{}\", \"method\": \"ping\"}}", "a".repeat(300));
        assert!(fault(&long).2.contains("256 bytes"));
        let deep = format!(
            "{{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"params\": {{\"_meta\": {}",
            "{\"a\":".repeat(9000)
        );
        assert_eq!(fault(&deep).1, RPC.parse);
    }

    #[test]
    fn a_message_keeps_the_digits_of_its_arguments() {
        let text = r#"{"jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": "add", "arguments": {"n": 123456789012345678901234567890}}}"#;
        let Ok(RpcIncoming::Message(message)) = read_incoming::<Parameters>(text.as_bytes()) else {
            panic!("it is refused")
        };
        assert_eq!((message.id, message.params["name"].get()), (Some(json!(7)), r#""add""#));
        assert!(message.params["arguments"].get().contains("123456789012345678901234567890"));
    }
}
