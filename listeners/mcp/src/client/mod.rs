//! The connection to one MCP server. Everything that a server sends is bounded here, before the protocol library
//! sees it.
//!
//! In: a server's streams, and calls. Out: its tools, the results of calls, and the words for what it broke.

mod calling;
mod connection;
mod hearing;
mod http;
mod wire;

pub use calling::{AskedCall, SentCall, ToolCallEnd, ToolCallFault};
pub use connection::{McpConnection, NoConnection, Revision};
pub use hearing::PersonQuestion;
pub(crate) use http::is_here;
pub use http::{AddressFault, KeyedServer, ServerAddress};
pub use wire::WireEnd;
