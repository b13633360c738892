//! The client of the HTTP door, for our own commands: messages, orders, streams, the log of an organism elsewhere, and
//! calls of its MCP door.

pub mod client;
mod limits;
pub mod mcp_client;
pub mod remote_log;
