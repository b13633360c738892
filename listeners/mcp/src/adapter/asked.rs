//! Asks a server once for its tools, to pin them.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::server::{ServerProcess, StartedServer, last_words};
use crate::client::McpConnection;
use crate::pinned;
use crate::schema::PinFile;

/// How long the last words of a server that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Starts a server, asks it for its tools, and ends it. Returns the pin.
///
/// # Errors
/// Why the server has no list of tools.
pub fn pin_of(run: &[String], folder: &Path, env: &BTreeMap<String, String>) -> Result<PinFile, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let (StartedServer { mut process, stdin, stdout }, stderr) =
            ServerProcess::start_in(run, folder, env)?;
        let words = tokio::spawn(last_words(stderr));
        let asked = async {
            let connected =
                McpConnection::over(stdout, stdin, None).await.map_err(|fault| fault.to_string())?;
            let tools = connected.connection.tools().await.map_err(|fault| fault.to_string())?;
            Ok(PinFile::new(run.to_vec(), connected.revision.word(), pinned::definitions(&tools)))
        };
        let pin = tokio::select! {
            pin = asked => pin,
            how = process.ended() => Err(format!("the MCP server ended before it listed its tools: {how}")),
        };
        process.end().await;
        // A child of the server may hold its stderr open.
        let words = tokio::time::timeout(LAST_WORDS, words).await;
        match (pin, words) {
            (Err(why), Ok(Ok(words))) if !words.is_empty() => {
                Err(format!("{why}; last words on stderr: {words}"))
            }
            (pin, _) => pin,
        }
    })
}
