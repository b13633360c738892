//! The comparison of a server's tools with the pinned ones.

use std::time::Duration;

use tokio::sync::{Mutex, SetOnce};
use tokio::time::Instant;

use crate::client::McpConnection;
use crate::pinned;
use crate::schema::{ListDifference, PinFile};

/// How long a comparison holds for a server at an address.
const HOLDS: Duration = Duration::from_secs(60);

/// The pinned tools, and when the server's were last the same.
pub(super) struct PinnedTools {
    pin: PinFile,
    last: Mutex<Option<Instant>>,
    changed: SetOnce<String>,
}

/// Why the tools are not known to be the pinned ones.
pub(super) enum Uncompared {
    /// The server does not say.
    Unreachable(String),
    /// They are not, with the difference.
    Changed(String),
}

impl PinnedTools {
    pub(super) fn new(pin: PinFile) -> PinnedTools {
        PinnedTools { pin, last: Mutex::new(None), changed: SetOnce::new() }
    }

    /// Compares the server's tools with the pinned ones.
    pub(super) async fn compared(&self, connection: &McpConnection) -> Result<(), Uncompared> {
        let mut last = self.last.lock().await;
        self.compare(connection, &mut last).await
    }

    /// The same, unless they were the pinned ones a moment ago.
    pub(super) async fn compared_lately(&self, connection: &McpConnection) -> Result<(), Uncompared> {
        let mut last = self.last.lock().await;
        if last.is_some_and(|last| last.elapsed() < HOLDS) {
            return Ok(());
        }
        self.compare(connection, &mut last).await
    }

    /// Waits until the tools are not the pinned ones any more. Returns the difference.
    pub(super) async fn changed(&self) -> String {
        self.changed.wait().await.clone()
    }

    async fn compare(
        &self,
        connection: &McpConnection,
        last: &mut Option<Instant>,
    ) -> Result<(), Uncompared> {
        let tools = connection.tools().await.map_err(|fault| Uncompared::Unreachable(fault.to_string()))?;
        let difference = ListDifference::between(&self.pin.tools, &pinned::definitions(&tools));
        if difference.is_empty() {
            *last = Some(Instant::now());
            return Ok(());
        }
        let words = format!("mcp.changed: the server's tools are not those that were pinned\n{difference}");
        // The first difference counts.
        let _earlier = self.changed.set(words.clone());
        Err(Uncompared::Changed(words))
    }
}
