//! MCP servers as listeners. A program of this crate stands between the pump and one server: it speaks the listener
//! protocol on one side and MCP on the other. It knows neither the pump nor the log. The crate also reads the servers of
//! files for other hosts, and installs servers that are packages.

pub mod adapter;
pub mod adding;
pub mod client;
pub mod installing;
mod limits;
pub mod login;
pub mod package;
pub mod pinned_server;
pub mod schema;
mod servers_folder;

/// The vocabulary of answers that have no type of their own.
pub const MCP_XSD: &[u8] = include_bytes!("../../../schemas/mcp.xsd");
