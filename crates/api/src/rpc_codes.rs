//! The numbers of the errors of JSON-RPC, and those that MCP and A2A add.

/// What each error says.
pub struct RpcCodes {
    /// The message is not JSON.
    pub parse: i64,
    /// It is JSON, but not a message that can be taken.
    pub request: i64,
    /// There is no such method.
    pub method: i64,
    /// The parameters do not fit the method.
    pub params: i64,
    /// The organism cannot answer now.
    pub internal: i64,
    /// A header says something else than the message.
    pub header_mismatch: i64,
    /// The client lacks what an answer needs.
    pub missing_capability: i64,
    /// The revision is not known.
    pub unsupported: i64,
    /// There is no such resource, in revisions that have a code for it.
    pub no_resource: i64,
}

/// The numbers.
pub const RPC: RpcCodes = RpcCodes {
    parse: -32700,
    request: -32600,
    method: -32601,
    params: -32602,
    internal: -32603,
    header_mismatch: -32020,
    missing_capability: -32021,
    unsupported: -32022,
    no_resource: -32002,
};

/// What each error of A2A says.
pub struct A2aCodes {
    /// There is no such task.
    pub task: i64,
    /// The task is over, and cannot be cancelled.
    pub cancel: i64,
    /// No address is notified.
    pub push: i64,
    /// The task is in no state for that.
    pub unsupported: i64,
    /// A type that is not there.
    pub content: i64,
    /// A version that is not there.
    pub version: i64,
}

/// The numbers of A2A.
pub const A2A: A2aCodes = A2aCodes {
    task: -32001,
    cancel: -32002,
    push: -32003,
    unsupported: -32004,
    content: -32005,
    version: -32009,
};
