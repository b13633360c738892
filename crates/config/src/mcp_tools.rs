//! What a file says about the tools of an MCP server. Pure data.

use systole_mcp::package::InstallRequest;

use super::tree::Span;
use super::value::At;

/// What the file says about the server's tools.
pub(super) struct McpDeclaration {
    /// The place of the server.
    pub(super) at: Span,
    /// Whether the server is at an address, and not a program here.
    pub(super) is_at_address: bool,
    /// The program of the server and its arguments, or its address. Empty if the file has a mistake there.
    pub(super) command: Vec<String>,
    /// What must be installed before the server can start.
    pub(super) installs: Option<InstallRequest>,
    /// The tools that are used. `None` for all.
    pub(super) tools: Option<Vec<At<String>>>,
    /// The tools that need no person.
    pub(super) safe: Vec<At<String>>,
    /// Whether a tool that calls itself read-only needs no person.
    pub(super) trusts_hints: bool,
}

impl McpDeclaration {
    /// Whether this tool is used.
    pub(super) fn uses(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|one| one.value == tool))
    }
}
