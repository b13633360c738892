//! The client of the HTTP door, for our own commands: messages, orders, streams, the log of an organism elsewhere, and
//! messages for its doors of MCP and ACP.

pub mod client;
mod limits;
pub mod pipe_client;
pub mod remote_log;
