//! Asks a server once for its tools, to pin them.

use super::server::{ServerProcess, StartedServer};
use crate::client::{McpConnection, Revision};
use crate::pinned;
use crate::schema::PinFile;

/// Starts a server, asks it for its tools, and ends it. Returns the pin.
///
/// # Errors
/// Why the server has no list of tools.
pub fn pin_of(run: &[String]) -> Result<PinFile, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        // Each revision in a process of its own, the newer one first.
        match asked_in(Revision::Modern, run).await {
            Ok(pin) => Ok(pin),
            Err(_) => asked_in(Revision::Legacy, run).await,
        }
    })
}

async fn asked_in(revision: Revision, run: &[String]) -> Result<PinFile, String> {
    let StartedServer { mut process, stdin, stdout } = ServerProcess::start(run)?;
    let asked = async {
        let connection =
            McpConnection::over(stdout, stdin, revision).await.map_err(|fault| fault.to_string())?;
        let tools = connection.tools().await.map_err(|fault| fault.to_string())?;
        Ok(PinFile::new(run.to_vec(), revision.word(), pinned::definitions(&tools)))
    };
    let pin = tokio::select! {
        pin = asked => pin,
        how = process.ended() => Err(format!("the MCP server ended before it listed its tools: {how}")),
    };
    process.end().await;
    pin
}
