//! Asks a server once for its tools, to pin them.

use super::server::{ServerPlace, StartedServer};
use crate::client::Revision;
use crate::pinned;
use crate::schema::PinFile;

/// Starts a server, asks it for its tools, and ends it. Returns the pin.
///
/// # Errors
/// Why the server has no list of tools.
pub fn pin_of(place: &ServerPlace) -> Result<PinFile, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        // Each revision in a process of its own, the newer one first.
        match asked_in(Revision::Modern, place).await {
            Ok(pin) => Ok(pin),
            Err(newer) => asked_in(Revision::Legacy, place).await.map_err(|older| match newer == older {
                true => older,
                false => {
                    let [new, old] = [Revision::Modern, Revision::Legacy].map(Revision::word);
                    format!("asked in {new}: {newer}; asked in {old}: {older}")
                }
            }),
        }
    })
}

async fn asked_in(revision: Revision, place: &ServerPlace) -> Result<PinFile, String> {
    let StartedServer { mut process, reached } = StartedServer::start(place)?;
    let asked = async {
        let connection = reached.connect(revision).await.map_err(|fault| fault.to_string())?;
        let tools = connection.tools().await.map_err(|fault| fault.to_string());
        connection.close().await;
        let tools = tools?;
        Ok(PinFile::new(place.command(), revision.word(), pinned::definitions(&tools)))
    };
    let pin = tokio::select! {
        pin = asked => pin,
        how = process.ended() => Err(format!("the MCP server ended before it listed its tools: {how}")),
    };
    process.end().await;
    pin
}
