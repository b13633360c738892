//! The server that a command names, among the listeners with `mcp` of the organism's file.

use systole_kit::schema::find_nearest;

use crate::cli::exit::CommandExit;
use crate::cli::screen::Screen;
use systole_config::McpServer;

/// The server of that name.
pub(super) fn find_server<'s>(
    servers: &'s [McpServer],
    name: &str,
    screen: Screen,
) -> Result<&'s McpServer, CommandExit> {
    let known = || servers.iter().map(|server| server.name.as_str());
    if let Some(found) = servers.iter().find(|server| server.name.as_str() == name) {
        return Ok(found);
    }
    list_servers(servers, screen)?;
    let hint = find_nearest(name, known()).map_or_else(
        || format!("; there are {}", known().collect::<Vec<_>>().join(", ")),
        |near| format!("; did you mean {near}?"),
    );
    Err(screen.fail(CommandExit::Usage, format!("no listener with `mcp` is called {name}{hint}")))
}

/// All servers; refused if there are none.
pub(super) fn list_servers(servers: &[McpServer], screen: Screen) -> Result<Vec<&McpServer>, CommandExit> {
    if servers.is_empty() {
        let words = "no listener of the organism's file has `mcp`";
        return Err(screen.refuse(words, "listeners: {files: {mcp: [PROGRAM, ARGUMENT]}}"));
    }
    Ok(servers.iter().collect())
}
