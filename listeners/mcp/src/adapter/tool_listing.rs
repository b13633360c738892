//! Asks a server once for its tools, to pin them.

use super::server::{ServerPlace, StartedServer};
use crate::client::Revision;
use crate::pinned_server;
use crate::schema::PinFile;

/// Starts a server, asks it for its tools, and ends it. Returns the pin.
///
/// # Errors
/// Why the server has no list of tools.
pub fn pin_of(place: &ServerPlace) -> Result<PinFile, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        // Each in a process of its own. Many programs that speak both ask a person only in the older one. An address
        // is better asked without a session.
        let [first, second] = match place {
            ServerPlace::Program(_) => [Revision::Legacy, Revision::Modern],
            ServerPlace::Address { .. } => [Revision::Modern, Revision::Legacy],
        };
        match ask_in(first, place).await {
            Ok(pin) => Ok(pin),
            Err(one) => ask_in(second, place).await.map_err(|other| match one == other {
                true => other,
                false => format!("asked in {}: {one}; asked in {}: {other}", first.word(), second.word()),
            }),
        }
    })
}

async fn ask_in(revision: Revision, place: &ServerPlace) -> Result<PinFile, String> {
    let StartedServer { mut process, reached } = StartedServer::start(place)?;
    let asked = async {
        let connection = reached.connect(revision).await.map_err(|fault| fault.to_string())?;
        let tools = connection.list_tools().await.map_err(|fault| fault.to_string());
        Ok((connection, tools))
    };
    let asked = tokio::select! {
        // A server may end as soon as it has answered.
        biased;
        asked = asked => asked,
        how = process.wait_for_end() => Err(format!("the MCP server ended before it listed its tools: {how}")),
    };
    // Closing the connection lets a server end, so its end says nothing from here on.
    let pin = match asked {
        Ok((connection, tools)) => {
            let agreed = connection.describe_agreed();
            connection.close().await;
            tools.and_then(|tools| match Revision::from_date(&agreed) {
                None => Err(format!("the server speaks MCP {agreed:?}, which is not known here")),
                Some(_) => {
                    Ok(PinFile::new(place.command(), &agreed, pinned_server::list_definitions(&tools)))
                }
            })
        }
        Err(why) => Err(why),
    };
    process.end().await;
    pin
}
