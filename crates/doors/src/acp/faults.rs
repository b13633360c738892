//! Why a request of an editor has no result.

use axum::response::Response;
use serde_json::json;

use systole_core::types::codes::Code;
use systole_core::types::refusal::Refusal;
use systole_doorway::rpc::RpcFault;
use systole_hall::request_refusals::describe_with_fix;

/// The answer to a request, or why it has none.
pub(super) type AcpResult = Result<Response, RpcFault>;

/// A refusal of the organism as an error of the protocol, with its code and its fix.
pub(super) fn refuse_with(refusal: &Refusal) -> RpcFault {
    let words = describe_with_fix(refusal);
    let fault = match refusal.code {
        Code::IngressUnavailable => RpcFault::refuse_unavailable(words),
        _ => RpcFault::refuse_params(words),
    };
    fault.with_details(json!({"code": refusal.code.as_str()}))
}
