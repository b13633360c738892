//! The connection to one MCP server. Everything that a server sends is bounded here, before the protocol library
//! sees it.
//!
//! In: a server's streams, and calls. Out: its tools, the results of calls, and the words for what it broke.

mod connection;
mod hearing;
mod http;
mod wire;

pub use connection::{McpConnection, NoConnection, Revision, ToolCallEnd, ToolCallFault};
pub use http::{AddressFault, ServerAddress};
pub use wire::WireEnd;
